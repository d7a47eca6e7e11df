/* SPDX-License-Identifier: ISC */
/* store/tsv: rows as ClickHouse reads them with FORMAT TabSeparated, and its tables. */
#ifndef STORE_TSV_H
#define STORE_TSV_H

#include "base/text.h"
#include "store/parquet.h"

struct thrum__store_tsv {
	unsigned count, next;        /* columns, and the one of the next value */
	struct thrum__base_text out; /* the rows so far */
	uint64_t rows;
};

void thrum__store_tsv_init(struct thrum__store_tsv *, unsigned count);
/* Begins a row with columns of the table that the caller has written: each ends in a tab. */
void thrum__store_tsv_begin(struct thrum__store_tsv *, const char *columns);
void thrum__store_tsv_number(struct thrum__store_tsv *, int64_t);
void thrum__store_tsv_text(struct thrum__store_tsv *, const char *, size_t);
void thrum__store_tsv_none(struct thrum__store_tsv *);
void thrum__store_tsv_finish(struct thrum__store_tsv *);

/* Writes a text as it stands in a cell. */
void thrum__store_tsv_escape(struct thrum__base_text *, const char *, size_t);

#endif
