/* SPDX-License-Identifier: ISC */
/*
 * All subscribers are told when the server is ready; a later subscriber waits for ever. In the twin
 * all are told again.
 */
#include "promises.h"

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_condition *ready = thrum_condition_create(loop, name("server ready"));
	struct thrum_promise *late;

	at(50);
	thrum_condition_broadcast(ready, thrum_value_none());
	at(60);
	late = thrum_promise_label(thrum_condition_wait(ready, NULL), name("late subscriber"));
	late = thrum_promise_should_resolve(late);
	at(90);
	if (!broken)
		thrum_condition_broadcast(ready, thrum_value_none());
	beat_until(2000);
	if (broken)
		killed();
	thrum_promise_unref(late);
	thrum_condition_destroy(ready);
	end_loop(loop);
}
