/* SPDX-License-Identifier: ISC */
/*
 * Tells who should have ended a task that waits for nothing. Its peers show it: each of them was
 * ended by a task that stands in the same relation to it. Private to analyse/why.
 */
#ifndef ANALYSE_WHY_BLAME_H
#define ANALYSE_WHY_BLAME_H

#include "analyse/why/parts.h"

/* Returns the task that should end this one, as its like did with the peers; NONE if that isn't
 * known. Sets *usual to the task that ended a peer; if no task like that is here, *usual is set and
 * the result is NONE. */
uint32_t thrum__why_ender_of(struct thrum__search *, uint32_t task, uint32_t *usual);

/* A task that is to blame, as it ended without ending another: a step without its finding. */
struct thrum__why_blame {
	int kind; /* enum thrum__step_kind; -1: nobody is to blame */
	uint32_t task, other;
};

/* Finds who is to blame for a task that waits for nothing. */
struct thrum__why_blame thrum__why_blame(struct thrum__search *, uint32_t task);

/* Adds the step. */
void thrum__why_add_blame(struct thrum__finding *, const struct thrum__model *,
	const struct thrum__why_blame *);

#endif
