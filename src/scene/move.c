/* SPDX-License-Identifier: ISC */
/* Moving the window over time and rows: zoom, drag, and going so many pixels over folds. */
#include <math.h>

#include "scene/move.h"

#define NARROWEST 10 /* ns: closer there is nothing to see */

/* ---- Time ---------------------------------------------------------------------------------- */

static int64_t clamp_time(double time)
{
	return time > (double)THRUM__TIME_MAX     ? THRUM__TIME_MAX
		: time < -(double)THRUM__TIME_MAX ? -THRUM__TIME_MAX
						  : (int64_t)time;
}

/* How far one goes over folds: not beyond what can be seen, but where one already is. */
static void ends_of(const struct thrum__view *view, int64_t *begin, int64_t *end)
{
	thrum__view_whole(view, begin, end);
	*begin = view->state.from < *begin ? view->state.from : *begin;
	*end = view->state.to > *end ? view->state.to : *end;
}

/* Goes on from `time`, stretch by stretch and band by band, at most `limit` pixels. */
struct going {
	double scale, band;
	double limit, passed; /* pixels */
	int64_t time, to;
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
	int64_t to = end < going->to ? end : going->to;

	if (start >= going->to)
		return false;
	if (start > going->time)
		go_to(going, start, (double)(start - going->time) * going->scale);
	/* Of a band perhaps a part. */
	if (!going->arrived && to > going->time)
		go_to(going, to, going->band * (double)(to - going->time) / (double)(end - start));
	return !going->arrived;
}

/* From `from` to `to`, or as far as `limit` allows, over folds. */
static struct going go(const struct thrum__view *view, double scale, int64_t from, int64_t to,
	double limit)
{
	const struct thrum__time_axis *axis = &view->time;
	struct going going = {
		.scale = scale,
		.band = axis->band,
		.limit = limit,
		.time = from,
		.to = to,
	};
	int64_t begin, end;

	ends_of(view, &begin, &end);
	thrum__companions_widen(view->tracks, &view->companions, begin, end, &from, &to);
	thrum__companions_idle(view->tracks, &view->companions, from, to,
		clamp_time((double)axis->gap * axis->scale / scale), go_over, &going);
	if (!going.arrived && going.to > going.time)
		go_to(&going, going.to, (double)(going.to - going.time) * scale);
	return going;
}

/* The time that lies so many pixels of a scale after another; over folds no farther than what can
 * be seen. */
static int64_t after(const struct thrum__view *view, double scale, int64_t time, double pixels)
{
	int64_t from, begin, end;
	double all;

	if (pixels == 0 || scale <= 0)
		return time;
	if (!view->is_folded)
		return clamp_time((double)time + pixels / scale);
	ends_of(view, &begin, &end);
	if (pixels > 0)
		return go(view, scale, time, end, pixels).time;
	/* Backwards: so far back that it is enough, then on from there by what is too much. */
	for (double span = -pixels / scale;; span *= 4) {
		from = clamp_time((double)time - span);
		if (from <= begin)
			from = begin < time ? begin : time;
		all = go(view, scale, from, time, INFINITY).passed;
		if (all >= -pixels)
			return go(view, scale, from, time, all + pixels).time;
		if (from <= begin)
			return from;
	}
}

/* The window of a picture's width that begins or ends at a time; at the trace's end, one that ends
 * there. */
static void window_from(struct thrum__view *view, double scale, int64_t from)
{
	thrum__view_window(view, from, after(view, scale, from, view->time.x1 - view->time.x0));
}

static void window_to(struct thrum__view *view, double scale, int64_t to)
{
	thrum__view_window(view, after(view, scale, to, view->time.x0 - view->time.x1), to);
}

void thrum__view_window(struct thrum__view *view, int64_t from, int64_t to)
{
	int64_t begin, end, span = to - from, all;

	thrum__view_whole(view, &begin, &end);
	all = end - begin;
	if (span < NARROWEST) {
		from -= (NARROWEST - span) / 2;
		span = NARROWEST;
	}
	if (span > all + all / 5)
		span = all + all / 5;
	if (from < begin - span / 10)
		from = begin - span / 10;
	if (from > end - span + span / 10)
		from = end - span + span / 10;
	/* Of traces that are aligned far away from each other. */
	if (from > THRUM__TIME_MAX - span)
		from = THRUM__TIME_MAX - span;
	if (from < -THRUM__TIME_MAX)
		from = -THRUM__TIME_MAX;
	view->state.from = from;
	view->state.to = from + span > THRUM__TIME_MAX ? THRUM__TIME_MAX : from + span;
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

static bool is_in_sight(const struct thrum__view *view, uint32_t row)
{
	const struct thrum__row_box *box = thrum__row_axis_find(&view->rows, row);

	return box && box->y >= view->rows.top && box->y + box->height <= view->rows.bottom;
}

int thrum__view_show_row(struct thrum__view *view, uint32_t row)
{
	const struct thrum__row_axis *rows = &view->rows;
	int status = 0;

	if (view->state.fisheye) {
		view->state.row = row;
		clamp_row(view);
		return 0;
	}
	/* With other times other rows are folded. Then to the middle; or, where what is above it
	 * takes more room than was thought, to the top. */
	for (int i = 0; i < 3 && status == 0; i++) {
		if (view->width > 0)
			status = thrum__view_project(view, view->width, view->height);
		if (status != 0 || i == 2 || is_in_sight(view, row))
			break;
		view->state.row = row;
		if (i == 0 && rows->count > 0)
			view->state.row -= (rows->boxes[rows->count - 1].row - rows->boxes[0].row) /
				2.0;
		clamp_row(view);
	}
	return status;
}

/* How far up rows can go until the last one has come into sight. */
static float room_below(const struct thrum__row_axis *rows)
{
	const struct thrum__row_box *last = rows->count > 0 ? &rows->boxes[rows->count - 1] : NULL;

	if (!last || last->y + last->height < rows->bottom)
		return 0;
	return last->row + last->rows >= rows->total ? last->y + last->height - rows->bottom
						     : INFINITY;
}

static void drag_rows(struct thrum__view *view, float y, float dy)
{
	struct thrum__row_axis *rows = &view->rows;

	if (!view->state.fisheye && -dy > room_below(rows))
		dy = -room_below(rows);
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

static void drag_time(struct thrum__view *view, double scale, double dx)
{
	if (dx > 0 || !view->is_folded)
		window_from(view, scale, after(view, scale, view->state.from, -dx));
	else
		window_to(view, scale, after(view, scale, view->state.to, -dx));
}

void thrum__view_drag(struct thrum__view *view, float x, float y, float dx, float dy)
{
	(void)x;
	if (dx != 0)
		drag_time(view, view->time.scale, dx);
	if (dy != 0)
		drag_rows(view, y, dy);
}

void thrum__view_zoom(struct thrum__view *view, float x, float y, double factor)
{
	const struct thrum__time_axis *axis = &view->time;
	int64_t time = thrum__time_axis_time(axis, x), from, to, begin, end;
	int64_t span = view->state.to - view->state.from;
	double scale = axis->scale * factor;

	(void)y;
	if (!(factor > 0) || !isfinite(factor))
		return;
	from = after(view, scale, time, axis->x0 - x);
	to = after(view, scale, time, axis->x1 - x);
	ends_of(view, &begin, &end);
	/* So close together that they don't move a nanosecond: by force. */
	if (factor < 1 && from == view->state.from && to == view->state.to) {
		from -= NARROWEST;
		to += NARROWEST;
	}
	if (!view->is_folded || (from > begin && to < end))
		thrum__view_window(view, from, to);
	else if (from <= begin)
		window_from(view, scale, begin);
	else
		window_to(view, scale, end);
	/* At a larger scale more is folded, which may take as much room as was to be won. */
	if (factor > 1 && view->state.to - view->state.from >= span)
		thrum__view_window(view, thrum__time_axis_time(axis, x - (x - axis->x0) / factor),
			thrum__time_axis_time(axis, x + (axis->x1 - x) / factor));
}

/* ---- Holding ------------------------------------------------------------------------------- */

/* Where other stretches or rows come into sight, their sizes change what has been guessed. */
#define TRIES 6
#define NEAR 0.25 /* px */

/* Moves both ends, at the scale that is, unless one is at the end of all. */
static void shift_time(struct thrum__view *view, double dx)
{
	struct thrum__view_state *state = &view->state;
	double scale = view->time.scale;
	int64_t begin, end;

	thrum__view_whole(view, &begin, &end);
	if (dx > 0 ? state->from > begin : state->to < end)
		thrum__view_window(view, after(view, scale, state->from, -dx),
			after(view, scale, state->to, -dx));
}

int thrum__view_hold_time(struct thrum__view *view, int64_t time, double x, double scale)
{
	for (int i = 0; i < TRIES; i++) {
		double away = x - thrum__time_axis_x(&view->time, time);
		int64_t from = view->state.from, to = view->state.to;
		int status;

		if (fabs(away) < NEAR)
			break;
		if (i == 0)
			drag_time(view, scale, away);
		else
			shift_time(view, away);
		if (view->state.from == from && view->state.to == to)
			break;
		status = thrum__view_project(view, view->width, view->height);
		if (status != 0)
			return status;
	}
	return 0;
}

static bool y_of_row(const struct thrum__row_axis *rows, double row, float *y)
{
	const struct thrum__row_box *box = thrum__row_axis_find(rows, (uint32_t)row);

	if (box)
		*y = box->y + (float)((row - box->row) / box->rows) * box->height;
	return box != NULL;
}

int thrum__view_hold_row(struct thrum__view *view, double row, float y)
{
	struct thrum__row_axis *rows = &view->rows;
	float at;

	if (view->state.fisheye) {
		view->state.row = thrum__fisheye_focus(rows->total, rows->top, rows->bottom,
			rows->focus_y, rows->strength, row, y);
		return thrum__view_project(view, view->width, view->height);
	}
	for (int i = 0; i < TRIES; i++) {
		double before = view->state.row;
		int status;

		if (!y_of_row(rows, row, &at)) /* what is held stays in sight, but for quiet ones */
			break;
		if (fabsf(y - at) < (float)NEAR)
			break;
		drag_rows(view, at, y - at);
		if (view->state.row == before)
			break;
		status = thrum__view_project(view, view->width, view->height);
		if (status != 0)
			return status;
	}
	return 0;
}
