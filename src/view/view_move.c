/* SPDX-License-Identifier: ISC */
/* Moving the window over time and rows: zoom, drag, and going so many pixels over folds. */
#include <math.h>

#include "view/move.h"

#define NARROWEST 10 /* ns: closer there is nothing to see */

/* ---- Time ---------------------------------------------------------------------------------- */

static int64_t clamp_time(double time)
{
	return time > (double)THRUM__TIME_MAX     ? THRUM__TIME_MAX
		: time < -(double)THRUM__TIME_MAX ? -THRUM__TIME_MAX
						  : (int64_t)time;
}

/* Where the trace ends, as far as it is seen. */
static int64_t end_of(const struct thrum__view *view)
{
	struct thrum__view_state plain;

	thrum__view_state_default(view, &plain);
	return plain.to;
}

/* Goes on from `time`, stretch by stretch and band by band, at most `limit` pixels. */
struct going {
	double scale, band;
	double limit, passed; /* pixels */
	int64_t time;
	bool arrived;
};

static void go_to(struct going *going, int64_t time, double pixels)
{
	double left = going->limit - going->passed;

	if (pixels > left) {
		going->time += clamp_time((double)(time - going->time) * left / pixels);
		going->passed = going->limit;
		going->arrived = true;
		return;
	}
	going->passed += pixels;
	going->time = time;
}

static bool go_over(void *context, int64_t start, int64_t end)
{
	struct going *going = context;

	go_to(going, start, (double)(start - going->time) * going->scale);
	if (!going->arrived)
		go_to(going, end, going->band);
	return !going->arrived;
}

/* From `from` to `to`, or as far as `limit` allows. */
static struct going go(const struct thrum__view *view, double scale, int64_t from, int64_t to,
	double limit)
{
	const struct thrum__time_axis *axis = &view->time;
	struct going going = {
		.scale = scale,
		.band = axis->count > 1 ? axis->segments[1].x - axis->segments[0].x_end : 0,
		.limit = limit,
		.time = from,
	};

	if (view->is_folded)
		thrum__companions_idle(view->tracks, &view->companions, from, to,
			clamp_time(80 / scale), go_over, &going);
	if (!going.arrived)
		go_to(&going, to, (double)(to - going.time) * scale);
	return going;
}

/* The time that lies so many pixels of a scale after another, over folds. */
static int64_t after(const struct thrum__view *view, double scale, int64_t time, double pixels)
{
	double all = 0;
	int64_t from = time, far = clamp_time((double)time + pixels / scale);
	struct going going;

	if (pixels == 0 || scale <= 0)
		return time;
	if (pixels > 0) {
		going = go(view, scale, time, end_of(view) > far ? end_of(view) : far, pixels);
		if (going.arrived)
			return going.time;
		return clamp_time((double)going.time + (pixels - going.passed) / scale);
	}
	if (!view->is_folded || time <= 0)
		return far;
	/* Backwards: so far back that it is enough, then on from there by what is too much. */
	for (double span = -pixels / scale; from > 0; span *= 4) {
		from = clamp_time((double)time - span);
		if (from < 0)
			from = 0;
		all = go(view, scale, from, time, INFINITY).passed;
		if (all >= -pixels)
			return go(view, scale, from, time, all + pixels).time;
	}
	return clamp_time((pixels + all) / scale);
}

void thrum__view_window(struct thrum__view *view, int64_t from, int64_t to)
{
	int64_t end = end_of(view), span = to - from;

	if (span < NARROWEST) {
		from -= (NARROWEST - span) / 2;
		span = NARROWEST;
	}
	if (span > end + end / 5)
		span = end + end / 5;
	if (from < -span / 10)
		from = -span / 10;
	if (from > end - span + span / 10)
		from = end - span + span / 10;
	view->state.from = from;
	view->state.to = from + span;
}

static int64_t bounded(int64_t time)
{
	return time < -THRUM__END_MAX   ? -THRUM__END_MAX
		: time > THRUM__END_MAX ? THRUM__END_MAX
					: time;
}

void thrum__view_window_around(struct thrum__view *view, int64_t from, int64_t to, int64_t margin)
{
	margin = bounded(margin);
	thrum__view_window(view, bounded(from) - margin, bounded(to) + margin);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static void clamp_row(struct thrum__view *view)
{
	double last = view->layout->rows > 0 ? view->layout->rows - 1 : 0;

	if (!(view->state.row > 0))
		view->state.row = 0;
	else if (view->state.row > last)
		view->state.row = last;
}

void thrum__view_show_row(struct thrum__view *view, uint32_t row)
{
	const struct thrum__row_box *box = thrum__row_axis_find(&view->rows, row);
	double seen = view->rows.count > 0
		? view->rows.boxes[view->rows.count - 1].row - view->rows.boxes[0].row
		: 0;

	if (view->state.fisheye)
		view->state.row = row;
	else if (!box || box->y < view->rows.top || box->y + box->height > view->rows.bottom)
		view->state.row = row - seen / 2;
	clamp_row(view);
}

static void drag_rows(struct thrum__view *view, float y, float dy)
{
	struct thrum__row_axis *rows = &view->rows;

	if (view->state.fisheye)
		view->state.row = thrum__fisheye_focus(rows->total, rows->top, rows->bottom,
			rows->focus_y, rows->strength, thrum__row_axis_row(rows, y), y + dy);
	else if (dy < 0)
		view->state.row = thrum__row_axis_row(rows, rows->top - dy);
	else if (rows->projection == THRUM__ROWS_EVEN && rows->height > 0)
		view->state.row -= dy / rows->height;
	else /* what is above isn't measured: rows of a height as the first's */
		view->state.row -= dy / (rows->count > 0 ? rows->boxes[0].height : 1);
	clamp_row(view);
}

/* ---- Both ---------------------------------------------------------------------------------- */

void thrum__view_drag(struct thrum__view *view, float x, float y, float dx, float dy)
{
	(void)x;
	if (dx != 0) {
		double scale = view->time.scale, width = view->time.x1 - view->time.x0;
		int64_t from = after(view, scale, view->state.from, -dx);
		int64_t to = after(view, scale, from, width);

		thrum__view_window(view, from, to);
	}
	if (dy != 0)
		drag_rows(view, y, dy);
}

void thrum__view_zoom(struct thrum__view *view, float x, float y, double factor)
{
	const struct thrum__time_axis *axis = &view->time;
	int64_t left = thrum__time_axis_time(axis, x), right = left, from, to;
	double left_x = x, right_x = x;

	(void)y;
	if (!(factor > 0) || !isfinite(factor))
		return;
	/* On a band: what lies at its edges stays there. */
	for (uint32_t i = 0; i + 1 < axis->count; i++) {
		const struct thrum__segment_of_time *segment = &axis->segments[i];

		if (segment[0].x_end < x && x < segment[1].x) {
			left = segment[0].end;
			left_x = segment[0].x_end;
			right = segment[1].start;
			right_x = segment[1].x;
		}
	}
	from = after(view, axis->scale * factor, left, axis->x0 - left_x);
	to = after(view, axis->scale * factor, right, axis->x1 - right_x);
	/* So close together that they don't move a nanosecond: by force. */
	if (factor < 1 && from == view->state.from && to == view->state.to) {
		from -= NARROWEST;
		to += NARROWEST;
	}
	thrum__view_window(view, from, to);
}
