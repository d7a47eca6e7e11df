/* SPDX-License-Identifier: ISC */
/* stuck.c: processes and threads that all wait for each other. As base/process.h. */
#ifndef ADAPT_STUCK_H
#define ADAPT_STUCK_H

#include "adapt/ends/ends.h"
#include "adapt/relatives/needs.h"

enum need_sort {
	NEEDS_NOTHING, /* its threads wait for each other, or for nothing that comes */
	NEEDS_END,
	NEEDS_CHILD,
	NEEDS_LOCK, /* of a file */
	NEEDS_CONTINUE,
	NEEDS_IPC /* the kernel's semaphores or queues */
};

/* This process, or one of its relatives. */
struct relative {
	pid_t process;
	uint32_t tid;    /* the thread of that of its waits which is told; 0: this one */
	bool is_open;    /* something may happen in it */
	bool looks;      /* one of its threads looks, too, and may tell */
	bool ticks;      /* another one only naps again and again */
	uint32_t wakers; /* bits by its list's order: those for which its threads wait */
	uint64_t sum;    /* differs if one of its threads has run */
	/* The first of its waits for others that was found: its sort, who could end it, and the object. */
	enum need_sort sort;
	uint32_t by;
	struct end end;
	struct ipc_need ipc;
	int at[2]; /* the end's descriptors: in this process, and in the relative itself */
};

/* A thread of this process that waits for a child or a lock, and doesn't look. */
struct other_wait {
	thrum_task task; /* for which it waits */
	enum need_sort sort;
	uint32_t by;
};
#define OTHERS 4

struct stuck {
	struct look look; /* this process first, then its relatives */
	pid_t oldest;     /* of them */
	struct relative relatives[PROCESSES];
	uint32_t bits; /* those that are stuck */
	uint64_t sum;  /* the same in two looks: no thread has run between them */
	struct other_wait others[OTHERS];
	unsigned other_count;
	struct {
		uint32_t waiter; /* the bit of a relative that waits for it */
		struct end end;
	} ends[PROCESSES];
	unsigned end_count;
	bool has_ipc;      /* a thread waits for what processes share without an end */
	bool is_blurred;   /* a relative looks just now, and so seems to run */
	struct naps *naps; /* of all their threads, during this wait; NULL: they aren't noted */
	bool ticks;        /* some of these only nap, and don't count */
};

/* The one that there is, as stacks may be small; NULL: another thread has it. */
struct stuck *thrum__adapt_stuck_take(void);
void thrum__adapt_stuck_release(void);

/* For what the calling thread waits: an end, any of several children, or neither of these. */
struct own_need {
	int fd; /* and these events: what poll() would tell it; -1: nothing */
	short events;
	const struct end *end; /* NULL: for none */
	const pid_t *children;
	unsigned count;
	struct naps *naps; /* of all threads during this wait; NULL: one that naps may end it */
};

/* Finds out whether this process is stuck meanwhile. */
bool thrum__adapt_stuck_find(struct stuck *, const struct own_need *);

/* The same while it waits in this call, or is about to. */
bool thrum__adapt_stuck_find_call(struct stuck *, const struct process_call *);

/* Finds the oldest process of which this one is a copy, and all that it started; this process comes first.
 * Returns whether these are all. */
bool thrum__adapt_stuck_relatives(struct look *, pid_t *oldest);
/* How many that were at the latest such look of this process. */
extern _Atomic unsigned thrum__adapt_stuck_count;

/* The child of which a process's pidfd tells; 0: of none. -1: it is an epoll or a signalfd, which tells of
 * any. */
pid_t thrum__adapt_stuck_told(pid_t process, int fd);

/* The epoll in which a thread of this process waits as long as it takes, and looks meanwhile; -1: in none. */
int thrum__adapt_epoll_of(uint32_t tid, const struct process_call *);

/* Whether a process that isn't related has an end for which one waits that is stuck. */
bool thrum__adapt_stuck_has_stranger(const struct stuck *);

/* ---- tickers.c ---- */

/* A look sees a thread in a call; NULL: it runs. Returns whether it only naps, again and again. */
bool thrum__adapt_ticker_is(struct naps *, pid_t process, uint32_t tid,
	const struct process_call *call);
/* After all were looked at: those may go on that a thread which naps could wake. */
void thrum__adapt_tickers_judge(struct stuck *);
/* If threads that nap were left out: only those are stuck for whom this process waits, and for whom they do.
 * Others may run because of what such a thread does. Returns false if it waits for itself alone. */
bool thrum__adapt_tickers_narrow(struct stuck *);

/* ---- stuck.c ---- */

/* Whether it is this process that should tell: the oldest that looks. */
bool thrum__adapt_stuck_leads(const struct stuck *);
/* Whether it is this thread: true once. */
bool thrum__adapt_stuck_is_teller(const struct stuck *);

/* Records for whom the wait's source waits in vain. The wait hasn't begun. */
void thrum__adapt_stuck_tell(struct wait *, const struct stuck *);

#endif
