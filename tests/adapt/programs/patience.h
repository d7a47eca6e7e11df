/* SPDX-License-Identifier: ISC */
#ifndef TESTS_ADAPT_PROGRAMS_PATIENCE_H
#define TESTS_ADAPT_PROGRAMS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

/* A program that hangs lives so many seconds, or as many as PATIENCE says in the environment. Then the test
 * ends the program as soon as `thrum why` tells the cause (`told` in tests/adapt/adapt.bash). */
static inline unsigned patience(unsigned seconds)
{
	const char *other = getenv("PATIENCE");

	return other ? (unsigned)strtoul(other, NULL, 10) : seconds;
}

/* SIGALRM ends it then. */
static inline void end_after(unsigned seconds)
{
	alarm(patience(seconds));
}

#endif
