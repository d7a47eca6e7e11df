/* SPDX-License-Identifier: ISC */
/*
 * thrum/promise.h: promises on libuv that record their own lives.
 *
 * A promise stands for a result that comes later. It is pending first; then it is resolved with a
 * value, or it fails, and stays so for ever. A callback that is attached to a promise makes a new
 * promise. The meaning of each operation is that of Lwt 3 (OCaml), except for the time at which
 * callbacks run (below).
 *
 * Recording. While thrum records, every pending promise is a task, with the place of the call that
 * made it. The program needs no other call for that. When the program's work is done or given up,
 * call thrum_stop before you tidy up: before you cancel promises, close connections, or destroy
 * conditions, locks and the like. All of these end promises that are still pending. A recording
 * that goes on meanwhile shows those promises as cancelled or failed, and `thrum why` finds no
 * hang.
 *
 * While uv_run waits for events, the loop suspends the lane (THRUM_WAIT_FOR_WORK), and at no other time.
 * A program that embeds the uv loop in another one, such as GLib's, suspends the lane itself while
 * the outer loop sleeps: in the function of g_main_context_set_poll_func, around g_poll. A callback that
 * must block, and so stops the whole loop, calls thrum_suspend(&tag) before and thrum_resume after;
 * thrum_work is better.
 *
 * A program may try again without end: a callback of bind or catch returns a promise that has such a
 * callback, too. The outer promise becomes that one, so memory doesn't grow. Each try leaves 10 to 20
 * events, 100 to 250 bytes. `thrum why` finds an endless retry by the tries that fail.
 *
 * Threads. Everything belongs to a struct thrum_loop, which the program makes around a uv_loop_t.
 * Only the thread that made the loop may use it and all that was made with it. Loops of different
 * threads are independent; they run functions in each other through inboxes (struct thrum_inbox).
 * Unless a comment says otherwise, no call is thread-safe or async-signal-safe. After fork, the child
 * must not touch any of it. A library built with -Dthrum_debug=1 or more asserts that the right
 * thread calls.
 *
 * Ownership. Promises count their references. A call that returns a promise gives the caller one
 * reference.
 *  - A call consumes one reference to each promise passed to it, whatever happens. To keep a
 *    promise, pass thrum_promise_ref(promise).
 *  - Calls that only look at a promise or act on it borrow it instead: ref, state, value, failure,
 *    take, label, labelf, should_resolve, task_id, cancel.
 *  - A promise owns its value, and destroys it when nobody can see it any more. A callback borrows
 *    the value while it runs.
 *  - The call that ends a promise consumes the resolver and the value given to it, also when the
 *    promise was cancelled before.
 *  - Each callback comes with `data` and `destroy`. The library calls destroy(data) exactly once:
 *    when the callback has returned, or instead of the callback if that never runs. `destroy` may
 *    be NULL. thrum_mutex_with, thrum_semaphore_with and thrum_work do so when all has ended. See
 *    "Freeing a callback's data" below.
 *  - Dropping all references to a pending promise stops nothing: its callbacks still run. A promise
 *    that nobody can end any more is freed, and so is everything that waits for it. The exception
 *    is a promise that waits for itself: it stays until the loop is destroyed.
 *
 * Freeing a callback's data. A callback has returned long before the operation that it began ends.
 * So `free` as its `destroy` suits data that only the callback itself reads:
 *
 *     thrum_promise_bind(thrum_sleep(loop, 100), print_line, strdup("hello"), free);
 *
 * Here that would be an error, because the write still reads the message:
 *
 *     struct thrum_promise *send(struct thrum_loop *loop, void *value, void *data)
 *     {
 *         struct message *message = data;
 *
 *         return thrum_connection_write(message->to, thrum_value_static(message->text),
 *             message->size);
 *     }
 *
 * Free such data when the operation has ended. finalize attaches a callback to that end; here it
 * does nothing, and its `destroy` frees the message:
 *
 *     sent = thrum_promise_bind(connected, send, message, NULL);
 *     sent = thrum_promise_finalize(sent, do_nothing, message, free);
 *
 * Memory. A call that returns a promise never returns NULL for lack of memory. It returns a promise
 * that has failed with -ENOMEM; the loop owns one from the beginning. A callback that can't be
 * attached is dropped and its data destroyed. NULL stands for such a failed promise too, but NULL
 * has no loop, so no callback can run for it: a call that gets NULL for a promise or a loop returns
 * NULL. A call that makes another object (loop, condition, ...) says how it fails. Calls on a NULL
 * object do nothing, or return NULL, 0 or false; they consume their arguments all the same.
 *
 * Errors are negative errno values, which on Unix are those of libuv (UV_ECONNREFUSED is
 * -ECONNREFUSED). thrum_promise_error_message gives the text of each. Programs may use positive
 * codes of their own.
 *
 * Callbacks run at once when their promise ends. If it has ended before, they run before the call
 * that attaches them returns. At most THRUM_PROMISE_DEPTH callbacks are nested so. Deeper ones run
 * in order when the outermost callback has returned, before the call returns that ran it. So the
 * stack stays bounded, however long a chain is.
 *
 * Cost. A pending promise takes 96 bytes (64-bit), its callback included, from a free list of its
 * loop. Create, bind, resolve and free take about 50 ns together. Each call is O(1) and none
 * blocks, unless its comment says otherwise. With -DTHRUM_DISABLED the program's own calls record
 * nothing.
 *
 * Names of the form `#define thrum_x(...) thrum__x(THRUM__HERE, __VA_ARGS__)` are called without
 * the first argument, which is the place of the call.
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

/* Marks the functions of this library. They are linked, also where THRUM_WEAK is defined. */
#define THRUM__PROMISE __attribute__((visibility("default"))) extern

/* Types of libuv and the system. A program that needs more than their names includes uv.h, which
 * wants -std=gnu11 or _GNU_SOURCE rather than plain -std=c11. */
struct uv_loop_s;
struct uv_stream_s;
struct uv_process_options_s;
struct sockaddr;
struct addrinfo;

struct thrum_loop;
struct thrum_promise;
struct thrum_resolver;

/* The place of a call, in a static descriptor. A failure names the place that it came from. */
#define THRUM__PLACE \
	__extension__({ \
		static struct thrum_site thrum__site = {__FILE__, __func__, __LINE__, 0}; \
		&thrum__site; \
	})
/* The place for the recording. With THRUM_DISABLED it is NULL, and nothing is recorded. */
#ifndef THRUM_DISABLED
#define THRUM__HERE THRUM__PLACE
#else
#define THRUM__HERE ((struct thrum_site *)0)
#endif

/* The greatest number of nested callbacks; deeper ones run later. */
#define THRUM_PROMISE_DEPTH 64

/* The codes of a promise that was cancelled, and of one whose resolver was dropped. */
#define THRUM_CANCELED (-ECANCELED)
#define THRUM_BROKEN (-EPIPE)

/* ---- Values and failures --------------------------------------------------------------------- */

/* Frees `data`. It runs in the loop's thread. */
typedef void thrum_destroy(void *data);

/* A value that changes hands. Its owner calls destroy(data) once, unless `destroy` is NULL. */
struct thrum_value {
	void *data;
	thrum_destroy *destroy;
};

/* Returns a value that owns `data`. */
static inline struct thrum_value thrum_value_own(void *data, thrum_destroy *destroy)
{
	struct thrum_value value;

	value.data = data;
	value.destroy = destroy;
	return value;
}

/* Returns no value: callbacks get NULL. */
static inline struct thrum_value thrum_value_none(void)
{
	return thrum_value_own(NULL, NULL);
}

/* Returns a value that owns nothing; `data` must outlive the promise. */
static inline struct thrum_value thrum_value_static(const void *data)
{
	return thrum_value_own((void *)(uintptr_t)data, NULL);
}

/* Returns a number as a value. A callback reads it with thrum_int(value). */
static inline struct thrum_value thrum_value_int(intptr_t number)
{
	return thrum_value_own((void *)number, NULL);
}

static inline intptr_t thrum_int(const void *value)
{
	return (intptr_t)value;
}

/* Destroys a value that the caller owns. */
static inline void thrum_value_destroy(struct thrum_value value)
{
	if (value.destroy)
		value.destroy(value.data);
}

/* The reason why a promise failed. It lives as long as a promise holds it. A callback borrows it. */
struct thrum_failure {
	int code;             /* negative: an errno value; positive: the program's own */
	const char *message;  /* never NULL */
	const char *file;     /* the place; NULL if it is unknown, as for lack of memory */
	const char *function; /* NULL likewise */
	unsigned line;
};

/*
 * Returns the message for an error code that a call returns or a failure holds: libuv's message,
 * else the system's. Use it instead of uv_strerror, which allocates and says "Unknown system error"
 * for codes that libuv doesn't name, such as the -EDEADLK of thrum_promise_run. 0 gives "success";
 * positive and unknown codes give "failed". The text is static and never NULL. Thread-safe.
 */
THRUM__PROMISE const char *thrum_promise_error_message(int code);

/* ---- Loops ----------------------------------------------------------------------------------- */

/*
 * Makes a loop around `uv`, whose `data` stays the program's. thrum_loop_destroy frees it. It takes
 * a few kilobytes; memory for promises comes in slabs of 32 KiB, which it keeps. Returns 0, -EINVAL
 * if an argument is NULL, or -ENOMEM; then `loop` is untouched.
 */
THRUM__PROMISE THRUM__MUST_USE int thrum_loop_create(struct uv_loop_s *uv,
	struct thrum_loop **loop);

/*
 * Destroys a loop; nothing made with it may be used any more. Promises that are still there are
 * freed: their values and the data of their callbacks are destroyed, and no callback runs. So
 * destroy conditions, mutexes and the like before, and close all that holds libuv handles
 * (connections, timers, ...). The loop closes its own handles: run the uv loop once more before
 * uv_loop_close. Must not be called in a callback or destructor. O(promises that ever existed at
 * once). NULL does nothing.
 */
THRUM__PROMISE void thrum_loop_destroy(struct thrum_loop *loop);

/* Returns the uv loop that the loop was made around; NULL for NULL. */
THRUM__PROMISE struct uv_loop_s *thrum_loop_uv(const struct thrum_loop *loop);

/* Returns the number of promises that exist now, pending or not, to find leaks; 0 for NULL. */
THRUM__PROMISE size_t thrum_loop_promises(const struct thrum_loop *loop);

/*
 * A hook that is told about failures that nobody handles: those of async and ignore_result, and
 * cancellations of them, with the code THRUM_CANCELED. By default, and with a NULL hook, such a
 * failure leaves a line in the recording. The hook borrows the failure and may do all that a
 * callback may. It stays until another one is set. `data` must outlive the loop.
 *
 * thrum_loop_unhandled returns the number of such failures so far; 0 for NULL.
 */
typedef void thrum_unhandled(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data);
THRUM__PROMISE void thrum_loop_on_unhandled(struct thrum_loop *loop, thrum_unhandled *hook,
	void *data);
THRUM__PROMISE size_t thrum_loop_unhandled(const struct thrum_loop *loop);

/*
 * Runs the uv loop until the promise has ended, or until nothing is left that could end it. Blocks;
 * uv_stop doesn't end it. Returns 0 if the promise was resolved, the code of its failure if it
 * failed, and -EDEADLK if it is still pending, which is recorded (THRUM_DEADLOCKED, and that the
 * promise should resolve); -ENOMEM for NULL. Consumes the promise: to get at its value or message,
 * keep a reference. Must not be called in a callback.
 */
THRUM__PROMISE THRUM__MUST_USE int thrum_promise_run(struct thrum_promise *promise);

/* ---- Promises and resolvers ------------------------------------------------------------------ */

enum thrum_promise_state {
	THRUM_PROMISE_PENDING = 0,
	THRUM_PROMISE_RESOLVED = 1,
	THRUM_PROMISE_FAILED = 2,
};

/* Add and remove a reference. ref returns its argument. NULL does nothing. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum_promise_ref(
	struct thrum_promise *promise);
THRUM__PROMISE void thrum_promise_unref(struct thrum_promise *promise);

/* Returns a promise that is already resolved. It is no task. Consumes the value. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum_promise_return(struct thrum_loop *loop,
	struct thrum_value value);

/* Returns a promise that has already failed. It is no task. A code of 0 is taken for -EINVAL. A
 * NULL format stands for the code's own message. The message is cut at THRUM_TEXT_MAX bytes. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_fail(struct thrum_site *place,
	struct thrum_loop *loop, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define thrum_promise_fail(...) thrum__promise_fail(THRUM__PLACE, __VA_ARGS__)

/* Returns a promise that has failed with a failure which the library handed out. A handler that
 * doesn't handle a failure returns it. A NULL failure gives -EINVAL. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum_promise_fail_again(struct thrum_loop *,
	const struct thrum_failure *failure);

/*
 * Return a pending promise and store the resolver that ends it; the caller owns both. A promise
 * from `task` can be cancelled, one from `wait` can't. `label` may be NULL. Without memory the
 * promise has failed, and the resolver may be used as always. A NULL loop makes both NULL.
 *
 * The library doesn't know which task is going to end the promise. To tell it, call
 * thrum_task_wait(thrum_promise_task_id(promise), task): `thrum why` then goes on with that task. In
 * a callback, thrum_task_current() is the task of the promise that the callback is to end, also after
 * it has returned another one. For a promise that must end first, it is thrum_promise_task_id of that
 * one. When the task ends, the wait is over. For a reader that ends many promises it is better left out:
 * `why` knows it by the ends before. doc/annotate.md has an example.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_task(struct thrum_site *,
	struct thrum_loop *loop, const char *label, struct thrum_resolver **resolver);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_wait(struct thrum_site *,
	struct thrum_loop *loop, const char *label, struct thrum_resolver **resolver);
#define thrum_promise_task(...) thrum__promise_task(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_wait(...) thrum__promise_wait(THRUM__HERE, __VA_ARGS__)

/*
 * End the resolver's promise and consume the resolver. Callbacks run before these calls return. If
 * the promise was cancelled before, or the resolver is NULL, they only consume their arguments.
 *  - resolve: with a value, which is consumed.
 *  - fail: with a failure. For `code` and `format` see thrum_promise_fail.
 *  - fail_again: with a failure that the library handed out; NULL gives -EINVAL.
 *  - follow: as `promise` ends, which is consumed. Until it ends, cancelling one of the two cancels
 *    the other. NULL fails with -ENOMEM.
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

/* Gives up a resolver: its promise fails with THRUM_BROKEN, unless it was cancelled before. NULL
 * does nothing. */
THRUM__PROMISE void thrum_resolver_drop(struct thrum_resolver *resolver);

/* Tells whether the resolver's promise is still pending: false if it was cancelled, and for NULL.
 * Borrows the resolver. */
THRUM__PROMISE bool thrum_resolver_wanted(const struct thrum_resolver *resolver);

/* Returns the state of a promise. NULL counts as failed. */
THRUM__PROMISE enum thrum_promise_state thrum_promise_state(const struct thrum_promise *promise);
/* Return the value of a resolved promise and the failure of a failed one; else NULL. The promise
 * stays their owner. NULL has a failure: -ENOMEM. */
THRUM__PROMISE void *thrum_promise_value(const struct thrum_promise *promise);
THRUM__PROMISE const struct thrum_failure *thrum_promise_failure(
	const struct thrum_promise *promise);

/*
 * Moves the value out of a resolved promise, if nobody else can see it: if there is no other
 * reference to the promise and nothing waits for it. A value without a destructor is always given.
 * The promise has no value from then on. Returns false, and leaves `value` untouched, if it can't;
 * also for NULL.
 */
THRUM__PROMISE THRUM__MUST_USE bool thrum_promise_take(struct thrum_promise *promise,
	struct thrum_value *value);

/* Moves the value that the callback which runs now was given to *value; once in each run of a
 * callback. The caller then owns it, and gives it on or calls thrum_value_destroy(*value). Returns
 * false as thrum_promise_take does, and outside callbacks; *value is untouched then. */
THRUM__PROMISE THRUM__MUST_USE bool thrum_loop_take(struct thrum_loop *loop,
	struct thrum_value *value);

/*
 * Label the promise's task; the last label is its name. They return the same promise, so that calls
 * can be nested. labelf formats only while something is recorded. A promise that has ended gets no
 * label; NULL gives NULL. A promise of bind keeps its label while it becomes the one that its callback
 * returned, unless that has a label of its own.
 *
 * bind and the like have no promise of their own if their source has ended before the call: they
 * return the promise that the callback returned. In label(bind(ended, f), "b"), that promise keeps a label
 * which f gave it; without one it becomes "b", but not if somebody else, say a cache of f's, holds it too.
 */
THRUM__PROMISE struct thrum_promise *thrum_promise_label(struct thrum_promise *promise,
	const char *label);
THRUM__PROMISE struct thrum_promise *thrum_promise_labelf(struct thrum_promise *promise,
	const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Records that it would be an error if the promise stayed pending for ever. To mark the outermost
 * promise will do: `thrum why` follows its waits to the one that nobody ends. Returns the same
 * promise. */
THRUM__PROMISE struct thrum_promise *thrum_promise_should_resolve(struct thrum_promise *promise);

/* Returns the promise's task: THRUM_TASK_NONE if it isn't recorded, and for NULL. For a promise
 * that had ended when it was made, it returns the task that ran then. */
THRUM__PROMISE thrum_task thrum_promise_task_id(const struct thrum_promise *promise);

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Run after a value, and after a failure. The promise that they return is consumed; NULL stands for
 * one that failed for lack of memory. */
typedef struct thrum_promise *thrum_then(struct thrum_loop *loop, void *value, void *data);
typedef struct thrum_promise *thrum_handler(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data);
/* Begins or ends something. The promise that it returns is consumed likewise. */
typedef struct thrum_promise *thrum_begin(struct thrum_loop *loop, void *data);
/* Computes a value, which is consumed. */
typedef struct thrum_value thrum_mapper(struct thrum_loop *loop, void *value, void *data);
/* Observe how a promise ended; they return nothing. */
typedef void thrum_on_value(struct thrum_loop *loop, void *value, void *data);
typedef void thrum_on_failing(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data);
typedef void thrum_on_end(struct thrum_loop *loop, void *data);

/*
 * bind, map, catch, try_bind and finalize return a promise for the result of a callback. If they
 * can't attach the callback for lack of memory, that promise has failed with -ENOMEM. For NULL they
 * destroy the data and return NULL.
 */

/* If the promise is resolved: calls `then` and ends as the promise that it returns. If the promise
 * fails: fails with the same failure. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_bind(struct thrum_site *,
	struct thrum_promise *promise, thrum_then *then, void *data, thrum_destroy *destroy);
#define thrum_promise_bind(...) thrum__promise_bind(THRUM__HERE, __VA_ARGS__)

/* If the promise is resolved: calls `mapper` and is resolved with the value that it returns. The mapper
 * borrows the value that it gets: to return the same one, take it (thrum_loop_take). If the promise fails:
 * fails with the same failure. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_map(struct thrum_site *,
	struct thrum_promise *promise, thrum_mapper *mapper, void *data, thrum_destroy *destroy);
#define thrum_promise_map(...) thrum__promise_map(THRUM__HERE, __VA_ARGS__)

/* If the promise is resolved: is resolved with the same value. If the promise fails: calls
 * `handler` and ends as the promise that it returns. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_catch(struct thrum_site *,
	struct thrum_promise *promise, thrum_handler *handler, void *data, thrum_destroy *destroy);
#define thrum_promise_catch(...) thrum__promise_catch(THRUM__HERE, __VA_ARGS__)

/* Calls `then` if the promise is resolved and `handler` if it fails, and ends as the promise that
 * the callback returns. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_try_bind(struct thrum_site *,
	struct thrum_promise *promise, thrum_then *then, thrum_handler *handler, void *data,
	thrum_destroy *destroy);
#define thrum_promise_try_bind(...) thrum__promise_try_bind(THRUM__HERE, __VA_ARGS__)

/* Calls `cleanup` when the promise has ended, however it ends. When the promise that `cleanup`
 * returned is resolved, this one ends as `promise` did; if it fails, this one fails likewise. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_finalize(struct thrum_site *,
	struct thrum_promise *promise, thrum_begin *cleanup, void *data, thrum_destroy *destroy);
#define thrum_promise_finalize(...) thrum__promise_finalize(THRUM__HERE, __VA_ARGS__)

/* Run a callback when the promise is resolved (on_success), when it fails (on_failure), in either
 * case (on_termination), or one for each case (on_any). While the promise is pending, each is a task of its
 * kind (on_cancel: on_failure), which ends with the promise, whether or not the callback runs. */
THRUM__PROMISE void thrum__promise_on_success(struct thrum_site *, struct thrum_promise *promise,
	thrum_on_value *callback, void *data, thrum_destroy *destroy);
THRUM__PROMISE void thrum__promise_on_failure(struct thrum_site *, struct thrum_promise *promise,
	thrum_on_failing *callback, void *data, thrum_destroy *destroy);
THRUM__PROMISE void thrum__promise_on_termination(struct thrum_site *,
	struct thrum_promise *promise, thrum_on_end *callback, void *data, thrum_destroy *destroy);
THRUM__PROMISE void thrum__promise_on_any(struct thrum_site *, struct thrum_promise *promise,
	thrum_on_value *resolved, thrum_on_failing *failed, void *data, thrum_destroy *destroy);
#define thrum_promise_on_success(...) thrum__promise_on_success(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_on_failure(...) thrum__promise_on_failure(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_on_termination(...) thrum__promise_on_termination(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_on_any(...) thrum__promise_on_any(THRUM__HERE, __VA_ARGS__)

/* Runs a callback when the promise fails with THRUM_CANCELED, before all its other callbacks. */
THRUM__PROMISE void thrum__promise_on_cancel(struct thrum_site *, struct thrum_promise *promise,
	thrum_on_end *callback, void *data, thrum_destroy *destroy);
#define thrum_promise_on_cancel(...) thrum__promise_on_cancel(THRUM__HERE, __VA_ARGS__)

/* Calls `begin` in a task of its own, for something that nobody waits for. If the promise that it
 * returns fails, the loop's hook for unhandled failures is told. Without memory, the hook is told
 * and `begin` is not called. `label` may be NULL. */
THRUM__PROMISE void thrum__promise_async(struct thrum_site *, struct thrum_loop *loop,
	const char *label, thrum_begin *begin, void *data, thrum_destroy *destroy);
#define thrum_promise_async(...) thrum__promise_async(THRUM__HERE, __VA_ARGS__)

/* Declares that nobody will wait for the promise. If it fails, the loop's hook is told. */
THRUM__PROMISE void thrum__promise_ignore_result(struct thrum_site *,
	struct thrum_promise *promise);
#define thrum_promise_ignore_result(...) thrum__promise_ignore_result(THRUM__HERE, __VA_ARGS__)

/* Returns a promise that is resolved with no value after the next turn of the uv loop, so that
 * other callbacks can run. It can be cancelled. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_pause(struct thrum_site *,
	struct thrum_loop *loop);
#define thrum_promise_pause(...) thrum__promise_pause(THRUM__HERE, __VA_ARGS__)

/* ---- Several promises ------------------------------------------------------------------------ */

/*
 * `promises` is an array of `count` that stays the caller's. The promises in it are consumed. A
 * promise may occur twice, with a reference for each. NULL in it counts as one that failed with
 * -ENOMEM. A NULL loop gives NULL. Cost: O(count).
 */

/* Ends when all have ended: is resolved with no value, or fails as the first that failed. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_join(struct thrum_site *,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
#define thrum_promise_join(...) thrum__promise_join(THRUM__HERE, __VA_ARGS__)

/* The value of both, nchoose and npick: the promises that were resolved, in the order of the
 * array. */
struct thrum_item {
	void *value;
	struct thrum_promise *promise; /* owns the value; borrowed, for thrum_promise_take */
	size_t index;                  /* in the caller's array */
};
struct thrum_items {
	size_t count;
	struct thrum_item *item;
};

/* Ends when both have ended: is resolved with two items, or fails as the first that failed. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_both(struct thrum_site *,
	struct thrum_promise *first, struct thrum_promise *second);
#define thrum_promise_both(...) thrum__promise_both(THRUM__HERE, __VA_ARGS__)

/*
 * End as the first promise that ends. If some have ended before the call: as the first of the array
 * that failed, else as the first of the array that was resolved. With a count of 0 they are pending
 * for ever. `pick` cancels the other promises before it ends.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_choose(struct thrum_site *,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_pick(struct thrum_site *,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
#define thrum_promise_choose(...) thrum__promise_choose(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_pick(...) thrum__promise_pick(THRUM__HERE, __VA_ARGS__)

/* Do the same, but are resolved with all promises that have been resolved by then, as items; fail
 * if one of them failed. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_nchoose(struct thrum_site *,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_npick(struct thrum_site *,
	struct thrum_loop *loop, struct thrum_promise *const *promises, size_t count);
#define thrum_promise_nchoose(...) thrum__promise_nchoose(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_npick(...) thrum__promise_npick(THRUM__HERE, __VA_ARGS__)

/* ---- Cancellation ---------------------------------------------------------------------------- */

/*
 * Searches backwards from a pending promise for the promises that it depends on and that can be
 * cancelled: those from task and protected, and those of this library that say so. Each of them
 * fails with THRUM_CANCELED. That failure then goes forwards like any other: the promise itself
 * fails unless somebody on the way handles it.
 *
 * A promise from bind, map, catch, try_bind and finalize depends on its source or, when the
 * callback has run, on the promise that the callback returned. One from join, both, choose, pick,
 * nchoose and npick depends on all its sources.
 *
 * Does nothing to NULL and to a promise that has ended. Borrows the promise. Cost: O(promises on
 * the way).
 */
THRUM__PROMISE void thrum__promise_cancel(struct thrum_site *place, struct thrum_promise *promise);
#define thrum_promise_cancel(...) thrum__promise_cancel(THRUM__PLACE, __VA_ARGS__)

/* Return a promise that ends as the given one does. Cancelling a protected one cancels it alone;
 * cancelling one from no_cancel does nothing. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_protected(struct thrum_site *,
	struct thrum_promise *promise);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__promise_no_cancel(struct thrum_site *,
	struct thrum_promise *promise);
#define thrum_promise_protected(...) thrum__promise_protected(THRUM__HERE, __VA_ARGS__)
#define thrum_promise_no_cancel(...) thrum__promise_no_cancel(THRUM__HERE, __VA_ARGS__)

/* ---- Conditions, mailboxes, locks, streams, scopes ------------------------------------------- */

/*
 * `create` makes the object for a loop and gives it a task of its kind, with a label or NULL. It
 * returns NULL without memory, and for a NULL loop. `destroy` frees the object: the promises of
 * those who still wait fail with THRUM_BROKEN, and values that nobody took are destroyed. When it
 * is called, nothing may be under way that would release the lock or semaphore later (`with`, a
 * wait for a condition). NULL does nothing.
 *
 * Waiting can be cancelled; a cancelled waiter takes nothing. Waiters are served in the order of
 * their calls.
 */

/* A condition may happen, once or many times. It remembers nothing: a promise that comes after a
 * signal waits for the next one. */
struct thrum_condition;
struct thrum_mutex;
THRUM__PROMISE THRUM__MUST_USE struct thrum_condition *thrum__condition_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label);
THRUM__PROMISE void thrum_condition_destroy(struct thrum_condition *condition);
/*
 * Returns a promise that is resolved with the value of the next signal. `mutex` may be NULL. Else
 * the caller holds it; it is unlocked for the time of waiting, and locked again before the promise
 * ends, however that ends.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__condition_wait(struct thrum_site *,
	struct thrum_condition *condition, struct thrum_mutex *mutex);
/* Signal the first waiter, or all, who then share the value. They consume the value; if nobody
 * waits, it is destroyed. They return the number of waiters that got it. */
THRUM__PROMISE size_t thrum_condition_signal(struct thrum_condition *condition,
	struct thrum_value value);
THRUM__PROMISE size_t thrum_condition_broadcast(struct thrum_condition *condition,
	struct thrum_value value);
/* Makes all waiters fail, and returns their number. For `code` and `format` see
 * thrum_promise_fail. */
THRUM__PROMISE size_t thrum__condition_broadcast_fail(struct thrum_site *place,
	struct thrum_condition *condition, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
#define thrum_condition_create(...) thrum__condition_create(THRUM__HERE, __VA_ARGS__)
#define thrum_condition_wait(...) thrum__condition_wait(THRUM__HERE, __VA_ARGS__)
#define thrum_condition_broadcast_fail(...) \
	thrum__condition_broadcast_fail(THRUM__PLACE, __VA_ARGS__)

/* A mailbox holds one value or none. */
struct thrum_mvar;
THRUM__PROMISE THRUM__MUST_USE struct thrum_mvar *thrum__mvar_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label);
THRUM__PROMISE void thrum_mvar_destroy(struct thrum_mvar *mvar);
/* Puts the value into the mailbox, once that is empty. Returns a promise that is resolved with no
 * value when the value is in it. Consumes the value. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__mvar_put(struct thrum_site *,
	struct thrum_mvar *mvar, struct thrum_value value);
/* Returns a promise that is resolved with the value, which leaves the mailbox. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__mvar_take(struct thrum_site *,
	struct thrum_mvar *mvar);
/* Put or take a value now. They return false if they can't: the value given to try_put is then
 * still the caller's, that of try_take is untouched. */
THRUM__PROMISE THRUM__MUST_USE bool thrum_mvar_try_put(struct thrum_mvar *mvar,
	struct thrum_value value);
THRUM__PROMISE THRUM__MUST_USE bool thrum_mvar_try_take(struct thrum_mvar *mvar,
	struct thrum_value *value);
THRUM__PROMISE bool thrum_mvar_is_empty(const struct thrum_mvar *mvar);
#define thrum_mvar_create(...) thrum__mvar_create(THRUM__HERE, __VA_ARGS__)
#define thrum_mvar_put(...) thrum__mvar_put(THRUM__HERE, __VA_ARGS__)
#define thrum_mvar_take(...) thrum__mvar_take(THRUM__HERE, __VA_ARGS__)

/* A mutex is held from one promise to a later one, not by a thread. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_mutex *thrum__mutex_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label);
THRUM__PROMISE void thrum_mutex_destroy(struct thrum_mutex *mutex);
/* Returns a promise that is resolved with no value when the caller holds the mutex. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__mutex_lock(struct thrum_site *,
	struct thrum_mutex *mutex);
/* Hands the mutex over to the first waiter, or unlocks it. Does nothing if it isn't locked. */
THRUM__PROMISE void thrum_mutex_unlock(struct thrum_mutex *mutex);
/* Locks the mutex, calls `begin`, and unlocks when the promise that it returned has ended. Then
 * calls destroy(data), and ends as that promise. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__mutex_with(struct thrum_site *,
	struct thrum_mutex *mutex, thrum_begin *begin, void *data, thrum_destroy *destroy);
THRUM__PROMISE bool thrum_mutex_is_locked(const struct thrum_mutex *mutex);
#define thrum_mutex_create(...) thrum__mutex_create(THRUM__HERE, __VA_ARGS__)
#define thrum_mutex_lock(...) thrum__mutex_lock(THRUM__HERE, __VA_ARGS__)
#define thrum_mutex_with(...) thrum__mutex_with(THRUM__HERE, __VA_ARGS__)

/* A semaphore has `count` places, all of them free at first. */
struct thrum_semaphore;
THRUM__PROMISE THRUM__MUST_USE struct thrum_semaphore *thrum__semaphore_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label, size_t count);
THRUM__PROMISE void thrum_semaphore_destroy(struct thrum_semaphore *semaphore);
/* acquire returns a promise that is resolved with no value when the caller has a place. release
 * gives a place back, to the first waiter if there is one, or adds one if none is taken. with does both
 * around `begin`, as for a mutex. free returns the number of free places. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__semaphore_acquire(struct thrum_site *,
	struct thrum_semaphore *semaphore);
THRUM__PROMISE void thrum_semaphore_release(struct thrum_semaphore *semaphore);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__semaphore_with(struct thrum_site *,
	struct thrum_semaphore *semaphore, thrum_begin *begin, void *data, thrum_destroy *destroy);
THRUM__PROMISE size_t thrum_semaphore_free(const struct thrum_semaphore *semaphore);
#define thrum_semaphore_create(...) thrum__semaphore_create(THRUM__HERE, __VA_ARGS__)
#define thrum_semaphore_acquire(...) thrum__semaphore_acquire(THRUM__HERE, __VA_ARGS__)
#define thrum_semaphore_with(...) thrum__semaphore_with(THRUM__HERE, __VA_ARGS__)

/* A stream is a queue of at most `capacity` values, which are not NULL. `create` also returns NULL
 * for a capacity of 0. */
struct thrum_stream;
THRUM__PROMISE THRUM__MUST_USE struct thrum_stream *thrum__stream_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label, size_t capacity);
THRUM__PROMISE void thrum_stream_destroy(struct thrum_stream *stream);
/* Returns a promise that is resolved with no value when the value is in the queue. Consumes the
 * value. Fails with -EINVAL if the value is NULL, and with -EPIPE if the stream is closed. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__stream_push(struct thrum_site *,
	struct thrum_stream *stream, struct thrum_value value);
/* Pushes a value now. Returns false if it can't, also without memory; the value is then still the
 * caller's. */
THRUM__PROMISE THRUM__MUST_USE bool thrum_stream_try_push(struct thrum_stream *stream,
	struct thrum_value value);
/* Declares that no more values come. Those that are in the queue or wait for room can still be
 * read. */
THRUM__PROMISE void thrum_stream_close(struct thrum_stream *stream);
/* Returns a promise that is resolved with the next value, or with NULL at the end. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__stream_next(struct thrum_site *,
	struct thrum_stream *stream);
/* Returns the number of values in the queue; those that wait for room don't count. */
THRUM__PROMISE size_t thrum_stream_length(const struct thrum_stream *stream);
#define thrum_stream_create(...) thrum__stream_create(THRUM__HERE, __VA_ARGS__)
#define thrum_stream_push(...) thrum__stream_push(THRUM__HERE, __VA_ARGS__)
#define thrum_stream_next(...) thrum__stream_next(THRUM__HERE, __VA_ARGS__)

/* A switch is a scope: the promises and hooks that were added to it end with it. */
struct thrum_switch;
THRUM__PROMISE THRUM__MUST_USE struct thrum_switch *thrum__switch_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label);
/* Turns the switch off without waiting, and frees it when all has ended. */
THRUM__PROMISE void thrum_switch_destroy(struct thrum_switch *scope);
/* Add a promise as a child, or a hook to call when the switch is turned off. If the switch is off
 * already, and without memory, the child is cancelled and the hook called at once. A hook has no task but
 * that of the promise it returns: label that one. */
THRUM__PROMISE void thrum_switch_add(struct thrum_switch *scope, struct thrum_promise *promise);
THRUM__PROMISE void thrum_switch_add_hook(struct thrum_switch *scope, thrum_begin *hook, void *data,
	thrum_destroy *destroy);
/*
 * Cancels all children, then calls all hooks, each time the last one first. Returns a promise that is
 * resolved with no value when all of them have ended, or fails as the first hook that failed. Failures
 * of children don't count. If the switch is off already, it returns the promise of the first call.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__switch_off(struct thrum_site *,
	struct thrum_switch *scope);
THRUM__PROMISE bool thrum_switch_is_on(const struct thrum_switch *scope);
/*
 * Makes a switch and calls `body` with it. When the promise that `body` returned has ended, turns
 * the switch off, waits for that, and destroys the switch. Ends as the promise of `body`; if that
 * was resolved and turning off failed, fails likewise. destroy(data) is called when `body` has
 * returned.
 */
typedef struct thrum_promise *thrum_switch_body(struct thrum_loop *loop, struct thrum_switch *scope,
	void *data);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__switch_with(struct thrum_site *,
	struct thrum_loop *loop, const char *label, thrum_switch_body *body, void *data,
	thrum_destroy *destroy);
#define thrum_switch_create(...) thrum__switch_create(THRUM__HERE, __VA_ARGS__)
#define thrum_switch_off(...) thrum__switch_off(THRUM__HERE, __VA_ARGS__)
#define thrum_switch_with(...) thrum__switch_with(THRUM__HERE, __VA_ARGS__)

/* ---- Time ------------------------------------------------------------------------------------ */

/*
 * From here on promises can be cancelled, fail with the code of libuv, and carry a label that names
 * the operation: `sleep 20 ms`, `tcp connect 127.0.0.1:80`, `read 127.0.0.1:80`. Comments name the
 * exceptions. A call with a NULL loop or object returns NULL, and destroys the value given to it.
 */

/* Returns a promise that is resolved with no value after that time. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__sleep(struct thrum_site *,
	struct thrum_loop *loop, uint64_t milliseconds);
#define thrum_sleep(...) thrum__sleep(THRUM__HERE, __VA_ARGS__)

/* Ends as the promise does. If the promise doesn't end within the time, cancels it and fails with
 * -ETIMEDOUT. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__timeout(struct thrum_site *,
	struct thrum_promise *promise, uint64_t milliseconds);
#define thrum_timeout(...) thrum__timeout(THRUM__HERE, __VA_ARGS__)

/* ---- Connections: TCP and pipes (Unix domain sockets) ---------------------------------------- */

struct thrum_connection;
struct thrum_listener;

/* Bytes that were read. The value owns them. At the end of the input the value is NULL instead. */
struct thrum_bytes {
	char *data;
	size_t size;
};

/*
 * Return a promise that is resolved with a struct thrum_connection. The value owns the connection
 * and closes it when it is destroyed: to keep a connection, take it (thrum_loop_take) and close it
 * later. The address or path is copied. Fail with -EINVAL if it is NULL, and with -ENAMETOOLONG if
 * the path is too long.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__tcp_connect(struct thrum_site *,
	struct thrum_loop *loop, const struct sockaddr *address);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__pipe_connect(struct thrum_site *,
	struct thrum_loop *loop, const char *path);
#define thrum_tcp_connect(...) thrum__tcp_connect(THRUM__HERE, __VA_ARGS__)
#define thrum_pipe_connect(...) thrum__pipe_connect(THRUM__HERE, __VA_ARGS__)

/* Begin to listen. `backlog` is that of listen(2). They return 0, or a negative errno value
 * (-EINVAL for a NULL argument, -ENAMETOOLONG, -ENOMEM, libuv's); then `listener` is untouched. */
THRUM__PROMISE THRUM__MUST_USE int thrum__tcp_listen(struct thrum_site *, struct thrum_loop *loop,
	const struct sockaddr *address, int backlog, struct thrum_listener **listener);
THRUM__PROMISE THRUM__MUST_USE int thrum__pipe_listen(struct thrum_site *, struct thrum_loop *loop,
	const char *path, int backlog, struct thrum_listener **listener);
#define thrum_tcp_listen(...) thrum__tcp_listen(THRUM__HERE, __VA_ARGS__)
#define thrum_pipe_listen(...) thrum__pipe_listen(THRUM__HERE, __VA_ARGS__)

/* Returns a promise that is resolved with the next connection, owned as above. Several may wait. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__listener_accept(struct thrum_site *,
	struct thrum_listener *listener);
/* Stops listening; the promises of accept fail with -ECANCELED. Returns a promise that is resolved
 * with no value when the listener is closed and freed. It can't be cancelled; it may be dropped. A
 * second close before that fails with -EALREADY. */
THRUM__PROMISE struct thrum_promise *thrum__listener_close(struct thrum_site *,
	struct thrum_listener *listener);
/* Returns the uv handle, for libuv's own queries. The listener stays its owner. */
THRUM__PROMISE struct uv_stream_s *thrum_listener_uv(const struct thrum_listener *listener);
/* Returns the port of a TCP listener; 0 if it has none. */
THRUM__PROMISE unsigned thrum_listener_port(const struct thrum_listener *listener);
#define thrum_listener_accept(...) thrum__listener_accept(THRUM__HERE, __VA_ARGS__)
#define thrum_listener_close(...) thrum__listener_close(THRUM__HERE, __VA_ARGS__)

/*
 * Returns a promise that is resolved with the next struct thrum_bytes of at least one byte, or with
 * NULL at the end. Only one read may be under way: a second one fails with -EBUSY. A cancelled read
 * loses nothing: the next one gets the bytes.
 *
 * While something is recorded, reads, writes, shutdown and close are labelled with the peer: its
 * address, or the path of the pipe.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__connection_read(struct thrum_site *,
	struct thrum_connection *connection);
/*
 * Writes `size` bytes at data.data and then destroys the value. Returns a promise that is resolved
 * with no value when they are written. Writes happen in the order of the calls. Cancelling the
 * promise doesn't stop the write. Fails with -EINVAL if data.data is NULL and `size` isn't 0.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__connection_write(struct thrum_site *,
	struct thrum_connection *connection, struct thrum_value data, size_t size);
/* Ends the output. Returns a promise that is resolved with no value when all is written. Cancelling
 * the promise doesn't stop that. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__connection_shutdown(struct thrum_site *,
	struct thrum_connection *connection);
/* Closes the connection; operations that are under way, and later ones, fail with -ECANCELED.
 * Returns a promise that is resolved with no value when the connection is closed and freed. It
 * can't be cancelled; it may be dropped. A second close before that fails with -EALREADY. */
THRUM__PROMISE struct thrum_promise *thrum__connection_close(struct thrum_site *,
	struct thrum_connection *connection);
/* Returns the uv handle. The connection stays its owner. */
THRUM__PROMISE struct uv_stream_s *thrum_connection_uv(const struct thrum_connection *connection);
#define thrum_connection_read(...) thrum__connection_read(THRUM__HERE, __VA_ARGS__)
#define thrum_connection_write(...) thrum__connection_write(THRUM__HERE, __VA_ARGS__)
#define thrum_connection_shutdown(...) thrum__connection_shutdown(THRUM__HERE, __VA_ARGS__)
#define thrum_connection_close(...) thrum__connection_close(THRUM__HERE, __VA_ARGS__)

/* Returns a promise that is resolved with a list of struct addrinfo, which the value owns. The
 * arguments are those of getaddrinfo(3); they are copied. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__getaddrinfo(struct thrum_site *,
	struct thrum_loop *loop, const char *node, const char *service,
	const struct addrinfo *hints);
#define thrum_getaddrinfo(...) thrum__getaddrinfo(THRUM__HERE, __VA_ARGS__)

/* ---- Files ----------------------------------------------------------------------------------- */

/* libuv's thread pool does the work. An operation that has begun there can't be stopped: cancelling
 * its promise ends the promise; the operation goes on and its result is dropped. */

struct thrum_file;

/* Returns a promise that is resolved with a struct thrum_file. The value owns it and closes it when
 * it is destroyed. `flags` and `mode` are those of open(2). Fails with -EINVAL for a NULL path. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__file_open(struct thrum_site *,
	struct thrum_loop *loop, const char *path, int flags, int mode);
/* Returns a promise that is resolved with a struct thrum_bytes of at most `size` bytes, or with
 * NULL at the end. An offset of -1 stands for the file's own position. Fails with -EINVAL if `size`
 * is 0, and with -EBADF once the file is being closed, as all operations on a file do. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__file_read(struct thrum_site *,
	struct thrum_file *file, size_t size, int64_t offset);
/* Writes all of `size` bytes at data.data and then destroys the value. Returns a promise that is
 * resolved with no value. Fails with -EINVAL if data.data is NULL and `size` isn't 0. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__file_write(struct thrum_site *,
	struct thrum_file *file, struct thrum_value data, size_t size, int64_t offset);
/* Returns a promise that is resolved with no value when the content is on the disk, as by fsync(2). */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__file_sync(struct thrum_site *,
	struct thrum_file *file);
/* Closes the file after the operations that are under way. Returns a promise that is resolved with
 * no value. It can't be cancelled; it may be dropped. A second close before that fails with
 * -EALREADY. */
THRUM__PROMISE struct thrum_promise *thrum__file_close(struct thrum_site *,
	struct thrum_file *file);
/* Returns a promise that is resolved with a uv_stat_t, which the value owns. Fails with -EINVAL for
 * a NULL path. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__file_stat(struct thrum_site *,
	struct thrum_loop *loop, const char *path);
/* Returns a promise that is resolved with the whole content as a struct thrum_bytes, also if it is
 * empty. Fails with -EINVAL for a NULL path. O(size). If the content is longer than the size that
 * the file reports, the loop's thread copies it as it grows. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__file_load(struct thrum_site *,
	struct thrum_loop *loop, const char *path);
#define thrum_file_open(...) thrum__file_open(THRUM__HERE, __VA_ARGS__)
#define thrum_file_read(...) thrum__file_read(THRUM__HERE, __VA_ARGS__)
#define thrum_file_write(...) thrum__file_write(THRUM__HERE, __VA_ARGS__)
#define thrum_file_sync(...) thrum__file_sync(THRUM__HERE, __VA_ARGS__)
#define thrum_file_close(...) thrum__file_close(THRUM__HERE, __VA_ARGS__)
#define thrum_file_stat(...) thrum__file_stat(THRUM__HERE, __VA_ARGS__)
#define thrum_file_load(...) thrum__file_load(THRUM__HERE, __VA_ARGS__)

/* ---- Other threads' loops -------------------------------------------------------------------- */

/*
 * An inbox lets other threads run functions in a loop: the one exception to the rule that only the
 * loop's own thread may use it. The loop's thread makes the inbox and gives its address to other
 * threads. Functions run in the order of the calls, one after the other, in later turns of the loop.
 *
 * An open inbox keeps its uv loop running. Closing it gives up the functions that haven't begun:
 * their calls fail with THRUM_BROKEN, as do later ones. Functions that have begun go on, and their
 * callers are still told how they end. Destroying the loop closes its inboxes; then the calls that
 * are under way fail with THRUM_BROKEN too. So a call to a loop that has ended always fails, and
 * never hangs. It does hang while the loop's thread is busy or blocked, and `thrum why` tells so.
 *
 * An inbox counts its references and outlives its loop, as long as others have references to it.
 *
 * The message of a post or call is recorded as a link from the caller to the function, and the
 * answer as one back.
 */
struct thrum_inbox;

/* Returns an inbox with one reference, or NULL without memory and for a NULL loop. `label` may be
 * NULL. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_inbox *thrum__inbox_create(struct thrum_site *,
	struct thrum_loop *loop, const char *label);
/* Closes the inbox, in the loop's thread. Does nothing to one that is closed, and to NULL. */
THRUM__PROMISE void thrum_inbox_close(struct thrum_inbox *inbox);
/* Add and remove a reference. Thread-safe. ref returns its argument. Removing the last one doesn't
 * close the inbox. NULL does nothing. */
THRUM__PROMISE struct thrum_inbox *thrum_inbox_ref(struct thrum_inbox *inbox);
THRUM__PROMISE void thrum_inbox_unref(struct thrum_inbox *inbox);

/*
 * Runs `begin` in the inbox's loop, and waits for nothing. If the promise that it returns fails, the
 * hook of that loop for unhandled failures is told. Calls destroy(data) in that loop's thread when
 * `begin` has returned, or when it never will; after an error, before it returns. Thread-safe; the
 * calling thread needs no loop. `label` may be NULL.
 *
 * Returns 0, or THRUM_BROKEN if the inbox is closed, -ENOMEM, or -EINVAL for NULL.
 */
THRUM__PROMISE THRUM__MUST_USE int thrum__inbox_post(struct thrum_site *, struct thrum_inbox *inbox,
	const char *label, thrum_begin *begin, void *data, thrum_destroy *destroy);

/*
 * Runs `begin` in the inbox's loop, from the thread of `loop`, which may be the same loop. Returns a
 * promise of `loop` that ends as the promise that `begin` returned. The value moves to it, so its
 * destructor must be able to run in this thread; connections, files and the like must stay in
 * theirs. If others still hold the promise that `begin` returned and its value has a destructor,
 * the call fails with -EBUSY. A failure brings its code, message and place.
 *
 * Cancelling the promise fails it at once. If `begin` hasn't run yet, it never will; else the
 * promise that it returned is cancelled in its own thread. Calls destroy(data) in the inbox's thread
 * when the promise that `begin` returned has ended, or when `begin` never will run; in this thread
 * if the inbox is closed or there is no memory. A pending call keeps the uv loop of `loop` running.
 *
 * `label` may be NULL. It is the name of two tasks: of the promise, and of the function's, which runs in
 * the inbox's thread. thrum_promise_label renames the promise only.
 */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__inbox_call(struct thrum_site *,
	struct thrum_inbox *inbox, struct thrum_loop *loop, const char *label, thrum_begin *begin,
	void *data, thrum_destroy *destroy);
#define thrum_inbox_create(...) thrum__inbox_create(THRUM__HERE, __VA_ARGS__)
#define thrum_inbox_post(...) thrum__inbox_post(THRUM__HERE, __VA_ARGS__)
#define thrum_inbox_call(...) thrum__inbox_call(THRUM__HERE, __VA_ARGS__)

/* ---- Processes, threads, signals ------------------------------------------------------------- */

struct thrum_process;

/* The way a process ended. */
struct thrum_exit {
	int64_t status;
	int signal; /* the signal that ended it, or 0 */
};

/* Starts a process; the options' exit_cb is not used. thrum_process_destroy frees it. Returns 0, or
 * a negative errno value (-EINVAL for a NULL argument or file, -ENOMEM, libuv's); then `process` is
 * untouched. */
THRUM__PROMISE THRUM__MUST_USE int thrum__process_spawn(struct thrum_site *,
	struct thrum_loop *loop, const struct uv_process_options_s *options,
	struct thrum_process **process);
/* Returns a promise of a struct thrum_exit, which the value owns. It may be called again. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__process_wait(struct thrum_site *,
	struct thrum_process *process);
/* Returns the process id; 0 for NULL. */
THRUM__PROMISE int thrum_process_pid(const struct thrum_process *process);
/* Sends a signal. Returns 0 or a negative errno value: -ESRCH if the process has ended, -EINVAL for
 * NULL. */
THRUM__PROMISE int thrum_process_kill(struct thrum_process *process, int signal);
/* Frees the object; the process itself goes on. Promises of wait fail with THRUM_BROKEN. NULL does
 * nothing. */
THRUM__PROMISE void thrum_process_destroy(struct thrum_process *process);
#define thrum_process_spawn(...) thrum__process_spawn(THRUM__HERE, __VA_ARGS__)
#define thrum_process_wait(...) thrum__process_wait(THRUM__HERE, __VA_ARGS__)

/*
 * Runs `work` in libuv's thread pool, as a run of the promise's task on that thread's lane. `work`
 * must not use the loop. It stores its result, which begins as no value, and returns 0; or it
 * returns another code, with which the promise fails. Cancelling the promise before the work has
 * begun stops the work; later it drops the result. When all has ended, `destroy` is called in the
 * loop's thread. `label` may be NULL, for "work".
 */
typedef int thrum_worker(void *data, struct thrum_value *result);
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__work(struct thrum_site *,
	struct thrum_loop *loop, const char *label, thrum_worker *work, void *data,
	thrum_destroy *destroy);
#define thrum_work(...) thrum__work(THRUM__HERE, __VA_ARGS__)

/* Returns a promise that is resolved with the signal's number (thrum_int) when it comes next. */
THRUM__PROMISE THRUM__MUST_USE struct thrum_promise *thrum__signal_wait(struct thrum_site *,
	struct thrum_loop *loop, int signal);
#define thrum_signal_wait(...) thrum__signal_wait(THRUM__HERE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
