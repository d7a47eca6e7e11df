/* SPDX-License-Identifier: ISC */
/*
 * Candidates: which tasks a search has to look at. One pass over all tasks sorts them, so that each
 * search reads a byte of the others, and not the columns of the model again. A task may be of
 * several sorts, or of none: most are of none.
 */
#ifndef ANALYSE_WHY_CANDIDATES_H
#define ANALYSE_WHY_CANDIDATES_H

#include "analyse/graph.h"
#include "analyse/places.h"
#include "analyse/why/peers.h"

enum {
	THRUM__SORT_MARKED = 1,    /* it should resolve */
	THRUM__SORT_FAILED = 2,    /* it failed or was cancelled */
	THRUM__SORT_LOCK = 4,      /* of kind lock or semaphore */
	THRUM__SORT_PEERS = 8,     /* it has a peers' key */
	THRUM__SORT_WANTED = 16,   /* pending, with a peers' key */
	THRUM__SORT_ACTED = 32,    /* pending, and it has acted on others */
	THRUM__SORT_READY = 64,    /* the same; it waited last, and waits for nothing now */
	THRUM__SORT_OUTSIDE = 128, /* pending; a request, timer or handle */
};

/* Writes the sorts of each task to sorts[its place], which must be 0. O(tasks). */
void thrum__why_sort_tasks(const struct thrum__peers *, const struct thrum__analyse_graph *,
	uint8_t *sorts);

/* The first task at or after `task` that is of one of these sorts, joined by |;
 * model->tasks.count if there is none. */
uint32_t thrum__why_candidate(const struct thrum__model *, const struct thrum__places *,
	const uint8_t *sorts, uint32_t task, unsigned wanted);

#endif
