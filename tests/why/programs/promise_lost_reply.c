/* SPDX-License-Identifier: ISC */
/*
 * Like lost_reply.c, with promises: a query waits for the reply only once its request is sent, but
 * the reply comes before. The twin begins to wait earlier.
 */
#include "promises.h"

static struct thrum_condition *replied;

static struct thrum_promise *wait_for_reply(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value, (void)data;
	return thrum_promise_label(thrum_condition_wait(replied, NULL), name("wait for reply"));
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_resolver *resolver;
	struct thrum_promise *sent, *query, *reply = NULL;

	replied = thrum_condition_create(loop, name("reply"));
	at(2);
	sent = thrum_promise_task(loop, name("send"), &resolver);
	if (!broken)
		reply = wait_for_reply(loop, NULL, NULL);
	query = broken ? thrum_promise_bind(sent, wait_for_reply, NULL, NULL)
		       : thrum_promise_both(sent, reply);
	query = thrum_promise_should_resolve(thrum_promise_label(query, name("query")));
	at(3);
	thrum_condition_signal(replied, thrum_value_int(2));
	at(5);
	thrum_resolver_resolve(resolver, thrum_value_none());
	beat_until(5000);
	if (broken)
		killed();
	thrum_promise_unref(query);
	thrum_condition_destroy(replied);
	end_loop(loop);
}
