/* SPDX-License-Identifier: ISC */
/*
 * Where a task's time went: its critical path, a series of parts that cover its life without holes
 * or overlaps. In each part the task ran; or it waited for another task, and the part tells what
 * that task did in turn, down to waits that nobody in the program worked on; or it could have run,
 * but its lane ran another task.
 *
 * A wait ends with the awaited task (with all that this became), with a condition's signal, or with
 * a lock's release; and one for room in a mailbox or stream with the task that takes something out.
 * The path then goes on with the task that resolved, signalled or took, but not with a
 * lane's own task, as that one only hands on results from outside; and for a lock or semaphore with
 * those that held it one after the other, whoever they are. A holder without a label, such as a
 * bind, stands below the frame of the task by whose name it is known.
 *
 * Where nothing tells for whom a task waits, the path goes on with the task that received its latest
 * message, also in another process: with its work, the time that the message lay there while that
 * thread did something else, and the ways there and back.
 *
 * Programs don't record every wait. So the path also goes on with a task that was read just after a
 * gap between runs and ended within it, with a child that had the lane meanwhile, and with the last
 * child that ended. A task that never ran, and that another ended which ends such tasks one after
 * the other, was queued behind these. Where nothing is known, the part says what the lane ran.
 */
#ifndef ANALYSE_SLOW_PATH_H
#define ANALYSE_SLOW_PATH_H

#include "analyse/slices.h"
#include "base/keys.h"
#include "model/model.h"

/* X(NAME, word): what happens in a part of a path. */
#define THRUM__DOINGS(X) \
	X(RUNS, "runs") \
	X(WAITS, "waits") /* no task of the program works on it, as far as the trace tells */ \
	X(SUSPENDED, "suspended")     /* its lane is suspended; the frame's name is the reason */ \
	X(PREEMPTED, "preempted")     /* it would run, but its thread has no processor */ \
	X(BLOCKED, "blocked")         /* it would run, but its thread waits in the kernel */ \
	X(FAULTS, "faults")           /* it would run, but the kernel brings a page of memory */ \
	X(INTERRUPTED, "interrupted") /* it would run, but its processor handles interrupts */ \
	X(NETWORK, "network")         /* a message is under way between it and another process */ \
	X(READY, "ready")             /* the task could run, but its lane runs `other` */ \
	X(LATE, "late")               /* the task is due, but its lane runs `other` */ \
	X(QUEUED, "queued") /* it hasn't begun, and the lane that will run it runs `other` */ \
	X(MEANWHILE, "meanwhile") /* it waits for something unknown; its lane runs `other` */

enum thrum__doing {
#define THRUM__X(NAME, word) THRUM__DOING_##NAME,
	THRUM__DOINGS(THRUM__X)
#undef THRUM__X
	THRUM__DOING_COUNT,
};

/* The word, or "unknown". Static. */
const char *thrum__slow_doing_name(int doing);

/* Whether a task itself does it, in a frame of its own name. */
static inline bool thrum__slow_is_own(int doing)
{
	return doing < THRUM__DOING_READY && doing != THRUM__DOING_SUSPENDED;
}

/* ---- Stacks of waiting --------------------------------------------------------------------- */

#define THRUM__STACK_DEPTH 64

/*
 * A frame of a stack: tasks whose names have one pattern, or unlabelled tasks of one kind, for
 * which the tasks of the parent frame wait. An unlabelled task that only hands on results, such as
 * a bind, has no frame of its own. If the same pair of frames already stands higher in the stack
 * (as with the holder of a lock that waited for the same lock before), that one is used again.
 */
struct thrum__frame {
	uint32_t parent; /* frame; NONE: the stack begins here */
	uint32_t depth;  /* 0: the stack begins here */
	uint32_t name;   /* private */
	uint32_t task;   /* one of its tasks; NONE: several that had the lane */
	uint8_t doing;   /* READY and later: `task` had the lane. SUSPENDED: named by a reason */
	bool is_waker;   /* these tasks woke the threads of those of the parent frame */
};

/* The stacks of one model, and its rows by task and lane, for any number of paths. */
struct thrum__paths {
	const struct thrum__model *model;
	struct thrum__frame *frames;
	uint32_t frame_count, frame_room;
	struct thrum__base_keys keys; /* by frame */
	struct thrum__base_keys names;
	/* Private: */
	uint32_t *heads;                  /* by task: see thrum__slow_heads_make */
	uint32_t *resolved;               /* by task: the edge by which it ended, or NONE */
	struct thrum__slices waits;       /* by task: its edges WAIT to others */
	struct thrum__slices gets;        /* by task: its edges READ and LOCK to others */
	struct thrum__slices acts;        /* by task: edges SIGNAL and UNLOCK that lead to it */
	struct thrum__slices takes;       /* by task: edges LOCK to it, READ to a buffer */
	struct thrum__slices enders;      /* by task: edges by which it ended others */
	struct thrum__slices readies;     /* by task: edges READY that lead to it */
	struct thrum__slices sends;       /* by task: edges LINK to others */
	struct thrum__slices children;    /* by task: the tasks that it created */
	struct thrum__slices suspensions; /* by lane */
	struct thrum__slices off_cpu;     /* by lane: times off the processor */
	struct thrum__slices runs;        /* by task */
	struct thrum__slices lane_runs;   /* by lane */
	unsigned step;                    /* what thrum__slow_paths_step does next */
	uint32_t row;                     /* where that goes on */
};

/* Sorts the model's rows. The model must stay as it is until thrum__slow_paths_finish. Returns 0 or
 * -THRUM_E_MEMORY (then there is nothing to finish). O(tasks + edges + runs). */
THRUM__MUST_USE int thrum__slow_paths_init(struct thrum__paths *, const struct thrum__model *);
/* The same in steps. The second returns 1 while there is more to do, 0, or -THRUM_E_MEMORY; until it has
 * returned 0, the paths can only be finished; then it does nothing. */
void thrum__slow_paths_begin(struct thrum__paths *, const struct thrum__model *);
THRUM__MUST_USE int thrum__slow_paths_step(struct thrum__paths *);
void thrum__slow_paths_finish(struct thrum__paths *);

/* The name of a frame: the pattern of its tasks' names, or else their kind's word. Without a NUL;
 * valid until the next path is made. */
const char *thrum__slow_frame_name(const struct thrum__paths *, uint32_t frame, size_t *size);

/* The place in the program where the wait began that a task was in at this time, its last one until then;
 * NULL when it is unknown. Valid as long as the model. O(log of the task's waits). */
const struct thrum_trace_site *thrum__slow_wait_site(const struct thrum__paths *, uint32_t task,
	int64_t time);

/* Whether a frame's tasks are locks or semaphores. */
bool thrum__slow_frame_is_lock(const struct thrum__paths *, uint32_t frame);

/* ---- Paths --------------------------------------------------------------------------------- */

/* By how many ns a time may be wrong that begins on one machine's clock and ends on another one's; INT64_MAX:
 * by any. */
struct thrum__doubt {
	int64_t error; /* of the whole: where it has the way there and the way back, theirs cancel out */
	int64_t way; /* of one way, the most */
};

struct thrum__path_part {
	int64_t from, to;
	uint32_t frame;
	uint32_t task; /* the task that runs, waits or could run */
	uint32_t top;  /* the task for which the path's own waits; NONE: it doesn't wait */
	/* READY and later: the task that runs; NONE: several, or unknown. PREEMPTED, BLOCKED: the own task of
	 * the thread that woke it, or NONE. */
	uint32_t other;
	/* The task that has the highest lock of the stack meanwhile, or the one with a label for
	 * which it does; NONE: there is no lock, or nobody is known to have it. */
	uint32_t holder;
	uint8_t doing;             /* enum thrum__doing */
	struct thrum__doubt doubt; /* of NETWORK */
};

struct thrum__path {
	uint32_t task;
	int64_t from, to;
	struct thrum__path_part *parts; /* in the order of time, without holes */
	uint32_t count, room;
	bool is_cut; /* the path has too many parts: the rest counts as WAITS, unexplained */
};

/*
 * Makes the path of a task from its start (or that of its head) to the end of the task that it
 * became in the end, or to the trace's end if that is pending. Free *path with
 * thrum__slow_path_free. Returns 0 or -THRUM_E_MEMORY. O(parts × log n), with a bound on the parts.
 */
THRUM__MUST_USE int thrum__slow_path_make(struct thrum__paths *, uint32_t task,
	struct thrum__path *);

/* The same; the path's first frame is that of the task `like`, so that the two compare. */
THRUM__MUST_USE int thrum__slow_path_make_like(struct thrum__paths *, uint32_t task, uint32_t like,
	struct thrum__path *);
/* The same of a part of a task's life. */
THRUM__MUST_USE int thrum__slow_path_make_between(struct thrum__paths *, uint32_t task,
	uint32_t like, int64_t from, int64_t to, struct thrum__path *);
void thrum__slow_path_free(struct thrum__path *);

/* Sets *heads to an array by task: the first of the tasks without a label of their own that became
 * it, which began before it and are the beginning of its life; else the task itself. The caller
 * frees it. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__slow_heads_make(const struct thrum__model *, uint32_t **heads);

void thrum__slow_doubt_add(struct thrum__doubt *, struct thrum__doubt);

/* The time when the task that `task` became in the end (or itself) ended; OPEN: it is pending. */
int64_t thrum__slow_path_end(const struct thrum__model *, uint32_t task);

#endif
