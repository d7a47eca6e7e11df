/* SPDX-License-Identifier: ISC */
/*
 * What can be seen of a trace while it is still being read: how many tasks live and how much runs,
 * by time. Plain data of a fixed size, so that a thread can note it and another one copy it.
 */
#ifndef SCENE_COARSE_H
#define SCENE_COARSE_H

#include "draw/list.h"
#include "model/model.h"

#define THRUM__COARSE_SLOTS 512

struct thrum__scene_coarse_slot {
	int64_t end;    /* ns; it begins where the one before ends */
	int64_t ran;    /* ns that lanes ran up to its end, in sum */
	uint32_t alive; /* tasks, at most */
};

/* All zeros: nothing was read yet. */
struct thrum__scene_coarse {
	struct thrum__scene_coarse_slot slots[THRUM__COARSE_SLOTS];
	uint32_t count, lanes;
	int64_t step; /* ns that a slot has at least, but for the last */
};

/* Notes how far a model that is being filled has come. O(lanes). */
void thrum__scene_coarse_note(struct thrum__scene_coarse *, const struct thrum__model *);

/*
 * Paints strip, ruler and, in the tracks' place, both courses larger. `part` of the trace was read
 * (0 … 1) and fills that part of the width: where the trace will end is told from how far the time
 * has come. The list has to be initialized. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_coarse_frame(const struct thrum__scene_coarse *, double part,
	float width, float height, const struct thrum__draw_metrics *, struct thrum__draw_list *);

#endif
