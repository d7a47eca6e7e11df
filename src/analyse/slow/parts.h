/* SPDX-License-Identifier: ISC */
/* The interfaces between the files that make a path. Private to analyse/slow. */
#ifndef ANALYSE_SLOW_PARTS_H
#define ANALYSE_SLOW_PARTS_H

#include "analyse/slow/path.h"

/* ---- Frames and rows: frames.c ------------------------------------------------------------- */

/* Sets *frame to the frame of a task below `parent` (which may be NONE), and adds it if it is new.
 * `doing` is READY, LATE, QUEUED or MEANWHILE for a task that has the lane, else RUNS. *frame is
 * `parent` itself if the task has no frame of its own or the stack is too deep. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_frame_find(struct thrum__paths *, uint32_t parent, uint32_t task,
	int doing, uint32_t *frame);

/* The same as thrum__slow_frame_find for a time in which a lane is suspended for a reason, a string
 * of the model. */
THRUM__MUST_USE int thrum__slow_frame_suspended(struct thrum__paths *, uint32_t parent,
	uint32_t reason, uint32_t *frame);

/* Whether a task is a mailbox or stream: some put into it, and may wait for room; others take. */
static inline bool thrum__slow_is_buffer(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_MAILBOX ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_STREAM;
}

/* The time of an edge, a run or a suspension. */
int64_t thrum__slow_edge_time(const struct thrum__model *, uint32_t edge);
int64_t thrum__slow_run_start(const struct thrum__model *, uint32_t run);
int64_t thrum__slow_suspension_start(const struct thrum__model *, uint32_t suspension);
int64_t thrum__slow_off_cpu_start(const struct thrum__model *, uint32_t off_cpu);

/* The index in slices->rows behind the owner's rows that are before `time`. O(log n). */
uint32_t thrum__slow_rows_before(const struct thrum__model *, const struct thrum__slices *,
	uint32_t owner, int64_t time, int64_t (*time_of)(const struct thrum__model *, uint32_t));

/* ---- The walk: pieces.c -------------------------------------------------------------------- */

/* A task and a time of it that is still to be walked. */
struct thrum__slow_piece {
	uint32_t task, frame;
	uint32_t top;    /* the task for which the path's own waits, or NONE */
	uint32_t holder; /* of the highest lock above, or NONE */
	uint32_t depth;  /* how many tasks wait for it on this path */
	int64_t from, to;
};

struct thrum__slow_walk {
	struct thrum__paths *paths;
	const struct thrum__model *model;
	struct thrum__path *path;
	struct thrum__slow_piece *pieces;
	uint32_t count, room, pushed;
	uint32_t waiting[THRUM__STACK_DEPTH + 1]; /* by depth: the heir of the piece's task */
	bool failed;                              /* no memory */
};

/* Adds a part of the piece. Parts may come in any order. */
void thrum__slow_part_add(struct thrum__slow_walk *, const struct thrum__slow_piece *, int64_t from,
	int64_t to, int doing, uint32_t other);

/* Pushes a piece, which is walked later. */
void thrum__slow_push(struct thrum__slow_walk *, struct thrum__slow_piece);

/* The same for the task and for each that it became, each with its part of the time. */
void thrum__slow_push_chain(struct thrum__slow_walk *, struct thrum__slow_piece);

/* Pushes a piece for a task, and for each that it became, below the frame of another piece. Returns the
 * frame, or NONE. */
uint32_t thrum__slow_push_below(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	uint32_t task, int64_t from, int64_t to);

/* Whether a task is waiting on the path down to that depth: following it would never end. */
bool thrum__slow_is_waiting(const struct thrum__slow_walk *, uint32_t depth, uint32_t heir);

/* Whether a task is its lane's own, or mirage-profile's main context. */
bool thrum__slow_is_ground(const struct thrum__model *, uint32_t task);

/* Whether the path can go on below a piece with a task, even if that is a lane's own. */
bool thrum__slow_can_follow(const struct thrum__slow_walk *, const struct thrum__slow_piece *,
	uint32_t by);

/* Whether the path can go on below a piece with the task that ended a wait. */
bool thrum__slow_explains(const struct thrum__slow_walk *, const struct thrum__slow_piece *,
	uint32_t by);

/* ---- Waits: waits.c ------------------------------------------------------------------------ */

/* A wait of a task that is over. */
struct thrum__slow_wait {
	uint32_t task; /* for which it waited; NONE: no wait is known */
	uint32_t by;   /* the task that ended the wait, or NONE */
	bool for_room; /* it waited to put something into the task: those who take end that */
	int64_t from, to;
};

/* The wait of the piece's task whose end let it go on last. */
struct thrum__slow_wait thrum__slow_wait_last(const struct thrum__slow_walk *,
	const struct thrum__slow_piece *);

/* The task that a task read first after a gap between its runs, if that ended within the gap: it
 * waited for that one, though no event says so. `to` is the gap's end. Or NONE. */
uint32_t thrum__slow_read_after(const struct thrum__slow_walk *, uint32_t task, int64_t from,
	int64_t to);

/* The last edge between two times by which a task became ready, or NONE. */
uint32_t thrum__slow_ready_before(const struct thrum__slow_walk *, uint32_t task, int64_t from,
	int64_t to);

/* The task that ended `task`, or NONE. A condition that did so, in a mirage-profile trace, only
 * passed a signal on: then the task that signalled it after `from`. */
uint32_t thrum__slow_ended_by(const struct thrum__slow_walk *, uint32_t task, int64_t from);

/* Walks the time of a wait for an object such as a lock: below its frame, it belongs to those who
 * held the object, one after the other. */
void thrum__slow_walk_held(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	const struct thrum__slow_wait *);

/* Walks the end of a piece in which its task waits for one that is pending at the model's end, too.
 * Returns up to when the rest is to be walked: to the piece's end if no such wait is known. */
int64_t thrum__slow_walk_pending(struct thrum__slow_walk *, const struct thrum__slow_piece *);

/* ---- Messages: messages.c ------------------------------------------------------------------ */

/* Walks a time in which the piece's task waited for something unknown, if the work on a message of
 * its explains that. Returns whether it does. */
bool thrum__slow_walk_message(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	int64_t from, int64_t to);
/* The same for a task that never runs and stands for the end of a process, if its creator started one that
 * ended then. */
bool thrum__slow_walk_process(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	int64_t from, int64_t to);

/* ---- libuv's thread pool: pool.c -------------------------------------------------------------- */

/* Walks a time in which a request that libuv's thread pool does had no end, if works had all threads of the
 * pool until shortly before `to`. Returns whether that is so. */
bool thrum__slow_walk_pool(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	int64_t from, int64_t to);

/* ---- Lines: line.c ---------------------------------------------------------------------------- */

/* Walks the time of a task that never ran until `by` ended it, if those before it show that it stood in a
 * line. Returns whether they do. */
bool thrum__slow_walk_line(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	uint32_t by);

/* ---- Runs: runs.c -------------------------------------------------------------------------- */

/* Adds the parts of a run: those in which its thread was off its processor are parts of their own. */
void thrum__slow_run_add(struct thrum__slow_walk *, const struct thrum__slow_piece *, uint32_t lane,
	int64_t from, int64_t to);

/* ---- Lanes: lanes.c ------------------------------------------------------------------------ */

/* Adds parts for a time in which the task could have run on a lane: one for each run of another
 * task there, one for each suspension, and waiting where nothing is known. */
void thrum__slow_lane_add(struct thrum__slow_walk *, const struct thrum__slow_piece *,
	uint32_t lane, int64_t from, int64_t to, int doing);

/* The last time between `from` and `to` at which the lane had waited for work: a task that was
 * ready before would have run then. `from` if it was always busy. */
int64_t thrum__slow_lane_busy_since(const struct thrum__slow_walk *, uint32_t lane, int64_t from,
	int64_t to);

/* Since when something that a lane handles at `to` may have waited for its turn: the loop last asked for news
 * before that, or if it was told at once then, the time before. Not before `from`; `to` if it never asked. */
int64_t thrum__slow_lane_turn(const struct thrum__slow_walk *, uint32_t lane, int64_t from,
	int64_t to);

/* The lane on which a task runs at a time, or has its last run before it; NONE: it never ran. */
uint32_t thrum__slow_lane_at(const struct thrum__slow_walk *, uint32_t task, int64_t time);

#endif
