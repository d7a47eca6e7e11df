/* SPDX-License-Identifier: ISC */
/*
 * The recordings of one run of a program: FILE, and beside it FILE.PID of each process that it
 * forked, or that found the name taken. An older run may have left others. Those of one run share a
 * time of the same machine.
 */
#ifndef TRACE_RELATIVES_H
#define TRACE_RELATIVES_H

#include <stdbool.h>

struct relatives {
	char **paths; /* FILE first, if it is there */
	int count;
};

/* Finds the recordings of the run to which FILE belongs; where there is no FILE, of the last run.
 * At most INPUTS_MAX. Finds none if FILE is no recording, or has no others beside it. Returns
 * STATUS_OK, or STATUS_FAILED after a message. Free them with relatives_free, always. */
int relatives_find(const char *file, struct relatives *);
void relatives_free(struct relatives *);

/* The same for the arguments of a command: where the only one has others of its run beside it, a line on
 * standard error says so. Else it finds none. */
int relatives_of(char *const *arguments, int count, struct relatives *);

/* Whether all these files are of one run. */
bool relatives_are(const char *const *files, int count);

#endif
