/* SPDX-License-Identifier: ISC */
/* What the files of paths share. */
#ifndef ANALYSE_SLOW_PARTS_H
#define ANALYSE_SLOW_PARTS_H

#include "analyse/slow/path.h"

/* The frame of a task below `parent`, which may be NONE; *frame is `parent` itself where the task
 * is no frame of its own, or the stack is too deep. */
THRUM__MUST_USE int thrum__slow_frame_find(struct thrum__paths *, uint32_t parent, uint32_t task,
	int doing, uint32_t *frame);

#endif
