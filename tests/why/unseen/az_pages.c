/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: four page jobs fill libuv's thread pool, and each waits in font_need for a font; the job
 *     load_font that brings it is queued in the same pool behind them, so no thread is left to run it
 *   culprit: font_need|render_page
 *   victim: load_font|on_font_wanted|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Renders the pages of a document in libuv's thread pool; fonts are loaded when a page first needs them. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PAGES 24
#define FONTS 5

enum font_state {
	FONT_UNKNOWN,
	FONT_WANTED,
	FONT_LOADING,
	FONT_READY
};

struct font {
	uv_work_t work;
	int number;
	enum font_state state;
	int users;
};

struct page {
	uv_work_t work;
	int number;
};

static uv_loop_t *loop;
static uv_async_t font_wanted;
static pthread_mutex_t font_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t font_ready = PTHREAD_COND_INITIALIZER;
static struct font fonts[FONTS];
static struct page pages[PAGES];
static int next_page;
static int active_pages;
static int finished_pages;
static int max_active;

static void pages_start(void);

/* Runs in the pool. */
static void load_font(uv_work_t *work)
{
	struct font *font = work->data;

	usleep(3000 + font->number * 500);
}

static void on_font_loaded(uv_work_t *work, int status)
{
	struct font *font = work->data;

	(void)status;
	pthread_mutex_lock(&font_mutex);
	font->state = FONT_READY;
	pthread_cond_broadcast(&font_ready);
	pthread_mutex_unlock(&font_mutex);
}

/* Only the loop's thread may queue work, so the pages ask it to. */
static void on_font_wanted(uv_async_t *handle)
{
	(void)handle;
	pthread_mutex_lock(&font_mutex);
	for (int i = 0; i < FONTS; i++) {
		if (fonts[i].state != FONT_WANTED)
			continue;
		fonts[i].state = FONT_LOADING;
		uv_queue_work(loop, &fonts[i].work, load_font, on_font_loaded);
	}
	pthread_mutex_unlock(&font_mutex);
}

/* Returns when the font can be used. */
__attribute__((noinline)) static void font_need(struct font *font)
{
	pthread_mutex_lock(&font_mutex);
	if (font->state == FONT_UNKNOWN) {
		font->state = FONT_WANTED;
		uv_async_send(&font_wanted);
	}
	while (font->state != FONT_READY)
		pthread_cond_wait(&font_ready, &font_mutex);
	font->users++;
	pthread_mutex_unlock(&font_mutex);
}

/* Runs in the pool. */
static void render_page(uv_work_t *work)
{
	struct page *page = work->data;

	usleep(2000);
	font_need(&fonts[page->number / 3 % FONTS]);
	usleep(2000);
}

static void on_page(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	active_pages--;
	if (++finished_pages == PAGES)
		uv_close((uv_handle_t *)&font_wanted, NULL);
	else
		pages_start();
}

static void pages_start(void)
{
	while (active_pages < max_active && next_page < PAGES) {
		struct page *page = &pages[next_page];

		page->number = next_page++;
		page->work.data = page;
		active_pages++;
		uv_queue_work(loop, &page->work, render_page, on_page);
	}
}

int main(int argc, char **argv)
{
	loop = uv_default_loop();
	max_active = argc > 1 && !strcmp(argv[1], "broken") ? 4 : 3;
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	uv_async_init(loop, &font_wanted, on_font_wanted);
	for (int i = 0; i < FONTS; i++) {
		fonts[i].number = i;
		fonts[i].work.data = &fonts[i];
	}
	pages_start();
	uv_run(loop, UV_RUN_DEFAULT);
	uv_loop_close(loop);
	printf("%d pages\n", finished_pages);
	return 0;
}
