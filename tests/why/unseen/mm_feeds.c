/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: import_feed returns early for a bad header, and doesn't close the store file that it locked.
 *   culprit: import_feed|fetch_feeds: (Ends, but still h|H)olds
 *   victim: compact_store|store\.db
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Reads news feeds into a store file. It is locked by flock, as another tool may read it at any time. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FEEDS = 14,
	ENTRIES = 12,
	COMPACTIONS = 6,
	SEARCHES = 15
};

static char folder[64] = "/tmp/feeds-XXXXXX";
static char store_path[96];
static bool careful;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t refresh = PTHREAD_COND_INITIALIZER;
static pthread_cond_t fetched = PTHREAD_COND_INITIALIZER;
static bool all_fetched, quitting;
static int skipped;

static int open_store(int operation)
{
	int store = open(store_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (store < 0 || flock(store, operation))
		abort();
	return store;
}

static bool header_is_good(const char *header)
{
	return !strncmp(header, "<?xml", 5);
}

/* One feed is the login page of a hotel's network. */
static void download(int feed, char *text, size_t size)
{
	usleep(2500);
	snprintf(text, size,
		feed == FEEDS - 1 ? "<!doctype html><title>Welcome %d</title>"
				  : "<?xml version='1.0'?><title>Feed %d</title>",
		feed);
}

static bool import_feed(int feed)
{
	char text[128], line[96];
	int store = open_store(LOCK_EX);

	download(feed, text, sizeof(text));
	if (!header_is_good(text)) {
		if (careful)
			close(store);
		return false;
	}
	for (int entry = 0; entry < ENTRIES; entry++) {
		int length = snprintf(line, sizeof(line), "feed %d entry %d: news of the day\n",
			feed, entry);

		if (write(store, line, length) != length)
			abort();
	}
	close(store);
	return true;
}

static void *fetch_feeds(void *unused)
{
	(void)unused;
	for (int feed = 0; feed < FEEDS; feed++) {
		if (!import_feed(feed))
			skipped++;
		usleep(500);
	}
	pthread_mutex_lock(&state_lock);
	all_fetched = true;
	pthread_cond_broadcast(&fetched);
	while (!quitting)
		pthread_cond_wait(&refresh, &state_lock);
	pthread_mutex_unlock(&state_lock);
	return NULL;
}

/* Drops the older half of the entries. */
static void compact_store(void)
{
	int store = open_store(LOCK_EX);
	struct stat status;
	char *text;

	if (fstat(store, &status) || !(text = malloc(status.st_size + 1)))
		abort();
	if (pread(store, text, status.st_size, 0) == status.st_size && status.st_size > 4000) {
		text[status.st_size] = '\0';
		char *half = strchr(text + status.st_size / 2, '\n') + 1;

		if (ftruncate(store, 0) || write(store, half, strlen(half)) < 0)
			abort();
	}
	free(text);
	close(store);
}

static void *keep_small(void *unused)
{
	(void)unused;
	for (int i = 1; i < COMPACTIONS; i++) {
		compact_store();
		usleep(7000);
	}
	pthread_mutex_lock(&state_lock);
	while (!all_fetched)
		pthread_cond_wait(&fetched, &state_lock);
	pthread_mutex_unlock(&state_lock);
	compact_store();
	return NULL;
}

static void *search(void *data)
{
	const char *word = data;
	char block[4096];
	int found = 0;

	for (int i = 0; i < SEARCHES; i++) {
		int store = open_store(LOCK_SH);
		ssize_t got = pread(store, block, sizeof(block) - 1, 0);

		block[got > 0 ? got : 0] = '\0';
		found += strstr(block, word) != NULL;
		usleep(400);
		close(store);
		usleep(1500);
	}
	return found ? data : NULL;
}

int main(int argc, char **argv)
{
	pthread_t fetcher, keeper, searchers[2];
	void *found;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	if (!mkdtemp(folder))
		return 1;
	snprintf(store_path, sizeof(store_path), "%s/store.db", folder);
	pthread_create(&fetcher, NULL, fetch_feeds, NULL);
	pthread_create(&keeper, NULL, keep_small, NULL);
	pthread_create(&searchers[0], NULL, search, (void *)"day");
	pthread_create(&searchers[1], NULL, search, (void *)"weather");
	pthread_join(keeper, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(searchers[i], &found);
	pthread_mutex_lock(&state_lock);
	quitting = true;
	pthread_cond_signal(&refresh);
	pthread_mutex_unlock(&state_lock);
	pthread_join(fetcher, NULL);
	printf("%d feeds read, %d skipped\n", FEEDS - skipped, skipped);
	unlink(store_path);
	rmdir(folder);
	return 0;
}
