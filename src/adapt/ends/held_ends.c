/* SPDX-License-Identifier: ISC */
/* Finds who has an end of a pipe: this process, and those that it started. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapt/ends/ends.h"

#define HABIT 2 /* so many pipes of the same place were read to their ends */

REAL(poll)

bool thrum__adapt_find_file(int directory, const char *name, struct statx *file)
{
	return statx(directory, name, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
		       file) == 0;
}

struct search {
	const struct end *end;
	int at, last; /* the lowest and highest descriptor; -1: none */
};

static void compare_end(void *context, int directory, const char *name)
{
	struct search *search = context;
	struct statx file;
	struct stat link;
	int fd = atoi(name);

	if (!thrum__adapt_find_file(directory, name, &file) || file.stx_ino != search->end->inode ||
		(search->end->is_socket ? !S_ISSOCK(file.stx_mode) : !S_ISFIFO(file.stx_mode)))
		return;
	if (!search->end->is_socket &&
		(fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) != 0 ||
			!(link.st_mode & (search->end->writes ? S_IWUSR : S_IRUSR))))
		return;
	search->at = search->at < 0 || fd < search->at ? fd : search->at;
	search->last = fd > search->last ? fd : search->last;
}

/* Whether a descriptor of a process closes when the process executes a program. */
static bool closes_at_exec(pid_t process, int fd)
{
	char text[PROCESS_TEXT];

	thrum__adapt_process_read_info(process, fd, text, sizeof text);
	return thrum__adapt_number_behind(text, "\nflags:", 8) & O_CLOEXEC;
}

/* Whether a program that was executed knows of an end: it has made the descriptor itself, as those that it
 * got with the execution don't close at the next one. So a shell keeps its output while a command has
 * another. */
static bool is_known(pid_t process, const struct search *search)
{
	return closes_at_exec(process, search->at) ||
		(search->last != search->at && closes_at_exec(process, search->last));
}

/* The number under which this process made an end, and others got it with a fork; -1: not known. A process
 * for which the calling thread waits may wait for an end of another pipe. */
static int number_of(const struct look *look, const struct end *end)
{
	int number = end->is_socket ? -1 : thrum__adapt_pipe_made_as(end->inode, end->writes);

	return number >= 0 ? number : thrum__adapt_pipe_other(look->fd, end->writes);
}

/* Whether a process has an end under another number than that under which it can have got it by mistake: so
 * it was moved on purpose. */
static bool is_moved(const struct look *look, pid_t process, const struct search *search)
{
	int other = number_of(look, search->end);
	pid_t parent = thrum__adapt_process_parent(process);
	struct search theirs = {search->end, -1, -1};

	if (other < 0 || (search->at == search->last && search->at == other))
		return false;
	if (parent == look->self)
		return true;
	/* One that was moved may be left to others by mistake. */
	return thrum__adapt_process_each(parent, "/fd", compare_end, &theirs) &&
		theirs.at != search->at && theirs.last != search->at;
}

/* Whether a process that has an end at these descriptors may use it. Another program may not if it wasn't
 * told of it. Nor may this program, executed anew, unless the end was moved: so both may know the number.
 * If this process has several threads, others may use it, unless they never did. */
static bool is_meant(const struct look *look, pid_t process, const struct search *search)
{
	if (process == look->self)
		return !look->is_alone &&
			(search->at != search->last || search->end->is_socket ||
				thrum__adapt_pipe_is_used(search->at, search->end->writes));
	return search->at <= STDERR_FILENO || thrum__adapt_process_is_copy(look->self, process) ||
		thrum__adapt_process_is_told(process, search->at) || is_known(process, search) ||
		is_moved(look, process, search) ||
		((search->at != search->last || search->at != number_of(look, search->end)) &&
			!thrum__adapt_process_is_other(look->self, process));
}

int thrum__adapt_ends_at(pid_t process, const struct end *end)
{
	struct search search = {end, -1, -1};

	thrum__adapt_process_each(process, "/fd", compare_end, &search);
	return search.at;
}

bool thrum__adapt_ends_is_once(pid_t process, const struct end *end)
{
	struct search search = {end, -1, -1};

	return thrum__adapt_process_each(process, "/fd", compare_end, &search) && search.at >= 0 &&
		search.at == search.last;
}

struct others {
	const struct look *look;
	const struct end *end;
	bool have_it;
	pid_t process; /* one of them; 0: none */
};

static void look_at_other(void *context, int directory, const char *name)
{
	struct others *others = context;
	struct search search = {others->end, -1, -1};
	struct pollfd one = {others->look->fd, others->look->events, 0};
	pid_t process = atoi(name);

	if (others->have_it || thrum__adapt_relatives_bit(others->look, process))
		return;
	/* The thread may have what it waits for. */
	others->have_it = real_poll(NULL)(&one, 1, 0) != 0;
	if (!others->have_it)
		thrum__adapt_process_each(process, "/fd", compare_end, &search);
	if (search.at >= 0)
		others->process = process;
	others->have_it |= search.at >= 0;
}

bool thrum__adapt_ends_elsewhere(const struct look *look, const struct end *end)
{
	struct others others = {look, end, false, 0};

	return !thrum__adapt_each_process(look_at_other, &others) || others.have_it;
}

/* Finds who holds an end. Returns how many do; -1: they can't all be seen. */
static int find_holders(const struct look *look, const struct end *end,
	struct holder holders[PROCESSES])
{
	int count = 0;

	for (unsigned i = 0; i < look->count; i++) {
		struct search search = {end, -1, -1};
		pid_t process = look->processes[i];

		if (!thrum__adapt_process_each(process, "/fd", compare_end, &search) &&
			!thrum__adapt_process_is_over(process))
			return -1;
		if (search.at >= 0)
			holders[count++] = (struct holder){process, search.at,
				is_meant(look, process, &search)};
	}
	return look->is_whole ? count : -1;
}

static bool reads_nothing(pid_t process)
{
	static const char null[] = "/dev/null";
	char path[64], target[sizeof null];

	thrum__adapt_process_descriptor(path, process, STDIN_FILENO);
	return readlink(path, target, sizeof target) == sizeof null - 1 &&
		memcmp(target, null, sizeof null - 1) == 0;
}

/* Whether a process was cut off from those with which it began, as those that go on in the background are. */
static bool is_apart(const struct look *look, pid_t process)
{
	pid_t group = thrum__adapt_process_group(process);

	return (group != 0 && group != thrum__adapt_process_group(look->self)) ||
		(reads_nothing(process) && !reads_nothing(look->self));
}

pid_t thrum__adapt_ends_left(const struct look *look, const struct end *end)
{
	struct others others = {look, end, false, 0};
	struct holder holders[PROCESSES];

	if (!end->writes || end->is_socket || thrum__adapt_pipe_ends(look->fd) < HABIT ||
		find_holders(look, end, holders) != 0)
		return 0;
	thrum__adapt_each_process(look_at_other, &others);
	return others.process && is_apart(look, others.process) ? others.process : 0;
}

unsigned thrum__adapt_ends_holders(const struct look *look, const struct end *end,
	struct holder holders[PROCESSES])
{
	int found = find_holders(look, end, holders);
	unsigned count = found > 0 ? (unsigned)found : 0;

	for (unsigned i = 0; i < count; i++)
		if (holders[i].is_meant &&
			thrum__adapt_spare_is(look, end, holders, count, holders[i].process))
			holders[i].is_meant = false;
	return count;
}
