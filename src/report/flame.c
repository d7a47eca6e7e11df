/* SPDX-License-Identifier: ISC */
/* Draws a flame graph: boxes that wait, run, and are late in three colours. */
#include "report/flame.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "words/words.h"

#define SIDE 10     /* px left and right of the boxes */
#define ROW 20      /* px of a box's height */
#define TOP 34      /* px for the title */
#define BOTTOM 34   /* px for the key */
#define ROWS_MAX 60 /* deeper boxes are left out */
#define NARROW 0.5f /* px: narrower boxes aren't seen */
#define NAMED 24    /* px: wider boxes have room for a name */

struct flame_paint {
	const struct thrum__paths *paths;
	const struct thrum__flame *flame;
	const struct thrum__draw_metrics *metrics;
	struct thrum__draw_list *list;
};

static int colour_of(int doing)
{
	switch (doing) {
	case THRUM__DOING_RUNS: return THRUM__COLOUR_RUN;
	case THRUM__DOING_WAITS: return THRUM__COLOUR_SUM;
	default: return THRUM__COLOUR_BAD;
	}
}

static int ink_of(int doing)
{
	return doing == THRUM__DOING_WAITS ? THRUM__COLOUR_INK : THRUM__COLOUR_BG;
}

static void put_text(const struct flame_paint *p, int colour, int font, float x, float y,
	const char *text)
{
	thrum__draw_text(p->list, THRUM__Z_LABEL, colour, font, x, y, text, strlen(text), false);
}

/* Drops characters from the end until the text fits with an ellipsis. Returns whether enough of the
 * text is left to be shown. */
static bool shorten_text(const struct flame_paint *p, char *text, size_t room, float width)
{
	size_t size = strlen(text);

	while (size > 0 &&
		p->metrics->width(p->metrics->context, text, strlen(text), THRUM__FONT_NOTE) >
			width) {
		size = thrum__base_utf8_floor(text, size - 1);
		if (size + sizeof("…") > room)
			continue;
		strcpy(text + size, "…");
	}
	return size >= 2;
}

static void paint_box(const struct flame_paint *p, const struct thrum__flame_box *box, double scale)
{
	float x = (float)((double)box->from * scale) + SIDE;
	float width = (float)((double)box->time * scale);
	float y = TOP + (float)box->depth * ROW;
	char text[320], words[200], time[48];
	size_t size;
	const char *name = thrum__slow_frame_name(p->paths, box->frame, &size);

	if (width < NARROW || box->depth >= ROWS_MAX)
		return;
	/* Wide boxes leave a pixel between neighbours. */
	thrum__draw_rect(p->list, THRUM__Z_RUN, colour_of(box->doing), x, y,
		width > 3 ? width - 1 : width, ROW - 1);
	if (width < NAMED)
		return;
	size = thrum__base_utf8_clean(name, size, words, sizeof(words) - 1);
	words[size] = '\0';
	thrum__words_duration(box->time, 3, time, sizeof(time));
	snprintf(text, sizeof(text), "%s %s", box->doing == THRUM__DOING_RUNS ? "runs" : words,
		time);
	if (shorten_text(p, text, sizeof(text), width - 8))
		put_text(p, ink_of(box->doing), THRUM__FONT_NOTE, x + 4, y + 14, text);
}

static void paint_title(const struct flame_paint *p)
{
	const struct thrum__flame *flame = p->flame;
	char text[400], words[240], time[48];
	size_t size = 0;
	const char *name = flame->count > 0
		? thrum__slow_frame_name(p->paths, flame->boxes[0].frame, &size)
		: "";

	size = thrum__base_utf8_clean(name, size, words, sizeof(words) - 1);
	words[size] = '\0';
	thrum__words_duration(flame->total, 3, time, sizeof(time));
	if (flame->tasks == flame->of)
		snprintf(text, sizeof(text), "“%s”: where the time of %u tasks went, %s in all",
			words, (unsigned)flame->tasks, time);
	else
		snprintf(text, sizeof(text), "“%s”: where the time of %u of %u tasks went, %s",
			words, (unsigned)flame->tasks, (unsigned)flame->of, time);
	put_text(p, THRUM__COLOUR_INK, THRUM__FONT_STRONG, SIDE, 21, text);
}

static void paint_key(const struct flame_paint *p, float y)
{
	static const struct {
		int doing;
		const char *text;
	} keys[] = {
		{THRUM__DOING_WAITS, "waits for the tasks below"},
		{THRUM__DOING_RUNS, "runs"},
		{THRUM__DOING_READY, "could run, but its lane runs this"},
	};
	float x = SIDE;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		thrum__draw_rect(p->list, THRUM__Z_RUN, colour_of(keys[i].doing), x, y, 12, 12);
		put_text(p, THRUM__COLOUR_MUTED, THRUM__FONT_NOTE, x + 18, y + 10, keys[i].text);
		x += 42 +
			p->metrics->width(p->metrics->context, keys[i].text, strlen(keys[i].text),
				THRUM__FONT_NOTE);
	}
}

int thrum__report_flame_frame(const struct thrum__paths *paths, const struct thrum__flame *flame,
	float width, const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	const struct flame_paint p = {paths, flame, metrics, list};
	uint32_t rows = flame->depth < ROWS_MAX ? flame->depth + 1 : ROWS_MAX;
	float bottom = TOP + (float)rows * ROW;
	double scale = flame->total > 0 ? (double)(width - 2 * SIDE) / (double)flame->total : 0;

	thrum__draw_list_clear(list, width, bottom + BOTTOM);
	paint_title(&p);
	for (uint32_t i = 0; i < flame->count; i++)
		paint_box(&p, &flame->boxes[i], scale);
	paint_key(&p, bottom + 12);
	thrum__draw_list_sort(list);
	return list->failed ? -THRUM_E_MEMORY : 0;
}
