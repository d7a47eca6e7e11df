/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The shutdown waits for all sessions to end before it announces the closing; but "session feed" ends only when the closing is announced. Shutdown waits for the session, which waits for the shutdown.
 *   culprit: session feed|closing
 *   victim: shutdown|all sessions
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SESSIONS 5

static struct thrum_condition *closing, *news;
static struct thrum_promise *sessions[SESSIONS];
static struct thrum_listener *listener;
static bool late;
static int ticks;
static uv_timer_t stats;

static void on_stats(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
	if (ticks % 2)
		thrum_condition_broadcast(news, thrum_value_int(ticks));
}

/* A subscriber gets all news until the server closes. */
static struct thrum_promise *follow(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *either[2];

	(void)data;
	if (thrum_int(value) == -1)
		return thrum_promise_return(loop, thrum_value_none());
	either[0] = thrum_condition_wait(closing, NULL);
	either[1] = thrum_condition_wait(news, NULL);
	return thrum_promise_bind(thrum_promise_pick(loop, either, 2), follow, NULL, NULL);
}

static struct thrum_promise *say_goodbye(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	thrum_condition_broadcast(closing, thrum_value_int(-1));
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *shut_down(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all;

	(void)value;
	(void)data;
	thrum_promise_unref(thrum_listener_close(listener));
	if (!late)
		thrum_condition_broadcast(closing, thrum_value_int(-1));
	all = thrum_promise_join(loop, sessions, SESSIONS);
	thrum_promise_label(all, "all sessions");
	return thrum_promise_bind(all, say_goodbye, NULL, NULL);
}

static struct thrum_value accepted(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_value_none();
}

int main(int argc, char **argv)
{
	static const char *const names[SESSIONS] = {"alice", "bob", "feed", "carol", "dave"};
	struct sockaddr_in here = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_promise *end;
	struct thrum_loop *loop;

	late = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop) ||
		thrum_tcp_listen(loop, (struct sockaddr *)&here, 8, &listener))
		return 2;
	closing = thrum_condition_create(loop, "closing");
	news = thrum_condition_create(loop, "news");
	uv_timer_init(uv_default_loop(), &stats);
	uv_timer_start(&stats, on_stats, 25, 25);
	thrum_promise_ignore_result(
		thrum_promise_map(thrum_listener_accept(listener), accepted, NULL, NULL));
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i] = i == 2 ? follow(loop, NULL, NULL)
				     : thrum_sleep(loop, 60 + 50 * (unsigned)i);
		thrum_promise_labelf(sessions[i], "session %s", names[i]);
	}
	end = thrum_promise_bind(thrum_sleep(loop, 150), shut_down, NULL, NULL);
	thrum_promise_label(end, "shutdown");
	thrum_promise_should_resolve(end);
	if (thrum_promise_run(end))
		return 1;
	printf("closed after %d ticks\n", ticks);
	thrum_stop();
	uv_close((uv_handle_t *)&stats, NULL);
	thrum_condition_destroy(news);
	thrum_condition_destroy(closing);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return 0;
}
