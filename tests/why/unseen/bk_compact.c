/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: compact_level finds that a table is still read by a snapshot and returns early, but leaves the flag
 *     compaction_scheduled set. So schedule_compaction never queues a compaction again, level 0 stays full, and
 *     the writers wait for room for ever.
 *   culprit: compact_level|compaction_scheduled|schedule_compaction|compactor
 *   victim: writer|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A small store: writers fill tables of level 0, one thread merges them into level 1. */
enum {
	LEVEL0_MAX = 4,
	WRITERS = 3,
	TABLES_EACH = 12
};

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t room_in_level0 = PTHREAD_COND_INITIALIZER;
static pthread_cond_t work_for_compactor = PTHREAD_COND_INITIALIZER;
static pthread_cond_t snapshot_moved = PTHREAD_COND_INITIALIZER;

static int level0, level1, merges, snapshots;
static bool compaction_scheduled, compaction_queued, closing, patient;

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* The caller holds the lock. */
static void schedule_compaction(void)
{
	if (compaction_scheduled || level0 < 2)
		return;
	compaction_scheduled = true;
	compaction_queued = true;
	pthread_cond_signal(&work_for_compactor);
}

/* The caller holds the lock, which is given up while the tables are merged. */
static void compact_level(void)
{
	int taken = level0;

	if (snapshots > 0 && merges >= 2) {
		/* Tables that a snapshot reads stay where they are. */
		if (patient)
			compaction_scheduled = false;
		return;
	}
	pthread_mutex_unlock(&store_lock);
	pause_ms(3);
	pthread_mutex_lock(&store_lock);
	level0 -= taken;
	level1 += taken;
	merges++;
	compaction_scheduled = false;
	pthread_cond_broadcast(&room_in_level0);
	pthread_cond_broadcast(&snapshot_moved);
	schedule_compaction();
}

static void *run_compactor(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&store_lock);
	while (true) {
		while (!compaction_queued && !closing)
			pthread_cond_wait(&work_for_compactor, &store_lock);
		if (!compaction_queued)
			break;
		compaction_queued = false;
		compact_level();
	}
	pthread_mutex_unlock(&store_lock);
	return NULL;
}

/* Backs the store up: holds a snapshot from the second merge on, for some time. */
static void *run_backup(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&store_lock);
	snapshots++;
	while (merges < 2)
		pthread_cond_wait(&snapshot_moved, &store_lock);
	pthread_mutex_unlock(&store_lock);
	pause_ms(150);
	pthread_mutex_lock(&store_lock);
	snapshots--;
	schedule_compaction();
	pthread_mutex_unlock(&store_lock);
	return NULL;
}

static void write_table(void)
{
	pthread_mutex_lock(&store_lock);
	while (level0 >= LEVEL0_MAX)
		pthread_cond_wait(&room_in_level0, &store_lock);
	level0++;
	schedule_compaction();
	pthread_mutex_unlock(&store_lock);
}

static void *run_writer(void *data)
{
	(void)data;
	for (int i = 0; i < TABLES_EACH; i++) {
		pause_ms(1);
		write_table();
	}
	return NULL;
}

static void *run_reader(void *data)
{
	long *reads = data;

	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&store_lock);
		*reads += level0 + level1;
		pthread_mutex_unlock(&store_lock);
		pause_ms(2);
	}
	return NULL;
}

static pthread_t start(const char *name, void *(*run)(void *), void *data)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, data);
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t compactor, backup, reader, writer[WRITERS];
	long reads = 0;
	char name[16];

	patient = argc < 2 || strcmp(argv[1], "broken") != 0;
	backup = start("backup", run_backup, NULL);
	compactor = start("compactor", run_compactor, NULL);
	reader = start("reader", run_reader, &reads);
	for (int i = 0; i < WRITERS; i++) {
		snprintf(name, sizeof name, "writer %d", i);
		writer[i] = start(name, run_writer, NULL);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	pthread_join(backup, NULL);
	pthread_join(reader, NULL);
	pthread_mutex_lock(&store_lock);
	closing = true;
	pthread_cond_signal(&work_for_compactor);
	pthread_mutex_unlock(&store_lock);
	pthread_join(compactor, NULL);
	printf("%d tables, %d merges, %ld reads\n", level0 + level1, merges, reads);
	return 0;
}
