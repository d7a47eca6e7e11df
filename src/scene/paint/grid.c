/* SPDX-License-Identifier: ISC */
/* The ruler and the time grid below it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/paint/paint.h"

#define GAPS_MAX 1000     /* gaps that are looked at for a band */
#define STEP_WIDTH 62     /* px between two ticks, at least */
#define NARROW 70         /* px: narrower segments have no ticks */
#define LABEL_GAP 10      /* px between two labels */
#define BASE_LINE 19      /* px from the ruler's top to the base line of labels */
#define LINE 11           /* px between two lines on a folded time */
#define LINE_DOWN 5       /* px of the second one below the base line */
#define TICKS_MAX 1000    /* of a segment, whatever its scale is */
#define BANDS_NAMED_MIN 6 /* px: narrower bands are not painted on the ruler */

double thrum__paint_step(double least)
{
	double power = 1;

	while (power < 1e18 && power * 10 <= least)
		power *= 10;
	return least <= power        ? power
		: least <= 2 * power ? 2 * power
		: least <= 5 * power ? 5 * power
				     : 10 * power;
}

struct ruler {
	struct thrum__paint *p;
	int64_t step;     /* ns between two ticks */
	float y, label_y; /* the ruler's bottom, the base line of labels */
	float limit;      /* labels stay left of it: the label of the trace's end begins there */
	float free;       /* right end of the last label */
	bool unit_said;   /* a label of this segment has named the unit */
};

static void put_label(struct ruler *r, int z, float x, const char *text, int font, int colour)
{
	thrum__draw_text(r->p->list, z, colour, font, x, r->label_y, text, strlen(text), true);
}

static float label_width(const struct ruler *r, const char *text, int font)
{
	return thrum__paint_width(r->p, text, strlen(text), font);
}

/* Returns the first multiple of a step at or after a time. */
static int64_t first_tick(int64_t time, int64_t step)
{
	int64_t rest = time % step;

	if (rest == 0)
		return time;
	if (rest < 0)
		return time - rest;
	return time > INT64_MAX - step ? INT64_MAX : time - rest + step;
}

/* Writes "+2 µs"; or "+4" if an earlier label has named the unit. */
static void distance_words(int64_t distance, int64_t step, bool unit_said, char *to, size_t size)
{
	static const struct {
		int64_t ns;
		const char *word;
	} units[] = {{1000000000, " s"}, {1000000, " ms"}, {1000, " µs"}, {1, " ns"}};
	size_t i = 0;

	while (units[i].ns > step)
		i++;
	snprintf(to, size, "+%" PRId64 "%s", distance / units[i].ns,
		unit_said ? "" : units[i].word);
}

/* Whether the length of a range or a mark's text stands there. */
static bool is_taken(const struct thrum__paint *p, float from, float to)
{
	return (from < p->taken_to && to > p->taken_from) || thrum__paint_is_marked(p, from, to);
}

static void draw_tick(struct ruler *r, const struct thrum__scene_time_segment *segment,
	int64_t time, int64_t origin, float right)
{
	struct thrum__paint *p = r->p;
	bool is_first = time == origin;
	bool is_near_zero = segment == p->time->segments && segment->start / 20 <= r->step;
	int font = is_first ? THRUM__FONT_BASE : THRUM__FONT_TICK;
	float x = thrum__paint_x(p, time), width, left;
	char words[48];

	thrum__draw_vertical(p->list, THRUM__Z_GRID, THRUM__COLOUR_GRID, x, p->top, p->bottom, 1,
		THRUM__DASH_SOLID);
	thrum__draw_vertical(p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_MUTED, x, r->y - 6,
		r->y - 1, 1, THRUM__DASH_SOLID);
	if (is_first || is_near_zero)
		thrum__words_time(time, r->step, words, sizeof words);
	else
		distance_words(time - origin, r->step, r->unit_said, words, sizeof words);
	width = label_width(r, words, font);
	left = is_first ? x + 3 : x - width / 2;
	if (left < r->free + LABEL_GAP || left + width > right - 4 ||
		is_taken(p, left, left + width))
		return;
	put_label(r, THRUM__Z_FRAME_TEXT, left, words, font,
		is_first ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED);
	r->free = left + width;
	r->unit_said |= !is_first;
}

static void draw_segment(struct ruler *r, const struct thrum__scene_time_segment *segment)
{
	float x = (float)segment->x, right = (float)segment->x_end;
	int64_t origin = first_tick(segment->start, r->step), time = origin;
	char words[48];

	if (right > r->limit)
		right = r->limit;
	r->free = x - LABEL_GAP - 1;
	r->unit_said = false;
	if (right - x < NARROW) {
		thrum__words_time(segment->start, r->step > 10000 ? r->step : 10000, words,
			sizeof words);
		if (label_width(r, words, THRUM__FONT_BASE) < right - x - 8)
			put_label(r, THRUM__Z_FRAME_TEXT, x + 3, words, THRUM__FONT_BASE,
				THRUM__COLOUR_INK);
		return;
	}
	for (int i = 0; i < TICKS_MAX && time <= segment->end; i++) {
		draw_tick(r, segment, time, origin, right);
		if (time > INT64_MAX - r->step)
			return;
		time += r->step;
	}
}

/* Whether a lane lost its events for more than half of a time, so that it may not have been
 * idle. */
static bool is_mostly_lost(const struct thrum__model *model, int64_t start, int64_t end)
{
	const struct thrum__model_rows *gaps = &model->gaps;
	uint32_t i = thrum__paint_first_gap_after(gaps, start);
	uint32_t last = gaps->count - i > GAPS_MAX ? i + GAPS_MAX : gaps->count;

	for (; i < last; i++) {
		int64_t from, to;

		if (!thrum__model_has_row(gaps, i))
			continue;
		from = THRUM__GAP(model, i, start) > start ? THRUM__GAP(model, i, start) : start;
		to = THRUM__GAP(model, i, end) < end ? THRUM__GAP(model, i, end) : end;
		if (to - from > (end - start) / 2)
			return true;
	}
	return false;
}

/* Writes words in the middle of left … right, if they fit. */
static void put_centred(struct ruler *r, float left, float right, float middle, const char *words)
{
	float size = label_width(r, words, THRUM__FONT_TICK);
	float x = fmaxf(fminf(middle - size / 2, right - size - 1), left + 1);

	if (size <= right - left - 2 && !is_taken(r->p, x, x + size))
		put_label(r, THRUM__Z_FRAME_TEXT, x, words, THRUM__FONT_TICK, THRUM__COLOUR_MUTED);
}

/* Draws the band behind a segment on the ruler, with the duration of the folded time. The words
 * stand in the band's middle, or as near to it as can be seen. Others may well wait while nothing runs:
 * that isn't idle time. */
static void draw_band(struct ruler *r, const struct thrum__scene_time_segment *segment)
{
	float left = fmaxf((float)segment->x_end, r->p->left),
	      right = fminf((float)segment[1].x, r->p->right);
	float limit = fminf(right, r->limit - 4),
	      middle = (float)(segment->x_end + segment[1].x) / 2;
	bool is_lost = is_mostly_lost(r->p->model, segment->end, segment[1].start);
	const char *why = is_lost ? "lost" : "nothing runs";
	char words[64];

	if (right - left < BANDS_NAMED_MIN || left > r->limit)
		return;
	thrum__draw_rect(r->p->list, THRUM__Z_FRAME, THRUM__COLOUR_FOLD, left, r->p->ruler_top,
		right - left, THRUM__RULER - 1);
	thrum__words_duration(segment[1].start - segment->end, 3, words, sizeof words);
	if (!is_lost && label_width(r, why, THRUM__FONT_TICK) > limit - left - 4)
		why = "no runs";
	if (label_width(r, why, THRUM__FONT_TICK) > limit - left - 4) {
		put_centred(r, left, limit, middle, words);
		return;
	}
	r->label_y -= LINE - LINE_DOWN;
	put_centred(r, left, limit, middle, why);
	r->label_y += LINE;
	put_centred(r, left, limit, middle, words);
	r->label_y -= LINE_DOWN;
}

/* Labels the trace's end, if it is in sight, and sets the limit for other labels. */
static void draw_end_of_trace(struct ruler *r)
{
	struct thrum__paint *p = r->p;
	int64_t end = p->model ? p->model->end : 0, step = 1;
	const char *how = "ends";
	int colour = THRUM__COLOUR_INK;
	char words[80];
	float x = thrum__paint_x(p, end), width;
	int size;

	r->limit = p->right;
	if (end <= 0 || x < 0 || x > p->right)
		return;
	while (step <= end / 1000)
		step *= 10;
	if (p->scene && p->scene->ending.words[0]) {
		how = p->scene->ending.words;
		colour = p->scene->ending.colour;
	}
	size = snprintf(words, sizeof words, "%s ", how);
	thrum__words_time(end, step, words + size, sizeof words - (size_t)size);
	width = label_width(r, words, THRUM__FONT_BASE);
	x = x + 4 < p->right - width - 6 ? x + 4 : p->right - width - 6;
	/* The length of a range is told there, if there isn't room for both. */
	if (x < 0 || is_taken(p, x, x + width))
		return;
	put_label(r, THRUM__Z_FRAME_TEXT, x, words, THRUM__FONT_BASE, colour);
	r->limit = x - LABEL_GAP + 4;
}

void thrum__paint_grid(struct thrum__paint *p)
{
	const struct thrum__scene_time_axis *axis = p->time;
	struct ruler r = {.p = p, .y = p->ruler_top + THRUM__RULER};
	double step = thrum__paint_step(axis->scale > 0 ? STEP_WIDTH / axis->scale : 1);

	r.step = step < 1e18 ? (int64_t)step : INT64_C(1000000000000000000);
	r.label_y = p->ruler_top + BASE_LINE;
	thrum__draw_rect(p->list, THRUM__Z_FRAME, THRUM__COLOUR_PANEL, 0, p->ruler_top, p->width,
		THRUM__RULER);
	thrum__draw_horizontal(p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RULE, 0, p->width,
		r.y - 1, 1, THRUM__DASH_SOLID);
	draw_end_of_trace(&r);
	for (uint32_t i = 0; i < axis->count; i++) {
		draw_segment(&r, &axis->segments[i]);
		if (i + 1 < axis->count)
			draw_band(&r, &axis->segments[i]);
	}
}
