/* SPDX-License-Identifier: ISC */
#ifndef TESTS_ADAPT_PROGRAMS_PATIENCE_H
#define TESTS_ADAPT_PROGRAMS_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

/* How many times as long as on an idle machine things take. A healthy program lives so much longer, and its
 * rare rounds have to be so much rarer. */
static inline unsigned slowness(void)
{
	const char *told = getenv("SLOWNESS");

	return told ? (unsigned)strtoul(told, NULL, 10) : 1;
}

/* A program that hangs lives so many seconds, and SLOWNESS times as many on a slow machine. If PATIENCE is in
 * the environment, it says how many: then the test ends the program as soon as `thrum why` tells the cause
 * (`told` in tests/adapt/adapt.bash, which sets both). */
static inline unsigned patience(unsigned seconds)
{
	const char *other = getenv("PATIENCE");

	return other ? (unsigned)strtoul(other, NULL, 10) : seconds * slowness();
}

/* SIGALRM ends it then. */
static inline void end_after(unsigned seconds)
{
	alarm(patience(seconds));
}

#endif
