/* SPDX-License-Identifier: ISC */
/*
 * Children that got both ends of a pipe by fork, and need neither: they were forked while the pipe was
 * open, for other work. One that naps again and again meanwhile may still close them some day, but
 * nothing makes it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "adapt/base/naps.h"
#include "adapt/descriptor/descriptor.h"
#include "adapt/ends/ends.h"

/* ---- Those that nap ---------------------------------------------------------------------------- */

/* Whether a call waits in poll() for one descriptor, and only for some time. */
static bool is_timed_poll(const struct process_call *call)
{
	return thrum__adapt_call_is_poll(call) && call->arguments[1] == 1 &&
		!thrum__adapt_call_is_endless(call);
}

/* Whether a child looks for some time at a pipe to which this process alone writes, whose only thread
 * waits. */
static bool asks_in_vain(const struct look *look, pid_t process, const struct process_call *call)
{
	char path[64];
	struct holder holders[PROCESSES];
	struct pollfd one;
	struct statx file;
	struct end end;
	unsigned count;

	if (!look->is_alone || !is_timed_poll(call) ||
		!thrum__adapt_process_copy(process, call->arguments[0], &one, sizeof one) ||
		one.fd < 0)
		return false;
	thrum__adapt_process_descriptor(path, process, one.fd);
	if (!thrum__adapt_find_file(AT_FDCWD, path, &file) || !S_ISFIFO(file.stx_mode))
		return false;
	end = (struct end){file.stx_ino, true, false, false};
	count = thrum__adapt_ends_holders(look, &end, holders);
	for (unsigned i = 0; i < count; i++)
		if (holders[i].process != look->self && holders[i].process != process)
			return false;
	return count > 0 && !thrum__adapt_ends_elsewhere(look, &end);
}

void thrum__adapt_spare_note(const struct look *look, struct naps *children)
{
	for (unsigned i = 1; i < look->count; i++) {
		pid_t process = look->processes[i];
		struct process_call call;
		bool runs = !thrum__adapt_process_call(process, 0, &call);

		thrum__adapt_naps_see(children, process, (uint32_t)process, runs,
			!runs &&
				(thrum__adapt_is_nap(&call) || asks_in_vain(look, process, &call)));
	}
}

/* ---- Those that need no end -------------------------------------------------------------------- */

static bool has_children(pid_t process)
{
	pid_t children[1];
	struct found_processes found = {children, 0, 1, true};

	thrum__adapt_process_children(process, &found);
	return found.count > 0 || !found.is_whole;
}

static bool reads_too(pid_t process, const struct end *end)
{
	const struct end other = {end->inode, false, false, false};

	return thrum__adapt_ends_at(process, &other) >= 0;
}

/* Whether it is known who else writes: this process did, and has closed its end; or one that has no end from
 * which it could read. */
static bool has_writer(const struct look *look, const struct end *end, const struct holder *holders,
	unsigned count)
{
	bool is_left = thrum__adapt_pipe_was_written(end->inode);

	for (unsigned i = 0; i < count; i++) {
		if (holders[i].process == look->self)
			is_left = false;
		else if (!reads_too(holders[i].process, end))
			return true;
	}
	return is_left;
}

bool thrum__adapt_spare_is(const struct look *look, const struct end *end,
	const struct holder *holders, unsigned count, pid_t process)
{
	return end->writes && !end->is_socket && process != look->self &&
		thrum__adapt_naps_goes_round(look->children, (uint32_t)process, NULL) &&
		thrum__adapt_process_is_copy(look->self, process) &&
		thrum__adapt_process_is_single(process) && !has_children(process) &&
		!thrum__adapt_process_wrote(process) && reads_too(process, end) &&
		has_writer(look, end, holders, count);
}
