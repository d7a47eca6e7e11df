/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The coroutine "dispatcher" puts all rows before it takes a single ack. "acks" fills up, both workers wait to put into it, so nobody empties "rows", and the dispatcher waits for room in "rows": both sides wait for a full queue.
 *   culprit: dispatcher
 *   victim: worker
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	ROWS = 30,
	CAPACITY = 4
};

struct fiber {
	struct fiber *next;
	ucontext_t context;
	thrum_task task;
	bool is_waiting;
	void (*run)(void);
};

struct channel {
	int values[CAPACITY], first, count, readers;
	struct fiber *waiters;
	thrum_task task;
};

static ucontext_t scheduler;
static struct fiber *current, *ready_first, **ready_end = &ready_first;
static struct channel rows, acks, control;
static bool broken;
static int alive;

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->next = NULL;
	*ready_end = fiber;
	ready_end = &fiber->next;
}

static void yield(void)
{
	swapcontext(&current->context, &scheduler);
}

static void channel_wait(struct channel *channel)
{
	thrum_task_wait(current->task, channel->task);
	current->next = channel->waiters;
	channel->waiters = current;
	yield();
}

static void channel_wake(struct channel *channel)
{
	struct fiber *waiters = channel->waiters;

	channel->waiters = NULL;
	while (waiters) {
		struct fiber *fiber = waiters;

		waiters = fiber->next;
		make_ready(fiber);
	}
}

static void put(struct channel *channel, int value)
{
	while (channel->count == CAPACITY)
		channel_wait(channel);
	channel->values[(channel->first + channel->count++) % CAPACITY] = value;
	thrum_task_signal(channel->task, channel->readers);
	channel_wake(channel);
}

static int take(struct channel *channel)
{
	int value;

	channel->readers++;
	while (channel->count == 0)
		channel_wait(channel);
	channel->readers--;
	value = channel->values[channel->first++ % CAPACITY];
	channel->count--;
	thrum_task_read(current->task, channel->task);
	channel_wake(channel);
	return value;
}

static void dispatcher(void)
{
	int in_flight = 0;

	for (int i = 1; i <= ROWS; i++) {
		put(&rows, i);
		in_flight++;
		/* Takes acks along the way, so that the workers can go on. */
		while (!broken && in_flight > 5) {
			take(&acks);
			in_flight--;
		}
	}
	while (in_flight-- > 0)
		take(&acks);
	put(&rows, 0);
	put(&rows, 0);
}

static void worker(void)
{
	int row;

	while ((row = take(&rows))) {
		usleep(1500);
		put(&acks, row);
	}
}

/* Orders of the operator, who rarely has any. */
static void console(void)
{
	for (;;)
		take(&control);
}

static void start(void)
{
	current->run();
	thrum_task_resolve(current->task);
	alive--;
	yield();
}

static void spawn(const char *name, void (*run)(void), bool must_end)
{
	struct fiber *fiber = calloc(1, sizeof *fiber);

	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(64 << 10);
	fiber->context.uc_stack.ss_size = 64 << 10;
	makecontext(&fiber->context, start, 0);
	fiber->run = run;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	if (must_end) {
		thrum_task_should_resolve(fiber->task);
		alive++;
	}
	make_ready(fiber);
}

int main(int argc, char **argv)
{
	int wakeup[2];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (pipe(wakeup))
		return 1;
	rows.task = thrum_task_create(THRUM_KIND_MAILBOX, "rows");
	acks.task = thrum_task_create(THRUM_KIND_MAILBOX, "acks");
	control.task = thrum_task_create(THRUM_KIND_MAILBOX, "control");
	spawn("console", console, false);
	spawn("dispatcher", dispatcher, true);
	spawn("worker 1", worker, true);
	spawn("worker 2", worker, true);
	while (alive > 0) {
		while ((current = ready_first)) {
			ready_first = current->next;
			if (!ready_first)
				ready_end = &ready_first;
			thrum_task_switch(current->task);
			swapcontext(&scheduler, &current->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		if (alive > 0) {
			struct pollfd entry = {.fd = wakeup[0], .events = POLLIN};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			poll(&entry, 1, -1);
			thrum_resume();
		}
	}
	return 0;
}
