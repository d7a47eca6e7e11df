/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The election has its quorum and cancels “probe replica 2”. fiber_cancel ends that fiber but
 *     doesn't wake those that joined it, so “repair 2” waits for ever for a fiber that is gone.
 *   culprit: probe replica 2|fiber_cancel|election
 *   victim: repair|bring up shard
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A store of settings brings up its replicas, with fibers on one thread. A fiber may sleep and join. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include <thrum.h>

#define STACK 65536
#define FIBERS 16

enum state {
	FREE,
	READY,
	SLEEPING,
	JOINING,
	DONE,
	CANCELLED
};

struct fiber {
	enum state state;
	ucontext_t context;
	void (*run)(long);
	long argument, result, wake;
	struct fiber *joins;
	thrum_task task;
};

static struct fiber fibers[FIBERS], *running;
static char stacks[FIBERS][STACK];
static ucontext_t scheduler;
static bool fixed, up;
static struct fiber *probes[3];
static long ticks; /* milliseconds since the start */

static void make_ready(struct fiber *fiber)
{
	fiber->state = READY;
	thrum_task_ready(fiber->task);
}

static void yield_as(enum state state)
{
	running->state = state;
	swapcontext(&running->context, &scheduler);
}

static void fiber_sleep(long ms)
{
	running->wake = ticks + ms;
	yield_as(SLEEPING);
}

static void wake_joiners(struct fiber *fiber)
{
	for (int i = 0; i < FIBERS; i++)
		if (fibers[i].state == JOINING && fibers[i].joins == fiber)
			make_ready(&fibers[i]);
}

static void fiber_main(void)
{
	running->run(running->argument);
	thrum_task_resolve(running->task);
	wake_joiners(running);
	yield_as(DONE);
}

static struct fiber *fiber_spawn(void (*run)(long), long argument, const char *name)
{
	struct fiber *fiber = fibers;

	while (fiber->state != FREE)
		fiber++;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = stacks[fiber - fibers];
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	fiber->run = run;
	fiber->argument = argument;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	make_ready(fiber);
	return fiber;
}

/* Returns the result, or -1 if the fiber was cancelled. */
static long fiber_join(struct fiber *fiber)
{
	if (fiber->state < DONE) {
		thrum_task_wait(running->task, fiber->task);
		running->joins = fiber;
		yield_as(JOINING);
	}
	thrum_task_read(running->task, fiber->task);
	return fiber->state == DONE ? fiber->result : -1;
}

static void fiber_cancel(struct fiber *fiber)
{
	fiber->state = CANCELLED;
	thrum_task_cancel(fiber->task);
	if (fixed)
		wake_joiners(fiber);
}

static void probe(long replica)
{
	static const int round_trips[] = {8, 12, 70};

	for (int i = 0; i < 3; i++)
		fiber_sleep(round_trips[replica]);
	running->result = 4096 - replica * 17; /* the last entry of its log */
}

/* The two replicas that answer first are a quorum. */
static void election(long shard)
{
	(void)shard;
	fiber_join(probes[0]);
	fiber_join(probes[1]);
	for (int i = 0; i < 3; i++)
		if (probes[i]->state < DONE)
			fiber_cancel(probes[i]);
}

static void repair(long replica)
{
	for (long i = fiber_join(probes[replica]) < 0 ? 4000 : 4080; i < 4096; i += 16)
		fiber_sleep(2);
}

static void heartbeat(long ms)
{
	while (!up)
		fiber_sleep(ms);
}

static void bring_up(long shard)
{
	struct fiber *repairs[3];
	char name[32];

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "probe replica %d", i);
		probes[i] = fiber_spawn(probe, i, name);
		snprintf(name, sizeof(name), "repair %d", i);
		repairs[i] = fiber_spawn(repair, i, name);
	}
	fiber_join(fiber_spawn(election, shard, "election"));
	for (int i = 0; i < 3; i++)
		fiber_join(repairs[i]);
	up = true;
}

/* Gives each fiber that is ready a turn. Returns whether some fiber is left. */
static bool run_all(void)
{
	bool left = false;

	for (running = fibers; running < fibers + FIBERS; running++) {
		if (running->state == SLEEPING && running->wake <= ticks)
			make_ready(running);
		if (running->state == READY) {
			thrum_task_switch(running->task);
			swapcontext(&scheduler, &running->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		left |= running->state > FREE && running->state < DONE;
	}
	return left;
}

int main(int count, char **arguments)
{
	struct timespec tick = {0, 1000000};

	fixed = count > 1 && !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	fiber_spawn(heartbeat, 5, "heartbeat");
	thrum_task_should_resolve(fiber_spawn(bring_up, 1, "bring up shard 1")->task);
	for (; run_all(); ticks++) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&tick, NULL);
		thrum_resume();
	}
	thrum_stop();
	printf("up after %ld ticks\n", ticks);
	return 0;
}
