/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: event_emit walks over the list of listeners by index, and each listener takes itself off the list when it is
 *     called. So the one after it moves into its place and is skipped: the lyrics are never told that the track is loaded.
 *   culprit: \blyrics\b|event_emit|event_off
 *   victim: show track|cover|waveform
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A music player: when the decoder has loaded a track, the cover, the lyrics and the waveform are shown. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* ---- Events with listeners ---- */

struct listener {
	void (*call)(void *data);
	void *data;
};

struct event {
	struct listener listeners[8];
	size_t count;
};

static bool emit_copy;

static void event_on(struct event *event, void (*call)(void *), void *data)
{
	event->listeners[event->count++] = (struct listener){call, data};
}

static void event_off(struct event *event, const void *data)
{
	for (size_t i = 0; i < event->count; i++)
		if (event->listeners[i].data == data) {
			memmove(&event->listeners[i], &event->listeners[i + 1],
				(event->count - i - 1) * sizeof(event->listeners[0]));
			event->count--;
			return;
		}
}

static void event_emit(struct event *event)
{
	struct event copy = *event;
	struct event *list = emit_copy ? &copy : event;

	for (size_t i = 0; i < list->count; i++)
		list->listeners[i].call(list->listeners[i].data);
}

/* ---- The player ---- */

static struct event track_loaded;
static bool closed;

struct waiter {
	struct thrum_resolver *resolver;
};

static void on_loaded(void *data)
{
	struct waiter *waiter = data;

	event_off(&track_loaded, waiter);
	thrum_resolver_resolve(waiter->resolver, thrum_value_none());
	free(waiter);
}

/* Returns a promise for the next time that a track is loaded. */
static struct thrum_promise *await_track(struct thrum_loop *loop, const char *label)
{
	struct waiter *waiter = malloc(sizeof(*waiter));
	struct thrum_promise *promise;

	if (!waiter)
		abort();
	promise = thrum_promise_wait(loop, label, &waiter->resolver);
	event_on(&track_loaded, on_loaded, waiter);
	return promise;
}

/* Each part of the window reads its own file, and is drawn. */
static struct thrum_promise *draw(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_sleep(loop, 5);
}

static struct thrum_promise *show_part(struct thrum_loop *loop, const char *name, const char *wait)
{
	return thrum_promise_label(thrum_promise_bind(await_track(loop, wait), draw, NULL, NULL),
		name);
}

static struct thrum_promise *show_track(struct thrum_loop *loop)
{
	struct thrum_promise *parts[] = {
		show_part(loop, "show cover", "cover waits for track"),
		show_part(loop, "show lyrics", "lyrics wait for track"),
		show_part(loop, "show waveform", "waveform waits for track"),
	};

	return thrum_promise_label(thrum_promise_join(loop, parts, 3), "show track");
}

static struct thrum_promise *loaded(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	event_emit(&track_loaded);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *load_track(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_bind(thrum_sleep(loop, 20), loaded, NULL, NULL);
}

/* The position in the track is shown all the time. */
static struct thrum_promise *tick(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (closed)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), tick, NULL, NULL);
}

static struct thrum_promise *show_clock(struct thrum_loop *loop, void *data)
{
	return tick(loop, NULL, data);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_loop *loop;
	struct thrum_promise *shown;
	int error;

	emit_copy = !(argc > 1 && !strcmp(argv[1], "broken"));
	if (thrum_loop_create(uv, &loop))
		return 1;
	thrum_promise_async(loop, "clock", show_clock, NULL, NULL);
	shown = thrum_promise_should_resolve(show_track(loop));
	thrum_promise_async(loop, "decoder", load_track, NULL, NULL);
	error = thrum_promise_run(shown);
	printf("shown: %s\n", thrum_promise_error_message(error));
	closed = true;
	uv_run(uv, UV_RUN_DEFAULT);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return error != 0;
}
