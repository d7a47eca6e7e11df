/* SPDX-License-Identifier: ISC */
/* Checks that everything of a layout is as layout.h says. */
#include "timeline/layout/parts.h"

/* Deeper than any AVL tree of 2^32 nodes. */
#define DEPTH 64

static bool check_unit(const struct thrum__layout *layout, uint32_t group, uint32_t track,
	uint32_t at)
{
	const struct thrum__layout_seat *seat = &layout->placer->seats[at];

	return layout->units[at].track == track && layout->units[at].group == group &&
		layout->units[at].task != THRUM__NONE && seat->end > seat->start &&
		seat->start <= thrum__base_time_clamp(layout->units[at].start) &&
		seat->end >= thrum__base_time_clamp(layout->units[at].end);
}

/* Walks a track in the order of time; returns how many units it holds, or NONE when one is
 * wrong. */
static uint32_t check_track(const struct thrum__layout *layout, uint32_t group, uint32_t track)
{
	const struct thrum__layout_seat *seats = layout->placer->seats;
	const struct thrum__layout_pile *pile = &layout->placer->piles[group];
	uint32_t stack[DEPTH], depth = 0, count = 0, at = pile->held[track].root;
	int64_t end = INT64_MIN, before = INT64_MAX;

	while (at != THRUM__NONE || depth > 0) {
		for (; at != THRUM__NONE; at = seats[at].left) {
			if (depth == DEPTH || at >= layout->unit_count)
				return THRUM__NONE;
			stack[depth++] = at;
		}
		at = stack[--depth];
		if (!check_unit(layout, group, track, at) || seats[at].start < end ||
			++count > layout->unit_count)
			return THRUM__NONE;
		end = seats[at].end;
		at = seats[at].right;
	}
	for (at = pile->held[track].tail; at != THRUM__NONE; at = seats[at].left) {
		if (at >= layout->unit_count || !check_unit(layout, group, track, at) ||
			seats[at].end > before || seats[at].start < end ||
			++count > layout->unit_count)
			return THRUM__NONE;
		before = seats[at].start;
	}
	return count;
}

static bool check_tracks(const struct thrum__layout *layout)
{
	uint32_t placed = 0, seen = 0;

	for (uint32_t i = 0; i < layout->unit_count; i++)
		placed += layout->units[i].track != THRUM__NONE;
	for (uint32_t group = 0; group < layout->group_count; group++) {
		const struct thrum__layout_group *g = &layout->groups[group];

		if (g->tracks != layout->placer->piles[group].tracks ||
			g->first_track + (uint64_t)g->tracks > layout->tracks)
			return false;
		for (uint32_t track = 0; track < g->tracks; track++) {
			uint32_t count = check_track(layout, group, track);

			if (count == THRUM__NONE)
				return false;
			seen += count;
		}
	}
	return seen == placed;
}

static bool check_chains(const struct thrum__layout *layout, const struct thrum__model *model)
{
	uint32_t seen = 0, there = 0;

	for (uint32_t i = 0; i < layout->unit_count; i++) {
		uint32_t task = layout->units[i].task;

		for (; task != THRUM__NONE; task = thrum__layout_next(layout, model, task))
			if (!thrum__model_has_row(&model->tasks, task) ||
				thrum__layout_unit(layout, task) != i ||
				++seen > layout->task_count)
				return false;
	}
	for (uint32_t task = 0; task < layout->task_count; task++)
		there += thrum__layout_unit(layout, task) != THRUM__NONE;
	return seen == there;
}

static bool check_parents(const struct thrum__layout *layout)
{
	/* Parents are checked only once they are swept. */
	if (layout->placer->odd || layout->placer->dead)
		return true;
	/* Brent's cycle detection: the tortoise waits while the hare runs, twice as long each
	 * time. */
	for (uint32_t i = 0; i < layout->unit_count; i++) {
		uint32_t tortoise = i, hare = i, steps = 0, limit = 2;

		if (layout->units[i].task == THRUM__NONE)
			continue;
		/* Units near a root have a short way; of the others one in 64 will do. */
		for (uint32_t way = 0; way < 64 || i % 64 == 0; way++) {
			hare = layout->units[hare].parent;
			if (hare == THRUM__NONE)
				break;
			if (hare == tortoise || hare >= layout->unit_count ||
				layout->units[hare].task == THRUM__NONE)
				return false;
			if (++steps == limit) {
				tortoise = hare;
				steps = 0;
				limit *= 2;
			}
		}
	}
	return true;
}

bool thrum__layout_is_valid(const struct thrum__layout *layout, const struct thrum__model *model)
{
	return layout->task_count <= model->tasks.count && check_tracks(layout) &&
		check_chains(layout, model) && check_parents(layout);
}
