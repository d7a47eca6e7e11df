/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self live 2000
 *   ask: why
 *   truth: When an upstream gives no good answer, forward returns early by upstream_error and doesn't give the connection
 *     back to the pool with pool_put. After two such errors the pool is empty, and all later requests wait for ever.
 *   culprit: upstream pool|upstream_error|pool_take|forward
 *   victim: GET /|worker
 * case: healthy
 *   args: healthy
 *   run: self live 2000
 *   ask: why
 *   culprit: nothing
 */
/* A reverse proxy: workers forward requests over a small pool of upstream connections. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define WORKERS 3
#define POOL_SIZE 2

struct pool {
	pthread_mutex_t mutex;
	pthread_cond_t returned;
	bool in_use[POOL_SIZE];
	thrum_task task;
};

static bool broken;
static struct pool pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.returned = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t counts_mutex = PTHREAD_MUTEX_INITIALIZER;
static int requests, good, bad;

static int pool_find(void)
{
	for (int i = 0; i < POOL_SIZE; i++)
		if (!pool.in_use[i])
			return i;
	return -1;
}

static int pool_take(void)
{
	int upstream;

	pthread_mutex_lock(&pool.mutex);
	while ((upstream = pool_find()) < 0) {
		thrum_task_wait(thrum_task_current(), pool.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&pool.returned, &pool.mutex);
		thrum_resume();
	}
	pool.in_use[upstream] = true;
	thrum_lock_acquired(pool.task);
	pthread_mutex_unlock(&pool.mutex);
	return upstream;
}

static void pool_put(int upstream)
{
	pthread_mutex_lock(&pool.mutex);
	pool.in_use[upstream] = false;
	thrum_lock_released(pool.task);
	pthread_cond_signal(&pool.returned);
	pthread_mutex_unlock(&pool.mutex);
}

/* Asks the upstream, and returns the status of its answer. */
static int exchange(int number)
{
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(2000);
	thrum_resume();
	return number % 40 == 25 ? 502 : 200;
}

static void count(int status)
{
	pthread_mutex_lock(&counts_mutex);
	if (status == 200)
		good++;
	else
		bad++;
	pthread_mutex_unlock(&counts_mutex);
}

static int upstream_error(int upstream, int status)
{
	thrum_logf("upstream %d answers %d", upstream, status);
	count(status);
	if (!broken)
		pool_put(upstream);
	return status;
}

static int forward(int number)
{
	int upstream = pool_take();
	int status = exchange(number);

	if (status != 200)
		return upstream_error(upstream, status);
	count(status);
	pool_put(upstream);
	return status;
}

static void *worker(void *data)
{
	char name[16];

	snprintf(name, sizeof(name), "worker %d", (int)(size_t)data);
	thrum_lane_name(name);
	for (;;) {
		thrum_task request;
		int number;

		pthread_mutex_lock(&counts_mutex);
		number = ++requests;
		pthread_mutex_unlock(&counts_mutex);
		request = thrum_task_createf(THRUM_KIND_TASK, "GET /%d", number);
		thrum_task_should_resolve(request);
		THRUM_RUN (request) {
			if (forward(number) != 200)
				thrum_log("502 bad gateway");
			thrum_task_resolve(request);
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(3000);
		thrum_resume();
	}
	return NULL;
}

static void *health_check(void *data)
{
	(void)data;
	thrum_lane_name("health check");
	for (;;) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(100000);
		thrum_resume();
		pthread_mutex_lock(&counts_mutex);
		printf("good %d, bad %d\n", good, bad);
		pthread_mutex_unlock(&counts_mutex);
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS], checker;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	pool.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "upstream pool");
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
	pthread_create(&checker, NULL, health_check, NULL);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_join(checker, NULL);
	return 0;
}
