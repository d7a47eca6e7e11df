/* SPDX-License-Identifier: ISC */
/* processes.c: this process and its relatives, as a thread that looks finds them. As base/process.h. */
#ifndef ADAPT_PROCESSES_H
#define ADAPT_PROCESSES_H

#include "adapt/base/naps.h"
#include "adapt/base/process.h"

struct look {
	int fd; /* for which the thread waits, and for these events; or -1 */
	short events;
	pid_t self, processes[PROCESSES]; /* this one first */
	unsigned count, threads;
	unsigned own;  /* those that come first: this one, and all that it started */
	bool is_whole; /* there are no more of them */
	bool is_alone; /* nothing but the thread that waits could do anything in this process */
	/* Children wait for this process in vain: it has a single thread, or it is their output that a
	 * thread waits for, as something of it came before. */
	bool is_vain;
	const struct naps *naps;     /* of other threads during the wait; NULL: not known */
	const struct naps *children; /* the same of processes that it started */
};

/* Finds this process and all that it started. */
void thrum__adapt_relatives_look(struct look *);
/* The bit of a process, in the order of the list; 0: it isn't in it. */
uint32_t thrum__adapt_relatives_bit(const struct look *, pid_t);

#endif
