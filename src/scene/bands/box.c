/* SPDX-License-Identifier: ISC */
/* The box: a range that also chooses durations, in the band with the focus. */
#include <math.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/move.h"

#define TALL 8 /* px that a drag goes up or down, at least, to choose durations, too */

bool thrum__scene_bands_box(const struct thrum__scene *scene, struct thrum__bands_box *box)
{
	const struct thrum__scene_bands_state *state = &scene->state.bands;

	*box = (struct thrum__bands_box){thrum__scene_bands_focus(scene), state->range_from,
		state->range_to, state->took_from, state->took_to};
	return box->group != THRUM__NONE && state->range_from < state->range_to &&
		state->took_from < state->took_to;
}

/* The row of a band's place at y from the top of its half. */
static unsigned row_at(const struct thrum__scene_bands_place *place, float y)
{
	float row = floorf((place->base - y) / place->row_height);

	return row <= 0 ? 0 : row >= (float)place->rows ? place->rows - 1 : (unsigned)row;
}

void thrum__scene_bands_choose(struct thrum__scene *scene, float y1, float y2)
{
	struct thrum__scene_bands_state *state = &scene->state.bands;
	const struct thrum__scene_bands *bands = scene->bands;
	double at = thrum__scene_track_at(scene, y1);
	const struct thrum__scene_bands_place *place;
	unsigned low, high;
	int64_t shortest, longest;
	float top;

	state->took_from = state->took_to = 0;
	if (!bands || fabsf(y2 - y1) < TALL || at < 0 || at >= bands->place_count)
		return;
	place = &bands->places[(uint32_t)at];
	if (place->kind != THRUM__PLACE_BAND)
		return;
	top = scene->tracks.top - THRUM__PAD + place->y + place->inset -
		thrum__scene_bands_scroll(bands, scene->state.track);
	low = row_at(place, fmaxf(y1, y2) - top);
	high = row_at(place, fminf(y1, y2) - top) + 1;
	thrum__scene_bands_name(bands, place, state->focus);
	/* The lowest row has all shorter lines, too, and the highest all longer ones. No line that is shown
	 * takes longer than THRUM__END_MAX. */
	shortest = low > 0 ? thrum__bands_bound(place->class + low * place->per) : 0;
	state->took_from = shortest < THRUM__END_MAX ? shortest : THRUM__END_MAX;
	longest = thrum__bands_bound(place->class + high * place->per);
	state->took_to = high < place->rows && longest <= THRUM__END_MAX ? longest
									 : THRUM__TIME_MAX;
}

void thrum__bands_paint_box(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, const struct thrum__bands_box *box)
{
	float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, box->from));
	float x2 = fminf(pen->right, thrum__paint_x(pen->p, box->to));
	float top = thrum__bands_top(pen, place), half = floorf(place->row_height / 2);
	float low = thrum__scene_bands_line_y(place, box->shortest) + half;
	float high = thrum__scene_bands_line_y(place, box->longest - 1) + half - place->row_height;
	const float sides[] = {top + high - 1, top + low};

	for (int i = 0; i < 2; i++)
		if (x2 > x1)
			thrum__draw_horizontal(pen->p->list, THRUM__Z_EDGE, THRUM__COLOUR_SEL, x1,
				x2, sides[i], 2, THRUM__DASH_SOLID);
}
