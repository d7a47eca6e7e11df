/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: reload_config calls the listeners while it still holds "config lock". The listener of the limiter
 *     looks up a key by config_get, which wants the same lock. So the reload waits for itself, and all requests
 *     with it.
 *   culprit: reload|on_limits_changed|config_get|config lock|notify
 *   victim: GET /|main\b|serve
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A server whose configuration is read again now and then, under a lock that isn't recursive. */
enum {
	REQUESTS = 20,
	LISTENERS = 3
};

typedef struct thrum_promise *listener(struct thrum_loop *loop, int version);

static struct thrum_mutex *config_lock;
static int version = 1, served, limit = 10, level;
static bool unlock_first;

static struct thrum_promise *look_up(struct thrum_loop *loop, void *data)
{
	const char *key = data;
	int value = strcmp(key, "limit") == 0 ? version * 10 : version;

	return thrum_promise_return(loop, thrum_value_int(value));
}

static struct thrum_promise *config_get(const char *key)
{
	struct thrum_promise *value = thrum_mutex_with(config_lock, look_up, (void *)(uintptr_t)key,
		NULL);

	return thrum_promise_labelf(value, "config_get %s", key);
}

static struct thrum_value set_limit(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	limit = (int)thrum_int(value);
	return thrum_value_none();
}

static struct thrum_promise *on_limits_changed(struct thrum_loop *loop, int now)
{
	/* The limiter has nothing to do for small versions. */
	if (now < 3)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_label(thrum_promise_map(config_get("limit"), set_limit, NULL, NULL),
		"on_limits_changed");
}

static struct thrum_promise *on_log_changed(struct thrum_loop *loop, int now)
{
	level = now % 4;
	return thrum_promise_label(thrum_sleep(loop, 2), "on_log_changed");
}

static struct thrum_promise *on_cache_changed(struct thrum_loop *loop, int now)
{
	(void)now;
	return thrum_promise_label(thrum_sleep(loop, 3), "on_cache_changed");
}

static struct thrum_promise *notify(struct thrum_loop *loop)
{
	static listener *const listeners[LISTENERS] = {on_log_changed, on_limits_changed,
		on_cache_changed};
	struct thrum_promise *all[LISTENERS];

	for (int i = 0; i < LISTENERS; i++)
		all[i] = listeners[i](loop, version);
	return thrum_promise_label(thrum_promise_join(loop, all, LISTENERS), "notify listeners");
}

static struct thrum_promise *apply_file(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	version++;
	if (unlock_first)
		return thrum_promise_return(loop, thrum_value_none());
	return notify(loop);
}

static struct thrum_promise *read_file(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *file = thrum_promise_label(thrum_sleep(loop, 4), "read server.conf");

	(void)data;
	return thrum_promise_bind(file, apply_file, NULL, NULL);
}

static struct thrum_promise *after_unlock(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (unlock_first)
		return notify(loop);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *reload_config(void)
{
	struct thrum_promise *reload = thrum_mutex_with(config_lock, read_file, NULL, NULL);

	reload = thrum_promise_bind(reload, after_unlock, NULL, NULL);
	return thrum_promise_labelf(reload, "reload %d", version + 1);
}

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	served++;
	return thrum_sleep(loop, 2);
}

static struct thrum_promise *next_request(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;
	struct thrum_promise *request;

	(void)value;
	if (number == REQUESTS)
		return thrum_promise_return(loop, thrum_value_none());
	if (number % 6 == 2)
		thrum_promise_ignore_result(reload_config());
	request = thrum_promise_bind(config_get("root"), answer, NULL, NULL);
	request = thrum_promise_labelf(request, "GET /%d", number);
	return thrum_promise_bind(request, next_request, (void *)(intptr_t)(number + 1), NULL);
}

static void on_second(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	struct thrum_promise *all;
	struct thrum_loop *loop;
	uv_timer_t statistics;
	int result;

	unlock_first = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &statistics);
	uv_timer_start(&statistics, on_second, 200, 200);
	config_lock = thrum_mutex_create(loop, "config lock");
	all = thrum_promise_label(next_request(loop, NULL, NULL), "serve");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	printf("%d served, version %d, limit %d, level %d: %d\n", served, version, limit, level,
		result);
	thrum_stop();
	return result ? 1 : 0;
}
