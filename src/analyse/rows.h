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

/* A row, and what it takes to find the next one. Set only the model: it has no forgotten rows. */
struct thrum__next_row {
	const struct thrum__model *model;
	enum thrum__row_table table;
	uint32_t row;
	const struct thrum__model_rows *rows[THRUM__TABLES]; /* NULL: none was asked for so far */
	uint32_t next[THRUM__TABLES];                        /* of each table */
	int64_t time[THRUM__TABLES]; /* of that row; THRUM__OPEN: there is none */
};

/* Goes to the next row. Returns false after the last one. O(1). */
bool thrum__analyse_next_row(struct thrum__next_row *);

#endif
