/* SPDX-License-Identifier: ISC */
/* One promise: its references, its end, becoming another, and looking at it. */
#include "promise/core/core.h"
#include <stdio.h>

/* ---- References ------------------------------------------------------------------------------ */

struct thrum_promise *thrum__promise_find_root(struct thrum_promise *promise)
{
	struct thrum_promise *root = promise;

	while (root->state == BECAME)
		root = root->target;
	/* Shorten the chain. Stop behind a promise that this frees: nobody reaches the rest of the
	 * chain from here any more. */
	while (promise->target != root) {
		struct thrum_promise *next = promise->target;
		bool last = next->references == 1;

		promise->target = thrum__promise_ref(root);
		thrum__promise_unref(next);
		if (last)
			break;
		promise = next;
	}
	return root;
}

/* Destroys a value, perhaps in the last act of a run. */
static void destroy_value(struct thrum_loop *loop, struct thrum_value value)
{
	if (value.destroy) {
		bool ends_run = thrum__promise_run_interrupt(loop);

		value.destroy(value.data);
		loop->ends_run = ends_run;
	}
}

static void drop_waiters(struct thrum_promise *promise)
{
	struct thrum_loop *loop = promise->loop;
	bool ends_run = thrum__promise_run_interrupt(loop);
	struct thrum_promise *waiter;

	while ((waiter = promise->waiters.first))
		thrum__promise_drop_waiter(waiter);
	loop->ends_run = ends_run;
}

/* Releases all that a promise holds, and frees it. */
static void release_content(struct thrum_promise *promise)
{
	struct thrum_promise *root;

	switch ((enum state)promise->state) {
	case PENDING:
		if (promise->waiters.first)
			drop_waiters(promise);
		break;
	case RESOLVED: destroy_value(promise->loop, promise->value); break;
	case FAILED: thrum__promise_failure_unref(promise->loop, promise->failure); break;
	case BECAME:
		root = thrum__promise_root(promise);
		if (root->action == MERGED && root->active == promise)
			root->active = NULL;
		thrum__promise_unref(promise->target);
		break;
	case UNUSED: assert(!"freed twice"); break;
	}
	thrum__promise_free(promise);
}

/* This isn't recursive, however long a chain of promises is that own one another. */
static __attribute__((noinline)) void dispose_of_content(struct thrum_promise *promise)
{
	struct thrum_loop *loop = promise->loop;

	/* This reference is ours. Destructors may still act on the waiters of this promise, which
	 * then refer to it for a while. */
	promise->references = 1;
	if (loop->releasing) {
		promise->next = loop->dead;
		loop->dead = promise;
		return;
	}
	loop->releasing = true;
	release_content(promise);
	while ((promise = loop->dead)) {
		loop->dead = promise->next;
		release_content(promise);
	}
	loop->releasing = false;
}

void thrum__promise_dispose(struct thrum_promise *promise)
{
	const struct thrum_loop *loop = promise->loop;

	if (loop->closing)
		return;
#if defined(THRUM_DEBUG) && THRUM_DEBUG >= 1
	assert(promise != &loop->nothing && promise != &loop->no_memory);
#endif
	/* Nearly always nothing is left that could act. */
	if (promise->state == RESOLVED && !promise->value.destroy)
		thrum__promise_free(promise);
	else
		dispose_of_content(promise);
}

struct thrum_promise *thrum_promise_ref(struct thrum_promise *promise)
{
	if (!promise)
		return NULL;
	thrum__promise_loop_check(promise->loop);
	return thrum__promise_ref(promise);
}

void thrum_promise_unref(struct thrum_promise *promise)
{
	if (!promise)
		return;
	thrum__promise_loop_check(promise->loop);
	thrum__promise_unref(promise);
}

/* ---- Lists of waiters ------------------------------------------------------------------------ */

void thrum__promise_detach(struct thrum_promise *waiter)
{
	struct promise_list *list = thrum__promise_waiters(waiter->waiting.source);
	struct thrum_promise *next = waiter->waiting.next, *previous = waiter->waiting.previous;

	if (previous)
		previous->waiting.next = next;
	else
		list->first = next;
	if (next)
		next->waiting.previous = previous;
	else
		list->last = previous;
	waiter->waiting.next = waiter->waiting.previous = waiter->waiting.source = NULL;
}

/* ---- Endings --------------------------------------------------------------------------------- */

/* Uses up a reference to a promise that has ended. If a cancellation that is under way ended it,
 * that must not use the resolver too, so the action becomes DONE. */
static void use_up_reference(struct thrum_promise *promise)
{
	promise->action = DONE;
	thrum__promise_unref(promise);
}

/* Turns a reference to the promise into one to its root. If the root has ended, uses the reference
 * up and returns NULL. */
static inline struct thrum_promise *own_root(struct thrum_promise *promise)
{
	struct thrum_promise *root = thrum__promise_root(promise);

	if (root->state != PENDING || root->loop->closing) {
		use_up_reference(promise);
		return NULL;
	}
	if (root != promise) {
		thrum__promise_ref(root);
		thrum__promise_unref(promise);
	}
	return root;
}

static void set_ended(struct thrum_promise *root, enum state state)
{
	root->state = (uint8_t)state;
	root->ended.waiters.first = root->waiters.first;
}

static void trace_failure(thrum_task task, const struct counted_failure *failure)
{
	if (failure->shown.code == THRUM_CANCELED)
		thrum_task_cancel(task);
	else
		thrum_task_fail(task, failure->shown.message);
}

static NOINLINE void settle_value_otherwise(struct thrum_promise *promise, struct thrum_value value)
{
	struct thrum_loop *loop = promise->loop;
	struct thrum_promise *root;

	/* It was cancelled: whoever waited for the value has gone. */
	if (promise->action == REQUEST && !loop->closing &&
		thrum__promise_root(promise)->state == FAILED)
		thrum_task_ready(promise->task);
	root = own_root(promise);
	if (!root) {
		destroy_value(loop, value);
		return;
	}
	thrum_task_resolve(root->task);
	set_ended(root, RESOLVED);
	root->value = value;
	thrum__promise_dispatch(root);
}

void thrum__promise_settle_value(struct thrum_promise *promise, struct thrum_value value)
{
	if (promise->state != PENDING || promise->loop->closing || thrum_enabled()) {
		settle_value_otherwise(promise, value);
		return;
	}
	set_ended(promise, RESOLVED);
	promise->value = value;
	thrum__promise_dispatch(promise);
}

void thrum__promise_mark_failed(struct thrum_promise *root, struct counted_failure *failure)
{
	trace_failure(root->task, failure);
	set_ended(root, FAILED);
	root->failure = failure;
}

void thrum__promise_settle_failure(struct thrum_promise *promise, struct counted_failure *failure)
{
	struct thrum_loop *loop = promise->loop;
	struct thrum_promise *root = own_root(promise);

	if (!root) {
		thrum__promise_failure_unref(loop, failure);
		return;
	}
	thrum__promise_mark_failed(root, failure);
	thrum__promise_dispatch(root);
}

/* Tells whether the caller's reference to `promise` is the only way to the value. */
static bool is_unshared(const struct thrum_promise *promise)
{
	for (;; promise = promise->target) {
		if (promise->references != 1)
			return false;
		if (promise->state != PENDING && promise->ended.waiters.first)
			return false;
		if (promise->state != BECAME)
			return true;
	}
}

static struct thrum_value take_value(struct thrum_promise *root)
{
	struct thrum_value value = root->value;

	root->value = thrum_value_none();
	return value;
}

void thrum__promise_settle_as(struct thrum_promise *promise, struct thrum_promise *source)
{
	struct thrum_promise *found = thrum__promise_root(source), *root;

	if (found->state == FAILED) {
		thrum__promise_settle_failure(promise, thrum__promise_failure_ref(found->failure));
	} else if (!found->value.destroy) {
		thrum__promise_settle_value(promise, found->value);
	} else if (is_unshared(source)) {
		thrum__promise_settle_value(promise, take_value(found));
	} else if ((root = own_root(promise))) {
		thrum_task_resolve(root->task);
		set_ended(root, BECAME);
		root->target = thrum__promise_ref(found);
		thrum__promise_dispatch(root);
	}
}

/* Lets `inner`, which has no waiters, become `root`. `was` is the part of the root that followed
 * the inner one: the promise whose callback returned it. */
static void merge_inner(struct thrum_promise *root, struct thrum_promise *was,
	struct thrum_promise *inner)
{
	struct thrum_promise *active = inner;

	if (inner->action == MERGED) {
		active = inner->active;
		inner->action = DONE;
	}
	if (was == root)
		root->action = MERGED;
	root->active = active;
	if (inner->task != THRUM_TASK_NONE)
		root->task = inner->task;
	inner->state = BECAME;
	inner->target = thrum__promise_ref(root);
}

void thrum__promise_follow(struct thrum_promise *promise, struct thrum_promise *other)
{
	struct thrum_promise *root = thrum__promise_root(promise),
			     *inner = thrum__promise_root(other);

	if (root == inner) {
		thrum__promise_unref(promise);
	} else if (root->state != PENDING || root->loop->closing) {
		use_up_reference(promise);
	} else if (inner->state != PENDING) {
		if (inner->task != root->task)
			thrum_task_read(root->task, inner->task);
		thrum__promise_settle_as(promise, other);
	} else {
		thrum_task_become(root->task, inner->task);
		if (!inner->waiters.first) {
			merge_inner(root, promise, inner);
			thrum__promise_unref(promise);
		} else {
			promise->action = COPY;
			promise->closure.destroy = NULL;
			thrum__promise_attach(inner, promise);
		}
	}
	thrum__promise_unref(other);
}

/* ---- Making promises ------------------------------------------------------------------------- */

struct thrum_promise *thrum__promise_no_memory(struct thrum_loop *loop)
{
	return loop ? thrum__promise_ref(&loop->no_memory) : NULL;
}

static NOINLINE struct thrum_promise *new_resolved(struct thrum_loop *loop,
	struct thrum_value value)
{
	struct thrum_promise *promise = loop ? thrum__promise_new(loop) : NULL;

	if (!promise) {
		thrum_value_destroy(value);
		return thrum__promise_no_memory(loop);
	}
	promise->task = thrum_task_current();
	set_ended(promise, RESOLVED);
	promise->value = value;
	return promise;
}

struct thrum_promise *thrum_promise_return(struct thrum_loop *loop, struct thrum_value value)
{
	if (loop && !value.data && !value.destroy)
		return thrum__promise_ref(&loop->nothing);
	return new_resolved(loop, value);
}

/* Returns a promise that has failed. Consumes the failure. */
static struct thrum_promise *new_failed(struct thrum_loop *loop, struct counted_failure *failure)
{
	struct thrum_promise *promise = thrum__promise_new(loop);

	if (!promise) {
		thrum__promise_failure_unref(loop, failure);
		return thrum__promise_no_memory(loop);
	}
	promise->task = thrum_task_current();
	set_ended(promise, FAILED);
	promise->failure = failure;
	return promise;
}

struct thrum_promise *thrum__promise_fail(struct thrum_site *place, struct thrum_loop *loop,
	int code, const char *format, ...)
{
	struct counted_failure *failure;
	va_list arguments;

	if (!loop)
		return NULL;
	va_start(arguments, format);
	failure = thrum__promise_failure_new(loop, place, code, format, arguments);
	va_end(arguments);
	return new_failed(loop, failure);
}

struct thrum_promise *thrum__promise_fail_code(struct thrum_site *site, struct thrum_loop *loop,
	int code)
{
	return loop ? new_failed(loop, thrum__promise_failure_plain(loop, site, code)) : NULL;
}

struct thrum_promise *thrum_promise_fail_again(struct thrum_loop *loop,
	const struct thrum_failure *failure)
{
	return loop ? new_failed(loop, thrum__promise_failure_again(loop, failure)) : NULL;
}

/* ---- Looking at promises --------------------------------------------------------------------- */

struct thrum_loop *thrum__promise_loop_of(const struct thrum_promise *promise)
{
	return promise ? promise->loop : NULL;
}

enum thrum_promise_state thrum_promise_state(const struct thrum_promise *promise)
{
	return promise ? (enum thrum_promise_state)thrum__promise_root(promise)->state
		       : THRUM_PROMISE_FAILED;
}

void *thrum_promise_value(const struct thrum_promise *promise)
{
	const struct thrum_promise *root = promise ? thrum__promise_root(promise) : NULL;

	return root && root->state == RESOLVED ? root->value.data : NULL;
}

const struct thrum_failure *thrum_promise_failure(const struct thrum_promise *promise)
{
	static const struct thrum_failure no_promise = {-ENOMEM, "not enough memory", NULL, NULL,
		0};
	const struct thrum_promise *root;

	if (!promise)
		return &no_promise;
	root = thrum__promise_root(promise);
	return root->state == FAILED ? &root->failure->shown : NULL;
}

bool thrum_promise_take(struct thrum_promise *promise, struct thrum_value *value)
{
	struct thrum_promise *root = promise ? thrum__promise_root(promise) : NULL;

	if (!root || root->state != RESOLVED)
		return false;
	if (!root->value.destroy)
		*value = root->value;
	else if (is_unshared(promise))
		*value = take_value(root);
	else
		return false;
	return true;
}

bool thrum_loop_take(struct thrum_loop *loop, struct thrum_value *value)
{
	struct thrum_promise *given = loop ? loop->given : NULL;

	if (!given || !thrum_promise_take(given, value))
		return false;
	loop->given = NULL;
	return true;
}

thrum_task thrum_promise_task_id(const struct thrum_promise *promise)
{
	return promise ? thrum__promise_root(promise)->task : THRUM_TASK_NONE;
}

/* Returns the promise's own task. A promise that had ended when it was made has none: `task` is
 * then the one that ran. */
static thrum_task own_task(const struct thrum_promise *promise)
{
	return thrum_promise_state(promise) == THRUM_PROMISE_PENDING
		? thrum_promise_task_id(promise)
		: THRUM_TASK_NONE;
}

struct thrum_promise *thrum_promise_label(struct thrum_promise *promise, const char *label)
{
	struct thrum_promise *root;

	if (!promise || !thrum_enabled())
		return promise;
	root = thrum__promise_root(promise);
	if (root->state != PENDING || root->flags & KEEPS_LABEL)
		return promise;
	root->flags |= LABELED;
	thrum_task_label(root->task, label);
	return promise;
}

struct thrum_promise *thrum_promise_labelf(struct thrum_promise *promise, const char *format, ...)
{
	char label[THRUM_TEXT_MAX + 1];
	va_list arguments;

	if (!thrum_enabled())
		return promise;
	va_start(arguments, format);
	if (vsnprintf(label, sizeof(label), format, arguments) >= 0)
		thrum_promise_label(promise, label);
	va_end(arguments);
	return promise;
}

struct thrum_promise *thrum_promise_should_resolve(struct thrum_promise *promise)
{
	thrum_task_should_resolve(own_task(promise));
	return promise;
}
