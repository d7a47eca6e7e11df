/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: each charge holds a place of the semaphore "psp connections" and its capture takes a second
 *          place of the same pool. The rush of four charges takes all three places; no capture ever gets one.
 *   culprit: psp connections
 *   victim: (settle rush|checkout|receipt)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A payment service: at most three connections to the payment provider. */
static struct thrum_semaphore *psp;
static int nested;

struct order {
	int number;
	int authorise_ms;
};

static struct thrum_promise *capture(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 12), "PUT /capture");
}

static struct thrum_promise *authorised(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (nested)
		return thrum_semaphore_with(psp, capture, NULL, NULL);
	return capture(loop, NULL);
}

static struct thrum_promise *charge(struct thrum_loop *loop, void *data)
{
	struct order *order = data;

	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop,
							      (uint64_t)order->authorise_ms),
					  "POST /authorise"),
		authorised, order, NULL);
}

static struct thrum_promise *checkout(int number, int ms)
{
	struct order *order = malloc(sizeof(*order));

	order->number = number;
	order->authorise_ms = ms;
	return thrum_promise_labelf(thrum_semaphore_with(psp, charge, order, free),
		"checkout order-%d", number);
}

/* Low traffic first: two at a time. Then a flash sale. */
static struct thrum_promise *rush(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[7];

	(void)value;
	(void)data;
	for (int i = 0; i < 7; i++)
		all[i] = checkout(10 + i, i == 5 ? 160 : 25 + i);
	return thrum_promise_label(thrum_promise_join(loop, all, 7), "settle rush");
}

static struct thrum_promise *morning(struct thrum_loop *loop)
{
	struct thrum_promise *all[2] = {checkout(1, 15), checkout(2, 60)};

	return thrum_promise_join(loop, all, 2);
}

static struct thrum_promise *metrics(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_sleep(loop, 30), metrics, NULL, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_promise *day, *pushing, *recon;
	int result;

	nested = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	psp = thrum_semaphore_create(loop, "psp connections", 3);
	pushing = thrum_promise_label(metrics(loop, NULL, NULL), "push metrics");
	recon = thrum_promise_label(thrum_sleep(loop, 3600 * 1000), "hourly reconciliation");
	day = thrum_promise_bind(morning(loop), rush, NULL, NULL);
	day = thrum_promise_should_resolve(thrum_promise_label(day, "business day"));
	result = thrum_promise_run(day);
	thrum_promise_cancel(recon);
	thrum_promise_unref(recon);
	thrum_promise_cancel(pushing);
	thrum_promise_unref(pushing);
	thrum_stop();
	thrum_semaphore_destroy(psp);
	uv_run(&uv, UV_RUN_NOWAIT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_NOWAIT);
	return result ? 1 : 0;
}
