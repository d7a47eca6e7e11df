/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

static void write_pieces(struct thrum__base_text *text)
{
	thrum__base_text_put(text, "one");
	thrum__base_text_byte(text, ' ');
	thrum__base_text_number(text, INT64_MIN);
	thrum__base_text_bytes(text, "\0x", 2);
	thrum__base_text_thousandths(text, -250);
	thrum__base_text_format(text, "%s%d", "", 7);
}

static const char whole[] = "one -9223372036854775808\0x-0.2507";

static void is_cut_where_the_room_ends(void **state)
{
	char buffer[64];

	for (size_t room = 0; room < sizeof buffer; room++) {
		size_t fits = room == 0 ? 0 : room < sizeof whole ? room - 1 : sizeof whole - 1;

		memset(buffer, '#', sizeof buffer);
		struct thrum__base_text text = thrum__base_text_in(room ? buffer : NULL, room);

		write_pieces(&text);
		assert_int_equal(text.size, sizeof whole - 1);
		assert_memory_equal(buffer, whole, fits);
		if (room > 0)
			assert_int_equal(buffer[fits], '\0');
		assert_int_equal(buffer[room], '#');
	}
}

static void grows(void **state)
{
	struct thrum__base_text text = thrum__base_text_growing();

	for (int i = 0; i < 1000; i++)
		write_pieces(&text);
	assert_int_equal(text.size, 1000 * (sizeof whole - 1));
	for (int i = 0; i < 1000; i++)
		assert_memory_equal(text.bytes + i * (sizeof whole - 1), whole, sizeof whole - 1);
	thrum__base_text_clear(&text);
	thrum__base_text_format(&text, "%01000d", 1);
	assert_int_equal(text.size, 1000);
	assert_string_equal(text.bytes + 997, "001");
	assert_false(text.failed);
	thrum__base_text_free(&text);
}

static void arrays_grow(void **state)
{
	uint32_t room = 0, *array = thrum__base_grow(NULL, &room, 1, sizeof *array);

	assert_true(room >= 1);
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t before = room;

		array = thrum__base_grow(array, &room, i + 1, sizeof *array);
		assert_true(room == before || room >= before + before / 2);
		array[i] = i;
	}
	uint32_t before = room;

	assert_null(thrum__base_grow(array, &room, UINT64_MAX, sizeof *array));
	assert_null(thrum__base_grow(array, &room, UINT32_MAX, SIZE_MAX / 2));
	assert_int_equal(room, before);
	array = thrum__base_grow_zeroed(array, &room, before + 1000, sizeof *array);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(array[i], i);
	for (uint32_t i = before; i < room; i++)
		assert_int_equal(array[i], 0);
	free(array);
}

static void reads_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		uint32_t character;
		unsigned columns;
	} cases[] = {
		{"a", 1, 'a', 1},
		{"\xc3\xa9", 2, 0xe9, 1},
		{"\xe4\xb8\xad", 3, 0x4e2d, 2},
		{"\xf0\x9f\x98\x80", 4, 0x1f600, 2},
		{"\xcc\x81", 2, 0x301, 0},
		{"\xe2\x80\x8b", 3, 0x200b, 0},
		{"\xc2\xad", 2, 0xad, 1},
		{"\xf4\x8f\xbf\xbd", 4, 0x10fffd, 1},
		/* Not UTF-8: cut, too long a form, a surrogate, too large, in the middle. */
		{"\xc3", 0, 0xfffd, 1},
		{"\xc0\x80", 0, 0xfffd, 1},
		{"\xed\xa0\x80", 0, 0xfffd, 1},
		{"\xf4\x90\x80\x80", 0, 0xfffd, 1},
		{"\x80", 0, 0xfffd, 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t character;

		assert_int_equal(thrum__base_utf8_decode(cases[i].text, strlen(cases[i].text),
					 &character),
			cases[i].length);
		assert_int_equal(character, cases[i].character);
		assert_int_equal(thrum__base_utf8_columns(character), cases[i].columns);
	}
	assert_int_equal(thrum__base_utf8_floor("a\xe4\xb8\xad", 3), 1);
	assert_int_equal(thrum__base_utf8_floor("a\xe4\xb8\xad"
						"b",
				 4),
		4);
}

static void escapes_json(void **state)
{
	static const char text[] = "\"\\\n\x01\xff\xc3\xa9";
	char to[THRUM__JSON_BYTES * sizeof text];
	char *end = thrum__base_json_escape(to, text, sizeof text - 1);

	*end = '\0';
	assert_string_equal(to, "\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9");
}

static void hashes_differ(void **state)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz";

	for (size_t size = 1; size < sizeof text; size++) {
		uint64_t hash = thrum__base_hash_text(1, text, size);

		assert_int_equal(thrum__base_hash_text(1, text, size), hash);
		assert_int_not_equal(thrum__base_hash_text(2, text, size), hash);
		assert_int_not_equal(thrum__base_hash_text(1, text, size - 1), hash);
		assert_int_not_equal(thrum__base_hash_text(1, text + 1, size), hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_cut_where_the_room_ends),
		cmocka_unit_test(grows),
		cmocka_unit_test(arrays_grow),
		cmocka_unit_test(reads_utf8),
		cmocka_unit_test(escapes_json),
		cmocka_unit_test(hashes_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
