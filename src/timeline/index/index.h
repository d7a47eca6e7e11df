/* SPDX-License-Identifier: ISC */
/*
 * The index: finds the items that lie on the tracks of a layout, by track and time. It holds one
 * column for each kind of item, sorted by track and time, with summaries of gaps and of
 * neighbouring tracks, so that the cost of a frame depends on its pixels and not on the events of
 * the trace. The index never chooses a track (layout/ does), and knows nothing of pixels.
 *
 * Make it of a model and a layout with thrum__index_create; after each later update of the layout
 * call thrum__follow_update. Between updates it is read only. Items that ended before
 * model->forgotten aren't in it. Times are ns, as in the model; ranges from … to include both ends.
 */
#ifndef TIMELINE_INDEX_INDEX_H
#define TIMELINE_INDEX_INDEX_H

#include "timeline/layout/layout.h"

/* The kinds of items. Units and runs have a duration; the others are points in time. */
enum thrum__index_kind {
	THRUM__INDEX_UNITS, /* units, start … end; to the model's end where thrum__layout_lasts */
	THRUM__INDEX_RUNS,  /* the model's runs, start … end; an open one to the model's end */
	THRUM__INDEX_EDGES, /* the model's edges, by time, on the track of either task */
	THRUM__INDEX_NOTES, /* the model's notes, by time */
	THRUM__INDEX_FAILURES, /* tasks that failed, by end */
	THRUM__INDEX_KINDS,
};

struct thrum__index;

/* Makes the index of a model and its layout: O(n log n). Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__index_create(const struct thrum__model *, const struct thrum__layout *,
	struct thrum__index **);
/* Does the same and calls `progress` (may be NULL) with the part that is done, 0 … 1. Returns 1
 * when `progress` returned false: then there is no index. */
THRUM__MUST_USE int thrum__index_make(const struct thrum__model *, const struct thrum__layout *,
	bool (*progress)(void *context, double part), void *context, struct thrum__index **);

/* Makes an index without tracks, of a layout whose units may have none (thrum__layout_units). It knows
 * how many units are alive at a time, and which times are idle. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__index_outline(const struct thrum__model *, const struct thrum__layout *,
	struct thrum__index **);
/* Make an index of a model and its layout in steps: both stay the same meanwhile. The first begins one, which
 * can only be destroyed or be made further by the second. That returns 1 while there is more to do, 0, or
 * -THRUM_E_MEMORY. The third puts it into an outline, which is a whole index then. */
THRUM__MUST_USE int thrum__index_begin(const struct thrum__layout *, struct thrum__index **);
THRUM__MUST_USE int thrum__index_step(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *);
void thrum__index_complete(struct thrum__index *outline, struct thrum__index *made);
/* Makes an index anew, in its place. Returns 0 or -THRUM_E_MEMORY; then it stays as it was. */
THRUM__MUST_USE int thrum__index_remake(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *);

/*
 * Brings the index up to date with model and layout; call it after each update of the layout. Costs
 * O(n log n) for n items that are new, gone or still alive. Makes the whole index anew at the first
 * call, when an update of the layout was left out, and when the layout's tracks were shifted.
 * Returns 0 or -THRUM_E_MEMORY; after an error the index can only be destroyed.
 */
THRUM__MUST_USE int thrum__follow_update(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *);
void thrum__index_destroy(struct thrum__index *); /* NULL is fine */

/* Items so close together that the screen can't tell them apart; or a single item. */
struct thrum__index_stretch {
	int64_t start, end;
	int64_t busy;   /* sum of the items' durations (of several tracks: about their union) */
	uint64_t count; /* how many items */
	uint32_t item;  /* the first item; the only one when count is 1 */
};

/*
 * A walk over one kind of item in tracks `track` … `track` + `tracks` - 1: it gives the stretches
 * that intersect from … to, in the order of time. Neighbouring items less than `gap` ns apart
 * belong to one stretch. Stretches aren't clipped to from … to. An open run ends at the model's
 * end.
 *
 * From 16 tracks on the walk reads summaries of blocks of 16^n tracks, not the tracks themselves.
 * It then covers whole blocks. A walk over n tracks and one over the next n tracks still cover each
 * track once. A block that would have hundreds of stretches has some of them merged already.
 */
struct thrum__index_walk {
	const struct thrum__index *index;
	int kind;
	int64_t gap;
	/* Private to the walk: one cursor for each track or block, with its next stretch. */
	unsigned level, count;
	struct {
		uint32_t at, end;
		struct thrum__index_stretch next;
	} cursor[17];
};

/* Begins a walk; tracks that don't exist are left out. Allocates nothing. */
void thrum__index_walk_begin(struct thrum__index_walk *, const struct thrum__index *, int kind,
	uint32_t track, uint32_t tracks, int64_t from, int64_t to, int64_t gap);

/* Gives the next stretch; returns false at the end. O(log n). */
bool thrum__index_walk_next(struct thrum__index_walk *, struct thrum__index_stretch *);

/* Returns the position of a track's first item whose start is at or after `time`, or *end if there
 * is none. Always sets *end, the position behind the track's last item. For units and points only.
 * O(log n). */
size_t thrum__index_seek(const struct thrum__index *, int kind, uint32_t track, int64_t time,
	size_t *end);
/* Returns the position of a track's first item. A caller that goes back from a position stops
 * there: items of other tracks and forgotten items lie before. */
size_t thrum__index_first(const struct thrum__index *, int kind, uint32_t track);
uint32_t thrum__index_item(const struct thrum__index *, int kind, size_t position);
int64_t thrum__index_time(const struct thrum__index *, int kind, size_t position); /* its start */

/* Returns the first track from `track` on with a unit in from … to; or the number of tracks when
 * there is none. Skips many empty tracks at once. */
uint32_t thrum__index_next_track(const struct thrum__index *, uint32_t track, int64_t from,
	int64_t to);

/* Whether anything happens on a track in from … to: a run, an edge, a note, or a unit's beginning
 * or end; or a unit lies there that should resolve and never does. */
bool thrum__index_is_loud(const struct thrum__index *, uint32_t track, int64_t from, int64_t to);

/* Calls `found` for each idle part of from … to that is at least `gap` ns long (> 0), in the order
 * of time, until it returns false. Idle: no lane runs any task but the lane's own. O(found × log
 * n). */
void thrum__index_idle(const struct thrum__index *, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context);

/* Gives the idle part around a time: *start ≤ time ≤ *end. Both are `time` while a task runs; they
 * are INT64_MIN and INT64_MAX where no task runs before or after it. O(log n). */
void thrum__index_idle_around(const struct thrum__index *, int64_t time, int64_t *start,
	int64_t *end);

/* Returns how many ns of from … to aren't idle. O(log n). */
int64_t thrum__index_busy(const struct thrum__index *, int64_t from, int64_t to);

/* Returns how many units are alive (start ≤ time ≤ end) at a time. O(log n). */
uint32_t thrum__index_alive(const struct thrum__index *, int64_t time);
/* Returns how many units are alive at any time of from … to. O(log n). */
uint32_t thrum__index_alive_in(const struct thrum__index *, int64_t from, int64_t to);

/* Returns about how many bytes the index has allocated. */
size_t thrum__index_memory(const struct thrum__index *);

#endif
