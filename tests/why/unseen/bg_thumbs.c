/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=thumbnail #
 *   truth: the job "purge cache" keeps the lock of the cache's index for all the time in which it
 *     deletes old files one by one. Thumbnails need the index, and the slow ones wait for the purge.
 *   culprit: purge cache|purge_cache
 *   victim: count visits|count_visits
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
#include <time.h>

enum {
	THREADS = 8,
	THUMBNAILS = 120,
	OLD_FILES = 20
};

struct job {
	struct job *next;
	thrum_task task;
	void (*run)(struct job *);
	int number;
};

struct index_lock {
	pthread_mutex_t mutex;
	thrum_task task;
};

THRUM_TAG(disk, NULL, "disk", 0);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;
static int open_jobs;
static bool closing, keeps_lock;
static struct index_lock cache_index = {PTHREAD_MUTEX_INITIALIZER, THRUM_TASK_NONE};
static unsigned char entry[256];
static volatile unsigned visits;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void disk_ms(int ms)
{
	thrum_suspend(&disk);
	pause_ms(ms);
	thrum_resume();
}

static void index_lock(void)
{
	if (pthread_mutex_trylock(&cache_index.mutex)) {
		thrum_task_wait(thrum_task_current(), cache_index.task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&cache_index.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(cache_index.task);
}

static void index_unlock(void)
{
	thrum_lock_released(cache_index.task);
	pthread_mutex_unlock(&cache_index.mutex);
}

/* ---- The jobs ---- */

static void thumbnail(struct job *job)
{
	unsigned sum = 0;

	disk_ms(3);
	for (unsigned i = 0; i < 300000; i++)
		sum = sum * 31 + i;
	index_lock();
	entry[(job->number + (int)(sum & 1)) % 256] = 1;
	index_unlock();
}

static void purge_cache(struct job *job)
{
	(void)job;
	index_lock();
	for (int i = 0; i < OLD_FILES; i++) {
		entry[i] = 0;
		if (!keeps_lock)
			index_unlock();
		disk_ms(12);
		if (!keeps_lock)
			index_lock();
	}
	index_unlock();
}

static void count_visits(struct job *job)
{
	disk_ms(2);
	__atomic_fetch_add(&visits, (unsigned)job->number, __ATOMIC_RELAXED);
}

/* ---- The pool ---- */

static void submit(const char *name, void (*run)(struct job *), int number)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		abort();
	job->run = run;
	job->number = number;
	if (number < 0)
		job->task = thrum_task_create(THRUM_KIND_TASK, name);
	else
		job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", name, number);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&mutex);
	*queue_end = job;
	queue_end = &job->next;
	open_jobs++;
	thrum_task_ready(job->task);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *pool_thread(void *data)
{
	char name[32];

	snprintf(name, sizeof name, "pool %d", (int)(size_t)data);
	thrum_lane_name(name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct job *job;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		if (!queue)
			break;
		job = queue;
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task)
			job->run(job);
		thrum_task_resolve(job->task);
		free(job);
		pthread_mutex_lock(&mutex);
		open_jobs--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	keeps_lock = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	cache_index.task = thrum_task_create(THRUM_KIND_LOCK, "cache index");
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, pool_thread, (void *)i))
			return 1;
	for (int i = 0; i < THUMBNAILS; i++) {
		submit("thumbnail", thumbnail, i);
		if (i % 10 == 5)
			submit("count visits", count_visits, i);
		if (i == 60)
			submit("purge cache", purge_cache, -1);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		pause_ms(10);
		thrum_resume();
	}
	pthread_mutex_lock(&mutex);
	thrum_suspend(THRUM_BLOCKED);
	while (open_jobs)
		pthread_cond_wait(&changed, &mutex);
	thrum_resume();
	closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%u visits\n", visits);
	thrum_stop();
	return 0;
}
