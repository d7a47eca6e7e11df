/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=page
 *   truth: Each page asks for the robots.txt of its host while it holds the lock "frontier". One host is slow in that, so all
 *     pages wait for the lock meanwhile.
 *   culprit: frontier|robots|page_store
 *   victim: download
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A crawler: downloads pages, and adds their links to the frontier, as far as robots.txt allows. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PAGES 40

struct page {
	unsigned number;
	unsigned robots_ms; /* how far away the host is */
};

static bool fixed;
static struct page pages[PAGES];
static struct thrum_promise *visits[PAGES];
static struct thrum_mutex *frontier;
static unsigned links;

static struct thrum_promise *robots_ask(struct thrum_loop *loop, const struct page *page)
{
	return thrum_promise_label(thrum_sleep(loop, page->robots_ms), "robots.txt");
}

static struct thrum_promise *links_add(struct thrum_loop *loop, void *value, void *data)
{
	const struct page *page = data;

	(void)value;
	links += page->number % 5;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *page_store(struct thrum_loop *loop, void *data)
{
	struct page *page = data;

	if (fixed)
		return links_add(loop, NULL, page);
	return thrum_promise_bind(robots_ask(loop, page), links_add, page, NULL);
}

static struct thrum_promise *page_lock(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_mutex_with(frontier, page_store, data, NULL);
}

static struct thrum_promise *on_download(struct thrum_loop *loop, void *value, void *data)
{
	if (fixed)
		return thrum_promise_bind(robots_ask(loop, data), page_lock, data, NULL);
	return page_lock(loop, value, data);
}

static struct thrum_promise *page_visit(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *visit;

	visit = thrum_promise_label(thrum_sleep(loop, 8 + page->number % 7), "download");
	visit = thrum_promise_bind(visit, on_download, page, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(visit, "page %u", page->number));
}

static struct thrum_promise *schedule(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	visits[page->number] = page_visit(loop, page);
	if (page->number + 1 == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 12), schedule, page + 1, NULL);
}

static struct thrum_promise *wait_for_all(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_promise_join(loop, visits, PAGES), "all pages");
}

static void on_clock(uv_timer_t *timer)
{
	(void)timer;
	printf("%u links so far\n", links);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *crawl;
	uv_timer_t clock;
	uint64_t began;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	frontier = thrum_mutex_create(loop, "frontier");
	for (unsigned i = 0; i < PAGES; i++) {
		pages[i].number = i;
		pages[i].robots_ms = i % 10 == 6 ? 250 : 3;
	}
	uv_timer_init(uv_default_loop(), &clock);
	uv_timer_start(&clock, on_clock, 100, 100);
	uv_unref((uv_handle_t *)&clock);
	began = uv_now(uv_default_loop());
	crawl = thrum_promise_bind(schedule(loop, NULL, &pages[0]), wait_for_all, NULL, NULL);
	if (thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(crawl, "crawl"))))
		return 1;
	printf("%u links in %u ms\n", links, (unsigned)(uv_now(uv_default_loop()) - began));
	thrum_stop();
	return 0;
}
