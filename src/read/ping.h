/* SPDX-License-Identifier: ISC */
/* read/ping: what the agents of two machines found when they compared their clocks. A bundle has an array
 * of these in an entry of its own. */
#ifndef READ_PING_H
#define READ_PING_H

#include <stdint.h>

#define THRUM__PING_ENTRY "thrum.clocks" /* the entry's name */
#define THRUM__PINGS_MAX 65536u

/* One agent asked, the other one answered. */
struct thrum__ping {
	uint64_t asker, answerer; /* the machines, as in thrum_trace_info.boot */
	/* CLOCK_MONOTONIC in ns: of the asker when it asked, of the other one when it heard that and
	 * when it answered, and of the asker when it had the answer. */
	int64_t asked, heard, answered, back;
};

_Static_assert(sizeof(struct thrum__ping) == 48, "the size in bundles");

#endif
