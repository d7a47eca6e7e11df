/* SPDX-License-Identifier: ISC */
/* Tells whether a process that records still runs. Internal to source/, apart from tests. */
#ifndef SOURCE_PROCESS_H
#define SOURCE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Tells whether process `pid` still runs and is the one that was started at `start`: field 22 of
 * /proc/PID/stat, in clock ticks since boot; 0: unknown. If /proc can't tell, it counts as running.
 * A zombie without other threads doesn't run.
 */
bool thrum__source_process_lives(uint32_t pid, uint64_t start);

#endif
