/* SPDX-License-Identifier: ISC */
/* What the files of the layout share. Private to this room. */
#ifndef TIMELINE_LAYOUT_PARTS_H
#define TIMELINE_LAYOUT_PARTS_H

#include "base/sort.h"
#include "base/time.h"
#include "timeline/layout/layout.h"
#include "timeline/layout/pile.h"

/* Of a task: numbers of its cell. */
enum {
	THRUM__CELL_UNIT,
	THRUM__CELL_NEXT,  /* in the unit's chain, or NONE */
	THRUM__CELL_CLAIM, /* of the tasks that became it: who has it in his chain, or NONE */
	THRUM__CELL_WIDTH,
};

/* Of a unit: what only placing needs. */
struct thrum__layout_extra {
	int64_t busy;     /* the end of the last run of it */
	uint32_t tail;    /* the chain's last task */
	uint32_t anchor;  /* the nearest ancestor that was alive beside it, or NONE */
	uint32_t wish;    /* the track that it had, or NONE */
	uint32_t child;   /* while it is placed: its last child that has no track either, or NONE */
	uint32_t sibling; /* the one before it, or NONE */
	bool is_lane;     /* a lane's own task */
	bool is_wanted;   /* some task of it should resolve */
	bool lasts;
	bool is_open;    /* in the placer's `open` */
	bool is_fresh;   /* in the placer's `fresh` */
	bool is_changed; /* in the layout's `changed` */
	uint32_t pruned; /* the update that looked last for what is forgotten of it */
};

struct thrum__layout_placer {
	bool by_lane;
	bool logs;     /* changes are noted: not those of a first update, which is everything */
	uint32_t odd;  /* since the last sweep: parents that may make a circle */
	uint32_t dead; /* since then: units that are no more, but whose numbers aren't free */
	int64_t near;  /* ns: what is a moment in this trace */
	struct thrum__layout_extra *extra; /* by unit, as the next */
	struct thrum__layout_seat *seats;
	uint32_t unit_room, adopted_room;
	uint32_t *free; /* numbers that may be used again; with room for all units */
	uint32_t free_count;
	uint32_t *open; /* units that may still change */
	uint32_t open_count, open_room;
	uint32_t *fresh; /* units without a track; once gathered, by start; with room for all */
	uint32_t fresh_count;
	struct thrum__layout_pile *piles; /* by group */
	uint32_t group_room;
	uint32_t *group_of_lane; /* by lane */
	uint32_t lanes, lane_room;
};

/* Finds out whose child a unit is. */
void thrum__layout_find_parent(struct thrum__layout *, const struct thrum__model *, uint32_t unit);

/* Forgets what the model forgot. */
void thrum__layout_forget(struct thrum__layout *, const struct thrum__model *);

/* Makes units of the model's new tasks, lets open ones grow, forgets what is forgotten. */
THRUM__MUST_USE int thrum__layout_collect(struct thrum__layout *, const struct thrum__model *);

/* Leaves in `fresh` what has no track, by start. */
THRUM__MUST_USE int thrum__layout_gather(struct thrum__layout *);

/* Fills `open` again. */
THRUM__MUST_USE int thrum__layout_keep_open(struct thrum__layout *, const struct thrum__model *);

/* What a unit occupies in its track: end > start. */
void thrum__layout_occupied(struct thrum__layout *, const struct thrum__model *, uint32_t unit,
	int64_t *start, int64_t *end);

/* Takes a unit out of its track, if it has one; it will wish for it. */
void thrum__layout_stand(struct thrum__layout *, uint32_t unit);

/* Notes that a unit is not what it was. */
void thrum__layout_touch(struct thrum__layout *, uint32_t unit);

/* Notes that a task is in another unit than before. */
void thrum__layout_log(struct thrum__layout *, uint32_t task);

/* Makes parents what they should be, and numbers free, once there is much to do. */
THRUM__MUST_USE int thrum__layout_sweep(struct thrum__layout *);

#endif
