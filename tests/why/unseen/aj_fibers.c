/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=query
 *   truth: Priority inversion in the program's own scheduler. “vacuum”, of the lowest priority, holds the lock
 *     “catalogue”, and gets no turn while fibers of the middle priority (“thumbnail”) are ready. The query of the
 *     highest priority waits for that lock meanwhile.
 *   culprit: vacuum
 *   victim: query
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A photo library with fibers and a scheduler of its own, which always runs the ready fiber of the highest priority.
 * Fibers run until they sleep, wait for a lock, or yield. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <thrum.h>

#define STACK 65536

enum priority {
	LOW,
	MIDDLE,
	HIGH,
	PRIORITIES,
};

struct fiber {
	struct fiber *next;
	enum priority priority;
	void (*run)(void);
	int64_t wake; /* when it sleeps */
	bool done;
	thrum_task task, timer;
	ucontext_t context;
	char stack[STACK];
};

struct fiber_list {
	struct fiber *first, **end;
};

struct fiber_lock {
	struct fiber *holder;
	struct fiber_list waiters;
	thrum_task task;
};

static struct fiber_list ready[PRIORITIES];
static struct fiber *sleepers, *running;
static struct fiber_lock catalogue;
static ucontext_t scheduler;
static unsigned alive;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

/* ---- The scheduler --------------------------------------------------------------------------- */

static void fiber_list_append(struct fiber_list *list, struct fiber *fiber)
{
	fiber->next = NULL;
	*list->end = fiber;
	list->end = &fiber->next;
}

static struct fiber *fiber_list_take(struct fiber_list *list)
{
	struct fiber *fiber = list->first;

	if (fiber && !(list->first = fiber->next))
		list->end = &list->first;
	return fiber;
}

static void make_ready(struct fiber *fiber)
{
	thrum_task_ready(fiber->task);
	fiber_list_append(&ready[fiber->priority], fiber);
}

/* Gives the thread back to the scheduler. */
static void switch_away(void)
{
	struct fiber *self = running;

	swapcontext(&self->context, &scheduler);
}

static void fiber_yield(void)
{
	make_ready(running);
	switch_away();
}

static void fiber_sleep(unsigned ms)
{
	struct fiber *self = running;

	self->wake = now_ms() + ms;
	self->next = sleepers;
	sleepers = self;
	self->timer = thrum_task_createf(THRUM_KIND_TIMER, "sleep %u ms", ms);
	thrum_task_due(self->timer, ms * INT64_C(1000000));
	thrum_task_wait(self->task, self->timer);
	switch_away();
	thrum_task_read(self->task, self->timer);
}

static void fiber_lock(struct fiber_lock *lock)
{
	if (lock->holder) {
		thrum_task_wait(running->task, lock->task);
		fiber_list_append(&lock->waiters, running);
		switch_away(); /* the one who unlocks hands it over */
	} else {
		lock->holder = running;
	}
	thrum_lock_acquired(lock->task);
}

static void fiber_unlock(struct fiber_lock *lock)
{
	thrum_lock_released(lock->task);
	lock->holder = fiber_list_take(&lock->waiters);
	if (lock->holder)
		make_ready(lock->holder);
}

static void fiber_main(void)
{
	running->run();
	thrum_task_resolve(running->task);
	running->done = true;
	switch_away();
}

static void spawn(const char *name, enum priority priority, void (*run)(void))
{
	struct fiber *fiber = calloc(1, sizeof *fiber);

	if (!fiber)
		abort();
	fiber->priority = priority;
	fiber->run = run;
	fiber->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(fiber->task);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = sizeof fiber->stack;
	makecontext(&fiber->context, fiber_main, 0);
	alive++;
	make_ready(fiber);
}

/* Makes those ready that have slept enough. Returns the ms until the next one; -1: none sleeps. */
static int64_t wake_sleepers(void)
{
	struct fiber **link = &sleepers, *fiber;
	int64_t now = now_ms(), next = -1;

	while ((fiber = *link)) {
		if (fiber->wake <= now) {
			*link = fiber->next;
			THRUM_RUN (fiber->timer) {
				thrum_task_resolve(fiber->timer);
				make_ready(fiber);
			}
			continue;
		}
		if (next < 0 || fiber->wake - now < next)
			next = fiber->wake - now;
		link = &fiber->next;
	}
	return next;
}

static struct fiber *choose_next(void)
{
	struct fiber *fiber = NULL;

	for (int priority = HIGH; priority >= LOW && !fiber; priority--)
		fiber = fiber_list_take(&ready[priority]);
	return fiber;
}

static void run_fibers(void)
{
	thrum_task before;
	int64_t next;

	while (alive > 0) {
		next = wake_sleepers();
		running = choose_next();
		if (!running) {
			thrum_suspend(next < 0 ? THRUM_DEADLOCKED : THRUM_WAIT_FOR_WORK);
			if (next < 0)
				return;
			usleep((useconds_t)next * 1000);
			thrum_resume();
			continue;
		}
		before = thrum_task_enter(running->task);
		swapcontext(&scheduler, &running->context);
		thrum_task_leave(before);
		if (running->done) {
			free(running);
			alive--;
		}
	}
}

/* ---- The photo library ----------------------------------------------------------------------- */

/* Compacts the catalogue, a page at a time. */
static void vacuum(void)
{
	for (int page = 0; page < 2; page++) {
		fiber_lock(&catalogue);
		fiber_sleep(60); /* the disk */
		fiber_unlock(&catalogue);
		fiber_sleep(30);
	}
}

/* Reads a photo with a blocking read, and scales it. */
static void thumbnail(void)
{
	for (int part = 0; part < 2; part++) {
		usleep(15000);
		fiber_yield();
	}
}

/* Answers the user. */
static void query(void)
{
	fiber_lock(&catalogue);
	fiber_sleep(2);
	fiber_unlock(&catalogue);
}

static unsigned imported; /* photos */

/* The user types, and imports photos meanwhile. Before an import the catalogue is compacted. */
static void user(void)
{
	for (int letter = 0; letter < 8; letter++) {
		if (letter == 2)
			spawn("vacuum", LOW, vacuum);
		if (letter == 3)
			for (unsigned i = 0; i < imported; i++)
				spawn("thumbnail", MIDDLE, thumbnail);
		spawn("query", HIGH, query);
		fiber_sleep(40);
	}
}

int main(int argc, char **argv)
{
	imported = argc > 1 && strcmp(argv[1], "broken") == 0 ? 14 : 1;
	thrum_start(NULL);
	for (int i = 0; i < PRIORITIES; i++)
		ready[i].end = &ready[i].first;
	catalogue.waiters.end = &catalogue.waiters.first;
	catalogue.task = thrum_task_create(THRUM_KIND_LOCK, "catalogue");
	spawn("user", HIGH, user);
	run_fibers();
	thrum_task_resolve(catalogue.task);
	thrum_stop();
	printf("%u fibers left\n", alive);
	return alive > 0;
}
