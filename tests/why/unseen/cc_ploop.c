/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="GET /ping"
 *   truth: "import products" parses its whole file in the loop's own thread, for 100 ms or more. A ping whose answer comes meanwhile has to wait for its turn.
 *   culprit: import products|parse_products
 *   victim: GET /ping
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

/* A web server with one loop. Once it gets an upload of products, which it parses. */

#define PINGS 24
#define LINES 350000

static bool broken;
static unsigned checksum;
static int pings;

/* Parses all lines of the file. It computes only. */
static int parse_products(void *data, struct thrum_value *result)
{
	char line[64];
	int id, price;

	(void)data, (void)result;
	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof(line), "%d;%d", i, i % 1000 * 7);
		if (sscanf(line, "%d;%d", &id, &price) == 2)
			checksum = checksum * 31 + (unsigned)price;
	}
	return 0;
}

static struct thrum_promise *on_upload(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)nothing, (void)data;
	if (!broken)
		return thrum_work(loop, "parse", parse_products, NULL, NULL);
	parse_products(NULL, NULL);
	return thrum_promise_return(loop, thrum_value_none());
}

/* The upload takes some time to come in. */
static struct thrum_promise *import_products(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 103), on_upload, NULL,
					   NULL),
		"import products");
}

static struct thrum_value count_ping(struct thrum_loop *loop, void *nothing, void *data)
{
	(void)loop, (void)nothing, (void)data;
	pings++;
	return thrum_value_none();
}

/* Asks the health of the backend, which takes 15 ms. */
static struct thrum_promise *answer_ping(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_promise_map(thrum_sleep(loop, 15), count_ping, NULL, NULL),
		"GET /ping");
}

static struct thrum_promise *serve_pings(struct thrum_loop *loop, void *nothing, void *data)
{
	struct thrum_promise *ping;

	(void)nothing, (void)data;
	if (pings >= PINGS)
		return thrum_promise_return(loop, thrum_value_none());
	ping = answer_ping(loop);
	thrum_promise_ignore_result(ping);
	return thrum_promise_bind(thrum_sleep(loop, 9), serve_pings, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *parts[2];
	struct thrum_loop *loop;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	parts[0] = import_products(loop);
	parts[1] = thrum_promise_label(serve_pings(loop, NULL, NULL), "serve pings");
	error = thrum_promise_run(thrum_promise_join(loop, parts, 2));
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_stop();
	printf("%d pings, checksum %u\n", pings, checksum);
	thrum_loop_destroy(loop);
	return error ? 1 : 0;
}
