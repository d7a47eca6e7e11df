/* SPDX-License-Identifier: ISC */
#include "format/counters.h"

void thrum__format_counters_bounds(struct thrum__bucket bucket, int64_t *low, int64_t *high)
{
	unsigned row = bucket.row % THRUM__ROWS_NEGATIVE;
	unsigned shift = row > 0 ? row - 1 : 0;
	uint64_t first = row > 0 ? (uint64_t)(16 + bucket.place) << shift : bucket.place;
	uint64_t last = first + (UINT64_C(1) << shift) - 1;

	/* Only one value of row 60 fits 64 bits: -2^63. */
	if (bucket.row < THRUM__ROWS_NEGATIVE) {
		*low = first > INT64_MAX ? INT64_MAX : (int64_t)first;
		*high = last > INT64_MAX ? INT64_MAX : (int64_t)last;
	} else {
		*low = last > INT64_MAX ? INT64_MIN : -(int64_t)last;
		*high = first > INT64_MAX ? INT64_MIN : -(int64_t)first;
	}
}
