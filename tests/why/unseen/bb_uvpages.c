/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: print_job puts all pages into libuv's thread pool at once. Each convert_page blocks a pool thread
 *     until the font is loaded, which is a job (load_font) for the same pool: all four threads wait in
 *     convert_page (font_get) for load_font, which stands in the pool's queue behind them.
 *   culprit: convert_page|font_get|load_font
 *   victim: main|on_page|submit_pages
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A print server: pages are converted in libuv's thread pool, with fonts that are loaded when needed. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define FONTS 3
#define PAGES 12

struct font {
	bool is_wanted, is_loaded;
	int number;
	uv_work_t load;
	bool is_loading;
};

struct page {
	int number;
	struct font *font;
	uv_work_t work;
};

static struct {
	uv_loop_t *loop;
	uv_async_t font_wanted;
	uv_timer_t status;
	uv_mutex_t mutex;
	uv_cond_t font_loaded;
	struct font fonts[FONTS];
	struct page pages[PAGES];
	int at_once, next, running, done;
} printer;

static void submit_pages(void);

static void load_font(uv_work_t *work)
{
	struct font *font = work->data;

	usleep(8000);
	uv_mutex_lock(&printer.mutex);
	font->is_loaded = true;
	uv_cond_broadcast(&printer.font_loaded);
	uv_mutex_unlock(&printer.mutex);
}

static void on_font(uv_work_t *work, int status)
{
	(void)work;
	if (status)
		abort();
}

/* In the loop: a page needs fonts that nobody has loaded. */
static void on_font_wanted(uv_async_t *async)
{
	(void)async;
	for (int i = 0; i < FONTS; i++) {
		struct font *font = &printer.fonts[i];
		bool is_wanted;

		uv_mutex_lock(&printer.mutex);
		is_wanted = font->is_wanted && !font->is_loading;
		uv_mutex_unlock(&printer.mutex);
		if (!is_wanted)
			continue;
		font->is_loading = true;
		font->load.data = font;
		if (uv_queue_work(printer.loop, &font->load, load_font, on_font))
			abort();
	}
}

static void font_get(struct font *font)
{
	uv_mutex_lock(&printer.mutex);
	if (!font->is_wanted) {
		font->is_wanted = true;
		uv_async_send(&printer.font_wanted);
	}
	while (!font->is_loaded)
		uv_cond_wait(&printer.font_loaded, &printer.mutex);
	uv_mutex_unlock(&printer.mutex);
}

static void convert_page(uv_work_t *work)
{
	struct page *page = work->data;

	usleep(4000);
	font_get(page->font);
	usleep(6000);
}

static void on_page(uv_work_t *work, int status)
{
	struct page *page = work->data;

	if (status)
		abort();
	printf("page %d is printed\n", page->number);
	printer.running--;
	printer.done++;
	submit_pages();
}

static void submit_pages(void)
{
	while (printer.next < PAGES && printer.running < printer.at_once) {
		struct page *page = &printer.pages[printer.next];

		page->number = ++printer.next;
		page->font = &printer.fonts[page->number / 5];
		page->work.data = page;
		printer.running++;
		if (uv_queue_work(printer.loop, &page->work, convert_page, on_page))
			abort();
	}
	if (printer.done == PAGES) {
		uv_close((uv_handle_t *)&printer.font_wanted, NULL);
		uv_close((uv_handle_t *)&printer.status, NULL);
	}
}

static void on_status(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%d of %d pages\n", printer.done, PAGES);
}

static void print_job(int at_once)
{
	printer.at_once = at_once;
	for (int i = 0; i < FONTS; i++)
		printer.fonts[i].number = i;
	submit_pages();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	printer.loop = uv_default_loop();
	uv_mutex_init(&printer.mutex);
	uv_cond_init(&printer.font_loaded);
	uv_async_init(printer.loop, &printer.font_wanted, on_font_wanted);
	uv_timer_init(printer.loop, &printer.status);
	uv_timer_start(&printer.status, on_status, 100, 100);
	print_job(strcmp(argv[1], "healthy") == 0 ? 3 : PAGES);
	uv_run(printer.loop, UV_RUN_DEFAULT);
	uv_loop_close(printer.loop);
	uv_cond_destroy(&printer.font_loaded);
	uv_mutex_destroy(&printer.mutex);
	return printer.done == PAGES ? 0 : 1;
}
