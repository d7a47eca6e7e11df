/* SPDX-License-Identifier: ISC */
#ifndef TESTS_ADAPT_PROGRAMS_PATIENCE_H
#define TESTS_ADAPT_PROGRAMS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

/* A program that hangs lives so many seconds, and SLOWNESS times as many on a slow machine. If PATIENCE is in
 * the environment, it says how many: then the test ends the program as soon as `thrum why` tells the cause
 * (`told` in tests/adapt/adapt.bash, which sets both). */
static inline unsigned patience(unsigned seconds)
{
	const char *other = getenv("PATIENCE"), *slowness = getenv("SLOWNESS");

	if (other)
		return (unsigned)strtoul(other, NULL, 10);
	return slowness ? seconds * (unsigned)strtoul(slowness, NULL, 10) : seconds;
}

/* SIGALRM ends it then. */
static inline void end_after(unsigned seconds)
{
	alarm(patience(seconds));
}

#endif
