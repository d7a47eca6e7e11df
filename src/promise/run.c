/* SPDX-License-Identifier: ISC */
/* Running a loop until a promise has ended. */
#include "promise/promise.h"

/* Nothing is left that could end the promise, for which the caller waits. The caller goes on; the loop
 * doesn't. */
static void record_deadlock(struct thrum_promise *promise)
{
	thrum_promise_should_resolve(promise);
	thrum_suspend(THRUM_DEADLOCKED);
	thrum_resume();
}

int thrum_promise_run(struct thrum_promise *promise)
{
	uv_loop_t *uv = thrum_loop_uv(thrum__promise_loop_of(promise));
	const struct thrum_failure *failure;
	int code = -EDEADLK;

	if (!promise)
		return -ENOMEM;
	thrum__promise_loop_check(thrum__promise_loop_of(promise));
	while (thrum_promise_state(promise) == THRUM_PROMISE_PENDING && uv_run(uv, UV_RUN_ONCE))
		continue;
	failure = thrum_promise_failure(promise);
	if (thrum_promise_state(promise) == THRUM_PROMISE_PENDING)
		record_deadlock(promise);
	else
		code = failure ? failure->code : 0;
	thrum_promise_unref(promise);
	return code;
}
