/* SPDX-License-Identifier: ISC */
/*
 * The counters of a recording: the bytes of its section, and the buckets of distributions.
 *
 * The section is an array of pages. A page has 31 blocks of 16 words and their tags. A tag says by
 * itself what its block holds, so a reader looks at all tags and follows no pointer. Blocks are
 * never freed, and keep their tags.
 *
 *   NAME      a counter's path and kind
 *   VALUES    parts of the values of the 16 counters 16 g to 16 g + 15; g is the tag's number
 *   SUMS      of a distribution: see below
 *   BUCKETS   counts of 16 buckets of a distribution, of row `part - THRUM__COUNTERS_BUCKETS`
 *
 * Several blocks may have the same tag: each thread adds in blocks of its own, so that threads don't
 * contend, and some blocks are shared. A counter's value is the sum over them.
 *
 * The buckets are those of Gil Tene's HdrHistogram (http://hdrhistogram.org) with 16 buckets for
 * each power of two: values below 16 have a bucket each, all others share one with those that are
 * up to 6.25 % greater. So a bucket's middle is within 3.2 % of each of its values.
 */
#ifndef FORMAT_COUNTERS_H
#define FORMAT_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define THRUM__COUNTERS_PAGE 4096u
#define THRUM__COUNTERS_BLOCKS 31u /* of a page */
#define THRUM__COUNTERS_WORDS 16u  /* of a block */
#define THRUM__COUNTERS_VERSION 1u

struct thrum__counters_page {
	_Atomic uint32_t tags[THRUM__COUNTERS_BLOCKS]; /* stored last; 0: not used yet */
	_Atomic uint32_t version;                      /* 0: no block of the page is used */
	int64_t words[THRUM__COUNTERS_BLOCKS][THRUM__COUNTERS_WORDS];
};
_Static_assert(sizeof(struct thrum__counters_page) == THRUM__COUNTERS_PAGE, "wire layout");

/* The parts of a counter, in bits 16 to 23 of a tag; bits 0 to 15 are a number. */
enum {
	THRUM__COUNTERS_NAME = 1,
	THRUM__COUNTERS_VALUES = 2,
	THRUM__COUNTERS_SUMS = 3,
	THRUM__COUNTERS_BUCKETS = 4, /* and the following ones: a row each */
};

static inline uint32_t thrum__format_counters_tag(unsigned part, unsigned number)
{
	return part << 16 | number;
}

static inline unsigned thrum__format_counters_part(uint32_t tag)
{
	return tag >> 16;
}

static inline unsigned thrum__format_counters_number(uint32_t tag)
{
	return tag & 0xffff;
}

/* The block of a counter's name. */
struct thrum__counters_name {
	uint32_t kind; /* enum thrum_counter_kind */
	uint32_t reserved;
	char path[120]; /* ends in NUL */
};
_Static_assert(sizeof(struct thrum__counters_name) == 8 * THRUM__COUNTERS_WORDS, "wire layout");

/* The words of SUMS. */
enum {
	THRUM__SUMS_SUM,   /* of the values; wraps */
	THRUM__SUMS_LEAST, /* INT64_MAX: no value yet */
	THRUM__SUMS_MOST,  /* INT64_MIN: no value yet */
	THRUM__SUMS_LOOSE, /* values that are counted nowhere else: no block was free */
};

/* ---- Buckets -------------------------------------------------------------------------------- */

/* Rows of 16 buckets: row 0 has the values 0 to 15, row r > 0 those from 16 << (r - 1) up to twice
 * as much. Rows from THRUM__ROWS_NEGATIVE on have the same, negated. */
#define THRUM__ROWS 128u
#define THRUM__ROWS_NEGATIVE 64u
#define THRUM__ROW_LAST 60u

/* A bucket: its row and its place in it. */
struct thrum__bucket {
	uint8_t row, place;
};

static inline struct thrum__bucket thrum__format_counters_bucket(int64_t value)
{
	uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	unsigned shift = 59u - (unsigned)__builtin_clzll(size | 16); /* the row - 1, or 0 */
	unsigned row = size < 16 ? 0 : shift + 1;

	return (struct thrum__bucket){(uint8_t)(value < 0 ? row + THRUM__ROWS_NEGATIVE : row),
		(uint8_t)(size >> shift & 15)};
}

/* Tells whether a row has values; the others occur in damaged files only. */
static inline bool thrum__format_counters_is_row(unsigned row)
{
	return row % THRUM__ROWS_NEGATIVE <= THRUM__ROW_LAST && row < THRUM__ROWS;
}

/* Sets *low and *high to the least and the greatest value of a bucket. The row has values. */
void thrum__format_counters_bounds(struct thrum__bucket, int64_t *low, int64_t *high);

#endif
