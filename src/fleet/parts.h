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

/* Convert a time of the recording's clock to ns since 1970, and back. The header's clock readings must
 * be whole. */
int64_t thrum__fleet_wall(const struct thrum__header *, uint64_t ticks);
uint64_t thrum__fleet_ticks(const struct thrum__header *, int64_t wall);

#endif
