/* SPDX-License-Identifier: ISC */
#include "analyse/rows.h"

/* The times of all tables but that of suspensions are their first columns. */
#define FIRST_COLUMN 0
_Static_assert(THRUM__NUMBER_OF(runs, start) == FIRST_COLUMN, "the time of a run");
_Static_assert(THRUM__NUMBER_OF(notes, time) == FIRST_COLUMN, "the time of a note");
_Static_assert(THRUM__NUMBER_OF(tasks, created) == FIRST_COLUMN, "the time of a task");
_Static_assert(THRUM__NUMBER_OF(edges, time) == FIRST_COLUMN, "the time of an edge");

/* Finds the time of a table's next row. */
static inline void look_at(struct thrum__next_row *row, enum thrum__row_table table)
{
	const struct thrum__model_rows *rows = row->rows[table];
	uint32_t next = row->next[table];

	if (next >= rows->count)
		row->time[table] = THRUM__OPEN;
	else if (table == THRUM__TABLE_SUSPENSIONS)
		row->time[table] = THRUM__SUSPENSION(row->model, next, start);
	else
		row->time[table] = thrum__model_near_of(rows, FIRST_COLUMN, next);
}

static void begin_rows(struct thrum__next_row *row)
{
	const struct thrum__model *model = row->model;

	row->rows[THRUM__TABLE_SUSPENSIONS] = &model->suspensions;
	row->rows[THRUM__TABLE_RUNS] = &model->runs;
	row->rows[THRUM__TABLE_NOTES] = &model->notes;
	row->rows[THRUM__TABLE_TASKS] = &model->tasks;
	row->rows[THRUM__TABLE_EDGES] = &model->edges;
	for (enum thrum__row_table i = 0; i < THRUM__TABLES; i++)
		look_at(row, i);
}

bool thrum__analyse_next_row(struct thrum__next_row *row)
{
	enum thrum__row_table first = 0;
	int64_t least;

	if (row->rows[0])
		look_at(row, row->table);
	else
		begin_rows(row);
	least = row->time[0];
	/* Without branches, as no processor predicts which table comes first. */
	for (enum thrum__row_table i = 1; i < THRUM__TABLES; i++) {
		first = row->time[i] < least ? i : first;
		least = row->time[i] < least ? row->time[i] : least;
	}
	row->table = first;
	row->row = row->next[first]++;
	return least != THRUM__OPEN;
}
