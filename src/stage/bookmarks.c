/* SPDX-License-Identifier: ISC */
/* The marks that users set in time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stage/parts.h"

#define NEAR 6 /* px: so near, a mark is meant */

void thrum__stage_mark_here(struct thrum__stage *stage)
{
	struct thrum__stage_private *own = stage->own;
	const struct thrum__scene_state *state;

	own->mark_part = own->has_crosshair ? own->pointer_part : stage->focus;
	state = &stage->parts[own->mark_part].scene->state;
	if (own->has_crosshair)
		own->mark_time =
			thrum__scene_time_axis_time(&stage->parts[own->mark_part].scene->time,
				own->x);
	else if (state->bands.range_from < state->bands.range_to)
		own->mark_time = state->bands.range_from;
	else
		own->mark_time = state->from + (state->to - state->from) / 2;
}

static int refuse(struct thrum_error_info *error, const char *message)
{
	if (error) {
		error->code = -THRUM_E_ARGUMENT;
		error->offset = 0;
		snprintf(error->message, sizeof error->message, "%s", message);
	}
	return -THRUM_E_ARGUMENT;
}

/* Returns the nearest mark's place in the list, or the end of the list. */
static unsigned find_near(const struct thrum__scene *scene, int64_t time)
{
	const struct thrum__scene_bands_state *bands = &scene->state.bands;
	double x = thrum__scene_time_axis_x(&scene->time, time), nearest = NEAR;
	unsigned found = bands->bookmark_count;

	for (unsigned i = 0; i < bands->bookmark_count; i++) {
		double away = fabs(
			thrum__scene_time_axis_x(&scene->time, bands->bookmarks[i].time) - x);

		if (away <= nearest) {
			nearest = away;
			found = i;
		}
	}
	return found;
}

int thrum__stage_set_mark(struct thrum__stage *stage, const char *text,
	struct thrum_error_info *error)
{
	const struct thrum__stage_private *own = stage->own;
	struct thrum__scene_bands_state *bands;
	struct thrum__scene_bookmark *mark;
	struct thrum__scene *scene;
	unsigned at;

	if (own->mark_part >= stage->count)
		return 0;
	scene = stage->parts[own->mark_part].scene;
	bands = &scene->state.bands;
	at = find_near(scene, own->mark_time);
	mark = &bands->bookmarks[at];
	if (strlen(text) >= sizeof mark->words)
		return refuse(error, "a mark's text has at most 47 bytes");
	if (!text[0]) {
		if (at == bands->bookmark_count)
			return 0;
		memmove(mark, mark + 1, (--bands->bookmark_count - at) * sizeof *mark);
	} else {
		if (at == THRUM__BOOKMARKS_MAX)
			return refuse(error, "there are at most 16 marks");
		if (at == bands->bookmark_count) {
			mark->time = own->mark_time;
			bands->bookmark_count++;
		}
		strcpy(mark->words, text);
	}
	thrum__stage_refresh(stage);
	return THRUM__MOVED;
}
