/* SPDX-License-Identifier: ISC */
/*
 * Random programs of all combinators, checked against a naive model after every step.
 *  - For each promise the model says which ends the states of its sources allow. It looks at all
 *    promises again and again, and knows nothing of lists, of becoming or of order.
 *  - For a cancellation it says which promises may be reached, by plain recursion over the program.
 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES 24
#define FAIL 1000
#define NOTHING 999

enum type {
	N_WAIT,
	N_TASK,
	N_BIND,
	N_CATCH,
	N_FINALIZE,
	N_PROTECTED,
	N_NO_CANCEL,
	N_JOIN,
	N_CHOOSE,
	N_PICK,
	TYPES
};

struct node {
	enum type type;
	int source[3], count; /* earlier nodes; of bind, catch, finalize [1] is the one returned */
	int ran;              /* number of times that its callback ran */
	int ended;            /* the step in which it ended, or 0 */
	struct thrum_promise *promise;
	struct thrum_resolver *resolver;
	struct program *program;
};

struct program {
	struct world world; /* first */
	struct node node[NODES];
	int count, step;
	uint64_t seed, first_seed;
	bool allowed[NODES]; /* to be cancelled in this step */
};

static unsigned roll(struct program *program, unsigned sides)
{
	program->seed = program->seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(program->seed >> 33) % sides;
}

/* ---- Making a program ------------------------------------------------------------------------ */

static struct thrum_promise *follow(struct node *node)
{
	assert_int_equal(node->ran++, 0);
	return thrum_promise_ref(node->program->node[node->source[1]].promise);
}

static struct thrum_promise *then(struct thrum_loop *loop, void *value, void *data)
{
	return follow(data);
}

static struct thrum_promise *handle(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	return follow(data);
}

static struct thrum_promise *cleanup(struct thrum_loop *loop, void *data)
{
	return follow(data);
}

static void make(struct program *program, struct node *node)
{
	struct thrum_loop *loop = program->world.loop;
	struct thrum_promise *source[3];

	for (int i = 0; i < node->count; i++)
		source[i] = program->node[node->source[i]].promise;
	if (node->type >= N_JOIN)
		for (int i = 0; i < node->count; i++)
			(void)!thrum_promise_ref(source[i]);
	else if (node->type >= N_BIND)
		(void)!thrum_promise_ref(source[0]);
	switch (node->type) {
	case N_WAIT: node->promise = thrum_promise_wait(loop, NULL, &node->resolver); break;
	case N_TASK: node->promise = thrum_promise_task(loop, NULL, &node->resolver); break;
	case N_BIND: node->promise = thrum_promise_bind(source[0], then, node, NULL); break;
	case N_CATCH: node->promise = thrum_promise_catch(source[0], handle, node, NULL); break;
	case N_FINALIZE:
		node->promise = thrum_promise_finalize(source[0], cleanup, node, NULL);
		break;
	case N_PROTECTED: node->promise = thrum_promise_protected(source[0]); break;
	case N_NO_CANCEL: node->promise = thrum_promise_no_cancel(source[0]); break;
	case N_JOIN: node->promise = thrum_promise_join(loop, source, (size_t)node->count); break;
	case N_CHOOSE:
		node->promise = thrum_promise_choose(loop, source, (size_t)node->count);
		break;
	default: node->promise = thrum_promise_pick(loop, source, (size_t)node->count); break;
	}
}

static void add(struct program *program)
{
	struct node *node = &program->node[program->count];

	*node = (struct node){.program = program};
	node->type = program->count < 4 ? (enum type)roll(program, 2)
					: (enum type)roll(program, TYPES);
	node->count = node->type >= N_JOIN ? 1 + (int)roll(program, 3) : 2;
	for (int i = 0; i < node->count && program->count > 0; i++)
		node->source[i] = (int)roll(program, (unsigned)program->count);
	if (program->count == 0)
		node->count = 0;
	program->count++;
	make(program, node);
}

/* ---- The model ------------------------------------------------------------------------------- */

/* Resolved without a value counts as NOTHING, 0 is pending. */
static int end_of(const struct program *program, int i)
{
	const struct thrum_promise *promise = program->node[i].promise;
	int end = outcome(promise);

	return end == 0 && thrum_promise_state(promise) != THRUM_PROMISE_PENDING ? NOTHING : end;
}

static bool failed(int end)
{
	return end < 0 || end >= FAIL;
}

/* Tells whether `end` is right for a node whose sources are as they are now. */
static bool fits(const struct program *program, const struct node *node, int end)
{
	int first = node->count ? end_of(program, node->source[0]) : 0;
	int next = node->count > 1 ? end_of(program, node->source[1]) : 0;
	bool all = true, any = false, bad = false, match = false;

	switch (node->type) {
	case N_WAIT:
	case N_TASK: return true;
	case N_BIND: return end == (first && !failed(first) ? next : first);
	case N_CATCH: return end == (failed(first) ? next : first);
	case N_FINALIZE: return end == (!first || !next ? 0 : failed(next) ? next : first);
	case N_PROTECTED: return end == first || end == THRUM_CANCELED;
	case N_NO_CANCEL: return end == first;
	default: break;
	}
	for (int i = 0; i < node->count; i++) {
		int source = end_of(program, node->source[i]);

		all = all && source;
		any = any || source;
		bad = bad || failed(source);
		match = match || (source && source == end);
	}
	if (node->type == N_JOIN)
		return all && bad ? match && failed(end) : end == (all ? NOTHING : 0);
	return any ? match : end == 0;
}

/* Marks the nodes that cancelling a node may reach, by all ways that exist or existed in this
 * step. */
static void reach(struct program *program, int i)
{
	const struct node *node = &program->node[i];

	if (node->ended && node->ended < program->step)
		return;
	switch (node->type) {
	case N_TASK:
	case N_PROTECTED: program->allowed[i] = true; return;
	case N_WAIT:
	case N_NO_CANCEL: return;
	case N_BIND:
	case N_CATCH:
	case N_FINALIZE:
		reach(program, node->source[0]);
		if (node->ran)
			reach(program, node->source[1]);
		return;
	default:
		for (int k = 0; k < node->count; k++)
			reach(program, node->source[k]);
	}
}

/* Marks the nodes that it must reach, by the state before. */
static void must_reach(const struct program *program, int i, bool *must)
{
	const struct node *node = &program->node[i];

	if (node->ended)
		return;
	switch (node->type) {
	case N_TASK:
	case N_PROTECTED: must[i] = true; return;
	case N_WAIT:
	case N_NO_CANCEL: return;
	case N_BIND:
	case N_CATCH:
	case N_FINALIZE: must_reach(program, node->source[node->ran ? 1 : 0], must); return;
	default:
		for (int k = 0; k < node->count; k++)
			must_reach(program, node->source[k], must);
	}
}

/* After a step: marks the nodes that have ended, and checks everything. */
static void check(struct program *program, int touched)
{
	int i;

	for (i = 0; i < program->count; i++)
		if (!program->node[i].ended &&
			thrum_promise_state(program->node[i].promise) != THRUM_PROMISE_PENDING)
			program->node[i].ended = program->step;
	for (i = 0; i < program->count; i++)
		if (program->node[i].type == N_PICK && program->node[i].ended == program->step)
			for (int k = 0; k < program->node[i].count; k++)
				reach(program, program->node[i].source[k]);
	for (i = 0; i < program->count; i++) {
		const struct node *node = &program->node[i];
		int end = end_of(program, i);
		bool by_itself = node->type == N_PROTECTED && end != THRUM_CANCELED;

		if (!fits(program, node, end) ||
			(node->ended == program->step && i != touched && node->type == N_TASK &&
				!(program->allowed[i] && end == THRUM_CANCELED)) ||
			(node->ended == program->step && node->type == N_PROTECTED && !by_itself &&
				!program->allowed[i] &&
				end_of(program, node->source[0]) != THRUM_CANCELED) ||
			(node->type == N_WAIT && node->ended == program->step && i != touched))
			fail_msg("seed %d, step %d, node %d of type %d: %d doesn't fit %d, %d, %d",
				(int)program->first_seed, program->step, i, (int)node->type, end,
				node->count > 0 ? end_of(program, node->source[0]) : 0,
				node->count > 1 ? end_of(program, node->source[1]) : 0,
				node->count > 2 ? end_of(program, node->source[2]) : 0);
	}
}

/* ---- Running it ------------------------------------------------------------------------------ */

static void end_one(struct program *program, struct node *node, int number)
{
	struct thrum_resolver *resolver = node->resolver;

	node->resolver = NULL;
	if (number % 3 == 0)
		thrum_resolver_fail(resolver, FAIL + number, NULL);
	else
		thrum_resolver_resolve(resolver, token_value(&program->world, number));
}

static void step(struct program *program)
{
	bool must[NODES] = {false};
	int touched = (int)roll(program, (unsigned)program->count);
	struct node *node = &program->node[touched];

	program->step++;
	memset(program->allowed, 0, sizeof(program->allowed));
	if (program->count < NODES && roll(program, 2) == 0) {
		touched = program->count;
		add(program);
	} else if (node->resolver && roll(program, 3) > 0) {
		end_one(program, node, program->step);
	} else if (roll(program, 3) == 0) {
		must_reach(program, touched, must);
		thrum_promise_cancel(node->promise);
		for (int i = 0; i < program->count; i++)
			if (must[i] && end_of(program, i) != THRUM_CANCELED)
				fail_msg("step %d: node %d isn't cancelled", program->step, i);
		reach(program, touched);
	}
	check(program, touched);
}

static void run(uint64_t seed)
{
	struct program *program = calloc(1, sizeof(*program));

	assert_non_null(program);
	program->seed = program->first_seed = seed;
	world_init(&program->world);
	for (int i = 0; i < 4; i++)
		add(program);
	for (int i = 0; i < 60; i++)
		step(program);
	for (int i = 0; i < program->count; i++)
		if (program->node[i].resolver) {
			program->step++;
			memset(program->allowed, 0, sizeof(program->allowed));
			end_one(program, &program->node[i], program->step);
			check(program, i);
		}
	for (int i = 0; i < program->count; i++) {
		if (thrum_promise_state(program->node[i].promise) == THRUM_PROMISE_PENDING)
			fail_msg("node %d of type %d is left over", i, (int)program->node[i].type);
		thrum_promise_unref(program->node[i].promise);
	}
	assert_int_equal(thrum_loop_promises(program->world.loop), 0);
	world_finish(&program->world);
	free(program);
}

static void test_random(void **state)
{
	for (uint64_t seed = 1; seed <= 20000; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
