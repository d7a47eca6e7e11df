/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The export "orders" pushes all its rows before it takes the first page. The streams "rows of orders"
 *     and "pages of orders" have room for 4 each, so the export waits for room in the rows, and its formatter
 *     for room in the pages, which only the export could make.
 *   culprit: (rows|pages) of orders|feed_next|format orders|format_push
 *   victim: main\b|nightly
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Exports tables: each export feeds rows to a formatter, takes the pages that come back, and writes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ROOM 4

struct table {
	const char *name;
	int count;
	int fed;
	int written;
	bool overlap; /* feeds and takes at the same time */
	struct thrum_stream *rows;
	struct thrum_stream *pages;
};

static struct table tables[] = {
	{.name = "users", .count = 3},
	{.name = "prices", .count = 5},
	{.name = "orders", .count = 24},
	{.name = "stores", .count = 4},
};
#define TABLES (sizeof tables / sizeof *tables)

static bool finished;
static int log_lines;

/* ---- the formatter ---- */

static struct thrum_promise *format_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *format_push(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_push(table->pages, thrum_value_static("page")),
		format_next, table, NULL);
}

static struct thrum_promise *format_row(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	if (!value) {
		thrum_stream_close(table->pages);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, 2), format_push, table, NULL);
}

static struct thrum_promise *format_next(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(table->rows), format_row, table, NULL);
}

/* ---- the export ---- */

static struct thrum_promise *feed_next(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)value;
	if (table->fed == table->count) {
		thrum_stream_close(table->rows);
		return thrum_promise_return(loop, thrum_value_none());
	}
	table->fed++;
	return thrum_promise_bind(thrum_stream_push(table->rows, thrum_value_static("row")),
		feed_next, table, NULL);
}

static struct thrum_promise *take_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *take_page(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	table->written++;
	return thrum_promise_bind(thrum_sleep(loop, 1), take_next, table, NULL);
}

static struct thrum_promise *take_next(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(table->pages), take_page, table, NULL);
}

static struct thrum_promise *export_table(struct thrum_loop *loop, struct table *table)
{
	struct thrum_promise *fed = thrum_promise_labelf(feed_next(loop, NULL, table), "feed %s",
		table->name);

	if (table->overlap)
		return thrum_promise_both(fed, take_next(loop, NULL, table));
	return thrum_promise_bind(fed, take_next, table, NULL);
}

static struct thrum_promise *begin_export(struct thrum_loop *loop, void *data)
{
	struct table *table = data;
	struct thrum_promise *parts[2];
	char label[48];

	snprintf(label, sizeof label, "rows of %s", table->name);
	table->rows = thrum_stream_create(loop, label, ROOM);
	snprintf(label, sizeof label, "pages of %s", table->name);
	table->pages = thrum_stream_create(loop, label, ROOM);
	parts[0] = thrum_promise_labelf(format_next(loop, NULL, table), "format %s", table->name);
	parts[1] = thrum_promise_labelf(export_table(loop, table), "export %s", table->name);
	return thrum_promise_join(loop, parts, 2);
}

/* ---- beside ---- */

static struct thrum_promise *log_step(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (finished)
		return thrum_promise_return(loop, thrum_value_none());
	for (size_t i = 0; i < TABLES; i++)
		printf("%s %d/%d  ", tables[i].name, tables[i].written, tables[i].count);
	printf("\n");
	fflush(stdout);
	log_lines++;
	return thrum_promise_bind(thrum_sleep(loop, 40), log_step, data, NULL);
}

static struct thrum_promise *log_progress(struct thrum_loop *loop, void *data)
{
	return log_step(loop, NULL, data);
}

static struct thrum_promise *done(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	finished = true;
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[TABLES];
	struct thrum_promise *night;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	for (size_t i = 0; i < TABLES; i++) {
		tables[i].overlap = !strcmp(argv[1], "healthy");
		all[i] = begin_export(loop, &tables[i]);
	}
	thrum_promise_async(loop, "log progress", log_progress, NULL, NULL);
	night = thrum_promise_label(thrum_promise_join(loop, all, TABLES), "nightly");
	night = thrum_promise_bind(night, done, NULL, NULL);
	code = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(night, "main")));
	thrum_stop();
	for (size_t i = 0; i < TABLES; i++) {
		thrum_stream_destroy(tables[i].rows);
		thrum_stream_destroy(tables[i].pages);
	}
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code ? 1 : 0;
}
