/* SPDX-License-Identifier: ISC */
/* A thread signals a condition before the other one waits for it, and no flag tells that. It knows
 * nothing of thrum. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_ready = PTHREAD_COND_INITIALIZER;

static void *take_job(void *unused)
{
	usleep(100000);
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
	return unused;
}

int main(void)
{
	pthread_t taker, sender;

	pthread_create(&taker, NULL, take_job, NULL);
	pthread_create(&sender, NULL, send_job, NULL);
	puts("started");
	fflush(stdout);
	alarm(2);
	pthread_join(sender, NULL);
	pthread_join(taker, NULL);
	return 0;
}
