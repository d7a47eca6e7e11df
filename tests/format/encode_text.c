/* SPDX-License-Identifier: ISC */
/* Texts are cut between two characters, and a cut is marked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define GUARD 0x5a

static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\xa7\xb5"};

/* Copies the text, cut to `max` bytes, to `to` and returns its length. The text is in memory of its
 * exact size. */
static size_t cut(char to[THRUM_TEXT_MAX + 2], const char *text, size_t size, size_t max)
{
	char *exact = malloc(size + 1);

	assert_non_null(exact);
	memcpy(exact, text, size);
	exact[size] = '\0';
	memset(to, GUARD, THRUM_TEXT_MAX + 2);
	size_t length = thrum__format_copy_text(to, exact, max);

	free(exact);
	assert_true(length <= max);
	assert_int_equal(to[length], '\0');
	assert_int_equal(strlen(to), length);
	for (size_t i = max + 1; i < THRUM_TEXT_MAX + 2; i++)
		assert_int_equal(to[i], GUARD);
	return length;
}

static void short_texts_stay_as_they_are(void **state)
{
	char text[THRUM_TEXT_MAX], to[THRUM_TEXT_MAX + 2];

	(void)state;
	for (size_t size = 0; size <= THRUM_TEXT_MAX; size++) {
		memset(text, 'x', size);
		assert_int_equal(cut(to, text, size, THRUM_TEXT_MAX), size);
		assert_memory_equal(to, text, size);
	}
}

/* Checks that a text of `before` letters and then only this character is cut between two. */
static void check_cut(const char *character, size_t before, size_t max)
{
	size_t width = strlen(character), size = before;
	char text[THRUM_TEXT_MAX + 64], to[THRUM_TEXT_MAX + 2];

	memset(text, 'x', before);
	while (size <= max)
		memcpy(text + size, character, width), size += width;
	size_t length = cut(to, text, size, max), kept = length - strlen(ELLIPSIS);

	assert_string_equal(to + kept, ELLIPSIS);
	assert_memory_equal(to, text, kept);
	assert_true(kept >= before);
	assert_int_equal((kept - before) % width, 0);
	/* One more character wouldn't have fitted. */
	assert_true(length + width > max);
}

static void long_texts_are_cut_between_characters(void **state)
{
	const size_t sizes[] = {THRUM_TEXT_MAX, 115, 47, 20};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t c = 0; c < sizeof characters / sizeof *characters; c++)
			for (size_t before = 0; before <= sizes[i] - 3; before++)
				check_cut(characters[c], before, sizes[i]);
}

static void a_text_that_just_fits_is_not_cut(void **state)
{
	char text[THRUM_TEXT_MAX + 64], to[THRUM_TEXT_MAX + 2];

	(void)state;
	for (size_t c = 0; c < sizeof characters / sizeof *characters; c++) {
		size_t width = strlen(characters[c]), size = THRUM_TEXT_MAX % width;

		memset(text, 'x', size);
		while (size < THRUM_TEXT_MAX)
			memcpy(text + size, characters[c], width), size += width;
		assert_int_equal(cut(to, text, size, THRUM_TEXT_MAX), THRUM_TEXT_MAX);
		assert_memory_equal(to, text, THRUM_TEXT_MAX);
	}
}

/* Bytes that are no UTF-8 may be cut anywhere, but no byte is written beyond the end. */
static void bytes_that_are_no_characters_are_cut_too(void **state)
{
	char text[THRUM_TEXT_MAX + 64], to[THRUM_TEXT_MAX + 2];

	(void)state;
	memset(text, 0x80, sizeof text);
	size_t length = cut(to, text, sizeof text, THRUM_TEXT_MAX);

	assert_string_equal(to + length - strlen(ELLIPSIS), ELLIPSIS);
	memset(text, 0xff, sizeof text);
	assert_int_equal(cut(to, text, sizeof text, THRUM_TEXT_MAX), THRUM_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_texts_stay_as_they_are),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(a_text_that_just_fits_is_not_cut),
		cmocka_unit_test(bytes_that_are_no_characters_are_cut_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
