/* SPDX-License-Identifier: ISC */
/*
 * After pgbouncer/pgbouncer #357.
 *
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=query
 *   truth: All applications share one pool of server connections. Now and then the reporting application runs four long
 *     queries at once, "report 1" to "report 4" and so on, and they hold all connections. The slow queries of the shop
 *     only wait for one; they take no longer than the others themselves.
 *   culprit: report|server connections
 *   victim: query
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A pooler for connections to a database, which a shop and a reporting application use. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CONNECTIONS = 4,
	CLIENTS = 3,
	QUERIES = 40,
	BATCHES = 3,
	REPORTS = 4
};
enum {
	QUERY_MS = 2,
	REPORT_MS = 90,
	THINK_MS = 5,
	BATCH_MS = 110
};

struct client {
	int left; /* queries */
};

static struct thrum_loop *loop;
static struct thrum_semaphore *shop_pool;
static struct thrum_semaphore *report_pool; /* the same one in the broken program */
static struct client clients[CLIENTS];
static int queries, reports, batches;

static struct thrum_promise *run_query(struct thrum_loop *own, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(own, QUERY_MS), "the server looks up rows");
}

static struct thrum_promise *run_report(struct thrum_loop *own, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(own, REPORT_MS), "the server sums up sales");
}

/* ---- The shop ------------------------------------------------------------------------------- */

static struct thrum_promise *client_query(struct thrum_loop *own, void *value, void *data);

static struct thrum_promise *client_think(struct thrum_loop *own, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	if (!--client->left)
		return thrum_promise_return(own, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(own, THINK_MS), client_query, client, NULL);
}

static struct thrum_promise *client_query(struct thrum_loop *own, void *value, void *data)
{
	struct thrum_promise *query = thrum_semaphore_with(shop_pool, run_query, NULL, NULL);

	(void)own;
	(void)value;
	query = thrum_promise_labelf(query, "query %d", ++queries);
	thrum_promise_should_resolve(query);
	return thrum_promise_bind(query, client_think, data, NULL);
}

static struct thrum_promise *client_begin(struct thrum_loop *own, struct client *client)
{
	client->left = QUERIES;
	return client_query(own, NULL, client);
}

/* ---- The reports ---------------------------------------------------------------------------- */

static struct thrum_promise *batch_wait(struct thrum_loop *own, void *value, void *data);

static struct thrum_promise *batch_run(struct thrum_loop *own, void *value, void *data)
{
	struct thrum_promise *all[REPORTS];

	(void)value;
	for (int i = 0; i < REPORTS; i++) {
		all[i] = thrum_semaphore_with(report_pool, run_report, NULL, NULL);
		all[i] = thrum_promise_labelf(all[i], "report %d", ++reports);
	}
	return thrum_promise_bind(thrum_promise_join(own, all, REPORTS), batch_wait, data, NULL);
}

static struct thrum_promise *batch_wait(struct thrum_loop *own, void *value, void *data)
{
	(void)value;
	if (batches++ == BATCHES)
		return thrum_promise_return(own, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(own, BATCH_MS), batch_run, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[CLIENTS + 1], *day;
	bool broken;
	int code;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	shop_pool = thrum_semaphore_create(loop, "server connections", CONNECTIONS);
	report_pool = shop_pool;
	if (!broken)
		report_pool = thrum_semaphore_create(loop, "server connections for reports",
			CONNECTIONS);
	for (int i = 0; i < CLIENTS; i++)
		all[i] = client_begin(loop, &clients[i]);
	all[CLIENTS] = batch_wait(loop, NULL, NULL);
	day = thrum_promise_label(thrum_promise_join(loop, all, CLIENTS + 1), "day");
	thrum_promise_should_resolve(day);
	code = thrum_promise_run(day);
	thrum_stop();
	printf("%d queries, %d reports; %s\n", queries, reports, thrum_promise_error_message(code));
	if (report_pool != shop_pool)
		thrum_semaphore_destroy(report_pool);
	thrum_semaphore_destroy(shop_pool);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code ? 1 : 0;
}
