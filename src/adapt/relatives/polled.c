/* SPDX-License-Identifier: ISC */
/*
 * Loops that poll several descriptors: ends of pipes, processes, and what wakes the loop. If all threads of
 * this process and its relatives wait for each other, none of these ever comes.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/relatives/stuck.h"

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
	static const char word[] = "\neventfd-id:";
	char text[PROCESS_TEXT], *at;

	thrum__adapt_process_read_info(process, fd, text, sizeof text);
	at = strstr(text, word);
	return at ? strtoul(at + strlen(word), NULL, 10) : 0;
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

/* The descriptor for whose other end the thread waits; -1: there is none. */
static int find_polled(const struct looking *looking, const struct end *end)
{
	for (unsigned long i = 0; i < looking->count; i++) {
		int fd = looking->polled[i].fd;
		struct stat file;

		if (fd >= 0 && fstat(fd, &file) == 0 &&
			(end->is_socket ? thrum__adapt_pipe_peer(fd) : file.st_ino) == end->inode)
			return fd;
	}
	return -1;
}

/* Whether it is known who should end the wait. An own thread that waits for a pipe tells that itself. */
static bool is_known(const struct looking *looking, const struct relative *self)
{
	return self->sort == NEEDS_CHILD ||
		(self->sort == NEEDS_END && find_polled(looking, &self->end) >= 0);
}

static void tell(struct looking *looking, const struct stuck *stuck)
{
	const struct relative *self = &stuck->relatives[0];
	struct wait *wait = looking->wait;
	char label[CALL_MAX] = "end of a child";

	if (self->sort == NEEDS_END)
		thrum__adapt_put_call(label, "data of", find_polled(looking, &self->end));
	if (wait->source)
		thrum__adapt_wait_end(wait);
	else
		thrum__adapt_go_on(&wait->pause);
	*wait = (struct wait){.pause.is_over = true};
	thrum__adapt_wait_make(wait, THRUM_KIND_TASK, label, looking->runner);
	thrum__adapt_stuck_tell(wait, stuck);
	thrum__adapt_wait_go(wait, looking->reason);
	looking->told = wait->source;
	looking->is_loop = false;
}

void thrum__adapt_polled_look(struct looking *looking)
{
	struct process_call call = {.number = SYS_ppoll,
		.arguments = {(uintptr_t)looking->polled, looking->count}};
	struct stuck *stuck = thrum__adapt_stuck_take();
	uint64_t before = looking->stuck_loop;

	if (!stuck)
		return;
	looking->stuck_loop = thrum__adapt_stuck_find_call(stuck, &call) ? stuck->sum : 0;
	if (looking->stuck_loop && looking->stuck_loop == before &&
		is_known(looking, &stuck->relatives[0]) &&
		!thrum__adapt_stuck_has_stranger(stuck) && thrum__adapt_stuck_is_teller(stuck))
		tell(looking, stuck);
	thrum__adapt_stuck_release();
}
