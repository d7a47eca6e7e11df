/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=place-order
 *   truth: The session of the monthly report keeps its shared lock of the table "orders" while it sleeps
 *          between two queries. The queued ALTER TABLE waits for that, and each new order waits behind it.
 *   culprit: monthly report
 *   victim: (place-order|table orders|alter table)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A database: sessions take the metadata lock of a table, shared or exclusive, first come, first served. */
#define SHOPS 3
#define ORDERS 40

struct claim {
	struct claim *next;
	bool exclusive, granted;
};

struct metadata_lock {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct claim *queue, **end;
	unsigned shared;
	bool exclusive;
	thrum_task task;
};

static struct metadata_lock orders = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.end = &orders.queue,
};
static unsigned placed;
static bool healthy;

/* Grants what can be granted, in the order of the queue. The caller holds the mutex. */
static void grant(struct metadata_lock *lock)
{
	struct claim *claim;

	while ((claim = lock->queue)) {
		if (lock->exclusive || (claim->exclusive && lock->shared > 0))
			break;
		if (claim->exclusive)
			lock->exclusive = true;
		else
			lock->shared++;
		claim->granted = true;
		lock->queue = claim->next;
		if (!lock->queue)
			lock->end = &lock->queue;
	}
	pthread_cond_broadcast(&lock->changed);
}

static void lock_table(struct metadata_lock *lock, bool exclusive)
{
	struct claim claim = {.exclusive = exclusive};

	pthread_mutex_lock(&lock->mutex);
	*lock->end = &claim;
	lock->end = &claim.next;
	grant(lock);
	if (!claim.granted) {
		thrum_task_wait(thrum_task_current(), lock->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!claim.granted)
			pthread_cond_wait(&lock->changed, &lock->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(lock->task);
	pthread_mutex_unlock(&lock->mutex);
}

static void unlock_table(struct metadata_lock *lock, bool exclusive)
{
	pthread_mutex_lock(&lock->mutex);
	thrum_lock_released(lock->task);
	if (exclusive)
		lock->exclusive = false;
	else
		lock->shared--;
	grant(lock);
	pthread_mutex_unlock(&lock->mutex);
}

static void work_for(unsigned microseconds)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK); /* the disk */
	usleep(microseconds);
	thrum_resume();
}

static void place_order(int shop, int number)
{
	thrum_task task = thrum_task_create(THRUM_KIND_REQUEST, "place-order");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		lock_table(&orders, false);
		work_for(800 + (shop + number) % 4 * 200);
		__atomic_add_fetch(&placed, 1, __ATOMIC_RELAXED);
		unlock_table(&orders, false);
		thrum_task_resolve(task);
	}
}

static void *run_shop(void *data)
{
	int shop = *(int *)data;

	thrum_lane_name("shop");
	for (int number = 0; number < ORDERS; number++) {
		place_order(shop, number);
		work_for(3000);
	}
	return NULL;
}

static void *run_report(void *unused)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "monthly report");

	(void)unused;
	thrum_lane_name("reporting");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		work_for(30000);
		lock_table(&orders, false); /* begin; select sum(price) from orders */
		work_for(5000);
		if (healthy)
			unlock_table(&orders, false); /* commit */
		work_for(350000);                     /* draws the charts */
		if (healthy)
			lock_table(&orders, false);
		work_for(2000);
		unlock_table(&orders, false);
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *run_migration(void *unused)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "alter table");

	(void)unused;
	thrum_lane_name("migration");
	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		work_for(60000);
		lock_table(&orders, true);
		work_for(4000);
		unlock_table(&orders, true);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t shops[SHOPS], report, migration;
	int numbers[SHOPS];

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	orders.task = thrum_task_create(THRUM_KIND_LOCK, "table orders");
	for (int i = 0; i < SHOPS; i++) {
		numbers[i] = i;
		pthread_create(&shops[i], NULL, run_shop, &numbers[i]);
	}
	pthread_create(&report, NULL, run_report, NULL);
	pthread_create(&migration, NULL, run_migration, NULL);
	for (int i = 0; i < SHOPS; i++)
		pthread_join(shops[i], NULL);
	pthread_join(report, NULL);
	pthread_join(migration, NULL);
	printf("database: %u orders\n", placed);
	return 0;
}
