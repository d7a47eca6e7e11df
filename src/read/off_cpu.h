/* SPDX-License-Identifier: ISC */
/* read/off_cpu: the states of threads that are off their processors, and their words in events. */
#ifndef READ_OFF_CPU_H
#define READ_OFF_CPU_H

#include <stddef.h>

/* The last three are not the thread's own time, either. */
#define THRUM__OFF_CPU_WORDS(X) \
	X(BLOCKED, "blocked")                /* it waited in the kernel */ \
	X(PREEMPTED, "preempted")            /* it could have run */ \
	X(UNKNOWN, "unknown")                /* it isn't known whether it ran */ \
	X(WOKEN, "woken")                    /* it could have run, after it had waited */ \
	X(FAULT, "page fault")               /* the kernel brought a page of memory */ \
	X(PAGING, "blocked in a page fault") /* BLOCKED until a page of memory is read */ \
	X(INTERRUPTED, "interrupted")        /* its processor handled interrupts */

enum thrum__off_cpu_state {
#define X(name, words) THRUM__OFF_CPU_##name,
	THRUM__OFF_CPU_WORDS(X)
#undef X
	THRUM__OFF_CPU_STATES,
};

/* Tells who woke a thread that is WOKEN. */
enum thrum__off_cpu_waker {
	THRUM__OFF_CPU_BY_TASK, /* the event's other one, or nobody knows */
	THRUM__OFF_CPU_BY_INTERRUPT,
	THRUM__OFF_CPU_BY_PROGRAM, /* a program that isn't recorded */
};

/* The lane in whose handles `thrum record` tells the system calls in which threads hung. */
#define THRUM__CALLS_LANE "system calls"

/* Returns an event's text. */
const char *thrum__read_off_cpu_text(enum thrum__off_cpu_state, enum thrum__off_cpu_waker);
/* Returns the state that such a text tells; BLOCKED for any other text. */
enum thrum__off_cpu_state thrum__read_off_cpu_state(const char *text, size_t size);

#endif
