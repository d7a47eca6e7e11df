/* SPDX-License-Identifier: ISC */
/* As signals.c, with more calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "steps_helper.h"

/* Calls of each kind that is encoded by hand, in recordings of each size. */
#define CALLS 150

static void after_every_instruction(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < STEP_TAG; kind++) {
		step_through(UINT64_C(64) << 20, 1, 1, kind, CALLS);
		/* Packets of 4 KiB, so that one is full after few calls, and as many as there can be: a
		 * quarter of a million events of handlers must have room. */
		step_through(UINT64_C(7) << 20, 1, 1, kind, CALLS);
	}
}

static void after_one_instruction(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < STEP_KINDS; kind++)
		step_to_each(UINT64_C(64) << 20, kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_every_instruction),
		cmocka_unit_test(after_one_instruction),
	};

	if (!steps_init())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
