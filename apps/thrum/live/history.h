/* SPDX-License-Identifier: ISC */
/* Files with the history of counters. */
#ifndef LIVE_HISTORY_H
#define LIVE_HISTORY_H

#include "monitor/history.h"

/* Reads a history. Returns STATUS_OK, after which the caller calls thrum__monitor_history_finish; or
 * STATUS_FAILED after a message. */
int history_file_read(const char *path, struct thrum__monitor_history *);

/* Opens a file to write to, or makes it, and reads what it has. Other writers are refused meanwhile.
 * Returns a descriptor for the caller to close; or -1 after a message. */
int history_file_open(const char *path, struct thrum__monitor_history *);

/* Writes what the last sample changed. A reader sees all of it or nothing. Returns STATUS_OK, or
 * STATUS_FAILED after a message. */
int history_file_write(int fd, const char *path, const struct thrum__monitor_history *);

#endif
