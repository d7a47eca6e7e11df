/* SPDX-License-Identifier: ISC */
/*
 * A synchronisation begins, its promise is dropped, and nobody learns of its failure. The twin has
 * a handler.
 */
#include "promises.h"

static struct thrum_promise *show(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	(void)failure, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_resolver *resolver;
	struct thrum_promise *sync, *shown = NULL;

	at(10);
	sync = thrum_promise_task(loop, name("sync contacts"), &resolver);
	if (!broken) {
		shown = thrum_promise_catch(thrum_promise_ref(sync), show, NULL, NULL);
		thrum_promise_label(shown, name("show error"));
	}
	thrum_promise_unref(sync);
	at(70);
	thrum_resolver_fail(resolver, -EACCES, "token expired");
	beat_until(1000);
	thrum_promise_unref(shown);
	end_loop(loop);
}
