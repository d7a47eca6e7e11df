/* SPDX-License-Identifier: ISC */
/* Private to the folder: questions about the frames of paths. */
#ifndef ANALYSE_STORY_PARTS_H
#define ANALYSE_STORY_PARTS_H

#include "analyse/story/story.h"

/* Lists the frames of a part, the highest first, and returns how many. Sets *doing to its enum
 * thrum__story_doing. A task whose lane ran only the lane's own task, or that waited for something
 * unknown, waits: then the frame of the one that had the lane is left out. */
uint32_t thrum__story_stack(const struct thrum__paths *, const struct thrum__path_part *,
	uint32_t stack[THRUM__STACK_DEPTH + 1], int *doing);

/* Whether a task has a label, and the frame its pattern as name. */
bool thrum__story_is_named(const struct thrum__paths *, uint32_t frame, uint32_t task);

#endif
