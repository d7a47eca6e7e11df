/* SPDX-License-Identifier: ISC */
/* The cost of promises in stack and memory, and their behaviour without memory. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MANY 1000000
#else
#define MANY 10000000
#endif

/* ---- Stack and growth ------------------------------------------------------------------------ */

struct count {
	struct world world;
	size_t left, most;
	char *stack, *deepest;
};

static void look_at_stack(struct count *count)
{
	/* Not the address of a variable: AddressSanitizer keeps variables elsewhere. */
	char *here = __builtin_frame_address(0);

	if (!count->deepest || here < count->deepest)
		count->deepest = here;
	if (thrum_loop_promises(count->world.loop) > count->most)
		count->most = thrum_loop_promises(count->world.loop);
}

static void check_bounds(struct count *count, size_t promises)
{
	assert_true(count->stack - count->deepest < 256 * 1024);
	assert_true(count->most <= promises);
	assert_int_equal(thrum_loop_promises(count->world.loop), 0);
}

/* The promise of every bind has ended, so only the depth bounds the stack. */
static struct thrum_promise *count_down(struct thrum_loop *loop, void *value, void *data)
{
	struct count *count = data;

	look_at_stack(count);
	if (count->left == 0)
		return thrum_promise_return(loop, token_value(&count->world, 1));
	count->left--;
	return thrum_promise_bind(thrum_promise_return(loop, thrum_value_none()), count_down, count,
		NULL);
}

static void test_ended(void **state)
{
	struct count count = {.left = MANY};
	struct thrum_promise *p;

	count.stack = __builtin_frame_address(0);
	world_init(&count.world);
	p = count_down(count.world.loop, NULL, &count);
	assert_int_equal(outcome(p), 1);
	thrum_promise_unref(p);
	check_bounds(&count, 300);
	world_finish(&count.world);
}

/* Every bind waits and becomes the next one. Memory stays constant, also while the first one is
 * held. */
struct steps {
	struct count count;
	struct thrum_resolver *resolver;
};

static struct thrum_promise *step(struct thrum_loop *loop, void *value, void *data)
{
	struct steps *steps = data;
	struct thrum_promise *p;

	look_at_stack(&steps->count);
	if (steps->count.left-- == 0)
		return thrum_promise_return(loop, token_value(&steps->count.world, 2));
	p = thrum_promise_task(loop, NULL, &steps->resolver);
	return thrum_promise_bind(p, step, steps, NULL);
}

static void test_becoming(void **state)
{
	struct steps steps = {.count.left = MANY / 4};
	struct thrum_promise *p;
	size_t allocations;

	steps.count.stack = __builtin_frame_address(0);
	world_init(&steps.count.world);
	p = step(steps.count.world.loop, NULL, &steps);
	allocations = steps.count.world.allocations;
	while (steps.count.left != SIZE_MAX)
		thrum_resolver_resolve(steps.resolver, thrum_value_none());
	assert_int_equal(outcome(p), 2);
	assert_int_equal(steps.count.world.allocations, allocations);
	thrum_promise_unref(p);
	check_bounds(&steps.count, 8);
	world_finish(&steps.count.world);
}

/* A long chain that waits is ended from its beginning, and freed when its end goes. */
static struct thrum_promise *go_on(struct thrum_loop *loop, void *value, void *data)
{
	look_at_stack(data);
	((struct count *)data)->left++;
	return thrum_promise_return(loop, thrum_value_static(value));
}

static void test_chain(void **state)
{
	for (int ends = 0; ends < 2; ends++) {
		struct count count = {.left = 0};
		struct thrum_resolver *resolver = NULL;
		struct thrum_promise *first, *p;

		count.stack = __builtin_frame_address(0);
		world_init(&count.world);
		first = ends ? thrum_promise_task(count.world.loop, NULL, &resolver)
			     : thrum_promise_choose(count.world.loop, NULL, 0);
		look_at_stack(&count);
		p = thrum_promise_ref(first);
		for (int i = 0; i < 1000000; i++)
			p = thrum_promise_bind(p, go_on, &count, NULL);
		thrum_resolver_resolve(resolver, thrum_value_int(5));
		thrum_promise_unref(first);
		assert_int_equal(thrum_int(thrum_promise_value(p)), ends ? 5 : 0);
		thrum_promise_unref(p);
		assert_int_equal(count.left, ends ? 1000000 : 0);
		check_bounds(&count, SIZE_MAX);
		world_finish(&count.world);
	}
}

/* A value that owns a promise with a value that owns … is freed without recursion. */
static void unref_it(void *data)
{
	thrum_promise_unref(data);
}

static void test_nested_values(void **state)
{
	struct count count = {.left = 0};
	struct thrum_promise *p;

	world_init(&count.world);
	p = thrum_promise_return(count.world.loop, token_value(&count.world, 1));
	for (int i = 0; i < 1000000; i++)
		p = thrum_promise_return(count.world.loop, thrum_value_own(p, unref_it));
	thrum_promise_unref(p);
	assert_int_equal(thrum_loop_promises(count.world.loop), 0);
	world_finish(&count.world);
}

/* Many binds return the same pending promise; none of this takes quadratic time. */
static struct thrum_promise *give(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_ref(data);
}

static void on_value(struct thrum_loop *loop, void *value, void *data)
{
	++*(size_t *)data;
}

static void test_shared(void **state)
{
	struct world world;
	struct thrum_resolver *start, *finish;
	struct thrum_promise *p, *shared;
	size_t ran = 0;

	world_init(&world);
	p = thrum_promise_wait(world.loop, NULL, &start);
	shared = thrum_promise_task(world.loop, NULL, &finish);
	for (int i = 0; i < 300000; i++)
		thrum_promise_on_success(thrum_promise_bind(thrum_promise_ref(p), give, shared,
						 NULL),
			on_value, &ran, NULL);
	thrum_promise_unref(p);
	thrum_resolver_resolve(start, thrum_value_none());
	assert_int_equal(ran, 0);
	thrum_promise_unref(shared);
	thrum_resolver_resolve(finish, token_value(&world, 5));
	assert_int_equal(ran, 300000);
	assert_int_equal(thrum_loop_promises(world.loop), 0);
	world_finish(&world);
}

/* ---- No memory ------------------------------------------------------------------------------- */

static struct thrum_promise *then(struct thrum_loop *loop, void *value, void *data)
{
	struct token *token = data;

	return thrum_promise_return(loop, token_value(token->world, token->number));
}

static struct thrum_promise *handle(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	assert_non_null(failure->message);
	return thrum_promise_fail_again(loop, failure);
}

static struct thrum_promise *begin(struct thrum_loop *loop, void *data)
{
	struct token *token = data;
	struct thrum_resolver *resolver;
	struct thrum_promise *p = thrum_promise_task(loop, "begun", &resolver);

	thrum_resolver_resolve(resolver, token_value(token->world, token->number));
	return p;
}

static struct thrum_value map(struct thrum_loop *loop, void *value, void *data)
{
	return token_value(((struct token *)data)->world, 9);
}

static void on_end(struct thrum_loop *loop, void *data)
{
}

#define CLOSURE token_new(world, 3), token_destroy

/* A mixture of all calls, which never holds more than it needs. */
static void everything(struct world *world)
{
	struct thrum_loop *loop = world->loop;
	struct thrum_resolver *resolver[6];
	struct thrum_promise *p[6], *q;
	size_t i;

	for (i = 0; i < 6; i++)
		p[i] = i % 2 ? thrum_promise_task(loop, "task", &resolver[i])
			     : thrum_promise_wait(loop, NULL, &resolver[i]);
	p[0] = thrum_promise_bind(p[0], then, CLOSURE);
	p[0] = thrum_promise_catch(p[0], handle, CLOSURE);
	p[1] = thrum_promise_finalize(p[1], begin, CLOSURE);
	p[1] = thrum_promise_map(p[1], map, CLOSURE);
	p[2] = thrum_promise_try_bind(p[2], then, handle, CLOSURE);
	thrum_promise_on_termination(thrum_promise_ref(p[2]), on_end, CLOSURE);
	thrum_promise_on_cancel(thrum_promise_ref(p[3]), on_end, CLOSURE);
	p[3] = thrum_promise_protected(p[3]);
	p[4] = thrum_promise_both(thrum_promise_no_cancel(p[4]), thrum_promise_ref(p[0]));
	p[4] = thrum_promise_npick(loop, (struct thrum_promise *[]){p[4], thrum_promise_ref(p[3])},
		2);
	p[5] = thrum_promise_nchoose(loop,
		(struct thrum_promise *[]){p[5], thrum_promise_ref(p[1])}, 2);
	q = thrum_promise_join(loop, p, 6);
	thrum_promise_async(loop, "async", begin, CLOSURE);
	thrum_promise_ignore_result(thrum_promise_fail(loop, 7, "number %d", 7));
	q = thrum_promise_finalize(thrum_promise_bind(q, then, CLOSURE), begin, CLOSURE);
	for (i = 0; i < 6; i++) {
		if (i == 3)
			thrum_resolver_fail(resolver[i], 5, "three");
		else
			thrum_resolver_resolve(resolver[i], token_value(world, (int)i));
		if (i == 2)
			thrum_promise_cancel(q);
	}
	assert_int_not_equal(thrum_promise_state(q), THRUM_PROMISE_PENDING);
	thrum_promise_unref(q);
}

static void check_everything(struct world *world)
{
	everything(world);
	assert_int_equal(thrum_loop_promises(world->loop), 0);
	assert_int_equal(world->alive, 0);
}

/* Each allocation in turn fails, alone or with all that come after it. */
static void test_no_memory(void **state)
{
	for (int persistent = 0; persistent < 2; persistent++) {
		size_t failing = 1, allocations;

		do {
			struct world world;

			world_init(&world);
			world.fail_from = ++failing;
			world.fail_to = persistent ? SIZE_MAX : failing;
			check_everything(&world);
			allocations = world.allocations;
			world_finish(&world);
		} while (failing <= allocations);
		assert_true(failing > 5);
	}
}

/* Promises come in slabs, so this test limits their number instead. */
static void test_no_promise(void **state)
{
	struct thrum_promise *held[1000];

	for (size_t have = 0; have < 60; have++) {
		size_t count = 0, i;
		struct world world;

		world_init(&world);
		held[count++] = thrum__promise_new(world.loop);
		world.fail_large = true;
		while (count < 1000 && (held[count] = thrum__promise_new(world.loop)))
			count++;
		assert_true(count > have && count < 1000);
		for (i = 0; i < have; i++)
			thrum__promise_unref(held[--count]);
		everything(&world);
		assert_int_equal(thrum_loop_promises(world.loop), count);
		while (count > 0)
			thrum__promise_unref(held[--count]);
		assert_int_equal(world.alive, 0);
		world_finish(&world);
	}
}

static void test_no_loop(void **state)
{
	struct world world;
	struct thrum_loop *loop = NULL;

	world_init(&world);
	world.fail_from = world.fail_to = world.allocations + 1;
	assert_int_equal(thrum__promise_loop_create(&world.uv, &world.loop->memory, &loop),
		-ENOMEM);
	assert_null(loop);
	assert_int_equal(thrum_loop_create(NULL, &loop), -EINVAL);
	world_finish(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_becoming),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_nested_values),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_no_promise),
		cmocka_unit_test(test_no_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
