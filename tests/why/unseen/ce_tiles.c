/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow='GET /tile/#'
 *   truth: Two workers take jobs from one queue, first come, first served. warm_up puts 14 jobs "prefetch …" into it,
 *     each of 30 ms, so GET /tile/21, which comes right after them, stands behind all of them for about 200 ms. Its own work
 *     takes as long as always. (Healthy: prefetches wait until there is nothing else.)
 *   culprit: prefetch
 *   victim: GET /tile/21
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A server of map tiles: requests and prefetches are jobs of a small pool of threads. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define WORKERS 2
#define REQUESTS 40

THRUM_TAG(disk, NULL, "read tiles", 0);

struct job {
	thrum_task task;
	int ms;
	struct job *next;
};

struct queue {
	struct job *first;
	struct job **last;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct queue urgent = {.last = &urgent.first};
static struct queue idle = {.last = &idle.first};
static bool ranks; /* whether prefetches have a queue of their own */
static bool closing;
static unsigned done;

static void put(struct queue *queue, thrum_task task, int ms)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		abort();
	job->task = task;
	job->ms = ms;
	thrum_task_should_resolve(task);
	pthread_mutex_lock(&mutex);
	*queue->last = job;
	queue->last = &job->next;
	thrum_task_ready(task);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static struct job *take_from(struct queue *queue)
{
	struct job *job = queue->first;

	if (!job)
		return NULL;
	queue->first = job->next;
	if (!queue->first)
		queue->last = &queue->first;
	return job;
}

static struct job *take_job(void)
{
	struct job *job;

	pthread_mutex_lock(&mutex);
	for (;;) {
		job = take_from(&urgent);
		if (!job)
			job = take_from(&idle);
		if (job || closing)
			break;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	pthread_mutex_unlock(&mutex);
	return job;
}

static void read_tiles(int ms)
{
	thrum_suspend(&disk);
	usleep((useconds_t)ms * 1000);
	thrum_resume();
}

static void *run_worker(void *data)
{
	char name[16];
	struct job *job;

	snprintf(name, sizeof name, "worker %d", *(int *)data);
	thrum_lane_name(name);
	while ((job = take_job())) {
		THRUM_RUN (job->task) {
			read_tiles(job->ms);
			thrum_task_resolve(job->task);
		}
		pthread_mutex_lock(&mutex);
		done++;
		pthread_mutex_unlock(&mutex);
		free(job);
	}
	return NULL;
}

/* Loads the tiles around a place that became popular. */
static void warm_up(void)
{
	for (int i = 1; i <= 14; i++) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "prefetch %d", i);

		put(ranks ? &idle : &urgent, task, 30);
	}
}

static void serve(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "GET /tile/%d", number);

	put(&urgent, task, 3);
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	int numbers[WORKERS];

	ranks = argc < 2 || strcmp(argv[1], "broken");
	thrum_start(NULL);
	thrum_lane_name("listener");
	for (int i = 0; i < WORKERS; i++) {
		numbers[i] = i + 1;
		pthread_create(&workers[i], NULL, run_worker, &numbers[i]);
	}
	for (int i = 1; i <= REQUESTS; i++) {
		if (i == 21)
			warm_up();
		serve(i);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		/* After a popular place the next guest takes a while. */
		usleep(i == 21 ? 400000 : 15000);
		thrum_resume();
	}
	pthread_mutex_lock(&mutex);
	closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WORKERS; i++) {
		thrum_suspend(THRUM_BLOCKED);
		pthread_join(workers[i], NULL);
		thrum_resume();
	}
	printf("tiles: %u jobs done\n", done);
	return 0;
}
