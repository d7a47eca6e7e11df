/* SPDX-License-Identifier: ISC */
/*
 * store/: a model as tables that databases read, cut by ten minutes.
 *
 *   tables.c   the rows of the tables
 *   schema.c   their columns, and ClickHouse's tables
 *   parquet.c  files
 *   tsv.c      rows for ClickHouse
 *
 * A row belongs to the ten minutes in which its time is over: when a task, a run or a wait ended. Those that
 * go on at the trace's end belong to the ten minutes of that end. So whoever stores stretches of
 * whole ten minutes one after the other replaces by each what the one before knew of open things.
 *
 * Nothing here does I/O.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <thrum/trace.h>

#include "base/text.h"
#include "model/model.h"

/* X(NAME, name): the tables. */
#define THRUM__STORE_TABLES(X) \
	X(TASKS, "tasks") \
	X(RUNS, "runs") \
	X(WAITS, "waits") \
	X(COUNTERS, "counters") \
	X(HISTOGRAMS, "histograms") \
	X(FINDINGS, "findings")

enum thrum__store_table {
#define THRUM__X(NAME, name) THRUM__STORE_##NAME,
	THRUM__STORE_TABLES(THRUM__X)
#undef THRUM__X
	THRUM__STORE_TABLE_COUNT,
};

extern const char *const thrum__store_names[THRUM__STORE_TABLE_COUNT];

#define THRUM__STORE_FILES_MAX 7000 /* of a model: a week of all tables, and more */

/* A file, or rows to insert: one table of one model in ten minutes. */
struct thrum__store_file {
	enum thrum__store_table table;
	int64_t slot; /* the beginning of the ten minutes, seconds since 1970 */
	const char *bytes;
	size_t size;
	uint64_t rows;
};

struct thrum__findings;

/* A recording among those that are joined. */
struct thrum__store_part {
	const char *host, *program; /* as its own tables name them */
	int64_t pid;
};

/* A trace that joins recordings. It tells who waits for another process, and what that causes. */
struct thrum__store_joined {
	const struct thrum__model *model;
	const struct thrum__findings *findings; /* in it */
	const struct thrum__store_part *parts;  /* in its order */
	uint32_t count;
	uint64_t step; /* between the task ids of two parts */
};

struct thrum__store_options {
	const char *host, *program;
	const struct thrum__store_joined *joined; /* NULL: the model stands alone */
	uint32_t part;                            /* its number there */
	/* NULL: files in Parquet. Else rows for ClickHouse; "host", "recording" and "stored" as they
	 * stand there: thrum__store_key. */
	const char *key;
};

/*
 * Makes the tables of a model, and gives them to `take`, one file after the other, until it returns another
 * number than 0. Returns that number, 0, -THRUM_E_MEMORY, or -THRUM_E_SIZE if the times lie too far apart.
 */
THRUM__MUST_USE int thrum__store_write(const struct thrum__model *, const struct thrum_trace_info *,
	const struct thrum__store_options *, int (*take)(void *, const struct thrum__store_file *),
	void *context);

/* Writes the first columns of a recording's rows. A row replaces an older one that stands for the same thing;
 * `stored` says which is newer. The caller frees the text. */
struct thrum__base_text thrum__store_key(const char *host, const char *recording, uint64_t stored);
/* Writes what makes one of ClickHouse's tables, unless it is there. The caller frees the text. */
struct thrum__base_text thrum__store_schema(enum thrum__store_table);
/* Writes what makes the view last_TABLE, unless it is there: the rows of the last look at each ten
 * minutes. The caller frees the text, which is empty if the table needs no view. */
struct thrum__base_text thrum__store_view(enum thrum__store_table);

#endif
