/* SPDX-License-Identifier: ISC */
/* Two scenes whose bands stand in pairs: the upper scene's frame shows both. */
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/move.h"

#define SIDE_ROOM 76 /* px for a scene's name beside numbers */

/* ---- Pairing ------------------------------------------------------------------------------- */

/* Makes the places of a scene anew in its next frame. */
static void forget_places(struct thrum__scene *scene)
{
	if (scene->bands)
		scene->bands->place_count = 0;
}

void thrum__scene_pair(struct thrum__scene *upper, struct thrum__scene *lower)
{
	if (upper->pair.other == lower)
		return;
	upper->pair.other = lower;
	upper->pair.is_lower = false;
	forget_places(upper);
	if (!lower)
		return;
	lower->pair.other = upper;
	lower->pair.is_lower = true;
	forget_places(lower);
}

bool thrum__scene_is_lower_at(const struct thrum__scene *upper, float y)
{
	const struct thrum__scene *lower = upper->pair.other;
	const struct thrum__scene_bands_place *place;
	float strip = thrum__scene_strip_height(upper, upper->width);
	double at = thrum__scene_track_at(upper, y);

	if (!lower || !upper->bands || !lower->bands || at < 0)
		return false;
	if (y < strip)
		return y >= strip / 2;
	if (at >= lower->bands->place_count || at >= upper->bands->place_count)
		return false;
	place = &lower->bands->places[(uint32_t)at];
	return place->kind != THRUM__PLACE_NONE &&
		(at - (uint32_t)at) * (double)place->height >= (double)place->inset;
}

/* ---- Painting ------------------------------------------------------------------------------ */

void thrum__bands_name_side(const struct thrum__bands_pen *pen, float x, float y)
{
	char name[THRUM__PAIR_NAME];
	size_t size = thrum__paint_fit(pen->p, pen->p->scene->pair.name,
		strlen(pen->p->scene->pair.name), THRUM__FONT_NOTE, SIDE_ROOM, name,
		sizeof name - 1);

	name[size] = 0;
	thrum__bands_text_right(pen, x, y, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, name);
}

void thrum__bands_pair_words(const struct thrum__bands_pen *pen, char *to, size_t size)
{
	const struct thrum__scene *scene = pen->p->scene, *other = scene->pair.other;
	int64_t end = scene->model->end, below = other->model->end, step = 1;
	char time[THRUM__NUMBER_ROOM + 8] = "";

	/* The ruler tells only how the upper one ends. */
	while (step <= below / 1000)
		step *= 10;
	if (below < end - end / 100)
		thrum__words_time(below, step, time, sizeof time);
	snprintf(to, size,
		"each kind twice on one scale: above %s, below %s%s%s; × and ÷ compare it with the "
		"one above",
		scene->pair.name, other->pair.name, *time ? ", which ends at " : "", time);
}

void thrum__bands_paint_rules(const struct thrum__bands_pen *pen)
{
	for (uint32_t i = 0; i < pen->bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &pen->bands->places[i];
		const struct thrum__scene_bands_place *other = thrum__bands_other(pen, place);
		float y = other ? pen->p->top + other->y + other->inset - pen->scroll - 4 : 0;

		if (other && place->kind == THRUM__PLACE_BAND && y > pen->p->top &&
			y < pen->p->bottom)
			thrum__draw_horizontal(pen->p->list, THRUM__Z_GRID, THRUM__COLOUR_RULE,
				pen->left, pen->right, y, 1, THRUM__DASH_SOLID);
	}
}
