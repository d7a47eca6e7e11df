/* SPDX-License-Identifier: ISC */
/* The numbers of bands in the gutter: of the window, or of the range and beside it. */
#include <math.h>
#include <string.h>

#include "scene/bands/bands.h"

#define RATIO_LEAST 1.5 /* from which on two numbers are compared */
#define ABOVE_FAILED 8  /* without a gutter: px from the right edge to the end of failures */
#define COUNT_ROOM (THRUM__NUMBER_ROOM + 3)
#define COLUMN_SLACK 6 /* px at the right of a column's head that belong to it */

/* The right ends of the numbers in the gutter. */
static const float columns[] = {64, 120, 180, 236};
static const float columns_narrow[] = {84, 160};
static const char *const column_names[] = {"per s", "median", "p99", "failed"};

/* ---- Columns ------------------------------------------------------------------------------- */

int thrum__scene_bands_column(float width, float x)
{
	bool is_narrow = width < THRUM__BANDS_NARROW;
	int count = width < THRUM__NARROW ? 0 : is_narrow ? 2 : 4;

	for (int i = 0; i < count; i++)
		if (x <= (is_narrow ? columns_narrow[i] : columns[i]) + COLUMN_SLACK)
			return THRUM__SORT_RATE + (is_narrow ? 2 * i : i);
	return THRUM__SORT_TREE;
}

float thrum__bands_column_end(const struct thrum__bands_pen *pen, int column)
{
	int i = column - THRUM__SORT_RATE;

	return pen->is_narrow ? columns_narrow[i / 2] : columns[i];
}

void thrum__bands_name_columns(const struct thrum__bands_pen *pen)
{
	float y = pen->p->ruler_top + 19;
	const int count = pen->left <= 0 ? 0 : pen->is_narrow ? 2 : 4;

	for (int i = 0; i < count; i++) {
		int column = pen->is_narrow ? 2 * i : i;
		bool is_sorted = pen->p->state->bands.sort == THRUM__SORT_RATE + column;
		const char *name = column_names[column];
		size_t size = strlen(name);
		float right = pen->is_narrow ? columns_narrow[i] : columns[i];
		float width = thrum__paint_width(pen->p, name, size, THRUM__FONT_TICK);

		thrum__draw_text(pen->p->list, THRUM__Z_FRAME_TEXT,
			is_sorted ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED, THRUM__FONT_TICK,
			floorf(right - width + 0.5f), y, name, size, false);
		if (is_sorted)
			thrum__draw_rect(pen->p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_INK,
				floorf(right - width + 0.5f), y + 5, floorf(width), 2);
	}
	if (count > 0)
		thrum__draw_rect(pen->p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RULE,
			pen->left - 1, pen->p->ruler_top, 1, THRUM__RULER);
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Writes a duration with two digits; "–" for none. */
static void put_duration(char to[32], int64_t ns)
{
	if (ns > 0)
		thrum__words_duration(ns, 2, to, 32);
	else
		strcpy(to, "–");
}

static bool is_same_time(const struct thrum__bands_time *a, const struct thrum__bands_time *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* Whether events are lost in one of the two stretches of a time. */
static bool has_gap(const struct thrum__model *model, const struct thrum__bands_time *time)
{
	for (uint32_t gap = model->gaps.first; gap < model->gaps.count; gap++) {
		if (!thrum__model_has_row(&model->gaps, gap))
			continue;
		for (int i = 0; i < 2; i++)
			if (THRUM__GAP(model, gap, start) < time->to[i] &&
				THRUM__GAP(model, gap, end) > time->from[i])
				return true;
	}
	return false;
}

/* Computes the numbers of a place: of bands, in two times; of others, in the window. */
static void count_place(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, const struct thrum__bands_time *time,
	const struct thrum__bands_time *rest, struct thrum__scene_bands_counted *counted)
{
	const struct thrum__bands *all = pen->bands->all;
	const struct thrum__bands_window *window = &pen->bands->window;
	int64_t from = window->times[0], to = window->times[window->columns];

	if (place->kind == THRUM__PLACE_THREAD || place->kind == THRUM__PLACE_OPENED_THREAD)
		counted->share = thrum__bands_thread_share(all, place->index, from, to);
	else if (place->kind == THRUM__PLACE_QUEUE)
		thrum__bands_queue_numbers(all, place->index, from, to, &counted->queue);
	if (!thrum__bands_is_group(place))
		return;
	thrum__bands_numbers(all, place->index, time, &counted->numbers);
	counted->touched = thrum__bands_touched(all, place->index, pen->p->state->from,
		pen->p->state->to);
	if (pen->has_range)
		thrum__bands_numbers(all, place->index, rest, &counted->rest);
}

void thrum__bands_count(struct thrum__bands_pen *pen)
{
	struct thrum__scene_bands *bands = pen->bands;
	const struct thrum__scene_state *state = pen->p->state;
	struct thrum__bands_time time = {.from = {state->from}, .to = {state->to}}, rest = {0};
	bool is_known;

	if (pen->has_range) {
		const struct thrum__scene_bands_state *range = &state->bands;

		rest = (struct thrum__bands_time){.from = {state->from, range->range_to},
			.to = {range->range_from, state->to}};
		time = (struct thrum__bands_time){.from = {range->range_from},
			.to = {range->range_to}};
	}
	is_known = bands->has_numbers && is_same_time(&bands->numbers_of, &time) &&
		is_same_time(&bands->rest_of, &rest);
	bands->are_numbers_old = !is_known && bands->has_numbers && pen->p->scene->keeps_numbers;
	if (is_known || bands->are_numbers_old)
		return;
	for (uint32_t i = 0; i < bands->place_count; i++)
		count_place(pen, &bands->places[i], &time, &rest, &bands->counted[i]);
	bands->is_cut = has_gap(bands->all->model, &time);
	bands->is_rest_cut = pen->has_range && has_gap(bands->all->model, &rest);
	bands->has_numbers = true;
	bands->numbers_of = time;
	bands->rest_of = rest;
}

/* Writes a number of tasks; ≥ before it: others may be lost. */
static void put_count(uint64_t count, bool is_cut, char to[COUNT_ROOM])
{
	strcpy(to, is_cut ? "≥" : "");
	thrum__words_number(count, to + strlen(to));
}

/* Writes how many tasks failed: "all" of them, or "". */
static void put_failures(const struct thrum__bands_numbers *n, bool is_cut, char to[COUNT_ROOM])
{
	to[0] = 0;
	if (n->all_failed)
		strcpy(to, "all");
	else if (n->failed > 0)
		put_count(n->failed, is_cut, to);
}

static void write_failed(const struct thrum__bands_pen *pen, const struct thrum__bands_numbers *n,
	bool is_cut, float y, int font)
{
	char words[COUNT_ROOM];

	put_failures(n, is_cut, words);
	if (words[0])
		thrum__bands_text_right(pen, columns[3], y, font,
			thrum__bands_number_colour(pen, THRUM__COLOUR_BAD), words);
}

void thrum__bands_put_failed(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float y)
{
	write_failed(pen, &thrum__bands_counted_of(pen, place)->numbers, pen->bands->is_cut, y,
		THRUM__FONT_NOTE);
}

/* Writes a line of numbers: how many end in a second, how long half and 99 % of them took. */
static void put_numbers(const struct thrum__bands_pen *pen, const struct thrum__bands_numbers *n,
	bool is_cut, float y, int font, int colour)
{
	char rate[COUNT_ROOM] = "–", half[32], slow[32];

	if (n->ended > 0)
		put_count((uint64_t)(n->rate + 0.5), is_cut, rate);
	if (n->ended > 0 && n->rate < 10)
		thrum__words_decimal(n->rate, 1, rate + (is_cut ? strlen("≥") : 0),
			THRUM__NUMBER_ROOM);
	put_duration(half, n->half);
	put_duration(slow, n->slow);
	colour = thrum__bands_number_colour(pen, colour);
	if (pen->is_narrow) {
		thrum__bands_text_right(pen, columns_narrow[0], y, font, colour, rate);
		thrum__bands_text_right(pen, columns_narrow[1], y, font, colour, slow);
		return;
	}
	thrum__bands_text_right(pen, columns[0], y, font, colour, rate);
	thrum__bands_text_right(pen, columns[1], y, font, colour, half);
	thrum__bands_text_right(pen, columns[2], y, font, colour, slow);
	write_failed(pen, n, is_cut, y, font);
}

/* Writes the few numbers that fit into the line above a band, where there is no gutter. */
static void put_above(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, const struct thrum__bands_numbers *n)
{
	float y = thrum__bands_top(pen, place) + THRUM__BANDS_ABOVE_LINE;
	char slow[32], words[COUNT_ROOM];

	if (!thrum__bands_has_name(pen, place))
		return;
	put_duration(slow, n->slow);
	thrum__bands_text_right(pen, pen->p->width - THRUM__BANDS_ABOVE_P99, y, THRUM__FONT_NOTE,
		thrum__bands_number_colour(pen, THRUM__COLOUR_MUTED), slow);
	put_failures(n, pen->bands->is_cut, words);
	if (words[0])
		thrum__bands_text_right(pen, pen->p->width - ABOVE_FAILED, y, THRUM__FONT_NOTE,
			thrum__bands_number_colour(pen, THRUM__COLOUR_BAD), words);
}

/* Writes how much greater a number of the lower scene is, from 1.5 times or 2/3 on. */
static void put_ratio(const struct thrum__bands_pen *pen, float x, float y, int64_t upper,
	int64_t lower)
{
	double ratio = upper > 0 && lower > 0 ? (double)lower / (double)upper : 1;
	char words[32];
	size_t size = strlen("×");

	if (ratio < RATIO_LEAST && ratio * RATIO_LEAST > 1)
		return;
	strcpy(words, ratio < 1 ? "÷" : "×");
	ratio = ratio < 1 ? 1 / ratio : ratio;
	thrum__words_decimal(ratio, ratio < 10, words + size, sizeof words - size);
	thrum__bands_text_right(pen, x, y, THRUM__FONT_BASE,
		thrum__bands_number_colour(pen, THRUM__COLOUR_INK), words);
}

/* In pairs, compares the lower half's numbers with the upper one's. */
static void put_ratios(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float y)
{
	const struct thrum__scene_bands_place *other = thrum__bands_other(pen, place);
	const struct thrum__bands_numbers *n = &thrum__bands_counted_of(pen, place)->numbers,
					  *upper;

	if (!pen->is_lower || !other)
		return;
	upper = &pen->other->counted[other - pen->other->places].numbers;
	if (!pen->is_narrow)
		put_ratio(pen, columns[1], y, upper->half, n->half);
	put_ratio(pen, pen->is_narrow ? columns_narrow[1] : columns[2], y, upper->slow, n->slow);
}

void thrum__bands_put_numbers(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float top)
{
	const struct thrum__scene_bands_counted *counted = thrum__bands_counted_of(pen, place);
	char words[120];
	float x = THRUM__BANDS_NAME + THRUM__BANDS_INDENT * (float)place->depth;

	if (pen->left <= 0) {
		put_above(pen, place, &counted->numbers);
		return;
	}
	if (pen->has_range) {
		put_numbers(pen, &counted->numbers, pen->bands->is_cut, top + 25, THRUM__FONT_BASE,
			THRUM__COLOUR_INK);
		put_numbers(pen, &counted->rest, pen->bands->is_rest_cut, top + 39,
			THRUM__FONT_NOTE, THRUM__COLOUR_MUTED);
		return;
	}
	put_numbers(pen, &counted->numbers, pen->bands->is_cut, top + 25, THRUM__FONT_NOTE,
		pen->is_lower ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED);
	put_ratios(pen, place, top + 11);
	thrum__story_where_words(pen->bands, place->index, words, sizeof words);
	if (!pen->other && words[0])
		thrum__bands_text(pen, x, top + 39, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED,
			pen->left - 12 - x, words);
}
