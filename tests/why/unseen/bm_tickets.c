/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: The prices in the cache are to be kept for 5 s, but price_store adds 5 to a time in milliseconds. So
 *     nearly each order finds its price expired and asks the database again: there are many more "query price",
 *     and orders are slower.
 *   culprit: query price|price_get|price_store
 *   victim: seat|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Sells tickets: workers take orders from a list, look up prices in a cache or the database, and reserve seats. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define WORKERS 3
#define ORDERS 150
#define SHOWS 6

struct price {
	int cents;
	long expires; /* in ms */
};

struct guarded {
	pthread_mutex_t mutex;
	thrum_task task;
};

static struct price prices[SHOWS];
static int seats[SHOWS];
static struct guarded cache = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static struct guarded plan = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_int next_order;
static atomic_int queries;
static atomic_long income;
static long lifetime = 5;

THRUM_TAG(gate, NULL, "print ticket", 0);

static void sleep_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void guarded_lock(struct guarded *guarded)
{
	if (pthread_mutex_trylock(&guarded->mutex)) {
		thrum_task_wait(thrum_task_current(), guarded->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&guarded->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(guarded->task);
}

static void guarded_unlock(struct guarded *guarded)
{
	thrum_lock_released(guarded->task);
	pthread_mutex_unlock(&guarded->mutex);
}

/* ---- prices ---- */

static int query_price(int show)
{
	thrum_task request = thrum_task_create(THRUM_KIND_REQUEST, "query price");

	atomic_fetch_add(&queries, 1);
	thrum_task_wait(thrum_task_current(), request);
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	sleep_ms(9);
	thrum_resume();
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
	return 1500 + show * 250;
}

static bool price_find(int show, int *cents)
{
	bool found;

	guarded_lock(&cache);
	found = prices[show].cents && now_ms() < prices[show].expires;
	*cents = prices[show].cents;
	guarded_unlock(&cache);
	return found;
}

static void price_store(int show, int cents)
{
	guarded_lock(&cache);
	prices[show].cents = cents;
	prices[show].expires = now_ms() + lifetime;
	guarded_unlock(&cache);
}

static int price_get(int show)
{
	int cents;

	if (price_find(show, &cents))
		return cents;
	cents = query_price(show);
	price_store(show, cents);
	return cents;
}

/* ---- orders ---- */

static int reserve_seat(int show)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "reserve seat");
	int seat = 0;

	THRUM_RUN (task) {
		guarded_lock(&plan);
		seat = ++seats[show];
		guarded_unlock(&plan);
		thrum_task_resolve(task);
	}
	return seat;
}

static void print_ticket(int seat)
{
	thrum_suspend(&gate);
	sleep_ms(2 + seat % 2);
	thrum_resume();
}

static void sell(int number)
{
	thrum_task order = thrum_task_createf(THRUM_KIND_TASK, "order %d", number);

	thrum_task_should_resolve(order);
	THRUM_RUN (order) {
		int show = number * 7 % SHOWS;
		int cents = price_get(show);
		int seat = reserve_seat(show);

		print_ticket(seat);
		atomic_fetch_add(&income, cents);
		thrum_task_resolve(order);
	}
}

static void *work(void *data)
{
	thrum_lane_name(data);
	for (;;) {
		int number = atomic_fetch_add(&next_order, 1);

		if (number >= ORDERS)
			return NULL;
		sell(number);
	}
}

int main(int argc, char **argv)
{
	static char *names[WORKERS] = {"worker 1", "worker 2", "worker 3"};
	pthread_t workers[WORKERS];

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "healthy"))
		lifetime *= 1000;
	thrum_start(NULL);
	cache.task = thrum_task_create(THRUM_KIND_LOCK, "price cache");
	plan.task = thrum_task_create(THRUM_KIND_LOCK, "seat plan");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, names[i]);
	thrum_suspend(THRUM_BLOCKED);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	thrum_resume();
	printf("%d queries, income %ld\n", atomic_load(&queries), atomic_load(&income));
	thrum_stop();
	return 0;
}
