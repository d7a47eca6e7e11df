/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the crawlers put the links that they find into the bounded queue that only they empty; when it is
 *     full all of them wait in frontier_push for room that only they could make; main waits for the end
 *   culprit: frontier_push|visit_page
 *   victim: main|wait_until_done|progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Crawls a site with a few threads and checks its links. The queue of pages to visit is bounded. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CRAWLERS 3
#define PAGES 240
#define ROOM 16

/* The pages to visit. */
struct frontier {
	pthread_mutex_t mutex;
	pthread_cond_t not_empty, not_full, done;
	int pages[ROOM];
	unsigned head, count;
	unsigned pending; /* found, but not yet visited */
	bool finished;
	bool seen[PAGES];
	unsigned visited, broken_links;
};

/* Links that a crawler keeps for itself. */
struct backlog {
	int pages[PAGES];
	unsigned count;
	bool allowed;
};

static struct frontier frontier = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};
static bool keep_backlog;

static void nap_us(int us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000L};

	nanosleep(&t, NULL);
}

/* Fetches a page; returns its links. */
static int fetch_links(int page, int *links)
{
	int count = 0;

	nap_us(400 + page % 7 * 150);
	for (int i = 1; i <= 5; i++)
		if (page * 3 + i < PAGES + 4)
			links[count++] = page * 3 + i;
	links[count++] = page / 3;
	return count;
}

static void frontier_push(struct frontier *f, int page, struct backlog *backlog)
{
	pthread_mutex_lock(&f->mutex);
	if (page >= PAGES) {
		f->broken_links++;
		pthread_mutex_unlock(&f->mutex);
		return;
	}
	if (f->seen[page]) {
		pthread_mutex_unlock(&f->mutex);
		return;
	}
	f->seen[page] = true;
	f->pending++;
	if (f->count == ROOM && backlog && backlog->allowed) {
		backlog->pages[backlog->count++] = page;
		pthread_mutex_unlock(&f->mutex);
		return;
	}
	while (f->count == ROOM)
		pthread_cond_wait(&f->not_full, &f->mutex);
	f->pages[(f->head + f->count++) % ROOM] = page;
	pthread_cond_signal(&f->not_empty);
	pthread_mutex_unlock(&f->mutex);
}

/* Returns a page, or -1 when the crawl is over. */
static int frontier_pop(struct frontier *f)
{
	int page = -1;

	pthread_mutex_lock(&f->mutex);
	while (!f->count && !f->finished)
		pthread_cond_wait(&f->not_empty, &f->mutex);
	if (f->count) {
		page = f->pages[f->head];
		f->head = (f->head + 1) % ROOM;
		f->count--;
		pthread_cond_signal(&f->not_full);
	}
	pthread_mutex_unlock(&f->mutex);
	return page;
}

static void frontier_visited(struct frontier *f)
{
	pthread_mutex_lock(&f->mutex);
	f->visited++;
	if (!--f->pending) {
		f->finished = true;
		pthread_cond_broadcast(&f->not_empty);
		pthread_cond_broadcast(&f->done);
	}
	pthread_mutex_unlock(&f->mutex);
}

static void visit_page(int page, struct backlog *backlog)
{
	int links[8];
	int count = fetch_links(page, links);

	for (int i = 0; i < count; i++)
		frontier_push(&frontier, links[i], backlog);
	frontier_visited(&frontier);
}

static void *crawler(void *data)
{
	struct backlog *backlog = calloc(1, sizeof(*backlog));
	char name[16];
	int page;

	if (!backlog)
		abort();
	backlog->allowed = keep_backlog;
	snprintf(name, sizeof(name), "crawler-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	while ((page = frontier_pop(&frontier)) >= 0) {
		visit_page(page, backlog);
		while (backlog->count)
			visit_page(backlog->pages[--backlog->count], backlog);
	}
	free(backlog);
	return NULL;
}

/* Says how far it is, twelve times a second. */
static void *progress(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "progress");
	for (;;) {
		bool finished;
		unsigned visited, pending;

		nap_us(80000);
		pthread_mutex_lock(&frontier.mutex);
		finished = frontier.finished;
		visited = frontier.visited;
		pending = frontier.pending;
		pthread_mutex_unlock(&frontier.mutex);
		if (finished)
			return NULL;
		fprintf(stderr, "%u visited, %u to go\n", visited, pending);
	}
}

static void wait_until_done(struct frontier *f)
{
	pthread_mutex_lock(&f->mutex);
	while (!f->finished)
		pthread_cond_wait(&f->done, &f->mutex);
	pthread_mutex_unlock(&f->mutex);
}

int main(int argc, char **argv)
{
	pthread_t crawlers[CRAWLERS], teller;

	keep_backlog = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&teller, NULL, progress, NULL);
	for (long i = 0; i < CRAWLERS; i++)
		pthread_create(&crawlers[i], NULL, crawler, (void *)(i + 1));
	frontier_push(&frontier, 0, NULL);
	wait_until_done(&frontier);
	for (int i = 0; i < CRAWLERS; i++)
		pthread_join(crawlers[i], NULL);
	pthread_join(teller, NULL);
	printf("%u pages, %u broken links\n", frontier.visited, frontier.broken_links);
	return 0;
}
