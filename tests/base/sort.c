/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/sort.h"

#define MOST 5000

static uint64_t random_number(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void sorts_and_keeps_order(void **state)
{
	static struct thrum__base_sort_item items[MOST], room[MOST];
	uint64_t seed = 1;

	for (size_t count = 0; count < MOST; count += count < 60 ? 1 : 97) {
		/* Few different keys, so that many are equal. */
		uint64_t keys = count % 3 == 0 ? UINT64_MAX : 1 + count / 4;

		for (size_t i = 0; i < count; i++)
			items[i] = (struct thrum__base_sort_item){(int64_t)(random_number(&seed) %
									  keys),
				(uint32_t)i};
		thrum__base_sort(items, room, count, NULL, NULL);
		for (size_t i = 1; i < count; i++) {
			assert_true(items[i - 1].key <= items[i].key);
			if (items[i - 1].key == items[i].key)
				assert_true(items[i - 1].item < items[i].item);
		}
	}
}

static int backwards(const void *context, uint32_t a, uint32_t b)
{
	return a > b ? -1 : a < b;
}

static void compares_what_is_equal(void **state)
{
	static struct thrum__base_sort_item items[MOST], room[MOST];

	for (uint32_t i = 0; i < MOST; i++)
		items[i] = (struct thrum__base_sort_item){i % 2 ? INT64_MIN : INT64_MAX, i};
	thrum__base_sort(items, room, MOST, backwards, NULL);
	for (uint32_t i = 0; i < MOST / 2; i++) {
		assert_int_equal(items[i].item, MOST - 1 - 2 * i);
		assert_int_equal(items[MOST / 2 + i].item, MOST - 2 - 2 * i);
	}
}

static void sorts_spans(void **state)
{
	static struct thrum__base_span spans[MOST], room[MOST];
	uint64_t seed = 7;

	/* All sizes of keys, so that merging and counting digits both have their turn. */
	for (unsigned bits = 1; bits < 64; bits += 3) {
		for (uint32_t i = 0; i < MOST; i++)
			spans[i] = (struct thrum__base_span){(int64_t)(random_number(&seed) >>
								     (64 - bits)) -
					(bits & 1),
				i, i};
		thrum__base_sort_spans(spans, room, MOST);
		for (size_t i = 1; i < MOST; i++) {
			assert_true(spans[i - 1].start <= spans[i].start);
			assert_int_equal(spans[i].end, spans[i].item);
			if (spans[i - 1].start == spans[i].start)
				assert_true(spans[i - 1].item < spans[i].item);
		}
	}
}

static void sorts_times(void **state)
{
	static int64_t times[MOST], room[MOST];
	uint64_t seed = 11;

	for (unsigned bits = 1; bits < 64; bits += 3) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < MOST; i++) {
			times[i] = (int64_t)(random_number(&seed) >> (64 - bits)) - (bits & 1);
			sum += (uint64_t)times[i];
		}
		thrum__base_sort_times(times, room, MOST);
		sum -= (uint64_t)times[0];
		for (size_t i = 1; i < MOST; i++) {
			assert_true(times[i - 1] <= times[i]);
			sum -= (uint64_t)times[i];
		}
		assert_int_equal(sum, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_and_keeps_order),
		cmocka_unit_test(compares_what_is_equal),
		cmocka_unit_test(sorts_spans),
		cmocka_unit_test(sorts_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
