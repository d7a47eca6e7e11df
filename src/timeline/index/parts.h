/* SPDX-License-Identifier: ISC */
/* What the files of the index share. Private to this room. */
#ifndef TIMELINE_INDEX_PARTS_H
#define TIMELINE_INDEX_PARTS_H

#include "base/sort.h"
#include "base/time.h"
#include "timeline/index/index.h"

/* Children of a node: of the trees over gaps, and of the blocks of tracks. */
#define THRUM__FAN_SHIFT 4
#define THRUM__FAN (1u << THRUM__FAN_SHIFT)
#define THRUM__FAN_MASK (THRUM__FAN - 1)
#define THRUM__GAP_LEVELS 9   /* of 2^32 items, the lowest of which isn't kept */
#define THRUM__BLOCK_LEVELS 8 /* of 2^32 tracks: blocks of 16, 256, … */
#define THRUM__BLOCK_CURSORS 17
#define THRUM__POWERS 32

/* A stretch of several tracks' items. */
struct thrum__index_sum {
	int64_t start, end;
	uint32_t count; /* saturates */
	uint32_t item;
	float share; /* how much of it is busy, 0 … 1 */
};

/* What lies in 16^n tracks: at most some hundred stretches, those with the widest gaps between them.
 */
struct thrum__index_block {
	uint32_t first, count, room; /* of the level's sums */
	uint32_t items;              /* that they stand for */
	uint32_t gone;               /* items that went since it was made, and may still be seen */
	int64_t narrow;              /* gaps that are closed */
};

struct thrum__index_level {
	struct thrum__index_block *block;
	uint32_t blocks, block_room;
	struct thrum__index_sum *sums;
	uint32_t used, room;
};

/* An item that comes into a track. */
struct thrum__index_arrival {
	int64_t start, end;
	uint32_t item, track;
};

/* The positions of a track's items. */
struct thrum__index_extent {
	uint32_t first, last; /* the last is behind */
};

/* The positions that a track may use. */
struct thrum__index_slot {
	uint32_t base, room;
};

/*
 * Items by track, and in a track by time. They don't overlap: one that begins before an earlier ends is
 * cut (only runs of one chain in several lanes do, or damaged traces). Tracks lie one behind the
 * other when made; one that grows moves to more room, and what it leaves is for others, until all
 * are packed again.
 */
struct thrum__index_column {
	struct thrum__index_extent *track;
	struct thrum__index_slot *slot; /* by track; NULL as long as nothing is to be updated */
	uint32_t tracks, track_room;
	int64_t *start, *end; /* by position; points have no end of their own */
	uint32_t *item;
	uint32_t count, room;         /* positions that are used by slots; that there are */
	uint32_t free[THRUM__POWERS]; /* slots of 2^n, linked by their first item */
	/* Sums of a track's lengths before every sixteenth position, from where it once began. */
	int64_t *before;
	/* The widest gap behind each of 16, 256, … positions, or more. */
	int64_t *gap[THRUM__GAP_LEVELS];
	unsigned gap_levels;
	struct thrum__index_level level[THRUM__BLOCK_LEVELS];
	unsigned levels;
};

/* Times in order, in chunks, so that one more costs little. */
struct thrum__index_times {
	struct thrum__index_times_chunk **chunk;
	uint32_t chunks, room;
};

struct thrum__index {
	struct thrum__index_column column[THRUM__INDEX_KINDS];
	/* Of one track: the union of all runs that have ended; from `since` to the end one is open.
	 */
	struct thrum__index_column all;
	int64_t since;
	/* Of units, from model->forgotten on; the ends of those that don't last. */
	struct thrum__index_times starts, ends;
	uint32_t older;   /* units that began before */
	uint32_t lasting; /* units */
	uint8_t *wanted;  /* bits by track: something in it never resolves */
	int64_t end;      /* the model's */
	uint32_t tracks;
	struct thrum__timeline_cells task_track; /* by task, or NONE */
	struct thrum__follow_past *past;         /* what updates compare with, or NULL */
	struct thrum__index_maker *maker;
};

static inline int64_t thrum__index_column_end(const struct thrum__index_column *column,
	uint32_t position)
{
	return column->end ? column->end[position] : column->start[position];
}

/* The track of a task, or NONE. */
static inline uint32_t thrum__index_track(const struct thrum__index *index, uint32_t task)
{
	const uint32_t *cell = thrum__timeline_cell(&index->task_track, task);

	return cell ? *cell : THRUM__NONE;
}

/* Allocates count + 1 elements, or NULL. */
void *thrum__index_allocate(uint64_t count, size_t size);
/* Makes an array as long; the new part is zeros. */
THRUM__MUST_USE int thrum__index_extend(void **array, uint64_t old, uint64_t count, size_t size);

/* ---- One column: tracks_index.c --------------------------------------------------------------- */

/* Makes what is derived from tracks, start, end, item: gaps and sums. */
THRUM__MUST_USE int thrum__index_column_index(struct thrum__index_column *);
void thrum__index_column_finish(struct thrum__index_column *);
size_t thrum__index_column_memory(const struct thrum__index_column *);

/* Room for so many positions. */
THRUM__MUST_USE int thrum__index_column_grow(struct thrum__index_column *, uint64_t count);
/* Makes sums and gaps of a track right again that changed from a position on. */
void thrum__index_column_redo(struct thrum__index_column *, uint32_t track, uint32_t from);
/* The same where nothing changed but that all from a position on came behind the others. */
void thrum__index_column_follow(struct thrum__index_column *, uint32_t track, uint32_t from);
/* The same of gaps alone: those behind positions from … to - 1, to which their track goes. */
void thrum__index_column_redo_gaps(struct thrum__index_column *, uint32_t from, uint32_t to);
/* The gap behind a position became so wide. */
void thrum__index_column_widen(struct thrum__index_column *, uint32_t position);

/* From a position on, the first whose gap to the next is at least `gap` ns; else the last of the
 * track, which ends at `end` (> position). */
uint32_t thrum__index_column_gap(const struct thrum__index_column *, uint32_t position,
	uint32_t end, int64_t gap);

/* Sum of the lengths of the positions from … to - 1, of one track. */
int64_t thrum__index_column_busy(const struct thrum__index_column *, uint32_t from, uint32_t to);

/* The first position in from … to - 1 that starts (ends) at or after a time; `to`: none. */
uint32_t thrum__index_column_start_at(const struct thrum__index_column *, uint32_t from,
	uint32_t to, int64_t time);
uint32_t thrum__index_column_end_at(const struct thrum__index_column *, uint32_t from, uint32_t to,
	int64_t time);

/* ---- Tracks that change: tracks_rows.c --------------------------------------------------------- */

/* Makes room for so many items behind a track's last. */
THRUM__MUST_USE int thrum__index_column_reserve(struct thrum__index_column *, uint32_t track,
	uint32_t count);
/* Puts an item behind a track's last, as most that is new, where there is room; to be followed.
 * False: it begins before the last has ended. */
bool thrum__index_column_append(struct thrum__index_column *, uint32_t track,
	const struct thrum__index_arrival *);
/* Opens a place in front of a position of a track, to be filled in and redone. NONE: no memory. */
uint32_t thrum__index_column_open(struct thrum__index_column *, uint32_t track,
	uint32_t behind_first);
void thrum__index_column_close(struct thrum__index_column *, uint32_t track, uint32_t position);
/* Drops what ended before; returns how many that were. */
uint32_t thrum__index_column_trim(struct thrum__index_column *, uint32_t track, int64_t before);
THRUM__MUST_USE int thrum__index_column_add_tracks(struct thrum__index_column *, uint32_t tracks);
/* Makes tracks lie closely again where they leave much unused. */
THRUM__MUST_USE int thrum__index_column_pack(struct thrum__index_column *);
/* A closed run more in the union. */
THRUM__MUST_USE int thrum__index_column_unite(struct thrum__index_column *all, int64_t start,
	int64_t end);

/* ---- Blocks of tracks: tracks_blocks.c --------------------------------------------------------- */

/* Makes what isn't there: all blocks, or, after tracks were added, theirs. */
THRUM__MUST_USE int thrum__index_blocks_grow(struct thrum__index *, struct thrum__index_column *);
/* An item of a track is more than it was by start … end; count 0: not a new one. */
THRUM__MUST_USE int thrum__index_blocks_add(struct thrum__index_column *, uint32_t track,
	int64_t start, int64_t end, uint32_t item, uint32_t count);
/* What came into tracks of a block of sixteen, in the order of time but for what is late. */
THRUM__MUST_USE int thrum__index_blocks_bring(struct thrum__index_column *, uint32_t block,
	const struct thrum__index_arrival *, uint32_t count);
/* It left the track. */
THRUM__MUST_USE int thrum__index_blocks_remove(struct thrum__index *, struct thrum__index_column *,
	uint32_t track, int64_t start, uint32_t item);
/* Forgets all that was before. Returns whether there was anything in a block of sixteen tracks. */
bool thrum__index_blocks_trim(struct thrum__index_column *, unsigned level, uint32_t block,
	int64_t before);

/* ---- tracks_times.c -------------------------------------------------------------------------- */

/* More times, the starts of pieces, which it sorts; behind them must be room for as many. */
THRUM__MUST_USE int thrum__index_times_add(struct thrum__index_times *, struct thrum__base_span *,
	size_t count);
void thrum__index_times_remove(struct thrum__index_times *, int64_t time);
/* Drops those before a time; returns how many. */
uint32_t thrum__index_times_trim(struct thrum__index_times *, int64_t before);
/* To be called after changes, before asking. */
void thrum__index_times_count(struct thrum__index_times *);
/* How many are at most `time`. */
uint32_t thrum__index_times_until(const struct thrum__index_times *, int64_t time);
void thrum__index_times_finish(struct thrum__index_times *);
size_t thrum__index_times_memory(const struct thrum__index_times *);

/* ---- tracks_update.c ------------------------------------------------------------------------- */

/* Notes what updates compare with. */
THRUM__MUST_USE int thrum__index_remember(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *);
void thrum__follow_past_free(struct thrum__follow_past *);
size_t thrum__follow_past_memory(const struct thrum__follow_past *);

/* ---- Where things go: index.c --------------------------------------------------------------- */

/* Where an item goes, and when it is; side 1 is an edge's other end. NONE: nowhere. */
uint32_t thrum__index_place(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *, int kind, uint32_t item, int side, int64_t *start,
	int64_t *end);
/* Whether a unit has no end of its own. */
bool thrum__index_lasts(const struct thrum__model *, const struct thrum__layout *, uint32_t unit);
/* Whether a run is of a lane's own task: that one isn't busy. */
bool thrum__index_is_own(const struct thrum__model *, uint32_t run);
/* Frees all but the index themselves. */
void thrum__index_finish(struct thrum__index *);
/* Marks what never resolves. */
void thrum__index_want(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *, uint32_t unit);

#endif
