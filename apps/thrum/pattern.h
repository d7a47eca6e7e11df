/* SPDX-License-Identifier: ISC */
/*
 * Names of recordings as THRUM_TRACE has them: %e is the program's name, %p its process id, and %%
 * a percent sign.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* An absolute one. Returns STATUS_OK, or STATUS_FAILED after a message. */
int pattern_make(const char *output, char *pattern, size_t size);

/* The name, in as much room as the pattern takes; false when it depends on the program. */
bool pattern_name(const char *pattern, char *name);

/* What glob(3) finds all such files by, with something of glob's behind. */
void pattern_glob(const char *pattern, const char *suffix, char *to, size_t size);

#endif
