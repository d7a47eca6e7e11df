/* SPDX-License-Identifier: ISC */
/* The recordings of one run (source/run/run.h) for a command, with messages. */
#ifndef TRACE_RELATIVES_H
#define TRACE_RELATIVES_H

#include "source/run/run.h"

/* Finds the recordings of a file's run, at most INPUTS_MAX. Returns STATUS_OK, or STATUS_FAILED after
 * a message. Free them with thrum__source_run_free, always. */
int relatives_find(const char *file, struct thrum__source_run *);

/* The same for the arguments of a command: where the only one has others of its run beside it, a line on
 * standard error says so. Else it finds none. */
int relatives_of(char *const *arguments, int count, struct thrum__source_run *);

#endif
