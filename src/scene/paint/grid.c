/* SPDX-License-Identifier: ISC */
/* The ruler and the time grid below it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/paint/paint.h"

#define GAPS_MAX 1000     /* that are looked at for a band */
#define STEP_WIDTH 62     /* pixels between two ticks, at least */
#define NARROW 70         /* a stretch for which a scale is too much */
#define LABEL_GAP 10      /* between two labels */
#define BASE_LINE 19      /* of labels, below the ruler's top */
#define TICKS_MAX 1000    /* in one stretch, should a scale be mad */
#define BANDS_NAMED_MIN 6 /* px */

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

/* Where the ruler's end label begins: others stay left of it. */
struct ruler {
	struct thrum__paint *p;
	int64_t step;
	float y, label_y, limit;
	float free; /* right end of the last label */
	bool unit_said;
};

static void put(struct ruler *r, int z, float x, const char *text, int font, int colour)
{
	thrum__draw_text(r->p->list, z, colour, font, x, r->label_y, text, strlen(text), true);
}

static float measure(const struct ruler *r, const char *text, int font)
{
	return thrum__paint_width(r->p, text, strlen(text), font);
}

/* The first multiple of a step at or after a time. */
static int64_t first_tick(int64_t time, int64_t step)
{
	int64_t rest = time % step;

	if (rest == 0)
		return time;
	if (rest < 0)
		return time - rest;
	return time > INT64_MAX - step ? INT64_MAX : time - rest + step;
}

/* "+2 µs", and "+4" once the unit is said. */
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

static void tick(struct ruler *r, const struct thrum__scene_time_segment *segment, int64_t time,
	int64_t origin, float right)
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
	width = measure(r, words, font);
	left = is_first ? x + 3 : x - width / 2;
	if (left < r->free + LABEL_GAP || left + width > right - 4)
		return;
	put(r, THRUM__Z_FRAME_TEXT, left, words, font,
		is_first ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED);
	r->free = left + width;
	r->unit_said |= !is_first;
}

static void stretch(struct ruler *r, const struct thrum__scene_time_segment *segment)
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
		if (measure(r, words, THRUM__FONT_BASE) < right - x - 8)
			put(r, THRUM__Z_FRAME_TEXT, x + 3, words, THRUM__FONT_BASE,
				THRUM__COLOUR_INK);
		return;
	}
	for (int i = 0; i < TICKS_MAX && time <= segment->end; i++) {
		tick(r, segment, time, origin, right);
		if (time > INT64_MAX - r->step)
			return;
		time += r->step;
	}
}

/* Whether nobody knows if it was idle: some lane's events are lost for more than half of it. */
static bool is_lost(const struct thrum__model *model, int64_t start, int64_t end)
{
	const struct thrum__model_rows *gaps = &model->gaps;
	uint32_t last = gaps->count - gaps->first > GAPS_MAX ? gaps->first + GAPS_MAX : gaps->count;

	for (uint32_t i = gaps->first; i < last; i++) {
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

/* How long the folded time between two stretches is, on the ruler: in the band's middle, or as near
 * as it is seen. */
static void band(struct ruler *r, const struct thrum__scene_time_segment *segment)
{
	float left = fmaxf((float)segment->x_end, 0),
	      right = fminf((float)segment[1].x, r->p->right);
	float room = fminf(right, r->limit - 4) - left, size, x;
	char words[64] = "idle ";
	const char *text = words;

	if (right - left < BANDS_NAMED_MIN || left > r->limit)
		return;
	thrum__draw_rect(r->p->list, THRUM__Z_FRAME, THRUM__COLOUR_FOLD, left, r->p->ruler_top,
		right - left, THRUM__RULER - 1);
	if (is_lost(r->p->model, segment->end, segment[1].start))
		memcpy(words, "lost ", 5);
	thrum__words_duration(segment[1].start - segment->end, 3, words + 5, sizeof words - 5);
	if (measure(r, text, THRUM__FONT_TICK) > room - 4)
		text += 5;
	size = measure(r, text, THRUM__FONT_TICK);
	x = (float)(segment->x_end + segment[1].x) / 2 - size / 2;
	x = fmaxf(fminf(x, left + room - size - 1), left + 1);
	if (size <= room - 2)
		put(r, THRUM__Z_FRAME_TEXT, x, text, THRUM__FONT_TICK, THRUM__COLOUR_MUTED);
}

/* Where the trace ends, if that is in sight. */
static void end_of_trace(struct ruler *r)
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
	width = measure(r, words, THRUM__FONT_BASE);
	x = x + 4 < p->right - width - 6 ? x + 4 : p->right - width - 6;
	if (x < 0)
		return;
	put(r, THRUM__Z_FRAME_TEXT, x, words, THRUM__FONT_BASE, colour);
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
	end_of_trace(&r);
	for (uint32_t i = 0; i < axis->count; i++) {
		stretch(&r, &axis->segments[i]);
		if (i + 1 < axis->count)
			band(&r, &axis->segments[i]);
	}
}
