/* SPDX-License-Identifier: ISC */
/* The state that the searches for findings share, and helpers for them. Private to analyse/why. */
#ifndef ANALYSE_WHY_PARTS_H
#define ANALYSE_WHY_PARTS_H

#include "analyse/graph.h"
#include "analyse/why/finding.h"
#include "analyse/why/peers.h"

#define THRUM__FINDINGS_EACH 50 /* findings of a class; nobody would read more */
#define THRUM__CAUSE_HEALTHY (THRUM__NONE - 1)

struct thrum__search {
	const struct thrum__model *model;
	struct thrum__findings *findings;
	struct thrum__peers peers;
	struct thrum__analyse_graph graph;     /* who waits for whom: ask it, and not the edges */
	uint32_t each[THRUM__FINDING_CLASSES]; /* findings so far, by class */
	/* By place of tasks: the index of the finding that the task is part of or waits behind.
	 * HEALTHY: the task needs no finding, as its wait is expected to end or nothing more is
	 * to be told of it. NONE: not known yet. Read it through thrum__cause. */
	uint32_t *cause;
	int64_t gap; /* when the last gap of any lane ended; -1: there is no gap */
};

/* The task's element of `cause`. */
static inline uint32_t *thrum__cause(const struct thrum__search *search, uint32_t task)
{
	return &search->cause[thrum__place(&search->findings->places, task)];
}

/* Adds a finding about a task, without steps. Returns NULL if the class has enough of them. The
 * pointer is valid until the searches end. */
struct thrum__finding *thrum__why_add(struct thrum__search *, int class, int certainty,
	uint32_t task);

/* Adds a step to a finding; does nothing if it already has THRUM__STEPS_MAX. */
void thrum__why_add_step(struct thrum__finding *, int kind, uint32_t task, uint32_t other,
	int64_t time, uint32_t edge);

/* Adds steps for those who hold a lock that some task waits for: that of `first` before the others,
 * unless it is NONE. At most three; the last says how many more there are. */
void thrum__why_add_holders(const struct thrum__search *, struct thrum__finding *, uint32_t lock,
	uint32_t first);

/* Returns `certainty`, or POSSIBLE if a gap ended after `since`: for conclusions that need all
 * events since then. */
int thrum__why_certainty(const struct thrum__search *, int certainty, int64_t since);

/* Whether a pending task may have ended in a gap. A task that the table of live tasks still holds
 * has not. */
bool thrum__why_is_unsure(const struct thrum__search *, uint32_t task);

/* Marks a task and all that it became, up to one that has this mark or a higher one already. */
void thrum__why_mark(struct thrum__search *, uint32_t task, int mark);

/* Returns the edge of the condition's latest signal, if it came no later than the time `wait` and
 * nobody heard it; else NONE. */
uint32_t thrum__why_lost_signal(const struct thrum__model *, uint32_t condition, int64_t wait);

/* Whether a list of rows ends because the rest is forgotten. `row` is the index at which it ends. */
static inline bool thrum__why_is_cut(const struct thrum__model_rows *rows, uint32_t row)
{
	return row != THRUM__NONE && !thrum__model_has_row(rows, row);
}

/* Returns the task, or NONE if the model has forgotten it: for the other task of a step. */
static inline uint32_t thrum__why_known(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) ? task : THRUM__NONE;
}

/* If a pending task could go on and doesn't (it waited for a task that has ended, and has not run
 * since), returns the edge of that wait and sets *since to the time of that end. Else returns
 * NONE. */
uint32_t thrum__why_ready_since(const struct thrum__search *, uint32_t task, int64_t *since);

/* Whether a time lies in the slack before the end: the last 10 ms, or 1 % of a short trace. Others
 * may not have had time to react to what happened then. */
bool thrum__why_is_recent(const struct thrum__model *, int64_t time);

/* The searches, in the order in which they must run: each skips what the earlier ones explain. All
 * return 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__why_find_cycles(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_ended(struct thrum__search *); /* failed unseen, cancelled */
THRUM__MUST_USE int thrum__why_find_starved(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_stuck(struct thrum__search *);
THRUM__MUST_USE int thrum__why_find_leaks(struct thrum__search *);

#endif
