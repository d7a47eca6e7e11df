/* SPDX-License-Identifier: ISC */
/* Texts of guests in xenstore, and the errors where there is no Xen. tools/test-xen tries the rest. */
#include "source/xen/xen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <thrum/trace.h>
#include <unistd.h>

#define MAX 8

static uint32_t references[MAX];

static uint32_t count(const char *text)
{
	memset(references, 0, sizeof references);
	return thrum__source_xen_references(text, references, MAX);
}

static void reads_lists(void **state)
{
	static const uint32_t neighbours[] = {8, 9, 10, 11, 3, 4294967295u};

	(void)state;
	assert_int_equal(count("8"), 1);
	assert_int_equal(references[0], 8);
	assert_int_equal(count("8,9,10,11,3,4294967295"), 6);
	assert_memory_equal(references, neighbours, sizeof neighbours);
	assert_int_equal(count("8-11,3,4294967295-4294967295"), 6);
	assert_memory_equal(references, neighbours, sizeof neighbours);
	assert_int_equal(count("1-8"), 8);
}

static void refuses_all_else(void **state)
{
	static const char *const bad[] = {"", ",", "8,", ",8", "8,,9", "a", "8a", "8 ,9", " 8",
		"-8", "+8", "8-", "8-7", "8--9", "8-9-10", "4294967296", "99999999999999999999",
		"1-9", "1,2,3,4,5,6,7,8,9", "0-4294967295"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(count(bad[i]), 0);
}

static void reads_answers(void **state)
{
	static const char *const bad[] = {"", "17", "17 ", "17  5", "18 5", " 17 5", "17 +5",
		"17 -5", "17 5 ", "17 5x", "x 5", "17 9223372036854775808",
		"18446744073709551633 5"};
	uint64_t ns = 1;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(thrum__source_xen_answer(bad[i], 17, &ns));
	assert_int_equal(ns, 1);
	assert_true(thrum__source_xen_answer("17 5", 17, &ns));
	assert_int_equal(ns, 5);
	assert_true(thrum__source_xen_answer("18446744073709551615 0", UINT64_MAX, &ns));
	assert_int_equal(ns, 0);
}

static void reads_comparisons(void **state)
{
	static const char *const bad[] = {"", "ff", "ff 1", "ff 1 2", "ff 1 2 3 ", "ff 1 2 3 4",
		"ff 1 2 -3", "ff -1 2 3", "ff 1 --2 3", "ff 1 - 3", " ff 1 2 3", "FF 1 2 3",
		"fg 1 2 3", "ff 1 9223372036854775808 3", "ff 1 2 9223372036854775808",
		"10000000000000000 1 2 3"};
	struct thrum__host_clock clock = {.boot = 1};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(thrum__source_xen_compared(bad[i], &clock));
	assert_int_equal(clock.boot, 1);
	assert_true(thrum__source_xen_compared("ff 1 -2 3", &clock));
	assert_int_equal(clock.boot, 255);
	assert_int_equal(clock.monotonic, 1);
	assert_int_equal(clock.ahead, -2);
	assert_int_equal(clock.error, 3);
}

/* A machine without Xen says so, whether thrum was built with Xen or without. */
static void says_that_there_is_no_xen(void **state)
{
	struct thrum_error_info error = {0};
	struct thrum_trace *trace;

	(void)state;
	if (access("/proc/xen/capabilities", F_OK) == 0)
		skip();
	assert_int_equal(thrum_trace_open("xen:example", &trace, &error), -THRUM_E_SYSTEM);
	assert_non_null(
		strstr(error.message, "Xen") ? error.message : strstr(error.message, "xen"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lists),
		cmocka_unit_test(refuses_all_else),
		cmocka_unit_test(reads_answers),
		cmocka_unit_test(reads_comparisons),
		cmocka_unit_test(says_that_there_is_no_xen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
