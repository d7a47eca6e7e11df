/* SPDX-License-Identifier: ISC */
/*
 * Two workers take jobs by an eventfd, and main waits late until all are done. The first read takes the
 * count of all jobs, but only one job: so the others stay. With the argument "lost" each read takes one job,
 * but main looks at no count before it waits, so the signal is lost; with "fine" it does. SIGALRM ends the
 * program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "patience.h"

#define WORKERS 2
#define JOBS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int jobs, done;

static void *work(void *unused)
{
	uint64_t token;

	while (read(jobs, &token, sizeof token) == sizeof token) {
		pthread_mutex_lock(&lock);
		if (++done == JOBS || done == 1)
			pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t worker;
	bool is_late;

	end_after(strcmp(mode, "fine") == 0 ? 20 : 2);
	jobs = eventfd(JOBS, *mode ? EFD_SEMAPHORE : 0);
	if (jobs < 0)
		return 1;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&worker, NULL, work, NULL) != 0)
			return 1;
	/* The workers are through, also on a busy machine. */
	do {
		usleep(60000);
		pthread_mutex_lock(&lock);
		is_late = done == (*mode ? JOBS : 1);
		if (!is_late)
			pthread_mutex_unlock(&lock);
	} while (!is_late);
	if (strcmp(mode, "lost") == 0)
		pthread_cond_wait(&changed, &lock);
	while (done < JOBS)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	_exit(0);
}
