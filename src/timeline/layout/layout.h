/* SPDX-License-Identifier: ISC */
/*
 * timeline/: where the tasks of a model lie in the picture, and how to find them there. layout/
 * places tasks on tracks, index/ finds the items on a track, and follow/ keeps the index up to date
 * while a trace grows. Pixels, colours and words don't belong here.
 *
 * The layout: a chain of tasks that became each other is one unit and keeps one track. Units on one
 * track don't overlap in time. A unit lies near its parent, below it; one that begins after its
 * parent's end may lie one track above it. Units of one lane lie together, as a group of tracks: a
 * unit belongs to the lane where its oldest ancestor was created, so that families stay together. A
 * unit keeps its track when the trace grows, unless it grows into a neighbour; but all tracks of a
 * lane may move as a block.
 *
 * Make a layout with thrum__layout_create and call thrum__layout_update after each change of the
 * model. Numbers of units stay the same as long as the unit exists; NONE means no unit, task or
 * track. Times are ns, as in the model.
 */
#ifndef TIMELINE_LAYOUT_LAYOUT_H
#define TIMELINE_LAYOUT_LAYOUT_H

#include "timeline/cells.h"

struct thrum__layout_unit {
	/* From its first task's start to its last task's end or last activity. While it is pending,
	 * `end` is when it was last heard of. */
	int64_t start, end;
	/* The first task of its chain. NONE: the unit is gone (it became part of another, or is
	 * forgotten) and has no track; a later unit gets its number. */
	uint32_t task;
	/* A unit, or NONE. Until the layout next sweeps, it may be a unit that is gone, which
	 * thrum__layout_parent skips, and parents may form circles. */
	uint32_t parent;
	/* Within its group; thrum__layout_track gives that of the picture. NONE: none yet. */
	uint32_t track;
	uint32_t group;
};

/* The tracks of one lane; of all lanes when they aren't grouped or there is only one. */
struct thrum__layout_group {
	uint32_t lane;                /* NONE: all lanes */
	uint32_t first_track, tracks; /* in the picture */
};

struct thrum__layout {
	struct thrum__layout_unit *units;
	uint32_t unit_count;
	struct thrum__timeline_cells tasks; /* for thrum__layout_unit and thrum__layout_next */
	uint32_t task_count;
	struct thrum__layout_group *groups;
	uint32_t group_count;
	uint32_t tracks;
	bool simplify; /* goes by tasks' `start` and `parent`; else by `created` and `creator` */
	/* The last update made, moved, extended or removed the units of `changed`, and put the
	 * tasks of `adopted` into another unit. A caller that missed an update (`updates` counts
	 * them) has to look at all units. */
	uint32_t *changed, changed_count;
	uint32_t *adopted, adopted_count;
	uint32_t updates;
	bool is_shifted; /* any unit may have moved in the last update: `changed` is incomplete */
	struct thrum__layout_placer *placer;
};

/* Makes an empty layout; by_lane: with a group of tracks for each lane. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__layout_create(bool simplify, bool by_lane, struct thrum__layout **);
void thrum__layout_destroy(struct thrum__layout *); /* NULL is fine */

/*
 * Brings the layout up to date: gives tracks to the units of new tasks, and takes them from units
 * that the model forgot. O(n log n) for n of these and of units that are still alive. Calls
 * `progress` (may be NULL) with the part that is done, 0 … 1. Returns 0 or -THRUM_E_MEMORY; or 1
 * when `progress` returned false: then some units have no track yet, and another call goes on.
 */
THRUM__MUST_USE int thrum__layout_update(struct thrum__layout *, const struct thrum__model *,
	bool (*progress)(void *context, double part), void *context);
/* Does the same in steps, for a model that stays the same meanwhile. Returns 1 while there is more to do. */
THRUM__MUST_USE int thrum__layout_step(struct thrum__layout *, const struct thrum__model *);

/*
 * Makes the units of new tasks, but gives them no tracks: enough for a picture that shows no tracks,
 * in a fraction of the time. thrum__layout_update gives them later. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__layout_units(struct thrum__layout *, const struct thrum__model *);

/* Returns the unit of a task; NONE when it is forgotten or wasn't there at the last update. */
static inline uint32_t thrum__layout_unit(const struct thrum__layout *layout, uint32_t task)
{
	const uint32_t *cell = thrum__timeline_cell(&layout->tasks, task);

	return cell ? *cell : THRUM__NONE;
}

/* Returns a unit's parent, or NONE: goes on from parents that are gone to their own, 64 steps at
 * most. */
static inline uint32_t thrum__layout_parent(const struct thrum__layout *layout,
	const struct thrum__layout_unit *unit)
{
	uint32_t parent = unit->parent;

	for (int i = 0; i < 64 && parent != THRUM__NONE; i++) {
		if (layout->units[parent].task != THRUM__NONE)
			return parent;
		parent = layout->units[parent].parent;
	}
	return THRUM__NONE;
}

/* Returns the track of the picture that a unit has; NONE before thrum__layout_update. */
static inline uint32_t thrum__layout_track(const struct thrum__layout *layout, uint32_t unit)
{
	const struct thrum__layout_unit *u = &layout->units[unit];

	return u->track == THRUM__NONE ? THRUM__NONE
				       : layout->groups[u->group].first_track + u->track;
}

/* Whether a pending unit keeps its track to the end of the trace: when it should resolve, is a
 * lane's own task, or was heard of shortly before the end. Other pending units are silent: they end
 * in a stub. */
bool thrum__layout_lasts(const struct thrum__layout *, uint32_t unit);

/* Returns the next task of a unit's chain, or NONE at its end. A task that belongs to another unit
 * ends the chain too. */
uint32_t thrum__layout_next(const struct thrum__layout *, const struct thrum__model *,
	uint32_t task);

/* Returns about how many bytes the layout has allocated. */
size_t thrum__layout_memory(const struct thrum__layout *);

/* Checks the layout, for THRUM_DEBUG=3: units of a track don't overlap, every task is in one unit,
 * chains end, parents form no circles (once swept), and each unit is where it says. Slow. */
bool thrum__layout_is_valid(const struct thrum__layout *, const struct thrum__model *);

#endif
