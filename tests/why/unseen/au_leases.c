/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: wheel_tick stores the list of timers that stay in the slot over a timer that was added to the
 *     same slot while it ran; that happens when the renewal of "spool" is set for exactly one turn of the
 *     wheel, so its second renewal is never due, and "lease spool" sleeps for ever
 *   culprit: renewal spool|wheel_tick|wheel_add
 *   victim: lease spool|all leases|co_sleep
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A lease keeper: coroutines that renew leases, on a timer wheel of 32 slots. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>

#define SLOTS 32
#define TICK_NS 2000000
#define STACK (64 * 1024)
#define LEASES 5
#define RENEWALS 5

struct coroutine;

struct timer {
	struct timer *next;
	struct coroutine *sleeper;
	unsigned slot, rounds;
	thrum_task task;
};

struct coroutine {
	const char *name;
	ucontext_t context;
	void *stack;
	struct timer timer;
	unsigned period; /* in ticks */
	bool is_done;
	thrum_task task;
};

struct wheel {
	struct timer *slots[SLOTS];
	unsigned now;
	bool detach_first;
};

static struct wheel wheel;
static ucontext_t scheduler;
static struct coroutine *running;

static void wheel_add(struct timer *timer, unsigned ticks)
{
	timer->slot = (wheel.now + ticks) % SLOTS;
	timer->rounds = (ticks - 1) / SLOTS;
	timer->next = wheel.slots[timer->slot];
	wheel.slots[timer->slot] = timer;
}

static void resume(struct coroutine *coroutine)
{
	running = coroutine;
	thrum_task_switch(coroutine->task);
	swapcontext(&scheduler, &coroutine->context);
	thrum_task_switch(THRUM_TASK_NONE);
	running = NULL;
}

static void fire(struct timer *timer)
{
	thrum_task_resolve(timer->task);
	thrum_task_ready(timer->sleeper->task);
	resume(timer->sleeper);
}

/* Fires what is due in this slot. The others stay for later turns of the wheel. */
static void wheel_tick(void)
{
	unsigned slot = ++wheel.now % SLOTS;
	struct timer *timer = wheel.slots[slot], *next, *stay = NULL;

	if (wheel.detach_first)
		wheel.slots[slot] = NULL;
	for (; timer; timer = next) {
		next = timer->next;
		if (timer->rounds > 0) {
			timer->rounds--;
			timer->next = stay;
			stay = timer;
			continue;
		}
		fire(timer);
	}
	if (!wheel.detach_first) {
		wheel.slots[slot] = stay;
		return;
	}
	while ((timer = stay)) {
		stay = timer->next;
		timer->next = wheel.slots[slot];
		wheel.slots[slot] = timer;
	}
}

static void co_sleep(const char *what, unsigned ticks)
{
	struct coroutine *self = running;

	self->timer.sleeper = self;
	self->timer.task = thrum_task_createf(THRUM_KIND_TIMER, "%s %s", what, self->name);
	thrum_task_due(self->timer.task, (int64_t)ticks * TICK_NS);
	thrum_task_wait(self->task, self->timer.task);
	wheel_add(&self->timer, ticks);
	swapcontext(&self->context, &scheduler);
	thrum_task_read(self->task, self->timer.task);
}

/* Gets the lease, renews it until it is not needed any more, and gives it back. */
static void keep_lease(void)
{
	struct coroutine *self = running;

	co_sleep("acquisition", 2);
	for (int i = 0; i < RENEWALS; i++) {
		thrum_logf("lease %s, term %d", self->name, i);
		co_sleep("renewal", self->period);
	}
	co_sleep("release", 3);
	self->is_done = true;
	thrum_task_resolve(self->task);
	swapcontext(&self->context, &scheduler);
}

static void spawn(struct coroutine *coroutine, const char *name, unsigned period)
{
	coroutine->name = name;
	coroutine->period = period;
	coroutine->stack = malloc(STACK);
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = coroutine->stack;
	coroutine->context.uc_stack.ss_size = STACK;
	coroutine->context.uc_link = &scheduler;
	makecontext(&coroutine->context, keep_lease, 0);
	coroutine->task = thrum_task_createf(THRUM_KIND_FIBER, "lease %s", name);
	thrum_task_ready(coroutine->task);
	resume(coroutine);
}

static bool all_done(const struct coroutine *leases)
{
	for (int i = 0; i < LEASES; i++)
		if (!leases[i].is_done)
			return false;
	return true;
}

/* Sleeps until the next tick of the clock. */
static void wait_for_tick(struct timespec *next)
{
	next->tv_nsec += TICK_NS;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned period;
	} config[LEASES] = {{"mail", 10}, {"index", 14}, {"spool", SLOTS}, {"backup", 45},
		{"queue", 20}};
	static struct coroutine leases[LEASES];
	struct timespec next;
	thrum_task all;

	if (argc != 2)
		return 2;
	wheel.detach_first = strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	all = thrum_task_create(THRUM_KIND_JOIN, "all leases");
	thrum_task_should_resolve(all);
	for (int i = 0; i < LEASES; i++) {
		spawn(&leases[i], config[i].name, config[i].period);
		thrum_task_wait(all, leases[i].task);
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!all_done(leases)) {
		wait_for_tick(&next);
		wheel_tick();
	}
	thrum_task_resolve(all);
	thrum_stop();

	printf("%d leases released after %u ticks\n", LEASES, wheel.now);
	for (int i = 0; i < LEASES; i++)
		free(leases[i].stack);
	return 0;
}
