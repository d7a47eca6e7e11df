/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: The function "thumbnail" calls the function "resize" while it holds the tenant's mutex "tenant acme",
 *     and each call takes that mutex to charge the tenant. So it waits for its own mutex; all calls of acme hang after it.
 *   culprit: thumbnail|run_thumbnail|charge_and_run
 *   victim: all calls|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Cloud functions: each call is charged to its tenant, then its function runs. Functions may call others. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct tenant {
	const char *name;
	struct thrum_mutex *mutex;
	unsigned charged;
};

struct call {
	struct tenant *tenant;
	const char *function;
};

static bool healthy;
static struct tenant acme = {.name = "acme"}, zoo = {.name = "zoo"};
static uv_timer_t reaper;
static unsigned reaps;

static struct thrum_promise *invoke(struct thrum_loop *loop, struct tenant *tenant,
	const char *function);

static struct thrum_promise *run_resize(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 12), "scale pixels");
}

static struct thrum_promise *resize_next(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;

	(void)value;
	return invoke(loop, call->tenant, "resize");
}

/* Fetches the picture, and lets another function make it smaller. */
static struct thrum_promise *run_thumbnail(struct thrum_loop *loop, struct call *call)
{
	struct thrum_promise *fetched = thrum_promise_label(thrum_sleep(loop, 8), "fetch picture");

	return thrum_promise_bind(fetched, resize_next, call, NULL);
}

static struct thrum_promise *run_function(struct thrum_loop *loop, struct call *call)
{
	if (!strcmp(call->function, "thumbnail"))
		return run_thumbnail(loop, call);
	if (!strcmp(call->function, "resize"))
		return run_resize(loop);
	return thrum_promise_label(thrum_sleep(loop, 5), "hello");
}

static struct thrum_promise *charge(struct thrum_loop *loop, void *data)
{
	struct call *call = data;

	call->tenant->charged++;
	return thrum_promise_label(thrum_sleep(loop, 2), "write charge");
}

static struct thrum_promise *after_charge(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return run_function(loop, data);
}

static struct thrum_promise *charge_and_run(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(charge(loop, data), after_charge, data, NULL);
}

static struct thrum_promise *forget(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *invoke(struct thrum_loop *loop, struct tenant *tenant,
	const char *function)
{
	struct call *call = malloc(sizeof(*call));
	struct thrum_promise *run;

	if (!call)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	call->tenant = tenant;
	call->function = function;
	if (healthy) {
		run = thrum_mutex_with(tenant->mutex, charge, call, NULL);
		run = thrum_promise_bind(run, after_charge, call, NULL);
	} else {
		run = thrum_mutex_with(tenant->mutex, charge_and_run, call, NULL);
	}
	run = thrum_promise_finalize(run, forget, call, free);
	return thrum_promise_labelf(run, "%s for %s", function, tenant->name);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data);

struct client {
	struct tenant *tenant;
	const char *functions[8];
	int next;
};

static struct thrum_promise *client_step(struct thrum_loop *loop, struct client *client)
{
	const char *function = client->functions[client->next++];

	if (!function)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(invoke(loop, client->tenant, function), client_next, client,
		NULL);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return client_step(loop, data);
}

/* Would stop containers that nobody uses. */
static void on_reaper(uv_timer_t *timer)
{
	(void)timer;
	reaps++;
}

int main(int argc, char **argv)
{
	struct client clients[] = {
		{&acme, {"hello", "resize", "hello", "thumbnail", "hello"}, 0},
		{&acme, {"resize", "resize", "hello", "hello", "resize", "resize"}, 0},
		{&zoo, {"hello", "resize", "hello", "hello", "resize"}, 0},
	};
	struct thrum_promise *all[3];
	struct thrum_loop *loop;
	uv_loop_t *uv = uv_default_loop();
	int result;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	uv_timer_init(uv, &reaper);
	uv_timer_start(&reaper, on_reaper, 40, 40);
	acme.mutex = thrum_mutex_create(loop, "tenant acme");
	zoo.mutex = thrum_mutex_create(loop, "tenant zoo");
	for (int i = 0; i < 3; i++)
		all[i] = thrum_promise_should_resolve(
			thrum_promise_labelf(client_step(loop, &clients[i]), "client %d", i));
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, all, 3), "all calls")));
	thrum_stop();
	printf("acme %u, zoo %u: %s\n", acme.charged, zoo.charged, result ? "failed" : "ok");
	thrum_mutex_destroy(acme.mutex);
	thrum_mutex_destroy(zoo.mutex);
	uv_close((uv_handle_t *)&reaper, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return 0;
}
