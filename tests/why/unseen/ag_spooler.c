/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_new_pages(), the callback of the uv_async_t, prints one page each time that it is called; but libuv makes
 *     one call of several uv_async_send() that come at once. The other pages of the brochure stay in the queue, and
 *     “editor” waits for them; later pages queue behind them.
 *   culprit: on_new_pages
 *   victim: editor|mailer|print_document
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A print spooler: threads queue the pages of their documents, and a libuv loop drives the printer. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define NOINLINE __attribute__((noinline))
#define MAX_PAGES 8

struct page {
	uv_timer_t timer; /* runs while the printer prints it */
	struct page *next;
	struct document *document;
	unsigned number;
};

struct document {
	const char *name;
	unsigned pages, printed;
	pthread_cond_t done;
	struct page page[MAX_PAGES];
};

static uv_loop_t loop;
static uv_async_t new_pages;
static uv_async_t shutdown_spooler;
static pthread_mutex_t spool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page *spool;
static struct page **spool_end = &spool;
static unsigned batch; /* pages to give to the printer at a time */

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static NOINLINE void on_page_closed(uv_handle_t *handle)
{
	struct page *page = handle->data;
	struct document *document = page->document;

	pthread_mutex_lock(&spool_lock);
	if (++document->printed == document->pages)
		pthread_cond_signal(&document->done);
	pthread_mutex_unlock(&spool_lock);
}

static NOINLINE void on_page_printed(uv_timer_t *timer)
{
	const struct page *page = timer->data;

	printf("%s: page %u\n", page->document->name, page->number);
	uv_close((uv_handle_t *)timer, on_page_closed);
}

static NOINLINE void print_page(struct page *page)
{
	uv_timer_init(&loop, &page->timer);
	page->timer.data = page;
	uv_timer_start(&page->timer, on_page_printed, 30, 0);
}

/* In the loop, after uv_async_send(). */
static NOINLINE void on_new_pages(uv_async_t *async)
{
	struct page *pages[MAX_PAGES];
	unsigned count = 0;

	(void)async;
	pthread_mutex_lock(&spool_lock);
	while (spool && count < batch) {
		pages[count++] = spool;
		spool = spool->next;
	}
	if (!spool)
		spool_end = &spool;
	pthread_mutex_unlock(&spool_lock);
	for (unsigned i = 0; i < count; i++)
		print_page(pages[i]);
}

static NOINLINE void on_shutdown(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&new_pages, NULL);
}

/* The caller holds the lock: the pages of a document stay together. */
static NOINLINE void queue_page(struct page *page)
{
	page->next = NULL;
	*spool_end = page;
	spool_end = &page->next;
	uv_async_send(&new_pages);
}

/* Returns when all pages have been printed. */
static NOINLINE void print_document(const char *name, unsigned pages)
{
	struct document *document = calloc(1, sizeof(*document));

	if (!document)
		abort();
	document->name = name;
	document->pages = pages;
	pthread_cond_init(&document->done, NULL);
	pthread_mutex_lock(&spool_lock);
	for (unsigned i = 0; i < pages; i++) {
		document->page[i].document = document;
		document->page[i].number = i + 1;
		queue_page(&document->page[i]);
	}
	while (document->printed < pages)
		pthread_cond_wait(&document->done, &spool_lock);
	pthread_mutex_unlock(&spool_lock);
	pthread_cond_destroy(&document->done);
	free(document);
}

static void *run_loop(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "printer");
	uv_run(&loop, UV_RUN_DEFAULT);
	return NULL;
}

static void *run_editor(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "editor");
	print_document("letter", 1);
	pause_ms(200);
	print_document("brochure", 5);
	return NULL;
}

static void *run_mailer(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "mailer");
	pause_ms(550);
	print_document("invoice", 1);
	return NULL;
}

int main(int argc, char **argv)
{
	bool slow_printer = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t printer, editor, mailer;

	batch = slow_printer ? 1 : MAX_PAGES;
	if (uv_loop_init(&loop) || uv_async_init(&loop, &new_pages, on_new_pages) ||
		uv_async_init(&loop, &shutdown_spooler, on_shutdown))
		return EXIT_FAILURE;
	if (pthread_create(&printer, NULL, run_loop, NULL) ||
		pthread_create(&editor, NULL, run_editor, NULL) ||
		pthread_create(&mailer, NULL, run_mailer, NULL))
		return EXIT_FAILURE;
	pthread_join(editor, NULL);
	pthread_join(mailer, NULL);
	uv_async_send(&shutdown_spooler);
	pthread_join(printer, NULL);
	return uv_loop_close(&loop) ? EXIT_FAILURE : EXIT_SUCCESS;
}
