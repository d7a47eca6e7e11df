/* SPDX-License-Identifier: ISC */
/*
 * thrum/promise.h: promises on libuv that tell the recorder what happens to them.
 *
 * A promise stands for a result that comes later: it is pending, then for ever resolved with a
 * value or failed. Callbacks attached to promises make new promises; the meaning of it all is that
 * of Lwt 3 (OCaml), but for when callbacks run (below). While thrum records, every pending promise
 * is a task, with the place of the call that made it; nothing needs to be added to the program.
 *
 * Threads. Everything hangs on a struct thrum_loop, which the program makes around a uv_loop_t. It
 * and all that was made with it belong to the thread that made it; several loops in several threads
 * are independent. Nothing here is thread-safe beyond that or async-signal-safe; after fork the
 * child leaves all of it alone. A library built with -Dthrum_debug=1 or more asserts the thread.
 *
 * Ownership. A promise is counted: who gets one from a call owns one reference.
 *  - Calls consume the promises passed to them: one reference each, whatever happens. To keep a
 *    promise, pass thrum_promise_ref(promise).
 *  - Only calls that look at a promise or act on it borrow it instead: ref, state, value, failure,
 *    take, label, labelf, should_resolve, task_id, cancel.
 *  - A promise owns its value and destroys it when nobody can see it any more. Callbacks borrow the
 *    value for the time of the call.
 *  - A resolver is consumed by the one call that ends its promise, as is the value given to it,
 *    also when the promise was cancelled before.
 *  - A callback comes with `data` and `destroy`: destroy(data) is called exactly once, after the
 *    callback or, if that is never run, instead of it. destroy may be NULL.
 *  - Dropping all references to a pending promise doesn't stop anything: its callbacks still run.
 *    But a promise that nobody can end any more is freed, with what waits for it. (One that waits
 *    for itself is not: it stays until the loop is destroyed.)
 *
 * Memory. What gives a promise never gives NULL for lack of memory: it gives a promise that has
 * failed with -ENOMEM, which is there from the beginning; a callback that couldn't be attached is
 * dropped (its data destroyed). NULL, too, stands for a promise that failed so; but as it has no
 * loop, no callback can run for it: what gets NULL for a promise or a loop gives NULL. What makes
 * another thing (loop, condition, …) says how it fails; calls on NULL things do nothing or give
 * NULL.
 *
 * Errors are negative errno values, which on Unix are those of libuv (UV_ECONNREFUSED is
 * -ECONNREFUSED). thrum_promise_error_message gives a text for each. Programs may use positive codes
 * of their own.
 *
 * Callbacks run at once when their promise ends, or has ended before, as long as at most
 * THRUM_PROMISE_DEPTH of them are nested. Deeper ones run, in order, after the outermost callback
 * has returned: before the call returns that made it run. So the stack stays bounded however long
 * a chain is.
 *
 * Cost: a promise is 96 bytes while pending, its callback included (64-bit), from a free list of
 * its loop; create, bind, resolve and free together take some 50 ns. Each call is O(1) and nothing
 * blocks, unless it says otherwise. -DTHRUM_DISABLED leaves no trace of tracing in the program's
 * own calls: what they make is not recorded.
 *
 * Names in the form `#define thrum_x(...) thrum__x(THRUM__HERE, __VA_ARGS__)` are called without
 * the first argument: it is the place of the call.
 *
 * The header is not stable before version 1.0.
 */
#ifndef THRUM_PROMISE_H
#define THRUM_PROMISE_H

#include <errno.h>
#include <thrum.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef THRUM__MUST_USE
#define THRUM__MUST_USE __attribute__((warn_unused_result, visibility("default")))
#endif
/* Of this library: it is linked, also where THRUM_WEAK is defined. */
#define THRUM__PROMISE __attribute__((visibility("default"))) extern

/* Of libuv and the system; the program includes uv.h when it needs more than their names (which
 * wants -std=gnu11, or _GNU_SOURCE, rather than plain -std=c11). */
struct uv_loop_s;
struct uv_stream_s;
struct uv_process_options_s;
struct sockaddr;
struct addrinfo;

struct thrum_loop;
struct thrum_promise;
struct thrum_resolver;

/* The place of a call, in a static descriptor; where the failures of a call say they come from. */
#define THRUM__PLACE \
	__extension__({ \
		static struct thrum_site thrum__site = {__FILE__, __func__, __LINE__, 0}; \
		&thrum__site; \
	})
/* The same for the trace: NULL, and nothing is recorded, with THRUM_DISABLED. */
#ifndef THRUM_DISABLED
#define THRUM__HERE THRUM__PLACE
#else
#define THRUM__HERE ((struct thrum_site *)0)
#endif

/* How deep callbacks run at once. */
#define THRUM_PROMISE_DEPTH 64

/* The code of a promise that was cancelled, and of one whose resolver was dropped. */
#define THRUM_CANCELED (-ECANCELED)
#define THRUM_BROKEN (-EPIPE)

/* ---- Values and failures --------------------------------------------------------------------- */

typedef void thrum_destroy(void *data);

/* A value that is handed over: who has it calls destroy(data) once, unless destroy is NULL. */
struct thrum_value {
	void *data;
	thrum_destroy *destroy;
};

static inline struct thrum_value thrum_value_own(void *data, thrum_destroy *destroy)
{
	struct thrum_value value;

	value.data = data;
	value.destroy = destroy;
	return value;
}

/* No value: callbacks get NULL. */
static inline struct thrum_value thrum_value_none(void)
{
	return thrum_value_own(NULL, NULL);
}

/* Something that outlives the promise. */
static inline struct thrum_value thrum_value_static(const void *data)
{
	return thrum_value_own((void *)(uintptr_t)data, NULL);
}

/* A number instead of an address; a callback reads it with thrum_int(value). */
static inline struct thrum_value thrum_value_int(intptr_t number)
{
	return thrum_value_own((void *)number, NULL);
}

static inline intptr_t thrum_int(const void *value)
{
	return (intptr_t)value;
}

static inline void thrum_value_destroy(struct thrum_value value)
{
	if (value.destroy)
		value.destroy(value.data);
}

/* Why a promise failed. It lives as long as a promise has it; a callback borrows it. */
struct thrum_failure {
	int code;             /* negative: an errno value; positive: the program's own */
	const char *message;  /* never NULL */
	const char *file;     /* the place; NULL where none is known, as for lack of memory */
	const char *function; /* NULL likewise */
	unsigned line;
};

/*
 * Returns the message for an error code that a call here returns or a failure holds: libuv's
 * message, else the system's (uv_strerror doesn't know all codes: not -EDEADLK, which
 * thrum_promise_run returns). 0 gives "success"; positive and unknown codes give "failed". The text
 * is static and never NULL. Thread-safe.
 */
THRUM__PROMISE const char *thrum_promise_error_message(int code);

/* ---- Loops ----------------------------------------------------------------------------------- */

/*
 * Makes a loop around `uv`, whose `data` stays the program's. Takes a few kilobytes, grows by slabs
 * and keeps what it has. Returns 0 or a negative errno value; `loop` is then untouched.
 */
THRUM__MUST_USE int thrum_loop_create(struct uv_loop_s *uv, struct thrum_loop **loop);

/*
 * Ends a loop. Promises that are still there are freed: closures and values are destroyed,
 * callbacks don't run; nothing made with the loop may be used any more. So conditions, mutexes and
 * the like are destroyed before, and what holds libuv handles (connections, timers, …) should be
 * closed. Its own handles are closed: run the uv loop once more before uv_loop_close. Not from a
 * callback or destructor. NULL: nothing.
 */
THRUM__PROMISE void thrum_loop_destroy(struct thrum_loop *loop);

/* The uv loop that it was made around. */
THRUM__PROMISE struct uv_loop_s *thrum_loop_uv(const struct thrum_loop *loop);

/* How many promises there are now, pending or not: for finding leaks. */
THRUM__PROMISE size_t thrum_loop_promises(const struct thrum_loop *loop);

/*
 * What is told of failures that nobody handles: of async and ignore_result; of what was cancelled,
 * too, with the code THRUM_CANCELED. By default, and with a NULL hook, they are counted and leave a
 * line in the trace. The hook borrows the failure, and may do what a callback may; it stays in
 * place. `data` must outlive the loop.
 */
typedef void thrum_unhandled(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data);
THRUM__PROMISE void thrum_loop_on_unhandled(struct thrum_loop *loop, thrum_unhandled *hook,
	void *data);
THRUM__PROMISE size_t thrum_loop_unhandled(const struct thrum_loop *loop);

/*
 * Runs the uv loop until the promise has ended, or until nothing is left to run that could end it.
 * Blocks. Returns 0 when it was resolved, its failure's code when it failed, -EDEADLK when it is
 * still pending. To have the value or the message, keep a reference. Not from a callback. uv_stop
 * doesn't end it.
 */
THRUM__MUST_USE int thrum_promise_run(struct thrum_promise *promise);

/* ---- Promises and resolvers ------------------------------------------------------------------ */

enum thrum_promise_state {
	THRUM_PROMISE_PENDING = 0,
	THRUM_PROMISE_RESOLVED = 1,
	THRUM_PROMISE_FAILED = 2,
};

/* One more, or one less, reference to a promise. ref returns its argument. NULL: nothing. */
THRUM__MUST_USE struct thrum_promise *thrum_promise_ref(struct thrum_promise *promise);
THRUM__PROMISE void thrum_promise_unref(struct thrum_promise *promise);

/* A promise that has been resolved; not a task. Consumes the value. */
THRUM__MUST_USE struct thrum_promise *thrum_promise_return(struct thrum_loop *loop,
	struct thrum_value value);

/* A promise that has failed; not a task. `code` isn't 0; a NULL format stands for the code's own
 * message. The message is cut at THRUM_TEXT_MAX bytes. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_fail(struct thrum_site *place,
	struct thrum_loop *loop, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define thrum_promise_fail(...) thrum__promise_fail(THRUM__PLACE, __VA_ARGS__)

/* A promise that has failed as another one: for a handler that doesn't handle. The failure must be
 * one that the library gave. NULL: -EINVAL. */
THRUM__MUST_USE struct thrum_promise *thrum_promise_fail_again(struct thrum_loop *loop,
	const struct thrum_failure *failure);

/*
 * A pending promise and the resolver that ends it, as two things to own. One from `task` can be
 * cancelled, one from `wait` can't. `label` may be NULL.
 */
THRUM__MUST_USE struct thrum_promise *thrum__promise_task(struct thrum_site *site,
	struct thrum_loop *loop, const char *label, struct thrum_resolver **resolver);
THRUM__MUST_USE struct thrum_promise *thrum__promise_wait(struct thrum_site *site,
	struct thrum_loop *loop, const char *label, struct thrum_resolver **resolver);
#define thrum_promise_task(...) thrum__promise_task(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_wait(...) thrum__promise_wait(THRUM__HERE, __VA_ARGS__)

/*
 * Ends the resolver's promise: with a value, with a failure, with the failure of another, or as
 * `promise` ends (which is consumed; until then cancelling the one cancels the other). Each
 * consumes the resolver. When the promise was cancelled before, nothing happens beyond that.
 * Callbacks run before this returns. NULL resolvers: only the arguments are consumed.
 */
THRUM__PROMISE void thrum_resolver_resolve(struct thrum_resolver *resolver,
	struct thrum_value value);
THRUM__PROMISE void thrum__resolver_fail(struct thrum_site *place, struct thrum_resolver *resolver,
	int code, const char *format, ...) __attribute__((format(printf, 4, 5)));
#define thrum_resolver_fail(...) thrum__resolver_fail(THRUM__PLACE, __VA_ARGS__)
THRUM__PROMISE void thrum_resolver_fail_again(struct thrum_resolver *resolver,
	const struct thrum_failure *failure);
THRUM__PROMISE void thrum_resolver_follow(struct thrum_resolver *resolver,
	struct thrum_promise *promise);

/* Gives a resolver up: its promise fails with THRUM_BROKEN. */
THRUM__PROMISE void thrum_resolver_drop(struct thrum_resolver *resolver);

/* Whether the resolver's promise is still pending: false when it was cancelled. Borrows. */
THRUM__PROMISE bool thrum_resolver_wanted(const struct thrum_resolver *resolver);

THRUM__PROMISE enum thrum_promise_state thrum_promise_state(const struct thrum_promise *promise);
/* The value of a resolved promise, else NULL; the failure of a failed one, else NULL. Both are
 * borrowed from the promise. */
THRUM__PROMISE void *thrum_promise_value(const struct thrum_promise *promise);
THRUM__PROMISE const struct thrum_failure *thrum_promise_failure(
	const struct thrum_promise *promise);

/*
 * Moves the value out of a resolved promise, if nobody else can see it: no other reference to the
 * promise, nothing that waits for it. (A value without a destructor is always given.) The promise's
 * value is none from then on. False, and `value` untouched, when it can't.
 */
THRUM__MUST_USE bool thrum_promise_take(struct thrum_promise *promise, struct thrum_value *value);

/* The same in a callback, for the value that it was given; in one call of it, once. */
THRUM__MUST_USE bool thrum_loop_take(struct thrum_loop *loop, struct thrum_value *value);

/* Labels the promise's task; gives the same promise, so that calls can be nested. labelf formats
 * only when recording. */
THRUM__PROMISE struct thrum_promise *thrum_promise_label(struct thrum_promise *promise,
	const char *label);
THRUM__PROMISE struct thrum_promise *thrum_promise_labelf(struct thrum_promise *promise,
	const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says that it would be an error if the promise stayed pending. Gives the same promise. */
THRUM__PROMISE struct thrum_promise *thrum_promise_should_resolve(struct thrum_promise *promise);

/* The promise's task. NONE when it isn't recorded; for a promise that had ended when it was made,
 * the task that ran then. */
THRUM__PROMISE thrum_task thrum_promise_task_id(const struct thrum_promise *promise);

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* What comes after a value, and after a failure. The promise that they return is consumed; NULL
 * stands for one that failed for lack of memory. */
typedef struct thrum_promise *thrum_then(struct thrum_loop *loop, void *value, void *data);
typedef struct thrum_promise *thrum_handler(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data);
/* What begins something, or ends it. */
typedef struct thrum_promise *thrum_begin(struct thrum_loop *loop, void *data);
/* What only computes. */
typedef struct thrum_value thrum_mapper(struct thrum_loop *loop, void *value, void *data);
/* What only has effects. */
typedef void thrum_on_value(struct thrum_loop *loop, void *value, void *data);
typedef void thrum_on_failing(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data);
typedef void thrum_on_end(struct thrum_loop *loop, void *data);

/* Resolved: goes on as what `then` returns. Failed: fails likewise. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_bind(struct thrum_site *site,
	struct thrum_promise *promise, thrum_then *then, void *data, thrum_destroy *destroy);
#define thrum_promise_bind(...) thrum__promise_bind(THRUM__HERE, __VA_ARGS__)

/* Resolved: resolves with what `mapper` returns. Failed: fails likewise. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_map(struct thrum_site *site,
	struct thrum_promise *promise, thrum_mapper *mapper, void *data, thrum_destroy *destroy);
#define thrum_promise_map(...) thrum__promise_map(THRUM__HERE, __VA_ARGS__)

/* Resolved: resolves likewise. Failed: goes on as what `handler` returns. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_catch(struct thrum_site *site,
	struct thrum_promise *promise, thrum_handler *handler, void *data, thrum_destroy *destroy);
#define thrum_promise_catch(...) thrum__promise_catch(THRUM__HERE, __VA_ARGS__)

/* Goes on as what one or the other returns. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_try_bind(struct thrum_site *site,
	struct thrum_promise *promise, thrum_then *then, thrum_handler *handler, void *data,
	thrum_destroy *destroy);
#define thrum_promise_try_bind(...) thrum__promise_try_bind(THRUM__HERE, __VA_ARGS__)

/* Resolved or failed: begins `cleanup` and, when that is resolved, ends as `promise` did; when it
 * fails, fails as that. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_finalize(struct thrum_site *site,
	struct thrum_promise *promise, thrum_begin *cleanup, void *data, thrum_destroy *destroy);
#define thrum_promise_finalize(...) thrum__promise_finalize(THRUM__HERE, __VA_ARGS__)

/* Run a callback when the promise is resolved, when it fails, in either case, or one for each. */
THRUM__PROMISE void thrum__promise_on_success(struct thrum_site *site,
	struct thrum_promise *promise, thrum_on_value *callback, void *data,
	thrum_destroy *destroy);
THRUM__PROMISE void thrum__promise_on_failure(struct thrum_site *site,
	struct thrum_promise *promise, thrum_on_failing *callback, void *data,
	thrum_destroy *destroy);
THRUM__PROMISE void thrum__promise_on_termination(struct thrum_site *site,
	struct thrum_promise *promise, thrum_on_end *callback, void *data, thrum_destroy *destroy);
THRUM__PROMISE void thrum__promise_on_any(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_value *resolved, thrum_on_failing *failed, void *data, thrum_destroy *destroy);
#define thrum_promise_on_success(...) thrum__promise_on_success(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_on_failure(...) thrum__promise_on_failure(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_on_termination(...) thrum__promise_on_termination(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_on_any(...) thrum__promise_on_any(THRUM__HERE, __VA_ARGS__)

/* Runs a callback when the promise fails with THRUM_CANCELED, before its other callbacks. */
THRUM__PROMISE void thrum__promise_on_cancel(struct thrum_site *site, struct thrum_promise *promise,
	thrum_on_end *callback, void *data, thrum_destroy *destroy);
#define thrum_promise_on_cancel(...) thrum__promise_on_cancel(THRUM__HERE, __VA_ARGS__)

/* Begins something that nobody waits for, in a task of its own. If what it returns fails, that is
 * told to the loop's hook for unhandled failures. `label` may be NULL. */
THRUM__PROMISE void thrum__promise_async(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, thrum_begin *begin, void *data, thrum_destroy *destroy);
#define thrum_promise_async(...) thrum__promise_async(THRUM__HERE, __VA_ARGS__)

/* Nobody will wait for the promise; its failure is told to the loop's hook. */
THRUM__PROMISE void thrum__promise_ignore_result(struct thrum_site *site,
	struct thrum_promise *promise);
#define thrum_promise_ignore_result(...) thrum__promise_ignore_result(THRUM__HERE, __VA_ARGS__)

/* Resolved with no value when the uv loop has been round once more: lets others run. Can be
 * cancelled. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_pause(struct thrum_site *site,
	struct thrum_loop *loop);
#define thrum_promise_pause(...) thrum__promise_pause(THRUM__HERE, __VA_ARGS__)

/* ---- Several promises ------------------------------------------------------------------------ */

/*
 * `promises` is an array of `count` that stays the caller's; the promises in it are consumed. The
 * same promise may be there twice, with a reference for each. Cost: O(count).
 */

/* When all have ended: resolved with no value, or failed as the first that failed. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_join(struct thrum_site *site,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
#define thrum_promise_join(...) thrum__promise_join(THRUM__HERE, __VA_ARGS__)

/* The value of both, nchoose and npick: what was resolved, in the order of the array. */
struct thrum_item {
	void *value;
	struct thrum_promise *promise; /* the value's owner: borrowed, for thrum_promise_take */
	size_t index;                  /* in the array that was given */
};
struct thrum_items {
	size_t count;
	struct thrum_item *item;
};

/* When both have ended: resolved with two items, or failed as the first that failed. */
THRUM__MUST_USE struct thrum_promise *thrum__promise_both(struct thrum_site *site,
	struct thrum_promise *first, struct thrum_promise *second);
#define thrum_promise_both(...) thrum__promise_both(THRUM__HERE, __VA_ARGS__)

/*
 * When the first has ended: likewise. If some have ended before the call: as the first of the array
 * that failed, else as the first that was resolved. With a count of 0: pending for ever. `pick`
 * cancels the others before it ends.
 */
THRUM__MUST_USE struct thrum_promise *thrum__promise_choose(struct thrum_site *site,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
THRUM__MUST_USE struct thrum_promise *thrum__promise_pick(struct thrum_site *site,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
#define thrum_promise_choose(...) thrum__promise_choose(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_pick(...) thrum__promise_pick(THRUM__HERE, __VA_ARGS__)

/* The same with all those that have been resolved by then, as items; failed if one of them failed.
 */
THRUM__MUST_USE struct thrum_promise *thrum__promise_nchoose(struct thrum_site *site,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
THRUM__MUST_USE struct thrum_promise *thrum__promise_npick(struct thrum_site *site,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
#define thrum_promise_nchoose(...) thrum__promise_nchoose(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_npick(...) thrum__promise_npick(THRUM__HERE, __VA_ARGS__)

/* ---- Cancellation ---------------------------------------------------------------------------- */

/*
 * Looks backwards from a pending promise for those that it depends on and that can be cancelled
 * (from task and protected, and those of this library that say so), and makes each fail with
 * THRUM_CANCELED. That then goes forwards like any failure: the promise itself fails when nobody on
 * the way handles it. One from bind, map, catch, try_bind and finalize depends on the promise given
 * to it or, once the callback was run, on the one that this returned; one from join, both, choose,
 * pick, nchoose and npick on all. Does nothing to a promise that has ended. Borrows it. Cost:
 * O(promises on the way).
 */
THRUM__PROMISE void thrum__promise_cancel(struct thrum_site *place, struct thrum_promise *promise);
#define thrum_promise_cancel(...) thrum__promise_cancel(THRUM__PLACE, __VA_ARGS__)

/* Ends as the promise does; cancelling it cancels itself only (protected), or nothing (no_cancel).
 */
THRUM__MUST_USE struct thrum_promise *thrum__promise_protected(struct thrum_site *site,
	struct thrum_promise *promise);
THRUM__MUST_USE struct thrum_promise *thrum__promise_no_cancel(struct thrum_site *site,
	struct thrum_promise *promise);
#define thrum_promise_protected(...) thrum__promise_protected(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_no_cancel(...) thrum__promise_no_cancel(THRUM__HERE, __VA_ARGS__)

/* ---- Conditions, mailboxes, locks, streams, scopes --------------------------------------------
 */

/*
 * Each is made for a loop with a label (or NULL), and then is a task of its kind; `create` gives
 * NULL without memory. Waiting can be cancelled; who was cancelled takes nothing. Those who wait
 * are served in the order of their calls. `destroy` makes the promises of those who still wait fail
 * with THRUM_BROKEN and destroys values that nobody took; a lock or semaphore must not be held then
 * by what gives it back later (`with`, a wait for a condition). NULL: nothing.
 */

/* Something that may happen; nothing is remembered: who comes after a signal waits for the next. */
struct thrum_condition;
struct thrum_mutex;
THRUM__MUST_USE struct thrum_condition *thrum__condition_create(struct thrum_site *site,
	struct thrum_loop *loop, const char *label);
THRUM__PROMISE void thrum_condition_destroy(struct thrum_condition *condition);
/* Resolved with the value of the next signal. With a mutex, which the caller holds: unlocks it
 * while waiting, and locks it again before it ends, however it ends. It may be NULL. */
THRUM__MUST_USE struct thrum_promise *thrum__condition_wait(struct thrum_site *site,
	struct thrum_condition *condition, struct thrum_mutex *mutex);
/* To the first that waits; to all, who then share the value. Consume the value, which is destroyed
 * when nobody waits. Return how many heard. */
THRUM__PROMISE size_t thrum_condition_signal(struct thrum_condition *condition,
	struct thrum_value value);
THRUM__PROMISE size_t thrum_condition_broadcast(struct thrum_condition *condition,
	struct thrum_value value);
/* All that wait fail. */
THRUM__PROMISE size_t thrum__condition_broadcast_fail(struct thrum_site *place,
	struct thrum_condition *condition, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define thrum_condition_create(...) thrum__condition_create(THRUM__HERE, __VA_ARGS__)
#define thrum_condition_wait(...) thrum__condition_wait(THRUM__HERE, __VA_ARGS__)
#define thrum_condition_broadcast_fail(...) \
	thrum__condition_broadcast_fail(THRUM__PLACE, __VA_ARGS__)

/* A mailbox for one value. */
struct thrum_mvar;
THRUM__MUST_USE struct thrum_mvar *thrum__mvar_create(struct thrum_site *site,
	struct thrum_loop *loop, const char *label);
THRUM__PROMISE void thrum_mvar_destroy(struct thrum_mvar *mvar);
/* Resolved with no value once the value is in the mailbox, which must be empty for it. Consumes the
 * value. */
THRUM__MUST_USE struct thrum_promise *thrum__mvar_put(struct thrum_site *site,
	struct thrum_mvar *mvar, struct thrum_value value);
/* Resolved with the value, which leaves the mailbox. */
THRUM__MUST_USE struct thrum_promise *thrum__mvar_take(struct thrum_site *site,
	struct thrum_mvar *mvar);
/* At once or not at all: false, and the value is still the caller's or `value` is untouched. */
THRUM__MUST_USE bool thrum_mvar_try_put(struct thrum_mvar *mvar, struct thrum_value value);
THRUM__MUST_USE bool thrum_mvar_try_take(struct thrum_mvar *mvar, struct thrum_value *value);
THRUM__PROMISE bool thrum_mvar_is_empty(const struct thrum_mvar *mvar);
#define thrum_mvar_create(...) thrum__mvar_create(THRUM__HERE, __VA_ARGS__)
#define thrum_mvar_put(...) thrum__mvar_put(THRUM__HERE, __VA_ARGS__)
#define thrum_mvar_take(...) thrum__mvar_take(THRUM__HERE, __VA_ARGS__)

/* A lock that promises hold. */
THRUM__MUST_USE struct thrum_mutex *thrum__mutex_create(struct thrum_site *site,
	struct thrum_loop *loop, const char *label);
THRUM__PROMISE void thrum_mutex_destroy(struct thrum_mutex *mutex);
/* Resolved with no value once the lock is the caller's. */
THRUM__MUST_USE struct thrum_promise *thrum__mutex_lock(struct thrum_site *site,
	struct thrum_mutex *mutex);
/* Gives it to the first that waits. Of a mutex that isn't locked: nothing. */
THRUM__PROMISE void thrum_mutex_unlock(struct thrum_mutex *mutex);
/* Locks, begins, and unlocks when what `begin` returned has ended; ends as that. */
THRUM__MUST_USE struct thrum_promise *thrum__mutex_with(struct thrum_site *site,
	struct thrum_mutex *mutex, thrum_begin *begin, void *data, thrum_destroy *destroy);
THRUM__PROMISE bool thrum_mutex_is_locked(const struct thrum_mutex *mutex);
#define thrum_mutex_create(...) thrum__mutex_create(THRUM__HERE, __VA_ARGS__)
#define thrum_mutex_lock(...) thrum__mutex_lock(THRUM__HERE, __VA_ARGS__)
#define thrum_mutex_with(...) thrum__mutex_with(THRUM__HERE, __VA_ARGS__)

/* A number of places, of which at first `count` are free. */
struct thrum_semaphore;
THRUM__MUST_USE struct thrum_semaphore *thrum__semaphore_create(struct thrum_site *site,
	struct thrum_loop *loop, const char *label, size_t count);
THRUM__PROMISE void thrum_semaphore_destroy(struct thrum_semaphore *semaphore);
/* Resolved with no value once a place is the caller's; gives one back, to the first that waits; the
 * same around something, as for a mutex. */
THRUM__MUST_USE struct thrum_promise *thrum__semaphore_acquire(struct thrum_site *site,
	struct thrum_semaphore *semaphore);
THRUM__PROMISE void thrum_semaphore_release(struct thrum_semaphore *semaphore);
THRUM__MUST_USE struct thrum_promise *thrum__semaphore_with(struct thrum_site *site,
	struct thrum_semaphore *semaphore, thrum_begin *begin, void *data, thrum_destroy *destroy);
THRUM__PROMISE size_t thrum_semaphore_free(const struct thrum_semaphore *semaphore);
#define thrum_semaphore_create(...) thrum__semaphore_create(THRUM__HERE, __VA_ARGS__)
#define thrum_semaphore_acquire(...) thrum__semaphore_acquire(THRUM__HERE, __VA_ARGS__)
#define thrum_semaphore_with(...) thrum__semaphore_with(THRUM__HERE, __VA_ARGS__)

/* A queue of at most `capacity` values, which are not NULL; at least 1, else `create` gives NULL.
 */
struct thrum_stream;
THRUM__MUST_USE struct thrum_stream *thrum__stream_create(struct thrum_site *site,
	struct thrum_loop *loop, const char *label, size_t capacity);
THRUM__PROMISE void thrum_stream_destroy(struct thrum_stream *stream);
/* Resolved with no value once the value is in the queue. Consumes the value. Fails with -EINVAL
 * when it is NULL, with -EPIPE when the stream is closed. */
THRUM__MUST_USE struct thrum_promise *thrum__stream_push(struct thrum_site *site,
	struct thrum_stream *stream, struct thrum_value value);
/* At once or not at all: false, and the value is still the caller's. */
THRUM__MUST_USE bool thrum_stream_try_push(struct thrum_stream *stream, struct thrum_value value);
/* No more values come; those that are there, or wait for room, can still be read. */
THRUM__PROMISE void thrum_stream_close(struct thrum_stream *stream);
/* Resolved with the next value, or with NULL at the end. */
THRUM__MUST_USE struct thrum_promise *thrum__stream_next(struct thrum_site *site,
	struct thrum_stream *stream);
THRUM__PROMISE size_t thrum_stream_length(const struct thrum_stream *stream);
#define thrum_stream_create(...) thrum__stream_create(THRUM__HERE, __VA_ARGS__)
#define thrum_stream_push(...) thrum__stream_push(THRUM__HERE, __VA_ARGS__)
#define thrum_stream_next(...) thrum__stream_next(THRUM__HERE, __VA_ARGS__)

/* A scope: what was begun in it ends with it. */
struct thrum_switch;
THRUM__MUST_USE struct thrum_switch *thrum__switch_create(struct thrum_site *site,
	struct thrum_loop *loop, const char *label);
/* Also turns it off, without waiting. */
THRUM__PROMISE void thrum_switch_destroy(struct thrum_switch *scope);
/* Adds a child, or something to begin when the switch is turned off. When it is off already, and
 * without memory: cancels the child, begins the hook at once. */
THRUM__PROMISE void thrum_switch_add(struct thrum_switch *scope, struct thrum_promise *promise);
THRUM__PROMISE void thrum_switch_add_hook(struct thrum_switch *scope, thrum_begin *hook, void *data,
	thrum_destroy *destroy);
/* Cancels all children, begins all hooks, the last one first; resolved with no value when all of
 * them have ended, failed as the first hook that failed. Failures of children are theirs. */
THRUM__MUST_USE struct thrum_promise *thrum__switch_off(struct thrum_site *site,
	struct thrum_switch *scope);
THRUM__PROMISE bool thrum_switch_is_on(const struct thrum_switch *scope);
/* Makes a switch for what `body` begins; when that has ended, turns it off, waits, destroys it, and
 * ends as the body or, if only that failed, as the turning off. */
typedef struct thrum_promise *thrum_switch_body(struct thrum_loop *loop, struct thrum_switch *scope,
	void *data);
THRUM__MUST_USE struct thrum_promise *thrum__switch_with(struct thrum_site *site,
	struct thrum_loop *loop, const char *label, thrum_switch_body *body, void *data,
	thrum_destroy *destroy);
#define thrum_switch_create(...) thrum__switch_create(THRUM__HERE, __VA_ARGS__)
#define thrum_switch_off(...) thrum__switch_off(THRUM__HERE, __VA_ARGS__)
#define thrum_switch_with(...) thrum__switch_with(THRUM__HERE, __VA_ARGS__)

/* ---- Time ------------------------------------------------------------------------------------ */

/* Unless it says otherwise, a promise of the rest of this header can be cancelled, fails with
 * libuv's code, and is labelled with what it does: `sleep 20 ms`, `tcp connect 127.0.0.1:80`. */

/* Resolved with no value after so long. */
THRUM__MUST_USE struct thrum_promise *thrum__sleep(struct thrum_site *site, struct thrum_loop *loop,
	uint64_t milliseconds);
#define thrum_sleep(...) thrum__sleep(THRUM__HERE, __VA_ARGS__)

/* Ends as the promise; or fails with -ETIMEDOUT after so long, and cancels it. */
THRUM__MUST_USE struct thrum_promise *thrum__timeout(struct thrum_site *site,
	struct thrum_promise *promise, uint64_t milliseconds);
#define thrum_timeout(...) thrum__timeout(THRUM__HERE, __VA_ARGS__)

/* ---- Connections: TCP and pipes (Unix domain sockets) ------------------------------------------
 */

struct thrum_connection;
struct thrum_listener;

/* What was read: a value that owns its bytes. At the end the value is NULL instead. */
struct thrum_bytes {
	char *data;
	size_t size;
};

/* Resolved with a struct thrum_connection. The value owns it and closes it when it is destroyed: to
 * keep it, take it (thrum_loop_take) and close it. The addresses are copied. */
THRUM__MUST_USE struct thrum_promise *thrum__tcp_connect(struct thrum_site *site,
	struct thrum_loop *loop, const struct sockaddr *address);
THRUM__MUST_USE struct thrum_promise *thrum__pipe_connect(struct thrum_site *site,
	struct thrum_loop *loop, const char *path);
#define thrum_tcp_connect(...) thrum__tcp_connect(THRUM__HERE, __VA_ARGS__)
#define thrum_pipe_connect(...) thrum__pipe_connect(THRUM__HERE, __VA_ARGS__)

/* Begin to listen. Return 0 or a negative errno value; `listener` is then untouched. */
THRUM__MUST_USE int thrum__tcp_listen(struct thrum_site *site, struct thrum_loop *loop,
	const struct sockaddr *address, int backlog, struct thrum_listener **listener);
THRUM__MUST_USE int thrum__pipe_listen(struct thrum_site *site, struct thrum_loop *loop,
	const char *path, int backlog, struct thrum_listener **listener);
#define thrum_tcp_listen(...) thrum__tcp_listen(THRUM__HERE, __VA_ARGS__)
#define thrum_pipe_listen(...) thrum__pipe_listen(THRUM__HERE, __VA_ARGS__)

/* Resolved with the next connection, owned as above. Several may wait. */
THRUM__MUST_USE struct thrum_promise *thrum__listener_accept(struct thrum_site *site,
	struct thrum_listener *listener);
/* Stops listening; those who wait to accept fail with -ECANCELED. Resolved with no value once it is
 * closed and freed; can't be cancelled; the promise may be dropped. */
THRUM__PROMISE struct thrum_promise *thrum__listener_close(struct thrum_site *site,
	struct thrum_listener *listener);
/* The uv handle, for what libuv can ask of it: borrowed. */
THRUM__PROMISE struct uv_stream_s *thrum_listener_uv(const struct thrum_listener *listener);
/* The port of a TCP listener; 0 when there is none. */
THRUM__PROMISE unsigned thrum_listener_port(const struct thrum_listener *listener);
#define thrum_listener_accept(...) thrum__listener_accept(THRUM__HERE, __VA_ARGS__)
#define thrum_listener_close(...) thrum__listener_close(THRUM__HERE, __VA_ARGS__)

/* Resolved with the next struct thrum_bytes, at least one byte; with NULL at the end. One read at a
 * time: a second one fails with -EBUSY. Nothing is lost when it is cancelled. */
THRUM__MUST_USE struct thrum_promise *thrum__connection_read(struct thrum_site *site,
	struct thrum_connection *connection);
/* Writes `size` bytes at data.data and then destroys the value. Resolved with no value once they
 * are written; the order is that of the calls. Cancelling does not unsend. */
THRUM__MUST_USE struct thrum_promise *thrum__connection_write(struct thrum_site *site,
	struct thrum_connection *connection, struct thrum_value data, size_t size);
/* Nothing more will be written: resolved with no value once the rest is out. */
THRUM__MUST_USE struct thrum_promise *thrum__connection_shutdown(struct thrum_site *site,
	struct thrum_connection *connection);
/* What is under way fails with -ECANCELED. Resolved with no value once it is closed and freed;
 * can't be cancelled; the promise may be dropped. */
THRUM__PROMISE struct thrum_promise *thrum__connection_close(struct thrum_site *site,
	struct thrum_connection *connection);
THRUM__PROMISE struct uv_stream_s *thrum_connection_uv(const struct thrum_connection *connection);
#define thrum_connection_read(...) thrum__connection_read(THRUM__HERE, __VA_ARGS__)
#define thrum_connection_write(...) thrum__connection_write(THRUM__HERE, __VA_ARGS__)
#define thrum_connection_shutdown(...) thrum__connection_shutdown(THRUM__HERE, __VA_ARGS__)
#define thrum_connection_close(...) thrum__connection_close(THRUM__HERE, __VA_ARGS__)

/* Resolved with a list of struct addrinfo, which the value owns. Arguments as for getaddrinfo(3);
 * they are copied. */
THRUM__MUST_USE struct thrum_promise *thrum__getaddrinfo(struct thrum_site *site,
	struct thrum_loop *loop, const char *node, const char *service,
	const struct addrinfo *hints);
#define thrum_getaddrinfo(...) thrum__getaddrinfo(THRUM__HERE, __VA_ARGS__)

/* ---- Files -------------------------------------------------------------------------------------
 */

/* Done in libuv's thread pool. What has begun there can't be stopped: cancelling such a promise
 * ends it, the work goes on and its result is dropped. */

struct thrum_file;

/* Resolved with a struct thrum_file; the value owns it and closes it when it is destroyed. Flags
 * and mode as for open(2). */
THRUM__MUST_USE struct thrum_promise *thrum__file_open(struct thrum_site *site,
	struct thrum_loop *loop, const char *path, int flags, int mode);
/* Resolved with at most `size` bytes, with NULL at the end. An offset of -1 stands for the file's
 * own position. */
THRUM__MUST_USE struct thrum_promise *thrum__file_read(struct thrum_site *site,
	struct thrum_file *file, size_t size, int64_t offset);
/* Writes all of `size` bytes at data.data, then destroys the value. Resolved with no value. */
THRUM__MUST_USE struct thrum_promise *thrum__file_write(struct thrum_site *site,
	struct thrum_file *file, struct thrum_value data, size_t size, int64_t offset);
THRUM__MUST_USE struct thrum_promise *thrum__file_sync(struct thrum_site *site,
	struct thrum_file *file);
/* After what is under way. Resolved with no value; can't be cancelled; the promise may be dropped.
 */
THRUM__PROMISE struct thrum_promise *thrum__file_close(struct thrum_site *site,
	struct thrum_file *file);
/* Resolved with a uv_stat_t, which the value owns. */
THRUM__MUST_USE struct thrum_promise *thrum__file_stat(struct thrum_site *site,
	struct thrum_loop *loop, const char *path);
/* Resolved with the whole content as a struct thrum_bytes, also when it is empty. */
THRUM__MUST_USE struct thrum_promise *thrum__file_load(struct thrum_site *site,
	struct thrum_loop *loop, const char *path);
#define thrum_file_open(...) thrum__file_open(THRUM__HERE, __VA_ARGS__)
#define thrum_file_read(...) thrum__file_read(THRUM__HERE, __VA_ARGS__)
#define thrum_file_write(...) thrum__file_write(THRUM__HERE, __VA_ARGS__)
#define thrum_file_sync(...) thrum__file_sync(THRUM__HERE, __VA_ARGS__)
#define thrum_file_close(...) thrum__file_close(THRUM__HERE, __VA_ARGS__)
#define thrum_file_stat(...) thrum__file_stat(THRUM__HERE, __VA_ARGS__)
#define thrum_file_load(...) thrum__file_load(THRUM__HERE, __VA_ARGS__)

/* ---- Processes, threads, signals
 * ----------------------------------------------------------------- */

struct thrum_process;

/* How a process ended. */
struct thrum_exit {
	int64_t status;
	int signal; /* that ended it, or 0 */
};

/* Starts a process; the options' exit_cb is not used. Returns 0 or a negative errno value;
 * `process` is then untouched. */
THRUM__MUST_USE int thrum__process_spawn(struct thrum_site *site, struct thrum_loop *loop,
	const struct uv_process_options_s *options, struct thrum_process **process);
/* Resolved with a struct thrum_exit. May be called several times, also after the end. */
THRUM__MUST_USE struct thrum_promise *thrum__process_wait(struct thrum_site *site,
	struct thrum_process *process);
THRUM__PROMISE int thrum_process_pid(const struct thrum_process *process);
/* Returns 0 or a negative errno value: -ESRCH when it has ended. */
THRUM__PROMISE int thrum_process_kill(struct thrum_process *process, int signal);
/* Forgets about it; who waits fails with THRUM_BROKEN. The process itself goes on. */
THRUM__PROMISE void thrum_process_destroy(struct thrum_process *process);
#define thrum_process_spawn(...) thrum__process_spawn(THRUM__HERE, __VA_ARGS__)
#define thrum_process_wait(...) thrum__process_wait(THRUM__HERE, __VA_ARGS__)

/*
 * Runs `work` in libuv's thread pool, as a run of the promise's task on that thread's lane. It
 * returns 0 after it has set `result`, which begins as none, or a code other than 0, with which the
 * promise fails. It mustn't use the loop. Cancelling: when it has not begun it is not run, else its
 * result is dropped. `destroy` is called in the loop's thread.
 */
typedef int thrum_worker(void *data, struct thrum_value *result);
THRUM__MUST_USE struct thrum_promise *thrum__work(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, thrum_worker *work, void *data, thrum_destroy *destroy);
#define thrum_work(...) thrum__work(THRUM__HERE, __VA_ARGS__)

/* Resolved with the number of the signal when it comes next. */
THRUM__MUST_USE struct thrum_promise *thrum__signal_wait(struct thrum_site *site,
	struct thrum_loop *loop, int signal);
#define thrum_signal_wait(...) thrum__signal_wait(THRUM__HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
