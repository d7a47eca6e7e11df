/* SPDX-License-Identifier: ISC */
/* Finds the example of a slower group where few of its tasks took nearly all of the additional time: the
 * medians of both recordings then differ by other things. */
#include "analyse/diff/parts.h"

/* Where the difference of the medians makes less than one in so many of the time, it isn't the cause. */
#define BODY_PART 4

/* The place in `count` sorted lives that is as far along as place i in `of` ones. */
static size_t place_like(size_t i, size_t of, size_t count)
{
	return (size_t)((double)(2 * i + 1) / (double)(2 * of) * (double)count);
}

bool thrum__diff_tail(const struct thrum__diff_lives lives[THRUM__SIDES],
	uint32_t tasks[THRUM__SIDES], unsigned *percent)
{
	const struct thrum__diff_lives *good = &lives[THRUM__GOOD], *bad = &lives[THRUM__BAD];
	double extra = 0, half = 0,
	       body = (double)bad->items[(bad->count - 1) / 2].key -
		(double)good->items[(good->count - 1) / 2].key;

	for (size_t i = 0; i < bad->count; i++)
		extra += (double)(bad->items[i].key -
			good->items[place_like(i, bad->count, good->count)].key);
	if (body * (double)bad->count * BODY_PART >= extra)
		return false;
	for (size_t i = bad->count; i-- > 0;) {
		size_t like = place_like(i, bad->count, good->count);

		half += (double)(bad->items[i].key - good->items[like].key);
		if (half * 2 < extra)
			continue;
		tasks[THRUM__BAD] = bad->items[i].item;
		tasks[THRUM__GOOD] = good->items[like].item;
		*percent = (unsigned)(100 * i / bad->count);
		return true;
	}
	return false;
}
