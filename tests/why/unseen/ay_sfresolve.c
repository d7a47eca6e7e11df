/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: zone_load shares one load of a zone among all who ask. The first asker's own load chain fills the
 *     shared entry; when that asker times out, its chain is cancelled, and on_zone_data is skipped, so
 *     nobody ends the shared entry "zone corp.example" and the later askers wait for ever
 *   culprit: zone corp\.example|on_zone_data|fetch corp\.example|zone_load
 *   victim: query [0-9]+|all queries
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A caching resolver that loads each zone only once, whoever asks for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ZONES 3
#define QUERIES 12

struct zone {
	const char *name;
	unsigned latency;
	char *records;                 /* NULL: not loaded yet */
	struct thrum_promise *loading; /* shared by all who wait */
	struct thrum_resolver *loaded;
};

struct query {
	int number;
	struct zone *zone;
	unsigned patience, start;
};

static struct zone zones[ZONES] = {
	{.name = "lan.example", .latency = 8},
	{.name = "corp.example", .latency = 120},
	{.name = "dmz.example", .latency = 25},
};
static int answered, timed_out;
static bool keep_on_failure;

static void zone_done(struct zone *zone)
{
	struct thrum_promise *shared = zone->loading;

	zone->loading = NULL;
	thrum_promise_unref(shared);
}

static struct thrum_promise *on_zone_data(struct thrum_loop *loop, void *value, void *data)
{
	struct zone *zone = data;
	struct thrum_resolver *loaded = zone->loaded;

	(void)value;
	zone->records = strdup(zone->name);
	zone->loaded = NULL;
	zone_done(zone);
	thrum_resolver_resolve(loaded, thrum_value_static(zone->records));
	return thrum_promise_return(loop, thrum_value_static(zone->records));
}

/* Hands the failure on to all who wait. */
static struct thrum_promise *on_zone_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct zone *zone = data;
	struct thrum_resolver *loaded = zone->loaded;

	zone->loaded = NULL;
	zone_done(zone);
	thrum_resolver_fail(loaded, -EAGAIN, "the load was given up");
	return thrum_promise_fail_again(loop, failure);
}

/* Asks the primary for the zone. */
static struct thrum_promise *zone_fetch(struct thrum_loop *loop, struct zone *zone)
{
	return thrum_promise_labelf(thrum_sleep(loop, zone->latency), "fetch %s", zone->name);
}

static struct thrum_promise *zone_load(struct thrum_loop *loop, struct zone *zone)
{
	char label[64];

	if (zone->records)
		return thrum_promise_return(loop, thrum_value_static(zone->records));
	if (zone->loading)
		return thrum_promise_protected(thrum_promise_ref(zone->loading));
	snprintf(label, sizeof(label), "zone %s", zone->name);
	zone->loading = thrum_promise_wait(loop, label, &zone->loaded);
	/* The first one who asks does the work. */
	if (keep_on_failure)
		return thrum_promise_try_bind(zone_fetch(loop, zone), on_zone_data, on_zone_failure,
			zone, NULL);
	return thrum_promise_bind(zone_fetch(loop, zone), on_zone_data, zone, NULL);
}

static struct thrum_promise *query_answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	(void)value;
	answered++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *query_lookup(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *query_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct query *query = data;

	if (failure->code == -EAGAIN)
		return query_lookup(loop, NULL, query);
	timed_out++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *query_lookup(struct thrum_loop *loop, void *value, void *data)
{
	struct query *query = data;
	struct thrum_promise *found = zone_load(loop, query->zone);

	(void)value;
	if (query->patience)
		found = thrum_timeout(found, query->patience);
	return thrum_promise_try_bind(found, query_answer, query_failed, query, NULL);
}

static struct thrum_promise *query_start(struct thrum_loop *loop, struct query *query)
{
	struct thrum_promise *run;

	run = thrum_promise_bind(thrum_sleep(loop, query->start), query_lookup, query, NULL);

	return thrum_promise_should_resolve(thrum_promise_labelf(run, "query %d", query->number));
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[QUERIES];
	struct query queries[QUERIES];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	keep_on_failure = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < QUERIES; i++) {
		queries[i] = (struct query){.number = i,
			.zone = &zones[i % ZONES],
			.start = 5 + (unsigned)i * 6};
		/* An impatient stub resolver asks for the second query only. */
		queries[i].patience = i == 1 ? 50 : 0;
		all[i] = query_start(loop, &queries[i]);
	}
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, QUERIES), "all queries"));
	if (error == -EDEADLK)
		for (;;)
			uv_sleep(1000); /* the server's listeners keep it here */
	thrum_stop();
	printf("%d answered, %d timed out\n", answered, timed_out);
	for (int i = 0; i < ZONES; i++)
		free(zones[i].records);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return error || uv_loop_close(&uv) ? 1 : 0;
}
