/* SPDX-License-Identifier: ISC */
/* Xen under the example: hypercalls, event channels, shared memory, xenstore, time. */
#ifndef XEN_H
#define XEN_H

#include <stdbool.h>
#include <stdint.h>

/* Call this first. From then on the console works. */
void xen_start(void);

/* The time since the host was started, in ns. All domains of a host have it in common. */
uint64_t xen_time(void);
/* The time of day now, in ns from 1970. */
int64_t xen_time_of_day(void);

/* Returns a new event channel of this domain to itself. Its events call `handler` as interrupts. */
unsigned xen_event_channel(void (*handler)(void));
/* Sends an event. */
void xen_notify(unsigned channel);

/* Lends `pages` pages with a recording to dom0 and tells it where they are, as libthrum-xen does it for
 * Linux. Returns whether that worked. */
bool xen_publish(const void *memory, unsigned pages);

/* ---- For publish.c ---- */

/* Returns one of Xen's parameters of this domain, HVM_PARAM_... */
uint64_t xen_parameter(uint32_t number);
/*
 * Lets dom0 read `pages` pages from `memory` on. Returns the first of as many consecutive grant
 * references; 0: there aren't so many left.
 */
unsigned xen_share(const void *memory, unsigned pages);

/* Lets others run. */
void xen_yield(void);

#endif
