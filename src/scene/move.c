/* SPDX-License-Identifier: ISC */
/* Moves the window over time and tracks: zooming, dragging, and distances in pixels across
 * folds. */
#include <math.h>

#include "scene/bands/bands.h"
#include "scene/move.h"

#define NARROWEST 10 /* ns: the shortest window */

/* ---- Time ---------------------------------------------------------------------------------- */

static int64_t clamp_time(double time)
{
	return time > (double)THRUM__TIME_MAX     ? THRUM__TIME_MAX
		: time < -(double)THRUM__TIME_MAX ? -THRUM__TIME_MAX
						  : (int64_t)time;
}

/* Returns the range within which one moves across folds: the whole time, or the window where it
 * already reaches farther. */
static void ends_of(const struct thrum__scene *scene, int64_t *begin, int64_t *end)
{
	thrum__scene_whole(scene, begin, end);
	*begin = scene->state.from < *begin ? scene->state.from : *begin;
	*end = scene->state.to > *end ? scene->state.to : *end;
}

/* A walk from a time to `to`, across segments and folds, of at most `limit` pixels. */
struct travel {
	double scale, band;
	double limit, passed; /* px */
	int64_t time, to;     /* where one is now, and where one goes */
	bool arrived;         /* the limit is reached */
};

static void advance_to(struct travel *travel, int64_t time, double pixels)
{
	double left = travel->limit - travel->passed;

	if (pixels > left) {
		travel->time += clamp_time((double)(time - travel->time) * left / pixels);
		travel->passed = travel->limit;
		travel->arrived = true;
		return;
	}
	travel->passed += pixels;
	travel->time = time;
}

static bool pass_fold(void *context, int64_t start, int64_t end)
{
	struct travel *travel = context;
	int64_t to = end < travel->to ? end : travel->to;

	if (start >= travel->to)
		return false;
	if (start > travel->time)
		advance_to(travel, start, (double)(start - travel->time) * travel->scale);
	/* The walk may begin or end inside a band. */
	if (!travel->arrived && to > travel->time)
		advance_to(travel, to,
			travel->band * (double)(to - travel->time) / (double)(end - start));
	return !travel->arrived;
}

/* Goes from `from` to `to`, or as far as `limit` allows, across folds. */
static struct travel travel_over(const struct thrum__scene *scene, double scale, int64_t from,
	int64_t to, double limit)
{
	const struct thrum__scene_time_axis *axis = &scene->time;
	struct travel travel = {
		.scale = scale,
		.band = axis->band,
		.limit = limit,
		.time = from,
		.to = to,
	};
	int64_t begin, end;

	ends_of(scene, &begin, &end);
	thrum__scene_companions_widen(scene->index, &scene->companions, begin, end, &from, &to);
	thrum__scene_companions_idle(scene->index, &scene->companions, from, to,
		clamp_time((double)axis->gap * axis->scale / scale), pass_fold, &travel);
	if (!travel.arrived && travel.to > travel.time)
		advance_to(&travel, travel.to, (double)(travel.to - travel.time) * scale);
	return travel;
}

/* Returns the time that lies so many pixels (negative: before) after another at a scale. Across
 * folds it goes no farther than ends_of. */
static int64_t time_after(const struct thrum__scene *scene, double scale, int64_t time,
	double pixels)
{
	int64_t from, begin, end;
	double all;

	if (pixels == 0 || scale <= 0)
		return time;
	if (!scene->is_folded)
		return clamp_time((double)time + pixels / scale);
	ends_of(scene, &begin, &end);
	if (pixels > 0)
		return travel_over(scene, scale, time, end, pixels).time;
	/* Backwards: start so far back that it is enough, then go forwards by the surplus. */
	for (double span = -pixels / scale;; span *= 4) {
		from = clamp_time((double)time - span);
		if (from <= begin)
			from = begin < time ? begin : time;
		all = travel_over(scene, scale, from, time, INFINITY).passed;
		if (all >= -pixels)
			return travel_over(scene, scale, from, time, all + pixels).time;
		if (from <= begin)
			return from;
	}
}

/* Set a window that takes the picture's width at a scale and begins, or ends, at a time. */
static void set_window_from(struct thrum__scene *scene, double scale, int64_t from)
{
	thrum__scene_set_window(scene, from,
		time_after(scene, scale, from, scene->time.x1 - scene->time.x0));
}

static void set_window_to(struct thrum__scene *scene, double scale, int64_t to)
{
	thrum__scene_set_window(scene,
		time_after(scene, scale, to, scene->time.x0 - scene->time.x1), to);
}

void thrum__scene_set_window(struct thrum__scene *scene, int64_t from, int64_t to)
{
	int64_t begin, end, span = to - from, all;

	thrum__scene_whole(scene, &begin, &end);
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
	/* Traces may be aligned far away from each other. */
	if (from > THRUM__TIME_MAX - span)
		from = THRUM__TIME_MAX - span;
	if (from < -THRUM__TIME_MAX)
		from = -THRUM__TIME_MAX;
	scene->state.from = from;
	scene->state.to = from + span > THRUM__TIME_MAX ? THRUM__TIME_MAX : from + span;
}

static int64_t clamp_end(int64_t time)
{
	return time < -THRUM__END_MAX   ? -THRUM__END_MAX
		: time > THRUM__END_MAX ? THRUM__END_MAX
					: time;
}

void thrum__scene_set_window_around(struct thrum__scene *scene, int64_t from, int64_t to,
	int64_t margin)
{
	margin = clamp_end(margin);
	thrum__scene_set_window(scene, clamp_end(from) - margin, clamp_end(to) + margin);
}

/* ---- Tracks -------------------------------------------------------------------------------- */

static void clamp_track(struct thrum__scene *scene)
{
	double last = scene->layout->tracks > 0 ? scene->layout->tracks - 1 : 0;

	if (!(scene->state.track > 0))
		scene->state.track = 0;
	else if (scene->state.track > last)
		scene->state.track = last;
}

static bool is_in_sight(const struct thrum__scene *scene, uint32_t track)
{
	const struct thrum__scene_track_box *box = thrum__scene_track_axis_find(&scene->tracks,
		track);

	return box && box->y >= scene->tracks.top && box->y + box->height <= scene->tracks.bottom;
}

int thrum__scene_show_track(struct thrum__scene *scene, uint32_t track)
{
	const struct thrum__scene_track_axis *tracks = &scene->tracks;
	int status = 0;

	if (scene->shows_bands)
		return thrum__scene_bands_show(scene, scene->selected);
	if (scene->state.fisheye) {
		scene->state.track = track;
		clamp_track(scene);
		return 0;
	}
	/* Another window may squeeze other tracks, so project first. Then bring the track to the
	 * middle; or, if the tracks above it take more room than expected, to the top. */
	for (int i = 0; i < 3 && status == 0; i++) {
		if (scene->width > 0)
			status = thrum__scene_project(scene, scene->width, scene->height);
		if (status != 0 || i == 2 || is_in_sight(scene, track))
			break;
		scene->state.track = track;
		if (i == 0 && tracks->count > 0)
			scene->state.track -= (tracks->boxes[tracks->count - 1].track -
						      tracks->boxes[0].track) /
				2.0;
		clamp_track(scene);
	}
	return status;
}

int thrum__scene_show_tracks(struct thrum__scene *scene, uint32_t first, uint32_t last,
	uint32_t most)
{
	int status = thrum__scene_show_track(scene, most);

	if (status != 0 || scene->shows_bands || scene->state.fisheye || scene->width <= 0 ||
		(is_in_sight(scene, first) && is_in_sight(scene, last)))
		return status;
	scene->state.track = first;
	clamp_track(scene);
	status = thrum__scene_project(scene, scene->width, scene->height);
	return status != 0 || is_in_sight(scene, last) ? status
						       : thrum__scene_show_track(scene, most);
}

/* Returns how many px the tracks can move up until the last one is in sight. */
static float room_below(const struct thrum__scene_track_axis *tracks)
{
	const struct thrum__scene_track_box *last = tracks->count > 0
		? &tracks->boxes[tracks->count - 1]
		: NULL;

	if (!last || last->y + last->height < tracks->bottom)
		return 0;
	return last->track + last->tracks >= tracks->total ? last->y + last->height - tracks->bottom
							   : INFINITY;
}

/* Scrolls the bands so that the place with this number, with fraction, lies at y. */
static void hold_place(struct thrum__scene *scene, double place, float y)
{
	const struct thrum__scene_bands *bands = scene->bands;
	float top = scene->tracks.top - THRUM__PAD;

	scene->state.track = thrum__scene_bands_track(bands,
		thrum__scene_bands_scroll(bands, place) - (y - top));
}

double thrum__scene_track_at(const struct thrum__scene *scene, float y)
{
	const struct thrum__scene_bands *bands = scene->bands;
	float top = scene->tracks.top - THRUM__PAD;

	return scene->shows_bands && bands
		? thrum__scene_bands_place_at(bands,
			  thrum__scene_bands_scroll(bands, scene->state.track) + y - top)
		: thrum__scene_track_axis_track(&scene->tracks, y);
}

static void drag_tracks(struct thrum__scene *scene, float y, float dy)
{
	struct thrum__scene_track_axis *tracks = &scene->tracks;

	if (scene->shows_bands && scene->bands) {
		hold_place(scene, thrum__scene_track_at(scene, y), y + dy);
		return;
	}
	if (!scene->state.fisheye && -dy > room_below(tracks))
		dy = -room_below(tracks);
	if (scene->state.fisheye)
		scene->state.track = thrum__scene_fisheye_focus(tracks->total, tracks->top,
			tracks->bottom, tracks->focus_y, tracks->strength,
			thrum__scene_track_axis_track(tracks, y), y + dy);
	else if (dy < 0)
		scene->state.track = thrum__scene_track_axis_track(tracks, tracks->top - dy);
	else if (tracks->projection == THRUM__TRACKS_EVEN && tracks->height > 0)
		scene->state.track -= dy / tracks->height;
	else /* tracks above the top have no boxes: assume that they are as high as the first one */
		scene->state.track -= dy / (tracks->count > 0 ? tracks->boxes[0].height : 1);
	clamp_track(scene);
}

/* ---- Both ---------------------------------------------------------------------------------- */

static void drag_time(struct thrum__scene *scene, double scale, double dx)
{
	if (dx > 0 || !scene->is_folded)
		set_window_from(scene, scale, time_after(scene, scale, scene->state.from, -dx));
	else
		set_window_to(scene, scale, time_after(scene, scale, scene->state.to, -dx));
}

void thrum__scene_drag(struct thrum__scene *scene, float x, float y, float dx, float dy)
{
	(void)x;
	if (dx != 0)
		drag_time(scene, scene->time.scale, dx);
	if (dy != 0)
		drag_tracks(scene, y, dy);
}

void thrum__scene_zoom(struct thrum__scene *scene, float x, float y, double factor)
{
	const struct thrum__scene_time_axis *axis = &scene->time;
	int64_t time = thrum__scene_time_axis_time(axis, x), from, to, begin, end;
	int64_t span = scene->state.to - scene->state.from;
	double scale = axis->scale * factor;

	(void)y;
	if (!(factor > 0) || !isfinite(factor))
		return;
	from = time_after(scene, scale, time, axis->x0 - x);
	to = time_after(scene, scale, time, axis->x1 - x);
	ends_of(scene, &begin, &end);
	/* The ends are so close together that rounding keeps them where they are: move them. */
	if (factor < 1 && from == scene->state.from && to == scene->state.to) {
		from -= NARROWEST;
		to += NARROWEST;
	}
	if (!scene->is_folded || (from > begin && to < end))
		thrum__scene_set_window(scene, from, to);
	else if (from <= begin)
		set_window_from(scene, scale, begin);
	else
		set_window_to(scene, scale, end);
	/* A larger scale folds more, and the bands may take all of the room that was gained. Then
	 * choose the window from the present picture. */
	if (factor > 1 && scene->state.to - scene->state.from >= span)
		thrum__scene_set_window(scene,
			thrum__scene_time_axis_time(axis, x - (x - axis->x0) / factor),
			thrum__scene_time_axis_time(axis, x + (axis->x1 - x) / factor));
}

/* ---- Holding ------------------------------------------------------------------------------- */

/* A move may bring other segments or tracks into sight, whose sizes differ from the guess: try
 * again until the place is right. */
#define TRIES 6
#define NEAR 0.25 /* px */

/* Moves both ends of the window at the present scale, unless one is at the end of the whole
 * time. */
static void shift_time(struct thrum__scene *scene, double dx)
{
	struct thrum__scene_state *state = &scene->state;
	double scale = scene->time.scale;
	int64_t begin, end;

	thrum__scene_whole(scene, &begin, &end);
	if (dx > 0 ? state->from > begin : state->to < end)
		thrum__scene_set_window(scene, time_after(scene, scale, state->from, -dx),
			time_after(scene, scale, state->to, -dx));
}

int thrum__scene_hold_time(struct thrum__scene *scene, int64_t time, double x, double scale)
{
	for (int i = 0; i < TRIES; i++) {
		double away = x - thrum__scene_time_axis_x(&scene->time, time);
		int64_t from = scene->state.from, to = scene->state.to;
		int status;

		if (fabs(away) < NEAR)
			break;
		if (i == 0)
			drag_time(scene, scale, away);
		else
			shift_time(scene, away);
		if (scene->state.from == from && scene->state.to == to)
			break;
		status = thrum__scene_project(scene, scene->width, scene->height);
		if (status != 0)
			return status;
	}
	return 0;
}

static bool y_of_track(const struct thrum__scene_track_axis *tracks, double track, float *y)
{
	const struct thrum__scene_track_box *box = thrum__scene_track_axis_find(tracks,
		(uint32_t)track);

	if (box)
		*y = box->y + (float)((track - box->track) / box->tracks) * box->height;
	return box != NULL;
}

int thrum__scene_hold_track(struct thrum__scene *scene, double track, float y)
{
	struct thrum__scene_track_axis *tracks = &scene->tracks;
	float at;

	if (scene->shows_bands && scene->bands) {
		hold_place(scene, track, y);
		return 0;
	}
	if (scene->state.fisheye) {
		scene->state.track = thrum__scene_fisheye_focus(tracks->total, tracks->top,
			tracks->bottom, tracks->focus_y, tracks->strength, track, y);
		return thrum__scene_project(scene, scene->width, scene->height);
	}
	for (int i = 0; i < TRIES; i++) {
		double before = scene->state.track;
		int status;

		/* A held track stays in sight, unless it is a quiet one that was left out. */
		if (!y_of_track(tracks, track, &at))
			break;
		if (fabsf(y - at) < (float)NEAR)
			break;
		drag_tracks(scene, at, y - at);
		if (scene->state.track == before)
			break;
		status = thrum__scene_project(scene, scene->width, scene->height);
		if (status != 0)
			return status;
	}
	return 0;
}
