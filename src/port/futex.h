/* SPDX-License-Identifier: ISC */
/*
 * port/futex: sleep on a word of shared memory until another process wakes the sleepers.
 *
 * One side changes the word and calls thrum__port_wake; the other reads the word, acts on it, and
 * passes the value that it saw to thrum__port_wait.
 */
#ifndef PORT_FUTEX_H
#define PORT_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Sleeps until somebody calls thrum__port_wake for this word, at most `ms` milliseconds. Returns at
 * once if the word differs from `seen` or if `ms` is not positive, and may also return early. The
 * word may lie in memory shared between processes. May change errno.
 */
void thrum__port_wait(_Atomic uint32_t *word, uint32_t seen, int ms);

/* Wakes all sleepers on this word, in any process. Async-signal-safe; keeps errno. Costs one system
 * call. */
void thrum__port_wake(_Atomic uint32_t *word);

#endif
