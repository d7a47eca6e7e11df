/* SPDX-License-Identifier: ISC */
/* Answers questions about lanes: on which one a task ran, and for what a lane rests. */
#include "analyse/why/parts.h"

#define SUSPENSIONS 1024 /* suspensions that are searched for a lane's, from the latest back */

bool thrum__why_rests_for(const struct thrum__model *model, uint32_t suspension, const char *reason)
{
	return thrum__model_has_row(&model->suspensions, suspension) &&
		thrum__model_is_reason(model, THRUM__SUSPENSION(model, suspension, text), reason);
}

bool thrum__why_has_ended(const struct thrum__model *model, const struct thrum__lane *lane)
{
	return thrum__why_rests_for(model, lane->suspended, THRUM__REASON_ENDED);
}

int64_t thrum__why_end_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t lane = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, lane)
								  : THRUM__NONE;

	return lane < model->lane_count && thrum__why_has_ended(model, &model->lanes[lane])
		? THRUM__SUSPENSION(model, model->lanes[lane].suspended, start)
		: model->end;
}

uint32_t thrum__why_resting(const struct thrum__model *model, const struct thrum__lane *lane)
{
	uint32_t row = lane->suspended;

	if (!thrum__why_rests_for(model, row, THRUM__REASON_UNRECORDED) &&
		!thrum__why_has_ended(model, lane))
		return row;
	for (int i = 0; i < SUSPENSIONS && row-- > model->suspensions.first; i++)
		if (thrum__model_has_row(&model->suspensions, row) &&
			&model->lanes[THRUM__SUSPENSION(model, row, lane)] == lane)
			return THRUM__SUSPENSION(model, row, end) ==
					THRUM__SUSPENSION(model, lane->suspended, start)
				? row
				: THRUM__NONE;
	return THRUM__NONE;
}

uint32_t thrum__why_last_lane(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, run)
								 : THRUM__NONE;

	return thrum__model_has_row(&model->runs, run) ? THRUM__RUN(model, run, lane) : THRUM__NONE;
}

bool thrum__why_lane_rests_for(const struct thrum__model *model, uint32_t lane, const char *reason)
{
	return lane < model->lane_count &&
		thrum__why_rests_for(model, thrum__why_resting(model, &model->lanes[lane]), reason);
}

bool thrum__why_thread_rests_for(const struct thrum__model *model, uint32_t task,
	const char *reason)
{
	return thrum__why_lane_rests_for(model, THRUM__TASK(model, task, lane), reason);
}
