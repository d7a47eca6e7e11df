/* SPDX-License-Identifier: ISC */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void *allocate(void *context, size_t size)
{
	struct world *world = context;
	size_t number = ++world->allocations;

	if (number >= world->fail_from && number <= world->fail_to)
		return NULL;
	if (world->fail_large && size > 16384)
		return NULL;
	world->blocks++;
	return malloc(size);
}

static void release(void *context, void *memory)
{
	struct world *world = context;

	world->blocks--;
	free(memory);
}

void world_init(struct world *world)
{
	*world = (struct world){.allocations = 0};
	assert_int_equal(uv_loop_init(&world->uv), 0);
	assert_int_equal(thrum__promise_loop_create(&world->uv,
				 &(struct thrum__promise_memory){allocate, release, world},
				 &world->loop),
		0);
}

void world_finish(struct world *world)
{
	thrum_loop_destroy(world->loop);
	uv_run(&world->uv, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&world->uv), 0);
	assert_int_equal(world->blocks, 0);
	assert_int_equal(world->alive, 0);
}

struct token *token_new(struct world *world, int number)
{
	struct token *token = malloc(sizeof(*token));

	assert_non_null(token);
	*token = (struct token){world, number, 0};
	world->tokens++;
	world->alive++;
	return token;
}

void token_destroy(void *data)
{
	struct token *token = data;

	/* A second time is a use after free. AddressSanitizer reports it; others may see it
	 * here. */
	assert_int_equal(token->destroyed++, 0);
	assert_true(token->world->alive > 0);
	token->world->alive--;
	free(token);
}

struct thrum_value token_value(struct world *world, int number)
{
	return thrum_value_own(token_new(world, number), token_destroy);
}

int outcome(const struct thrum_promise *promise)
{
	const struct token *token;

	switch (thrum_promise_state(promise)) {
	case THRUM_PROMISE_RESOLVED:
		token = thrum_promise_value(promise);
		return token ? token->number : 0;
	case THRUM_PROMISE_FAILED: return thrum_promise_failure(promise)->code;
	default: return 0;
	}
}
