/* SPDX-License-Identifier: ISC */
/* What the files of the tracks share. Internal to view/. */
#ifndef VIEW_TRACKS_PARTS_H
#define VIEW_TRACKS_PARTS_H

#include "view/pieces.h"
#include "view/tracks.h"

/* Children of a node: of the trees over gaps, and of the blocks of rows. */
#define THRUM__FAN_SHIFT 4
#define THRUM__FAN (1u << THRUM__FAN_SHIFT)
#define THRUM__GAP_LEVELS 9   /* of 2^32 items, the lowest of which isn't kept */
#define THRUM__BLOCK_LEVELS 8 /* of 2^32 rows: blocks of 16, 256, … */
#define THRUM__BLOCK_CURSORS 17

/* A stretch of several rows' items. */
struct thrum__sum {
	int64_t start, end;
	uint32_t count; /* saturates */
	uint32_t item;
	float share; /* how much of it is busy, 0 … 1 */
};

/* What lies in blocks of 16^n rows: at most some hundred stretches each, those with the widest gaps
 * between them. */
struct thrum__level {
	uint32_t *first; /* by block, and the end */
	struct thrum__sum *sums;
	uint32_t blocks;
};

/*
 * Items by row, and in a row by time. They don't overlap: one that begins before an earlier ends is
 * cut (only runs of one chain in several lanes do, or damaged traces).
 */
struct thrum__track {
	uint32_t *first;      /* by row: its first position; and the end */
	int64_t *start, *end; /* by position; points have no end of their own */
	uint32_t *item;
	uint32_t count, rows;
	int64_t *before; /* sum of the lengths before every sixteenth position */
	/* The widest gap behind each of 16, 256, … positions; behind a row's last it is endless. */
	int64_t *gap[THRUM__GAP_LEVELS];
	unsigned gap_levels;
	struct thrum__level level[THRUM__BLOCK_LEVELS];
	unsigned levels;
};

struct thrum__tracks {
	struct thrum__track track[THRUM__TRACK_KINDS];
	struct thrum__track all; /* of one row: the union of all runs */
	int64_t *starts, *ends;  /* of units, sorted */
	uint32_t units;
	uint8_t *wanted; /* bits by row: something in it never resolves */
	int64_t end;     /* the model's */
	uint32_t rows;
	size_t memory;
};

static inline int64_t thrum__track_end(const struct thrum__track *track, uint32_t position)
{
	return track->end ? track->end[position] : track->start[position];
}

void *thrum__tracks_allocate(struct thrum__tracks *, uint64_t count, size_t size);

/* Makes what is derived from first, start, end, item: gaps, sums; and blocks of rows. */
THRUM__MUST_USE int thrum__track_index(struct thrum__tracks *, struct thrum__track *);
THRUM__MUST_USE int thrum__track_summarize(struct thrum__tracks *, struct thrum__track *);

void thrum__track_finish(struct thrum__track *);

/* From a position on, the first whose gap to the next is at least `gap` ns; else the last of the
 * row, which ends at `end` (> position). */
uint32_t thrum__track_gap(const struct thrum__track *, uint32_t position, uint32_t end,
	int64_t gap);

/* Sum of the lengths of the positions before. */
int64_t thrum__track_before(const struct thrum__track *, uint32_t position);

/* The first position in from … to - 1 that starts (ends) at or after a time; `to`: none. */
uint32_t thrum__track_start_at(const struct thrum__track *, uint32_t from, uint32_t to,
	int64_t time);
uint32_t thrum__track_end_at(const struct thrum__track *, uint32_t from, uint32_t to, int64_t time);

#endif
