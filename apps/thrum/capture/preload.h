/* SPDX-License-Identifier: ISC */
/* Loads the adapters into the program that is recorded. */
#ifndef CAPTURE_PRELOAD_H
#define CAPTURE_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "adapt/forks.h"
#include "capture/program.h"

/* The adapters, as choices of an option. */
#define PRELOAD_ADAPTERS "pthread|loop|block|uv|event|glib|uring"

struct preload_options {
	uint64_t only, without; /* bits by position in PRELOAD_ADAPTERS; only 0: all */
	bool none, follow;
};

/* Sets the environment for the program, so that it loads the adapters; leaves it alone if none are
 * wanted, or the program can't load them. Returns whether it will. Then *forks counts its forked children,
 * unless it is NULL. */
bool preload_adapters(const struct preload_options *, const struct program *,
	struct thrum__adapt_forks **forks);
/* Says that forked children of the program have recorded nothing, if there are any; and why. */
void preload_tell_forks(const struct thrum__adapt_forks *);

#endif
