/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: cache_get finds an expired row and calls cache_drop while it still has the lock for reading;
 *     cache_drop takes the same lock for writing and waits for its own thread; main and refresh wait too
 *   culprit: cache_get|cache_drop
 *   victim: main|refresh
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A cache of database rows that sessions share. Rows expire; a refresher loads the popular ones again. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKETS 64
#define SESSIONS 4
#define QUERIES 40
#define LIFETIME_MS 60

struct row {
	struct row *next;
	int key;
	long long expires;
	char text[48];
};

struct cache {
	pthread_rwlock_t lock;
	struct row *buckets[BUCKETS];
	unsigned hits, misses, expired;
	bool unlock_before_drop;
};

static struct cache cache = {.lock = PTHREAD_RWLOCK_INITIALIZER};
static pthread_mutex_t stop_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop_cond = PTHREAD_COND_INITIALIZER;
static bool stopping;

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static struct row *find_row(struct cache *c, int key)
{
	struct row *row = c->buckets[key % BUCKETS];

	while (row && row->key != key)
		row = row->next;
	return row;
}

/* Removes a row if it is still too old. */
static void cache_drop(struct cache *c, int key)
{
	struct row **link;

	pthread_rwlock_wrlock(&c->lock);
	for (link = &c->buckets[key % BUCKETS]; *link; link = &(*link)->next) {
		struct row *row = *link;

		if (row->key == key && row->expires <= now_ms()) {
			*link = row->next;
			free(row);
			c->expired++;
			break;
		}
	}
	pthread_rwlock_unlock(&c->lock);
}

static bool cache_get(struct cache *c, int key, char *text, size_t size)
{
	struct row *row;

	pthread_rwlock_rdlock(&c->lock);
	row = find_row(c, key);
	if (row && row->expires <= now_ms()) {
		if (c->unlock_before_drop) {
			pthread_rwlock_unlock(&c->lock);
			cache_drop(c, key);
			return false;
		}
		cache_drop(c, key);
		row = NULL;
	}
	if (row)
		snprintf(text, size, "%s", row->text);
	pthread_rwlock_unlock(&c->lock);
	return row;
}

static void cache_put(struct cache *c, int key, const char *text, int lifetime)
{
	struct row *row;

	pthread_rwlock_wrlock(&c->lock);
	row = find_row(c, key);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			abort();
		row->key = key;
		row->next = c->buckets[key % BUCKETS];
		c->buckets[key % BUCKETS] = row;
	}
	row->expires = now_ms() + lifetime;
	snprintf(row->text, sizeof(row->text), "%s", text);
	pthread_rwlock_unlock(&c->lock);
}

static void load_row(int key, char *text, size_t size)
{
	nap_ms(2); /* the database */
	snprintf(text, size, "row %d of customers", key);
}

static void *session(void *data)
{
	int number = (int)(long)data;
	char text[48], name[16];

	snprintf(name, sizeof(name), "session-%d", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < QUERIES; i++) {
		int key = (number * 7 + i * 3) % 12;

		if (!cache_get(&cache, key, text, sizeof(text))) {
			load_row(key, text, sizeof(text));
			cache_put(&cache, key, text, LIFETIME_MS + key);
			__atomic_add_fetch(&cache.misses, 1, __ATOMIC_RELAXED);
		} else {
			__atomic_add_fetch(&cache.hits, 1, __ATOMIC_RELAXED);
		}
		nap_ms(3);
	}
	return NULL;
}

/* Loads the two popular rows again before they expire. */
static void *refresh(void *data)
{
	char text[48];

	(void)data;
	pthread_setname_np(pthread_self(), "refresh");
	pthread_mutex_lock(&stop_mutex);
	while (!stopping) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 25 * 1000000L;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000L;
		}
		pthread_cond_timedwait(&stop_cond, &stop_mutex, &until);
		if (stopping)
			break;
		pthread_mutex_unlock(&stop_mutex);
		for (int key = 0; key < 2; key++) {
			load_row(key, text, sizeof(text));
			cache_put(&cache, key, text, LIFETIME_MS);
		}
		pthread_mutex_lock(&stop_mutex);
	}
	pthread_mutex_unlock(&stop_mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t sessions[SESSIONS], refresher;

	cache.unlock_before_drop = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&refresher, NULL, refresh, NULL);
	for (long i = 0; i < SESSIONS; i++)
		pthread_create(&sessions[i], NULL, session, (void *)(i + 1));
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(sessions[i], NULL);
	pthread_mutex_lock(&stop_mutex);
	stopping = true;
	pthread_cond_signal(&stop_cond);
	pthread_mutex_unlock(&stop_mutex);
	pthread_join(refresher, NULL);
	printf("%u hits, %u misses, %u expired\n", cache.hits, cache.misses, cache.expired);
	return 0;
}
