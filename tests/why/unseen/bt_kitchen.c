/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: cook_dish gives the oven back only if baking succeeds. Each souffle that collapses fails and keeps its oven for ever.
 *     After three of them no oven is left, and all later orders that need one wait.
 *   culprit: souffle
 *   victim: evening|order \d+ (pizza|lasagne|tarte)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The kitchen of a restaurant: orders come in, some need an oven, and failed dishes are replaced by soup. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ORDERS 24
#define OVENS 3

struct order {
	int number;
	const char *dish;
	bool needs_oven;
};

static struct thrum_semaphore *ovens;
static unsigned served, replaced, plates;
static bool always_release;

static struct thrum_promise *wash_plates(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	plates += 4;
	return thrum_promise_bind(thrum_sleep(loop, 50), wash_plates, NULL, NULL);
}

static struct thrum_promise *dishwasher(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 50), wash_plates, data, NULL);
}

static struct thrum_promise *look_into_oven(struct thrum_loop *loop, void *value, void *data)
{
	const struct order *order = data;

	(void)value;
	if (!strcmp(order->dish, "souffle"))
		return thrum_promise_fail(loop, 1, "order %d: the souffle collapsed",
			order->number);
	return thrum_promise_return(loop, thrum_value_none());
}

static void give_oven_back(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	thrum_semaphore_release(ovens);
}

static struct thrum_promise *give_back(struct thrum_loop *loop, void *data)
{
	give_oven_back(loop, NULL, data);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *bake(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *baked;

	(void)value;
	baked = thrum_promise_bind(thrum_sleep(loop, 70), look_into_oven, data, NULL);
	if (always_release)
		return thrum_promise_finalize(baked, give_back, NULL, NULL);
	thrum_promise_on_success(thrum_promise_ref(baked), give_oven_back, NULL, NULL);
	return baked;
}

static struct thrum_promise *cook_dish(struct thrum_loop *loop, struct order *order)
{
	if (!order->needs_oven)
		return thrum_sleep(loop, 25);
	return thrum_promise_bind(thrum_semaphore_acquire(ovens), bake, order, NULL);
}

static struct thrum_promise *serve_soup(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	printf("%s: soup instead\n", failure->message);
	replaced++;
	return thrum_sleep(loop, 10);
}

static void on_served(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	served++;
}

static struct thrum_promise *begin_order(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;
	struct thrum_promise *cooked;

	(void)value;
	cooked = cook_dish(loop, order);
	thrum_promise_labelf(cooked, "cook %s", order->dish);
	return thrum_promise_catch(cooked, serve_soup, order, NULL);
}

int main(int argc, char **argv)
{
	static const char *const menu[] = {"pizza", "salad", "lasagne", "tarte"};
	static struct order orders[ORDERS];
	struct thrum_promise *all[ORDERS], *evening;
	struct thrum_loop *loop;
	int result;

	always_release = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL) || thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	ovens = thrum_semaphore_create(loop, "ovens", OVENS);
	thrum_promise_async(loop, "dishwasher", dishwasher, NULL, NULL);
	for (int i = 0; i < ORDERS; i++) {
		struct order *order = &orders[i];

		order->number = i + 1;
		/* Souffle is sold out later in the evening. */
		order->dish = i % 4 == 3 && i < 12 ? "souffle" : menu[i % 4];
		order->needs_oven = strcmp(order->dish, "salad") != 0;
		all[i] = thrum_promise_bind(thrum_sleep(loop, 50 * (uint64_t)(i + 1)), begin_order,
			order, NULL);
		thrum_promise_labelf(all[i], "order %d %s", order->number, order->dish);
		thrum_promise_should_resolve(all[i]);
		thrum_promise_on_success(thrum_promise_ref(all[i]), on_served, NULL, NULL);
	}
	evening = thrum_promise_join(loop, all, ORDERS);
	thrum_promise_label(evening, "evening");
	thrum_promise_should_resolve(evening);
	result = thrum_promise_run(evening);
	printf("served %u, %u of them soup, %u plates\n", served, replaced, plates);
	thrum_stop();
	return result ? 1 : 0;
}
