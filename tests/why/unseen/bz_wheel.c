/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: cascade moves only the first reminder of a far slot to the near wheel when there are two in it
 *   culprit: cascade|wheel
 *   victim: reminder \d+
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

/* A timer wheel: near slots of 4 ms, and far slots that are spread over the near ones when their time comes. */
struct reminder {
	struct reminder *next;
	int at;
	thrum_task task;
};
static struct reminder *near_slots[8], *far_slots[16];
static int tick_number, reminders, ended;
static thrum_task wheel;

static void add(struct reminder *reminder)
{
	struct reminder **slot = reminder->at - tick_number < 8 &&
			reminder->at / 8 == tick_number / 8
		? &near_slots[reminder->at % 8]
		: &far_slots[reminder->at / 8 % 16];

	reminder->next = *slot;
	*slot = reminder;
}

static void remind(int ticks)
{
	struct reminder *reminder = calloc(1, sizeof(*reminder));

	reminder->at = tick_number + ticks;
	reminder->task = thrum_task_createf(THRUM_KIND_TASK, "reminder %d", ++reminders);
	thrum_task_should_resolve(reminder->task);
	add(reminder);
}

static void cascade(void)
{
	struct reminder *reminder = far_slots[tick_number / 8 % 16], *next;
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "cascade");

	far_slots[tick_number / 8 % 16] = NULL;
	THRUM_RUN (task) {
		for (; reminder; reminder = next) {
			next = reminder->next;
			add(reminder);
			if (is_broken && tick_number > 100)
				break;
		}
		thrum_task_resolve(task);
	}
}

static void tick(void *data)
{
	struct reminder *reminder, *next;

	(void)data;
	THRUM_RUN (wheel) {
		if (tick_number % 8 == 0)
			cascade();
		reminder = near_slots[tick_number % 8];
		near_slots[tick_number % 8] = NULL;
		for (; reminder; reminder = next) {
			next = reminder->next;
			thrum_task_resolve(reminder->task);
			ended++;
		}
		tick_number++;
	}
	after(4, tick, NULL);
}

static void ask(void *data)
{
	(void)data;
	if (reminders < 60 || is_broken) {
		remind(reminders % 5 == 4 ? 12 : 17);
		after(17, ask, NULL);
	} else if (ended == reminders) {
		is_done = true;
	} else {
		after(10, ask, NULL);
	}
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	wheel = thrum_task_create(THRUM_KIND_TASK, "wheel");
	after(1, ask, NULL);
	after(2, tick, NULL);
	run_loop();
	return 0;
}
