/* SPDX-License-Identifier: ISC */
/* The places of the units that the search found. */
#include "scene/found.h"

#include "base/array.h"
#include "base/sort.h"
#include "base/time.h"
#include "scene/paint/paint.h"

#define ADDED_MAX 1024 /* unsorted items, which every frame looks at */

/* Returns the start as the index has it. */
static int64_t start_of(const struct thrum__scene *scene, uint32_t unit)
{
	return thrum__base_time_clamp(scene->layout->units[unit].start);
}

/* While rows are being made, units have tracks that nobody sees. */
static uint32_t track_of(const struct thrum__scene *scene, uint32_t unit)
{
	return scene->has_rows ? thrum__layout_track(scene->layout, unit) : THRUM__NONE;
}

static bool grow_found(struct thrum__scene_found *found, uint64_t count)
{
	struct thrum__scene_found_unit *all = thrum__base_grow(found->all, &found->room, count,
		sizeof *all);

	if (all)
		found->all = all;
	return all;
}

static void put_unit(const struct thrum__scene *scene, struct thrum__scene_found *found,
	int64_t start, uint32_t track, uint32_t unit)
{
	if (scene->looks[unit] & THRUM__LOOK_FOUND && found->count < scene->found)
		found->all[found->count++] = (struct thrum__scene_found_unit){start, track, unit};
}

/* The index has the units in the list's order, so that nothing needs to be sorted. */
const struct thrum__scene_found *thrum__scene_found_of(const struct thrum__scene *scene)
{
	struct thrum__scene_found *found = &scene->memory->found;

	if (found->is_known)
		return found;
	if (!grow_found(found, scene->found))
		return NULL;
	found->count = 0;
	for (uint32_t i = 0; !scene->has_rows && i < scene->layout->unit_count; i++)
		put_unit(scene, found, start_of(scene, i), THRUM__NONE, i);
	for (uint32_t track = 0;
		scene->has_rows && track < scene->layout->tracks && found->count < scene->found;
		track++) {
		const int kind = THRUM__INDEX_UNITS;
		size_t end, at = thrum__index_seek(scene->index, kind, track, INT64_MIN, &end);

		for (; at < end; at++)
			put_unit(scene, found, thrum__index_time(scene->index, kind, at), track,
				thrum__index_item(scene->index, kind, at));
	}
	found->sorted = found->count;
	found->is_known = true;
	return found;
}

static bool is_at(const struct thrum__scene_found_unit *at, uint32_t track, int64_t start,
	uint32_t unit)
{
	return at->unit == unit && at->start == start && at->track == track;
}

static bool has_unit(const struct thrum__scene_found *found, uint32_t track, int64_t start,
	uint32_t unit)
{
	uint32_t i = thrum__scene_found_seek(found, track, start);

	if (i < found->sorted && is_at(&found->all[i], track, start, unit))
		return true;
	for (i = found->sorted; i < found->count; i++)
		if (is_at(&found->all[i], track, start, unit))
			return true;
	return false;
}

void thrum__scene_found_add(const struct thrum__scene *scene, uint32_t unit)
{
	struct thrum__scene_found *found = &scene->memory->found;
	uint32_t track = track_of(scene, unit);
	int64_t start = start_of(scene, unit);

	if (!found->is_known || has_unit(found, track, start, unit))
		return;
	/* With too many unsorted items the list is made anew when it is next needed. */
	found->is_known = found->count - found->sorted < ADDED_MAX &&
		grow_found(found, found->count + 1ull);
	if (found->is_known)
		found->all[found->count++] = (struct thrum__scene_found_unit){start, track, unit};
}

bool thrum__scene_found_holds(const struct thrum__scene *scene,
	const struct thrum__scene_found_unit *at)
{
	const struct thrum__layout_unit *unit = &scene->layout->units[at->unit];

	return unit->task != THRUM__NONE && scene->looks[at->unit] & THRUM__LOOK_FOUND &&
		start_of(scene, at->unit) == at->start && track_of(scene, at->unit) == at->track &&
		/* The index leaves out units that ended before `forgotten`. */
		(unit->end >= scene->model->forgotten ||
			thrum__layout_lasts(scene->layout, at->unit));
}

uint32_t thrum__scene_found_seek(const struct thrum__scene_found *found, uint32_t track,
	int64_t start)
{
	uint32_t low = 0, high = found->sorted;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct thrum__scene_found_unit *at = &found->all[middle];

		if (at->track < track || (at->track == track && at->start < start))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
