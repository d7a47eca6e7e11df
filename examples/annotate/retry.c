/* SPDX-License-Identifier: ISC */
/* Promises that try again. With the bug, all tries fail. */
#include "annotate.h"
#include <thrum/promise.h>
#include <uv.h>

static int tries;

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	if (broken || ++tries < 4)
		return thrum_promise_fail(loop, -ECONNREFUSED, NULL);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *ask(struct thrum_loop *loop)
{
	return thrum_promise_bind(thrum_promise_pause(loop), answer, NULL, NULL);
}

static struct thrum_promise *try_again(struct thrum_loop *, const struct thrum_failure *, void *);

static struct thrum_promise *attempt(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *try = thrum_promise_label(ask(loop), "try");

	return thrum_promise_catch(try, try_again, NULL, NULL);
}

static struct thrum_promise *try_again(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 10), attempt, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *upload;
	struct thrum_loop *loop;
	int result;

	begin(argc);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	upload = thrum_promise_label(attempt(loop, NULL, NULL), "upload");
	result = thrum_promise_run(thrum_promise_should_resolve(upload));
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	uv_loop_close(uv_default_loop());
	return result ? 1 : 0;
}
