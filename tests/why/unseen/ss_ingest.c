/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The indexer dies of a bad record, and nobody is told. It should have skipped it and read on.
 *   culprit: indexer|parse_record|index_all
 *   victim: feeder|import|lines
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Imports a log: a feeder pushes lines into a stream, an indexer takes them out and stores them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	LINES = 300,
	CAPACITY = 8
};

struct import {
	struct thrum_stream *lines;
	struct thrum_condition *finished;
	bool tolerant, over;
	int next, stored, skipped, reports;
	long bytes;
};

static struct thrum_promise *nothing(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- The feeder ---- */

static struct thrum_promise *feed_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *feed_line(struct thrum_loop *loop, void *value, void *data)
{
	struct import *import = data;
	char *line = malloc(48);

	(void)loop;
	(void)value;
	if (import->next == 120)
		snprintf(line, 48, "2026-11-2? host%d logrotate", import->next);
	else
		snprintf(line, 48, "2026-11-%02d host%d session %d", 1 + import->next / 12,
			import->next % 9, import->next);
	import->next++;
	return thrum_promise_bind(thrum_stream_push(import->lines, thrum_value_own(line, free)),
		feed_next, import, NULL);
}

/* The log comes in blocks: now and then the next one must be fetched. */
static struct thrum_promise *feed_next(struct thrum_loop *loop, void *value, void *data)
{
	struct import *import = data;

	if (import->next == LINES) {
		thrum_stream_close(import->lines);
		return nothing(loop);
	}
	if (import->next % 20 == 0)
		return thrum_promise_bind(thrum_sleep(loop, 4), feed_line, import, NULL);
	return feed_line(loop, value, data);
}

/* ---- The indexer ---- */

static struct thrum_promise *index_all(struct thrum_loop *loop, void *data);

/* Stores the record of this day; a week begins a new segment, which takes its time. */
static struct thrum_promise *store(struct thrum_loop *loop, struct import *import, int day,
	size_t size)
{
	import->stored++;
	import->bytes += (long)size;
	return day % 7 == 0 && import->stored % 5 == 0 ? thrum_sleep(loop, 1)
						       : thrum_promise_pause(loop);
}

static struct thrum_promise *parse_record(struct thrum_loop *loop, const char *line,
	struct import *import)
{
	char *end;
	long day = strtol(line + 8, &end, 10);

	if (*end == ' ')
		return store(loop, import, (int)day, strlen(line));
	if (import->tolerant) {
		import->skipped++;
		return nothing(loop);
	}
	return thrum_promise_fail(loop, -EINVAL, "bad date");
}

static struct thrum_promise *index_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return index_all(loop, data);
}

static struct thrum_promise *index_line(struct thrum_loop *loop, void *value, void *data)
{
	struct import *import = data;

	if (!value) {
		thrum_condition_broadcast(import->finished, thrum_value_none());
		return nothing(loop);
	}
	return thrum_promise_bind(parse_record(loop, value, import), index_again, import, NULL);
}

static struct thrum_promise *index_all(struct thrum_loop *loop, void *data)
{
	struct import *import = data;

	(void)loop;
	return thrum_promise_bind(thrum_stream_next(import->lines), index_line, import, NULL);
}

/* ---- The report of progress ---- */

static struct thrum_promise *report(struct thrum_loop *loop, void *value, void *data)
{
	struct import *import = data;

	(void)value;
	import->reports++;
	if (import->over)
		return nothing(loop);
	return thrum_promise_bind(thrum_sleep(loop, 10), report, import, NULL);
}

static struct thrum_promise *begin_report(struct thrum_loop *loop, void *data)
{
	return report(loop, NULL, data);
}

static struct thrum_promise *import_log(struct thrum_loop *loop, struct import *import)
{
	struct thrum_promise *both[2];

	both[0] = thrum_promise_label(thrum_condition_wait(import->finished, NULL),
		"index complete");
	thrum_promise_async(loop, "progress", begin_report, import, NULL);
	thrum_promise_async(loop, "indexer", index_all, import, NULL);
	both[1] = thrum_promise_label(feed_next(loop, NULL, import), "feeder");
	return thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, both, 2), "import"));
}

int main(int argc, char **argv)
{
	struct import import = {.tolerant = argc < 2 || strcmp(argv[1], "broken") != 0};
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	if (thrum_start(NULL))
		fprintf(stderr, "ingest: not recorded\n");
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	import.lines = thrum_stream_create(loop, "lines", CAPACITY);
	import.finished = thrum_condition_create(loop, "finished");
	result = thrum_promise_run(import_log(loop, &import));
	import.over = true;
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%d records, %ld bytes, %d skipped\n", import.stored, import.bytes, import.skipped);
	thrum_condition_destroy(import.finished);
	thrum_stream_destroy(import.lines);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result != 0;
}
