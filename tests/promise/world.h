/* SPDX-License-Identifier: ISC */
/* A loop for tests. Its memory can be made to fail, and values and closures count how often they
 * were destroyed. */
#ifndef TESTS_PROMISE_WORLD_H
#define TESTS_PROMISE_WORLD_H

#include "promise/core/core.h"

struct world {
	uv_loop_t uv;
	struct thrum_loop *loop;
	size_t allocations, blocks; /* made so far; existing now */
	size_t fail_from, fail_to;  /* the range of allocations that fail, counted from 1 */
	bool fail_large;            /* allocations of slabs of promises fail */
	size_t tokens, alive;       /* made so far; not destroyed yet */
};

void world_init(struct world *);
/* Also checks that all memory was freed. */
void world_finish(struct world *);

/* A thing that must be destroyed exactly once; `number` is for the test. */
struct token {
	struct world *world;
	int number, destroyed;
};
struct token *token_new(struct world *, int number);
void token_destroy(void *token);
struct thrum_value token_value(struct world *, int number);

/* Returns the number of a resolved promise's token, the code of a failed promise, or 0 for a
 * pending one. */
int outcome(const struct thrum_promise *);

#endif
