/* SPDX-License-Identifier: ISC */
/*
 * follow/ keeps an index up to date while the model grows and forgets. It compares the model and
 * the layout with the past: their state at the last update. It never chooses a track: layout/ does.
 * Private to follow/; thrum__follow_update is its face.
 */
#ifndef TIMELINE_FOLLOW_PARTS_H
#define TIMELINE_FOLLOW_PARTS_H

#include "timeline/index/parts.h"

/* Where the index has a unit. */
struct thrum__follow_placed {
	int64_t start, end; /* the end is OPEN when the unit lasts */
	uint32_t track;     /* NONE: nowhere */
};

/* The items that an update brings to one column. */
struct thrum__follow_queue {
	/* As they came; behind them, once sorted, the same by blocks of tracks. */
	struct thrum__index_arrival *arrivals;
	uint32_t *first; /* the place of each block's first one, while sorting */
	uint32_t count, room, block_room;
};

/* New times of an update, to be added to those of the index all at once. */
struct thrum__follow_fresh {
	int64_t *times; /* room for twice as many */
	uint32_t count, room;
};

/* The state at the last update, and scratch space. */
struct thrum__follow_past {
	uint32_t updates;                   /* of the layout */
	uint32_t runs, edges, notes, tasks; /* how many rows the model had */
	int64_t forgotten;                  /* the model's */
	uint32_t *open;                     /* runs that were open */
	uint32_t open_count, open_room;
	struct thrum__follow_placed *units; /* by unit */
	uint32_t unit_count, unit_room;
	struct thrum__follow_queue queue;
	struct thrum__follow_fresh starts, ends; /* of units that came or changed */
};

/* One update. */
struct thrum__follow_change {
	struct thrum__index *index;
	struct thrum__follow_past *past;
	const struct thrum__model *model;
	const struct thrum__layout *layout;
};

/* Functions that return int return 0 or -THRUM_E_MEMORY. */

/* ---- Items that come together: queue.c ------------------------------------------------------- */

/* Queues a new item. All items in the queue are of one kind; flush before another kind. */
THRUM__MUST_USE int thrum__follow_queue_item(const struct thrum__follow_change *, int kind,
	uint32_t item);
/* Queues a new edge, for the tracks of both its tasks. */
THRUM__MUST_USE int thrum__follow_queue_edge(const struct thrum__follow_change *, uint32_t edge);
/* Queues a unit that changed. */
THRUM__MUST_USE int thrum__follow_queue_unit(const struct thrum__follow_change *, uint32_t unit);
/* Puts the queued items on their tracks and into the blocks, and empties the queue. */
THRUM__MUST_USE int thrum__follow_flush(const struct thrum__follow_change *, int kind);

/* ---- Single items: move.c -------------------------------------------------------------------- */

/* Adds the fresh times to those of the index, and empties them. */
THRUM__MUST_USE int thrum__follow_times(struct thrum__follow_fresh *, struct thrum__index_times *);

/* Puts an item on its track if it isn't there, but not into the blocks. */
THRUM__MUST_USE int thrum__follow_insert(const struct thrum__follow_change *, int kind,
	const struct thrum__index_arrival *, bool *is_new);

/* Puts an item on its track (an edge on both) and into the blocks, if it isn't there. */
THRUM__MUST_USE int thrum__follow_put(const struct thrum__follow_change *, int kind, uint32_t item);
/* Brings up to date a run that was open: it became longer, or ended. */
THRUM__MUST_USE int thrum__follow_run(const struct thrum__follow_change *, uint32_t run);
/* Removes forgotten runs that thrum__index_column_trim left: where runs were cut, one may be
 * forgotten that lies behind one that isn't. */
void thrum__follow_trim_runs(const struct thrum__follow_change *, uint32_t track);
/* Removes a task from the failures: in damaged traces a task fails and then becomes another. */
THRUM__MUST_USE int thrum__follow_failure(const struct thrum__follow_change *, uint32_t task);
/* Notes a task's track; if that changed, moves the task's runs, notes, edges and failure there. */
THRUM__MUST_USE int thrum__follow_task(const struct thrum__follow_change *, uint32_t task);
/* Brings up to date a unit that changed, and its tasks. A unit that comes to a place where it
 * wasn't is only given in *arrival, for the caller to insert; else arrival->track is NONE. */
THRUM__MUST_USE int thrum__follow_unit(const struct thrum__follow_change *, uint32_t unit,
	struct thrum__index_arrival *arrival);

#endif
