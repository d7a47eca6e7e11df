/* SPDX-License-Identifier: ISC */
/*
 * The tracks of one group, and which track is the first that is free for a stretch of time. Internal to
 * this room: layout.c places units with.
 */
#ifndef TIMELINE_LAYOUT_PILE_H
#define TIMELINE_LAYOUT_PILE_H

#include "model/model.h"

/* Of a unit: what it occupies (the end is not part of it), and its node in the AVL tree of its track,
 * or its place in the track's list. */
struct thrum__layout_seat {
	int64_t start, end;
	int64_t first, last; /* of the subtree: the least start, the greatest end */
	int64_t gap;         /* of the subtree: the widest free stretch between two */
	uint32_t left, right;
	uint8_t height;
	bool is_gone; /* set before thrum__layout_pile_shed */
};

/* How free tracks are: of a track, or the best of many, each by its own. */
struct thrum__layout_slack {
	int64_t start; /* free before */
	int64_t end;   /* free from */
	int64_t gap;   /* free in between: the widest, or more */
	int64_t late;  /* the last start: what is free in between ends there at the latest */
};

/* What lies in a track: the tree's root, and a list of what came behind all that is in the tree. */
struct thrum__layout_pile_track {
	uint32_t root, head, tail; /* or NONE */
};

struct thrum__layout_pile {
	struct thrum__layout_pile_track *line; /* by track */
	struct thrum__layout_slack *tree; /* 2 * room: 1 is the root, room + track the leaves */
	uint32_t tracks, room;            /* room: a power of two, or 0 */
};

void thrum__layout_pile_finish(struct thrum__layout_pile *);

/* Makes sure that a track can be used. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__layout_pile_reserve(struct thrum__layout_pile *, uint32_t track);

/* Whether a track is free from start to end. */
bool thrum__layout_pile_fits(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, int64_t start, int64_t end);

/* The first track from `from` on that is free, `skip` excepted (NONE: nothing is skipped): or, where
 * many are nearly free, one of the next. */
uint32_t thrum__layout_pile_find(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t from, uint32_t skip, int64_t start, int64_t end);

/* The unit's seat has start and end; the track is reserved and free. */
void thrum__layout_pile_insert(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit);
/* Gives the last unit of a track another end, when that is easy. */
bool thrum__layout_pile_stretch(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit, int64_t end);
void thrum__layout_pile_remove(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit);
/* Takes those out of a track that are gone, up to the first that isn't: they are gone no more. */
void thrum__layout_pile_shed(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track);

#endif
