/* SPDX-License-Identifier: ISC */
/* The rows of threads: the share of time in which each runs, its longest runs, and when none
 * runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "words/bands.h"

#define HEIGHT 20         /* px of a row, without the space below it */
#define COLUMN 18         /* px of a column for 100 % */
#define NAMED 2           /* runs of a row that are named */
#define NAMED_LEAST 6     /* px of a run that is named */
#define HOLE_LEAST 70     /* px of a hole that is told */
#define HOLES_MAX 32      /* that are told in a frame */
#define MARKED 4096       /* runs of the selected task that are marked at most, the latest */
#define NAME_GAP 5        /* px between a run and its name */
#define NAME_OVER 8       /* px of a column that a name beside a run would hide, */
#define HIDDEN_MOST 0.25f /* which only so many of the columns below it may have */
#define NAME_ON 17        /* px of all columns below a name on a run in the ground's colour */

/* Returns how many ns so many px are, at least 1. */
static int64_t ns_of(const struct thrum__bands_pen *pen, float pixels)
{
	return thrum__paint_span(pen->p, pixels);
}

static void paint_share(const struct thrum__bands_pen *pen, float base, int colour,
	const float *shares)
{
	uint16_t *heights = pen->bands->heights;

	for (uint32_t i = 0; i < pen->bands->window.columns; i++) {
		float height = floorf(shares[i] * COLUMN + 0.5f);

		heights[i] = shares[i] <= 0 ? 0
			: height < 1        ? 1
			: height > COLUMN   ? COLUMN
					    : (uint16_t)height;
	}
	thrum__bands_columns(pen, colour, base, heights, COLUMN);
}

bool thrum__bands_works_for(const struct thrum__family *family, uint32_t task, uint32_t group)
{
	uint32_t at = task == THRUM__NONE
		? THRUM__NONE
		: thrum__family_group(family, thrum__family_worker(family, task));

	for (uint32_t i = 0; i < family->group_count && at != THRUM__NONE; i++) {
		if (at == group)
			return true;
		at = family->groups[at].parent;
	}
	return false;
}

/* Computes the share of each column in which a thread runs for a group. Runs that are too near to be
 * seen apart count for whom most of them are. */
static void share_of_group(const struct thrum__bands_pen *pen, uint32_t index, uint32_t group,
	float *shares)
{
	const struct thrum__bands *all = pen->bands->all;
	const struct thrum__bands_thread *thread = &all->threads[index];
	const struct thrum__bands_window *window = &pen->bands->window;
	struct thrum__bands_boxes walk;
	struct thrum__bands_run run;

	memset(shares, 0, window->columns * sizeof *shares);
	for (uint32_t lane = 0; lane < thread->count; lane++) {
		thrum__bands_boxes_begin(&walk, all, all->thread_lanes[thread->first + lane],
			THRUM__BANDS_OWNER, window->times[0], window->times[window->columns], 0,
			ns_of(pen, THRUM__CELL_WIDTH));
		while (thrum__bands_boxes_next(&walk, &run)) {
			double part = (double)run.ran / fmax((double)(run.to - run.from), 1);
			uint32_t column = thrum__bands_window_column(window, run.from);

			for (; thrum__bands_works_for(&all->family, run.task, group) &&
				column < window->columns && window->times[column] < run.to;
				column++) {
				int64_t from = window->times[column],
					to = window->times[column + 1];
				double within = fmin((double)to, (double)run.to) -
					fmax((double)from, (double)run.from);

				shares[column] += (float)(within * part /
					((double)(to - from) * thread->count));
			}
		}
	}
}

bool thrum__bands_lane_y(const struct thrum__bands_pen *pen, uint32_t lane, float *top,
	float *bottom)
{
	const struct thrum__bands *all = pen->bands->all;

	for (uint32_t i = 0; i < pen->bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &pen->bands->places[i];
		const struct thrum__bands_thread *thread;

		if (place->kind != THRUM__PLACE_THREAD && place->kind != THRUM__PLACE_OPENED_THREAD)
			continue;
		thread = &all->threads[place->index];
		for (uint32_t k = 0; k < thread->count; k++) {
			if (all->thread_lanes[thread->first + k] != lane)
				continue;
			*top = thrum__bands_top(pen, place);
			*bottom = *top + HEIGHT;
			return *bottom > pen->p->top && *top < pen->p->bottom;
		}
	}
	return false;
}

float thrum__bands_below_threads(const struct thrum__bands_pen *pen)
{
	const struct thrum__scene_bands *bands = pen->bands;
	float y = 0;

	for (uint32_t i = 0; i < bands->place_count; i++)
		if (bands->places[i].kind == THRUM__PLACE_THREAD ||
			bands->places[i].kind == THRUM__PLACE_OPENED_THREAD)
			y = bands->places[i].y + bands->places[i].height;
	return pen->p->top + y - pen->scroll;
}

/* Whether some of the runs are seen in a stretch of the row. */
static bool hits_run(const struct thrum__bands_pen *pen, const struct thrum__bands_run *runs,
	uint32_t count, float x, float width)
{
	for (uint32_t i = 0; i < count; i++)
		if (thrum__paint_x(pen->p, runs[i].from) < x + width &&
			thrum__paint_x(pen->p, runs[i].to) > x)
			return true;
	return false;
}

/* Returns the share of a stretch in which the row's columns have at least so many px. */
static float covered(const struct thrum__bands_pen *pen, float x, float width, uint16_t least)
{
	uint32_t first = x > pen->left ? (uint32_t)((x - pen->left) / THRUM__CELL_WIDTH) : 0;
	uint32_t count = (uint32_t)(width / THRUM__CELL_WIDTH) + 1, high = 0;

	for (uint32_t i = first; i < first + count && i < pen->bands->window.columns; i++)
		high += pen->bands->heights[i] >= least;
	return (float)high / (float)count;
}

/* Returns where the name of a run from x1 to x2 stands: at its right, at its left, or on it, where it hides
 * the least; -1: nowhere. A name never stands on another of the runs. */
static float place_name(const struct thrum__bands_pen *pen, const struct thrum__bands_run *runs,
	uint32_t count, float x1, float x2, float width)
{
	const float places[2] = {x2 + NAME_GAP, x1 - NAME_GAP - width};

	for (int hides = 0; hides < 2; hides++) {
		for (int i = 0; i < 2; i++)
			if (places[i] >= pen->left && places[i] + width <= pen->right &&
				!hits_run(pen, runs, count, places[i], width) &&
				(hides || covered(pen, places[i], width, NAME_OVER) <= HIDDEN_MOST))
				return places[i];
		if (width < x2 - x1)
			return floorf((x1 + x2 - width) / 2);
	}
	return -1;
}

/* Names the longest runs. */
static void name_runs(const struct thrum__bands_pen *pen, uint32_t thread, float base)
{
	const struct thrum__bands_window *window = &pen->bands->window;
	int64_t from = window->times[0], to = window->times[window->columns];
	struct thrum__bands_run runs[NAMED];
	uint32_t count = thrum__bands_longest_runs(pen->bands->all, thread, from, to,
		ns_of(pen, NAMED_LEAST), runs, NAMED);

	for (uint32_t i = 0; i < count; i++) {
		char name[200], words[240];
		float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, runs[i].from));
		float x2 = fminf(pen->right, thrum__paint_x(pen->p, runs[i].to)), x, width;
		size_t size = thrum__words_duration(runs[i].to - runs[i].from, 3, words,
			sizeof words);
		bool is_selected = runs[i].task != THRUM__NONE &&
			runs[i].task == pen->p->scene->selected;
		int font = is_selected ? THRUM__FONT_STRONG : THRUM__FONT_NOTE;
		int colour = is_selected ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED;

		thrum__words_run_name(&pen->bands->all->family, runs[i].task, runs[i].run, name,
			sizeof name);
		snprintf(words + size, sizeof words - size, " %s", name);
		width = thrum__paint_width(pen->p, words, strlen(words), font);
		x = place_name(pen, runs, count, x1, x2, width);
		if (x < pen->left ||
			thrum__paint_boxes_hit(pen->p->boxes, x - 4, base - HEIGHT, width + 8,
				HEIGHT))
			continue;
		thrum__paint_boxes_add(pen->p->boxes, x, base - HEIGHT, width, HEIGHT);
		if (x >= x1 && x < x2 && covered(pen, x, width, NAME_ON) >= 1)
			thrum__draw_text(pen->p->list, THRUM__Z_LABEL, THRUM__COLOUR_BG, font, x,
				base - 7, words, strlen(words), false);
		else
			thrum__bands_remark(pen, x, base - 7, font, colour, words);
	}
}

static bool has_lane(const struct thrum__bands *all, uint32_t thread, uint32_t lane)
{
	for (uint32_t i = 0; i < all->threads[thread].count; i++)
		if (all->thread_lanes[all->threads[thread].first + i] == lane)
			return true;
	return false;
}

/* Underlines the runs of the selected task. */
static void mark_runs(const struct thrum__bands_pen *pen, uint32_t index, float base)
{
	const struct thrum__model *model = pen->p->model;
	const struct thrum__bands *all = pen->bands->all;
	uint32_t run = THRUM__TASK(model, pen->p->scene->selected, run);

	for (unsigned i = 0; i < MARKED && thrum__model_has_row(&model->runs, run); i++) {
		float x1 = thrum__paint_x(pen->p, THRUM__RUN(model, run, start));
		float x2 = thrum__paint_x(pen->p, THRUM__RUN(model, run, end));

		if (x2 < pen->left)
			return;
		if (x1 < pen->right && has_lane(all, index, THRUM__RUN(model, run, lane)))
			thrum__draw_rect(pen->p->list, THRUM__Z_END, THRUM__COLOUR_INK,
				fmaxf(x1, pen->left), base + 1,
				fmaxf(2, fminf(x2, pen->right) - fmaxf(x1, pen->left)), 2);
		run = THRUM__RUN(model, run, prev);
	}
}

/* Says where nothing runs in any thread. */
static void name_holes(const struct thrum__bands_pen *pen, float base)
{
	const struct thrum__bands_window *window = &pen->bands->window;
	struct thrum__bands_hole holes[HOLES_MAX];
	uint32_t count = thrum__bands_holes(pen->bands->all, window->times[0],
		window->times[window->columns], ns_of(pen, HOLE_LEAST), holes, HOLES_MAX);

	for (uint32_t i = 0; i < count; i++) {
		char words[64] = "nothing runs ";
		float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, holes[i].from));
		float x2 = fminf(pen->right, thrum__paint_x(pen->p, holes[i].to)), x, width;
		size_t size = strlen(words);

		thrum__words_duration(holes[i].to - holes[i].from, 3, words + size,
			sizeof words - size);
		width = thrum__paint_width(pen->p, words, strlen(words), THRUM__FONT_NOTE);
		x = floorf((x1 + x2 - width) / 2);
		if (width + 6 > x2 - x1 ||
			thrum__paint_boxes_hit(pen->p->boxes, x, base - HEIGHT, width, HEIGHT))
			continue;
		thrum__paint_boxes_add(pen->p->boxes, x, base - HEIGHT, width, HEIGHT);
		thrum__bands_remark(pen, x, base - 4, THRUM__FONT_NOTE, THRUM__COLOUR_INK, words);
	}
}

void thrum__bands_name_thread(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float y, int font)
{
	const uint32_t index = place->index;
	const struct thrum__bands_thread *thread = &pen->bands->all->threads[index];
	float right = (pen->left > 0 ? pen->left : pen->p->width) - 12;
	const struct thrum__bands_window *window = &pen->bands->window;
	const struct thrum__model *model = pen->p->model;
	char name[THRUM__NAME_MAX], error[40] = "", words[64];

	thrum__scene_bands_thread_name(pen->bands->all, index, name);
	if (!thread->is_others)
		thrum__words_clock_error(model, model->lanes[thread->lane].task, window->times[0],
			window->times[window->columns], error, sizeof error);
	snprintf(words, sizeof words, thread->count > 1 ? "%s ×%u" : "%s", error,
		(unsigned)thread->count);
	if (pen->left <= 0)
		y = thrum__bands_top(pen, place) + THRUM__BANDS_ABOVE_LINE;
	if (thrum__bands_has_name(pen, place))
		thrum__bands_text_before(pen, THRUM__BANDS_NAME, y, font, THRUM__COLOUR_INK,
			right - (pen->other ? 140 : 68), name, words);
	else if (pen->left <= 0)
		return;
	if (pen->other && pen->left > 0)
		thrum__bands_name_side(pen, right - 80, y);
	strcpy(words, thrum__bands_least(pen));
	thrum__words_percent(thrum__bands_counted_of(pen, place)->share, words + strlen(words), 32);
	strcat(words, " runs");
	thrum__bands_text_right(pen, right, y, THRUM__FONT_NOTE,
		thrum__bands_number_colour(pen,
			pen->is_lower ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED),
		words);
}

void thrum__bands_paint_thread(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, bool is_first)
{
	float base = thrum__bands_top(pen, place) + HEIGHT;
	uint32_t group = pen->p->scene->hovered_group;

	thrum__bands_thread_shares(pen->bands->all, place->index, &pen->bands->window,
		pen->bands->shares);
	thrum__draw_horizontal(pen->p->list, THRUM__Z_GRID, THRUM__COLOUR_GRID, pen->left,
		pen->right, base, 1, THRUM__DASH_SOLID);
	paint_share(pen, base,
		thrum__bands_is_aside(pen, place->index) ? THRUM__COLOUR_SUM : THRUM__COLOUR_RUN,
		pen->bands->shares);
	if (group != THRUM__NONE) {
		share_of_group(pen, place->index, group, pen->bands->shares);
		paint_share(pen, base, THRUM__COLOUR_RUN, pen->bands->shares);
	}
	thrum__bands_name_thread(pen, place, base - 4, THRUM__FONT_LABEL);
	name_runs(pen, place->index, base);
	if (thrum__model_has_row(&pen->p->model->tasks, pen->p->scene->selected))
		mark_runs(pen, place->index, base);
	if (is_first)
		name_holes(pen, base);
}
