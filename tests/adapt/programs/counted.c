/* SPDX-License-Identifier: ISC */
/*
 * Threads take jobs that an eventfd counts, and main waits until all are done. The first reader takes
 * the whole count, but does one job only. With the argument "woken" all wait for the first job, so
 * that each sees the count. With "fine" each takes one. With "kernel" the process may ask the kernel
 * for input and output that an eventfd tells of. SIGALRM ends it. With "woken" and "fine" they read by
 * eventfd_read().
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "patience.h"

#define THREADS 3
#define JOBS 6

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static int jobs, done;
static bool reads_by_call;

static bool take(void)
{
	eventfd_t count;

	return reads_by_call ? eventfd_read(jobs, &count) == 0
			     : read(jobs, &count, sizeof count) == sizeof count;
}

static void *do_jobs(void *unused)
{
	(void)unused;
	while (take()) {
		usleep(150000); /* until main waits */
		pthread_mutex_lock(&mutex);
		done++;
		pthread_cond_signal(&is_done);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void wait_for_jobs(void)
{
	pthread_mutex_lock(&mutex);
	while (done < JOBS)
		pthread_cond_wait(&is_done, &mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	unsigned long context = 0;
	pthread_t thread;

	end_after(strcmp(name, "fine") == 0 ? 20 : 2);
	reads_by_call = strcmp(name, "woken") == 0 || strcmp(name, "fine") == 0;
	if (strcmp(name, "kernel") == 0 && syscall(SYS_io_setup, 8, &context) != 0)
		return 77;
	jobs = eventfd(strcmp(name, "woken") == 0 ? 0 : JOBS,
		strcmp(name, "fine") == 0 ? EFD_SEMAPHORE : 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, do_jobs, NULL);
	if (strcmp(name, "woken") == 0) {
		usleep(200000);
		eventfd_write(jobs, JOBS);
	}
	wait_for_jobs();
	puts("done");
	return 0;
}
