/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: orders 11, 22 and 33 name an unknown customer; the error path returns without giving the database connection back, so all three connections are gone and the later orders wait for one for ever.
 *   culprit: settle order (11|22|33)\b
 *   victim: settle order 3[4-9]|settle order 40
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CONNECTIONS = 3,
	WORKERS = 4,
	ORDERS = 40
};

/* The pool of database connections. */
static struct {
	sem_t free;
	thrum_task task;
} pool;
static pthread_mutex_t next_mutex = PTHREAD_MUTEX_INITIALIZER;
static int next_order = 1;
static bool broken;

static void pool_take(void)
{
	if (sem_trywait(&pool.free)) {
		thrum_task_wait(thrum_task_current(), pool.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&pool.free))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(pool.task);
}

static void pool_give_back(void)
{
	thrum_lock_released(pool.task);
	sem_post(&pool.free);
}

static bool customer_exists(int order)
{
	usleep(3000);
	return order % 11 != 0;
}

static void settle(int order)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "settle order %d", order);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pool_take();
		if (!customer_exists(order)) {
			if (!broken)
				pool_give_back();
			thrum_task_fail(task, "unknown customer");
			return;
		}
		usleep(5000);
		pool_give_back();
		thrum_task_resolve(task);
	}
}

static void *worker(void *data)
{
	thrum_lane_name(data);
	for (;;) {
		int order;

		pthread_mutex_lock(&next_mutex);
		order = next_order++;
		pthread_mutex_unlock(&next_mutex);
		if (order > ORDERS)
			return NULL;
		settle(order);
	}
}

int main(int argc, char **argv)
{
	static const char *names[WORKERS] = {"settler 1", "settler 2", "settler 3", "settler 4"};
	pthread_t threads[WORKERS];

	alarm(25);
	broken = !(argc > 1 && strcmp(argv[1], "healthy") == 0);
	sem_init(&pool.free, 0, CONNECTIONS);
	pool.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "connections");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)names[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	thrum_task_resolve(pool.task);
	puts("all orders settled");
	return 0;
}
