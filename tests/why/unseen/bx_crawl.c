/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: The crawlers take pages from the stream "frontier" and push the links that they find into the same
 *     stream, which has room for eight. When all three are on pages with many links at once, the stream is full,
 *     all three wait for room in push_links, and nobody is left to take a page.
 *   culprit: crawler|push_links|frontier
 *   victim: crawl\b|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A crawler for one site: three crawlers fetch pages, and put the links that they find into a common frontier. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CRAWLERS = 3,
	ROOM = 8,
	PAGES = 200,
};

struct crawler {
	unsigned number;
	unsigned page;
	unsigned links[16];
	unsigned count;
	unsigned pushed;
};

static bool broken;
static struct thrum_stream *frontier;
static struct thrum_condition *all_fetched;
static struct crawler crawlers[CRAWLERS];
static unsigned pages[PAGES]; /* the values in the frontier point here */
static unsigned found = 1;    /* pages that were ever put into the frontier */
static unsigned fetched;
static unsigned overflow[PAGES];
static unsigned overflow_count;
static unsigned robots;
static bool is_over;

static struct thrum_promise *crawler_next(struct thrum_loop *loop, void *value, void *data);

/* The site: pages 1 to 12 are a chain of articles; page 13 leads to three indices, which have many links. */
static void read_links(struct crawler *crawler)
{
	unsigned page = crawler->page;
	unsigned count = 0;

	if (page < 13)
		crawler->links[count++] = page + 1;
	else if (page == 13)
		while (count < 3)
			crawler->links[count] = 14 + count, count++;
	else if (page < 17)
		while (count < 9)
			crawler->links[count] = 17 + (page - 14) * 9 + count, count++;
	crawler->count = count;
	crawler->pushed = 0;
}

static struct thrum_promise *page_done(struct thrum_loop *loop)
{
	if (++fetched == found)
		thrum_condition_broadcast(all_fetched, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *push_links(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;
	unsigned *link;

	(void)value;
	if (crawler->pushed == crawler->count)
		return page_done(loop);
	link = &pages[crawler->links[crawler->pushed++]];
	found++;
	if (!broken) {
		/* Pages that have no room are kept aside; the crawlers come to it first. */
		if (!thrum_stream_try_push(frontier, thrum_value_static(link)))
			overflow[overflow_count++] = *link;
		return push_links(loop, NULL, crawler);
	}
	return thrum_promise_bind(thrum_stream_push(frontier, thrum_value_static(link)), push_links,
		crawler, NULL);
}

static struct thrum_promise *on_page(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;

	read_links(crawler);
	return push_links(loop, value, crawler);
}

/* Fetches the page and puts its links into the frontier. */
static struct thrum_promise *fetch(struct thrum_loop *loop, struct crawler *crawler)
{
	struct thrum_promise *page;

	page = thrum_promise_labelf(thrum_sleep(loop, 10), "GET /page/%u", crawler->page);
	return thrum_promise_bind(page, on_page, crawler, NULL);
}

static struct thrum_promise *crawler_fetch(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	crawler->page = *(unsigned *)value;
	return thrum_promise_bind(fetch(loop, crawler), crawler_next, crawler, NULL);
}

static struct thrum_promise *crawler_next(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;

	(void)value;
	if (overflow_count > 0) {
		crawler->page = overflow[--overflow_count];
		return thrum_promise_bind(fetch(loop, crawler), crawler_next, crawler, NULL);
	}
	return thrum_promise_bind(thrum_stream_next(frontier), crawler_fetch, crawler, NULL);
}

static struct thrum_promise *crawler_run(struct thrum_loop *loop, void *data)
{
	struct crawler *crawler = data;

	return thrum_promise_labelf(crawler_next(loop, NULL, crawler), "crawler %u",
		crawler->number);
}

/* Meanwhile the rules of the site are looked at again and again. */
static struct thrum_promise *watch_robots(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (is_over)
		return thrum_promise_return(loop, thrum_value_none());
	robots++;
	return thrum_promise_bind(thrum_sleep(loop, 50), watch_robots, NULL, NULL);
}

static struct thrum_promise *robots_run(struct thrum_loop *loop, void *data)
{
	return watch_robots(loop, NULL, data);
}

static struct thrum_promise *on_all_fetched(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	is_over = true;
	thrum_stream_close(frontier);
	return thrum_sleep(loop, 60);
}

int main(int argc, char **argv)
{
	struct thrum_promise *crawl;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL) != 0)
		fputs("crawl: nothing is recorded\n", stderr);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop) != 0)
		return 1;
	for (unsigned i = 0; i < PAGES; i++)
		pages[i] = i;
	frontier = thrum_stream_create(loop, "frontier", ROOM);
	all_fetched = thrum_condition_create(loop, "all fetched");
	for (unsigned i = 0; i < CRAWLERS; i++) {
		crawlers[i].number = i + 1;
		thrum_promise_async(loop, "crawler", crawler_run, &crawlers[i], NULL);
	}
	thrum_promise_async(loop, "robots.txt", robots_run, NULL, NULL);
	crawl = thrum_condition_wait(all_fetched, NULL);
	crawl = thrum_promise_label(thrum_promise_bind(crawl, on_all_fetched, NULL, NULL), "crawl");
	thrum_promise_should_resolve(crawl);
	if (!thrum_stream_try_push(frontier, thrum_value_static(&pages[1])))
		return 1;
	result = thrum_promise_run(crawl);
	thrum_stop();
	printf("%u pages of %u: %s\n", fetched, found, thrum_promise_error_message(result));
	thrum_stream_destroy(frontier);
	thrum_condition_destroy(all_fetched);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
