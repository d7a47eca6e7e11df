/* SPDX-License-Identifier: ISC */
/* The words for groups of tasks, for threads, and for the waits of groups. Like those of words.h,
 * these functions return as snprintf does. */
#ifndef WORDS_BANDS_H
#define WORDS_BANDS_H

#include "analyse/bands/bands.h"
#include "analyse/story/story.h"

#define THRUM__WORDS_GROUP_ROOM 256 /* enough for the name of any group, with a NUL */

/* The name of a group: the pattern of its labels, or "task in connect:42" where groups are call
 * sites. */
size_t thrum__words_group(const struct thrum__family *, uint32_t group, char *to, size_t size);

/* The search that finds the failed tasks of a group: state:failed label:"=GET /user/[*]", with the star
 * alone. */
size_t thrum__words_group_failed(const struct thrum__family *, uint32_t group, char *to,
	size_t size);

/* The name of a thread with the number of its lanes: "loop 1", "pool ×4", "others ×12". */
size_t thrum__words_thread(const struct thrum__bands *, uint32_t thread, char *to, size_t size);

/* The name of a task that runs; if it has no label, first that of the line for which it works, as
 * "GET /user/3, bind in query:65". */
size_t thrum__words_running(const struct thrum__family *, uint32_t task, char *to, size_t size);

/* The name of a run of the model (NONE: it isn't known) for those who look for long ones: the request on
 * which it works; else that of its task, as above. */
size_t thrum__words_run_name(const struct thrum__family *, uint32_t task, uint32_t run, char *to,
	size_t size);

/* Where a part of a group's time goes: "waits for database", "runs", "ready, its thread busy". */
size_t thrum__words_where(const struct thrum__family *, const struct thrum__story_part *, char *to,
	size_t size);

#endif
