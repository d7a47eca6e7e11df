/* SPDX-License-Identifier: ISC */
/*
 * After lz4/lz4, pull request #1740.
 *
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: TPool_jobsCompleted waits for the event allJobsCompleted without looking at the number of pending jobs. The
 *     event is set when the last job ends, and reset by the wait. An empty file has no jobs, so nobody sets it,
 *     and its compression waits for ever.
 *   culprit: allJobsCompleted|TPool_jobsCompleted
 *   victim: main\b|progress
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A compressor of files: each file is cut into chunks, which are jobs for a pool of threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define WORKERS 2
#define CHUNK 4096

/* An event that a single wait resets. */
struct event {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	thrum_task task;
	unsigned waiters;
	bool isSet;
};

struct job {
	struct job *next;
	thrum_task task;
	size_t size;
};

struct TPool {
	pthread_t threads[WORKERS];
	pthread_mutex_t mutex;
	pthread_cond_t hasJobs;
	struct job *first, **end;
	atomic_int nbPendingJobs;
	struct event allJobsCompleted;
	bool looksFirst;
	bool isClosed;
};

struct file {
	const char *name;
	size_t size;
};

static atomic_ulong compressed;
static atomic_bool done;

static void event_set(struct event *event)
{
	pthread_mutex_lock(&event->mutex);
	event->isSet = true;
	thrum_task_signal(event->task, event->waiters);
	pthread_cond_signal(&event->cond);
	pthread_mutex_unlock(&event->mutex);
}

static void event_wait(struct event *event)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&event->mutex);
	while (!event->isSet) {
		event->waiters++;
		thrum_task_wait(self, event->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&event->cond, &event->mutex);
		thrum_resume();
		event->waiters--;
	}
	thrum_task_read(self, event->task);
	event->isSet = false;
	pthread_mutex_unlock(&event->mutex);
}

static void compress_chunk(struct job *job)
{
	unsigned hash = 0;

	for (size_t i = 0; i < job->size * 40; i++)
		hash = hash * 31 + (unsigned)i;
	atomic_fetch_add(&compressed, job->size / 2 + hash % 2);
}

static void *TPool_worker(void *data)
{
	struct TPool *pool = data;

	thrum_lane_name("worker");
	pthread_mutex_lock(&pool->mutex);
	for (;;) {
		struct job *job;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!pool->first && !pool->isClosed)
			pthread_cond_wait(&pool->hasJobs, &pool->mutex);
		thrum_resume();
		job = pool->first;
		if (!job)
			break;
		pool->first = job->next;
		if (!pool->first)
			pool->end = &pool->first;
		pthread_mutex_unlock(&pool->mutex);
		THRUM_RUN (job->task) {
			compress_chunk(job);
			if (atomic_fetch_sub(&pool->nbPendingJobs, 1) == 1)
				event_set(&pool->allJobsCompleted);
			thrum_task_resolve(job->task);
		}
		free(job);
		pthread_mutex_lock(&pool->mutex);
	}
	pthread_mutex_unlock(&pool->mutex);
	return NULL;
}

static void TPool_submitJob(struct TPool *pool, size_t size)
{
	struct job *job = calloc(1, sizeof(*job));

	job->size = size;
	job->task = thrum_task_create(THRUM_KIND_TASK, "chunk");
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&pool->mutex);
	thrum_task_ready(job->task);
	*pool->end = job;
	pool->end = &job->next;
	pthread_cond_signal(&pool->hasJobs);
	pthread_mutex_unlock(&pool->mutex);
}

/* Waits until all jobs that were submitted have ended. */
static void TPool_jobsCompleted(struct TPool *pool)
{
	if (!pool->looksFirst) {
		event_wait(&pool->allJobsCompleted);
		return;
	}
	while (atomic_load(&pool->nbPendingJobs) > 0)
		event_wait(&pool->allJobsCompleted);
}

static void compressFile(struct TPool *pool, const struct file *file)
{
	size_t chunks = (file->size + CHUNK - 1) / CHUNK;
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "compress %s", file->name);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		atomic_store(&pool->nbPendingJobs, (int)chunks);
		for (size_t at = 0; at < file->size; at += CHUNK)
			TPool_submitJob(pool, file->size - at < CHUNK ? file->size - at : CHUNK);
		TPool_jobsCompleted(pool);
		thrum_task_resolve(task);
	}
}

static void *progress(void *data)
{
	(void)data;
	thrum_lane_name("progress");
	while (!done) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(20000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct file files[] = {{"kernel.img", 200000}, {"access.log", 81920},
		{"notes.txt", 700}, {"mail.mbox", 150000}, {"error.log", 0}, {"photos.tar", 300000},
		{"readme", 4096}};
	static struct TPool pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
		.hasJobs = PTHREAD_COND_INITIALIZER};
	pthread_t shows;

	if (argc < 2)
		return 2;
	thrum_start(NULL);
	pool.looksFirst = !strcmp(argv[1], "healthy");
	pool.end = &pool.first;
	pthread_mutex_init(&pool.allJobsCompleted.mutex, NULL);
	pthread_cond_init(&pool.allJobsCompleted.cond, NULL);
	pool.allJobsCompleted.task = thrum_task_create(THRUM_KIND_CONDITION, "allJobsCompleted");
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&pool.threads[i], NULL, TPool_worker, &pool);
	pthread_create(&shows, NULL, progress, NULL);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		compressFile(&pool, &files[i]);
	done = true;
	pthread_join(shows, NULL);
	pthread_mutex_lock(&pool.mutex);
	pool.isClosed = true;
	pthread_cond_broadcast(&pool.hasJobs);
	pthread_mutex_unlock(&pool.mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(pool.threads[i], NULL);
	printf("%lu bytes\n", compressed);
	return 0;
}
