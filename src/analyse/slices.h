/* SPDX-License-Identifier: ISC */
/* Rows of a model by their owner, a task or a lane. */
#ifndef ANALYSE_SLICES_H
#define ANALYSE_SLICES_H

#include "model/model.h"

/* Those of owner i are rows[first[i]] … rows[first[i + 1] - 1]. */
struct thrum__slices {
	uint32_t *first, *rows;
};

/* Returns the owner of a row; NONE: the row isn't wanted. */
typedef uint32_t thrum__slices_owner(const struct thrum__model *, uint32_t row);

/* Sorts the rows that have an owner below `owners`. Each owner's rows stay in the order of time. Returns
 * 0 or -THRUM_E_MEMORY. Free with thrum__analyse_slices_free also then. O(rows). */
THRUM__MUST_USE int thrum__analyse_slices_make(const struct thrum__model *,
	const struct thrum__model_rows *, uint32_t owners, thrum__slices_owner *,
	struct thrum__slices *);
/* The same in two steps of about the same length, with the same arguments. */
THRUM__MUST_USE int thrum__analyse_slices_count(const struct thrum__model *,
	const struct thrum__model_rows *, uint32_t owners, thrum__slices_owner *,
	struct thrum__slices *);
THRUM__MUST_USE int thrum__analyse_slices_fill(const struct thrum__model *,
	const struct thrum__model_rows *, uint32_t owners, thrum__slices_owner *,
	struct thrum__slices *);
void thrum__analyse_slices_free(struct thrum__slices *);

#endif
