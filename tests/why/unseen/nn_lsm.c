/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: compact takes the manifest lock and then waits for the flush that is under way. The flush
 *          needs the manifest lock to add its table, so compact should have waited before it locked.
 *   culprit: compact
 *   victim: manifest|flush|ingest|room
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* The storage of a key-value store: writers fill a table in memory, which is flushed and compacted. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WRITERS = 3,
	KEYS = 700,
	TABLE_KEYS = 100,
	COMPACT_AT = 4
};

static struct {
	pthread_mutex_t mutex; /* of the table in memory and of its flush */
	pthread_cond_t changed;
	int keys;    /* in the table that is written to */
	int flushes; /* begun so far */
	bool full;   /* a full table waits for its flush or is flushed */
	atomic_bool closing;
	thrum_task flush; /* the flush of the full table */
	thrum_task room;  /* for the writers */
	unsigned waiters;
} memory = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static struct {
	pthread_mutex_t mutex;
	int tables, compactions;
	thrum_task task;
} manifest = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool wait_before_lock;

static void manifest_lock(void)
{
	if (pthread_mutex_trylock(&manifest.mutex)) {
		thrum_task_wait(thrum_task_current(), manifest.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&manifest.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(manifest.task);
}

static void manifest_unlock(void)
{
	thrum_lock_released(manifest.task);
	pthread_mutex_unlock(&manifest.mutex);
}

/* The caller holds memory.mutex. */
static void memory_wait(void)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	pthread_cond_wait(&memory.changed, &memory.mutex);
	thrum_resume();
}

static void put(void)
{
	pthread_mutex_lock(&memory.mutex);
	while (memory.keys == TABLE_KEYS && memory.full) {
		thrum_task_wait(thrum_task_current(), memory.room);
		memory.waiters++;
		memory_wait();
	}
	if (memory.keys == TABLE_KEYS) {
		memory.keys = 0;
		memory.full = true;
		memory.flush = thrum_task_createf(THRUM_KIND_TASK, "flush %d", ++memory.flushes);
		thrum_task_ready(memory.flush);
		pthread_cond_broadcast(&memory.changed);
	}
	memory.keys++;
	pthread_mutex_unlock(&memory.mutex);
}

static void *ingest(void *data)
{
	thrum_lane_name(data);
	thrum_task_should_resolve(thrum_task_current());
	for (int i = 0; i < KEYS; i++) {
		put();
		if (i % 10 == 0)
			usleep(100); /* the next batch from the network */
	}
	return NULL;
}

static void *flusher(void *data)
{
	(void)data;
	thrum_lane_name("flusher");
	pthread_mutex_lock(&memory.mutex);
	for (;;) {
		while (!memory.full && !memory.closing)
			memory_wait();
		if (!memory.full)
			break;
		pthread_mutex_unlock(&memory.mutex);
		THRUM_RUN (memory.flush) {
			usleep(6000); /* writes the table's file */
			manifest_lock();
			manifest.tables++;
			manifest_unlock();
		}
		pthread_mutex_lock(&memory.mutex);
		memory.full = false;
		thrum_task_resolve(memory.flush);
		thrum_task_signal(memory.room, memory.waiters);
		memory.waiters = 0;
		pthread_cond_broadcast(&memory.changed);
	}
	pthread_mutex_unlock(&memory.mutex);
	return NULL;
}

/* Makes sure that no table is added while the inputs are merged. */
static void wait_for_flush(void)
{
	int flush;

	pthread_mutex_lock(&memory.mutex);
	flush = memory.flushes;
	if (memory.full)
		thrum_task_wait(thrum_task_current(), memory.flush);
	while (memory.full && memory.flushes == flush)
		memory_wait();
	pthread_mutex_unlock(&memory.mutex);
}

static void compact(void)
{
	if (wait_before_lock)
		wait_for_flush();
	manifest_lock();
	usleep(4000); /* reads the key ranges of the inputs */
	if (!wait_before_lock)
		wait_for_flush();
	manifest.tables = 1;
	manifest.compactions++;
	manifest_unlock();
}

static void *compactor(void *data)
{
	int tables;

	(void)data;
	thrum_lane_name("compactor");
	while (!memory.closing) {
		usleep(2000);
		manifest_lock();
		tables = manifest.tables;
		manifest_unlock();
		if (tables >= COMPACT_AT)
			compact();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char *const names[WRITERS] = {"ingest users", "ingest orders", "ingest clicks"};
	pthread_t writers[WRITERS], background[2];

	wait_before_lock = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	manifest.task = thrum_task_create(THRUM_KIND_LOCK, "manifest");
	memory.room = thrum_task_create(THRUM_KIND_CONDITION, "room in memory");
	pthread_create(&background[0], NULL, flusher, NULL);
	pthread_create(&background[1], NULL, compactor, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, ingest, names[i]);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_mutex_lock(&memory.mutex);
	memory.closing = true;
	pthread_cond_broadcast(&memory.changed);
	pthread_mutex_unlock(&memory.mutex);
	pthread_join(background[0], NULL);
	pthread_join(background[1], NULL);
	printf("%d flushes, %d compactions\n", memory.flushes, manifest.compactions);
	thrum_stop();
	return manifest.compactions > 0 ? 0 : 1;
}
