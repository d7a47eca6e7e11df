/* SPDX-License-Identifier: ISC */
/* Waits that are looked at: ends.c for pipes and connections, child_wait.c for children. As
 * base/process.h. */
#ifndef ADAPT_LOOKED_H
#define ADAPT_LOOKED_H

#include "adapt/ends/stuck.h"
#include "adapt/shared/held.h"

#include <poll.h>

#define CHILDREN 8 /* of which one may wait for any */

/* A wait that is looked at. */
struct looked {
	struct wait *wait;
	enum thrum_kind kind;
	const char *label;
	int fd;
	struct pollfd one; /* as for poll() */
	struct end end;
	pid_t children[CHILDREN];         /* for the end of any of these; none: for a pipe */
	struct unheard unheard[CHILDREN]; /* by each of them, in the look before */
	unsigned count;
	uint64_t sum;     /* of the look before */
	uint64_t changed; /* that of the latest look, if it differed from one in vain */
	bool is_begun;
	bool is_changed;    /* the descriptor was told not to block, and does */
	int64_t since;      /* ms: when the looks began */
	bool is_connection; /* of this machine, and none of a pair of sockets */
	bool is_own;        /* for a pipe that others don't have, */
	bool is_counter;    /* which is an eventfd */
	bool is_vain;       /* why it waits in vain is recorded, */
	bool is_stuck;      /* as this process is stuck */
	bool is_alone;      /* the process has no other thread; else one might end the wait */
	bool is_soon;       /* the next look may find that */
	uint64_t stuck; /* the sum of the latest look that found this process stuck; 0: none did */
	struct naps naps, child_naps, all_naps;
	const struct held_signals
		*signals;    /* the call ends after each handler; NULL: it doesn't, */
	bool is_interrupted; /* and one ran */
	struct held *held;   /* if it may be a pipe of tokens */
	pid_t left; /* the process in the background that has the end, as looks have seen */
	int64_t left_since;
};

/* Looks again and again, until the descriptor is ready, or a handler has ended the call. */
void thrum__adapt_look_until(struct looked *);

/* Whether a call that waits for a child (0: for any) may return: if it has ended, if it is traced
 * and has stopped, or if it is no child. Only the first wakes poll(). */
bool thrum__adapt_child_may_return(pid_t child);

#endif
