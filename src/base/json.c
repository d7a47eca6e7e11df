/* SPDX-License-Identifier: ISC */
#include "base/json.h"

#include <string.h>

#include "base/utf8.h"

static const char hex_digits[] = "0123456789abcdef";

char *thrum__base_json_escape(char *to, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		unsigned char c = (unsigned char)*text;
		uint32_t character;
		size_t n;

		if (c >= 0x80) {
			n = thrum__base_utf8_decode(text, (size_t)(end - text), &character);
			memcpy(to, n > 0 ? text : THRUM__REPLACEMENT, n > 0 ? n : 3);
			to += n > 0 ? n : 3;
			text += n > 0 ? n : 1;
			continue;
		}
		text++;
		if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
			*to++ = '\\';
			*to++ = c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : (char)c;
		} else if (c < 32) {
			memcpy(to, "\\u00", 4);
			to += 4;
			*to++ = hex_digits[c >> 4];
			*to++ = hex_digits[c & 15];
		} else {
			*to++ = (char)c;
		}
	}
	return to;
}
