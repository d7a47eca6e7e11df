/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The collector returns at the first page that failed. It should have emptied the channel "results",
 *     in which the fetchers still want to put their pages.
 *   culprit: collector
 *   victim: fetcher|crawl|results
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * Checks the links of a site with coroutines and channels. Fetchers put pages into a channel, a collector
 * takes them, and the crawl ends when all fetchers have ended.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define FETCHERS 4
#define PAGES 5
#define STACK (64 << 10)
#define ROOM 2

struct fiber {
	ucontext_t context;
	thrum_task task;
	void (*run)(struct fiber *);
	int number;
	bool done, queued;
	int64_t wake; /* 0: doesn't sleep */
};

struct channel {
	thrum_task task;
	int values[ROOM], count, readers;
};

static struct fiber fibers[FETCHERS + 2], *running;
static int fiber_count;
static ucontext_t scheduler;
static struct channel results;
static bool broken;
static int fetching = FETCHERS, good, bad;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void make_ready(struct fiber *fiber)
{
	if (fiber->queued || fiber->done)
		return;
	thrum_task_ready(fiber->task);
	fiber->queued = true;
}

/* Leaves the fiber until somebody makes it ready. */
static void yield(void)
{
	swapcontext(&running->context, &scheduler);
}

static void nap(int ms)
{
	running->wake = now() + ms * 1000000LL;
	yield();
}

/* Wakes all, as each tests again for its reason to wait. */
static void wake_waiters(void)
{
	for (int i = 0; i < fiber_count; i++)
		if (&fibers[i] != running && !fibers[i].wake)
			make_ready(&fibers[i]);
}

static void channel_put(struct channel *channel, int value)
{
	while (channel->count == ROOM) {
		thrum_task_wait(running->task, channel->task);
		yield();
	}
	channel->values[channel->count++] = value;
	thrum_task_signal(channel->task, channel->readers);
	wake_waiters();
}

/* Returns false at the end. */
static bool channel_take(struct channel *channel, int *value)
{
	channel->readers++;
	while (channel->count == 0 && fetching > 0) {
		thrum_task_wait(running->task, channel->task);
		yield();
	}
	channel->readers--;
	if (channel->count == 0)
		return false;
	thrum_task_read(running->task, channel->task);
	*value = channel->values[0];
	memmove(channel->values, channel->values + 1, --channel->count * sizeof(int));
	wake_waiters();
	return true;
}

/* Page 12 is a dead link. */
static void fetcher(struct fiber *self)
{
	for (int i = 0; i < PAGES; i++) {
		int page = i * FETCHERS + self->number;

		nap(2 + page % 3);
		channel_put(&results, page == 12 ? -1 : page);
	}
	fetching--;
}

static void collector(struct fiber *self)
{
	int page;

	(void)self;
	while (channel_take(&results, &page)) {
		good += page >= 0;
		bad += page < 0;
		if (page < 0 && broken)
			return;
	}
}

static void crawl(struct fiber *self)
{
	for (int i = 1; i <= FETCHERS; i++) {
		while (!fibers[i].done) {
			thrum_task_wait(self->task, fibers[i].task);
			yield();
		}
		thrum_task_read(self->task, fibers[i].task);
	}
}

static void start(void)
{
	running->run(running);
	running->done = true;
	thrum_task_resolve(running->task);
	wake_waiters();
	yield();
}

static void spawn(thrum_task task, void (*run)(struct fiber *), int number)
{
	struct fiber *fiber = &fibers[fiber_count++];

	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = malloc(STACK);
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, start, 0);
	fiber->run = run;
	fiber->number = number;
	fiber->task = task;
	thrum_task_should_resolve(task);
	make_ready(fiber);
}

/* Runs each fiber that is ready. Returns whether one is left, and when one is to run next; 0: never. */
static bool run_ready(int64_t *next)
{
	bool is_left = false;

	*next = 0;
	for (int i = 0; i < fiber_count; i++) {
		struct fiber *fiber = &fibers[i];

		if (fiber->wake && fiber->wake <= now()) {
			fiber->wake = 0;
			make_ready(fiber);
		}
		if (fiber->queued) {
			thrum_task before = thrum_task_enter(fiber->task);

			fiber->queued = false;
			running = fiber;
			swapcontext(&scheduler, &fiber->context);
			thrum_task_leave(before);
		}
		is_left = is_left || !fiber->done;
	}
	for (int i = 0; i < fiber_count; i++)
		if ((fibers[i].queued || fibers[i].wake) && (!*next || fibers[i].wake < *next))
			*next = fibers[i].queued ? 1 : fibers[i].wake;
	return is_left;
}

int main(int argc, char **argv)
{
	int64_t next;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	results.task = thrum_task_create(THRUM_KIND_MAILBOX, "results");
	spawn(thrum_task_create(THRUM_KIND_FIBER, "crawl"), crawl, 0);
	for (int i = 0; i < FETCHERS; i++)
		spawn(thrum_task_createf(THRUM_KIND_FIBER, "fetcher %d", i), fetcher, i);
	spawn(thrum_task_create(THRUM_KIND_FIBER, "collector"), collector, 0);
	while (run_ready(&next)) {
		if (next > 0 && next <= now())
			continue;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, next ? (int)((next - now()) / 1000000 + 1) : -1);
		thrum_resume();
	}
	thrum_stop();
	printf("%d good, %d dead links\n", good, bad);
	return 0;
}
