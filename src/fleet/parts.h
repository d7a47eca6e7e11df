/* SPDX-License-Identifier: ISC */
/* Shared by the files of fleet/, and private to it. */
#ifndef FLEET_PARTS_H
#define FLEET_PARTS_H

#include "base/text.h"
#include "fleet/fleet.h"

/* The place of a part of the tables. */
static inline uint64_t part_offset(uint32_t part)
{
	return part == 0 ? 0 : THRUM__HEADER_SIZE + (uint64_t)(part - 1) * THRUM__FLEET_PART;
}

static inline uint64_t part_size(uint32_t part)
{
	return part == 0 ? THRUM__HEADER_SIZE : THRUM__FLEET_PART;
}

/* A stretch of a part that isn't zero: this, then its bytes. All else in the part is zero. */
struct thrum__fleet_stretch {
	uint32_t offset, size;
};

/* Finds host and program in the subject of part 0. */
bool thrum__fleet_split(const char *subject, char host[THRUM__FLEET_KEY],
	char program[THRUM__FLEET_KEY]);

struct thrum__fleet_live {
	struct thrum__fleet_server *server;
	struct thrum__fleet_gather *gather;
	struct thrum__output output;
	char tables[THRUM__FLEET_SUBJECT], pieces[THRUM__FLEET_SUBJECT]; /* filters of subjects */
	uint64_t tables_done, pieces_done; /* the numbers of the last messages that were read */
};

/* Makes one; `output` is to be set before pieces come. `key`: HOST.PROGRAM.UUID. Returns 0 or
 * -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__fleet_live_create(struct thrum__fleet_server *, const char *key,
	struct thrum__fleet_live **live, struct thrum_error_info *);
/* Reads the tables that are new. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_live_read_tables(struct thrum__fleet_live *,
	struct thrum_error_info *);
/* Takes a piece, unless it is of a packet that began after `until`. Returns 0 or a negative enum
 * thrum_error. */
THRUM__MUST_USE int thrum__fleet_live_piece(struct thrum__fleet_live *,
	const struct thrum__fleet_stored *, int64_t until);

/* The findings of agents about clocks. */
struct thrum__fleet_pings {
	uint64_t boots[THRUM__FLEET_PARTS_MAX]; /* of machines that asked */
	size_t boot_count;
	int64_t from, until;     /* stored then, ns since 1970 */
	struct thrum__ping *all; /* for the caller to free */
	uint32_t count;
};

/* Reads them from the server. Returns 0 or a negative enum thrum_error. */
THRUM__MUST_USE int thrum__fleet_read_pings(struct thrum__fleet_server *,
	struct thrum__fleet_pings *, struct thrum_error_info *);

/* Convert a time of the recording's clock to ns since 1970, and back. The header's clock readings must
 * be whole. */
int64_t thrum__fleet_wall(const struct thrum__header *, uint64_t ticks);
uint64_t thrum__fleet_ticks(const struct thrum__header *, int64_t wall);

#endif
