/* SPDX-License-Identifier: ISC */
/* The system calls in which threads of the recorded processes hang. */
#ifndef CAPTURE_CALLS_H
#define CAPTURE_CALLS_H

#include <thrum/trace.h>

#include "capture/recorded.h"

/* Looks at some threads, the next ones each time; while the program lives. */
void calls_look(const struct recorded *);
/* Adds to a recording that has ended what is known of its threads. Returns 0 or a negative enum
 * thrum_error. */
int calls_write(const char *path, struct thrum_error_info *);

#endif
