/* SPDX-License-Identifier: ISC */
/* Writes a model in the formats of other viewers. */
#ifndef EXPORT_H
#define EXPORT_H

#include "load.h"
#include "output.h"
#include "progress.h"

/* The values of --to, from 1; 0 is the Common Trace Format. */
enum export_format {
	EXPORT_CHROME = 1,
	EXPORT_SPEEDSCOPE,
};

/* The rows of one table by lane: those of lane L from first[L] to first[L + 1] - 1, by start. */
struct export_order {
	uint32_t *rows, *first;
};

struct export
{
	struct output out;
	const struct thrum__model *model;
	const struct thrum_trace_info *info;
	struct export_order runs, spans;
	struct progress progress;
	uint64_t done, all; /* rows, for the progress */
	bool goes_on;       /* the next element of the array is not its first */
};

/* Writes a model to a file, or to standard output for "-". Returns the exit status. */
int export_write(const struct load *, enum export_format, const char *file);

/* A run of a task, or a piece of a span within or between runs. */
struct export_slice {
	uint32_t row;
	bool is_span;
	int64_t end;
};

/* Takes the beginning or the end of a slice. */
typedef void export_take(void *context, const struct export_slice *, int64_t time, bool begins);

/*
 * Gives the runs and spans of a lane in the order of time. They nest: spans lie within runs, and a
 * span that outlasts a run is cut there. Returns 0 or -THRUM_E_MEMORY.
 */
int export_lane(struct export *, uint32_t lane, export_take *take, void *context);

/* Puts the runs and the spans in order; the caller frees them with export_lanes_free, also after a
 * failure. Returns 0 or -THRUM_E_MEMORY. */
int export_lanes_make(struct export *);
void export_lanes_free(struct export *);

/* Counts a row for the progress. */
void export_step(struct export *);

/* Begins an element of an array on a line of its own. */
void export_next(struct export *);
/* Writes a text with its quotes. */
void export_quote(struct export *, const char *text, size_t size);
void export_unsigned(struct export *, uint64_t);
void export_signed(struct export *, int64_t);
/* Writes the quoted id of a task: JavaScript's numbers have 53 bits. */
void export_id(struct export *, uint32_t task);
/* A task's name, or the word for its kind. */
const char *export_task_name(const struct export *, uint32_t task, size_t *size);
/* A task's name, or the span's. */
const char *export_slice_name(const struct export *, const struct export_slice *, size_t *size);
/* Writes a lane's name with its quotes. */
void export_lane_name(struct export *, uint32_t lane);

/* Each writes the whole of one format. Returns 0 or -THRUM_E_MEMORY. */
int export_chrome(struct export *);
int export_speedscope(struct export *);

#endif
