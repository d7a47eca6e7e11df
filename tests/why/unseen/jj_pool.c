/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=checkout
 *   truth: The exports of the catalog are queued in the pool that serves the baskets, and take both of its
 *     threads for long. They should run in the background pool.
 *   culprit: export catalog
 *   victim: price basket|checkout
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CHECKOUTS 40
#define EXPORTS 6
#define THREADS 2

struct job {
	thrum_task task;
	void (*run)(struct job *job);
	struct job *next;
	bool done;
	long total;
};

struct pool {
	const char *name;
	pthread_mutex_t mutex;
	pthread_cond_t work, done;
	struct job *queue, **end;
	bool quit;
	int count;
	pthread_t threads[THREADS];
};

static struct pool front = {.name = "front", .count = THREADS};
static struct pool background = {.name = "background", .count = 1};
static thrum_task bank;

static void burn(long us)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	while ((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000 < us);
}

static void price_basket(struct job *job)
{
	burn(300);
	job->total = 1999;
}

static void export_catalog(struct job *job)
{
	for (int chapter = 0; chapter < 6; chapter++, job->total++) {
		burn(4000);
		usleep(500); /* writes a chapter */
	}
}

static void *pool_thread(void *data)
{
	struct pool *pool = data;

	thrum_lane_name(pool->name);
	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		struct job *job;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!pool->queue && !pool->quit)
			pthread_cond_wait(&pool->work, &pool->mutex);
		thrum_resume();
		job = pool->queue;
		if (!job)
			break;
		pool->queue = job->next;
		if (!pool->queue)
			pool->end = &pool->queue;
		pthread_mutex_unlock(&pool->mutex);
		THRUM_RUN (job->task)
			job->run(job);
		pthread_mutex_lock(&pool->mutex);
		job->done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&pool->done);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

static void pool_start(struct pool *pool)
{
	pthread_mutex_init(&pool->mutex, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->end = &pool->queue;
	for (int i = 0; i < pool->count; i++)
		pthread_create(&pool->threads[i], NULL, pool_thread, pool);
}

static void pool_submit(struct pool *pool, struct job *job, const char *name,
	void (*run)(struct job *))
{
	*job = (struct job){.run = run};
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	thrum_task_ready(job->task);
	pthread_mutex_lock(&pool->mutex);
	*pool->end = job;
	pool->end = &job->next;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->mutex);
}

static void pool_wait(struct pool *pool, struct job *job)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&pool->mutex);
	while (!job->done) {
		thrum_task_wait(self, job->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&pool->done, &pool->mutex);
		thrum_resume();
	}
	thrum_task_read(self, job->task);
	pthread_mutex_unlock(&pool->mutex);
}

static void pool_stop(struct pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->quit = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->mutex);
	for (int i = 0; i < pool->count; i++)
		pthread_join(pool->threads[i], NULL);
}

static void checkout(void)
{
	thrum_task payment;
	struct job price;

	pool_submit(&front, &price, "price basket", price_basket);
	pool_wait(&front, &price);
	payment = thrum_task_create(THRUM_KIND_REQUEST, "authorize card");
	thrum_task_wait(thrum_task_current(), payment);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(3000); /* the bank answers */
	thrum_resume();
	thrum_task_resolve(payment);
	burn(200);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	struct job exports[EXPORTS];

	thrum_start(NULL);
	bank = thrum_task_create(THRUM_KIND_HANDLE, "bank connection");
	pool_start(&front);
	pool_start(&background);
	for (int i = 0; i < CHECKOUTS; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "checkout");

		if (i % 8 == 2)
			for (int n = 0; n < 2 && i / 8 * 2 + n < EXPORTS; n++)
				pool_submit(broken ? &front : &background, &exports[i / 8 * 2 + n],
					"export catalog", export_catalog);
		THRUM_RUN (task) {
			checkout();
			thrum_task_resolve(task);
		}
	}
	pool_stop(&front);
	pool_stop(&background);
	thrum_stop();
	printf("%d checkouts\n", CHECKOUTS);
	return 0;
}
