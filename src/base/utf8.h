/* SPDX-License-Identifier: ISC */
/* Reads UTF-8, and makes texts from traces fit to be shown. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * The character at `text` (size > 0): how many bytes of it are valid UTF-8, 0 when it isn't;
 * *character is then U+FFFD.
 */
size_t thrum__base_utf8_decode(const char *text, size_t size, uint32_t *character);

/* A text without what can't be shown, in at most `room` bytes; what is longer ends in "…".
 * Returns its size. */
size_t thrum__base_utf8_clean(const char *text, size_t size, char *to, size_t room);

#endif
