/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: the cache lets one thread load a price, and all others who want it wait for that. The entry
 *     that says so is forgotten by entry_forget when the load begins instead of when it ends, so that each
 *     thread loads the price by itself, and there are several times as many loads.
 *   culprit: \bload\b|quote|entry_load|price_load
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	ASKERS = 4,
	ROUNDS = 30
};

/* A price that is being loaded. */
struct entry {
	struct entry *next;
	unsigned key, references, waiters;
	bool is_loaded;
	int price;
	thrum_task task;
	pthread_cond_t loaded;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;
static pthread_barrier_t morning;
static bool forget_first;
static unsigned loads, answers;

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&time, NULL);
	thrum_resume();
}

/* ---- The cache: the caller holds the mutex, if not told otherwise ---- */

static struct entry *entry_find(unsigned key)
{
	struct entry *entry = entries;

	while (entry && entry->key != key)
		entry = entry->next;
	return entry;
}

static struct entry *entry_new(unsigned key)
{
	struct entry *entry = calloc(1, sizeof *entry);

	if (!entry)
		abort();
	entry->key = key;
	pthread_cond_init(&entry->loaded, NULL);
	entry->next = entries;
	entries = entry;
	return entry;
}

static void entry_forget(struct entry *entry)
{
	struct entry **link = &entries;

	while (*link && *link != entry)
		link = &(*link)->next;
	if (*link)
		*link = entry->next;
}

static void entry_unref(struct entry *entry)
{
	if (--entry->references)
		return;
	pthread_cond_destroy(&entry->loaded);
	free(entry);
}

/* Without the mutex: asks the stock exchange. */
static int price_load(struct entry *entry)
{
	thrum_task ask = thrum_task_createf(THRUM_KIND_REQUEST, "quote %u", entry->key);

	thrum_task_wait(thrum_task_current(), ask);
	pause_ms(25);
	thrum_task_resolve(ask);
	thrum_task_read(thrum_task_current(), ask);
	return (int)(entry->key * 7 % 100);
}

static void entry_load(struct entry *entry)
{
	entry->task = thrum_task_createf(THRUM_KIND_PROMISE, "load %u", entry->key);
	loads++;
	if (forget_first)
		entry_forget(entry);
	pthread_mutex_unlock(&mutex);
	entry->price = price_load(entry);
	pthread_mutex_lock(&mutex);
	entry_forget(entry);
	entry->is_loaded = true;
	thrum_task_resolve(entry->task);
	pthread_cond_broadcast(&entry->loaded);
}

/* Without the mutex. */
static int price_get(unsigned key)
{
	struct entry *entry;
	int price;

	pthread_mutex_lock(&mutex);
	entry = entry_find(key);
	if (!entry) {
		entry = entry_new(key);
		entry->references++;
		entry_load(entry);
	} else {
		entry->references++;
		thrum_task_wait(thrum_task_current(), entry->task);
		thrum_suspend(THRUM_BLOCKED);
		while (!entry->is_loaded)
			pthread_cond_wait(&entry->loaded, &mutex);
		thrum_resume();
		thrum_task_read(thrum_task_current(), entry->task);
	}
	price = entry->price;
	answers++;
	entry_unref(entry);
	pthread_mutex_unlock(&mutex);
	return price;
}

/* ---- Those who ask ---- */

static void *ask(void *data)
{
	unsigned number = (unsigned)(long)data;
	char name[24];
	long sum = 0;

	snprintf(name, sizeof name, "asker %u", number);
	thrum_lane_name(name);
	for (unsigned round = 0; round < ROUNDS; round++) {
		thrum_task get;

		pthread_barrier_wait(&morning);
		get = thrum_task_createf(THRUM_KIND_TASK, "GET %u", round * ASKERS + number);
		thrum_task_should_resolve(get);
		THRUM_RUN (get) {
			pause_ms(number);
			sum += price_get(1 + round % 10);
			thrum_task_resolve(get);
		}
	}
	return (void *)sum;
}

int main(int count, char **arguments)
{
	pthread_t threads[ASKERS];

	forget_first = count > 1 && !strcmp(arguments[1], "broken");
	pthread_barrier_init(&morning, NULL, ASKERS);
	for (long i = 0; i < ASKERS; i++)
		if (pthread_create(&threads[i], NULL, ask, (void *)i))
			return 1;
	for (unsigned i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	fprintf(stderr, "%u answers, %u loads\n", answers, loads);
	thrum_stop();
	return 0;
}
