/* SPDX-License-Identifier: ISC */
/*
 * Numbers, times and texts, written to and read from characters. The put_ functions write without
 * an ending NUL, to room that the caller has made, and return where they ended.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_ROOM 32 /* enough for any put_ function of a number */

char *put_unsigned(char *to, uint64_t);
char *put_signed(char *to, int64_t);
char *put_id(char *to, uint64_t id, bool is_signed);
char *put_string(char *to, const char *text);
char *put_spaces(char *to, size_t count);

/* 1,234,567 */
char *put_count(char *to, uint64_t);

/* 512 bytes, 1.2 MiB */
char *put_size(char *to, uint64_t bytes);

/* Seconds, always with all nine decimals: 0.001 234 567, with spaces before the number up to
 * `width` characters. */
char *put_seconds(char *to, int64_t ns, size_t width);

/* 250 ns, 1.5 ms, 12.345 678 s: the unit that fits, exactly */
char *put_duration(char *to, int64_t ns);

/* 2026-11-21 06:44:11.123456789 +0000, in the local time zone; 48 bytes of room */
char *put_date(char *to, int64_t ns_since_1970, int decimals);

/* Escapes \\ \t \n \r and \xHH; 4 bytes of room for each of text's. */
char *put_escaped(char *to, const char *text, size_t size);

/* The inside of a JSON string; 6 bytes of room for each of text's. What isn't UTF-8 becomes U+FFFD.
 */
char *put_json(char *to, const char *text, size_t size);

/* Hexadecimal; 2 bytes of room for each. */
char *put_hex(char *to, const char *bytes, size_t size);

/*
 * For people: escaped, with U+FFFD for what isn't UTF-8 and for characters that would steer a
 * terminal, cut to `columns` with an ellipsis. `to` has room for `room` bytes, at least 8. *used:
 * columns taken.
 */
char *put_display(char *to, size_t room, const char *text, size_t size, size_t columns,
	size_t *used);

/* "12ms", "1.5s", "250us", "-3s", "123456" (ns) */
bool parse_time(const char *text, int64_t *ns);

/* "65536", "256K", "16M", "1G": powers of 1024 */
bool parse_size(const char *text, uint64_t *bytes);

/* A decimal number of up to 64 bits; a negative one becomes its two's complement. */
bool parse_id(const char *text, size_t size, uint64_t *id);

#endif
