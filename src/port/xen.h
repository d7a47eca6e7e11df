/* SPDX-License-Identifier: ISC */
/* Xen's time, which all domains of a host have in common. */
#ifndef PORT_XEN_H
#define PORT_XEN_H

#include <stdint.h>

/* One time on two clocks, in ns. They may differ by `error` from that, in either direction. */
struct thrum__port_xen_times {
	uint64_t monotonic; /* this machine's CLOCK_MONOTONIC */
	uint64_t xen;       /* since the host was started */
	uint64_t error;
};

/*
 * Reads both clocks in a domain of Xen. Needs /dev/xen/privcmd, so root and the module xen-privcmd.
 * Takes some ms. Returns 0 or a negative errno.
 */
int thrum__port_xen_times(struct thrum__port_xen_times *);

#endif
