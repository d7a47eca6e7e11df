/* SPDX-License-Identifier: ISC */
/* What the searches for findings share: each class of findings, or two alike, is one file. */
#ifndef ANALYSE_WHY_PARTS_H
#define ANALYSE_WHY_PARTS_H

#include "analyse/graph.h"
#include "analyse/why/finding.h"
#include "analyse/why/peers.h"

#define THRUM__FINDINGS_EACH 50 /* of a class; more would be read by nobody */
#define THRUM__CAUSE_HEALTHY (THRUM__NONE - 1)

struct thrum__search {
	const struct thrum__model *model;
	struct thrum__findings *findings;
	struct thrum__peers peers;
	uint32_t each[THRUM__FINDING_CLASSES];
	uint32_t *cause; /* by place of tasks, thrum__cause: the finding that it's part of or waits
			    behind; HEALTHY: what it waits for will come; or NONE: not known yet */
	int64_t gap;     /* when the last gap ended, of any lane; -1: there is none */
};

static inline uint32_t *thrum__cause(const struct thrum__search *search, uint32_t task)
{
	return &search->cause[thrum__place(&search->findings->places, task)];
}

/* A new one, about a task; NULL when there are enough of the class. */
struct thrum__finding *thrum__why_add(struct thrum__search *, int class, int certainty,
	uint32_t task);

/* Nothing when there is no room. */
void thrum__why_add_step(struct thrum__finding *, int kind, uint32_t task, uint32_t other,
	int64_t time, uint32_t edge);

/* How sure one can be of something that follows from all that happened since a moment. */
int thrum__why_certainty(const struct thrum__search *, int certainty, int64_t since);

/* Whether a pending task may have ended unseen. What the table of live tasks still has, has not. */
bool thrum__why_is_unsure(const struct thrum__search *, uint32_t task);

void thrum__why_mark(struct thrum__search *, uint32_t task, int mark);

/* The latest signal before a wait that nobody heard, if none came afterwards; else NONE. */
uint32_t thrum__why_lost_signal(const struct thrum__model *, uint32_t condition, int64_t wait);

/* Since when a pending task could go on, but doesn't: what it waits for has ended, and it didn't
 * look. Returns the edge of its wait; NONE: it isn't so. */
uint32_t thrum__why_ready_since(const struct thrum__model *, uint32_t task, int64_t *since);

/* The searches, in this order. */
THRUM__MUST_USE int thrum__why_find_cycles(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_ended(struct thrum__search *); /* failed unseen, cancelled */
THRUM__MUST_USE int thrum__why_find_starved(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_stuck(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_leaks(struct thrum__search *);

#endif
