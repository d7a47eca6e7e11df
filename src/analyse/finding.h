/* SPDX-License-Identifier: ISC */
/* Findings: what is wrong in a trace, as a chain from cause to victim. */
#ifndef ANALYSE_FINDING_H
#define ANALYSE_FINDING_H

#include "model/model.h"

/* X(NAME, word) */
#define THRUM__FINDINGS(X) \
	X(LOST_WAKE_UP, "lost wake-up") /* a condition is signalled before anybody waits */ \
	X(NEVER_RESOLVED, "never resolved")

enum thrum__finding_class {
#define THRUM__X(NAME, word) THRUM__FINDING_##NAME,
	THRUM__FINDINGS(THRUM__X)
#undef THRUM__X
	THRUM__FINDING_CLASSES,
};

const char *thrum__finding_name(int class);

enum thrum__certainty {
	THRUM__POSSIBLE,
	THRUM__LIKELY,
	THRUM__CERTAIN,
};

enum thrum__step_kind {
	THRUM__STEP_SIGNAL_LOST, /* `task` (a condition) is signalled by `other`, nobody waits */
	THRUM__STEP_WAITS_LATE,  /* `task` begins to wait for `other`'s (the condition's) signal */
	THRUM__STEP_WAITS_FOR,   /* `task` waits for `other`, which nobody resolves */
	THRUM__STEP_NEVER_RESOLVED, /* `task` should resolve and doesn't: the victim */
};

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
};

struct thrum__findings {
	struct thrum__finding *findings; /* the worst first */
	uint32_t count;
	uint8_t *mark; /* by task: enum thrum__mark */
	uint32_t mark_count;
};

enum thrum__mark {
	THRUM__MARK_NONE,
	THRUM__MARK_BEHIND, /* on the way from the victim to the cause: stuck behind it */
	THRUM__MARK_STUCK,  /* should resolve, and never does */
};

/* Looks for them. *findings is to be freed with thrum__findings_free. O(tasks + edges). */
THRUM__MUST_USE int thrum__findings_make(const struct thrum__model *, struct thrum__findings *);
void thrum__findings_free(struct thrum__findings *);

static inline int thrum__findings_mark(const struct thrum__findings *findings, uint32_t task)
{
	return task < findings->mark_count ? findings->mark[task] : THRUM__MARK_NONE;
}

#endif
