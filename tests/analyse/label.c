/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/label.h"

static void assert_pattern(const char *label, const char *expected)
{
	char pattern[THRUM__LABEL_PATTERN_MAX + 1];
	size_t size = thrum__analyse_label_pattern(label, strlen(label), pattern);

	assert_true(size <= THRUM__LABEL_PATTERN_MAX);
	pattern[size] = '\0';
	assert_string_equal(pattern, expected);
}

static void numbers(void **state)
{
	assert_pattern("", "");
	assert_pattern("sleep", "sleep");
	assert_pattern("port-1", "port-#");
	assert_pattern("port-14", "port-#");
	assert_pattern("GET /user/1234?page=2", "GET /user/#?page=#");
	assert_pattern("tcp4", "tcp#");
	assert_pattern("buf#1", "buf##");
	assert_pattern("1.5 s", "#.# s");
	assert_pattern("007", "#");
}

static void hexadecimal(void **state)
{
	assert_pattern("conn 0x7f3a1c", "conn #");
	assert_pattern("conn 0xG", "conn #xG");
	assert_pattern("req_12ab34cd done", "req_# done");
	assert_pattern("face", "face");
	assert_pattern("deadbeef", "deadbeef");
	assert_pattern("bad1", "bad#");
	assert_pattern("05883b8d-521a-487b-b397-456ab150680c", "#-#-#-#-#");
	assert_pattern("05883b8d-abcd-efab-cdef-abcdefabcdef", "#-#-#-#-#");
	assert_pattern("05883b8d face", "# face");
	assert_pattern("3-face", "#-face");
}

static void other_bytes(void **state)
{
	assert_pattern("日本語 12", "日本語 #");
	assert_pattern("caf\xe9 1\t2\n", "caf\xe9 #\t#\n");
	assert_pattern("\xff\xfe\x80", "\xff\xfe\x80");
}

static void cut_between_characters(void **state)
{
	char label[1000], pattern[THRUM__LABEL_PATTERN_MAX];

	memset(label, 'x', sizeof(label));
	assert_int_equal(thrum__analyse_label_pattern(label, sizeof(label), pattern),
		THRUM__LABEL_PATTERN_MAX);
	for (size_t lead = 0; lead < 4; lead++) {
		/* Characters of three bytes, of which one may lie across the end. */
		size_t size;

		for (size_t i = lead; i + 3 <= sizeof(label); i += 3)
			memcpy(label + i, "\xe2\x82\xac", 3);
		size = thrum__analyse_label_pattern(label, sizeof(label), pattern);
		assert_true(size <= THRUM__LABEL_PATTERN_MAX);
		assert_true(size + 3 > THRUM__LABEL_PATTERN_MAX);
		assert_int_equal((size - lead) % 3, 0);
		label[lead] = 'x';
	}
}

static void assert_numbers(const char *label, const char *expected)
{
	char numbers[THRUM__LABEL_PATTERN_MAX + 1];
	size_t size = thrum__analyse_label_numbers(label, strlen(label), numbers);

	numbers[size] = '\0';
	assert_string_equal(numbers, expected);
}

static void numbers_alone(void **state)
{
	assert_numbers("", "");
	assert_numbers("sleep", "");
	assert_numbers("store row 7", "7");
	assert_numbers("7", "7");
	assert_numbers("part 3/12", "3 12");
	assert_numbers("tcp4 port-80", "4 80");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(numbers_alone),
		cmocka_unit_test(hexadecimal),
		cmocka_unit_test(other_bytes),
		cmocka_unit_test(cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
