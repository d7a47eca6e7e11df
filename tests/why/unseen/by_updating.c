/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: nginx issue #880 ("cache stuck UPDATING if worker crashes"): “visitor 5 /news” was cancelled by
 *     abort_visit, as its client had gone, while it fetched the page with the cache entry's lock held. The lock is only given
 *     back by store_page, a callback of bind, which doesn't run after a cancellation. So “update of /news” stays
 *     locked for ever, and all later visitors of /news hang. Those of other pages are served.
 *   culprit: visitor 5|update of /news
 *   victim: visitor 6|visitor 8
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A cache of pages in front of a slow origin. Only one visitor at a time updates the entry of a page; the others wait
 * for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PAGES 3
#define VISITS 12

struct page {
	const char *path;
	struct thrum_mutex *update;
	uint64_t fresh_until;
	unsigned version;
};

struct visit {
	unsigned number;
	struct page *page;
};

static struct page pages[PAGES] = {{.path = "/news"}, {.path = "/weather"}, {.path = "/sports"}};
static const int order[VISITS] = {0, 1, 0, 2, 0, 0, 1, 0, 2, 1, 0, 2};
static bool careful;
static bool finished;
static unsigned served;
static unsigned aborted;

static uint64_t now(struct thrum_loop *loop)
{
	return uv_now(thrum_loop_uv(loop));
}

static struct thrum_promise *done(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *unlock_page(struct thrum_loop *loop, void *data)
{
	struct page *page = data;

	thrum_mutex_unlock(page->update);
	return done(loop);
}

/* The origin has sent the page. */
static struct thrum_promise *store_page(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	page->version++;
	page->fresh_until = now(loop) + 60;
	if (!careful)
		thrum_mutex_unlock(page->update);
	return done(loop);
}

static struct thrum_promise *fetch_page(struct thrum_loop *loop, struct page *page)
{
	struct thrum_promise *answer = thrum_sleep(loop, 40);

	thrum_promise_labelf(answer, "origin sends %s", page->path);
	answer = thrum_promise_bind(answer, store_page, page, NULL);
	if (careful)
		answer = thrum_promise_finalize(answer, unlock_page, page, NULL);
	return answer;
}

static struct thrum_promise *serve_locked(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)value;
	if (page->fresh_until <= now(loop))
		return fetch_page(loop, page);
	thrum_mutex_unlock(page->update); /* another visitor has just done it */
	return done(loop);
}

static void count_visit(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	served++;
}

static struct thrum_promise *serve(struct thrum_loop *loop, const struct visit *visit)
{
	struct page *page = visit->page;
	struct thrum_promise *served_page;

	if (page->fresh_until > now(loop))
		return done(loop);
	served_page = thrum_promise_bind(thrum_mutex_lock(page->update), serve_locked, page, NULL);
	return thrum_promise_labelf(served_page, "visitor %u %s", visit->number, page->path);
}

static struct thrum_promise *forgive(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	(void)failure;
	(void)data;
	aborted++;
	return done(loop);
}

struct coming {
	struct thrum_promise *visits[VISITS];
	unsigned count;
};

/* The client of this visit closes its connection before it has the page. */
static struct thrum_promise *abort_visit(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *visit = data;

	(void)value;
	thrum_promise_cancel(visit);
	thrum_promise_unref(visit);
	return done(loop);
}

static struct thrum_promise *next_visit(struct thrum_loop *loop, void *value, void *data)
{
	struct coming *coming = data;
	struct visit visit = {coming->count + 1, &pages[order[coming->count]]};
	struct thrum_promise *promise;

	(void)value;
	promise = thrum_promise_should_resolve(serve(loop, &visit));
	thrum_promise_on_termination(thrum_promise_ref(promise), count_visit, NULL, NULL);
	if (visit.number == 5) {
		struct thrum_promise *patience = thrum_sleep(loop, 15);

		thrum_promise_label(patience, "client closes");
		thrum_promise_ignore_result(thrum_promise_bind(patience, abort_visit,
			thrum_promise_ref(promise), NULL));
	}
	coming->visits[coming->count++] = thrum_promise_catch(promise, forgive, NULL, NULL);
	if (coming->count == VISITS)
		return thrum_promise_join(loop, coming->visits, VISITS);
	return thrum_promise_bind(thrum_sleep(loop, 70), next_visit, coming, NULL);
}

/* The health check of a balancer asks once in a while whether the cache is alive. */
static struct thrum_promise *check_health(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (finished)
		return done(loop);
	return thrum_promise_bind(thrum_sleep(loop, 50), check_health, NULL, NULL);
}

static void finish(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	finished = true;
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *all[2];
	struct coming coming = {.count = 0};
	int result;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < PAGES; i++) {
		char label[32];

		snprintf(label, sizeof label, "update of %s", pages[i].path);
		pages[i].update = thrum_mutex_create(loop, label);
	}
	all[0] = thrum_promise_bind(thrum_sleep(loop, 10), next_visit, &coming, NULL);
	all[0] = thrum_promise_label(all[0], "visitors");
	thrum_promise_on_termination(thrum_promise_ref(all[0]), finish, NULL, NULL);
	all[1] = thrum_promise_bind(thrum_sleep(loop, 50), check_health, NULL, NULL);
	all[1] = thrum_promise_label(all[1], "health check");
	result = thrum_promise_run(thrum_promise_join(loop, all, 2));
	thrum_stop();
	printf("%d: served %u, %u aborted\n", result, served, aborted);
	for (int i = 0; i < PAGES; i++)
		thrum_mutex_destroy(pages[i].update);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return 0;
}
