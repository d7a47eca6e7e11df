/* SPDX-License-Identifier: ISC */
/*
 * Two modules import each other: each is loaded when the other is. In the twin only one imports.
 */
#include "promises.h"

static struct thrum_promise *loaded(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_resolver *load_chat, *load_users;
	struct thrum_promise *chat = thrum_promise_wait(loop, name("chat"), &load_chat);
	struct thrum_promise *users = thrum_promise_wait(loop, name("users"), &load_users);
	struct thrum_promise *import;

	thrum_promise_should_resolve(chat);
	at(5);
	import = thrum_promise_bind(thrum_promise_ref(users), loaded, NULL, NULL);
	thrum_resolver_follow(load_chat, thrum_promise_label(import, name("chat imports users")));
	at(6);
	if (broken) {
		import = thrum_promise_bind(thrum_promise_ref(chat), loaded, NULL, NULL);
		thrum_resolver_follow(load_users,
			thrum_promise_label(import, name("users imports chat")));
	} else {
		thrum_resolver_resolve(load_users, thrum_value_none());
	}
	beat_until(1000);
	if (broken)
		killed();
	thrum_promise_unref(chat);
	thrum_promise_unref(users);
	end_loop(loop);
}
