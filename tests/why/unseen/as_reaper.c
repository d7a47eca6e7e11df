/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the watchdog cancels the thread "fetch-2", which is late, by cancel_fetch; the cancellation takes
 *     it in write() in journal_append while it holds journal_lock, and nothing unlocks that: the other
 *     fetchers hang
 *   culprit: fetch-2|cancel_fetch|thread watchdog.*cancel
 *   victim: fetch-[134]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A crawler: some fetchers, a journal that they share, and a watchdog that stops those that are late. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FETCHERS 4
#define PAGES 5
#define LIMIT_MS 400

struct fetcher {
	pthread_t thread;
	unsigned number, pages;
	atomic_long began; /* the page that is on its way; 0: none */
	atomic_bool ended;
	bool cancelled;
	atomic_size_t body; /* of the last page, in bytes */
};

static struct fetcher fetchers[FETCHERS];
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static int journal[2]; /* to the log daemon, which is slow now and then */
static unsigned entries;
static bool large_pages;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The log daemon: takes what comes, and turns its file once in a while. */
static void *run_logger(void *data)
{
	char block[4096];
	size_t total = 0;
	ssize_t size;

	(void)data;
	pthread_setname_np(pthread_self(), "logger");
	while ((size = read(journal[0], block, sizeof(block))) > 0) {
		if (total / 65536 != (total + (size_t)size) / 65536)
			usleep(700000); /* the file is turned */
		total += (size_t)size;
	}
	return NULL;
}

/* Writes an entry and what belongs to it in one piece. */
__attribute__((noinline)) void journal_append(const struct fetcher *fetcher, const char *body,
	size_t size)
{
	char head[64];
	int length = snprintf(head, sizeof(head), "fetch %u page %u size %zu\n", fetcher->number,
		fetcher->pages, size);

	pthread_mutex_lock(&journal_lock);
	entries++;
	if (write(journal[1], head, (size_t)length) != length)
		perror("journal");
	if (write(journal[1], body, size) != (ssize_t)size)
		perror("journal");
	pthread_mutex_unlock(&journal_lock);
}

__attribute__((noinline)) size_t fetch_page(struct fetcher *fetcher, char *body, size_t limit)
{
	size_t size = 300 + 20 * fetcher->number;

	usleep(20000 + 5000 * fetcher->number);
	if (large_pages && fetcher->number == 2 && fetcher->pages == 2)
		size = limit;
	memset(body, 'a' + (int)fetcher->number, size);
	return size;
}

static void free_body(void *body)
{
	free(body);
}

__attribute__((noinline)) void *run_fetcher(void *data)
{
	struct fetcher *fetcher = data;
	const size_t limit = 200000;
	char name[16], *body = malloc(limit);

	snprintf(name, sizeof(name), "fetch-%u", fetcher->number);
	pthread_setname_np(pthread_self(), name);
	if (!body)
		return NULL;
	pthread_cleanup_push(free_body, body);
	while (fetcher->pages < PAGES) {
		atomic_store(&fetcher->began, now_ms());
		fetcher->body = fetch_page(fetcher, body, limit);
		journal_append(fetcher, body, fetcher->body);
		fetcher->pages++;
		atomic_store(&fetcher->began, 0);
	}
	pthread_cleanup_pop(1);
	atomic_store(&fetcher->ended, true);
	return NULL;
}

__attribute__((noinline)) void cancel_fetch(struct fetcher *fetcher)
{
	fetcher->cancelled = true;
	if (!pthread_cancel(fetcher->thread))
		fprintf(stderr, "watchdog: fetch-%u is late\n", fetcher->number);
}

/* Looks at all that are on their way. The first who is late is stopped; those behind him may be late by him. */
__attribute__((noinline)) void *run_watchdog(void *data)
{
	bool stopped = false;

	(void)data;
	pthread_setname_np(pthread_self(), "watchdog");
	for (;;) {
		unsigned running = 0;

		for (unsigned i = 0; i < FETCHERS; i++) {
			struct fetcher *fetcher = &fetchers[i];
			long began = atomic_load(&fetcher->began);

			if (atomic_load(&fetcher->ended) || fetcher->cancelled)
				continue;
			running++;
			if (!stopped && began && now_ms() - began > LIMIT_MS &&
				fetcher->body > 65536) {
				cancel_fetch(fetcher);
				stopped = true;
			}
		}
		if (!running)
			return NULL;
		usleep(20000);
	}
}

int main(int argc, char **argv)
{
	pthread_t logger, watchdog;
	unsigned pages = 0;

	large_pages = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(journal))
		return 1;
	if (pthread_create(&logger, NULL, run_logger, NULL))
		return 1;
	for (unsigned i = 0; i < FETCHERS; i++) {
		fetchers[i].number = i + 1;
		if (pthread_create(&fetchers[i].thread, NULL, run_fetcher, &fetchers[i]))
			return 1;
	}
	if (pthread_create(&watchdog, NULL, run_watchdog, NULL))
		return 1;
	for (unsigned i = 0; i < FETCHERS; i++) {
		pthread_join(fetchers[i].thread, NULL);
		pages += fetchers[i].pages;
	}
	pthread_join(watchdog, NULL);
	close(journal[1]);
	pthread_join(logger, NULL);
	printf("%u pages, %u entries\n", pages, entries);
	return 0;
}
