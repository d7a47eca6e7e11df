/* SPDX-License-Identifier: ISC */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 256

int thrum__base_hex_digit(char c)
{
	return c >= '0' && c <= '9'    ? c - '0'
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
				       : -1;
}

struct thrum__base_text thrum__base_text_in(char *buffer, size_t room)
{
	if (room > 0)
		buffer[0] = '\0';
	return (struct thrum__base_text){.bytes = buffer, .room = room};
}

struct thrum__base_text thrum__base_text_growing(void)
{
	return (struct thrum__base_text){.grows = true};
}

void thrum__base_text_free(struct thrum__base_text *text)
{
	free(text->bytes);
	*text = thrum__base_text_growing();
}

void thrum__base_text_clear(struct thrum__base_text *text)
{
	text->size = 0;
	text->failed = false;
	if (text->room > 0)
		text->bytes[0] = '\0';
}

char *thrum__base_text_reserve(struct thrum__base_text *text, size_t size)
{
	/* One more for the NUL. */
	if (size >= text->room - text->size) {
		size_t room = text->room + text->room / 2 + size + ROOM_MIN;
		char *bytes = room > size ? realloc(text->bytes, room) : NULL;

		if (!bytes) {
			text->failed = true;
			return NULL;
		}
		text->bytes = bytes;
		text->room = room;
	}
	return text->bytes + text->size;
}

void thrum__base_text_bytes(struct thrum__base_text *text, const char *bytes, size_t size)
{
	size_t fits = size;

	if (text->grows) {
		if (!thrum__base_text_reserve(text, size))
			return;
	} else if (size >= text->room - text->size || text->size >= text->room) {
		fits = text->size + 1 < text->room ? text->room - 1 - text->size : 0;
	}
	if (fits > 0)
		memcpy(text->bytes + text->size, bytes, fits);
	if (fits > 0 || text->size < text->room)
		text->bytes[text->size + fits] = '\0';
	text->size += size;
}

void thrum__base_text_put(struct thrum__base_text *text, const char *string)
{
	thrum__base_text_bytes(text, string, strlen(string));
}

void thrum__base_text_byte(struct thrum__base_text *text, char byte)
{
	thrum__base_text_bytes(text, &byte, 1);
}

/* By hand, as long tables have millions of them. */
void thrum__base_text_number(struct thrum__base_text *text, int64_t number)
{
	char digits[20], *at = digits + sizeof digits;
	uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (number < 0)
		*--at = '-';
	thrum__base_text_bytes(text, at, (size_t)(digits + sizeof digits - at));
}

void thrum__base_text_thousandths(struct thrum__base_text *text, int64_t thousandths)
{
	uint64_t absolute = thousandths < 0 ? 0 - (uint64_t)thousandths : (uint64_t)thousandths;

	thrum__base_text_format(text, "%s%" PRIu64 ".%03u", thousandths < 0 ? "-" : "",
		absolute / 1000, (unsigned)(absolute % 1000));
}

void thrum__base_text_format(struct thrum__base_text *text, const char *format, ...)
{
	char words[256], *longer = NULL;
	va_list arguments, again;
	int size;

	va_start(arguments, format);
	va_copy(again, arguments);
	size = vsnprintf(words, sizeof words, format, arguments);
	if (size >= (int)sizeof words) {
		longer = malloc((size_t)size + 1);
		if (longer)
			vsnprintf(longer, (size_t)size + 1, format, again);
		else
			text->failed = true;
	}
	va_end(again);
	va_end(arguments);
	if (size > 0 && (size < (int)sizeof words || longer))
		thrum__base_text_bytes(text, longer ? longer : words, (size_t)size);
	free(longer);
}
