/* SPDX-License-Identifier: ISC */
/* Conditions. */
#include "promise/sync/mutex.h"
#include <stdarg.h>
#include <stdio.h>

struct thrum_condition {
	struct thrum__promise_wait_queue queue;
};

struct thrum_condition *thrum__condition_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct thrum_condition *condition = loop ? thrum__promise_allocate(loop, sizeof(*condition))
						 : NULL;

	if (condition)
		thrum__promise_wait_queue_init(&condition->queue, loop,
			thrum__promise_trace_create(site, THRUM_KIND_CONDITION, label));
	return condition;
}

void thrum_condition_destroy(struct thrum_condition *condition)
{
	if (!condition)
		return;
	thrum__promise_wait_queue_close(&condition->queue, THRUM_BROKEN);
	thrum_task_resolve(condition->queue.task);
	thrum__promise_release(condition->queue.loop, condition);
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* All that locking the mutex again needs, allocated before the mutex is unlocked. */
struct relock {
	struct thrum_loop *loop;
	struct thrum_mutex *mutex;
	struct thrum_promise *locked;
	struct thrum__promise_waiter *waiter;
};

static struct thrum_promise *lock_again(struct thrum_loop *loop, void *data)
{
	struct relock *relock = data;
	struct thrum_promise *locked = relock->locked;
	struct thrum__promise_waiter *waiter = relock->waiter;

	relock->locked = NULL;
	relock->waiter = NULL;
	thrum__promise_mutex_lock_prepared(relock->mutex, waiter);
	return locked;
}

static void destroy_relock(void *data)
{
	struct relock *relock = data;

	if (relock->waiter) {
		thrum_resolver_drop(relock->waiter->resolver);
		thrum__promise_release(relock->loop, relock->waiter);
	}
	thrum_promise_unref(relock->locked);
	thrum__promise_release(relock->loop, relock);
}

static struct relock *prepare_relock(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_mutex *mutex)
{
	struct relock *relock = thrum__promise_allocate(loop, sizeof(*relock));

	if (!relock)
		return NULL;
	relock->loop = loop;
	relock->mutex = mutex;
	relock->locked = thrum__promise_mutex_prepare(site, mutex, &relock->waiter);
	if (relock->waiter)
		return relock;
	destroy_relock(relock);
	return NULL;
}

struct thrum_promise *thrum__condition_wait(struct thrum_site *site,
	struct thrum_condition *condition, struct thrum_mutex *mutex)
{
	struct thrum_promise *signal, *whole;
	struct relock *relock;

	if (!condition)
		return NULL;
	if (!mutex)
		return thrum__promise_wait_queue_join(site, &condition->queue, THRUM_KIND_WAIT,
			NULL, thrum_value_none());
	relock = prepare_relock(site, condition->queue.loop, mutex);
	if (!relock)
		return thrum__promise_no_memory(condition->queue.loop);
	signal = thrum__promise_wait_queue_join(site, &condition->queue, THRUM_KIND_WAIT, NULL,
		thrum_value_none());
	if (thrum_promise_state(signal) == THRUM_PROMISE_FAILED) {
		destroy_relock(relock);
		return signal;
	}
	/* The mutex is unlocked only when locking it again can no longer fail. */
	whole = thrum__promise_finalize(site, thrum_promise_ref(signal), lock_again, relock,
		destroy_relock);
	if (thrum_promise_state(whole) == THRUM_PROMISE_PENDING)
		thrum_mutex_unlock(mutex);
	else
		thrum__promise_cancel(NULL, signal);
	thrum_promise_unref(signal);
	return whole;
}

/* ---- Signals --------------------------------------------------------------------------------- */

size_t thrum_condition_signal(struct thrum_condition *condition, struct thrum_value value)
{
	struct thrum_resolver *resolver = NULL;

	if (condition) {
		thrum__promise_loop_check(condition->queue.loop);
		thrum__promise_wait_queue_record_signal(&condition->queue);
		resolver = thrum__promise_wait_queue_pop(&condition->queue, NULL);
	}
	thrum_resolver_resolve(resolver, value);
	return resolver ? 1 : 0;
}

/* Ends all waiters as `how`, which is consumed. Only those that wait now: callbacks may wait
 * again. */
static size_t signal_all(struct thrum_condition *condition, struct thrum_promise *how)
{
	struct thrum__promise_wait_queue queue;
	struct thrum_resolver *resolver;
	size_t heard = 0;

	thrum__promise_wait_queue_init(&queue, condition->queue.loop, condition->queue.task);
	thrum__promise_wait_queue_record_signal(&condition->queue);
	thrum__promise_wait_queue_move(&condition->queue, &queue);
	for (; (resolver = thrum__promise_wait_queue_pop(&queue, NULL)); heard++)
		thrum_resolver_follow(resolver, thrum_promise_ref(how));
	thrum_promise_unref(how);
	return heard;
}

size_t thrum_condition_broadcast(struct thrum_condition *condition, struct thrum_value value)
{
	if (!condition) {
		thrum_value_destroy(value);
		return 0;
	}
	return signal_all(condition, thrum_promise_return(condition->queue.loop, value));
}

size_t thrum__condition_broadcast_fail(struct thrum_site *place, struct thrum_condition *condition,
	int code, const char *format, ...)
{
	/* It is longer than a message may be, so that the failure cuts it, as it cuts all
	 * messages. */
	char message[THRUM_TEXT_MAX + 8];
	struct thrum_loop *loop;
	va_list arguments;

	if (!condition)
		return 0;
	loop = condition->queue.loop;
	if (!format)
		return signal_all(condition, thrum__promise_fail_code(place, loop, code));
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return signal_all(condition, thrum__promise_fail(place, loop, code, "%s", message));
}
