/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_resolver ended, as start_resolver unref'd its async: uv_run returned once it was idle.
 *   culprit: run_resolver
 *   victim: resolve_name|crawl_pages|answered
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A crawler with a resolver thread of its own. Crawlers post names; the loop answers them, one by one. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define CRAWLERS 2
#define PAGES 14
#define CACHE 8

struct query {
	const char *name;
	struct query *next;
	uv_timer_t upstream;
	bool is_done;
	unsigned address;
	pthread_cond_t answered;
};

static pthread_mutex_t query_lock = PTHREAD_MUTEX_INITIALIZER;
static struct query *queries, **queries_end = &queries;
static bool is_stopping;

static uv_loop_t loop;
static uv_async_t queries_came;
static uv_timer_t expiry, hints;
static const char *cache[CACHE];

static const char *const names[] = {"ada.test", "bob.test", "cyd.test", "dee.test", "eva.test"};

static unsigned hash_name(const char *name)
{
	unsigned hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static void answer_query(struct query *query)
{
	pthread_mutex_lock(&query_lock);
	query->address = hash_name(query->name);
	query->is_done = true;
	pthread_cond_signal(&query->answered);
	pthread_mutex_unlock(&query_lock);
}

static void on_upstream_closed(uv_handle_t *handle)
{
	answer_query(handle->data);
}

/* Plays the name server, which needs some milliseconds. */
static void on_upstream_answer(uv_timer_t *timer)
{
	const char *name = ((struct query *)timer->data)->name;

	cache[hash_name(name) % CACHE] = name;
	uv_close((uv_handle_t *)timer, on_upstream_closed);
}

static void start_query(struct query *query)
{
	unsigned slot = hash_name(query->name) % CACHE;

	if (cache[slot] && strcmp(cache[slot], query->name) == 0) {
		answer_query(query);
		return;
	}
	uv_timer_init(&loop, &query->upstream);
	query->upstream.data = query;
	uv_timer_start(&query->upstream, on_upstream_answer, 4, 0);
}

static void on_queries(uv_async_t *async)
{
	struct query *query, *next;
	bool stops;

	pthread_mutex_lock(&query_lock);
	query = queries;
	queries = NULL;
	queries_end = &queries;
	stops = is_stopping;
	pthread_mutex_unlock(&query_lock);
	for (; query; query = next) {
		next = query->next;
		start_query(query);
	}
	if (stops) {
		uv_close((uv_handle_t *)async, NULL);
		uv_close((uv_handle_t *)&expiry, NULL);
		uv_close((uv_handle_t *)&hints, NULL);
	}
}

static void on_expiry(uv_timer_t *timer)
{
	cache[uv_now(timer->loop) / 10 % CACHE] = NULL;
}

static void on_hints(uv_timer_t *timer)
{
	uv_timer_stop(timer); /* the root servers are known */
}

static void *run_resolver(void *data)
{
	(void)data;
	uv_run(&loop, UV_RUN_DEFAULT);
	return NULL;
}

static void start_resolver(pthread_t *thread, bool unrefs_all)
{
	uv_loop_init(&loop);
	uv_async_init(&loop, &queries_came, on_queries);
	uv_timer_init(&loop, &hints);
	uv_timer_start(&hints, on_hints, 30, 0);
	uv_timer_init(&loop, &expiry);
	uv_timer_start(&expiry, on_expiry, 10, 10);
	/* Housekeeping must not keep the loop. */
	uv_unref((uv_handle_t *)&expiry);
	if (unrefs_all)
		uv_unref((uv_handle_t *)&queries_came);
	pthread_create(thread, NULL, run_resolver, NULL);
}

static void post_query(struct query *query)
{
	pthread_mutex_lock(&query_lock);
	if (query) {
		*queries_end = query;
		queries_end = &query->next;
	} else {
		is_stopping = true;
	}
	pthread_mutex_unlock(&query_lock);
	uv_async_send(&queries_came);
}

static unsigned resolve_name(const char *name)
{
	struct query *query = calloc(1, sizeof(*query));
	unsigned address;

	query->name = name;
	pthread_cond_init(&query->answered, NULL);
	post_query(query);
	pthread_mutex_lock(&query_lock);
	while (!query->is_done)
		pthread_cond_wait(&query->answered, &query_lock);
	address = query->address;
	pthread_mutex_unlock(&query_lock);
	free(query);
	return address;
}

static void *crawl_pages(void *data)
{
	for (int i = 0; i < PAGES; i++)
		if (resolve_name(names[(i + *(int *)data) % 5]))
			uv_sleep(12); /* fetches the page */
	return NULL;
}

int main(int argc, char **argv)
{
	int starts[CRAWLERS] = {0, 2};
	pthread_t resolver, crawlers[CRAWLERS];

	start_resolver(&resolver, argc > 1 && strcmp(argv[1], "broken") == 0);
	for (int i = 0; i < CRAWLERS; i++)
		pthread_create(&crawlers[i], NULL, crawl_pages, &starts[i]);
	for (int i = 0; i < CRAWLERS; i++)
		pthread_join(crawlers[i], NULL);
	post_query(NULL);
	pthread_join(resolver, NULL);
	printf("%d pages, loop closed: %d\n", CRAWLERS * PAGES, uv_loop_close(&loop));
	return 0;
}
