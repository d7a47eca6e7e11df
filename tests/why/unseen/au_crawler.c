/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the parser is the only one that empties the stream of pages, and in offer_link it waits for room
 *     in the frontier; the fetchers that would make room there wait for room in the stream of pages
 *   culprit: parser|offer_link|parse_page
 *   victim: fetcher|fetch_next|deliver|crawl
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A crawler: fetchers take addresses from the frontier, the parser finds new ones in their pages. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define FETCHERS 3
#define LINKS 5
#define DEPTH 3
#define PAGES (1 + LINKS + LINKS * LINKS)

struct crawler {
	struct thrum_stream *frontier; /* numbers of pages to fetch */
	struct thrum_stream *pages;    /* numbers of pages to parse */
	bool patient;                  /* the parser waits until the frontier has room */
	int pending;                   /* pages that are known and not parsed yet */
	int parsed;
};

struct page {
	struct crawler *crawler;
	int number;
	int next_link;
};

struct fetcher {
	struct crawler *crawler;
	int number;
	int page;
};

/* Pages are numbered like a tree: those that page n links to are 5 n - 3 to 5 n + 1. */
static int link_of(int page, int index)
{
	return LINKS * page - LINKS + 2 + index;
}

static struct thrum_promise *parse_next(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *fetch_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *page_parsed(struct thrum_loop *loop, struct crawler *crawler)
{
	crawler->parsed++;
	if (--crawler->pending == 0) {
		thrum_stream_close(crawler->frontier);
		thrum_stream_close(crawler->pages);
	}
	return thrum_promise_bind(thrum_promise_pause(loop), parse_next, crawler, NULL);
}

static struct thrum_promise *offer_link(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;
	struct crawler *crawler = page->crawler;
	struct thrum_promise *pushed;
	int link;

	(void)value;
	if (page->next_link == LINKS || link_of(page->number, 0) > PAGES) {
		free(page);
		return page_parsed(loop, crawler);
	}
	link = link_of(page->number, page->next_link++);
	crawler->pending++;
	pushed = thrum_stream_push(crawler->frontier, thrum_value_int(link));
	pushed = thrum_promise_labelf(pushed, "offer link %d", link);
	if (crawler->patient)
		return thrum_promise_bind(pushed, offer_link, page, NULL);
	thrum_promise_ignore_result(pushed);
	return offer_link(loop, NULL, page);
}

static struct thrum_promise *parse_page(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;
	struct page *page;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	page = calloc(1, sizeof(*page));
	page->crawler = crawler;
	page->number = (int)thrum_int(value);
	return offer_link(loop, NULL, page);
}

static struct thrum_promise *parse_next(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(crawler->pages), parse_page, crawler, NULL);
}

/* The page is here. */
static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;
	struct thrum_promise *pushed;

	(void)loop;
	(void)value;
	pushed = thrum_stream_push(fetcher->crawler->pages, thrum_value_int(fetcher->page));
	return thrum_promise_bind(pushed, fetch_next, fetcher, NULL);
}

static struct thrum_promise *fetch_page(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;
	struct thrum_promise *body;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	fetcher->page = (int)thrum_int(value);
	body = thrum_promise_labelf(thrum_sleep(loop, 3 + fetcher->page % 4), "GET /%d",
		fetcher->page);
	return thrum_promise_bind(body, deliver, fetcher, NULL);
}

static struct thrum_promise *fetch_next(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(fetcher->crawler->frontier), fetch_page,
		fetcher, NULL);
}

static void on_progress(uv_timer_t *timer)
{
	struct crawler *crawler = timer->data;

	if (getenv("CRAWLER_VERBOSE"))
		fprintf(stderr, "%d parsed, %d pending\n", crawler->parsed, crawler->pending);
}

int main(int argc, char **argv)
{
	struct crawler crawler = {0};
	struct fetcher fetchers[FETCHERS];
	struct thrum_promise *parts[FETCHERS + 1], *crawl;
	struct thrum_loop *loop;
	uv_timer_t progress;
	uv_loop_t uv;
	int error;

	if (argc != 2)
		return 2;
	crawler.patient = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &progress);
	progress.data = &crawler;
	uv_timer_start(&progress, on_progress, 100, 100);

	crawler.frontier = thrum_stream_create(loop, "frontier", 4);
	crawler.pages = thrum_stream_create(loop, "pages", 2);
	for (int i = 0; i < FETCHERS; i++) {
		fetchers[i] = (struct fetcher){&crawler, i, 0};
		parts[i] = thrum_promise_labelf(fetch_next(loop, NULL, &fetchers[i]), "fetcher %d",
			i);
	}
	parts[FETCHERS] = thrum_promise_label(parse_next(loop, NULL, &crawler), "parser");
	crawler.pending = 1;
	if (!thrum_stream_try_push(crawler.frontier, thrum_value_int(1)))
		return 1;
	crawl = thrum_promise_label(thrum_promise_join(loop, parts, FETCHERS + 1), "crawl");
	error = thrum_promise_run(thrum_promise_should_resolve(crawl));
	thrum_stop();

	printf("%d pages parsed\n", crawler.parsed);
	thrum_stream_destroy(crawler.frontier);
	thrum_stream_destroy(crawler.pages);
	uv_close((uv_handle_t *)&progress, NULL);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error || crawler.parsed != PAGES ? 1 : 0;
}
