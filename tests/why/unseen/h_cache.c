/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 1500
 *   ask: why
 *   truth: Requests for a page that is being fetched wait for the promise "busy /feed". When the fetch fails and an old copy exists, serve_stale answers the request that fetched and should begin a refresh, which would end "busy /feed"; the limit of refreshes is reached, so it begins none and leaves the page busy. Nobody resolves "busy /feed", and the other requests for /feed wait for ever. Other pages' promises of the same kind are resolved.
 *   culprit: busy /feed|serve_stale|on_fetch_failed
 *   victim: GET /feed|all requests
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A cache in front of a slow origin: only one request fetches a page, the others wait for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

struct page {
	const char *path;
	unsigned origin_ms;
	int fails;         /* the fetch with this number fails; 0: none */
	unsigned grace_ms; /* for which an old copy will do; 0: it is the best that there is */
	const char *body;  /* the last good copy */
	bool fresh;
	int fetches;
	struct thrum_promise *busy; /* while it is being fetched */
	struct thrum_resolver *busy_resolver;
};

static struct page pages[] = {
	{.path = "/index", .origin_ms = 25},
	{.path = "/feed", .origin_ms = 40, .fails = 2, .grace_ms = 30},
	{.path = "/logo", .origin_ms = 15},
	{.path = "/news", .origin_ms = 50, .fails = 1},
	{.path = "/about", .origin_ms = 30, .fails = 2},
};
#define PAGES (sizeof(pages) / sizeof(pages[0]))
#define ROUNDS 3
#define CLIENTS 3 /* that ask for the same page at once */

static struct thrum_loop *loop;
static unsigned refreshes, refresh_limit;
static bool stopped;
static unsigned answered, bad_gateway, stale;

static void fetch_done(struct page *page)
{
	struct thrum_resolver *resolver = page->busy_resolver;

	thrum_promise_unref(page->busy);
	page->busy = NULL;
	page->busy_resolver = NULL;
	thrum_resolver_resolve(resolver, thrum_value_none());
}

static struct thrum_promise *answer(const char *body)
{
	answered++;
	if (!body)
		bad_gateway++;
	return thrum_promise_return(loop, thrum_value_static(body ? body : "502"));
}

static struct thrum_promise *on_refreshed(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	page->fetches++;
	page->fresh = true;
	fetch_done(page);
	return thrum_promise_return(loop, thrum_value_none());
}

/* Fetches a page again, in the background; it stays busy until then. */
static struct thrum_promise *refresh(struct thrum_loop *loop, void *data)
{
	struct page *page = data;
	struct thrum_promise *pause;

	pause = thrum_promise_labelf(thrum_sleep(loop, page->grace_ms), "refresh %s", page->path);
	return thrum_promise_bind(pause, on_refreshed, page, NULL);
}

static struct thrum_promise *serve_stale(struct page *page)
{
	stale++;
	if (page->grace_ms && refreshes < refresh_limit) {
		refreshes++;
		thrum_promise_async(loop, NULL, refresh, page, NULL);
	} else if (!page->grace_ms) {
		fetch_done(page);
	}
	return answer(page->body);
}

static struct thrum_promise *on_fetched(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	if (page->fetches == page->fails)
		return thrum_promise_fail(loop, -ECONNRESET, "origin closed the connection");
	page->body = page->path + 1;
	page->fresh = true;
	fetch_done(page);
	return answer(page->body);
}

static struct thrum_promise *on_fetch_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct page *page = data;

	if (page->body)
		return serve_stale(page);
	fetch_done(page);
	return answer(NULL);
}

static struct thrum_promise *fetch(struct page *page)
{
	struct thrum_promise *reply;

	page->busy = thrum_promise_labelf(thrum_promise_wait(loop, NULL, &page->busy_resolver),
		"busy %s", page->path);
	page->fetches++;
	reply = thrum_promise_labelf(thrum_sleep(loop, page->origin_ms), "origin %s", page->path);
	reply = thrum_promise_bind(reply, on_fetched, page, NULL);
	return thrum_promise_catch(reply, on_fetch_failed, page, NULL);
}

static struct thrum_promise *after_busy(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	return answer(page->body);
}

static struct thrum_promise *get(struct page *page)
{
	struct thrum_promise *promise;

	if (page->fresh)
		return answer(page->body);
	if (page->busy)
		promise = thrum_promise_bind(thrum_promise_ref(page->busy), after_busy, page, NULL);
	else
		promise = fetch(page);
	return thrum_promise_should_resolve(thrum_promise_labelf(promise, "GET %s", page->path));
}

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data)
{
	int round = (int)thrum_int(data);
	struct thrum_promise *requests[PAGES * CLIENTS + 1];
	size_t count = 0;

	for (size_t i = 0; i < PAGES; i++) {
		pages[i].fresh = false; /* expired */
		for (int j = 0; j < CLIENTS; j++)
			requests[count++] = get(&pages[i]);
	}
	requests[count++] = thrum_sleep(loop, 20);
	struct thrum_promise *all = thrum_promise_join(loop, requests, count);
	if (round + 1 < ROUNDS)
		all = thrum_promise_bind(all, next_round, (void *)(intptr_t)(round + 1), NULL);
	return thrum_promise_label(all, "all requests");
}

/* Asks the origin whether it lives. */
static struct thrum_promise *probe(struct thrum_loop *loop, void *value, void *data)
{
	if (stopped)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 25), "probe"), probe, NULL,
		NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all, *probes;
	int result;

	if (argc != 2)
		return 2;
	alarm(5);
	refresh_limit = strcmp(argv[1], "broken") ? 4 : 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	probes = probe(loop, NULL, NULL);
	all = next_round(loop, NULL, thrum_value_int(0).data);
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	stopped = true;
	result |= thrum_promise_run(probes);
	printf("%u answers, %u stale, %u bad gateway\n", answered, stale, bad_gateway);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
