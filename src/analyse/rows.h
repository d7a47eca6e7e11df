/* SPDX-License-Identifier: ISC */
/* The rows of a model's tables in the order of time. */
#ifndef ANALYSE_ROWS_H
#define ANALYSE_ROWS_H

#include "model/model.h"

/* The tables in the order in which their rows of one time come. */
enum thrum__row_table {
	THRUM__TABLE_SUSPENSIONS,
	THRUM__TABLE_RUNS,
	THRUM__TABLE_NOTES,
	THRUM__TABLE_TASKS,
	THRUM__TABLE_EDGES,
	THRUM__TABLES
};

/* How far a reader of all rows has come. */
struct thrum__rows {
	const struct thrum__model *model;
	const struct thrum__model_rows *rows[THRUM__TABLES];
	uint32_t next[THRUM__TABLES]; /* of each table */
	/* The time of that row, then its table. THRUM__OPEN: there is none. */
	int64_t key[THRUM__TABLES];
};

/* Keys in the order of times, and of tables where times are equal. Times later than FAR, in ns, are taken for
 * FAR. */
#define THRUM__KEY_TABLES 8
#define THRUM__KEY_FAR (INT64_MAX / THRUM__KEY_TABLES - 1)

/* The times of all tables but that of suspensions are their first columns. */
#define THRUM__TIME_COLUMN 0

/* Finds the key of a table's next row. No time of a model is negative. */
static inline void thrum__analyse_look_at(struct thrum__rows *rows, enum thrum__row_table table)
{
	const struct thrum__model_rows *of = rows->rows[table];
	uint32_t next = rows->next[table];
	int64_t time;

	if (next >= of->count) {
		rows->key[table] = THRUM__OPEN;
		return;
	}
	time = table == THRUM__TABLE_SUSPENSIONS
		? THRUM__SUSPENSION(rows->model, next, start)
		: thrum__model_near_of(of, THRUM__TIME_COLUMN, next);
	if (time > THRUM__KEY_FAR)
		time = THRUM__KEY_FAR;
	rows->key[table] = time * THRUM__KEY_TABLES + (int64_t)table;
}

/* Begins with the first rows of a model that has no forgotten ones. */
void thrum__analyse_begin_rows(const struct thrum__model *, struct thrum__rows *);

/* The table of the next row; THRUM__TABLES: there is none. O(1). */
static inline enum thrum__row_table thrum__analyse_next_table(const struct thrum__rows *rows)
{
	const int64_t *key = rows->key;
	int64_t least;

	/* Without branches, as no processor predicts which table comes first. */
	least = key[0] < key[1] ? key[0] : key[1];
	least = key[2] < least ? key[2] : least;
	least = key[3] < least ? key[3] : least;
	least = key[4] < least ? key[4] : least;
	return least == THRUM__OPEN ? THRUM__TABLES
				    : (enum thrum__row_table)(least & (THRUM__KEY_TABLES - 1));
}

/* Takes the next row, from that table. A caller that names the table as a constant lets the processor look at
 * the next row before it is sure of this one. */
static inline uint32_t thrum__analyse_take_row(struct thrum__rows *rows,
	enum thrum__row_table table)
{
	uint32_t row = rows->next[table]++;

	thrum__analyse_look_at(rows, table);
	return row;
}

#endif
