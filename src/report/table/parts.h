/* SPDX-License-Identifier: ISC */
/* The interface of cells.c for the other files of report/table. */
#ifndef REPORT_TABLE_PARTS_H
#define REPORT_TABLE_PARTS_H

#include "report/table/table.h"

/* The columns of the table of tasks. */
enum thrum__table_task_column {
	TASK_TASK,
	TASK_PARENT,
	TASK_KIND,
	TASK_SITE,
	TASK_START,
	TASK_END,
	TASK_LAST,
	TASK_STATE,
	TASK_BECAME,
	TASK_LABEL,
	TASK_FAILURE,
	TASK_LANE,
	TASK_MEASURES,
	TASK_ERROR = TASK_MEASURES + THRUM__MEASURE_COUNT,
};

/* Whether the model still has an item: it may forget rows after the statistics were made. */
bool thrum__table_has(const struct thrum__table *, uint32_t item);

/* Writes the cell of an item, also of one that a filter dropped. Empty if it is forgotten. */
void thrum__table_item_cell(const struct thrum__table *, uint32_t item, unsigned column,
	struct thrum__table_cell *);

#endif
