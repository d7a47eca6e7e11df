/* SPDX-License-Identifier: ISC */
/* Queues: how many wait for the locks of a group, and how much of their time these are held. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"

#define WAITING 26   /* px: height of the columns of waiting tasks */
#define HELD 7       /* px: height of the columns of held locks */
#define HELD_BASE 35 /* px from the top to their base */
#define MOSTLY 0.9   /* a share from which on a lock is nearly always held */

static uint16_t height_of(double part, uint16_t room)
{
	double height = floor(part * room + 0.5);

	return height <= 0 ? 0 : height > room ? room : (uint16_t)height;
}

/* Paints both rows of columns; returns how many wait at once, at most. */
static double paint_columns(const struct thrum__bands_pen *pen, float top, bool holds,
	const float *waiting, const float *held)
{
	uint16_t *heights = pen->bands->heights;
	uint32_t columns = pen->bands->window.columns;
	double most = 1;

	for (uint32_t i = 0; i < columns; i++)
		most = fmax(most, ceil((double)waiting[i]));
	for (uint32_t i = 0; i < columns; i++)
		heights[i] = height_of((double)waiting[i] / most, WAITING);
	thrum__bands_columns(pen, THRUM__COLOUR_FADED, top + WAITING, heights, WAITING);
	for (uint32_t i = 0; holds && i < columns; i++)
		heights[i] = height_of((double)held[i], HELD);
	if (holds)
		thrum__bands_columns(pen, THRUM__COLOUR_EDGE, top + HELD_BASE, heights, HELD);
	return most;
}

/* Writes the numbers below the name: shares, and how long half of the tasks wait and hold. */
static void write_numbers(const struct thrum__bands_pen *pen, uint32_t queue, float top)
{
	const struct thrum__bands_window *window = &pen->bands->window;
	struct thrum__bands_queue_numbers n;
	bool has_holds = pen->bands->all->queues[queue].holds > 0;
	char words[120], wait[32], hold[32], held[32], waiting[32];

	thrum__bands_queue_numbers(pen->bands->all, queue, window->times[0],
		window->times[window->columns], &n);
	thrum__words_percent(n.held, held, sizeof held);
	thrum__words_decimal(n.waiting, n.waiting > 0 && n.waiting < 1, waiting, sizeof waiting);
	if (has_holds)
		snprintf(words, sizeof words, "%s held · %s wait", held, waiting);
	else
		snprintf(words, sizeof words, "%s wait", waiting);
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 25,
		n.held >= MOSTLY ? THRUM__FONT_BASE : THRUM__FONT_NOTE, THRUM__COLOUR_INK,
		pen->left - 20, words);
	if (n.waits == 0 && n.holds == 0)
		return;
	thrum__words_duration(n.half_wait, 2, wait, sizeof wait);
	thrum__words_duration(n.half_hold, 2, hold, sizeof hold);
	snprintf(words, sizeof words, has_holds ? "half wait %s, hold %s" : "half wait %s", wait,
		hold);
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 39, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED,
		pen->left - 20, words);
}

void thrum__bands_paint_queue(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	struct thrum__scene_bands *bands = pen->bands;
	const struct thrum__bands_queue *queue = &bands->all->queues[place->index];
	const struct thrum__group *group = &bands->all->family.groups[queue->group];
	float *waiting = bands->shares, *held = waiting + bands->window.columns;
	float top = thrum__bands_top(pen, place);
	char words[200];
	const char *name;
	double most;
	size_t size;

	thrum__bands_queue_columns(bands->all, place->index, &bands->window, waiting, held);
	most = paint_columns(pen, top, queue->holds > 0, waiting, held);
	name = thrum__family_name(&bands->all->family, queue->group, &size);
	snprintf(words, sizeof words, queue->instances > 1 ? "%.*s ×%u" : "%.*s",
		(int)(size < 150 ? size : 150), name, (unsigned)queue->instances);
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 11, THRUM__FONT_STRONG, THRUM__COLOUR_INK,
		pen->left - 80, words);
	thrum__bands_text_right(pen, pen->left - 12, top + 11, THRUM__FONT_NOTE,
		THRUM__COLOUR_MUTED, thrum__words_kind(pen->p->model, group->sample));
	write_numbers(pen, place->index, top);
	snprintf(words, sizeof words, "%u wait", (unsigned)most);
	thrum__bands_text(pen, pen->right + 6, top + 9, THRUM__FONT_SMALL, THRUM__COLOUR_MUTED,
		THRUM__BANDS_SCALE, words);
	if (queue->holds > 0)
		thrum__bands_text(pen, pen->right + 6, top + HELD_BASE, THRUM__FONT_SMALL,
			THRUM__COLOUR_MUTED, THRUM__BANDS_SCALE, "held");
}
