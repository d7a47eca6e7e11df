/* SPDX-License-Identifier: ISC */
/*
 * The coarse picture of a trace that is still being read: how many tasks are alive and how much
 * runs, over time. It is plain data of a fixed size, so that the thread that reads can fill it and
 * the thread that paints can copy it (the caller locks).
 */
#ifndef SCENE_COARSE_H
#define SCENE_COARSE_H

#include "draw/list.h"
#include "model/model.h"

#define THRUM__COARSE_SLOTS 512

struct thrum__scene_coarse_slot {
	int64_t end;    /* ns; a slot begins where the one before ends */
	int64_t ran;    /* ns that all lanes together ran from 0 to `end` */
	uint32_t alive; /* the most tasks that were alive at once */
};

/* All zeros: nothing has been read yet. */
struct thrum__scene_coarse {
	struct thrum__scene_coarse_slot slots[THRUM__COARSE_SLOTS];
	uint32_t count, lanes;
	int64_t step; /* ns: the least length of a slot, except the last */
};

/* Notes how far the reading of a trace into a model has come. O(lanes). */
void thrum__scene_coarse_note(struct thrum__scene_coarse *, const struct thrum__model *);

/*
 * Paints the strip, the ruler and, in place of the tracks, a chart of tasks alive and one of time
 * running. `part` is the part of the trace that has been read, 0 … 1; the charts fill that part of
 * the width. The list must be initialized; it is cleared. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__scene_coarse_frame(const struct thrum__scene_coarse *, double part,
	float width, float height, const struct thrum__draw_metrics *, struct thrum__draw_list *);

#endif
