/* SPDX-License-Identifier: ISC */
/* Calls and jumps that are read from code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/port.h"

#if defined(__x86_64__)

static void a_call_names_its_function(void **state)
{
	/* call +16; call *%rax */
	static const unsigned char code[32] = {0x90, 0xe8, 16, 0, 0, 0, 0x90, 0x90, 0x90, 0xff,
		0xd0};

	(void)state;
	assert_ptr_equal(thrum__port_called(code + 6), code + 6 + 16);
	assert_null(thrum__port_called(code + 11));
}

static void a_jump_is_found(void **state)
{
	/* mov $1, %eax; jmp -10; jmp +2 (short); ret */
	static const unsigned char code[32] = {0xb8, 1, 0, 0, 0, 0xe9, 0xf6, 0xff, 0xff, 0xff, 0xeb,
		2, 0xc3};
	const unsigned char *end = code + 13;

	(void)state;
	assert_ptr_equal(thrum__port_find_jump(code, end, code), code + 10);
	assert_ptr_equal(thrum__port_find_jump(code, end, code + 14), code + 12);
	assert_null(thrum__port_find_jump(code, end, code + 1));
	/* The instructions are cut off. */
	assert_null(thrum__port_find_jump(code, code + 9, code));
	assert_null(thrum__port_find_jump(code, code + 11, code + 14));
	assert_null(thrum__port_find_jump(code, code, code));
}

#else

static void others_tell_nothing(void **state)
{
	(void)state;
	assert_null(thrum__port_called("called" + 5));
	assert_null(thrum__port_find_jump("code", "", "to"));
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(a_call_names_its_function),
		cmocka_unit_test(a_jump_is_found),
#else
		cmocka_unit_test(others_tell_nothing),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
