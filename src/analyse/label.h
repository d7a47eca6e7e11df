/* SPDX-License-Identifier: ISC */
/* Patterns of labels: labels that differ only in numbers have the same one. "port-1" and "port-4"
 * are "port-#". */
#ifndef ANALYSE_LABEL_H
#define ANALYSE_LABEL_H

#include <stddef.h>

#define THRUM__LABEL_PATTERN_MAX 200

/*
 * Writes the pattern of a label and returns its size; writes no NUL. A word is a series of ASCII
 * letters and digits, and bytes from 128 on.
 * - A hexadecimal word becomes `#` if it begins with 0x, or has 8 or more digits of which at least
 *   one is decimal.
 * - A hexadecimal word of 4 or more digits behind `#-` becomes `#`, as in a UUID.
 * - In other words, each series of decimal digits becomes `#`.
 * "GET /user/1234" is "GET /user/#", "conn 0x7f3a1c" is "conn #", "tcp4" is "tcp#", "face" stays.
 * The pattern is cut at THRUM__LABEL_PATTERN_MAX bytes, not within a character. Only the label's
 * first 4 × THRUM__LABEL_PATTERN_MAX bytes are read.
 */
size_t thrum__analyse_label_pattern(const char *label, size_t size,
	char to[THRUM__LABEL_PATTERN_MAX]);

/* Writes the series of decimal digits of a label with a space between them, and returns their size;
 * writes no NUL. "store row 7" and "row 7 is checked" are about the same item, "7". */
size_t thrum__analyse_label_numbers(const char *label, size_t size,
	char to[THRUM__LABEL_PATTERN_MAX]);

#endif
