/* SPDX-License-Identifier: ISC */
/* The words of states off the processor are read as the states that wrote them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "read/off_cpu.h"

static int state_of(const char *text)
{
	return (int)thrum__read_off_cpu_state(text, strlen(text));
}

static void words_are_read_as_their_state(void **state)
{
	(void)state;
	for (int i = 0; i < THRUM__OFF_CPU_STATES; i++) {
		for (int by = THRUM__OFF_CPU_BY_TASK; by <= THRUM__OFF_CPU_BY_PROGRAM; by++)
			assert_int_equal(state_of(thrum__read_off_cpu_text(i, by)), i);
		assert_string_equal(thrum__read_off_cpu_text(i, THRUM__OFF_CPU_BY_INTERRUPT),
			i == THRUM__OFF_CPU_WOKEN ? "woken by an interrupt"
						  : thrum__read_off_cpu_text(i, 0));
	}
}

static void other_words_are_of_a_blocked_one(void **state)
{
	(void)state;
	assert_int_equal(state_of(""), THRUM__OFF_CPU_BLOCKED);
	assert_int_equal(state_of("page"), THRUM__OFF_CPU_BLOCKED);
	assert_int_equal(state_of("preempted by"), THRUM__OFF_CPU_BLOCKED);
	assert_int_equal(thrum__read_off_cpu_state("unknown", 6), THRUM__OFF_CPU_BLOCKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_read_as_their_state),
		cmocka_unit_test(other_words_are_of_a_blocked_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
