/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/keys.h"

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
		cmocka_unit_test(numbers_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
