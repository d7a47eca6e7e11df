/* SPDX-License-Identifier: ISC */
/* Frames of functions, as .eh_frame tells them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/port.h"

#if defined(__x86_64__)

#define BEGINS ((const void *)0x1000)
#define SIZE 0x40

static unsigned char table[128];

/* Writes the entry of a function with these instructions, behind one that all share. Returns the entry. */
static const void *entry(char letter, const unsigned char *code, size_t size)
{
	/* The stack pointer and 8 bytes at first; the address to return to is in these. */
	unsigned char shared[24] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', (unsigned char)letter, 0, 1,
		0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
	unsigned char own[17] = {(unsigned char)(13 + size), 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0,
		SIZE};

	memset(table, 0, sizeof table);
	memcpy(table, shared, sizeof shared);
	memcpy(table + 24, own, sizeof own);
	memcpy(table + 24 + 17, code, size);
	return table + 24;
}

/* The frame at a call that returns to so many bytes behind the function's beginning. */
static bool find(const void *entry, size_t at, struct thrum__port_frame *frame)
{
	return thrum__port_find_frame(entry, BEGINS, (const char *)BEGINS + at, frame);
}

static void assert_frame(const struct thrum__port_frame *frame, bool by_pointer, int end, int saved)
{
	assert_int_equal(frame->size, SIZE);
	assert_int_equal(frame->by_pointer, by_pointer);
	assert_int_equal(frame->end, end);
	assert_int_equal(frame->returns, -8);
	assert_int_equal(frame->saved, saved);
}

static void room_on_the_stack_counts(void **state)
{
	/* At 1: 16 bytes; at 5: 48; at 0x20 16 again, while the state is kept; from 0x21 on 48. */
	static const unsigned char code[] = {0x41, 0x0e, 16, 0x44, 0x0e, 48, 0x5b, 0x0a, 0x0e, 16,
		0x41, 0x0b};
	const void *own = entry('R', code, sizeof code);
	struct thrum__port_frame frame;

	(void)state;
	assert_true(find(own, 1, &frame));
	assert_frame(&frame, false, 8, 0);
	/* The call itself lies before the place to which it returns. */
	assert_true(find(own, 5, &frame));
	assert_frame(&frame, false, 16, 0);
	assert_true(find(own, 6, &frame));
	assert_frame(&frame, false, 48, 0);
	assert_true(find(own, 0x21, &frame));
	assert_frame(&frame, false, 16, 0);
	assert_true(find(own, 0x30, &frame));
	assert_frame(&frame, false, 48, 0);
}

static void the_frame_pointer_is_followed(void **state)
{
	/* push %rbp; mov %rsp, %rbp; ...; leave */
	static const unsigned char code[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x60, 0xc6,
		0x0c, 7, 8};
	const void *own = entry('R', code, sizeof code);
	struct thrum__port_frame frame;

	(void)state;
	assert_true(find(own, 3, &frame));
	assert_frame(&frame, false, 16, -16);
	assert_true(find(own, 0x10, &frame));
	assert_frame(&frame, true, 16, -16);
	assert_true(find(own, 0x30, &frame));
	assert_frame(&frame, false, 8, 0);
}

static void others_are_left_alone(void **state)
{
	/* The end by an expression; by another register; the frame pointer by an expression; unknown. */
	static const unsigned char expression[] = {0x0f, 1, 0x77}, other[] = {0x0d, 10};
	static const unsigned char pointer[] = {0x10, 6, 1, 0x77}, unknown[] = {0x3f};
	static const unsigned char plain[] = {0x0e, 16}, cut[] = {0x04, 1};
	struct thrum__port_frame frame;

	(void)state;
	assert_true(find(entry('R', plain, sizeof plain), 9, &frame));
	assert_false(find(entry('R', expression, sizeof expression), 9, &frame));
	assert_false(find(entry('R', other, sizeof other), 9, &frame));
	assert_false(find(entry('R', pointer, sizeof pointer), 9, &frame));
	assert_false(find(entry('R', unknown, sizeof unknown), 9, &frame));
	assert_false(find(entry('R', cut, sizeof cut), 9, &frame));
	/* A signal's frame. */
	assert_false(find(entry('S', plain, sizeof plain), 9, &frame));
}

#else

static void others_tell_nothing(void **state)
{
	(void)state;
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(room_on_the_stack_counts),
		cmocka_unit_test(the_frame_pointer_is_followed),
		cmocka_unit_test(others_are_left_alone),
#else
		cmocka_unit_test(others_tell_nothing),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
