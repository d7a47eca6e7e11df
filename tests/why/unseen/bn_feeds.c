/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: on_page takes a page that hasn't changed since the last time for the end of its feed, so the pages after it
 *     are not fetched, and their articles are not stored.
 *   culprit: on_page|fetch page|store article|page_fetch
 *   victim: all feeds|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A reader of feeds, on promises: each feed has several pages, and a page several articles, which are stored. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	FEEDS = 6,
	PAGES = 5,
	ARTICLES = 3
};

struct page {
	struct feed *feed;
	int number;
	bool changed;
	int articles;
};

struct feed {
	int number;
	struct page pages[PAGES];
	int stored;
};

static bool broken;
static struct feed feeds[FEEDS];
static struct thrum_mutex *store;
static int total_stored;

static struct thrum_promise *page_fetch(struct thrum_loop *loop, struct page *page);

/* The servers have these: some pages are as they were yesterday. */
static void feeds_set_up(void)
{
	for (int i = 0; i < FEEDS; i++) {
		feeds[i].number = i;
		for (int j = 0; j < PAGES; j++) {
			struct page *page = &feeds[i].pages[j];

			page->feed = &feeds[i];
			page->number = j;
			page->changed = !(i % 2 == 1 && j == 1);
			page->articles = page->changed ? ARTICLES : 0;
		}
	}
}

static struct thrum_promise *on_stored(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	page->feed->stored++;
	total_stored++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *article_write(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 1), on_stored, data, NULL);
}

static struct thrum_promise *articles_store(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *writes[ARTICLES];

	for (int i = 0; i < page->articles; i++) {
		writes[i] = thrum_mutex_with(store, article_write, page, NULL);
		thrum_promise_labelf(writes[i], "store article %d",
			(page->feed->number * PAGES + page->number) * ARTICLES + i);
	}
	return thrum_promise_join(loop, writes, (size_t)page->articles);
}

static struct thrum_promise *next_page(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	if (page->number + 1 == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	return page_fetch(loop, page + 1);
}

static struct thrum_promise *on_page(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	if (!page->changed) {
		thrum_logf("feed %d: page %d not modified", page->feed->number, page->number);
		if (broken)
			return thrum_promise_return(loop, thrum_value_none());
		return next_page(loop, NULL, page);
	}
	return thrum_promise_bind(articles_store(loop, page), next_page, page, NULL);
}

static struct thrum_promise *page_fetch(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *fetch = thrum_sleep(loop,
		4 + (uint64_t)(page->feed->number + page->number) % 3 * 2);

	fetch = thrum_promise_labelf(fetch, "fetch page %d",
		page->feed->number * PAGES + page->number);
	return thrum_promise_bind(fetch, on_page, page, NULL);
}

static struct thrum_promise *feeds_update(struct thrum_loop *loop)
{
	struct thrum_promise *updates[FEEDS];

	for (int i = 0; i < FEEDS; i++) {
		updates[i] = page_fetch(loop, &feeds[i].pages[0]);
		thrum_promise_labelf(updates[i], "feed %d", i);
		thrum_promise_should_resolve(updates[i]);
	}
	return thrum_promise_label(thrum_promise_join(loop, updates, FEEDS), "all feeds");
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	feeds_set_up();
	store = thrum_mutex_create(loop, "article store");
	error = thrum_promise_run(feeds_update(loop));
	thrum_stop();
	if (error)
		fprintf(stderr, "%s\n", thrum_promise_error_message(error));
	for (int i = 0; i < FEEDS; i++)
		printf("feed %d: %d articles\n", i, feeds[i].stored);
	printf("%d articles in all\n", total_stored);
	thrum_mutex_destroy(store);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_NOWAIT);
	return uv_loop_close(&uv) ? 1 : 0;
}
