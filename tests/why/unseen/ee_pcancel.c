/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The upload is cancelled; its cleanup, roll_back, waits until the session's lock "session" is free, but the
 *     upload itself holds that lock until its cleanup has ended (store_parts runs within thrum_mutex_with). So the
 *     cleanup waits for itself, and "next upload" waits for the lock, too.
 *   culprit: roll.back|store_parts|upload 2
 *   victim: next upload|session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Uploads that may be cancelled, one at a time in a session, on promises. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static bool broken;
static struct thrum_mutex *session;
static struct thrum_condition *stop;
static int rolled_back, ticks;
static uv_timer_t heartbeat;

static void on_heartbeat(uv_timer_t *timer)
{
	(void)timer;
	ticks++;
}

static struct thrum_promise *forget_parts(struct thrum_loop *loop, void *data)
{
	(void)data;
	rolled_back++;
	return thrum_sleep(loop, 5);
}

static struct thrum_promise *roll_back(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *undo;

	if (!rolled_back && broken && data)
		undo = thrum_mutex_with(session, forget_parts, data, NULL);
	else
		undo = forget_parts(loop, data);
	return thrum_promise_label(undo, "roll back");
}

static struct thrum_promise *store_parts(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *either[2], *parts;

	if (!data)
		return thrum_sleep(loop, 30);
	either[0] = thrum_sleep(loop, 400);
	either[1] = thrum_condition_wait(stop, NULL);
	parts = thrum_promise_pick(loop, either, 2);
	return thrum_promise_finalize(parts, roll_back, data, NULL);
}

static struct thrum_promise *upload(struct thrum_loop *loop, intptr_t number, bool may_stop)
{
	struct thrum_promise *promise = thrum_mutex_with(session, store_parts,
		may_stop ? (void *)number : NULL, NULL);

	(void)loop;
	return thrum_promise_labelf(promise, number == 3 ? "next upload" : "upload %d",
		(int)number);
}

static struct thrum_promise *give_up(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	thrum_condition_broadcast(stop, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[4], *end;
	struct thrum_loop *loop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	session = thrum_mutex_create(loop, "session");
	stop = thrum_condition_create(loop, "stop");
	uv_timer_init(uv_default_loop(), &heartbeat);
	uv_timer_start(&heartbeat, on_heartbeat, 30, 30);
	all[0] = upload(loop, 1, false);
	all[1] = upload(loop, 2, true);
	all[2] = upload(loop, 3, false);
	all[3] = thrum_promise_bind(thrum_sleep(loop, 90), give_up, NULL, NULL);
	end = thrum_promise_join(loop, all, 4);
	thrum_promise_label(end, "all uploads");
	if (thrum_promise_run(thrum_promise_should_resolve(end)))
		return 1;
	printf("%d rolled back\n", rolled_back);
	return 0;
}
