/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=dispatch-5
 *   truth: The scan of pallet 5 broadcasts "pallet seen" while the order still prints its docket, so
 *     nobody waits and the signal is lost. The order then sits out its fallback of 300 ms. It should look
 *     whether the pallet was seen before it waits.
 *   culprit: scan pallet 5|[Ss]ignal lost|signalled and nobody waits|[Ll]ost wake-?up
 *   victim: dispatch-5
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A depot dispatches orders one by one: it prints a docket while a scanner looks for the pallet. */

enum {
	ORDERS = 9,
	SCAN_MS = 7,
	DOCKET_MS = 2,
	FALLBACK_MS = 300,
	WEIGHINGS = 30
};

struct depot {
	struct thrum_condition *pallet_seen;
	struct thrum_mutex *scale;
	bool seen[ORDERS];
	int late, weighed;
	bool look_first;
};

struct order {
	struct depot *depot;
	int number;
};

static struct depot depot;
static struct order orders[ORDERS];

/* The scanner has found the pallet. */
static struct thrum_promise *on_seen(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;

	(void)value;
	order->depot->seen[order->number] = true;
	thrum_condition_broadcast(order->depot->pallet_seen, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *scan(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, SCAN_MS), on_seen, data, NULL);
}

/* The scanner may miss a pallet that stands askew. Then a person looks, and that always works. */
static struct thrum_promise *on_fallback(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct order *order = data;

	if (failure->code != -ETIMEDOUT)
		return thrum_promise_fail_again(loop, failure);
	order->depot->late++;
	order->depot->seen[order->number] = true;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *await_pallet(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;
	struct thrum_promise *sign;

	(void)value;
	if (order->depot->look_first && order->depot->seen[order->number])
		return thrum_promise_return(loop, thrum_value_none());
	sign = thrum_condition_wait(order->depot->pallet_seen, NULL);
	return thrum_promise_catch(thrum_timeout(sign, FALLBACK_MS), on_fallback, order, NULL);
}

static struct thrum_promise *load(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 3), "load truck");
}

static struct thrum_promise *print_docket(struct thrum_loop *loop, const struct order *order)
{
	/* Order 5 goes abroad: its docket has four more pages for the customs. */
	int pages = order->number == 5 ? 11 : 1;

	return thrum_promise_labelf(thrum_sleep(loop, pages * DOCKET_MS), "docket %d",
		order->number);
}

static struct thrum_promise *dispatch(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;
	char label[32];
	struct thrum_promise *done;

	(void)value;
	snprintf(label, sizeof(label), "scan pallet %d", order->number);
	thrum_promise_async(loop, label, scan, order, NULL);
	done = thrum_promise_bind(print_docket(loop, order), await_pallet, order, NULL);
	done = thrum_promise_bind(done, load, order, NULL);
	thrum_promise_labelf(done, "dispatch-%d", order->number);
	return thrum_promise_should_resolve(done);
}

/* Meanwhile trucks are weighed: two teams share one scale. */
static struct thrum_promise *use_scale(struct thrum_loop *loop, void *data)
{
	struct depot *here = data;

	here->weighed++;
	return thrum_sleep(loop, 4);
}

static struct thrum_promise *weigh(struct thrum_loop *loop, void *value, void *data)
{
	struct depot *here = data;
	struct thrum_promise *pause;

	(void)value;
	if (here->weighed >= WEIGHINGS)
		return thrum_promise_return(loop, thrum_value_none());
	pause = thrum_promise_bind(thrum_mutex_with(here->scale, use_scale, here, NULL), load, NULL,
		NULL);
	return thrum_promise_bind(pause, weigh, here, NULL);
}

int main(int count, char **arguments)
{
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_promise *day, *parts[3];
	int code;

	if (count != 2)
		return 2;
	depot.look_first = strcmp(arguments[1], "healthy") == 0;
	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	depot.pallet_seen = thrum_condition_create(loop, "pallet seen");
	depot.scale = thrum_mutex_create(loop, "scale");
	day = thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < ORDERS; i++) {
		orders[i] = (struct order){&depot, i};
		day = thrum_promise_bind(day, dispatch, &orders[i], NULL);
	}
	parts[0] = day;
	parts[1] = thrum_promise_label(weigh(loop, NULL, &depot), "team red");
	parts[2] = thrum_promise_label(weigh(loop, NULL, &depot), "team blue");
	day = thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, parts, 3), "shift"));
	code = thrum_promise_run(day);
	thrum_stop();
	printf("shift ends: %d weighed, %d found by hand, %s\n", depot.weighed, depot.late,
		thrum_promise_error_message(code));
	thrum_condition_destroy(depot.pallet_seen);
	thrum_mutex_destroy(depot.scale);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
