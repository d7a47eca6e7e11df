/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: When the load falls, pool_shrink retires the thread “packer 3”, whose own queue still holds the
 *     job “pack shard 19”. Nobody moves the job to another thread, so it never runs, and
 *     the backup waits for it.
 *   culprit: pack shard 19|pool_shrink|packer 3
 *   victim: nightly backup
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A backup packs its shards in a pool of threads with a queue each. The pool shrinks when the load falls. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <thrum.h>

#define THREADS 4
#define SHARDS 20

struct job {
	struct job *next;
	int shard;
	bool done;
	thrum_task task;
};

struct packer {
	pthread_t thread;
	struct job *queue, **end;
	bool retired;
	int number;
};

static struct packer packers[THREADS];
static struct job jobs[SHARDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static int active = THREADS;
static bool fixed;
static unsigned long checksum;

static void milliseconds(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* The caller holds the mutex. */
static void packer_push(struct packer *packer, struct job *job)
{
	job->next = NULL;
	*packer->end = job;
	packer->end = &job->next;
	pthread_cond_broadcast(&queued);
}

static struct job *packer_pop(struct packer *packer)
{
	struct job *job = packer->queue;

	if (job) {
		packer->queue = job->next;
		if (!packer->queue)
			packer->end = &packer->queue;
	}
	return job;
}

static void pack(struct job *job)
{
	unsigned long sum = (unsigned long)job->shard;

	for (int i = 0; i < 200000; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	milliseconds(job->shard == 15 ? 60 : 4); /* shard 15 has the videos */
	pthread_mutex_lock(&mutex);
	checksum ^= sum;
	pthread_mutex_unlock(&mutex);
}

static void *packer_main(void *data)
{
	struct packer *packer = data;
	struct job *job;
	char name[16];

	snprintf(name, sizeof(name), "packer %d", packer->number);
	thrum_lane_name(name);
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!packer->queue && !packer->retired)
			pthread_cond_wait(&queued, &mutex);
		thrum_resume();
		if (packer->retired)
			break;
		job = packer_pop(packer);
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task)
			pack(job);
		pthread_mutex_lock(&mutex);
		job->done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&finished);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void pool_submit(struct job *job)
{
	job->task = thrum_task_createf(THRUM_KIND_TASK, "pack shard %d", job->shard);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&mutex);
	thrum_task_ready(job->task);
	packer_push(&packers[job->shard % active], job);
	pthread_mutex_unlock(&mutex);
}

/* Ends the last thread: the disk is the bottleneck by now. */
static void pool_shrink(void)
{
	struct packer *last;
	struct job *job;

	pthread_mutex_lock(&mutex);
	last = &packers[--active];
	last->retired = true;
	while (fixed && (job = packer_pop(last)))
		packer_push(&packers[job->shard % active], job);
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&mutex);
}

static void job_wait(struct job *job)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	while (!job->done) {
		thrum_task_wait(self, job->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&finished, &mutex);
		thrum_resume();
	}
	thrum_task_read(self, job->task);
	pthread_mutex_unlock(&mutex);
}

int main(int count, char **arguments)
{
	thrum_task backup;

	fixed = count > 1 && !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	for (int i = 0; i < THREADS; i++) {
		packers[i].number = i;
		packers[i].end = &packers[i].queue;
		pthread_create(&packers[i].thread, NULL, packer_main, &packers[i]);
	}
	backup = thrum_task_create(THRUM_KIND_TASK, "nightly backup");
	thrum_task_should_resolve(backup);
	THRUM_RUN (backup) {
		for (int i = 0; i < SHARDS; i++) {
			jobs[i].shard = i;
			pool_submit(&jobs[i]);
		}
		milliseconds(45);
		pool_shrink();
		for (int i = 0; i < SHARDS; i++)
			job_wait(&jobs[i]);
		thrum_task_resolve(backup);
	}
	thrum_stop();
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < active; i++)
		packers[i].retired = true;
	pthread_cond_broadcast(&queued);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(packers[i].thread, NULL);
	printf("packed %d shards: %lx\n", SHARDS, checksum);
	return 0;
}
