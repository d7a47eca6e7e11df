/* SPDX-License-Identifier: ISC */
/*
 * format/clock: a recording's clock readings, and the frequency and wall time that follow from
 * them. All arithmetic is in whole numbers, so that results are the same on every machine.
 */
#ifndef FORMAT_CLOCK_H
#define FORMAT_CLOCK_H

#include "format/format.h"

/*
 * Reads the header's three clock readings again, each under its ticket. A reading that the recorder
 * writes during each of three tries becomes all zeros, its ticket included. Returns 0 or the
 * input's negative enum thrum_error.
 */
int thrum__format_read_clocks(const struct thrum__input *, struct thrum__header *);

/* Returns the later of the header's two latest readings, else the first reading, or NULL if there
 * is none. The header keeps it. */
const struct thrum__reading *thrum__format_latest_clock(const struct thrum__header *);

/*
 * Fills in the clock's frequency and the wall time at which it was 0. The frequency follows from
 * the first and the latest reading if they are at least 100 ms apart and agree with the header's
 * frequency within a factor of 2; else it is the header's. Without a first reading, the wall time
 * is left at 1970. The header's readings must be whole, as thrum__format_read_clocks leaves them.
 */
void thrum__format_set_clock(struct thrum__metadata *metadata, const struct thrum__header *);

/*
 * Returns the recording's clock, in ticks, at a time of CLOCK_MONOTONIC after the latest reading;
 * 0 if that can't be told: there is no reading, the time is before it, or the program gave the
 * clock, which may run at any speed unless it was compared with a host's. The readings must be whole,
 * as above.
 */
uint64_t thrum__format_ticks_at(const struct thrum__header *, uint64_t monotonic);

/* Returns a * b / c, rounded down, without overflow in between; UINT64_MAX if the result is too
 * large or c is 0. */
uint64_t thrum__format_multiply_divide(uint64_t a, uint64_t b, uint64_t c);

#endif
