/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: maybe_compact compares the number of segments that were ever written, not of those that there are
 *     now, with its limit. From the fourth flush on each flush is followed by a "compact", which holds the
 *     lock of the segments; so there are many more compactions, and a "put" that must flush waits for them.
 *   culprit: compact
 *   victim: put|flush
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store of keys and values in sorted segments, which a thread in the background flushes and compacts. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define TABLE 8      /* entries of a memory table */
#define COMPACT_AT 4 /* segments */
#define PUTS 200
#define SEGMENTS_MAX (PUTS / TABLE + 1)

struct entry {
	uint32_t key;
	uint32_t value;
};

struct table {
	struct entry entry[TABLE];
	unsigned count;
};

struct segment {
	struct entry *entry;
	unsigned count;
};

struct store {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct table active;
	struct table full; /* waits for its flush */
	bool has_full;
	bool closed;
	pthread_mutex_t segments_mutex;
	struct segment segment[SEGMENTS_MAX];
	unsigned live;    /* segments */
	unsigned written; /* segments, ever */
	unsigned compactions;
	bool counts_live;
	pthread_t background;
};

static struct store store = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.segments_mutex = PTHREAD_MUTEX_INITIALIZER,
};

static int by_key(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

/* ---- the background thread ---- */

static void write_segment(const struct table *table)
{
	struct segment *segment;

	pthread_mutex_lock(&store.segments_mutex);
	segment = &store.segment[store.live++];
	segment->entry = malloc(table->count * sizeof(struct entry));
	memcpy(segment->entry, table->entry, table->count * sizeof(struct entry));
	segment->count = table->count;
	qsort(segment->entry, segment->count, sizeof(struct entry), by_key);
	store.written++;
	pthread_mutex_unlock(&store.segments_mutex);
	usleep(2000); /* the disk */
}

static void merge_segments(void)
{
	struct segment all = {NULL, 0};

	for (unsigned i = 0; i < store.live; i++) {
		struct segment *segment = &store.segment[i];

		all.entry = realloc(all.entry, (all.count + segment->count) * sizeof(struct entry));
		memcpy(all.entry + all.count, segment->entry,
			segment->count * sizeof(struct entry));
		all.count += segment->count;
		free(segment->entry);
		usleep(6000); /* reads and writes it */
	}
	qsort(all.entry, all.count, sizeof(struct entry), by_key);
	store.segment[0] = all;
	store.live = 1;
}

static void compact(void)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "compact %u", ++store.compactions);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&store.segments_mutex);
		merge_segments();
		pthread_mutex_unlock(&store.segments_mutex);
		thrum_task_resolve(task);
	}
}

static void maybe_compact(void)
{
	unsigned segments;

	pthread_mutex_lock(&store.segments_mutex);
	segments = store.counts_live ? store.live : store.written;
	pthread_mutex_unlock(&store.segments_mutex);
	if (segments >= COMPACT_AT)
		compact();
}

static void flush(unsigned number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "flush %u", number);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		write_segment(&store.full);
		pthread_mutex_lock(&store.mutex);
		store.full.count = 0;
		store.has_full = false;
		pthread_cond_broadcast(&store.changed);
		pthread_mutex_unlock(&store.mutex);
		thrum_task_resolve(task);
	}
}

static bool next_full_table(void)
{
	bool has_full;

	pthread_mutex_lock(&store.mutex);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!store.has_full && !store.closed)
		pthread_cond_wait(&store.changed, &store.mutex);
	thrum_resume();
	has_full = store.has_full;
	pthread_mutex_unlock(&store.mutex);
	return has_full;
}

static void *background_run(void *data)
{
	unsigned number = 0;

	(void)data;
	thrum_lane_name("background");
	while (next_full_table()) {
		flush(++number);
		maybe_compact();
	}
	return NULL;
}

/* ---- the interface ---- */

static void store_put(uint32_t key, uint32_t value)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "put %u", value);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&store.mutex);
		if (store.active.count == TABLE) {
			thrum_suspend(THRUM_BLOCKED);
			while (store.has_full)
				pthread_cond_wait(&store.changed, &store.mutex);
			thrum_resume();
			store.full = store.active;
			store.has_full = true;
			store.active.count = 0;
			pthread_cond_broadcast(&store.changed);
		}
		store.active.entry[store.active.count++] = (struct entry){key, value};
		pthread_mutex_unlock(&store.mutex);
		thrum_task_resolve(task);
	}
}

static unsigned store_close(void)
{
	unsigned entries;

	pthread_mutex_lock(&store.mutex);
	store.closed = true;
	pthread_cond_broadcast(&store.changed);
	pthread_mutex_unlock(&store.mutex);
	pthread_join(store.background, NULL);
	entries = store.active.count;
	for (unsigned i = 0; i < store.live; i++) {
		entries += store.segment[i].count;
		free(store.segment[i].entry);
	}
	return entries;
}

int main(int argc, char **argv)
{
	unsigned entries;

	if (argc < 2)
		return 2;
	store.counts_live = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	thrum_lane_name("clients");
	pthread_create(&store.background, NULL, background_run, NULL);
	for (uint32_t i = 1; i <= PUTS; i++) {
		store_put(i * 2654435761u, i);
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		usleep(800);
		thrum_resume();
	}
	entries = store_close();
	thrum_stop();
	printf("%u entries, %u segments, %u compactions\n", entries, store.written,
		store.compactions);
	return entries == PUTS ? 0 : 1;
}
