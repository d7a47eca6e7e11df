/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: rates are remembered by currency and hour, but looked up by currency and minute. So the cache
 *     never has them, and each order loads the rates again, instead of 4 loads for 60 orders.
 *   culprit: load rates
 *   victim: order
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Orders in four currencies are booked by a loop of timers. An order needs the rates of its currency. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define ORDERS 60
#define CURRENCIES 4

static bool by_minute;

struct order;
typedef void step(struct order *);

struct order {
	int number;
	int currency;
	int minute; /* of the day */
	thrum_task task;
	thrum_task timer;   /* for which it waits */
	thrum_task request; /* the rates that it loads */
	int64_t due;
	step *next; /* NULL: it doesn't wait */
};

static struct order orders[ORDERS];
static int is_done, loads;

struct rates {
	int key;
	double rate;
};
static struct rates cache[ORDERS];
static int cached;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void after(struct order *order, const char *name, int ms, step *next)
{
	order->due = now() + ms * INT64_C(1000000);
	order->next = next;
	order->timer = thrum_task_create(THRUM_KIND_TIMER, name);
	thrum_task_due(order->timer, ms * INT64_C(1000000));
	thrum_task_wait(order->task, order->timer);
}

static int key_of(int currency, int minute, int unit)
{
	return currency * 10000 + minute / unit;
}

static struct rates *cache_find(const struct order *order)
{
	int key = key_of(order->currency, order->minute, by_minute ? 1 : 60);

	for (int i = 0; i < cached; i++)
		if (cache[i].key == key)
			return &cache[i];
	return NULL;
}

static void on_booked(struct order *order)
{
	thrum_task_resolve(order->task);
	is_done++;
}

static void book(struct order *order)
{
	after(order, "book", 3, on_booked);
}

static void on_rates(struct order *order)
{
	thrum_task_read(order->task, order->request);
	cache[cached].key = key_of(order->currency, order->minute, 60);
	cache[cached++].rate = 1 + order->currency * 0.25;
	book(order);
}

static void on_rates_came(struct order *order)
{
	thrum_task_resolve(order->request);
	on_rates(order);
}

static void load_rates(struct order *order)
{
	loads++;
	order->request = thrum_task_create(THRUM_KIND_REQUEST, "load rates");
	thrum_task_should_resolve(order->request);
	order->due = now() + 14000000;
	order->next = on_rates_came;
	order->timer = THRUM_TASK_NONE;
	thrum_task_wait(order->task, order->request);
}

static void begin(struct order *order)
{
	if (cache_find(order))
		book(order);
	else
		load_rates(order);
}

static void order_arrives(struct order *order, int number)
{
	order->number = number;
	order->currency = number % CURRENCIES;
	order->minute = 541 + number / 2;
	order->task = thrum_task_createf(THRUM_KIND_TASK, "order %d", number);
	thrum_task_should_resolve(order->task);
	THRUM_RUN (order->task)
		begin(order);
}

/* Runs what is due, and returns the ms until the next time. */
static int run_due(int count)
{
	int64_t first = INT64_MAX, time = now();

	for (int i = 0; i < count; i++) {
		struct order *order = &orders[i];
		step *next = order->next;

		if (next && order->due <= time) {
			order->next = NULL;
			thrum_task_resolve(order->timer);
			THRUM_RUN (order->task) {
				thrum_task_read(order->task, order->timer);
				next(order);
			}
		}
		if (order->next && order->due < first)
			first = order->due;
	}
	if (first == INT64_MAX)
		return 20;
	return first <= time ? 0 : (int)((first - time) / 1000000 + 1);
}

int main(int argc, char **argv)
{
	int count = 0, ms;
	int64_t next_order = now();

	by_minute = argc > 1 && !strcmp(argv[1], "broken");
	thrum_lane_name("orders");
	while (is_done < ORDERS) {
		if (count < ORDERS && now() >= next_order) {
			order_arrives(&orders[count], count + 1);
			count++;
			next_order += 20000000;
		}
		ms = run_due(count);
		if (ms > 4)
			ms = 4;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, ms);
		thrum_resume();
	}
	printf("%d orders, %d loads\n", is_done, loads);
	return 0;
}
