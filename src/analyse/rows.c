/* SPDX-License-Identifier: ISC */
#include "analyse/rows.h"

static int64_t time_of(const struct thrum__model *model, enum thrum__row_table table, uint32_t row)
{
	switch (table) {
	case THRUM__TABLE_SUSPENSIONS: return THRUM__SUSPENSION(model, row, start);
	case THRUM__TABLE_RUNS: return THRUM__RUN(model, row, start);
	case THRUM__TABLE_NOTES: return THRUM__NOTE(model, row, time);
	case THRUM__TABLE_TASKS: return THRUM__TASK(model, row, created);
	default: return THRUM__EDGE(model, row, time);
	}
}

/* Finds the time of a table's next row. */
static void look_at(struct thrum__next_row *row, enum thrum__row_table table)
{
	const struct thrum__model *model = row->model;
	const struct thrum__model_rows *rows[THRUM__TABLES] = {&model->suspensions, &model->runs,
		&model->notes, &model->tasks, &model->edges};

	row->time[table] = row->next[table] < rows[table]->count
		? time_of(model, table, row->next[table])
		: THRUM__OPEN;
}

bool thrum__analyse_next_row(struct thrum__next_row *row)
{
	enum thrum__row_table first = 0;

	if (row->has_begun)
		look_at(row, row->table);
	for (enum thrum__row_table i = 0; !row->has_begun && i < THRUM__TABLES; i++)
		look_at(row, i);
	row->has_begun = true;
	for (enum thrum__row_table i = 1; i < THRUM__TABLES; i++)
		if (row->time[i] < row->time[first])
			first = i;
	row->table = first;
	row->row = row->next[first]++;
	return row->time[first] != THRUM__OPEN;
}
