/* SPDX-License-Identifier: ISC */
/* Escapes texts of traces, which may hold any bytes, for tables, JSON and terminals. */
#include "line/text.h"

#include <string.h>

#include "base/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

/* Tests eight bytes at once for one below 32, a 127 or a backslash. May be true without one, but
 * never false with one. */
static bool needs_escape(uint64_t eight)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t low = (eight - ones * 32) & ~eight;
	uint64_t backslash = (eight ^ ones * '\\') - ones;
	uint64_t del = (eight ^ ones * 127) - ones;

	return ((low | backslash | del) & high) != 0;
}

static char *put_escaped_byte(char *to, unsigned char c)
{
	*to++ = '\\';
	switch (c) {
	case '\\': *to++ = '\\'; break;
	case '\t': *to++ = 't'; break;
	case '\n': *to++ = 'n'; break;
	case '\r': *to++ = 'r'; break;
	default:
		*to++ = 'x';
		*to++ = hex_digits[c >> 4];
		*to++ = hex_digits[c & 15];
	}
	return to;
}

char *put_escaped(char *to, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		unsigned char c;
		uint64_t eight;

		if (end - text >= 8) {
			memcpy(&eight, text, 8);
			if (!needs_escape(eight)) {
				memcpy(to, &eight, 8);
				to += 8;
				text += 8;
				continue;
			}
		}
		c = (unsigned char)*text++;
		if (c < 32 || c == 127 || c == '\\')
			to = put_escaped_byte(to, c);
		else
			*to++ = (char)c;
	}
	return to;
}

char *put_hex(char *to, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		*to++ = hex_digits[(unsigned char)bytes[i] >> 4];
		*to++ = hex_digits[bytes[i] & 15];
	}
	return to;
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t character, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	return false;
}
#define IN_RANGES(character, ranges) \
	in_ranges(character, ranges, sizeof(ranges) / sizeof((ranges)[0]))

/* C1 controls, and characters that change the direction of writing: terminals obey them. */
static const struct range steering[] = {{0x80, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f},
	{0x2028, 0x202e}, {0x2066, 0x2069}};
/* Writes one character as people see it, in at most 4 bytes. Returns its size in `text`. */
static size_t display_character(const char *text, const char *end, char *shown, size_t *size,
	size_t *columns)
{
	unsigned char c = (unsigned char)*text;
	uint32_t character = 0;
	size_t n = 1;

	if (c < 32 || c == 127 || c == '\\') {
		*size = (size_t)(put_escaped_byte(shown, c) - shown);
		*columns = *size;
		return 1;
	}
	if (c < 0x80) {
		*shown = (char)c;
		*size = *columns = 1;
		return 1;
	}
	n = thrum__base_utf8_decode(text, (size_t)(end - text), &character);
	if (n == 0 || IN_RANGES(character, steering)) {
		memcpy(shown, THRUM__REPLACEMENT, 3);
		*size = 3;
		*columns = 1;
		return n > 0 ? n : 1;
	}
	memcpy(shown, text, n);
	*size = n;
	*columns = thrum__base_utf8_columns(character);
	return n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Whether eight bytes are shown as they are, and none is beyond ASCII. */
static bool are_plain(const char *text)
{
	uint64_t eight;

	memcpy(&eight, text, 8);
	return !needs_escape(eight) && (eight & UINT64_C(0x8080808080808080)) == 0;
}

/* Returns how many of the first `most` bytes are shown as they are, each in a column of its own. */
static size_t plain_size(const char *text, size_t most)
{
	char eight[8];
	size_t size = 0;

	while (size + 8 <= most && are_plain(text + size))
		size += 8;
	/* The end again overlaps what is known to be plain, or the beginning of a short text. */
	if (most >= 8 && most - size < 8 && are_plain(text + most - 8))
		return most;
	if (most >= 4 && most < 8) {
		memcpy(eight, text, 4);
		memcpy(eight + 4, text + most - 4, 4);
		if (are_plain(eight))
			return most;
	}
	while (size < most && text[size] >= 32 && text[size] < 127 && text[size] != '\\')
		size++;
	return size;
}

char *put_display(char *to, size_t room, const char *text, size_t size, size_t columns,
	size_t *used)
{
	const char *end = text + size;
	char *start = to, *cut = to; /* where the ellipsis goes if the text is too long */
	size_t column = 0, cut_column = 0;

	while (text < end) {
		char shown[4];
		size_t n, width, at = (size_t)(to - start);

		/* Most texts are plain. An ellipsis still fits behind all of this. */
		if (column + 1 < columns && at + 3 < room) {
			n = plain_size(text,
				least((size_t)(end - text),
					least(columns - 1 - column, room - 3 - at)));
			memcpy(to, text, n);
			text += n;
			cut = to += n;
			cut_column = column += n;
			if (text == end)
				break;
		}
		text += display_character(text, end, shown, &n, &width);
		if (column + width > columns || (size_t)(to - start) + n > room) {
			to = put_string(cut, THRUM__ELLIPSIS);
			column = cut_column + 1;
			break;
		}
		memcpy(to, shown, n);
		to += n;
		column += width;
		if (column < columns && (size_t)(to - start) + 3 <= room) {
			cut = to;
			cut_column = column;
		}
	}
	*used = column;
	return to;
}
