/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The promise of feed news was made by thrum_promise_wait, which can't be cancelled. The end of the
 *          session cancels all feeds and waits for them, but nothing ends feed news.
 *   culprit: feed news
 *   victim: session [a-z]+
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define FEEDS 5

struct feed {
	const char *name;
	unsigned period;
	int ticks;
	struct thrum_promise *open; /* ends when the feed is closed */
	struct thrum_resolver *resolver;
};

struct session {
	const char *name;
	size_t feeds;
};

static struct feed feeds[FEEDS] = {
	{.name = "eur", .period = 2},
	{.name = "usd", .period = 3},
	{.name = "gold", .period = 5},
	{.name = "oil", .period = 7},
	{.name = "news", .period = 11},
};
/* News come only at noon. */
static struct session sessions[] = {
	{"morning", 4},
	{"noon", 5},
	{"afternoon", 4},
	{"evening", 4},
};
static const size_t session_count = sizeof(sessions) / sizeof(*sessions);
static bool broken, closed;

static struct thrum_promise *run_session(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *tick(struct thrum_loop *loop, void *value, void *data)
{
	struct feed *feed = data;

	(void)value;
	feed->ticks++;
	if (!thrum_resolver_wanted(feed->resolver)) {
		thrum_resolver_drop(feed->resolver);
		feed->resolver = NULL;
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop, feed->period), tick, feed, NULL);
}

static struct thrum_promise *begin_ticks(struct thrum_loop *loop, void *data)
{
	return tick(loop, NULL, data);
}

/* The exchange is asked again and again. */
static struct thrum_promise *poll_exchange(struct thrum_loop *loop, struct feed *feed)
{
	struct thrum_promise *open = thrum_promise_task(loop, NULL, &feed->resolver);

	return thrum_promise_labelf(open, "feed %s", feed->name);
}

/* The agency calls us. */
static struct thrum_promise *subscribe_agency(struct thrum_loop *loop, struct feed *feed)
{
	if (broken)
		return thrum_promise_wait(loop, "feed news", &feed->resolver);
	return thrum_promise_task(loop, "feed news", &feed->resolver);
}

static struct thrum_promise *write_summary(struct thrum_loop *loop, struct session *session)
{
	int ticks = 0;

	for (size_t i = 0; i < session->feeds; i++) {
		ticks += feeds[i].ticks;
		thrum_promise_unref(feeds[i].open);
		feeds[i].open = NULL;
	}
	printf("%s: %d ticks\n", session->name, ticks);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *all_closed(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return write_summary(loop, data);
}

static struct thrum_promise *some_cancelled(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	if (failure->code != THRUM_CANCELED)
		return thrum_promise_fail_again(loop, failure);
	return write_summary(loop, data);
}

static struct thrum_promise *end_session(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;
	struct thrum_promise *open[FEEDS], *all;

	(void)value;
	for (size_t i = 0; i < session->feeds; i++) {
		open[i] = thrum_promise_ref(feeds[i].open);
		thrum_promise_cancel(feeds[i].open);
	}
	all = thrum_promise_join(loop, open, session->feeds);
	return thrum_promise_try_bind(all, all_closed, some_cancelled, session, NULL);
}

/* The last ticks come between two sessions. */
static struct thrum_promise *have_break(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 20), run_session, session + 1, NULL);
}

static struct thrum_promise *run_session(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;
	struct thrum_promise *done;

	(void)value;
	if (session == sessions + session_count) {
		closed = true;
		return thrum_promise_return(loop, thrum_value_none());
	}
	for (size_t i = 0; i < session->feeds; i++) {
		struct feed *feed = &feeds[i];

		feed->open = i == 4 ? subscribe_agency(loop, feed) : poll_exchange(loop, feed);
		thrum_promise_async(loop, feed->name, begin_ticks, feed, NULL);
	}
	done = thrum_promise_bind(thrum_sleep(loop, 60), end_session, session, NULL);
	thrum_promise_should_resolve(thrum_promise_labelf(done, "session %s", session->name));
	done = thrum_promise_bind(done, have_break, session, NULL);
	return thrum_promise_label(done, "rest of the day");
}

static struct thrum_promise *show_status(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	fprintf(stderr, "ticks of eur: %d\n", feeds[0].ticks);
	if (closed)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 25), show_status, data, NULL);
}

static struct thrum_promise *begin_status(struct thrum_loop *loop, void *data)
{
	return show_status(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	thrum_promise_async(loop, "status", begin_status, NULL, NULL);
	result = thrum_promise_run(run_session(loop, NULL, sessions));
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result ? 1 : 0;
}
