/* SPDX-License-Identifier: ISC */
/*
 * An upload ends when its handler learns of the last chunk. The handler is removed from the list
 * before, and its resolver is never used. The twin removes it after the last chunk.
 */
#include "promises.h"

static struct thrum_promise *finish(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_resolver *handler;
	struct thrum_promise *chunk = thrum_promise_task(loop, name("last chunk"), &handler);
	struct thrum_promise *upload = thrum_promise_bind(chunk, finish, NULL, NULL);

	thrum_promise_should_resolve(thrum_promise_label(upload, name("upload")));
	at(30);
	thrum_log("the handler is taken off the list");
	at(31);
	thrum_log("the last chunk is here");
	if (!broken)
		thrum_resolver_resolve(handler, thrum_value_none());
	beat_until(3000);
	if (broken)
		killed();
	thrum_promise_unref(upload);
	end_loop(loop);
}
