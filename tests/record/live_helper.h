/* SPDX-License-Identifier: ISC */
/* A process whose threads record at full speed, and another process that reads meanwhile. */
#ifndef LIVE_HELPER_H
#define LIVE_HELPER_H

#include "numbers_helper.h"

#define LIVE_THREADS 4

/* Runs both for `ms` milliseconds with a recording of `size` bytes. Fails the test if an event is
 * torn, out of order, or missing without being counted. */
void live_check(int ms, uint64_t size);

#endif
