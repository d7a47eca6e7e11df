/* SPDX-License-Identifier: ISC */
/*
 * The part of the layout that only the files of layout/ see. chains.c makes units of tasks;
 * layout.c places them, group by group, with the piles of pile.c; sweep.c finds parents and
 * forgets; valid.c checks.
 */
#ifndef TIMELINE_LAYOUT_PARTS_H
#define TIMELINE_LAYOUT_PARTS_H

#include "base/sort.h"
#include "base/time.h"
#include "timeline/layout/layout.h"
#include "timeline/layout/pile.h"

/* The numbers of a task's cell. */
enum {
	THRUM__CELL_UNIT,  /* its unit, or NONE */
	THRUM__CELL_NEXT,  /* the next task of the unit's chain, or NONE */
	THRUM__CELL_CLAIM, /* of the tasks that became it, the one whose chain goes on, or NONE */
	THRUM__CELL_WIDTH,
};

/* The part of a unit that only placing needs. */
struct thrum__layout_extra {
	int64_t busy;    /* the end of its last run */
	uint32_t tail;   /* the chain's last task */
	uint32_t anchor; /* the nearest ancestor that was alive beside it, a unit, or NONE */
	uint32_t wish;   /* the track of its group that it had and gets again if free, or NONE */
	bool is_lane;    /* a lane's own task */
	bool is_wanted;  /* one of its tasks should resolve */
	bool lasts;      /* for thrum__layout_lasts */
	bool is_open;    /* in the placer's `open` */
	bool is_fresh;   /* in the placer's `fresh` */
	bool is_changed; /* in the layout's `changed` */
	uint32_t pruned; /* the last update that removed its forgotten tasks */
};

struct thrum__layout_placer {
	bool by_lane;
	bool logs;     /* changes are noted; not in the first update, which changes everything */
	uint32_t odd;  /* parents since the last sweep that may form a circle */
	uint32_t dead; /* units gone since the last sweep, whose numbers aren't free yet */
	int64_t near;  /* ns: a duration that counts as short in this trace */
	struct thrum__layout_extra *extra; /* by unit */
	struct thrum__layout_seat *seats;  /* by unit */
	uint32_t unit_room, adopted_room;
	/* While placing, by unit: its first child without a track, and the next such child of its
	 * parent, or NONE. By themselves, since these lists are walked far from the processor's cache. */
	uint32_t *child, *sibling;
	uint32_t *free; /* numbers of units to use again; with room for all */
	uint32_t free_count;
	uint32_t *open; /* units that may still change */
	uint32_t open_count, open_room;
	uint32_t *fresh; /* units without a track; with room for all; once gathered, by start */
	uint32_t fresh_count;
	struct thrum__layout_pile *piles; /* by group */
	uint32_t group_room;
	uint32_t *group_of_lane; /* by lane */
	uint32_t lanes, lane_room;
	/* While an update goes on, in steps: */
	unsigned step;
	uint32_t *stack, depth; /* units to be placed */
	uint32_t placed;
	uint32_t cut; /* units of `fresh` that were looked at for circles of parents */
};

/* Functions that return int return 0 or -THRUM_E_MEMORY. */

/* Finds the parent of a unit. */
void thrum__layout_find_parent(struct thrum__layout *, const struct thrum__model *, uint32_t unit);

/* Removes the tasks that the model forgot, and the units that have no others. */
void thrum__layout_forget(struct thrum__layout *, const struct thrum__model *);

/* Makes units of the model's new tasks, extends the open ones, and removes forgotten ones. */
THRUM__MUST_USE int thrum__layout_collect(struct thrum__layout *, const struct thrum__model *);

/* Leaves in the placer's `fresh` the units that have no track, sorted by start. Their seats get the time
 * that they occupy: here, because units still come one behind the other in memory. */
THRUM__MUST_USE int thrum__layout_gather(struct thrum__layout *, const struct thrum__model *);

/* Brings the placer's `open` and `fresh` up to date at the end of an update. */
THRUM__MUST_USE int thrum__layout_keep_open(struct thrum__layout *, const struct thrum__model *);

/* Gives the time that a unit occupies on its track, where end > start; and finds whether it
 * lasts. */
void thrum__layout_occupied(struct thrum__layout *, const struct thrum__model *, uint32_t unit,
	int64_t *start, int64_t *end);

/* Takes a unit off its track, if it has one, and lets it wish for that track. */
void thrum__layout_stand(struct thrum__layout *, uint32_t unit);

/* Notes a unit in `changed`. */
void thrum__layout_touch(struct thrum__layout *, uint32_t unit);

/* Notes in `adopted` that a task is in another unit than before. */
void thrum__layout_log(struct thrum__layout *, uint32_t task);

/* Corrects parents and frees the numbers of units that are gone, once there are many of them. */
THRUM__MUST_USE int thrum__layout_sweep(struct thrum__layout *);

#endif
