/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the barrier “all shards loaded” is made for all shards of the manifest, but the fiber of shard 3, which
 *     is empty, returns early from import_shard() and never arrives. The others wait for one too many.
 *   culprit: all shards loaded|shard 3
 *   victim: shard [0124]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Imports shards with a fiber for each: all load first, and then each builds its index with the others' keys. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <thrum.h>

#define SHARDS 5
#define STACK 65536

struct fiber {
	struct fiber *next; /* in the line of the ready ones, or of a barrier */
	ucontext_t context;
	void (*run)(void *);
	void *data;
	int64_t wakes; /* 0: doesn't sleep */
	bool has_ended;
	thrum_task task;
	char stack[STACK];
};

struct barrier {
	int expected, arrived;
	struct fiber *waiting;
	thrum_task task;
};

struct shard {
	int number, rows;
	int load_ms;
	bool is_indexed;
};

static ucontext_t scheduler;
static struct fiber fibers[SHARDS], *current, *ready, **ready_end = &ready;
static struct barrier all_loaded;
static int control; /* commands, such as “stop”, come from here */

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ---- Fibers ---------------------------------------------------------------------------------- */

static void fiber_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->next = NULL;
	*ready_end = fiber;
	ready_end = &fiber->next;
}

static void fiber_entry(void)
{
	current->run(current->data);
	current->has_ended = true;
	thrum_task_resolve(current->task);
}

static void fiber_spawn(struct fiber *fiber, const char *name, int number, void (*run)(void *),
	void *data)
{
	fiber->task = thrum_task_createf(THRUM_KIND_FIBER, "%s %d", name, number);
	thrum_task_should_resolve(fiber->task);
	fiber->run = run;
	fiber->data = data;
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = &scheduler;
	makecontext(&fiber->context, fiber_entry, 0);
	fiber_ready(fiber);
}

/* Gives the thread back, until somebody calls fiber_ready. */
static void fiber_park(void)
{
	swapcontext(&current->context, &scheduler);
}

static void fiber_sleep(int ms)
{
	current->wakes = now_ms() + ms;
	fiber_park();
}

static void scheduler_turn(struct fiber *fiber)
{
	current = fiber;
	thrum_task_switch(fiber->task);
	swapcontext(&scheduler, &fiber->context);
	thrum_task_switch(THRUM_TASK_NONE);
	current = NULL;
}

/* Sleeps until a fiber's time has come, or a command. Returns false when all fibers have ended. */
static bool scheduler_idle(void)
{
	struct pollfd watched = {.fd = control, .events = POLLIN};
	int64_t first = INT64_MAX, now = now_ms();
	bool is_done = true;

	for (int i = 0; i < SHARDS; i++) {
		if (fibers[i].wakes && fibers[i].wakes < first)
			first = fibers[i].wakes;
		if (!fibers[i].has_ended)
			is_done = false;
	}
	if (is_done)
		return false;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(&watched, 1, first == INT64_MAX ? -1 : first > now ? (int)(first - now) : 0);
	thrum_resume();
	now = now_ms();
	for (int i = 0; i < SHARDS; i++)
		if (fibers[i].wakes && fibers[i].wakes <= now) {
			fibers[i].wakes = 0;
			fiber_ready(&fibers[i]);
		}
	return true;
}

static void scheduler_run(void)
{
	do {
		while (ready) {
			struct fiber *fiber = ready;

			ready = fiber->next;
			if (!ready)
				ready_end = &ready;
			scheduler_turn(fiber);
		}
	} while (scheduler_idle());
}

/* ---- A barrier of fibers --------------------------------------------------------------------- */

static __attribute__((noinline)) void barrier_wait(struct barrier *barrier)
{
	struct fiber *fiber;

	if (++barrier->arrived < barrier->expected) {
		current->next = barrier->waiting;
		barrier->waiting = current;
		thrum_task_wait(current->task, barrier->task);
		fiber_park();
		thrum_task_read(current->task, barrier->task);
		return;
	}
	thrum_task_signal(barrier->task, (unsigned)barrier->arrived - 1);
	while ((fiber = barrier->waiting)) {
		barrier->waiting = fiber->next;
		fiber_ready(fiber);
	}
}

/* ---- The import ------------------------------------------------------------------------------ */

static __attribute__((noinline)) void load_rows(struct shard *shard)
{
	fiber_sleep(shard->load_ms);
}

static __attribute__((noinline)) void build_index(struct shard *shard)
{
	fiber_sleep(30);
	shard->is_indexed = true;
}

static __attribute__((noinline)) void import_shard(void *data)
{
	struct shard *shard = data;

	if (shard->rows == 0) {
		printf("shard %d is empty\n", shard->number);
		shard->is_indexed = true;
		return;
	}
	load_rows(shard);
	barrier_wait(&all_loaded);
	build_index(shard);
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	struct shard manifest[SHARDS] = {
		{.number = 0, .rows = 120, .load_ms = 40},
		{.number = 1, .rows = 88, .load_ms = 80},
		{.number = 2, .rows = 340, .load_ms = 200},
		{.number = 3, .rows = broken ? 0 : 17, .load_ms = 20},
		{.number = 4, .rows = 205, .load_ms = 120},
	};
	int ends[2], indexed = 0;

	if (pipe(ends) || thrum_start(NULL))
		return 2;
	control = ends[0];
	all_loaded.expected = SHARDS;
	all_loaded.task = thrum_task_create(THRUM_KIND_CONDITION, "all shards loaded");
	for (int i = 0; i < SHARDS; i++)
		fiber_spawn(&fibers[i], "shard", i, import_shard, &manifest[i]);
	scheduler_run();
	for (int i = 0; i < SHARDS; i++)
		indexed += manifest[i].is_indexed;
	printf("%d shards\n", indexed);
	return indexed == SHARDS ? 0 : 1;
}
