/* SPDX-License-Identifier: ISC */
/*
 * A pool whose jobs wait for other jobs of the same pool, until no thread is left to run these: `pool`.
 * Or a thread that waits for credit, for some time again and again, after the thread has ended that gave
 * it: `credit`. Or a thread waits for room, which another one makes and doesn't say so: `unsaid`.
 * With a second argument all goes well. SIGALRM ends it. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

struct job {
	bool is_nested, is_done;
	struct job *next;
};

static bool is_fine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static pthread_cond_t granted = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static pthread_cond_t room = PTHREAD_COND_INITIALIZER;
static atomic_int begun;
static int credit, left = 20000;

static void submit(struct job *job)
{
	pthread_mutex_lock(&lock);
	job->next = jobs;
	jobs = job;
	pthread_cond_signal(&queued);
	pthread_mutex_unlock(&lock);
}

static void await(struct job *job)
{
	pthread_mutex_lock(&lock);
	while (!job->is_done)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}

static void run(struct job *job)
{
	struct job part = {.is_nested = false};

	/* Each thread has a first job, and then a nested one. */
	for (int all = ++begun <= 2 ? 2 : 4; begun < all && (all == 2 || !is_fine);)
		usleep(1000);
	if (!job->is_nested)
		return;
	submit(&part);
	await(&part);
}

static void *work(void *data)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!jobs)
			pthread_cond_wait(&queued, &lock);
		struct job *job = jobs;

		jobs = job->next;
		pthread_mutex_unlock(&lock);
		run(job);
		pthread_mutex_lock(&lock);
		job->is_done = true;
		pthread_cond_broadcast(&finished);
		pthread_mutex_unlock(&lock);
	}
	return data;
}

static void use_pool(void)
{
	static struct job first[2], last[2];
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		submit(&first[i]);
	for (int i = 0; i < 2; i++)
		await(&first[i]);
	for (int i = 0; i < 2; i++) {
		last[i].is_nested = !is_fine || i == 0;
		submit(&last[i]);
	}
	for (int i = 0; i < 2; i++)
		await(&last[i]);
}

static void *grant(void *data)
{
	for (int i = 0; i < (is_fine ? 5 : 3); i++) {
		usleep(5000);
		pthread_mutex_lock(&lock);
		credit++;
		pthread_cond_signal(&granted);
		pthread_mutex_unlock(&lock);
	}
	return data;
}

static void *spend(void *data)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 5; i++) {
		while (credit == 0) {
			struct timespec until;

			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += 20000000;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			pthread_cond_timedwait(&granted, &lock, &until);
		}
		credit--;
	}
	pthread_mutex_unlock(&lock);
	return data;
}

static void use_credit(void)
{
	pthread_t giver, taker;

	pthread_create(&giver, NULL, grant, NULL);
	pthread_create(&taker, NULL, spend, NULL);
	pthread_join(giver, NULL);
	pthread_join(taker, NULL);
}

static void *drain(void *data)
{
	while (!begun)
		usleep(1000);
	for (int i = left; i > 0; i--) {
		pthread_mutex_lock(&lock);
		if (--left == 0 && is_fine)
			pthread_cond_signal(&room);
		pthread_mutex_unlock(&lock);
	}
	return data;
}

static void *fill(void *data)
{
	pthread_mutex_lock(&lock);
	begun = 1;
	while (left > 0)
		pthread_cond_wait(&room, &lock);
	pthread_mutex_unlock(&lock);
	return data;
}

static void use_room(void)
{
	pthread_t filler, drainer;

	pthread_create(&filler, NULL, fill, NULL);
	pthread_create(&drainer, NULL, drain, NULL);
	pthread_join(filler, NULL);
	pthread_join(drainer, NULL);
}

int main(int argc, char **argv)
{
	is_fine = argc > 2;
	end_after(is_fine ? 20 : 1);
	if (argc > 1 && strcmp(argv[1], "pool") == 0)
		use_pool();
	else if (argc > 1 && strcmp(argv[1], "unsaid") == 0)
		use_room();
	else
		use_credit();
	puts("done");
	return 0;
}
