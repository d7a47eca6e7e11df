/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The fetch of /logo.png fails, and fetch_failed neither clears the busy object nor wakes its waiting list; three requests wait there for ever.
 *   culprit: fetch /logo.png|fetch_failed|backend_answers
 *   victim: GET /logo.png
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about Varnish: requests to the same URL sometimes hang; a request that finds the object busy goes to
 * the waiting list, and nobody wakes the list when the fetch has failed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	REQUESTS = 4
};

static struct thrum_loop *loop;
static struct thrum_condition *waitinglist;
static bool broken, busy;
static unsigned served;

static struct thrum_promise *deliver(struct thrum_loop *in, void *value, void *data)
{
	(void)value;
	(void)data;
	served++;
	return thrum_promise_return(in, thrum_value_none());
}

static struct thrum_promise *fetch_failed(struct thrum_loop *in,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	if (!broken) {
		busy = false;
		thrum_condition_broadcast(waitinglist, thrum_value_none());
	}
	/* The client gets a 503. */
	return thrum_promise_return(in, thrum_value_none());
}

static struct thrum_promise *backend_answers(struct thrum_loop *in, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_fail(in, -ECONNRESET, "backend closed the connection");
}

static struct thrum_promise *get_logo(void)
{
	struct thrum_promise *fetch;

	if (busy)
		return thrum_promise_bind(thrum_condition_wait(waitinglist, NULL), deliver, NULL,
			NULL);
	busy = true;
	fetch = thrum_promise_bind(thrum_sleep(loop, 40), backend_answers, NULL, NULL);
	thrum_promise_label(fetch, "fetch /logo.png");
	return thrum_promise_bind(thrum_promise_catch(fetch, fetch_failed, NULL, NULL), deliver,
		NULL, NULL);
}

static void stop_server(uv_signal_t *signal, int number)
{
	(void)number;
	uv_close((uv_handle_t *)signal, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *requests[REQUESTS];
	uv_signal_t stop;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	/* The server runs until it is told to stop. */
	uv_signal_init(uv_default_loop(), &stop);
	uv_signal_start(&stop, stop_server, SIGTERM);
	waitinglist = thrum_condition_create(loop, "waitinglist /logo.png");
	for (int i = 0; i < REQUESTS; i++) {
		requests[i] = thrum_promise_label(get_logo(), "GET /logo.png");
		thrum_promise_should_resolve(requests[i]);
	}
	error = thrum_promise_run(thrum_promise_join(loop, requests, REQUESTS));
	printf("%u served, %s\n", served, thrum_promise_error_message(error));
	return 0;
}
