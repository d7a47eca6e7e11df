/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the coroutine "compactor" holds the segment lock and, in a segment with a tombstone, calls
 *     segment_drop, which takes the same lock again; the lock isn't recursive, so it waits for itself
 *   culprit: \bcompactor\b
 *   victim: \bwriter \d|\bsearcher\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* An indexer with coroutines on stacks of their own: writers add documents, a searcher looks them up, and
 * a compactor merges segments. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	WRITERS = 2,
	STACK = 64 * 1024,
	SEGMENTS = 8
};

struct coroutine {
	const char *name;
	void (*run)(struct coroutine *);
	ucontext_t context;
	thrum_task task, timer;
	long due; /* ms; 0: doesn't sleep */
	bool is_done;
	struct coroutine *next; /* in the run queue or in a lock's line */
};

struct lock {
	const char *name;
	thrum_task task;
	struct coroutine *holder;
	struct coroutine *line, **line_end;
};

static ucontext_t scheduler;
static struct coroutine *running, *ready_first, **ready_end = &ready_first;
static struct lock segment_lock = {.name = "segments"};
static int documents[SEGMENTS];
static bool tombstone[SEGMENTS];
static int merged, found;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void make_ready(struct coroutine *coroutine)
{
	thrum_task_ready(coroutine->task);
	coroutine->next = NULL;
	*ready_end = coroutine;
	ready_end = &coroutine->next;
}

static void give_back(void)
{
	swapcontext(&running->context, &scheduler);
}

static __attribute__((noinline)) void co_sleep(long ms)
{
	running->due = now_ms() + ms;
	running->timer = thrum_task_createf(THRUM_KIND_TIMER, "pause of %s", running->name);
	thrum_task_due(running->timer, ms * 1000000);
	thrum_task_wait(running->task, running->timer);
	give_back();
	thrum_task_read(running->task, running->timer);
}

static __attribute__((noinline)) void co_lock(struct lock *lock)
{
	if (lock->holder) {
		thrum_task_wait(running->task, lock->task);
		running->next = NULL;
		*lock->line_end = running;
		lock->line_end = &running->next;
		give_back(); /* the one who unlocks hands the lock over */
		return;
	}
	lock->holder = running;
	thrum_lock_acquired(lock->task);
}

static __attribute__((noinline)) void co_unlock(struct lock *lock)
{
	struct coroutine *next = lock->line;

	thrum_lock_released(lock->task);
	lock->holder = next;
	if (!next)
		return;
	lock->line = next->next;
	if (!lock->line)
		lock->line_end = &lock->line;
	THRUM_RUN (next->task)
		thrum_lock_acquired(lock->task);
	make_ready(next);
}

/* Also called from outside of a merge. */
static __attribute__((noinline)) void segment_drop(int segment)
{
	co_lock(&segment_lock);
	documents[segment] = 0;
	tombstone[segment] = false;
	co_unlock(&segment_lock);
}

static __attribute__((noinline)) void segment_merge(int segment)
{
	co_lock(&segment_lock);
	co_sleep(8);
	if (tombstone[segment])
		segment_drop(segment);
	merged += documents[segment];
	co_unlock(&segment_lock);
}

static void compactor_run(struct coroutine *self)
{
	(void)self;
	for (int segment = 0; segment < SEGMENTS; segment++) {
		co_sleep(20);
		segment_merge(segment);
	}
}

static void writer_run(struct coroutine *self)
{
	(void)self;
	for (int document = 0; document < 16; document++) {
		co_lock(&segment_lock);
		documents[document % SEGMENTS]++;
		co_sleep(2);
		co_unlock(&segment_lock);
		co_sleep(10);
	}
}

static void searcher_run(struct coroutine *self)
{
	(void)self;
	for (int query = 0; query < 10; query++) {
		co_lock(&segment_lock);
		found += documents[query % SEGMENTS];
		co_unlock(&segment_lock);
		co_sleep(15);
	}
}

static void enter(void)
{
	running->run(running);
	running->is_done = true;
	thrum_task_resolve(running->task);
	give_back();
}

static void spawn(struct coroutine *coroutine, const char *name, void (*run)(struct coroutine *))
{
	coroutine->name = name;
	coroutine->run = run;
	coroutine->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(coroutine->task);
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = malloc(STACK);
	coroutine->context.uc_stack.ss_size = STACK;
	coroutine->context.uc_link = &scheduler;
	makecontext(&coroutine->context, enter, 0);
	make_ready(coroutine);
}

static void wake_sleepers(struct coroutine *all, int count)
{
	long now = now_ms();

	for (int i = 0; i < count; i++) {
		if (!all[i].due || all[i].due > now)
			continue;
		all[i].due = 0;
		thrum_task_resolve(all[i].timer);
		make_ready(&all[i]);
	}
}

static bool all_done(const struct coroutine *all, int count)
{
	for (int i = 0; i < count; i++)
		if (!all[i].is_done)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	static struct coroutine all[WRITERS + 2];
	const int count = WRITERS + 2;

	thrum_start(NULL);
	thrum_lane_name("scheduler");
	segment_lock.line_end = &segment_lock.line;
	segment_lock.task = thrum_task_create(THRUM_KIND_LOCK, segment_lock.name);
	tombstone[5] = argc > 1 && !strcmp(argv[1], "broken");
	spawn(&all[0], "writer 1", writer_run);
	spawn(&all[1], "writer 2", writer_run);
	spawn(&all[2], "searcher", searcher_run);
	spawn(&all[3], "compactor", compactor_run);
	while (!all_done(all, count)) {
		while ((running = ready_first)) {
			ready_first = running->next;
			if (!ready_first)
				ready_end = &ready_first;
			thrum_task_switch(running->task);
			swapcontext(&scheduler, &running->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(1000);
		thrum_resume();
		wake_sleepers(all, count);
	}
	printf("%d documents merged, %d found\n", merged, found);
	return 0;
}
