/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The three crawler threads are the only consumers of the bounded frontier, and they also push the links that
 *     they find into it. A page with many links fills it: all crawlers wait in frontier_push for room (not_full), which
 *     only a crawler could make.
 *   culprit: crawler-\d|frontier_push|not_full
 *   victim: \bmain\b|crawl_wait|all_done
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* crawler: checks the links of a site. Crawlers take pages from a bounded frontier and add the pages that they find. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CRAWLERS 3
#define FRONTIER 16
#define FETCH_MS 20

struct page {
	unsigned id, depth;
};

struct frontier {
	pthread_mutex_t lock;
	pthread_cond_t not_empty, not_full, all_done;
	struct page pages[FRONTIER];
	size_t first, count;
	size_t unfinished; /* in the frontier, or with a crawler */
	bool closed;
};

struct site {
	unsigned sections, links_of_section; /* how many links each kind of page has */
};

struct crawl {
	struct frontier frontier;
	struct site site;
	pthread_mutex_t report_lock;
	unsigned fetched, links;
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The frontier ---- */

static void frontier_init(struct frontier *f)
{
	memset(f, 0, sizeof *f);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->not_empty, NULL);
	pthread_cond_init(&f->not_full, NULL);
	pthread_cond_init(&f->all_done, NULL);
}

static void frontier_destroy(struct frontier *f)
{
	pthread_cond_destroy(&f->all_done);
	pthread_cond_destroy(&f->not_full);
	pthread_cond_destroy(&f->not_empty);
	pthread_mutex_destroy(&f->lock);
}

/* Adds a page. The frontier is bounded, so that a large site doesn't fill the memory. */
__attribute__((noinline)) void frontier_push(struct frontier *f, struct page page)
{
	pthread_mutex_lock(&f->lock);
	f->unfinished++;
	while (f->count == FRONTIER)
		pthread_cond_wait(&f->not_full, &f->lock);
	f->pages[(f->first + f->count++) % FRONTIER] = page;
	pthread_cond_signal(&f->not_empty);
	pthread_mutex_unlock(&f->lock);
}

/* Takes the next page. Returns false if there will be no more. */
__attribute__((noinline)) bool frontier_pop(struct frontier *f, struct page *page)
{
	bool found;

	pthread_mutex_lock(&f->lock);
	while (f->count == 0 && !f->closed)
		pthread_cond_wait(&f->not_empty, &f->lock);
	found = f->count > 0;
	if (found) {
		*page = f->pages[f->first];
		f->first = (f->first + 1) % FRONTIER;
		f->count--;
		pthread_cond_signal(&f->not_full);
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

/* Says that a page has been crawled, and its links are in the frontier. */
__attribute__((noinline)) void frontier_done(struct frontier *f)
{
	pthread_mutex_lock(&f->lock);
	if (--f->unfinished == 0)
		pthread_cond_broadcast(&f->all_done);
	pthread_mutex_unlock(&f->lock);
}

/* ---- Pages ---- */

__attribute__((noinline)) unsigned fetch_page(const struct crawl *crawl, const struct page *page)
{
	pause_ms(FETCH_MS);
	switch (page->depth) {
	case 0: return crawl->site.sections;
	case 1: return crawl->site.links_of_section;
	default: return 0;
	}
}

__attribute__((noinline)) void follow_links(struct crawl *crawl, const struct page *page,
	unsigned links)
{
	for (unsigned i = 0; i < links; i++) {
		struct page next = {page->id * 100 + i + 1, page->depth + 1};

		frontier_push(&crawl->frontier, next);
	}
}

static void report_page(struct crawl *crawl, unsigned links)
{
	pthread_mutex_lock(&crawl->report_lock);
	crawl->fetched++;
	crawl->links += links;
	pthread_mutex_unlock(&crawl->report_lock);
}

void *crawl_pages(void *data)
{
	struct crawl *crawl = data;
	struct page page;

	while (frontier_pop(&crawl->frontier, &page)) {
		unsigned links = fetch_page(crawl, &page);

		follow_links(crawl, &page, links);
		report_page(crawl, links);
		frontier_done(&crawl->frontier);
	}
	return NULL;
}

/* Waits until no page is left, and sends the crawlers home. */
__attribute__((noinline)) void crawl_wait(struct crawl *crawl)
{
	struct frontier *f = &crawl->frontier;

	pthread_mutex_lock(&f->lock);
	while (f->unfinished > 0)
		pthread_cond_wait(&f->all_done, &f->lock);
	f->closed = true;
	pthread_cond_broadcast(&f->not_empty);
	pthread_mutex_unlock(&f->lock);
}

int main(int argc, char **argv)
{
	/* The second site has an archive in each section, which links to all its pages. */
	static const struct site small = {6, 2}, with_archives = {6, 24};
	struct crawl crawl = {.report_lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t crawlers[CRAWLERS];
	struct page home = {1, 0};

	if (argc != 2) {
		fprintf(stderr, "usage: crawler broken|healthy\n");
		return 2;
	}
	crawl.site = strcmp(argv[1], "broken") == 0 ? with_archives : small;
	frontier_init(&crawl.frontier);
	for (unsigned i = 0; i < CRAWLERS; i++) {
		char name[16];

		if (pthread_create(&crawlers[i], NULL, crawl_pages, &crawl) != 0)
			return 1;
		snprintf(name, sizeof name, "crawler-%u", i % 10);
		pthread_setname_np(crawlers[i], name);
	}
	frontier_push(&crawl.frontier, home);
	crawl_wait(&crawl);
	for (unsigned i = 0; i < CRAWLERS; i++)
		pthread_join(crawlers[i], NULL);
	printf("%u pages, %u links\n", crawl.fetched, crawl.links);
	frontier_destroy(&crawl.frontier);
	return 0;
}
