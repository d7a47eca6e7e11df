/* SPDX-License-Identifier: ISC */
/*
 * shared/: semaphores and queues that processes share.
 *
 *   sets.c       who has permits of semaphores
 *   set_waits.c  who waits for them
 *   held.c       tells it to a thread that waits for one
 *   shared.c     semaphores that are none of the kernel's
 *   queues.c     who uses queues of messages
 */
/*
 * sets.c: who has permits of semaphores that are the kernel's own (semop), or that a process shares with
 * copies of it; set_waits.c: who waits for them. All processes under one `thrum record` note it in the memory
 * that they share, whether or not they record. Nothing here allocates or locks. All but
 * thrum__adapt_set_of_lock keep errno.
 */
#ifndef ADAPT_SETS_H
#define ADAPT_SETS_H

#include "adapt/base/base.h"
#include "adapt/forks.h"

#include <sys/sem.h>

/* A thread of any process: the process's number, and its own. */
static inline uint64_t set_thread(pid_t process, uint32_t tid)
{
	return (uint64_t)process << 32 | tid;
}

/* The calling thread. */
struct set_self {
	uint64_t thread; /* set_thread() */
	/* Its process's number, and those of sets, mean nothing in other namespaces. 0: not known. */
	uint64_t space;
};
/* May change errno. */
const struct set_self *thrum__adapt_set_self(void);

struct set_holder {
	uint64_t thread;
	pid_t process;
	uint32_t tid;
	const void *caller;
	thrum_task task;   /* 0: it took the permit before its process recorded */
	bool is_copy;      /* of this process, by fork: only copies know such a semaphore */
	bool is_shared;    /* a child of it may be to give the permit back */
	bool is_killed;    /* by a signal */
	bool gives_at_end; /* the kernel gives the permit back when the process ends */
	char name[16];
};

/* A semaphore whose permits are given back by the threads that took them, as far as is known. */
struct set_lock {
	uint64_t key;
	int set; /* SET_NONE: it is of no set */
	unsigned number;
	unsigned total; /* permits that it began with */
	bool is_proven; /* one was given back: else only a process that was killed should have done so */
	bool is_inverse; /* its value is the number of those who have it, not of those who may */
	unsigned count;
	struct set_holder holders[FORKS_PERMITS];
};

/* Tells a semaphore from all others of this machine; 0: that can't be told. */
uint64_t thrum__adapt_set_key(int set, unsigned number);
/* Stands for it in the place of an address. */
static inline const void *set_address(uint64_t key)
{
	return (const void *)address_of_key(key);
}

/* The last argument of semctl(), which programs declare themselves. */
union set_value {
	int number;
	void *pointer;
};
/* Writes a semaphore's name. */
void thrum__adapt_set_put_name(char *to, int set, unsigned number);
/* Finds a semaphore's value; negative: that isn't known. */
int thrum__adapt_set_value(int set, unsigned number);
/* A semaphore has this value from now on, whatever was before. */
void thrum__adapt_set_begins(int set, unsigned number, unsigned value);
/* The set is no more. */
void thrum__adapt_set_ends(int set);

/* Changes that one call makes. */
#define SET_OPERATIONS 16 /* more of them are not noted */
struct set_change {
	int set;
	struct sembuf *ops;
	size_t count;
	const void *caller;
	const struct set_self *self;
	uint32_t given; /* bits: by these the thread gives back what it took */
	bool may_take;
};
/* The calling thread is about to make changes; has made them; or has not, though it was about to. The first
 * four members are set. */
void thrum__adapt_set_gives(struct set_change *);
void thrum__adapt_set_takes(const struct set_change *);
void thrum__adapt_set_failed(const struct set_change *);

/* The same for a semaphore of no set, by its key. It begins with so many permits: returns false if there is
 * no room for it. returns: so many must be given back by those who took them, before it is known to be a
 * lock; or two, and as many as it began with, by threads that took no more. The calling thread has taken a
 * permit, or is about to give one. */
#define SET_NONE (-1)
bool thrum__adapt_set_begins_key(uint64_t key, unsigned permits, unsigned returns);
void thrum__adapt_set_spoils_key(uint64_t key);
void thrum__adapt_set_ends_key(uint64_t key);
void thrum__adapt_set_takes_key(uint64_t key, const void *caller);
void thrum__adapt_set_gives_key(uint64_t key, const void *caller);

/* The calling thread is about to wait for any semaphore, by its key: if it has a permit and the program has
 * signal handlers, one of those may be to give it, so the semaphore is no lock. */
void thrum__adapt_set_doubts(uint64_t key);

/* Stands for it in the place of an address; NULL: this process doesn't know it. */
const void *thrum__adapt_set_address(const struct set_lock *);
/* Writes its name. Room: SHARE_NAME. */
void thrum__adapt_set_put_lock(char *to, const struct set_lock *);
/* Whether a semaphore is known to be a lock. Then finds who has it. May change errno. */
bool thrum__adapt_set_of_lock(uint64_t key, struct set_lock *);
/* A thread that has posted a semaphore without having a permit of it, and where it did so last. */
struct set_poster {
	uint64_t thread;
	const void *caller;
};
/* Finds all who have posted a semaphore of no set whose permits nobody gives back. Returns how many
 * there are; 0: it isn't known. */
unsigned thrum__adapt_set_posters(uint64_t key, struct set_poster[FORKS_POSTERS]);
/* Whether all permits are taken by those that are noted, as far as the kernel tells, too.
 * Leaves out those who gave theirs back as they ended, or left them to a child. Changes errno. */
bool thrum__adapt_set_is_taken(struct set_lock *);
/* Records which threads of this process have a permit, as far as it isn't recorded yet. */
void thrum__adapt_set_tell_own(const struct object *, uint64_t key);

/* The calling thread waits from now on, as long as it takes. Returns the place of this note, or
 * FORKS_WAITS. */
uint32_t thrum__adapt_set_waits(uint64_t key);
/* It looks from time to time, or no more. */
void thrum__adapt_set_wait_looks(uint32_t place, bool looks);
void thrum__adapt_set_wait_over(uint32_t place);
/* The semaphore for which a thread waits as long as it takes; 0: for none, as far as is known. turn: differs
 * in each of its waits. */
uint64_t thrum__adapt_set_wait_of(uint64_t thread, uint32_t *turn);
/* Whether it looks. */
bool thrum__adapt_set_wait_is_looked(uint64_t thread);
/* Whether the calling thread is the first to tell why this one waits in vain. */
bool thrum__adapt_set_tells(uint64_t thread);
/* Whether it is told why this one waits in vain. */
bool thrum__adapt_set_is_told(uint64_t thread);

/* A signal has killed this process, as the one knows that waited for it. */
void thrum__adapt_set_killed(pid_t process);
/* This process is about to fork: its child may be to give its permits back. */
void thrum__adapt_set_shares(void);
/* It is about to execute another program, which may do so unseen where it knows a semaphore of no set. */
void thrum__adapt_set_leaves(void);

/* ---- shared.c ---- */

/* Semaphores of no set. Each has an address that is the same in all copies of the process. They keep errno,
 * and are async-signal-safe. */

/* Whether there may be any. */
extern _Atomic bool thrum__adapt_has_shares;
struct share_kind {
	int (*value)(const void *address); /* how many permits there are now; negative: not known */
	void (*put_name)(char *to, const void *address);
	unsigned returns; /* so many permits must have been given back by those who took them */
};
#define SHARE_NAME 160
/* It begins with so many permits; with 0, it is no lock. */
void thrum__adapt_share_begins(const void *address, unsigned permits, const struct share_kind *);
void thrum__adapt_share_ends(const void *address);
/* Its key; 0: it isn't known. */
uint64_t thrum__adapt_share_key(const void *address);
/* Its address in this process, or NULL; and its value: negative if that isn't known. */
const void *thrum__adapt_share_address(uint64_t key);
int thrum__adapt_share_value(uint64_t key);
/* Writes its name. Room: SHARE_NAME. */
void thrum__adapt_share_put_name(char *to, uint64_t key);

static inline bool has_shares(void)
{
	return UNLIKELY(atomic_load_explicit(&thrum__adapt_has_shares, memory_order_relaxed));
}
static inline void share_takes(const void *address, const void *caller)
{
	uint64_t key = has_shares() ? thrum__adapt_share_key(address) : 0;

	if (key)
		thrum__adapt_set_takes_key(key, caller);
}
static inline void share_doubts(const void *address)
{
	uint64_t key = has_shares() ? thrum__adapt_share_key(address) : 0;

	if (key)
		thrum__adapt_set_doubts(key);
}
/* It may be used unseen, or is no lock. */
static inline void share_spoils(const void *address)
{
	uint64_t key = has_shares() ? thrum__adapt_share_key(address) : 0;

	if (key)
		thrum__adapt_set_spoils_key(key);
}
static inline void share_gives(const void *address, const void *caller)
{
	uint64_t key = has_shares() ? thrum__adapt_share_key(address) : 0;

	if (key)
		thrum__adapt_set_gives_key(key, caller);
}

#endif
