/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the four threads of libuv's pool all run "encode segment N", which block until the tables are loaded;
 *          "load tables" is queued behind them in the same pool and never begins.
 *   culprit: encode segment|encode_segment|load tables|load_tables|tables_loaded
 *   victim: (movie|mux|main)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t tables_loaded = PTHREAD_COND_INITIALIZER;
static int tables_ready;
static int lazily; /* tables are loaded after the segments are queued */

static int load_tables(void *data, struct thrum_value *result)
{
	(void)data;
	(void)result;
	usleep(60000);
	pthread_mutex_lock(&tables_lock);
	tables_ready = 1;
	pthread_cond_broadcast(&tables_loaded);
	pthread_mutex_unlock(&tables_lock);
	return 0;
}

static int encode_segment(void *data, struct thrum_value *result)
{
	(void)result;
	pthread_mutex_lock(&tables_lock);
	while (!tables_ready)
		pthread_cond_wait(&tables_loaded, &tables_lock);
	pthread_mutex_unlock(&tables_lock);
	usleep(thrum_int(data) == 5 ? 200000 : 25000); /* the fifth has a lot of motion */
	return 0;
}

static struct thrum_promise *progress(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_sleep(loop, 40), progress, NULL, NULL);
}

static struct thrum_promise *mux(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 15), "mux movie");
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_promise *parts[8], *movie, *bar;
	size_t count = 0;
	int result;

	lazily = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	bar = thrum_promise_label(progress(loop, NULL, NULL), "progress bar");
	if (!lazily)
		parts[count++] = thrum_work(loop, "load tables", load_tables, NULL, NULL);
	for (intptr_t i = 1; i <= 6; i++)
		parts[count++] = thrum_promise_labelf(thrum_work(loop, NULL, encode_segment,
							      (void *)i, NULL),
			"encode segment %d", (int)i);
	if (lazily)
		parts[count++] = thrum_work(loop, "load tables", load_tables, NULL, NULL);
	movie = thrum_promise_bind(thrum_promise_join(loop, parts, count), mux, NULL, NULL);
	movie = thrum_promise_should_resolve(thrum_promise_label(movie, "movie"));
	result = thrum_promise_run(movie);
	thrum_promise_cancel(bar);
	thrum_promise_unref(bar);
	thrum_stop();
	uv_run(&uv, UV_RUN_NOWAIT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_NOWAIT);
	return result ? 1 : 0;
}
