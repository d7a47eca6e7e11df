/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: read_rows stops at the first row that is wrong and doesn't close the stream "rows" then. The inserts have taken all rows and wait for the next one or the end, which never come.
 *   culprit: read rows|read_rows|push_row
 *   victim: insert|import
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "thrum/promise.h"

/* Imports a table: one side reads rows, the other inserts them, with a stream between them. */

static const char *const table[] = {"1;warp;12", "2;weft;40", "3;heddle;300", "4;reed;1",
	"5;shuttle;2", "6;treadle;8", "7;beam", /* the number is missing */
	"8;temple;2", "9;bobbin;60"};

#define ROWS (sizeof(table) / sizeof(table[0]))

static bool broken, finished;
static struct thrum_stream *rows;
static size_t next_row;
static int inserted, errors;

static struct thrum_promise *read_rows(struct thrum_loop *loop, void *nothing, void *data);

static struct thrum_promise *push_row(struct thrum_loop *loop, void *nothing, void *data)
{
	char name[16];
	int id, number;

	(void)nothing, (void)data;
	if (sscanf(table[next_row], "%d;%15[^;];%d", &id, name, &number) != 3) {
		fprintf(stderr, "row %zu is wrong: %s\n", next_row + 1, table[next_row]);
		errors++;
		if (!broken)
			thrum_stream_close(rows);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_stream_push(rows, thrum_value_static(table[next_row++])),
		read_rows, NULL, NULL);
}

/* Reads the next row from the slow disk. */
static struct thrum_promise *read_rows(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)nothing, (void)data;
	if (next_row == ROWS) {
		thrum_stream_close(rows);
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, 4), push_row, NULL, NULL);
}

static struct thrum_promise *insert_rows(struct thrum_loop *loop, void *nothing, void *data);

static struct thrum_promise *insert_row(struct thrum_loop *loop, void *row, void *data)
{
	(void)data;
	if (!row)
		return thrum_promise_return(loop, thrum_value_none());
	inserted++;
	return thrum_promise_bind(thrum_sleep(loop, 6), insert_rows, NULL, NULL);
}

static struct thrum_promise *insert_rows(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)loop, (void)nothing, (void)data;
	return thrum_promise_bind(thrum_stream_next(rows), insert_row, NULL, NULL);
}

static struct thrum_promise *show_progress(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)nothing, (void)data;
	if (finished)
		return thrum_promise_return(loop, thrum_value_none());
	printf("%d rows\n", inserted);
	return thrum_promise_bind(thrum_sleep(loop, 150), show_progress, NULL, NULL);
}

static struct thrum_promise *start_progress(struct thrum_loop *loop, void *data)
{
	return show_progress(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *parts[3];
	struct thrum_loop *loop;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	rows = thrum_stream_create(loop, "rows", 4);
	thrum_promise_async(loop, "progress", start_progress, NULL, NULL);
	parts[0] = thrum_promise_label(read_rows(loop, NULL, NULL), "read rows");
	parts[1] = thrum_promise_label(insert_rows(loop, NULL, NULL), "insert on connection 1");
	parts[2] = thrum_promise_label(insert_rows(loop, NULL, NULL), "insert on connection 2");
	error = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, parts, 3), "import")));
	finished = true;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_stop();
	printf("%d rows inserted, %d wrong\n", inserted, errors);
	thrum_stream_destroy(rows);
	thrum_loop_destroy(loop);
	return error ? 1 : 0;
}
