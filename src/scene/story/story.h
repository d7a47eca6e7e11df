/* SPDX-License-Identifier: ISC */
/* Stories: the critical paths of tasks over real time, above the threads. Private to this room. */
#ifndef SCENE_STORY_STORY_H
#define SCENE_STORY_STORY_H

#include "analyse/story/story.h"
#include "scene/bands/bands.h"

/* A story that is shown, with that of the usual task of its group. */
struct thrum__scene_bands_story {
	uint64_t id;                         /* of the task */
	uint32_t task, usual_task, usual_of; /* usual_of: of how many lines it is the median */
	struct thrum__story story, usual;
	int64_t grain;
	bool is_known, has_usual;
};

/* Makes the stories of a state, which are then `stories` of the bands. Those of tasks that the model
 * doesn't have are left out. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__scene_bands_make_stories(struct thrum__scene_bands *,
	const struct thrum__scene_bands_state *);
void thrum__scene_bands_free_stories(struct thrum__scene_bands *);

/* The height of a story in px. */
float thrum__scene_bands_story_height(const struct thrum__scene_bands_story *);

/* The task of the box at y from a story's top and at a time, or NONE. */
uint32_t thrum__scene_bands_story_task(const struct thrum__scene_bands_story *, float y,
	int64_t time);

/* The task of the level at y from a story's top, or NONE. */
uint32_t thrum__scene_bands_story_level(const struct thrum__scene_bands_story *, float y);

/* Writes what a level is about, and how long it takes, here and usually. */
void thrum__scene_bands_level_words(const struct thrum__scene_bands *,
	const struct thrum__scene_bands_story *, unsigned level, char *to, size_t size);

void thrum__scene_bands_paint_story(struct thrum__bands_pen *,
	const struct thrum__scene_bands_place *);

#endif
