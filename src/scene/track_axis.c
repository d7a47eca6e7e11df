/* SPDX-License-Identifier: ISC */
/* Projects tracks to y and back: even, squeezed, or as through a fish-eye. */
#include <math.h>
#include <stdlib.h>
#include <thrum.h>

#include "base/array.h"
#include "base/sort.h"
#include "base/time.h"
#include "scene/axis.h"

enum {
	HEIGHT_LEAST = 2, /* px: heights that are chosen so that all tracks fit */
	HEIGHT_MOST = 46,
	LOUD_LEAST = 20,
	QUIET_LEAST = 3,
	QUIET_MOST = 6,
	BEYOND = 8, /* px outside of the edges: the lines of tracks that are out of sight */
};

void thrum__scene_track_axis_init(struct thrum__scene_track_axis *axis)
{
	*axis = (struct thrum__scene_track_axis){0};
}

void thrum__scene_track_axis_finish(struct thrum__scene_track_axis *axis)
{
	free(axis->boxes);
	thrum__scene_track_axis_init(axis);
}

/* ---- Boxes --------------------------------------------------------------------------------- */

static int class_at(double height, bool is_quiet)
{
	return is_quiet        ? THRUM__TRACK_SQUEEZED
		: height >= 34 ? THRUM__TRACK_ROOMY
		: height >= 22 ? THRUM__TRACK_NORMAL
		: height >= 10 ? THRUM__TRACK_COMPACT
			       : THRUM__TRACK_DENSE;
}

static double line_at(int class)
{
	return class == THRUM__TRACK_ROOMY ? 0.55 : class == THRUM__TRACK_NORMAL ? 0.66 : 0.5;
}

static double bar_of(int class, double height)
{
	double bar = floor(height) - 1;

	if (class == THRUM__TRACK_ROOMY)
		return 12;
	return bar > 10 ? 10 : bar < 1 ? 1 : bar;
}

static int add_box(struct thrum__scene_track_axis *axis, uint32_t track, uint32_t tracks, double y,
	double height, bool is_quiet)
{
	struct thrum__scene_track_box *boxes = thrum__base_grow(axis->boxes, &axis->room,
		axis->count + 1ull, sizeof(*boxes));
	int class = class_at(height, is_quiet);

	if (!boxes)
		return -THRUM_E_MEMORY;
	axis->boxes = boxes;
	boxes[axis->count++] = (struct thrum__scene_track_box){
		.track = track,
		.tracks = tracks,
		.y = (float)y,
		.height = (float)height,
		.line = (float)floor(y + height * line_at(class) + 0.5),
		.bar = (float)bar_of(class, height),
		.line_width = class <= THRUM__TRACK_COMPACT ? 2 : 1,
		.size = (uint8_t) class,
	};
	return 0;
}

/* ---- Even ---------------------------------------------------------------------------------- */

static int set_even(struct thrum__scene_track_axis *axis, double height)
{
	double room = (double)axis->bottom - (double)axis->top, y = 0;
	uint32_t track = (uint32_t)axis->first;
	int error = 0;

	if (!(height > 0))
		height = fmin(fmax(room / (axis->total ? axis->total : 1), HEIGHT_LEAST),
			HEIGHT_MOST);
	axis->height = height;
	/* If tracks are less than a pixel high, a box holds all that begin within one pixel. */
	while (track < axis->total && y < room && !error) {
		double end = height < 1 ? floor(axis->first + (y + 1) / height) : track + 1.0;
		uint32_t next = end < axis->total ? (uint32_t)end : axis->total;

		if (next <= track)
			next = track + 1;
		if (height >= 1)
			y = (track - axis->first) * height;
		error = add_box(axis, track, next - track, (double)axis->top + y,
			height < 1 ? 1 : height, false);
		y += height < 1 ? 1 : height;
		track = next;
	}
	return error;
}

/* ---- Squeezed ------------------------------------------------------------------------------ */

struct loudness {
	const struct thrum__index *index;
	int64_t from, to;
	const bool *wanted;
	bool is_quiet;   /* all tracks are quiet and have room: none is squeezed */
	bool is_crowded; /* only wanted tracks have room */
};

static bool is_loud(const struct loudness *loudness, uint32_t track)
{
	if (loudness->wanted)
		return loudness->wanted[track];
	return loudness->is_quiet ||
		thrum__index_is_loud(loudness->index, track, loudness->from, loudness->to);
}

/* Returns the first track from `track` on that has a place. */
static uint32_t next_track(const struct loudness *loudness, uint32_t track, uint32_t total)
{
	for (;; track++) {
		track = thrum__index_next_track(loudness->index, track, loudness->from,
			loudness->to);
		if (track >= total)
			return total;
		if (!loudness->is_crowded || loudness->wanted[track])
			return track;
	}
}

/* Chooses the heights of loud and quiet tracks (loud: only if it is 0) so that all tracks fit, if
 * the least heights allow it. Stops counting tracks as soon as they don't fit. */
static void fit_squeezed(const struct thrum__scene_track_axis *axis, struct loudness *loudness,
	double *loud, double *quiet)
{
	double room = (double)axis->bottom - (double)axis->top;
	double louds = 0, quiets = 0;

	for (uint32_t track = next_track(loudness, 0, axis->total);
		track < axis->total && louds * LOUD_LEAST + quiets * QUIET_LEAST <= room;
		track = next_track(loudness, track + 1, axis->total)) {
		if (is_loud(loudness, track))
			louds++;
		else
			quiets++;
	}
	loudness->is_quiet = !loudness->wanted && louds == 0 && quiets * LOUD_LEAST <= room;
	loudness->is_crowded = loudness->wanted && louds * LOUD_LEAST + quiets * QUIET_LEAST > room;
	if (loudness->is_quiet) {
		louds = quiets;
		quiets = 0;
	}
	if (*loud <= 0)
		*loud = louds > 0 ? (room - quiets * QUIET_LEAST) / louds : HEIGHT_MOST;
	*loud = fmin(fmax(*loud, LOUD_LEAST), HEIGHT_MOST);
	*quiet = quiets > 0 ? (room - louds * *loud) / quiets : QUIET_MOST;
	*quiet = floor(fmin(fmax(*quiet, QUIET_LEAST), QUIET_MOST));
}

static int set_squeezed(struct thrum__scene_track_axis *axis, struct loudness *loudness,
	double height)
{
	double quiet, y = (double)axis->top;
	uint32_t track = (uint32_t)axis->first;
	int error = 0;

	fit_squeezed(axis, loudness, &height, &quiet);
	axis->height = height;
	track = next_track(loudness, track, axis->total);
	if (track == (uint32_t)axis->first && track < axis->total)
		y -= (axis->first - track) * (is_loud(loudness, track) ? height : quiet);
	while (track < axis->total && y < (double)axis->bottom && !error) {
		bool is_high = is_loud(loudness, track);
		double high = is_high ? height : quiet;

		error = add_box(axis, track, 1, y, high, !is_high);
		y += high;
		track = next_track(loudness, track + 1, axis->total);
	}
	return error;
}

int thrum__scene_track_axis_set(struct thrum__scene_track_axis *axis,
	const struct thrum__index *index, uint32_t total, int projection, float top, float bottom,
	double first, double height, int64_t from, int64_t to, const bool *wanted)
{
	struct loudness loudness = {.index = index, .from = from, .to = to, .wanted = wanted};

	axis->count = 0;
	axis->total = total;
	axis->top = top;
	axis->bottom = bottom;
	axis->projection = (uint8_t)projection;
	axis->first = first > 0 ? fmin(first, total) : 0;
	return projection == THRUM__TRACKS_SQUEEZED ? set_squeezed(axis, &loudness, height)
						    : set_even(axis, height);
}

/* ---- Fish-eye ------------------------------------------------------------------------------ */

/* The tracks above the focus, or those below it: how many, and px for them. */
struct fisheye_side {
	double tracks, room, strength;
};

/* The c of strength / (1 + c d)² with which the side's tracks just fill its room; 0 if they are too
 * few to fill it. */
static double bend_of(const struct fisheye_side *side)
{
	double c = (side->strength * side->tracks / side->room - 1) / side->tracks;

	return c > 0 ? c : 0;
}

/* Px from the focus at a distance in tracks, and tracks at a distance in px. */
static double pixels_at(const struct fisheye_side *side, double tracks)
{
	if (!(side->tracks > 0) || !(side->room > 0))
		return 0;
	return side->strength * tracks / (1 + bend_of(side) * tracks);
}

static double tracks_at(const struct fisheye_side *side, double pixels)
{
	if (!(side->tracks > 0) || !(side->room > 0))
		return 0;
	double left = side->strength - bend_of(side) * pixels;
	double tracks = left > 0 ? pixels / left : side->tracks;

	return tracks < side->tracks ? tracks : side->tracks;
}

/* Returns y where the focus really lies: as near to an edge as necessary so that neither side has
 * more room than its tracks fill. The top has precedence. */
static double focus_line(const struct thrum__scene_track_axis *axis)
{
	double below = (axis->total - axis->focus) * axis->strength;
	double y = fmax(axis->focus_y, (double)axis->bottom - below);

	return fmin(y, (double)axis->top + axis->focus * axis->strength);
}

static struct fisheye_side side_of(const struct thrum__scene_track_axis *axis, bool is_below)
{
	return (struct fisheye_side){
		.tracks = is_below ? axis->total - axis->focus : axis->focus,
		.room = is_below ? (double)axis->bottom - focus_line(axis)
				 : focus_line(axis) - (double)axis->top,
		.strength = axis->strength,
	};
}

static double fisheye_y_of(const struct thrum__scene_track_axis *axis, double track)
{
	bool is_below = track > axis->focus;
	struct fisheye_side side = side_of(axis, is_below);

	return is_below ? focus_line(axis) + pixels_at(&side, track - axis->focus)
			: focus_line(axis) - pixels_at(&side, axis->focus - track);
}

static double fisheye_track_of(const struct thrum__scene_track_axis *axis, double y)
{
	double line = focus_line(axis);
	bool is_below = y > line;
	struct fisheye_side side = side_of(axis, is_below);

	return is_below ? axis->focus + tracks_at(&side, y - line)
			: axis->focus - tracks_at(&side, line - y);
}

int thrum__scene_track_axis_fisheye(struct thrum__scene_track_axis *axis, uint32_t total, float top,
	float bottom, double focus, double focus_y, double strength)
{
	int error = 0;

	axis->count = 0;
	axis->total = total;
	axis->top = top;
	axis->bottom = bottom;
	axis->projection = THRUM__TRACKS_FISHEYE;
	axis->focus = fmin(fmax(focus, 0), total);
	axis->focus_y = fmin(fmax(focus_y, (double)top), (double)bottom);
	axis->strength = strength > 1 ? strength : 1;
	for (uint32_t track = 0, next; track < total && !error; track = next) {
		double y = fisheye_y_of(axis, track), end = fisheye_y_of(axis, track + 1.0);

		next = track + 1;
		if (end - y < 1) {
			double last = floor(fisheye_track_of(axis, y + 1));

			if (last > next)
				next = last < total ? (uint32_t)last : total;
			end = fisheye_y_of(axis, next);
		}
		error = add_box(axis, track, next - track, y, end - y, false);
	}
	return error;
}

double thrum__scene_fisheye_focus(uint32_t total, float top, float bottom, double focus_y,
	double strength, double track, float y)
{
	struct thrum__scene_track_axis axis = {
		.total = total,
		.top = top,
		.bottom = bottom,
		.focus_y = focus_y,
		.strength = strength > 1 ? strength : 1,
	};
	double low = 0, high = total;

	/* A larger focus moves every track up. */
	for (int i = 0; i < 64; i++) {
		axis.focus = (low + high) / 2;
		if (fisheye_y_of(&axis, track) > (double)y)
			low = axis.focus;
		else
			high = axis.focus;
	}
	return axis.focus;
}

/* ---- Looking up ---------------------------------------------------------------------------- */

/* Returns the last box that begins at or before a track; axis->count if there is none. */
static uint32_t box_before(const struct thrum__scene_track_axis *axis, uint32_t track)
{
	uint32_t low = 0, high = axis->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (axis->boxes[middle].track <= track)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : axis->count;
}

const struct thrum__scene_track_box *
thrum__scene_track_axis_find(const struct thrum__scene_track_axis *axis, uint32_t track)
{
	uint32_t i = box_before(axis, track);

	if (i == axis->count || track - axis->boxes[i].track >= axis->boxes[i].tracks)
		return NULL;
	return &axis->boxes[i];
}

float thrum__scene_track_axis_line(const struct thrum__scene_track_axis *axis, uint32_t track)
{
	uint32_t i = box_before(axis, track);

	if (i == axis->count)
		return axis->top - BEYOND;
	if (track - axis->boxes[i].track < axis->boxes[i].tracks)
		return axis->boxes[i].line;
	/* The track is left out: its line is between its neighbours, or below all. */
	return i + 1 < axis->count ? axis->boxes[i + 1].y : axis->bottom + BEYOND;
}

double thrum__scene_track_axis_track(const struct thrum__scene_track_axis *axis, float y)
{
	uint32_t low = 0, high = axis->count;
	double track = axis->first + ((double)y - (double)axis->top) / axis->height;

	if (axis->projection == THRUM__TRACKS_FISHEYE) {
		track = fisheye_track_of(axis, (double)y);
	} else if (axis->projection == THRUM__TRACKS_SQUEEZED && high > 0) {
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;

			if (axis->boxes[middle].y <= y)
				low = middle;
			else
				high = middle;
		}
		const struct thrum__scene_track_box *box = &axis->boxes[low];

		track = box->track + (double)((y - box->y) / box->height);
		if (track > box->track + 1.0)
			track = box->track + 1.0;
	}
	return track > 0 ? fmin(track, axis->total) : 0;
}
