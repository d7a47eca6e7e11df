/* SPDX-License-Identifier: ISC */
/* A process whose threads record at full speed, and another one that reads meanwhile. */
#ifndef LIVE_HELPER_H
#define LIVE_HELPER_H

#include "numbers_helper.h"

#define LIVE_THREADS 4

/* So many ms, and a recording of this size. Fails the test when something is missing without a
 * word, torn or out of order. */
void live_check(int ms, uint64_t size);

#endif
