/* SPDX-License-Identifier: ISC */
/* Wait queues; and holding a thing, such as a lock, while an operation runs. */
#include "promise/sync/waiters.h"

/* ---- Queues ---------------------------------------------------------------------------------- */

void thrum__promise_wait_queue_append(struct thrum__promise_wait_queue *queue,
	struct thrum__promise_waiter *waiter)
{
	waiter->queue = queue;
	waiter->next = NULL;
	waiter->previous = queue->last;
	if (queue->last)
		queue->last->next = waiter;
	else
		queue->first = waiter;
	queue->last = waiter;
	queue->count++;
}

void thrum__promise_wait_queue_remove(struct thrum__promise_waiter *waiter)
{
	struct thrum__promise_wait_queue *queue = waiter->queue;

	if (waiter->previous)
		waiter->previous->next = waiter->next;
	else
		queue->first = waiter->next;
	if (waiter->next)
		waiter->next->previous = waiter->previous;
	else
		queue->last = waiter->previous;
	queue->count--;
}

static void waiter_canceled(struct thrum_resolver *resolver, void *data)
{
	struct thrum__promise_waiter *waiter = data;
	struct thrum_value value = waiter->value;

	thrum__promise_wait_queue_remove(waiter);
	thrum__promise_release(waiter->queue->loop, waiter);
	thrum_value_destroy(value);
	thrum_resolver_drop(resolver);
}

static struct thrum_promise *create_waiter(struct thrum_site *site,
	struct thrum__promise_wait_queue *queue, enum thrum_kind kind, const char *label,
	thrum__promise_canceled *cancel, struct thrum__promise_waiter **made)
{
	struct thrum__promise_waiter *waiter;
	struct thrum_promise *promise;

	*made = NULL;
	if (queue->broken)
		return thrum__promise_fail_code(site, queue->loop, THRUM_BROKEN);
	waiter = thrum__promise_allocate(queue->loop, sizeof(*waiter));
	if (!waiter)
		return thrum__promise_no_memory(queue->loop);
	promise = thrum__promise_request(site, queue->loop, kind, label, cancel, waiter,
		&waiter->resolver);
	if (thrum_promise_state(promise) == THRUM_PROMISE_FAILED) {
		thrum_resolver_drop(waiter->resolver);
		thrum__promise_release(queue->loop, waiter);
		return promise;
	}
	*made = waiter;
	return promise;
}

struct thrum_promise *thrum__promise_waiter_create(struct thrum_site *site,
	struct thrum__promise_wait_queue *queue, struct thrum__promise_waiter **waiter)
{
	return create_waiter(site, queue, THRUM_KIND_WAIT, NULL, NULL, waiter);
}

struct thrum_promise *thrum__promise_wait_queue_join(struct thrum_site *site,
	struct thrum__promise_wait_queue *queue, enum thrum_kind kind, const char *label,
	struct thrum_value value)
{
	struct thrum__promise_waiter *waiter;
	struct thrum_promise *promise = create_waiter(site, queue, kind, label, waiter_canceled,
		&waiter);

	if (!waiter) {
		thrum_value_destroy(value);
		return promise;
	}
	waiter->value = value;
	thrum__promise_wait_queue_append(queue, waiter);
	thrum_task_wait(thrum__promise_resolver_task(waiter->resolver), queue->task);
	return promise;
}

bool thrum__promise_wait_queue_push_value(struct thrum__promise_wait_queue *queue,
	struct thrum_value value)
{
	struct thrum__promise_waiter *waiter = thrum__promise_allocate(queue->loop,
		sizeof(*waiter));

	if (!waiter)
		return false;
	waiter->value = value;
	thrum__promise_wait_queue_append(queue, waiter);
	return true;
}

void thrum__promise_wait_queue_record_served(const struct thrum__promise_wait_queue *queue,
	const struct thrum_resolver *resolver)
{
	thrum_task task = thrum__promise_resolver_task(resolver), before;

	if (!queue->brings) {
		thrum_task_read(task, queue->task);
		return;
	}
	before = thrum__promise_trace_enter(task);
	thrum_task_signal(queue->task, 0);
	thrum__promise_trace_leave(before);
}

/* Does what `pop` does, and records nothing. */
static struct thrum_resolver *take_first(struct thrum__promise_wait_queue *queue,
	struct thrum_value *value)
{
	struct thrum__promise_waiter *waiter = queue->first;
	struct thrum_resolver *resolver;

	if (!waiter)
		return NULL;
	thrum__promise_wait_queue_remove(waiter);
	resolver = waiter->resolver;
	if (value)
		*value = waiter->value;
	thrum__promise_release(queue->loop, waiter);
	return resolver;
}

struct thrum_resolver *thrum__promise_wait_queue_pop(struct thrum__promise_wait_queue *queue,
	struct thrum_value *value)
{
	struct thrum_resolver *resolver = take_first(queue, value);

	if (resolver)
		thrum__promise_wait_queue_record_served(queue, resolver);
	return resolver;
}

void thrum__promise_wait_queue_move(struct thrum__promise_wait_queue *from,
	struct thrum__promise_wait_queue *to)
{
	struct thrum__promise_waiter *waiter;

	for (waiter = from->first; waiter; waiter = waiter->next)
		waiter->queue = to;
	to->first = from->first;
	to->last = from->last;
	to->count = from->count;
	from->first = from->last = NULL;
	from->count = 0;
}

void thrum__promise_wait_queue_close(struct thrum__promise_wait_queue *queue, int code)
{
	queue->broken = true;
	while (queue->first) {
		struct thrum_value value;
		struct thrum_resolver *resolver = take_first(queue, &value);

		thrum_value_destroy(value);
		thrum__resolver_fail(NULL, resolver, code, NULL);
	}
}

/* ---- Holding a thing meanwhile --------------------------------------------------------------- */

struct holding {
	struct thrum_loop *loop;
	struct thrum_site *site;
	thrum_task lock;
	void (*release)(void *thing);
	void *thing;
	thrum_begin *begin;
	void *data;
	thrum_destroy *destroy;
	bool acquired;
	bool was_free; /* nothing tells yet who holds the thing */
	unsigned references;
};

static void unref_holding(void *data)
{
	struct holding *holding = data;

	if (--holding->references > 0)
		return;
	if (holding->destroy)
		holding->destroy(holding->data);
	thrum__promise_release(holding->loop, holding);
}

static struct thrum_promise *release_thing(struct thrum_loop *loop, void *data)
{
	struct holding *holding = data;

	holding->release(holding->thing);
	return thrum_promise_return(loop, thrum_value_none());
}

/* The thing is held by the promise which will release it, and not by the task that runs: that one goes
 * on with something else. The promise is pending as long, and bears the name that the caller gives it. It
 * did run, so it tells anew that it waits. */
static void record_holder(const struct holding *holding, const struct thrum_promise *whole,
	thrum_task awaited)
{
	thrum_task holder = thrum_promise_task_id(whole);
	thrum_task before = thrum__promise_trace_enter(holder);

	thrum_lock_acquired(holding->lock);
	thrum_task_wait(holder, awaited);
	thrum__promise_trace_leave(before);
}

/* Attaches the release of the thing before it calls `begin`, so that releasing needs no memory
 * later. */
static struct thrum_promise *begin_holding(struct thrum_loop *loop, void *value, void *data)
{
	struct holding *holding = data;
	struct thrum_resolver *resolver;
	struct thrum_promise *whole;
	thrum_task awaited;

	holding->acquired = true;
	whole = thrum__promise_wait(holding->site, loop, NULL, &resolver);
	awaited = thrum_promise_task_id(whole);
	if (thrum_promise_state(whole) == THRUM_PROMISE_PENDING) {
		holding->references++;
		whole = thrum__promise_finalize(holding->site, whole, release_thing, holding,
			unref_holding);
	}
	if (thrum_promise_state(whole) == THRUM_PROMISE_PENDING) {
		if (holding->was_free)
			record_holder(holding, whole, awaited);
		thrum_resolver_follow(resolver, holding->begin(loop, holding->data));
	} else {
		if (holding->was_free)
			thrum_lock_acquired(holding->lock);
		holding->release(holding->thing);
		thrum_resolver_drop(resolver);
	}
	return whole;
}

/* Releases the thing, or stops waiting for it, when nothing was begun. */
static void give_up_acquired(struct thrum_promise *acquired, thrum_task lock,
	void (*release)(void *thing), void *thing)
{
	if (thrum_promise_state(acquired) == THRUM_PROMISE_RESOLVED) {
		thrum_lock_acquired(lock);
		release(thing);
	} else {
		thrum__promise_cancel(NULL, acquired);
	}
}

struct thrum_promise *thrum__promise_with(struct thrum_site *site, struct thrum_promise *acquired,
	thrum_task lock, void (*release)(void *thing), void *thing, thrum_begin *begin, void *data,
	thrum_destroy *destroy)
{
	struct thrum_loop *loop = thrum__promise_loop_of(acquired);
	struct holding *holding = loop ? thrum__promise_allocate(loop, sizeof(*holding)) : NULL;
	bool was_free = thrum_promise_state(acquired) == THRUM_PROMISE_RESOLVED;
	struct thrum_promise *whole;

	if (!holding) {
		if (loop)
			give_up_acquired(acquired, lock, release, thing);
		thrum_promise_unref(acquired);
		if (destroy)
			destroy(data);
		return thrum__promise_no_memory(loop);
	}
	*holding = (struct holding){loop, site, lock, release, thing, begin, data, destroy, false,
		was_free, 2};
	whole = thrum__promise_bind(site, thrum_promise_ref(acquired), begin_holding, holding,
		unref_holding);
	if (!holding->acquired && thrum_promise_state(whole) == THRUM_PROMISE_FAILED)
		give_up_acquired(acquired, lock, release, thing);
	thrum_promise_unref(acquired);
	unref_holding(holding);
	return whole;
}
