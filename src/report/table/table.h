/* SPDX-License-Identifier: ISC */
/*
 * Tables of a model and its numbers, for every front end: columns, and rows that are made when they
 * are asked for. Sorted by any column, filtered by text. Texts are as recorded: any bytes, which
 * the front end makes harmless.
 */
#ifndef REPORT_TABLE_TABLE_H
#define REPORT_TABLE_TABLE_H

#include "analyse/stats/stats.h"

/* X(NAME, word): what a row is. */
#define THRUM__TABLES(X) \
	X(TASKS, "task") \
	X(LABELS, "label") /* a struct thrum__tally, as the next two */ \
	X(KINDS, "kind") \
	X(SITES, "site") \
	X(LANES, "lane") /* a struct thrum__lane_use */ \
	X(COUNTERS, "counter") \
	X(RUNS, "run") /* the longest */

/* What a field that narrows the tasks says while it is empty. */
#define THRUM__TABLE_FILTER "Filter by name, kind, state"

enum thrum__table_what {
#define THRUM__X(NAME, word) THRUM__TABLE_##NAME,
	THRUM__TABLES(THRUM__X)
#undef THRUM__X
	THRUM__TABLE_COUNT,
};

enum thrum__table_cell_type {
	THRUM__CELL_TEXT,
	THRUM__CELL_ID,
	THRUM__CELL_COUNT,
	THRUM__CELL_VALUE,    /* a number that may be negative */
	THRUM__CELL_MOMENT,   /* ns since the trace's first event */
	THRUM__CELL_DURATION, /* ns */
	THRUM__CELL_RATE,     /* a second, in thousandths */
	THRUM__CELL_SHARE,    /* percent, in thousandths */
};

struct thrum__table_column {
	const char *name;
	uint8_t type;
	bool is_extra; /* not among the columns that programs may rely on */
};

struct thrum__table_form {
	const char *name;
	const char *title; /* what people call all of them */
	const struct thrum__table_column *columns;
	unsigned count;
	const char *shown; /* what people want to see: names, with spaces between */
	const char *first; /* the same: of these, where there is room for a few only */
	const char *order; /* by which it is sorted first; NULL: as it is */
};

struct thrum__table {
	const struct thrum__table_form *form;
	const struct thrum__model *model;
	const struct thrum__stats *stats;
	uint32_t *rows; /* in order: what each is (task, tally, use, counter, place in `longest`) */
	uint32_t count;
	uint32_t all;    /* before a filter */
	unsigned sorted; /* the column; form->count: none */
	bool descending;
};

#define THRUM__CELL_ROOM 400

struct thrum__table_cell {
	uint8_t type;
	bool is_empty;    /* doesn't apply, or is unknown */
	int64_t number;   /* of an id, its 64 bits */
	const char *text; /* of a text; lives as long as the model, or in `room` */
	size_t size;
	char room[THRUM__CELL_ROOM];
};

const struct thrum__table_form *thrum__table_form(int kind);

/* How many rows there are before a filter. */
uint32_t thrum__table_items(const struct thrum__stats *, int kind);

/* The columns that a narrow panel shows, in order; returns how many: at most THRUM__COLUMNS_MAX. */
#define THRUM__COLUMNS_MAX 32
unsigned thrum__table_columns(const struct thrum__table_form *,
	unsigned columns[THRUM__COLUMNS_MAX]);

/* The column of a name, or form->count. */
unsigned thrum__table_column(const struct thrum__table_form *, const char *name, size_t size);

/* Numbers stand at the right, texts at the left. */
static inline bool thrum__table_column_is_right(const struct thrum__table_column *column)
{
	return column->type != THRUM__CELL_TEXT;
}

/* Of most columns one wants the greatest first: of counts, durations, rates and shares. */
bool thrum__table_column_descends(const struct thrum__table_column *);

/*
 * All rows, in the form's order. Stats must stay as they are until thrum__table_finish. The model
 * may forget: then cells are empty. Returns 0 or -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__table_init(struct thrum__table *, int kind, const struct thrum__stats *);
void thrum__table_finish(struct thrum__table *);

/* Sorts the rows; empty cells come last, equal ones stay in their order. Text: ASCII's case doesn't
 * matter at first. Returns 0 or -THRUM_E_MEMORY, and nothing has changed. O(n log n). */
THRUM__MUST_USE int thrum__table_sort(struct thrum__table *, unsigned column, bool descending);

/* Of all rows, those that are wanted, in the order that the table has. Returns likewise. */
THRUM__MUST_USE int thrum__table_filter(struct thrum__table *,
	bool (*is_wanted)(const void *context, const struct thrum__table *, uint32_t item),
	const void *context);

/* A row's cell. row < count. */
void thrum__table_cell(const struct thrum__table *, uint32_t row, unsigned column,
	struct thrum__table_cell *);

/* Makes a cell's text of its number, as programs want it: "12.5", "-3". */
void thrum__table_print(const struct thrum__table *, struct thrum__table_cell *);

/* A row's cell as text for people: "1,234", "5.09 ms", "12.5 %"; "" when empty. */
void thrum__table_words(const struct thrum__table *, uint32_t row, unsigned column,
	struct thrum__table_cell *);

/* The task that a row is about, or NONE. */
uint32_t thrum__table_task(const struct thrum__table *, uint32_t row);

/* ---- Tasks behind a number ----------------------------------------------------------------- */

/* What a number in a table of tallies counts. */
struct thrum__table_counted_value {
	int by; /* enum thrum__by */
	uint32_t tally;
	unsigned what; /* all, those of a state, or stuck ones */
};

/* Whether a column's numbers count tasks. */
bool thrum__table_counts(const struct thrum__table_form *, unsigned column);

/* Of a row in such a column. */
struct thrum__table_counted_value thrum__table_counted(const struct thrum__table *, uint32_t row,
	unsigned column);

/* Whether the number counts a task. */
bool thrum__table_counted_has(const struct thrum__table_counted_value *,
	const struct thrum__stats *, uint32_t task);

/* "GET /index.html: 12 pending". As snprintf. */
size_t thrum__table_counted_words(const struct thrum__table *, uint32_t row, unsigned column,
	char *to, size_t size);

/* Leaves in a table of tasks those that are counted and of which some text or the id contains
 * `text`, as thrum__table_narrow does. */
THRUM__MUST_USE int thrum__table_narrow_to_counted(struct thrum__table *,
	const struct thrum__table_counted_value *, const char *text);

#endif
