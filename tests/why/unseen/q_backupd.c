/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Four store_chunk jobs fill libuv's pool of four threads, and each waits there for the index; load_index, which would signal it, is queued behind them and never gets a thread.
 *   culprit: store_chunk
 *   victim: load_index|on_index|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static uv_mutex_t index_mutex;
static uv_cond_t index_ready;
static int have_index;
static int stored, ticks;
static uv_work_t chunks[8], index_work;
static uv_timer_t progress;

static void load_index(uv_work_t *work)
{
	(void)work;
	usleep(40000);
	uv_mutex_lock(&index_mutex);
	have_index = 1;
	uv_cond_broadcast(&index_ready);
	uv_mutex_unlock(&index_mutex);
}

static void on_index(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
}

static void store_chunk(uv_work_t *work)
{
	(void)work;
	usleep(5000); /* hash it */
	uv_mutex_lock(&index_mutex);
	while (!have_index)
		uv_cond_wait(&index_ready, &index_mutex);
	uv_mutex_unlock(&index_mutex);
	usleep(8000); /* write it, unless the index has it */
}

static void on_stored(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	if (++stored == 8)
		uv_close((uv_handle_t *)&progress, NULL);
}

static void print_progress(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	int broken = argc > 1 && !strcmp(argv[1], "broken");

	setenv("UV_THREADPOOL_SIZE", "4", 1);
	uv_mutex_init(&index_mutex);
	uv_cond_init(&index_ready);
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, print_progress, 20, 20);
	if (!broken)
		uv_queue_work(loop, &index_work, load_index, on_index);
	for (int i = 0; i < 8; i++)
		uv_queue_work(loop, &chunks[i], store_chunk, on_stored);
	if (broken) /* only now it's clear that this is an incremental backup */
		uv_queue_work(loop, &index_work, load_index, on_index);
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%d chunks stored\n", stored);
	uv_loop_close(loop);
	return 0;
}
