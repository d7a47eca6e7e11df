/* SPDX-License-Identifier: ISC */
/* What the files of the layout share. Internal to view/. */
#ifndef VIEW_LAYOUT_PARTS_H
#define VIEW_LAYOUT_PARTS_H

#include "view/layout.h"
#include "view/layout_rows.h"
#include "view/pieces.h"

/* Of a unit: what only placing needs. */
struct thrum__extra {
	int64_t busy;    /* the end of the last run of it */
	uint32_t tail;   /* the chain's last task */
	uint32_t anchor; /* the nearest ancestor that was alive beside it, or NONE */
	uint32_t wish;   /* the row that it had, or NONE */
	bool is_lane;    /* a lane's own task */
	bool is_wanted;  /* some task of it should resolve */
	bool lasts;
	bool is_open; /* in the placer's `open` */
};

struct thrum__placer {
	bool by_lane, has_odd_parents; /* some unit came before its parent: there may be circles */
	struct thrum__extra *extra;    /* by unit, as the next */
	struct thrum__seat *seats;
	uint32_t unit_room, task_room;
	uint32_t forgotten; /* the model's first task when last looked at */
	uint32_t *open;     /* units that may still change */
	uint32_t open_count, open_room;
	uint32_t *fresh; /* units without a row, by start */
	uint32_t fresh_count, fresh_room;
	uint32_t first_fresh;      /* no unit before it lacks a row */
	struct thrum__pile *piles; /* by group */
	uint32_t group_room;
	uint32_t *group_of_lane;
	uint32_t lanes, lane_room;
};

/* Makes units of the model's new tasks, lets open ones grow, forgets what is forgotten. */
THRUM__MUST_USE int thrum__layout_collect(struct thrum__layout *, const struct thrum__model *);

/* Fills `fresh`. */
THRUM__MUST_USE int thrum__layout_gather(struct thrum__layout *);

/* Fills `open` again. */
THRUM__MUST_USE int thrum__layout_keep_open(struct thrum__layout *, const struct thrum__model *);

/* What a unit occupies in its row: end > start. */
void thrum__layout_occupied(struct thrum__layout *, const struct thrum__model *, uint32_t unit,
	int64_t *start, int64_t *end);

/* Takes a unit out of its row, if it has one; it will wish for it. */
void thrum__layout_stand(struct thrum__layout *, uint32_t unit);

#endif
