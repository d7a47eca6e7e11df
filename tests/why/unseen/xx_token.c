/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The refresh of the access token gets 503, and on_refresh_failed only logs that. It should have
 *          failed the requests that queue for the token; so these wait for ever, and the dashboard with them.
 *   culprit: (refresh token|on_refresh_failed|refresh_token)
 *   victim: (GET /panel|dashboard|fresh token)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A dashboard loads its panels from an interface that wants an access token, refreshed when it is old. */
#define PANELS 6
#define MAX_WAITERS 64

static struct thrum_loop *loop;
static struct thrum_resolver *waiters[MAX_WAITERS];
static size_t waiting;
static bool have_token, refreshing, rendered;
static int refreshes, health_checks;
static bool healthy;

static struct thrum_promise *done(void)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- The token ---- */

static struct thrum_promise *auth_answer(struct thrum_loop *at, void *value, void *data)
{
	(void)value, (void)data;
	if (refreshes == 1)
		return thrum_promise_fail(at, 503, "503 service unavailable");
	return thrum_promise_return(at, thrum_value_static("bearer 9f3c"));
}

static void release_waiters(bool good)
{
	struct thrum_resolver *queue[MAX_WAITERS];
	size_t count = waiting;

	memcpy(queue, waiters, sizeof queue);
	waiting = 0;
	for (size_t i = 0; i < count; i++) {
		if (good)
			thrum_resolver_resolve(queue[i], thrum_value_none());
		else
			thrum_resolver_fail(queue[i], 503, "no token");
	}
}

static struct thrum_promise *on_token(struct thrum_loop *at, void *value, void *data)
{
	(void)at, (void)value, (void)data;
	refreshing = false;
	have_token = true;
	release_waiters(true);
	return done();
}

static struct thrum_promise *on_refresh_failed(struct thrum_loop *at,
	const struct thrum_failure *failure, void *data)
{
	(void)at, (void)data;
	printf("token: refresh failed: %s\n", failure->message);
	fflush(stdout);
	refreshing = false;
	if (healthy)
		release_waiters(false);
	return done();
}

static struct thrum_promise *refresh_token(struct thrum_loop *at, void *data)
{
	struct thrum_promise *answer;

	(void)data;
	refreshes++;
	answer = thrum_promise_bind(thrum_sleep(at, 25), auth_answer, NULL, NULL);
	answer = thrum_promise_label(answer, "POST /oauth/token");
	return thrum_promise_try_bind(answer, on_token, on_refresh_failed, NULL, NULL);
}

static struct thrum_promise *get_token(void)
{
	struct thrum_promise *promise;

	if (have_token)
		return done();
	promise = thrum_promise_task(loop, "fresh token", &waiters[waiting]);
	waiting++;
	if (!refreshing) {
		refreshing = true;
		thrum_promise_async(loop, "refresh token", refresh_token, NULL, NULL);
	}
	return promise;
}

/* ---- Panels ---- */

static struct thrum_promise *load_panel(intptr_t panel);

static struct thrum_promise *send_request(struct thrum_loop *at, void *value, void *data)
{
	(void)value;
	return thrum_sleep(at, 3 + 2 * (uint64_t)thrum_int(data));
}

static struct thrum_promise *again(struct thrum_loop *at, void *value, void *data)
{
	(void)at, (void)value;
	return load_panel(thrum_int(data));
}

static struct thrum_promise *retry_panel(struct thrum_loop *at, const struct thrum_failure *failure,
	void *data)
{
	(void)failure;
	return thrum_promise_bind(thrum_sleep(at, 15), again, data, NULL);
}

static struct thrum_promise *load_panel(intptr_t panel)
{
	struct thrum_promise *reply = thrum_promise_bind(get_token(), send_request, (void *)panel,
		NULL);

	reply = thrum_promise_catch(reply, retry_panel, (void *)panel, NULL);
	return thrum_promise_labelf(reply, "GET /panel/%d", (int)panel);
}

/* The health check needs no token. */
static struct thrum_promise *check_health(struct thrum_loop *at, void *value, void *data)
{
	(void)value, (void)data;
	health_checks++;
	if (rendered)
		return done();
	return thrum_promise_bind(thrum_sleep(at, 10), check_health, NULL, NULL);
}

static struct thrum_promise *begin_health(struct thrum_loop *at, void *data)
{
	return check_health(at, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *panels[PANELS], *dashboard;
	int status;

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thrum_promise_async(loop, "health check", begin_health, NULL, NULL);
	for (intptr_t i = 0; i < PANELS; i++)
		panels[i] = load_panel(i);
	dashboard = thrum_promise_label(thrum_promise_join(loop, panels, PANELS), "dashboard");
	status = thrum_promise_run(thrum_promise_should_resolve(dashboard));
	rendered = true;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	printf("dashboard: status %d, %d refreshes, %d health checks\n", status, refreshes,
		health_checks);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return status != 0;
}
