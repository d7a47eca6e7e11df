/* SPDX-License-Identifier: ISC */
/*
 * Tables of a model and its statistics, for every front end. A table has columns, and rows whose
 * cells are made when they are asked for. Nothing here draws. It can be sorted by any column and
 * narrowed by a text. Texts stand as they were recorded: they may be any bytes, which front ends
 * must make harmless.
 *
 *	thrum__table_init(&table, THRUM__TABLE_TASKS, &stats);
 *	for (uint32_t row = 0; row < table.count; row++)
 *		thrum__table_words(&table, row, column, &cell);
 *	thrum__table_finish(&table);
 *
 * table.c holds the rows and their order, cells.c the columns and cells, narrow.c the search, tree.c
 * the counters' tree. An item is the thing that a row shows: the index of a task, tally, lane's use
 * or counter, or a place in the longest runs or in the tree.
 */
#ifndef REPORT_TABLE_TABLE_H
#define REPORT_TABLE_TABLE_H

#include "analyse/stats/stats.h"

/* X(NAME, word): the tables, named after the things that their rows show. */
#define THRUM__TABLES(X) \
	X(TASKS, "task") \
	X(LABELS, "label") /* a struct thrum__tally, as in the next two */ \
	X(KINDS, "kind") \
	X(SITES, "site") \
	X(LANES, "lane") /* a struct thrum__lane_use */ \
	X(COUNTERS, "counter") \
	X(RUNS, "run")      /* the longest runs */ \
	X(TREE, "counters") /* the counters as a tree by their paths, with sums */

/* Stands above statistics, as a range may be chosen in the picture. */
#define THRUM__TABLE_WHOLE "These numbers are of the whole recording."
/* The text in an empty field for the text that narrows the tasks. */
#define THRUM__TABLE_FILTER "Filter: name, state:failed, life>5ms"

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
	THRUM__CELL_TIME,     /* a time: ns since the trace's first event */
	THRUM__CELL_DURATION, /* ns */
	THRUM__CELL_RATE,     /* thousandths for each second */
	THRUM__CELL_SHARE,    /* thousandths of a percent */
};

struct thrum__table_column {
	const char *name;
	uint8_t type;  /* enum thrum__table_cell_type */
	bool is_extra; /* programs can't rely on the column */
};

/* The shape of a table. */
struct thrum__table_form {
	const char *name;  /* the word of THRUM__TABLES */
	const char *title; /* for people, such as "Call sites" */
	const struct thrum__table_column *columns;
	unsigned count;
	const char *shown; /* the columns that people want to see: names with spaces between */
	const char *rare;  /* columns to show where there is a text or number in them */
	const char *first; /* those of them to show where there is room for a few only */
	const char *order; /* the column by which the table is sorted at first; NULL: none */
};

struct thrum__table {
	const struct thrum__table_form *form;
	const struct thrum__model *model;
	const struct thrum__stats *stats;
	struct thrum__table_tree *tree; /* private; of TREE only */
	uint32_t *rows;                 /* the item of each row, in order */
	uint32_t *order;                /* private: all items in that order, or NULL */
	uint32_t count;                 /* rows */
	uint32_t whole;                 /* rows when nothing is dropped */
	uint32_t all;                   /* items, also those that a filter dropped */
	unsigned sorted;                /* the column; form->count: none */
	bool descending;
	/* Why the text that narrows the tasks may have left none (thrum__words_search_fault); else "". */
	char fault[200];
};

#define THRUM__CELL_ROOM 400

struct thrum__table_cell {
	uint8_t type;
	bool is_empty;   /* the column doesn't apply, or the value is unknown */
	bool is_unknown; /* it applies: JSON has null */
	bool is_growing; /* empty for programs; people read "≥ 3 s", and `number` counts for the order */
	int64_t number;   /* for an id, its 64 bits */
	const char *text; /* for a text; valid as long as the model, or in `room` */
	size_t size;
	const char *file; /* the source file of a call site; else NULL */
	char room[THRUM__CELL_ROOM];
};

/* The shape of a table, by its THRUM__TABLE_*. Static. */
const struct thrum__table_form *thrum__table_form(int kind);

/* Whether panels offer the table. Instead of the list of counters they show the tree. */
static inline bool thrum__table_is_in_panels(int kind)
{
	return kind != THRUM__TABLE_COUNTERS;
}

/* How many items there are; those of a tree are known to its table only. */
uint32_t thrum__table_items(const struct thrum__stats *, int kind);

#define THRUM__COLUMNS_MAX 32

/* Writes the indexes of the columns that a panel shows: the form's `first` columns, then the others
 * of `shown`. Returns how many there are. */
unsigned thrum__table_columns(const struct thrum__table_form *,
	unsigned columns[THRUM__COLUMNS_MAX]);

/* The index of the column with that name, or form->count. */
unsigned thrum__table_column(const struct thrum__table_form *, const char *name, size_t size);

/* Whether the cells of a column stand at the right, as numbers do; texts stand at the left. */
static inline bool thrum__table_column_is_right(const struct thrum__table_column *column)
{
	return column->type != THRUM__CELL_TEXT;
}

/* Whether people want the greatest value of a column first: of counts, durations, rates, shares. */
bool thrum__table_column_descends(const struct thrum__table_column *);

/*
 * Makes a table of all items, in the form's order. The stats must stay as they are until
 * thrum__table_finish. If the model forgets rows meanwhile, their cells are empty. Returns 0 or
 * -THRUM_E_MEMORY.
 */
THRUM__MUST_USE int thrum__table_init(struct thrum__table *, int kind, const struct thrum__stats *);
void thrum__table_finish(struct thrum__table *);

/* Sorts the rows. Empty cells come last, rows with equal cells stay in their order, and upper and
 * lower case are the same for ASCII letters. Returns 0 or -THRUM_E_MEMORY, with the table
 * unchanged. O(n log n). */
THRUM__MUST_USE int thrum__table_sort(struct thrum__table *, unsigned column, bool descending);

/* Keeps the items for which is_wanted returns true, out of all items, whatever an earlier filter
 * dropped. The order stays. Returns 0 or -THRUM_E_MEMORY, with the table unchanged. */
THRUM__MUST_USE int thrum__table_filter(struct thrum__table *,
	bool (*is_wanted)(const void *context, const struct thrum__table *, uint32_t item),
	const void *context);

/* The same in steps, for who has other things to do meanwhile: the table has its old rows until the end.
 * thrum__table_filter_begin returns 0 or -THRUM_E_MEMORY; thrum__table_filter_go_on looks at some items, and
 * returns whether there are more. thrum__table_filter_end gives the table its new rows, or forgets
 * them if it doesn't take them; it returns as thrum__table_filter. Sorting the table ends the filter. */
struct thrum__table_filter {
	struct thrum__table *table;
	uint32_t *rows, count, at;
};
THRUM__MUST_USE int thrum__table_filter_begin(struct thrum__table_filter *, struct thrum__table *);
bool thrum__table_filter_go_on(struct thrum__table_filter *,
	bool (*is_wanted)(const void *context, const struct thrum__table *, uint32_t item),
	const void *context, uint32_t items);
int thrum__table_filter_end(struct thrum__table_filter *, bool takes);

/* Writes the cell of a row, which must be less than `count`. */
void thrum__table_cell(const struct thrum__table *, uint32_t row, unsigned column,
	struct thrum__table_cell *);

/* Sets a cell's text to its number as programs want it: "12.5", "-3". A text cell stays. */
void thrum__table_print(const struct thrum__table *, struct thrum__table_cell *);

/* Writes the cell of a row with a text for people: "1,234", "5.09 ms", "12.5 %"; "" if empty. */
void thrum__table_words(const struct thrum__table *, uint32_t row, unsigned column,
	struct thrum__table_cell *);

/* As thrum__table_words, but a task without a label is called as in the picture: then returns true. */
bool thrum__table_named(const struct thrum__table *, uint32_t row, unsigned column,
	struct thrum__table_cell *);

/* The task that a row shows, or whose run it shows; NONE in other tables. */
uint32_t thrum__table_task(const struct thrum__table *, uint32_t row);
/* Gives the time of the run that a row shows; returns false in other tables. */
bool thrum__table_span(const struct thrum__table *, uint32_t row, int64_t *from, int64_t *to);

/* ---- Tasks behind a number ----------------------------------------------------------------- */

/* The tasks that a number in a table of tallies counts. */
struct thrum__table_counted_value {
	int by; /* enum thrum__tally_by */
	uint32_t tally;
	unsigned what; /* private: all tasks, those of a state, or stuck ones */
};

/* Whether a column's numbers count tasks. */
bool thrum__table_counts(const struct thrum__table_form *, unsigned column);

/* The tasks that the number in a row counts. thrum__table_counts must be true of the column. */
struct thrum__table_counted_value thrum__table_counted(const struct thrum__table *, uint32_t row,
	unsigned column);

/* Whether the number counts a task. */
bool thrum__table_counted_has(const struct thrum__table_counted_value *,
	const struct thrum__stats *, uint32_t task);

/* Writes such a number as "GET /index.html: 12 pending". Returns as snprintf. */
size_t thrum__table_counted_words(const struct thrum__table *, uint32_t row, unsigned column,
	char *to, size_t size);

/* Keeps in a table of tasks those that a number counts and of which a text or the id contains
 * `text`, as thrum__table_narrow does. */
THRUM__MUST_USE int thrum__table_narrow_to_counted(struct thrum__table *,
	const struct thrum__table_counted_value *, const char *text);

#endif
