/* SPDX-License-Identifier: ISC */
/* Matches labels against shell patterns. */
#ifndef LINE_MATCH_H
#define LINE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a label, which ends in NUL, matches `wanted`: by fnmatch(3), ignoring the case of
 * ASCII; or, if `wanted` has a #, by the label's pattern: "port-#" matches "port-7". */
bool label_matches(const char *wanted, const char *label, size_t size);

/* Returns whether a function's name is a word of a label, which ends in NUL: "load" of "work load, then
 * on_loaded". */
bool label_names(const char *function, const char *label);

/* Returns whether `wanted` matches the pattern of several labels: by fnmatch(3), or because it is
 * one of these labels ("port-7"). */
bool pattern_matches(const char *wanted, const char *pattern, size_t size);

#endif
