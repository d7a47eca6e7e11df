/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: token_store unlocks the session only when the answer of the token server comes; the refresh that
 *     runs into its time limit is cancelled before that, so the mutex "session" stays locked and all later
 *     calls wait for it.
 *   culprit: session|refresh|token_lock
 *   victim: sync\b|poll mail|publish
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A mail client: its calls need a token, which is refreshed under a lock when it is too old. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CALLS 8
#define PATIENCE 60

struct client {
	struct thrum_loop *loop;
	struct thrum_mutex *session;
	int uses_left;
	int refreshes;
	int calls;
	int given_up;
	bool done;
};

static bool unlocks_always;

/* The token server is slow now and then. */
static struct thrum_promise *token_request(struct client *client)
{
	uint64_t time = ++client->refreshes == 2 ? 400 : 5;

	return thrum_promise_label(thrum_sleep(client->loop, time), "token server");
}

static struct thrum_promise *token_store(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	client->uses_left = 2;
	if (!unlocks_always)
		thrum_mutex_unlock(client->session);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *token_unlock(struct thrum_loop *loop, void *data)
{
	struct client *client = data;

	thrum_mutex_unlock(client->session);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *token_check(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct thrum_promise *stored;

	(void)value;
	if (client->uses_left > 0) {
		client->uses_left--;
		thrum_mutex_unlock(client->session);
		return thrum_promise_return(loop, thrum_value_none());
	}
	stored = thrum_promise_bind(token_request(client), token_store, client, NULL);
	if (unlocks_always)
		stored = thrum_promise_finalize(stored, token_unlock, client, NULL);
	return thrum_timeout(thrum_promise_label(stored, "refresh"), PATIENCE);
}

static struct thrum_promise *token_lock(struct client *client)
{
	return thrum_promise_bind(thrum_mutex_lock(client->session), token_check, client, NULL);
}

static struct thrum_promise *call_send(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	client->calls++;
	return thrum_promise_label(thrum_sleep(loop, 6), "mail server");
}

static struct thrum_promise *call_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct client *client = data;

	if (failure->code != -ETIMEDOUT)
		return thrum_promise_fail_again(loop, failure);
	client->given_up++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *call(struct client *client, const char *label, int number)
{
	struct thrum_promise *result;

	result = thrum_promise_bind(token_lock(client), call_send, client, NULL);
	result = thrum_promise_catch(result, call_failed, client, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(result, "%s %d", label, number));
}

struct job {
	struct client *client;
	const char *label;
	int made;
};

static struct thrum_promise *job_go_on(struct thrum_loop *loop, void *value, void *data)
{
	struct job *job = data;

	(void)value;
	if (job->made == CALLS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(call(job->client, job->label, job->made++), job_go_on, job, NULL);
}

/* Shows the clock in the window. */
static struct thrum_promise *clock_tick(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	if (client->done)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 40), "clock"), clock_tick,
		client, NULL);
}

int main(int argc, char **argv)
{
	struct client client = {.uses_left = 0};
	struct job jobs[2] = {{&client, "poll mail", 0}, {&client, "publish", 0}};
	struct thrum_promise *both[2], *ticks;
	uv_loop_t uv;
	int code;

	unlocks_always = argc > 1 && strcmp(argv[1], "healthy") == 0;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &client.loop))
		return 1;
	client.session = thrum_mutex_create(client.loop, "session");
	ticks = clock_tick(client.loop, NULL, &client);
	for (int i = 0; i < 2; i++)
		both[i] = job_go_on(client.loop, NULL, &jobs[i]);
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(client.loop, both, 2), "sync"));
	client.done = true;
	if (code == 0)
		code = thrum_promise_run(ticks);
	thrum_stop();
	printf("%d calls, %d given up, %s\n", client.calls, client.given_up,
		thrum_promise_error_message(code));
	thrum_mutex_destroy(client.session);
	thrum_loop_destroy(client.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
