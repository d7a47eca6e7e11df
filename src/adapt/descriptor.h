/* SPDX-License-Identifier: ISC */
/*
 * descriptor.c: whether a call that uses a descriptor may wait. It is found out at the first call, and
 * forgotten when the descriptor is closed, or its number is given out anew.
 */
#ifndef ADAPT_DESCRIPTOR_H
#define ADAPT_DESCRIPTOR_H

#include "adapt/adapt.h"

#define DESCRIPTORS 16384 /* calls that use others are not recorded */
enum descriptor_sort {
	DESCRIPTOR_UNKNOWN,
	DESCRIPTOR_QUICK, /* no call waits for an event: it is a file, or doesn't block */
	DESCRIPTOR_SLOW   /* a pipe, socket, terminal or the like that blocks */
};
extern _Atomic uint8_t thrum__adapt_descriptors[DESCRIPTORS];

static inline bool may_wait(int fd)
{
	return is_on(ADAPTER_BLOCK) && (unsigned)fd < DESCRIPTORS &&
		atomic_load_explicit(&thrum__adapt_descriptors[fd], memory_order_relaxed) !=
		DESCRIPTOR_QUICK;
}

/* Whether a call would wait now for one of these events, as for poll(); 0: for something else that it
 * may have to wait for. Keeps errno. */
bool thrum__adapt_would_wait(int fd, short events);

/* The numbers first … last mean something else from now on. */
void thrum__adapt_descriptors_forget(unsigned first, unsigned last);

/* Writes "VERB pipe 7" or the like. Keeps errno. Async-signal-safe. */
#define CALL_MAX 96
void thrum__adapt_put_call(char to[CALL_MAX], const char *verb, int fd);

#endif
