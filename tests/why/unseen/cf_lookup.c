/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=lookup
 *   truth: c-ares issue #550 ("Bad servers should be de-prioritized"): a query that times out at a server goes to the
 *     next one, but nobody remembers that the server was bad. So while the server 10.0.0.1 is down, each lookup that
 *     isn't in the cache waits 60 ms for it first ("ask 10.0.0.1"), though 10.0.0.2 would answer in 5 ms. In the
 *     healthy program servers are ordered by their failures.
 *   culprit: 10\.0\.0\.1
 *   victim: page|browser
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Looks up names for browsers: a cache, sockets to three servers, and what is tried if one doesn't answer. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define BROWSERS 5
#define PAGES 60
#define SERVERS 3
#define TIMEOUT_MS 60

struct server {
	const char *address;
	unsigned number;
	unsigned ms; /* its round trip */
	unsigned failures;
	bool down;
};

struct browser {
	unsigned number;
	unsigned pages;
};

struct query {
	unsigned name;
	unsigned tries;
	struct server *server;
};

static struct {
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_semaphore *sockets;
	struct server servers[SERVERS];
	bool cached[4096];
	unsigned hits, asked, timeouts;
	bool sorted, stopped;
} channel = {.servers = {{.address = "10.0.0.1", .ms = 4}, {.address = "10.0.0.2", .ms = 5},
		     {.address = "10.0.0.3", .ms = 6}}};

/* ---- servers ---- */

static struct server *next_server(const struct query *query)
{
	struct server *servers = channel.servers, *best;
	unsigned i;

	if (!channel.sorted)
		return &servers[query->tries % SERVERS];
	best = &servers[0];
	for (i = 1; i < SERVERS; i++) {
		if (servers[i].failures < best->failures)
			best = &servers[i];
	}
	return best;
}

static struct thrum_promise *send_query(struct thrum_loop *loop, void *data);

static struct thrum_promise *on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;

	(void)value;
	query->server->failures = 0;
	channel.cached[query->name] = true;
	free(query);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct query *query = data;

	if (failure->code != UV_ETIMEDOUT || ++query->tries == 2 * SERVERS)
		return thrum_promise_fail_again(loop, failure);
	channel.timeouts++;
	query->server->failures++;
	return send_query(loop, query);
}

static struct thrum_promise *send_query(struct thrum_loop *loop, void *data)
{
	struct query *query = data;
	struct server *server = next_server(query);
	struct thrum_promise *answer;

	query->server = server;
	channel.asked++;
	answer = thrum_promise_label(thrum_sleep(loop,
					     server->down ? 60000 : server->ms + query->name % 3),
		"answer");
	answer = thrum_promise_labelf(thrum_timeout(answer, TIMEOUT_MS), "ask %s", server->address);
	return thrum_promise_try_bind(answer, on_answer, on_failure, query, NULL);
}

/* ---- lookups ---- */

static struct thrum_promise *lookup(struct thrum_loop *loop, unsigned name)
{
	struct thrum_promise *found;
	struct query *query;

	if (channel.cached[name]) {
		channel.hits++;
		found = thrum_promise_label(thrum_sleep(loop, 1), "read cache");
	} else {
		query = calloc(1, sizeof(*query));
		query->name = name;
		found = thrum_semaphore_with(channel.sockets, send_query, query, NULL);
	}
	return thrum_promise_should_resolve(thrum_promise_label(found, "lookup"));
}

static struct thrum_promise *browser_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *render(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 9), "render"), browser_next,
		data, NULL);
}

static struct thrum_promise *browser_next(struct thrum_loop *loop, void *value, void *data)
{
	struct browser *browser = data;
	unsigned name;

	(void)value;
	if (browser->pages == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	browser->pages++;
	name = browser->pages % 3 ? browser->pages % 8 : browser->number * 500 + browser->pages;
	return thrum_promise_bind(lookup(loop, name), render, browser, NULL);
}

/* ---- the network ---- */

static struct thrum_promise *restarted(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	channel.servers[0].down = false;
	return thrum_promise_return(loop, thrum_value_none());
}

/* The first server restarts. */
static struct thrum_promise *restart(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	channel.servers[0].down = true;
	return thrum_promise_bind(thrum_sleep(loop, 260), restarted, data, NULL);
}

static struct thrum_promise *maintain(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 400), restart, data, NULL);
}

int main(int argc, char **argv)
{
	static struct browser browsers[BROWSERS];
	struct thrum_promise *all[BROWSERS];
	int code;
	unsigned i;

	if (argc < 2)
		return 2;
	channel.sorted = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&channel.uv);
	if (thrum_loop_create(&channel.uv, &channel.loop))
		return 1;
	channel.sockets = thrum_semaphore_create(channel.loop, "sockets", 8);
	thrum_promise_async(channel.loop, "maintenance", maintain, NULL, NULL);
	for (i = 0; i < BROWSERS; i++) {
		browsers[i].number = i + 1;
		all[i] = thrum_promise_labelf(browser_next(channel.loop, NULL, &browsers[i]),
			"browser %u", i + 1);
	}
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(channel.loop, all, BROWSERS), "main"));
	thrum_stop();
	printf("%u hits, %u asked, %u timeouts, %d\n", channel.hits, channel.asked,
		channel.timeouts, code);
	return code != 0;
}
