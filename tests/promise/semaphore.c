/* SPDX-License-Identifier: ISC */
/* Semaphores: places are counted and given out in order. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_places(void **state)
{
	struct thrum_semaphore *semaphore;
	struct thrum_promise *place[5];
	struct world world;

	world_init(&world);
	semaphore = thrum_semaphore_create(world.loop, "tables", 2);
	for (int i = 0; i < 5; i++) {
		place[i] = thrum_semaphore_acquire(semaphore);
		assert_int_equal(code_of(place[i]), i < 2 ? 0 : 1);
	}
	assert_int_equal(thrum_semaphore_free(semaphore), 0);
	thrum_promise_cancel(place[2]);
	thrum_semaphore_release(semaphore);
	assert_int_equal(code_of(place[2]), THRUM_CANCELED);
	assert_int_equal(code_of(place[3]), 0);
	assert_int_equal(code_of(place[4]), 1);
	assert_int_equal(thrum_semaphore_free(semaphore), 0);
	thrum_semaphore_release(semaphore);
	thrum_semaphore_release(semaphore);
	assert_int_equal(code_of(place[4]), 0);
	assert_int_equal(thrum_semaphore_free(semaphore), 1);
	thrum_semaphore_destroy(semaphore);
	for (int i = 0; i < 5; i++)
		thrum_promise_unref(place[i]);

	semaphore = thrum_semaphore_create(world.loop, NULL, 0);
	place[0] = thrum_semaphore_acquire(semaphore);
	thrum_semaphore_destroy(semaphore);
	assert_int_equal(code_of(place[0]), THRUM_BROKEN);
	thrum_promise_unref(place[0]);
	world_finish(&world);
}

/* Many promises go through two places: never more than two at once, and all of them end. */
struct crowd {
	struct world world;
	struct thrum_semaphore *semaphore;
	int inside, most, through;
};

static struct thrum_promise *leave(struct thrum_loop *loop, void *value, void *data)
{
	struct crowd *crowd = data;

	crowd->inside--;
	crowd->through++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *enter(struct thrum_loop *loop, void *data)
{
	struct crowd *crowd = data;

	if (++crowd->inside > crowd->most)
		crowd->most = crowd->inside;
	return thrum_promise_bind(thrum_promise_pause(loop), leave, crowd, NULL);
}

static void test_with(void **state)
{
	struct thrum_promise *all[50];
	struct crowd crowd = {.inside = 0};

	world_init(&crowd.world);
	crowd.semaphore = thrum_semaphore_create(crowd.world.loop, NULL, 2);
	for (int i = 0; i < 50; i++)
		all[i] = thrum_semaphore_with(crowd.semaphore, enter, &crowd, NULL);
	assert_int_equal(settle(thrum_promise_join(crowd.world.loop, all, 50)), 0);
	assert_int_equal(crowd.most, 2);
	assert_int_equal(crowd.through, 50);
	assert_int_equal(thrum_semaphore_free(crowd.semaphore), 2);
	thrum_semaphore_destroy(crowd.semaphore);
	world_finish(&crowd.world);
}

static void test_trace(void **state)
{
	struct thrum_semaphore *semaphore;
	struct thrum_promise *wait;
	thrum_task waiter, task;
	struct world world;
	struct seen seen;

	record();
	world_init(&world);
	semaphore = thrum_semaphore_create(world.loop, "tables", 0);
	wait = thrum_semaphore_acquire(semaphore);
	waiter = thrum_promise_task_id(wait);
	thrum_semaphore_release(semaphore);
	thrum_promise_unref(wait);
	thrum_semaphore_destroy(semaphore);
	world_finish(&world);
	seen = seen_all();
	task = seen_task(&seen, THRUM_KIND_SEMAPHORE, "tables")->id;
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, waiter, task), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LOCK, waiter, task), 1);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_with),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
