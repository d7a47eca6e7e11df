/* SPDX-License-Identifier: ISC */
/*
 * Loops that poll several descriptors, or wait by epoll: for ends of pipes, processes, and what wakes the
 * loop. If all threads of this process and its relatives wait for each other, none of these ever comes.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/ends/stuck.h"

/* ---- Eventfds ---------------------------------------------------------------------------------- */

#define COUNTER_NAME "anon_inode:[eventfd]"

struct counter {
	pid_t process;
	unsigned long id;
	bool is_found; /* or may be */
};

/* Returns an eventfd's number, which is the kernel's; 0: it isn't known. */
static unsigned long id_of(pid_t process, int fd)
{
	char text[PROCESS_TEXT];

	thrum__adapt_process_read_info(process, fd, text, sizeof text);
	return thrum__adapt_number_behind(text, "\neventfd-id:", 10);
}

static void compare_counter(void *context, int directory, const char *name)
{
	struct counter *counter = context;
	char target[sizeof COUNTER_NAME];
	unsigned long id;

	if (readlinkat(directory, name, target, sizeof target) != sizeof target - 1 ||
		memcmp(target, COUNTER_NAME, sizeof target - 1) != 0)
		return;
	id = id_of(counter->process, atoi(name));
	counter->is_found |= id == 0 || id == counter->id;
}

bool thrum__adapt_polled_is_own(const struct look *look, int fd)
{
	struct counter counter = {.id = id_of(look->self, fd)};

	counter.is_found = counter.id == 0;
	for (unsigned i = 1; i < look->count && !counter.is_found; i++) {
		counter.process = look->processes[i];
		if (!thrum__adapt_process_each(counter.process, "/fd", compare_counter, &counter) &&
			!thrum__adapt_process_is_over(counter.process))
			return false;
	}
	return !counter.is_found;
}

/* ---- Loops ------------------------------------------------------------------------------------- */

#define EPOLLED 16      /* descriptors of an epoll, at most */
#define EPOLL_TEXT 2048 /* bytes that tell of them */

/* The descriptors that are polled. */
struct polled {
	const struct pollfd *all;
	unsigned long count;
	struct pollfd watched[EPOLLED]; /* by an epoll */
};

/* Whether it may be that only relatives end a wait for it: it is no socket of others. */
static bool may_be_related(int fd)
{
	struct stat file;

	return is_of_pipe(fd) || (fstat(fd, &file) == 0 && !S_ISSOCK(file.st_mode));
}

/* Finds what an epoll watches. Returns false if that are too many, or if it waits for more than data. */
static bool find_watched(int epoll, struct polled *polled)
{
	static const char word[] = "\ntfd:", events[] = "events:";
	char text[EPOLL_TEXT], *line = text;
	size_t size = thrum__adapt_process_read_info(own_pid(), epoll, text, sizeof text);

	if (size == 0 || size == sizeof text - 1)
		return false;
	while ((line = strstr(line, word))) {
		int fd = (int)strtol(line += strlen(word), &line, 10);
		char *at = strstr(line, events);
		uint32_t wanted = at ? (uint32_t)strtoul(at + strlen(events), NULL, 16) : 0;

		if (polled->count == EPOLLED || !may_be_related(fd) ||
			(wanted & ~(uint32_t)(EPOLLRDHUP | EPOLLERR | EPOLLHUP)) != EPOLLIN)
			return false;
		polled->watched[polled->count++] = (struct pollfd){fd, POLLIN, 0};
	}
	polled->all = polled->watched;
	return polled->count > 0;
}

/* The descriptor for whose other end the thread waits; -1: there is none. */
static int find_polled(const struct polled *polled, const struct end *end)
{
	for (unsigned long i = 0; i < polled->count; i++) {
		int fd = polled->all[i].fd;
		struct stat file;

		if (fd >= 0 && fstat(fd, &file) == 0 &&
			(end->is_socket ? thrum__adapt_pipe_peer(fd) : file.st_ino) == end->inode)
			return fd;
	}
	return -1;
}

/* Whether it is known who should end the wait. An own thread that waits for a pipe tells that itself. */
static bool is_known(const struct polled *polled, const struct relative *self)
{
	return self->sort == NEEDS_CHILD ||
		(self->sort == NEEDS_END && find_polled(polled, &self->end) >= 0);
}

static void tell(struct looking *looking, const struct polled *polled, const struct stuck *stuck)
{
	const struct relative *self = &stuck->relatives[0];
	struct wait *wait = looking->wait;
	char label[CALL_MAX + PLACE_MAX] = "end of a child";
	int fd = find_polled(polled, &self->end);

	if (self->sort == NEEDS_END) {
		thrum__adapt_put_call(label, "data of", fd);
		thrum__adapt_reader_put(label, fd);
	}
	if (wait->source)
		thrum__adapt_wait_end(wait);
	else
		thrum__adapt_go_on(&wait->pause);
	clear_wait(wait);
	thrum__adapt_wait_make(wait, THRUM_KIND_TASK, label, place_of_wait(looking));
	thrum__adapt_stuck_tell(wait, stuck);
	thrum__adapt_wait_go(wait, looking->reason);
	looking->told = wait->source;
	looking->is_loop = false;
}

void thrum__adapt_polled_look(struct looking *looking)
{
	struct polled polled = {looking->polled, looking->count, {{0, 0, 0}}};
	struct process_call call = {.number = SYS_ppoll};
	struct stuck *stuck = thrum__adapt_stuck_take();
	uint64_t before = looking->stuck_loop;

	if (!stuck)
		return;
	if (looking->epoll >= 0 && !find_watched(looking->epoll, &polled))
		looking->is_loop = false;
	call.arguments[0] = (uintptr_t)polled.all;
	call.arguments[1] = polled.count;
	looking->stuck_loop = !looking->is_loop              ? 0
		: thrum__adapt_stuck_find_call(stuck, &call) ? stuck->sum
							     : 0;
	if (looking->stuck_loop && looking->stuck_loop == before &&
		is_known(&polled, &stuck->relatives[0]) &&
		!thrum__adapt_stuck_has_stranger(stuck) && thrum__adapt_stuck_is_teller(stuck))
		tell(looking, &polled, stuck);
	thrum__adapt_stuck_release();
}
