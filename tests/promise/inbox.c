/* SPDX-License-Identifier: ISC */
/* Functions that run in another thread's loop, and the ends of their calls. */
#include "uv_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY 1000

/* A thread with a loop and an inbox, which runs until the inbox is closed. */
struct other {
	uv_loop_t uv;
	uv_thread_t thread;
	struct thrum_loop *loop;
	struct thrum_inbox *inbox;
	uv_sem_t ready;
	bool drops; /* destroys the loop when the inbox is still open and work under way */
	atomic_int destroyed, ran;
	struct thrum_promise *kept; /* that the function `keep` returned */
	struct thrum_resolver *resolver;
	int order[MANY];
};

static void run_other(void *data)
{
	struct other *other = data;

	if (uv_loop_init(&other->uv) || thrum_loop_create(&other->uv, &other->loop))
		abort();
	other->inbox = thrum_inbox_create(other->loop, "other");
	if (!other->inbox)
		abort();
	uv_sem_post(&other->ready);
	uv_run(&other->uv, UV_RUN_DEFAULT);
	if (!other->drops) {
		thrum_resolver_drop(other->resolver);
		thrum_promise_unref(other->kept);
	}
	thrum_loop_destroy(other->loop);
	uv_run(&other->uv, UV_RUN_DEFAULT);
	if (uv_loop_close(&other->uv))
		abort();
}

static void other_start(struct other *other)
{
	*other = (struct other){.drops = false};
	assert_int_equal(uv_sem_init(&other->ready, 0), 0);
	assert_int_equal(uv_thread_create(&other->thread, run_other, other), 0);
	uv_sem_wait(&other->ready);
}

static void count_destroy(void *data)
{
	atomic_fetch_add(&((struct other *)data)->destroyed, 1);
}

static struct thrum_promise *close_it(struct thrum_loop *loop, void *data)
{
	thrum_inbox_close(((struct other *)data)->inbox);
	return thrum_promise_return(loop, thrum_value_none());
}

/* Ends the loop without closing the inbox. */
static struct thrum_promise *stop_it(struct thrum_loop *loop, void *data)
{
	((struct other *)data)->drops = true;
	uv_stop(thrum_loop_uv(loop));
	return thrum_promise_return(loop, thrum_value_none());
}

static void other_join(struct other *other)
{
	uv_thread_join(&other->thread);
	thrum_inbox_unref(other->inbox);
	uv_sem_destroy(&other->ready);
}

static void other_finish(struct other *other)
{
	assert_int_equal(thrum_inbox_post(other->inbox, "close", close_it, other, NULL), 0);
	other_join(other);
}

static struct thrum_promise *double_it(struct thrum_loop *loop, void *data)
{
	int *number = data;

	return thrum_promise_return(loop, thrum_value_int(*number * 2));
}

static void test_calls(void **state)
{
	static int number[MANY];
	struct thrum_promise *promise[MANY];
	struct other other;
	struct world world;

	world_init(&world);
	other_start(&other);
	for (int i = 0; i < MANY; i++) {
		number[i] = i;
		promise[i] = thrum_inbox_call(other.inbox, world.loop, "double", double_it,
			&number[i], NULL);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(settle(thrum_promise_ref(promise[i])), 0);
		assert_int_equal(thrum_int(thrum_promise_value(promise[i])), i * 2);
		thrum_promise_unref(promise[i]);
	}
	other_finish(&other);
	world_finish(&world);
}

static struct thrum_promise *note(struct thrum_loop *loop, void *data)
{
	struct other *other = data;
	int at = atomic_fetch_add(&other->ran, 1);

	other->order[at] = at;
	return thrum_promise_return(loop, thrum_value_none());
}

static void test_posts(void **state)
{
	struct other other;

	other_start(&other);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(thrum_inbox_post(other.inbox, NULL, note, &other, count_destroy),
			0);
	/* The post that closes comes after them. */
	other_finish(&other);
	assert_int_equal(other.ran, MANY);
	assert_int_equal(other.destroyed, MANY);
}

static struct thrum_promise *give_later(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_return(loop, thrum_value_own(strdup("a value"), free));
}

static struct thrum_promise *sleep_and_give(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 1), give_later, NULL, NULL);
}

static struct thrum_promise *be_unlucky(struct thrum_loop *loop, void *data)
{
	return thrum_promise_fail(loop, 7, "no %s", "luck");
}

static struct thrum_promise *fail_without_memory(struct thrum_loop *loop, void *data)
{
	return NULL;
}

static struct thrum_promise *share(struct thrum_loop *loop, void *data)
{
	struct other *other = data;

	other->kept = thrum_promise_return(loop, thrum_value_own(strdup("mine"), free));
	return thrum_promise_ref(other->kept);
}

static void test_ends(void **state)
{
	struct thrum_promise *promise;
	const struct thrum_failure *failure;
	struct other other;
	struct world world;
	char *value;

	world_init(&world);
	other_start(&other);
	value = value_of(settled(
		thrum_inbox_call(other.inbox, world.loop, "later", sleep_and_give, NULL, NULL)));
	assert_string_equal(value, "a value");
	free(value);

	promise = settled(thrum_inbox_call(other.inbox, world.loop, "fail", be_unlucky, &other,
		count_destroy));
	failure = thrum_promise_failure(promise);
	assert_non_null(failure);
	assert_int_equal(failure->code, 7);
	assert_string_equal(failure->message, "no luck");
	assert_string_equal(failure->function, "be_unlucky");
	thrum_promise_unref(promise);
	assert_int_equal(other.destroyed, 1);

	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, NULL, fail_without_memory,
				 NULL, NULL)),
		-ENOMEM);
	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, NULL, share, &other,
				 NULL)),
		-EBUSY);
	other_finish(&other);
	world_finish(&world);
}

static struct thrum_promise *keep(struct thrum_loop *loop, void *data)
{
	struct other *other = data;
	struct thrum_promise *promise = thrum_promise_task(loop, "kept", &other->resolver);

	atomic_fetch_add(&other->ran, 1);
	return promise;
}

static struct thrum_promise *wait_for_test(struct thrum_loop *loop, void *data)
{
	uv_sem_wait(data);
	return thrum_promise_return(loop, thrum_value_none());
}

static void test_cancel(void **state)
{
	struct thrum_promise *promise;
	struct other other;
	struct world world;
	uv_sem_t let_go;

	world_init(&world);
	other_start(&other);
	assert_int_equal(uv_sem_init(&let_go, 0), 0);
	/* Before it has begun: it never does. */
	assert_int_equal(thrum_inbox_post(other.inbox, "busy", wait_for_test, &let_go, NULL), 0);
	promise = thrum_inbox_call(other.inbox, world.loop, "keep", keep, &other, count_destroy);
	thrum_promise_cancel(promise);
	assert_int_equal(code_of(promise), THRUM_CANCELED);
	thrum_promise_unref(promise);
	/* A call that was cancelled keeps no loop running. */
	assert_int_equal(uv_run(&world.uv, UV_RUN_NOWAIT), 0);
	uv_sem_post(&let_go);
	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, NULL, double_it,
				 &(int){1}, NULL)),
		0);
	assert_int_equal(other.ran, 0);
	assert_int_equal(other.destroyed, 1);
	/* While it runs: its promise is cancelled. */
	promise = thrum_inbox_call(other.inbox, world.loop, "keep", keep, &other, count_destroy);
	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, NULL, double_it,
				 &(int){1}, NULL)),
		0);
	assert_int_equal(other.ran, 1);
	thrum_promise_cancel(promise);
	thrum_promise_unref(promise);
	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, NULL, double_it,
				 &(int){1}, NULL)),
		0);
	assert_int_equal(other.destroyed, 2);
	other_finish(&other);
	uv_sem_destroy(&let_go);
	world_finish(&world);
}

static void test_closed(void **state)
{
	struct thrum_promise *waits;
	struct other other;
	struct world world;
	uv_sem_t let_go;

	world_init(&world);
	other_start(&other);
	assert_int_equal(uv_sem_init(&let_go, 0), 0);
	assert_int_equal(thrum_inbox_post(other.inbox, "busy", wait_for_test, &let_go, NULL), 0);
	assert_int_equal(thrum_inbox_post(other.inbox, "close", close_it, &other, NULL), 0);
	waits = thrum_inbox_call(other.inbox, world.loop, "late", keep, &other, count_destroy);
	uv_sem_post(&let_go);
	assert_int_equal(settle(waits), THRUM_BROKEN);
	uv_thread_join(&other.thread);
	/* The loop is gone, and the inbox is still there. */
	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, "later", keep, &other,
				 count_destroy)),
		THRUM_BROKEN);
	assert_int_equal(thrum_inbox_post(other.inbox, NULL, keep, &other, count_destroy),
		THRUM_BROKEN);
	assert_int_equal(other.destroyed, 3);
	assert_int_equal(other.ran, 0);
	thrum_inbox_unref(other.inbox);
	uv_sem_destroy(&other.ready);
	uv_sem_destroy(&let_go);
	world_finish(&world);
}

/* A call that has begun fails when its loop is destroyed. */
static void test_loop_destroyed(void **state)
{
	struct thrum_promise *promise;
	struct other other;
	struct world world;

	world_init(&world);
	other_start(&other);
	promise = thrum_inbox_call(other.inbox, world.loop, "keep", keep, &other, count_destroy);
	assert_int_equal(thrum_inbox_post(other.inbox, "stop", stop_it, &other, NULL), 0);
	assert_int_equal(settle(promise), THRUM_BROKEN);
	other_join(&other);
	assert_int_equal(other.destroyed, 1);
	world_finish(&world);
}

/* The caller's loop may end first: then nobody gets the value. */
static void test_caller_destroyed(void **state)
{
	struct thrum_loop *loop;
	struct other other;
	uv_loop_t uv;

	assert_int_equal(uv_loop_init(&uv), 0);
	assert_int_equal(thrum_loop_create(&uv, &loop), 0);
	other_start(&other);
	for (int i = 0; i < 3; i++)
		thrum_promise_unref(thrum_inbox_call(other.inbox, loop, "value", sleep_and_give,
			&other, count_destroy));
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&uv), 0);
	while (other.destroyed < 3)
		uv_sleep(1);
	other_finish(&other);
}

/* A loop may call itself. Also without memory everything is given back. */
static void test_memory(void **state)
{
	for (size_t fail = 0; fail < 40; fail++) {
		struct other counts = {.drops = false};
		struct thrum_promise *promise;
		struct thrum_inbox *inbox;
		struct world world;
		int code;

		world_init(&world);
		world.fail_from = fail ? fail : SIZE_MAX;
		world.fail_to = world.fail_from + fail % 3;
		inbox = thrum_inbox_create(world.loop, "own");
		promise = thrum_inbox_call(inbox, world.loop, "call", sleep_and_give, &counts,
			count_destroy);
		code = inbox ? settle(promise) : -ENOMEM;
		assert_true(code == 0 || code == -ENOMEM || code == THRUM_BROKEN);
		assert_true(fail || code == 0);
		code = thrum_inbox_post(inbox, "post", note, &counts, count_destroy);
		assert_int_equal(code, !inbox ? -EINVAL : counts.destroyed == 2 ? -ENOMEM : 0);
		go_round(&world, 3);
		assert_int_equal(counts.destroyed, 2);
		thrum_inbox_close(inbox);
		thrum_inbox_close(inbox);
		thrum_inbox_unref(inbox);
		world_finish(&world);
	}
}

static void test_null(void **state)
{
	struct other counts = {.drops = false};
	struct world world;

	world_init(&world);
	assert_null(thrum_inbox_create(NULL, "none"));
	assert_int_equal(thrum_inbox_post(NULL, NULL, note, &counts, count_destroy), -EINVAL);
	assert_null(thrum_inbox_call(NULL, world.loop, NULL, note, &counts, count_destroy));
	assert_int_equal(counts.destroyed, 2);
	assert_null(thrum_inbox_ref(NULL));
	thrum_inbox_unref(NULL);
	thrum_inbox_close(NULL);
	world_finish(&world);
}

static void test_recording(void **state)
{
	const struct seen_task *call, *function;
	struct other other;
	struct world world;
	struct seen seen;

	record();
	world_init(&world);
	other_start(&other);
	assert_int_equal(settle(thrum_inbox_call(other.inbox, world.loop, "double", double_it,
				 &(int){4}, NULL)),
		0);
	other_finish(&other);
	seen = seen_all();
	call = seen_task(&seen, THRUM_KIND_PROMISE, "double");
	function = seen_task(&seen, THRUM_KIND_TASK, "double");
	assert_int_equal(function->parent, call->id);
	assert_int_equal(function->end, THRUM_EVENT_RESOLVE);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, call->id, function->id), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_READ, call->id, function->id), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_WAIT, function->id,
				 seen_task(&seen, THRUM_KIND_MAILBOX, "other")->id),
		1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LINK_SEND, call->id, 0), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LINK_RECEIVE, function->id, 0), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LINK_SEND, function->id, 0), 1);
	assert_int_equal(seen_count(&seen, THRUM_EVENT_LINK_RECEIVE, call->id, 0), 1);
	seen_free(&seen);
	world_finish(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_posts),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_loop_destroyed),
		cmocka_unit_test(test_caller_destroyed),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
