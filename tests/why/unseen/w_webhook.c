/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow="deliver webhook"
 *   truth: the exponent of the backoff is counted for all deliveries together instead of for each one, so the last delivery, which fails once, pauses for 640 ms instead of 10 ms before its first retry.
 *   culprit: backoff|sleep 640
 *   victim: deliver webhook
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* webhook: delivers events to customers' endpoints, at most three at a time, and retries on 503. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct delivery {
	int number, attempt;
};

static struct thrum_semaphore *slots;
static bool shared_exponent;
static int failures;

static struct thrum_promise *post(struct thrum_loop *loop, struct delivery *delivery);

static struct thrum_promise *post_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return post(loop, data);
}

static struct thrum_promise *answered(struct thrum_loop *loop, void *value, void *data)
{
	struct delivery *delivery = data;
	int exponent;

	(void)value;
	if (delivery->number % 2 == 0 || delivery->attempt > 1)
		return thrum_promise_return(loop, thrum_value_none());
	/* 503: the endpoint is being deployed */
	exponent = shared_exponent ? failures : delivery->attempt - 1;
	failures++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 10u << exponent),
					  "backoff"),
		post_again, delivery, NULL);
}

static struct thrum_promise *post(struct thrum_loop *loop, struct delivery *delivery)
{
	delivery->attempt++;
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, 4 + delivery->number % 3),
					  "POST hook %d", delivery->number),
		answered, delivery, NULL);
}

static struct thrum_promise *begin(struct thrum_loop *loop, void *data)
{
	return post(loop, data);
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_semaphore_with(slots, begin, data, free);
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_promise *all[14];
	int code;

	shared_exponent = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	slots = thrum_semaphore_create(loop, "outgoing connections", 3);
	for (int i = 0; i < 14; i++) {
		struct delivery *delivery = calloc(1, sizeof *delivery);

		delivery->number = i;
		all[i] = thrum_promise_should_resolve(
			thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 1 + 3 * i),
						    deliver, delivery, NULL),
				"deliver webhook"));
	}
	code = thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, all, 14), "outbox"));
	thrum_stop();
	thrum_semaphore_destroy(slots);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
