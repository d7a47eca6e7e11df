/* SPDX-License-Identifier: ISC */
/* Tells dom0 what time it is in this guest. Private to the room. */
#ifndef XEN_CLOCK_H
#define XEN_CLOCK_H

#include <stdbool.h>

/* Answers dom0 from now on until the process ends, in a thread of its own. Returns whether that
 * works. Not thread-safe. */
bool thrum__xen_clock_start(void);

#endif
