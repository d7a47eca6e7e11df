/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: write_back_all holds the lock of the cache while it writes each dirty page to the slow disk,
 *     instead of copying the pages and writing them without the lock; the readers wait for the lock in
 *     cache_get
 *   culprit: write_back|disk_write|flush
 *   victim: cache_get|session|cache_put
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * The page cache of a small database: sessions read and change pages, a thread writes the changed
 * ones back.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGES 64
#define PAGE_SIZE 512
#define SESSIONS 3
#define QUERIES 60

struct page {
	char bytes[PAGE_SIZE];
	bool dirty;
};

struct cache;

typedef int write_back_fn(struct cache *cache);

struct cache {
	pthread_mutex_t lock;
	pthread_mutex_t stop_lock;
	pthread_cond_t stop_changed;
	struct page pages[PAGES];
	int file;
	bool stop;
	int written;
	write_back_fn *write_back;
};

struct session {
	pthread_t thread;
	struct cache *cache;
	unsigned seed;
	unsigned sum;
};

static void pause_us(long microseconds)
{
	struct timespec time = {0, microseconds * 1000};

	nanosleep(&time, NULL);
}

/* The disk is a file; its seeks take a while. */
static void disk_write(struct cache *cache, int number, const char *bytes)
{
	if (pwrite(cache->file, bytes, PAGE_SIZE, (off_t)number * PAGE_SIZE) != PAGE_SIZE)
		perror("pwrite");
	pause_us(5000);
}

static int write_back_all(struct cache *cache)
{
	int count = 0;

	pthread_mutex_lock(&cache->lock);
	for (int i = 0; i < PAGES; i++) {
		if (!cache->pages[i].dirty)
			continue;
		disk_write(cache, i, cache->pages[i].bytes);
		cache->pages[i].dirty = false;
		count++;
	}
	pthread_mutex_unlock(&cache->lock);
	return count;
}

static int write_back_copies(struct cache *cache)
{
	int count = 0;

	for (int i = 0; i < PAGES; i++) {
		char copy[PAGE_SIZE];
		bool dirty;

		pthread_mutex_lock(&cache->lock);
		dirty = cache->pages[i].dirty;
		if (dirty)
			memcpy(copy, cache->pages[i].bytes, PAGE_SIZE);
		cache->pages[i].dirty = false;
		pthread_mutex_unlock(&cache->lock);
		if (dirty) {
			disk_write(cache, i, copy);
			count++;
		}
	}
	return count;
}

static void cache_get(struct cache *cache, int number, char *bytes)
{
	pthread_mutex_lock(&cache->lock);
	memcpy(bytes, cache->pages[number].bytes, PAGE_SIZE);
	pthread_mutex_unlock(&cache->lock);
}

static void cache_put(struct cache *cache, int number, const char *bytes)
{
	pthread_mutex_lock(&cache->lock);
	memcpy(cache->pages[number].bytes, bytes, PAGE_SIZE);
	cache->pages[number].dirty = true;
	pthread_mutex_unlock(&cache->lock);
}

static bool wait_for_stop(struct cache *cache, int milliseconds)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += milliseconds * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&cache->stop_lock);
	while (!cache->stop)
		if (pthread_cond_timedwait(&cache->stop_changed, &cache->stop_lock, &until))
			break;
	stop = cache->stop;
	pthread_mutex_unlock(&cache->stop_lock);
	return stop;
}

static void *flush_main(void *data)
{
	struct cache *cache = data;

	do
		cache->written += cache->write_back(cache);
	while (!wait_for_stop(cache, 15));
	cache->written += cache->write_back(cache);
	return NULL;
}

static void *session_main(void *data)
{
	struct session *session = data;
	char bytes[PAGE_SIZE];

	for (int i = 0; i < QUERIES; i++) {
		int number = rand_r(&session->seed) % PAGES;

		cache_get(session->cache, number, bytes);
		for (int k = 0; k < PAGE_SIZE; k++)
			session->sum += (unsigned char)bytes[k];
		if (i % 2) {
			bytes[i % PAGE_SIZE]++;
			cache_put(session->cache, number, bytes);
		}
		pause_us(3000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct cache cache = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.stop_lock = PTHREAD_MUTEX_INITIALIZER,
		.stop_changed = PTHREAD_COND_INITIALIZER,
	};
	struct session sessions[SESSIONS];
	char path[] = "/tmp/ax_pagecache.XXXXXX";
	pthread_t flusher;

	cache.write_back = !strcmp(mode, "broken") ? write_back_all : write_back_copies;
	cache.file = mkstemp(path);
	if (cache.file < 0)
		return 2;
	unlink(path);
	pthread_create(&flusher, NULL, flush_main, &cache);
	pthread_setname_np(flusher, "flusher");
	for (int i = 0; i < SESSIONS; i++) {
		char name[16];

		sessions[i] = (struct session){.cache = &cache, .seed = (unsigned)i + 7};
		pthread_create(&sessions[i].thread, NULL, session_main, &sessions[i]);
		snprintf(name, sizeof(name), "session %d", i);
		pthread_setname_np(sessions[i].thread, name);
	}
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i].thread, NULL);
	pthread_mutex_lock(&cache.stop_lock);
	cache.stop = true;
	pthread_cond_signal(&cache.stop_changed);
	pthread_mutex_unlock(&cache.stop_lock);
	pthread_join(flusher, NULL);
	printf("%d pages written\n", cache.written);
	return 0;
}
