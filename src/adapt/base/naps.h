/* SPDX-License-Identifier: ISC */
/*
 * naps.c: threads that only sleep for a time, again and again: one that shows how far the work is, or asks
 * from time to time whether it should end. Another thread that waits looks at them during its wait: one
 * that has gone round often since then, for some time, won't end the wait. As base/process.h.
 */
#ifndef ADAPT_NAPS_H
#define ADAPT_NAPS_H

#include "adapt/adapt.h"

#include "adapt/base/process.h"

#define NAPPERS 4 /* further ones are never known */

/* These threads were seen by the looks of one wait. All bytes are 0 when the wait begins. */
struct naps {
	struct napper {
		uint32_t tid;    /* 0: it is free */
		uint32_t rounds; /* looks before which it ran, and that saw only naps */
		bool is_awake;   /* it ran at the last look; twice in a row, it may work */
		uint64_t first;  /* how often it had a processor when it was seen first, */
		uint64_t turns;  /* and last */
		int64_t since;   /* when it was seen first */
	} list[NAPPERS];
};

/* Whether a call sleeps for a time, and for nothing else. */
bool thrum__adapt_is_nap(const struct process_call *);
/* A look sees a thread of a process: it runs, or naps, or neither. */
void thrum__adapt_naps_see(struct naps *, pid_t process, uint32_t tid, bool runs, bool is_nap);
/* A look of that wait: notes which other threads of this process nap just now. */
void thrum__adapt_naps_note(struct naps *);
/* Whether a thread naps, or has just woken from it, and has gone round often enough since the wait began.
 * call: in which it is; NULL: it runs. naps may be NULL: it isn't known. */
bool thrum__adapt_naps_goes_round(const struct naps *, uint32_t tid,
	const struct process_call *call);

#endif
