/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=checkout
 *   truth: a whole crate comes back by stock_return_crate(), which adds it to the stock but signals nobody. The
 *     checkout that waits for “stock returned” goes on only when its timer “look again” comes, 600 ms later.
 *   culprit: stock returned|look again|stock_return_crate
 *   victim: checkout
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The stock of a shop: tills take goods out of it, and wait if there are too few; others bring goods back. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <thrum.h>

#define CRATE 12
#define LOOK_AGAIN_MS 600
#define TILLS 3

struct stock {
	pthread_mutex_t mutex;
	pthread_cond_t returned;
	unsigned pieces, waiters;
	thrum_task task;
};

struct till {
	const char *name;
	unsigned pieces, opens_after, customers;
	pthread_t thread;
};

static struct stock stock = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.pieces = 10,
};
THRUM_TAG(card, NULL, "read the card", 0);

/* ---- The stock ------------------------------------------------------------------------------- */

/* Waits for goods, but looks again after a while in any case. The caller holds the mutex. */
static void stock_wait(void)
{
	thrum_task self = thrum_task_current();
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "look again");
	thrum_task either = thrum_task_create(THRUM_KIND_CHOOSE, "goods or look again");
	struct timespec until;
	bool came;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_AGAIN_MS * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	stock.waiters++;
	thrum_task_due(timer, LOOK_AGAIN_MS * 1000000l);
	thrum_task_wait(either, stock.task);
	thrum_task_wait(either, timer);
	thrum_task_wait(self, either);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	came = pthread_cond_timedwait(&stock.returned, &stock.mutex, &until) != ETIMEDOUT;
	thrum_resume();
	thrum_task_read(either, came ? stock.task : timer);
	if (came) {
		thrum_task_cancel(timer);
	} else {
		thrum_task_resolve(timer);
		stock.waiters--;
	}
	thrum_task_resolve(either);
	thrum_task_read(self, either);
}

static __attribute__((noinline)) void stock_take(unsigned pieces)
{
	pthread_mutex_lock(&stock.mutex);
	while (stock.pieces < pieces)
		stock_wait();
	stock.pieces -= pieces;
	pthread_mutex_unlock(&stock.mutex);
}

static __attribute__((noinline)) void stock_return(unsigned pieces)
{
	pthread_mutex_lock(&stock.mutex);
	stock.pieces += pieces;
	thrum_task_signal(stock.task, stock.waiters);
	stock.waiters = 0;
	pthread_cond_broadcast(&stock.returned);
	pthread_mutex_unlock(&stock.mutex);
}

/* A crate that was never opened is counted as a whole. */
static __attribute__((noinline)) void stock_return_crate(unsigned crates)
{
	pthread_mutex_lock(&stock.mutex);
	stock.pieces += crates * CRATE;
	pthread_mutex_unlock(&stock.mutex);
}

/* ---- Tills ----------------------------------------------------------------------------------- */

static void read_card(void)
{
	thrum_suspend(&card);
	usleep(15000);
	thrum_resume();
}

static __attribute__((noinline)) void checkout(const struct till *till)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "checkout");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		read_card();
		stock_take(till->pieces);
		thrum_task_resolve(task);
	}
}

static void *till_run(void *data)
{
	struct till *till = data;

	pthread_setname_np(pthread_self(), till->name);
	thrum_lane_name(till->name);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(till->opens_after * 1000);
	thrum_resume();
	for (unsigned i = 0; i < till->customers; i++)
		checkout(till);
	return NULL;
}

/* ---- The desk for returns -------------------------------------------------------------------- */

static void *desk_run(void *data)
{
	unsigned pieces = *(unsigned *)data;

	pthread_setname_np(pthread_self(), "returns desk");
	thrum_lane_name("returns desk");
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(450000);
	thrum_resume();
	if (pieces % CRATE == 0)
		stock_return_crate(pieces / CRATE);
	else
		stock_return(pieces);
	return NULL;
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	unsigned comes_back = broken ? 12 : 11;
	struct till till[TILLS] = {
		{.name = "till 1", .pieces = 1, .customers = 4},
		{.name = "till 2", .pieces = 2, .customers = 2},
		/* A big customer: nobody else is left by then. */
		{.name = "till 3", .pieces = 9, .opens_after = 250, .customers = 1},
	};
	pthread_condattr_t monotonic;
	pthread_t desk;

	if (thrum_start(NULL))
		return 2;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&stock.returned, &monotonic);
	stock.task = thrum_task_create(THRUM_KIND_CONDITION, "stock returned");
	for (int i = 0; i < TILLS; i++)
		if (pthread_create(&till[i].thread, NULL, till_run, &till[i]))
			return 2;
	if (pthread_create(&desk, NULL, desk_run, &comes_back))
		return 2;
	for (int i = 0; i < TILLS; i++)
		pthread_join(till[i].thread, NULL);
	pthread_join(desk, NULL);
	printf("%u pieces are left\n", stock.pieces);
	return 0;
}
