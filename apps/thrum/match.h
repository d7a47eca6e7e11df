/* SPDX-License-Identifier: ISC */
/* Labels that are meant by a pattern. */
#ifndef MATCH_H
#define MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a label, which ends in NUL, is as `wanted` has it: by fnmatch(3) without regard to
 * ASCII's case; or, when that has a #, by its pattern: "port-#" means "port-7". */
bool label_matches(const char *wanted, const char *label, size_t size);

/* Whether `wanted` means the labels of a pattern: likewise, or as one of them ("port-7"). */
bool pattern_matches(const char *wanted, const char *pattern, size_t size);

#endif
