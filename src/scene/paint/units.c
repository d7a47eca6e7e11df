/* SPDX-License-Identifier: ISC */
/*
 * Walks the units of a track as far as they can be told apart. The index merges units that lie
 * close together into stretches, but such a stretch may contain wide units right behind narrow
 * ones. Units of a track don't overlap. So a unit that is at least `wide` ns long is the last one
 * to start within some `wide` ns, and it is enough to look at the last unit of each step of `wide`
 * ns: the number of steps is bounded by pixels.
 */
#include "scene/paint/paint.h"

int64_t thrum__paint_end_of_unit(const struct thrum__paint *p, uint32_t unit)
{
	return thrum__layout_lasts(p->layout, unit) ? p->model->end : p->layout->units[unit].end;
}

size_t thrum__paint_first_in_sight(const struct thrum__paint *p, uint32_t track, size_t *end)
{
	const int kind = THRUM__INDEX_UNITS;
	size_t at = thrum__index_seek(p->index, kind, track, p->from, end);

	if (at > thrum__index_first(p->index, kind, track)) {
		uint32_t unit = thrum__index_item(p->index, kind, at - 1);

		if (thrum__paint_end_of_unit(p, unit) >= p->from)
			at--;
	}
	return at;
}

void thrum__paint_units_begin(struct thrum__paint_units_walk *w, const struct thrum__paint *p,
	const struct thrum__scene_track_box *box, float gap, uint32_t allowance)
{
	*w = (struct thrum__paint_units_walk){.p = p,
		.track = box->track,
		.tracks = box->tracks,
		.allowance = allowance};
	thrum__index_walk_begin(&w->walk, p->index, THRUM__INDEX_UNITS, box->track, box->tracks,
		p->from, p->to, thrum__paint_span(p, gap));
}

static uint32_t unit_at(const struct thrum__paint_units_walk *w, size_t position)
{
	return thrum__index_item(w->p->index, THRUM__INDEX_UNITS, position);
}

static int64_t start_at(const struct thrum__paint_units_walk *w, size_t position)
{
	return w->p->layout->units[unit_at(w, position)].start;
}

/* Begins to walk the units of a stretch, with the first one in the window. If the stretch has more
 * units than may still be looked at, makes the steps larger. */
static void look_into(struct thrum__paint_units_walk *w, const struct thrum__index_stretch *stretch)
{
	const struct thrum__paint *p = w->p;
	int64_t from = stretch->start > p->from ? stretch->start : p->from;
	uint32_t left = w->looked_at < w->allowance ? w->allowance - w->looked_at : 0;
	size_t first = thrum__index_first(p->index, THRUM__INDEX_UNITS, w->track);

	w->until = stretch->end < p->to ? stretch->end : p->to;
	w->wide = thrum__paint_span(p, 2);
	if (stretch->count > left) {
		float pixels = thrum__paint_clamped(p, w->until) - thrum__paint_clamped(p, from);

		w->wide = thrum__paint_span(p, 2 + 2 * pixels / (float)(left + 1));
	}
	w->at = thrum__index_seek(p->index, THRUM__INDEX_UNITS, w->track, from, &w->end);
	if (w->at > first && thrum__paint_end_of_unit(p, unit_at(w, w->at - 1)) >= from)
		w->at--;
}

static void step_over(struct thrum__paint_units_walk *w, int64_t start)
{
	int64_t beyond = start > INT64_MAX - w->wide ? INT64_MAX : start + w->wide;
	size_t next = w->at + 1;

	/* Mostly the next unit is beyond, and no search is needed. */
	if (next < w->end && start_at(w, next) < beyond)
		next = thrum__index_seek(w->p->index, THRUM__INDEX_UNITS, w->track, beyond,
			       &w->end) -
			1;
	w->at = next > w->at ? next : w->at + 1;
	w->looked_at++;
}

/* Gives the next wide unit of the stretch, or the narrow ones before it; returns false at its
 * end. */
static bool next_within(struct thrum__paint_units_walk *w, struct thrum__paint_units_seen *seen)
{
	uint32_t count = 0;

	for (; w->at < w->end; count++) {
		uint32_t unit = unit_at(w, w->at);
		int64_t start = start_at(w, w->at), end = thrum__paint_end_of_unit(w->p, unit);
		bool is_wide = end - start >= w->wide;
		size_t before = w->at;

		if (start > w->until || (is_wide && count > 0))
			break;
		if (count == 0)
			*seen = (struct thrum__paint_units_seen){unit, unit, start, end};
		else
			seen->unit = THRUM__NONE;
		if (end > seen->end)
			seen->end = end;
		step_over(w, start);
		if (is_wide)
			return true;
		if (w->at > before + 1)
			seen->unit = THRUM__NONE;
	}
	if (w->at < w->end && start_at(w, w->at) > w->until)
		w->at = w->end;
	return count > 0;
}

bool thrum__paint_units_next(struct thrum__paint_units_walk *w,
	struct thrum__paint_units_seen *seen)
{
	struct thrum__index_stretch stretch;

	while (!next_within(w, seen)) {
		if (!thrum__index_walk_next(&w->walk, &stretch))
			return false;
		*seen = (struct thrum__paint_units_seen){THRUM__NONE, stretch.item, stretch.start,
			stretch.end};
		if (stretch.count == 1)
			seen->unit = stretch.item;
		else if (w->tracks == 1) {
			look_into(w, &stretch);
			continue;
		}
		w->looked_at++;
		return true;
	}
	return true;
}
