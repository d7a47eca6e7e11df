/* SPDX-License-Identifier: ISC */
/* Arithmetic on times, in ns, that no damaged trace can make overflow. */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include <stdint.h>

/* Times of damaged traces may be any numbers. Within these bounds, the sum and the difference of
 * two times don't overflow. */
#define THRUM__FARTHEST (INT64_C(1) << 61)

static inline int64_t thrum__base_time_clamp(int64_t time)
{
	return time < -THRUM__FARTHEST   ? -THRUM__FARTHEST
		: time > THRUM__FARTHEST ? THRUM__FARTHEST
					 : time;
}

/* Returns `to` less `from`. Wraps instead of overflowing: times of damaged traces may be any. */
static inline int64_t thrum__base_time_between(int64_t from, int64_t to)
{
	return (int64_t)((uint64_t)to - (uint64_t)from);
}

#endif
