/* SPDX-License-Identifier: ISC */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

size_t thrum__base_utf8_decode(const char *text, size_t size, uint32_t *character)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t length = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = p[0], least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;

	*character = c;
	if (c < 0x80)
		return 1;
	*character = 0xfffd;
	if (c < 0xc2 || c > 0xf4 || length > size)
		return 0;
	c &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*character = c;
	return length;
}

size_t thrum__base_utf8_floor(const char *text, size_t size)
{
	while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
		size--;
	return size;
}

/*
 * Hidden are controls; characters that reorder, join, hide or annotate others (Unicode 15, general
 * categories Cc, Cf, Zl, Zp); the fillers, which look like nothing; and non-characters.
 */
static bool is_shown(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {{0, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x34f, 0x34f}, {0x600, 0x605},
		{0x61c, 0x61c}, {0x6dd, 0x6dd}, {0x70f, 0x70f}, {0x890, 0x891}, {0x8e2, 0x8e2},
		{0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfdd0, 0xfdef},
		{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x110bd, 0x110bd},
		{0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff}};

	for (size_t i = 0; i < sizeof hidden / sizeof *hidden && hidden[i].first <= c; i++)
		if (c <= hidden[i].last)
			return false;
	return (c & 0xfffe) != 0xfffe;
}

size_t thrum__base_utf8_clean(const char *text, size_t size, char *to, size_t room)
{
	size_t at = 0, used = 0, fits = 0; /* fits: where an ellipsis still has room */

	while (at < size) {
		uint32_t c;
		size_t length = thrum__base_utf8_decode(text + at, size - at, &c);
		bool ok = length > 0 && is_shown(c);
		size_t shown = ok ? length : sizeof THRUM__REPLACEMENT - 1;

		if (used + sizeof THRUM__ELLIPSIS - 1 <= room)
			fits = used;
		if (used + shown > room) {
			if (room < sizeof THRUM__ELLIPSIS - 1)
				return 0;
			memcpy(to + fits, THRUM__ELLIPSIS, sizeof THRUM__ELLIPSIS - 1);
			return fits + sizeof THRUM__ELLIPSIS - 1;
		}
		memcpy(to + used, ok ? text + at : THRUM__REPLACEMENT, shown);
		used += shown;
		at += length > 0 ? length : 1;
	}
	return used;
}

unsigned thrum__base_utf8_columns(uint32_t character)
{
	static const struct {
		uint32_t first, last;
		uint8_t columns;
	} other[] = {
#define X(first, last, columns) {first, last, columns},
#include "base/utf8_columns.def"
#undef X
	};
	size_t low = 0, high = sizeof other / sizeof *other;

	if (character < other[0].first) /* most are */
		return 1;
	/* The first range that doesn't end before the character. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (other[middle].last < character)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < sizeof other / sizeof *other && other[low].first <= character)
		return other[low].columns;
	return 1;
}
