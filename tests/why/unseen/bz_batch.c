/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: add starts the timer only for the first point of a batch; one that comes while the batch before is sent finds a count that isn't 0, and so no timer is ever started again
 *   culprit: add|send|batch
 *   victim: point \d+|sensor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

static struct thrum_loop *loop;
static bool is_broken;
static uv_timer_t heart;
static int beats;

static void on_heart(uv_timer_t *timer)
{
	(void)timer;
	beats++;
	thrum_promise_ignore_result(thrum_promise_label(thrum_sleep(loop, 2), "heartbeat"));
}

static void begin(int argc, char **argv)
{
	is_broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		exit(1);
	uv_timer_init(uv_default_loop(), &heart);
	uv_timer_start(&heart, on_heart, 10, 20);
}

static int finish(struct thrum_promise *all)
{
	int result = thrum_promise_run(thrum_promise_should_resolve(all));

	thrum_stop();
	return result ? 1 : 0;
}

/* A sensor sends its points in batches: 4 at once, or what there is after 12 ms. */
static struct thrum_condition *flushed;
static int points, count;
static bool is_sending;

static struct thrum_promise *sent(struct thrum_loop *l, void *value, void *data)
{
	int took = (int)(intptr_t)data;

	(void)value;
	is_sending = false;
	count -= took;
	thrum_condition_broadcast(flushed, thrum_value_none());
	return thrum_promise_return(l, thrum_value_none());
}

static void send_batch(void)
{
	is_sending = true;
	thrum_promise_ignore_result(
		thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 4), sent,
					    (void *)(intptr_t)count, NULL),
			"send batch"));
}

static struct thrum_promise *on_timer(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)data;
	if (count > 0 && !is_sending)
		send_batch();
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *add(struct thrum_loop *l, void *value, void *data);

static struct thrum_promise *next(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)data;
	if (points == 60)
		return thrum_promise_return(l, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(l, points == 30 ? 1 : 7), add, NULL, NULL);
}

static struct thrum_promise *add(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_promise *point;

	(void)value;
	(void)data;
	points++;
	if (count++ == 0 || (!is_broken && is_sending))
		thrum_promise_ignore_result(
			thrum_promise_label(thrum_promise_bind(thrum_sleep(l, 12), on_timer, NULL,
						    NULL),
				"flush timer"));
	if (count >= 4 && !is_sending)
		send_batch();
	point = thrum_promise_labelf(thrum_condition_wait(flushed, NULL), "point %d", points);
	return thrum_promise_bind(point, next, NULL, NULL);
}

static struct thrum_promise *add_extra(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)data;
	if (points >= 20 && is_sending) {
		count++;
		return thrum_sleep(l, 400);
	}
	return thrum_promise_bind(thrum_sleep(l, 1), add_extra, NULL, NULL);
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	flushed = thrum_condition_create(loop, "flushed");
	if (is_broken)
		thrum_promise_ignore_result(
			thrum_promise_label(add_extra(loop, NULL, NULL), "extra"));
	return finish(thrum_promise_label(next(loop, NULL, NULL), "sensor"));
}
