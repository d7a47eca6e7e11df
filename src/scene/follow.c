/* SPDX-License-Identifier: ISC */
/* A view whose model grew or forgot: what changed is all that is looked at. */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "base/array.h"
#include "scene/move.h"
#include "scene/paint/paint.h"
#include "timeline/pieces.h"
#include "words/match.h"

/* ---- Findings -------------------------------------------------------------------------------- */

static bool is_there(const struct thrum__model *model, const struct thrum__finding *finding)
{
	bool is_fine = thrum__has_row(&model->tasks, finding->task);

	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		is_fine &= thrum__has_row(&model->tasks, step->task) &&
			(step->other == THRUM__NONE ||
				thrum__has_row(&model->tasks, step->other)) &&
			(step->edge == THRUM__NONE || thrum__has_row(&model->edges, step->edge));
	}
	return is_fine;
}

/* What is forgotten can't be told any more. */
static void drop_findings(struct thrum__view *view)
{
	struct thrum__findings *findings = &view->findings;
	uint32_t count = 0;

	for (uint32_t i = 0; i < findings->count; i++)
		if (is_there(view->model, &findings->findings[i]))
			findings->findings[count++] = findings->findings[i];
	findings->count = count;
}

int thrum__view_update_findings(struct thrum__view *view)
{
	struct thrum__findings findings;
	int error = thrum__findings_make(view->model, &findings);

	if (error != 0)
		return error;
	thrum__findings_free(&view->findings);
	view->findings = findings;
	return thrum__view_settle(view);
}

int64_t thrum__view_findings_pause(int64_t took)
{
	const int64_t second = 1000000000;
	int64_t pause = (took > second / 4 ? 99 : 39) * took;

	return pause > second ? pause : second;
}

/* ---- Looks ----------------------------------------------------------------------------------- */

static void look(struct thrum__view *view, uint32_t task, int bits)
{
	uint32_t unit = thrum__layout_unit(view->layout, task);

	if (unit == THRUM__NONE)
		return;
	if (bits & ~view->looks[unit] & THRUM__LOOK_FOUND) {
		view->found++;
		thrum__found_add(view, unit);
	}
	view->looks[unit] |= (uint8_t)bits;
}

static void forget_look(struct thrum__view *view, uint32_t unit)
{
	view->found -= (view->looks[unit] & THRUM__LOOK_FOUND) != 0;
	view->looks[unit] = 0;
}

static void look_at_task(struct thrum__view *view, struct thrum__match *match, uint32_t task)
{
	const struct thrum__model *model = view->model;
	int mark = thrum__findings_mark(&view->findings, task);

	if (mark != THRUM__MARK_NONE)
		look(view, task,
			mark == THRUM__MARK_STUCK ? THRUM__LOOK_STUCK : THRUM__LOOK_BEHIND);
	if (THRUM__TASK(model, task, state) == THRUM__STATE_FAILED)
		look(view, task, THRUM__LOOK_FAILED);
	if (match->size > 0 && thrum__match_task(match, model, task))
		look(view, task, THRUM__LOOK_FOUND);
}

/* What failed since, and whose new labels and log lines are searched for. */
static void look_at_new(struct thrum__view *view, struct thrum__match *match)
{
	const struct thrum__model *model = view->model;

	for (uint32_t i = view->seen_edges; i < model->edges.count; i++)
		if (thrum__has_row(&model->edges, i) &&
			THRUM__EDGE(model, i, kind) == THRUM__EDGE_FAIL)
			look(view, THRUM__EDGE(model, i, to), THRUM__LOOK_FAILED);
	for (uint32_t i = view->seen_notes; match->size > 0 && i < model->notes.count; i++)
		if (thrum__has_row(&model->notes, i) && thrum__match_note(match, model, i))
			look(view, THRUM__NOTE(model, i, task), THRUM__LOOK_FOUND);
}

static int grow_looks(struct thrum__view *view)
{
	uint32_t old = view->look_room;
	uint8_t *looks = thrum__grown(view->looks, &view->look_room,
		view->layout->unit_count + 1ull, sizeof(*looks));

	if (!looks)
		return -THRUM_E_MEMORY;
	view->looks = looks;
	memset(looks + old, 0, view->look_room - old);
	return 0;
}

static int follow_looks(struct thrum__view *view)
{
	const struct thrum__layout *layout = view->layout;
	struct thrum__match match;
	int error = grow_looks(view);

	if (error != 0)
		return error;
	error = thrum__match_init(&match, view->state.search);
	for (uint32_t i = 0; i < layout->changed_count; i++)
		if (layout->units[layout->changed[i]].task == THRUM__NONE)
			forget_look(view, layout->changed[i]);
		else if (view->looks[layout->changed[i]] & THRUM__LOOK_FOUND)
			thrum__found_add(view, layout->changed[i]);
	for (uint32_t i = 0; i < layout->adopted_count && error == 0; i++)
		if (thrum__layout_unit(layout, layout->adopted[i]) != THRUM__NONE)
			look_at_task(view, &match, layout->adopted[i]);
	if (error == 0)
		look_at_new(view, &match);
	view->selected = view->state.has_selected
		? thrum__model_find(view->model, view->state.selected)
		: THRUM__NONE;
	look(view, view->selected, THRUM__LOOK_SELECTED);
	thrum__view_hover(view, view->hovered);
	thrum__match_finish(&match);
	return error;
}

int thrum__view_update(struct thrum__view *view)
{
	int status = thrum__layout_update(view->layout, view->model, NULL, NULL);

	if (status == 0)
		status = thrum__tracks_update(view->tracks, view->model, view->layout);
	if (status != 0)
		return status;
	view->memory->strip.is_known = false;
	drop_findings(view);
	status = view->layout->is_shifted ? thrum__view_settle(view) : follow_looks(view);
	view->seen_edges = view->model->edges.count;
	view->seen_notes = view->model->notes.count;
	return status;
}
