/* SPDX-License-Identifier: ISC */
/* The interface of frames.c for path.c. Private to analyse/slow. */
#ifndef ANALYSE_SLOW_PARTS_H
#define ANALYSE_SLOW_PARTS_H

#include "analyse/slow/path.h"

/* Sets *frame to the frame of a task below `parent` (which may be NONE), and adds it if it is new.
 * `doing` is READY or LATE for a task that has the lane, else RUNS. *frame is `parent` itself if
 * the task has no frame of its own or the stack is too deep. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_frame_find(struct thrum__paths *, uint32_t parent, uint32_t task,
	int doing, uint32_t *frame);

#endif
