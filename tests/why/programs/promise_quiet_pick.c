/* SPDX-License-Identifier: ISC */
/*
 * Nothing is wrong: a question has a deadline, which pick cancels when the answer comes. One try
 * fails, and a handler makes another. A condition is signalled for which nobody ever waits.
 */
#include "promises.h"

static struct thrum_resolver *second;

static struct thrum_promise *again(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	(void)failure, (void)data;
	return thrum_promise_task(loop, name("second attempt"), &second);
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_condition *changed = thrum_condition_create(loop, name("changed"));
	struct thrum_resolver *first, *expire;
	struct thrum_promise *either[2], *answer;

	at(5);
	either[0] = thrum_promise_catch(thrum_promise_task(loop, name("first attempt"), &first),
		again, NULL, NULL);
	either[1] = thrum_promise_task(loop, name("deadline"), &expire);
	answer = thrum_promise_pick(loop, either, 2);
	thrum_promise_should_resolve(thrum_promise_label(answer, name("answer")));
	at(20);
	thrum_resolver_fail(first, -ECONNRESET, NULL);
	at(40);
	thrum_resolver_resolve(second, thrum_value_none());
	thrum_condition_broadcast(changed, thrum_value_none());
	at(50);
	thrum_resolver_resolve(expire, thrum_value_none());
	thrum_promise_unref(answer);
	beat_until(3000);
	killed();
}
