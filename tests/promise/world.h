/* SPDX-License-Identifier: ISC */
/* A loop to test in: memory that can be made to fail, and values and closures that count how often
 * they were destroyed. */
#ifndef TESTS_PROMISE_WORLD_H
#define TESTS_PROMISE_WORLD_H

#include "promise/core.h"

struct world {
	uv_loop_t uv;
	struct thrum_loop *loop;
	size_t allocations, blocks; /* made; there now */
	size_t fail_from, fail_to;  /* these allocations, counted from 1, fail */
	bool fail_large;            /* those of slabs of promises fail */
	size_t tokens, alive;       /* made; not destroyed yet */
};

void world_init(struct world *);
/* Also checks that all memory was given back. */
void world_finish(struct world *);

/* Something that must be destroyed exactly once; `number` is the test's. */
struct token {
	struct world *world;
	int number, destroyed;
};
struct token *token_new(struct world *, int number);
void token_destroy(void *token);
struct thrum_value token_value(struct world *, int number);

/* A resolved promise's token's number; the code of a failed one; 0 while it is pending. */
int outcome(const struct thrum_promise *);

#endif
