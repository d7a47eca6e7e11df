/* SPDX-License-Identifier: ISC */
/* Where the units are that the search found. */
#include "scene/found.h"

#include "base/array.h"
#include "scene/paint/paint.h"
#include "timeline/pieces.h"

#define ADDED_MAX 1024 /* not sorted: each frame looks at them */

/* As tracks have it. */
static int64_t start_of(const struct thrum__view *view, uint32_t unit)
{
	return thrum__bounded(view->layout->units[unit].start);
}

static bool grow(struct thrum__found *found, uint64_t count)
{
	struct thrum__found_unit *all = thrum__grown(found->all, &found->room, count, sizeof *all);

	if (all)
		found->all = all;
	return all;
}

/* Tracks have units in that order already. */
const struct thrum__found *thrum__found_of(const struct thrum__view *view)
{
	struct thrum__found *found = &view->memory->found;

	if (found->is_known)
		return found;
	if (!grow(found, view->found))
		return NULL;
	found->count = 0;
	for (uint32_t row = 0; row < view->layout->rows && found->count < view->found; row++) {
		const int kind = THRUM__TRACK_UNITS;
		size_t end, at = thrum__track_seek(view->tracks, kind, row, INT64_MIN, &end);

		for (; at < end && found->count < view->found; at++) {
			uint32_t unit = thrum__track_item(view->tracks, kind, at);

			if (view->looks[unit] & THRUM__LOOK_FOUND)
				found->all[found->count++] =
					(struct thrum__found_unit){thrum__track_time(view->tracks,
									   kind, at),
						row, unit};
		}
	}
	found->sorted = found->count;
	found->is_known = true;
	return found;
}

static bool is_at(const struct thrum__found_unit *at, uint32_t row, int64_t start, uint32_t unit)
{
	return at->unit == unit && at->start == start && at->row == row;
}

static bool has(const struct thrum__found *found, uint32_t row, int64_t start, uint32_t unit)
{
	uint32_t i = thrum__found_seek(found, row, start);

	if (i < found->sorted && is_at(&found->all[i], row, start, unit))
		return true;
	for (i = found->sorted; i < found->count; i++)
		if (is_at(&found->all[i], row, start, unit))
			return true;
	return false;
}

void thrum__found_add(const struct thrum__view *view, uint32_t unit)
{
	struct thrum__found *found = &view->memory->found;
	uint32_t row = thrum__layout_row(view->layout, unit);
	int64_t start = start_of(view, unit);

	if (!found->is_known || has(found, row, start, unit))
		return;
	/* Else they are asked for anew. */
	found->is_known = found->count - found->sorted < ADDED_MAX &&
		grow(found, found->count + 1ull);
	if (found->is_known)
		found->all[found->count++] = (struct thrum__found_unit){start, row, unit};
}

bool thrum__found_holds(const struct thrum__view *view, const struct thrum__found_unit *at)
{
	const struct thrum__unit *unit = &view->layout->units[at->unit];

	return unit->task != THRUM__NONE && view->looks[at->unit] & THRUM__LOOK_FOUND &&
		start_of(view, at->unit) == at->start &&
		thrum__layout_row(view->layout, at->unit) == at->row &&
		/* Tracks have no others. */
		(unit->end >= view->model->forgotten ||
			thrum__layout_lasts(view->layout, at->unit));
}

uint32_t thrum__found_seek(const struct thrum__found *found, uint32_t row, int64_t start)
{
	uint32_t low = 0, high = found->sorted;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct thrum__found_unit *at = &found->all[middle];

		if (at->row < row || (at->row == row && at->start < start))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
