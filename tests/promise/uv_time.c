/* SPDX-License-Identifier: ISC */
/* Sleeping and timeouts, and the recording of a loop that waits. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_sleep(void **state)
{
	struct thrum_promise *sleep[3];
	struct world world;
	uint64_t start;

	world_init(&world);
	start = uv_hrtime();
	sleep[0] = thrum_sleep(world.loop, 20);
	sleep[1] = thrum_sleep(world.loop, 0);
	sleep[2] = thrum_sleep(world.loop, UINT64_MAX);
	assert_int_equal(settle(thrum_promise_ref(sleep[1])), 0);
	assert_int_equal(code_of(sleep[0]), 1);
	assert_int_equal(settle(thrum_promise_ref(sleep[0])), 0);
	assert_true(uv_hrtime() - start >= 19000000);
	thrum_promise_cancel(sleep[2]);
	assert_int_equal(settle(thrum_promise_ref(sleep[2])), THRUM_CANCELED);
	for (int i = 0; i < 3; i++)
		thrum_promise_unref(sleep[i]);
	go_round(&world, 2);
	assert_int_equal(uv_loop_alive(&world.uv), 0);
	world_finish(&world);
}

/* The time counts from the call, not from libuv's last look at the clock. */
static void test_late(void **state)
{
	struct world world;
	uint64_t start;

	world_init(&world);
	start = uv_hrtime();
	while (uv_hrtime() - start < 30000000)
		continue;
	start = uv_hrtime();
	assert_int_equal(settle(thrum_sleep(world.loop, 20)), 0);
	assert_true(uv_hrtime() - start >= 19000000);
	world_finish(&world);
}

static void test_timeout(void **state)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *task, *timeout;
	struct world world;

	world_init(&world);
	task = thrum_promise_task(world.loop, NULL, &resolver);
	timeout = thrum_timeout(thrum_promise_ref(task), 5);
	assert_int_equal(settle(thrum_promise_ref(timeout)), -ETIMEDOUT);
	assert_int_equal(code_of(task), THRUM_CANCELED);
	assert_non_null(thrum_promise_failure(timeout)->file);
	thrum_promise_unref(task);
	thrum_promise_unref(timeout);
	thrum_resolver_drop(resolver);

	/* The promise ends in time; the timer is stopped too. */
	task = thrum_promise_task(world.loop, NULL, &resolver);
	timeout = thrum_timeout(task, 1000000);
	thrum_resolver_resolve(resolver, token_value(&world, 3));
	assert_int_equal(outcome(timeout), 3);
	thrum_promise_unref(timeout);
	go_round(&world, 2);
	assert_int_equal(uv_loop_alive(&world.uv), 0);

	task = thrum_promise_task(world.loop, NULL, &resolver);
	timeout = thrum_timeout(thrum_promise_ref(task), 1000000);
	thrum_promise_cancel(timeout);
	assert_int_equal(code_of(timeout), THRUM_CANCELED);
	assert_int_equal(code_of(task), THRUM_CANCELED);
	thrum_promise_unref(task);
	thrum_promise_unref(timeout);
	thrum_resolver_drop(resolver);
	timeout = thrum_timeout(thrum_promise_return(world.loop, token_value(&world, 4)), 0);
	assert_int_equal(outcome(timeout), 4);
	thrum_promise_unref(timeout);
	world_finish(&world);
}

/* Loops that are destroyed in the middle of a sleep free everything. */
static void test_loop_ends(void **state)
{
	struct thrum_promise *sleep;
	struct world world;

	world_init(&world);
	sleep = thrum_timeout(thrum_sleep(world.loop, 100000), 200000);
	assert_int_equal(code_of(sleep), 1);
	world_finish(&world);
}

static void test_run(void **state)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *never;
	struct world world;

	world_init(&world);
	never = thrum_promise_wait(world.loop, NULL, &resolver);
	assert_int_equal(thrum_promise_run(thrum_promise_ref(never)), -EDEADLK);
	thrum_resolver_drop(resolver);
	assert_int_equal(thrum_promise_run(never), THRUM_BROKEN);
	world_finish(&world);
}

/* ---- The trace ------------------------------------------------------------------------------- */

static void see(struct thrum_loop *loop, void *value, void *data)
{
	*(thrum_task *)data = thrum_task_current();
}

static size_t index_of(const struct seen *seen, int type, uint64_t task, uint64_t other)
{
	for (size_t i = 0; i < seen->events; i++)
		if (seen->event[i].type == type && (!task || seen->event[i].task == task) &&
			(!other || seen->event[i].other == other))
			return i;
	fail_msg("no event of type %d", type);
	return 0;
}

static void test_trace(void **state)
{
	const struct seen_task *sleep, *timeout;
	struct thrum_promise *promise;
	thrum_task callback = 0;
	struct world world;
	struct seen seen;
	size_t resolved;

	record();
	world_init(&world);
	promise = thrum_timeout(thrum_sleep(world.loop, 20), 3000);
	thrum_promise_on_success(thrum_promise_ref(promise), see, &callback, NULL);
	assert_int_equal(settle(promise), 0);
	world_finish(&world);
	seen = seen_all();
	sleep = seen_task(&seen, THRUM_KIND_TIMER, "sleep 20 ms");
	timeout = seen_task(&seen, THRUM_KIND_TIMER, "timeout 3000 ms");
	assert_non_null(strstr(sleep->file, "uv_time.c"));
	assert_int_equal(sleep->end, THRUM_EVENT_RESOLVE);
	assert_int_equal(timeout->end, THRUM_EVENT_CANCEL);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_DUE, sleep->id, 0), 1);
	assert_int_equal(seen.event[index_of(&seen, THRUM_EVENT_DUE, sleep->id, 0)].value,
		20000000);
	assert_int_equal(seen_id(&seen, callback)->kind, THRUM_KIND_ON_SUCCESS);

	/* The loop waits for work, and no longer does so before the task of the timer runs and
	 * resolves itself. */
	resolved = index_of(&seen, THRUM_EVENT_RESOLVE, sleep->id, sleep->id);
	assert_true(seen_count(&seen, THRUM_EVENT_SUSPEND, 0, 0) >= 1);
	assert_string_equal(seen.event[index_of(&seen, THRUM_EVENT_SUSPEND, 0, 0)].text,
		"wait for work");
	assert_true(index_of(&seen, THRUM_EVENT_SUSPEND, 0, 0) < resolved);
	for (size_t i = 0, suspended = 0; i < seen.events; i++) {
		if (seen.event[i].type == THRUM_EVENT_SUSPEND)
			suspended++;
		else if (seen.event[i].type == THRUM_EVENT_RESUME)
			suspended--;
		else if (i == resolved || seen.event[i].type == THRUM_EVENT_SWITCH)
			assert_int_equal(suspended, 0);
	}
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_loop_ends),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
