/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the car answers the calls of its own direction at a floor and clears those of both: the call down at floor 4 is forgotten
 *   culprit: arrive|car|move
 *   victim: call down at 4
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

static struct timer {
	long at;
	void (*run)(void *);
	void *data;
} timers[256];
static int timer_count;
static bool is_done, is_broken;

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void after(int ms, void (*run)(void *), void *data)
{
	timers[timer_count++] = (struct timer){now_us() + ms * 1000L, run, data};
}

static void run_loop(void)
{
	while (!is_done && timer_count > 0) {
		int first = 0;
		struct timer timer;
		long left;

		for (int i = 1; i < timer_count; i++)
			if (timers[i].at < timers[first].at)
				first = i;
		timer = timers[first];
		for (int i = first; i < timer_count - 1; i++)
			timers[i] = timers[i + 1];
		timer_count--;
		left = timer.at - now_us();
		if (left > 0) {
			struct timespec t = {left / 1000000, left % 1000000 * 1000};

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			nanosleep(&t, NULL);
			thrum_resume();
		}
		timer.run(timer.data);
	}
}

/* A lift: calls have a floor and a direction. The car goes up and down. */
#define FLOORS 6
static thrum_task calls[2][FLOORS];
static bool is_wanted[2][FLOORS];
static thrum_task car;
static int at, way = 1, moves, calls_made;

static void call(int floor, int down)
{
	if (is_wanted[down][floor])
		return;
	is_wanted[down][floor] = true;
	calls[down][floor] = thrum_task_createf(THRUM_KIND_TASK, "call %s at %d",
		down ? "down" : "up", floor);
	thrum_task_should_resolve(calls[down][floor]);
	calls_made++;
}

static void arrive(int floor)
{
	int down = way < 0;

	if (is_wanted[down][floor]) {
		thrum_task_resolve(calls[down][floor]);
		is_wanted[down][floor] = false;
	}
	if (is_broken && moves == 103)
		is_wanted[!down][floor] = false;
}

static void move(void *data)
{
	(void)data;
	THRUM_RUN (car) {
		at += way;
		if (at == FLOORS - 1 || at == 0)
			way = -way;
		moves++;
		if (is_broken && moves == 103 && at > 0 && at < FLOORS - 1 &&
			!is_wanted[way > 0][at])
			call(at, way > 0);
		arrive(at);
	}
	if (moves < 150 || is_broken)
		after(3, move, NULL);
	else {
		for (int d = 0; d < 2; d++)
			for (int f = 0; f < FLOORS; f++)
				if (is_wanted[d][f])
					thrum_task_cancel(calls[d][f]);
		thrum_task_resolve(car);
		is_done = true;
	}
}

static void people(void *data)
{
	static unsigned seed = 7;

	(void)data;
	seed = seed * 1103515245 + 12345;
	call((int)(seed >> 16) % (FLOORS - 2) + 1, (seed >> 20) & 1);
	after(7, people, NULL);
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	car = thrum_task_create(THRUM_KIND_TASK, "car");
	after(1, move, NULL);
	after(2, people, NULL);
	run_loop();
	return 0;
}
