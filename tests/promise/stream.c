/* SPDX-License-Identifier: ISC */
/* Streams: order, room, ends, and a comparison with a plain queue. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_room(void **state)
{
	struct thrum_promise *push[4], *next[5];
	struct thrum_stream *stream;
	struct thrum_value value;
	struct world world;

	world_init(&world);
	stream = thrum_stream_create(world.loop, "belt", 2);
	for (int i = 0; i < 4; i++) {
		push[i] = thrum_stream_push(stream, token_value(&world, i + 1));
		assert_int_equal(code_of(push[i]), i < 2 ? 0 : 1);
	}
	value = token_value(&world, 9);
	assert_false(thrum_stream_try_push(stream, value));
	thrum_value_destroy(value);
	assert_int_equal(thrum_stream_length(stream), 2);
	thrum_promise_cancel(push[2]);
	assert_int_equal(world.alive, 3);
	thrum_stream_close(stream);
	next[0] = thrum_stream_next(stream);
	assert_int_equal(code_of(push[3]), 0);
	for (int i = 1; i < 5; i++)
		next[i] = thrum_stream_next(stream);
	assert_int_equal(outcome(next[0]), 1);
	assert_int_equal(outcome(next[1]), 2);
	assert_int_equal(outcome(next[2]), 4);
	assert_int_equal(code_of(next[3]), 0);
	assert_null(thrum_promise_value(next[3]));
	assert_null(thrum_promise_value(next[4]));
	for (int i = 0; i < 4; i++)
		thrum_promise_unref(push[i]);
	for (int i = 0; i < 5; i++)
		thrum_promise_unref(next[i]);
	thrum_stream_destroy(stream);
	world_finish(&world);
}

static void test_ends(void **state)
{
	struct thrum_promise *next[3], *push;
	struct thrum_stream *stream;
	struct world world;

	world_init(&world);
	assert_null(thrum_stream_create(world.loop, NULL, 0));
	stream = thrum_stream_create(world.loop, NULL, 1);
	push = thrum_stream_push(stream, thrum_value_none());
	assert_int_equal(code_of(push), -EINVAL);
	thrum_promise_unref(push);
	for (int i = 0; i < 3; i++)
		next[i] = thrum_stream_next(stream);
	thrum_promise_cancel(next[0]);
	assert_true(thrum_stream_try_push(stream, token_value(&world, 7)));
	assert_int_equal(outcome(next[1]), 7);
	thrum_stream_close(stream);
	assert_int_equal(code_of(next[2]), 0);
	assert_null(thrum_promise_value(next[2]));
	push = thrum_stream_push(stream, token_value(&world, 8));
	assert_int_equal(code_of(push), -EPIPE);
	thrum_promise_unref(push);
	for (int i = 0; i < 3; i++)
		thrum_promise_unref(next[i]);
	thrum_stream_destroy(stream);

	stream = thrum_stream_create(world.loop, NULL, 1);
	next[0] = thrum_stream_next(stream);
	thrum_stream_destroy(stream);
	assert_int_equal(code_of(next[0]), THRUM_BROKEN);
	thrum_promise_unref(next[0]);

	stream = thrum_stream_create(world.loop, NULL, 1);
	assert_true(thrum_stream_try_push(stream, token_value(&world, 1)));
	push = thrum_stream_push(stream, token_value(&world, 2));
	thrum_stream_destroy(stream);
	assert_int_equal(code_of(push), THRUM_BROKEN);
	thrum_promise_unref(push);
	assert_int_equal(world.alive, 0);
	world_finish(&world);
}

/* A writer and a reader take turns by chance; the values come out as they went in. */
#define VALUES 2000

struct flow {
	struct world world;
	struct thrum_stream *stream;
	intptr_t pushed, read;
	size_t most;
	uint32_t random;
};

static bool by_chance(struct flow *flow)
{
	flow->random = flow->random * 1664525u + 1013904223u;
	return flow->random >> 31;
}

static struct thrum_promise *write_on(struct thrum_loop *loop, void *value, void *data)
{
	struct flow *flow = data;
	struct thrum_promise *next;

	if (thrum_stream_length(flow->stream) > flow->most)
		flow->most = thrum_stream_length(flow->stream);
	if (flow->pushed == VALUES) {
		thrum_stream_close(flow->stream);
		return thrum_promise_return(loop, thrum_value_none());
	}
	next = by_chance(flow)
		? thrum_promise_pause(loop)
		: thrum_stream_push(flow->stream, token_value(&flow->world, (int)++flow->pushed));
	return thrum_promise_bind(next, write_on, flow, NULL);
}

static struct thrum_promise *read_on(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *check(struct thrum_loop *loop, void *value, void *data)
{
	struct flow *flow = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	assert_int_equal(((struct token *)value)->number, ++flow->read);
	return read_on(loop, NULL, flow);
}

static struct thrum_promise *read_on(struct thrum_loop *loop, void *value, void *data)
{
	struct flow *flow = data;

	if (by_chance(flow))
		return thrum_promise_bind(thrum_promise_pause(loop), read_on, flow, NULL);
	return thrum_promise_bind(thrum_stream_next(flow->stream), check, flow, NULL);
}

static void test_flow(void **state)
{
	struct flow flow = {.random = 1};
	struct thrum_promise *both;

	world_init(&flow.world);
	flow.stream = thrum_stream_create(flow.world.loop, NULL, 3);
	both = thrum_promise_both(write_on(flow.world.loop, NULL, &flow),
		read_on(flow.world.loop, NULL, &flow));
	assert_int_equal(settle(both), 0);
	assert_int_equal(flow.read, VALUES);
	assert_int_equal(flow.most, 3);
	thrum_stream_destroy(flow.stream);
	world_finish(&flow.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
