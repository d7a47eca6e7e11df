/* SPDX-License-Identifier: ISC */
/* What the files of table share. */
#ifndef REPORT_TABLE_PARTS_H
#define REPORT_TABLE_PARTS_H

#include "report/table/table.h"

/* How many rows a table has at most; items are numbered from 0. */

/* The model hasn't forgotten it since the statistics were made. */
bool thrum__table_has(const struct thrum__table *, uint32_t item);
/* A cell of what is no row, perhaps; empty, where it is forgotten. */
void thrum__table_item_cell(const struct thrum__table *, uint32_t item, unsigned column,
	struct thrum__table_cell *);

#endif
