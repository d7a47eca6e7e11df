/* SPDX-License-Identifier: ISC */
/* What stands out: selected, found, related, stuck, failed; and what is at a place. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/paint/paint.h"
#include "words/match.h"

#define AWAITED_MAX 1000 /* tasks along what the selected one waits for */
#define HOVERED_MAX 4096 /* edges of what is hovered */

static uint32_t unit_of(const struct thrum__view *view, uint32_t task)
{
	return thrum__layout_unit(view->layout, task);
}

static void look(struct thrum__view *view, uint32_t task, int bits)
{
	uint32_t unit = unit_of(view, task);

	if (unit != THRUM__NONE)
		view->looks[unit] |= (uint8_t)bits;
}

/* ---- Search -------------------------------------------------------------------------------- */

static int look_for(struct thrum__view *view)
{
	const struct thrum__model *model = view->model;
	struct thrum__match match;
	int error = thrum__match_init(&match, view->state.search);

	if (error < 0 || match.size == 0) {
		thrum__match_finish(&match);
		return error;
	}
	for (uint32_t i = model->notes.first; i < model->notes.count; i++)
		if (thrum__has_row(&model->notes, i) && thrum__match_note(&match, model, i))
			look(view, THRUM__NOTE(model, i, task), THRUM__LOOK_FOUND);
	/* Whose label is forgotten, or who has none: by the words that stand for it. */
	for (uint32_t i = model->tasks.first; i < model->tasks.count; i++)
		if (thrum__has_row(&model->tasks, i) && thrum__match_task(&match, model, i))
			look(view, i, THRUM__LOOK_FOUND);
	thrum__match_finish(&match);
	return 0;
}

/* ---- Related ------------------------------------------------------------------------------- */

/* At most so many; returns how many may still be looked at. */
static uint32_t look_at_edges(struct thrum__view *view, uint32_t task, uint32_t most)
{
	const struct thrum__model *model = view->model;
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (; most > 0 && thrum__has_row(&model->edges, edge); most--) {
		look(view, THRUM__EDGE(model, edge, to), THRUM__LOOK_RELATED);
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	edge = THRUM__TASK(model, task, edge_in);
	for (; most > 0 && thrum__has_row(&model->edges, edge); most--) {
		look(view, THRUM__EDGE(model, edge, from), THRUM__LOOK_RELATED);
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return most;
}

static void look_at_ancestors(struct thrum__view *view, uint32_t unit)
{
	/* There may be circles. */
	while (unit != THRUM__NONE && !(view->looks[unit] & THRUM__LOOK_RELATED)) {
		view->looks[unit] |= THRUM__LOOK_RELATED;
		unit = thrum__layout_parent(view->layout, &view->layout->units[unit]);
	}
}

/* From what is pending along its last waits, to where nobody waits any more. */
static void look_at_awaited(struct thrum__view *view, uint32_t task)
{
	const struct thrum__model *model = view->model;

	for (int i = 0; i < AWAITED_MAX && thrum__has_row(&model->tasks, task); i++) {
		uint32_t at = thrum__model_heir(model, task), edge;

		if (!thrum__has_row(&model->tasks, at) ||
			THRUM__TASK(model, at, state) != THRUM__STATE_PENDING)
			return;
		look(view, at, THRUM__LOOK_RELATED);
		edge = THRUM__TASK(model, at, edge_out);
		while (thrum__has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT)
			edge = THRUM__EDGE(model, edge, prev_out);
		if (!thrum__has_row(&model->edges, edge))
			return;
		task = THRUM__EDGE(model, edge, to);
	}
}

/* What leads to the findings that the selected unit has a part in. */
static void look_at_findings(struct thrum__view *view, uint32_t unit)
{
	for (uint32_t i = 0; i < view->findings.count; i++) {
		const struct thrum__finding *finding = &view->findings.findings[i];
		bool has_part = false;

		for (unsigned s = 0; s < finding->step_count; s++)
			has_part |= unit_of(view, finding->steps[s].task) == unit;
		for (unsigned s = 0; has_part && s < finding->step_count; s++) {
			look(view, finding->steps[s].task, THRUM__LOOK_RELATED);
			look(view, finding->steps[s].other, THRUM__LOOK_RELATED);
		}
	}
}

static void look_at_related(struct thrum__view *view)
{
	/* What is selected stays so, wherever the pointer passes by. */
	bool is_hovered = unit_of(view, view->selected) == THRUM__NONE;
	uint32_t unit = unit_of(view, is_hovered ? view->hovered : view->selected), task;
	uint32_t most = is_hovered ? HOVERED_MAX : UINT32_MAX;

	view->is_related = view->state.related_only && unit != THRUM__NONE;
	if (!view->is_related)
		return;
	look_at_ancestors(view, unit);
	look_at_findings(view, unit);
	task = view->layout->units[unit].task;
	look_at_awaited(view, task); /* all of a chain have one heir, which is what waits */
	for (; task != THRUM__NONE && most > 0;
		task = thrum__layout_next(view->layout, view->model, task))
		most = look_at_edges(view, task, most);
}

/* ---- Settling ------------------------------------------------------------------------------ */

int thrum__view_settle(struct thrum__view *view)
{
	const struct thrum__model *model = view->model;
	int error;
	uint8_t *looks = calloc((size_t)view->layout->unit_count + 1, 1);

	if (!looks)
		return -THRUM_E_MEMORY;
	free(view->looks);
	view->looks = looks;
	view->look_room = view->layout->unit_count + 1;
	view->selected = view->state.has_selected ? thrum__model_find(model, view->state.selected)
						  : THRUM__NONE;
	for (uint32_t task = model->tasks.first; task < model->tasks.count; task++) {
		int mark = thrum__findings_mark(&view->findings, task);

		if (!thrum__has_row(&model->tasks, task)) {
			task |= THRUM__BLOCK_MASK;
			continue;
		}
		if (mark != THRUM__MARK_NONE)
			look(view, task,
				mark == THRUM__MARK_STUCK ? THRUM__LOOK_STUCK : THRUM__LOOK_BEHIND);
		if (THRUM__TASK(model, task, state) == THRUM__STATE_FAILED)
			look(view, task, THRUM__LOOK_FAILED);
	}
	look(view, view->selected, THRUM__LOOK_SELECTED);
	error = look_for(view);
	look_at_related(view);
	view->found = 0;
	for (uint32_t i = 0; i < view->layout->unit_count; i++)
		view->found += (view->looks[i] & THRUM__LOOK_FOUND) != 0;
	view->memory->found.is_known = view->memory->strip.knows_found = false;
	return error;
}

void thrum__view_hover(struct thrum__view *view, uint32_t task)
{
	bool was_related = view->is_related;

	view->hovered = task;
	if (!view->state.related_only && !was_related)
		return;
	for (uint32_t i = 0; i < view->layout->unit_count; i++)
		view->looks[i] &= (uint8_t)~THRUM__LOOK_RELATED;
	look_at_related(view);
}

int thrum__view_select(struct thrum__view *view, uint32_t task)
{
	view->state.has_selected = thrum__has_row(&view->model->tasks, task);
	view->state.selected = view->state.has_selected ? THRUM__TASK(view->model, task, id) : 0;
	return thrum__view_settle(view);
}

int thrum__view_search(struct thrum__view *view, const char *text)
{
	size_t size = strlen(text);

	if (size >= sizeof view->state.search)
		size = sizeof view->state.search - 1;
	memcpy(view->state.search, text, size);
	view->state.search[size] = 0;
	return thrum__view_settle(view);
}

/* ---- Picking ------------------------------------------------------------------------------- */

/* The task of a chain at a time: the last that had started by then. */
static uint32_t task_at(const struct thrum__view *view, uint32_t unit, int64_t time)
{
	uint32_t task = view->layout->units[unit].task, next;

	while ((next = thrum__layout_next(view->layout, view->model, task)) != THRUM__NONE &&
		THRUM__TASK(view->model, task, end) <= time)
		task = next;
	return task;
}

void thrum__view_pick(const struct thrum__view *view, float x, float y, float slack,
	struct thrum__pick *pick)
{
	int64_t from = thrum__time_axis_time(&view->time, x - slack);
	int64_t to = thrum__time_axis_time(&view->time, x + slack);
	const struct thrum__row_box *nearest = NULL;
	struct thrum__stretch stretch;
	struct thrum__walk walk;
	float best = INFINITY;

	*pick = (struct thrum__pick){
		.time = thrum__time_axis_time(&view->time, x),
		.unit = THRUM__NONE,
		.task = THRUM__NONE,
		.row = THRUM__NONE,
	};
	for (uint32_t i = 0; i < view->rows.count; i++) {
		const struct thrum__row_box *box = &view->rows.boxes[i];
		float away = y < box->y            ? box->y - y
			: y > box->y + box->height ? y - box->y - box->height
						   : 0;

		if (away > slack || away >= best)
			continue;
		thrum__walk_begin(&walk, view->tracks, THRUM__TRACK_UNITS, box->row, box->rows,
			from, to + 1, 0);
		if (!thrum__walk_next(&walk, &stretch))
			continue;
		best = away;
		nearest = box;
		pick->unit = stretch.item;
	}
	if (nearest) {
		pick->row = thrum__layout_row(view->layout, pick->unit);
		pick->task = task_at(view, pick->unit, pick->time);
	}
}
