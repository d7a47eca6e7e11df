/* SPDX-License-Identifier: ISC */
/* How far a long job is, on a terminal whose user sees nothing else. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool wanted; /* standard error is a terminal, standard output isn't */
	bool shown;
	int64_t next; /* when to show it the next time, ns */
};

void progress_start(struct progress *);
void progress_show(struct progress *, uint64_t done, uint64_t all);
/* Wipes it away. */
void progress_end(struct progress *);

#endif
