/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=serve asset
 *   truth: Lookups of webhook hosts block all threads of libuv's pool, so that the file of one asset isn't
 *     read until they are done. The webhooks should have left some threads free.
 *   culprit: look up (web)?hook|resolve_host
 *   victim: load_file|(read|stat|open|load).*asset|thread pool
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why --slow=serve asset
 *   culprit: nothing
 */
/*
 * A web server gives out assets from files, one request after the other. Now and then it calls webhooks. A
 * blocking resolver looks up their hosts in the thread pool.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define REQUESTS 12
#define HOOKS_AT 5
#define HOOKS 4

static char asset[] = "/tmp/ab_assets_XXXXXX";
static struct thrum_semaphore *resolver;
static bool broken;
static size_t sent;
static int called;

/* The resolver of the C library blocks until its server answers. */
static int resolve_host(void *data, struct thrum_value *result)
{
	(void)data;
	usleep(60000);
	*result = thrum_value_int(1);
	return 0;
}

static struct thrum_value count_call(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	called += (int)thrum_int(value);
	return thrum_value_none();
}

static struct thrum_promise *look_up(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *found = thrum_work(loop, "look up webhook host", resolve_host, data,
		NULL);

	return thrum_promise_map(found, count_call, NULL, NULL);
}

static struct thrum_promise *call_webhooks(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *hooks[HOOKS];

	for (int i = 0; i < HOOKS; i++)
		hooks[i] = broken ? look_up(loop, data)
				  : thrum_semaphore_with(resolver, look_up, data, NULL);
	return thrum_promise_join(loop, hooks, HOOKS);
}

static struct thrum_promise *send_asset(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_bytes *bytes = value;

	(void)data;
	sent += bytes->size;
	/* The client's network. */
	return thrum_sleep(loop, 3);
}

static struct thrum_promise *load_file(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_file_load(loop, asset), send_asset, data, NULL);
}

static struct thrum_promise *serve_next(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t number = thrum_int(data);
	struct thrum_promise *parsed, *served;

	(void)value;
	if (number == REQUESTS)
		return thrum_promise_return(loop, thrum_value_none());
	if (number == HOOKS_AT)
		thrum_promise_async(loop, "webhooks", call_webhooks, NULL, NULL);
	parsed = thrum_promise_label(thrum_sleep(loop, 2), "parse request");
	served = thrum_promise_bind(parsed, load_file, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(served, "serve asset"));
	return thrum_promise_bind(served, serve_next, (void *)(number + 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error, file = mkstemp(asset);

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (file < 0 || ftruncate(file, 20000) || close(file))
		return 1;
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	resolver = thrum_semaphore_create(loop, "resolver", 1);
	error = thrum_promise_run(thrum_promise_label(serve_next(loop, NULL, (void *)0), "server"));
	/* The last webhooks end before the server does. */
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	unlink(asset);
	printf("%zu bytes sent, %d webhooks called\n", sent, called);
	return error ? 1 : 0;
}
