/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: doors_closed puts out the light of the floor's button (call_served), which must be done when the doors open. Dora presses
 *     the button while the doors close, so her call counts as served though she hasn't boarded, and the lift doesn't come.
 *   culprit: doors_closed|call_served|call floor 2
 *   victim: morning|cleaner
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The control of a lift, tried with passengers who come at given times. An event loop with timers runs it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define FLOORS 5
#define PASSENGERS 5

struct timer {
	struct timer *next;
	unsigned due; /* ms from the start */
	void (*run)(void *data);
	void *data;
	thrum_task task, owner; /* the timer's, and that which goes on when it is due */
};

struct passenger {
	const char *name;
	unsigned comes, from, to;
	bool back; /* goes to and fro until all others have arrived */
	bool inside, waiting;
	thrum_task task;
};

struct call {
	bool lit;
	thrum_task task;
};

static struct timer *timers;
static unsigned now;
static struct {
	unsigned floor;
	enum {
		IDLE,
		MOVING,
		OPEN,
		CLOSING
	} state;
	struct call call[FLOORS];
	thrum_task task;
	bool early;
} lift;
static struct passenger passengers[PASSENGERS] = {
	{.name = "anna", .comes = 10, .from = 0, .to = 2},
	{.name = "boris", .comes = 30, .from = 3, .to = 0},
	{.name = "cleaner", .comes = 60, .from = 4, .to = 0, .back = true},
	{.name = "dora", .comes = 95, .from = 2, .to = 4},
	{.name = "emil", .comes = 300, .from = 1, .to = 3},
};
static thrum_task morning;
static unsigned to_come = PASSENGERS - 1;

static void after(unsigned ms, const char *label, thrum_task owner, void (*run)(void *), void *data)
{
	struct timer *timer = calloc(1, sizeof(*timer));
	struct timer **at = &timers;

	if (!timer)
		abort();
	timer->due = now + ms;
	timer->run = run;
	timer->data = data;
	timer->owner = owner;
	timer->task = thrum_task_create(THRUM_KIND_TIMER, label);
	thrum_task_due(timer->task, (int64_t)ms * 1000000);
	thrum_task_wait(owner, timer->task);
	while (*at && (*at)->due <= timer->due)
		at = &(*at)->next;
	timer->next = *at;
	*at = timer;
}

static void run_timers(void)
{
	struct timespec start, until;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (timers && to_come) {
		struct timer *timer = timers;

		until = start;
		until.tv_nsec += timer->due % 1000 * 1000000;
		until.tv_sec += timer->due / 1000 + until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
			continue;
		thrum_resume();
		timers = timer->next;
		now = timer->due;
		thrum_task_resolve(timer->task);
		THRUM_RUN (timer->owner) {
			thrum_task_read(timer->owner, timer->task);
			timer->run(timer->data);
		}
		free(timer);
	}
}

static void lift_next(void);

/* A button in the cabin or on a floor. */
static void press(unsigned floor)
{
	struct call *call = &lift.call[floor];

	if (!call->lit) {
		call->lit = true;
		call->task = thrum_task_createf(THRUM_KIND_TASK, "call floor %u", floor);
	}
	thrum_task_wait(thrum_task_current(), call->task);
	if (lift.state == IDLE)
		THRUM_RUN (lift.task)
			lift_next();
}

static void call_served(unsigned floor)
{
	struct call *call = &lift.call[floor];

	if (call->lit) {
		call->lit = false;
		thrum_task_resolve(call->task);
	}
}

static void board(struct passenger *passenger)
{
	passenger->waiting = false;
	passenger->inside = true;
	press(passenger->to);
}

static void passenger_comes(void *data)
{
	struct passenger *passenger = data;

	printf("%4u %s comes to floor %u\n", now, passenger->name, passenger->from);
	if (lift.state == OPEN && lift.floor == passenger->from) {
		board(passenger);
		return;
	}
	passenger->waiting = true;
	press(passenger->from);
}

static void alight(struct passenger *passenger)
{
	passenger->inside = false;
	printf("%4u %s arrives at floor %u\n", now, passenger->name, lift.floor);
	if (passenger->back) {
		passenger->to = passenger->from;
		passenger->from = lift.floor;
		after(70, "clean", passenger->task, passenger_comes, passenger);
		return;
	}
	thrum_task_resolve(passenger->task);
	if (--to_come == 0)
		thrum_task_resolve(morning);
}

static void doors_closed(void *data)
{
	(void)data;
	if (!lift.early)
		call_served(lift.floor);
	lift_next();
}

static void close_doors(void *data)
{
	(void)data;
	lift.state = CLOSING;
	after(20, "doors close", lift.task, doors_closed, NULL);
}

static void open_doors(void)
{
	lift.state = OPEN;
	if (lift.early)
		call_served(lift.floor);
	for (unsigned i = 0; i < PASSENGERS; i++) {
		struct passenger *passenger = &passengers[i];

		THRUM_RUN (passenger->task) {
			if (passenger->inside && passenger->to == lift.floor)
				alight(passenger);
			else if (passenger->waiting && passenger->from == lift.floor)
				board(passenger);
		}
	}
	after(15, "doors open", lift.task, close_doors, NULL);
}

static void lift_moved(void *data)
{
	lift.floor = (unsigned)(uintptr_t)data;
	lift_next();
}

/* Goes one floor towards the nearest call, or opens the doors. */
static void lift_next(void)
{
	lift.state = IDLE;
	for (unsigned distance = 0; distance < FLOORS; distance++) {
		unsigned up = lift.floor + distance, down = lift.floor - distance;

		if (distance == 0 && lift.call[up].lit) {
			open_doors();
			return;
		}
		if ((up < FLOORS && lift.call[up].lit) || (down < FLOORS && lift.call[down].lit)) {
			unsigned to = up < FLOORS && lift.call[up].lit ? lift.floor + 1
								       : lift.floor - 1;

			lift.state = MOVING;
			after(10, "move", lift.task, lift_moved, (void *)(uintptr_t)to);
			return;
		}
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	lift.early = strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	lift.task = thrum_task_create(THRUM_KIND_HANDLE, "lift");
	morning = thrum_task_create(THRUM_KIND_JOIN, "morning");
	thrum_task_should_resolve(morning);
	for (unsigned i = 0; i < PASSENGERS; i++) {
		struct passenger *passenger = &passengers[i];

		passenger->task = thrum_task_createf(THRUM_KIND_TASK, "passenger %s",
			passenger->name);
		if (!passenger->back)
			thrum_task_wait(morning, passenger->task);
		after(passenger->comes, "walk", passenger->task, passenger_comes, passenger);
	}
	run_timers();
	printf("%4u all have arrived\n", now);
	thrum_stop();
	return 0;
}
