/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the fetchers themselves put links into the bounded frontier (follow_links), and only they take
 *     pages out of it. At a page with many links all three fetchers block in frontier_put, as the frontier
 *     is full, and nobody is left that takes pages out.
 *   culprit: follow_links|crawl_page|fetcher[ -]?\d
 *   victim: wait_until_done|main|progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A crawler of a site that is made up: page n links to pages 2n+1 ... The frontier holds pages to fetch. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FETCHERS 3
#define FRONTIER 8
#define SITE 120

struct frontier {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty;
	pthread_cond_t not_full;
	int page[FRONTIER];
	unsigned first;
	unsigned count;
	bool closed;
};

struct overflow {
	int page[SITE];
	unsigned count;
};

static struct frontier frontier = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER,
};

static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static bool seen[SITE];
static unsigned outstanding;
static unsigned fetched;
static bool spill;

static void frontier_put(int page)
{
	pthread_mutex_lock(&frontier.mutex);
	while (frontier.count == FRONTIER)
		pthread_cond_wait(&frontier.not_full, &frontier.mutex);
	frontier.page[(frontier.first + frontier.count++) % FRONTIER] = page;
	pthread_cond_signal(&frontier.not_empty);
	pthread_mutex_unlock(&frontier.mutex);
}

static bool frontier_try_put(int page)
{
	bool has_room;

	pthread_mutex_lock(&frontier.mutex);
	has_room = frontier.count < FRONTIER;
	if (has_room) {
		frontier.page[(frontier.first + frontier.count++) % FRONTIER] = page;
		pthread_cond_signal(&frontier.not_empty);
	}
	pthread_mutex_unlock(&frontier.mutex);
	return has_room;
}

static bool frontier_take(int *page)
{
	pthread_mutex_lock(&frontier.mutex);
	while (frontier.count == 0 && !frontier.closed)
		pthread_cond_wait(&frontier.not_empty, &frontier.mutex);
	if (frontier.count == 0) {
		pthread_mutex_unlock(&frontier.mutex);
		return false;
	}
	*page = frontier.page[frontier.first];
	frontier.first = (frontier.first + 1) % FRONTIER;
	frontier.count--;
	pthread_cond_signal(&frontier.not_full);
	pthread_mutex_unlock(&frontier.mutex);
	return true;
}

static void frontier_close(void)
{
	pthread_mutex_lock(&frontier.mutex);
	frontier.closed = true;
	pthread_cond_broadcast(&frontier.not_empty);
	pthread_mutex_unlock(&frontier.mutex);
}

/* Tells whether nobody has seen this page before, and counts it as one to fetch. */
static bool discover(int page)
{
	bool is_new;

	pthread_mutex_lock(&seen_mutex);
	is_new = !seen[page];
	seen[page] = true;
	if (is_new)
		outstanding++;
	pthread_mutex_unlock(&seen_mutex);
	return is_new;
}

static void finish(void)
{
	pthread_mutex_lock(&seen_mutex);
	fetched++;
	if (--outstanding == 0)
		pthread_cond_signal(&all_done);
	pthread_mutex_unlock(&seen_mutex);
}

/* Returns the number of links of a page: most have few, index pages have many. */
static int links_of(int page)
{
	return page % 7 == 3 ? 14 : 2;
}

static void follow_links(int page, struct overflow *overflow)
{
	for (int i = 0; i < links_of(page); i++) {
		int link = page * 2 + 1 + i;

		if (link >= SITE || !discover(link))
			continue;
		if (!spill)
			frontier_put(link);
		else if (!frontier_try_put(link))
			overflow->page[overflow->count++] = link;
	}
}

static void crawl_page(int page, struct overflow *overflow)
{
	usleep(3000 + 500 * (page % 4)); /* the server's answer */
	follow_links(page, overflow);
	finish();
}

static void *fetcher(void *data)
{
	struct overflow overflow = {.count = 0};
	char name[16];
	int page;

	snprintf(name, sizeof(name), "fetcher-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	while (frontier_take(&page)) {
		crawl_page(page, &overflow);
		while (overflow.count > 0)
			crawl_page(overflow.page[--overflow.count], &overflow);
	}
	return NULL;
}

static void wait_until_done(void)
{
	pthread_mutex_lock(&seen_mutex);
	while (outstanding > 0)
		pthread_cond_wait(&all_done, &seen_mutex);
	pthread_mutex_unlock(&seen_mutex);
}

static void *progress(void *data)
{
	unsigned now = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "progress");
	do {
		usleep(50000);
		pthread_mutex_lock(&seen_mutex);
		now = outstanding;
		printf("%u fetched, %u to go\n", fetched, outstanding);
		pthread_mutex_unlock(&seen_mutex);
	} while (now > 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[FETCHERS];
	pthread_t printer;

	if (argc < 2)
		return 2;
	spill = !strcmp(argv[1], "healthy");
	discover(0);
	frontier_put(0);
	for (long i = 0; i < FETCHERS; i++)
		pthread_create(&thread[i], NULL, fetcher, (void *)(i + 1));
	pthread_create(&printer, NULL, progress, NULL);
	wait_until_done();
	frontier_close();
	for (int i = 0; i < FETCHERS; i++)
		pthread_join(thread[i], NULL);
	pthread_join(printer, NULL);
	printf("%u pages\n", fetched);
	return fetched >= 60 ? 0 : 1;
}
