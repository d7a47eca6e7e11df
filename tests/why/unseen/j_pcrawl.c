/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: The fetcher takes addresses from "frontier" and pushes pages into "pages"; the parser takes pages and pushes
 *     their links into "frontier". Both streams are bounded, and a page has more links than there is room for: the
 *     parser waits for room in "frontier", the fetcher for room in "pages", and each is the only one to make it.
 *   culprit: frontier|pages
 *   victim: crawl site|write report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A crawler: a fetcher and a parser with a stream in each direction. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SITE 60 /* addresses */
#define LINKS 3 /* new ones on a page, as long as there are any */

struct page {
	int address;
	int links; /* that are not pushed yet */
};

static bool broken;
static int known, parsed;
static int addresses[SITE];
static struct thrum_stream *frontier, *pages;

static struct thrum_promise *fetch_next(void);
static struct thrum_promise *parse_next(void);

/* ---- Fetches pages ---- */

static struct thrum_promise *fetch_pushed(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return fetch_next();
}

static struct thrum_promise *fetch_done(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = malloc(sizeof(*page));

	(void)loop;
	(void)value;
	page->address = *(int *)data;
	page->links = LINKS;
	return thrum_promise_bind(thrum_stream_push(pages, thrum_value_own(page, free)),
		fetch_pushed, NULL, NULL);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	if (!value) {
		thrum_stream_close(pages);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, 1), "GET /%d",
					  *(int *)value),
		fetch_done, value, NULL);
}

static struct thrum_promise *fetch_next(void)
{
	return thrum_promise_bind(thrum_stream_next(frontier), fetch, NULL, NULL);
}

/* ---- Parses pages ---- */

static struct thrum_promise *push_links(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;
	struct thrum_promise *pushed;

	(void)loop;
	(void)value;
	if (page->links == 0 || known == SITE) {
		free(page);
		if (++parsed == known)
			thrum_stream_close(frontier); /* all is parsed, and nothing new was found */
		return parse_next();
	}
	page->links--;
	addresses[known] = known;
	pushed = thrum_stream_push(frontier, thrum_value_static(&addresses[known++]));
	return thrum_promise_bind(pushed, push_links, page, NULL);
}

static struct thrum_promise *parse(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value page;

	(void)data;
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	if (!thrum_loop_take(loop, &page))
		return thrum_promise_fail(loop, -EBUSY, "the page is shared");
	return push_links(loop, NULL, page.data);
}

static struct thrum_promise *parse_next(void)
{
	return thrum_promise_bind(thrum_stream_next(pages), parse, NULL, NULL);
}

/* ---- The site ---- */

static struct thrum_promise *write_report(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	printf("%d pages\n", parsed);
	return thrum_promise_return(loop, thrum_value_none());
}

/* A crawl can be stopped from the terminal. */
static void stopped(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	exit(130);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *both[2], *crawl;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thrum_promise_on_success(thrum_signal_wait(loop, SIGINT), stopped, NULL, NULL);
	frontier = thrum_stream_create(loop, "frontier", broken ? 8 : SITE);
	pages = thrum_stream_create(loop, "pages", 2);
	if (!thrum_stream_try_push(frontier, thrum_value_static(&addresses[known++])))
		return 1;
	both[0] = thrum_promise_label(fetch_next(), "fetcher");
	both[1] = thrum_promise_label(parse_next(), "parser");
	crawl = thrum_promise_label(thrum_promise_join(loop, both, 2), "crawl site");
	crawl = thrum_promise_bind(crawl, write_report, NULL, NULL);
	thrum_promise_label(thrum_promise_should_resolve(crawl), "write report");
	if (thrum_promise_run(crawl))
		return 1;
	thrum_stop();
	return 0;
}
