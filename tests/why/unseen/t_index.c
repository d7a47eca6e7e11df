/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: a pool that waits for itself: all three threads run "scan" jobs, which wait for "hash" jobs that are
 *     queued behind them; no thread is left to run those.
 *   culprit: hash |scan |pool
 *   victim: index|main
 * case: healthy
 *   args: healthy
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

/* An indexer: scans folders; each scan submits a hash job for each file, and waits for them. A pool of 3 threads.
 * A scan that waits helps out in the good version: it runs queued jobs itself. */
struct job {
	struct job *next;
	thrum_task task;
	void (*run)(struct job *);
	int number;
	bool done;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;
static bool help;

static void submit(struct job *job, void (*run)(struct job *), const char *what, int number)
{
	job->run = run;
	job->number = number;
	job->done = false;
	job->next = NULL;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "%s %d", what, number);
	thrum_task_should_resolve(job->task);
	thrum_task_ready(job->task);
	pthread_mutex_lock(&mutex);
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

/* The caller holds the mutex, and the queue is not empty. */
static void run_one(void)
{
	struct job *job = queue;

	queue = job->next;
	if (!queue)
		queue_end = &queue;
	pthread_mutex_unlock(&mutex);
	THRUM_RUN (job->task) {
		job->run(job);
		thrum_task_resolve(job->task);
	}
	pthread_mutex_lock(&mutex);
	job->done = true;
	pthread_cond_broadcast(&changed);
}

static void *pool_thread(void *data)
{
	thrum_lane_name("pool");
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!queue) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
		}
		run_one();
	}
	return NULL;
}

static void wait_for(struct job *job)
{
	thrum_task self = thrum_task_current();

	pthread_mutex_lock(&mutex);
	while (!job->done) {
		if (help && queue) {
			run_one();
			continue;
		}
		thrum_task_wait(self, job->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(self, job->task);
	pthread_mutex_unlock(&mutex);
}

static void hash(struct job *job)
{
	usleep(4000);
}

static void scan(struct job *job)
{
	struct job files[4];

	usleep(10000);
	for (int i = 0; i < 4; i++)
		submit(&files[i], hash, "hash file", job->number * 10 + i);
	for (int i = 0; i < 4; i++)
		wait_for(&files[i]);
}

int main(int argc, char **argv)
{
	struct job scans[3];
	pthread_t thread;
	thrum_task whole;

	help = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, pool_thread, NULL);
	whole = thrum_task_create(THRUM_KIND_TASK, "index run");
	thrum_task_should_resolve(whole);
	THRUM_RUN (whole) {
		for (int i = 0; i < 3; i++)
			submit(&scans[i], scan, "scan folder", i + 1);
		for (int i = 0; i < 3; i++)
			wait_for(&scans[i]);
		thrum_task_resolve(whole);
	}
	thrum_stop();
	puts("indexed");
	return 0;
}
