/* SPDX-License-Identifier: ISC */
/*
 * source/switches/: when the threads of a process were off their processors, as the kernel tells any
 * user about the processes that he starts (perf_event_open(2)); what else the kernel does on the
 * machine, as it tells root; and how that gets into a recording.
 *
 *   listen.c   opens the events, and empties the kernel's rings
 *   records.c  takes the records about the process      machine.c  those about the machine
 *   write.c    finds each thread's lane, and writes     entries.c  pairs the switches of a thread
 *   lanes.c    makes lanes of the machine           requests.c the requests that a device has
 *   split.c    lets others listen while it is written
 */
#ifndef SOURCE_SWITCHES_H
#define SOURCE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <thrum/trace.h>

#include "base/keys.h"

#define THRUM__NO_CPU UINT32_MAX

struct thrum__source_switch {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t cpu; /* NO_CPU: not known */
	enum thrum__source_switch_kind {
		THRUM__SWITCH_IN,
		THRUM__SWITCH_PREEMPTED, /* out, but it could have run */
		THRUM__SWITCH_BLOCKED,   /* out */
		THRUM__SWITCH_ENDED,     /* for ever */
		THRUM__SWITCH_WOKEN,     /* still out, but it could run from now on */
		/* The kernel begins to bring a page of memory that isn't there, and has brought it: without
		 * and with a wait for a device. */
		THRUM__SWITCH_FAULT,
		THRUM__SWITCH_MINOR,
		THRUM__SWITCH_MAJOR,
	} kind;
	uint32_t by; /* WOKEN: the thread that woke it; 0: an interrupt */
};

/* In the key of a soft interrupt. */
#define THRUM__KERNEL_SOFT (UINT64_C(1) << 32)

/* An event of the machine, not of a thread. */
struct thrum__source_kernel_event {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	/* BEGIN, END: tells which interrupt; ISSUE, REQUEUE, COMPLETE: the first sector; LOST: how many
	 * events the kernel had no room for, since the event before */
	uint64_t key;
	uint32_t cpu;
	uint32_t tid;    /* ISSUE: the thread that issued it */
	uint32_t device; /* ISSUE, REQUEUE, COMPLETE: its number, as the kernel has it */
	uint32_t bytes;  /* ISSUE */
	uint32_t name;   /* BEGIN, ISSUE: an index of `names` */
	enum thrum__source_kernel_type {
		THRUM__KERNEL_BEGIN, /* an interrupt, hard or soft */
		THRUM__KERNEL_END,
		THRUM__KERNEL_ISSUE,   /* a request to a block device */
		THRUM__KERNEL_REQUEUE, /* the device had no room for it */
		THRUM__KERNEL_COMPLETE,
		THRUM__KERNEL_LOST,
	} type;
};

/* The meaning of a tracepoint. */
enum thrum__source_point_use {
	THRUM__POINT_WAKE,
	THRUM__POINT_IRQ,
	THRUM__POINT_IRQ_END,
	THRUM__POINT_SOFTIRQ,
	THRUM__POINT_SOFTIRQ_END,
	THRUM__POINT_VECTOR, /* an interrupt of the processor itself; `name` tells which */
	THRUM__POINT_VECTOR_END,
	THRUM__POINT_ISSUE,
	THRUM__POINT_REQUEUE,
	THRUM__POINT_COMPLETE,
};

#define THRUM__POINTS_MAX 24
#define THRUM__POINT_FIELDS 4

struct thrum__source_point {
	uint32_t id; /* at the beginning of its data */
	enum thrum__source_point_use use;
	const char *name; /* VECTOR; static */
	/* Where its fields lie in its data, by use; size 0: it has none such. */
	struct thrum__source_field {
		uint32_t at, size;
	} fields[THRUM__POINT_FIELDS];
};

/* A time in which the kernel had no room for some switches, of any thread. */
struct thrum__source_switch_loss {
	uint64_t from, to; /* ns, CLOCK_MONOTONIC */
	uint64_t count;
};

struct thrum__source_switches {
	struct thrum__source_ring *rings; /* of the kernel, one or two for each processor */
	uint32_t ring_count;
	int *fds; /* of further events that write to these rings */
	uint32_t fd_count, fd_room;
	struct thrum__source_point points[THRUM__POINTS_MAX];
	uint32_t point_count;
	uint8_t *is_known; /* by thread: it was switched */
	uint32_t known_room;
	/* The latest switches. Once there is no room for more, next_old is the oldest one's index. */
	struct thrum__source_switch *all;
	uint32_t count, room, next_old;
	struct thrum__source_switch_loss *losses;
	uint32_t loss_count, loss_room;
	uint64_t forgotten; /* the time until which some are no longer kept */
	/* The latest events of the machine, in the order of each processor. Once there is no room for more,
	 * next_event is the oldest one's index. */
	struct thrum__source_kernel_event *events;
	uint32_t event_count, event_room, next_event;
	uint64_t forgotten_events;
	struct thrum__base_keys names; /* of interrupts and requests */
	bool has_events;               /* the machine's: else only wakes, whose loss matters less */
	bool failed;                   /* out of memory */
};

/*
 * Begins to listen to a process that hasn't executed its program yet: from that on to its threads and
 * children, and if `has_faults` also to their page faults. Returns 0 or a negative errno: -EACCES or
 * -EPERM when the kernel doesn't permit it. Close it with thrum__source_switches_close.
 */
int thrum__source_switches_open(struct thrum__source_switches *, pid_t, bool has_faults);
/*
 * Also listens to who wakes its threads, and if `has_events` to interrupts and block devices: the kernel
 * tells that of the whole machine. Wakes of others' threads are left out here. Tracepoints that this kernel
 * lacks are left out, but sched_waking. Returns 0 or a negative errno: -EACCES or -EPERM without root's
 * rights or CAP_PERFMON, -ENOENT when there is no tracefs that could be read, and -EXDEV in a container
 * with numbers of threads of its own, as the kernel tells the woken thread by the machine's.
 */
int thrum__source_switches_open_machine(struct thrum__source_switches *, bool has_events);
void thrum__source_switches_close(struct thrum__source_switches *);

/* Waits until the kernel has something to tell, `fd` can be read or `ms` are over. */
void thrum__source_switches_wait(struct thrum__source_switches *, int fd, int ms);
/* Takes all that the kernel tells. */
void thrum__source_switches_take(struct thrum__source_switches *);

/*
 * Takes one record of a ring about the process, as perf_event_open(2) describes it: PERF_RECORD_SWITCH,
 * _LOST or _EXIT, with a sample_id of TID, TIME and CPU at its end, or PERF_RECORD_SAMPLE of a page fault,
 * whose size tells what it means: see listen.c. *last is the time of the ring's record before, and becomes
 * that of this one. Records of other types, and those that are too short, are left out.
 */
void thrum__source_switches_record(struct thrum__source_switches *, uint64_t *last,
	const uint8_t *record, size_t size);
/* Takes one of a ring about the machine: PERF_RECORD_LOST, or PERF_RECORD_SAMPLE of TID, TIME, CPU and
 * RAW, the data of a tracepoint. */
void thrum__source_switches_machine_record(struct thrum__source_switches *, const uint8_t *record,
	size_t size);

/* Finds the places of a tracepoint's fields in its description, from tracefs. False: it lacks one that is
 * needed. */
bool thrum__source_switches_describe(struct thrum__source_point *, const char *format);

/*
 * Moves all that is kept to *kept, which thrum__source_switches_write takes while others go on to wait and
 * take. Returns 0, or -THRUM_E_MEMORY with *kept untouched.
 */
int thrum__source_switches_split(struct thrum__source_switches *,
	struct thrum__source_switches *kept);
/* Moves it back, with what came since behind it. */
void thrum__source_switches_join(struct thrum__source_switches *,
	struct thrum__source_switches *kept);

/*
 * Adds to a recording that nobody writes to any more when its threads were off their processors in its
 * time, and the lanes of the machine. Returns 0 or a negative enum thrum_error.
 */
int thrum__source_switches_write(const struct thrum__source_switches *, const char *file,
	struct thrum_error_info *);

/* ---- System calls -------------------------------------------------------------------------- */

/* A thread that was in one system call, and used no processor, as long as somebody looked at it. */
struct thrum__source_call {
	uint32_t process, tid;
	uint64_t start;    /* of the process: see thrum__source_process_lives */
	uint64_t from, to; /* the first and the last look; ns of CLOCK_MONOTONIC */
	char name[200];    /* as "flock(4) on x.lock" */
};

/*
 * Adds a lane to a recording that nobody writes to any more. In it each call is a handle, which the task
 * makes that ran in the thread, right after the thread's last event. Leaves out the calls of other
 * processes, of threads that recorded something since, and of those whose lane is suspended: there the
 * program itself tells why. Returns 0 or a negative enum thrum_error. O(the recording's bytes), or O(count)
 * if none is of its process.
 */
int thrum__source_calls_write(const struct thrum__source_call *, size_t count, const char *file,
	struct thrum_error_info *);

#endif
