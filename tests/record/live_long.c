/* SPDX-License-Identifier: ISC */
/* As live.c, for a longer time; LIVE_SECONDS in the environment tells another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "live_helper.h"

static int duration(void)
{
	const char *wanted = getenv("LIVE_SECONDS");

	return wanted ? atoi(wanted) * 1000 : 5000;
}

static void in_a_small_recording(void **state)
{
	(void)state;
	live_check(duration(), UINT64_C(256) << 10);
}

static void in_a_large_recording(void **state)
{
	(void)state;
	live_check(duration(), UINT64_C(64) << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_small_recording),
		cmocka_unit_test(in_a_large_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
