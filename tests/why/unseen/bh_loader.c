/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the loader collects keys for some milliseconds and asks for all of them in one batch. on_rows
 *     ends what was asked for, but when a batch fails (the database was restarted once), nobody ends the
 *     loads of that batch, so their pages wait for ever.
 *   culprit: batch|send_batch
 *   victim: page \d+|main\b
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	BATCH = 8,
	VISITORS = 5
};

struct batch {
	unsigned number, count;
	int keys[BATCH];
	struct thrum_resolver *waiting[BATCH];
};

static struct thrum_loop *loop;
static struct batch *collecting;
static unsigned batches, pages, restarts;
static bool tell_failures;

/* ---- The database ---- */

static struct thrum_promise *answer(struct thrum_loop *of, void *value, void *data)
{
	struct batch *batch = data;

	(void)value;
	if (batch->number % 12 == 9 && restarts < 1) {
		restarts++;
		return thrum_promise_fail(of, -ECONNRESET, "the server was restarted");
	}
	return thrum_promise_return(of, thrum_value_static(batch));
}

static struct thrum_promise *query(struct batch *batch)
{
	return thrum_promise_bind(thrum_sleep(loop, 4), answer, batch, NULL);
}

/* ---- The loader ---- */

static void on_rows(struct thrum_loop *of, void *value, void *data)
{
	struct batch *batch = data;

	(void)of;
	(void)value;
	for (unsigned i = 0; i < batch->count; i++)
		thrum_resolver_resolve(batch->waiting[i], thrum_value_int(batch->keys[i] * 3));
	free(batch);
}

static void on_no_rows(struct thrum_loop *of, const struct thrum_failure *failure, void *data)
{
	struct batch *batch = data;

	(void)of;
	if (!tell_failures) {
		fprintf(stderr, "batch %u: %s\n", batch->number, failure->message);
		return;
	}
	for (unsigned i = 0; i < batch->count; i++)
		thrum_resolver_fail_again(batch->waiting[i], failure);
	free(batch);
}

static struct thrum_promise *send_batch(struct thrum_loop *of, void *value, void *data)
{
	struct batch *batch = collecting;
	struct thrum_promise *rows;

	(void)value;
	(void)data;
	collecting = NULL;
	rows = thrum_promise_labelf(query(batch), "batch %u", batch->number);
	thrum_promise_on_any(rows, on_rows, on_no_rows, batch, NULL);
	return thrum_promise_return(of, thrum_value_none());
}

static struct thrum_promise *load(int key)
{
	struct thrum_promise *row;

	if (!collecting) {
		collecting = calloc(1, sizeof *collecting);
		if (!collecting)
			abort();
		collecting->number = batches++;
		thrum_promise_ignore_result(
			thrum_promise_bind(thrum_sleep(loop, 2), send_batch, NULL, NULL));
	}
	row = thrum_promise_task(loop, "row", &collecting->waiting[collecting->count]);
	collecting->keys[collecting->count++] = key;
	return thrum_promise_labelf(row, "row %d", key);
}

/* ---- Those who look at pages ---- */

static struct thrum_promise *next_page(struct thrum_loop *of, void *value, void *data);

static struct thrum_promise *show(struct thrum_loop *of, void *value, void *data)
{
	(void)data;
	pages++;
	return thrum_promise_return(of, thrum_value_int(thrum_int(value) + 1));
}

static struct thrum_promise *show_error(struct thrum_loop *of, const struct thrum_failure *failure,
	void *data)
{
	(void)failure;
	(void)data;
	return thrum_promise_return(of, thrum_value_int(-1));
}

static struct thrum_promise *next_page(struct thrum_loop *of, void *value, void *data)
{
	static int number;
	intptr_t visitor = (intptr_t)data;
	struct thrum_promise *page;

	(void)value;
	number++;
	page = thrum_promise_try_bind(load(number), show, show_error, NULL, NULL);
	page = thrum_promise_should_resolve(thrum_promise_labelf(page, "page %d", number));
	page = thrum_promise_bind(page, next_page, (void *)visitor, NULL);
	(void)of;
	return page;
}

static struct thrum_promise *begin(struct thrum_loop *of, void *data)
{
	return thrum_promise_bind(thrum_sleep(of, 1 + (uint64_t)(intptr_t)data), next_page, data,
		NULL);
}

/* Tells every 100 ms how much was shown. */
static void on_report(uv_timer_t *timer)
{
	static unsigned before;

	(void)timer;
	fprintf(stderr, "%u pages, %u new\n", pages, pages - before);
	before = pages;
}

int main(int count, char **arguments)
{
	uv_timer_t report;
	uv_loop_t uv;

	tell_failures = count < 2 || strcmp(arguments[1], "broken");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (intptr_t i = 0; i < VISITORS; i++)
		thrum_promise_async(loop, "visitor", begin, (void *)i, NULL);
	if (uv_timer_init(&uv, &report) || uv_timer_start(&report, on_report, 100, 100))
		return 1;
	return uv_run(&uv, UV_RUN_DEFAULT);
}
