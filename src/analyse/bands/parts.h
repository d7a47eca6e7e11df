/* SPDX-License-Identifier: ISC */
/* Private to the folder: the tables behind struct thrum__bands. */
#ifndef ANALYSE_BANDS_PARTS_H
#define ANALYSE_BANDS_PARTS_H

#include "analyse/bands/bands.h"

/* ---- Rows ---------------------------------------------------------------------------------- */

enum {
	THRUM__LINE_FAILED = 1,
	THRUM__LINE_PENDING = 2,
	THRUM__LINE_SHOULD = 4, /* it should resolve */
};

/* The lines of one group and one class. A class bounds their lengths, so those in a time are found by
 * their starts. Lines that are pending have rows of their own, which rise: thrum__bands_advance. */
struct thrum__bands_row {
	unsigned class;
	uint32_t first, count;         /* elements of the lines' columns, by start */
	uint32_t first_run, run_count; /* elements of `runs`, by start */
	uint32_t failed, pending;      /* how many of the lines */
	uint32_t slots;                /* 0: there are few lines and runs, and no sums */
	uint32_t first_slot;           /* its first element of `sums`, of slots + 1 */
	int64_t slot;                  /* ns of a slot; the first one begins with the bands */
	double each;                   /* slots of one ns */
	uint32_t first_coarse;         /* its first element of `coarse` */
	uint32_t first_span;           /* without sums: its first element of `spans` */
	int64_t least, longest;        /* lengths of lines */
	int64_t longest_run;
};

#define THRUM__BANDS_COARSE 8
#define THRUM__BANDS_BLOCK 64 /* lines */

/* Sums of a row's lines. A line begins and ends in the slots of its beginning and end; a pending one
 * doesn't end. Lives and runs are divided among the slots in which they lie. */
struct thrum__bands_sum {
	double life, ran; /* ns */
	uint32_t begun, ended, failed;
	/* While the sums are made: how many runs begin to cover whole slots here, less those that
	 * cease to. */
	int32_t whole;
};

struct thrum__bands_rows {
	struct thrum__bands_row *rows;
	uint32_t row_count;
	/* By group: its rows, one for each class from the first that has lines to the last. Behind them
	 * are those of pending lines. */
	struct thrum__bands_place {
		uint32_t first;
		struct thrum__bands_classes {
			uint8_t class, count;
		} ended, pending;
	} * places;
	uint32_t group_count;
	/* By line. */
	uint32_t *task;
	int64_t *start, *end;
	uint8_t *flags;
	/* By block of lines, whatever their rows are: how long the longest line is, and the longest of those
	 * that failed; -1: none failed. */
	struct thrum__bands_longest {
		int64_t any, failed;
	} * longest;
	uint32_t line_count;
	/* Runs of the model, by the row of the line for which they are. */
	uint32_t *runs;
	uint32_t run_count;
	/* The times of those runs that are in rows without sums: each frame reads them. */
	struct thrum__bands_span {
		int64_t from, to;
	} * spans;
	uint32_t span_count;
	/* Over the slots of a row: element i sums up all slots before i. `coarse` has each 8th, so that
	 * a look at the whole trace reads little memory. */
	struct thrum__bands_sum *sums, *coarse;
	uint32_t slot_count, coarse_count;
};

THRUM__MUST_USE int thrum__bands_rows_make(struct thrum__bands *);
void thrum__bands_rows_free(struct thrum__bands_rows *);
size_t thrum__bands_rows_memory(const struct thrum__bands_rows *);
/* Lets pending lines last until the bands' end, unless they have ended since. */
void thrum__bands_rows_advance(struct thrum__bands *);

static inline unsigned thrum__bands_row_count(const struct thrum__bands_place *place)
{
	return place->ended.count + (unsigned)place->pending.count;
}

/* The row of the lines of a group's class that had ended, or NULL if there is none. */
static inline const struct thrum__bands_row *thrum__bands_row(const struct thrum__bands *bands,
	uint32_t group, unsigned class)
{
	const struct thrum__bands_place *place = &bands->rows->places[group];

	return class < place->ended.class || class - place->ended.class >= place->ended.count
		? NULL
		: &bands->rows->rows[place->first + class - place->ended.class];
}

/* The next row with lines of a group's class, pending or not; NULL at the end. *at is 0 at first. */
static inline const struct thrum__bands_row *thrum__bands_next_row(const struct thrum__bands *bands,
	uint32_t group, unsigned class, unsigned *at)
{
	const struct thrum__bands_place *place = &bands->rows->places[group];

	while (*at <= place->pending.count) {
		unsigned i = (*at)++;
		const struct thrum__bands_row *row = i == 0
			? thrum__bands_row(bands, group, class)
			: &bands->rows->rows[place->first + place->ended.count + i - 1];

		if (row && row->count > 0 && row->class == class)
			return row;
	}
	return NULL;
}

/* The first line of a row that starts at or after a time; the one behind the last if there is none. */
uint32_t thrum__bands_row_from(const struct thrum__bands_rows *, const struct thrum__bands_row *,
	int64_t time);

static inline struct thrum__bands_line thrum__bands_line_at(const struct thrum__bands_rows *rows,
	uint32_t at)
{
	return (struct thrum__bands_line){
		.task = rows->task[at],
		.start = rows->start[at],
		.end = rows->end[at],
		.is_failed = rows->flags[at] & THRUM__LINE_FAILED,
		.is_pending = rows->flags[at] & THRUM__LINE_PENDING,
	};
}

/* box.c: the classes of a box's durations: from *first on, up to *end; and whether it holds a line. */
void thrum__bands_box_classes(const struct thrum__bands_box *, unsigned *first, unsigned *end);
bool thrum__bands_box_holds(const struct thrum__bands_box *, const struct thrum__bands_line *);

/* Whether a failure in a group is no exception. */
static inline bool thrum__bands_nearly_all_fail(const struct thrum__group *group)
{
	return group->failed >= group->lines - group->lines / 50;
}

/* The slot in which a time lies. */
static inline uint32_t thrum__bands_slot(const struct thrum__bands *bands,
	const struct thrum__bands_row *row, int64_t time)
{
	double slot = (double)(time - bands->from) * row->each;

	return slot <= 0 ? 0 : slot >= row->slots - 1 ? row->slots - 1 : (uint32_t)slot;
}

/* A run's end; that of an open one, and of one that ended since the bands were made, is when they were. */
static inline int64_t thrum__bands_run_end(const struct thrum__bands *bands, uint32_t run)
{
	int64_t end = THRUM__RUN(bands->model, run, end);

	return end < bands->made_to ? end : bands->made_to;
}

/* The beginning and end of run `i` of a row. */
static inline struct thrum__bands_span thrum__bands_row_run(const struct thrum__bands *bands,
	const struct thrum__bands_row *row, uint32_t i)
{
	uint32_t run;

	if (row->slots == 0)
		return bands->rows->spans[row->first_span + i];
	run = bands->rows->runs[row->first_run + i];
	return (struct thrum__bands_span){THRUM__RUN(bands->model, run, start),
		thrum__bands_run_end(bands, run)};
}

/* Chooses the slots of the rows, whose lines and runs are counted, and makes room for the sums. */
THRUM__MUST_USE int thrum__bands_sums_begin(const struct thrum__bands *);
/* Adds a run to the sums of its row, which has slots. */
void thrum__bands_sums_add_run(const struct thrum__bands *, const struct thrum__bands_row *,
	struct thrum__bands_span);
/* Adds the lines of all rows. Then the sums are right. */
THRUM__MUST_USE int thrum__bands_sums_finish(const struct thrum__bands *);

/* ---- Lanes --------------------------------------------------------------------------------- */

#define THRUM__BANDS_SHIFT 4 /* 16 runs, or groups of them, make a group */
#define THRUM__BANDS_LEVELS 7

/* The runs of one lane, but for those of its own task, in the order of time. */
struct thrum__bands_lane {
	uint32_t first, count; /* elements of `runs` */
	uint32_t first_sum;    /* in `sums`: one for each 16th run, and one of all */
	/* By level, in `longest`: which of the lane's runs is the longest of 16, 256, … */
	uint32_t first_longest[THRUM__BANDS_LEVELS];
};

struct thrum__bands_lanes {
	struct thrum__bands_lane *lanes; /* by the model's lane */
	uint32_t lane_count;
	uint32_t *runs;
	uint32_t run_count;
	struct thrum__bands_ran {
		int64_t start;  /* of that run; of all: the last one's end */
		int64_t before; /* ns of the runs before */
	} * sums;
	uint32_t *longest, sum_count, longest_count;
	struct thrum__bands_hole *holes; /* the long ones, by time */
	uint32_t hole_count, hole_room;
	int64_t hole_least; /* all holes of at least so many ns are there */
	double *slots;      /* of threads with many lanes: slots.c */
	uint32_t slot_count;
};

THRUM__MUST_USE int thrum__bands_lanes_make(struct thrum__bands *);
/* After the threads are found. */
THRUM__MUST_USE int thrum__bands_slots_make(struct thrum__bands *);
/* Gives a thread's shares of the columns, unless it has few lanes, or columns are too short for that. */
bool thrum__bands_slots_shares(const struct thrum__bands *, uint32_t thread,
	const struct thrum__bands_window *, float *shares);
void thrum__bands_lanes_free(struct thrum__bands_lanes *);
size_t thrum__bands_lanes_memory(const struct thrum__bands_lanes *);

/* ---- Queues -------------------------------------------------------------------------------- */

/* Waits or holds, by start, with what is needed to sum them up over any time. */
struct thrum__bands_times {
	struct thrum__bands_turn *turns;
	int64_t *ends; /* sorted */
	/* The sums of the starts, and of the ends, before each 16th one. They may wrap: differences
	 * are right all the same. */
	uint64_t *start_sums, *end_sums;
	uint32_t count;
	int64_t longest;
};

THRUM__MUST_USE int thrum__bands_queues_make(struct thrum__bands *);
void thrum__bands_queues_free(struct thrum__bands *);
size_t thrum__bands_queues_memory(const struct thrum__bands *);

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Fills in the medians, the sizes and so on of all groups. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__bands_measure_groups(struct thrum__bands *);

/* Leaves of a time what the bands show: nothing happens before the beginning or after the end. */
static inline void thrum__bands_clip(const struct thrum__bands *bands, int64_t *from, int64_t *to)
{
	*from = *from > bands->from ? *from : bands->from;
	*to = *to < bands->to ? *to : bands->to;
}

#endif
