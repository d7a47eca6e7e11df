/* SPDX-License-Identifier: ISC */
/* store/schema: the tables' columns, by enum thrum__store_table. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include "store/parquet.h"
#include "store/store.h"

extern const struct thrum__store_column thrum__store_columns[THRUM__STORE_TABLE_COUNT]
							    [THRUM__STORE_COLUMNS_MAX];

unsigned thrum__store_column_count(enum thrum__store_table table);

#endif
