/* SPDX-License-Identifier: ISC */
/* What labels have in common that differ only in numbers: "port-1" and "port-4" are "port-#". */
#ifndef ANALYSE_LABEL_H
#define ANALYSE_LABEL_H

#include <stddef.h>

#define THRUM__LABEL_PATTERN_MAX 200

/*
 * The pattern of a label. Within words (stretches of ASCII letters and digits, and bytes from 128
 * on):
 * - a word that is hexadecimal, and has 8 or more digits of which one is a decimal one, or begins
 *   with 0x, is `#`;
 * - so is a hexadecimal word of 4 or more digits behind `#-`, as in a UUID;
 * - in other words each run of decimal digits is `#`.
 * "GET /user/1234" is "GET /user/#", "conn 0x7f3a1c" is "conn #", "tcp4" is "tcp#", "face" stays.
 * Cut at THRUM__LABEL_PATTERN_MAX bytes, not within a character, and of no more than four times as
 * much of the label. Returns the pattern's size; no NUL.
 */
size_t thrum__analyse_label_pattern(const char *label, size_t size,
	char to[THRUM__LABEL_PATTERN_MAX]);

#endif
