/* SPDX-License-Identifier: ISC */
/*
 * store/parquet: writes tables in Apache Parquet's format (https://parquet.apache.org/docs). Columns are
 * plain or differences, compressed with zstd where thrum has that, in groups of 65,536 rows.
 *
 *	thrum__store_parquet_init(&p, columns, count);
 *	for each row, for each column: thrum__store_parquet_number(&p, …) or _text or _none
 *	thrum__store_parquet_end(&p);
 *	… p.out.bytes, p.out.size …
 *	thrum__store_parquet_finish(&p);
 */
#ifndef STORE_PARQUET_H
#define STORE_PARQUET_H

#include <stdbool.h>

#include "base/text.h"

enum thrum__store_type {
	THRUM__STORE_NUMBER, /* 64 bits, with a sign */
	THRUM__STORE_TIME,   /* ns since 1970 */
	THRUM__STORE_TEXT,   /* UTF-8 */
};

struct thrum__store_column {
	const char *name;
	enum thrum__store_type type;
};

#define THRUM__STORE_COLUMNS_MAX 16

struct thrum__store_parquet {
	const struct thrum__store_column *columns;
	unsigned count, next;        /* columns, and the one of the next value */
	uint64_t rows, in_group;     /* rows in all, and in the present group */
	struct thrum__base_text out; /* the file so far */
	/* The present group, by column: the values, and a byte for each row: there is one. */
	struct thrum__base_text values[THRUM__STORE_COLUMNS_MAX], present[THRUM__STORE_COLUMNS_MAX];
	struct thrum__base_text groups; /* the groups' descriptions */
	uint32_t group_count;
	bool failed; /* out of memory */
};

void thrum__store_parquet_init(struct thrum__store_parquet *, const struct thrum__store_column *,
	unsigned count);
void thrum__store_parquet_number(struct thrum__store_parquet *, int64_t);
/* Bytes that aren't UTF-8 become U+FFFD. */
void thrum__store_parquet_text(struct thrum__store_parquet *, const char *, size_t);
void thrum__store_parquet_none(struct thrum__store_parquet *);
/* Writes the end of the file. Returns 0 or -THRUM_E_MEMORY. */
int thrum__store_parquet_end(struct thrum__store_parquet *);
void thrum__store_parquet_finish(struct thrum__store_parquet *);

#endif
