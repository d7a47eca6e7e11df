/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The first client owns the shared fetch of the tile directly. When it disconnects, its GET is cancelled and with it the fetch "origin 7/41/83"; the handler ignores cancellations and never tells the two other clients, who wait for ever.
 *   culprit: origin 7/41/83|GET tile, client 1\b
 *   victim: client [23]\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A tile server that coalesces concurrent requests for one tile into one fetch from the origin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct flight {
	struct thrum_promise *fetch;
	struct thrum_resolver *waiting[8];
	int count;
};

static struct flight flight;
static bool broken;

static void tile_came(struct thrum_loop *loop, void *value, void *data)
{
	struct flight *f = data;

	for (int i = 0; i < f->count; i++)
		thrum_resolver_resolve(f->waiting[i], thrum_value_static(value));
	f->count = 0;
}

static void tile_failed(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	struct flight *f = data;

	if (failure->code == THRUM_CANCELED)
		return; /* nobody wants it any more */
	for (int i = 0; i < f->count; i++)
		thrum_resolver_fail_again(f->waiting[i], failure);
	f->count = 0;
}

static struct thrum_value decode(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_value_static("PNG");
}

static struct thrum_promise *get_tile(struct thrum_loop *loop)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *mine;

	if (!flight.fetch) {
		struct thrum_promise *fetch = thrum_promise_map(thrum_sleep(loop, 120), decode,
			NULL, NULL);

		flight.fetch = thrum_promise_label(fetch, "origin 7/41/83");
		thrum_promise_on_any(thrum_promise_ref(flight.fetch), tile_came, tile_failed,
			&flight, NULL);
		if (broken)
			return thrum_promise_ref(flight.fetch);
		return thrum_promise_protected(thrum_promise_ref(flight.fetch));
	}
	mine = thrum_promise_task(loop, "coalesced", &resolver);
	flight.waiting[flight.count++] = resolver;
	return mine;
}

static struct thrum_promise *send_tile(struct thrum_loop *loop, void *tile, void *data)
{
	return thrum_sleep(loop, 4);
}

static struct thrum_promise *client_gone(struct thrum_loop *loop, void *value, void *data)
{
	thrum_promise_cancel(data);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *disconnect(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 45), client_gone, data, NULL);
}

static struct thrum_promise *sweep_again(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *sweep(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 150), sweep_again, NULL, NULL);
}
static struct thrum_promise *sweep_again(struct thrum_loop *loop, void *value, void *data)
{
	return sweep(loop, data);
}

static struct thrum_promise *forgive(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	struct thrum_loop *loop;
	struct thrum_promise *get[3], *all[3];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "cache sweeper", sweep, NULL, NULL);
	for (int i = 0; i < 3; i++) {
		get[i] = thrum_promise_bind(get_tile(loop), send_tile, NULL, NULL);
		thrum_promise_should_resolve(
			thrum_promise_labelf(get[i], "GET tile, client %d", i + 1));
		all[i] = thrum_promise_catch(thrum_promise_ref(get[i]), forgive, NULL, NULL);
	}
	thrum_promise_async(loop, "disconnect", disconnect, get[0], NULL);
	int result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, 3), "serve"));
	thrum_stop();
	printf("done: %d\n", result);
	return result != 0;
}
