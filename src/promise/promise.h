/* SPDX-License-Identifier: ISC */
/*
 * promise/: libthrum-promise. Here live promises on libuv, the things built from them (conditions,
 * mailboxes, locks, streams, scopes) and the operations of libuv that end a promise (time,
 * connections, files, processes, work in threads, signals). The public face is <thrum/promise.h>.
 *
 * Never here: file formats, readers, or anything of the recorder but its public header. The room
 * reports the life of each promise through thrum.h, as any program may.
 *
 * core/ makes promises and ends them; core/core.h, which no other folder includes, tells how. sync/
 * has the things that promises wait for in queues, uv/ the operations of libuv. Here are inboxes,
 * scopes, and running a loop. A file outside core/ includes this header, or one that includes it.
 */
#ifndef PROMISE_PROMISE_H
#define PROMISE_PROMISE_H

/* For uv.h. This header therefore comes before all others. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "thrum/promise.h"
#include <assert.h>
#include <uv.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The allocator of a loop. Tests pass one that fails. */
struct thrum__promise_memory {
	void *(*allocate)(void *context, size_t size);
	void (*release)(void *context, void *memory);
	void *context;
};
/* Does the same as thrum_loop_create with another allocator, which is copied. */
int thrum__promise_loop_create(struct uv_loop_s *uv, const struct thrum__promise_memory *memory,
	struct thrum_loop **loop) __attribute__((warn_unused_result));

/* Allocate and free all memory of this room. `allocate` returns zeroed memory or NULL; `release`
 * takes NULL. */
void *thrum__promise_allocate(struct thrum_loop *loop, size_t size);
void thrum__promise_release(struct thrum_loop *loop, void *memory);

/* Returns the loop's allocator, for memory that may outlive the loop. */
const struct thrum__promise_memory *thrum__promise_loop_memory(const struct thrum_loop *loop);

/*
 * The beginning of a block of which libuv uses a part: a handle, or the request of an operation.
 * When the loop is destroyed, `resolver` is forgotten and `stop` is called, unless it is NULL. It
 * makes libuv give the block back soon, and leaves promises alone. The memory of the loop stays
 * until all blocks have ended.
 */
struct thrum__promise_held {
	struct thrum__promise_held *next, *previous;
	struct thrum_loop *loop;
	struct thrum_resolver *resolver; /* ends the promise that waits for the block, or NULL */
	struct thrum_site *site;         /* of the call, or NULL */
	void (*stop)(struct thrum__promise_held *held);
};
/* Allocates a block of `size` bytes, zeroed after its beginning. Returns NULL without memory, and
 * while the loop is being destroyed. thrum__promise_held_end frees it. */
void *thrum__promise_hold(struct thrum_loop *loop, size_t size,
	void (*stop)(struct thrum__promise_held *held));
void thrum__promise_held_end(struct thrum__promise_held *held);

/* Returns the loop's buffer for reads, whose content is valid until the next read; NULL without
 * memory. */
#define THRUM__PROMISE_BUFFER_SIZE 65536
char *thrum__promise_loop_buffer(struct thrum_loop *loop);

/* Returns the place where a loop keeps its own inbox, to which other loops send answers. */
struct thrum_inbox **thrum__promise_loop_answers(struct thrum_loop *loop);

/* Tells whether thrum_loop_destroy is running or has run. Nothing new may begin then. */
bool thrum__promise_loop_is_closing(const struct thrum_loop *loop);

/* ---- Threads --------------------------------------------------------------------------------- */

/* With THRUM_DEBUG >= 1 this asserts that the loop's own thread calls it. */
#if defined(THRUM_DEBUG) && THRUM_DEBUG >= 1
void thrum__promise_loop_check(const struct thrum_loop *loop);
#else
static inline void thrum__promise_loop_check(const struct thrum_loop *loop)
{
	(void)loop;
}
#endif

/* ---- Suspension ------------------------------------------------------------------------------ */

/* Records that the loop no longer waits for events. libuv runs the callbacks of events before the
 * check handle that tells us that it woke up. So each callback of libuv calls this first. */
void thrum__promise_loop_resume(struct thrum_loop *loop);

/* ---- Promises for files that build on them --------------------------------------------------- */

/*
 * Returns a pending promise of any kind, and its resolver. `label` may be NULL.
 *
 * If `canceled` is NULL, the promise can't be cancelled. Else a cancellation calls it once, before
 * any other callback. The promise has failed by then; the resolver must still be used up, at once
 * or later (thrum_resolver_drop will do).
 *
 * Without memory the promise has failed. The resolver may be used up all the same, and `canceled`
 * is never called.
 */
typedef void thrum__promise_canceled(struct thrum_resolver *resolver, void *data);
struct thrum_promise *thrum__promise_request(struct thrum_site *site, struct thrum_loop *loop,
	enum thrum_kind kind, const char *label, thrum__promise_canceled *canceled, void *data,
	struct thrum_resolver **resolver) __attribute__((warn_unused_result));

/* A `canceled` for promises that need nothing done, like those of thrum_promise_task. */
void thrum__promise_canceled_nothing(struct thrum_resolver *resolver, void *data);

/* Returns the task of the resolver's promise, which should run while it is resolved. */
thrum_task thrum__promise_resolver_task(const struct thrum_resolver *resolver);
/* Ends the resolver's promise while its task runs, which does nothing else: with the value if the code
 * is 0, else with a failure at this place. The resolver isn't NULL. */
void thrum__promise_end_alone(struct thrum_resolver *resolver, struct thrum_site *site, int code,
	struct thrum_value value);
/* Returns the promise's loop; NULL for NULL. */
struct thrum_loop *thrum__promise_loop_of(const struct thrum_promise *promise);

/* Returns a promise that has failed with -ENOMEM; NULL for NULL. */
struct thrum_promise *thrum__promise_no_memory(struct thrum_loop *loop);

/* Returns a promise that has failed with the code's own message. `site` is the place that the
 * failure names; it may be NULL. */
struct thrum_promise *thrum__promise_fail_code(struct thrum_site *site, struct thrum_loop *loop,
	int code);

/* Tells the loop's hook about a failure that nobody handles. */
void thrum__promise_report_unhandled(struct thrum_loop *loop, const struct thrum_failure *failure);

/* ---- Tracing --------------------------------------------------------------------------------- */

/* Create a task whose place is `site`. They return NONE if `site` is NULL or nothing is
 * recorded. */
#ifndef THRUM_DISABLED
static inline thrum_task thrum__promise_trace_create(struct thrum_site *site, enum thrum_kind kind,
	const char *label)
{
	return THRUM__ON(THRUM__BIT_STARTED) && site ? thrum__create(site, (int)kind, label)
						     : THRUM_TASK_NONE;
}

static inline thrum_task thrum__promise_trace_create_waiting(struct thrum_site *site,
	enum thrum_kind kind, thrum_task source)
{
	return THRUM__ON(THRUM__BIT_STARTED) && site
		? thrum__create_waiting(site, (int)kind, "", source)
		: THRUM_TASK_NONE;
}

/* Makes the task run, as thrum__promise_trace_enter does, and records that it reads `source`. */
static inline thrum_task thrum__promise_trace_enter_reading(thrum_task task, thrum_task source)
{
	return THRUM__ON(THRUM__BIT_STARTED) && task != THRUM_TASK_NONE
		? thrum__enter_reading(task, source)
		: THRUM_TASK_NONE;
}
#else
static inline thrum_task thrum__promise_trace_create(struct thrum_site *site, enum thrum_kind kind,
	const char *label)
{
	return THRUM_TASK_NONE;
}

static inline thrum_task thrum__promise_trace_create_waiting(struct thrum_site *site,
	enum thrum_kind kind, thrum_task source)
{
	return THRUM_TASK_NONE;
}

static inline thrum_task thrum__promise_trace_enter_reading(thrum_task task, thrum_task source)
{
	return THRUM_TASK_NONE;
}
#endif

/* Makes the task run until thrum__promise_trace_leave. NONE, the task of a promise that isn't
 * recorded, changes nothing. */
static inline thrum_task thrum__promise_trace_enter(thrum_task task)
{
	return thrum_enabled() && task != THRUM_TASK_NONE ? thrum_task_enter(task)
							  : THRUM_TASK_NONE;
}

static inline void thrum__promise_trace_leave(thrum_task before)
{
	if (before != THRUM_TASK_NONE)
		thrum_task_leave(before);
}

#endif
