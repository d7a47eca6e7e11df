/* SPDX-License-Identifier: ISC */
/* Mailboxes hold one value at a time and serve in order, whichever side comes first. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_values(void **state)
{
	struct thrum_promise *put[3], *take[3];
	struct thrum_value value;
	struct thrum_mvar *mvar;
	struct world world;

	world_init(&world);
	mvar = thrum_mvar_create(world.loop, "box");
	assert_true(thrum_mvar_is_empty(mvar));
	assert_false(thrum_mvar_try_take(mvar, &value));
	for (int i = 0; i < 3; i++)
		put[i] = thrum_mvar_put(mvar, token_value(&world, i + 1));
	assert_int_equal(code_of(put[0]), 0);
	assert_int_equal(code_of(put[1]), 1);
	value = token_value(&world, 9);
	assert_false(thrum_mvar_try_put(mvar, value));
	thrum_value_destroy(value);
	thrum_promise_cancel(put[1]);
	assert_int_equal(world.alive, 2);
	for (int i = 0; i < 3; i++)
		take[i] = thrum_mvar_take(mvar);
	assert_int_equal(outcome(take[0]), 1);
	assert_int_equal(code_of(put[2]), 0);
	assert_int_equal(outcome(take[1]), 3);
	assert_int_equal(code_of(take[2]), 1);
	assert_true(thrum_mvar_is_empty(mvar));
	for (int i = 0; i < 3; i++) {
		thrum_promise_unref(put[i]);
		thrum_promise_unref(take[i]);
	}

	/* An earlier one still waits, although nobody holds its promise, and comes before this
	 * one. */
	take[0] = thrum_mvar_take(mvar);
	assert_true(thrum_mvar_try_put(mvar, token_value(&world, 5)));
	assert_int_equal(code_of(take[0]), 1);
	assert_true(thrum_mvar_try_put(mvar, token_value(&world, 6)));
	assert_int_equal(outcome(take[0]), 6);
	assert_true(thrum_mvar_is_empty(mvar));
	thrum_promise_unref(take[0]);
	thrum_mvar_destroy(mvar);
	world_finish(&world);
}

static void test_canceled_taker(void **state)
{
	struct thrum_promise *take[2];
	struct thrum_value value;
	struct thrum_mvar *mvar;
	struct world world;

	world_init(&world);
	mvar = thrum_mvar_create(world.loop, NULL);
	for (int i = 0; i < 2; i++)
		take[i] = thrum_mvar_take(mvar);
	thrum_promise_cancel(take[0]);
	thrum_promise_unref(thrum_mvar_put(mvar, token_value(&world, 1)));
	assert_int_equal(outcome(take[1]), 1);
	thrum_promise_unref(take[0]);
	thrum_promise_unref(take[1]);
	assert_true(thrum_mvar_try_put(mvar, token_value(&world, 2)));
	assert_true(thrum_mvar_try_take(mvar, &value));
	assert_int_equal(((struct token *)value.data)->number, 2);
	thrum_value_destroy(value);
	thrum_mvar_destroy(mvar);
	world_finish(&world);
}

/* A taker that fails because the mailbox is destroyed tries again. It finds one value, and then
 * nothing. */
static struct thrum_promise *take_twice(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct thrum_mvar *mvar = data;

	thrum_promise_unref(thrum_mvar_take(mvar));
	return thrum_mvar_take(mvar);
}

static void test_destroyed(void **state)
{
	struct thrum_promise *wait[2];
	struct thrum_mvar *mvar;
	struct world world;

	world_init(&world);
	mvar = thrum_mvar_create(world.loop, NULL);
	wait[0] = thrum_mvar_take(mvar);
	thrum_mvar_destroy(mvar);
	assert_int_equal(code_of(wait[0]), THRUM_BROKEN);
	mvar = thrum_mvar_create(world.loop, NULL);
	thrum_promise_unref(thrum_mvar_put(mvar, token_value(&world, 1)));
	wait[1] = thrum_promise_catch(thrum_mvar_put(mvar, token_value(&world, 2)), take_twice,
		mvar, NULL);
	thrum_mvar_destroy(mvar);
	assert_int_equal(code_of(wait[1]), THRUM_BROKEN);
	assert_int_equal(world.alive, 0);
	thrum_promise_unref(wait[0]);
	thrum_promise_unref(wait[1]);
	assert_null(thrum_mvar_put(NULL, token_value(&world, 3)));
	world_finish(&world);
}

static void test_trace(void **state)
{
	struct thrum_promise *take;
	struct thrum_mvar *mvar;
	thrum_task taker, task;
	struct world world;
	struct seen seen;

	record();
	world_init(&world);
	mvar = thrum_mvar_create(world.loop, "box");
	take = thrum_mvar_take(mvar);
	taker = thrum_promise_task_id(take);
	thrum_promise_unref(thrum_mvar_put(mvar, thrum_value_int(1)));
	thrum_promise_unref(take);
	thrum_mvar_destroy(mvar);
	world_finish(&world);
	seen = seen_all();
	task = seen_task(&seen, THRUM_KIND_MAILBOX, "box")->id;
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, taker, task), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_RESOLVE, 0, taker), 1);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_canceled_taker),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
