/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: "drain connections" waits for the condition "no connection left", which connection_closed signals only when the last connection closes after the draining began. The last one has closed before that, while the goodbye was being sent, and wait_for_drain doesn't look at the number of open connections first.
 *   culprit: drain connections|wait_for_drain|no connection left
 *   victim: shut down|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server for HTTP over UDP. It is told to shut down while its last requests are answered. */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	CONNECTIONS = 9
};

struct connection {
	int number, requests;
};

static struct thrum_condition *no_connection_left;
static int broken, open_connections, requests_served;
static bool draining;

static void connection_closed(void)
{
	open_connections--;
	if (draining && open_connections == 0)
		thrum_condition_broadcast(no_connection_left, thrum_value_none());
}

static struct thrum_promise *answer_next(struct thrum_loop *loop, void *value, void *data)
{
	struct connection *connection = data;

	(void)value;
	if (connection->requests-- == 0) {
		connection_closed();
		return thrum_promise_return(loop, thrum_value_none());
	}
	requests_served++;
	return thrum_promise_bind(thrum_sleep(loop, 3), answer_next, connection, NULL);
}

static struct thrum_promise *serve_connection(struct thrum_loop *loop, void *data)
{
	struct connection *connection = data;

	open_connections++;
	return thrum_promise_labelf(answer_next(loop, NULL, connection), "connection %d",
		connection->number);
}

static struct thrum_promise *wait_for_drain(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	draining = true;
	if (!broken && open_connections == 0)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_label(thrum_condition_wait(no_connection_left, NULL),
		"drain connections");
}

/* Says goodbye to all peers, who get some time to stop, and waits until they have. */
static struct thrum_promise *shut_down(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 200), "send goodbye"),
		wait_for_drain, NULL, NULL);
}

static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	static struct connection connections[CONNECTIONS];
	struct thrum_loop *loop;
	uv_timer_t statistics;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &statistics);
	uv_timer_start(&statistics, on_statistics, 60, 60);
	no_connection_left = thrum_condition_create(loop, "no connection left");
	for (int i = 0; i < CONNECTIONS; i++) {
		connections[i] = (struct connection){i, 1 + i % 3};
		thrum_promise_async(loop, "accept", serve_connection, &connections[i], NULL);
	}
	result = thrum_promise_run(thrum_promise_should_resolve(
		thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 10), shut_down, NULL,
					    NULL),
			"shut down")));
	printf("%d requests served\n", requests_served);
	thrum_stop();
	return result != 0;
}
