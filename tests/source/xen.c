/* SPDX-License-Identifier: ISC */
/* Lists of grant references, and the errors where there is no Xen. tools/test-xen tries the rest. */
#include "source/xen.h"

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
		cmocka_unit_test(says_that_there_is_no_xen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
