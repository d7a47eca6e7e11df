/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: Two albums are rendered at once. Each occupies one of the two threads of the pool, and waits in
 *     job_wait for its pages, which it has queued in the same pool. No thread is left that could render a page, so
 *     render_album waits for work that stands behind itself.
 *   culprit: render_album|job_wait
 *   victim: main\b|http
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A gallery makes contact sheets: an album is a job for the pool, and each of its pages is one too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2
#define PAGES 3

struct pool;

struct job {
	void (*run)(struct job *job);
	struct pool *pool;
	struct job *next;
	bool done;
	pthread_mutex_t mutex;
	pthread_cond_t finished;
	int number;
};

struct pool {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct job *first;
	struct job **end;
	bool closed;
	pthread_t threads[THREADS];
	char name[8];
};

static struct pool album_pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER};
static struct pool page_pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER};
static struct pool *pages = &album_pool;
static atomic_int pages_done;
static atomic_bool stopping;

static void job_init(struct job *job, void (*run)(struct job *), int number)
{
	memset(job, 0, sizeof(*job));
	job->run = run;
	job->number = number;
	pthread_mutex_init(&job->mutex, NULL);
	pthread_cond_init(&job->finished, NULL);
}

static void job_wait(struct job *job)
{
	pthread_mutex_lock(&job->mutex);
	while (!job->done)
		pthread_cond_wait(&job->finished, &job->mutex);
	pthread_mutex_unlock(&job->mutex);
	pthread_cond_destroy(&job->finished);
	pthread_mutex_destroy(&job->mutex);
}

static void job_finish(struct job *job)
{
	pthread_mutex_lock(&job->mutex);
	job->done = true;
	pthread_cond_signal(&job->finished);
	pthread_mutex_unlock(&job->mutex);
}

static void pool_submit(struct pool *pool, struct job *job)
{
	job->pool = pool;
	job->next = NULL;
	pthread_mutex_lock(&pool->mutex);
	*pool->end = job;
	pool->end = &job->next;
	pthread_cond_signal(&pool->filled);
	pthread_mutex_unlock(&pool->mutex);
}

static void *pool_thread(void *data)
{
	struct pool *pool = data;
	struct job *job;

	pthread_setname_np(pthread_self(), pool->name);
	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		while (!pool->first && !pool->closed)
			pthread_cond_wait(&pool->filled, &pool->mutex);
		job = pool->first;
		if (!job)
			break;
		pool->first = job->next;
		if (!pool->first)
			pool->end = &pool->first;
		pthread_mutex_unlock(&pool->mutex);
		job->run(job);
		job_finish(job);
		pthread_mutex_lock(&pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

static void pool_start(struct pool *pool, const char *name)
{
	pool->end = &pool->first;
	snprintf(pool->name, sizeof(pool->name), "%s", name);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&pool->threads[i], NULL, pool_thread, pool);
}

static void pool_stop(struct pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->closed = true;
	pthread_cond_broadcast(&pool->filled);
	pthread_mutex_unlock(&pool->mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(pool->threads[i], NULL);
}

static void render_page(struct job *job)
{
	(void)job;
	usleep(4000);
	atomic_fetch_add(&pages_done, 1);
}

/* Reads the album's index, renders its pages, and puts them together. */
static void render_album(struct job *job)
{
	struct job page[PAGES];

	usleep(10000);
	for (int i = 0; i < PAGES; i++) {
		job_init(&page[i], render_page, job->number * 10 + i);
		pool_submit(pages, &page[i]);
	}
	for (int i = 0; i < PAGES; i++)
		job_wait(&page[i]);
	usleep(2000);
}

/* Answers those who ask how far it is. */
static void *serve_status(void *data)
{
	unsigned answers = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "http");
	while (!atomic_load(&stopping)) {
		usleep(50000);
		answers += atomic_load(&pages_done) >= 0;
	}
	return answers ? NULL : data;
}

int main(int argc, char **argv)
{
	bool healthy = argc > 1 && !strcmp(argv[1], "healthy");
	struct job album[2];
	pthread_t http;

	if (healthy)
		pages = &page_pool;
	pool_start(&album_pool, "album");
	if (healthy)
		pool_start(&page_pool, "page");
	pthread_create(&http, NULL, serve_status, NULL);
	/* In the morning the albums come one by one. */
	for (int i = 0; i < 6; i++) {
		job_init(&album[0], render_album, i);
		pool_submit(&album_pool, &album[0]);
		job_wait(&album[0]);
	}
	printf("%d pages so far\n", atomic_load(&pages_done));
	fflush(stdout);
	/* Then two at a time. */
	for (int i = 0; i < 2; i++) {
		job_init(&album[i], render_album, 10 + i);
		pool_submit(&album_pool, &album[i]);
	}
	for (int i = 0; i < 2; i++)
		job_wait(&album[i]);
	printf("%d pages in all\n", atomic_load(&pages_done));
	atomic_store(&stopping, true);
	pthread_join(http, NULL);
	pool_stop(&album_pool);
	if (healthy)
		pool_stop(&page_pool);
	return 0;
}
