/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why
 *   truth: The feed lwn.net fails to parse; its error goes to nobody (async), and with it the bookkeeping "one feed less" is skipped, so the stream "articles" is never closed and the reader waits for the next article for ever; the loop gives up with EDEADLK.
 *   culprit: lwn\.net|parse_feed|unexpected end
 *   victim: articles|next_article|store|import
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Fetches feeds at the same time; one reader stores their articles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_stream *articles;
static bool broken;
static int open_feeds, stored;

struct feed {
	const char *name;
	int delay, articles;
	bool damaged;
};

static struct feed feeds[] = {
	{"feed debian.org", 20, 4, false},
	{"feed kernel.org", 35, 3, false},
	{"feed lwn.net", 60, 5, true},
	{"feed lobste.rs", 110, 6, false},
};

static void feed_done(void)
{
	if (--open_feeds == 0)
		thrum_stream_close(articles);
}

static struct thrum_promise *push_rest(struct thrum_loop *loop, void *value, void *data)
{
	struct feed *feed = data;

	if (feed->articles-- == 0) {
		feed_done();
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_stream_push(articles, thrum_value_static(feed->name)),
		push_rest, feed, NULL);
}

static struct thrum_promise *parse_feed(struct thrum_loop *loop, void *value, void *data)
{
	struct feed *feed = data;

	if (feed->damaged)
		return thrum_promise_fail(loop, 71, "%s: unexpected end of document", feed->name);
	return push_rest(loop, NULL, feed);
}

static struct thrum_promise *skip_feed(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	fprintf(stderr, "skipped: %s\n", failure->message);
	feed_done();
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *fetch_feed(struct thrum_loop *loop, void *data)
{
	struct feed *feed = data;
	struct thrum_promise *parsed = thrum_promise_bind(thrum_sleep(loop, feed->delay),
		parse_feed, feed, NULL);

	if (broken)
		return parsed;
	return thrum_promise_catch(parsed, skip_feed, feed, NULL);
}

static struct thrum_promise *store(struct thrum_loop *loop, void *article, void *data);

static struct thrum_promise *next_article(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_bind(thrum_stream_next(articles), store, NULL, NULL);
}

static struct thrum_promise *store(struct thrum_loop *loop, void *article, void *data)
{
	if (!article)
		return thrum_promise_return(loop, thrum_value_none());
	stored++;
	return thrum_promise_bind(thrum_sleep(loop, 8), next_article, NULL, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t uv;
	struct thrum_loop *loop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	articles = thrum_stream_create(loop, "articles", 2);
	for (int i = 0; i < 4; i++, open_feeds++)
		thrum_promise_async(loop, feeds[i].name, fetch_feed, &feeds[i], NULL);
	int result = thrum_promise_run(
		thrum_promise_label(next_article(loop, NULL, NULL), "import"));
	thrum_stop();
	printf("%d articles: %s\n", stored, thrum_promise_error_message(result));
	return result != 0;
}
