/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: export_table starts write_rows, the only reader of the stream "rows orders", when collect_rows
 *     has ended; a table of more rows than the stream holds never gets there, as collect_rows waits for room
 *     in the full stream
 *   culprit: rows orders|export_table|write_rows
 *   victim: export orders|nightly export|next_row
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Exports the tables of a shop, one after the other, through a stream of rows. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ROOM 8

struct table {
	const char *name;
	int rows;
	int collected;
	int written;
	struct thrum_stream *stream;
};

static struct table tables[] = {
	{.name = "countries", .rows = 5},
	{.name = "vat rates", .rows = 3},
	{.name = "customers", .rows = 8},
	{.name = "orders", .rows = 13},
	{.name = "payments", .rows = 7},
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static bool write_meanwhile;
static size_t next_table;

static struct thrum_promise *collect_rows(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *write_rows(struct thrum_loop *loop, void *value, void *data);

/* The database has found a row. */
static struct thrum_promise *next_row(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;
	struct thrum_promise *pushed;

	(void)loop;
	(void)value;
	table->collected++;
	pushed = thrum_stream_push(table->stream, thrum_value_static(table->name));
	return thrum_promise_bind(pushed, collect_rows, table, NULL);
}

static struct thrum_promise *collect_rows(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;
	struct thrum_promise *fetched;

	(void)value;
	if (table->collected == table->rows) {
		thrum_stream_close(table->stream);
		return thrum_promise_return(loop, thrum_value_none());
	}
	fetched = thrum_promise_label(thrum_sleep(loop, 2), "fetch row");
	return thrum_promise_bind(fetched, next_row, table, NULL);
}

static struct thrum_promise *on_row(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	table->written++;
	return thrum_promise_bind(thrum_sleep(loop, 1), write_rows, table, NULL);
}

static struct thrum_promise *write_rows(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(table->stream), on_row, table, NULL);
}

static struct thrum_promise *close_table(struct thrum_loop *loop, void *data)
{
	struct table *table = data;

	printf("%s: %d rows\n", table->name, table->written);
	thrum_stream_destroy(table->stream);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *export_table(struct thrum_loop *loop, struct table *table)
{
	struct thrum_promise *collected;
	struct thrum_promise *done;
	char label[48];

	snprintf(label, sizeof(label), "rows %s", table->name);
	table->stream = thrum_stream_create(loop, label, ROOM);
	collected = collect_rows(loop, NULL, table);
	if (write_meanwhile) {
		struct thrum_promise *both[2] = {collected, write_rows(loop, NULL, table)};

		done = thrum_promise_join(loop, both, 2);
	} else {
		done = thrum_promise_bind(collected, write_rows, table, NULL);
	}
	done = thrum_promise_finalize(done, close_table, table, NULL);
	return thrum_promise_labelf(done, "export %s", table->name);
}

static struct thrum_promise *export_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (next_table == TABLES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(export_table(loop, &tables[next_table++]), export_next, data,
		NULL);
}

/* A light that blinks while the export runs. */
static void on_blink(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_loop *loop;
	struct thrum_promise *all;
	uv_timer_t blink;
	int result;

	write_meanwhile = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (thrum_start(NULL) || thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &blink);
	uv_timer_start(&blink, on_blink, 100, 100);
	all = thrum_promise_label(export_next(loop, NULL, NULL), "nightly export");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	uv_close((uv_handle_t *)&blink, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return result != 0;
}
