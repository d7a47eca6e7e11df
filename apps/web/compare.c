/* SPDX-License-Identifier: ISC */
/* Why a task was slow, and how two traces differ. */
#include "core.h"

static void forget_answer(void)
{
	if (core.has_flame)
		thrum__slow_flame_free(&core.flame);
	if (core.has_answer)
		thrum__slow_answer_free(&core.answer);
	core.has_answer = core.has_flame = false;
}

static void forget_comparison(void)
{
	if (core.has_comparison)
		thrum__diff_free(&core.comparison);
	core.has_comparison = false;
}

void compare_forget(void)
{
	forget_answer();
	forget_comparison();
}

/* ---- Why slow ------------------------------------------------------------------------------ */

int compare_slow(unsigned number, uint32_t task, struct thrum__document *document)
{
	struct part *part = core_part(number);

	if (!part || !thrum__model_has_row(&part->model->tasks, task))
		return 0;
	if (!core.has_answer || core.slow_part != number || core.slow_task != task) {
		forget_answer();
		if (thrum__slow_answer_of(part->model, task, &core.answer) < 0)
			return -THRUM_E_MEMORY;
		core.has_answer = true;
		core.slow_part = number;
		core.slow_task = task;
		core.has_flame = core.answer.lives.count > 0 &&
			thrum__slow_flame_make(&core.answer.paths, &core.answer.lives,
				&core.flame) == 0;
	}
	return thrum__document_slow(&core.answer, document);
}

/* Draws the path and the flame graph of the last document on a slow task, as core_chart does the
 * histogram. Returns 0, or an error if there is none. */
EXPORT(core_slow) int core_slow(float width)
{
	if (!core.has_answer)
		return -THRUM_E_ARGUMENT;
	return thrum__report_slow_frame(&core.answer, core.has_flame ? &core.flame : NULL, width,
		&core.metrics, &core.chart);
}

/* Answers as plain text what is at a place of that picture, or "". Returns its task, or -1. */
EXPORT(core_slow_spot) int core_slow_spot(float width, float x, float y)
{
	struct thrum__report_spot spot = {.task = THRUM__NONE};

	thrum__base_text_clear(&core.out);
	if (core.has_answer)
		thrum__report_slow_spot(&core.answer, core.has_flame ? &core.flame : NULL, width,
			&core.metrics, x, y, &spot);
	json_put(&core.out, spot.words);
	return spot.task == THRUM__NONE ? -1 : (int)spot.task;
}

/* ---- Differences --------------------------------------------------------------------------- */

int compare_traces(struct thrum__document *document)
{
	const char *names[THRUM__SIDES];

	if (core.stage->count < THRUM__SIDES)
		return 0;
	if (!core.has_comparison &&
		thrum__diff_make(core.parts[THRUM__GOOD].model, core.parts[THRUM__BAD].model,
			&core.comparison) < 0)
		return -THRUM_E_MEMORY;
	core.has_comparison = true;
	for (int side = 0; side < THRUM__SIDES; side++)
		names[side] = core.stage->parts[side].name;
	return thrum__document_diff(&core.comparison, names, document);
}

/* Follows a link to a difference. */
EXPORT(core_go_difference) int core_go_difference(uint32_t difference)
{
	return core.has_comparison && difference < core.comparison.count
		? thrum__stage_go_difference(core.stage, &core.comparison.differences[difference])
		: 0;
}
