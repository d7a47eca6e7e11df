/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: save_entry runs while its edit holds the mutex "catalog". Every 20th edit also rebuilds the
 *     index, inside the same section, and rebuild_index takes "catalog" again. The edit waits for itself,
 *     and all later edits and browsers wait behind it.
 *   culprit: rebuild_index|rebuild index|edit 20\b
 *   victim: browse|edit 21\b
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A catalogue of a shop: an editor changes entries, browsers look at them. Both hold the catalogue's mutex. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ENTRIES 32
#define INDEX_EVERY 20

static struct thrum_mutex *catalog;
static int prices[ENTRIES];
static long sum_of_prices;
static bool index_inside;
static int edits, looks;

struct edit {
	int number;
	int entry;
	int price;
};

/* The index is written while nobody changes an entry. */
static struct thrum_promise *write_index(struct thrum_loop *loop, void *data)
{
	(void)data;
	sum_of_prices = 0;
	for (int i = 0; i < ENTRIES; i++)
		sum_of_prices += prices[i];
	return thrum_promise_label(thrum_sleep(loop, 2), "write index");
}

static struct thrum_promise *rebuild_index(void)
{
	return thrum_promise_label(thrum_mutex_with(catalog, write_index, NULL, NULL),
		"rebuild index");
}

static struct thrum_promise *after_entry(struct thrum_loop *loop, void *value, void *data)
{
	struct edit *edit = data;

	(void)value;
	prices[edit->entry] = edit->price;
	if (index_inside && edit->number % INDEX_EVERY == 0)
		return rebuild_index();
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *save_entry(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *written = thrum_promise_label(thrum_sleep(loop, 3), "write entry");

	return thrum_promise_label(thrum_promise_bind(written, after_entry, data, NULL),
		"save entry");
}

static struct thrum_promise *after_edit(struct thrum_loop *loop, void *value, void *data)
{
	struct edit *edit = data;

	(void)value;
	if (!index_inside && edit->number % INDEX_EVERY == 0)
		return rebuild_index();
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *begin_edit(struct thrum_loop *loop, void *data)
{
	struct edit *edit = data;
	struct thrum_promise *saved = thrum_mutex_with(catalog, save_entry, edit, NULL);

	(void)loop;
	saved = thrum_promise_labelf(saved, "entry %d", edit->entry);
	return thrum_promise_bind(saved, after_edit, edit, NULL);
}

static struct thrum_promise *end_edit(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

/* A browser counts what is cheap. */
static struct thrum_promise *look(struct thrum_loop *loop, void *data)
{
	int *cheap = data;

	*cheap = 0;
	for (int i = 0; i < ENTRIES; i++)
		*cheap += prices[i] < 50;
	looks++;
	return thrum_sleep(loop, 1);
}

static int cheap;

static void on_tick(uv_timer_t *timer)
{
	struct thrum_loop *loop = timer->data;
	struct edit *edit = calloc(1, sizeof(*edit));
	struct thrum_promise *promise;

	if (!edit)
		abort();
	edit->number = ++edits;
	edit->entry = edits * 7 % ENTRIES;
	edit->price = edits * 13 % 100;
	promise = begin_edit(loop, edit);
	promise = thrum_promise_finalize(promise, end_edit, edit, free);
	promise = thrum_promise_should_resolve(thrum_promise_labelf(promise, "edit %d", edits));
	thrum_promise_ignore_result(promise);
	if (edits % 30 == 0) {
		printf("%d edits, %d looks\n", edits, looks);
		fflush(stdout);
	}
	if (edits % 2 == 0) {
		promise = thrum_mutex_with(catalog, look, &cheap, NULL);
		promise = thrum_promise_labelf(promise, "browse %d", edits / 2);
		thrum_promise_ignore_result(thrum_promise_should_resolve(promise));
	}
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	uv_timer_t timer;
	struct thrum_loop *loop;

	index_inside = argc > 1 && !strcmp(argv[1], "broken");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	catalog = thrum_mutex_create(loop, "catalog");
	if (!catalog)
		return 1;
	uv_timer_init(&uv, &timer);
	timer.data = loop;
	uv_timer_start(&timer, on_tick, 10, 12);
	uv_run(&uv, UV_RUN_DEFAULT);
	printf("%d edits, %d looks, %ld\n", edits, looks, sum_of_prices);
	return 0;
}
