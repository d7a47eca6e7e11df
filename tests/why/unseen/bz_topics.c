/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: resubscribe subscribes one topic less than there are (i < topic_count - 1) after the feed was
 *     reconnected; the last one, "fx", gets no news any more
 *   culprit: resubscribe|reconnect|subscribe fx
 *   victim: next of fx|watch fx|readers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_loop *loop;
static bool is_broken;
static uv_timer_t heart;
static int beats;

static void on_heart(uv_timer_t *timer)
{
	(void)timer;
	beats++;
	thrum_promise_ignore_result(thrum_promise_label(thrum_sleep(loop, 2), "heartbeat"));
}

static void begin(int argc, char **argv)
{
	is_broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		exit(1);
	uv_timer_init(uv_default_loop(), &heart);
	uv_timer_start(&heart, on_heart, 10, 20);
}

static int finish(struct thrum_promise *all)
{
	int result = thrum_promise_run(thrum_promise_should_resolve(all));

	thrum_stop();
	return result ? 1 : 0;
}

/* A feed with topics; each reader waits for the news of its topic. It reconnects once. */
static const char *const topics[] = {"news", "sport", "fx"};
static struct thrum_stream *streams[3];
static bool is_subscribed[3];
static int ticks, seen[3];

static void subscribe(int topic)
{
	thrum_promise_ignore_result(
		thrum_promise_labelf(thrum_sleep(loop, 1), "subscribe %s", topics[topic]));
	is_subscribed[topic] = true;
}

static struct thrum_promise *resubscribe(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)data;
	for (int i = 0; i < (is_broken ? 2 : 3); i++)
		subscribe(i);
	return thrum_promise_return(l, thrum_value_none());
}

static void reconnect(void)
{
	memset(is_subscribed, 0, sizeof(is_subscribed));
	thrum_promise_ignore_result(thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 6),
								resubscribe, NULL, NULL),
		"reconnect"));
}

static struct thrum_promise *tick(struct thrum_loop *l, void *value, void *data)
{
	(void)value;
	(void)data;
	if (++ticks == 20)
		reconnect();
	for (int i = 0; i < 3; i++)
		if (is_subscribed[i] && !thrum_stream_try_push(streams[i], thrum_value_int(ticks)))
			continue;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(l, 5), "tick"), tick, NULL, NULL);
}

static struct thrum_promise *watch(struct thrum_loop *l, void *value, void *data);

static struct thrum_promise *on_news(struct thrum_loop *l, void *value, void *data)
{
	int topic = (int)(intptr_t)data;

	(void)value;
	if (++seen[topic] == 60)
		return thrum_promise_return(l, thrum_value_none());
	return watch(l, NULL, data);
}

static struct thrum_promise *watch(struct thrum_loop *l, void *value, void *data)
{
	int topic = (int)(intptr_t)data;

	(void)value;
	(void)l;
	return thrum_promise_labelf(thrum_promise_bind(thrum_stream_next(streams[topic]), on_news,
					    data, NULL),
		"watch %s", topics[topic]);
}

int main(int argc, char **argv)
{
	struct thrum_promise *readers[3];

	begin(argc, argv);
	for (int i = 0; i < 3; i++) {
		streams[i] = thrum_stream_create(loop, topics[i], 8);
		subscribe(i);
	}
	thrum_promise_ignore_result(tick(loop, NULL, NULL));
	for (int i = 0; i < 3; i++)
		readers[i] = watch(loop, NULL, (void *)(intptr_t)i);
	return finish(thrum_promise_label(thrum_promise_join(loop, readers, 3), "readers"));
}
