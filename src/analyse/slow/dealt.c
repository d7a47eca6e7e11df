/* SPDX-License-Identifier: ISC */
/*
 * Finds that a slow task waited for a lane which ran all tasks of its name, though other lanes named alike
 * ran none at all: all the work was dealt to one of several.
 */
#include <string.h>

#include "analyse/slow/answer.h"
#include "analyse/slow/parts.h"

#define LIVES_MIN 8 /* so many tasks show how they are dealt */
#define BUSY_PART 8 /* of a lane's time, in which it may do something */

/* Whether the main cause is that the task's thread ran others. */
static bool is_queued(const struct thrum__cause *cause)
{
	return cause->count > 0 && cause->links[0].kind == THRUM__CAUSE_DOING &&
		cause->links[0].doing >= THRUM__DOING_READY &&
		cause->links[0].doing <= THRUM__DOING_QUEUED;
}

/* The only lane on which a task ran; NONE: there are several, or none. */
static uint32_t lane_of(const struct thrum__slow_answer *answer, uint32_t task)
{
	const struct thrum__slices *runs = &answer->paths.runs;
	uint32_t lane = THRUM__NONE;

	for (uint32_t i = runs->first[task]; i < runs->first[task + 1]; i++) {
		uint32_t other = THRUM__RUN(answer->model, runs->rows[i], lane);

		if (lane != THRUM__NONE && other != lane)
			return THRUM__NONE;
		lane = other;
	}
	return lane;
}

/* Whether two lanes of one process have names of one pattern, and not the same. */
static bool are_peers(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	const struct thrum__lane *one = &model->lanes[a], *other = &model->lanes[b];
	struct thrum__slow_pattern pattern;
	const char *name;
	size_t size;

	if (one->process != other->process || !thrum__model_has_row(&model->tasks, one->task) ||
		!thrum__model_has_row(&model->tasks, other->task))
		return false;
	thrum__slow_pattern_make(model, one->task, &pattern);
	name = thrum__model_task_name(model, other->task, &size);
	return thrum__slow_has_pattern(&pattern, name, size) &&
		strcmp(name, thrum__model_task_name(model, one->task, NULL)) != 0;
}

/* Whether a lane has run no task but its own, and was suspended nearly all the time. */
static bool has_idled(const struct thrum__lane *lane)
{
	int64_t time = lane->last - lane->first;

	return lane->ran == 0 && lane->suspended_ns >= time - time / BUSY_PART &&
		(lane->running == THRUM__NONE || lane->running == lane->task);
}

uint32_t thrum__slow_dealt_find(const struct thrum__slow_answer *answer, uint32_t *thread)
{
	const struct thrum__model *model = answer->model;
	uint32_t peers = 0,
		 lane = is_queued(&answer->cause) && !answer->function
		? lane_of(answer, answer->task)
		: THRUM__NONE;

	if (lane == THRUM__NONE || model->lost > 0 || answer->lives.count < LIVES_MIN)
		return 0;
	for (uint32_t i = 0; i < answer->lives.count; i++)
		if (lane_of(answer, answer->lives.items[i].item) != lane)
			return 0;
	for (uint32_t i = 0; i < model->lane_count; i++) {
		if (!are_peers(model, lane, i))
			continue;
		if (!has_idled(&model->lanes[i]))
			return 0;
		peers++;
	}
	*thread = model->lanes[lane].task;
	return peers;
}
