/* SPDX-License-Identifier: ISC */
/* Shared by the files of source/ that read recordings of a server, and private to them. */
#ifndef SOURCE_FLEET_H
#define SOURCE_FLEET_H

#include "fleet/fleet.h"
#include "source/input.h"

/* Recordings that were fetched to temporary files. */
struct thrum__source_fetched {
	int files[THRUM__FLEET_PARTS_MAX];
	char names[THRUM__FLEET_PARTS_MAX][100];
	char keys[THRUM__FLEET_PARTS_MAX][THRUM__FLEET_KEY]; /* HOST.PROGRAM.UUID */
	char hosts[THRUM__FLEET_PARTS_MAX][THRUM__FLEET_KEY];
	char programs[THRUM__FLEET_PARTS_MAX][THRUM__FLEET_KEY];
	struct thrum__fleet_live *lives[THRUM__FLEET_PARTS_MAX]; /* NULL: it has ended */
	size_t count;
	size_t whole; /* the last one may be incomplete after a failure */
	int clocks;   /* a file with struct thrum__ping; -1: none */
};

/* Returns the functions that fill *fetched. */
struct thrum__fleet_fetching thrum__source_fetching(struct thrum__source_fetched *);
/* Closes the files, but leaves alone what goes on. */
void thrum__source_drop_parts(const struct thrum__source_fetched *);
/* Returns the descriptor of a file with all parts, or a negative enum thrum_error. If it is that of the only
 * part, there is no part any more. */
int thrum__source_join_parts(struct thrum__source_fetched *);
/* Reads the comparisons of clocks in a file; of -1 there are none. The caller frees *pings. Returns 0 or
 * -THRUM_E_MEMORY. */
int thrum__source_read_clocks(int fd, struct thrum__ping **pings, uint32_t *count);

#endif
