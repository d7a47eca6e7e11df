/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: "audit export" borrows a connection of the primary pool and gives it back to the replica pool (it has put the connection into read-only mode meanwhile). After two exports the primary pool is empty for good, and every "POST /order" waits for it.
 *   culprit: audit export
 *   victim: POST /order
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* dbpool: request threads which borrow connections from two pools. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	MAX = 8
};

struct connection {
	int number;
	bool read_only;
};
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t returned;
	thrum_task task;
	struct connection *idle[MAX];
	int count;
};

static struct pool primary = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static struct pool replica = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static struct connection connections[5];
static bool pool_by_mode;

static struct connection *pool_get(struct pool *pool)
{
	struct connection *connection;

	pthread_mutex_lock(&pool->lock);
	while (pool->count == 0) {
		thrum_task_wait(thrum_task_current(), pool->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&pool->returned, &pool->lock);
		thrum_resume();
	}
	connection = pool->idle[--pool->count];
	thrum_lock_acquired(pool->task);
	pthread_mutex_unlock(&pool->lock);
	return connection;
}

static void pool_put(struct pool *pool, struct connection *connection)
{
	pthread_mutex_lock(&pool->lock);
	pool->idle[pool->count++] = connection;
	thrum_lock_released(pool->task);
	pthread_cond_signal(&pool->returned);
	pthread_mutex_unlock(&pool->lock);
}

static void give_back(struct connection *connection)
{
	bool to_replica = connection->number >= 2;

	if (pool_by_mode)
		to_replica = connection->read_only;
	else if (!to_replica)
		connection->read_only = false; /* RESET ALL */
	pool_put(to_replica ? &replica : &primary, connection);
}

static void request(const char *label, struct pool *pool, unsigned us, bool snapshot)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, label);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		struct connection *connection = pool_get(pool);

		if (snapshot)
			connection->read_only = true; /* SET TRANSACTION READ ONLY */
		usleep(us);
		give_back(connection);
		thrum_task_resolve(task);
	}
}

static void *checkout_thread(void *unused)
{
	(void)unused;
	thrum_lane_name("http 1");
	for (int i = 0; i < 20; i++) {
		request("POST /order", &primary, 4000, false);
		usleep(4000);
	}
	return NULL;
}

static void *browse_thread(void *data)
{
	(void)data;
	thrum_lane_name("http 2");
	for (int i = 0; i < 25; i++) {
		request("GET /catalog", &replica, 3000, false);
		usleep(2000);
	}
	return NULL;
}

static void *audit_thread(void *unused)
{
	(void)unused;
	thrum_lane_name("cron");
	for (int i = 0; i < 2; i++) {
		usleep(45000);
		request("audit export", &primary, 15000, true);
	}
	return NULL;
}

/* Waits for changes that are rare. */
static void *keepalive_thread(void *unused)
{
	(void)unused;
	thrum_lane_name("keepalive");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(200000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[4], keepalive;

	pool_by_mode = argc > 1 && !strcmp(argv[1], "broken");
	primary.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "primary pool");
	replica.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "replica pool");
	for (int i = 0; i < 5; i++) {
		struct pool *pool = i < 2 ? &primary : &replica;

		connections[i] = (struct connection){i, i >= 2};
		pool->idle[pool->count++] = &connections[i];
	}
	pthread_create(&keepalive, NULL, keepalive_thread, NULL);
	pthread_create(&thread[0], NULL, checkout_thread, NULL);
	pthread_create(&thread[1], NULL, checkout_thread, NULL);
	pthread_create(&thread[2], NULL, browse_thread, NULL);
	pthread_create(&thread[3], NULL, audit_thread, NULL);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	thrum_resume();
	return 0;
}
