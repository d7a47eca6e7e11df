/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="thread put_value"
 *   truth: export_all holds store_lock for reading while it writes all rows, for about 250 ms; a put_value that comes meanwhile wants the lock for writing and waits for the end of the export.
 *   culprit: export_all
 *   victim: put_value
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A small key-value store. A thread serves each connection, and one exports all rows to a file. */

#define ROWS 500
#define PUTS 14
#define CHUNK 10

static pthread_rwlock_t store_lock = PTHREAD_RWLOCK_INITIALIZER;
static int values[ROWS];
static sem_t export_begun;
static FILE *output;
static bool broken;

/* Writes rows to the slow disk. */
static void write_rows(int from, int to)
{
	for (int i = from; i < to; i++)
		fprintf(output, "%d\t%d\n", i, values[i]);
	fflush(output);
	usleep(500 * (useconds_t)(to - from));
}

static void *export_all(void *unused)
{
	(void)unused;
	if (broken) {
		pthread_rwlock_rdlock(&store_lock);
		sem_post(&export_begun);
		for (int i = 0; i < ROWS; i += CHUNK)
			write_rows(i, i + CHUNK);
		pthread_rwlock_unlock(&store_lock);
		return NULL;
	}
	sem_post(&export_begun);
	for (int i = 0; i < ROWS; i += CHUNK) {
		pthread_rwlock_rdlock(&store_lock);
		write_rows(i, i + CHUNK);
		pthread_rwlock_unlock(&store_lock);
		usleep(500);
	}
	return NULL;
}

static void *put_value(void *data)
{
	int number = (int)(intptr_t)data;

	usleep(1000); /* reads the request */
	pthread_rwlock_wrlock(&store_lock);
	values[number * 7 % ROWS] = number;
	pthread_rwlock_unlock(&store_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t exporter, connection;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	output = tmpfile();
	if (!output)
		return 1;
	sem_init(&export_begun, 0, 0);
	for (int i = 0; i < PUTS; i++) {
		if (i == PUTS - 4) {
			pthread_create(&exporter, NULL, export_all, NULL);
			sem_wait(&export_begun);
		}
		pthread_create(&connection, NULL, put_value, (void *)(intptr_t)i);
		pthread_join(connection, NULL);
	}
	pthread_join(exporter, NULL);
	printf("%d puts, %ld bytes exported\n", PUTS, ftell(output));
	return 0;
}
