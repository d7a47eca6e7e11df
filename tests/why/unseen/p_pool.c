/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 900
 *   ask: why
 *   truth: each audit waits for an approval, which comes much later or never, while it keeps its place in the semaphore
 *     "db connections". After three audits all other queries wait for a connection for ever.
 *   culprit: audit|approval
 *   victim: report|db connections
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A report server: three database connections, many cheap reads from a cache. Nothing is marked. */
static struct thrum_semaphore *connections;
static struct thrum_loop *loop;
static bool give_back;
static int cache_hits;

/* An auditor approves by hand, perhaps tomorrow. */
static struct thrum_promise *audit_queried(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_resolver *resolver;

	if (give_back)
		thrum_semaphore_release(connections);
	return thrum_promise_wait(l, "approval", &resolver);
}

static struct thrum_promise *audit_got_connection(struct thrum_loop *l, void *value, void *data)
{
	return thrum_promise_bind(thrum_sleep(l, 4), audit_queried, NULL, NULL);
}

static struct thrum_promise *audit_approved(struct thrum_loop *l, void *data)
{
	if (!give_back)
		thrum_semaphore_release(connections);
	return thrum_promise_return(l, thrum_value_none());
}

static struct thrum_promise *audit(int number)
{
	struct thrum_promise *p = thrum_promise_bind(thrum_semaphore_acquire(connections),
		audit_got_connection, NULL, NULL);

	p = thrum_promise_finalize(p, audit_approved, NULL, NULL);
	return thrum_promise_labelf(p, "audit %d", number);
}

static struct thrum_promise *report_query(struct thrum_loop *l, void *data)
{
	return thrum_sleep(l, 3);
}

struct client {
	int number, turn;
};

static struct thrum_promise *client_turn(struct thrum_loop *l, void *value, void *data)
{
	struct client *client = data;
	struct thrum_promise *query;

	if (client->turn++ == 40)
		return thrum_promise_return(l, thrum_value_none());
	query = thrum_semaphore_with(connections, report_query, NULL, NULL);
	thrum_promise_labelf(query, "report %d.%d", client->number, client->turn);
	return thrum_promise_bind(query, client_turn, client, NULL);
}

static struct thrum_promise *audit_turn(struct thrum_loop *l, void *value, void *data)
{
	int number = (int)(intptr_t)data;

	if (number)
		thrum_promise_ignore_result(audit(number));
	if (number == 3)
		return thrum_promise_return(l, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(l, 40), audit_turn, (void *)(intptr_t)(number + 1),
		NULL);
}

static struct thrum_value cache_hit(struct thrum_loop *l, void *value, void *data)
{
	cache_hits++;
	return thrum_value_none();
}

/* The cache's traffic goes on, whatever the database does. */
static struct thrum_promise *cache_turn(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_resolver *resolver;

	for (int i = 0; i < 60; i++) {
		struct thrum_promise *get = thrum_promise_task(l, "cache get", &resolver);

		thrum_promise_unref(thrum_promise_map(get, cache_hit, NULL, NULL));
		thrum_resolver_resolve(resolver, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(l, 2), cache_turn, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[5], *traffic;
	struct client client[4];
	int result;

	give_back = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	connections = thrum_semaphore_create(loop, "db connections", 3);
	traffic = thrum_promise_label(cache_turn(loop, NULL, NULL), "cache traffic");
	for (int i = 0; i < 4; i++) {
		client[i] = (struct client){i, 0};
		all[i] = thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, 1), client_turn,
						      &client[i], NULL),
			"report client %d", i);
	}
	all[4] = thrum_promise_label(audit_turn(loop, NULL, NULL), "auditor");
	result = thrum_promise_run(thrum_promise_join(loop, all, 5));
	/* serve the cache a little longer, then stop normally */
	if (thrum_promise_run(thrum_sleep(loop, 400)))
		return 2;
	thrum_stop();
	thrum_promise_cancel(traffic);
	printf("reports: %d, %d hits\n", result, cache_hits > 0);
	return result != 0;
}
