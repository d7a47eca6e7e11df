/* SPDX-License-Identifier: ISC */
/*
 * Each message gets a promise of its acknowledgement. No acknowledgement is ever found in the
 * table, so the resolvers stay there. The twin finds each 30 ms later.
 */
#include "promises.h"

static void story(void)
{
	enum {
		COUNT = 300,
		LATER = 3
	};
	static struct thrum_resolver *table[COUNT];
	struct thrum_loop *loop = make_loop();
	unsigned found = 0;

	for (unsigned i = 0; i < COUNT; i++) {
		at(10 + 10 * i);
		thrum_promise_unref(thrum_promise_task(loop, name("ack"), &table[i]));
		if (!broken && i >= LATER)
			thrum_resolver_resolve(table[found++], thrum_value_none());
	}
	at(3100);
	if (broken)
		killed();
	while (found < COUNT)
		thrum_resolver_resolve(table[found++], thrum_value_none());
	end_loop(loop);
}
