/* SPDX-License-Identifier: ISC */
/*
 * promise/: libthrum-promise: promises, what is built from them, and the glue to libuv. Whatever
 * happens to a promise is told to the recorder through thrum.h alone; nothing of src/record is
 * known here.
 *
 * This header is for what is built on promises (condition.c, …, uv_*.c); core.h, how promises are
 * made, is for the core only.
 */
#ifndef PROMISE_PROMISE_H
#define PROMISE_PROMISE_H

/* For uv.h; this header comes first. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "thrum/promise.h"
#include <assert.h>
#include <uv.h>

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Where a loop's memory comes from; tests let it fail. */
struct thrum__memory {
	void *(*allocate)(void *context, size_t size);
	void (*release)(void *context, void *memory);
	void *context;
};
__attribute__((warn_unused_result)) int thrum__loop_create_with(struct uv_loop_s *uv,
	const struct thrum__memory *memory, struct thrum_loop **loop);

/* All memory of this layer: zeroed, or NULL; release takes NULL. */
void *thrum__allocate(struct thrum_loop *loop, size_t size);
void thrum__release(struct thrum_loop *loop, void *memory);

/* Where it comes from: for what may outlive the loop. */
const struct thrum__memory *thrum__loop_memory(const struct thrum_loop *loop);

/*
 * The beginning of a block of which libuv has a part: a handle, or a request under way. When the
 * loop is destroyed, `resolver` is forgotten and `stop` called, unless it is NULL: it sees to it
 * that libuv gives the block back, and leaves promises alone. The loop's memory stays until all
 * blocks have ended.
 */
struct thrum__held {
	struct thrum__held *next, *previous;
	struct thrum_loop *loop;
	struct thrum_resolver *resolver; /* of who waits for it, or NULL */
	struct thrum_site *site;         /* of the call, or NULL */
	void (*stop)(struct thrum__held *held);
};
/* A block of so many bytes, zeroed but for its beginning, or NULL; `end` releases it. */
void *thrum__hold(struct thrum_loop *loop, size_t size, void (*stop)(struct thrum__held *held));
void thrum__held_end(struct thrum__held *held);

/* Room to read into, the loop's: until the next read. NULL without memory. */
#define THRUM__BUFFER_SIZE 65536
char *thrum__loop_buffer(struct thrum_loop *loop);

/* Whether thrum_loop_destroy is under way, or was called: nothing is begun any more. */
bool thrum__loop_is_closing(const struct thrum_loop *loop);

/* ---- Threads --------------------------------------------------------------------------------- */

/* At THRUM_DEBUG >= 1: that this is the loop's thread. */
#if defined(THRUM_DEBUG) && THRUM_DEBUG >= 1
void thrum__loop_check(const struct thrum_loop *loop);
#else
static inline void thrum__loop_check(const struct thrum_loop *loop)
{
	(void)loop;
}
#endif

/* ---- Suspension ------------------------------------------------------------------------------ */

/* The loop says in the trace when it waits for events. libuv calls those who waited before it tells
 * us that it woke: first thing in each uv callback. */
void thrum__loop_resume(struct thrum_loop *loop);

/* ---- Promises for those who build on them ------------------------------------------------------
 */

/*
 * A pending promise of any kind, and its resolver. With `canceled` it can be cancelled: when it is,
 * that is called once, before any other callback; the promise has failed by then, and the resolver
 * must still be used up, now or later (thrum_resolver_drop will do). Without (NULL) it can't.
 * On lack of memory: a failed promise, and a resolver that may be used up all the same; `canceled`
 * is then never called.
 */
typedef void thrum__canceled(struct thrum_resolver *resolver, void *data);
__attribute__((warn_unused_result)) struct thrum_promise *thrum__promise_request(struct thrum_site
											 *site,
	struct thrum_loop *loop, enum thrum_kind kind, const char *label, thrum__canceled *canceled,
	void *data, struct thrum_resolver **resolver);

/* A `canceled` for what needs nothing done: as for thrum_promise_task. */
void thrum__canceled_nothing(struct thrum_resolver *resolver, void *data);

/* The task of the resolver's promise, to run in while resolving; its loop. */
thrum_task thrum__resolver_task(const struct thrum_resolver *resolver);
struct thrum_loop *thrum__resolver_loop(const struct thrum_resolver *resolver);
/* NULL for NULL. */
struct thrum_loop *thrum__promise_loop(const struct thrum_promise *promise);

/* Failed for lack of memory; NULL for NULL. */
struct thrum_promise *thrum__promise_no_memory(struct thrum_loop *loop);

/* A call's failure with the code's own message; the call's site may be NULL. */
struct thrum_promise *thrum__promise_fail_code(struct thrum_site *site, struct thrum_loop *loop,
	int code);

/* Tells the loop's hook of a failure that nobody handles. */
void thrum__unhandled(struct thrum_loop *loop, const struct thrum_failure *failure);

/* ---- Tracing -----------------------------------------------------------------------------------
 */

/* A task with a place that is given; NONE when there is no place or nothing is recorded. */
#ifndef THRUM_DISABLED
static inline thrum_task thrum__trace_create(struct thrum_site *site, enum thrum_kind kind,
	const char *label)
{
	return THRUM__ON(THRUM__BIT_STARTED) && site
		? thrum__create(site, (int)kind, thrum__text(label))
		: THRUM_TASK_NONE;
}

static inline thrum_task thrum__trace_create_waiting(struct thrum_site *site, enum thrum_kind kind,
	thrum_task source)
{
	return THRUM__ON(THRUM__BIT_STARTED) && site
		? thrum__create_waiting(site, (int)kind, "", source)
		: THRUM_TASK_NONE;
}
#else
static inline thrum_task thrum__trace_create(struct thrum_site *site, enum thrum_kind kind,
	const char *label)
{
	return THRUM_TASK_NONE;
}

static inline thrum_task thrum__trace_create_waiting(struct thrum_site *site, enum thrum_kind kind,
	thrum_task source)
{
	return THRUM_TASK_NONE;
}
#endif

/* Runs a task from here to thrum__trace_leave; a promise that isn't recorded changes nothing. */
static inline thrum_task thrum__trace_enter(thrum_task task)
{
	return thrum_enabled() && task != THRUM_TASK_NONE ? thrum_task_enter(task)
							  : THRUM_TASK_NONE;
}

static inline void thrum__trace_leave(thrum_task before)
{
	if (before != THRUM_TASK_NONE)
		thrum_task_leave(before);
}

#endif
