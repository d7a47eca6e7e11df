/* SPDX-License-Identifier: ISC */
/* Which line lies at a place of the picture, and where a line lies. */
#include <math.h>

#include "scene/bands/opened.h"
#include "scene/move.h"
#include "scene/story/story.h"

#define STEP_ROOM 20 /* px above and below a finding's steps */

const struct thrum__scene_bands_place *thrum__scene_bands_place_of(const struct thrum__scene_bands
									   *bands,
	uint32_t group)
{
	for (uint32_t i = 0; i < bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &bands->places[i];

		if (place->index == group &&
			(place->kind == THRUM__PLACE_BAND || place->kind == THRUM__PLACE_SMALL ||
				place->kind == THRUM__PLACE_OPENED))
			return place;
	}
	return NULL;
}

float thrum__scene_bands_line_y(const struct thrum__scene_bands_place *place, int64_t duration)
{
	unsigned class = thrum__bands_class(duration), row;

	if (place->kind != THRUM__PLACE_BAND)
		return place->base / 2;
	row = class < place->class ? 0 : (class - place->class) / place->per;
	row = row < place->rows ? row : place->rows - 1;
	return place->base - (float)row * place->row_height - floorf(place->row_height / 2);
}

/* ---- Picking ------------------------------------------------------------------------------- */

/* The rows of a place within `slack` px of a height above its base. */
static void rows_near(const struct thrum__scene_bands_place *place, float above, float slack,
	unsigned *first, unsigned *end)
{
	float low = floorf((above - slack) / place->row_height);
	float high = floorf((above + slack) / place->row_height) + 1;

	*first = low > 0 ? (unsigned)low : 0;
	*end = high <= 0 ? 0 : high < (float)place->rows ? (unsigned)high : place->rows;
}

/* Returns the best line of a band, and counts the others. */
static uint32_t pick_line(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, float x, float above, float slack,
	uint32_t *more)
{
	const struct thrum__bands *bands = scene->bands->all;
	struct thrum__bands_walk walk;
	struct thrum__bands_line line;
	unsigned first, end, class, top;
	uint32_t best = THRUM__NONE, count = 0;
	double best_away = INFINITY;

	rows_near(place, above, slack, &first, &end);
	if (first >= end)
		return THRUM__NONE;
	class = first == 0 ? 0 : place->class + first * place->per;
	top = end == place->rows ? THRUM__BANDS_CLASSES : place->class + end * place->per;
	thrum__bands_walk_begin(&walk, bands, place->index, class, top - class,
		thrum__scene_time_axis_time(&scene->time, x - slack),
		thrum__scene_time_axis_time(&scene->time, x + slack) + 1);
	while (count <= THRUM__PICK_MOST && thrum__bands_walk_next(&walk, &line)) {
		double end_x = thrum__scene_time_axis_x(&scene->time, line.end);
		double y = (double)(place->base -
			thrum__scene_bands_line_y(place, line.end - line.start));
		/* A failure's mark is as good as 100 px; the height counts before the end. */
		double away = fabs(y - (double)above) * 1000 + fabs(end_x - (double)x) -
			(line.is_failed && fabs(end_x - (double)x) <= (double)slack ? 1e6 : 0);

		if (away < best_away) {
			best_away = away;
			best = line.task;
		}
		count++;
	}
	*more = count > 0 ? count - 1 : 0;
	return best;
}

/* Returns what a thread ran longest near a time, and since when. */
static uint32_t pick_run(const struct thrum__scene_bands *bands, uint32_t thread, int64_t from,
	int64_t to, int64_t *ran)
{
	struct thrum__bands_run run;

	if (thrum__bands_longest_runs(bands->all, thread, from, to + 1, 1, &run, 1) == 0)
		return THRUM__NONE;
	*ran = run.from;
	return run.task;
}

uint32_t thrum__scene_bands_pick(const struct thrum__scene *scene, float x, float y, float slack,
	uint32_t *more, int64_t *ran)
{
	const struct thrum__scene_bands *bands = scene->bands;
	double at = thrum__scene_track_at(scene, y);
	const struct thrum__scene_bands_place *place;
	int64_t time, pixel;
	float top;

	if (!bands || bands->place_count == 0 || x < scene->time.x0 || x > scene->time.x1 ||
		at < 0 || at >= bands->place_count)
		return THRUM__NONE;
	place = &bands->places[(uint32_t)at];
	top = scene->tracks.top - THRUM__PAD + place->y + place->inset -
		thrum__scene_bands_scroll(bands, scene->state.track);
	time = thrum__scene_time_axis_time(&scene->time, x);
	pixel = thrum__scene_time_axis_time(&scene->time, x + 1) - time;
	switch (place->kind) {
	case THRUM__PLACE_BAND:
		return pick_line(scene, place, x, top + place->base - y, slack, more);
	case THRUM__PLACE_OPENED: return thrum__bands_opened_task(scene, place, y - top);
	case THRUM__PLACE_OPENED_THREAD:
		*ran = time;
		return thrum__bands_lanes_task(bands, place, y - top, time, pixel);
	case THRUM__PLACE_THREAD:
		return pick_run(bands, place->index, time - 2 * pixel, time + 2 * pixel, ran);
	case THRUM__PLACE_QUEUE: return thrum__bands_queue_task(bands, place, y - top, time, pixel);
	case THRUM__PLACE_STORY:
		return thrum__scene_bands_story_task(&bands->stories[place->index], y - top, time);
	default: return THRUM__NONE;
	}
}

int thrum__scene_bands_show(struct thrum__scene *scene, uint32_t task)
{
	struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__scene_bands_place *place;
	uint32_t group;
	float scroll;

	if (!bands)
		return 0;
	group = thrum__family_group(&bands->all->family,
		thrum__family_line(&bands->all->family, task));
	place = thrum__scene_bands_place_of(bands, group);
	if (!place && group != THRUM__NONE && !bands->all->family.groups[group].is_object &&
		thrum__scene_bands_open_more(scene)) {
		if (thrum__scene_project(scene, scene->width, scene->height) < 0)
			return -THRUM_E_MEMORY;
		place = thrum__scene_bands_place_of(bands, group);
	}
	scroll = thrum__scene_bands_scroll(bands, scene->state.track);
	if (place && (place->y < scroll || place->y + place->height > scroll + bands->height))
		scene->state.track = thrum__scene_bands_track(bands,
			place->y - (bands->height - place->height) / 2);
	return scene->width > 0 ? thrum__scene_project(scene, scene->width, scene->height) : 0;
}

int thrum__scene_bands_show_steps(struct thrum__scene *scene, const struct thrum__finding *finding)
{
	struct thrum__scene_bands *bands = scene->bands;
	float first = INFINITY, last = -INFINITY, cause = INFINITY, scroll, room, y;

	for (unsigned i = 0; i < finding->step_count; i++)
		if (thrum__scene_bands_show(scene, finding->steps[i].task) < 0)
			return -THRUM_E_MEMORY;
	for (unsigned i = 0; bands && i < finding->step_count; i++) {
		if (!thrum__scene_bands_step_y(bands, &finding->steps[i], &y))
			continue;
		first = fminf(first, y);
		last = fmaxf(last, y);
		cause = cause < INFINITY ? cause : y;
	}
	if (!(first <= last))
		return 0;
	scroll = thrum__scene_bands_scroll(bands, scene->state.track);
	room = bands->height - 2 * STEP_ROOM;
	if (last - first > room)
		scene->state.track = thrum__scene_bands_track(bands, cause - bands->height / 3);
	else if (first < scroll + STEP_ROOM || last > scroll + STEP_ROOM + room)
		scene->state.track = thrum__scene_bands_track(bands,
			(first + last - bands->height) / 2);
	return 0;
}

bool thrum__scene_bands_place_y(const struct thrum__scene *scene, uint32_t task, float *y,
	float *height)
{
	const struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__scene_bands_place *place = bands
		? thrum__scene_bands_place_of(bands,
			  thrum__family_group(&bands->all->family,
				  thrum__family_line(&bands->all->family, task)))
		: NULL;
	float top = scene->tracks.top - THRUM__PAD;

	if (!place)
		return false;
	*y = top + place->y + place->inset - thrum__scene_bands_scroll(bands, scene->state.track);
	*height = place->own;
	return *y >= top && *y + *height <= scene->tracks.bottom + THRUM__PAD;
}
