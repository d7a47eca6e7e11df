/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: when the access token has expired, api_call waits for the refresh that is under way. The refresh itself asks for
 *     its new token by api_call (POST /token), and so waits for its own end.
 *   culprit: token_refresh|POST /token|refresh token|token_get
 *   victim: GET /|poll mail|client
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A client of a web API, whose access tokens expire. One refresh serves all calls that need one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	TOKEN_LIFE_MS = 600,
	ROUNDS = 12
};

struct call {
	const char *method;
	const char *path;
};

static struct thrum_promise *refreshing;
static struct thrum_resolver *refresh_end;
static uint64_t expires;
static int token;
static bool is_direct;
static const struct call login_call = {"POST", "/login"};
static const struct call token_call = {"POST", "/token"};
static const struct call calls[] = {{"GET", "/mail"}, {"GET", "/calendar"}, {"GET", "/contacts"}};

enum {
	CALLS = sizeof(calls) / sizeof(calls[0])
};

static struct thrum_promise *send_call(struct thrum_loop *loop, void *value, void *data)
{
	const struct call *call = data;
	struct thrum_promise *answer = thrum_sleep(loop, 10 + strlen(call->path));

	(void)value;
	return thrum_promise_labelf(answer, "answer to %s %s", call->method, call->path);
}

static struct thrum_promise *token_refresh(struct thrum_loop *loop);

/* Returns a promise that ends when there is a token that is good for a call. */
static struct thrum_promise *token_get(struct thrum_loop *loop)
{
	if (uv_now(thrum_loop_uv(loop)) < expires)
		return thrum_promise_return(loop, thrum_value_none());
	if (refreshing)
		return thrum_promise_protected(thrum_promise_ref(refreshing));
	return token_refresh(loop);
}

static struct thrum_promise *api_call(struct thrum_loop *loop, const struct call *call)
{
	struct thrum_promise *answer;

	answer = thrum_promise_bind(token_get(loop), send_call, (void *)call, NULL);
	return thrum_promise_labelf(answer, "%s %s", call->method, call->path);
}

static void token_store(struct thrum_loop *loop)
{
	expires = uv_now(thrum_loop_uv(loop)) + TOKEN_LIFE_MS;
	printf("token %d\n", ++token);
	fflush(stdout);
}

static struct thrum_promise *on_token(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_resolver *end = refresh_end;
	struct thrum_promise *refresh = refreshing;

	(void)value;
	(void)data;
	token_store(loop);
	refresh_end = NULL;
	refreshing = NULL;
	thrum_resolver_resolve(end, thrum_value_none());
	thrum_promise_unref(refresh);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *token_refresh(struct thrum_loop *loop)
{
	struct thrum_promise *answer;

	refreshing = thrum_promise_task(loop, "refresh token", &refresh_end);
	if (is_direct)
		answer = thrum_promise_label(send_call(loop, NULL, (void *)&token_call),
			"POST /token");
	else
		answer = api_call(loop, &token_call);
	answer = thrum_promise_label(thrum_promise_bind(answer, on_token, NULL, NULL),
		"take token");
	thrum_task_wait(thrum_promise_task_id(refreshing), thrum_promise_task_id(answer));
	thrum_promise_ignore_result(answer);
	return thrum_promise_protected(thrum_promise_ref(refreshing));
}

struct round {
	int number;
};

static struct thrum_promise *poll_round(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *round_done(struct thrum_loop *loop, void *value, void *data)
{
	struct round *round = data;

	(void)value;
	printf("round %d\n", round->number);
	fflush(stdout);
	if (++round->number == ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 80), poll_round, round, NULL);
}

static struct thrum_promise *poll_round(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *answers[CALLS];
	struct thrum_promise *all;

	(void)value;
	for (size_t i = 0; i < CALLS; i++)
		answers[i] = api_call(loop, &calls[i]);
	all = thrum_promise_label(thrum_promise_join(loop, answers, CALLS), "round");
	return thrum_promise_bind(all, round_done, data, NULL);
}

static struct thrum_promise *on_login(struct thrum_loop *loop, void *value, void *data)
{
	token_store(loop);
	return poll_round(loop, value, data);
}

/* The clock in the corner of the window. */
static void on_clock(uv_timer_t *timer)
{
	fprintf(stderr, "clock %llu\n", (unsigned long long)uv_now(timer->loop) / 100);
}

int main(int count, char **arguments)
{
	struct round round = {0};
	struct thrum_loop *loop;
	struct thrum_promise *client;
	uv_timer_t clock;
	uv_loop_t uv;
	int result;

	if (count < 2)
		return 2;
	is_direct = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &clock);
	uv_timer_start(&clock, on_clock, 100, 100);
	client = thrum_promise_label(send_call(loop, NULL, (void *)&login_call), "POST /login");
	client = thrum_promise_label(thrum_promise_bind(client, on_login, &round, NULL), "client");
	result = thrum_promise_run(thrum_promise_should_resolve(client));
	printf("client: %s\n", thrum_promise_error_message(result));
	thrum_stop();
	uv_close((uv_handle_t *)&clock, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return result ? 1 : 0;
}
