/* SPDX-License-Identifier: ISC */
/* A recording's clock and the world's. */
#ifndef FORMAT_CLOCK_H
#define FORMAT_CLOCK_H

#include "format/format.h"

/*
 * Reads the header's clock readings anew, each whole by its ticket; one that is written at each try
 * becomes none, with ticket 0. Returns 0 or what the input's read returned.
 */
int thrum__format_read_clocks(const struct thrum__input *, struct thrum__header *);

/* The later one of the header's two latest readings, else the first one; NULL: there is none. */
const struct thrum__reading *thrum__format_latest_clock(const struct thrum__header *);

/*
 * Says in *metadata how many ticks a second has, by the first and the latest reading of the clocks
 * where they are far enough apart, and at which wall time the clock was 0. Without a first reading
 * the latter is left at 1970. The header's readings must be whole ones.
 */
void thrum__format_set_clock(struct thrum__metadata *metadata, const struct thrum__header *);

/* a * b / c, rounded down, with all bits in between; UINT64_MAX if that is too much, or c is 0. */
uint64_t thrum__format_multiply_divide(uint64_t a, uint64_t b, uint64_t c);

#endif
