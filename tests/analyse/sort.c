/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/keys.h"
#include "base/sort.h"

#define MOST 1000

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

	for (size_t count = 0; count < MOST; count += count < 60 ? 1 : 47) {
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

static void numbers_keys(void **state)
{
	struct thrum__base_keys keys = {0};
	uint32_t index;
	size_t size;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 5000; i++) {
			char text[2] = {(char)(i % 7), (char)(i / 7 % 5)};

			assert_int_equal(thrum__base_keys_add(&keys, i / 35, text, sizeof(text),
						 &index),
				0);
			assert_int_equal(index, i);
		}
	}
	assert_int_equal(keys.count, 5000);
	assert_int_equal(thrum__base_keys_add(&keys, 1, NULL, 0, &index), 0);
	assert_int_equal(index, 5000);
	assert_memory_equal(thrum__base_keys_text(&keys, 34, &size), "\6\4", 2);
	assert_int_equal(size, 2);
	thrum__base_keys_text(&keys, 5000, &size);
	assert_int_equal(size, 0);
	thrum__base_keys_free(&keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_and_keeps_order),
		cmocka_unit_test(compares_what_is_equal),
		cmocka_unit_test(numbers_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
