/* SPDX-License-Identifier: ISC */
/* A merge sort, bottom-up: short stretches by insertion, then merged to and fro. */
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#define SHORT 12

struct order {
	int (*compare)(const void *context, uint32_t a, uint32_t b);
	const void *context;
};

static bool is_after(const struct order *order, const struct thrum__base_sort_item *a,
	const struct thrum__base_sort_item *b)
{
	if (a->key != b->key)
		return a->key > b->key;
	return order->compare && order->compare(order->context, a->item, b->item) > 0;
}

static void insert(const struct order *order, struct thrum__base_sort_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct thrum__base_sort_item item = items[i];
		size_t j = i;

		for (; j > 0 && is_after(order, &items[j - 1], &item); j--)
			items[j] = items[j - 1];
		items[j] = item;
	}
}

/* Of from[0 … middle - 1] and from[middle … count - 1], each in order. */
static void merge(const struct order *order, const struct thrum__base_sort_item *from,
	size_t middle, size_t count, struct thrum__base_sort_item *to)
{
	size_t a = 0, b = middle;

	if (middle >= count || !is_after(order, &from[middle - 1], &from[middle])) {
		memcpy(to, from, count * sizeof(*to));
		return;
	}
	for (size_t i = 0; i < count; i++) {
		bool first = a < middle && (b == count || !is_after(order, &from[a], &from[b]));

		to[i] = from[first ? a++ : b++];
	}
}

void thrum__base_sort(struct thrum__base_sort_item *items, struct thrum__base_sort_item *room,
	size_t count, int (*compare)(const void *context, uint32_t a, uint32_t b),
	const void *context)
{
	const struct order order = {compare, context};
	struct thrum__base_sort_item *from = items, *to = room, *swap;

	for (size_t i = 0; i < count; i += SHORT)
		insert(&order, items + i, count - i < SHORT ? count - i : SHORT);
	/* No width * 2: of a size_t of 32 bits it could overflow. */
	for (size_t width = SHORT; width<count; width = width> count / 2 ? count : width * 2) {
		for (size_t i = 0; i < count;) {
			size_t left = count - i;
			size_t both = left / 2 < width ? left : width * 2;

			merge(&order, from + i, width < both ? width : both, both, to + i);
			i += both;
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}
