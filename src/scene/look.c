/* SPDX-License-Identifier: ISC */
/* Looks: which units are selected, found, related, stuck or failed. And picking. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/paint/paint.h"
#include "words/match.h"

#define AWAITED_MAX 1000 /* tasks of a chain of waits that are followed */
#define HOVERED_MAX 4096 /* edges of a hovered unit that are looked at */
#define RUNS_SEARCHED 65536

static uint32_t unit_of(const struct thrum__scene *scene, uint32_t task)
{
	return thrum__layout_unit(scene->layout, task);
}

static void add_look(struct thrum__scene *scene, uint32_t task, int bits)
{
	uint32_t unit = unit_of(scene, task);

	if (unit != THRUM__NONE)
		scene->looks[unit] |= (uint8_t)bits;
}

/* ---- Search -------------------------------------------------------------------------------- */

static int look_at_found(struct thrum__scene *scene)
{
	const struct thrum__model *model = scene->model;
	struct thrum__words_match match;
	int error = thrum__words_match_init(&match, scene->state.search);

	if (error < 0 || thrum__words_match_is_empty(&match)) {
		thrum__words_match_finish(&match);
		return error;
	}
	for (uint32_t i = model->notes.first; i < model->notes.count; i++)
		if (thrum__model_has_row(&model->notes, i) &&
			thrum__words_match_note(&match, model, i))
			add_look(scene, THRUM__NOTE(model, i, task), THRUM__LOOK_FOUND);
	/* Tasks without a label, or whose label is forgotten, match by the words that stand
	 * for it. */
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
		if (thrum__model_has_row(&model->tasks, i) &&
			thrum__words_match_task(&match, model, i))
			add_look(scene, i, THRUM__LOOK_FOUND);
	thrum__words_match_finish(&match);
	return 0;
}

/* ---- Related ------------------------------------------------------------------------------- */

/* Marks the other ends of a task's edges. Looks at `most` edges; returns how many of these are
 * left. */
static uint32_t look_at_edges(struct thrum__scene *scene, uint32_t task, uint32_t most)
{
	const struct thrum__model *model = scene->model;
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (; most > 0 && thrum__model_has_row(&model->edges, edge); most--) {
		add_look(scene, THRUM__EDGE(model, edge, to), THRUM__LOOK_RELATED);
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	edge = THRUM__TASK(model, task, edge_in);
	for (; most > 0 && thrum__model_has_row(&model->edges, edge); most--) {
		add_look(scene, THRUM__EDGE(model, edge, from), THRUM__LOOK_RELATED);
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return most;
}

static void look_at_ancestors(struct thrum__scene *scene, uint32_t unit)
{
	/* Stop at a marked unit: parents may form a circle. */
	while (unit != THRUM__NONE && !(scene->looks[unit] & THRUM__LOOK_RELATED)) {
		scene->looks[unit] |= THRUM__LOOK_RELATED;
		unit = thrum__layout_parent(scene->layout, &scene->layout->units[unit]);
	}
}

/* Marks the chain of waits: from a pending task to the one it last waited for, and so on until one
 * waits for nothing. */
static void look_at_awaited(struct thrum__scene *scene, uint32_t task)
{
	const struct thrum__model *model = scene->model;

	for (int i = 0; i < AWAITED_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		uint32_t at = thrum__model_heir(model, task), edge;

		if (!thrum__model_has_row(&model->tasks, at) ||
			THRUM__TASK(model, at, state) != THRUM__STATE_PENDING)
			return;
		add_look(scene, at, THRUM__LOOK_RELATED);
		edge = THRUM__TASK(model, at, edge_out);
		while (thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
			edge = THRUM__EDGE(model, edge, prev_out);
		if (!thrum__model_has_row(&model->edges, edge))
			return;
		task = THRUM__EDGE(model, edge, to);
	}
}

/* Marks all tasks of the findings in which a unit has a part. */
static void look_at_findings(struct thrum__scene *scene, uint32_t unit)
{
	for (uint32_t i = 0; i < scene->findings.count; i++) {
		const struct thrum__finding *finding = &scene->findings.findings[i];
		bool has_part = false;

		for (unsigned s = 0; s < finding->step_count; s++)
			has_part |= unit_of(scene, finding->steps[s].task) == unit;
		for (unsigned s = 0; has_part && s < finding->step_count; s++) {
			add_look(scene, finding->steps[s].task, THRUM__LOOK_RELATED);
			add_look(scene, finding->steps[s].other, THRUM__LOOK_RELATED);
		}
	}
}

/* Finds the tracks of related units. Without memory all tracks are alike. */
static void find_related_tracks(struct thrum__scene *scene)
{
	const struct thrum__layout *layout = scene->layout;

	if (!scene->has_rows)
		return;
	scene->related_tracks = calloc((size_t)layout->tracks + 1, sizeof *scene->related_tracks);
	scene->related_room = layout->tracks;
	for (uint32_t i = 0; scene->related_tracks && i < layout->unit_count; i++)
		if (scene->looks[i] & THRUM__LOOK_RELATED)
			scene->related_tracks[thrum__layout_track(layout, i)] = true;
}

static void look_at_related(struct thrum__scene *scene)
{
	/* A selection has precedence over the unit below the pointer. */
	bool is_hovered = unit_of(scene, scene->selected) == THRUM__NONE;
	uint32_t unit = unit_of(scene, is_hovered ? scene->hovered : scene->selected), task;
	uint32_t most = is_hovered ? HOVERED_MAX : UINT32_MAX;

	free(scene->related_tracks);
	scene->related_tracks = NULL;
	if (scene->state.related_only && is_hovered && scene->state.search[0]) {
		scene->is_related = true;
		for (uint32_t i = 0; i < scene->layout->unit_count; i++)
			if (scene->looks[i] & THRUM__LOOK_FOUND)
				scene->looks[i] |= THRUM__LOOK_RELATED;
		find_related_tracks(scene);
		return;
	}
	scene->is_related = scene->state.related_only && unit != THRUM__NONE;
	if (!scene->is_related)
		return;
	look_at_ancestors(scene, unit);
	look_at_findings(scene, unit);
	task = scene->layout->units[unit].task;
	look_at_awaited(scene, task); /* all tasks of a chain have one heir, which waits */
	for (; task != THRUM__NONE && most > 0;
		task = thrum__layout_next(scene->layout, scene->model, task))
		most = look_at_edges(scene, task, most);
	if (!is_hovered)
		find_related_tracks(scene);
}

/* ---- Settling ------------------------------------------------------------------------------ */

/* The run of the selected task that the state names, or NONE. */
static uint32_t chosen_run(const struct thrum__scene *scene)
{
	const struct thrum__model *model = scene->model;
	uint32_t run = THRUM__NONE;

	if (scene->state.has_run && thrum__model_has_row(&model->tasks, scene->selected))
		run = THRUM__TASK(model, scene->selected, run);
	while (thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, start) > scene->state.run)
		run = THRUM__RUN(model, run, prev);
	return thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, start) == scene->state.run
		? run
		: THRUM__NONE;
}

int thrum__scene_settle(struct thrum__scene *scene)
{
	const struct thrum__model *model = scene->model;
	int error;
	uint8_t *looks = calloc((size_t)scene->layout->unit_count + 1, 1);

	if (!looks)
		return -THRUM_E_MEMORY;
	free(scene->looks);
	scene->looks = looks;
	scene->look_room = scene->layout->unit_count + 1;
	scene->selected = scene->state.has_selected
		? thrum__model_find(model, scene->state.selected)
		: THRUM__NONE;
	scene->run = chosen_run(scene);
	for (uint32_t task = model->tasks.first; task < model->tasks.count; task++) {
		int mark = thrum__why_marks(&scene->findings, task);

		if (!thrum__model_has_row(&model->tasks, task)) {
			task |= THRUM__BLOCK_MASK;
			continue;
		}
		if (mark != THRUM__MARK_NONE)
			add_look(scene, task,
				mark == THRUM__MARK_STUCK ? THRUM__LOOK_STUCK : THRUM__LOOK_BEHIND);
		if (THRUM__TASK(model, task, state) == THRUM__STATE_FAILED)
			add_look(scene, task, THRUM__LOOK_FAILED);
	}
	add_look(scene, scene->selected, THRUM__LOOK_SELECTED);
	error = look_at_found(scene);
	look_at_related(scene);
	scene->found = 0;
	for (uint32_t i = 0; i < scene->layout->unit_count; i++)
		scene->found += (scene->looks[i] & THRUM__LOOK_FOUND) != 0;
	scene->memory->found.is_known = scene->memory->strip.knows_found = false;
	return error;
}

void thrum__scene_hover(struct thrum__scene *scene, uint32_t task)
{
	bool was_related = scene->is_related;

	scene->hovered = task;
	if (!scene->state.related_only && !was_related)
		return;
	if (scene->selected == THRUM__NONE && scene->state.search[0])
		return; /* those that the search found stay */
	for (uint32_t i = 0; i < scene->layout->unit_count; i++)
		scene->looks[i] &= (uint8_t)~THRUM__LOOK_RELATED;
	look_at_related(scene);
}

int thrum__scene_select(struct thrum__scene *scene, uint32_t task)
{
	scene->state.has_selected = thrum__model_has_row(&scene->model->tasks, task);
	scene->state.selected = scene->state.has_selected ? THRUM__TASK(scene->model, task, id) : 0;
	scene->state.has_run = scene->tells_range = false;
	return thrum__scene_settle(scene);
}

int thrum__scene_select_run(struct thrum__scene *scene, uint32_t run)
{
	int status = thrum__scene_select(scene, THRUM__RUN(scene->model, run, task));

	scene->state.has_run = true;
	scene->state.run = THRUM__RUN(scene->model, run, start);
	scene->run = chosen_run(scene);
	return status;
}

int thrum__scene_search(struct thrum__scene *scene, const char *text)
{
	size_t size = strlen(text);

	if (size >= sizeof scene->state.search)
		size = sizeof scene->state.search - 1;
	memcpy(scene->state.search, text, size);
	scene->state.search[size] = 0;
	return thrum__scene_settle(scene);
}

/* ---- Picking ------------------------------------------------------------------------------- */

/* Returns a chain's task at a time: the first that ends later, else the last. */
static uint32_t task_at(const struct thrum__scene *scene, uint32_t unit, int64_t time)
{
	uint32_t task = scene->layout->units[unit].task, next;

	while ((next = thrum__layout_next(scene->layout, scene->model, task)) != THRUM__NONE &&
		THRUM__TASK(scene->model, task, end) <= time)
		task = next;
	return task;
}

/* Returns the run of a task at a time, among its latest ones, or NONE. */
static uint32_t run_at(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t run = THRUM__TASK(model, task, run);

	for (unsigned i = 0; i < RUNS_SEARCHED && thrum__model_has_row(&model->runs, run); i++) {
		if (THRUM__RUN(model, run, start) <= time)
			return time < THRUM__RUN(model, run, end) ? run : THRUM__NONE;
		run = THRUM__RUN(model, run, prev);
	}
	return THRUM__NONE;
}

uint32_t thrum__scene_finding_at(const struct thrum__scene *scene, float x, float y)
{
	return scene->state.findings && scene->state.finding < scene->findings.count &&
			thrum__paint_boxes_hit(&scene->memory->notes, x, y, 1, 1)
		? scene->state.finding
		: THRUM__NONE;
}

void thrum__scene_pick(const struct thrum__scene *scene, float x, float y, float slack,
	struct thrum__scene_pick *pick)
{
	int64_t from = thrum__scene_time_axis_time(&scene->time, x - slack);
	int64_t to = thrum__scene_time_axis_time(&scene->time, x + slack);
	const struct thrum__scene_track_box *nearest = NULL;
	struct thrum__index_stretch stretch;
	struct thrum__index_walk walk;
	float best = INFINITY;

	*pick = (struct thrum__scene_pick){
		.time = thrum__scene_time_axis_time(&scene->time, x),
		.unit = THRUM__NONE,
		.task = THRUM__NONE,
		.track = THRUM__NONE,
		.run = THRUM__NONE,
	};
	if (scene->shows_bands) {
		int64_t ran = THRUM__OPEN;

		pick->task = thrum__scene_bands_pick(scene, x, y, slack, &pick->more, &ran);
		if (ran != THRUM__OPEN && thrum__model_has_row(&scene->model->tasks, pick->task))
			pick->run = run_at(scene->model, pick->task, ran);
		pick->unit = pick->task == THRUM__NONE ? THRUM__NONE : unit_of(scene, pick->task);
		return;
	}
	for (uint32_t i = 0; i < scene->tracks.count; i++) {
		const struct thrum__scene_track_box *box = &scene->tracks.boxes[i];
		float away = y < box->y            ? box->y - y
			: y > box->y + box->height ? y - box->y - box->height
						   : 0;

		if (away > slack || away >= best)
			continue;
		thrum__index_walk_begin(&walk, scene->index, THRUM__INDEX_UNITS, box->track,
			box->tracks, from, to + 1, 0);
		if (!thrum__index_walk_next(&walk, &stretch))
			continue;
		best = away;
		nearest = box;
		pick->unit = stretch.item;
	}
	if (nearest) {
		pick->track = thrum__layout_track(scene->layout, pick->unit);
		pick->task = task_at(scene, pick->unit, pick->time);
		pick->run = run_at(scene->model, pick->task, pick->time);
	}
}
