/* SPDX-License-Identifier: ISC */
/* Shows the progress of a long job on a terminal where nothing else appears. */
#ifndef LINE_PROGRESS_H
#define LINE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted; /* standard error is a terminal and standard output isn't */
	bool shown;
	int64_t next; /* ns of CLOCK_MONOTONIC: the time of the next update */
};

void progress_start(struct progress *);
/* Shows `done` of `all` bytes; all 0: their number is unknown. */
void progress_show(struct progress *, uint64_t done, uint64_t all);
/* Wipes the line. */
void progress_end(struct progress *);

#endif
