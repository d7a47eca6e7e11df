/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow=thumbnail
 *   truth: Two jobs "transcode clip" occupy both threads of the pool for some 300 ms; the thumbnails that are queued in that time are ready, but wait for a free thread.
 *   culprit: transcode
 *   victim: thumbnail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The upload service of a photo site: a pool of two threads makes thumbnails and transcodes clips. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

struct job {
	thrum_task task;
	int ms;
	struct job *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *jobs, **jobs_end = &jobs;
static bool closing, slow;
static int done;

static void submit(const char *label, int ms)
{
	struct job *job = calloc(1, sizeof(*job));

	job->ms = ms;
	job->task = thrum_task_create(THRUM_KIND_TASK, label);
	pthread_mutex_lock(&mutex);
	thrum_task_ready(job->task);
	*jobs_end = job;
	jobs_end = &job->next;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

/* Stands for the codec, which runs on other hardware. */
static void encode(int ms)
{
	usleep(ms * 1000);
}

static void *pool_thread(void *data)
{
	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!jobs && !closing)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		struct job *job = jobs;

		if (!job)
			break;
		jobs = job->next;
		if (!jobs)
			jobs_end = &jobs;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task) {
			encode(job->ms);
			thrum_task_resolve(job->task);
		}
		free(job);
		pthread_mutex_lock(&mutex);
		done++;
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	slow = argc > 1 && !strcmp(argv[1], "slow");
	pthread_create(&threads[0], NULL, pool_thread, "pool 1");
	pthread_create(&threads[1], NULL, pool_thread, "pool 2");
	for (int i = 0; i < 24; i++) {
		submit("thumbnail", 4 + i % 3);
		usleep(12000);
		if (i == 6)
			submit("transcode clip", slow ? 310 : 40);
		if (i == 7 && slow)
			submit("transcode clip", 290);
	}
	pthread_mutex_lock(&mutex);
	closing = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%d jobs\n", done);
	return 0;
}
