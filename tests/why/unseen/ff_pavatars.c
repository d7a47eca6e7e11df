/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="load avatar"
 *   truth: The user attaches four files from a slow share, and each is hashed in libuv's pool, which has four threads. The
 *     avatar that is loaded next waits a quarter of a second for a thread of the pool, though its own file is read in
 *     two milliseconds.
 *   culprit: hash attachment|hash_attachment|attach_files
 *   victim: load avatar|read picture
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A chat client. Avatars of the room's members are loaded one after the other, while the user writes a message. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <time.h>
#include <uv.h>

#define MEMBERS 9
#define FILES 4

static struct thrum_semaphore *hashers;
static int loaded, hashed;

static void block_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* ---- Attachments ---- */

/* Runs in the pool. */
static int hash_attachment(void *data, struct thrum_value *result)
{
	unsigned hash = 17;

	(void)data;
	for (int part = 0; part < 10; part++) {
		block_ms(28); /* reads a part from the share */
		hash = hash * 31 + (unsigned)part;
	}
	*result = thrum_value_int((intptr_t)(hash & 0xffff));
	return 0;
}

static struct thrum_promise *hash_file(struct thrum_loop *loop, void *data)
{
	return thrum_work(loop, "hash attachment", hash_attachment, data, NULL);
}

static void on_hashed(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	hashed++;
}

static void attach_files(void)
{
	for (int i = 0; i < FILES; i++) {
		struct thrum_promise *hash = thrum_semaphore_with(hashers, hash_file, NULL, NULL);

		thrum_promise_on_success(hash, on_hashed, NULL, NULL);
	}
}

/* ---- Avatars ---- */

static int read_picture(void *data, struct thrum_value *result)
{
	(void)data;
	block_ms(2);
	*result = thrum_value_int(48 * 48);
	return 0;
}

static struct thrum_value scale(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)data;
	loaded++;
	return thrum_value_int(thrum_int(value) / 4);
}

static struct thrum_promise *load_avatar(struct thrum_loop *loop)
{
	struct thrum_promise *picture = thrum_work(loop, "read picture", read_picture, NULL, NULL);

	return thrum_promise_label(thrum_promise_map(picture, scale, NULL, NULL), "load avatar");
}

static struct thrum_promise *load_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (loaded == MEMBERS)
		return thrum_promise_return(loop, thrum_value_none());
	if (loaded == 5 && hashed == 0)
		attach_files();
	return thrum_promise_bind(load_avatar(loop), load_next, data, NULL);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *room;
	struct thrum_loop *loop;
	int error;

	if (thrum_loop_create(uv, &loop))
		return 1;
	hashers = thrum_semaphore_create(loop, "hashers", broken ? FILES : 2);
	room = thrum_promise_label(load_next(loop, NULL, NULL), "open room");
	error = thrum_promise_run(thrum_promise_should_resolve(room));
	uv_run(uv, UV_RUN_DEFAULT); /* until the attachments are hashed */
	printf("%d avatars, %d attachments\n", loaded, hashed);
	thrum_stop();
	thrum_semaphore_destroy(hashers);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return error != 0;
}
