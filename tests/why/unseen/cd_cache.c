/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: varnish-cache issue #2978 ("Waitinglist rushing of hit-for-pass is delayed"): the page may not be cached, so
 *     each request on the waiting list fetches it itself. In the broken program a request that was woken wakes the
 *     next one (hsh_rush) only after its own answer is delivered, in the healthy one as soon as it is awake. So
 *     "GET /news" takes far longer, because of its waits for "waitinglist": the fetches run one after the other.
 *   culprit: waitinglist|hsh_rush
 *   victim: GET /news
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* An HTTP cache on promises. The first request for a page fetches it, and the others wait for that. A page that must
 * not be cached is marked, and fetched for each request. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CLIENTS 10
#define GROUPS 8

struct page {
	const char *path;
	struct thrum_condition *waitinglist;
	bool busy;         /* the first request fetches it */
	bool hit_for_pass; /* it must not be cached */
	bool private;
	bool in_cache;
};

static struct page news = {.path = "/news", .private = true};
static struct page logo = {.path = "/logo"};
static bool rush_early;
static unsigned groups, answers, fetches;

/* Wakes one request of those that wait for the page. */
static void hsh_rush(struct page *page)
{
	thrum_condition_signal(page->waitinglist, thrum_value_none());
}

/* ---- requests ---- */

static struct thrum_promise *delivered(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	answers++;
	if (!rush_early || !page->hit_for_pass)
		hsh_rush(page);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 7), "deliver"), delivered,
		data, NULL);
}

static struct thrum_promise *pass(struct thrum_loop *loop, struct page *page)
{
	fetches++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 6), "fetch"), deliver, page,
		NULL);
}

static struct thrum_promise *fetched(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	page->busy = false;
	page->in_cache = !page->private;
	page->hit_for_pass = page->private;
	if (page->in_cache)
		thrum_condition_broadcast(page->waitinglist, thrum_value_none());
	else
		hsh_rush(page);
	return deliver(loop, value, data);
}

static struct thrum_promise *lookup(struct thrum_loop *loop, struct page *page);

static struct thrum_promise *woken(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	if (rush_early && page->hit_for_pass)
		hsh_rush(page);
	return lookup(loop, page);
}

static struct thrum_promise *lookup(struct thrum_loop *loop, struct page *page)
{
	if (page->in_cache)
		return deliver(loop, NULL, page);
	if (page->hit_for_pass)
		return pass(loop, page);
	if (page->busy)
		return thrum_promise_bind(thrum_condition_wait(page->waitinglist, NULL), woken,
			page, NULL);
	page->busy = true;
	fetches++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 8), "fetch"), fetched, page,
		NULL);
}

static struct thrum_promise *get(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *answer = lookup(loop, page);

	thrum_promise_labelf(answer, "GET %s", page->path);
	return thrum_promise_should_resolve(answer);
}

/* ---- clients: many come at once, as the news has a link from elsewhere ---- */

static struct thrum_promise *group_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *group_begin(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[CLIENTS + 2];
	int i;

	(void)value;
	news.hit_for_pass = false; /* the mark has expired */
	for (i = 0; i < CLIENTS; i++)
		all[i] = get(loop, &news);
	all[CLIENTS] = get(loop, &logo);
	all[CLIENTS + 1] = get(loop, &logo);
	return thrum_promise_bind(thrum_promise_join(loop, all, CLIENTS + 2), group_next, data,
		NULL);
}

static struct thrum_promise *group_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (groups++ == GROUPS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 20), group_begin, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	rush_early = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	news.waitinglist = thrum_condition_create(loop, "waitinglist /news");
	logo.waitinglist = thrum_condition_create(loop, "waitinglist /logo");
	code = thrum_promise_run(thrum_promise_label(group_next(loop, NULL, NULL), "main"));
	thrum_stop();
	printf("%u answers, %u fetches, %d\n", answers, fetches, code);
	return code != 0;
}
