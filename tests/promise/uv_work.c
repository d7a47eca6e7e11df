/* SPDX-License-Identifier: ISC */
/* Work in the thread pool. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define MANY 200
#define THREADS 2

/* A job that runs in another thread until the test lets it end. */
struct job {
	struct world *world;
	uv_sem_t *wait;
	int number, code, destroyed;
	_Atomic bool begun;
	thrum_task ran;
};

static int compute(void *data, struct thrum_value *result)
{
	struct job *job = data;

	atomic_store(&job->begun, true);
	if (job->wait)
		uv_sem_wait(job->wait);
	job->ran = thrum_task_current();
	*result = thrum_value_int(job->number * 2);
	return job->code;
}

static void destroy(void *data)
{
	((struct job *)data)->destroyed++;
}

static void test_results(void **state)
{
	struct thrum_promise *promise[MANY];
	static struct job job[MANY];
	struct world world;

	world_init(&world);
	for (int i = 0; i < MANY; i++) {
		job[i] = (struct job){&world, NULL, i, i == 7 ? 9 : 0, 0, false, 0};
		promise[i] = thrum_work(world.loop, "double", compute, &job[i], destroy);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(settle(thrum_promise_ref(promise[i])), i == 7 ? 9 : 0);
		if (i != 7)
			assert_int_equal(thrum_int(thrum_promise_value(promise[i])), i * 2);
		assert_int_equal(job[i].destroyed, 1);
		thrum_promise_unref(promise[i]);
	}
	world_finish(&world);
}

static int give(void *data, struct thrum_value *result)
{
	*result = thrum_value_own(data, token_destroy);
	return 0;
}

static int give_and_fail(void *data, struct thrum_value *result)
{
	(void)give(data, result);
	return -EIO;
}

/* A job that has begun goes on, and its result is dropped. One that hasn't begun is not run. */
static void test_cancel(void **state)
{
	struct thrum_promise *busy[8], *given;
	struct job job[8];
	struct world world;
	uv_sem_t wait;
	int begun = 0;

	world_init(&world);
	assert_int_equal(uv_sem_init(&wait, 0), 0);
	for (int i = 0; i < 8; i++) {
		job[i] = (struct job){&world, &wait, i, 0, 0, false, 0};
		busy[i] = thrum_work(world.loop, NULL, compute, &job[i], destroy);
	}
	while (!atomic_load(&job[0].begun))
		continue;
	for (int i = 0; i < 8; i++) {
		thrum_promise_cancel(busy[i]);
		assert_int_equal(code_of(busy[i]), THRUM_CANCELED);
		assert_int_equal(job[i].destroyed, 0);
		thrum_promise_unref(busy[i]);
	}
	for (int i = 0; i < 8; i++)
		uv_sem_post(&wait);
	uv_run(&world.uv, UV_RUN_DEFAULT);
	for (int i = 0; i < 8; i++) {
		begun += atomic_load(&job[i].begun);
		assert_int_equal(job[i].destroyed, 1);
	}
	assert_in_range(begun, 1, THREADS);
	uv_sem_destroy(&wait);

	assert_int_equal(settle(thrum_work(world.loop, NULL, give_and_fail, token_new(&world, 1),
				 NULL)),
		-EIO);
	assert_int_equal(world.alive, 0);
	given = settled(thrum_work(world.loop, NULL, give, token_new(&world, 2), NULL));
	assert_int_equal(outcome(given), 2);
	thrum_promise_unref(given);
	world_finish(&world);
}

/* The loop is destroyed before the job ends. */
static void test_loop_ends(void **state)
{
	struct job job = {.number = 1};
	struct world world;

	world_init(&world);
	job.world = &world;
	thrum_promise_unref(thrum_work(world.loop, NULL, compute, &job, destroy));
	thrum_promise_unref(thrum_work(world.loop, NULL, give, token_new(&world, 2), NULL));
	world_finish(&world);
	assert_int_equal(job.destroyed, 1);
}

static void test_trace(void **state)
{
	const struct seen_task *task;
	struct job job = {.number = 1};
	struct world world;
	struct seen seen;
	size_t here = 0, there = 0;
	unsigned home = 0;

	record();
	world_init(&world);
	job.world = &world;
	assert_int_equal(settle(thrum_work(world.loop, "heavy", compute, &job, NULL)), 0);
	world_finish(&world);
	seen = seen_all();
	task = seen_task(&seen, THRUM_KIND_REQUEST, "heavy");
	assert_int_equal(job.ran, task->id);
	for (size_t i = 0; i < seen.events; i++)
		if (seen.event[i].type == THRUM_EVENT_CREATE && seen.event[i].other == task->id)
			home = seen.event[i].lane;
	for (size_t i = 0; i < seen.events; i++) {
		if (seen.event[i].type != THRUM_EVENT_SWITCH || seen.event[i].task != task->id)
			continue;
		here += seen.event[i].lane == home;
		there += seen.event[i].lane != home;
	}
	/* It runs in the pool, and ends in the loop's thread. */
	assert_int_equal(there, 1);
	assert_int_equal(here, 1);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_loop_ends),
		cmocka_unit_test(test_trace),
	};

	setenv("UV_THREADPOOL_SIZE", "2", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
