/* SPDX-License-Identifier: ISC */
/*
 * Writes and reads numbers, times and texts. The put_ functions write to room of the caller's,
 * without an ending NUL, and return the end of the written bytes.
 */
#ifndef LINE_TEXT_H
#define LINE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_ROOM 32 /* enough for any put_ function of a number */

char *put_unsigned(char *to, uint64_t);
char *put_signed(char *to, int64_t);
char *put_id(char *to, uint64_t id, bool is_signed);
char *put_string(char *to, const char *text);
char *put_spaces(char *to, size_t count);

/* As "1,234,567". */
char *put_count(char *to, uint64_t);

/* As "512 bytes" or "1.2 MiB". */
char *put_size(char *to, uint64_t bytes);

/* Seconds with all nine decimals, as "0.001 234 567"; spaces before the number fill `width`
 * characters. */
char *put_seconds(char *to, int64_t ns, size_t width);

/* As "2026-11-21 06:44:11.123456789 +0000", in the local time zone; needs 48 bytes of room. */
char *put_date(char *to, int64_t ns_since_1970, int decimals);

/* Escapes as \\ \t \n \r and \xHH; needs 4 bytes of room for each byte of text. */
char *put_escaped(char *to, const char *text, size_t size);

/* Hexadecimal; needs 2 bytes of room for each byte. */
char *put_hex(char *to, const char *bytes, size_t size);

/*
 * A text for people, escaped: U+FFFD replaces bytes that aren't UTF-8 and characters that terminals
 * obey; an ellipsis ends a text that is cut to `columns`. `to` has `room` bytes, at least 8. *used
 * is set to the number of columns.
 */
char *put_display(char *to, size_t room, const char *text, size_t size, size_t columns,
	size_t *used);

/* Returns what follows USER:PASSWORD@ of an address, of which `rest` is what follows "://". */
const char *skip_user(const char *rest);

/* Reads "12ms", "1.5s", "250us", "-3s" or "123456" (ns). Returns false if it is none. */
bool parse_time(const char *text, int64_t *ns);

/* Reads "65536", "256K", "16M" or "1G": powers of 1024. Returns false if it is none. */
bool parse_size(const char *text, uint64_t *bytes);

/* Reads a decimal number of up to 64 bits; a negative one becomes its two's complement. Returns
 * false if it is none. */
bool parse_id(const char *text, size_t size, uint64_t *id);

#endif
