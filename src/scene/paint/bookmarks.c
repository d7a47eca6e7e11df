/* SPDX-License-Identifier: ISC */
/* The marks that users set: a flag on the ruler with a text, and an upright line below. */
#include <math.h>
#include <string.h>

#include "scene/paint/paint.h"

#define FLAG_WIDTH 9  /* px */
#define FLAG_HEIGHT 8 /* px */

bool thrum__paint_is_marked(const struct thrum__paint *p, float from, float to)
{
	/* A coarse picture has no state. */
	const unsigned count = p->state ? p->state->bands.bookmark_count : 0;

	for (unsigned i = 0; i < count; i++) {
		const struct thrum__scene_bookmark *mark = &p->state->bands.bookmarks[i];
		float x = floorf(thrum__paint_x(p, mark->time));
		float width = thrum__paint_width(p, mark->words, strlen(mark->words),
			THRUM__FONT_BASE);

		if (x >= p->left && x < to && from < x + FLAG_WIDTH + 5 + width)
			return true;
	}
	return false;
}

void thrum__paint_bookmarks(struct thrum__paint *p)
{
	const struct thrum__scene_bands_state *state = &p->state->bands;
	struct thrum__draw_list *list = p->list;
	const int z = THRUM__Z_FRAME_TEXT, ink = THRUM__COLOUR_INK;
	float y = p->ruler_top + THRUM__RULER - 15;

	for (unsigned i = 0; i < state->bookmark_count; i++) {
		const struct thrum__scene_bookmark *mark = &state->bookmarks[i];
		float x = floorf(thrum__paint_x(p, mark->time));
		const struct thrum__draw_point flag[3] = {{x, y},
			{x + FLAG_WIDTH, y + FLAG_HEIGHT / 2}, {x, y + FLAG_HEIGHT}};
		size_t size = strlen(mark->words);
		float width = thrum__paint_width(p, mark->words, size, THRUM__FONT_BASE);

		if (x < p->left || x > p->right)
			continue;
		thrum__draw_vertical(list, THRUM__Z_EDGE, ink, x, p->top, p->bottom, 1,
			THRUM__DASH_2_3);
		thrum__draw_rect(list, z, ink, x, y, 1, 15);
		thrum__draw_triangle(list, z, ink, flag);
		if (size == 0)
			continue;
		thrum__draw_rect(list, z, THRUM__COLOUR_PANEL, x + FLAG_WIDTH + 1, y - 2, width + 4,
			14);
		thrum__draw_text(list, z, ink, THRUM__FONT_BASE, x + FLAG_WIDTH + 3, y + 8,
			mark->words, size, false);
	}
}
