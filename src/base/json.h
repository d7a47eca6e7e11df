/* SPDX-License-Identifier: ISC */
/* Texts in JSON (RFC 8259). */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stddef.h>

#define THRUM__JSON_BYTES 6 /* the most bytes that one byte of a text becomes */

/* Writes the inside of a JSON string, without a NUL; bytes that aren't UTF-8 become U+FFFD. `to`
 * has room for THRUM__JSON_BYTES for each byte of the text. Returns the end. */
char *thrum__base_json_escape(char *to, const char *text, size_t size);

#endif
