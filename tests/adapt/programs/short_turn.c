/* SPDX-License-Identifier: ISC */
/*
 * Three workers take jobs from a queue, and main waits until none is pending. It knows nothing of thrum.
 * SIGALRM ends it.
 *
 * short_turn short	a worker doesn't count one job
 * short_turn busy	the last job takes longer than the program lives
 * short_turn fine	all is counted
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define JOBS 13 /* so few that each taking of the lock is told */
#define WORKERS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
static int next, pending = JOBS;
static bool is_short, is_busy, is_over;
static atomic_bool is_locked;

static __attribute__((noinline)) void count_job(void)
{
	pthread_mutex_lock(&lock);
	if (--pending == 0)
		pthread_cond_broadcast(&idle);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void do_job(int job)
{
	usleep(is_busy && job == JOBS - 1 ? 100000000 : 10000);
	if (is_short && job == JOBS / 2)
		return;
	count_job();
}

static void *work(void *data)
{
	/* Main has the lock until it waits: from then on it is told who takes that. */
	while (!is_locked)
		usleep(1000);
	for (;;) {
		int job;

		pthread_mutex_lock(&lock);
		while (next == JOBS && !is_over)
			pthread_cond_wait(&added, &lock);
		job = next < JOBS ? next++ : -1;
		pthread_mutex_unlock(&lock);
		if (job < 0)
			return data;
		do_job(job);
	}
}

int main(int argc, char **argv)
{
	const char *chosen = argc > 1 ? argv[1] : "";
	pthread_t workers[WORKERS];

	is_short = strcmp(chosen, "short") == 0;
	is_busy = strcmp(chosen, "busy") == 0;
	end_after(is_short || is_busy ? 2 : 20);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	pthread_mutex_lock(&lock);
	is_locked = true;
	while (pending > 0)
		pthread_cond_wait(&idle, &lock);
	is_over = true;
	pthread_cond_broadcast(&added);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	puts("done");
	return 0;
}
