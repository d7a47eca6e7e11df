/* SPDX-License-Identifier: ISC */
/* Finds the moment before a program tore everything down. */
#include <string.h>

#include "analyse/why/finding.h"

#define LAST 100000000 /* ns before the end in which a tear-down may begin */
#define SHARE 20       /* and at most this part of the trace */
#define OLD 50000000   /* ns; a younger task was not torn down, but stopped in its work */

/* When a lane's loop said for the last time that nothing is left that could wake it; -1: never. */
static int64_t deadlocked_at(const struct thrum__model *model)
{
	for (uint32_t i = model->suspensions.count; i-- > model->suspensions.first;)
		if (thrum__model_has_row(&model->suspensions, i) &&
			strcmp(thrum__model_string(model, THRUM__SUSPENSION(model, i, text), NULL),
				"deadlocked") == 0)
			return THRUM__SUSPENSION(model, i, start);
	return -1;
}

int64_t thrum__why_before_teardown(const struct thrum__model *model)
{
	int64_t part = model->last / SHARE, found = deadlocked_at(model);
	int64_t from = model->last - (part < LAST ? part : LAST), first = THRUM__OPEN;

	if (found >= 0)
		return found;
	for (uint32_t task = thrum__analyse_next_task(model, 0); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1)) {
		int state = THRUM__TASK(model, task, state);
		int64_t end = THRUM__TASK(model, task, end);

		if ((state == THRUM__STATE_CANCELLED || state == THRUM__STATE_FAILED) &&
			end >= from && end - THRUM__TASK(model, task, created) >= OLD &&
			end < first)
			first = end;
	}
	return first == THRUM__OPEN ? -1 : first - 1;
}
