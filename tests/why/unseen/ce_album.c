/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: diff healthy
 *   truth: At most three thumbnails are made at once; the others are deferred. When one is ready, start_deferred starts
 *     the next one only if more than one is deferred (> 1 for > 0). So the last of the album, "thumbnail beach 8", is
 *     never made, and the album never ends.
 *   culprit: thumbnail beach 8
 *   victim: album beach|import
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Imports albums of photos: reads each photo, and makes a thumbnail of it, a few at a time. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define AT_ONCE 3
#define PHOTOS 8

struct album {
	const char *name;
	unsigned photos;
};

struct importer {
	const struct album *album;
	unsigned next;                    /* album */
	unsigned running;                 /* thumbnails */
	unsigned deferred;                /* photos that were read and wait for their turn */
	unsigned first_deferred;          /* number of the first of them */
	unsigned missing;                 /* thumbnails of the album */
	struct thrum_resolver *completed; /* the album */
	unsigned least;                   /* as many are deferred when the next one is started */
	bool over;
};

static const struct album albums[] = {{"cat", 2}, {"garden", 3}, {"harbour", 3}, {"beach", PHOTOS}};
static struct importer importer;

static void start_thumbnail(struct thrum_loop *loop, unsigned number);

static void start_deferred(struct thrum_loop *loop)
{
	if (importer.running == AT_ONCE || importer.deferred < importer.least)
		return;
	importer.deferred--;
	start_thumbnail(loop, importer.first_deferred++);
}

static void on_thumbnail(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	importer.running--;
	start_deferred(loop);
	if (--importer.missing == 0)
		thrum_resolver_resolve(importer.completed, thrum_value_none());
}

static void start_thumbnail(struct thrum_loop *loop, unsigned number)
{
	struct thrum_promise *made = thrum_sleep(loop, 40);

	importer.running++;
	made = thrum_promise_labelf(made, "thumbnail %s %u", importer.album->name, number);
	thrum_promise_on_success(made, on_thumbnail, NULL, NULL);
}

static struct thrum_promise *on_photo(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data);

	(void)value;
	if (importer.running < AT_ONCE) {
		start_thumbnail(loop, number);
	} else {
		if (importer.deferred++ == 0)
			importer.first_deferred = number;
	}
	return thrum_promise_return(loop, thrum_value_none());
}

/* Reads the photos of an album one after the other. */
static struct thrum_promise *read_photos(struct thrum_loop *loop)
{
	struct thrum_promise *read[PHOTOS];

	for (unsigned i = 0; i < importer.album->photos; i++) {
		read[i] = thrum_promise_bind(thrum_sleep(loop, 2 + i), on_photo,
			thrum_value_int((intptr_t)i + 1).data, NULL);
		read[i] = thrum_promise_labelf(read[i], "photo %s %u", importer.album->name, i + 1);
	}
	return thrum_promise_join(loop, read, importer.album->photos);
}

static struct thrum_promise *next_album(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *both[2];

	(void)value;
	if (importer.next == sizeof albums / sizeof albums[0])
		return thrum_promise_return(loop, thrum_value_none());
	importer.album = &albums[importer.next++];
	importer.missing = importer.album->photos;
	both[0] = thrum_promise_wait(loop, "all thumbnails", &importer.completed);
	both[1] = read_photos(loop);
	both[0] = thrum_promise_join(loop, both, 2);
	both[0] = thrum_promise_labelf(both[0], "album %s", importer.album->name);
	return thrum_promise_bind(both[0], next_album, data, NULL);
}

/* Looks for new cameras. */
static struct thrum_promise *look(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (importer.over)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 60), look, data, NULL);
}

static void on_over(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	importer.over = true;
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *all;
	struct thrum_promise *both[2];

	importer.least = argc > 1 && !strcmp(argv[1], "broken") ? 2 : 1;
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	all = thrum_promise_bind(thrum_sleep(loop, 10), next_album, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(all, "import"));
	thrum_promise_on_termination(thrum_promise_ref(all), on_over, NULL, NULL);
	both[0] = all;
	both[1] = thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 60), look, NULL, NULL),
		"cameras");
	if (thrum_promise_run(thrum_promise_join(loop, both, 2)))
		return 1;
	thrum_stop();
	puts("album: all imported");
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return 0;
}
