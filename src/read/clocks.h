/* SPDX-License-Identifier: ISC */
/*
 * read/clocks: by how much the clocks of the machines in a trace may be wrong to each other, as that changes
 * over its time.
 */
#ifndef READ_CLOCKS_H
#define READ_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

/* The pair of two machines, a < b, among all pairs. */
#define THRUM__READ_CLOCK_PAIR(a, b) ((size_t)(b) * ((b)-1) / 2 + (a))

/* Errors at some times, which follow each other at equal distances. */
struct thrum__read_clocks {
	int64_t from, every; /* ns of the trace */
	uint32_t times;      /* at least 2, but for a trace of one machine */
	uint32_t hosts;
	int64_t between; /* ns: halfway between two of the times an error is larger by so much */
	double drift;    /* and before the first and after the last one by so much of the way */
	const int64_t *errors; /* ns, by time and pair; INT64_MAX: nobody knows */
};

/* Returns by how many ns times of two machines may be wrong to each other, in either direction, at some time
 * from `from` to `until`, which may lie beyond the trace: the most. INT64_MAX: by any. NULL: 0. */
int64_t thrum__read_clock_error(const struct thrum__read_clocks *, uint32_t a, uint32_t b,
	int64_t from, int64_t until);
/* The most of the whole trace. */
int64_t thrum__read_clock_worst(const struct thrum__read_clocks *, uint32_t a, uint32_t b);

#endif
