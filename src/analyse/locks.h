/* SPDX-License-Identifier: ISC */
/*
 * Tells who holds a lock. A lock may have several holders: its readers, or those who took a semaphore's
 * permits. The recording tells who took it, and who released it; but not how many may hold it.
 *
 * A task that releases a lock gives back its own hold. If it has none, the lock went from another
 * task to it: from one that became it or whose result led to it, from one that created it when it
 * had just taken the lock, or else from the likeliest one.
 */
#ifndef ANALYSE_LOCKS_H
#define ANALYSE_LOCKS_H

#include "model/model.h"

/* A task that holds a lock. */
struct thrum__analyse_hold {
	/* The task that took the lock, or that goes on for it. NONE: it isn't known which. It may
	 * have ended, or be forgotten: then nobody is known who will release the lock. */
	uint32_t task;
	uint32_t edge; /* the edge by which the lock was taken */
	/* The task is only the likely one: the lock passed on to it with a result that it read. */
	bool is_guess;
};

struct thrum__analyse_lock {
	uint32_t task;                     /* the lock itself */
	struct thrum__analyse_hold *holds; /* the oldest first */
	uint32_t count;
	uint32_t released; /* how often it was released by a task that held it */
	uint32_t strange;  /* how often by another task: then the holders are a guess */
	/* How often of `released` by one that had read the holder's result, or that the holder had
	 * created just after it took the lock. */
	uint32_t passed, given;
	/* How often of `passed` the result came from a task with a name. */
	uint32_t beyond;
	/* The call site of a task to which a holder gave the lock, or of which that one descends; 0: not
	 * known. */
	uint16_t given_site;
	int64_t last; /* when it was released last; -1: never */
	/* The time since which it was taken 64 times; -1: it was taken less often. Its present
	 * holders don't explain a wait that began earlier. */
	int64_t busy;
	bool is_cut; /* earlier holders may be forgotten */
};

/* Whether the task is a lock or a semaphore. */
static inline bool thrum__analyse_task_is_lock(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return kind == THRUM_KIND_LOCK || kind == THRUM_KIND_SEMAPHORE;
}

/* Whether a task goes on for one that took a lock: by what that became, and by those that read the
 * result. */
bool thrum__analyse_goes_on_for(const struct thrum__model *, uint32_t task, uint32_t holder);

/* The task that another one made since a time, and of which this one descends, or which it is: so it
 * may go on with what that had taken. NONE: there is none. Looks at four makers. */
uint32_t thrum__analyse_made_by(const struct thrum__model *, uint32_t task, uint32_t maker,
	int64_t since);

/* Finds who holds a lock at the model's end. Returns 0 or -THRUM_E_MEMORY. Free *lock with
 * thrum__analyse_lock_free. O(edges of the lock). */
THRUM__MUST_USE int thrum__analyse_lock_make(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_lock *);
void thrum__analyse_lock_free(struct thrum__analyse_lock *);

#define THRUM__HOLDS_MAX 64

/* The same without memory of its own: reads only the last 64 times that the lock was taken or
 * released, and tells of no more holders. */
void thrum__analyse_lock_look(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_lock *, struct thrum__analyse_hold holds[THRUM__HOLDS_MAX]);

/* Returns a hold whose task will not release the lock, as it has ended or is forgotten; NULL if
 * there is none. */
const struct thrum__analyse_hold *thrum__analyse_lock_lost(const struct thrum__model *,
	const struct thrum__analyse_lock *);

/* ---- All holds ----------------------------------------------------------------------------- */

/* A time in which a task held a lock. */
struct thrum__analyse_held {
	uint32_t task; /* by whose name the holder is known; NONE or forgotten: it isn't known */
	int64_t from, to;
};

struct thrum__analyse_history {
	struct thrum__analyse_held *holds; /* by their ends; those that last come at the end */
	uint32_t count;
};

/* Lists all times in which a lock was held. Returns 0 or -THRUM_E_MEMORY. Free with
 * thrum__analyse_history_free. O(edges of the lock). */
THRUM__MUST_USE int thrum__analyse_history_make(const struct thrum__model *, uint32_t task,
	struct thrum__analyse_history *);
void thrum__analyse_history_free(struct thrum__analyse_history *);

#endif
