/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: publish_flushed signals one waiter, but a group of commits waits; it should broadcast.
 *   culprit: publish_flushed
 *   victim: commit_order|take_orders|wal_flushed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An order service with a write-ahead log. Shops append records; one thread writes them in groups. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHOPS 4
#define RECORD_MAX 64

static pthread_mutex_t wal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wal_dirty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t wal_flushed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t doors_open;

static unsigned long appended_lsn, flushed_lsn;
static char *wal_buffer;
static size_t wal_used, wal_room;
static bool is_closing, wakes_all;
static int orders_per_shop;
static FILE *wal_file;

static void nap_ms(long ms)
{
	struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

/* The caller holds wal_lock. */
static unsigned long append_record(const char *record)
{
	size_t length = strlen(record);

	if (wal_used + length > wal_room) {
		wal_room = wal_room * 2 + length + 256;
		wal_buffer = realloc(wal_buffer, wal_room);
		if (!wal_buffer)
			abort();
	}
	memcpy(wal_buffer + wal_used, record, length);
	wal_used += length;
	return ++appended_lsn;
}

/* Returns once the order is on disk. */
static void commit_order(int shop, int number)
{
	char record[RECORD_MAX];
	unsigned long lsn;

	snprintf(record, sizeof(record), "order %d.%d\n", shop, number);
	pthread_mutex_lock(&wal_lock);
	lsn = append_record(record);
	pthread_cond_signal(&wal_dirty);
	while (flushed_lsn < lsn)
		pthread_cond_wait(&wal_flushed, &wal_lock);
	pthread_mutex_unlock(&wal_lock);
}

static void *take_orders(void *data)
{
	int shop = *(int *)data;

	pthread_barrier_wait(&doors_open);
	for (int i = 0; i < orders_per_shop; i++)
		commit_order(shop, i);
	return NULL;
}

static void publish_flushed(unsigned long lsn)
{
	pthread_mutex_lock(&wal_lock);
	flushed_lsn = lsn;
	if (wakes_all)
		pthread_cond_broadcast(&wal_flushed);
	else
		pthread_cond_signal(&wal_flushed);
	pthread_mutex_unlock(&wal_lock);
}

static void *flush_wal(void *data)
{
	(void)data;
	for (;;) {
		unsigned long target;
		char *group;
		size_t length;

		pthread_mutex_lock(&wal_lock);
		while (appended_lsn == flushed_lsn && !is_closing)
			pthread_cond_wait(&wal_dirty, &wal_lock);
		if (appended_lsn == flushed_lsn)
			break;
		pthread_mutex_unlock(&wal_lock);

		/* Let more commits join the group. */
		nap_ms(2);
		pthread_mutex_lock(&wal_lock);
		target = appended_lsn;
		group = wal_buffer;
		length = wal_used;
		wal_buffer = NULL;
		wal_used = wal_room = 0;
		pthread_mutex_unlock(&wal_lock);

		fwrite(group, 1, length, wal_file);
		fflush(wal_file);
		free(group);
		publish_flushed(target);
	}
	pthread_mutex_unlock(&wal_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t flusher, shops[SHOPS];
	int numbers[SHOPS];

	wakes_all = argc < 2 || strcmp(argv[1], "broken") != 0;
	orders_per_shop = wakes_all ? 60 : 12;
	wal_file = tmpfile();
	if (!wal_file)
		return 1;
	pthread_barrier_init(&doors_open, NULL, SHOPS);
	pthread_create(&flusher, NULL, flush_wal, NULL);
	for (int i = 0; i < SHOPS; i++) {
		numbers[i] = i + 1;
		pthread_create(&shops[i], NULL, take_orders, &numbers[i]);
	}
	for (int i = 0; i < SHOPS; i++)
		pthread_join(shops[i], NULL);

	pthread_mutex_lock(&wal_lock);
	is_closing = true;
	pthread_cond_signal(&wal_dirty);
	pthread_mutex_unlock(&wal_lock);
	pthread_join(flusher, NULL);
	printf("%lu orders on disk, %ld bytes\n", flushed_lsn, ftell(wal_file));
	return 0;
}
