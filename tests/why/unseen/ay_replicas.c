/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: after a failed connect, replica_failed does not mark the replica as down, so that each call tries
 *     the dead replica "north" first again, fails, sleeps for the backoff, and only then asks "south"
 *   culprit: try north|connect north|pipe connect .*north|backoff|replica_failed
 *   victim: call [0-9]+|sleep|ask south
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client of a replicated store: it asks the first replica that is up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

#define CALLS 25
#define REPLICAS 2

struct replica {
	const char *name;
	char path[64];
	bool is_down;
};

struct call {
	int number, replica;
};

static char directory[] = "/tmp/store-XXXXXX";
static struct replica replicas[REPLICAS] = {{.name = "north"}, {.name = "south"}};
static struct thrum_listener *listener;
static bool remember;
static int done, failures;

static struct thrum_promise *nothing(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static void close_connection(void *connection)
{
	thrum_promise_unref(thrum_connection_close(connection));
}

/* The server: answers each connection's question. */
static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_connection_write(data, thrum_value_static("value"), 5);
}

static struct thrum_promise *accept_one(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *serve(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *served = thrum_promise_bind(thrum_connection_read(data), answer, data,
		NULL);

	(void)loop;
	return thrum_promise_finalize(served, nothing, data, close_connection);
}

static struct thrum_promise *accept_next(struct thrum_loop *loop)
{
	(void)loop;
	return thrum_promise_bind(thrum_listener_accept(listener), accept_one, NULL, NULL);
}

static struct thrum_promise *accept_one(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value connection;

	(void)data;
	(void)value;
	if (thrum_loop_take(loop, &connection))
		thrum_promise_async(loop, "serve", serve, connection.data, NULL);
	return accept_next(loop);
}

/* The client. */
static struct thrum_promise *on_answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	if (!value)
		return thrum_promise_fail(loop, -EPROTO, "no answer");
	done++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_sent(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_connection_read(data), on_answer, NULL, NULL);
}

static struct thrum_promise *on_connected(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value connection;
	struct thrum_promise *asked;

	(void)value;
	(void)data;
	if (!thrum_loop_take(loop, &connection))
		return thrum_promise_fail(loop, -EBUSY, NULL);
	asked = thrum_connection_write(connection.data, thrum_value_static("get"), 3);
	asked = thrum_promise_bind(asked, on_sent, connection.data, NULL);
	return thrum_promise_finalize(asked, nothing, connection.data, close_connection);
}

static struct thrum_promise *call_try(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *replica_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct call *call = data;
	struct thrum_promise *backoff;

	failures++;
	if (call->replica + 1 == REPLICAS)
		return thrum_promise_fail_again(loop, failure);
	if (remember)
		replicas[call->replica].is_down = true;
	call->replica++;
	backoff = thrum_promise_label(thrum_sleep(loop, 20), "backoff");
	return thrum_promise_bind(backoff, call_try, call, NULL);
}

static struct thrum_promise *call_try(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;
	struct thrum_promise *try;

	(void)value;
	while (replicas[call->replica].is_down && call->replica + 1 < REPLICAS)
		call->replica++;
	try = thrum_pipe_connect(loop, replicas[call->replica].path);
	try = thrum_promise_bind(try, on_connected, call, NULL);
	try = thrum_promise_labelf(try, "try %s", replicas[call->replica].name);
	return thrum_promise_catch(try, replica_failed, call, NULL);
}

static struct thrum_promise *call_next(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;
	struct thrum_promise *run;

	(void)value;
	if (call->number == CALLS)
		return thrum_promise_return(loop, thrum_value_none());
	call->replica = 0;
	run = thrum_promise_labelf(call_try(loop, NULL, call), "call %d", call->number++);
	return thrum_promise_bind(thrum_promise_should_resolve(run), call_next, call, NULL);
}

int main(int argc, char **argv)
{
	struct call call = {0};
	struct thrum_promise *accepting;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	remember = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (!mkdtemp(directory))
		return 1;
	for (int i = 0; i < REPLICAS; i++)
		snprintf(replicas[i].path, sizeof(replicas[i].path), "%s/%s", directory,
			replicas[i].name);
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	/* North is down for maintenance. */
	if (thrum_pipe_listen(loop, replicas[1].path, 8, &listener))
		return 1;
	accepting = accept_next(loop);
	error = thrum_promise_run(call_next(loop, NULL, &call));
	thrum_stop();
	printf("%d answers, %d failures\n", done, failures);
	thrum_promise_unref(thrum_listener_close(listener));
	thrum_promise_unref(accepting);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	unlink(replicas[1].path);
	rmdir(directory);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
