/* SPDX-License-Identifier: ISC */
/* Processes that record. */
#ifndef SOURCE_PROCESS_H
#define SOURCE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the process that was started at `start` (field 22 of /proc/PID/stat; 0: unknown) still
 * runs. When it can't be found out, it counts as running.
 */
bool thrum__source_process_lives(uint32_t pid, uint64_t start);

#endif
