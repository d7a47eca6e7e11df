/* SPDX-License-Identifier: ISC */
/*
 * A hash is computed in the thread pool, whose thread hangs in a system call. In the twin the call
 * returns.
 */
#include "promises.h"

static int has_begun;

static int compute(void *data, struct thrum_value *result)
{
	(void)data, (void)result;
	__atomic_store_n(&has_begun, 1, __ATOMIC_RELEASE); /* for story() */
	while (broken)
		pause();
	return 0;
}

static struct thrum_promise *compare(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_promise *hash, *login;

	at(10);
	hash = thrum_work(loop, name("hash password"), compute, NULL, NULL);
	while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE)) /* from compute() */
		usleep(100);
	login = thrum_promise_bind(thrum_promise_ref(hash), compare, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(login, name("login")));
	while (!broken && thrum_promise_state(login) == THRUM_PROMISE_PENDING)
		uv_run(thrum_loop_uv(loop), UV_RUN_ONCE);
	beat_until(4000);
	if (broken)
		killed();
	thrum_promise_unref(hash);
	thrum_promise_unref(login);
	end_loop(loop);
}
