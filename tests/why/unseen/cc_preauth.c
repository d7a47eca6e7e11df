/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: stop 1500
 *   ask: why
 *   truth: "GET /orders" is refused because the token is too old, so it calls refresh_token while it holds the lock "session"; refresh_token locks "session" again and waits for the request that waits for it.
 *   culprit: refresh|GET /orders|on_answer
 *   victim: GET /inbox|GET /news|\bsync\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "thrum/promise.h"

/* The client of a web service. Its calls share a session, one call at a time. */

static bool broken, synced;
static struct thrum_mutex *session;
static int token = 1, calls_with_token;

struct call {
	const char *path;
	int tries;
};

static struct thrum_promise *use_session(struct thrum_loop *loop, void *data);

/* The service accepts a token for two calls. */
static struct thrum_value on_server(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)loop, (void)nothing, (void)data;
	if (calls_with_token == 2)
		return thrum_value_int(401);
	calls_with_token++;
	return thrum_value_int(200);
}

static struct thrum_value store_token(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)loop, (void)nothing, (void)data;
	token++;
	calls_with_token = 0;
	return thrum_value_none();
}

/* The caller holds the session. */
static struct thrum_promise *ask_for_token(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_map(thrum_sleep(loop, 20), store_token, NULL, NULL);
}

static struct thrum_promise *refresh_token(struct thrum_loop *loop)
{
	struct thrum_promise *refresh = broken
		? thrum_mutex_with(session, ask_for_token, NULL, NULL)
		: ask_for_token(loop, NULL);

	return thrum_promise_label(refresh, "refresh token");
}

static struct thrum_promise *try_again(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)nothing;
	return use_session(loop, data);
}

static struct thrum_promise *on_answer(struct thrum_loop *loop, void *status, void *data)
{
	struct call *call = data;

	if (thrum_int(status) == 401 && call->tries++ == 0)
		return thrum_promise_bind(refresh_token(loop), try_again, call, NULL);
	printf("%s: %d with token %d\n", call->path, (int)thrum_int(status), token);
	return thrum_promise_return(loop, thrum_value_none());
}

/* Runs with the session locked. */
static struct thrum_promise *use_session(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *answer = thrum_promise_map(thrum_sleep(loop, 5), on_server, NULL,
		NULL);

	return thrum_promise_bind(answer, on_answer, data, NULL);
}

static struct thrum_promise *call_service(struct call *call)
{
	struct thrum_promise *done = thrum_mutex_with(session, use_session, call, NULL);

	thrum_promise_labelf(done, "GET %s", call->path);
	return thrum_promise_should_resolve(done);
}

/* Shows that the client lives. */
static struct thrum_promise *keep_alive(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)nothing, (void)data;
	if (synced)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 200), keep_alive, NULL, NULL);
}

static struct thrum_promise *start_keep_alive(struct thrum_loop *loop, void *data)
{
	return keep_alive(loop, NULL, data);
}

int main(int argc, char **argv)
{
	static struct call calls[] = {{"/profile", 0}, {"/settings", 0}, {"/orders", 0},
		{"/inbox", 0}, {"/news", 0}};
	struct thrum_promise *all[5];
	struct thrum_loop *loop;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	session = thrum_mutex_create(loop, "session");
	thrum_promise_async(loop, "keep alive", start_keep_alive, NULL, NULL);
	for (int i = 0; i < 5; i++)
		all[i] = call_service(&calls[i]);
	error = thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, all, 5), "sync"));
	synced = true;
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_stop();
	thrum_mutex_destroy(session);
	thrum_loop_destroy(loop);
	return error ? 1 : 0;
}
