/* SPDX-License-Identifier: ISC */
/*
 * Ends of connections that a process has by mistake: it got them by a fork, or accepted them for a child, and
 * never used them. Once all who used such an end are gone, the other side waits for an end of the connection
 * that doesn't come.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "adapt/ends/ends.h"

/* Descriptors of a file. */
struct search {
	uint64_t inode;
	unsigned count;
};

static void compare(void *context, int directory, const char *name)
{
	struct search *search = context;
	struct statx file;

	search->count += thrum__adapt_find_file(directory, name, &file) &&
		file.stx_ino == search->inode && S_ISSOCK(file.stx_mode);
}

static bool is_only(pid_t process, uint64_t inode)
{
	struct search search = {inode, 0};

	return thrum__adapt_process_each(process, "/fd", compare, &search) && search.count == 1;
}

/* A look at the watches of an epoll. */
struct watches {
	const struct look *look;
	pid_t process;
	unsigned count; /* those that listen */
};

static bool listens(const struct look *look, pid_t process, int fd)
{
	int copy COPY = thrum__adapt_vain_duplicate(look, process, fd);

	return copy >= 0 && thrum__adapt_listens(copy);
}

/* Returns whether a watch is of another sort. */
static bool look_at_watch(void *context, const char *line)
{
	static const char word[] = "tfd:";
	struct watches *watches = context;

	if (strncmp(line, word, strlen(word)) != 0)
		return false;
	watches->count++;
	return !listens(watches->look, watches->process, atoi(line + strlen(word)));
}

/* Whether a process waits, as long as it takes, for nothing but connections. */
static bool waits_to_accept(const struct look *look, pid_t process, const struct process_call *call)
{
	struct watches watches = {look, process, 0};
	char path[64], *to = thrum__adapt_process_path(path, process);

	if (call->number == SYS_accept || call->number == SYS_accept4)
		return true;
	if (!thrum__adapt_call_is_epoll(call) || !thrum__adapt_call_is_endless(call))
		return false;
	*thrum__adapt_put_number(stpcpy(to, "/fdinfo/"), call->arguments[0]) = '\0';
	return !thrum__adapt_each_line(path, look_at_watch, &watches) && watches.count > 0;
}

/* The same for something else than a descriptor. */
static bool waits_for_others(const struct look *look, pid_t process,
	const struct process_call *call, int fd)
{
	bool writes;
	int other;

	if (call->number == SYS_wait4 || call->number == SYS_waitid ||
		thrum__adapt_call_is_pause(call))
		return true;
	if (thrum__adapt_vain_looker(look, process, call, &other) && other != fd)
		return true;
	other = thrum__adapt_vain_descriptor(look, process, call, &writes);
	return other >= 0 && other != fd;
}

/* Whether all that was sent to a process by this descriptor was read. */
static bool is_read(const struct look *look, pid_t process, int fd)
{
	int copy COPY = thrum__adapt_vain_duplicate(look, process, fd), unread = 0;

	return copy >= 0 && ioctl(copy, FIONREAD, &unread) == 0 && unread == 0;
}

/* Whether a process that never used an end does nothing for whom waits at the other. One that accepted it may
 * answer once it has heard from elsewhere: only if it waits for the next connection, it won't. */
static bool is_at_rest(const struct look *look, pid_t process, int fd)
{
	enum thrum__adapt_use use = thrum__adapt_user_of(process, fd);
	struct process_call call;

	if (use != USE_NEVER && use != USE_ACCEPTED)
		return false;
	if (use == USE_NEVER &&
		thrum__adapt_naps_goes_round(look->children, (uint32_t)process, NULL))
		return true;
	return thrum__adapt_process_call(process, 0, &call) &&
		(waits_to_accept(look, process, &call) ||
			(use == USE_NEVER && waits_for_others(look, process, &call, fd))) &&
		/* It may have got the descriptor just then, and the call is a later one. */
		thrum__adapt_user_of(process, fd) == use;
}

bool thrum__adapt_left_is(const struct look *look, pid_t reader, int fd, const struct end *end,
	const struct holder *holder)
{
	pid_t process = holder->process;

	return end->is_socket && end->writes && !end->listens && process != look->self &&
		process != reader && thrum__adapt_user_of(reader, fd) == USE_SEEN &&
		thrum__adapt_process_is_copy(look->self, process) &&
		thrum__adapt_process_is_copy(look->self, reader) &&
		thrum__adapt_process_is_single(process) && is_only(process, end->inode) &&
		!thrum__adapt_stream_has(process, holder->at) &&
		is_at_rest(look, process, holder->at) && is_read(look, process, holder->at);
}
