/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: "GET /health" began to refresh the token and was cancelled by its timeout. Only store_token
 *          ends a refresh, and it never ran; so nobody broadcasts "token fresh" or begins another refresh.
 *   culprit: GET /health|refresh token|begin_refresh
 *   victim: token fresh|GET /orders|report
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A client of a web service: requests share a token, and one of them refreshes it for all the others. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	REQUESTS = 16,
	HEALTH = 4,
	TOKEN_USES = 4
};

static struct {
	struct thrum_condition *fresh;
	int token, uses, refreshes;
	bool refreshing;
} session = {.token = 1000, .uses = TOKEN_USES}; /* the last run's token */

static struct thrum_inbox *identity; /* the thread that talks to the identity provider */
static sem_t identity_ready;
static bool end_always;
static int answers, failures;

/* ---- The thread of the identity provider ---- */

static struct thrum_value make_token(struct thrum_loop *loop, void *value, void *data)
{
	static int serial = 1000;

	(void)loop, (void)value, (void)data;
	return thrum_value_int(++serial);
}

static struct thrum_promise *issue_token(struct thrum_loop *loop, void *data)
{
	uint64_t slow = thrum_int(data) == 1 ? 150
					     : 4; /* the first time it looks into the directory */

	return thrum_promise_map(thrum_sleep(loop, slow), make_token, NULL, NULL);
}

static void *identity_thread(void *data)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	(void)data;
	thrum_lane_name("identity");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return NULL;
	identity = thrum_inbox_create(loop, "identity");
	sem_post(&identity_ready);
	uv_run(&uv, UV_RUN_DEFAULT);
	return NULL;
}

/* ---- The token ---- */

static struct thrum_promise *refresh_ended(struct thrum_loop *loop, void *data)
{
	(void)data;
	session.refreshing = false;
	thrum_condition_broadcast(session.fresh, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *store_token(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	session.token = (int)thrum_int(value);
	session.uses = TOKEN_USES;
	if (end_always)
		return thrum_promise_return(loop, thrum_value_none());
	return refresh_ended(loop, NULL);
}

static struct thrum_promise *begin_refresh(struct thrum_loop *loop)
{
	struct thrum_promise *refresh;

	session.refreshing = true;
	session.refreshes++;
	refresh = thrum_inbox_call(identity, loop, "issue token", issue_token,
		thrum_value_int(session.refreshes).data, NULL);
	refresh = thrum_promise_bind(refresh, store_token, NULL, NULL);
	if (end_always)
		refresh = thrum_promise_finalize(refresh, refresh_ended, NULL, NULL);
	return thrum_promise_label(refresh, "refresh token");
}

/* Returns a promise that is resolved when the caller may use session.token once. */
static struct thrum_promise *use_token(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	if (session.refreshing)
		return thrum_promise_bind(thrum_condition_wait(session.fresh, NULL), use_token,
			NULL, NULL);
	if (session.uses == 0)
		return thrum_promise_bind(begin_refresh(loop), use_token, NULL, NULL);
	session.uses--;
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- Requests ---- */

static struct thrum_promise *send_request(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_sleep(loop, 3); /* the web service */
}

static struct thrum_promise *begin_request(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(use_token(loop, value, data), send_request, NULL, NULL);
}

static struct thrum_promise *request_done(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	answers++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *request_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)data;
	fprintf(stderr, "request: %s\n", failure->message);
	failures++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *request(struct thrum_loop *loop, int number)
{
	struct thrum_promise *answer;
	uint64_t start = (uint64_t)number * 5;

	answer = thrum_promise_bind(thrum_sleep(loop, start), begin_request, NULL, NULL);
	if (number == HEALTH) /* a load balancer asks this, and is impatient */
		answer = thrum_timeout(thrum_promise_label(answer, "GET /health"), start + 50);
	else
		thrum_promise_labelf(answer, "GET /orders/%d", number);
	return thrum_promise_try_bind(answer, request_done, request_failed, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *requests[REQUESTS];
	struct thrum_loop *loop;
	pthread_t thread;
	uv_loop_t uv;
	int error;

	end_always = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	sem_init(&identity_ready, 0, 0);
	pthread_create(&thread, NULL, identity_thread, NULL);
	sem_wait(&identity_ready);
	session.fresh = thrum_condition_create(loop, "token fresh");
	thrum_promise_ignore_result(thrum_signal_wait(loop, SIGHUP)); /* reopens the log */
	for (int i = 0; i < REQUESTS; i++)
		requests[i] = request(loop, i);
	error = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_join(loop, requests, REQUESTS), "daily report")));
	thrum_stop();
	printf("%d answers, %d failures, %d refreshes\n", answers, failures, session.refreshes);
	return error || failures != 1 ? 1 : 0;
}
