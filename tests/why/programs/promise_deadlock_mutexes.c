/* SPDX-License-Identifier: ISC */
/*
 * Two transfers lock two accounts: each locks its own first, and the other once the amount is read.
 * In the twin the second transfer begins when the first is done.
 */
#include "promises.h"

static struct thrum_mutex *account[2];
static struct thrum_resolver *amount[2];

static struct thrum_promise *move(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *lock_second(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return thrum_mutex_with(data, move, NULL, NULL);
}

static struct thrum_promise *lock_first(struct thrum_loop *loop, void *data)
{
	intptr_t i = (intptr_t)data;
	struct thrum_promise *read = thrum_promise_wait(loop, name("read amount"), &amount[i]);

	return thrum_promise_bind(read, lock_second, account[1 - i], NULL);
}

static struct thrum_promise *transfer(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_mutex_with(account[(intptr_t)data], lock_first, data, NULL);
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();

	account[0] = thrum_mutex_create(loop, name("account of ann"));
	account[1] = thrum_mutex_create(loop, name("account of bob"));
	at(10);
	thrum_promise_async(loop, name("pay"), transfer, (void *)0, NULL);
	at(11);
	if (!broken)
		thrum_resolver_resolve(amount[0], thrum_value_none());
	thrum_promise_async(loop, name("refund"), transfer, (void *)1, NULL);
	at(12);
	if (broken)
		thrum_resolver_resolve(amount[0], thrum_value_none());
	at(13);
	thrum_resolver_resolve(amount[1], thrum_value_none());
	beat_until(2000);
	if (broken)
		killed();
	thrum_mutex_destroy(account[0]);
	thrum_mutex_destroy(account[1]);
	end_loop(loop);
}
