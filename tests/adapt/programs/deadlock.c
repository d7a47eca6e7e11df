/* SPDX-License-Identifier: ISC */
/* Two threads take two locks in different order. It knows nothing of thrum. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#include "hang.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *write_queue(void *unused)
{
	pthread_mutex_lock(&queue_lock); /* the writer's first */
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&log_lock); /* the writer's second */
	return unused;
}

static void *flush_log(void *unused)
{
	pthread_mutex_lock(&log_lock); /* the flusher's first */
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&queue_lock); /* the flusher's second */
	return unused;
}

static bool waits_for_each_other(void)
{
	return has_waiter(&queue_lock) && has_waiter(&log_lock);
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, write_queue, NULL);
	pthread_create(&threads[1], NULL, flush_log, NULL);
	puts("started");
	fflush(stdout);
	end_when(waits_for_each_other);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
