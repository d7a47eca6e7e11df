/* SPDX-License-Identifier: ISC */
/* Inserts rows into ClickHouse, over HTTP by libcurl. */
#ifndef SERVER_CLICKHOUSE_H
#define SERVER_CLICKHOUSE_H

#include "store/store.h"

struct clickhouse;

/* Connects to "clickhouse://[USER:PASSWORD@]HOST[:PORT][/DATABASE]" or "clickhouses://...", and makes the
 * database and the tables unless they are there. Returns an exit status, after a message unless that is
 * STATUS_OK. The caller closes *to. */
int clickhouse_open(const char *address, struct clickhouse **to);
/* Inserts rows. Returns an exit status, likewise. */
int clickhouse_insert(struct clickhouse *, const struct thrum__store_file *);
void clickhouse_close(struct clickhouse *); /* NULL is allowed */

#endif
