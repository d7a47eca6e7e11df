/* SPDX-License-Identifier: ISC */
/* Tells who should have ended a task that waits for nothing. */
#include "analyse/why/blame.h"

void thrum__why_add_blame(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t maker = THRUM__TASK(model, task, creator);

	if (thrum__model_has_row(&model->tasks, maker) &&
		!thrum__analyse_task_is_lane(model, maker) &&
		THRUM__TASK(model, maker, end) != THRUM__OPEN &&
		THRUM__TASK(model, maker, state) != THRUM__STATE_BECAME &&
		*thrum__model_task_name(model, maker, NULL))
		thrum__why_add_step(finding, THRUM__STEP_MAKER_ENDED, maker, task,
			THRUM__TASK(model, maker, end), THRUM__NONE);
}
