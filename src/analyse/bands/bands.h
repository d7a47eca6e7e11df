/* SPDX-License-Identifier: ISC */
/*
 * Bands: what each kind of task did, over time. A band shows the lines of one group (see
 * analyse/family/family.h), each from its beginning to its end, at the height of its duration. Beside
 * the bands stand the threads and the queues. This is the face of the folder analyse/bands:
 *
 *	bands.c    makes and frees all of it
 *	classes.c  classes of durations
 *	rows.c     the lines by group and class, with their runs
 *	sums.c     sums of these over time
 *	cells.c    how many lines are in the cells of a window
 *	lines.c    single lines: walks, neighbours, exceptions
 *	box.c      the lines in a box of times and durations
 *	lanes.c    the runs of each lane, and the lanes by name
 *	slots.c    sums of how much threads of many lanes run
 *	threads.c  how much threads run, and for whom
 *	queues.c   the waits and holds of locks
 *	numbers.c  rates, percentiles and failures of a time; what differs between two
 *
 * Nothing here knows pixels, writes sentences or draws. Times are ns, as in the model; a range from
 * … to has its first moment and not its last. A line that has not ended ends at the model's end.
 *
 * Classes: durations are divided into 8 classes a decade. Class c has the durations from 10^(c / 8)
 * ns up to those of class c + 1. A band with 4 or 2 classes a decade shows sums of 2 or 4 of them.
 */
#ifndef ANALYSE_BANDS_BANDS_H
#define ANALYSE_BANDS_BANDS_H

#include "analyse/family/family.h"

#define THRUM__BANDS_DECADE 8
#define THRUM__BANDS_CLASSES 152 /* 19 decades */

struct thrum__bands_rows;
struct thrum__bands_lanes;

/* The threads of one name, as one row; or of several names, when there are many. */
struct thrum__bands_thread {
	uint32_t lane;         /* the first of its lanes, for its name */
	uint32_t first, count; /* its lanes: elements of `thread_lanes` */
	bool is_others;        /* lanes of several names */
	int64_t ran;           /* ns, of all lanes; not of the lanes' own tasks */
	uint32_t first_slot;   /* private */
};

/* The locks, semaphores, conditions or mailboxes of one group. */
struct thrum__bands_queue {
	uint32_t group;
	uint32_t instances; /* how many of them anybody waited for or took */
	uint32_t capacity;  /* holds at once: a semaphore may have several */
	uint32_t waits, holds;
	uint32_t most;                            /* waits at once, at most */
	struct thrum__bands_times *waited, *held; /* private */
};

struct thrum__bands {
	const struct thrum__model *model;
	struct thrum__family family;
	int64_t from, to; /* the time that the bands show: from the first event that is kept */
	int64_t made_to;  /* until here they show all; afterwards only that pending lines go on */
	struct thrum__bands_thread *threads; /* from top to bottom */
	uint32_t thread_count, *thread_lanes;
	struct thrum__bands_queue *queues; /* the one with the longest waiting first */
	uint32_t queue_count;
	uint64_t events; /* of the model when they were made */
	/* Private to the folder. */
	int64_t forgotten; /* the same, and so on */
	uint8_t ending;
	uint8_t parts; /* that are made */
	struct thrum__bands_rows *rows;
	struct thrum__bands_lanes *lanes;
};

/*
 * Makes the bands of a model. `progress` (may be NULL) is called with the part that is done, 0 … 1;
 * when it returns false, the function returns 1 and there are no bands. The model may grow
 * afterwards, but forget only right before the bands are destroyed or updated. Returns 0 or
 * -THRUM_E_MEMORY. Free with thrum__bands_destroy (NULL is fine). O(n log n).
 */
THRUM__MUST_USE int thrum__bands_make(const struct thrum__model *,
	bool (*progress)(void *context, double part), void *context, struct thrum__bands **);
/* The same in steps, for a model that stays as it is meanwhile. The second returns 1 while there is more
 * to do; until it has returned 0, the bands can only be destroyed. */
THRUM__MUST_USE int thrum__bands_begin(const struct thrum__model *, struct thrum__bands **);
THRUM__MUST_USE int thrum__bands_step(struct thrum__bands *);
void thrum__bands_destroy(struct thrum__bands *);

/*
 * Brings the bands up to date after the model has grown or forgotten. The shown groups keep their
 * places and sizes, and new groups are in `more`; groups have other numbers than before. Makes all
 * anew, so before the model has forgotten, ended, or grown by a sixteenth it only advances them.
 * Returns 0, or -THRUM_E_MEMORY with the bands as they were.
 */
THRUM__MUST_USE int thrum__bands_update(struct thrum__bands *);
/* Moves the end of the bands to that of the model: pending lines go on and rise to the height of their age,
 * and end where they have ended. Takes time in proportion to these lines alone. */
void thrum__bands_advance(struct thrum__bands *);
/* Whether bands that are made anew would show more, and whether they must be before they are used again:
 * the model has forgotten something. */
bool thrum__bands_is_old(const struct thrum__bands *);
bool thrum__bands_is_broken(const struct thrum__bands *);
/* The same with bands that were made from the model elsewhere, in a thread for instance; takes them.
 * Without memory they are freed. */
THRUM__MUST_USE int thrum__bands_replace(struct thrum__bands *, struct thrum__bands *made);

/* From now on the bands, which were made from what thrum__model_forget_begin gave, are those of the model
 * itself: after thrum__model_forget_end. */
void thrum__bands_rebase(struct thrum__bands *, const struct thrum__model *);

/* Returns about how many bytes the bands have allocated. */
size_t thrum__bands_memory(const struct thrum__bands *);

/* The class of a duration; of 0 and less: 0. */
unsigned thrum__bands_class(int64_t ns);
/* The least duration of a class; the one behind the last: INT64_MAX. */
int64_t thrum__bands_bound(unsigned class);

/* ---- Windows ------------------------------------------------------------------------------- */

/*
 * The columns of a picture: times[i] … times[i + 1] is column i. Folded time makes columns of any
 * length. The caller keeps the times, which must ascend, while the window is used.
 */
struct thrum__bands_window {
	const int64_t *times; /* columns + 1 */
	uint32_t columns;
	/* Private: finds a time's column at once. */
	uint32_t *guide, guide_size, guide_room;
	double scale, each;
	int64_t least;   /* the length of the shortest column */
	int32_t *counts; /* for counting by column; zero between calls */
	uint32_t count_room;
};

/* Sets the columns of a window, which is all zero before its first use. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__bands_window_set(struct thrum__bands_window *, const int64_t *times,
	uint32_t columns);
void thrum__bands_window_finish(struct thrum__bands_window *);

/* The column in which a time lies; columns - 1 for later ones, 0 for earlier ones. */
uint32_t thrum__bands_window_column(const struct thrum__bands_window *, int64_t time);

/* ---- Cells --------------------------------------------------------------------------------- */

/* The lines of some classes of a group in one column. Times are accurate to a quarter of a column
 * at least. */
struct thrum__bands_cell {
	uint32_t lines;  /* that touch the column */
	uint32_t quiet;  /* among these: they begin before the window and end after it */
	uint32_t ended;  /* lines that end in the column; not those that are pending */
	uint32_t failed; /* among these */
	float life, ran; /* ns that these lines lived and ran there (thrum__family_worker) */
};

/* Counts the cells of `classes` classes from `class` on: one for each column of the window. Takes
 * about O(columns), whatever the trace's length. */
void thrum__bands_cells(const struct thrum__bands *, uint32_t group, unsigned class,
	unsigned classes, const struct thrum__bands_window *, struct thrum__bands_cell *cells);

/* How many lines of a group are alive at the end of each column. O(columns × classes). */
void thrum__bands_alive(const struct thrum__bands *, uint32_t group,
	const struct thrum__bands_window *, uint32_t *alive);

/* ---- Lines --------------------------------------------------------------------------------- */

struct thrum__bands_line {
	uint32_t task;      /* the first of its tasks that has a label */
	int64_t start, end; /* pending: the model's end */
	bool is_failed, is_pending;
	bool is_median; /* about that of those in sight: thrum__bands_pick */
};

/* A walk over the lines of some classes of a group that touch from … to, class by class, by start. */
struct thrum__bands_walk {
	const struct thrum__bands *bands;
	uint32_t group;
	unsigned class, end;
	int64_t from, to;
	unsigned row; /* private, as the next ones */
	uint32_t at, last;
};

void thrum__bands_walk_begin(struct thrum__bands_walk *, const struct thrum__bands *,
	uint32_t group, unsigned class, unsigned classes, int64_t from, int64_t to);
/* Gives the next line; returns false at the end. */
bool thrum__bands_walk_next(struct thrum__bands_walk *, struct thrum__bands_line *);

/* Whether no line of a group touches from … to. Then *before and *after become the nearest end before it,
 * and the nearest start after it, if they were farther. */
bool thrum__bands_is_empty(const struct thrum__bands *, uint32_t group, int64_t from, int64_t to,
	int64_t *before, int64_t *after);

/* The line of a task (thrum__family_line), and its group. Returns false if it has none. */
bool thrum__bands_line_of(const struct thrum__bands *, uint32_t task, struct thrum__bands_line *,
	uint32_t *group);

/* The next or previous line of the same group by start (`step` 1 or -1), or NONE. */
uint32_t thrum__bands_neighbour(const struct thrum__bands *, uint32_t task, int step);

/*
 * The next or previous exception of a group (NONE: of all shown ones) in the order of ends: a line
 * that failed, that should have resolved and is pending, or that took longer than 99 % of its
 * group. `task`: the line from which to search, or NONE: from `time`. Returns NONE if there is none.
 * Groups of which nearly all fail have no failures that are exceptions.
 */
uint32_t thrum__bands_exception(const struct thrum__bands *, uint32_t group, uint32_t task,
	int64_t time, int step);

/* A box on the picture of a band: the lines that touch from … to, and lasted `shortest` … `longest`;
 * equal: any. */
struct thrum__bands_box {
	uint32_t group;
	int64_t from, to;
	int64_t shortest, longest;
};

/* A walk over the lines in a box, class by class, by start. */
void thrum__bands_box_begin(struct thrum__bands_walk *, const struct thrum__bands *,
	const struct thrum__bands_box *);
bool thrum__bands_box_next(struct thrum__bands_walk *, const struct thrum__bands_box *,
	struct thrum__bands_line *);

/* Writes the tasks of up to `most` of the lines in a box, evenly chosen; or of the group's others. Returns
 * how many; sets *of to the number of all of them. */
uint32_t thrum__bands_box_sample(const struct thrum__bands *, const struct thrum__bands_box *,
	bool inside, uint32_t *tasks, uint32_t most, uint32_t *of);

#define THRUM__BANDS_COMMON 5

/* A name or a lane that more lines in a box have than beside it. */
struct thrum__bands_common {
	uint32_t key;       /* a string of the model, or a lane */
	double here, other; /* shares of the lines, 0 … 1 */
};

struct thrum__bands_boxed {
	uint32_t lines;
	struct thrum__bands_common
		names[THRUM__BANDS_COMMON]; /* labels of lines and their owners */
	struct thrum__bands_common lanes[THRUM__BANDS_COMMON]; /* on which the lines began */
	uint32_t name_count, lane_count;
};

/* Finds what the lines in a box have in common, the clearest first. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__bands_boxed(const struct thrum__bands *, const struct thrum__bands_box *,
	struct thrum__bands_boxed *);

/* The lines that an opened band shows: at most `most` of a box, sorted by start. First those that
 * failed or should have resolved and didn't, then the slowest that lie wholly within its time, and the
 * median, of very many about the median. Returns how many; sets *in_sight to the number of all in the box. */
uint32_t thrum__bands_pick(const struct thrum__bands *, const struct thrum__bands_box *,
	struct thrum__bands_line *lines, uint32_t most, uint32_t *in_sight);

/* ---- Threads ------------------------------------------------------------------------------- */

/* The share of each column in which a thread's lanes run a task that isn't their own, 0 … 1. To about 2 %
 * where very many runs lie in a column, or the thread has many lanes. */
void thrum__bands_thread_shares(const struct thrum__bands *, uint32_t thread,
	const struct thrum__bands_window *, float *shares);

/* The same for one time. */
double thrum__bands_thread_share(const struct thrum__bands *, uint32_t thread, int64_t from,
	int64_t to);

/* Part of a lane's time in which it ran. */
struct thrum__bands_run {
	int64_t from, to;
	int64_t ran; /* ns of it; less than to - from if it stands for several runs */
	uint32_t lane;
	uint32_t task; /* the task, or for whom it ran; NONE: unknown, or several */
	uint32_t run;  /* the model's, of the longest runs; else NONE */
};

/* Finds the longest runs of a thread (NONE: of all) in from … to that take `least` ns or more, the
 * longest first. Returns how many of them: at most `most`. */
uint32_t thrum__bands_longest_runs(const struct thrum__bands *, uint32_t thread, int64_t from,
	int64_t to, int64_t least, struct thrum__bands_run *runs, uint32_t most);

/* The rows of an opened thread. */
enum thrum__bands_level {
	THRUM__BANDS_OLDEST, /* the oldest owner whose group has at least THRUM__FAMILY_FEW lines */
	THRUM__BANDS_OWNER,  /* the line for which the task works */
	THRUM__BANDS_TASK,   /* the task itself */
};

/*
 * A walk over what a lane ran in from … to, at one level. Runs for the same task nearer than `near`
 * ns are one; runs that together take less than `blur` ns are one whoever they are for (`task` is then
 * that of the longest). Takes time in proportion to what it gives, not to the runs.
 */
struct thrum__bands_boxes {
	const struct thrum__bands *bands;
	uint32_t lane;
	int level;
	int64_t near, blur;
	uint32_t at, end; /* private */
	int64_t best;
	struct thrum__bands_run held;
	bool has_held;
};

void thrum__bands_boxes_begin(struct thrum__bands_boxes *, const struct thrum__bands *,
	uint32_t lane, int level, int64_t from, int64_t to, int64_t near, int64_t blur);
bool thrum__bands_boxes_next(struct thrum__bands_boxes *, struct thrum__bands_run *);

struct thrum__bands_hole {
	int64_t from, to;
};

/* Finds the holes of at least `least` ns in from … to in which no lane runs anything, in the order
 * of time. They lie between two runs; those that reach out of from … to are cut there. Returns how
 * many: at most `most`. */
uint32_t thrum__bands_holes(const struct thrum__bands *, int64_t from, int64_t to, int64_t least,
	struct thrum__bands_hole *holes, uint32_t most);

/* ---- Losses -------------------------------------------------------------------------------- */

/* A time in which all lanes lost events: nothing is known of the program. */
struct thrum__bands_lost {
	int64_t from, to;
};

#define THRUM__BANDS_LOST_MOST 64

/* Finds those that touch from … to. Returns how many: at most THRUM__BANDS_LOST_MOST. */
uint32_t thrum__bands_find_lost(const struct thrum__model *, int64_t from, int64_t to,
	struct thrum__bands_lost *);

/* ---- Queues -------------------------------------------------------------------------------- */

/* How many tasks wait on the mean of each column, and the share of the locks that is held: 0 … 1. */
void thrum__bands_queue_columns(const struct thrum__bands *, uint32_t queue,
	const struct thrum__bands_window *, float *waiting, float *held);

struct thrum__bands_queue_numbers {
	double waiting;               /* how many wait at a time, on the mean */
	double held;                  /* share of the time × instances */
	uint32_t waits, holds;        /* that ended in this time */
	int64_t half_wait, half_hold; /* medians of these, ns */
};

void thrum__bands_queue_numbers(const struct thrum__bands *, uint32_t queue, int64_t from,
	int64_t to, struct thrum__bands_queue_numbers *);

/* A hold or a wait. */
struct thrum__bands_turn {
	int64_t from, to;
	uint32_t task;   /* who holds or waits */
	uint32_t object; /* the lock */
};

/* The objects of a queue, by their first use: at most `most`. Returns how many are written. */
uint32_t thrum__bands_queue_objects(const struct thrum__bands *, uint32_t queue, uint32_t *objects,
	uint32_t most);

/* A walk over the holds (or waits) of a queue that touch from … to, by start. */
struct thrum__bands_turns {
	const struct thrum__bands_times *times;
	uint32_t at;
	int64_t from, to;
};

void thrum__bands_turns_begin(struct thrum__bands_turns *, const struct thrum__bands *,
	uint32_t queue, bool holds, int64_t from, int64_t to);
bool thrum__bands_turns_next(struct thrum__bands_turns *, struct thrum__bands_turn *);

/* The object of a queue that was held longest at once (or waited for, if none is held) by a task that
 * touches from … to; NONE: there is none. */
uint32_t thrum__bands_queue_worst(const struct thrum__bands *, uint32_t queue, int64_t from,
	int64_t to);

/* The queue of a group, or NONE. */
uint32_t thrum__bands_queue_of(const struct thrum__bands *, uint32_t group);

/* ---- Numbers ------------------------------------------------------------------------------- */

/* A time of up to two parts: a window, or a window without a range in it. An empty part has
 * from >= to. */
struct thrum__bands_time {
	int64_t from[2], to[2];
};

/* Lines of a group that ended in a time. */
struct thrum__bands_numbers {
	uint32_t ended, failed;
	uint32_t pending;   /* lines that are pending at the model's end and began in it */
	uint32_t touched;   /* lines that touch it, about */
	double rate;        /* ended for each second */
	int64_t half, slow; /* half of them took no longer; 99 % took no longer; 0 if none ended */
	bool all_failed;    /* 98 % and more of them failed */
};

/* Exact for up to 100,000 lines; of more, `half` and `slow` are off by at most 7 %. */
void thrum__bands_numbers(const struct thrum__bands *, uint32_t group,
	const struct thrum__bands_time *, struct thrum__bands_numbers *);

/* Returns how many lines of a group touch a time, about. */
uint32_t thrum__bands_touched(const struct thrum__bands *, uint32_t group, int64_t from,
	int64_t to);

/* The line of a group that is the median of all that resolved, or NONE. *resolved: how many did. */
uint32_t thrum__bands_usual(const struct thrum__bands *, uint32_t group, uint32_t *resolved);

/* Writes up to `most` lines of a group that ended in a time and did not fail, evenly chosen among
 * these. Returns how many. */
uint32_t thrum__bands_sample(const struct thrum__bands *, uint32_t group,
	const struct thrum__bands_time *, uint32_t *tasks, uint32_t most);

/* The numbers in which two times may differ. */
enum thrum__bands_measure {
	THRUM__BANDS_HALF,   /* half of the lines took up to … ns */
	THRUM__BANDS_SLOW,   /* 1 % took over … ns */
	THRUM__BANDS_RATE,   /* ended for each second */
	THRUM__BANDS_FAILED, /* share of the lines that failed */
};

struct thrum__bands_difference {
	uint32_t group;
	uint8_t measure;    /* enum thrum__bands_measure */
	double here, other; /* ns, per second, or a share */
};

#define THRUM__BANDS_DIFFERENCES 7

/* The greatest differences between two times, the greatest first: of the shown groups with at least
 * 20 lines here, by a factor of 1.3 or more. SLOW only where both have 100. Returns how many. */
uint32_t thrum__bands_differences(const struct thrum__bands *, const struct thrum__bands_time *here,
	const struct thrum__bands_time *other,
	struct thrum__bands_difference differences[THRUM__BANDS_DIFFERENCES]);

#endif
