/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=upload-#
 *   truth: A send takes one of three “connections”. The server refuses the first try of “preview-1”,
 *     “preview-2” and “preview-3”. on_refused waits for the back-off of 500 ms while the preview still
 *     holds its connection, as it runs inside thrum_semaphore_with. So no connection is free for that time,
 *     and the uploads stand in line though nothing is sent. The fix pauses outside of it.
 *   culprit: back off|preview|on_refused
 *   victim: connections|upload-\d
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Sends photos and their previews to a server, by three connections at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	PREVIEWS = 3,
	UPLOADS = 16,
	CONNECTIONS = 3,
	BACK_OFF = 500,
	REFUSED = 503
};

struct item {
	const char *kind;
	int number, tries;
};

static struct item previews[PREVIEWS], uploads[UPLOADS];
static struct thrum_semaphore *connections;
static int sent, refused;
static bool broken;

static struct thrum_promise *on_response(struct thrum_loop *loop, void *value, void *data)
{
	struct item *item = data;

	(void)value;
	if (item->tries++ == 0 && !strcmp(item->kind, "preview")) {
		refused++;
		return thrum_promise_fail(loop, REFUSED, "%s %d: later", item->kind, item->number);
	}
	sent++;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Sends the item and waits for the response. */
static struct thrum_promise *post(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *response = thrum_promise_label(thrum_sleep(loop, 20), "response");

	return thrum_promise_bind(response, on_response, data, NULL);
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *data);

static struct thrum_promise *post_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return broken ? post(loop, data) : deliver(loop, data);
}

/* The server was busy: tries again later. */
static struct thrum_promise *on_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct thrum_promise *pause;

	if (failure->code != REFUSED)
		return thrum_promise_fail_again(loop, failure);
	pause = thrum_promise_label(thrum_sleep(loop, BACK_OFF), "back off");
	return thrum_promise_bind(pause, post_again, data, NULL);
}

static struct thrum_promise *post_or_retry(struct thrum_loop *loop, void *data)
{
	return thrum_promise_catch(post(loop, data), on_refused, data, NULL);
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *end;

	(void)loop;
	if (broken)
		return thrum_semaphore_with(connections, post_or_retry, data, NULL);
	end = thrum_semaphore_with(connections, post, data, NULL);
	return thrum_promise_catch(end, on_refused, data, NULL);
}

static struct thrum_promise *begin_named(struct thrum_loop *loop, void *value, void *data)
{
	struct item *item = data;

	(void)value;
	return thrum_promise_labelf(deliver(loop, item), "%s-%d", item->kind, item->number);
}

/* The camera gives the items one after the other. */
static struct thrum_promise *schedule(struct thrum_loop *loop, struct item *item, int ms)
{
	struct thrum_promise *ready = thrum_promise_label(thrum_sleep(loop, ms), "camera");

	return thrum_promise_bind(ready, begin_named, item, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[PREVIEWS + UPLOADS], *album;
	struct thrum_loop *loop;
	int code;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	connections = thrum_semaphore_create(loop, "connections", CONNECTIONS);
	for (int i = 0; i < PREVIEWS; i++) {
		previews[i] = (struct item){"preview", i + 1, 0};
		all[i] = schedule(loop, &previews[i], 410);
	}
	for (int i = 0; i < UPLOADS; i++) {
		uploads[i] = (struct item){"upload", i + 1, 0};
		all[PREVIEWS + i] = schedule(loop, &uploads[i], 20 + 60 * i);
	}
	album = thrum_promise_join(loop, all, PREVIEWS + UPLOADS);
	album = thrum_promise_should_resolve(thrum_promise_label(album, "album"));
	code = thrum_promise_run(album);
	thrum_stop();
	printf("%d sent, %d refused: %s\n", sent, refused, thrum_promise_error_message(code));
	thrum_semaphore_destroy(connections);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code != 0;
}
