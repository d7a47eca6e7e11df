/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: step_failed sets the count of undos to the failed step, but undo_next begins one below; so an order
 *     that fails at its third step waits for an undo that is never begun
 *   culprit: step_failed|undo|ship 11
 *   victim: order 11
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

/* Sagas: an order has three steps; if one fails, those before it are undone, one after the other. */
static const char *const steps[] = {"reserve", "pay", "ship"};
struct order {
	int number, at, left;
	thrum_task task, step;
};
static int ended, numbers;

static void step_begin(struct order *order);

static void order_end(struct order *order)
{
	thrum_task_resolve(order->task);
	ended++;
}

static void undo_done(void *data);

static void undo_next(struct order *order)
{
	if (order->at < 0)
		return;
	order->step = thrum_task_createf(THRUM_KIND_TASK, "undo %s %d", steps[order->at],
		order->number);
	thrum_task_wait(order->task, order->step);
	after(2, undo_done, order);
}

static void undo_done(void *data)
{
	struct order *order = data;

	THRUM_RUN (order->step)
		thrum_task_resolve(order->step);
	THRUM_RUN (order->task) {
		order->at--;
		if (--order->left == 0)
			order_end(order);
		else
			undo_next(order);
	}
}

static void step_failed(struct order *order)
{
	order->left = order->at;
	if (is_broken && order->at == 2)
		order->left++; /* counts the step itself */
	order->at--;
	if (order->left == 0)
		order_end(order);
	else
		undo_next(order);
}

static void step_done(void *data)
{
	struct order *order = data;
	bool is_bad = (order->at == 1 && order->number % 4 == 0) ||
		(order->at == 2 && order->number == 11);

	THRUM_RUN (order->step) {
		if (is_bad)
			thrum_task_fail(order->step, "refused");
		else
			thrum_task_resolve(order->step);
	}
	THRUM_RUN (order->task) {
		if (is_bad)
			step_failed(order);
		else if (++order->at == 3)
			order_end(order);
		else
			step_begin(order);
	}
}

static void step_begin(struct order *order)
{
	order->step = thrum_task_createf(THRUM_KIND_TASK, "%s %d", steps[order->at], order->number);
	thrum_task_wait(order->task, order->step);
	after(3, step_done, order);
}

static void arrive(void *data)
{
	struct order *order = calloc(1, sizeof(*order));

	(void)data;
	order->number = ++numbers;
	order->task = thrum_task_createf(THRUM_KIND_TASK, "order %d", numbers);
	thrum_task_should_resolve(order->task);
	THRUM_RUN (order->task)
		step_begin(order);
	if (numbers < 40 || is_broken)
		after(6, arrive, NULL);
}

static void watch(void *data)
{
	(void)data;
	if (ended == 40 && !is_broken)
		is_done = true;
	after(10, watch, NULL);
}

int main(int argc, char **argv)
{
	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	after(1, arrive, NULL);
	after(10, watch, NULL);
	run_loop();
	return 0;
}
