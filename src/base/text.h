/* SPDX-License-Identifier: ISC */
/*
 * A text that is written piece by piece, either into a buffer of the caller's or into memory that
 * grows. In a buffer the text is cut where the room ends, but its size counts on, as with snprintf.
 * It always ends in a NUL, unless the buffer has no room at all.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thrum__base_text {
	char *bytes;
	size_t size; /* of the whole text without the NUL; in a buffer also of the cut part */
	size_t room;
	bool grows;
	bool failed; /* out of memory: the text is of no use */
};

/* An empty text in a buffer of `room` bytes; NULL is fine when that is 0. */
struct thrum__base_text thrum__base_text_in(char *buffer, size_t room);

/* An empty text that grows. Free it with thrum__base_text_free. */
struct thrum__base_text thrum__base_text_growing(void);
void thrum__base_text_free(struct thrum__base_text *); /* of a growing one only */

/* Returns the value of a hexadecimal digit, or -1. */
int thrum__base_hex_digit(char);

/* Empties the text and keeps its memory. */
void thrum__base_text_clear(struct thrum__base_text *);

void thrum__base_text_bytes(struct thrum__base_text *, const char *bytes, size_t size);
void thrum__base_text_put(struct thrum__base_text *, const char *text);
void thrum__base_text_byte(struct thrum__base_text *, char byte);
void thrum__base_text_number(struct thrum__base_text *, int64_t number);

/* A number of thousandths, with a point and three digits, whatever the locale: "-0.250". */
void thrum__base_text_thousandths(struct thrum__base_text *, int64_t thousandths);

void thrum__base_text_format(struct thrum__base_text *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Room for `size` bytes behind the end of a growing text, for the caller to fill before adding to
 * `size`; NULL: out of memory. */
char *thrum__base_text_reserve(struct thrum__base_text *, size_t size);

#endif
