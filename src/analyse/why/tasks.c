/* SPDX-License-Identifier: ISC */
/* Answers questions about one task: when it is due, how it is named, and whether it really waits. */
#include <string.h>

#include "analyse/why/parts.h"

#define SLACK 10000000  /* ns before the end, in which others may not have had time to react */
#define BLOCKED 1000000 /* ns after its wait in which a thread may still record that it blocks */

int64_t thrum__why_due_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	if (!(THRUM__TASK(model, task, flags) & THRUM__TASK_DUE))
		return -1;
	for (; thrum__model_has_row(&model->notes, note); note = THRUM__NOTE(model, note, prev))
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return THRUM__NOTE(model, note, value) == THRUM__OPEN
				? -1
				: THRUM__NOTE(model, note, value);
	return -1;
}

bool thrum__why_begins_with(const struct thrum__model *model, uint32_t task,
	const char *const *words, size_t count)
{
	const char *name = thrum__model_task_name(model, task, NULL);

	for (size_t i = 0; i < count && *name; i++)
		if (*name == *words[i] && strncmp(name, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

bool thrum__why_is_outside(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER:
	case THRUM_KIND_HANDLE: return true;
	default: return false;
	}
}

bool thrum__why_is_handle(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return kind == THRUM_KIND_HANDLE || kind == THRUM_KIND_TIMER;
}

bool thrum__why_is_condition(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		THRUM__TASK(model, task, kind) == THRUM_KIND_CONDITION;
}

bool thrum__why_ends_by_itself(const struct thrum__model *model, uint32_t task)
{
	return thrum__why_is_outside(model, task) || thrum__why_due_of(model, task) >= 0;
}

bool thrum__why_is_inbound(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) != THRUM_KIND_THREAD &&
		THRUM__BEGINS_WITH(model, task, "accept", "listen", "read", "recv", "poll", "epoll",
			"signal", "idle", "next event");
}

bool thrum__why_is_blocked(const struct thrum__model *model, uint32_t task,
	const struct thrum__analyse_wait *wait)
{
	uint32_t run = THRUM__TASK(model, task, run), lane, row;
	int64_t quiet;

	if (!thrum__analyse_task_is_lane(model, task))
		return true;
	if (thrum__model_last_edge(model, task) != wait->edge)
		return false;
	if (!thrum__analyse_task_is_object(model, wait->on) ||
		!thrum__model_has_row(&model->runs, run))
		return true;
	lane = THRUM__RUN(model, run, lane);
	quiet = model->lanes[lane].last;
	row = thrum__why_resting(model, &model->lanes[lane]);
	if (row != THRUM__NONE)
		quiet = THRUM__SUSPENSION(model, row, start);
	return quiet <= wait->since + BLOCKED;
}

bool thrum__why_is_beside_naps(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		strstr(thrum__model_task_name(model, task, NULL), ", while other threads nap");
}

bool thrum__why_is_recent(const struct thrum__model *model, int64_t time)
{
	int64_t slack = model->end / 100 < SLACK ? model->end / 100 : SLACK;

	return time >= model->end - slack;
}
