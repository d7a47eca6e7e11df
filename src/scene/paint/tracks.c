/* SPDX-License-Identifier: ISC */
/* Units in tracks: a line while a unit is alive, blocks where it runs, marks at its ends. */
#include "scene/paint/paint.h"

/* How many are painted, about; more of them merge or are left out. */
#define UNITS_MAX 2000
#define RUNS_MAX 3000
#define FAILURES_MAX 250
#define COMBS_MAX 150
#define MARKS_MAX 250  /* stubs, arrows, slashes */
#define DASHES_MAX 250 /* of lines over folds */
#define BANDS_MAX 64

#define LANE_BAR 4  /* px: height of a block of a lane's own task */
#define CROSSES 256 /* slots for the last crosses, a power of two */

struct track_marks {
	struct thrum__paint *p;
	struct {
		float x1, x2;
	} bands[BANDS_MAX]; /* folds over which lines are dashed */
	uint32_t band_count;
	uint32_t marks, combs;
	float end_x;                               /* of the trace's end */
	struct thrum__draw_point crosses[CROSSES]; /* by x: the last cross there */
};

#define RED (THRUM__LOOK_STUCK | THRUM__LOOK_BEHIND)

struct line_style {
	int colour;
	float width;
};

/* ---- Lines --------------------------------------------------------------------------------- */

static void find_bands(struct track_marks *r)
{
	const struct thrum__scene_time_axis *time = r->p->time;

	for (uint32_t i = 1; i < time->count; i++) {
		float x1 = (float)time->segments[i - 1].x_end, x2 = (float)time->segments[i].x;

		if (x2 - x1 <= 12)
			continue;
		if ((r->band_count + 1) * r->p->tracks->count > DASHES_MAX ||
			r->band_count == BANDS_MAX) {
			r->band_count = 0;
			return;
		}
		r->bands[r->band_count].x1 = x1;
		r->bands[r->band_count++].x2 = x2;
	}
}

/* Paints a unit's line. Over a fold it is dashed, since the time there is longer than it looks. */
static void paint_line(struct track_marks *r, struct line_style pen, float x1, float x2, float y)
{
	struct thrum__draw_list *list = r->p->list;
	float x = x1;

	if (x2 < x1 + 1)
		x2 = x1 + 1;
	for (uint32_t i = 0; i < r->band_count && pen.width >= 2; i++) {
		float from = r->bands[i].x1, to = r->bands[i].x2;

		if (to <= x || from >= x2)
			continue;
		if (from > x)
			thrum__draw_horizontal(list, THRUM__Z_LINE, pen.colour, x, from, y,
				pen.width, THRUM__DASH_SOLID);
		thrum__draw_horizontal(list, THRUM__Z_LINE, pen.colour, from > x ? from : x,
			to < x2 ? to : x2, y, pen.width, THRUM__DASH_3_3);
		x = to;
	}
	if (x < x2)
		thrum__draw_horizontal(list, THRUM__Z_LINE, pen.colour, x, x2, y, pen.width,
			THRUM__DASH_SOLID);
}

static struct line_style grey_style(const struct thrum__scene_track_box *box, bool fades)
{
	struct line_style pen = {THRUM__COLOUR_PEND, box->line_width};

	if (box->size == THRUM__TRACK_SQUEEZED)
		return (struct line_style){THRUM__COLOUR_FADED, 1};
	if (fades)
		pen.colour = THRUM__COLOUR_FADED;
	return pen;
}

static struct line_style red_style(const struct thrum__scene_track_box *box, int look)
{
	float width = !(look & THRUM__LOOK_STUCK) ? 2 : thrum__paint_is_dense(box) ? 3 : 4;

	return (struct line_style){THRUM__COLOUR_BAD, width};
}

/* ---- Ends ---------------------------------------------------------------------------------- */

enum end {
	END_OPEN, /* it became another unit, which an edge shows */
	END_RESOLVED,
	END_FAILED, /* painted by paint_failures */
	END_CANCELLED,
	END_ALIVE,  /* it is alive when the trace ends */
	END_SILENT, /* it is pending; its line ends at its last event, before the trace does */
};

/* Gives when and how a unit ends. */
static enum end find_end(const struct thrum__paint *p, uint32_t unit, int64_t *time)
{
	const struct thrum__layout_unit *u = &p->layout->units[unit];
	uint32_t last = thrum__model_heir(p->model, u->task);

	*time = u->end;
	if (thrum__layout_unit(p->layout, last) != unit ||
		!thrum__model_has_row(&p->model->tasks, last))
		return END_OPEN;
	switch (THRUM__TASK(p->model, last, state)) {
	case THRUM__STATE_PENDING: break;
	case THRUM__STATE_RESOLVED: *time = THRUM__TASK(p->model, last, end); return END_RESOLVED;
	case THRUM__STATE_FAILED: *time = THRUM__TASK(p->model, last, end); return END_FAILED;
	case THRUM__STATE_CANCELLED: *time = THRUM__TASK(p->model, last, end); return END_CANCELLED;
	default: return END_OPEN;
	}
	if (thrum__layout_lasts(p->layout, unit) || (thrum__paint_look(p, unit) & RED)) {
		*time = p->model->end;
		return END_ALIVE;
	}
	*time = thrum__model_task_end_time(p->model, last);
	return END_SILENT;
}

static void paint_arrow(struct track_marks *r, struct line_style pen, float y)
{
	struct thrum__draw_list *list = r->p->list;
	float x = r->end_x;

	if (pen.width > 2)
		thrum__draw_triangle(list, THRUM__Z_END, pen.colour,
			(struct thrum__draw_point[]){{x - 8, y - 6}, {x, y}, {x - 8, y + 6}});
	else
		thrum__draw_polyline(list, THRUM__Z_END, pen.colour,
			(struct thrum__draw_point[]){{x - 7, y - 5}, {x - 1, y}, {x - 7, y + 5}}, 3,
			1.5f, THRUM__DASH_SOLID);
}

static void paint_end(struct track_marks *r, const struct thrum__scene_track_box *box, enum end end,
	struct line_style pen, float x)
{
	struct thrum__draw_list *list = r->p->list;
	float y = thrum__paint_line(box), reach = thrum__paint_reach(box);
	bool is_faded = pen.colour == THRUM__COLOUR_FADED;
	int colour = is_faded ? THRUM__COLOUR_FADED : THRUM__COLOUR_EDGE;

	if (end == END_RESOLVED)
		thrum__draw_vertical(list, THRUM__Z_END, colour, x, y - reach, y + reach,
			box->line_width, THRUM__DASH_SOLID);
	if (end == END_RESOLVED || r->marks >= MARKS_MAX)
		return;
	if (end == END_CANCELLED)
		thrum__draw_line(list, THRUM__Z_END, colour, x - 3, y + 5, x + 3, y - 5, 2);
	else if (end == END_SILENT)
		thrum__draw_horizontal(list, THRUM__Z_LINE, pen.colour, x, x + 16, y,
			box->line_width, THRUM__DASH_2_3);
	else if (end == END_ALIVE && x >= r->end_x - 1)
		paint_arrow(r, pen, y);
	else
		return;
	r->marks++;
}

/* ---- Units --------------------------------------------------------------------------------- */

#define CHAIN_MAX 64 /* tasks of a chain that are searched for the first one of a finding */

/* Returns the time from which on the line of a unit of a finding is red. */
static int64_t red_from(const struct thrum__paint *p, uint32_t unit)
{
	const struct thrum__layout_unit *u = &p->layout->units[unit];
	uint32_t task = u->task;

	if (thrum__paint_look(p, unit) & THRUM__LOOK_STUCK)
		return u->start;
	for (int i = 0; i < CHAIN_MAX && task != THRUM__NONE; i++) {
		if (thrum__why_marks(&p->scene->findings, task) != THRUM__MARK_NONE)
			return THRUM__TASK(p->model, task, start) > u->start
				? THRUM__TASK(p->model, task, start)
				: u->start;
		task = thrum__layout_next(p->layout, p->model, task);
	}
	return u->start;
}

static void paint_unit(struct track_marks *r, const struct thrum__scene_track_box *box,
	uint32_t unit)
{
	struct thrum__paint *p = r->p;
	const struct thrum__layout_unit *u = &p->layout->units[unit];
	int look = thrum__paint_look(p, unit);
	struct line_style pen = grey_style(box, thrum__paint_fades(p, unit)), first = pen;
	float y = thrum__paint_line(box), x1 = thrum__paint_clamped(p, u->start), x2;
	float reach = thrum__paint_reach(box);
	int64_t time;
	enum end end = find_end(p, unit, &time);

	x2 = thrum__paint_clamped(p, time);
	if (look & RED) {
		float x = thrum__paint_clamped(p, red_from(p, unit));

		pen = red_style(box, look);
		if (x > x1)
			paint_line(r, first, x1, x, y);
		else
			first = pen;
		paint_line(r, pen, x, x2, y);
	} else {
		paint_line(r, pen, x1, x2, y);
	}
	if (thrum__paint_is_dense(box))
		return;
	if (u->start >= p->from && u->start <= p->to &&
		thrum__model_has_row(&p->model->tasks, u->task) &&
		!(THRUM__TASK(p->model, u->task, flags) & THRUM__TASK_PREEXISTING))
		thrum__draw_vertical(p->list, THRUM__Z_END, first.colour, x1, y - reach, y + reach,
			box->line_width, THRUM__DASH_SOLID);
	if (time >= p->from && time <= p->to)
		paint_end(r, box, end, pen, x2);
}

static void paint_seen(struct track_marks *r, const struct thrum__scene_track_box *box,
	const struct thrum__paint_units_seen *seen)
{
	const struct thrum__paint *p = r->p;
	uint32_t unit = seen->unit;
	bool fades = unit == THRUM__NONE ? p->scene->is_related : thrum__paint_fades(p, unit);

	if (unit != THRUM__NONE &&
		(!thrum__paint_is_dense(box) || (thrum__paint_look(p, unit) & RED)))
		paint_unit(r, box, unit);
	else
		paint_line(r, grey_style(box, fades), thrum__paint_clamped(p, seen->start),
			thrum__paint_clamped(p, seen->end), thrum__paint_line(box));
}

static void paint_units(struct track_marks *r)
{
	struct thrum__paint *p = r->p;
	uint32_t left = UNITS_MAX;

	p->unit_gap = thrum__paint_coarseness(p, THRUM__INDEX_UNITS, 2, UNITS_MAX);
	for (uint32_t i = 0; i < p->tracks->count; i++) {
		const struct thrum__scene_track_box *box = &p->tracks->boxes[i];
		struct thrum__paint_units_walk walk;
		struct thrum__paint_units_seen seen;

		thrum__paint_units_begin(&walk, p, box, p->unit_gap,
			4 + 2 * left / (p->tracks->count - i));
		while (thrum__paint_units_next(&walk, &seen))
			paint_seen(r, box, &seen);
		left -= walk.looked_at < left ? walk.looked_at : left;
	}
}

/* Paints stuck units in boxes of several tracks, where lines merge, over these lines. */
static void paint_stuck(struct track_marks *r)
{
	const struct thrum__paint *p = r->p;
	const struct thrum__findings *findings = &p->scene->findings;

	for (uint32_t i = 0; i < findings->count && i < MARKS_MAX; i++) {
		const struct thrum__finding *finding = &findings->findings[i];

		for (unsigned s = 0; s < finding->step_count; s++) {
			uint32_t task = finding->steps[s].task, unit;
			const struct thrum__scene_track_box *box;

			unit = thrum__layout_unit(p->layout, task);
			if (unit == THRUM__NONE || !(thrum__paint_look(p, unit) & RED))
				continue;
			box = thrum__paint_box(p, unit);
			if (box && box->tracks > 1)
				thrum__draw_horizontal(p->list, THRUM__Z_CASING, THRUM__COLOUR_BAD,
					thrum__paint_clamped(p, red_from(p, unit)), r->end_x,
					thrum__paint_line(box), 2, THRUM__DASH_SOLID);
		}
	}
}

/* ---- Runs ---------------------------------------------------------------------------------- */

/* Whether a run is a lane's own task's. That task runs when no other does, and then mostly
 * waits. */
static bool is_lanes_own(const struct thrum__paint *p, uint32_t run)
{
	uint32_t task = thrum__model_has_row(&p->model->runs, run) ? THRUM__RUN(p->model, run, task)
								   : THRUM__NONE;

	return thrum__model_has_row(&p->model->tasks, task) &&
		(THRUM__TASK(p->model, task, flags) & THRUM__TASK_LANE);
}

static bool run_fades(const struct thrum__paint *p, uint32_t run)
{
	uint32_t task, unit;

	if (!p->scene->is_related || !thrum__model_has_row(&p->model->runs, run))
		return false;
	task = THRUM__RUN(p->model, run, task);
	unit = thrum__layout_unit(p->layout, task);
	return unit == THRUM__NONE || thrum__paint_fades(p, unit);
}

/* Paints several runs as one block. It is filled from below by the share of time running, and has a
 * comb on top. */
static void paint_merged(struct track_marks *r, const struct thrum__index_stretch *runs,
	struct thrum__draw_rect block)
{
	struct thrum__draw_list *list = r->p->list;
	double share = (double)runs->busy / (double)(runs->end - runs->start);
	float filled = (float)(int)((double)block.height * share + 0.5), rest;

	filled = filled < 1 ? 1 : filled > block.height ? block.height : filled;
	rest = block.height - filled;
	if (rest > 0)
		thrum__draw_rect(list, THRUM__Z_RUN, THRUM__COLOUR_SUM, block.x, block.y,
			block.width, rest);
	thrum__draw_rect(list, THRUM__Z_RUN, THRUM__COLOUR_RUN, block.x, block.y + rest,
		block.width, filled);
	if (block.height >= 8 && block.width > 7 && r->combs++ < COMBS_MAX)
		thrum__draw_horizontal(list, THRUM__Z_END, THRUM__COLOUR_BG, block.x + 1,
			block.x + block.width - 1, block.y + 1, 2, THRUM__DASH_1_2);
}

static void paint_block(struct track_marks *r, const struct thrum__scene_track_box *box,
	const struct thrum__index_stretch *runs, bool is_lane)
{
	struct thrum__paint *p = r->p;
	float x1 = thrum__paint_clamped(p, runs->start), x2 = thrum__paint_clamped(p, runs->end);
	float height = is_lane && box->bar > LANE_BAR ? LANE_BAR : box->bar;
	struct thrum__draw_rect block = {x1, thrum__paint_line(box) - (float)(int)(height / 2),
		x2 < x1 + 1 ? 1 : x2 - x1, height};
	int64_t idle = runs->end - runs->start - runs->busy;
	int colour = run_fades(p, runs->item) ? THRUM__COLOUR_FADED
		: is_lane                     ? THRUM__COLOUR_SUM
					      : THRUM__COLOUR_RUN;

	/* Runs that follow each other at once need no comb: the block hides nothing. */
	if (runs->count > 1 && block.width >= 2 && colour == THRUM__COLOUR_RUN &&
		idle >= thrum__paint_span(p, 0.5f))
		paint_merged(r, runs, block);
	else
		thrum__draw_rect(p->list, THRUM__Z_RUN, colour, block.x, block.y, block.width,
			block.height);
}

static void paint_runs(struct track_marks *r)
{
	struct thrum__paint *p = r->p;
	int64_t gap = thrum__paint_span(p,
		thrum__paint_coarseness(p, THRUM__INDEX_RUNS, 2, RUNS_MAX));

	for (uint32_t i = 0; i < p->tracks->count; i++) {
		const struct thrum__scene_track_box *box = &p->tracks->boxes[i];
		struct thrum__index_stretch runs;
		struct thrum__index_walk walk;
		bool is_lane;

		thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_RUNS, box->track, box->tracks,
			p->from, p->to, gap);
		if (!thrum__index_walk_next(&walk, &runs))
			continue;
		/* A lane's own task has a track to itself. */
		is_lane = box->tracks == 1 && is_lanes_own(p, runs.item);
		do
			paint_block(r, box, &runs, is_lane);
		while (thrum__index_walk_next(&walk, &runs));
	}
}

/* ---- Failures ------------------------------------------------------------------------------ */

/* Whether a task was running when it failed: then its cross needs some ground around it. */
static bool ran_at(const struct thrum__paint *p, uint32_t task, int64_t time)
{
	uint32_t unit = thrum__layout_unit(p->layout, task);

	return unit != THRUM__NONE && thrum__paint_run_width(p, unit, time) > 0;
}

static void paint_cross(struct track_marks *r, const struct thrum__scene_track_box *box, float x)
{
	struct thrum__draw_list *list = r->p->list;
	float reach = thrum__paint_is_dense(box) ? 3 : 4, y = thrum__paint_line(box);
	struct thrum__draw_point *before = &r->crosses[(unsigned)(x + 8) / 4 & (CROSSES - 1)];

	/* Tracks may be lower than a cross: leave it out if it would cover the last one. */
	if (x - before->x < 3 && before->x - x < 3 && y - before->y < 4)
		return;
	*before = (struct thrum__draw_point){x, y};
	thrum__draw_line(list, THRUM__Z_END, THRUM__COLOUR_BAD, x - reach, y - reach, x + reach,
		y + reach, 2);
	thrum__draw_line(list, THRUM__Z_END, THRUM__COLOUR_BAD, x - reach, y + reach, x + reach,
		y - reach, 2);
}

/* Paints failures. They are seen in every track, however low it is; only where crosses would cover
 * each other they merge. */
static void paint_failures(struct track_marks *r)
{
	struct thrum__paint *p = r->p;
	float apart = thrum__paint_coarseness(p, THRUM__INDEX_FAILURES, 2, FAILURES_MAX);
	uint32_t left = FAILURES_MAX;

	for (uint32_t i = 0; i < p->tracks->count; i++) {
		const struct thrum__scene_track_box *box = &p->tracks->boxes[i];
		struct thrum__index_stretch failed;
		struct thrum__index_walk walk;

		/* There are more failures than was estimated. */
		if (left == 0)
			apart = p->width;
		thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_FAILURES, box->track,
			box->tracks, p->from, p->to, thrum__paint_span(p, apart));
		while (thrum__index_walk_next(&walk, &failed)) {
			float x = thrum__paint_clamped(p, failed.start);
			float x2 = thrum__paint_clamped(p, failed.end);
			float step = (x2 - x) * (float)(p->tracks->count - i) / (float)(left + 1);

			if (box->bar >= 8 && ran_at(p, failed.item, failed.start))
				thrum__draw_rect(p->list, THRUM__Z_RUN, THRUM__COLOUR_BG, x - 5,
					thrum__paint_line(box) - 6, 10, 12);
			for (; x <= x2; x += step < 8 ? 8 : step, left -= left > 0)
				paint_cross(r, box, x);
		}
	}
}

/* ---- All ----------------------------------------------------------------------------------- */

void thrum__paint_tracks(struct thrum__paint *p)
{
	struct track_marks r = {.p = p, .end_x = thrum__paint_clamped(p, p->model->end)};
	bool is_live = p->scene->ending.is_live;

	find_bands(&r);
	paint_units(&r);
	paint_stuck(&r);
	paint_runs(&r);
	paint_failures(&r);
	if (p->model->end >= p->from && p->model->end <= p->to)
		thrum__draw_vertical(p->list, THRUM__Z_GRID,
			is_live ? THRUM__COLOUR_SEL : THRUM__COLOUR_MUTED, r.end_x, p->top,
			p->bottom, is_live ? 2 : 1, THRUM__DASH_SOLID);
}
