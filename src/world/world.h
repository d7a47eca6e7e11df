/* SPDX-License-Identifier: ISC */
/*
 * world/: several recordings as one trace, which every reader of traces can read. The recordings of
 * one machine have common times. Those of several machines get them from the messages between them, and
 * from pings: clock.h. The trace tells the process of each lane, and by how much its times may be wrong.
 *
 *   join.c    the trace: the events of all parts in the order of time
 *   links.c   the messages between parts
 *   hosts.c   the machines, and what is known of their clocks without messages
 *   talks.c   the messages of each two machines
 *   clock.c   the difference of clocks
 *   estimate.c  a time within the bounds of each clock
 *   times.c   the common time
 *   off_cpu.c what a kernel's trace tells of the threads of recordings
 *   bundle.c  several recordings in one file
 *   memory.c  a file in memory
 *
 * Nothing here does I/O; all of it works in the browser, too.
 */
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include "read/ping.h"
#include "read/read.h"

#define THRUM__WORLD_PARTS_MAX 64
#define THRUM__WORLD_ID_STEP UINT64_C(1000000000000) /* between the ids of parts */

/* A recording: opened twice, since its messages are read before its events. */
struct thrum__world_part {
	struct thrum_trace *trace, *again;
	const char *file; /* its name tells parts of one program apart; the call copies it */
	uint32_t bundle;  /* parts of one bundle have the same number; 0: it is of none */
};

/*
 * Joins recordings. In the new trace, tasks of part p have the ids 10^12 * p and more; the names
 * of lanes and counters begin with the process. A task switch or wait that one part didn't record
 * counts as unrecorded for all. Where a part ends before others, its lanes are suspended.
 *
 * `pings` may be NULL if there are none; the call needs them no longer than it lasts.
 *
 * *messages becomes the number of messages that one part sent and another one received, without those
 * within a bundle. The new
 * trace owns the parts; after a failure they are closed. Returns 0 or a negative enum thrum_error:
 * -THRUM_E_FORMAT for a trace of mirage-profile, -THRUM_E_ARGUMENT for too many parts. Reads all parts
 * once.
 */
THRUM__MUST_USE int thrum__world_join(const struct thrum__world_part *parts, size_t count,
	const struct thrum__ping *pings, uint32_t ping_count, struct thrum_trace **trace,
	uint64_t *messages, struct thrum_error_info *);

/* Where parts come from while a trace of several goes on. */
struct thrum__world_more {
	void *owner;
	/* Returns 1 with the next part, of which `again` is NULL, or 0: there is none now. */
	int (*next)(void *owner, struct thrum__world_part *);
	void (*close)(void *owner); /* called when the parts are closed */
};

/*
 * Takes parts that come later, as long as a part goes on and there is room. Their machines' clocks are known
 * by CLOCK_REALTIME alone, unless the machine has another part. `trace` is one that thrum__world_join made.
 */
void thrum__world_take_more(struct thrum_trace *, const struct thrum__world_more *);

#endif
