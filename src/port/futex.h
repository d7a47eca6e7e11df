/* SPDX-License-Identifier: ISC */
/*
 * port/futex: sleeping on a word of shared memory until another process changes it.
 */
#ifndef PORT_FUTEX_H
#define PORT_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Sleeps until somebody calls thrum__port_wake for this word, at most `ms` milliseconds. Returns at
 * once when the word isn't `seen` any more; may also return early. The word may lie in memory
 * shared between processes.
 */
void thrum__port_wait(_Atomic uint32_t *word, uint32_t seen, int ms);

/* Wakes all who sleep on this word, in any process. Async-signal-safe; leaves errno alone. One
 * system call. */
void thrum__port_wake(_Atomic uint32_t *word);

#endif
