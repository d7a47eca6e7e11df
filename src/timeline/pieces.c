/* SPDX-License-Identifier: ISC */
/* Sorts pieces, which are mostly sorted already but for some. */
#include "timeline/pieces.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT 11 /* bits */
#define DIGIT_MASK ((1u << DIGIT) - 1)
#define DIGITS_FROM 1024 /* for fewer pieces counting isn't worth it */

/* Returns the end of the ascending run of pieces at `at`. */
static size_t run_end(const struct thrum__timeline_piece *from, size_t at, size_t count)
{
	if (at >= count)
		return count;
	for (at++; at < count && from[at - 1].start <= from[at].start; at++)
		;
	return at;
}

static void merge(const struct thrum__timeline_piece *left, size_t left_count,
	const struct thrum__timeline_piece *right, size_t right_count,
	struct thrum__timeline_piece *to)
{
	while (left_count && right_count) {
		if (left->start <= right->start) {
			*to++ = *left++;
			left_count--;
		} else {
			*to++ = *right++;
			right_count--;
		}
	}
	if (left_count)
		memcpy(to, left, left_count * sizeof(*to));
	if (right_count)
		memcpy(to, right, right_count * sizeof(*to));
}

/* Merges ascending runs two by two until there is only one. */
static void sort_by_merging(struct thrum__timeline_piece *pieces,
	struct thrum__timeline_piece *scratch, size_t count)
{
	struct thrum__timeline_piece *from = pieces, *to = scratch;

	while (run_end(from, 0, count) < count) {
		for (size_t at = 0; at < count;) {
			size_t middle = run_end(from, at, count);
			size_t end = run_end(from, middle, count);

			merge(from + at, middle - at, from + middle, end - middle, to + at);
			at = end;
		}
		struct thrum__timeline_piece *swap = from;

		from = to;
		to = swap;
	}
	if (from != pieces)
		memcpy(pieces, from, count * sizeof(*pieces));
}

/* A piece's start as an unsigned number, in the same order. */
static uint64_t key_of(const struct thrum__timeline_piece *piece)
{
	return (uint64_t)piece->start ^ UINT64_C(1) << 63;
}

/* Deals the pieces out by one digit after another, the lowest first; leaves out digits that are the
 * same in all. */
static void sort_by_digits(struct thrum__timeline_piece *pieces,
	struct thrum__timeline_piece *scratch, size_t count, uint64_t differing)
{
	struct thrum__timeline_piece *from = pieces, *to = scratch;

	for (unsigned shift = 0; shift < 64; shift += DIGIT) {
		size_t at[1 << DIGIT] = {0}, sum = 0;

		if ((differing >> shift & DIGIT_MASK) == 0)
			continue;
		for (size_t i = 0; i < count; i++)
			at[key_of(&from[i]) >> shift & DIGIT_MASK]++;
		for (unsigned digit = 0; digit <= DIGIT_MASK; digit++) {
			size_t here = at[digit];

			at[digit] = sum;
			sum += here;
		}
		for (size_t i = 0; i < count; i++)
			to[at[key_of(&from[i]) >> shift & DIGIT_MASK]++] = from[i];
		struct thrum__timeline_piece *swap = from;

		from = to;
		to = swap;
	}
	if (from != pieces)
		memcpy(pieces, from, count * sizeof(*pieces));
}

void thrum__timeline_pieces_sort(struct thrum__timeline_piece *pieces,
	struct thrum__timeline_piece *scratch, size_t count)
{
	uint64_t differing = 0;
	size_t runs = 1;
	unsigned digits = 0;

	for (size_t i = 1; i < count; i++) {
		differing |= key_of(&pieces[i]) ^ key_of(&pieces[i - 1]);
		runs += pieces[i].start < pieces[i - 1].start;
	}
	for (unsigned shift = 0; shift < 64; shift += DIGIT)
		digits += (differing >> shift & DIGIT_MASK) != 0;
	/* Both go over all pieces: once for each digit, or for each doubling of the runs. */
	if (count < DIGITS_FROM || runs >> digits == 0)
		sort_by_merging(pieces, scratch, count);
	else
		sort_by_digits(pieces, scratch, count, differing);
}
