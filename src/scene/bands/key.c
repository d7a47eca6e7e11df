/* SPDX-License-Identifier: ISC */
/* The key line of the bands: shows each mark once, with its name. */
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"

#define MARK THRUM__Z_FRAME_MARK
#define MARGIN 12   /* px at either end */
#define NAME_GAP 8  /* px between a mark and its name */
#define NEXT_GAP 26 /* px between a name and the next mark */

/* X(NAME, width in px, words) */
#define MARKS(X) \
	X(TASK, 28, "a task, beginning to end") \
	X(TONES, 34, "") /* made from the tones */ \
	X(RUNNING, 22, "running: a third, two thirds") \
	X(FAILED, 8, "failed") \
	X(MANY, 6, "many failed") \
	X(STUCK, 28, "never resolved") \
	X(ALIVE, 20, "how many alive, or waiting") \
	X(HELD, 20, "lock held") \
	X(THREAD, 18, "share of time a thread runs")

enum mark {
#define X(NAME, ...) NAME,
	MARKS(X)
#undef X
	COUNT,
};

static const struct {
	float width;
	const char *words;
} marks[] = {
#define X(NAME, width, words) {width, words},
	MARKS(X)
#undef X
};

static void put_rect(struct thrum__draw_list *list, int colour, float x, float y, float width,
	float height)
{
	thrum__draw_rect(list, MARK, colour, x, y, width, height);
}

/* Draws a mark; y is the base line of its name. */
static void draw_mark(struct thrum__draw_list *list, enum mark mark, float x, float y)
{
	static const float heights[] = {3, 8, 2, 12, 5, 6};

	switch (mark) {
	case TASK: put_rect(list, THRUM__COLOUR_PEND, x, y - 4, 28, 1); break;
	case TONES:
		put_rect(list, THRUM__COLOUR_PEND, x, y - 6, 10, 3);
		put_rect(list, THRUM__COLOUR_MUTED, x + 12, y - 7, 10, 4);
		put_rect(list, THRUM__COLOUR_EDGE, x + 24, y - 7, 10, 4);
		break;
	case RUNNING:
		put_rect(list, THRUM__COLOUR_SUM, x, y - 7, 10, 4);
		put_rect(list, THRUM__COLOUR_RUN, x + 12, y - 7, 10, 4);
		break;
	case FAILED:
		thrum__draw_line(list, MARK, THRUM__COLOUR_BAD, x + 1, y - 7, x + 7, y - 1, 2);
		thrum__draw_line(list, MARK, THRUM__COLOUR_BAD, x + 1, y - 1, x + 7, y - 7, 2);
		break;
	case MANY: put_rect(list, THRUM__COLOUR_BAD, x + 2, y - 8, 2, 6); break;
	case STUCK: put_rect(list, THRUM__COLOUR_BAD, x, y - 6, 28, 4); break;
	case ALIVE: put_rect(list, THRUM__COLOUR_FADED, x, y - 9, 20, 10); break;
	case HELD: put_rect(list, THRUM__COLOUR_EDGE, x, y - 7, 20, 6); break;
	default:
		for (int i = 0; i < 6; i++)
			put_rect(list, THRUM__COLOUR_RUN, x + 3 * (float)i, y + 1 - heights[i], 3,
				heights[i]);
	}
}

void thrum__bands_paint_key(struct thrum__paint *p, const uint32_t tones[2])
{
	float top = p->height - THRUM__LEGEND, x = MARGIN, y = top + 19;

	thrum__draw_rect(p->list, THRUM__Z_FRAME, THRUM__COLOUR_PANEL, 0, top, p->width,
		THRUM__LEGEND);
	thrum__draw_horizontal(p->list, MARK, THRUM__COLOUR_RULE, 0, p->width, top, 1,
		THRUM__DASH_SOLID);
	for (int mark = 0; mark < COUNT; mark++) {
		char words[64];
		size_t size;
		float width;

		snprintf(words, sizeof words, "%s", marks[mark].words);
		if (mark == TONES)
			snprintf(words, sizeof words, "2, %u, %u and more at once",
				(unsigned)tones[0], (unsigned)tones[1]);
		size = strlen(words);
		width = thrum__paint_width(p, words, size, THRUM__FONT_NOTE);
		if (x + marks[mark].width + NAME_GAP + width + MARGIN > p->width)
			return;
		draw_mark(p->list, (enum mark)mark, x, y);
		x += marks[mark].width + NAME_GAP;
		thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_MUTED,
			THRUM__FONT_NOTE, x, y, words, size, false);
		x += width + NEXT_GAP;
	}
}
