/* SPDX-License-Identifier: ISC */
/* A thread ends while it holds a lock. It knows nothing of thrum. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

#include "hang.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void *forget(void *unused)
{
	pthread_mutex_lock(&table_lock); /* and never unlocks it */
	return unused;
}

static void *look_up(void *unused)
{
	pthread_mutex_lock(&table_lock); /* waits for ever */
	pthread_mutex_unlock(&table_lock);
	return unused;
}

static bool waits(void)
{
	return has_waiter(&table_lock);
}

int main(void)
{
	pthread_t first, second;

	pthread_create(&first, NULL, forget, NULL);
	pthread_join(first, NULL);
	pthread_create(&second, NULL, look_up, NULL);
	puts("started");
	fflush(stdout);
	end_when(waits);
	pthread_join(second, NULL);
	return 0;
}
