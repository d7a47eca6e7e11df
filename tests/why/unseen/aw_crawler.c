/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: page_fetch gives its slot of the semaphore "slots" back in release_after_page, a bind callback
 *     that runs only after success. When the download times out (page 4, 9 and 14), the promise fails, the
 *     callback is skipped and the slot is lost. After three timeouts no slot is left, and all later pages
 *     wait for one.
 *   culprit: page (4|9|14)\b|GET /(4|9|14)\b|download (4|9|14)\b|release_after_page|timed out|ETIMEDOUT
 *   victim: site|slots|page \d+|crawl|join
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A crawler: fetches the pages of a site, a few at a time, with a limit of time for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PAGES 24
#define SLOTS 3
#define PATIENCE 40

struct crawl {
	struct thrum_loop *loop;
	struct thrum_semaphore *slots;
	struct thrum_mutex *index_lock;
	struct thrum_promise *(*fetch)(struct crawl *crawl, int number);
	int fetched, failed;
	size_t bytes;
	int ticks;
	int stopped;
};

struct page {
	struct crawl *crawl;
	int number;
};

static struct page *page_new(struct crawl *crawl, int number)
{
	struct page *page = malloc(sizeof(*page));

	page->crawl = crawl;
	page->number = number;
	return page;
}

/* Some pages are made by a script that takes its time. */
static uint64_t server_delay(int number)
{
	return number % 5 == 4 && number < 15 ? 5000 : 3 + number % 4;
}

static struct thrum_value make_body(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)loop, (void)value;
	return thrum_value_int(1000 + page->number);
}

static struct thrum_promise *download(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *body;

	body = thrum_promise_labelf(thrum_sleep(loop, server_delay(page->number)), "GET /%d",
		page->number);
	body = thrum_promise_map(body, make_body, page_new(page->crawl, page->number), free);
	return thrum_timeout(body, PATIENCE);
}

static struct thrum_promise *start_download(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return download(loop, data);
}

static struct thrum_promise *release_after_page(struct thrum_loop *loop, void *value, void *data)
{
	struct crawl *crawl = data;

	thrum_semaphore_release(crawl->slots);
	return thrum_promise_return(loop, thrum_value_int(thrum_int(value)));
}

static struct thrum_promise *begin_download(struct thrum_loop *loop, void *data)
{
	return download(loop, data);
}

/* Takes a slot, and gives it back after the download. */
static struct thrum_promise *page_fetch(struct crawl *crawl, int number)
{
	struct thrum_promise *promise = thrum_semaphore_acquire(crawl->slots);

	promise = thrum_promise_bind(promise, start_download, page_new(crawl, number), free);
	return thrum_promise_bind(promise, release_after_page, crawl, NULL);
}

static struct thrum_promise *page_fetch_in_slot(struct crawl *crawl, int number)
{
	return thrum_semaphore_with(crawl->slots, begin_download, page_new(crawl, number), free);
}

static struct thrum_promise *add_to_index(struct thrum_loop *loop, void *data)
{
	struct page *page = data;

	page->crawl->fetched++;
	return thrum_sleep(loop, 1);
}

static struct thrum_promise *on_page(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;
	struct crawl *crawl = page->crawl;

	(void)loop;
	crawl->bytes += thrum_int(value);
	return thrum_mutex_with(crawl->index_lock, add_to_index, page_new(crawl, page->number),
		free);
}

/* A page that can't be had is left out. */
static struct thrum_promise *on_page_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct crawl *crawl = data;

	(void)failure;
	crawl->failed++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *crawl_page(struct crawl *crawl, int number)
{
	struct thrum_promise *page = crawl->fetch(crawl, number);

	page = thrum_promise_bind(page, on_page, page_new(crawl, number), free);
	page = thrum_promise_catch(page, on_page_failed, crawl, NULL);
	return thrum_promise_labelf(page, "page %d", number);
}

static struct thrum_promise *crawl_site(struct crawl *crawl)
{
	struct thrum_promise *pages[PAGES];

	for (int i = 0; i < PAGES; i++)
		pages[i] = crawl_page(crawl, i);
	return thrum_promise_label(thrum_promise_join(crawl->loop, pages, PAGES), "site");
}

/* Shows the progress now and then. */
static struct thrum_promise *tick(struct thrum_loop *loop, void *value, void *data)
{
	struct crawl *crawl = data;

	(void)value;
	if (crawl->stopped)
		return thrum_promise_return(loop, thrum_value_none());
	crawl->ticks++;
	return thrum_promise_bind(thrum_sleep(loop, 50), tick, crawl, NULL);
}

static struct thrum_promise *begin_progress(struct thrum_loop *loop, void *data)
{
	return tick(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct crawl crawl = {0};
	uv_loop_t uv;
	int result;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &crawl.loop))
		return 1;
	crawl.slots = thrum_semaphore_create(crawl.loop, "slots", SLOTS);
	crawl.index_lock = thrum_mutex_create(crawl.loop, "index");
	crawl.fetch = strcmp(argv[1], "broken") ? page_fetch_in_slot : page_fetch;
	thrum_promise_async(crawl.loop, "progress", begin_progress, &crawl, NULL);
	result = thrum_promise_run(thrum_promise_should_resolve(crawl_site(&crawl)));
	crawl.stopped = 1;
	printf("%d pages, %d failed, %zu bytes, %d ticks: %s\n", crawl.fetched, crawl.failed,
		crawl.bytes, crawl.ticks, thrum_promise_error_message(result));
	thrum_stop();
	thrum_semaphore_destroy(crawl.slots);
	thrum_mutex_destroy(crawl.index_lock);
	thrum_loop_destroy(crawl.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result || crawl.fetched != PAGES - 3;
}
