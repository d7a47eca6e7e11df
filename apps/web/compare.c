/* SPDX-License-Identifier: ISC */
/* Why a task was slow, and how two traces differ. */
#include "core.h"

static void forget_answer(void)
{
	thrum__slow_flame_end(core.flaming, NULL);
	core.flaming = NULL;
	thrum__slow_flame_free(&core.flame);
	thrum__slow_answer_free(&core.answer);
	core.has_answer = false;
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

int compare_step(unsigned number, uint32_t task)
{
	struct part *part = core_part(number);
	int more;

	if (!part || !thrum__model_has_row(&part->model->tasks, task))
		return 0;
	if (!core.answer.model || core.slow_part != number || core.slow_task != task) {
		forget_answer();
		thrum__slow_answer_begin(part->model, task, &core.answer);
		core.slow_part = number;
		core.slow_task = task;
	}
	if (core.has_answer)
		return 0;
	more = thrum__slow_answer_go_on(&core.answer);
	core.has_answer = more == 0;
	if (more < 0)
		forget_answer();
	return more;
}

int compare_slow(unsigned number, uint32_t task, struct thrum__document *document)
{
	int more;

	do
		more = compare_step(number, task);
	while (more > 0);
	if (more < 0)
		return more;
	return core.has_answer ? thrum__document_slow(&core.answer, document) : 0;
}

/* Makes a step of the flame graph below the last document on a slow task. Returns 1 while there is more to
 * do; 2 when it has made the last one; 0 if there was none; or an error. */
EXPORT(core_flame) int core_flame(void)
{
	int more;

	if (!core.has_answer || core.answer.lives.count == 0 || core.flame.boxes)
		return 0;
	if (!core.flaming)
		core.flaming = thrum__slow_flame_begin(&core.answer.paths, &core.answer.lives);
	more = core.flaming ? thrum__slow_flame_go_on(core.flaming) : -THRUM_E_MEMORY;
	if (more > 0)
		return more;
	thrum__slow_flame_end(core.flaming, more < 0 ? NULL : &core.flame);
	core.flaming = NULL;
	return more < 0 ? more : 2;
}

/* Draws the path and the flame graph of the last document on a slow task, as core_chart does the
 * histogram. Returns 0, or an error if there is none. */
EXPORT(core_slow) int core_slow(float width)
{
	if (!core.has_answer)
		return -THRUM_E_ARGUMENT;
	return thrum__report_slow_frame(&core.answer, &core.flame, width, &core.metrics,
		&core.chart);
}

/* Answers as plain text what is at a place of that picture, or "". Returns its task, or -1. */
EXPORT(core_slow_spot) int core_slow_spot(float width, float x, float y)
{
	struct thrum__report_spot spot = {.task = THRUM__NONE};

	thrum__base_text_clear(&core.out);
	if (core.has_answer)
		thrum__report_slow_spot(&core.answer, &core.flame, width, &core.metrics, x, y,
			&spot);
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
