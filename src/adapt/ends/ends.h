/* SPDX-License-Identifier: ISC */
/* Others that have what a thread waits for, and for what they wait. For the files of this folder, and for
 * threads that look. As base/process.h. */
#ifndef ADAPT_ENDS_H
#define ADAPT_ENDS_H

#include "adapt/base/forked.h"
#include "adapt/ends/waits.h"
#include "adapt/relatives/processes.h"

#define ANCESTORS 4 /* of this process that are looked at */

/* An end of a pipe: of those who hold it, the lookers want these. */
struct end {
	uint64_t inode;
	bool writes; /* the end of a pipe that is written to */
	bool is_socket;
	bool listens; /* the socket in whose queue a connection is */
};

struct holder {
	pid_t process;
	int at;        /* the lowest descriptor */
	bool is_meant; /* it uses the end, as far as is known */
};

/* ---- held_ends.c ---- */

struct statx;
/* Finds what a descriptor of some process is, without asking a file server that may not answer. */
bool thrum__adapt_find_file(int directory, const char *name, struct statx *);
/* Finds who holds an end. Returns how many do; 0 also if that isn't known. */
unsigned thrum__adapt_ends_holders(const struct look *, const struct end *,
	struct holder[PROCESSES]);
/* Returns the lowest descriptor of an end in a process; -1: it has none, or that isn't known. */
int thrum__adapt_ends_at(pid_t process, const struct end *);
/* Whether it has the end by one descriptor. */
bool thrum__adapt_ends_is_once(pid_t process, const struct end *);
/* Whether any other process has an end, as far as this user can see: one that left its parent, or that
 * got the end by a message. */
bool thrum__adapt_ends_elsewhere(const struct look *, const struct end *);
/* Where no relative has the writing end of a pipe: a process that goes on in the background, and still has
 * it, though other pipes that were made at the same place came to their ends. 0: there is none. */
pid_t thrum__adapt_ends_left(const struct look *, const struct end *);

/* ---- spare_ends.c ---- */

/* A look: notes which children nap just now, and for nothing that comes while the calling thread waits. */
void thrum__adapt_spare_note(const struct look *, struct naps *children);
/* Whether a process, one of those who hold an end that is written to, got it by mistake, as it holds the
 * other one, too, has written nothing at all, and naps again and again; and it is known who else writes. */
bool thrum__adapt_spare_is(const struct look *, const struct end *, const struct holder *,
	unsigned count, pid_t process);

/* ---- left_ends.c ---- */

/* Whether a process that holds the other end of a connection, for which a process waits by this descriptor,
 * has it by mistake: it never used it, though others did who are gone, and waits for something else or
 * naps. */
bool thrum__adapt_left_is(const struct look *, pid_t reader, int fd, const struct end *,
	const struct holder *);

/* ---- file_owner.c ---- */

/* The lock of a file for which a process waits, by this descriptor. */
struct file_lock {
	pid_t process;
	int fd;
	bool is_flock; /* else it is one of fcntl() */
	uint64_t inode, device;
};
/* Finds the lock for which a process waits in a call. */
bool thrum__adapt_file_lock(pid_t process, const struct process_call *, struct file_lock *);
/* Finds who has it, or the same open file as one that has. is_meant: that process took it. Returns how many
 * do; 0: it isn't known. */
unsigned thrum__adapt_file_holders(const struct look *, const struct file_lock *,
	struct holder[PROCESSES]);
/* Makes the task of its release by a process, which ends with the wait. */
thrum_task thrum__adapt_file_make(struct wait *, const struct look *, const struct file_lock *,
	pid_t holder);

/* ---- vain.c ---- */

/* A process, and for what it waits. */
struct step {
	pid_t process;
	bool is_vain; /* what it waits for never comes */
	uint64_t ran; /* as it was before the process was looked at */
	enum {
		UNKNOWN,
		LOCK,
		END,
		FILE_LOCK,
		STOP,
		SIGNAL,
		QUEUE,
		ANSWER,
		PROCESS
	} sort; /* STOP: it is stopped by a signal. QUEUE, ANSWER: it asks the thread that waits, which
	             * hasn't accepted, or read, what it sent. PROCESS: the one of the next step */
	int signal; /* SIGNAL: which it holds back */
	struct forked_wait lock;
	struct end end;
	int fd; /* by which it waits for that end */
	struct file_lock file;
	struct holder holder; /* who has that end or lock, or is asked */
};
#define STEPS 4
/* Follows the waits of a process: for an end that one process has, or for its child. Returns the number of
 * steps, at least 1. */
unsigned thrum__adapt_vain_steps(const struct look *, pid_t process, struct step[STEPS]);
/* Whether only the thread that waits has used an end which this process has. */
bool thrum__adapt_ends_is_own(const struct look *, const struct end *, const struct holder *);
/* Whether a process waits in vain, as far as can be seen. */
bool thrum__adapt_waits_in_vain(const struct look *, pid_t process);

/* Finds the only descriptor for which a process waits in a call. Returns it, or -1. */
int thrum__adapt_vain_descriptor(const struct look *, pid_t process, const struct process_call *,
	bool *writes);
/* Finds the end for which a process waits in a call: of a pipe, or of a pair of sockets that is known
 * here or to the kernel. */
bool thrum__adapt_vain_end(const struct look *, pid_t process, const struct process_call *,
	struct end *);
/* The same of a descriptor for which it waits in this call. */
bool thrum__adapt_vain_end_of(const struct look *, pid_t process, const struct process_call *,
	int fd, bool writes, struct end *);

/* A duplicate of a process's descriptor, for a COPY, to be closed at once: a thread that forks just then
 * would leave it to its child. -1: there is none. */
int thrum__adapt_vain_duplicate(const struct look *, pid_t process, int fd);
void thrum__adapt_vain_close(const int *copy);
#define COPY __attribute__((cleanup(thrum__adapt_vain_close)))

#define POLLED 64
struct pollfd;
/* Finds the descriptors, POLLED at most, of which one lets a process go on that waits in this call as long
 * as it takes. Returns how many there are; 0: it doesn't wait for several, or for too many. */
unsigned thrum__adapt_vain_polled(const struct look *, pid_t process, const struct process_call *,
	struct pollfd *polled);
/* Whether a process waits in poll() as an adapter's look: it goes on until there is something. Sets the
 * descriptor, if fd isn't NULL; to -1 if that look finds out nothing of others. */
bool thrum__adapt_vain_looker(const struct look *, pid_t process, const struct process_call *,
	int *fd);

/* ---- polled.c ---- */

/* Whether none of the other processes has an eventfd of this one, as /proc tells. */
bool thrum__adapt_polled_is_own(const struct look *, int fd);

/* ---- told_ends.c ---- */

/* Makes a task that ends with the wait; NONE: there are too many. */
thrum_task thrum__adapt_ends_make(struct wait *, enum thrum_kind, const char *label,
	const void *caller);
/* The same for the task of something that should come, and doesn't. */
thrum_task thrum__adapt_ends_missing(struct wait *, const char *label, const void *caller);
/* Makes the task of an end that should be closed, or read from: if this process has several threads, one of
 * these may still want to write. If it has but the one that waits, it is that which should. */
thrum_task thrum__adapt_ends_make_end(struct wait *, const struct look *, const struct end *,
	const struct holder *, int fd);
/* Makes the task of the call in which a process's thread waits, if that is known; else returns NONE. tid 0:
 * its main thread. The verb tells what it does. */
thrum_task thrum__adapt_ends_make_place(struct wait *, const struct look *, pid_t process,
	uint32_t tid, const char *verb);
/* Names a process that has an end. Returns the place behind it. */
char *thrum__adapt_ends_put_holder(char *to, const struct look *, pid_t process);
/* Names one that should write to a pipe, its role, and what its streams hold back. Returns the place behind
 * it. */
char *thrum__adapt_ends_put_writer(char *to, pid_t process, uint64_t inode, const char *role);
/* Records that the wait's source waits for a process, and why, if that can't do anything for it. */
void thrum__adapt_ends_tell(struct wait *, const struct look *, pid_t process);
/* Makes that of a signal that lets a stopped process go on. */
thrum_task thrum__adapt_ends_make_stop(struct wait *, pid_t process);
/* Records who has the end for which a call waits: those who may use it, or if nobody may, all. Those who can
 * go on come last: the wait is for them first of all. Returns whether it is in vain. */
bool thrum__adapt_ends_tell_holders(struct wait *, const struct look *, const struct end *, int fd,
	const struct holder *, unsigned count);
/* Records that a wait is for children, why that is in vain, and else which signal each doesn't hear. Returns
 * whether it is in vain. */
bool thrum__adapt_ends_tell_children(struct wait *, const struct look *, const pid_t *children,
	const struct unheard *, unsigned count);

/* ---- ends.c ---- */

/* While a thread looks from time to time, it waits in poll() with this argument. 0: it doesn't. + 1: it finds
 * out nothing of others. */
#define LOOKERS 16
extern _Atomic uintptr_t thrum__adapt_lookers[LOOKERS];
struct pollfd;
/* Others see from now on that the thread waits for what is in `one` as long as it takes. tells: it may find
 * out why that is in vain. NULL: there are too many. */
_Atomic uintptr_t *thrum__adapt_note_looker(const struct pollfd *one, bool tells);
/* Not any more; also when the thread is cancelled. */
void thrum__adapt_stop_looking(_Atomic uintptr_t *const *looker);
#define LOOKER __attribute__((cleanup(thrum__adapt_stop_looking), unused))
/* How many of them look just now, and how many looks have begun. */
extern _Atomic uint32_t thrum__adapt_look_counts[2];
/* Copies those of another process. Returns false if it isn't a copy of this one. */
bool thrum__adapt_ends_looks(const struct look *, pid_t, uint32_t looks[2]);
/* How many such waits have begun. */
extern _Atomic uint32_t thrum__adapt_looker_waits;

#endif
