/* SPDX-License-Identifier: ISC */
/* Switches: promises and hooks that were added end with the switch. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A hook that counts its begin, and ends when the test says so. */
struct hook {
	int *clock, begun, destroyed;
	struct thrum_resolver *resolver;
};

static struct thrum_promise *begin(struct thrum_loop *loop, void *data)
{
	struct hook *hook = data;

	hook->begun = ++*hook->clock;
	return thrum_promise_wait(loop, NULL, &hook->resolver);
}

static void destroyed(void *data)
{
	((struct hook *)data)->destroyed++;
}

static void test_off(void **state)
{
	struct thrum_resolver *patient, *ended;
	struct thrum_promise *off, *again, *child[3];
	struct hook hook[2];
	struct thrum_switch *scope;
	struct world world;
	int clock = 0;

	world_init(&world);
	scope = thrum_switch_create(world.loop, "scope");
	child[0] = thrum_promise_task(world.loop, NULL, &ended);
	child[1] = thrum_promise_task(world.loop, NULL, &patient);
	child[2] = thrum_promise_no_cancel(thrum_promise_ref(child[1]));
	for (int i = 0; i < 2; i++) {
		hook[i] = (struct hook){&clock, 0, 0, NULL};
		thrum_switch_add_hook(scope, begin, &hook[i], destroyed);
	}
	thrum_switch_add(scope, thrum_promise_ref(child[0]));
	thrum_switch_add(scope, thrum_promise_ref(child[2]));
	thrum_resolver_drop(ended);
	assert_true(thrum_switch_is_on(scope));

	off = thrum_switch_off(scope);
	assert_false(thrum_switch_is_on(scope));
	assert_int_equal(hook[1].begun, 1);
	assert_int_equal(hook[0].begun, 2);
	assert_int_equal(hook[0].destroyed + hook[1].destroyed, 2);
	assert_int_equal(code_of(child[2]), 1);
	thrum_resolver_resolve(hook[0].resolver, thrum_value_none());
	thrum_resolver_fail(hook[1].resolver, 5, "hook");
	assert_int_equal(code_of(off), 1);
	again = thrum_switch_off(scope);
	thrum_resolver_resolve(patient, thrum_value_none());
	assert_int_equal(code_of(off), 5);
	assert_int_equal(code_of(again), 5);

	for (int i = 0; i < 3; i++)
		thrum_promise_unref(child[i]);
	thrum_promise_unref(off);
	thrum_promise_unref(again);
	thrum_switch_destroy(scope);
	world_finish(&world);
}

/* When the switch is off, hooks begin and children are cancelled at once. */
static void test_late(void **state)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *child;
	struct thrum_switch *scope;
	struct world world;
	int clock = 0;
	struct hook hook = {&clock, 0, 0, NULL};

	world_init(&world);
	scope = thrum_switch_create(world.loop, NULL);
	assert_int_equal(settle(thrum_switch_off(scope)), 0);
	thrum_switch_add_hook(scope, begin, &hook, destroyed);
	assert_int_equal(hook.begun, 1);
	assert_int_equal(hook.destroyed, 1);
	thrum_resolver_drop(hook.resolver);
	assert_int_equal(thrum_loop_unhandled(world.loop), 1);
	child = thrum_promise_task(world.loop, NULL, &resolver);
	thrum_switch_add(scope, thrum_promise_ref(child));
	assert_int_equal(code_of(child), THRUM_CANCELED);
	thrum_resolver_drop(resolver);
	thrum_promise_unref(child);
	thrum_switch_destroy(scope);
	world_finish(&world);
}

/* Children that end are forgotten. The others are cancelled, also by destroying the switch. */
static void test_children(void **state)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *child;
	struct thrum_switch *scope;
	struct world world;
	size_t blocks;

	world_init(&world);
	scope = thrum_switch_create(world.loop, NULL);
	child = thrum_promise_task(world.loop, NULL, &resolver);
	blocks = world.blocks;
	for (int i = 0; i < 1000; i++) {
		thrum_switch_add(scope, child);
		thrum_resolver_resolve(resolver, token_value(&world, i));
		child = thrum_promise_task(world.loop, NULL, &resolver);
	}
	assert_int_equal(world.blocks, blocks);
	assert_int_equal(world.alive, 0);
	thrum_switch_add(scope, thrum_promise_ref(child));
	thrum_switch_destroy(scope);
	assert_int_equal(code_of(child), THRUM_CANCELED);
	thrum_promise_unref(child);
	thrum_resolver_drop(resolver);
	world_finish(&world);
}

/* A body that adds a hook and a child, and ends when the test says so, or fails. */
struct body {
	struct world *world;
	struct hook hook;
	struct thrum_switch *scope;
	struct thrum_promise *child;
	struct thrum_resolver *resolver, *child_resolver;
	int clock, destroyed;
};

static struct thrum_promise *run(struct thrum_loop *loop, struct thrum_switch *scope, void *data)
{
	struct body *body = data;

	body->scope = scope;
	body->hook = (struct hook){&body->clock, 0, 0, NULL};
	thrum_switch_add_hook(scope, begin, &body->hook, destroyed);
	body->child = thrum_promise_task(loop, NULL, &body->child_resolver);
	thrum_switch_add(scope, thrum_promise_ref(body->child));
	return thrum_promise_task(loop, NULL, &body->resolver);
}

static void destroy_body(void *data)
{
	((struct body *)data)->destroyed++;
}

/* Returns the outcome of a body that ends with `end` (0: cancelled), its hook with `hook`. */
static int run_with(int end, int hook)
{
	struct thrum_promise *whole;
	struct world world;
	struct body body = {.world = &world};
	int result;

	world_init(&world);
	whole = thrum_switch_with(world.loop, "with", run, &body, destroy_body);
	assert_int_equal(body.destroyed, 1);
	assert_int_equal(code_of(whole), 1);
	if (end > 0)
		thrum_resolver_resolve(body.resolver, token_value(&world, end));
	else if (end < 0)
		thrum_resolver_fail(body.resolver, end, NULL);
	else
		thrum_promise_cancel(whole);
	if (end == 0)
		thrum_resolver_drop(body.resolver);
	assert_int_equal(code_of(body.child), THRUM_CANCELED);
	assert_int_equal(body.hook.begun, 1);
	assert_int_equal(code_of(whole), 1);
	assert_false(thrum_switch_is_on(body.scope));
	if (hook == 0)
		thrum_resolver_resolve(body.hook.resolver, thrum_value_none());
	else
		thrum_resolver_fail(body.hook.resolver, hook, NULL);
	thrum_resolver_drop(body.child_resolver);
	thrum_promise_unref(body.child);
	result = outcome(whole);
	thrum_promise_unref(whole);
	world_finish(&world);
	return result;
}

static void test_with(void **state)
{
	assert_int_equal(run_with(7, 0), 7);
	assert_int_equal(run_with(7, -EIO), -EIO);
	assert_int_equal(run_with(-EBUSY, 0), -EBUSY);
	assert_int_equal(run_with(-EBUSY, -EIO), -EBUSY);
	assert_int_equal(run_with(0, 0), THRUM_CANCELED);
}

/* A loop that is destroyed in the middle of everything frees all of it and begins nothing. */
static void test_loop_ends(void **state)
{
	struct thrum_promise *whole;
	struct world world;
	struct body body = {.world = &world};

	world_init(&world);
	whole = thrum_switch_with(world.loop, "with", run, &body, NULL);
	assert_int_equal(code_of(whole), 1);
	world_finish(&world);
	assert_int_equal(body.hook.begun, 0);
	assert_int_equal(body.hook.destroyed, 1);
}

/* Memory fails at each allocation in turn, or there is room for only so many promises. */
static bool try_memory(size_t fail, size_t promises)
{
	struct thrum_promise *whole;
	struct world world;
	struct body body = {.world = &world};
	struct hoard kept;
	bool begun, enough;

	world_init(&world);
	hoard(&kept, &world, promises);
	world.fail_from = world.fail_to = fail + world.allocations;
	whole = thrum_switch_with(world.loop, NULL, run, &body, destroy_body);
	begun = body.resolver != NULL;
	if (begun) {
		thrum_resolver_resolve(body.resolver, thrum_value_none());
		assert_int_equal(thrum_promise_state(body.child), THRUM_PROMISE_FAILED);
		assert_int_equal(body.hook.begun, 1);
		thrum_resolver_resolve(body.hook.resolver, thrum_value_none());
		thrum_resolver_drop(body.child_resolver);
		thrum_promise_unref(body.child);
	}
	enough = code_of(whole) == 0;
	assert_true(enough || code_of(whole) == -ENOMEM);
	assert_int_equal(body.destroyed, 1);
	thrum_promise_unref(whole);
	hoard_free(&kept, &world);
	enough = enough && (fail == 1000 || world.allocations < world.fail_from);
	world_finish(&world);
	return enough;
}

static void test_memory(void **state)
{
	size_t fail = 1, promises = 0;

	while (!try_memory(fail, 10))
		fail++;
	assert_in_range(fail, 4, 40);
	while (!try_memory(1000, promises))
		promises++;
	assert_in_range(promises, 4, 10);
}

static void test_trace(void **state)
{
	const struct seen_task *task;
	struct world world;
	struct seen seen;

	record();
	world_init(&world);
	thrum_switch_destroy(thrum_switch_create(world.loop, "scope"));
	world_finish(&world);
	seen = seen_all();
	task = seen_task(&seen, THRUM_KIND_SWITCH, "scope");
	assert_int_equal(task->end, THRUM_EVENT_RESOLVE);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_children),
		cmocka_unit_test(test_with),
		cmocka_unit_test(test_loop_ends),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
