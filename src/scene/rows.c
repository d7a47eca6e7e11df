/* SPDX-License-Identifier: ISC */
/* Makes the rows of a scene: at once, or, where a busy program would be shown as bands anyway, when rows
 * are first shown. Bands need units, but no tracks. */
#include "scene/rows.h"

#include <math.h>
#include <stdlib.h>
#include <thrum.h>

#include "scene/bands/bands.h"
#include "scene/move.h"
#include "scene/paint/paint.h"

#define BUSY_LEAST 1000 /* tasks of a trace that may be shown as bands on auto */
#define ROW_LEAST 10    /* px of a row; if not all rows have so much, bands are shown on auto */
#define CROWD_LEAST 200 /* rows for which no usual picture has room: 2,000 px */
#define SAMPLES 1024    /* times at which the tasks alive are counted */

/* The progress of one step, from … to, of the whole. */
struct step {
	const struct thrum__scene_progress *whole;
	double from, to;
};

static bool tell_part(void *context, double part)
{
	const struct step *step = context;

	return !step->whole->tell ||
		step->whole->tell(step->whole->context,
			step->from + part * (step->to - step->from));
}

static uint32_t task_count(const struct thrum__scene *scene)
{
	return scene->model->tasks.count - scene->model->tasks.first;
}

/* Returns the first sample at or after a time. */
static uint32_t sample_at(int64_t time, int64_t all)
{
	double at = ceil((double)time / (double)all * SAMPLES);

	return at < 0 ? 0 : at > SAMPLES ? SAMPLES : (uint32_t)at;
}

/* Returns the most units that are alive at one of the samples: there are at least so many tracks. */
static uint32_t most_alive(const struct thrum__scene *scene)
{
	const struct thrum__layout *layout = scene->layout;
	uint32_t begun[SAMPLES + 1] = {0}, ended[SAMPLES + 1] = {0}, alive = 0, most = 0;
	int64_t from, to;

	thrum__scene_whole(scene, &from, &to);
	for (uint32_t i = 0; i < layout->unit_count; i++) {
		if (layout->units[i].task == THRUM__NONE)
			continue;
		begun[sample_at(layout->units[i].start, to)]++;
		if (!thrum__layout_lasts(layout, i))
			ended[sample_at(layout->units[i].end, to)]++;
	}
	for (uint32_t i = 0; i < SAMPLES; i++) {
		alive += begun[i] - ended[i];
		most = alive > most ? alive : most;
	}
	return most;
}

/* Gives a layout's units tracks and makes its index; that takes the first `whole` of the progress. */
static int make_rows(const struct thrum__model *model, struct thrum__layout *layout,
	const struct thrum__scene_progress *progress, double whole, struct thrum__index **index)
{
	struct step first = {progress, 0, 0.4 * whole}, second = {progress, 0.4 * whole, whole};
	int status = thrum__layout_update(layout, model, tell_part, &first);

	return status == 0 ? thrum__index_make(model, layout, tell_part, &second, index) : status;
}

int thrum__scene_begin_rows(struct thrum__scene *scene,
	const struct thrum__scene_progress *progress, bool at_once)
{
	int status = at_once || task_count(scene) < BUSY_LEAST
		? 0
		: thrum__layout_units(scene->layout, scene->model);

	if (status == 0 && scene->layout->unit_count > 0)
		scene->crowd = most_alive(scene);
	if (status < 0)
		return status;
	if (scene->crowd >= CROWD_LEAST)
		return thrum__index_outline(scene->model, scene->layout, &scene->index);
	status = make_rows(scene->model, scene->layout, progress, 0.8, &scene->index);
	scene->has_rows = status == 0;
	return status;
}

/* ---- Rows that are made elsewhere ---------------------------------------------------------- */

struct thrum__scene_rows {
	struct thrum__layout *layout;
	struct thrum__index *index;
};

int thrum__scene_rows_make(const struct thrum__model *model,
	const struct thrum__scene_options *options, bool (*tell)(void *context, double part),
	void *context, struct thrum__scene_rows **rows)
{
	struct thrum__scene_progress progress = {tell, context};
	struct thrum__scene_rows *made = calloc(1, sizeof *made);
	int status = made
		? thrum__layout_create(!options->no_simplify, options->by_lane, &made->layout)
		: -THRUM_E_MEMORY;

	if (status == 0)
		status = make_rows(model, made->layout, &progress, 1, &made->index);
	if (status == 0)
		*rows = made;
	else
		thrum__scene_free_rows(made);
	return status;
}

void thrum__scene_free_rows(struct thrum__scene_rows *rows)
{
	if (!rows)
		return;
	thrum__index_destroy(rows->index);
	thrum__layout_destroy(rows->layout);
	free(rows);
}

/* Shows rows that are there now, with the selected one in sight. */
static int show_rows(struct thrum__scene *scene)
{
	uint32_t unit = thrum__layout_unit(scene->layout, scene->selected);
	int status;

	scene->memory->strip.is_known = false;
	status = thrum__scene_settle(scene);
	if (status < 0 || scene->width <= 0 || unit == THRUM__NONE)
		return status;
	status = thrum__scene_project(scene, scene->width, scene->height);
	return status < 0 || scene->shows_bands
		? status
		: thrum__scene_show_track(scene, thrum__layout_track(scene->layout, unit));
}

int thrum__scene_take_rows(struct thrum__scene *scene, struct thrum__scene_rows *rows)
{
	struct thrum__scene_rows old = {scene->layout, scene->index};

	if (scene->has_rows) {
		thrum__scene_free_rows(rows);
		return 0;
	}
	scene->layout = rows->layout;
	scene->index = rows->index;
	*rows = old;
	thrum__scene_free_rows(rows);
	scene->has_rows = true;
	return show_rows(scene);
}

/* ---- Rows and bands in steps --------------------------------------------------------------- */

/* Makes a step of the rows: of the layout, then of a new index. Returns 1 while there is more to do. */
static int step_rows(struct thrum__scene *scene)
{
	int more;

	if (!scene->new_index) {
		more = thrum__layout_step(scene->layout, scene->model);
		if (more == 0)
			more = thrum__index_begin(scene->layout, &scene->new_index);
		return more < 0 ? more : 1;
	}
	more = thrum__index_step(scene->new_index, scene->model, scene->layout);
	if (more > 0)
		return more;
	if (more == 0)
		thrum__index_complete(scene->index, scene->new_index);
	else
		thrum__index_destroy(scene->new_index);
	scene->new_index = NULL;
	scene->has_rows = more == 0;
	return more;
}

int thrum__scene_make_rows(struct thrum__scene *scene)
{
	int more;

	if (scene->has_rows)
		return 0;
	do
		more = step_rows(scene);
	while (more > 0);
	return more == 0 ? thrum__scene_settle(scene) : more;
}

static int step_bands(struct thrum__scene *scene)
{
	int more = scene->new_bands ? 0 : thrum__bands_begin(scene->model, &scene->new_bands);
	struct thrum__bands *made;

	if (more == 0)
		more = thrum__bands_step(scene->new_bands);
	if (more > 0)
		return more;
	made = scene->new_bands;
	scene->new_bands = NULL;
	if (more == 0)
		return thrum__scene_bands_begin(scene, made);
	thrum__bands_destroy(made);
	return more;
}

int thrum__scene_step_view(struct thrum__scene *scene)
{
	bool wants_bands = thrum__scene_wants_bands(scene);
	int more;

	if (wants_bands ? scene->bands != NULL : scene->has_rows)
		return 0;
	more = wants_bands ? step_bands(scene) : step_rows(scene);
	if (more == 0 && !wants_bands)
		more = show_rows(scene);
	return more < 0 ? more : 1;
}

bool thrum__scene_is_crowded(const struct thrum__scene *scene, float height, bool whole)
{
	uint32_t track = 0, count = 0;
	int64_t from = scene->state.from, to = scene->state.to;
	double rows = ((double)height - THRUM__STRIP - THRUM__RULER - 2 * THRUM__PAD) / ROW_LEAST;

	if (task_count(scene) < BUSY_LEAST)
		return false;
	if (whole)
		thrum__scene_whole(scene, &from, &to);
	if (!scene->has_rows)
		return thrum__index_alive_in(scene->index, from, to) > rows;
	while (count <= rows) {
		track = thrum__index_next_track(scene->index, track, from, to);
		if (track >= scene->layout->tracks)
			return false;
		track++;
		count++;
	}
	return true;
}
