/* SPDX-License-Identifier: ISC */
/*
 * Events of libevent whose callbacks make them active again: as long as they do, libevent runs none of a
 * lower priority, nor looks whether data has come. That goes well if it ends soon. So an event is told only
 * once its callback did so for long and far longer than before, takes hardly any time each, has done nothing
 * else, and a thread waits for an answer to data that has come, while all others sleep.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>

#include "adapt/event/event.h"
#include "adapt/look/look.h"

#define OFTEN 1024              /* turns from one look to the next */
#define FEW 32                  /* turns: a shorter row costs no look at the clock */
#define LONG INT64_C(500000000) /* ns of the processor */
#define LONGER 20               /* so many times as long as any such row before */
#define SHORT INT64_C(50000)    /* ns; a turn that takes longer does some work */
#define CALLER_OF(function) ((const char *)(const void *)(uintptr_t)(function) + 1)

/* The event that the thread runs, and the latest row of turns of one. */
static __thread struct {
	const struct cell *runs, *again;
	uint64_t turns;
	int64_t since; /* of the thread's time, at the turn FEW */
	int64_t next, longest;
	thrum_task task;
} row __attribute__((tls_model("initial-exec")));

static int64_t own_time(void)
{
	struct timespec time = {0, 0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void end_row(void)
{
	int64_t took = row.turns >= FEW ? own_time() - row.since : 0;

	if (took > row.longest)
		row.longest = took;
	if (row.task)
		thrum_task_resolve(row.task);
	row.task = THRUM_TASK_NONE;
	row.again = NULL;
}

void thrum__adapt_event_turn(const struct cell *cell)
{
	if (UNLIKELY(row.again && row.again != cell))
		end_row();
	row.runs = cell;
}

/* Whether data has come, and the thread that waits for an answer to it. */
static bool find_waiter(int fd, struct others *others)
{
	const struct looking looking = {.epoll = 0, .is_endless = true};
	uint32_t events = 0;

	*others = (struct others){.fd = fd, .event = POLLIN};
	return thrum__adapt_watch_epoll(fd, &events) >= 0 && events & EPOLLIN &&
		thrum__adapt_unread(fd) > 0 && thrum__adapt_others_settle(others, &looking) &&
		thrum__adapt_unread(fd) > 0;
}

static void look(void)
{
	cell_function *function = row.runs->given.function[0];
	char label[CALL_MAX + PLACE_MAX + 40];
	struct others others;

	for (int fd = 0; fd < FDS_MAX; fd++) {
		if (!find_waiter(fd, &others))
			continue;
		thrum__adapt_put_call(label, "unread data of", fd);
		thrum__adapt_label(label + strlen(label), ", starved by the event",
			(const void *)(uintptr_t)function);
		row.task = thrum__adapt_look_tell(label, CALLER_OF(function), others.waiter);
		return;
	}
}

void thrum__adapt_event_again(const struct cell *cell)
{
	int64_t took;

	if (cell != row.runs)
		return;
	if (row.again != cell) {
		row.again = cell;
		row.turns = 0;
		row.next = LONG;
	}
	if (++row.turns == FEW)
		row.since = own_time();
	if (row.turns % OFTEN != 0 || row.task)
		return;
	took = own_time() - row.since;
	if (took < row.next || took / LONGER < row.longest || took / (int64_t)row.turns > SHORT)
		return;
	row.next = took + LONG;
	look();
}
