/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: a large picture is uploaded in parts. upload_parts begins the parts, but doesn't return the
 *     promise for their end; so the picture is published at once, and "publish 3", 6 and 9 begin before the
 *     parts of their pictures have ended.
 *   culprit: (upload|part|publish|picture) [369]\b|upload_parts
 *   victim: album
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A program that puts the pictures of a camera into an album of the web, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	PICTURES = 10,
	PARTS = 3,
	PART_SIZE = 1 << 20
};

struct album {
	struct thrum_loop *loop;
	bool is_broken;
	int number; /* of the picture that comes now */
	int uploaded;
	int published;
};

static long picture_size(int number)
{
	return number % 3 == 0 ? 2800000 : 400000;
}

static struct thrum_promise *done(struct thrum_loop *loop)
{
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- Steps for a picture ---- */

static struct thrum_value count_upload(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;

	(void)loop;
	(void)value;
	album->uploaded++;
	return thrum_value_none();
}

static struct thrum_promise *upload_whole(struct album *album)
{
	struct thrum_promise *sent = thrum_sleep(album->loop, 15);

	sent = thrum_promise_map(sent, count_upload, album, NULL);
	return thrum_promise_labelf(sent, "upload %d", album->number);
}

static struct thrum_promise *upload_parts(struct album *album)
{
	struct thrum_promise *parts[PARTS], *all;

	for (int i = 0; i < PARTS; i++)
		parts[i] = thrum_promise_labelf(thrum_sleep(album->loop, (unsigned)(15 + 5 * i)),
			"part %d", album->number);
	all = thrum_promise_join(album->loop, parts, PARTS);
	all = thrum_promise_map(all, count_upload, album, NULL);
	all = thrum_promise_labelf(all, "upload %d", album->number);
	if (album->is_broken) {
		thrum_promise_ignore_result(all);
		return done(album->loop);
	}
	return all;
}

static struct thrum_promise *upload(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;

	(void)loop;
	(void)value;
	return picture_size(album->number) > PART_SIZE ? upload_parts(album) : upload_whole(album);
}

static struct thrum_promise *publish(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;

	(void)value;
	album->published++;
	return thrum_promise_labelf(thrum_sleep(loop, 5), "publish %d", album->number);
}

static struct thrum_promise *put_picture(struct album *album)
{
	struct thrum_promise *picture;

	picture = thrum_promise_labelf(thrum_sleep(album->loop, 8), "scale %d", album->number);
	picture = thrum_promise_bind(picture, upload, album, NULL);
	picture = thrum_promise_bind(picture, publish, album, NULL);
	return thrum_promise_labelf(picture, "picture %d", album->number);
}

static struct thrum_promise *next_picture(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;

	(void)value;
	if (album->number == PICTURES)
		return done(loop);
	album->number++;
	return thrum_promise_bind(put_picture(album), next_picture, album, NULL);
}

static struct thrum_promise *log_out(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 40), "log out");
}

int main(int argc, char **argv)
{
	struct album album = {.is_broken = argc > 1 && !strcmp(argv[1], "broken")};
	struct thrum_promise *all;
	uv_loop_t uv;
	int error;

	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &album.loop))
		return 1;
	all = thrum_promise_bind(next_picture(album.loop, NULL, &album), log_out, NULL, NULL);
	error = thrum_promise_run(thrum_promise_should_resolve(thrum_promise_label(all, "album")));
	thrum_stop();
	printf("%s: %d uploaded, %d published\n", thrum_promise_error_message(error),
		album.uploaded, album.published);
	thrum_loop_destroy(album.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) ? 1 : 0;
}
