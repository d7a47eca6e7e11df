/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: the replies of a connection leave in the order of the requests: each waits for the turn of the
 *     one before, and then ends its own. answer_unchanged, which answers without a body, doesn't end its
 *     turn. So after the reply to "GET /logo" the next requests of that connection wait for ever.
 *   culprit: turn of /logo|GET /logo|answer_unchanged
 *   victim: GET /(news|team|jobs)|browser a
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A web server with pipelining: pages are made at the same time, and leave in the order of the requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	ROUNDS = 4,
	PAGES = 6
};

static bool broken;
static unsigned replies;

struct connection {
	const char *browser;
	struct thrum_loop *loop;
	struct thrum_promise *last_turn; /* ends when the last reply so far has left */
	bool has_logo;
	int round;
};

struct request {
	struct connection *connection;
	const char *path;
	struct thrum_promise *before; /* the turn of the request before */
	struct thrum_resolver *own_turn;
};

static const char *const pages[PAGES] = {"/", "/style", "/logo", "/news", "/team", "/jobs"};

static struct thrum_promise *done(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- Replies ---- */

static struct thrum_promise *send_page(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	replies++;
	thrum_resolver_resolve(request->own_turn, thrum_value_none());
	return done(loop);
}

static struct thrum_promise *wait_turn(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_promise_ref(request->before), send_page, request, NULL);
}

static struct thrum_promise *answer_page(struct request *request, unsigned ms)
{
	struct thrum_promise *page = thrum_sleep(request->connection->loop, ms);

	page = thrum_promise_labelf(page, "make %s", request->path);
	return thrum_promise_bind(page, wait_turn, request, NULL);
}

static struct thrum_promise *send_unchanged(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;

	(void)value;
	replies++;
	if (!broken)
		thrum_resolver_resolve(request->own_turn, thrum_value_none());
	return done(loop);
}

/* The browser has this page already. */
static struct thrum_promise *answer_unchanged(struct request *request)
{
	return thrum_promise_bind(thrum_promise_ref(request->before), send_unchanged, request,
		NULL);
}

static void free_request(void *data)
{
	struct request *request = data;

	thrum_promise_unref(request->before);
	free(request);
}

static struct thrum_promise *nothing(struct thrum_loop *loop, void *data)
{
	(void)data;
	return done(loop);
}

static struct thrum_promise *serve(struct connection *connection, const char *path, unsigned ms)
{
	struct request *request = malloc(sizeof(*request));
	struct thrum_promise *reply, *turn;
	char label[40];

	if (!request)
		abort();
	request->connection = connection;
	request->path = path;
	request->before = connection->last_turn;
	snprintf(label, sizeof(label), "turn of %s", path);
	turn = thrum_promise_task(connection->loop, label, &request->own_turn);
	connection->last_turn = turn;
	if (!strcmp(path, "/logo") && connection->has_logo)
		reply = answer_unchanged(request);
	else
		reply = answer_page(request, ms);
	reply = thrum_promise_finalize(reply, nothing, request, free_request);
	return thrum_promise_labelf(reply, "GET %s", path);
}

/* ---- Browsers ---- */

static struct thrum_promise *load_site(struct thrum_loop *loop, void *value, void *data)
{
	struct connection *connection = data;
	struct thrum_promise *wanted[PAGES];

	(void)value;
	if (connection->round == ROUNDS)
		return done(loop);
	/* After two visits browser a has the logo in its cache; the other one keeps nothing. */
	connection->has_logo = connection->round >= 2 && !strcmp(connection->browser, "browser a");
	connection->round++;
	for (int i = 0; i < PAGES; i++)
		wanted[i] = serve(connection, pages[i], (unsigned)(5 + 7 * (PAGES - i)));
	return thrum_promise_bind(thrum_promise_join(loop, wanted, PAGES), load_site, connection,
		NULL);
}

static struct thrum_promise *browse(struct connection *connection)
{
	connection->last_turn = done(connection->loop);
	return thrum_promise_label(load_site(connection->loop, NULL, connection),
		connection->browser);
}

/* ---- The access log is written now and then. ---- */

static bool is_finished;

static struct thrum_promise *write_log(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (is_finished)
		return done(loop);
	return thrum_promise_bind(thrum_sleep(loop, 100), write_log, data, NULL);
}

static struct thrum_promise *begin_log(struct thrum_loop *loop, void *data)
{
	return write_log(loop, NULL, data);
}

static struct thrum_promise *finish(struct thrum_loop *loop, void *data)
{
	(void)data;
	is_finished = true;
	return done(loop);
}

int main(int argc, char **argv)
{
	struct connection a = {.browser = "browser a"}, b = {.browser = "browser b"};
	struct thrum_promise *both;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	a.loop = b.loop = loop;
	thrum_promise_async(loop, "access log", begin_log, NULL, NULL);
	both = thrum_promise_both(thrum_promise_should_resolve(browse(&a)),
		thrum_promise_should_resolve(browse(&b)));
	error = thrum_promise_run(thrum_promise_finalize(both, finish, NULL, NULL));
	thrum_stop();
	printf("%s: %u replies\n", thrum_promise_error_message(error), replies);
	thrum_promise_unref(a.last_turn);
	thrum_promise_unref(b.last_turn);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) ? 1 : 0;
}
