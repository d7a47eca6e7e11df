/* SPDX-License-Identifier: ISC */
/*
 * Two workers sleep until there are jobs. Two jobs come at once: one to merge two parts, and one to make the
 * part that it lacks. There is one signal for both, so that the worker that merges waits for a part that
 * nobody makes. With the argument "healthy" there are two. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, part_made = PTHREAD_COND_INITIALIZER;
static int jobs, parts, asleep;

static void make_part(void)
{
	pthread_mutex_lock(&lock);
	parts++;
	pthread_cond_signal(&part_made);
	pthread_mutex_unlock(&lock);
}

/* The first job is to merge. */
static void *work(void *count)
{
	int job;

	for (int i = 0; i < *(int *)count; i++)
		make_part();
	pthread_mutex_lock(&lock);
	asleep++;
	while (jobs == 0)
		pthread_cond_wait(&filled, &lock);
	job = jobs--;
	if (job == 2)
		for (int before = parts; parts == before;)
			pthread_cond_wait(&part_made, &lock); /* in vain */
	pthread_mutex_unlock(&lock);
	if (job == 1)
		make_part();
	return NULL;
}

/* By glibc's count of those who use the condition. */
static bool waits(void)
{
	return __atomic_load_n(&part_made.__data.__wrefs, __ATOMIC_ACQUIRE) >= 8;
}

static void wait_for_sleepers(int count)
{
	for (bool are = false; !are; usleep(1000)) {
		pthread_mutex_lock(&lock);
		are = asleep == count;
		pthread_mutex_unlock(&lock);
	}
}

int main(int argc, char **argv)
{
	bool is_healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	int counts[] = {5, 3};
	pthread_t workers[2];

	for (int i = 0; i < 2; i++) {
		pthread_create(&workers[i], NULL, work, &counts[i]);
		wait_for_sleepers(i + 1);
	}
	pthread_mutex_lock(&lock);
	jobs = 2;
	pthread_cond_signal(&filled); /* one for both */
	if (is_healthy)
		pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
	puts("started");
	fflush(stdout);
	if (!is_healthy)
		end_when(waits);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	return 0;
}
