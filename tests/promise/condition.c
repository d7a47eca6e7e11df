/* SPDX-License-Identifier: ISC */
/* Conditions: the waiters that a signal reaches, their order, and the mutex meanwhile. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_order(void **state)
{
	struct world world;
	struct thrum_condition *condition;
	struct thrum_promise *waits[3];

	world_init(&world);
	condition = thrum_condition_create(world.loop, "tea");
	assert_int_equal(thrum_condition_signal(condition, token_value(&world, 9)), 0);
	assert_int_equal(world.alive, 0);
	for (int i = 0; i < 3; i++)
		waits[i] = thrum_condition_wait(condition, NULL);
	thrum_promise_cancel(waits[1]);
	assert_int_equal(code_of(waits[1]), THRUM_CANCELED);
	assert_int_equal(thrum_condition_signal(condition, token_value(&world, 1)), 1);
	assert_int_equal(outcome(waits[0]), 1);
	assert_int_equal(code_of(waits[2]), 1);
	assert_int_equal(thrum_condition_signal(condition, token_value(&world, 2)), 1);
	assert_int_equal(outcome(waits[2]), 2);
	assert_int_equal(thrum_condition_signal(condition, token_value(&world, 3)), 0);
	for (int i = 0; i < 3; i++)
		thrum_promise_unref(waits[i]);
	thrum_condition_destroy(condition);
	world_finish(&world);
}

static void test_broadcast(void **state)
{
	struct world world;
	struct thrum_condition *condition;
	struct thrum_promise *waits[4];

	world_init(&world);
	condition = thrum_condition_create(world.loop, NULL);
	assert_int_equal(thrum_condition_broadcast(condition, token_value(&world, 9)), 0);
	for (int i = 0; i < 3; i++)
		waits[i] = thrum_condition_wait(condition, NULL);
	assert_int_equal(thrum_condition_broadcast(condition, token_value(&world, 5)), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(outcome(waits[i]), 5);
		assert_int_equal(world.alive, 1);
		thrum_promise_unref(waits[i]);
	}
	assert_int_equal(world.alive, 0);
	for (int i = 0; i < 2; i++)
		waits[i] = thrum_condition_wait(condition, NULL);
	assert_int_equal(thrum_condition_broadcast_fail(condition, 7, "no %s", "tea"), 2);
	waits[2] = thrum_condition_wait(condition, NULL);
	assert_int_equal(thrum_condition_broadcast_fail(condition, -EIO, NULL), 1);
	waits[3] = thrum_condition_wait(condition, NULL);
	thrum_condition_destroy(condition);
	assert_int_equal(code_of(waits[0]), 7);
	assert_string_equal(thrum_promise_failure(waits[1])->message, "no tea");
	assert_true(thrum_promise_failure(waits[1])->line > 0);
	assert_int_equal(code_of(waits[2]), -EIO);
	assert_int_equal(code_of(waits[3]), THRUM_BROKEN);
	for (int i = 0; i < 4; i++)
		thrum_promise_unref(waits[i]);
	world_finish(&world);
}

/* A waiter that is woken waits again, cancels its neighbour, and destroys the condition. */
struct again {
	struct thrum_condition *condition;
	struct thrum_promise *neighbour, *later;
};

static void wake(struct thrum_loop *loop, void *value, void *data)
{
	struct again *again = data;

	again->later = thrum_condition_wait(again->condition, NULL);
	thrum_promise_cancel(again->neighbour);
}

static void destroy_it(struct thrum_loop *loop, void *value, void *data)
{
	thrum_condition_destroy(data);
}

static void test_callbacks(void **state)
{
	struct world world;
	struct again again;

	world_init(&world);
	again.condition = thrum_condition_create(world.loop, NULL);
	thrum_promise_on_success(thrum_condition_wait(again.condition, NULL), wake, &again, NULL);
	again.neighbour = thrum_condition_wait(again.condition, NULL);
	assert_int_equal(thrum_condition_broadcast(again.condition, thrum_value_none()), 1);
	assert_int_equal(code_of(again.neighbour), THRUM_CANCELED);
	assert_int_equal(code_of(again.later), 1);
	thrum_promise_unref(again.neighbour);
	thrum_promise_on_success(again.later, destroy_it, again.condition, NULL);
	assert_int_equal(thrum_condition_signal(again.condition, thrum_value_none()), 1);
	world_finish(&world);
}

static void test_mutex(void **state)
{
	struct world world;
	struct thrum_condition *condition;
	struct thrum_promise *wait, *other;
	struct thrum_mutex *mutex;

	world_init(&world);
	condition = thrum_condition_create(world.loop, NULL);
	mutex = thrum_mutex_create(world.loop, NULL);
	thrum_promise_unref(thrum_mutex_lock(mutex));
	wait = thrum_condition_wait(condition, mutex);
	assert_false(thrum_mutex_is_locked(mutex));
	assert_int_equal(thrum_condition_signal(condition, token_value(&world, 3)), 1);
	assert_int_equal(outcome(wait), 3);
	assert_true(thrum_mutex_is_locked(mutex));
	thrum_promise_unref(wait);

	/* Somebody else holds the mutex when the signal comes; cancelling has no effect then. */
	wait = thrum_condition_wait(condition, mutex);
	other = thrum_mutex_lock(mutex);
	assert_int_equal(code_of(other), 0);
	assert_int_equal(thrum_condition_signal(condition, token_value(&world, 4)), 1);
	thrum_promise_cancel(wait);
	assert_int_equal(code_of(wait), 1);
	thrum_mutex_unlock(mutex);
	assert_int_equal(outcome(wait), 4);
	assert_true(thrum_mutex_is_locked(mutex));
	thrum_promise_unref(wait);
	thrum_promise_unref(other);

	/* A cancelled waiter holds the mutex again too. */
	wait = thrum_condition_wait(condition, mutex);
	assert_false(thrum_mutex_is_locked(mutex));
	thrum_promise_cancel(wait);
	assert_int_equal(code_of(wait), THRUM_CANCELED);
	assert_true(thrum_mutex_is_locked(mutex));
	thrum_promise_unref(wait);
	thrum_condition_destroy(condition);
	thrum_mutex_destroy(mutex);
	world_finish(&world);
}

/* Memory fails at each allocation in turn, and there is room for only so many promises. Nothing
 * leaks, and the mutex is held afterwards. */
static bool try_memory(size_t fail, size_t promises)
{
	struct world world;
	struct thrum_condition *condition;
	struct thrum_promise *wait;
	struct thrum_mutex *mutex;
	struct hoard kept;
	bool enough, waiting;

	world_init(&world);
	condition = thrum_condition_create(world.loop, NULL);
	mutex = thrum_mutex_create(world.loop, NULL);
	thrum_promise_unref(thrum_mutex_lock(mutex));
	hoard(&kept, &world, promises);
	world.fail_from = world.fail_to = world.allocations + fail;
	wait = thrum_condition_wait(condition, mutex);
	assert_int_equal(thrum_mutex_is_locked(mutex), code_of(wait) != 1);
	waiting = code_of(wait) == 1;
	assert_int_equal(thrum_condition_signal(condition, thrum_value_none()), waiting);
	assert_true(thrum_mutex_is_locked(mutex));
	enough = code_of(wait) == 0;
	if (!enough)
		assert_int_equal(code_of(wait), -ENOMEM);
	thrum_promise_unref(wait);
	hoard_free(&kept, &world);
	thrum_condition_destroy(condition);
	thrum_mutex_destroy(mutex);
	world_finish(&world);
	return enough;
}

static void test_memory(void **state)
{
	size_t fail = 1, promises = 0;

	while (!try_memory(fail, 10))
		fail++;
	assert_in_range(fail, 3, 20);
	while (!try_memory(1000, promises))
		promises++;
	assert_int_equal(promises, 3);
}

static void test_trace(void **state)
{
	const struct seen_task *condition_task, *waiter = NULL;
	struct thrum_condition *condition;
	struct thrum_promise *wait;
	struct world world;
	struct seen seen;
	thrum_task id;

	record();
	world_init(&world);
	condition = thrum_condition_create(world.loop, "arp-reply");
	(void)thrum_condition_signal(condition, thrum_value_none());
	wait = thrum_condition_wait(condition, NULL);
	id = thrum_promise_task_id(wait);
	(void)thrum_condition_signal(condition, thrum_value_none());
	(void)thrum_condition_broadcast(condition, thrum_value_none());
	thrum_promise_unref(wait);
	thrum_condition_destroy(condition);
	world_finish(&world);

	seen = seen_all();
	condition_task = seen_task(&seen, THRUM_KIND_CONDITION, "arp-reply");
	assert_int_equal(condition_task->end, THRUM_EVENT_RESOLVE);
	waiter = seen_id(&seen, id);
	assert_non_null(waiter);
	assert_int_equal(waiter->kind, THRUM_KIND_WAIT);
	assert_int_equal(waiter->end, THRUM_EVENT_RESOLVE);
	assert_non_null(waiter->file);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, id, condition_task->id), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_READ, id, condition_task->id), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_SIGNAL, 0, condition_task->id), 3);
	for (size_t i = 0, nth = 0; i < seen.events; i++)
		if (seen.event[i].type == THRUM_EVENT_SIGNAL)
			assert_int_equal(seen.event[i].value, nth++ == 1);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_broadcast),
		cmocka_unit_test(test_callbacks),
		cmocka_unit_test(test_mutex),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
