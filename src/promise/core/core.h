/* SPDX-License-Identifier: ISC */
/*
 * How promises are made and who owns them. Only this folder includes this header.
 *
 * Words. One block of memory, a struct thrum_promise, plays several parts. The promise that bind
 * returns is also the *waiter* in the list of the promise that it was given, its *source*; the
 * block holds the callback as well, in its closure. A *resolver* is the same block again, seen by
 * the code that will end it. A *group* is the result of join, pick and the like; it has one *entry*
 * in the list of each source.
 *
 * Ownership.
 *  - Users own references to promises. A resolver owns one reference to its promise.
 *  - The list of a source owns one reference to each waiter in it, but none to entries: the group
 *    owns those. A waiter knows its source and doesn't own it. So there are no cycles.
 *  - A source lives as long as somebody can end it. If it is freed while it is pending, its waiters
 *    are dropped.
 *  - A promise that became another owns a reference to that other one. Such a chain ends in the
 *    *root*, which holds the state of all of them.
 *
 * Becoming. When a callback returns a pending promise, the *inner* one, the promise of the bind,
 * the *outer* one, ends as the inner one does.
 *  - If nobody waits for the inner one, it becomes the outer one, which stays the root. So a root
 *    that has waiters never becomes another while it is pending, and waiters never change their
 *    source. A loop of binds, each returned by the one before, takes constant memory.
 *  - Else the outer one waits for the inner one.
 *  - In the trace it is the other way round: the outer task becomes the inner one, and the root has
 *    the inner one's task from then on.
 */
#ifndef PROMISE_CORE_CORE_H
#define PROMISE_CORE_CORE_H

#include "promise/promise.h"
#include <stdarg.h>

#if defined(__SANITIZE_ADDRESS__)
#define POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON 1
#endif
#endif
#ifdef POISON
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

/* The most frequent cases go a short way in a function that calls no other but at its end, so that it
 * saves no registers. All others are left to a second function, which is not inlined. */
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

enum state {
	PENDING = THRUM_PROMISE_PENDING,
	RESOLVED = THRUM_PROMISE_RESOLVED,
	FAILED = THRUM_PROMISE_FAILED,
	BECAME, /* another promise: `target` */
	UNUSED, /* in the free list */
};

/* The thing that a promise does when its source ends. For one without a source it tells who will
 * end it. */
enum action {
	DONE,    /* nothing: it has ended, nobody can end it, or code outside the library ends it */
	REQUEST, /* its resolver ends it */
	FIRST_WITH_SOURCE,
	BIND = FIRST_WITH_SOURCE,
	MAP,
	CATCH,
	TRY_BIND,
	FINALIZE,
	RESTORE, /* a finalize that waits for its cleanup; closure.data owns the first source */
	COPY,    /* ends as its source does */
	LAST_WITH_SOURCE = COPY,
	PROTECTED,
	NO_CANCEL,
	ON_SUCCESS,
	ON_FAILURE,
	ON_TERMINATION,
	ON_ANY,
	ON_CANCEL,
	ASYNC, /* hasn't begun yet, because callbacks are nested too deep */
	IGNORE,
	ENTRY,  /* is the entry of a group */
	GROUP,  /* its entries end it (several.c) */
	MERGED, /* an inner promise became it; the end of `active` ends it */
};

enum flags {
	/* It waits in the list of deferred ones, and owns its source, which has ended. */
	DEFERRED = 1,
	/* The cancellation that runs now has seen it. */
	VISITED = 2,
	/* It is an entry that has left its source's list and owns the source. */
	KEPT = 4,
	/* Its task has a label. */
	LABELED = 8,
	/* Its task gets no further label: a callback returned it at once, so the caller of bind,
	 * who has it now, didn't make it. */
	KEEPS_LABEL = 16,
};

struct promise_list {
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
	thrum__promise_canceled *canceled;
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

/* While it has entries, a group owns a reference to itself, because the sources of its entries will
 * end it. */
struct group {
	struct thrum_promise *entries; /* in the order of the caller's array */
	struct thrum_promise *failed;  /* join, both: the first source that failed, owned */
	size_t remaining;              /* number of entries in the list of a source */
	uint8_t type;
	bool broken; /* a source was freed while it was pending */
};

/* Only the group owns it, also while it is in the list of a source. */
struct group_entry {
	struct thrum_promise *owner, *sibling;
	size_t index;
};

struct thrum_promise {
	struct thrum_loop *loop;
	uint32_t references;
	uint8_t state, action, flags, unused;
	thrum_task task; /* of a root that merged with others: the task of the innermost one */
	union {
		struct promise_list waiters; /* PENDING */
		struct thrum_value value;
		struct counted_failure *failure;
		struct thrum_promise *target;
	};
	union {
		struct {
			struct thrum_promise *next, *previous, *source;
		} waiting;
		struct {
			struct thrum_promise *next;
			struct promise_list waiters; /* only `first` counts: no more come */
		} ended; /* not PENDING: waiters whose callbacks haven't run yet */
		struct thrum_promise *next; /* in the deferred list, the free list, … */
	};
	union {
		struct closure closure;
		struct group group;
		struct group_entry entry;
		struct thrum_promise *active;
	};
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct thrum_promise) == 96,
	"the size that thrum/promise.h names");

/* A failure that several promises share. A text of its own, if it has one, follows the struct. */
struct counted_failure {
	struct thrum_failure shown; /* first, because users hand its address back to us */
	uint32_t references;
};

struct slab;

struct thrum_loop {
	struct uv_loop_s *uv;
	struct thrum__promise_memory memory;
	uv_thread_t thread;
	unsigned depth; /* of nested callbacks */
	bool closing, releasing, suspended;
	bool ends_run;                /* see "Runs" */
	thrum_task task;              /* that runs when no callback does; NONE: not known yet */
	thrum_task owed;              /* see "Runs"; mostly NONE */
	struct promise_list deferred; /* to run when the outermost callback has returned */
	struct promise_list paused;
	struct thrum_promise *dead;  /* without references; will be freed soon */
	struct thrum_promise *given; /* the source of the callback that runs */
	struct thrum_promise *free;  /* NULL while the loop is closing */
	struct slab *slabs;
	size_t promises;
	/* These always exist; the loop owns a reference to each. */
	struct thrum_promise nothing, no_memory;
	struct counted_failure no_memory_failure, canceled_failure;
	thrum_unhandled *unhandled;
	void *unhandled_data;
	size_t unhandled_count;
	uv_idle_t idle; /* active while promises pause */
	uv_prepare_t prepare;
	uv_check_t check;
	struct thrum__promise_held *held;
	struct thrum_inbox *answers; /* one of the held blocks owns it; NULL until it is needed */
	char *buffer;
	size_t handles; /* idle, prepare, check and each held block; at 0 the loop is freed */
};

/* ---- loop.c ---------------------------------------------------------------------------------- */

/* Returns a promise with one reference, PENDING and DONE, whose closure is not set. NULL without
 * memory. */
struct thrum_promise *thrum__promise_new(struct thrum_loop *loop);

/* Poisons a free block, except its link in the free list and its state. */
INLINE void thrum__promise_poison(struct thrum_promise *promise)
{
	ASAN_POISON_MEMORY_REGION(&promise->task,
		offsetof(struct thrum_promise, waiting) - offsetof(struct thrum_promise, task));
	ASAN_POISON_MEMORY_REGION(&promise->closure, sizeof(promise->closure));
}

/* Does the same as thrum__promise_new, if loop->free isn't NULL. */
INLINE struct thrum_promise *thrum__promise_take(struct thrum_loop *loop)
{
	struct thrum_promise *promise = loop->free;

	ASAN_UNPOISON_MEMORY_REGION(promise, sizeof(*promise));
	loop->free = promise->next;
	loop->promises++;
	promise->references = 1;
	promise->state = PENDING;
	promise->action = DONE;
	promise->flags = promise->unused = 0;
	promise->task = THRUM_TASK_NONE;
	promise->waiters = (struct promise_list){NULL, NULL};
	promise->waiting.previous = promise->waiting.source = NULL;
	return promise;
}

INLINE void thrum__promise_free(struct thrum_promise *promise)
{
	struct thrum_loop *loop = promise->loop;

	promise->state = UNUSED;
	promise->next = loop->free;
	loop->free = promise;
	loop->promises--;
	thrum__promise_poison(promise);
}

/* Appends to the deferred list, which takes over a reference; and runs that list. */
void thrum__promise_defer(struct thrum_loop *loop, struct thrum_promise *promise);
void thrum__promise_run_deferred(struct thrum_loop *loop);

/* Tells whether callbacks are nested so deep that further ones are deferred. */
static inline bool thrum__promise_loop_is_deep(const struct thrum_loop *loop)
{
	return loop->depth >= THRUM_PROMISE_DEPTH;
}

/* Enclose every callback. Leaving the outermost one runs the deferred list. */
static inline void thrum__promise_callback_enter(struct thrum_loop *loop)
{
	loop->depth++;
}

static inline void thrum__promise_callback_leave(struct thrum_loop *loop)
{
	if (--loop->depth == 0 && loop->deferred.first)
		thrum__promise_run_deferred(loop);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/*
 * The task of a promise runs while its callback does, and so do those of its waiters, inside of it: it
 * ends the promise. When they return, the task goes on. Mostly it has nothing left to do then, and the
 * task around it neither. In a server such returns would be one record in fifteen.
 *
 * So a task whose last act is to end a promise sets `ends_run` before. Tasks that run inside of that
 * act don't switch back to it: they only note it in `owed`. The next one begins without that switch. If
 * anything else is to happen, `pay` makes up for it: before code of the user runs, and before a record
 * is made. The run that set `ends_run` pays when it is left.
 */
struct run {
	thrum_task before;
	bool ends_run; /* of the run around this one */
};

INLINE void thrum__promise_pay(struct thrum_loop *loop)
{
	thrum_task owed = loop->owed;

	if (owed == THRUM_TASK_NONE)
		return;
	loop->owed = THRUM_TASK_NONE;
	thrum_task_switch(owed);
}

/* Enclose a run of this task, which reads `source`. NONE, the task of a promise that isn't recorded,
 * changes nothing. */
INLINE struct run thrum__promise_run_enter(struct thrum_loop *loop, thrum_task task,
	thrum_task source)
{
	struct run run = {loop->owed, loop->ends_run};

	loop->ends_run = false;
	if (task == THRUM_TASK_NONE) {
		thrum__promise_pay(loop);
		run.before = THRUM_TASK_NONE;
		return run;
	}
	loop->owed = THRUM_TASK_NONE;
	thrum_task ran = source == THRUM_TASK_NONE
		? thrum__promise_trace_enter(task)
		: thrum__promise_trace_enter_reading(task, source);

	if (run.before == THRUM_TASK_NONE)
		run.before = ran;
	return run;
}

INLINE void thrum__promise_run_leave(struct thrum_loop *loop, struct run run)
{
	loop->ends_run = run.ends_run;
	if (run.before == THRUM_TASK_NONE) {
		if (!run.ends_run)
			thrum__promise_pay(loop);
	} else if (run.ends_run) {
		loop->owed = run.before;
	} else {
		loop->owed = THRUM_TASK_NONE;
		thrum_task_leave(run.before);
	}
}

/* Enclose code of the user that runs inside of the last act of a run. */
INLINE bool thrum__promise_run_interrupt(struct thrum_loop *loop)
{
	bool ends_run = loop->ends_run;

	loop->ends_run = false;
	thrum__promise_pay(loop);
	return ends_run;
}

/* ---- promise.c ------------------------------------------------------------------------------- */

/* Returns the root, which holds the state. `find_root` is for a promise that became another; it
 * shortens the chain. */
struct thrum_promise *thrum__promise_find_root(struct thrum_promise *promise);
static inline struct thrum_promise *thrum__promise_root(const struct thrum_promise *promise)
{
	/* Shortening the chain changes nothing that callers see. */
	struct thrum_promise *p = (struct thrum_promise *)(uintptr_t)promise;

	thrum__promise_loop_check(p->loop);
	return p->state == BECAME ? thrum__promise_find_root(p) : p;
}

/* `ref` and `unref` are thrum_promise_ref and thrum_promise_unref for promises that aren't NULL.
 * `dispose` takes a promise without references, and frees it now or when the current freeing is
 * done. */
static inline struct thrum_promise *thrum__promise_ref(struct thrum_promise *promise)
{
	thrum__promise_loop_check(promise->loop);
	promise->references++;
	return promise;
}
void thrum__promise_dispose(struct thrum_promise *promise);
static inline void thrum__promise_unref(struct thrum_promise *promise)
{
	if (--promise->references == 0)
		thrum__promise_dispose(promise);
}

/* `attach` puts a waiter at the end of a source's list and takes over a reference to the waiter;
 * `detach` takes it out and gives that reference back. */
INLINE void thrum__promise_attach(struct thrum_promise *source, struct thrum_promise *waiter)
{
	struct promise_list *list = &source->waiters;

	waiter->waiting.source = source;
	waiter->waiting.next = NULL;
	waiter->waiting.previous = list->last;
	if (list->last)
		list->last->waiting.next = waiter;
	else
		list->first = waiter;
	list->last = waiter;
}
void thrum__promise_detach(struct thrum_promise *waiter);
static inline struct promise_list *thrum__promise_waiters(struct thrum_promise *source)
{
	return source->state == PENDING ? &source->waiters : &source->ended.waiters;
}

/*
 * These functions end the root of `promise`, and do nothing to one that has ended. All consume a
 * reference to `promise`, and the value or the failure.
 *  - settle_as borrows a source that has ended, and ends the promise likewise. If the caller holds
 *    the only reference to the source, the value moves out of it.
 *  - follow consumes `other`, which may be pending: then the one becomes the other.
 */
void thrum__promise_settle_value(struct thrum_promise *promise, struct thrum_value value);
void thrum__promise_settle_failure(struct thrum_promise *promise, struct counted_failure *failure);
void thrum__promise_settle_as(struct thrum_promise *promise, struct thrum_promise *source);
void thrum__promise_follow(struct thrum_promise *promise, struct thrum_promise *other);
/* Does the first half of settle_failure, for a root that is pending: no callback runs yet. The
 * second half is `dispatch`. */
void thrum__promise_mark_failed(struct thrum_promise *root, struct counted_failure *failure);

/* ---- failure.c ------------------------------------------------------------------------------- */

/*
 * Return a failure with one reference for the caller, and never NULL: without memory it is the
 * failure for that. `place` may be NULL. `new` formats a message, `plain` has the code's own, and
 * `again` is for a failure that a user hands back.
 */
struct counted_failure *thrum__promise_failure_new(struct thrum_loop *loop,
	const struct thrum_site *place, int code, const char *format, va_list arguments);
struct counted_failure *thrum__promise_failure_plain(struct thrum_loop *loop,
	const struct thrum_site *place, int code);
struct counted_failure *thrum__promise_failure_again(struct thrum_loop *loop,
	const struct thrum_failure *failure);
struct counted_failure *thrum__promise_failure_ref(struct counted_failure *failure);
void thrum__promise_failure_unref(struct thrum_loop *loop, struct counted_failure *failure);
/* Initializes one of the loop's own failures. */
void thrum__promise_failure_init(struct counted_failure *failure, int code);

/* ---- callback.c ------------------------------------------------------------------------------ */

/* Runs the waiters of a promise that has ended, or defers that. Consumes a reference. `run_waiters`
 * always runs them now. */
void thrum__promise_run_waiters(struct thrum_promise *root);
INLINE void thrum__promise_dispatch(struct thrum_promise *root)
{
	if (!root->ended.waiters.first)
		thrum__promise_unref(root);
	else if (thrum__promise_loop_is_deep(root->loop))
		thrum__promise_defer(root->loop, root);
	else
		thrum__promise_run_waiters(root);
}

/* Does the action of a waiter whose source has ended. Consumes a reference to the waiter. `handle`
 * is the source or a promise that became it. */
void thrum__promise_run_waiter(struct thrum_promise *waiter, struct thrum_promise *handle);
/* Attaches a new waiter to a promise that is pending, and consumes that promise. Returns the waiter
 * with a reference for the caller; without memory, the promise that has failed for that. */
struct thrum_promise *thrum__promise_wait_for(struct thrum_site *site,
	struct thrum_promise *promise, enum action action, enum thrum_kind kind,
	const struct closure *closure);
/* Gives up a waiter that will never run: takes it out of its source's list and destroys its
 * closure. */
void thrum__promise_drop_waiter(struct thrum_promise *waiter);

/* ---- several.c ------------------------------------------------------------------------------- */

/* Do the work of `run_waiter` and `drop_waiter` for an entry. */
void thrum__promise_entry_run(struct thrum_promise *entry, struct thrum_promise *handle);
void thrum__promise_entry_drop(struct thrum_promise *entry);

/* ---- cancel.c -------------------------------------------------------------------------------- */

/* Cancels a promise on behalf of this library: the failure names no place. Borrows the promise. */
void thrum__promise_cancel_by_library(struct thrum_promise *promise);

#endif
