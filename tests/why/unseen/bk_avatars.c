/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: max_age is 1 ms instead of a minute, so is_fresh takes each cached picture for stale in get_avatar.
 *     All pages load each avatar anew ("load avatar of …"), instead of once for each author.
 *   culprit: load avatar|get_avatar|is_fresh
 *   victim: GET /thread|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: diff healthy
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A forum renders threads, with a picture of the author beside each comment. */
enum {
	AUTHORS = 4,
	COMMENTS = 6,
	PAGES = 8
};

struct author {
	const char *name;
	bool cached;
	uint64_t cached_at; /* ms */
};

struct page {
	int number, comment;
};

static struct author authors[AUTHORS] = {{.name = "ada"}, {.name = "bob"}, {.name = "cleo"},
	{.name = "dan"}};
static struct thrum_semaphore *storage;
static uint64_t max_age = 60000; /* ms */
static int hits, loads;

static bool is_fresh(const struct author *author)
{
	return author->cached && uv_now(uv_default_loop()) - author->cached_at < max_age;
}

static struct thrum_promise *fetch_picture(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 8), "read from storage");
}

static struct thrum_promise *store_picture(struct thrum_loop *loop, void *value, void *data)
{
	struct author *author = data;

	(void)value;
	author->cached = true;
	author->cached_at = uv_now(uv_default_loop());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *get_avatar(struct thrum_loop *loop, struct author *author)
{
	struct thrum_promise *load;

	if (is_fresh(author)) {
		hits++;
		return thrum_promise_return(loop, thrum_value_none());
	}
	loads++;
	load = thrum_semaphore_with(storage, fetch_picture, author, NULL);
	load = thrum_promise_bind(load, store_picture, author, NULL);
	return thrum_promise_labelf(load, "load avatar of %s", author->name);
}

static struct thrum_promise *format_text(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 1), "format text");
}

static struct thrum_promise *render_comment(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;
	struct thrum_promise *parts[2];
	struct author *author;

	(void)value;
	if (page->comment == COMMENTS)
		return thrum_promise_return(loop, thrum_value_none());
	author = &authors[(page->number + page->comment++) % AUTHORS];
	parts[0] = get_avatar(loop, author);
	parts[1] = format_text(loop);
	return thrum_promise_bind(thrum_promise_join(loop, parts, 2), render_comment, page, NULL);
}

static struct thrum_promise *query_thread(struct thrum_loop *loop, int number)
{
	return thrum_promise_labelf(thrum_sleep(loop, 4), "select thread %d", number);
}

static struct thrum_promise *render_page(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *rendered = query_thread(loop, page->number);

	rendered = thrum_promise_bind(rendered, render_comment, page, NULL);
	rendered = thrum_promise_labelf(rendered, "GET /thread/%d", page->number);
	return thrum_promise_should_resolve(rendered);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	if (page->number == PAGES)
		return thrum_promise_return(loop, thrum_value_none());
	page->number++;
	page->comment = 0;
	return thrum_promise_bind(render_page(loop, page), serve, page, NULL);
}

int main(int argc, char **argv)
{
	static struct page pages[2];
	struct thrum_promise *clients[2];
	struct thrum_loop *loop;
	int result;

	if (argc > 1 && strcmp(argv[1], "broken") == 0)
		max_age /= 60000;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	storage = thrum_semaphore_create(loop, "storage", 2);
	for (int i = 0; i < 2; i++)
		clients[i] = thrum_promise_label(serve(loop, NULL, &pages[i]), "client");
	result = thrum_promise_run(thrum_promise_join(loop, clients, 2));
	printf("%d hits, %d loads: %d\n", hits, loads, result);
	thrum_stop();
	return result ? 1 : 0;
}
