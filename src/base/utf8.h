/* SPDX-License-Identifier: ISC */
/* Reads UTF-8 from anywhere, which may be damaged or hostile, and makes it fit to be shown. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define THRUM__REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, for bytes that aren't UTF-8 */
#define THRUM__ELLIPSIS "\xe2\x80\xa6"

/*
 * Reads the character at `text` (size > 0). Returns how many bytes it takes; 0 when they aren't
 * UTF-8 (Unicode 15, table 3-7: no surrogates, no longer forms than needed, nothing above
 * U+10FFFF), and *character is then U+FFFD.
 */
size_t thrum__base_utf8_decode(const char *text, size_t size, uint32_t *character);

/* Returns the largest size up to `size` that doesn't end within a character of `text`, which is
 * valid UTF-8 and goes on behind `size`. */
size_t thrum__base_utf8_floor(const char *text, size_t size);

/*
 * Copies a text without characters that can't be shown: controls, characters that reorder or hide
 * others, and bytes that aren't UTF-8 become U+FFFD. Writes at most `room` bytes, no NUL; a text
 * that is longer ends in an ellipsis. Returns the size.
 */
size_t thrum__base_utf8_clean(const char *text, size_t size, char *to, size_t room);

/* Returns how many columns of a terminal a character takes: 0, 1 or 2. */
unsigned thrum__base_utf8_columns(uint32_t character);

#endif
