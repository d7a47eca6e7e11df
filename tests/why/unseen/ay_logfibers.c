/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: when the reader has sent the last line it closes the channel "lines"; chan_close wakes only the
 *     first worker that waits there, the others never learn that no more lines come; main waits for them
 *   culprit: \breader\b|\blines\b|chan_close
 *   victim: worker [0-9]+|\bmain\b|totals
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Counts lines of a log with fibers and channels, as a small scheduler on ucontext runs them. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK 65536
#define WORKERS 3
#define LINES 40
#define ROOM 4

struct fiber {
	ucontext_t context;
	void (*run)(struct fiber *);
	struct fiber *next;
	thrum_task task;
	int64_t due; /* 0: doesn't sleep */
	int count;
	bool ended;
};

struct list {
	struct fiber *first, **end;
	unsigned length;
};

struct channel {
	int values[ROOM];
	int first, count;
	bool closed;
	struct list readers, writers;
	thrum_task task;
};

static ucontext_t scheduler;
static struct fiber fibers[WORKERS + 2], *self;
static struct list ready;
static struct channel lines, totals;
static int grand_total, control[2];
static bool wake_all;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void list_add(struct list *list, struct fiber *fiber)
{
	fiber->next = NULL;
	if (!list->first)
		list->end = &list->first;
	*list->end = fiber;
	list->end = &fiber->next;
	list->length++;
}

static struct fiber *list_take(struct list *list)
{
	struct fiber *fiber = list->first;

	if (fiber) {
		list->first = fiber->next;
		list->length--;
	}
	return fiber;
}

static void make_ready(struct fiber *fiber)
{
	if (!fiber)
		return;
	thrum_task_ready(fiber->task);
	list_add(&ready, fiber);
}

static void yield_to_scheduler(void)
{
	swapcontext(&self->context, &scheduler);
}

static void fiber_sleep(int64_t ns)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");

	thrum_task_due(timer, ns);
	thrum_task_wait(self->task, timer);
	self->due = now() + ns;
	yield_to_scheduler();
	thrum_task_resolve(timer);
}

static void chan_wait(struct channel *channel, struct list *line)
{
	thrum_task_wait(self->task, channel->task);
	list_add(line, self);
	yield_to_scheduler();
}

static void chan_send(struct channel *channel, int value)
{
	while (channel->count == ROOM)
		chan_wait(channel, &channel->writers);
	channel->values[(channel->first + channel->count++) % ROOM] = value;
	thrum_task_signal(channel->task, channel->readers.length);
	make_ready(list_take(&channel->readers));
}

/* Returns false at the end. */
static bool chan_receive(struct channel *channel, int *value)
{
	while (channel->count == 0) {
		if (channel->closed)
			return false;
		chan_wait(channel, &channel->readers);
	}
	*value = channel->values[channel->first];
	channel->first = (channel->first + 1) % ROOM;
	channel->count--;
	thrum_task_read(self->task, channel->task);
	make_ready(list_take(&channel->writers));
	return true;
}

static void chan_close(struct channel *channel)
{
	channel->closed = true;
	thrum_task_signal(channel->task, channel->readers.length);
	make_ready(list_take(&channel->readers));
	while (wake_all && channel->readers.first)
		make_ready(list_take(&channel->readers));
}

static void reader(struct fiber *fiber)
{
	(void)fiber;
	for (int i = 0; i < LINES; i++) {
		if (i % 5 == 0)
			fiber_sleep(4000000); /* the disk */
		chan_send(&lines, i);
	}
	fiber_sleep(10000000);
	chan_close(&lines);
}

static void worker(struct fiber *fiber)
{
	for (int line; chan_receive(&lines, &line);) {
		fiber->count += line;
		fiber_sleep(1000000 + line % 3 * 200000);
	}
	chan_send(&totals, fiber->count);
}

static void collect(struct fiber *fiber)
{
	int total;

	for (int i = 0; i < WORKERS; i++)
		if (chan_receive(&totals, &total))
			grand_total += total;
	fiber->count = grand_total;
}

static void fiber_main(void)
{
	self->run(self);
	self->ended = true;
	thrum_task_resolve(self->task);
	yield_to_scheduler();
}

static void fiber_start(struct fiber *fiber, const char *name, void (*run)(struct fiber *))
{
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	fiber->run = run;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	make_ready(fiber);
}

/* Sleeps until the next fiber is due, or somebody writes to the control pipe. */
static void wait_for_events(void)
{
	struct pollfd poll_control = {.fd = control[0], .events = POLLIN};
	int64_t first = 0, time;

	for (int i = 0; i < WORKERS + 2; i++)
		if (fibers[i].due && (!first || fibers[i].due < first))
			first = fibers[i].due;
	time = now();
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(&poll_control, 1, first ? first > time ? (int)((first - time) / 1000000) + 1 : 0 : -1);
	thrum_resume();
	time = now();
	for (int i = 0; i < WORKERS + 2; i++) {
		if (fibers[i].due && fibers[i].due <= time) {
			fibers[i].due = 0;
			make_ready(&fibers[i]);
		}
	}
}

int main(int argc, char **argv)
{
	struct fiber *last = &fibers[WORKERS + 1];
	char name[16];

	wake_all = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (pipe(control))
		return 1;
	thrum_start(NULL);
	lines.task = thrum_task_create(THRUM_KIND_MAILBOX, "lines");
	totals.task = thrum_task_create(THRUM_KIND_MAILBOX, "totals");
	fiber_start(&fibers[0], "reader", reader);
	for (int i = 1; i <= WORKERS; i++) {
		snprintf(name, sizeof(name), "worker %d", i);
		fiber_start(&fibers[i], name, worker);
	}
	fiber_start(last, "main", collect);
	thrum_task_should_resolve(last->task);
	for (;; wait_for_events()) {
		while ((self = list_take(&ready))) {
			thrum_task_switch(self->task);
			swapcontext(&scheduler, &self->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		if (last->ended)
			break;
	}
	thrum_stop();
	printf("total %d\n", grand_total);
	for (int i = 0; i < WORKERS + 2; i++)
		free(fibers[i].context.uc_stack.ss_sp);
	return 0;
}
