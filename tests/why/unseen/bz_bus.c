/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: publish takes one who leaves out of the list by putting the last one in its place, and goes on behind that: the last one misses message 13
 *   culprit: publish|leave|kim
 *   victim: zed waits for 13
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

/* A bus: listeners hear message after message, each waits for the next one. */
struct listener {
	const char *name;
	int heard;
	thrum_task task;
} all[] = {{"ann", 0, 0}, {"ben", 0, 0}, {"kim", 0, 0}, {"lou", 0, 0}, {"zed", 0, 0}};
static struct listener *listeners[8];
static int listener_count, messages;

static void listen(struct listener *listener)
{
	listener->task = thrum_task_createf(THRUM_KIND_TASK, "%s waits for %d", listener->name,
		listener->heard + 1);
	thrum_task_should_resolve(listener->task);
}

static void leave(int i)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "leave %s", listeners[i]->name);

	THRUM_RUN (task) {
		listeners[i] = listeners[--listener_count];
		thrum_task_resolve(task);
	}
}

static void publish(void *data)
{
	(void)data;
	messages++;
	for (int i = 0; i < listener_count; i++) {
		struct listener *listener = listeners[i];

		if (listener->heard + 1 != messages)
			continue; /* it came too late for this one */
		listener->heard++;
		thrum_task_resolve(listener->task);
		if (listener->heard == 12 && listener == &all[2]) {
			leave(i);
			if (!is_broken)
				i--;
		} else {
			listen(listener);
		}
	}
	if (messages < 50 || is_broken)
		after(9, publish, NULL);
	else {
		for (int i = 0; i < listener_count; i++)
			thrum_task_cancel(listeners[i]->task);
		is_done = true;
	}
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < 5; i++) {
		listeners[listener_count++] = &all[i];
		listen(&all[i]);
	}
	after(5, publish, NULL);
	run_loop();
	return 0;
}
