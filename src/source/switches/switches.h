/* SPDX-License-Identifier: ISC */
/*
 * source/switches/: when the threads of a process were off their processors, as the kernel tells any
 * user about the processes that he starts (perf_event_open(2)), and how that gets into a recording.
 */
#ifndef SOURCE_SWITCHES_H
#define SOURCE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
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
		THRUM__SWITCH_ENDED,     /* for ever */
		THRUM__SWITCH_WOKEN,     /* still out, but it could run from now on */
	} kind;
	uint32_t by; /* WOKEN: the thread that woke it; 0: an interrupt */
};

/* A time in which the kernel had no room for some switches, of any thread. */
struct thrum__source_switch_loss {
	uint64_t from, to; /* ns, CLOCK_MONOTONIC */
	uint64_t count;
};

struct thrum__source_switches {
	struct thrum__source_ring *rings; /* of the kernel, one or two for each processor */
	uint32_t ring_count;
	uint32_t pid_at;   /* in the data of a wake: where the woken thread stands */
	uint8_t *is_known; /* by thread: it was switched */
	uint32_t known_room;
	/* The latest switches. Once there is no room for more, next_old is the oldest one's index. */
	struct thrum__source_switch *all;
	uint32_t count, room, next_old;
	struct thrum__source_switch_loss *losses;
	uint32_t loss_count, loss_room;
	uint64_t forgotten; /* the time until which some are no longer kept */
	bool failed;        /* out of memory */
};

/*
 * Begins to listen to a process that hasn't executed its program yet: from that on to its threads and
 * children. Returns 0 or a negative errno: -EACCES or -EPERM when the kernel doesn't permit it. Close
 * it with thrum__source_switches_close.
 */
int thrum__source_switches_open(struct thrum__source_switches *, pid_t);
/*
 * Also listens to who wakes its threads: the kernel tells that of all threads of the machine, and all but
 * those of the process are left out here. Returns 0 or a negative errno: -EACCES or -EPERM without root's
 * rights or CAP_PERFMON, -ENOENT when there is no tracefs that could be read, and -EXDEV in a container
 * with numbers of threads of its own, as the kernel tells the woken thread by the machine's.
 */
int thrum__source_switches_open_wakes(struct thrum__source_switches *);
void thrum__source_switches_close(struct thrum__source_switches *);

/* Waits until the kernel has something to tell, `fd` can be read or `ms` are over. */
void thrum__source_switches_wait(struct thrum__source_switches *, int fd, int ms);
/* Takes all that the kernel tells. */
void thrum__source_switches_take(struct thrum__source_switches *);

/*
 * Takes one record of a ring, as perf_event_open(2) describes it: PERF_RECORD_SWITCH, _LOST or _EXIT,
 * with a sample_id of TID, TIME and CPU at its end, or PERF_RECORD_SAMPLE of these and RAW, the data of
 * sched_waking. *last is the time of the ring's record before, and becomes that of this one. Records of
 * other types, and those that are too short, are left out.
 */
void thrum__source_switches_record(struct thrum__source_switches *, uint64_t *last,
	const uint8_t *record, size_t size);

/* Finds the place of the woken thread's number in the description of sched_waking, from tracefs. 0: it
 * isn't there. */
uint32_t thrum__source_switches_pid_at(const char *format);

/*
 * Adds to a recording that nobody writes to any more when its threads were off their processors in its
 * time. Returns 0 or a negative enum thrum_error.
 */
int thrum__source_switches_write(const struct thrum__source_switches *, const char *file,
	struct thrum_error_info *);

#endif
