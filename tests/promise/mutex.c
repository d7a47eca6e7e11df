/* SPDX-License-Identifier: ISC */
/* Mutexes: the order of waiters, handing over, and `with`, also without memory. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_order(void **state)
{
	struct thrum_promise *lock[4];
	struct thrum_mutex *mutex;
	struct world world;

	world_init(&world);
	mutex = thrum_mutex_create(world.loop, "door");
	thrum_mutex_unlock(mutex);
	assert_false(thrum_mutex_is_locked(mutex));
	for (int i = 0; i < 4; i++) {
		lock[i] = thrum_mutex_lock(mutex);
		assert_int_equal(code_of(lock[i]), i == 0 ? 0 : 1);
	}
	thrum_promise_cancel(lock[1]);
	thrum_mutex_unlock(mutex);
	assert_int_equal(code_of(lock[1]), THRUM_CANCELED);
	assert_int_equal(code_of(lock[2]), 0);
	assert_true(thrum_mutex_is_locked(mutex));
	thrum_mutex_destroy(mutex);
	assert_int_equal(code_of(lock[3]), THRUM_BROKEN);
	for (int i = 0; i < 4; i++)
		thrum_promise_unref(lock[i]);
	world_finish(&world);
}

/* A waiter that fails because the mutex is destroyed tries again, for ever if it could. */
static struct thrum_promise *try_again(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	return thrum_mutex_lock(data);
}

static void test_destroyed(void **state)
{
	struct thrum_promise *again;
	struct thrum_mutex *mutex;
	struct world world;

	world_init(&world);
	mutex = thrum_mutex_create(world.loop, NULL);
	thrum_promise_unref(thrum_mutex_lock(mutex));
	again = thrum_promise_catch(thrum_mutex_lock(mutex), try_again, mutex, NULL);
	thrum_mutex_destroy(mutex);
	assert_int_equal(code_of(again), THRUM_BROKEN);
	thrum_promise_unref(again);
	world_finish(&world);
}

/* The section under the lock. It begins, and ends when the test says so. */
struct section {
	struct world *world;
	struct thrum_mutex *mutex;
	struct thrum_resolver *resolver;
	int begun, destroyed;
};

static struct thrum_promise *begin(struct thrum_loop *loop, void *data)
{
	struct section *section = data;

	assert_true(thrum_mutex_is_locked(section->mutex));
	section->begun++;
	return thrum_promise_task(loop, "section", &section->resolver);
}

static void destroyed(void *data)
{
	((struct section *)data)->destroyed++;
}

static void test_with(void **state)
{
	struct section first, second, third;
	struct thrum_promise *with[3];
	struct world world;

	world_init(&world);
	first = second = third = (struct section){&world, thrum_mutex_create(world.loop, NULL),
		NULL, 0, 0};
	with[0] = thrum_mutex_with(first.mutex, begin, &first, destroyed);
	with[1] = thrum_mutex_with(first.mutex, begin, &second, destroyed);
	with[2] = thrum_mutex_with(first.mutex, begin, &third, destroyed);
	assert_int_equal(first.begun, 1);
	assert_int_equal(second.begun, 0);
	/* A waiter leaves the queue; the holder is cancelled and unlocks. */
	thrum_promise_cancel(with[1]);
	assert_int_equal(code_of(with[1]), THRUM_CANCELED);
	thrum_promise_cancel(with[0]);
	assert_int_equal(code_of(with[0]), THRUM_CANCELED);
	thrum_resolver_drop(first.resolver);
	assert_int_equal(second.begun, 0);
	assert_int_equal(third.begun, 1);
	thrum_resolver_resolve(third.resolver, token_value(&world, 3));
	assert_int_equal(outcome(with[2]), 3);
	assert_false(thrum_mutex_is_locked(first.mutex));
	assert_int_equal(first.destroyed + second.destroyed + third.destroyed, 3);
	for (int i = 0; i < 3; i++)
		thrum_promise_unref(with[i]);
	thrum_mutex_destroy(first.mutex);
	world_finish(&world);
}

/* Memory fails at each allocation in turn, or there is room for only so many promises; the mutex is
 * free or locked. It never stays locked for ever, and the section never runs without it. */
static bool try_memory(size_t fail, size_t promises, bool is_locked)
{
	struct section section;
	struct thrum_promise *with;
	struct world world;
	struct hoard kept;
	bool enough;

	world_init(&world);
	section = (struct section){&world, thrum_mutex_create(world.loop, NULL), NULL, 0, 0};
	if (is_locked)
		thrum_promise_unref(thrum_mutex_lock(section.mutex));
	hoard(&kept, &world, promises);
	world.fail_from = world.fail_to = world.allocations + fail;
	with = thrum_mutex_with(section.mutex, begin, &section, destroyed);
	if (is_locked)
		thrum_mutex_unlock(section.mutex);
	if (section.begun)
		thrum_resolver_resolve(section.resolver, thrum_value_none());
	enough = code_of(with) == 0;
	if (!enough)
		assert_int_equal(code_of(with), -ENOMEM);
	assert_false(thrum_mutex_is_locked(section.mutex));
	assert_int_equal(section.destroyed, 1);
	thrum_promise_unref(with);
	hoard_free(&kept, &world);
	thrum_mutex_destroy(section.mutex);
	world_finish(&world);
	return enough;
}

static void test_memory(void **state)
{
	size_t fail;

	for (int is_locked = 0; is_locked < 2; is_locked++) {
		for (fail = 1; !try_memory(fail, 10, is_locked); fail++)
			continue;
		assert_in_range(fail, 2, 20);
		for (fail = 0; !try_memory(1000, fail, is_locked); fail++)
			continue;
		assert_in_range(fail, 3, 10);
	}
}

static void test_trace(void **state)
{
	struct thrum_promise *lock[2];
	struct thrum_mutex *mutex;
	thrum_task waiter, task;
	struct world world;
	struct seen seen;

	record();
	world_init(&world);
	mutex = thrum_mutex_create(world.loop, "door");
	lock[0] = thrum_mutex_lock(mutex);
	lock[1] = thrum_mutex_lock(mutex);
	waiter = thrum_promise_task_id(lock[1]);
	thrum_mutex_unlock(mutex);
	thrum_mutex_unlock(mutex);
	thrum_promise_unref(lock[0]);
	thrum_promise_unref(lock[1]);
	thrum_mutex_destroy(mutex);
	world_finish(&world);
	seen = seen_all();
	task = seen_task(&seen, THRUM_KIND_LOCK, "door")->id;
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LOCK, 0, task), 2);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LOCK, waiter, task), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_UNLOCK, 0, task), 2);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, waiter, task), 1);
	assert_int_equal(seen_id(&seen, waiter)->end, THRUM_EVENT_RESOLVE);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_with),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
