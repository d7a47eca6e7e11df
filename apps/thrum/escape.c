/* SPDX-License-Identifier: ISC */
/* Escapes texts of traces, which may hold any bytes, for tables, JSON and terminals. */
#include "text.h"

#include <string.h>

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

/*
 * Decodes the character at `text`. Returns its size in bytes, or 0 if it isn't UTF-8 (Unicode 15,
 * table 3-7: no surrogates, no overlong forms, nothing above U+10FFFF).
 */
static size_t utf8_character(const char *text, const char *end, uint32_t *character)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = (size_t)(end - text), size;
	uint32_t c = p[0], least;

	if (c < 0x80) {
		*character = c;
		return 1;
	}
	size = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
	if (c < 0xc2 || c > 0xf4 || size > left)
		return 0;
	c &= 0x7fu >> size;
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*character = c;
	return size;
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define ELLIPSIS "\xe2\x80\xa6"

char *put_json(char *to, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		unsigned char c = (unsigned char)*text;
		uint32_t character;
		size_t n;

		if (c >= 0x80) {
			n = utf8_character(text, end, &character);
			memcpy(to, n > 0 ? text : REPLACEMENT, n > 0 ? n : 3);
			to += n > 0 ? n : 3;
			text += n > 0 ? n : 1;
			continue;
		}
		text++;
		if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
			*to++ = '\\';
			*to++ = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : (char)c;
		} else if (c < 32) {
			to = put_string(to, "\\u00");
			*to++ = hex_digits[c >> 4];
			*to++ = hex_digits[c & 15];
		} else {
			*to++ = (char)c;
		}
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
static const struct range narrow[] = {{0x300, 0x36f}, {0x200b, 0x200d}, {0xfe00, 0xfe0f},
	{0xfeff, 0xfeff}};
static const struct range wide[] = {{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff00, 0xff60}, {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

static size_t columns_of(uint32_t character)
{
	if (character < 0x300)
		return 1;
	return IN_RANGES(character, narrow) ? 0 : IN_RANGES(character, wide) ? 2 : 1;
}

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
	n = utf8_character(text, end, &character);
	if (n == 0 || IN_RANGES(character, steering)) {
		memcpy(shown, REPLACEMENT, 3);
		*size = 3;
		*columns = 1;
		return n > 0 ? n : 1;
	}
	memcpy(shown, text, n);
	*size = n;
	*columns = columns_of(character);
	return n;
}

char *put_display(char *to, size_t room, const char *text, size_t size, size_t columns,
	size_t *used)
{
	const char *end = text + size;
	char *start = to, *cut = to; /* where the ellipsis goes if the text is too long */
	size_t column = 0, cut_column = 0;

	while (text < end) {
		char shown[4];
		size_t n, width;

		text += display_character(text, end, shown, &n, &width);
		if (column + width > columns || (size_t)(to - start) + n > room) {
			to = put_string(cut, ELLIPSIS);
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
