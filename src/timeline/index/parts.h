/* SPDX-License-Identifier: ISC */
/*
 * The part of the index that only the files of index/ and follow/ see.
 *
 * A column holds all items of one kind. A position is a place in its arrays; each track has a range
 * of positions, its extent, within the range that it may use, its slot. Three summaries of a column
 * make questions cheap: a tree of the widest gaps between items, running sums of durations, and
 * levels of blocks, each block the merged stretches of 16, 256, … neighbouring tracks.
 *
 * index.c makes the index; column.c keeps gaps and sums; append.c lets tracks gain and lose items;
 * blocks.c keeps the blocks; times.c holds sorted times; ask.c and walk.c answer questions.
 */
#ifndef TIMELINE_INDEX_PARTS_H
#define TIMELINE_INDEX_PARTS_H

#include "base/sort.h"
#include "base/time.h"
#include "timeline/index/index.h"

/* Children of a node, in the tree of gaps and among the blocks of tracks. */
#define THRUM__FAN_SHIFT 4
#define THRUM__FAN (1u << THRUM__FAN_SHIFT)
#define THRUM__FAN_MASK (THRUM__FAN - 1)
#define THRUM__GAP_LEVELS 9     /* enough for 2^32 items; single gaps aren't kept */
#define THRUM__BLOCK_LEVELS 8   /* enough for 2^32 tracks: blocks of 16, 256, … */
#define THRUM__BLOCK_CURSORS 17 /* that one walk needs at most */
#define THRUM__POWERS 32

/* A stretch of a block: merged items of several tracks. */
struct thrum__index_sum {
	int64_t start, end;
	uint32_t count; /* of items; saturates */
	uint32_t item;  /* the first */
	float share;    /* the part of it that is busy, 0 … 1 */
};

/* The summary of 16^n neighbouring tracks: at most some hundred stretches, kept apart by the widest
 * gaps between the items. */
struct thrum__index_block {
	uint32_t first, count, room; /* its part of the level's sums */
	uint32_t items;              /* that the sums stand for */
	uint32_t gone;  /* items removed since it was made that its sums may still cover */
	int64_t narrow; /* gaps up to so many ns are closed */
};

/* All blocks of 16^n tracks. */
struct thrum__index_level {
	struct thrum__index_block *block;
	uint32_t blocks, block_room;
	struct thrum__index_sum *sums; /* of all its blocks */
	uint32_t used, room;
};

/* An item that comes to a track. */
struct thrum__index_arrival {
	int64_t start, end;
	uint32_t item, track;
};

/* The positions of a track's items: first … last - 1. */
struct thrum__index_extent {
	uint32_t first, last;
};

/* The positions that a track may use: base … base + room - 1. */
struct thrum__index_slot {
	uint32_t base, room;
};

/*
 * All items of one kind, by track, and within a track by time. The items of a track don't overlap:
 * an item that begins before an earlier one ends is cut, that is, it starts where that one ends.
 * (Only runs of one chain on several lanes overlap, and items of damaged traces.) At first the
 * tracks lie one behind the other. A track that outgrows its slot moves to a larger one and frees
 * the old one for other tracks, until thrum__index_column_pack closes the holes.
 */
struct thrum__index_column {
	struct thrum__index_extent *track;
	struct thrum__index_slot *slot; /* by track; NULL until the first update */
	uint32_t tracks, track_room;
	int64_t *start, *end; /* by position; `end` is NULL for points */
	uint32_t *item;       /* by position; NULL in the union of all runs */
	uint32_t count, room; /* positions that slots use; positions allocated */
	/* The first free slot of 2^n positions, or NONE. Free slots of a size are linked. */
	uint32_t free[THRUM__POWERS];
	/* At position 16 i: the sum of the durations of the same track's items before it, from any
	 * fixed beginning: only differences count. NULL for points. */
	int64_t *before;
	/* By level, then by node of 16, 256, … positions: at least the widest gap behind any. */
	int64_t *gap[THRUM__GAP_LEVELS];
	unsigned gap_levels;
	struct thrum__index_level level[THRUM__BLOCK_LEVELS];
	unsigned levels;
};

/* Sorted times in a list of chunks, so that inserting one costs little. */
struct thrum__index_times {
	struct thrum__index_times_chunk **chunk;
	uint32_t chunks, room;
};

/* The whole index, over all tracks. */
struct thrum__index {
	struct thrum__index_column column[THRUM__INDEX_KINDS];
	/* The union of all ended runs but those of lanes' own tasks, as a column of one track. */
	struct thrum__index_column all;
	int64_t since; /* the first start of such a run that is still open, or INT64_MAX */
	/* When units start and end, from model->forgotten on; units that last have no end. */
	struct thrum__index_times starts, ends;
	uint32_t older;   /* units that started before model->forgotten and end at or after it */
	uint32_t lasting; /* units that last */
	uint8_t *wanted;  /* one bit for each track: a unit of it should resolve and never does */
	int64_t end;      /* the model's */
	uint32_t tracks;
	struct thrum__timeline_cells task_track; /* each task's track, or NONE */
	struct thrum__follow_past *past;         /* the state at the last update, or NULL */
	struct thrum__index_maker *maker;        /* scratch for making blocks, or NULL */
	/* While it is made: the step, and the row at which that goes on. */
	unsigned step;
	uint32_t step_at;
};

/* When the item at a position ends: a point ends when it starts. */
static inline int64_t thrum__index_column_end(const struct thrum__index_column *column,
	uint32_t position)
{
	return column->end ? column->end[position] : column->start[position];
}

/* Returns the track of a task, or NONE. */
static inline uint32_t thrum__index_track(const struct thrum__index *index, uint32_t task)
{
	const uint32_t *cell = thrum__timeline_cell(&index->task_track, task);

	return cell ? *cell : THRUM__NONE;
}

/* Allocates count + 1 elements, not cleared; NULL when there is no memory. */
void *thrum__index_allocate(uint64_t count, size_t size);
/* Lengthens an array to count + 1 elements and clears those from `old` on. */
THRUM__MUST_USE int thrum__index_extend(void **array, uint64_t old, uint64_t count, size_t size);

/* Functions that return int return 0 or -THRUM_E_MEMORY, unless they say otherwise. */

/* ---- Gaps and sums of a column: column.c ----------------------------------------------------- */

/* Makes gaps and sums of a column whose tracks, starts, ends and items are complete. */
THRUM__MUST_USE int thrum__index_column_summarize(struct thrum__index_column *);
/* Frees the column's arrays, not the column itself. */
void thrum__index_column_finish(struct thrum__index_column *);
size_t thrum__index_column_memory(const struct thrum__index_column *);

/* Makes room for `count` positions. */
THRUM__MUST_USE int thrum__index_column_grow(struct thrum__index_column *, uint64_t count);
/* Corrects the gaps and sums after a track's items changed from position `from` on. */
void thrum__index_column_redo(struct thrum__index_column *, uint32_t track, uint32_t from);
/* Does the same, cheaper, where items from position `from` on were only appended. */
void thrum__index_column_follow(struct thrum__index_column *, uint32_t track, uint32_t from);
/* Corrects the gaps behind positions from … to - 1; `to` is of the same track. */
void thrum__index_column_redo_gaps(struct thrum__index_column *, uint32_t from, uint32_t to);
/* Tells the tree that the gap behind a position became wider. */
void thrum__index_column_widen(struct thrum__index_column *, uint32_t position);

/* Returns the first position from `position` on whose gap to the next one is at least `gap` ns; or
 * end - 1, the last of the track, which ends at `end` (> position). O(log n). */
uint32_t thrum__index_column_gap(const struct thrum__index_column *, uint32_t position,
	uint32_t end, int64_t gap);

/* Returns the sum of the durations of positions from … to - 1 of one track. O(1). */
int64_t thrum__index_column_busy(const struct thrum__index_column *, uint32_t from, uint32_t to);

/* Return the first position in from … to - 1 that starts (ends) at or after a time; or `to`. */
uint32_t thrum__index_column_start_at(const struct thrum__index_column *, uint32_t from,
	uint32_t to, int64_t time);
uint32_t thrum__index_column_end_at(const struct thrum__index_column *, uint32_t from, uint32_t to,
	int64_t time);

/* ---- Tracks that change: append.c ------------------------------------------------------------ */

/* Makes room for `count` items behind a track's last. The track's positions may change. */
THRUM__MUST_USE int thrum__index_column_reserve(struct thrum__index_column *, uint32_t track,
	uint32_t count);
/* Puts an item behind a track's last one, where room is reserved. Call thrum__index_column_follow
 * after one or several. Returns false, and does nothing, when the item starts no later than the
 * last one starts, or before that ends. */
bool thrum__index_column_append(struct thrum__index_column *, uint32_t track,
	const struct thrum__index_arrival *);
/* Opens a place for an item, `behind_first` positions behind the track's first one. The caller
 * fills it in and calls thrum__index_column_redo. Returns its position; NONE: no memory. */
uint32_t thrum__index_column_open(struct thrum__index_column *, uint32_t track,
	uint32_t behind_first);
/* Removes the item at a position of a track. */
void thrum__index_column_close(struct thrum__index_column *, uint32_t track, uint32_t position);
/* Removes the items of a track that end before a time; returns how many they were. */
uint32_t thrum__index_column_trim(struct thrum__index_column *, uint32_t track, int64_t before);
/* Makes the number of tracks `tracks`, which is not less than it is; the first time, makes
 * slots. */
THRUM__MUST_USE int thrum__index_column_add_tracks(struct thrum__index_column *, uint32_t tracks);
/* Puts the tracks close together again when they leave much room unused. */
THRUM__MUST_USE int thrum__index_column_pack(struct thrum__index_column *);
/* Adds an ended run to the union of all runs. */
THRUM__MUST_USE int thrum__index_column_unite(struct thrum__index_column *all, int64_t start,
	int64_t end);

/* ---- Blocks of tracks: blocks.c -------------------------------------------------------------- */

/* Makes the levels and blocks that aren't there: all of them, or those of added tracks. */
THRUM__MUST_USE int thrum__index_blocks_grow(struct thrum__index *, struct thrum__index_column *);
/* Does the same in steps. Returns 1 while there is more to do. *at is 0 at the beginning, and then left
 * alone. */
THRUM__MUST_USE int thrum__index_blocks_step(struct thrum__index *, struct thrum__index_column *,
	uint32_t *at);
/* Adds start … end of an item to the blocks over its track; count: 1 for a new item, 0 for one that
 * the blocks know and that became longer. */
THRUM__MUST_USE int thrum__index_blocks_add(struct thrum__index_column *, uint32_t track,
	int64_t start, int64_t end, uint32_t item, uint32_t count);
/* Adds new items to a block of sixteen tracks and to those above it. Items in the order of time
 * cost least; late ones may be among them. */
THRUM__MUST_USE int thrum__index_blocks_bring(struct thrum__index_column *, uint32_t block,
	const struct thrum__index_arrival *, uint32_t count);
/* Removes an item from the blocks over its track; the column doesn't have it any more. */
THRUM__MUST_USE int thrum__index_blocks_remove(struct thrum__index *, struct thrum__index_column *,
	uint32_t track, int64_t start, uint32_t item);
/* Removes from one block the sums that end before a time, and clips the first one left. Returns
 * whether any sum began before that time. */
bool thrum__index_blocks_trim(struct thrum__index_column *, unsigned level, uint32_t block,
	int64_t before);

/* ---- Sorted times: times.c ------------------------------------------------------------------- */

/* Adds `count` times. Sorts them: the array has room for twice as many. */
THRUM__MUST_USE int thrum__index_times_add(struct thrum__index_times *, int64_t *added,
	size_t count);
/* Removes a time once; does nothing when it isn't there. */
void thrum__index_times_remove(struct thrum__index_times *, int64_t time);
/* Removes the times before a time; returns how many they were. */
uint32_t thrum__index_times_trim(struct thrum__index_times *, int64_t before);
/* Lets thrum__index_times_until see the changes; call it after them. */
void thrum__index_times_count(struct thrum__index_times *);
/* Returns how many times are at most `time`. O(log n). */
uint32_t thrum__index_times_until(const struct thrum__index_times *, int64_t time);
void thrum__index_times_finish(struct thrum__index_times *);
size_t thrum__index_times_memory(const struct thrum__index_times *);

/* ---- The past of an index: follow/follow.c --------------------------------------------------- */

void thrum__follow_past_free(struct thrum__follow_past *);           /* NULL is fine */
size_t thrum__follow_past_memory(const struct thrum__follow_past *); /* NULL: 0 */

/* ---- Where items go: index.c ----------------------------------------------------------------- */

/* Returns the track of an item and gives its start and end; side 1 asks for an edge's other track.
 * NONE: it has no track, ended before model->forgotten, or is an edge within one track (side 1). */
uint32_t thrum__index_place(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *, int kind, uint32_t item, int side, int64_t *start,
	int64_t *end);
/* Whether a unit has no end of its own: it is shown to the model's end. */
bool thrum__index_lasts(const struct thrum__model *, const struct thrum__layout *, uint32_t unit);
/* Whether a run is of a lane's own task: such a run doesn't make the lane busy. */
bool thrum__index_is_own(const struct thrum__model *, uint32_t run);
/* Frees the index's memory, but not the struct itself. */
void thrum__index_finish(struct thrum__index *);
/* Marks the track of a unit that should resolve and never does in index->wanted. */
void thrum__index_want(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *, uint32_t unit);

#endif
