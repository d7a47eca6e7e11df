/* SPDX-License-Identifier: ISC */
/*
 * How promises are made; for the core only (loop.c, promise.c, callback.c, several.c, cancel.c).
 *
 * A promise is also what waits: one block is the result of, say, a bind, its closure, and its place
 * in the list of what waits for its source. Who owns whom:
 *
 *  - Users own references to promises, a resolver one to its promise.
 *  - A source's list owns one to each that waits in it (but for entries). Those know their source,
 * but don't own it: a source lives as long as somebody can end it, and when it is freed still
 * pending, what waits for it is dropped. So there are no cycles.
 *  - Promises that became another own one to that: the chain ends in the root, where the state is.
 *    While pending, the outer one is the root and the inner one (which a callback returned) becomes
 *    it, as long as nobody waits for the inner one; else the outer one waits for the inner one. So
 *    a root that somebody waits for never becomes another, and waiters need no new source.
 *    A loop of binds, each returned by the one before, takes constant memory.
 */
#ifndef PROMISE_CORE_H
#define PROMISE_CORE_H

#include "promise/promise.h"
#include <stdarg.h>

enum state {
	PENDING = THRUM_PROMISE_PENDING,
	RESOLVED = THRUM_PROMISE_RESOLVED,
	FAILED = THRUM_PROMISE_FAILED,
	BECAME, /* see `target`, for everything but tracing */
	UNUSED, /* in the free list */
};

/* What a promise does when its source ends; or who else will end it. */
enum action {
	DONE,    /* nothing more: nobody, or somebody who isn't known, will end it */
	REQUEST, /* a resolver */
	FIRST_WITH_SOURCE,
	BIND = FIRST_WITH_SOURCE,
	MAP,
	CATCH,
	TRY_BIND,
	FINALIZE,
	RESTORE, /* a finalize that waits for its cleanup; closure.data is the first source */
	COPY,    /* ends as its source does */
	LAST_WITH_SOURCE = COPY,
	PROTECTED,
	NO_CANCEL,
	ON_SUCCESS,
	ON_FAILURE,
	ON_TERMINATION,
	ON_ANY,
	ON_CANCEL,
	ASYNC, /* hasn't begun: too deep */
	IGNORE,
	ENTRY,  /* of a group */
	GROUP,  /* its entries end it; several.c */
	MERGED, /* `active` will end it */
};

enum flags {
	QUEUED = 1,  /* waits in the loop's queue, and owns its source, which has ended */
	VISITED = 2, /* by the cancellation under way */
	KEPT = 4,    /* an entry that isn't in its source's list any more, and owns its source */
	LABELED = 8, /* its task has a label */
	KEEPS_LABEL =
		16, /* and gets no other: its holders got it from a callback and didn't make it */
};

struct list {
	struct thrum_promise *first, *last;
};

union callback {
	thrum_then *then;
	thrum_handler *handler;
	thrum_mapper *mapper;
	thrum_begin *begin;
	thrum_on_value *on_value;
	thrum_on_failing *on_failing;
	thrum_on_end *on_end;
	thrum__canceled *canceled;
};

struct closure {
	union callback callback, other;
	void *data;
	thrum_destroy *destroy;
};

enum group_type {
	GROUP_JOIN,
	GROUP_BOTH,
	GROUP_CHOOSE,
	GROUP_PICK,
	GROUP_NCHOOSE,
	GROUP_NPICK,
};

/* While it has entries, a group owns itself: its entries' sources will end it. */
struct group {
	struct thrum_promise *entries; /* in the order of the array */
	struct thrum_promise *failed;  /* of join and both: the first source that failed, owned */
	size_t remaining;              /* entries in a source's list */
	uint8_t type;
	bool broken; /* a source can't end any more */
};

/* The owner's alone, also while in a source's list. */
struct entry {
	struct thrum_promise *owner, *sibling;
	size_t index;
};

struct thrum_promise {
	struct thrum_loop *loop;
	uint32_t references;
	uint8_t state, action, flags;
	thrum_task task; /* of a root: that of the one that will end it */
	union {
		struct list waiters; /* PENDING */
		struct thrum_value value;
		struct failure *failure;
		struct thrum_promise *target;
	};
	union {
		struct {
			struct thrum_promise *next, *previous, *source;
		} waiting;
		struct {
			struct thrum_promise *next;
			struct list waiters; /* `last` means nothing: no more come */
		} ended; /* not PENDING: waiters whose callbacks didn't run yet */
		struct thrum_promise *next; /* in the queue, the free list, … */
	};
	union {
		struct closure closure;
		struct group group;
		struct entry entry;
		struct thrum_promise *active;
	};
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct thrum_promise) == 96,
	"what promise.h promises");

/* Its text, if any, comes right after it. */
struct failure {
	struct thrum_failure shown; /* first: the user's pointer is ours */
	uint32_t references;
};

struct slab;

struct thrum_loop {
	struct uv_loop_s *uv;
	struct thrum__memory memory;
	uv_thread_t thread;
	unsigned depth; /* of callbacks */
	bool closing, releasing, suspended;
	struct list queue; /* what was too deep */
	struct list paused;
	struct thrum_promise *dead;  /* nobody has a reference: to be freed */
	struct thrum_promise *given; /* the source of the callback that runs */
	struct thrum_promise *free;
	struct slab *slabs;
	size_t promises;
	/* Always there; the loop owns a reference to each. */
	struct thrum_promise nothing, no_memory;
	struct failure no_memory_failure, canceled_failure;
	thrum_unhandled *unhandled;
	void *unhandled_data;
	size_t unhandled_count;
	uv_idle_t idle; /* active while promises pause */
	uv_prepare_t prepare;
	uv_check_t check;
	struct thrum__held *held;
	char *buffer;
	size_t handles; /* these three, and what is held */
};

/* loop.c */

/* A promise with one reference, PENDING and DONE; NULL without memory. Its closure is not set. */
struct thrum_promise *thrum__promise_new(struct thrum_loop *loop);
void thrum__promise_free(struct thrum_promise *promise);
/* Puts something with a reference into the queue. */
void thrum__queue_push(struct thrum_loop *loop, struct thrum_promise *promise);
void thrum__queue_drain(struct thrum_loop *loop);

static inline bool thrum__loop_is_deep(const struct thrum_loop *loop)
{
	return loop->depth >= THRUM_PROMISE_DEPTH;
}

/* Around every callback; when the outermost ends, what was queued runs. */
static inline void thrum__callback_enter(struct thrum_loop *loop)
{
	loop->depth++;
}

static inline void thrum__callback_leave(struct thrum_loop *loop)
{
	if (--loop->depth == 0 && loop->queue.first)
		thrum__queue_drain(loop);
}

/* promise.c */

/* Where the state is. */
struct thrum_promise *thrum__find_root(struct thrum_promise *promise);
static inline struct thrum_promise *thrum__find(const struct thrum_promise *promise)
{
	/* Shortening the way changes nothing that is seen. */
	struct thrum_promise *p = (struct thrum_promise *)(uintptr_t)promise;

	thrum__loop_check(p->loop);
	return p->state == BECAME ? thrum__find_root(p) : p;
}

static inline struct thrum_promise *thrum__ref(struct thrum_promise *promise)
{
	thrum__loop_check(promise->loop);
	promise->references++;
	return promise;
}
void thrum__dispose(struct thrum_promise *promise);
static inline void thrum__unref(struct thrum_promise *promise)
{
	if (--promise->references == 0)
		thrum__dispose(promise);
}

/* A source's list, and a waiter in it. `attach` takes over a reference to the waiter. */
void thrum__attach(struct thrum_promise *source, struct thrum_promise *waiter);
void thrum__detach(struct thrum_promise *waiter);
static inline struct list *thrum__waiters(struct thrum_promise *source)
{
	return source->state == PENDING ? &source->waiters : &source->ended.waiters;
}

/*
 * End the promise that `promise` is or became; nothing when it has ended. Consume a reference to
 * `promise`, and the value or the failure. `settle_as` borrows a source that has ended; when the
 * caller's reference is the only one, it takes the value out. `follow` consumes any other promise.
 */
void thrum__settle_value(struct thrum_promise *promise, struct thrum_value value);
void thrum__settle_failure(struct thrum_promise *promise, struct failure *failure);
void thrum__settle_as(struct thrum_promise *promise, struct thrum_promise *source);
/* The first half of settle_failure, for a root that is pending; dispatch is the second. */
void thrum__end_failed(struct thrum_promise *root, struct failure *failure);
void thrum__follow(struct thrum_promise *promise, struct thrum_promise *other);
/* Runs what waits for a promise that has ended, or queues it. Consumes a reference. */
void thrum__dispatch(struct thrum_promise *root);
void thrum__run_waiters(struct thrum_promise *root);

/* failure.c: each with one reference; never NULL. */
struct failure *thrum__failure_new(struct thrum_loop *loop, const struct thrum_site *place,
	int code, const char *format, va_list arguments);
struct failure *thrum__failure_plain(struct thrum_loop *loop, const struct thrum_site *place,
	int code);
struct failure *thrum__failure_again(struct thrum_loop *loop, const struct thrum_failure *failure);
struct failure *thrum__failure_ref(struct failure *failure);
void thrum__failure_unref(struct thrum_loop *loop, struct failure *failure);
void thrum__failure_init(struct failure *failure, int code);

/* callback.c */

/* Does what a waiter waited for. Consumes a reference to it. `handle` is what it was attached to.
 */
void thrum__run(struct thrum_promise *waiter, struct thrum_promise *handle);
/* A waiter for a promise that is pending, which is consumed. The reference that is returned is the
 * caller's. */
struct thrum_promise *thrum__wait_for(struct thrum_site *site, struct thrum_promise *promise,
	enum action action, enum thrum_kind kind, const struct closure *closure);
/* A waiter that will never run: out of its source's list, its closure destroyed. */
void thrum__drop(struct thrum_promise *waiter);

/* several.c */
void thrum__entry_run(struct thrum_promise *entry, struct thrum_promise *handle);
void thrum__entry_drop(struct thrum_promise *entry);

/* cancel.c: borrows the promise; without a place of the call. */
void thrum__cancel_promise(struct thrum_promise *promise);

#endif
