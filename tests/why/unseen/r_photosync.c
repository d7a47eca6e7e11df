/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The access token expires in the middle: the upload of photo 3 is refused, and only after a "refresh token",
 *     which the good run never needs and which takes 160 ms, it is tried again. So "sync photos" takes longer.
 *   culprit: refresh token
 *   victim: sync photos|upload
 */
/* Uploads an album photo by photo; the token of the account may have to be refreshed. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PHOTOS 6
#define UNAUTHORIZED 401

static bool expires;
static int uploaded, token_uses;

static struct thrum_promise *upload_album(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *check_status(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (expires && ++token_uses == 3) {
		expires = false;
		return thrum_promise_fail(loop, UNAUTHORIZED, "token expired");
	}
	uploaded++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *put_photo(struct thrum_loop *loop)
{
	struct thrum_promise *sent = thrum_sleep(loop, 18);

	return thrum_promise_labelf(thrum_promise_bind(sent, check_status, NULL, NULL),
		"upload photo %d", uploaded + 1);
}

static struct thrum_promise *put_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return put_photo(loop);
}

static struct thrum_value store_token(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	token_uses = 0;
	return thrum_value_none();
}

static struct thrum_promise *on_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct thrum_promise *token;

	(void)data;
	if (failure->code != UNAUTHORIZED)
		return thrum_promise_fail_again(loop, failure);
	token = thrum_promise_map(thrum_sleep(loop, 160), store_token, NULL, NULL);
	thrum_promise_label(token, "refresh token");
	return thrum_promise_bind(token, put_again, NULL, NULL);
}

static struct thrum_promise *upload_album(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *photo;

	(void)value;
	(void)data;
	if (uploaded == PHOTOS)
		return thrum_promise_return(loop, thrum_value_none());
	photo = thrum_promise_catch(put_photo(loop), on_refused, NULL, NULL);
	return thrum_promise_bind(photo, upload_album, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *list, *sync;
	uv_loop_t uv;
	int result;

	expires = argc > 1 && !strcmp(argv[1], "bad");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	list = thrum_promise_label(thrum_sleep(loop, 25), "list album");
	sync = thrum_promise_bind(list, upload_album, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(sync, "sync photos"));
	result = thrum_promise_run(sync);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	printf("%d photos, result %d\n", uploaded, result);
	return result != 0;
}
