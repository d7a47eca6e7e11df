/* SPDX-License-Identifier: ISC */
/* A look at a program before it is run: how far thrum can see into it. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <limits.h>
#include <stdbool.h>

struct program {
	char path[PATH_MAX]; /* "": there is no such program */
	bool is_setuid;      /* it runs as another user or group */
	bool is_static;      /* it loads no libraries */
	/* It is built for a sanitizer, whose library must be the first: libasan, libtsan, … */
	bool is_sanitized;
};

/* Finds the program as execvp(3) does. For a script, what matters is its interpreter. */
void program_look(const char *name, struct program *);

#endif
