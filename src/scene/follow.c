/* SPDX-License-Identifier: ISC */
/* Makes a scene follow a model that grew or forgot. Looks only at the parts that changed. */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/time.h"
#include "scene/bands/bands.h"
#include "scene/move.h"
#include "scene/paint/paint.h"
#include "words/match.h"

/* ---- Findings ------------------------------------------------------------------------------ */

/* Whether the model still has all tasks and edges of a finding. */
static bool is_complete(const struct thrum__model *model, const struct thrum__finding *finding)
{
	bool is_fine = thrum__model_has_row(&model->tasks, finding->task);

	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		is_fine &= thrum__model_has_row(&model->tasks, step->task) &&
			(step->other == THRUM__NONE ||
				thrum__model_has_row(&model->tasks, step->other)) &&
			(step->edge == THRUM__NONE ||
				thrum__model_has_row(&model->edges, step->edge));
	}
	return is_fine;
}

/* Drops findings about tasks or edges that the model has forgotten. */
static void drop_findings(struct thrum__scene *scene)
{
	struct thrum__findings *findings = &scene->findings;
	uint32_t count = 0;

	for (uint32_t i = 0; i < findings->count; i++)
		if (is_complete(scene->model, &findings->findings[i]))
			findings->findings[count++] = findings->findings[i];
	findings->count = count;
}

static void stop_finding(struct thrum__scene *scene)
{
	thrum__why_end(scene->finding, NULL);
	scene->finding = NULL;
}

int thrum__scene_find(struct thrum__scene *scene)
{
	int more;

	if (!scene->finding)
		scene->finding = thrum__why_begin(scene->model);
	more = scene->finding ? thrum__why_go_on(scene->finding) : -THRUM_E_MEMORY;
	if (more < 0)
		stop_finding(scene);
	if (more != 0)
		return more;
	struct thrum__findings made = {0};

	thrum__why_end(scene->finding, &made);
	scene->finding = NULL;
	return thrum__scene_take_findings(scene, &made);
}

int thrum__scene_take_findings(struct thrum__scene *scene, const struct thrum__findings *made)
{
	stop_finding(scene);
	thrum__why_free(&scene->findings);
	scene->findings = *made;
	thrum__analyse_odd_free(&scene->findings.odd);
	scene->lacks_findings = false;
	return thrum__scene_settle(scene);
}

int thrum__scene_update_findings(struct thrum__scene *scene)
{
	int more;

	stop_finding(scene);
	do
		more = thrum__scene_find(scene);
	while (more > 0);
	return more;
}

int64_t thrum__scene_findings_pause(int64_t took)
{
	const int64_t second = 1000000000;
	int64_t pause = (took > second / 4 ? 99 : 39) * took;

	return pause > second ? pause : second;
}

/* ---- Looks --------------------------------------------------------------------------------- */

static void add_counted_look(struct thrum__scene *scene, uint32_t task, int bits)
{
	uint32_t unit = thrum__layout_unit(scene->layout, task);

	if (unit == THRUM__NONE)
		return;
	if (bits & ~scene->looks[unit] & THRUM__LOOK_FOUND) {
		scene->found++;
		thrum__scene_found_add(scene, unit);
	}
	scene->looks[unit] |= (uint8_t)bits;
}

static void forget_look(struct thrum__scene *scene, uint32_t unit)
{
	scene->found -= (scene->looks[unit] & THRUM__LOOK_FOUND) != 0;
	scene->looks[unit] = 0;
}

static void look_at_task(struct thrum__scene *scene, struct thrum__words_match *match,
	uint32_t task)
{
	const struct thrum__model *model = scene->model;
	int mark = thrum__why_marks(&scene->findings, task);

	if (mark != THRUM__MARK_NONE)
		add_counted_look(scene, task,
			mark == THRUM__MARK_STUCK ? THRUM__LOOK_STUCK : THRUM__LOOK_BEHIND);
	if (THRUM__TASK(model, task, state) == THRUM__STATE_FAILED)
		add_counted_look(scene, task, THRUM__LOOK_FAILED);
	if (!thrum__words_match_is_empty(match) && thrum__words_match_task(match, model, task))
		add_counted_look(scene, task, THRUM__LOOK_FOUND);
}

/* Marks tasks that failed since the last update, and tasks whose new labels or log lines match the
 * search. */
static void look_at_new(struct thrum__scene *scene, struct thrum__words_match *match)
{
	const struct thrum__model *model = scene->model;

	for (uint32_t i = scene->seen_edges; i < model->edges.count; i++)
		if (thrum__model_has_row(&model->edges, i) &&
			THRUM__EDGE(model, i, kind) == THRUM__EDGE_FAIL)
			add_counted_look(scene, THRUM__EDGE(model, i, to), THRUM__LOOK_FAILED);
	for (uint32_t i = scene->seen_notes;
		!thrum__words_match_is_empty(match) && i < model->notes.count; i++)
		if (thrum__model_has_row(&model->notes, i) &&
			thrum__words_match_note(match, model, i))
			add_counted_look(scene, THRUM__NOTE(model, i, task), THRUM__LOOK_FOUND);
}

static int grow_looks(struct thrum__scene *scene)
{
	uint32_t old = scene->look_room;
	uint8_t *looks = thrum__base_grow(scene->looks, &scene->look_room,
		scene->layout->unit_count + 1ull, sizeof(*looks));

	if (!looks)
		return -THRUM_E_MEMORY;
	scene->looks = looks;
	memset(looks + old, 0, scene->look_room - old);
	return 0;
}

static int follow_looks(struct thrum__scene *scene)
{
	const struct thrum__layout *layout = scene->layout;
	struct thrum__words_match match;
	int error = grow_looks(scene);

	if (error != 0)
		return error;
	error = thrum__words_match_init(&match, scene->state.search);
	for (uint32_t i = 0; i < layout->changed_count; i++)
		if (layout->units[layout->changed[i]].task == THRUM__NONE)
			forget_look(scene, layout->changed[i]);
		else if (scene->looks[layout->changed[i]] & THRUM__LOOK_FOUND)
			thrum__scene_found_add(scene, layout->changed[i]);
	for (uint32_t i = 0; i < layout->adopted_count && error == 0; i++)
		if (thrum__layout_unit(layout, layout->adopted[i]) != THRUM__NONE)
			look_at_task(scene, &match, layout->adopted[i]);
	if (error == 0)
		look_at_new(scene, &match);
	scene->selected = scene->state.has_selected
		? thrum__model_find(scene->model, scene->state.selected)
		: THRUM__NONE;
	add_counted_look(scene, scene->selected, THRUM__LOOK_SELECTED);
	thrum__scene_hover(scene, scene->hovered);
	thrum__words_match_finish(&match);
	return error;
}

int thrum__scene_update(struct thrum__scene *scene)
{
	int status = thrum__layout_update(scene->layout, scene->model, NULL, NULL);

	stop_finding(scene);
	thrum__index_destroy(scene->new_index);
	thrum__bands_destroy(scene->new_bands);
	scene->new_index = NULL;
	scene->new_bands = NULL;
	if (status == 0)
		status = thrum__follow_update(scene->index, scene->model, scene->layout);
	if (status != 0)
		return status;
	scene->has_rows = true;
	scene->memory->strip.is_known = false;
	/* Bands that nobody sees are made anew when they are shown again. */
	if (thrum__scene_shows_bands(scene) && scene->bands) {
		status = thrum__scene_bands_update(scene);
		if (status != 0)
			return status;
	} else {
		thrum__scene_bands_destroy(scene->bands);
		scene->bands = NULL;
		scene->shows_bands = false;
		scene->hovered_group = scene->hovered_thread = THRUM__NONE;
	}
	drop_findings(scene);
	status = scene->layout->is_shifted ? thrum__scene_settle(scene) : follow_looks(scene);
	scene->seen_edges = scene->model->edges.count;
	scene->seen_notes = scene->model->notes.count;
	return status;
}
