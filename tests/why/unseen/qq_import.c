/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The load of returns.csv waits for the totals before it takes rows from the stream. The parser
 *          finds the totals at the end of that file, and can't get there, as the stream of rows is full.
 *   culprit: totals of returns.csv|rows of returns.csv
 *   victim: import returns.csv
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ROOM 16

struct table {
	const char *file;
	int rows;
	bool totals_last; /* the new till writes them there */
	int next_row, loaded;
	long sum, expected;
	struct thrum_stream *stream;
	struct thrum_promise *totals;
	struct thrum_resolver *resolver;
};

static struct table tables[] = {
	{.file = "orders.csv", .rows = 400},
	{.file = "refunds.csv", .rows = 12, .totals_last = true}, /* fits into the stream */
	{.file = "returns.csv", .rows = 90, .totals_last = true},
	{.file = "stock.csv", .rows = 300},
};
static const size_t table_count = sizeof(tables) / sizeof(*tables);
static bool broken;

static struct thrum_promise *import(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *parse_row(struct thrum_loop *loop, void *value, void *data);

static void found_totals(struct table *table)
{
	long sum = (long)table->rows * (table->rows + 1) / 2;

	thrum_resolver_resolve(table->resolver, thrum_value_int(sum));
	table->resolver = NULL;
}

static struct thrum_promise *next_block(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 1), parse_row, data, NULL);
}

static struct thrum_promise *parse_row(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;
	struct thrum_promise *pushed;

	(void)value;
	if (table->next_row == table->rows) {
		if (table->totals_last)
			found_totals(table);
		thrum_stream_close(table->stream);
		return thrum_promise_return(loop, thrum_value_none());
	}
	if (table->next_row == 0 && !table->totals_last)
		found_totals(table);
	pushed = thrum_stream_push(table->stream, thrum_value_int(++table->next_row));
	/* Each 32 rows are another block of the file. */
	return thrum_promise_bind(pushed, table->next_row % 32 ? parse_row : next_block, table,
		NULL);
}

static struct thrum_promise *check_sum(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	if (table->sum != thrum_int(value))
		return thrum_promise_fail(loop, -EBADMSG, "%s: sum %ld", table->file, table->sum);
	printf("%s: %d rows\n", table->file, table->loaded);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *load_row(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)loop;
	if (!value)
		return thrum_promise_bind(thrum_promise_ref(table->totals), check_sum, table, NULL);
	table->loaded++;
	table->sum += thrum_int(value);
	return thrum_promise_bind(thrum_stream_next(table->stream), load_row, table, NULL);
}

/* The totals say how large the table in memory becomes. */
static struct thrum_promise *begin_load(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(table->stream), load_row, table, NULL);
}

static struct thrum_promise *next_table(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;

	(void)value;
	thrum_promise_unref(table->totals);
	thrum_stream_destroy(table->stream);
	return import(loop, NULL, table + 1);
}

static struct thrum_promise *import(struct thrum_loop *loop, void *value, void *data)
{
	struct table *table = data;
	struct thrum_promise *parts[2], *done;
	char label[64];

	(void)value;
	if (table == tables + table_count)
		return thrum_promise_return(loop, thrum_value_none());
	snprintf(label, sizeof(label), "rows of %s", table->file);
	table->stream = thrum_stream_create(loop, label, ROOM);
	snprintf(label, sizeof(label), "totals of %s", table->file);
	table->totals = thrum_promise_wait(loop, label, &table->resolver);

	parts[0] = thrum_promise_bind(thrum_sleep(loop, 5), parse_row, table,
		NULL); /* opens the file */
	thrum_promise_labelf(parts[0], "parse %s", table->file);
	if (broken)
		parts[1] = thrum_promise_bind(thrum_promise_ref(table->totals), begin_load, table,
			NULL);
	else
		parts[1] = begin_load(loop, NULL, table);
	thrum_promise_labelf(parts[1], "load %s", table->file);
	done = thrum_promise_join(loop, parts, 2);
	thrum_promise_should_resolve(thrum_promise_labelf(done, "import %s", table->file));
	return thrum_promise_bind(done, next_table, table, NULL);
}

static void reload(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	fprintf(stderr, "SIGHUP: settings are read when the import ends\n");
}

int main(int argc, char **argv)
{
	struct thrum_promise *hangup;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	hangup = thrum_signal_wait(loop, SIGHUP);
	thrum_promise_on_success(thrum_promise_ref(hangup), reload, NULL, NULL);
	result = thrum_promise_run(import(loop, NULL, tables));
	if (result)
		fprintf(stderr, "import: %s\n", thrum_promise_error_message(result));
	thrum_stop();
	thrum_promise_cancel(hangup);
	thrum_promise_unref(hangup);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result ? 1 : 0;
}
