/* SPDX-License-Identifier: ISC */
/*
 * A reload waits for a signal that another process should send but never sends. In the twin it
 * does.
 */
#include "promises.h"

static struct thrum_promise *reload(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_promise *told, *whole;

	at(10);
	told = thrum_promise_label(thrum_signal_wait(loop, SIGUSR1), name("go from parent"));
	whole = thrum_promise_bind(told, reload, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(whole, name("reload")));
	at(100);
	if (!broken)
		raise(SIGUSR1);
	for (int i = 0; i < 4; i++)
		uv_run(thrum_loop_uv(loop), UV_RUN_NOWAIT);
	beat_until(4000);
	if (broken)
		killed();
	thrum_promise_unref(whole);
	end_loop(loop);
}
