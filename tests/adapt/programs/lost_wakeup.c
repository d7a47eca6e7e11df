/* SPDX-License-Identifier: ISC */
/* A thread signals a condition before the other one waits for it, and no flag tells that. It knows
 * nothing of thrum. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ready = PTHREAD_COND_INITIALIZER;

static int sent[2]; /* a pipe */

static void *take_job(void *unused)
{
	char byte;

	(void)!read(sent[0], &byte, 1);
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&job_ready, &lock); /* too late */
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *send_job(void *unused)
{
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&job_ready); /* too early */
	pthread_mutex_unlock(&lock);
	(void)!write(sent[1], "x", 1);
	return unused;
}

/* By glibc's count of those who use the condition. */
static bool waits(void)
{
	return __atomic_load_n(&job_ready.__data.__wrefs, __ATOMIC_ACQUIRE) >= 8;
}

int main(void)
{
	pthread_t taker, sender;

	if (pipe(sent) != 0)
		return 1;
	pthread_create(&taker, NULL, take_job, NULL);
	pthread_create(&sender, NULL, send_job, NULL);
	puts("started");
	fflush(stdout);
	end_when(waits);
	pthread_join(sender, NULL);
	pthread_join(taker, NULL);
	return 0;
}
