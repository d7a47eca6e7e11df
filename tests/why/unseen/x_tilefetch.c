/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The upstream answered tile 7 with 404; that branch of on_upstream removed the pending fetch without ending its promise. "fetch tile 7" is never fulfilled, so "GET /map?tile=7" hangs.
 *   culprit: fetch tile 7\b
 *   victim: GET /map
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: broken_diff
 *   args: broken
 *   run: kill 700
 *   ask: diff healthy
 *   truth: In the good run "fetch tile 7" fails with 404, in the bad one it never ends.
 *   culprit: fetch tile 7\b
 *   victim: GET /map
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	TILES = 12
};

static bool broken;
static uv_tcp_t idle_listener; /* the program's own, for its operators */

/* A fetch that the upstream hasn't answered yet. */
static struct thrum_resolver *pending[TILES];

static void on_upstream(int tile, int status)
{
	struct thrum_resolver *resolver = pending[tile];

	pending[tile] = NULL;
	if (status == 404) {
		if (broken)
			return;
		thrum_resolver_fail(resolver, 404, "no such tile");
		return;
	}
	thrum_resolver_resolve(resolver, thrum_value_int(status));
}

static void upstream_answers(struct thrum_loop *loop, void *value, void *data)
{
	int tile = (int)(intptr_t)data;

	on_upstream(tile, tile == 7 ? 404 : 200);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, int tile)
{
	struct thrum_promise *promise = thrum_promise_wait(loop, NULL, &pending[tile]);

	thrum_promise_labelf(promise, "fetch tile %d", tile);
	/* The upstream, which lives in another machine, needs a while. */
	thrum_promise_on_success(thrum_sleep(loop, 20 + tile % 5 * 10), upstream_answers,
		(void *)(intptr_t)tile, NULL);
	return promise;
}

static struct thrum_promise *draw(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_sleep(loop, 5);
}

static struct thrum_promise *draw_placeholder(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *promise = thrum_promise_try_bind(fetch(loop, (int)(intptr_t)data),
		draw, draw_placeholder, NULL, NULL);

	return thrum_promise_labelf(promise, "GET /map?tile=%d", (int)(intptr_t)data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[TILES];
	struct thrum_loop *loop;
	struct sockaddr_in address;
	int result;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_ip4_addr("127.0.0.1", 0, &address);
	uv_tcp_init(uv_default_loop(), &idle_listener);
	uv_tcp_bind(&idle_listener, (struct sockaddr *)&address, 0);
	uv_listen((uv_stream_t *)&idle_listener, 4, NULL);
	for (int i = 0; i < TILES; i++)
		all[i] = thrum_promise_should_resolve(
			thrum_promise_bind(thrum_sleep(loop, 10 + i * 15), serve,
				(void *)(intptr_t)i, NULL));
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, TILES), "all requests"));
	thrum_stop();
	return result ? 1 : 0;
}
