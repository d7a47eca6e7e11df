/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow=COMMIT
 *   truth: the slowest COMMIT filled the log up to its limit and does the "checkpoint" itself before it
 *     returns: it copies 14 pages back into the database, more than 200 ms, where the healthy one
 *     leaves that to a task of its own.
 *   culprit: checkpoint|copy page
 *   victim: INSERT
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about SQLite: now and then a commit takes long, because it is the one that must do the
 * checkpoint of the write-ahead log. A store of measurements, on promises.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define COMMITS 24
#define LOG_LIMIT 14

static struct thrum_loop *loop;
static int log_pages, committed;
static bool checkpointing, broken;

static struct thrum_promise *copy_pages(struct thrum_loop *current, void *value, void *data)
{
	struct thrum_promise *copied;

	(void)value;
	if (thrum_int(data) == 0) {
		checkpointing = false;
		return thrum_promise_return(current, thrum_value_none());
	}
	copied = thrum_promise_label(thrum_sleep(current, 15), "copy page");
	return thrum_promise_bind(copied, copy_pages, (void *)(thrum_int(data) - 1), NULL);
}

static struct thrum_promise *checkpoint(struct thrum_loop *current, void *data)
{
	int pages = log_pages;

	(void)data;
	log_pages = 0;
	checkpointing = true;
	return thrum_promise_label(copy_pages(current, NULL, (void *)(intptr_t)pages),
		"checkpoint");
}

static struct thrum_promise *synced(struct thrum_loop *current, void *value, void *data)
{
	(void)value;
	(void)data;
	committed++;
	if (++log_pages < LOG_LIMIT || checkpointing)
		return thrum_promise_return(current, thrum_value_none());
	if (broken)
		return checkpoint(current, NULL);
	thrum_promise_async(current, "checkpointer", checkpoint, NULL, NULL);
	return thrum_promise_return(current, thrum_value_none());
}

/* Appends the page to the log and makes it durable. */
static struct thrum_promise *commit(struct thrum_loop *current, void *value, void *data)
{
	struct thrum_promise *sync = thrum_promise_label(thrum_sleep(current, 4), "sync log");

	(void)value;
	(void)data;
	return thrum_promise_label(thrum_promise_bind(sync, synced, NULL, NULL), "COMMIT");
}

static struct thrum_promise *insert_next(struct thrum_loop *current, void *value, void *data)
{
	intptr_t left = thrum_int(data);
	struct thrum_promise *row;

	(void)value;
	if (left == 0)
		return thrum_promise_return(current, thrum_value_none());
	row = thrum_promise_label(thrum_sleep(current, 2), "INSERT");
	row = thrum_promise_bind(row, commit, NULL, NULL);
	return thrum_promise_bind(row, insert_next, (void *)(left - 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return EXIT_FAILURE;
	all = thrum_promise_label(insert_next(loop, NULL, (void *)(intptr_t)COMMITS), "load");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	uv_run(&uv, UV_RUN_DEFAULT);
	printf("%d commits\n", committed);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
