/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the watchdog cancels the thread lookup-3 (pthread_cancel) while it is in journal_append, with the
 *     cache's mutex held and without a cleanup handler: the thread is gone and the mutex stays locked; all
 *     later lookups wait for it in cache_find, and main joins them
 *   culprit: lookup-3|journal_append
 *   victim: lookup-[4-7]|main|cache_find
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A resolver with one thread for each lookup, and a watchdog which cancels those that take too long. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOKUPS = 8,
	PATIENCE_MS = 100
};

struct lookup {
	int number;
	pthread_t thread;
	int64_t begun;
	bool running;
	bool given_up;
};

static struct lookup lookups[LOOKUPS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int cache[LOOKUPS];
static int journal = -1;
static bool shield; /* no cancellation while the cache is written */
static bool stopping;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static __attribute__((noinline)) bool cache_find(int number, int *address)
{
	bool found;

	pthread_mutex_lock(&cache_lock);
	found = cache[number] != 0;
	*address = cache[number];
	pthread_mutex_unlock(&cache_lock);
	return found;
}

/* Large records take a slow disk long. */
static __attribute__((noinline)) void journal_append(int number, int address)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%d %d\n", number, address);

	if (write(journal, line, (size_t)length) != length)
		perror("journal");
	pause_ms(number == 3 ? 300 : 2);
}

static __attribute__((noinline)) void cache_store(int number, int address)
{
	int before;

	if (shield)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_mutex_lock(&cache_lock);
	journal_append(number, address);
	cache[number] = address;
	pthread_mutex_unlock(&cache_lock);
	if (shield)
		pthread_setcancelstate(before, NULL);
}

static void *lookup_main(void *data)
{
	struct lookup *self = data;
	char name[16];
	int address;

	snprintf(name, sizeof(name), "lookup-%d", self->number);
	pthread_setname_np(pthread_self(), name);
	if (!cache_find(self->number, &address)) {
		pause_ms(self->number == 1 ? 500
					   : 5); /* the question to the server; that of 1 is lost */
		address = 100 + self->number;
		cache_store(self->number, address);
	}
	pthread_mutex_lock(&table_lock);
	self->running = false;
	pthread_mutex_unlock(&table_lock);
	return self;
}

static void *watchdog_main(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "watchdog");
	for (;;) {
		pthread_mutex_lock(&table_lock);
		if (stopping) {
			pthread_mutex_unlock(&table_lock);
			return NULL;
		}
		for (int i = 0; i < LOOKUPS; i++) {
			struct lookup *lookup = &lookups[i];

			if (!lookup->running || lookup->given_up ||
				now_ms() - lookup->begun < PATIENCE_MS)
				continue;
			/* Those behind number 3 are young, or wait for the cache. */
			if (lookup->number > 3)
				continue;
			lookup->given_up = true;
			pthread_cancel(lookup->thread);
		}
		pthread_mutex_unlock(&table_lock);
		pause_ms(10);
	}
}

static void lookup_start(struct lookup *lookup, int number)
{
	pthread_mutex_lock(&table_lock);
	lookup->number = number;
	lookup->begun = now_ms();
	lookup->running = true;
	if (pthread_create(&lookup->thread, NULL, lookup_main, lookup))
		abort();
	pthread_mutex_unlock(&table_lock);
}

static bool lookup_finish(struct lookup *lookup)
{
	void *result;

	pthread_join(lookup->thread, &result);
	return result != PTHREAD_CANCELED;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/lookups-XXXXXX";
	pthread_t watchdog;
	int answered = 0;

	shield = argc > 1 && !strcmp(argv[1], "healthy");
	journal = mkstemp(path);
	if (journal < 0)
		return 1;
	unlink(path);
	pthread_create(&watchdog, NULL, watchdog_main, NULL);
	for (int i = 0; i < LOOKUPS; i++) {
		lookup_start(&lookups[i], i);
		pause_ms(15);
	}
	for (int i = 0; i < LOOKUPS; i++)
		answered += lookup_finish(&lookups[i]);
	pthread_mutex_lock(&table_lock);
	stopping = true;
	pthread_mutex_unlock(&table_lock);
	pthread_join(watchdog, NULL);
	printf("%d of %d answered\n", answered, LOOKUPS);
	close(journal);
	return answered >= LOOKUPS - 2 ? 0 : 1;
}
