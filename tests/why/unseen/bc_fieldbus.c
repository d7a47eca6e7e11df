/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: chan_receive_until gives up after its patience, but leaves the fiber prober in the channel's
 *     line; the next chan_send hands the bus token to prober, who sleeps elsewhere and never looks at it:
 *     the token is lost, and poller A and poller B wait for it for ever
 *   culprit: prober
 *   victim: poller|bus token|chan_receive_until
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A field bus with fibers (ucontext). A fiber that wants to use the bus takes the token from a channel. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

enum {
	FIBERS = 4,
	STACK = 256 * 1024,
	LINE = 16
};

struct fiber {
	const char *name;
	ucontext_t context;
	thrum_task task;
	int64_t wake; /* ns; INT64_MAX: no timer */
	bool ready, ended;
	int slot; /* what a channel gave to it */
	void (*body)(struct fiber *);
};

/* A channel holds at most one value. */
struct channel {
	thrum_task task;
	struct fiber *line[LINE];
	int waiting;
	int value;
};

static struct fiber fibers[FIBERS];
static struct fiber *running;
static ucontext_t scheduler;
static struct channel token;
static int transactions, probes, alive;
static bool leaves_line;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* ---- Fibers -------------------------------------------------------------------------------- */

static void fiber_yield(void)
{
	swapcontext(&running->context, &scheduler);
}

static void fiber_ready(struct fiber *fiber)
{
	if (!fiber->ready)
		thrum_task_ready(fiber->task);
	fiber->ready = true;
}

static void fiber_sleep(int ms)
{
	int64_t until = now() + (int64_t)ms * 1000000;
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");

	thrum_task_due(timer, (int64_t)ms * 1000000);
	thrum_task_wait(running->task, timer);
	while (now() < until) {
		running->wake = until;
		fiber_yield();
	}
	thrum_task_resolve(timer);
	thrum_task_read(running->task, timer);
}

static void fiber_main(void)
{
	running->body(running);
	running->ended = true;
	thrum_task_resolve(running->task);
	fiber_yield();
}

static void fiber_start(struct fiber *fiber, const char *name, void (*body)(struct fiber *))
{
	fiber->name = name;
	fiber->body = body;
	fiber->wake = INT64_MAX;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = &scheduler;
	makecontext(&fiber->context, fiber_main, 0);
	fiber_ready(fiber);
	alive++;
}

/* Runs fibers until all but the ticker have ended. */
static void schedule(void)
{
	while (alive > 1) {
		int64_t first = INT64_MAX;
		bool any = false;

		for (int i = 0; i < FIBERS; i++) {
			struct fiber *fiber = &fibers[i];

			if (!fiber->ended && fiber->wake <= now()) {
				fiber->wake = INT64_MAX;
				fiber_ready(fiber);
			}
			if (!fiber->ended && fiber->ready) {
				any = true;
				fiber->ready = false;
				running = fiber;
				THRUM_RUN (fiber->task)
					swapcontext(&scheduler, &fiber->context);
				alive -= fiber->ended;
			}
			if (!fiber->ended && fiber->wake < first)
				first = fiber->wake;
		}
		if (!any) {
			int64_t rest = first - now();
			struct timespec time = {0, rest > 0 && rest < 100000000 ? rest : 1000000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&time, NULL);
			thrum_resume();
		}
	}
}

/* ---- Channels ------------------------------------------------------------------------------ */

static void line_leave(struct channel *channel, struct fiber *fiber)
{
	for (int i = 0; i < channel->waiting; i++)
		if (channel->line[i] == fiber) {
			memmove(&channel->line[i], &channel->line[i + 1],
				sizeof(channel->line[0]) * (size_t)(--channel->waiting - i));
			return;
		}
}

static void chan_send(struct channel *channel, int value)
{
	struct fiber *first = channel->line[0];

	thrum_task_signal(channel->task, (unsigned)channel->waiting);
	if (!channel->waiting) {
		channel->value = value;
		return;
	}
	line_leave(channel, first);
	first->slot = value;
	fiber_ready(first);
}

/* Returns 0 if nothing comes within that time; less than 0 ms: waits as long as it takes. */
static int chan_receive_until(struct channel *channel, int ms)
{
	int64_t until = ms < 0 ? INT64_MAX : now() + (int64_t)ms * 1000000;
	struct fiber *self = running;

	self->slot = channel->value;
	channel->value = 0;
	if (!self->slot && channel->waiting < LINE) {
		channel->line[channel->waiting++] = self;
		thrum_task_wait(self->task, channel->task);
		while (!self->slot && now() < until) {
			self->wake = until;
			fiber_yield();
		}
		self->wake = INT64_MAX;
		if (!self->slot && leaves_line)
			line_leave(channel, self);
	}
	if (self->slot)
		thrum_task_read(self->task, channel->task);
	return self->slot;
}

/* ---- The bus ------------------------------------------------------------------------------- */

static void poll_devices(struct fiber *self)
{
	for (int i = 0; i < 10; i++) {
		thrum_task work = thrum_task_createf(THRUM_KIND_TASK, "%s: register %d", self->name,
			i);
		int mine;

		thrum_task_should_resolve(work);
		thrum_task_wait(work, self->task);
		mine = chan_receive_until(&token, -1);
		fiber_sleep(20); /* the device answers */
		transactions++;
		thrum_task_resolve(work);
		chan_send(&token, mine);
		fiber_sleep(4);
	}
}

/* Looks for new devices if the bus is free. */
static void probe(struct fiber *self)
{
	int mine;
	(void)self;

	for (int i = 0; i < 6; i++) {
		fiber_sleep(i ? 70 : 3);
		mine = chan_receive_until(&token, i % 2 ? 60 : 8);
		if (!mine)
			continue;
		probes++;
		fiber_sleep(2);
		chan_send(&token, mine);
	}
}

static void tick(struct fiber *self)
{
	for (;;) {
		thrum_logf("%s: %d transactions", self->name, transactions);
		fiber_sleep(50);
	}
}

int main(int argc, char **argv)
{
	leaves_line = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	token.task = thrum_task_create(THRUM_KIND_MAILBOX, "bus token");
	token.value = 1;
	fiber_start(&fibers[0], "poller A", poll_devices);
	fiber_start(&fibers[1], "poller B", poll_devices);
	fiber_start(&fibers[2], "prober", probe);
	fiber_start(&fibers[3], "ticker", tick);
	schedule();
	thrum_stop();
	printf("%d transactions, %d probes\n", transactions, probes);
	for (int i = 0; i < FIBERS; i++)
		free(fibers[i].context.uc_stack.ss_sp);
	return transactions == 20 ? 0 : 1;
}
