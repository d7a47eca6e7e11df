/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=page #
 *   truth: pages are fibers and take 15 ms. The fiber "reindex" computes for 120 ms and doesn't yield
 *     meanwhile, so all pages that are ready have to wait for it.
 *   culprit: reindex
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Fibers on one thread: pages are rendered in small steps, and an index is renewed now and then. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define FIBERS 64
#define STACK 65536
#define PAGES 80

struct fiber {
	ucontext_t context;
	char *stack;
	void (*work)(void);
	thrum_task task, timer;
	int64_t wake; /* 0: it doesn't sleep */
	bool is_used, is_ready, has_ended;
	struct fiber *next;
};

static struct fiber fibers[FIBERS], *running, *first, **last = &first;
static ucontext_t scheduler;
static bool in_one_go;
static int pages_done, indexes_done;
static volatile unsigned words;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->next = NULL;
	*last = fiber;
	last = &fiber->next;
}

static void to_scheduler(void)
{
	swapcontext(&running->context, &scheduler);
}

static void fiber_yield(void)
{
	make_ready(running);
	to_scheduler();
}

static void fiber_sleep(int ms)
{
	running->wake = now() + ms * INT64_C(1000000);
	running->timer = thrum_task_create(THRUM_KIND_TIMER, "pause");
	thrum_task_due(running->timer, ms * INT64_C(1000000));
	thrum_task_wait(running->task, running->timer);
	to_scheduler();
	thrum_task_read(running->task, running->timer);
}

static void compute(int us)
{
	int64_t end = now() + us * INT64_C(1000);

	while (now() < end)
		words = words * 1103515245 + 12345;
}

static void page(void)
{
	compute(300);
	fiber_sleep(5); /* the template is loaded */
	compute(300);
	fiber_yield();
	compute(300);
	fiber_sleep(5); /* and the pictures */
	compute(200);
	pages_done++;
}

/* 120 parts of the index. */
static void reindex(void)
{
	for (int part = 0; part < 120; part++) {
		compute(in_one_go ? 1000 : 100);
		if (!in_one_go)
			fiber_yield();
	}
	indexes_done++;
}

static void enter(void)
{
	running->work();
	running->has_ended = true;
	to_scheduler();
}

static void spawn(void (*work)(void), thrum_task task)
{
	struct fiber *fiber = fibers;

	while (fiber < fibers + FIBERS && fiber->is_used)
		fiber++;
	if (fiber == fibers + FIBERS)
		abort();
	fiber->is_used = true;
	fiber->has_ended = false;
	fiber->work = work;
	fiber->wake = 0;
	fiber->task = task;
	if (!fiber->stack)
		fiber->stack = malloc(STACK);
	if (!fiber->stack)
		abort();
	thrum_task_should_resolve(task);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, enter, 0);
	make_ready(fiber);
}

static void run_one(struct fiber *fiber)
{
	running = fiber;
	thrum_task_switch(fiber->task);
	swapcontext(&scheduler, &fiber->context);
	if (fiber->has_ended) {
		thrum_task_resolve(fiber->task);
		fiber->is_used = false;
	}
	thrum_task_switch(THRUM_TASK_NONE);
}

static void wake_sleepers(void)
{
	int64_t time = now();

	for (int i = 0; i < FIBERS; i++)
		if (fibers[i].is_used && fibers[i].wake && fibers[i].wake <= time) {
			fibers[i].wake = 0;
			thrum_task_resolve(fibers[i].timer);
			make_ready(&fibers[i]);
		}
}

int main(int argc, char **argv)
{
	int64_t next_page = now();
	int begun = 0;

	in_one_go = argc > 1 && !strcmp(argv[1], "broken");
	thrum_lane_name("scheduler");
	while (pages_done < PAGES || indexes_done == 0) {
		struct fiber *fiber;

		if (begun < PAGES && now() >= next_page) {
			begun++;
			spawn(page, thrum_task_createf(THRUM_KIND_FIBER, "page %d", begun));
			if (begun == 40)
				spawn(reindex, thrum_task_create(THRUM_KIND_FIBER, "reindex"));
			next_page += 15000000;
		}
		wake_sleepers();
		fiber = first;
		if (fiber) {
			first = fiber->next;
			if (!first)
				last = &first;
			run_one(fiber);
			continue;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, 1);
		thrum_resume();
	}
	printf("%d pages, %d indexes\n", pages_done, indexes_done);
	return 0;
}
