/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: cache_store adds the time to live in seconds to a clock in milliseconds, so that answers expire
 *     at once: nearly each page asks the name server again, which adds dns queries and makes pages slower
 *   culprit: dns query|query_server
 *   victim: page|browser|fetch
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Three readers fetch pages from a few hosts, whose addresses a cache keeps for the time that the
 * server tells. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	BROWSERS = 3,
	PAGES = 20,
	HOSTS = 4
};

struct host {
	char name[24];
	int address;
	uint64_t expires; /* in ms, of uv_now */
	struct thrum_promise *asking;
};

struct network {
	uv_loop_t *uv;
	struct host hosts[HOSTS];
	unsigned server_ttl; /* seconds */
	unsigned unit;       /* ms in a unit of the server's time to live */
	int queries, hits;
};

struct browser {
	struct network *network;
	int number, page;
};

struct visit {
	struct network *network;
	int host, page;
};

/* ---- Cache of names -------------------------------------------------------------------------- */

static void cache_store(struct network *network, struct host *host, int address, unsigned ttl)
{
	host->address = address;
	host->expires = uv_now(network->uv) + (uint64_t)ttl * network->unit;
}

static bool cache_find(struct network *network, struct host *host, int *address)
{
	if (!host->address || host->expires <= uv_now(network->uv))
		return false;
	*address = host->address;
	network->hits++;
	return true;
}

struct query {
	struct network *network;
	struct host *host;
};

static struct thrum_value on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;
	struct host *host = query->host;

	(void)loop;
	(void)value;
	cache_store(query->network, host, 10 + (int)(host - query->network->hosts),
		query->network->server_ttl);
	thrum_promise_unref(host->asking);
	host->asking = NULL;
	return thrum_value_int(host->address);
}

/* Asks the name server. */
static struct thrum_promise *query_server(struct thrum_loop *loop, struct network *network,
	struct host *host)
{
	struct query *query = malloc(sizeof(*query));

	*query = (struct query){network, host};
	network->queries++;
	return thrum_promise_map(thrum_promise_label(thrum_sleep(loop, 9), "dns query"), on_answer,
		query, free);
}

static struct thrum_promise *resolve(struct thrum_loop *loop, struct network *network, int number)
{
	struct host *host = &network->hosts[number];
	int address;

	if (cache_find(network, host, &address))
		return thrum_promise_return(loop, thrum_value_int(address));
	if (!host->asking)
		host->asking = query_server(loop, network, host);
	return thrum_promise_ref(host->asking);
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static struct thrum_value on_body(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_value_int(1);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *value, void *data)
{
	struct visit *visit = data;
	struct thrum_promise *body;

	if (!thrum_int(value))
		return thrum_promise_fail(loop, 1, "no address");
	body = thrum_promise_label(thrum_sleep(loop, 4 + (unsigned)visit->page % 3), "fetch");
	return thrum_promise_map(body, on_body, NULL, NULL);
}

static struct thrum_promise *next_page(struct thrum_loop *, void *value, void *data);

static struct thrum_promise *after_page(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	/* Reads it, for a moment. */
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 7), "reading"), next_page,
		data, NULL);
}

static struct thrum_promise *next_page(struct thrum_loop *loop, void *value, void *data)
{
	struct browser *browser = data;
	struct thrum_promise *page;
	struct visit *visit;

	(void)value;
	if (browser->page == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	visit = malloc(sizeof(*visit));
	*visit = (struct visit){browser->network, (browser->page + browser->number) % HOSTS,
		browser->page};
	page = thrum_promise_bind(resolve(loop, browser->network, visit->host), fetch, visit, free);
	page = thrum_promise_labelf(page, "page %d", browser->number * PAGES + browser->page++);
	return thrum_promise_bind(page, after_page, browser, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *promises[BROWSERS], *all;
	struct browser browsers[BROWSERS];
	struct network network = {.server_ttl = 5};
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	network.uv = &uv;
	network.unit = argc > 1 && !strcmp(argv[1], "broken") ? 1 : 1000;
	for (int i = 0; i < HOSTS; i++)
		snprintf(network.hosts[i].name, sizeof(network.hosts[i].name), "host%d.example", i);
	for (int i = 0; i < BROWSERS; i++) {
		browsers[i] = (struct browser){&network, i, 0};
		promises[i] = thrum_promise_bind(thrum_sleep(loop, (unsigned)i * 2), next_page,
			&browsers[i], NULL);
		promises[i] = thrum_promise_labelf(promises[i], "browser %d", i);
	}
	all = thrum_promise_label(thrum_promise_join(loop, promises, BROWSERS), "all browsers");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%d pages, %d queries, %d hits\n", BROWSERS * PAGES, network.queries, network.hits);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
