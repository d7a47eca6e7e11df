/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the fetchers take pages from the stream "frontier" and push the links that they find into the
 *     same stream, which has room for 24. A page has more links than it takes places, so the frontier
 *     fills, and all fetchers wait for room that only they could make.
 *   culprit: frontier|fetcher \d
 *   victim: archiver|crawl\b
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A crawler: fetchers take pages from the frontier, add links to it, and give the pages to an archiver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define FETCHERS 3
#define FRONTIER 24
#define GOAL 100000

static struct thrum_stream *frontier, *pages;
static bool waits_for_room;
static int archived, skipped;

struct fetcher {
	struct thrum_loop *loop;
	int number;
	intptr_t page;
	int links; /* that are left of this page */
};

static struct thrum_promise *fetch_next(struct fetcher *fetcher);

static struct thrum_promise *add_links(struct thrum_loop *loop, void *value, void *data);

static intptr_t link_of(const struct fetcher *fetcher)
{
	return (fetcher->page * 31 + fetcher->links * 17 + fetcher->number) % 9973 + 1;
}

/* Adds the links of a page to the frontier, one after the other. */
static struct thrum_promise *add_links(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;
	struct thrum_promise *pushed;

	(void)value;
	(void)loop;
	while (fetcher->links > 0) {
		struct thrum_value link = thrum_value_int(link_of(fetcher));

		fetcher->links--;
		if (waits_for_room) {
			pushed = thrum_promise_label(thrum_stream_push(frontier, link), "add link");
			return thrum_promise_bind(pushed, add_links, fetcher, NULL);
		}
		if (!thrum_stream_try_push(frontier, link))
			skipped++; /* it will be found again */
	}
	return fetch_next(fetcher);
}

static struct thrum_promise *after_archive(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;

	fetcher->links = 1 + fetcher->page % 3;
	return add_links(loop, value, fetcher);
}

static struct thrum_promise *after_load(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;
	struct thrum_promise *given;

	(void)loop;
	(void)value;
	given = thrum_stream_push(pages, thrum_value_int(fetcher->page));
	return thrum_promise_bind(given, after_archive, fetcher, NULL);
}

static struct thrum_promise *load_page(struct thrum_loop *loop, void *value, void *data)
{
	struct fetcher *fetcher = data;
	struct thrum_promise *loaded;

	fetcher->page = thrum_int(value);
	loaded = thrum_promise_label(thrum_sleep(loop, 2 + fetcher->page % 4), "load page");
	return thrum_promise_bind(loaded, after_load, fetcher, NULL);
}

static struct thrum_promise *fetch_next(struct fetcher *fetcher)
{
	return thrum_promise_bind(thrum_stream_next(frontier), load_page, fetcher, NULL);
}

static struct thrum_promise *archive_next(struct thrum_loop *loop);

static struct thrum_promise *archive_page(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	if (!value || ++archived == GOAL)
		return thrum_promise_return(loop, thrum_value_none());
	if (archived % 200 == 0) {
		printf("%d pages, %d links skipped\n", archived, skipped);
		fflush(stdout);
	}
	return archive_next(loop);
}

static struct thrum_promise *archive_next(struct thrum_loop *loop)
{
	(void)loop;
	return thrum_promise_bind(thrum_stream_next(pages), archive_page, NULL, NULL);
}

int main(int argc, char **argv)
{
	static struct fetcher fetchers[FETCHERS];
	struct thrum_promise *all[FETCHERS + 1], *crawl;
	struct thrum_loop *loop;
	uv_loop_t uv;
	uv_timer_t keep;
	int code;

	waits_for_room = argc > 1 && !strcmp(argv[1], "broken");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &keep);
	frontier = thrum_stream_create(loop, "frontier", FRONTIER);
	pages = thrum_stream_create(loop, "pages", 8);
	if (!frontier || !pages)
		return 1;
	for (int i = 1; i <= 6; i++)
		if (!thrum_stream_try_push(frontier, thrum_value_int(i * 100)))
			return 1;
	for (int i = 0; i < FETCHERS; i++) {
		fetchers[i].loop = loop;
		fetchers[i].number = i + 1;
		all[i] = thrum_promise_labelf(fetch_next(&fetchers[i]), "fetcher %d", i + 1);
	}
	all[FETCHERS] = thrum_promise_label(archive_next(loop), "archiver");
	crawl = thrum_promise_label(thrum_promise_join(loop, all, FETCHERS + 1), "crawl");
	crawl = thrum_promise_should_resolve(crawl);
	code = thrum_promise_run(crawl);
	/* A crawl goes on until it is stopped from outside. */
	fprintf(stderr, "crawl: %s after %d pages\n", thrum_promise_error_message(code), archived);
	for (;;)
		uv_sleep(1000);
}
