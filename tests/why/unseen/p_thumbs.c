/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: decoding photo-4 fails; the failure is swallowed (ignored), so nobody puts a sixth picture into the
 *     mailbox "decoded", and the album writer waits for it for ever.
 *   culprit: decode photo-4|photo-4
 *   victim: album|decoded
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PHOTOS 6

/* thumbs: decodes the photos of an album in the pool, and writes a page with them, one by one. */
static struct thrum_mvar *decoded;
static bool with_placeholder;

static int decode_worker(void *data, struct thrum_value *result)
{
	int photo = (int)(intptr_t)data;

	uv_sleep(5 + photo * 2);
	if (photo == 4)
		return -EILSEQ; /* a corrupt JPEG */
	*result = thrum_value_int(photo + 1);
	return 0;
}

static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_mvar_put(decoded, thrum_value_int(thrum_int(value)));
}

static struct thrum_promise *deliver_placeholder(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	return thrum_mvar_put(decoded, thrum_value_int(1000));
}

static void decode(struct thrum_loop *loop, int photo)
{
	struct thrum_promise *work;
	char label[32];

	snprintf(label, sizeof label, "decode photo-%d", photo);
	work = thrum_work(loop, label, decode_worker, (void *)(intptr_t)photo, NULL);
	if (with_placeholder)
		work = thrum_promise_try_bind(work, deliver, deliver_placeholder, NULL, NULL);
	else
		work = thrum_promise_bind(work, deliver, NULL, NULL);
	thrum_promise_ignore_result(work);
}

static struct thrum_promise *album_next(struct thrum_loop *loop, void *value, void *data)
{
	int written = (int)(intptr_t)data;

	if (written == PHOTOS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_mvar_take(decoded), album_next,
		(void *)(intptr_t)(written + 1), NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *album, *hangup;
	struct thrum_loop *loop;
	int result;

	with_placeholder = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	decoded = thrum_mvar_create(loop, "decoded");
	hangup = thrum_signal_wait(loop, SIGHUP);
	for (int photo = 0; photo < PHOTOS; photo++)
		decode(loop, photo);
	album = thrum_promise_bind(thrum_sleep(loop, 2), album_next, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(album, "write album"));
	result = thrum_promise_run(album);
	thrum_stop();
	thrum_promise_unref(hangup);
	puts(result ? "thumbs: failed" : "thumbs: album written");
	return result != 0;
}
