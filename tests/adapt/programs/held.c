/* SPDX-License-Identifier: ISC */
/* Threads hold locks for long, and nobody waits for them. It knows nothing of thrum. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t config_lock = PTHREAD_RWLOCK_INITIALIZER;

static void *hold_table(void *unused)
{
	pthread_mutex_lock(&table_lock); /* at once */
	usleep(40000);
	pthread_mutex_unlock(&table_lock);
	return unused;
}

/* Only the first of these may be missed. */
static void *hold_config(void *unused)
{
	for (int i = 0; i < 1000; i++) {
		pthread_rwlock_rdlock(&config_lock);
		pthread_rwlock_unlock(&config_lock);
	}
	for (int i = 0; i < 2; i++) {
		pthread_rwlock_wrlock(&config_lock); /* again and again */
		usleep(40000);
		pthread_rwlock_unlock(&config_lock);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, hold_table, NULL);
	pthread_create(&threads[1], NULL, hold_config, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("done");
	return 0;
}
