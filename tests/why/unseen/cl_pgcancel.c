/* SPDX-License-Identifier: ISC */
/*
 * After pgbouncer/pgbouncer #786.
 *
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: After Ctrl-C, "psql 5" reads no more rows until its cancel request is acknowledged. The cancel request waits
 *     for a server connection of the same pool, without a limit. The only one is held by "query 5", which can't end
 *     before psql reads its rows. So the three wait for each other, and the shutdown waits for psql.
 *   culprit: cancel 5|psql 5
 *   victim: shutdown|blog
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A pooler for connections to a database: clients share a few connections, and may cancel their queries. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	SESSIONS = 7,
	BUFFER = 4,
	POSTS = 30,
	QUERY_WAIT_TIMEOUT_MS = 60
};

struct session {
	int number;
	int rows;         /* of the query */
	int cancel_after; /* so many rows; -1: never */
	int sent, read;
	bool cancelled;
	struct thrum_stream *output;
};

static struct session sessions[SESSIONS] = {
	{.number = 1, .rows = 6, .cancel_after = -1},
	{.number = 2, .rows = 3, .cancel_after = 1},
	{.number = 3, .rows = 12, .cancel_after = -1},
	{.number = 4, .rows = 4, .cancel_after = 2},
	{.number = 5, .rows = 40, .cancel_after = 3},
	{.number = 6, .rows = 5, .cancel_after = -1},
	{.number = 7, .rows = 5, .cancel_after = -1},
};
static struct thrum_loop *loop;
static struct thrum_semaphore *shop_pool;
static struct thrum_semaphore *blog_pool;
static bool broken;
static int posts;

static struct thrum_promise *done(struct thrum_loop *own)
{
	return thrum_promise_return(own, thrum_value_none());
}

/* ---- The query: it runs on the server ------------------------------------------------------- */

static struct thrum_promise *send_row(struct thrum_loop *own, void *value, void *data);

static struct thrum_promise *next_row(struct thrum_loop *own, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	if (session->sent == session->rows || session->cancelled) {
		thrum_stream_close(session->output);
		return done(own);
	}
	return thrum_promise_bind(thrum_sleep(own, 1), send_row, session, NULL);
}

static struct thrum_promise *send_row(struct thrum_loop *own, void *value, void *data)
{
	struct session *session = data;

	(void)own;
	(void)value;
	session->sent++;
	return thrum_promise_bind(thrum_stream_push(session->output, thrum_value_static("row")),
		next_row, session, NULL);
}

static struct thrum_promise *run_query(struct thrum_loop *own, void *data)
{
	return next_row(own, NULL, data);
}

static struct thrum_promise *query(struct session *session)
{
	struct thrum_promise *query = thrum_semaphore_with(shop_pool, run_query, session, NULL);

	return thrum_promise_labelf(query, "query %d", session->number);
}

/* ---- The cancel request: it needs a connection to the server, too --------------------------- */

static struct thrum_promise *forward_cancel(struct thrum_loop *own, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	session->cancelled = true;
	thrum_semaphore_release(shop_pool);
	return thrum_sleep(own, 2);
}

static struct thrum_promise *give_up_cancel(struct thrum_loop *own,
	const struct thrum_failure *failure, void *data)
{
	struct session *session = data;

	printf("cancel %d: %s\n", session->number, failure->message);
	return done(own);
}

static struct thrum_promise *cancel(struct session *session)
{
	struct thrum_promise *connected = thrum_semaphore_acquire(shop_pool);
	struct thrum_promise *cancel;

	if (!broken)
		connected = thrum_timeout(connected, QUERY_WAIT_TIMEOUT_MS);
	cancel = thrum_promise_try_bind(connected, forward_cancel, give_up_cancel, session, NULL);
	return thrum_promise_labelf(cancel, "cancel %d", session->number);
}

/* ---- The client ----------------------------------------------------------------------------- */

static struct thrum_promise *read_row(struct thrum_loop *own, void *value, void *data);

static struct thrum_promise *wait_for_row(struct thrum_loop *own, void *value, void *data)
{
	struct session *session = data;

	(void)own;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(session->output), read_row, session, NULL);
}

static struct thrum_promise *read_row(struct thrum_loop *own, void *value, void *data)
{
	struct session *session = data;

	if (!value)
		return done(own); /* the end */
	session->read++;
	if (session->read == session->cancel_after)
		return thrum_promise_bind(cancel(session), wait_for_row, session, NULL);
	return wait_for_row(own, NULL, session);
}

static struct thrum_promise *psql(struct thrum_loop *own, struct session *session)
{
	struct thrum_promise *both[2];

	session->output = thrum_stream_create(own, "rows to the client", BUFFER);
	both[0] = query(session);
	both[1] = thrum_promise_labelf(wait_for_row(own, NULL, session), "psql %d",
		session->number);
	return thrum_promise_join(own, both, 2);
}

static struct thrum_promise *next_session(struct thrum_loop *own, void *value, void *data)
{
	struct session *session = data;
	struct thrum_promise *ended;

	(void)value;
	if (session > sessions)
		printf("psql %d: %d rows\n", session[-1].number, session[-1].read);
	if (session == sessions + SESSIONS)
		return done(own);
	ended = thrum_promise_labelf(psql(own, session), "session %d", session->number);
	return thrum_promise_bind(ended, next_session, session + 1, NULL);
}

/* ---- Another database, with a pool of its own ----------------------------------------------- */

static struct thrum_promise *select_post(struct thrum_loop *own, void *data)
{
	(void)data;
	return thrum_sleep(own, 4);
}

static struct thrum_promise *next_post(struct thrum_loop *own, void *value, void *data)
{
	struct thrum_promise *post;

	(void)value;
	(void)data;
	if (posts == POSTS)
		return done(own);
	post = thrum_semaphore_with(blog_pool, select_post, NULL, NULL);
	post = thrum_promise_labelf(post, "blog query %d", ++posts);
	return thrum_promise_bind(post, next_post, NULL, NULL);
}

/* The pooler goes on as long as it isn't shut down. */
static void write_stats(uv_timer_t *timer)
{
	(void)timer;
	printf("stats: %d blog queries\n", posts);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[2], *shutdown;
	uv_timer_t stats;
	int code;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	uv_timer_init(uv_default_loop(), &stats);
	uv_timer_start(&stats, write_stats, 100, 100);
	shop_pool = thrum_semaphore_create(loop, "shop server connections", 1);
	blog_pool = thrum_semaphore_create(loop, "blog server connections", 2);
	all[0] = next_session(loop, NULL, sessions);
	all[1] = next_post(loop, NULL, NULL);
	shutdown = thrum_promise_label(thrum_promise_join(loop, all, 2), "shutdown");
	thrum_promise_should_resolve(shutdown);
	code = thrum_promise_run(shutdown);
	thrum_stop();
	printf("%d blog queries; %s\n", posts, thrum_promise_error_message(code));
	return code ? 1 : 0;
}
