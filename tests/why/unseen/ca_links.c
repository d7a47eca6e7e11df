/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 3500
 *   ask: why
 *   truth: The parser waits for room in the stream "frontier" for each link that it finds, and the fetchers wait for
 *     room in the stream "pages". A page with very many links fills both: the parser, which alone takes from "pages",
 *     waits for the fetchers, which alone take from "frontier" and wait for the parser.
 *   culprit: frontier|parser|put_link
 *   victim: check all|site
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A checker of web sites on promises: two fetchers and a parser, with streams between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SITES 6
#define FRONTIER 6
#define PAGES 3

struct site;

struct page {
	struct site *site;
	unsigned links;
	unsigned put;
};

struct site {
	unsigned number;
	unsigned open; /* pages that are not parsed yet */
	unsigned count;
	struct page pages[40];
	struct thrum_resolver *checked;
};

static bool patient;
static struct thrum_loop *loop;
static struct thrum_stream *frontier, *pages;
static struct site sites[SITES];
static unsigned reports;

static struct thrum_promise *fetch_next(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *parse_next(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *put_link(struct thrum_loop *loop, void *value, void *data);

static struct page *new_page(struct site *site, unsigned links)
{
	struct page *page = &site->pages[site->count++];

	page->site = site;
	page->links = links;
	site->open++;
	return page;
}

static struct thrum_promise *hand_on(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_stream_push(pages, thrum_value_static(data));
}

static struct thrum_promise *fetch_page(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *fetched = thrum_promise_bind(thrum_sleep(loop, 5), hand_on, value,
		NULL);

	return thrum_promise_bind(fetched, fetch_next, data, NULL);
}

static struct thrum_promise *fetch_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(frontier), fetch_page, data, NULL);
}

static void end_page(struct page *page)
{
	struct site *site = page->site;

	if (--site->open == 0)
		thrum_resolver_resolve(site->checked, thrum_value_none());
}

/* Puts the page's next link into the frontier, or ends the page if there is none. */
static struct thrum_promise *put_link(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;
	struct thrum_promise *pushed;

	while (page->put < page->links) {
		page->put++;
		pushed = thrum_stream_push(frontier, thrum_value_static(new_page(page->site, 0)));
		if (patient)
			return thrum_promise_bind(pushed, put_link, page, NULL);
		thrum_promise_ignore_result(pushed);
	}
	end_page(page);
	return parse_next(loop, value, NULL);
}

static struct thrum_promise *parse_page(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	return thrum_promise_bind(thrum_sleep(loop, 1), put_link, value, NULL);
}

static struct thrum_promise *parse_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_stream_next(pages), parse_page, NULL, NULL);
}

/* Checks one site, from its front page on. */
static struct thrum_promise *check_site(struct site *site)
{
	struct thrum_promise *checked = thrum_promise_task(loop, "site", &site->checked);

	thrum_promise_labelf(checked, "site %u", site->number);
	thrum_promise_ignore_result(thrum_stream_push(frontier,
		thrum_value_static(new_page(site, site->number == SITES ? 30 : 2 + site->number))));
	return checked;
}

static struct thrum_promise *check_next(struct thrum_loop *loop, void *value, void *data)
{
	unsigned index = (unsigned)thrum_int(data);

	(void)value;
	if (index == SITES)
		return thrum_promise_return(loop, thrum_value_none());
	sites[index].number = index + 1;
	return thrum_promise_bind(check_site(&sites[index]), check_next,
		(void *)(intptr_t)(index + 1), NULL);
}

static void save_report(uv_timer_t *timer)
{
	(void)timer;
	reports++;
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *all;
	uv_timer_t timer;
	int result;

	patient = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &timer);
	uv_timer_start(&timer, save_report, 200, 200);
	frontier = thrum_stream_create(loop, "frontier", FRONTIER);
	pages = thrum_stream_create(loop, "pages", PAGES);
	thrum_promise_ignore_result(thrum_promise_label(fetch_next(loop, NULL, NULL), "fetcher 1"));
	thrum_promise_ignore_result(thrum_promise_label(fetch_next(loop, NULL, NULL), "fetcher 2"));
	thrum_promise_ignore_result(thrum_promise_label(parse_next(loop, NULL, NULL), "parser"));
	all = thrum_promise_label(check_next(loop, NULL, NULL), "check all");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%d: %u pages at the last site\n", result, sites[SITES - 1].count);
	uv_close((uv_handle_t *)&timer, NULL);
	thrum_stream_destroy(frontier);
	thrum_stream_destroy(pages);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	return 0;
}
