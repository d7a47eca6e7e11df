/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Bob's post locks the room's history; its append times out, and since the unlock is a bind and no finalize, the failed chain skips it. The failure is reported and bob's post ends, but the lock stays held; carol's and dave's posts wait for ever.
 *   culprit: bob
 *   victim: carol|dave
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct post {
	const char *user;
	int arrives, storage;
};

static struct post posts[] = {
	{"alice", 10, 12},
	{"erin", 20, 5},
	{"bob", 50, 400},
	{"carol", 90, 6},
	{"dave", 130, 6},
};
static struct thrum_mutex *history;
static bool broken;
static int beats;
static uv_timer_t heartbeat;

static struct thrum_promise *append(struct thrum_loop *loop, void *value, void *data)
{
	struct post *post = data;
	struct thrum_promise *stored = thrum_promise_labelf(thrum_sleep(loop, post->storage),
		"append from %s", post->user);

	(void)value;
	return thrum_timeout(stored, 60);
}

static struct thrum_promise *unlock(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	thrum_mutex_unlock(history);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *unlock_always(struct thrum_loop *loop, void *data)
{
	return unlock(loop, NULL, data);
}

static struct thrum_promise *report(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct post *post = data;

	fprintf(stderr, "%s: not stored: %s\n", post->user, failure->message);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_post(struct thrum_loop *loop, void *value, void *data)
{
	struct post *post = data;
	struct thrum_promise *p = thrum_promise_labelf(thrum_mutex_lock(history), "history for %s",
		post->user);

	(void)loop;
	(void)value;
	p = thrum_promise_bind(p, append, post, NULL);
	p = broken ? thrum_promise_bind(p, unlock, post, NULL)
		   : thrum_promise_finalize(p, unlock_always, post, NULL);
	p = thrum_promise_catch(p, report, post, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(p, "post from %s", post->user));
}

static void on_heartbeat(uv_timer_t *timer)
{
	(void)timer;
	beats++;
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[5];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &heartbeat);
	uv_timer_start(&heartbeat, on_heartbeat, 25, 25);
	history = thrum_mutex_create(loop, "history #general");
	for (int i = 0; i < 5; i++)
		all[i] = thrum_promise_bind(thrum_sleep(loop, posts[i].arrives), on_post, &posts[i],
			NULL);
	error = thrum_promise_run(thrum_promise_label(thrum_promise_join(loop, all, 5), "session"));
	printf("done: %s\n", thrum_promise_error_message(error));
	thrum_stop();
	uv_close((uv_handle_t *)&heartbeat, NULL);
	thrum_mutex_destroy(history);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
