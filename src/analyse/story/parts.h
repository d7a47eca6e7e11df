/* SPDX-License-Identifier: ISC */
/* Private to the folder: questions about the frames of paths. */
#ifndef ANALYSE_STORY_PARTS_H
#define ANALYSE_STORY_PARTS_H

#include "analyse/story/story.h"

/* Lists a frame and those above it, the highest first. Returns how many. */
uint32_t thrum__story_stack(const struct thrum__paths *, uint32_t frame,
	uint32_t stack[THRUM__STACK_DEPTH + 1]);

/* The enum thrum__story_doing of a part. */
int thrum__story_doing_of(int doing);

/* Whether a frame's tasks are locks or semaphores. */
bool thrum__story_is_lock(const struct thrum__paths *, uint32_t frame);

/* Whether a task has a label, and the frame its pattern as name. */
bool thrum__story_is_named(const struct thrum__paths *, uint32_t frame, uint32_t task);

#endif
