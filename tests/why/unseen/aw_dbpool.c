/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=query
 *   truth: pool_take checks a connection that has been used for a while with connection_ping, and it does so
 *     while it holds the lock "pool". The ping of the far replica takes 60 ms; meanwhile all other queries
 *     wait for the lock to take or give back a connection.
 *   culprit: ping|connection_check
 *   victim: \bpool\b|pool_lock|idle connection
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A pool of database connections, with handlers that take one for each query. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define CONNECTIONS 5
#define HANDLERS 6
#define QUERIES 20
#define USES_BEFORE_CHECK 6

THRUM_TAG(ping_tag, NULL, "ping", 0);
THRUM_TAG(server_tag, NULL, "server", 0);

struct connection {
	struct connection *next;
	int number;
	int uses; /* since the last check */
	int pings;
};

struct pool {
	pthread_mutex_t mutex;
	pthread_cond_t given_back;
	thrum_task lock;
	thrum_task idle; /* a condition: there is an idle connection */
	unsigned waiters;
	struct connection connections[CONNECTIONS];
	struct connection *first, **end;
	int check_early; /* before the connection is out of the pool */
};

struct handler {
	pthread_t thread;
	struct pool *pool;
	int number;
	unsigned long rows;
};

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

static void pool_lock(struct pool *pool)
{
	if (pthread_mutex_trylock(&pool->mutex)) {
		thrum_task_wait(thrum_task_current(), pool->lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&pool->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(pool->lock);
}

static void pool_unlock(struct pool *pool)
{
	thrum_lock_released(pool->lock);
	pthread_mutex_unlock(&pool->mutex);
}

/* Number 3 is a replica on another continent. */
static void connection_ping(struct connection *connection)
{
	thrum_suspend(&ping_tag);
	pause_us(connection->number == 3 ? 60000 : 300);
	thrum_resume();
	connection->pings++;
	connection->uses = 0;
}

/* Is it still alive? */
static void connection_check(struct connection *connection)
{
	if (connection->uses >= USES_BEFORE_CHECK)
		connection_ping(connection);
}

static struct connection *pool_take(struct pool *pool)
{
	thrum_task self = thrum_task_current();
	struct connection *connection;

	pool_lock(pool);
	while (!pool->first) {
		pool->waiters++;
		thrum_lock_released(pool->lock);
		thrum_task_wait(self, pool->idle);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&pool->given_back, &pool->mutex);
		thrum_resume();
		thrum_task_read(self, pool->idle);
		thrum_lock_acquired(pool->lock);
	}
	connection = pool->first;
	pool->first = connection->next;
	if (!pool->first)
		pool->end = &pool->first;
	if (pool->check_early)
		connection_check(connection);
	pool_unlock(pool);
	if (!pool->check_early)
		connection_check(connection);
	connection->uses++;
	return connection;
}

static void pool_give_back(struct pool *pool, struct connection *connection)
{
	pool_lock(pool);
	connection->next = NULL;
	*pool->end = connection;
	pool->end = &connection->next;
	thrum_task_signal(pool->idle, pool->waiters);
	if (pool->waiters > 0)
		pool->waiters--;
	pthread_cond_signal(&pool->given_back);
	pool_unlock(pool);
}

static unsigned long connection_query(struct connection *connection, int number)
{
	thrum_suspend(&server_tag);
	pause_us(1200 + number % 5 * 200);
	thrum_resume();
	return 10 + connection->number;
}

static void handle(struct handler *handler, int number)
{
	thrum_task query = thrum_task_createf(THRUM_KIND_TASK, "query %d", number);
	struct connection *connection;

	thrum_task_should_resolve(query);
	THRUM_RUN (query) {
		connection = pool_take(handler->pool);
		handler->rows += connection_query(connection, number);
		pool_give_back(handler->pool, connection);
		thrum_task_resolve(query);
	}
}

static void *handler_run(void *data)
{
	struct handler *handler = data;
	char name[24];

	snprintf(name, sizeof(name), "handler %d", handler->number);
	thrum_lane_name(name);
	for (int i = 0; i < QUERIES; i++) {
		handle(handler, handler->number * 100 + i);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_us(2000 + (handler->number * 7 + i) % 5 * 400);
		thrum_resume();
	}
	return NULL;
}

static void pool_open(struct pool *pool, int check_early)
{
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->given_back, NULL);
	pool->lock = thrum_task_create(THRUM_KIND_LOCK, "pool");
	pool->idle = thrum_task_create(THRUM_KIND_CONDITION, "idle connection");
	pool->check_early = check_early;
	pool->end = &pool->first;
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &pool->connections[i];

		connection->number = i + 1;
		*pool->end = connection;
		pool->end = &connection->next;
	}
}

int main(int argc, char **argv)
{
	static struct handler handlers[HANDLERS];
	static struct pool pool;
	unsigned long rows = 0;
	int pings = 0;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	pool_open(&pool, !strcmp(argv[1], "broken"));
	for (int i = 0; i < HANDLERS; i++) {
		handlers[i].pool = &pool;
		handlers[i].number = i + 1;
		if (pthread_create(&handlers[i].thread, NULL, handler_run, &handlers[i]))
			return 1;
	}
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < HANDLERS; i++) {
		pthread_join(handlers[i].thread, NULL);
		rows += handlers[i].rows;
	}
	thrum_resume();
	thrum_stop();
	for (int i = 0; i < CONNECTIONS; i++)
		pings += pool.connections[i].pings;
	printf("%d queries, %lu rows, %d pings\n", HANDLERS * QUERIES, rows, pings);
	pthread_cond_destroy(&pool.given_back);
	pthread_mutex_destroy(&pool.mutex);
	return 0;
}
