/* SPDX-License-Identifier: ISC */
/*
 * source/switches/: when the threads of a process were off their processors, as the kernel tells any
 * user about the processes that he starts (perf_event_open(2)), and how that gets into a recording.
 */
#ifndef SOURCE_SWITCHES_H
#define SOURCE_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <thrum/trace.h>

struct thrum__source_switch {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint32_t tid;
	enum thrum__source_switch_kind {
		THRUM__SWITCH_IN,
		THRUM__SWITCH_PREEMPTED, /* out, but it could have run */
		THRUM__SWITCH_BLOCKED,   /* out */
		THRUM__SWITCH_LOST, /* the kernel had no room for some switches, of any thread */
	} kind;
};

struct thrum__source_switches {
	struct thrum__source_ring *rings; /* of the kernel, one for each processor */
	uint32_t ring_count;
	/* The latest switches. Once there is no room for more, next_old is the oldest one's index. */
	struct thrum__source_switch *all;
	uint32_t count, room, next_old;
	uint64_t lost; /* how many the kernel had no room for */
	bool failed;   /* out of memory */
};

/*
 * Begins to listen to a process that hasn't executed its program yet: from that on to its threads and
 * children. Returns 0 or a negative errno: -EACCES or -EPERM when the kernel doesn't permit it. Close
 * it with thrum__source_switches_close.
 */
int thrum__source_switches_open(struct thrum__source_switches *, pid_t);
void thrum__source_switches_close(struct thrum__source_switches *);

/* Waits until the kernel has something to tell, `fd` can be read or `ms` are over. Then takes all that
 * it tells. */
void thrum__source_switches_take(struct thrum__source_switches *, int fd, int ms);

/*
 * Adds to a recording whose process has ended when its threads were off their processors. No more may
 * be taken then: this sorts the switches. Returns 0 or a negative enum thrum_error.
 */
int thrum__source_switches_write(struct thrum__source_switches *, const char *file,
	struct thrum_error_info *);

#endif
