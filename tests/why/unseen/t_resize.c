/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: a burst of pictures fills the ring of jobs; put_job returns false and the caller ignores it, so the job
 *     "resize 9" is lost between the threads. The gallery waits for all and never ends.
 *   culprit: resize 9\b|put_job|ring full
 *   victim: gallery
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define RING 8
#define PICTURES 14

/* A gallery: the main thread submits pictures, a worker resizes them. No locks: a ring with one reader and one
 * writer, and semaphores. Sparsely annotated: nothing is said about the ring. */
struct job {
	thrum_task task;
	int number;
};
static struct job jobs[PICTURES], *ring[RING];
static unsigned head, tail;
static sem_t ready, finished;

static bool put_job(struct job *job)
{
	unsigned at = __atomic_load_n(&tail, __ATOMIC_ACQUIRE);

	if (head - at == RING)
		return false;
	ring[head % RING] = job;
	__atomic_store_n(&head, head + 1, __ATOMIC_RELEASE);
	sem_post(&ready);
	return true;
}

static void *worker(void *data)
{
	thrum_lane_name("resizer");
	for (;;) {
		struct job *job;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		sem_wait(&ready);
		thrum_resume();
		job = ring[tail % RING];
		THRUM_RUN (job->task) {
			usleep(job->number == 0 ? 60000 : 4000);
			thrum_task_resolve(job->task);
		}
		__atomic_store_n(&tail, tail + 1, __ATOMIC_RELEASE);
		sem_post(&finished);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool retry = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_task gallery;
	pthread_t thread;

	sem_init(&ready, 0, 0);
	sem_init(&finished, 0, 0);
	pthread_create(&thread, NULL, worker, NULL);
	gallery = thrum_task_create(THRUM_KIND_TASK, "gallery");
	thrum_task_switch(gallery);
	for (int i = 0; i < PICTURES; i++) {
		struct job *job = &jobs[i];

		job->number = i;
		job->task = thrum_task_createf(THRUM_KIND_TASK, "resize %d", i + 1);
		thrum_task_wait(gallery, job->task);
		while (!put_job(job)) {
			if (!retry)
				break;
			usleep(2000);
		}
		if (i == 8) /* the next ones come from another disk */
			usleep(150000);
	}
	for (int i = 0; i < PICTURES; i++) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		sem_wait(&finished);
		thrum_resume();
	}
	thrum_task_resolve(gallery);
	thrum_stop();
	puts("gallery: done");
	return 0;
}
