/* SPDX-License-Identifier: ISC */
/* What updates of index compare with, and how items come and go. Private to this room. */
#ifndef TIMELINE_FOLLOW_PARTS_H
#define TIMELINE_FOLLOW_PARTS_H

#include "timeline/index/parts.h"

struct thrum__follow_placed {
	int64_t start, end; /* the end is OPEN when it lasts */
	uint32_t track;     /* or NONE */
};

/* What an update brings into the tracks of one column, and behind it the same by blocks of tracks. */
struct thrum__follow_arrivals {
	struct thrum__index_arrival *arrivals;
	uint32_t *first; /* of each block, while sorting */
	uint32_t count, room, block_room;
};

/* Times that came up in an update. */
struct thrum__follow_fresh {
	struct thrum__base_span *pieces; /* room for twice as many */
	uint32_t count, room;
};

struct thrum__follow_past {
	uint32_t updates; /* the layout's */
	uint32_t runs, edges, notes, tasks;
	int64_t forgotten;
	uint32_t *open; /* runs */
	uint32_t open_count, open_room;
	struct thrum__follow_placed *units;
	uint32_t unit_count, unit_room;
	struct thrum__follow_arrivals batch;
	struct thrum__follow_fresh starts, ends; /* of units */
};

struct thrum__follow_change {
	struct thrum__index *index;
	struct thrum__follow_past *past;
	const struct thrum__model *model;
	const struct thrum__layout *layout;
};

/* All return 0 or -THRUM_E_MEMORY. */

/* ---- tracks_batch.c -------------------------------------------------------------------------- */

/* Notes that an item is new, to be put where it belongs with all others of its kind. */
THRUM__MUST_USE int thrum__follow_await(const struct thrum__follow_change *, int kind,
	uint32_t item);
/* The same of an edge, in the tracks of both its ends. */
THRUM__MUST_USE int thrum__follow_await_edge(const struct thrum__follow_change *, uint32_t edge);
/* The same of a unit that changed. */
THRUM__MUST_USE int thrum__follow_await_unit(const struct thrum__follow_change *, uint32_t unit);
/* Puts what was awaited. */
THRUM__MUST_USE int thrum__follow_settle(const struct thrum__follow_change *, int kind);
/* Times become part of those that are known. */
THRUM__MUST_USE int thrum__follow_times(struct thrum__follow_fresh *, struct thrum__index_times *);

/* ---- tracks_move.c --------------------------------------------------------------------------- */

/* Puts an item into a track, if it isn't there, but not yet into the blocks of tracks. */
THRUM__MUST_USE int thrum__follow_insert(const struct thrum__follow_change *, int kind,
	const struct thrum__index_arrival *, bool *is_new);

/* Puts an item into the tracks where it belongs, if it isn't there. */
THRUM__MUST_USE int thrum__follow_put(const struct thrum__follow_change *, int kind, uint32_t item);
/* An open run became longer, or ended. */
THRUM__MUST_USE int thrum__follow_run(const struct thrum__follow_change *, uint32_t run);
/* Of runs that were cut some may be forgotten behind one that isn't. */
void thrum__follow_trim_runs(const struct thrum__follow_change *, uint32_t track);
/* A task that had failed is no failure any more: damaged traces say so. */
THRUM__MUST_USE int thrum__follow_failure(const struct thrum__follow_change *, uint32_t task);
/* A task is in another track: what it did goes with it. */
THRUM__MUST_USE int thrum__follow_task(const struct thrum__follow_change *, uint32_t task);
/* A unit changed. One that comes into a track where it wasn't is only told: *track isn't NONE. */
THRUM__MUST_USE int thrum__follow_unit(const struct thrum__follow_change *, uint32_t unit,
	struct thrum__index_arrival *);

#endif
