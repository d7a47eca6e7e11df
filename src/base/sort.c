/* SPDX-License-Identifier: ISC */
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

/* The functions below are compiled once for each size of element, so that copying one is a few
 * instructions. */
#define INLINE static inline __attribute__((always_inline))

#define SHORT 12 /* elements that are sorted by insertion before any merging */
#define DIGIT 11 /* bits of a radix sort's digit */
#define DIGIT_MASK ((1u << DIGIT) - 1)
#define DIGITS_FROM 1024 /* fewer elements aren't worth counting digits */

/* Elements of `size` bytes that begin with their key. */
struct order {
	size_t size;
	int (*compare)(const void *context, uint32_t a, uint32_t b); /* or NULL */
	const void *context;
};

INLINE int64_t key_at(const struct order *order, const char *array, size_t i)
{
	int64_t key;

	memcpy(&key, array + i * order->size, sizeof key);
	return key;
}

/* The key as an unsigned number of the same order. */
INLINE uint64_t digits_at(const struct order *order, const char *array, size_t i)
{
	return (uint64_t)key_at(order, array, i) ^ UINT64_C(1) << 63;
}

INLINE void copy(const struct order *order, char *to, size_t i, const char *from, size_t j)
{
	memcpy(to + i * order->size, from + j * order->size, order->size);
}

INLINE bool is_after(const struct order *order, const char *a, size_t i, const char *b, size_t j)
{
	int64_t left = key_at(order, a, i), right = key_at(order, b, j);
	uint32_t first, second;

	if (left != right || !order->compare)
		return left > right;
	memcpy(&first, a + i * order->size + offsetof(struct thrum__base_sort_item, item),
		sizeof first);
	memcpy(&second, b + j * order->size + offsetof(struct thrum__base_sort_item, item),
		sizeof second);
	return order->compare(order->context, first, second) > 0;
}

/* ---- Merging -------------------------------------------------------------------------------- */

INLINE void insert_each(const struct order *order, char *array, size_t count)
{
	char element[sizeof(struct thrum__base_span)];

	for (size_t i = 1; i < count; i++) {
		size_t j = i;

		copy(order, element, 0, array, i);
		for (; j > 0 && is_after(order, array, j - 1, element, 0); j--)
			copy(order, array, j, array, j - 1);
		copy(order, array, j, element, 0);
	}
}

/* The end of the ascending run that begins at `at`. */
INLINE size_t run_end(const struct order *order, const char *array, size_t at, size_t count)
{
	if (at >= count)
		return count;
	for (at++; at < count && !is_after(order, array, at - 1, array, at); at++)
		;
	return at;
}

/* Merges from[at … middle - 1] and from[middle … end - 1], each in order. */
INLINE void merge_runs(const struct order *order, const char *from, size_t at, size_t middle,
	size_t end, char *to)
{
	size_t a = at, b = middle, i = at;

	while (a < middle && b < end) {
		if (is_after(order, from, a, from, b))
			copy(order, to, i++, from, b++);
		else
			copy(order, to, i++, from, a++);
	}
	memcpy(to + i * order->size, from + a * order->size, (middle - a) * order->size);
	i += middle - a;
	memcpy(to + i * order->size, from + b * order->size, (end - b) * order->size);
}

/* Merges pairs of runs until only one run is left. Where runs are short, insertion makes them
 * longer first. */
INLINE void sort_by_merging(const struct order *order, char *array, char *room, size_t count,
	size_t runs)
{
	char *from = array, *to = room;

	if (runs > count / SHORT)
		for (size_t i = 0; i < count; i += SHORT)
			insert_each(order, array + i * order->size,
				count - i < SHORT ? count - i : SHORT);
	while (run_end(order, from, 0, count) < count) {
		for (size_t at = 0; at < count;) {
			size_t middle = run_end(order, from, at, count);
			size_t end = run_end(order, from, middle, count);

			merge_runs(order, from, at, middle, end, to);
			at = end;
		}
		char *swap = from;

		from = to;
		to = swap;
	}
	if (from != array)
		memcpy(array, from, count * order->size);
}

/* ---- Digits --------------------------------------------------------------------------------- */

/* Distributes the elements by one digit after the other, the lowest first. `differing` has the bits
 * in which keys differ: digits in which all agree are skipped. */
INLINE void sort_by_digits(const struct order *order, char *array, char *room, size_t count,
	uint64_t differing)
{
	char *from = array, *to = room;

	for (unsigned shift = 0; shift < 64; shift += DIGIT) {
		size_t at[1 << DIGIT] = {0}, sum = 0;

		if ((differing >> shift & DIGIT_MASK) == 0)
			continue;
		for (size_t i = 0; i < count; i++)
			at[digits_at(order, from, i) >> shift & DIGIT_MASK]++;
		for (unsigned digit = 0; digit <= DIGIT_MASK; digit++) {
			size_t here = at[digit];

			at[digit] = sum;
			sum += here;
		}
		for (size_t i = 0; i < count; i++)
			copy(order, to, at[digits_at(order, from, i) >> shift & DIGIT_MASK]++, from,
				i);
		char *swap = from;

		from = to;
		to = swap;
	}
	if (from != array)
		memcpy(array, from, count * order->size);
}

/* ---- Both ----------------------------------------------------------------------------------- */

INLINE void sort(const struct order *order, char *array, char *room, size_t count)
{
	uint64_t differing = 0;
	size_t runs = 1;
	unsigned digits = 0;

	for (size_t i = 1; i < count; i++) {
		differing |= digits_at(order, array, i) ^ digits_at(order, array, i - 1);
		runs += is_after(order, array, i - 1, array, i);
	}
	for (unsigned shift = 0; shift < 64; shift += DIGIT)
		digits += (differing >> shift & DIGIT_MASK) != 0;
	/* Either sort goes over the whole array several times: the radix sort once for each digit,
	 * merging once each time that it halves the number of runs. */
	if (count < DIGITS_FROM || order->compare || runs >> digits == 0)
		sort_by_merging(order, array, room, count, runs);
	else
		sort_by_digits(order, array, room, count, differing);
}

void thrum__base_sort(struct thrum__base_sort_item *items, struct thrum__base_sort_item *room,
	size_t count, int (*compare)(const void *context, uint32_t a, uint32_t b),
	const void *context)
{
	const struct order order = {sizeof *items, compare, context};

	sort(&order, (char *)items, (char *)room, count);
}

void thrum__base_sort_spans(struct thrum__base_span *spans, struct thrum__base_span *room,
	size_t count)
{
	const struct order order = {sizeof *spans, NULL, NULL};

	sort(&order, (char *)spans, (char *)room, count);
}

void thrum__base_sort_times(int64_t *times, int64_t *room, size_t count)
{
	const struct order order = {sizeof *times, NULL, NULL};

	sort(&order, (char *)times, (char *)room, count);
}

/* ---- Selecting ------------------------------------------------------------------------------ */

int64_t thrum__base_select(int64_t *values, uint32_t count, uint32_t rank)
{
	uint32_t low = 0, high = count - 1;

	while (low < high) {
		int64_t pivot = values[low + (high - low) / 2];
		uint32_t i = low, j = high;

		for (;;) {
			int64_t value;

			while (values[i] < pivot)
				i++;
			while (pivot < values[j])
				j--;
			if (i > j)
				break;
			value = values[i];
			values[i++] = values[j];
			values[j] = value;
			if (j == 0)
				break;
			j--;
			if (i > j)
				break;
		}
		if (rank <= j)
			high = j;
		else if (rank >= i)
			low = i;
		else
			break;
	}
	return values[rank];
}
