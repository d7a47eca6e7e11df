/* SPDX-License-Identifier: ISC */
/* needs.c: who could end a wait for the kernel's semaphores and queues, or in shared memory. As
 * base/process.h. */
#ifndef ADAPT_NEEDS_H
#define ADAPT_NEEDS_H

#include "adapt/relatives/processes.h"

#include <sys/syscall.h>

#ifndef SYS_semtimedop
#define SYS_semtimedop SYS_semtimedop_time64
#endif
#define IPC_NAME 48

/* Such a wait. */
struct ipc_need {
	enum {
		IPC_SEMAPHORE,
		IPC_MESSAGE, /* that should come */
		IPC_ROOM,    /* for a message */
		IPC_FUTEX    /* of a lock, a condition or a semaphore in shared memory */
	} sort;
	/* Bits of the look's processes: those that could end the wait, with the one that waits (0: others
	 * could, too); and those of them that are likely to. */
	uint32_t wakers, by;
	pid_t ended; /* the process that should have ended the wait; 0: it isn't known */
	char name[IPC_NAME + 32], ended_name[16];
};

/* Finds for which of these a thread of a process waits, as long as it takes. Returns false if for none. */
bool thrum__adapt_ipc_need(const struct look *, pid_t process, uint32_t tid,
	const struct process_call *, struct ipc_need *);

/* Whether there is a copy of this process that isn't among those: it has lost its parent. */
bool thrum__adapt_ipc_has_orphans(const struct look *);

/* Differs in each wait of a thread that looks from time to time; 0: it doesn't. */
uint32_t thrum__adapt_ipc_turn(pid_t process, uint32_t tid);

/* Names what doesn't come. Returns the place behind it. Room: PROCESS_TEXT and 2 * PLACE_MAX. */
char *thrum__adapt_ipc_put(char *to, const struct ipc_need *);

/* Whether memory of a process is shared with its relatives, and has no name by which
 * others could find it. */
bool thrum__adapt_ipc_is_nameless(pid_t, unsigned long address);
#define IPC_MEMORY 128
/* Names an address in such memory of this process as all who share it do: "0x28 in shared memory 00:01:2084".
 * Returns false if it isn't such memory. */
bool thrum__adapt_ipc_put_address(char to[IPC_MEMORY], const void *address);

/* The number of a queue that is a descriptor, by its path in /proc; 0: not known. is_private: it has no
 * name any more. */
uint64_t thrum__adapt_ipc_mq_number(const char *path, bool *is_private);
void thrum__adapt_ipc_mq_name(char name[IPC_NAME], const char *path);

#endif
