/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=login
 *   truth: The import queues all its "transcode clip" jobs at once in libuv's thread pool and fills its four threads for some 400 ms. The slowest login waited nearly all of its time because its "hash password" job was queued behind them; the import should run at most two at a time, as the healthy one does.
 *   culprit: transcode clip|import album
 *   victim: hash password|login
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A photo server: logins, which need a slow hash, and imports, which transcode clips. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define LOGINS 24
#define CLIPS 8

static struct thrum_loop *loop;
static struct thrum_semaphore *transcoders;
static bool limited;
static bool stopped;
static unsigned logins, clips, thumbnails;

/* ---- Work in the pool ---- */

static int hash_password(void *data, struct thrum_value *result)
{
	unsigned hash = 5381;

	for (int i = 0; i < 300000; i++)
		hash = hash * 33 ^ i;
	*result = thrum_value_int(hash & 0xffff);
	return 0;
}

static int transcode(void *data, struct thrum_value *result)
{
	struct timespec time = {.tv_nsec = 200000000}; /* the encoder's chip does it */

	nanosleep(&time, NULL);
	return 0;
}

static int thumbnail(void *data, struct thrum_value *result)
{
	usleep(1500);
	return 0;
}

/* ---- Logins ---- */

static struct thrum_promise *check_hash(struct thrum_loop *loop, void *value, void *data)
{
	logins++;
	return thrum_sleep(loop, 1); /* stores the session */
}

static struct thrum_promise *login(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *hash;

	hash = thrum_work(loop, "hash password", hash_password, NULL, NULL);
	return thrum_promise_label(thrum_promise_bind(hash, check_hash, NULL, NULL), "login");
}

/* ---- Imports ---- */

static struct thrum_promise *transcode_clip(struct thrum_loop *loop, void *data)
{
	clips++;
	return thrum_work(loop, "transcode clip", transcode, NULL, NULL);
}

static struct thrum_promise *import_album(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *all[CLIPS];

	for (int i = 0; i < CLIPS; i++)
		if (limited)
			all[i] = thrum_semaphore_with(transcoders, transcode_clip, NULL, NULL);
		else
			all[i] = transcode_clip(loop, NULL);
	return thrum_promise_label(thrum_promise_join(loop, all, CLIPS), "import album");
}

/* ---- The rest ---- */

static struct thrum_promise *next_thumbnail(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *promise;

	if (stopped)
		return thrum_promise_return(loop, thrum_value_none());
	thumbnails++;
	promise = thrum_promise_bind(thrum_work(loop, "thumbnail", thumbnail, NULL, NULL),
		next_thumbnail, NULL, NULL);
	return promise;
}

static struct thrum_promise *pause_a_while(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *visit(int number)
{
	struct thrum_promise *parts[3];
	size_t count = 0;

	if (number == LOGINS)
		return thrum_promise_return(loop, thrum_value_none());
	parts[count++] = login(loop, NULL);
	if (number == 5)
		parts[count++] = import_album(loop, NULL);
	parts[count++] = thrum_promise_bind(thrum_sleep(loop, 20), pause_a_while,
		(void *)(intptr_t)(number + 1), NULL);
	return thrum_promise_join(loop, parts, count);
}

static struct thrum_promise *pause_a_while(struct thrum_loop *loop, void *value, void *data)
{
	return visit((int)thrum_int(data));
}

int main(int argc, char **argv)
{
	struct thrum_promise *visitors, *pictures;
	int result;

	if (argc != 2)
		return 2;
	alarm(5);
	limited = strcmp(argv[1], "broken") != 0;
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	transcoders = thrum_semaphore_create(loop, "transcoders", 2);
	pictures = next_thumbnail(loop, NULL, NULL);
	visitors = thrum_promise_label(visit(0), "visitors");
	result = thrum_promise_run(thrum_promise_should_resolve(visitors));
	stopped = true;
	result |= thrum_promise_run(pictures);
	printf("%u logins, %u clips, %u thumbnails\n", logins, clips, thumbnails);
	thrum_stop();
	thrum_semaphore_destroy(transcoders);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
