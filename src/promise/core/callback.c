/* SPDX-License-Identifier: ISC */
/* Callbacks: attaching them to promises, and running them at once or later. */
#include "promise/core/core.h"

/* Tells whether a callback runs for a source that has ended like this one. */
static bool callback_applies(enum action action, const struct thrum_promise *source)
{
	switch (action) {
	case BIND:
	case MAP:
	case ON_SUCCESS: return source->state == RESOLVED;
	case CATCH:
	case ON_FAILURE: return source->state == FAILED;
	case ON_CANCEL:
		return source->state == FAILED && source->failure->shown.code == THRUM_CANCELED;
	default: return true;
	}
}

static bool has_result(enum action action)
{
	return action <= LAST_WITH_SOURCE;
}

static void destroy_closure(const struct closure *closure)
{
	if (closure->destroy)
		closure->destroy(closure->data);
}

/* Runs the callback. Returns the promise that it returned, or a resolved one for the value of a
 * map; for callbacks without a result it returns any promise. `handle` is the source, or a promise
 * that became it. */
static struct thrum_promise *call_callback(struct thrum_loop *loop, enum action action,
	const struct closure *closure, struct thrum_promise *handle,
	const struct thrum_promise *source)
{
	struct thrum_promise *given = loop->given, *result = NULL;
	void *value = source->state == RESOLVED ? source->value.data : NULL;
	const struct thrum_failure *failure = source->state == FAILED ? &source->failure->shown
								      : NULL;
	void *data = closure->data;

	loop->given = handle;
	switch (action) {
	case BIND: result = closure->callback.then(loop, value, data); break;
	case CATCH: result = closure->callback.handler(loop, failure, data); break;
	case TRY_BIND:
		result = failure ? closure->other.handler(loop, failure, data)
				 : closure->callback.then(loop, value, data);
		break;
	case FINALIZE:
	case ASYNC: result = closure->callback.begin(loop, data); break;
	case MAP:
		result = thrum_promise_return(loop, closure->callback.mapper(loop, value, data));
		break;
	case ON_SUCCESS: closure->callback.on_value(loop, value, data); break;
	case ON_FAILURE: closure->callback.on_failing(loop, failure, data); break;
	case ON_TERMINATION:
	case ON_CANCEL: closure->callback.on_end(loop, data); break;
	case ON_ANY:
		if (failure)
			closure->other.on_failing(loop, failure, data);
		else
			closure->callback.on_value(loop, value, data);
		break;
	default: assert(!"no callback"); break;
	}
	loop->given = given;
	destroy_closure(closure);
	return result ? result : thrum__promise_no_memory(loop);
}

/* ---- Running a callback ---------------------------------------------------------------------- */

/* Waits for the cleanup, which has begun, and then ends the waiter as `source` did. Consumes
 * `cleanup` and `source`. */
static void restore_after_cleanup(struct thrum_promise *waiter, struct thrum_promise *cleanup,
	struct thrum_promise *source)
{
	struct thrum_promise *root = thrum__promise_root(cleanup);

	if (root->state == PENDING) {
		waiter->action = RESTORE;
		waiter->closure = (struct closure){{NULL}, {NULL}, source, NULL};
		thrum_task_wait(waiter->task, root->task);
		thrum__promise_attach(root, waiter);
	} else {
		waiter->loop->ends_run = true;
		thrum__promise_settle_as(waiter, root->state == FAILED ? cleanup : source);
		thrum__promise_unref(source);
	}
	thrum__promise_unref(cleanup);
}

/* Ends the task of an ignore_result or async whose source has ended, and reports a failure. */
static void end_ignored(struct thrum_promise *waiter, const struct thrum_promise *source)
{
	struct thrum_loop *loop = waiter->loop;

	if (source->state == FAILED) {
		thrum_task_fail(waiter->task, source->failure->shown.message);
		thrum__promise_report_unhandled(loop, &source->failure->shown);
	} else {
		thrum_task_resolve(waiter->task);
	}
	thrum__promise_unref(waiter);
}

/* Calls the callback of an async while its task runs. */
static void begin_async(struct thrum_promise *waiter, const struct closure *closure)
{
	struct thrum_loop *loop = waiter->loop;
	struct thrum_promise *result = call_callback(loop, ASYNC, closure, &loop->nothing,
		&loop->nothing);
	struct thrum_promise *root = thrum__promise_root(result);

	waiter->action = IGNORE;
	if (root->state == PENDING) {
		thrum_task_wait(waiter->task, root->task);
		thrum__promise_attach(root, waiter);
	} else {
		end_ignored(waiter, root);
	}
	thrum__promise_unref(result);
}

/* Not inlined, so that the most frequent case saves no registers for the others. */
static __attribute__((noinline)) void run_any(struct thrum_promise *waiter,
	struct thrum_promise *handle)
{
	struct thrum_promise *source = thrum__promise_root(handle), *result;
	enum action action = (enum action)waiter->action;
	/* Reading it in place is safe: nothing changes a waiter that is DONE. */
	const struct closure *closure = &waiter->closure;
	struct thrum_loop *loop = waiter->loop;
	struct run run;
	thrum_task task;

	if (action == ENTRY) {
		thrum__promise_entry_run(waiter, handle);
		return;
	}
	task = waiter->task;
	run = thrum__promise_run_enter(loop, task,
		action == ASYNC ? THRUM_TASK_NONE : source->task);
	waiter->action = DONE;
	if (action == RESTORE) {
		struct thrum_promise *first = closure->data;

		loop->ends_run = true;
		thrum__promise_settle_as(waiter, source->state == FAILED ? handle : first);
		thrum__promise_unref(first);
	} else if (action == COPY || action == PROTECTED || action == NO_CANCEL) {
		loop->ends_run = true;
		thrum__promise_settle_as(waiter, handle);
	} else if (action == IGNORE) {
		end_ignored(waiter, source);
	} else if (action == ASYNC) {
		begin_async(waiter, closure);
	} else if (!callback_applies(action, source)) {
		destroy_closure(closure);
		if (has_result(action)) {
			loop->ends_run = true;
			thrum__promise_settle_as(waiter, handle);
		} else {
			thrum_task_resolve(task); /* there was nothing to do */
			thrum__promise_unref(waiter);
		}
	} else {
		result = call_callback(loop, action, closure, handle, source);
		if (action == FINALIZE) {
			restore_after_cleanup(waiter, result, thrum__promise_ref(handle));
		} else if (has_result(action)) {
			loop->ends_run = true;
			thrum__promise_follow(waiter, result);
		} else {
			thrum_task_resolve(task);
			thrum__promise_unref(result);
			thrum__promise_unref(waiter);
		}
	}
	thrum__promise_run_leave(loop, run);
}

/* The most frequent case, a shorter way to the same: a bind whose source has a value, while nothing is
 * recorded. */
INLINE void run_bind(struct thrum_loop *loop, struct thrum_promise *waiter,
	struct thrum_promise *source)
{
	struct thrum_promise *given = loop->given, *result;

	waiter->action = DONE;
	loop->given = source;
	result = waiter->closure.callback.then(loop, source->value.data, waiter->closure.data);
	loop->given = given;
	destroy_closure(&waiter->closure);
	if (result && result->state == RESOLVED && !result->value.destroy) {
		struct thrum_value value = result->value;

		thrum__promise_unref(result);
		thrum__promise_settle_value(waiter, value);
	} else {
		thrum__promise_follow(waiter, result ? result : thrum__promise_no_memory(loop));
	}
}

INLINE void run_waiter(struct thrum_loop *loop, struct thrum_promise *waiter,
	struct thrum_promise *handle)
{
	if (waiter->action == BIND && handle->state == RESOLVED && !thrum_enabled())
		run_bind(loop, waiter, handle);
	else
		run_any(waiter, handle);
}

void thrum__promise_run_waiter(struct thrum_promise *waiter, struct thrum_promise *handle)
{
	run_waiter(waiter->loop, waiter, handle);
}

/* ---- Running all that wait ------------------------------------------------------------------ */

/* Runs the callbacks of on_cancel, which come before all others. */
static void run_cancel_callbacks(struct thrum_promise *root)
{
	struct thrum_promise *waiter, *next;
	struct promise_list first = {NULL, NULL};

	/* They move to a list of their own first, because callbacks may change the list of
	 * waiters. */
	for (waiter = root->ended.waiters.first; waiter; waiter = next) {
		next = waiter->waiting.next;
		if (waiter->action != ON_CANCEL)
			continue;
		thrum__promise_detach(waiter);
		waiter->waiting.next = NULL;
		if (first.last)
			first.last->waiting.next = waiter;
		else
			first.first = waiter;
		first.last = waiter;
	}
	for (waiter = first.first; waiter; waiter = next) {
		next = waiter->waiting.next;
		waiter->waiting.next = NULL;
		thrum__promise_run_waiter(waiter, root);
	}
}

/* Takes the first waiter of a promise that has ended. */
static struct thrum_promise *pop_waiter(struct thrum_promise *root)
{
	struct thrum_promise *waiter = root->ended.waiters.first, *next;

	if (!waiter)
		return NULL;
	next = waiter->waiting.next;
	root->ended.waiters.first = next;
	if (next)
		next->waiting.previous = NULL;
	waiter->waiting.source = NULL;
	return waiter;
}

void thrum__promise_run_waiters(struct thrum_promise *root)
{
	struct thrum_loop *loop = root->loop;
	struct thrum_promise *waiter;

	thrum__promise_callback_enter(loop);
	if (root->state == FAILED && root->failure->shown.code == THRUM_CANCELED)
		run_cancel_callbacks(root);
	while ((waiter = pop_waiter(root)))
		run_waiter(loop, waiter, root);
	thrum__promise_unref(root);
	thrum__promise_callback_leave(loop);
}

void thrum__promise_drop_waiter(struct thrum_promise *waiter)
{
	struct closure closure = waiter->closure;

	thrum__promise_detach(waiter);
	switch ((enum action)waiter->action) {
	case ENTRY: thrum__promise_entry_drop(waiter); return;
	case PROTECTED:
		/* Its holders can still cancel it, if there are any. */
		if (waiter->references == 1)
			waiter->action = DONE;
		break;
	case RESTORE: thrum__promise_unref(closure.data); /* fall through */
	case COPY:
	case NO_CANCEL:
	case IGNORE: waiter->action = DONE; break;
	default:
		waiter->action = DONE;
		destroy_closure(&closure);
		break;
	}
	thrum__promise_unref(waiter);
}

/* ---- Attaching callbacks --------------------------------------------------------------------- */

/* Destroys the closure of a callback that will never run. Returns a promise that failed for lack of
 * memory. */
static struct thrum_promise *fail_without_memory(struct thrum_promise *promise,
	struct closure closure)
{
	struct thrum_loop *loop = promise->loop;

	destroy_closure(&closure);
	thrum__promise_unref(promise);
	return thrum__promise_no_memory(loop);
}

/* These functions are inlined and get closures by value, so that a closure goes from registers to
 * its place. A copy made of parts that were just stored costs a dozen cycles. */

/* Returns a waiter that is in no list yet, with one reference for its future list and one for the
 * caller; NULL without memory. */
INLINE struct thrum_promise *new_waiter(struct thrum_site *site, const struct thrum_promise *source,
	enum action action, enum thrum_kind kind, struct closure closure)
{
	struct thrum_promise *waiter = thrum__promise_new(source->loop);

	if (!waiter)
		return NULL;
	waiter->action = (uint8_t)action;
	waiter->closure = closure;
	waiter->references = 2;
	waiter->task = thrum__promise_trace_create_waiting(site, kind, source->task);
	return waiter;
}

INLINE struct thrum_promise *attach_new_waiter(struct thrum_site *site,
	struct thrum_promise *promise, struct thrum_promise *source, enum action action,
	enum thrum_kind kind, struct closure closure)
{
	struct thrum_promise *waiter = new_waiter(site, source, action, kind, closure);

	if (!waiter)
		return fail_without_memory(promise, closure);
	thrum__promise_attach(source, waiter);
	thrum__promise_unref(promise);
	return waiter;
}

struct thrum_promise *thrum__promise_wait_for(struct thrum_site *site,
	struct thrum_promise *promise, enum action action, enum thrum_kind kind,
	const struct closure *closure)
{
	return attach_new_waiter(site, promise, thrum__promise_root(promise), action, kind,
		*closure);
}

/* Defers a callback whose source has ended while callbacks are nested too deep. */
static struct thrum_promise *defer_new_waiter(struct thrum_site *site,
	struct thrum_promise *promise, enum action action, enum thrum_kind kind,
	const struct closure *closure)
{
	struct thrum_promise *waiter = new_waiter(site, thrum__promise_root(promise), action, kind,
		*closure);

	if (!waiter)
		return fail_without_memory(promise, *closure);
	waiter->flags |= DEFERRED;
	waiter->waiting.source = promise;
	thrum__promise_defer(promise->loop, waiter);
	return waiter;
}

/* Returns the promise of a finalize whose source had ended before the call and whose cleanup has
 * begun. */
static struct thrum_promise *finish_cleanup(struct thrum_site *site, struct thrum_promise *promise,
	struct thrum_promise *cleanup)
{
	enum thrum_promise_state state = thrum_promise_state(cleanup);
	struct closure closure = {{NULL}, {NULL}, promise, NULL};
	struct thrum_promise *waiter;

	if (state == THRUM_PROMISE_PENDING) {
		waiter = thrum__promise_wait_for(site, cleanup, RESTORE, THRUM_KIND_TRY, &closure);
		if (waiter == &promise->loop->no_memory)
			thrum__promise_unref(promise);
		return waiter;
	}
	if (state == THRUM_PROMISE_RESOLVED) {
		thrum__promise_unref(cleanup);
		return promise;
	}
	thrum__promise_unref(promise);
	return cleanup;
}

/* Protects the label of a promise that a callback returned at once. The caller of bind gets this
 * promise and may label it as if it was made for the call. It keeps the label that it has. One
 * without a label gets none if somebody else holds it too. */
static void protect_label(struct thrum_promise *handle)
{
	struct thrum_promise *root = thrum__promise_root(handle);
	/* Beside the caller's reference there may be one of a resolver, of the group itself, or of
	 * the source's list. */
	uint32_t others = root->action == REQUEST || root->action == GROUP || root->waiting.source;

	if (root->state != PENDING || !thrum_enabled())
		return;
	if (root != handle || root->flags & LABELED || root->action == MERGED ||
		root->references > 1 + others)
		root->flags |= KEEPS_LABEL;
}

static struct thrum_promise *call_now(struct thrum_site *site, struct thrum_promise *promise,
	const struct thrum_promise *source, enum action action, const struct closure *closure)
{
	struct thrum_loop *loop = promise->loop;
	struct thrum_promise *result;

	if (thrum_enabled() && source->task != thrum_task_current())
		thrum_task_read(thrum_task_current(), source->task);
	thrum__promise_callback_enter(loop);
	result = call_callback(loop, action, closure, promise, source);
	if (action == FINALIZE)
		result = finish_cleanup(site, promise, result);
	else
		thrum__promise_unref(promise);
	if (result->state == PENDING || result->state == BECAME)
		protect_label(result);
	thrum__promise_callback_leave(loop);
	return result;
}

static struct thrum_promise *attach_to_ended(struct thrum_site *site, struct thrum_promise *promise,
	const struct thrum_promise *source, enum action action, enum thrum_kind kind,
	struct closure closure)
{
	if (!callback_applies(action, source)) {
		destroy_closure(&closure);
		return promise;
	}
	if (thrum__promise_loop_is_deep(promise->loop))
		return defer_new_waiter(site, promise, action, kind, &closure);
	return call_now(site, promise, source, action, &closure);
}

INLINE struct thrum_promise *attach_callback(struct thrum_site *site, struct thrum_promise *promise,
	enum action action, enum thrum_kind kind, struct closure closure)
{
	struct thrum_promise *source;

	if (!promise) {
		if (closure.destroy)
			closure.destroy(closure.data);
		return NULL;
	}
	thrum__promise_loop_check(promise->loop);
	source = thrum__promise_root(promise);
	if (source->state == PENDING)
		return attach_new_waiter(site, promise, source, action, kind, closure);
	return attach_to_ended(site, promise, source, action, kind, closure);
}

static NOINLINE struct thrum_promise *bind_otherwise(struct thrum_site *site,
	struct thrum_promise *promise, thrum_then *then, void *data, thrum_destroy *destroy_data)
{
	return attach_callback(site, promise, BIND, THRUM_KIND_BIND,
		(struct closure){{.then = then}, {NULL}, data, destroy_data});
}

struct thrum_promise *thrum__promise_bind(struct thrum_site *site, struct thrum_promise *promise,
	thrum_then *then, void *data, thrum_destroy *destroy_data)
{
	/* While it is pending, its resolver has a reference, too. */
	if (promise && promise->state == PENDING && promise->references > 1 &&
		promise->loop->free && !thrum_enabled()) {
		struct thrum_promise *waiter = thrum__promise_take(promise->loop);

		thrum__promise_loop_check(promise->loop);
		waiter->references = 2;
		waiter->action = BIND;
		waiter->closure.callback.then = then;
		waiter->closure.data = data;
		waiter->closure.destroy = destroy_data;
		thrum__promise_attach(promise, waiter);
		promise->references--;
		return waiter;
	}
	return bind_otherwise(site, promise, then, data, destroy_data);
}

struct thrum_promise *thrum__promise_map(struct thrum_site *site, struct thrum_promise *promise,
	thrum_mapper *mapper, void *data, thrum_destroy *destroy_data)
{
	return attach_callback(site, promise, MAP, THRUM_KIND_MAP,
		(struct closure){{.mapper = mapper}, {NULL}, data, destroy_data});
}

struct thrum_promise *thrum__promise_catch(struct thrum_site *site, struct thrum_promise *promise,
	thrum_handler *handler, void *data, thrum_destroy *destroy_data)
{
	return attach_callback(site, promise, CATCH, THRUM_KIND_TRY,
		(struct closure){{.handler = handler}, {NULL}, data, destroy_data});
}

struct thrum_promise *thrum__promise_try_bind(struct thrum_site *site,
	struct thrum_promise *promise, thrum_then *then, thrum_handler *handler, void *data,
	thrum_destroy *destroy_data)
{
	return attach_callback(site, promise, TRY_BIND, THRUM_KIND_TRY,
		(struct closure){{.then = then}, {.handler = handler}, data, destroy_data});
}

struct thrum_promise *thrum__promise_finalize(struct thrum_site *site,
	struct thrum_promise *promise, thrum_begin *cleanup, void *data,
	thrum_destroy *destroy_data)
{
	return attach_callback(site, promise, FINALIZE, THRUM_KIND_TRY,
		(struct closure){{.begin = cleanup}, {NULL}, data, destroy_data});
}

/* ---- Callbacks without a result -------------------------------------------------------------- */

INLINE void attach_observer(struct thrum_site *site, struct thrum_promise *promise,
	enum action action, enum thrum_kind kind, struct closure closure)
{
	struct thrum_promise *result = attach_callback(site, promise, action, kind, closure);

	if (result)
		thrum__promise_unref(result);
}

void thrum__promise_on_success(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_value *callback, void *data, thrum_destroy *destroy_data)
{
	attach_observer(site, promise, ON_SUCCESS, THRUM_KIND_ON_SUCCESS,
		(struct closure){{.on_value = callback}, {NULL}, data, destroy_data});
}

void thrum__promise_on_failure(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_failing *callback, void *data, thrum_destroy *destroy_data)
{
	attach_observer(site, promise, ON_FAILURE, THRUM_KIND_ON_FAILURE,
		(struct closure){{.on_failing = callback}, {NULL}, data, destroy_data});
}

void thrum__promise_on_termination(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_end *callback, void *data, thrum_destroy *destroy_data)
{
	attach_observer(site, promise, ON_TERMINATION, THRUM_KIND_ON_TERMINATION,
		(struct closure){{.on_end = callback}, {NULL}, data, destroy_data});
}

void thrum__promise_on_any(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_value *resolved, thrum_on_failing *failed, void *data, thrum_destroy *destroy_data)
{
	attach_observer(site, promise, ON_ANY, THRUM_KIND_ON_ANY,
		(struct closure){{.on_value = resolved}, {.on_failing = failed}, data,
			destroy_data});
}

void thrum__promise_on_cancel(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_end *callback, void *data, thrum_destroy *destroy_data)
{
	attach_observer(site, promise, ON_CANCEL, THRUM_KIND_ON_FAILURE,
		(struct closure){{.on_end = callback}, {NULL}, data, destroy_data});
}

void thrum__promise_ignore_result(struct thrum_site *site, struct thrum_promise *promise)
{
	struct thrum_promise *source;

	if (!promise)
		return;
	thrum__promise_loop_check(promise->loop);
	source = thrum__promise_root(promise);
	if (source->state == PENDING) {
		promise = thrum__promise_wait_for(site, promise, IGNORE, THRUM_KIND_IGNORE_RESULT,
			&(struct closure){{NULL}, {NULL}, NULL, NULL});
	} else if (source->state == FAILED) {
		thrum__promise_callback_enter(source->loop);
		thrum__promise_report_unhandled(source->loop, &source->failure->shown);
		thrum__promise_callback_leave(source->loop);
	}
	thrum__promise_unref(promise);
}

void thrum__promise_async(struct thrum_site *site, struct thrum_loop *loop, const char *label,
	thrum_begin *callback, void *data, thrum_destroy *destroy_data)
{
	struct closure closure = {{.begin = callback}, {NULL}, data, destroy_data};
	struct thrum_promise *waiter = loop ? thrum__promise_new(loop) : NULL;

	if (!waiter) {
		destroy_closure(&closure);
		if (loop)
			thrum__promise_report_unhandled(loop, &loop->no_memory_failure.shown);
		return;
	}
	waiter->action = ASYNC;
	waiter->closure = closure;
	waiter->task = thrum__promise_trace_create(site, THRUM_KIND_ASYNC, label);
	if (thrum__promise_loop_is_deep(loop)) {
		waiter->flags |= DEFERRED;
		waiter->waiting.source = thrum__promise_ref(&loop->nothing);
		thrum__promise_defer(loop, waiter);
	} else {
		thrum__promise_callback_enter(loop);
		thrum__promise_run_waiter(waiter, &loop->nothing);
		thrum__promise_callback_leave(loop);
	}
}
