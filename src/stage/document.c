/* SPDX-License-Identifier: ISC */
/* Writes the text of the side panel for a trace of which no task is selected. */
#include "report/document/program.h"
#include "stage/stage.h"

/* Writes about a range of the bands, beside the rest. */
static int write_range(struct thrum__scene *scene, struct thrum__document_program *program,
	struct thrum__document *document)
{
	const struct thrum__scene_bands_state *state = &scene->state.bands;
	struct thrum__story_where here, other;
	struct thrum__document_range range = {state->range_from, state->range_to,
		thrum__scene_bands_focus(scene), &here, &other, state->took_from, state->took_to};

	if (thrum__scene_bands_where_beside(scene, range.group, &here, &other) < 0)
		return -THRUM_E_MEMORY;
	if (program->from > range.from)
		program->from = range.from;
	return thrum__document_range(program, &range, document);
}

/* Writes about a group of the bands. */
static int write_group(struct thrum__scene *scene, const struct thrum__document_program *program,
	uint32_t group, struct thrum__document *document)
{
	const struct thrum__bands_time time = {{program->from, 0}, {program->to, 0}};
	struct thrum__story_where where;

	return thrum__scene_bands_where_in(scene, group, &time, &where) < 0
		? -THRUM_E_MEMORY
		: thrum__document_group(program, group, &where, document);
}

int thrum__stage_document(struct thrum__stage *stage, uint32_t part,
	const struct thrum__stats *stats, const struct thrum_trace_info *info,
	struct thrum__document *document)
{
	struct thrum__scene *scene = stage->parts[part].scene;
	const struct thrum__bands *bands = thrum__scene_bands_of(scene);
	uint32_t thread = thrum__scene_bands_focus_thread(scene);
	uint32_t group = thrum__scene_bands_focus(scene);
	struct thrum__document_program program = {.bands = bands,
		.stats = stats,
		.info = info,
		.is_clear = scene->findings.count == 0 && !scene->lacks_findings};

	if (!bands)
		return thrum__document_trace(stats, info, stage->parts[part].name, program.is_clear,
			document);
	/* The numbers would be too small if they were also of a time whose events are lost. */
	program.from = thrum__model_kept_from(scene->model, bands->from, bands->to);
	program.to = bands->to;
	if (scene->state.bands.range_from < scene->state.bands.range_to)
		return write_range(scene, &program, document);
	if (thread < stats->task_count)
		return thrum__document_task(stats, thread, THRUM__NONE, document);
	if (group != THRUM__NONE)
		return write_group(scene, &program, group, document);
	if (!scene->paths_later && thrum__scene_bands_look(scene) < 0)
		return -THRUM_E_MEMORY;
	program.where = thrum__scene_bands_where(scene);
	return thrum__document_program(&program, document);
}
