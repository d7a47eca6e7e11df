/* SPDX-License-Identifier: ISC */
/* Writes tables to standard output. */
#ifndef LINE_TABLE_H
#define LINE_TABLE_H

#include "line/output.h"
#include "report/table/table.h"

enum table_format {
	TABLE_TEXT,
	TABLE_TSV,
	TABLE_JSON
};
#define TABLE_FORMATS "text|tsv|json"

/*
 * Writes the first `most` rows. text: aligned columns for people, without empty columns, as
 * wide as the terminal; tsv: a
 * line of names, then rows; json: one object a row, without empty cells.
 */
void table_write(struct output *, const struct thrum__table *, int format, uint32_t most,
	bool color);

#endif
