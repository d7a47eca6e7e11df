/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=refresh #
 *   truth: retry_later doubles the delay of a host after each failure, and on_fetched doesn't set it back
 *     when a fetch succeeds. So late single failures are followed by a "backoff" of 160 ms instead of 5 ms.
 *   culprit: backoff|retry_later
 *   victim: fetch|slots
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A reader of feeds: refreshes the feeds of some hosts again and again, and tries again after failures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define HOSTS 4
#define ROUNDS 18
#define FIRST_DELAY_MS 5
#define MAX_DELAY_MS 160

struct host {
	const char *name;
	unsigned fails_every; /* a fetch of its */
	unsigned fetches;
	unsigned delay_ms; /* before the next retry */
	int round;
	int number;
};

struct feed {
	char *text;
};

static struct thrum_semaphore *slots;
static bool calm_down;
static unsigned refreshed;
static unsigned failures;

static struct host hosts[HOSTS] = {
	{.name = "news.example", .fails_every = 4},
	{.name = "blog.example", .fails_every = 3},
	{.name = "wiki.example", .fails_every = 1000},
	{.name = "cast.example", .fails_every = 4},
};

static struct thrum_promise *try_fetch(struct thrum_loop *loop, void *value, void *data);

static void feed_free(void *data)
{
	struct feed *feed = data;

	free(feed->text);
	free(feed);
}

/* ---- fetching ---- */

static struct thrum_promise *on_response(struct thrum_loop *loop, void *value, void *data)
{
	struct host *host = data;
	struct feed *feed;

	(void)value;
	if (host->fetches % host->fails_every == 0)
		return thrum_promise_fail(loop, -ECONNRESET, "%s: connection reset", host->name);
	feed = malloc(sizeof(*feed));
	if (!feed || asprintf(&feed->text, "<feed>%s %u</feed>", host->name, host->fetches) < 0)
		return NULL;
	return thrum_promise_return(loop, thrum_value_own(feed, feed_free));
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *data)
{
	struct host *host = data;
	struct thrum_promise *response;

	host->fetches++;
	response = thrum_sleep(loop, 6 + host->fetches % 4); /* the network */
	response = thrum_promise_label(response, "network");
	response = thrum_promise_bind(response, on_response, host, NULL);
	return thrum_promise_labelf(response, "fetch %s", host->name);
}

/* ---- retries ---- */

static struct thrum_promise *retry_later(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct host *host = data;
	struct thrum_promise *pause;

	if (failure->code != -ECONNRESET)
		return thrum_promise_fail_again(loop, failure);
	failures++;
	pause = thrum_promise_label(thrum_sleep(loop, host->delay_ms), "backoff");
	host->delay_ms *= 2;
	if (host->delay_ms > MAX_DELAY_MS)
		host->delay_ms = MAX_DELAY_MS;
	return thrum_promise_bind(pause, try_fetch, host, NULL);
}

static struct thrum_promise *on_fetched(struct thrum_loop *loop, void *value, void *data)
{
	struct host *host = data;
	const struct feed *feed = value;

	if (calm_down)
		host->delay_ms = FIRST_DELAY_MS;
	refreshed += strlen(feed->text) > 0;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *try_fetch(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *fetched = thrum_semaphore_with(slots, fetch, data, NULL);

	(void)loop;
	(void)value;
	return thrum_promise_try_bind(fetched, on_fetched, retry_later, data, NULL);
}

/* ---- rounds ---- */

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *refresh(struct thrum_loop *loop, void *value, void *data)
{
	struct host *host = data;
	struct thrum_promise *whole = try_fetch(loop, value, host);

	thrum_promise_labelf(whole, "refresh %d", host->round * HOSTS + host->number);
	thrum_promise_should_resolve(whole);
	return thrum_promise_bind(whole, next_round, host, NULL);
}

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data)
{
	struct host *host = data;
	struct thrum_promise *interval;

	(void)value;
	if (++host->round > ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	interval = thrum_promise_label(thrum_sleep(loop, 10 + host->number), "interval");
	return thrum_promise_bind(interval, refresh, host, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[HOSTS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	calm_down = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	slots = thrum_semaphore_create(loop, "slots", 3);
	for (int i = 0; i < HOSTS; i++) {
		hosts[i].number = i;
		hosts[i].delay_ms = FIRST_DELAY_MS;
		all[i] = next_round(loop, NULL, &hosts[i]);
		thrum_promise_labelf(all[i], "reader of %s", hosts[i].name);
	}
	code = thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, all, HOSTS), "main"));
	thrum_stop();
	printf("%u refreshed, %u failures, delay %u ms\n", refreshed, failures, hosts[0].delay_ms);
	thrum_semaphore_destroy(slots);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code || refreshed != HOSTS * ROUNDS ? 1 : 0;
}
