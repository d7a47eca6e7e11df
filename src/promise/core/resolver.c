/* SPDX-License-Identifier: ISC */
/* Resolvers. A resolver is the promise that it ends, under another type. */
#include "promise/core/core.h"

/* ---- Making promises with resolvers ---------------------------------------------------------- */

/* Creates the task of a promise. It is not inlined, so that the caller is fast while nothing is
 * recorded. */
static __attribute__((noinline)) void trace_request(struct thrum_promise *promise,
	struct thrum_site *site, enum thrum_kind kind, const char *label)
{
	promise->task = thrum__promise_trace_create(site, kind, label);
	if (promise->task != THRUM_TASK_NONE && label)
		promise->flags |= LABELED;
}

struct thrum_promise *thrum__promise_request(struct thrum_site *site, struct thrum_loop *loop,
	enum thrum_kind kind, const char *label, thrum__promise_canceled *canceled, void *data,
	struct thrum_resolver **resolver)
{
	struct thrum_promise *promise = loop ? thrum__promise_new(loop) : NULL;

	if (promise) {
		promise->action = REQUEST;
		promise->closure.callback.canceled = canceled;
		promise->closure.data = data;
		if (thrum_enabled())
			trace_request(promise, site, kind, label);
	} else {
		promise = thrum__promise_no_memory(loop);
	}
	*resolver = (struct thrum_resolver *)promise;
	return promise ? thrum__promise_ref(promise) : NULL;
}

void thrum__promise_canceled_nothing(struct thrum_resolver *resolver, void *data)
{
}

struct thrum_promise *thrum__promise_task(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, struct thrum_resolver **resolver)
{
	if (loop && loop->free && !thrum_enabled()) {
		struct thrum_promise *promise = thrum__promise_take(loop);

		thrum__promise_loop_check(loop);
		promise->references = 2;
		promise->action = REQUEST;
		promise->closure.callback.canceled = thrum__promise_canceled_nothing;
		promise->closure.data = NULL;
		*resolver = (struct thrum_resolver *)promise;
		return promise;
	}
	return thrum__promise_request(site, loop, THRUM_KIND_TASK, label,
		thrum__promise_canceled_nothing, NULL, resolver);
}

struct thrum_promise *thrum__promise_wait(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, struct thrum_resolver **resolver)
{
	return thrum__promise_request(site, loop, THRUM_KIND_WAIT, label, NULL, NULL, resolver);
}

/* ---- Using up resolvers ---------------------------------------------------------------------- */

static struct thrum_promise *use_resolver(struct thrum_resolver *resolver)
{
	struct thrum_promise *promise = (struct thrum_promise *)resolver;

	thrum__promise_loop_check(promise->loop);
	thrum__promise_loop_resume(promise->loop);
	return promise;
}

static NOINLINE void resolve_otherwise(struct thrum_resolver *resolver, struct thrum_value value)
{
	if (resolver)
		thrum__promise_settle_value(use_resolver(resolver), value);
	else
		thrum_value_destroy(value);
}

void thrum_resolver_resolve(struct thrum_resolver *resolver, struct thrum_value value)
{
	struct thrum_promise *promise = (struct thrum_promise *)resolver;

	if (promise && !promise->loop->suspended) {
		thrum__promise_loop_check(promise->loop);
		thrum__promise_settle_value(promise, value);
	} else {
		resolve_otherwise(resolver, value);
	}
}

void thrum__resolver_fail(struct thrum_site *place, struct thrum_resolver *resolver, int code,
	const char *format, ...)
{
	struct thrum_promise *promise;
	va_list arguments;

	if (!resolver)
		return;
	promise = use_resolver(resolver);
	va_start(arguments, format);
	thrum__promise_settle_failure(promise,
		thrum__promise_failure_new(promise->loop, place, code, format, arguments));
	va_end(arguments);
}

void thrum__promise_end_alone(struct thrum_resolver *resolver, struct thrum_site *site, int code,
	struct thrum_value value)
{
	struct thrum_promise *promise = use_resolver(resolver);
	struct thrum_loop *loop = promise->loop;
	struct run run = thrum__promise_run_enter(loop, promise->task, THRUM_TASK_NONE);

	loop->ends_run = true;
	if (code == 0)
		thrum__promise_settle_value(promise, value);
	else
		thrum__promise_settle_failure(promise,
			thrum__promise_failure_plain(loop, site, code));
	thrum__promise_run_leave(loop, run);
}

void thrum_resolver_fail_again(struct thrum_resolver *resolver, const struct thrum_failure *failure)
{
	struct thrum_promise *promise;

	if (!resolver)
		return;
	promise = use_resolver(resolver);
	thrum__promise_settle_failure(promise,
		thrum__promise_failure_again(promise->loop, failure));
}

void thrum_resolver_follow(struct thrum_resolver *resolver, struct thrum_promise *other)
{
	struct thrum_promise *promise;

	if (!resolver) {
		thrum_promise_unref(other);
		return;
	}
	promise = use_resolver(resolver);
	thrum__promise_follow(promise, other ? other : thrum__promise_no_memory(promise->loop));
}

void thrum_resolver_drop(struct thrum_resolver *resolver)
{
	struct thrum_promise *promise;

	if (!resolver)
		return;
	promise = use_resolver(resolver);
	/* The promise has nearly always been cancelled. So no failure is allocated for that
	 * case. */
	thrum__promise_settle_failure(promise,
		thrum_resolver_wanted(resolver)
			? thrum__promise_failure_plain(promise->loop, NULL, THRUM_BROKEN)
			: thrum__promise_failure_ref(&promise->loop->canceled_failure));
}

bool thrum_resolver_wanted(const struct thrum_resolver *resolver)
{
	return resolver &&
		thrum__promise_root((const struct thrum_promise *)resolver)->state == PENDING;
}

thrum_task thrum__promise_resolver_task(const struct thrum_resolver *resolver)
{
	return resolver ? ((const struct thrum_promise *)resolver)->task : THRUM_TASK_NONE;
}
