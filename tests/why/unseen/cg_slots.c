/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: a fiber is known by the number of its slot. "fetch 6" has ended before the crawler joins it, and
 *     its slot has been given to "heartbeat". fiber_join only looks whether the slot is in use, so the
 *     crawler waits for the end of "heartbeat", which never ends, instead of going on at once.
 *   culprit: heartbeat|fiber_join
 *   victim: crawler
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A crawler on fibers of its own: it starts a fiber for each page, looks for links, and joins the fiber. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

enum {
	SLOTS = 8,
	STACK = 64 * 1024,
	PAGES = 9
};

static bool broken;

struct fiber {
	bool is_used;
	unsigned generation;
	thrum_task task;
	thrum_task timer;
	void (*body)(int number);
	int number;
	int64_t due;          /* ms, while it sleeps */
	struct fiber *joiner; /* is made ready by its end */
	bool is_ready;
	ucontext_t context;
	char *stack;
};

struct handle {
	int slot;
	unsigned generation;
};

static struct fiber fibers[SLOTS];
static struct fiber *running;
static ucontext_t scheduler;
static int pages_loaded, beats;
static bool is_finished;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* ---- Fibers ---- */

static void fiber_main(void)
{
	running->body(running->number);
	thrum_task_resolve(running->task);
	if (running->joiner) {
		running->joiner->is_ready = true;
		thrum_task_ready(running->joiner->task);
		running->joiner = NULL;
	}
	running->is_used = false;
	running->generation++;
	swapcontext(&running->context, &scheduler);
}

static void fiber_prepare(struct fiber *fiber)
{
	if (!fiber->stack)
		fiber->stack = malloc(STACK);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
}

static struct handle fiber_start(void (*body)(int number), int number, const char *label)
{
	int slot = 0;
	struct fiber *fiber;

	while (slot < SLOTS && fibers[slot].is_used)
		slot++;
	if (slot == SLOTS)
		abort();
	fiber = &fibers[slot];
	fiber->is_used = true;
	fiber->body = body;
	fiber->number = number;
	fiber->due = 0;
	fiber_prepare(fiber);
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, label);
	thrum_task_ready(fiber->task);
	fiber->is_ready = true;
	return (struct handle){slot, fiber->generation};
}

/* Gives the thread back to the scheduler, until somebody makes the fiber ready. */
static void fiber_yield(void)
{
	struct fiber *self = running;

	swapcontext(&self->context, &scheduler);
}

static void fiber_sleep(int ms)
{
	struct fiber *self = running;

	self->timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	thrum_task_due(self->timer, ms * 1000000LL);
	thrum_task_wait(self->task, self->timer);
	self->due = now_ms() + ms;
	fiber_yield();
	thrum_task_read(self->task, self->timer);
}

static void fiber_join(struct handle handle)
{
	struct fiber *self = running, *fiber = &fibers[handle.slot];

	if (!fiber->is_used)
		return;
	if (!broken && fiber->generation != handle.generation)
		return;
	fiber->joiner = self;
	thrum_task_wait(self->task, fiber->task);
	fiber_yield();
}

static bool wake_sleepers(void)
{
	bool sleeps = false;

	for (int i = 0; i < SLOTS; i++) {
		struct fiber *fiber = &fibers[i];

		if (!fiber->is_used || !fiber->due)
			continue;
		sleeps = true;
		if (now_ms() >= fiber->due) {
			fiber->due = 0;
			fiber->is_ready = true;
			thrum_task_resolve(fiber->timer);
			thrum_task_ready(fiber->task);
		}
	}
	return sleeps;
}

static void run_fibers(void)
{
	for (;;) {
		bool sleeps = wake_sleepers(), ran = false;

		for (int i = 0; i < SLOTS; i++) {
			struct fiber *fiber = &fibers[i];

			if (!fiber->is_used || !fiber->is_ready)
				continue;
			ran = true;
			fiber->is_ready = false;
			running = fiber;
			thrum_task_switch(fiber->task);
			swapcontext(&scheduler, &fiber->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		if (ran)
			continue;
		if (!sleeps)
			return;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&(struct timespec){0, 1000000}, NULL);
		thrum_resume();
	}
}

/* ---- The crawler ---- */

/* Every third page is in the cache and comes at once. */
static void fetch(int number)
{
	fiber_sleep(number % 3 == 0 ? 2 : 30);
	pages_loaded++;
}

/* Tells the operator that the crawler is alive. */
static void heartbeat(int number)
{
	(void)number;
	while (!is_finished) {
		beats++;
		fiber_sleep(50);
	}
}

static void crawl(int number)
{
	(void)number;
	for (int page = 1; page <= PAGES; page++) {
		char label[24];
		struct handle handle;

		snprintf(label, sizeof(label), "fetch %d", page);
		handle = fiber_start(fetch, page, label);
		fiber_sleep(10); /* looks for links in the page before */
		if (page == 6)   /* enough to be worth a report */
			fiber_start(heartbeat, 0, "heartbeat");
		fiber_join(handle);
	}
	is_finished = true;
}

int main(int argc, char **argv)
{
	struct handle crawler;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	crawler = fiber_start(crawl, 0, "crawler");
	thrum_task_should_resolve(fibers[crawler.slot].task);
	run_fibers();
	thrum_stop();
	for (int i = 0; i < SLOTS; i++)
		free(fibers[i].stack);
	printf("%d pages, %d beats\n", pages_loaded, beats);
	return 0;
}
