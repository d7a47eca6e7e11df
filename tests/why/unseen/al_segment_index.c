/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: index_document holds the lock "segment" while it pushes into the channel "merges", which has room for two. A
 *     document with four full lists fills it; the only reader, "merger", wants "segment" before it takes another one.
 *   culprit: \bsegment\b|index_document
 *   victim: scanner|commit
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Builds an index of documents with coroutines of its own: a scanner, two indexers, a merger and a commit. */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

/* ---- Coroutines ----------------------------------------------------------------------------------------- */

#define STACK (64 * 1024)
#define FIBERS 8

struct fiber {
	ucontext_t context;
	void (*run)(void);
	int64_t due; /* when it sleeps */
	bool is_ready;
	struct fiber *next; /* in the queue of a lock or channel */
	thrum_task task, timer;
	char *stack;
};

static struct fiber fibers[FIBERS], *running;
static unsigned fiber_count, alive;
static ucontext_t scheduler;

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void fiber_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber->is_ready = true;
}

static void fiber_block(void)
{
	swapcontext(&running->context, &scheduler);
}

static void fiber_sleep(unsigned ms)
{
	running->timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	thrum_task_due(running->timer, ms * INT64_C(1000000));
	thrum_task_wait(running->task, running->timer);
	running->due = now_ns() + ms * INT64_C(1000000);
	fiber_block();
	thrum_task_read(running->task, running->timer);
}

static void fiber_main(void)
{
	running->run();
	thrum_task_resolve(running->task);
	alive--;
	fiber_block();
}

static void fiber_spawn(const char *name, void (*run)(void))
{
	struct fiber *fiber = &fibers[fiber_count++];

	fiber->run = run;
	fiber->stack = malloc(STACK);
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(fiber->task);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	makecontext(&fiber->context, fiber_main, 0);
	alive++;
	fiber_ready(fiber);
}

/* One turn: runs all that are ready, else sleeps until the next timer. */
static void scheduler_turn(void)
{
	int64_t next = INT64_MAX, now = now_ns();
	bool ran = false;

	for (unsigned i = 0; i < fiber_count; i++) {
		struct fiber *fiber = &fibers[i];

		if (fiber->due && fiber->due <= now) {
			fiber->due = 0;
			thrum_task_resolve(fiber->timer);
			fiber_ready(fiber);
		}
		if (fiber->due && fiber->due < next)
			next = fiber->due;
		if (!fiber->is_ready)
			continue;
		fiber->is_ready = false;
		ran = true;
		running = fiber;
		thrum_task_switch(fiber->task);
		swapcontext(&scheduler, &fiber->context);
		thrum_task_switch(THRUM_TASK_NONE);
	}
	if (ran)
		return;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(NULL, 0,
		next == INT64_MAX ? -1 : (int)((next - now) / 1000000 + 1)); /* signals end it */
	thrum_resume();
}

/* ---- Locks and channels ----------------------------------------------------------------------------------- */

struct waiters {
	struct fiber *first, **end;
};

static void waiters_block(struct waiters *waiters, thrum_task source)
{
	thrum_task_wait(running->task, source);
	running->next = NULL;
	if (!waiters->first)
		waiters->end = &waiters->first;
	*waiters->end = running;
	waiters->end = &running->next;
	fiber_block();
}

static struct fiber *waiters_pop(struct waiters *waiters)
{
	struct fiber *fiber = waiters->first;

	if (fiber)
		waiters->first = fiber->next;
	return fiber;
}

struct lock {
	struct fiber *holder;
	struct waiters waiters;
	thrum_task task;
};

static void lock_take(struct lock *lock)
{
	if (lock->holder) {
		waiters_block(&lock->waiters, lock->task); /* lock_give hands it over */
		return;
	}
	lock->holder = running;
	thrum_lock_acquired(lock->task);
}

static void lock_give(struct lock *lock)
{
	struct fiber *next = waiters_pop(&lock->waiters);

	thrum_lock_released(lock->task);
	lock->holder = next;
	if (next) {
		THRUM_RUN (next->task)
			thrum_lock_acquired(lock->task);
		fiber_ready(next);
	}
}

struct channel {
	int values[8];
	unsigned first, count, capacity, reading;
	struct waiters readers, writers;
	thrum_task task;
};

static void channel_push(struct channel *channel, int value)
{
	struct fiber *reader;

	while (channel->count == channel->capacity)
		waiters_block(&channel->writers, channel->task);
	channel->values[(channel->first + channel->count++) % 8] = value;
	thrum_task_signal(channel->task, channel->reading);
	reader = waiters_pop(&channel->readers);
	if (reader)
		fiber_ready(reader);
}

static int channel_pull(struct channel *channel)
{
	struct fiber *writer;
	int value;

	channel->reading++;
	while (channel->count == 0)
		waiters_block(&channel->readers, channel->task);
	channel->reading--;
	value = channel->values[channel->first++ % 8];
	channel->count--;
	thrum_task_read(running->task, channel->task);
	writer = waiters_pop(&channel->writers);
	if (writer)
		fiber_ready(writer);
	return value;
}

#define DOCUMENTS 8
#define INDEXERS 2

static struct channel documents = {.capacity = 4}, merges = {.capacity = 2};
static struct lock segment;
static unsigned full_lists[DOCUMENTS + 1] = {0, 1, 0, 2, 0, 1, 1, 0, 1}; /* by document */
static unsigned indexers_left = INDEXERS;

static void scanner(void)
{
	for (int i = 1; i <= DOCUMENTS; i++) {
		fiber_sleep(4);
		channel_push(&documents, i);
	}
	for (int i = 0; i < INDEXERS; i++)
		channel_push(&documents, 0);
}

static __attribute__((noinline)) void index_document(int number)
{
	lock_take(&segment);
	fiber_sleep(2);
	for (unsigned i = 0; i < full_lists[number]; i++)
		channel_push(&merges, number);
	lock_give(&segment);
}

static void indexer(void)
{
	int number;

	while ((number = channel_pull(&documents)))
		index_document(number);
	if (--indexers_left == 0)
		channel_push(&merges, 0);
}

static void merger(void)
{
	while (channel_pull(&merges)) { /* 0: the end */
		lock_take(&segment);
		fiber_sleep(3);
		lock_give(&segment);
	}
}

/* Writes the index to the disk from time to time. */
static void commit(void)
{
	do {
		fiber_sleep(60);
		lock_take(&segment);
		fiber_sleep(1);
		lock_give(&segment);
	} while (indexers_left > 0);
}

int main(int argc, char **argv)
{
	if (thrum_start(NULL))
		return 2;
	full_lists[5] = argc > 1 && !strcmp(argv[1], "broken") ? 4 : 1; /* a long one */
	documents.task = thrum_task_create(THRUM_KIND_MAILBOX, "documents");
	merges.task = thrum_task_create(THRUM_KIND_MAILBOX, "merges");
	segment.task = thrum_task_create(THRUM_KIND_LOCK, "segment");
	fiber_spawn("scanner", scanner);
	fiber_spawn("indexer 1", indexer);
	fiber_spawn("indexer 2", indexer);
	fiber_spawn("merger", merger);
	fiber_spawn("commit", commit);
	while (alive > 0)
		scheduler_turn();
	thrum_stop();
	for (unsigned i = 0; i < fiber_count; i++)
		free(fibers[i].stack);
	return 0;
}
