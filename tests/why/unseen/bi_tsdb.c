/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the thread "flusher" writes full tables to the disk and signals table_free. When it meets a
 *     sample from the future, it logs that and returns, so the thread ends. Nobody flushes any more, and
 *     the writers wait for table_free for ever.
 *   culprit: flusher|flush_tables
 *   victim: writer
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A database for time series: writers fill a table in memory, a thread flushes tables to the disk. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 3
#define TABLE 64
#define FULL_MAX 3

struct sample {
	long time;
	double value;
};

struct table {
	struct sample samples[TABLE];
	int count;
};

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t table_free = PTHREAD_COND_INITIALIZER, table_full = PTHREAD_COND_INITIALIZER;
static struct table active, full[FULL_MAX];
static int full_count;
static long samples_seen, flushed;
static int disk;
static bool strict;

static void pause_us(long us)
{
	struct timespec time = {us / 1000000, us % 1000000 * 1000};

	nanosleep(&time, NULL);
}

/* Adds a sample, and waits while all tables are full. */
static void write_sample(long time, double value)
{
	pthread_mutex_lock(&store_lock);
	while (active.count == TABLE) {
		if (full_count < FULL_MAX) {
			full[full_count++] = active;
			active.count = 0;
			pthread_cond_signal(&table_full);
		} else {
			pthread_cond_wait(&table_free, &store_lock);
		}
	}
	active.samples[active.count].time = time;
	active.samples[active.count].value = value;
	active.count++;
	samples_seen++;
	pthread_mutex_unlock(&store_lock);
}

static void *run_writer(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "writer %d", number);
	pthread_setname_np(pthread_self(), name);
	for (long i = 0;; i++) {
		long time = i;

		if (number == 2 && i == 300)
			time = 4000000000L; /* a device with a wrong clock */
		write_sample(time, (double)(i % 17) * 0.5);
		pause_us(400);
	}
	return NULL;
}

/* Writes one table, as differences of times. Returns -1 if a difference doesn't fit. */
static int write_block(const struct table *table)
{
	char block[TABLE * 16];
	size_t size = 0;
	int result = 0;
	long last = 0;

	for (int i = 0; i < table->count; i++) {
		long step = table->samples[i].time - last;

		if (step > 1000000) {
			fprintf(stderr, "flusher: time %ld is out of range\n",
				table->samples[i].time);
			if (strict)
				return -1;
			continue;
		}
		last = table->samples[i].time;
		size += (size_t)snprintf(block + size, 16, "%d", (int)step) + 1;
	}
	if (pwrite(disk, block, size, 0) != (ssize_t)size)
		result = -1;
	pause_us(8000);
	return result;
}

static void *flush_tables(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "flusher");
	for (;;) {
		struct table table;

		pthread_mutex_lock(&store_lock);
		while (full_count == 0)
			pthread_cond_wait(&table_full, &store_lock);
		table = full[0];
		full_count--;
		memmove(full, full + 1, (size_t)full_count * sizeof(*full));
		pthread_cond_broadcast(&table_free);
		pthread_mutex_unlock(&store_lock);
		if (write_block(&table) < 0)
			return NULL;
		if (++flushed % 20 == 0) {
			printf("%ld blocks\n", flushed);
			fflush(stdout);
		}
	}
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/bi_tsdb.XXXXXX";
	pthread_t flusher, writers[WRITERS];

	strict = argc > 1 && !strcmp(argv[1], "broken");
	disk = mkstemp(path);
	if (disk < 0)
		return 1;
	unlink(path);
	if (pthread_create(&flusher, NULL, flush_tables, NULL))
		return 1;
	for (long i = 0; i < WRITERS; i++)
		if (pthread_create(&writers[i], NULL, run_writer, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(flusher, NULL);
	printf("%ld samples, %ld blocks\n", samples_seen, flushed);
	return 0;
}
