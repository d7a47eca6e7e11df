/* SPDX-License-Identifier: ISC */
/*
 * The index: what lies in each track, sorted by time, with summaries, so that a frame costs by pixels
 * and not by events. Made from model and layout; read only until made anew or updated. What ended
 * before model->forgotten is left out.
 */
#ifndef TIMELINE_INDEX_INDEX_H
#define TIMELINE_INDEX_INDEX_H

#include "timeline/layout/layout.h"

enum thrum__index_kind {
	THRUM__INDEX_UNITS, /* items: units, start … end; those that last: to the model's end */
	THRUM__INDEX_RUNS,  /* items: the model's runs, start … end */
	THRUM__INDEX_EDGES, /* items: the model's edges, by time, in the track of either end */
	THRUM__INDEX_NOTES, /* items: the model's notes, by time */
	THRUM__INDEX_FAILURES, /* items: tasks that failed, by end */
	THRUM__INDEX_KINDS,
};

struct thrum__index;

THRUM__MUST_USE int thrum__index_create(const struct thrum__model *, const struct thrum__layout *,
	struct thrum__index **);
/* The same, with `progress` as in thrum__layout_update; when it returns false the result is 1. */
THRUM__MUST_USE int thrum__index_make(const struct thrum__model *, const struct thrum__layout *,
	bool (*progress)(void *context, double part), void *context, struct thrum__index **);

/*
 * Follows what model and layout got and lost since; to be called after each update of the layout.
 * Costs by that and by what is still alive (n log n), but makes all anew when lanes' tracks moved as
 * a block. After -THRUM_E_MEMORY they can only be destroyed.
 */
THRUM__MUST_USE int thrum__follow_update(struct thrum__index *, const struct thrum__model *,
	const struct thrum__layout *);
void thrum__index_destroy(struct thrum__index *); /* NULL is fine */

/* A stretch of what is closer together than can be told apart on the screen. */
struct thrum__index_stretch {
	int64_t start, end;
	int64_t busy; /* sum of the items' lengths within it (of several tracks: about their union) */
	uint64_t count; /* how many items */
	uint32_t item;  /* the first item; the only one when count is 1 */
};

/*
 * Walks the stretches of tracks first … first + tracks - 1 that intersect from … to, in the order of
 * time: items of which each is less than `gap` ns from the next are one stretch. From 16 tracks on,
 * blocks of 16^n tracks stand for them: walks over neighbouring tracks, all as many, then share none
 * and leave none out; and stretches may be merged already where there are hundreds.
 */
struct thrum__index_walk {
	const struct thrum__index *index;
	int kind;
	int64_t gap;
	/* The walk's own business: what comes next in each of the tracks or blocks. */
	unsigned level, count;
	struct {
		uint32_t at, end;
		struct thrum__index_stretch next;
	} cursor[17];
};

void thrum__index_walk_begin(struct thrum__index_walk *, const struct thrum__index *, int kind,
	uint32_t track, uint32_t tracks, int64_t from, int64_t to, int64_t gap);

/* The next; false at the end. O(log n) each. An open run ends at the model's end. */
bool thrum__index_walk_next(struct thrum__index_walk *, struct thrum__index_stretch *);

/* For units or points of one track: positions first … *end - 1 are the track's items; the first whose
 * start (time) is at or after `time`. O(log n). */
size_t thrum__index_seek(const struct thrum__index *, int kind, uint32_t track, int64_t time,
	size_t *end);
/* Where such a track's items begin: who goes back from a position stops there, since other tracks' and
 * forgotten ones lie before. */
size_t thrum__index_first(const struct thrum__index *, int kind, uint32_t track);
uint32_t thrum__index_item(const struct thrum__index *, int kind, size_t position);
int64_t thrum__index_time(const struct thrum__index *, int kind, size_t position);

/* The first track from `track` on of which a unit lies in from … to; or the number of tracks. Skips many
 * empty ones at once. */
uint32_t thrum__index_next_track(const struct thrum__index *, uint32_t track, int64_t from,
	int64_t to);

/* Whether anything happens in a track in from … to: a run, an edge, a note, a beginning, an end;
 * or something should resolve and never does. */
bool thrum__index_is_loud(const struct thrum__index *, uint32_t track, int64_t from, int64_t to);

/* The union of all runs of all lanes (of tasks other than the lanes' own where there are lanes'
 * own), in order; gaps of at least `gap` > 0 between them, before the first and after the last,
 * within from … to: calls `found` for each until it returns false. O(found × log n). */
void thrum__index_idle(const struct thrum__index *, int64_t from, int64_t to, int64_t gap,
	bool (*found)(void *context, int64_t start, int64_t end), void *context);

/* How far nothing runs before and after a time: *start ≤ time ≤ *end; both are `time` while
 * something runs. INT64_MIN and INT64_MAX where nothing ever did or does. O(log n). */
void thrum__index_idle_around(const struct thrum__index *, int64_t time, int64_t *start,
	int64_t *end);

/* Sum of that union within from … to. O(log n). */
int64_t thrum__index_busy(const struct thrum__index *, int64_t from, int64_t to);

/* How many units are alive (start ≤ time ≤ end) at a time. O(log n). */
uint32_t thrum__index_alive(const struct thrum__index *, int64_t time);

size_t thrum__index_memory(const struct thrum__index *);

#endif
