/* SPDX-License-Identifier: ISC */
/* Findings: what is wrong in a trace, as a chain from cause to victim. */
#ifndef ANALYSE_WHY_FINDING_H
#define ANALYSE_WHY_FINDING_H

#include "analyse/why/places.h"
#include "model/model.h"

/* X(NAME, word), the worst first */
#define THRUM__FINDINGS(X) \
	X(LOST_WAKE_UP, "lost wake-up") /* a condition is signalled before anybody waits */ \
	X(DEADLOCK, "deadlock")         /* a cycle of waits */ \
	X(NEVER_RESOLVED, "never resolved") \
	X(OUTSIDE, "waits for the outside") /* a request, a timer: longer than such ever took */ \
	X(STARVED, "starved")               /* ready, but another task has the lane */ \
	X(CANCELLED, "cancelled")           /* while somebody waited for it */ \
	X(FAILED_UNSEEN, "failed unseen")   /* nobody read the failure */ \
	X(LEAK, "leak")                     /* pending tasks of one label that only grow */

enum thrum__finding_class {
#define THRUM__X(NAME, word) THRUM__FINDING_##NAME,
	THRUM__FINDINGS(THRUM__X)
#undef THRUM__X
	THRUM__FINDING_CLASSES,
};

const char *thrum__why_class_name(int class);

enum thrum__certainty {
	THRUM__POSSIBLE,
	THRUM__LIKELY,
	THRUM__CERTAIN,
};

const char *thrum__why_certainty_name(int certainty);

/* X(NAME, word): what a step says of `task`, and of `other`. Its time is when that happened; of
 * what goes on to the end: since when. */
#define THRUM__STEPS(X) \
	X(SIGNAL_LOST, "signal-lost") /* a condition, signalled by other; nobody waits */ \
	X(WAITS_LATE, "waits-late")   /* begins to wait for other's (the condition's) signal */ \
	X(WAITS_FOR, "waits-for")     /* for other, which nobody resolves */ \
	X(NEVER_RESOLVED, "never-resolved") /* should resolve and doesn't: the victim */ \
	X(HOLDS, "holds")                   /* the lock `other`, which others want */ \
	X(FREE, "free")                     /* a lock that goes to others; other had it last */ \
	X(WAITS_IN_CYCLE, "waits-in-cycle") /* for other, which waits for it in the end */ \
	X(PENDING, "pending")               /* a request or timer that doesn't come back */ \
	X(HOGS, "hogs")                     /* has the lane while other is ready */ \
	X(READY, "ready")                   /* could go on from here; other made it so */ \
	X(RUNS_LATE, "runs-late")           /* goes on at last; other: READY's */ \
	X(CANCELLED, "cancelled")           /* by other */ \
	X(ENDS_TOO, "ends-too")             /* cancelled or failed, as it read other */ \
	X(FAILED, "failed")                 /* by other, or by itself */ \
	X(UNREAD, "unread")                 /* its creator, `task`, didn't read other */ \
	X(MAKER_ENDED, "maker-ended")       /* who made other, without resolving it */ \
	X(BEHIND, "behind")                 /* waits for other, one step before */ \
	X(FIRST_PENDING, "first-pending")   /* the first of those that leak */ \
	X(LAST_PENDING, "last-pending")

enum thrum__step_kind {
#define THRUM__X(NAME, word) THRUM__STEP_##NAME,
	THRUM__STEPS(THRUM__X)
#undef THRUM__X
	THRUM__STEP_KINDS,
};

const char *thrum__why_step_name(int kind);

/* One step, cause first. */
struct thrum__step {
	uint8_t kind;
	uint32_t task, other; /* other may be NONE */
	int64_t time;         /* when it happened; of a victim: since when it waits */
	uint32_t edge;        /* the event that proves it, or NONE */
};

#define THRUM__STEPS_MAX 8

struct thrum__finding {
	uint8_t class, certainty;
	uint8_t step_count;
	struct thrum__step steps[THRUM__STEPS_MAX];
	uint32_t task;   /* what the finding is about: the victim, or what leaks, fails, hogs */
	uint32_t behind; /* how many more should-resolve tasks wait behind the cause */
	uint32_t count;  /* leak: of pending ones; a lock that is free: how many had it meanwhile */
	/* What is usual among those alike (label but for its numbers, kind, call site). */
	uint32_t peers; /* how many of them ended; 0: the rest says nothing */
	int64_t usual, longest;
	int64_t until; /* starved: when it ran; else the model's end */
};

struct thrum__findings {
	struct thrum__finding *findings; /* the worst first */
	uint32_t count;
	struct thrum__places places;
	uint8_t *mark; /* by place of tasks: enum thrum__mark */
};

enum thrum__mark {
	THRUM__MARK_NONE,
	THRUM__MARK_BEHIND, /* on the way from the victim to the cause: stuck behind it */
	THRUM__MARK_STUCK,  /* should resolve, and never does */
};

/*
 * Looks for them; at most 100, of each class the oldest. A model of a trace that was read up to
 * some moment gives the findings of that moment. What is merely under way at the end is none: what
 * is younger than twice the longest life of those alike. *findings is to be freed with
 * thrum__why_free. O(tasks + edges).
 */
THRUM__MUST_USE int thrum__why_make(const struct thrum__model *, struct thrum__findings *);
void thrum__why_free(struct thrum__findings *);

static inline int thrum__why_marks(const struct thrum__findings *findings, uint32_t task)
{
	return findings->mark ? findings->mark[thrum__place(&findings->places, task)]
			      : THRUM__MARK_NONE;
}

#endif
