/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: why --slow=sync
 *   truth: The slowest sync (the album “holiday”) spends its time in “back off”: the store refuses its upload since the version is stale, and the client tries again with the same version, with growing pauses, until it asks for the current version at last.
 *   culprit: back off
 *   victim: sync
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Synchronises photo albums with a store. The store refuses an upload that is based on an old version of
 * the album. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ALBUMS 9
#define TRIES 6

struct album {
	const char *name;
	int photos, next, version, tries;
};

static struct album albums[ALBUMS] = {
	{"garden", 3, 0, 4},
	{"birthday", 5, 0, 2},
	{"cats", 6, 0, 9},
	{"holiday", 4, 0, 1},
	{"house", 2, 0, 6},
	{"school", 5, 0, 3},
	{"mountains", 4, 0, 5},
	{"bicycles", 1, 0, 7},
	{"recipes", 2, 0, 8},
};
static const int store_versions[ALBUMS] = {4, 2, 9, 3, 6, 3, 5, 7, 8};

static struct thrum_semaphore *uplinks;
static bool refresh_first;
static int uploaded, conflicts;

static struct thrum_promise *upload_next(struct thrum_loop *loop, void *value, void *data);

static int stored_version(const struct album *album)
{
	return store_versions[album - albums];
}

static struct thrum_promise *send_photo(struct thrum_loop *loop, void *data)
{
	return thrum_promise_label(thrum_sleep(loop, 4), "send photo");
}

static struct thrum_promise *on_sent(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;

	if (album->version != stored_version(album)) {
		conflicts++;
		return thrum_promise_fail(loop, 409, "%s: conflict", album->name);
	}
	album->next++;
	album->tries = 0;
	uploaded++;
	return upload_next(loop, NULL, album);
}

static struct thrum_promise *take_version(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;

	album->version = stored_version(album);
	return upload_next(loop, NULL, album);
}

/* Asks the store for the album's current version. */
static struct thrum_promise *refresh(struct thrum_loop *loop, struct album *album)
{
	struct thrum_promise *answer = thrum_promise_label(thrum_sleep(loop, 6), "get version");

	return thrum_promise_bind(answer, take_version, album, NULL);
}

/* Decides what to do after a photo was refused. */
static struct thrum_promise *on_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct album *album = data;
	struct thrum_promise *pause;

	album->tries++;
	if (failure->code != 409 || album->tries > TRIES)
		return thrum_promise_fail_again(loop, failure);
	if (refresh_first || album->tries == 5)
		return refresh(loop, album);
	pause = thrum_promise_label(thrum_sleep(loop, 30 << album->tries), "back off");
	return thrum_promise_bind(pause, upload_next, album, NULL);
}

/* Uploads the rest of an album. */
static struct thrum_promise *upload_next(struct thrum_loop *loop, void *value, void *data)
{
	struct album *album = data;
	struct thrum_promise *sent;

	if (album->next == album->photos)
		return thrum_promise_return(loop, thrum_value_none());
	sent = thrum_semaphore_with(uplinks, send_photo, album, NULL);
	return thrum_promise_catch(thrum_promise_bind(sent, on_sent, album, NULL), on_refused,
		album, NULL);
}

static struct thrum_promise *list_photos(struct thrum_loop *loop, struct album *album)
{
	return thrum_promise_label(thrum_sleep(loop, 2 + album->photos), "list photos");
}

static struct thrum_promise *sync_album(struct thrum_loop *loop, struct album *album)
{
	struct thrum_promise *done = thrum_promise_bind(list_photos(loop, album), upload_next,
		album, NULL);

	return thrum_promise_should_resolve(thrum_promise_label(done, "sync"));
}

int main(int argc, char **argv)
{
	struct thrum_promise *syncs[ALBUMS];
	struct thrum_loop *loop;
	int result;

	refresh_first = argc < 2 || strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uplinks = thrum_semaphore_create(loop, "uplinks", 3);
	for (int i = 0; i < ALBUMS; i++)
		syncs[i] = sync_album(loop, &albums[i]);
	result = thrum_promise_run(thrum_promise_join(loop, syncs, ALBUMS));
	thrum_stop();
	fprintf(stderr, "%d photos, %d conflicts\n", uploaded, conflicts);
	thrum_semaphore_destroy(uplinks);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
