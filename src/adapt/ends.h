/* SPDX-License-Identifier: ISC */
/* Ends of pipes that other processes have, too. For ends.c, held_ends.c and vain.c. As process.h. */
#ifndef ADAPT_ENDS_H
#define ADAPT_ENDS_H

#include "adapt/descriptor.h"
#include "adapt/forked.h"
#include "adapt/process.h"

/* An end of a pipe: of those who hold it, the lookers want these. */
struct end {
	uint64_t inode;
	bool writes; /* the end of a pipe that is written to */
	bool is_socket;
};

struct holder {
	pid_t process;
	int at;        /* the lowest descriptor */
	bool is_meant; /* it uses the end, as far as is known */
};

struct look {
	int fd; /* for which the thread waits, and for these events; or -1 */
	short events;
	pid_t self, processes[PROCESSES]; /* this one first */
	unsigned count, threads;
	bool is_whole; /* there are no more of them */
	bool is_alone; /* nothing but the thread that waits could do anything in this process */
	/* Children wait for this process in vain: it has a single thread, or it is their output that a
	 * thread waits for, as something of it came before. */
	bool is_vain;
};

/* ---- held_ends.c ---- */

/* Finds this process and all that it started. */
void thrum__adapt_ends_look(struct look *);
struct statx;
/* Finds what a descriptor of some process is, without asking a file server that may not answer. */
bool thrum__adapt_find_file(int directory, const char *name, struct statx *);
/* Finds who holds an end. Returns how many do; 0 also if that isn't known. */
unsigned thrum__adapt_ends_holders(const struct look *, const struct end *,
	struct holder[PROCESSES]);
/* Whether any other process has an end, as far as this user can see: one that left its parent, or that
 * got the end by a message. */
bool thrum__adapt_ends_elsewhere(const struct look *, const struct end *);

/* ---- vain.c ---- */

/* A process, and for what it waits. */
struct step {
	pid_t process;
	bool is_vain; /* what it waits for never comes */
	enum {
		UNKNOWN,
		LOCK,
		END,
		STOP,
		PROCESS
	} sort; /* STOP: it is stopped by a signal. PROCESS: the one of the next step */
	struct forked_wait lock;
	struct end end;
	struct holder holder; /* who has the end for which it waits */
};
#define STEPS 4
/* Follows the waits of a process: for an end that one process has, or for its child. Returns the number of
 * steps, at least 1. */
unsigned thrum__adapt_vain_steps(const struct look *, pid_t process, struct step[STEPS]);
/* Whether a process waits in vain, as far as can be seen. */
bool thrum__adapt_waits_in_vain(const struct look *, pid_t process);

/* While a thread looks from time to time, it waits in poll() with this argument. 0: it doesn't. */
#define LOOKERS 16
extern _Atomic uintptr_t thrum__adapt_lookers[LOOKERS];

#endif
