/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: After the move to the new store, list_packs asks for the items of each pack with a query of its own: 20 times "select items" for a page, one after the other, instead of one query for all packs of the page.
 *   culprit: select items|read_items
 *   victim: GET /packs|select packs
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The catalogue of product packs of a management server; each page lists packs with their items. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	PAGES = 4,
	PACKS = 20,
	ROUND_TRIP = 3 /* ms to the database and back */
};

struct page {
	int number, packs_read, items;
};

static int broken, queries;

static struct thrum_promise *run_query(struct thrum_loop *loop, const char *what, int rows)
{
	queries++;
	return thrum_promise_label(thrum_sleep(loop, ROUND_TRIP + (uint64_t)rows / 50), what);
}

static struct thrum_promise *read_items(struct thrum_loop *loop, struct page *page);

static struct thrum_promise *on_items(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	page->items += 3 * (broken ? 1 : PACKS);
	page->packs_read += broken ? 1 : PACKS;
	if (page->packs_read < PACKS)
		return read_items(loop, page);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *read_items(struct thrum_loop *loop, struct page *page)
{
	int packs = broken ? 1 : PACKS; /* WHERE pack = $1, or WHERE pack = ANY($1) */

	return thrum_promise_bind(run_query(loop, "select items", 3 * packs), on_items, page, NULL);
}

static struct thrum_promise *on_packs(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return read_items(loop, data);
}

static struct thrum_promise *list_packs(struct thrum_loop *loop, struct page *page)
{
	return thrum_promise_bind(run_query(loop, "select packs", PACKS), on_packs, page, NULL);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	return thrum_promise_label(thrum_promise_should_resolve(list_packs(loop, page)),
		"GET /packs");
}

int main(int argc, char **argv)
{
	static struct page pages[PAGES];
	struct thrum_promise *all[PAGES];
	struct thrum_loop *loop;
	int result, items = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < PAGES; i++) {
		pages[i].number = i;
		all[i] = thrum_promise_bind(thrum_sleep(loop, (uint64_t)i * 20), serve, &pages[i],
			NULL);
	}
	result = thrum_promise_run(thrum_promise_join(loop, all, PAGES));
	for (int i = 0; i < PAGES; i++)
		items += pages[i].items;
	printf("%d items, %d queries\n", items, queries);
	thrum_stop();
	return result != 0;
}
