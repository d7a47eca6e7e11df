/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: four encode_tile jobs occupy all four threads of libuv's pool; each waits for palette_loaded, which only load_palette sets, a job that is queued behind them and never gets a thread.
 *   culprit: encode_tile
 *   victim: load_palette|main|palette_loaded
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A map renderer on libuv: tiles are encoded in the thread pool, with a palette that is loaded once. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define TILES 4

static pthread_mutex_t palette_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t palette_loaded = PTHREAD_COND_INITIALIZER;
static bool have_palette;
static uv_work_t tile_work[TILES], palette_work;
static uv_timer_t status_timer;
static int tiles_done;

static void pause_ms(int ms)
{
	struct timespec time = {0, ms * 1000000L};

	nanosleep(&time, NULL);
}

static void encode_tile(uv_work_t *work)
{
	pthread_mutex_lock(&palette_lock);
	while (!have_palette)
		pthread_cond_wait(&palette_loaded, &palette_lock);
	pthread_mutex_unlock(&palette_lock);
	pause_ms(15);
}

static void on_tile(uv_work_t *work, int status)
{
	if (++tiles_done == TILES)
		uv_close((uv_handle_t *)&status_timer, NULL);
}

static void load_palette(uv_work_t *work)
{
	pause_ms(60);
	pthread_mutex_lock(&palette_lock);
	have_palette = true;
	pthread_cond_broadcast(&palette_loaded);
	pthread_mutex_unlock(&palette_lock);
}

static void on_palette(uv_work_t *work, int status)
{
}

static void on_status(uv_timer_t *timer)
{
	if (getenv("TILES_VERBOSE"))
		fprintf(stderr, "%d tiles\n", tiles_done);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	bool late = argc > 1 && !strcmp(argv[1], "broken");

	setenv("UV_THREADPOOL_SIZE", "4", 1);
	uv_timer_init(loop, &status_timer);
	uv_timer_start(&status_timer, on_status, 50, 50);
	if (!late)
		uv_queue_work(loop, &palette_work, load_palette, on_palette);
	for (int i = 0; i < TILES; i++)
		uv_queue_work(loop, &tile_work[i], encode_tile, on_tile);
	if (late)
		uv_queue_work(loop, &palette_work, load_palette, on_palette);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	printf("%d tiles\n", tiles_done);
	return 0;
}
