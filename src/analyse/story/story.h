/* SPDX-License-Identifier: ISC */
/*
 * Stories: where the time of one task went, laid over real time; what a group of tasks usually waits
 * for; and the rows of an opened band. All are made of paths (analyse/slow/path.h).
 *
 * A story has levels. Level 0 is the task; level n has what level n - 1 waits for. Each moment has
 * at most one box on each level.
 */
#ifndef ANALYSE_STORY_STORY_H
#define ANALYSE_STORY_STORY_H

#include "analyse/family/family.h"
#include "analyse/slow/path.h"

#define THRUM__STORY_LEVELS 8

/* How a box is drawn. */
enum thrum__story_doing {
	THRUM__STORY_WAITS, /* for the box below it, or for the outside */
	THRUM__STORY_RUNS,
	THRUM__STORY_BUSY, /* the task above could run, but its thread runs this one */
};

struct thrum__story_box {
	int64_t from, to;
	uint32_t task;  /* for its name; NONE: the frame's name */
	uint32_t frame; /* of the paths */
	uint8_t doing;  /* enum thrum__story_doing */
};

/* The sort of a level, for its name. */
enum thrum__story_level_kind {
	THRUM__STORY_NAMED,   /* mostly one task or name: that of `task` or `frame` */
	THRUM__STORY_HOLDERS, /* tasks that held the lock above one after the other */
	THRUM__STORY_THREAD,  /* the thread is busy */
};

struct thrum__story_level {
	struct thrum__story_box *boxes; /* by time */
	uint32_t count, room;
	int64_t time; /* ns of all boxes, those too small to see included */
	uint8_t kind; /* enum thrum__story_level_kind */
	bool is_lock; /* NAMED: a lock or a semaphore */
	uint32_t task, frame;
};

struct thrum__story {
	uint32_t task;
	int64_t from, to;
	bool is_failed, is_pending;
	struct thrum__story_level levels[THRUM__STORY_LEVELS];
	uint32_t level_count;
	bool is_deeper; /* there are more levels */
	struct thrum__path path;
};

/*
 * Makes the story of a task. Boxes of less than `grain` ns are left out or joined with equal
 * neighbours: 1 pixel is a good grain. Returns 0 or -THRUM_E_MEMORY. Free with thrum__story_free.
 */
THRUM__MUST_USE int thrum__story_make(struct thrum__paths *, uint32_t task, int64_t grain,
	struct thrum__story *);
/* Makes the boxes anew for another grain, from the same path. */
THRUM__MUST_USE int thrum__story_remake(struct thrum__paths *, int64_t grain,
	struct thrum__story *);
void thrum__story_free(struct thrum__story *);

/* A time in which nobody in the program works on a story. thrum__bands_holes tells whether any lane
 * runs meanwhile. */
struct thrum__story_outside {
	int64_t from, to;
	uint32_t level; /* the lowest level, which waits */
	bool is_lock;   /* it shows a lock: nobody is known to have that */
	bool is_timer;
};

/* Finds these times of at least `least` ns. Returns how many: at most `most`. */
uint32_t thrum__story_outside(const struct thrum__paths *, const struct thrum__story *,
	int64_t least, struct thrum__story_outside *, uint32_t most);

/* ---- A row of an opened band --------------------------------------------------------------- */

/* A stretch of a task's life, for a row of an opened band. */
struct thrum__story_stretch {
	int64_t from, to;
	uint8_t doing; /* enum thrum__story_doing; RUNS: it or anything for it */
	/* WAITS: the lock or the labelled task for which it waits; NONE: the outside. BUSY: the task
	 * that its thread runs; NONE: several. */
	uint32_t task;
};

struct thrum__story_row {
	struct thrum__story_stretch *stretches; /* by time, without holes */
	uint32_t count, room;
};

/* Makes the row of a task. Stretches of less than `grain` ns join those before them: 4 pixels is a
 * good grain. Returns 0 or -THRUM_E_MEMORY. Free with thrum__story_row_free. */
THRUM__MUST_USE int thrum__story_row_make(struct thrum__paths *, uint32_t task, int64_t grain,
	struct thrum__story_row *);
void thrum__story_row_free(struct thrum__story_row *);

/* ---- Where the time of groups goes --------------------------------------------------------- */

enum thrum__story_where_kind {
	THRUM__WHERE_RUNS,
	THRUM__WHERE_BUSY,    /* ready, but its thread runs others */
	THRUM__WHERE_OUTSIDE, /* waits for the outside */
	THRUM__WHERE_WAITS,   /* waits for `group`: a lock, else the lowest group */
};

struct thrum__story_part {
	uint8_t kind; /* enum thrum__story_where_kind */
	uint32_t group;
	double share;
};

#define THRUM__WHERE_PARTS 8
#define THRUM__WHERE_TASKS 1000

/* Where the time of some tasks of a group went, the biggest share first. */
struct thrum__story_where {
	uint32_t tasks; /* how many were looked at */
	int64_t since;  /* only among those that began at this time or later; 0: among all */
	struct thrum__story_part parts[THRUM__WHERE_PARTS];
	uint32_t count;
};

/* Looks at the paths of these tasks, of one group; their ancestors' groups don't count as what they
 * wait for. At most THRUM__WHERE_TASKS are a good number. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__story_where_make(struct thrum__paths *, const struct thrum__family *,
	const uint32_t *tasks, uint32_t count, struct thrum__story_where *);

#endif
