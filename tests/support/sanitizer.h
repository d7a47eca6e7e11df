/* SPDX-License-Identifier: ISC */
/* Some tests leave out cases that show nothing new to a build without, or with, a sanitizer. */
#ifndef SANITIZER_H
#define SANITIZER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether the build has a sanitizer: "address", "thread" and so on. */
static inline bool has_sanitizer(const char *name)
{
	const char *all = getenv("SANITIZE");

	return all && strstr(all, name);
}

#endif
