/* SPDX-License-Identifier: ISC */
/* Tables on standard output. */
#ifndef TABLE_H
#define TABLE_H

#include "output.h"
#include "report/table/table.h"

enum table_format {
	TABLE_TEXT,
	TABLE_TSV,
	TABLE_JSON
};
#define TABLE_FORMATS "text|tsv|json"

/*
 * The first `most` rows. text: aligned columns for people, without those in which nothing stands;
 * tsv: a line of names, then rows; json: an object a row, without what is empty.
 */
void table_write(struct output *, const struct thrum__table *, int format, uint32_t most,
	bool color);

#endif
