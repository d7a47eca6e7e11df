/* SPDX-License-Identifier: ISC */
/* Callbacks and destructors that end, cancel or destroy their caller, and promises that wait for
 * themselves. Most errors here only show under a sanitizer. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LIST(...) ((struct thrum_promise *[]){__VA_ARGS__})

struct fixture {
	struct world world;
	struct thrum_loop *loop;
	struct thrum_condition *condition;
	struct thrum_mutex *mutex;
	struct thrum_mvar *mvar;
	struct thrum_semaphore *semaphore;
	struct thrum_stream *stream;
	int heard;
};

static void init(struct fixture *f)
{
	*f = (struct fixture){.heard = 0};
	world_init(&f->world);
	f->loop = f->world.loop;
	f->condition = thrum_condition_create(f->loop, NULL);
	f->mutex = thrum_mutex_create(f->loop, NULL);
	f->mvar = thrum_mvar_create(f->loop, NULL);
	f->semaphore = thrum_semaphore_create(f->loop, NULL, 1);
	f->stream = thrum_stream_create(f->loop, NULL, 1);
}

/* Destroys each once, also if a destructor calls this again. */
static void destroy_all(struct fixture *f)
{
	struct fixture old = *f;

	f->condition = NULL;
	f->mutex = NULL;
	f->mvar = NULL;
	f->semaphore = NULL;
	f->stream = NULL;
	thrum_condition_destroy(old.condition);
	thrum_mutex_destroy(old.mutex);
	thrum_mvar_destroy(old.mvar);
	thrum_semaphore_destroy(old.semaphore);
	thrum_stream_destroy(old.stream);
}

static void finish(struct fixture *f)
{
	destroy_all(f);
	assert_int_equal(thrum_loop_promises(f->loop), 0);
	world_finish(&f->world);
}

/* ---- Waiters that destroy the object that they wait for -------------------------------------- */

static struct thrum_value value(struct fixture *f)
{
	return token_value(&f->world, 1);
}

static void fill(struct thrum_promise *promise)
{
	assert_int_equal(thrum_promise_state(promise), THRUM_PROMISE_RESOLVED);
	thrum_promise_unref(promise);
}

static struct thrum_promise *wait_signal(struct fixture *f)
{
	return thrum_condition_wait(f->condition, NULL);
}

static struct thrum_promise *wait_lock(struct fixture *f)
{
	fill(thrum_mutex_lock(f->mutex));
	return thrum_mutex_lock(f->mutex);
}

static struct thrum_promise *wait_take(struct fixture *f)
{
	return thrum_mvar_take(f->mvar);
}

static struct thrum_promise *wait_put(struct fixture *f)
{
	fill(thrum_mvar_put(f->mvar, value(f)));
	return thrum_mvar_put(f->mvar, value(f));
}

static struct thrum_promise *wait_acquire(struct fixture *f)
{
	fill(thrum_semaphore_acquire(f->semaphore));
	return thrum_semaphore_acquire(f->semaphore);
}

static struct thrum_promise *wait_next(struct fixture *f)
{
	return thrum_stream_next(f->stream);
}

static struct thrum_promise *wait_push(struct fixture *f)
{
	fill(thrum_stream_push(f->stream, value(f)));
	return thrum_stream_push(f->stream, value(f));
}

static void end_signal(struct fixture *f)
{
	thrum_condition_signal(f->condition, value(f));
}

static void end_broadcast(struct fixture *f)
{
	thrum_condition_broadcast(f->condition, value(f));
}

static void end_unlock(struct fixture *f)
{
	thrum_mutex_unlock(f->mutex);
}

static void end_put(struct fixture *f)
{
	fill(thrum_mvar_put(f->mvar, value(f)));
}

static void end_take(struct fixture *f)
{
	fill(thrum_mvar_take(f->mvar));
}

static void end_release(struct fixture *f)
{
	thrum_semaphore_release(f->semaphore);
}

static void end_push(struct fixture *f)
{
	fill(thrum_stream_push(f->stream, value(f)));
}

static void end_next(struct fixture *f)
{
	fill(thrum_stream_next(f->stream));
}

static void end_close(struct fixture *f)
{
	thrum_stream_close(f->stream);
}

static void hear(struct thrum_loop *loop, void *data)
{
	struct fixture *f = data;

	f->heard++;
	destroy_all(f);
}

static void test_destroyed(void **state)
{
	static const struct {
		struct thrum_promise *(*wait)(struct fixture *);
		void (*end)(struct fixture *);
	} cases[] = {
		{wait_signal, end_signal},
		{wait_signal, end_broadcast},
		{wait_lock, end_unlock},
		{wait_take, end_put},
		{wait_put, end_take},
		{wait_acquire, end_release},
		{wait_next, end_push},
		{wait_next, end_close},
		{wait_push, end_next},
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct thrum_promise *p;
		struct fixture f;

		init(&f);
		p = cases[i / 2].wait(&f);
		thrum_promise_on_termination(thrum_promise_ref(p), hear, &f, NULL);
		if (i % 2)
			thrum_promise_cancel(p);
		else
			cases[i / 2].end(&f);
		thrum_promise_unref(p);
		assert_int_equal(f.heard, 1);
		finish(&f);
	}
}

/* ---- Destructors ----------------------------------------------------------------------------- */

static void signal_other(void *data)
{
	struct fixture *f = data;

	thrum_condition_signal(f->condition, thrum_value_none());
}

/* One cancellation ends both. The destroyed value of the first one signals the condition that the
 * second one waits for. */
static void test_cancel_destroys_value(void **state)
{
	struct thrum_promise *p;
	struct fixture f;

	init(&f);
	fill(thrum_stream_push(f.stream, value(&f)));
	p = thrum_stream_push(f.stream, thrum_value_own(&f, signal_other));
	p = thrum_promise_join(f.loop, LIST(p, thrum_condition_wait(f.condition, NULL)), 2);
	thrum_promise_cancel(p);
	assert_int_equal(outcome(p), THRUM_CANCELED);
	thrum_promise_unref(p);
	finish(&f);
}

static struct thrum_promise *nothing(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static void resolve_it(void *data)
{
	thrum_resolver_resolve(data, thrum_value_none());
}

/* The destructor of each closure ends the promise before it; the stack stays small. */
static void test_destructor_chain(void **state)
{
	struct thrum_resolver *before = NULL, *resolver;
	struct thrum_promise *p;
	struct fixture f;

	init(&f);
	for (int i = 0; i < 100000; i++) {
		p = thrum_promise_wait(f.loop, NULL, &resolver);
		thrum_promise_unref(thrum_promise_bind(p, nothing, before, resolve_it));
		before = resolver;
	}
	thrum_resolver_resolve(before, thrum_value_none());
	finish(&f);
}

static void cancel_it(void *data)
{
	thrum_promise_cancel(*(struct thrum_promise **)data);
}

/* A promise that nobody can end is freed, with all that waits for it. A destructor meanwhile
 * cancels the promise that is being freed, and ends a race that it is in. */
static void test_gone(void **state)
{
	struct thrum_promise *never, *late = NULL, *race, *task;
	struct thrum_resolver *resolver;
	struct fixture f;

	init(&f);
	never = thrum_promise_choose(f.loop, NULL, 0);
	late = thrum_promise_bind(thrum_promise_protected(thrum_promise_ref(never)), nothing, NULL,
		NULL);
	race = thrum_promise_protected(thrum_promise_ref(never));
	task = thrum_promise_task(f.loop, NULL, &resolver);
	race = thrum_promise_pick(f.loop, LIST(race, thrum_promise_ref(never), task), 3);
	thrum_promise_on_success(thrum_promise_ref(never), NULL, &late, cancel_it);
	thrum_promise_on_success(thrum_promise_ref(never), NULL, resolver, resolve_it);
	thrum_promise_unref(never);
	thrum_promise_unref(late);
	thrum_promise_unref(race);
	finish(&f);
}

/* ---- Promises that wait for themselves ------------------------------------------------------- */

static struct thrum_promise *wait_for_whole(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *whole = thrum_promise_ref(*(struct thrum_promise **)data);

	for (int i = 0; i < 5; i++)
		whole = thrum_promise_bind(whole, nothing, NULL, NULL);
	return whole;
}

/* A circle never ends by itself; cancelling ends it, also from a promise beside it. */
static void test_circle(void **state)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *p, *side;
	struct fixture f;

	init(&f);
	p = thrum_promise_bind(thrum_promise_task(f.loop, NULL, &resolver), wait_for_whole, &p,
		NULL);
	side = thrum_promise_bind(thrum_promise_ref(p), nothing, NULL, NULL);
	thrum_resolver_resolve(resolver, thrum_value_none());
	thrum_promise_cancel(p);
	thrum_promise_cancel(side);
	assert_int_equal(thrum_promise_state(p), THRUM_PROMISE_PENDING);
	assert_int_equal(thrum_promise_state(side), THRUM_PROMISE_PENDING);
	thrum_promise_unref(p);
	thrum_promise_unref(side);
	destroy_all(&f);
	world_finish(&f.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_destroyed),
		cmocka_unit_test(test_cancel_destroys_value),
		cmocka_unit_test(test_destructor_chain),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
