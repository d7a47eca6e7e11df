/* SPDX-License-Identifier: ISC */
/* The range: a time whose numbers stand beside those of the rest of the window. And marked times. */
#include <math.h>
#include <string.h>

#include "scene/bands/bands.h"

#define LABEL_Y 20     /* px from the ruler's top to the base line of the range's length */
#define LENGTH_ROOM 40 /* bytes for its words */
#define LENGTH_AIR 6   /* px at either side of them */

/* Returns the column in which x lies, at most the number of columns. */
static uint32_t column_at(const struct thrum__bands_pen *pen, float x)
{
	float column = floorf((x - pen->left) / THRUM__CELL_WIDTH + 0.5f);
	uint32_t columns = pen->bands->window.columns;

	return column <= 0 ? 0 : column >= (float)columns ? columns : (uint32_t)column;
}

/* Gives the range's length as words; returns their size. */
static size_t length_words(const struct thrum__bands_pen *pen, char words[LENGTH_ROOM])
{
	const struct thrum__scene_bands_state *state = &pen->p->state->bands;

	return thrum__words_duration(state->range_to - state->range_from, 3, words, LENGTH_ROOM);
}

void thrum__bands_place_length(const struct thrum__bands_pen *pen)
{
	const struct thrum__scene_bands_state *state = &pen->p->state->bands;
	float x1 = fmaxf(thrum__paint_x(pen->p, state->range_from), pen->left);
	float x2 = fminf(thrum__paint_x(pen->p, state->range_to), pen->right);
	char words[LENGTH_ROOM];
	float width, x;

	if (x2 <= x1)
		return;
	width = thrum__paint_width(pen->p, words, length_words(pen, words), THRUM__FONT_BASE);
	x = floorf((x1 + x2 - width) / 2);
	x = fminf(fmaxf(x, pen->left + 4), pen->right - width - 4);
	pen->p->taken_from = x - LENGTH_AIR;
	pen->p->taken_to = x + width + LENGTH_AIR;
}

/* Writes the range's length on the ruler. */
static void write_length(const struct thrum__bands_pen *pen, float x1, float x2)
{
	struct thrum__draw_list *list = pen->p->list;
	const int z = THRUM__Z_FRAME_TEXT;
	float x = pen->p->taken_from, y = pen->p->ruler_top;
	char words[LENGTH_ROOM];
	size_t size = length_words(pen, words);

	thrum__draw_rect(list, z, THRUM__COLOUR_PANEL, x, y + 4, pen->p->taken_to - x,
		THRUM__RULER - 8);
	thrum__draw_rect(list, z, THRUM__COLOUR_SEL, x1, y + THRUM__RULER - 4, x2 - x1, 3);
	thrum__draw_text(list, z, THRUM__COLOUR_SEL, THRUM__FONT_BASE, x + LENGTH_AIR, y + LABEL_Y,
		words, size, true);
}

void thrum__bands_paint_range(struct thrum__bands_pen *pen)
{
	const struct thrum__scene_bands_state *state = &pen->p->state->bands;
	struct thrum__draw_list *list = pen->p->list;
	float x1 = thrum__paint_x(pen->p, state->range_from);
	float x2 = thrum__paint_x(pen->p, state->range_to);
	const float sides[] = {x1, x2};

	pen->first = 0;
	pen->end = pen->bands->window.columns;
	pen->has_range = state->range_from < state->range_to;
	if (!pen->has_range)
		return;
	pen->first = column_at(pen, x1);
	pen->end = column_at(pen, x2);
	if (pen->is_lower)
		return;
	for (int i = 0; i < 2; i++)
		if (sides[i] >= pen->left && sides[i] <= pen->right)
			thrum__draw_vertical(list, THRUM__Z_EDGE, THRUM__COLOUR_SEL, sides[i],
				pen->p->top, pen->p->bottom, 1, THRUM__DASH_SOLID);
	x1 = fmaxf(x1, pen->left);
	x2 = fminf(x2, pen->right);
	if (x2 <= x1)
		return;
	thrum__draw_rect(list, THRUM__Z_REGION, THRUM__COLOUR_SEL_BG, x1, pen->p->top, x2 - x1,
		pen->p->bottom - pen->p->top);
	write_length(pen, x1, x2);
}
