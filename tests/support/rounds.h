/* SPDX-License-Identifier: ISC */
/* Tests that repeat something do so less often where that mostly shows what gcc's build for this machine
 * shows: tests/meson.build says where. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdlib.h>
#include <string.h>

/* How often, or every how many: `all` or `few`. */
static inline unsigned rounds(unsigned all, unsigned few)
{
	const char *wanted = getenv("ROUNDS");

	return wanted && strcmp(wanted, "few") == 0 ? few : all;
}

#endif
