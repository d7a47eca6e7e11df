/* SPDX-License-Identifier: ISC */
/* Cancellation. A table, derived from the documentation of Lwt's cancel, on_cancel, protected,
 * no_cancel, pick and the functions between, says which promises fail when one is cancelled. Other
 * tests cover the order, many ways to one promise, long ways, and callbacks that cancel. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define C THRUM_CANCELED

/* Two promises from task and one from wait: t, u and w; and a value v. */
struct fixture {
	struct world world;
	struct thrum_loop *loop;
	struct thrum_promise *t, *u, *w, *v, *inner;
	struct thrum_resolver *resolve_t, *resolve_u, *resolve_w;
	char log[64];
};

static void note(struct fixture *f, const char *what)
{
	strncat(f->log, what, sizeof(f->log) - strlen(f->log) - 1);
}

static struct thrum_promise *ref(struct thrum_promise *promise)
{
	return thrum_promise_ref(promise);
}

static struct thrum_promise *to_u(struct thrum_loop *loop, void *value, void *data)
{
	return ref(((struct fixture *)data)->u);
}

static struct thrum_promise *to_w(struct thrum_loop *loop, void *value, void *data)
{
	return ref(((struct fixture *)data)->w);
}

static struct thrum_promise *handle_to_u(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	return ref(((struct fixture *)data)->u);
}

static struct thrum_promise *handle_to_7(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct fixture *f = data;

	return thrum_promise_return(loop, token_value(&f->world, 7));
}

static struct thrum_promise *cleanup_u(struct thrum_loop *loop, void *data)
{
	return ref(((struct fixture *)data)->u);
}

static struct thrum_value same(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_value_none();
}

static void ignore_value(struct thrum_loop *loop, void *seen, void *data)
{
}

#define LIST(...) \
	(struct thrum_promise *[]) \
	{ \
		__VA_ARGS__ \
	}

/* The promise to cancel. */
static struct thrum_promise *task(struct fixture *f)
{
	return ref(f->t);
}

static struct thrum_promise *wait(struct fixture *f)
{
	return ref(f->w);
}

static struct thrum_promise *value(struct fixture *f)
{
	return ref(f->v);
}

static struct thrum_promise *bind_task(struct fixture *f)
{
	return thrum_promise_bind(ref(f->t), to_u, f, NULL);
}

static struct thrum_promise *bind_wait(struct fixture *f)
{
	return thrum_promise_bind(ref(f->w), to_u, f, NULL);
}

static struct thrum_promise *bind_to_task(struct fixture *f)
{
	return thrum_promise_bind(ref(f->v), to_u, f, NULL);
}

/* The callback ran later and returned u, which others wait for too, or nobody. */
static struct thrum_promise *bound_to_task(struct fixture *f)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *p = thrum_promise_wait(f->loop, NULL, &resolver);

	p = thrum_promise_bind(p, to_u, f, NULL);
	thrum_resolver_resolve(resolver, thrum_value_none());
	return p;
}

static struct thrum_promise *bound_to_shared_task(struct fixture *f)
{
	thrum_promise_on_success(ref(f->u), ignore_value, NULL, NULL);
	return bound_to_task(f);
}

static struct thrum_promise *bound_twice(struct fixture *f)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *p = thrum_promise_wait(f->loop, NULL, &resolver), *q;

	q = thrum_promise_bind(ref(p), to_u, f, NULL);
	p = thrum_promise_bind(p, to_u, f, NULL);
	thrum_resolver_resolve(resolver, thrum_value_none());
	thrum_promise_unref(q);
	return p;
}

static struct thrum_promise *bound_to_wait(struct fixture *f)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *p = thrum_promise_wait(f->loop, NULL, &resolver);

	p = thrum_promise_bind(p, to_w, f, NULL);
	thrum_resolver_resolve(resolver, thrum_value_none());
	return p;
}

static struct thrum_promise *map_task(struct fixture *f)
{
	return thrum_promise_map(ref(f->t), same, f, NULL);
}

static struct thrum_promise *catch_to_value(struct fixture *f)
{
	return thrum_promise_catch(ref(f->t), handle_to_7, f, NULL);
}

static struct thrum_promise *catch_to_task(struct fixture *f)
{
	return thrum_promise_catch(ref(f->t), handle_to_u, f, NULL);
}

static struct thrum_promise *try_bind(struct fixture *f)
{
	return thrum_promise_try_bind(ref(f->t), to_u, handle_to_7, f, NULL);
}

static struct thrum_promise *finalize(struct fixture *f)
{
	return thrum_promise_finalize(ref(f->t), cleanup_u, f, NULL);
}

static struct thrum_promise *finalizing(struct fixture *f)
{
	return thrum_promise_finalize(ref(f->v), cleanup_u, f, NULL);
}

static struct thrum_promise *join(struct fixture *f)
{
	return thrum_promise_join(f->loop, LIST(ref(f->t), ref(f->u)), 2);
}

static struct thrum_promise *join_wait(struct fixture *f)
{
	return thrum_promise_join(f->loop, LIST(ref(f->t), ref(f->w)), 2);
}

static struct thrum_promise *both(struct fixture *f)
{
	return thrum_promise_both(ref(f->t), ref(f->u));
}

static struct thrum_promise *choose(struct fixture *f)
{
	return thrum_promise_choose(f->loop, LIST(ref(f->t), ref(f->u)), 2);
}

static struct thrum_promise *choose_wait(struct fixture *f)
{
	return thrum_promise_choose(f->loop, LIST(ref(f->w), ref(f->u)), 2);
}

static struct thrum_promise *choose_none(struct fixture *f)
{
	return thrum_promise_choose(f->loop, NULL, 0);
}

static struct thrum_promise *pick(struct fixture *f)
{
	return thrum_promise_pick(f->loop, LIST(ref(f->t), ref(f->u)), 2);
}

static struct thrum_promise *npick(struct fixture *f)
{
	return thrum_promise_npick(f->loop, LIST(ref(f->t), ref(f->u)), 2);
}

static struct thrum_promise *pick_ended(struct fixture *f)
{
	return thrum_promise_pick(f->loop, LIST(ref(f->t), ref(f->v), ref(f->w)), 3);
}

static struct thrum_promise *npick_ended(struct fixture *f)
{
	return thrum_promise_npick(f->loop, LIST(ref(f->t), ref(f->w), ref(f->v)), 3);
}

static struct thrum_promise *choose_ended(struct fixture *f)
{
	return thrum_promise_choose(f->loop, LIST(ref(f->t), ref(f->v)), 2);
}

static struct thrum_promise *protect(struct fixture *f)
{
	return thrum_promise_protected(ref(f->t));
}

static struct thrum_promise *bind_protected(struct fixture *f)
{
	return thrum_promise_bind(protect(f), to_u, f, NULL);
}

static struct thrum_promise *no_cancel(struct fixture *f)
{
	return thrum_promise_no_cancel(ref(f->t));
}

static struct thrum_promise *protected_wait(struct fixture *f)
{
	return thrum_promise_protected(ref(f->w));
}

static struct thrum_promise *no_cancel_in_pick(struct fixture *f)
{
	return thrum_promise_pick(f->loop, LIST(no_cancel(f), ref(f->u)), 2);
}

struct edge {
	const char *name;
	struct thrum_promise *(*make)(struct fixture *);
	int result, t, u, w; /* afterwards; 0: pending */
};

/* clang-format off */
static const struct edge edges[] = {
	{"task", task, C, C, 0, 0},
	{"wait can't be", wait, 0, 0, 0, 0},
	{"what has ended", value, 5, 0, 0, 0},
	{"bind: what it waits for", bind_task, C, C, 0, 0},
	{"bind of a wait", bind_wait, 0, 0, 0, 0},
	{"bind that is u", bind_to_task, C, 0, C, 0},
	{"bind that became u", bound_to_task, C, 0, C, 0},
	{"bind that became u, for which others wait", bound_to_shared_task, C, 0, C, 0},
	{"two binds that became u", bound_twice, C, 0, C, 0},
	{"bind that became a wait", bound_to_wait, 0, 0, 0, 0},
	{"map", map_task, C, C, 0, 0},
	{"catch handles it", catch_to_value, 7, C, 0, 0},
	{"catch goes on as another", catch_to_task, 0, C, 0, 0},
	{"try_bind handles it", try_bind, 7, C, 0, 0},
	{"finalize: cleanup goes on", finalize, 0, C, 0, 0},
	{"finalize: in the cleanup", finalizing, C, 0, C, 0},
	{"join: all", join, C, C, C, 0},
	{"join: still waits for the others", join_wait, 0, C, 0, 0},
	{"both", both, C, C, C, 0},
	{"choose: all", choose, C, C, C, 0},
	{"choose: those that can be", choose_wait, C, 0, C, 0},
	{"choose of nothing", choose_none, 0, 0, 0, 0},
	{"pick", pick, C, C, C, 0},
	{"npick", npick, C, C, C, 0},
	{"pick had cancelled", pick_ended, 5, C, 0, 0},
	{"choose hadn't", choose_ended, 5, 0, 0, 0},
	{"protected: only itself", protect, C, 0, 0, 0},
	{"bind of protected", bind_protected, C, 0, 0, 0},
	{"no_cancel", no_cancel, 0, 0, 0, 0},
	{"protected wait", protected_wait, C, 0, 0, 0},
	{"pick of no_cancel", no_cancel_in_pick, C, 0, C, 0},
};
/* clang-format on */

static void init(struct fixture *f)
{
	*f = (struct fixture){.log = ""};
	world_init(&f->world);
	f->loop = f->world.loop;
	f->t = thrum_promise_task(f->loop, "t", &f->resolve_t);
	f->u = thrum_promise_task(f->loop, "u", &f->resolve_u);
	f->w = thrum_promise_wait(f->loop, "w", &f->resolve_w);
	f->v = thrum_promise_return(f->loop, token_value(&f->world, 5));
}

static void finish(struct fixture *f)
{
	/* A resolver consumes the value also when its promise was cancelled. */
	thrum_resolver_resolve(f->resolve_t, token_value(&f->world, 1));
	thrum_resolver_resolve(f->resolve_u, token_value(&f->world, 2));
	thrum_resolver_resolve(f->resolve_w, token_value(&f->world, 3));
	thrum_promise_unref(f->t);
	thrum_promise_unref(f->u);
	thrum_promise_unref(f->w);
	thrum_promise_unref(f->v);
	assert_int_equal(thrum_loop_promises(f->loop), 0);
	world_finish(&f->world);
}

static void test_edges(void **state)
{
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		const struct edge *edge = &edges[i];
		struct thrum_promise *p;
		struct fixture f;

		init(&f);
		p = edge->make(&f);
		thrum_promise_cancel(p);
		if (outcome(p) != edge->result || outcome(f.t) != edge->t ||
			outcome(f.u) != edge->u || outcome(f.w) != edge->w)
			fail_msg("%s: %d, t %d, u %d, w %d", edge->name, outcome(p), outcome(f.t),
				outcome(f.u), outcome(f.w));
		thrum_promise_unref(p);
		finish(&f);
	}
}

/* pick and npick with a source that had ended before: they cancel the rest at once. */
static void test_ended_before(void **state)
{
	struct thrum_promise *p;
	struct fixture f;

	init(&f);
	p = npick_ended(&f);
	assert_int_equal(outcome(f.t), C);
	assert_int_equal(thrum_promise_state(p), THRUM_PROMISE_RESOLVED);
	assert_int_equal(((struct thrum_items *)thrum_promise_value(p))->count, 1);
	assert_int_equal(((struct thrum_items *)thrum_promise_value(p))->item[0].index, 2);
	thrum_promise_unref(p);
	finish(&f);
}

/* A cancellation goes forwards; promises that shield stop it on its way backwards. */
static void test_forward(void **state)
{
	struct thrum_promise *p, *q, *r;
	struct fixture f;

	init(&f);
	p = no_cancel(&f);
	q = protect(&f);
	r = bind_task(&f);
	thrum_promise_cancel(f.t);
	assert_int_equal(outcome(p), C);
	assert_int_equal(outcome(q), C);
	assert_int_equal(outcome(r), C);
	thrum_promise_unref(p);
	thrum_promise_unref(q);
	thrum_promise_unref(r);
	finish(&f);
}

static void log_cancel(struct thrum_loop *loop, void *data)
{
	note(data, "c");
}

static void log_end(struct thrum_loop *loop, void *data)
{
	note(data, "e");
}

static void log_failing(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	assert_int_equal(failure->code, C);
	assert_non_null(strstr(failure->file, "cancel.c"));
	note(data, "f");
}

/* on_cancel comes before the other callbacks, also when the promise fails with the code by hand. */
static void test_order(void **state)
{
	struct fixture f;

	init(&f);
	for (int i = 0; i < 2; i++) {
		thrum_promise_on_failure(ref(f.t), log_failing, &f, NULL);
		thrum_promise_on_termination(ref(f.t), log_end, &f, NULL);
		thrum_promise_on_cancel(ref(f.t), log_cancel, &f, NULL);
	}
	thrum_promise_on_cancel(ref(f.w), log_cancel, &f, NULL);
	thrum_promise_cancel(f.t);
	assert_string_equal(f.log, "ccfefe");
	thrum_promise_on_cancel(ref(f.t), log_cancel, &f, NULL);
	assert_string_equal(f.log, "ccfefec");
	thrum_resolver_fail(f.resolve_w, C, NULL);
	f.resolve_w = NULL;
	assert_string_equal(f.log, "ccfefecc");
	finish(&f);
}

/* The losers are cancelled before the pick itself ends. */
static void test_pick_order(void **state)
{
	struct thrum_promise *p;
	struct fixture f;

	init(&f);
	thrum_promise_on_cancel(ref(f.u), log_cancel, &f, NULL);
	p = pick(&f);
	thrum_promise_on_termination(ref(p), log_end, &f, NULL);
	thrum_resolver_resolve(f.resolve_t, token_value(&f.world, 4));
	f.resolve_t = NULL;
	assert_string_equal(f.log, "ce");
	assert_int_equal(outcome(p), 4);
	assert_int_equal(outcome(f.u), C);
	thrum_promise_unref(p);
	finish(&f);
}

static void cancel_it(struct thrum_loop *loop, void *data)
{
	thrum_promise_cancel(data);
}

static void unref_it(void *data)
{
	thrum_promise_unref(data);
}

/* A callback of a loser cancels the pick, which is too late. */
static void test_reentry(void **state)
{
	struct thrum_promise *p;
	struct fixture f;

	init(&f);
	p = pick(&f);
	thrum_promise_on_cancel(ref(f.u), cancel_it, ref(p), unref_it);
	thrum_resolver_resolve(f.resolve_t, token_value(&f.world, 4));
	f.resolve_t = NULL;
	assert_int_equal(outcome(p), 4);
	thrum_promise_unref(p);
	/* Another cancels the promise that is being cancelled. */
	p = join_wait(&f);
	thrum_promise_on_cancel(ref(p), cancel_it, ref(p), unref_it);
	thrum_promise_cancel(p);
	thrum_promise_unref(p);
	finish(&f);
}

/* 2^64 ways to one promise; then a chain of a million. */
static void test_ways(void **state)
{
	struct thrum_promise *p;
	struct fixture f;

	init(&f);
	p = ref(f.t);
	for (int i = 0; i < 64; i++)
		p = thrum_promise_join(f.loop, LIST(ref(p), p), 2);
	thrum_promise_cancel(p);
	assert_int_equal(outcome(p), C);
	thrum_promise_unref(p);
	p = ref(f.u);
	for (int i = 0; i < 1000000; i++)
		p = thrum_promise_map(p, same, NULL, NULL);
	thrum_promise_cancel(p);
	assert_int_equal(outcome(p), C);
	thrum_promise_unref(p);
	finish(&f);
}

/* A promise that lives through many races keeps nothing of them. */
static void test_races(void **state)
{
	struct fixture f;

	init(&f);
	for (int i = 0; i < 1000; i++) {
		struct thrum_resolver *resolver;
		struct thrum_promise *p = thrum_promise_task(f.loop, NULL, &resolver);

		p = thrum_promise_pick(f.loop, LIST(thrum_promise_no_cancel(ref(f.w)), p), 2);
		p = thrum_promise_choose(f.loop, LIST(thrum_promise_protected(ref(f.w)), p), 2);
		p = thrum_promise_choose(f.loop, LIST(ref(f.w), thrum_promise_protected(p)), 2);
		if (i % 2)
			thrum_promise_cancel(p);
		thrum_resolver_resolve(resolver, token_value(&f.world, i));
		thrum_promise_unref(p);
	}
	assert_int_equal(thrum_loop_promises(f.loop), 4);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_ended_before),
		cmocka_unit_test(test_forward),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_pick_order),
		cmocka_unit_test(test_reentry),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_races),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
