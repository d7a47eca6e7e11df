/* SPDX-License-Identifier: ISC */
/* Makes the rows of a scene: at once, or, where a busy program would be shown as bands anyway, when rows
 * are first shown. Bands need units, but no tracks. */
#include "scene/rows.h"

#include <math.h>
#include <thrum.h>

#include "scene/paint/paint.h"

#define BUSY_LEAST 1000 /* tasks of a trace that may be shown as bands on auto */
#define ROW_LEAST 10    /* px of a row; if not all rows have so much, bands are shown on auto */
#define CROWD_LEAST 500 /* rows for which no usual picture has room */
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

static int make_rows(struct thrum__scene *scene, const struct thrum__scene_progress *progress)
{
	struct step layout = {progress, 0, 0.3}, index = {progress, 0.3, 0.8};
	int status = thrum__layout_update(scene->layout, scene->model, tell_part, &layout);

	if (status == 0)
		status = thrum__index_make(scene->model, scene->layout, tell_part, &index,
			&scene->index);
	scene->has_rows = status == 0;
	return status;
}

int thrum__scene_begin_rows(struct thrum__scene *scene,
	const struct thrum__scene_progress *progress, bool at_once)
{
	int status = at_once || task_count(scene) < BUSY_LEAST
		? 0
		: thrum__layout_units(scene->layout, scene->model);

	if (status == 0 && scene->layout->unit_count > 0)
		scene->crowd = most_alive(scene);
	if (status < 0 || scene->crowd < CROWD_LEAST)
		return status < 0 ? status : make_rows(scene, progress);
	return thrum__index_outline(scene->model, scene->layout, &scene->index);
}

int thrum__scene_make_rows(struct thrum__scene *scene)
{
	int status;

	if (scene->has_rows)
		return 0;
	status = thrum__layout_update(scene->layout, scene->model, NULL, NULL);
	if (status == 0)
		status = thrum__index_remake(scene->index, scene->model, scene->layout);
	scene->has_rows = status == 0;
	return status == 0 ? thrum__scene_settle(scene) : status;
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
