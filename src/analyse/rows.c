/* SPDX-License-Identifier: ISC */
#include "analyse/rows.h"

_Static_assert(THRUM__NUMBER_OF(runs, start) == THRUM__TIME_COLUMN, "the time of a run");
_Static_assert(THRUM__NUMBER_OF(notes, time) == THRUM__TIME_COLUMN, "the time of a note");
_Static_assert(THRUM__NUMBER_OF(tasks, created) == THRUM__TIME_COLUMN, "the time of a task");
_Static_assert(THRUM__NUMBER_OF(edges, time) == THRUM__TIME_COLUMN, "the time of an edge");
_Static_assert(THRUM__TABLES == 5 && THRUM__TABLES <= THRUM__KEY_TABLES, "five keys are compared");

void thrum__analyse_begin_rows(const struct thrum__model *model, struct thrum__rows *rows)
{
	*rows = (struct thrum__rows){.model = model,
		.rows = {
			[THRUM__TABLE_SUSPENSIONS] = &model->suspensions,
			[THRUM__TABLE_RUNS] = &model->runs,
			[THRUM__TABLE_NOTES] = &model->notes,
			[THRUM__TABLE_TASKS] = &model->tasks,
			[THRUM__TABLE_EDGES] = &model->edges,
		}};
	for (enum thrum__row_table i = 0; i < THRUM__TABLES; i++)
		thrum__analyse_look_at(rows, i);
}
