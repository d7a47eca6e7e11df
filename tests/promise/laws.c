/* SPDX-License-Identifier: ISC */
/* The result of each call for each end of its sources, both for sources that had ended before the
 * call and for sources that end after it. Derived from the documentation of Lwt. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define FAIL 1000 /* numbers from here are codes of failures */

struct fixture {
	struct world world;
	struct thrum_promise *source[3];
	struct thrum_resolver *resolver[3];
	int ran, seen; /* number of callbacks, and the last one's value or code */
};

/* ---- Callbacks: each has a token with the fixture in reach ----------------------------------- */

static struct fixture *fixture_of(const struct token *token)
{
	return (struct fixture *)token->world;
}

static void note(const struct token *data, int seen)
{
	fixture_of(data)->ran++;
	fixture_of(data)->seen = seen;
}

static int number_of(const void *value)
{
	return value ? ((const struct token *)value)->number : 0;
}

/* The number of the closure chooses the result: resolved, failed, or the second source. */
static struct thrum_promise *next(struct thrum_loop *loop, const struct token *data)
{
	struct fixture *fixture = fixture_of(data);

	if (data->number == -1)
		return thrum_promise_ref(fixture->source[1]);
	if (data->number >= FAIL)
		return thrum_promise_fail(loop, data->number, NULL);
	return thrum_promise_return(loop, token_value(data->world, data->number));
}

static struct thrum_promise *then(struct thrum_loop *loop, void *value, void *data)
{
	note(data, number_of(value));
	return next(loop, data);
}

static struct thrum_promise *handle(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	note(data, failure->code);
	return next(loop, data);
}

static struct thrum_promise *again(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	note(data, failure->code);
	return thrum_promise_fail_again(loop, failure);
}

static struct thrum_promise *cleanup(struct thrum_loop *loop, void *data)
{
	note(data, 0);
	return next(loop, data);
}

static struct thrum_value map(struct thrum_loop *loop, void *value, void *data)
{
	const struct token *token = data;

	note(data, number_of(value));
	return token_value(token->world, token->number);
}

static void on_value(struct thrum_loop *loop, void *value, void *data)
{
	note(data, number_of(value));
}

static void on_failing(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	note(data, failure->code);
}

static void on_end(struct thrum_loop *loop, void *data)
{
	note(data, 0);
}

#define CLOSURE(fixture, number) token_new(&(fixture)->world, number), token_destroy

/* ---- Calls ----------------------------------------------------------------------------------- */

typedef struct thrum_promise *make(struct fixture *, struct thrum_promise **source, int number);

static struct thrum_promise *make_bind(struct fixture *f, struct thrum_promise **source, int number)
{
	return thrum_promise_bind(source[0], then, CLOSURE(f, number));
}

static struct thrum_promise *make_map(struct fixture *f, struct thrum_promise **source, int number)
{
	return thrum_promise_map(source[0], map, CLOSURE(f, number));
}

static struct thrum_promise *make_catch(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_catch(source[0], handle, CLOSURE(f, number));
}

static struct thrum_promise *make_catch_again(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_catch(source[0], again, CLOSURE(f, number));
}

static struct thrum_promise *make_try_bind(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_try_bind(source[0], then, handle, CLOSURE(f, number));
}

static struct thrum_promise *make_finalize(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_finalize(source[0], cleanup, CLOSURE(f, number));
}

/* m >>= (fun x -> f x >>= g), and (m >>= f) >>= g: `number` is the result of g. */
static struct thrum_promise *then_then(struct thrum_loop *loop, void *value, void *data)
{
	const struct token *token = data;

	return thrum_promise_bind(thrum_promise_return(loop,
					  token_value(token->world, number_of(value) + 1)),
		then, CLOSURE(fixture_of(token), token->number));
}

static struct thrum_promise *make_right(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_bind(source[0], then_then, CLOSURE(f, number));
}

static struct thrum_promise *add_one(struct thrum_loop *loop, void *value, void *data)
{
	const struct token *token = data;

	return thrum_promise_return(loop, token_value(token->world, number_of(value) + 1));
}

static struct thrum_promise *make_left(struct fixture *f, struct thrum_promise **source, int number)
{
	return thrum_promise_bind(thrum_promise_bind(source[0], add_one, CLOSURE(f, 0)), then,
		CLOSURE(f, number));
}

static struct thrum_promise *make_join(struct fixture *f, struct thrum_promise **source, int number)
{
	return thrum_promise_join(f->world.loop, source, (size_t)number);
}

static struct thrum_promise *make_choose(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_choose(f->world.loop, source, (size_t)number);
}

static struct thrum_promise *make_pick(struct fixture *f, struct thrum_promise **source, int number)
{
	return thrum_promise_pick(f->world.loop, source, (size_t)number);
}

/* The items as one number: 10 * the first + the second. */
static struct thrum_value digits(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_items *items = value;
	struct token *token = data;
	int sum = 0;

	for (size_t i = 0; i < items->count; i++) {
		assert_ptr_equal(items->item[i].value, thrum_promise_value(items->item[i].promise));
		sum = 10 * sum + number_of(items->item[i].value);
	}
	return token_value(token->world, sum);
}

static struct thrum_promise *make_both(struct fixture *f, struct thrum_promise **source, int number)
{
	return thrum_promise_map(thrum_promise_both(source[0], source[1]), digits, CLOSURE(f, 0));
}

static struct thrum_promise *make_nchoose(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_map(thrum_promise_nchoose(f->world.loop, source, (size_t)number),
		digits, CLOSURE(f, 0));
}

static struct thrum_promise *make_npick(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_map(thrum_promise_npick(f->world.loop, source, (size_t)number), digits,
		CLOSURE(f, 0));
}

static struct thrum_promise *make_protected(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_protected(source[0]);
}

static struct thrum_promise *make_no_cancel(struct fixture *f, struct thrum_promise **source,
	int number)
{
	return thrum_promise_no_cancel(source[0]);
}

/* Calls without a result. A promise that stays pending stands for it. */
static struct thrum_promise *make_on_success(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_on_success(source[0], on_value, CLOSURE(f, number));
	return thrum_promise_choose(f->world.loop, NULL, 0);
}

static struct thrum_promise *make_on_failure(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_on_failure(source[0], on_failing, CLOSURE(f, number));
	return thrum_promise_choose(f->world.loop, NULL, 0);
}

static struct thrum_promise *make_on_termination(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_on_termination(source[0], on_end, CLOSURE(f, number));
	return thrum_promise_choose(f->world.loop, NULL, 0);
}

static struct thrum_promise *make_on_any(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_on_any(source[0], on_value, on_failing, CLOSURE(f, number));
	return thrum_promise_choose(f->world.loop, NULL, 0);
}

static struct thrum_promise *make_on_cancel(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_on_cancel(source[0], on_end, CLOSURE(f, number));
	return thrum_promise_choose(f->world.loop, NULL, 0);
}

static struct thrum_promise *make_ignore(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_ignore_result(source[0]);
	return thrum_promise_choose(f->world.loop, NULL, 0);
}

static struct thrum_promise *make_async(struct fixture *f, struct thrum_promise **source,
	int number)
{
	thrum_promise_async(f->world.loop, NULL, cleanup, CLOSURE(f, number));
	return source[0];
}

/* ---- The table ------------------------------------------------------------------------------- */

#define CANCELED THRUM_CANCELED

struct law {
	const char *name;
	make *make;
	int number; /* of the closure: -1 is the second source; for groups, the count */
	int end[2]; /* ends of the sources: 0 stays pending, FAIL or a negative code fails */
	int result; /* 0: pending or resolved with nothing */
	int ran, seen;
	size_t unhandled;
};

static const struct law laws[] = {
	{"bind", make_bind, 7, {5}, 7, 1, 5},
	{"bind of a failure", make_bind, 7, {FAIL}, FAIL, 0, 0},
	{"bind that fails", make_bind, FAIL + 1, {5}, FAIL + 1, 1, 5},
	{"bind of what stays pending", make_bind, 7, {0}, 0, 0, 0},
	{"bind to a pending one", make_bind, -1, {5, 0}, 0, 1, 5},
	{"bind to one that is resolved", make_bind, -1, {5, 6}, 6, 1, 5},
	{"bind to one that fails", make_bind, -1, {5, FAIL}, FAIL, 1, 5},
	{"bind is associative, right", make_right, 9, {5}, 9, 1, 6},
	{"bind is associative, left", make_left, 9, {5}, 9, 1, 6},
	{"right, to a pending one", make_right, -1, {5, 8}, 8, 1, 6},
	{"left, to a pending one", make_left, -1, {5, 8}, 8, 1, 6},
	{"map", make_map, 7, {5}, 7, 1, 5},
	{"map of a failure", make_map, 7, {FAIL}, FAIL, 0, 0},
	{"catch of a value", make_catch, 7, {5}, 5, 0, 0},
	{"catch", make_catch, 7, {FAIL}, 7, 1, FAIL},
	{"catch that fails", make_catch, FAIL + 1, {FAIL}, FAIL + 1, 1, FAIL},
	{"catch to another", make_catch, -1, {FAIL, 6}, 6, 1, FAIL},
	{"catch of a cancellation", make_catch, 7, {CANCELED}, 7, 1, CANCELED},
	{"catch that doesn't", make_catch_again, 0, {FAIL}, FAIL, 1, FAIL},
	{"try_bind of a value", make_try_bind, 7, {5}, 7, 1, 5},
	{"try_bind of a failure", make_try_bind, 7, {FAIL}, 7, 1, FAIL},
	{"try_bind to another", make_try_bind, -1, {FAIL, FAIL + 1}, FAIL + 1, 1, FAIL},
	{"finalize of a value", make_finalize, 7, {5}, 5, 1, 0},
	{"finalize of a failure", make_finalize, 7, {FAIL}, FAIL, 1, 0},
	{"finalize whose cleanup fails", make_finalize, FAIL + 1, {5}, FAIL + 1, 1, 0},
	{"finalize where both fail", make_finalize, FAIL + 1, {FAIL}, FAIL + 1, 1, 0},
	{"finalize whose cleanup takes time", make_finalize, -1, {5, 6}, 5, 1, 0},
	{"finalize of a failure, slowly", make_finalize, -1, {FAIL, 6}, FAIL, 1, 0},
	{"finalize whose slow cleanup fails", make_finalize, -1, {5, FAIL}, FAIL, 1, 0},
	{"finalize whose cleanup hangs", make_finalize, -1, {5, 0}, 0, 1, 0},
	{"join of nothing", make_join, 0, {0}, 0, 0, 0},
	{"join", make_join, 2, {5, 6}, 0, 0, 0},
	{"join waits", make_join, 2, {FAIL, 0}, 0, 0, 0},
	{"join of a failure", make_join, 2, {5, FAIL}, FAIL, 0, 0},
	{"join of two failures", make_join, 2, {FAIL, FAIL + 1}, FAIL, 0, 0},
	{"both", make_both, 2, {5, 6}, 56, 0, 0},
	{"both waits", make_both, 2, {5, 0}, 0, 0, 0},
	{"both of a failure", make_both, 2, {FAIL, 6}, FAIL, 0, 0},
	{"choose of nothing", make_choose, 0, {5, 6}, 0, 0, 0},
	{"choose", make_choose, 2, {0, 6}, 6, 0, 0},
	{"choose the first", make_choose, 2, {5, 6}, 5, 0, 0},
	{"choose a failure", make_choose, 2, {FAIL, 6}, FAIL, 0, 0},
	{"pick", make_pick, 2, {0, 6}, 6, 0, 0},
	{"pick a failure", make_pick, 2, {0, FAIL}, FAIL, 0, 0},
	{"nchoose", make_nchoose, 2, {0, 6}, 6, 0, 0},
	{"nchoose a failure", make_nchoose, 2, {0, FAIL}, FAIL, 0, 0},
	{"npick", make_npick, 2, {0, 6}, 6, 0, 0},
	{"protected", make_protected, 0, {5}, 5, 0, 0},
	{"protected, failed", make_protected, 0, {FAIL}, FAIL, 0, 0},
	{"no_cancel", make_no_cancel, 0, {5}, 5, 0, 0},
	{"no_cancel, canceled", make_no_cancel, 0, {CANCELED}, CANCELED, 0, 0},
	{"on_success", make_on_success, 7, {5}, 0, 1, 5},
	{"on_success of a failure", make_on_success, 7, {FAIL}, 0, 0, 0},
	{"on_failure", make_on_failure, 7, {FAIL}, 0, 1, FAIL},
	{"on_failure of a value", make_on_failure, 7, {5}, 0, 0, 0},
	{"on_termination", make_on_termination, 7, {5}, 0, 1, 0},
	{"on_termination of a failure", make_on_termination, 7, {FAIL}, 0, 1, 0},
	{"on_any", make_on_any, 7, {5}, 0, 1, 5},
	{"on_any of a failure", make_on_any, 7, {FAIL}, 0, 1, FAIL},
	{"on_cancel", make_on_cancel, 7, {CANCELED}, 0, 1, 0},
	{"on_cancel of a failure", make_on_cancel, 7, {FAIL}, 0, 0, 0},
	{"on_cancel of a value", make_on_cancel, 7, {5}, 0, 0, 0},
	{"ignore_result", make_ignore, 0, {5}, 0, 0, 0},
	{"ignore_result of a failure", make_ignore, 0, {FAIL}, 0, 0, 0, 1},
	{"async", make_async, 7, {0}, 0, 1, 0},
	{"async that fails", make_async, FAIL, {0}, 0, 1, 0, 1},
	{"async that fails later", make_async, -1, {0, FAIL}, 0, 1, 0, 1},
};

static void end_source(struct fixture *f, size_t i, int end)
{
	struct thrum_resolver *resolver = f->resolver[i];

	if (end == 0)
		return;
	f->resolver[i] = NULL;
	if (end < 0 || end >= FAIL)
		thrum_resolver_fail(resolver, end, "as planned");
	else
		thrum_resolver_resolve(resolver, token_value(&f->world, end));
}

/* Bit i of `early` says that source i ends before the call. */
static void check(const struct law *law, unsigned early, const char *when)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *given[3], *result;
	size_t i;

	world_init(&f.world);
	for (i = 0; i < 3; i++) {
		f.source[i] = thrum_promise_wait(f.world.loop, NULL, &f.resolver[i]);
		given[i] = thrum_promise_ref(f.source[i]);
	}
	for (i = 0; i < 2; i++)
		if (early >> i & 1)
			end_source(&f, i, law->end[i]);
	result = law->make(&f, given, law->number);
	for (i = 0; i < 2; i++)
		if (!(early >> i & 1))
			end_source(&f, i, law->end[i]);
	if (outcome(result) != law->result || f.ran != law->ran || f.seen != law->seen ||
		thrum_loop_unhandled(f.world.loop) != law->unhandled)
		fail_msg("%s, %s: gives %d after %d callbacks that saw %d, not %d, %d, %d",
			law->name, when, outcome(result), f.ran, f.seen, law->result, law->ran,
			law->seen);
	thrum_promise_unref(result);
	for (i = 0; i < 3; i++) {
		thrum_resolver_drop(f.resolver[i]);
		thrum_promise_unref(f.source[i]);
	}
	world_finish(&f.world);
}

static void test_laws(void **state)
{
	for (size_t i = 0; i < sizeof(laws) / sizeof(laws[0]); i++) {
		check(&laws[i], 0, "ended after the call");
		check(&laws[i], 3, "ended before the call");
		/* The order of the ends decides about a choice. */
		if (laws[i].make != make_choose && laws[i].make != make_join) {
			check(&laws[i], 1, "the first one ended before the call");
			check(&laws[i], 2, "the second one ended before the call");
		}
	}
}

/* ---- Order, depth, ownership ----------------------------------------------------------------- */

/* Callbacks run in the order in which they were attached, and before the resolving call returns. */
static void in_turn(struct thrum_loop *loop, void *value, void *data)
{
	struct token *token = data;

	assert_int_equal(token->number, ++fixture_of(token)->ran);
}

static void test_order(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p;

	world_init(&f.world);
	p = thrum_promise_wait(f.world.loop, NULL, &f.resolver[0]);
	for (int i = 1; i <= 3; i++)
		thrum_promise_on_success(thrum_promise_ref(p), in_turn, CLOSURE(&f, i));
	assert_int_equal(f.ran, 0);
	thrum_promise_unref(p);
	thrum_resolver_resolve(f.resolver[0], thrum_value_none());
	assert_int_equal(f.ran, 3);
	world_finish(&f.world);
}

/* A callback that takes the value, and one that can't because another one waits. */
static void take_it(struct thrum_loop *loop, void *value, void *data)
{
	struct token *token = data;
	struct thrum_value taken = thrum_value_none();

	if (thrum_loop_take(loop, &taken)) {
		assert_ptr_equal(taken.data, value);
		assert_false(thrum_loop_take(loop, &taken));
		fixture_of(token)->seen++;
		thrum_value_destroy(taken);
	}
	fixture_of(token)->ran++;
}

static void test_take(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p, *q;
	struct thrum_value value;

	world_init(&f.world);
	/* The last of two callbacks can take it. */
	p = thrum_promise_wait(f.world.loop, NULL, &f.resolver[0]);
	thrum_promise_on_success(thrum_promise_ref(p), take_it, CLOSURE(&f, 1));
	thrum_promise_on_success(p, take_it, CLOSURE(&f, 2));
	thrum_resolver_resolve(f.resolver[0], token_value(&f.world, 5));
	assert_int_equal(f.ran, 2);
	assert_int_equal(f.seen, 1);
	/* A promise that others hold too keeps its value. */
	p = thrum_promise_return(f.world.loop, token_value(&f.world, 5));
	thrum_promise_on_success(thrum_promise_ref(p), take_it, CLOSURE(&f, 1));
	assert_int_equal(f.seen, 1);
	q = thrum_promise_ref(p);
	assert_false(thrum_promise_take(p, &value));
	thrum_promise_unref(q);
	assert_true(thrum_promise_take(p, &value));
	assert_int_equal(number_of(value.data), 5);
	assert_null(thrum_promise_value(p));
	thrum_value_destroy(value);
	thrum_promise_unref(p);
	/* Taken through a catch that does nothing, and through a bind. */
	p = thrum_promise_wait(f.world.loop, NULL, &f.resolver[0]);
	p = thrum_promise_catch(p, handle, CLOSURE(&f, 0));
	thrum_promise_on_success(p, take_it, CLOSURE(&f, 1));
	thrum_resolver_resolve(f.resolver[0], token_value(&f.world, 5));
	assert_int_equal(f.seen, 2);
	world_finish(&f.world);
}

/* The values of both can be taken in its callback, also the one that ended last. */
static struct thrum_promise *take_both(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_items *items = value;
	struct thrum_value taken;

	assert_int_equal(items->count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(thrum_promise_take(items->item[i].promise, &taken));
		note(data, number_of(taken.data));
		thrum_value_destroy(taken);
	}
	return thrum_promise_return(loop, thrum_value_none());
}

static void test_take_both(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p, *q;

	world_init(&f.world);
	p = thrum_promise_wait(f.world.loop, NULL, &f.resolver[0]);
	q = thrum_promise_wait(f.world.loop, NULL, &f.resolver[1]);
	p = thrum_promise_bind(thrum_promise_both(p, q), take_both, CLOSURE(&f, 0));
	thrum_resolver_resolve(f.resolver[1], token_value(&f.world, 6));
	thrum_resolver_resolve(f.resolver[0], token_value(&f.world, 5));
	assert_int_equal(thrum_promise_state(p), THRUM_PROMISE_RESOLVED);
	assert_int_equal(f.ran, 2);
	assert_int_equal(f.seen, 6);
	thrum_promise_unref(p);
	world_finish(&f.world);
}

static void test_failures(void **state)
{
	struct world world;
	struct thrum_promise *p;
	const struct thrum_failure *failure;

	world_init(&world);
	p = thrum_promise_fail(world.loop, 42, "no %s today", "bread");
	failure = thrum_promise_failure(p);
	assert_int_equal(failure->code, 42);
	assert_string_equal(failure->message, "no bread today");
	assert_non_null(strstr(failure->file, "laws.c"));
	assert_string_equal(failure->function, __func__);
	assert_int_equal(failure->line, __LINE__ - 6);
	thrum_promise_unref(p);
	p = thrum_promise_fail(world.loop, UV_ECONNREFUSED, NULL);
	assert_string_equal(thrum_promise_failure(p)->message, "connection refused");
	thrum_promise_unref(p);
	/* NULL stands for a promise that has failed. */
	assert_int_equal(outcome(NULL), -ENOMEM);
	assert_null(thrum_promise_bind(NULL, then, token_new(&world, 1), token_destroy));
	p = thrum_promise_join(world.loop, (struct thrum_promise *[]){NULL}, 1);
	assert_int_equal(outcome(p), -ENOMEM);
	thrum_promise_unref(p);
	world_finish(&world);
}

static void test_dropped(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p;

	world_init(&f.world);
	p = thrum_promise_wait(f.world.loop, NULL, &f.resolver[0]);
	thrum_resolver_drop(f.resolver[0]);
	assert_int_equal(outcome(p), THRUM_BROKEN);
	thrum_promise_unref(p);
	/* A promise that nobody can end is freed, with all that waits for it. */
	p = thrum_promise_choose(f.world.loop, NULL, 0);
	p = thrum_promise_bind(p, then, CLOSURE(&f, 1));
	assert_int_equal(f.world.alive, 0);
	p = thrum_promise_finalize(p, cleanup, CLOSURE(&f, 1));
	p = thrum_promise_both(p, thrum_promise_choose(f.world.loop, NULL, 0));
	thrum_promise_on_failure(p, on_failing, CLOSURE(&f, 1));
	assert_int_equal(thrum_loop_promises(f.world.loop), 0);
	assert_int_equal(f.ran, 0);
	world_finish(&f.world);
}

/* A resolver that follows another promise, and one whose promise is its own end. */
static void test_follow(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p, *q;

	world_init(&f.world);
	p = thrum_promise_task(f.world.loop, NULL, &f.resolver[0]);
	q = thrum_promise_task(f.world.loop, NULL, &f.resolver[1]);
	thrum_resolver_follow(f.resolver[0], q);
	assert_int_equal(outcome(p), 0);
	thrum_promise_cancel(p);
	assert_int_equal(outcome(p), THRUM_CANCELED);
	assert_false(thrum_resolver_wanted(f.resolver[1]));
	thrum_resolver_resolve(f.resolver[1], token_value(&f.world, 5));
	thrum_promise_unref(p);
	p = thrum_promise_task(f.world.loop, NULL, &f.resolver[0]);
	thrum_resolver_follow(f.resolver[0], thrum_promise_ref(p));
	assert_int_equal(outcome(p), 0);
	thrum_promise_cancel(p);
	thrum_promise_unref(p);
	assert_int_equal(thrum_loop_promises(f.world.loop), 0);
	world_finish(&f.world);
}

static void test_pause(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p, *q;

	world_init(&f.world);
	p = thrum_promise_pause(f.world.loop);
	q = thrum_promise_bind(thrum_promise_pause(f.world.loop), then, CLOSURE(&f, 3));
	assert_int_equal(thrum_promise_state(p), THRUM_PROMISE_PENDING);
	thrum_promise_cancel(p);
	assert_int_equal(outcome(p), THRUM_CANCELED);
	uv_run(&f.world.uv, UV_RUN_DEFAULT);
	assert_int_equal(outcome(q), 3);
	thrum_promise_unref(p);
	thrum_promise_unref(q);
	assert_int_equal(thrum_loop_promises(f.world.loop), 0);
	world_finish(&f.world);
}

struct operation {
	struct thrum_promise *promise;
	bool destroyed;
};

static struct thrum_promise *begin_operation(struct thrum_loop *loop, void *value, void *data)
{
	struct operation *operation = data;

	assert_false(operation->destroyed);
	return operation->promise;
}

static void destroy_operation(void *data)
{
	struct operation *operation = data;

	operation->destroyed = true;
}

static struct thrum_promise *do_nothing(struct thrum_loop *loop, void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static void set_true(void *data)
{
	*(bool *)data = true;
}

/* As the header says: the data of bind is destroyed when its callback has returned, that of
 * finalize when the operation that the callback began has ended. */
static void test_destroy(void **state)
{
	struct operation operation = {.destroyed = false};
	struct thrum_resolver *r, *s;
	struct thrum_promise *p;
	struct world world;
	bool ended = false;

	world_init(&world);
	p = thrum_promise_task(world.loop, NULL, &r);
	operation.promise = thrum_promise_task(world.loop, NULL, &s);
	p = thrum_promise_bind(p, begin_operation, &operation, destroy_operation);
	p = thrum_promise_finalize(p, do_nothing, &ended, set_true);
	thrum_resolver_resolve(r, thrum_value_none());
	assert_true(operation.destroyed);
	assert_false(ended);
	thrum_resolver_resolve(s, thrum_value_none());
	assert_true(ended);
	assert_int_equal(thrum_promise_state(p), THRUM_PROMISE_RESOLVED);
	thrum_promise_unref(p);
	world_finish(&world);
}

/* Promises that are left at the end are destroyed; their callbacks do not run. */
static void test_leftovers(void **state)
{
	struct fixture f = {.ran = 0};
	struct thrum_promise *p, *q;

	world_init(&f.world);
	p = thrum_promise_wait(f.world.loop, NULL, &f.resolver[0]);
	q = thrum_promise_return(f.world.loop, token_value(&f.world, 1));
	p = thrum_promise_bind(p, then, CLOSURE(&f, 2));
	p = thrum_promise_both(p, thrum_promise_fail(f.world.loop, FAIL, "left"));
	assert_non_null(q);
	assert_non_null(p);
	thrum_loop_destroy(f.world.loop);
	assert_int_equal(f.world.alive, 0);
	assert_int_equal(f.ran, 0);
	f.world.loop = NULL;
	world_finish(&f.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_laws),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_take_both),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
