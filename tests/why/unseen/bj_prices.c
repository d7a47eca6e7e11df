/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: cache_key puts the number of the visit into the key of the price cache, so no look-up ever hits, and
 *     each GET queries the database for its price anew.
 *   culprit: query price|database
 *   victim: heartbeat|render page
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A shop's pages need prices, which come from a database or from a cache in front of it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define VISITORS 4
#define PAGES 20
#define ITEMS 5
#define CACHE 256

struct entry {
	char key[32];
	int price;
};

struct visit {
	int visitor;
	int page;
	int item;
	char key[32];
};

static struct entry cache[CACHE];
static size_t cached;
static int queries;
static int hits;
static bool plain_key;
static bool done;

static int item_price(int item)
{
	return 100 + item * 7;
}

/* The key holds all on which the price depends. */
static void cache_key(struct visit *visit)
{
	if (plain_key)
		snprintf(visit->key, sizeof visit->key, "eur/%d", visit->item);
	else
		snprintf(visit->key, sizeof visit->key, "eur/%d/%d.%d", visit->item, visit->visitor,
			visit->page);
}

static const struct entry *cache_find(const char *key)
{
	for (size_t i = 0; i < cached; i++) {
		if (strcmp(cache[i].key, key) == 0)
			return &cache[i];
	}
	return NULL;
}

static void cache_add(const char *key, int price)
{
	struct entry *entry = &cache[cached % CACHE];

	snprintf(entry->key, sizeof entry->key, "%s", key);
	entry->price = price;
	if (cached < CACHE)
		cached++;
}

static struct thrum_value query_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct visit *visit = data;
	int price = item_price(visit->item);

	(void)loop;
	(void)value;
	cache_add(visit->key, price);
	return thrum_value_int(price);
}

static struct thrum_promise *database_query(struct thrum_loop *loop, struct visit *visit)
{
	queries++;
	return thrum_promise_labelf(thrum_promise_map(thrum_sleep(loop, 25), query_answer, visit,
					    NULL),
		"query price %d", visit->item);
}

static struct thrum_promise *price_get(struct thrum_loop *loop, struct visit *visit)
{
	const struct entry *entry;

	cache_key(visit);
	entry = cache_find(visit->key);
	if (entry) {
		hits++;
		return thrum_promise_return(loop, thrum_value_int(entry->price));
	}
	return database_query(loop, visit);
}

static struct thrum_promise *page_render(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 2), "render page");
}

static struct thrum_promise *page_get(struct thrum_loop *loop, int visitor, int page)
{
	struct visit *visit = calloc(1, sizeof *visit);
	struct thrum_promise *price;

	visit->visitor = visitor;
	visit->page = page;
	visit->item = (visitor + page) % ITEMS;
	price = thrum_promise_bind(price_get(loop, visit), page_render, visit, free);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(price, "GET /item/%d", (visitor + page) % ITEMS));
}

struct visitor {
	int number;
	int page;
};

static struct thrum_promise *visitor_go_on(struct thrum_loop *loop, void *value, void *data)
{
	struct visitor *self = data;

	(void)value;
	if (self->page == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(page_get(loop, self->number, self->page++), visitor_go_on, self,
		NULL);
}

static struct thrum_promise *heartbeat(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (done)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 30), "heartbeat"),
		heartbeat, data, NULL);
}

int main(int argc, char **argv)
{
	struct visitor visitors[VISITORS];
	struct thrum_promise *all[VISITORS];
	struct thrum_promise *beat;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	plain_key = argc > 1 && strcmp(argv[1], "healthy") == 0;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	beat = heartbeat(loop, NULL, NULL);
	for (int i = 0; i < VISITORS; i++) {
		visitors[i] = (struct visitor){.number = i};
		all[i] = thrum_promise_labelf(visitor_go_on(loop, NULL, &visitors[i]), "visitor %d",
			i);
	}
	code = thrum_promise_run(thrum_promise_join(loop, all, VISITORS));
	done = true;
	if (code == 0)
		code = thrum_promise_run(beat);
	thrum_stop();
	printf("%d queries, %d hits, %s\n", queries, hits, thrum_promise_error_message(code));
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
