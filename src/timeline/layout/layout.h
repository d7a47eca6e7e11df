/* SPDX-License-Identifier: ISC */
/*
 * Layout: tasks to tracks. A chain of tasks that became each other is one unit and keeps one track;
 * units in one track don't overlap in time; a unit lies near below its parent's (one that begins
 * after its parent's end may lie one track above it); units of one lane lie together: a unit is where
 * its oldest ancestor was created, so that families stay together. What has a track keeps it when the
 * trace grows (its lane's tracks may move as a block), unless it grew into a neighbour.
 */
#ifndef TIMELINE_LAYOUT_LAYOUT_H
#define TIMELINE_LAYOUT_LAYOUT_H

#include "timeline/cells.h"

struct thrum__layout_unit {
	int64_t start,
		end;     /* what it occupies: from its first task's start to its last one's end or
			    last activity; still pending when the trace ends: as last was heard */
	uint32_t task;   /* the chain's first; NONE: the unit is no more (it became part of another,
			    or is forgotten), and no track holds it; later its number is used again */
	uint32_t parent; /* unit, or NONE. Made anew from time to time only: meanwhile, what is no
			    more is followed to its own parent, and there may be circles */
	uint32_t
		track; /* within its group; thrum__layout_track gives the picture's; NONE: none yet */
	uint32_t group;
};

/* Units of one lane (of all lanes together where grouping is off or there is but one). */
struct thrum__layout_group {
	uint32_t lane;                /* NONE: all */
	uint32_t first_track, tracks; /* in the picture */
};

struct thrum__layout {
	struct thrum__layout_unit *units;
	uint32_t unit_count;
	struct thrum__timeline_cells tasks; /* thrum__layout_unit */
	uint32_t task_count;
	struct thrum__layout_group *groups;
	uint32_t group_count;
	uint32_t tracks;
	bool simplify; /* by `start` and `parent`; else by `created` and `creator` */
	/* What the last update made, moved, let grow or took away, and tasks that came into another
	 * unit; but whoever followed other than the update before last looks at all. */
	uint32_t *changed, changed_count;
	uint32_t *adopted, adopted_count;
	uint32_t updates;
	bool is_shifted; /* in the last update all may be elsewhere, and `changed` is incomplete */
	struct thrum__layout_placer *placer;
};

THRUM__MUST_USE int thrum__layout_create(bool simplify, bool by_lane, struct thrum__layout **);
void thrum__layout_destroy(struct thrum__layout *); /* NULL is fine */

/*
 * Gives tracks to what the model has got since, and takes them from what it forgot. O(n log n) for n
 * of these and those that are still alive. `progress` (may be NULL) is told which part is done, 0 …
 * 1. Returns 0; or -THRUM_E_MEMORY, or, when `progress` returned false, 1: then some units have no
 * track yet, and another call goes on.
 */
THRUM__MUST_USE int thrum__layout_update(struct thrum__layout *, const struct thrum__model *,
	bool (*progress)(void *context, double part), void *context);

/* The unit of a task, or NONE: it is forgotten, or wasn't there at the last update. */
static inline uint32_t thrum__layout_unit(const struct thrum__layout *layout, uint32_t task)
{
	const uint32_t *cell = thrum__timeline_cell(&layout->tasks, task);

	return cell ? *cell : THRUM__NONE;
}

/* A unit's parent as it is now, or NONE. */
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

static inline uint32_t thrum__layout_track(const struct thrum__layout *layout, uint32_t unit)
{
	const struct thrum__layout_unit *u = &layout->units[unit];

	return layout->groups[u->group].first_track + u->track;
}

/* Whether a unit, pending, has its track to the end of the trace: it should resolve, is a lane's own
 * task, or something was heard of it shortly before. Others are silent: a stub shows that. */
bool thrum__layout_lasts(const struct thrum__layout *, uint32_t unit);

/* The next task of a unit's chain, or NONE at its end (a target that belongs to another unit is an
 * end too). */
uint32_t thrum__layout_next(const struct thrum__layout *, const struct thrum__model *,
	uint32_t task);

size_t thrum__layout_memory(const struct thrum__layout *);

/* The walker of THRUM_DEBUG=3: no overlap in a track, every task in one unit, chains that end, no
 * circles of parents, everything in its place. Slow. */
bool thrum__layout_is_valid(const struct thrum__layout *, const struct thrum__model *);

#endif
