/* SPDX-License-Identifier: ISC */
/*
 * A pile holds the tracks of one group. It knows the units on each track and finds the first track
 * that is free for some time. Private to layout/, which places units with it. Intervals of time are
 * start … end without the end. Units are indices of `seats`, which all functions take.
 */
#ifndef TIMELINE_LAYOUT_PILE_H
#define TIMELINE_LAYOUT_PILE_H

#include "model/model.h"

/* The time that a unit occupies, and its node in the AVL tree of its track; or, with `left` and
 * `right` for the previous and the next one, its place in the track's list. */
struct thrum__layout_seat {
	int64_t start, end;
	int64_t first, last; /* the least start and the greatest end of the subtree */
	int64_t gap;         /* the widest gap between two units of the subtree, in ns */
	uint32_t left, right;
	uint8_t height;
	bool is_gone; /* to be removed by thrum__layout_pile_shed */
};

/* When a track is free. For many tracks, each member is the best of all of them. */
struct thrum__layout_slack {
	int64_t start; /* free before this time */
	int64_t end;   /* free from this time on */
	int64_t gap;   /* the widest gap in between (ns), or more */
	int64_t late;  /* the last start: gaps in between end there at the latest */
};

/* The units of a track: a tree, and a list of those that came behind all of the tree. */
struct thrum__layout_pile_track {
	uint32_t root;       /* of the tree, or NONE */
	uint32_t head, tail; /* of the list, or NONE */
	bool is_mixed;   /* the list's widest gap may be too wide, as units came between others */
	bool is_stacked; /* units came before others of the list: there is no tree */
};

struct thrum__layout_pile {
	struct thrum__layout_pile_track *held; /* by track */
	/* The segment tree: 2 * room nodes; 1 is the root, room + track is a track's leaf. */
	struct thrum__layout_slack *tree;
	uint32_t tracks, room; /* room: a power of two, or 0 */
};

/* Frees the pile's memory, and empties it. */
void thrum__layout_pile_finish(struct thrum__layout_pile *);

/* Makes room for a track. Call it before inserting there. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__layout_pile_reserve(struct thrum__layout_pile *, uint32_t track);

/* Whether a track is free from start to end; a track without room is. */
bool thrum__layout_pile_fits(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, int64_t start, int64_t end);

/* Returns the first track from `from` on, `skip` excepted (or NONE), that is free from start to
 * end. Where many tracks have wide gaps at other times, it may leave out some that are free. */
uint32_t thrum__layout_pile_find(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t from, uint32_t skip, int64_t start, int64_t end);

/* Puts a unit on a track that has room and is free; the unit's seat has start and end. */
void thrum__layout_pile_insert(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit);
/* Gives a unit another end, if it is the last of a track's list; else returns false. */
bool thrum__layout_pile_stretch(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit, int64_t end);
/* Takes a unit off its track. O(log n). */
void thrum__layout_pile_remove(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track, uint32_t unit);
/* Takes the units off a track that are gone, up to the first one that isn't, and clears their
 * is_gone. */
void thrum__layout_pile_shed(struct thrum__layout_pile *, struct thrum__layout_seat *seats,
	uint32_t track);

#endif
