/* SPDX-License-Identifier: ISC */
/* Several ask for a page that is fetched only once. With the bug, the fetch ends and tells nobody. */
#include "annotate.h"

#include <thrum/promise.h>
#include <uv.h>

struct page {
	struct thrum_promise *body;
	struct thrum_resolver *resolver;
};

static bool forgets;

static struct thrum_promise *on_body(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	if (!forgets)
		thrum_resolver_resolve(page->resolver, thrum_value_static("body"));
	return thrum_promise_return(loop, thrum_value_none());
}

/* All who ask get the same promise, which the fetch ends. */
static struct thrum_promise *page_get(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *fetch;

	if (!page->body) {
		page->body = thrum_promise_task(loop, "page", &page->resolver);
		fetch = thrum_promise_bind(thrum_sleep(loop, 10), on_body, page, NULL);
		fetch = thrum_promise_label(fetch, "fetch");
		thrum_task_wait(thrum_promise_task_id(page->body), thrum_promise_task_id(fetch));
		thrum_promise_ignore_result(fetch);
	}
	/* One who gives up takes the page from nobody else. */
	return thrum_promise_protected(thrum_promise_ref(page->body));
}

/* Returns whether three clients got the page. */
static bool serve(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *asked[3];
	int result;

	for (int i = 0; i < 3; i++) {
		asked[i] = thrum_promise_labelf(page_get(loop, page), "client %d", i + 1);
		thrum_promise_should_resolve(asked[i]);
	}
	result = thrum_promise_run(thrum_promise_join(loop, asked, 3));
	return result == 0;
}

int main(int argc, char **argv)
{
	struct page first = {NULL, NULL}, second = {NULL, NULL};
	struct thrum_loop *loop;
	bool is_served;

	begin(argc);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	is_served = serve(loop, &first);
	forgets = broken;
	is_served = serve(loop, &second) && is_served;
	uv_sleep(10); /* a client that waits for so long is late */
	thrum_stop();
	thrum_promise_unref(first.body);
	thrum_promise_unref(second.body);
	if (forgets)
		thrum_resolver_drop(second.resolver);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return is_served ? 0 : 1;
}
