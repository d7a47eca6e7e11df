/* SPDX-License-Identifier: ISC */
/*
 * Where a task's time went: its critical path. Backwards from its end: it ran; or it waited for
 * another, whose time is told in turn, down to what nobody in the program worked on; or it could
 * have run, and its lane ran something else. Each moment of its life is in one stretch.
 *
 * What ends a wait: the end of what is awaited, with all that it became; a condition's signal, a
 * lock's release. Whoever resolved, signalled or released is followed; the lanes' own tasks are
 * not, since they only hand on what comes from outside.
 */
#ifndef ANALYSE_SLOW_PATH_H
#define ANALYSE_SLOW_PATH_H

#include "base/keys.h"
#include "model/model.h"

/* X(NAME, word) */
#define THRUM__DOINGS(X) \
	X(RUNS, "runs") \
	X(WAITS, "waits") /* nobody in the program works on it, as far as the trace knows */ \
	X(READY, "ready") /* could run; the lane runs `other` */ \
	X(LATE, "late")   /* is due, but the lane runs `other` */

enum thrum__doing {
#define THRUM__X(NAME, word) THRUM__DOING_##NAME,
	THRUM__DOINGS(THRUM__X)
#undef THRUM__X
	THRUM__DOING_COUNT,
};

const char *thrum__slow_doing_name(int doing);

/* ---- Stacks: who waits for whom, by label -------------------------------------------------- */

#define THRUM__STACK_DEPTH 64

/* A frame of a stack: what labels of a pattern, or unlabelled ones of a kind, wait for in turn.
 * Unlabelled binds and the like, which only hand on results, are no frames of their own. What is
 * below the like already, such as the holder of a lock who waited for the same lock, stands in the
 * upper one. */
struct thrum__frame {
	uint32_t parent; /* frame; NONE: the stack begins here */
	uint32_t depth;
	uint32_t name; /* private */
	uint32_t task; /* one of those that it stands for; NONE: several others */
	uint8_t doing; /* READY, LATE: `task` is who had the lane. Else RUNS */
};

/* Rows by what they belong to: those of i are rows[first[i]] … rows[first[i + 1] - 1]. */
struct thrum__slices {
	uint32_t *first, *rows;
};

/* Of one model, for any number of paths. */
struct thrum__paths {
	const struct thrum__model *model;
	struct thrum__frame *frames;
	uint32_t frame_count, frame_room;
	struct thrum__base_keys keys; /* by frame */
	struct thrum__base_keys names;
	/* Private: */
	uint32_t *resolved;             /* by task: the edge by which it ended, or NONE */
	struct thrum__slices waits;     /* by task: edges WAIT out */
	struct thrum__slices gets;      /* by task: edges READ and LOCK out */
	struct thrum__slices acts;      /* by task: edges SIGNAL and UNLOCK in */
	struct thrum__slices runs;      /* by task */
	struct thrum__slices lane_runs; /* by lane */
};

/* The model must stay as it is until thrum__slow_paths_finish. Returns 0 or -THRUM_E_MEMORY (then there
 * is nothing to finish). O(tasks + edges + runs). */
THRUM__MUST_USE int thrum__slow_paths_init(struct thrum__paths *, const struct thrum__model *);
void thrum__slow_paths_finish(struct thrum__paths *);

/* What a frame stands for: the label's pattern, else the kind's word. No NUL; valid until the next
 * path is made. */
const char *thrum__slow_frame_name(const struct thrum__paths *, uint32_t frame, size_t *size);

/* ---- Paths --------------------------------------------------------------------------------- */

struct thrum__path_part {
	int64_t from, to;
	uint32_t frame;
	uint32_t task;  /* who runs, waits or could run */
	uint32_t other; /* READY, LATE: who runs; NONE: several, or nobody is known. Else NONE */
	uint8_t doing;
};

struct thrum__path {
	uint32_t task;
	int64_t from, to;
	struct thrum__path_part *stretches; /* in the order of time, without holes */
	uint32_t count, room;
	bool is_cut; /* too long a story: the earliest stretch stands for the rest */
};

/*
 * The path of a task that ended, from its start to the end of what it became; of one that didn't,
 * to the trace's end. *path is to be freed with thrum__slow_path_free. Returns 0 or -THRUM_E_MEMORY.
 * O(length × log n), and bounded.
 */
THRUM__MUST_USE int thrum__slow_path_make(struct thrum__paths *, uint32_t task,
	struct thrum__path *);
void thrum__slow_path_free(struct thrum__path *);

/* When a task ended with all that it became; OPEN: not yet. */
int64_t thrum__slow_path_end(const struct thrum__model *, uint32_t task);

#endif
