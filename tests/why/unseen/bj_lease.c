/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: wheel_slot puts a timer that is shorter than one tick into the slot which the wheel has just run, so
 *     "renew grace" of the lease "printer" comes a whole turn of the wheel, over 5 s, too late.
 *   culprit: renew grace|wheel_slot|timer_start
 *   victim: agent\b|lease scanner|lease disk
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* An agent renews its leases by the timers of a wheel: each slot holds the timers of one tick. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define TICK 20
#define WHEEL 256
#define LEASES 3
#define RENEWALS 6

struct lease;

struct timer {
	struct timer *next;
	thrum_task task;
	struct lease *lease;
};

struct lease {
	const char *name;
	int period; /* ms */
	int grace;  /* ms */
	thrum_task task;
	struct timer timer;
	int renewals;
	bool in_grace;
	bool ended;
};

static struct lease leases[LEASES] = {
	{.name = "disk", .period = 45, .grace = 25},
	{.name = "printer", .period = 60, .grace = 5},
	{.name = "scanner", .period = 80, .grace = 40},
};
static struct timer *wheel[WHEEL];
static unsigned cursor;
static thrum_task agent;
static bool rounds_up;

static unsigned wheel_slot(int delay)
{
	unsigned ticks = (unsigned)(rounds_up ? (delay + TICK - 1) / TICK : delay / TICK);

	return (cursor + ticks) % WHEEL;
}

static void timer_start(struct lease *lease, const char *label, int delay)
{
	struct timer *timer = &lease->timer;
	unsigned slot = wheel_slot(delay);

	timer->lease = lease;
	timer->task = thrum_task_create(THRUM_KIND_TIMER, label);
	thrum_task_due(timer->task, (int64_t)delay * 1000000);
	thrum_task_wait(lease->task, timer->task);
	timer->next = wheel[slot];
	wheel[slot] = timer;
}

static void lease_end(struct lease *lease)
{
	lease->ended = true;
	printf("lease %s ends\n", lease->name);
	thrum_task_resolve(lease->task);
}

/* A renewal is sent at the end of the period, and confirmed at the end of the grace time. */
static void lease_step(struct lease *lease)
{
	if (!lease->in_grace) {
		lease->in_grace = true;
		timer_start(lease, "renew grace", lease->grace);
		return;
	}
	lease->in_grace = false;
	if (++lease->renewals == RENEWALS)
		lease_end(lease);
	else
		timer_start(lease, "renew period", lease->period);
}

static void timer_fire(struct timer *timer)
{
	struct lease *lease = timer->lease;
	thrum_task task = timer->task;

	thrum_task_resolve(task);
	thrum_task_ready(lease->task);
	THRUM_RUN (lease->task) {
		thrum_task_read(lease->task, task);
		lease_step(lease);
	}
}

static void wheel_turn(void)
{
	struct timer *timer, *next;

	cursor = (cursor + 1) % WHEEL;
	timer = wheel[cursor];
	wheel[cursor] = NULL;
	for (; timer; timer = next) {
		next = timer->next;
		timer_fire(timer);
	}
}

static void lease_begin(struct lease *lease)
{
	lease->task = thrum_task_createf(THRUM_KIND_TASK, "lease %s", lease->name);
	thrum_task_should_resolve(lease->task);
	THRUM_RUN (lease->task)
		timer_start(lease, "renew period", lease->period);
}

static bool all_ended(void)
{
	for (int i = 0; i < LEASES; i++) {
		if (!leases[i].ended)
			return false;
	}
	return true;
}

static void sleep_tick(void)
{
	struct timespec tick = {.tv_nsec = TICK * 1000000L};

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	nanosleep(&tick, NULL);
	thrum_resume();
}

int main(int argc, char **argv)
{
	rounds_up = argc > 1 && strcmp(argv[1], "healthy") == 0;
	thrum_lane_name("wheel");
	agent = thrum_task_create(THRUM_KIND_JOIN, "agent");
	thrum_task_should_resolve(agent);
	for (int i = 0; i < LEASES; i++) {
		lease_begin(&leases[i]);
		thrum_task_wait(agent, leases[i].task);
	}
	while (!all_ended()) {
		sleep_tick();
		wheel_turn();
	}
	thrum_task_resolve(agent);
	thrum_stop();
	puts("done");
	return 0;
}
