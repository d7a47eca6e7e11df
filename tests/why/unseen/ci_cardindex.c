/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=lookup
 *   truth: rotate_logs starts the compression of all old logs at once. They take all four threads of the pool,
 *     and a lookup, whose card is read in the same pool, must wait until one of them has ended.
 *   culprit: compress|rotate_logs
 *   victim: read card
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The card index of a library: clients look up cards, one after the other, and now and then the old logs are
 * compressed. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	LOOKUPS = 40,
	ROTATION = 22, /* the lookup before which the logs are rotated */
	LOGS = 5,
	COMPRESS_MS = 120,
};

struct index {
	struct thrum_loop *loop;
	struct thrum_mutex *compressor;
	unsigned lookups;
	unsigned compressed;
	bool healthy;
};

static int read_card(void *data, struct thrum_value *result)
{
	unsigned number = *(unsigned *)data;

	usleep(1500);
	*result = thrum_value_int(number * 7 % 1000);
	return 0;
}

/* Compresses one log, mostly by waiting for a slow disk. */
static int compress_log(void *data, struct thrum_value *result)
{
	unsigned *compressed = data;

	(void)result;
	usleep(COMPRESS_MS * 1000);
	__atomic_fetch_add(compressed, 1, __ATOMIC_RELAXED);
	return 0;
}

static struct thrum_promise *begin_compress(struct thrum_loop *loop, void *data)
{
	struct index *index = data;

	return thrum_work(loop, "compress log", compress_log, &index->compressed, NULL);
}

static struct thrum_promise *rotate_logs(struct thrum_loop *loop, void *data)
{
	struct index *index = data;
	struct thrum_promise *logs[LOGS];

	for (int i = 0; i < LOGS; i++)
		logs[i] = index->healthy
			? thrum_mutex_with(index->compressor, begin_compress, index, NULL)
			: begin_compress(loop, index);
	return thrum_promise_label(thrum_promise_join(loop, logs, LOGS), "rotate logs");
}

static struct thrum_promise *format_card(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_int(thrum_int(value) + 1));
}

static struct thrum_promise *look_up(struct index *index)
{
	struct thrum_promise *card;

	index->lookups++;
	card = thrum_work(index->loop, "read card", read_card, &index->lookups, NULL);
	card = thrum_promise_bind(card, format_card, NULL, NULL);
	return thrum_promise_should_resolve(thrum_promise_label(card, "lookup"));
}

static struct thrum_promise *next_lookup(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *rest(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 5), next_lookup, data, NULL);
}

static struct thrum_promise *next_lookup(struct thrum_loop *loop, void *value, void *data)
{
	struct index *index = data;

	(void)value;
	if (index->lookups == LOOKUPS)
		return thrum_promise_return(loop, thrum_value_none());
	if (index->lookups == ROTATION)
		thrum_promise_async(loop, "night", rotate_logs, index, NULL);
	return thrum_promise_bind(look_up(index), rest, index, NULL);
}

static struct thrum_promise *wait_for_logs(struct thrum_loop *loop, void *value, void *data)
{
	struct index *index = data;

	if (__atomic_load_n(&index->compressed, __ATOMIC_RELAXED) == LOGS)
		return thrum_promise_return(loop, thrum_value_none());
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 20), wait_for_logs, index, NULL);
}

int main(int count, char **arguments)
{
	struct index index = {0};
	struct thrum_promise *day;
	uv_loop_t uv;
	int result;

	if (count != 2)
		return 2;
	index.healthy = !strcmp(arguments[1], "healthy");
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &index.loop))
		return 1;
	index.compressor = thrum_mutex_create(index.loop, "compressor");
	day = thrum_promise_bind(next_lookup(index.loop, NULL, &index), wait_for_logs, &index,
		NULL);
	result = thrum_promise_run(thrum_promise_label(day, "day"));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%u lookups, %u logs: %s\n", index.lookups, index.compressed,
		thrum_promise_error_message(result));
	thrum_mutex_destroy(index.compressor);
	thrum_loop_destroy(index.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
