/* SPDX-License-Identifier: ISC */
/*
 * Patterns for names of recordings, as in THRUM_TRACE: %e stands for the program's name, %p for its
 * process id, and %% for a percent sign. The recorder expands them in the process that records.
 */
#ifndef CAPTURE_PATTERN_H
#define CAPTURE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Makes an absolute pattern of the argument of -o. Returns STATUS_OK, or STATUS_FAILED after a
 * message. */
int pattern_make(const char *output, char *pattern, size_t size);

/* Writes the file name, which is no longer than the pattern. Returns false if it depends on the
 * program. */
bool pattern_name(const char *pattern, char *name);

/* Makes a pattern for glob(3) that matches all such files; `suffix`, for glob(3) too, is
 * appended. */
void pattern_glob(const char *pattern, const char *suffix, char *to, size_t size);

#endif
