/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: check_link gives its connection slot back in link_fetched only, which doesn't run when the fetch fails. Each
 *     dead link keeps one of the three slots for ever; after the third one all other links wait for a slot.
 *   culprit: check .*dead|link_fetched|connection slots
 *   victim: check all links
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Checks the links of a site, at most three at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct link {
	const char *url;
	int answer_ms;
	bool dead;
};

static struct link links[] = {
	{"/index", 20, false},
	{"/about", 30, false},
	{"/news/1", 25, false},
	{"/old-dead", 40, true},
	{"/news/2", 30, false},
	{"/news/3", 15, false},
	{"/map", 60, false},
	{"/shop-dead", 35, true},
	{"/shop/cart", 20, false},
	{"/jobs-dead", 30, true},
	{"/contact", 20, false},
	{"/imprint", 25, false},
	{"/feed", 10, false},
	{"/archive", 45, false},
};
#define LINKS (sizeof links / sizeof *links)

static struct thrum_semaphore *slots;
static bool use_with;
static unsigned good, bad;

static struct thrum_promise *answered(struct thrum_loop *loop, void *value, void *data)
{
	const struct link *link = data;

	(void)value;
	if (link->dead)
		return thrum_promise_fail(loop, -ECONNREFUSED, "%s: connection refused", link->url);
	return thrum_promise_return(loop, thrum_value_int(200));
}

/* Stands for a request by HTTP. */
static struct thrum_promise *fetch(struct thrum_loop *loop, void *data)
{
	struct link *link = data;

	return thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, (uint64_t)link->answer_ms),
					    answered, link, NULL),
		"HEAD %s", link->url);
}

static struct thrum_promise *slot_granted(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return fetch(loop, data);
}

static struct thrum_promise *link_fetched(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	thrum_semaphore_release(slots);
	return thrum_promise_return(loop, thrum_value_int(thrum_int(value)));
}

static struct thrum_promise *count_good(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	good++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *count_bad(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	const struct link *link = data;

	printf("broken link %s: %s\n", link->url, failure->message);
	fflush(stdout);
	bad++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *check_link(struct thrum_loop *loop, struct link *link)
{
	struct thrum_promise *checked;

	if (use_with) {
		checked = thrum_semaphore_with(slots, fetch, link, NULL);
	} else {
		checked = thrum_promise_bind(thrum_semaphore_acquire(slots), slot_granted, link,
			NULL);
		checked = thrum_promise_bind(checked, link_fetched, link, NULL);
	}
	checked = thrum_promise_try_bind(checked, count_good, count_bad, link, NULL);
	(void)loop;
	return thrum_promise_labelf(checked, "check %s", link->url);
}

static struct thrum_promise *progress(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	printf("%u good, %u bad of %zu\n", good, bad, LINKS);
	fflush(stdout);
	return thrum_promise_bind(thrum_sleep(loop, 100), progress, NULL, NULL);
}

static struct thrum_promise *begin_progress(struct thrum_loop *loop, void *data)
{
	return progress(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *checks[LINKS], *all;
	struct thrum_loop *loop;
	int error;

	use_with = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	slots = thrum_semaphore_create(loop, "connection slots", 3);
	thrum_promise_async(loop, "progress", begin_progress, NULL, NULL);
	for (size_t i = 0; i < LINKS; i++)
		checks[i] = check_link(loop, &links[i]);
	all = thrum_promise_label(thrum_promise_join(loop, checks, LINKS), "check all links");
	error = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%u good, %u bad\n", good, bad);
	return error ? 1 : 0;
}
