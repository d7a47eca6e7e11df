/* SPDX-License-Identifier: ISC */
/* Internal to switches/: how the kernel's words get into a recording. */
#ifndef SOURCE_SWITCHES_PARTS_H
#define SOURCE_SWITCHES_PARTS_H

#include "base/array.h"
#include "format/format.h"
#include "source/switches/switches.h"

/* The kernel adds this to the end of each record, and begins its samples with it. */
struct thrum__source_sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

/* A thread has a lane for a time. */
struct holding {
	uint32_t tid, lane;
	uint64_t from, until; /* ticks; until another thread has it */
	uint64_t own; /* the thread's own task: its lanes for signal handlers have the same */
	/* The thread's switch before those in `all`; none: IN at 0. */
	struct thrum__source_switch before;
};

struct reading {
	uint64_t ticks, monotonic;
};

/* A time in which the kernel told not all, of any thread; ticks. */
struct loss {
	uint64_t from, to;
};

/* A time in which a processor handled interrupts; ticks. */
struct busy {
	uint32_t cpu;
	uint64_t from, to;
};

/* Numbers for a packet that is added. */
struct numbers {
	uint64_t next_lane, next_base; /* no lane and no task has these numbers or more */
	uint32_t ticket;               /* the greatest of the packets */
};

struct writing {
	const struct thrum__source_switches *switches;
	struct thrum__source_switch *all; /* those of the recording's threads and time, by thread */
	uint32_t all_count, all_room;
	uint64_t frequency;
	uint64_t begin, until; /* ticks: of the oldest packet; of the recording's end */
	uint64_t lost;         /* switches in that time */
	bool is_cut;           /* its threads have gone on since */
	struct holding *holdings;
	uint32_t holding_count, holding_room;
	struct reading *readings;
	uint32_t reading_count, reading_room;
	struct loss *losses; /* by time; they don't overlap */
	uint32_t loss_count, loss_room;
	struct busy *busy; /* by processor and time; they don't overlap */
	uint32_t busy_count, busy_room;
	struct numbers numbers;
	struct thrum__off_cpu *entries;
	uint32_t count, room;
	bool failed; /* out of memory */
};

#define ADD(w, array, number, capacity, ...) \
	do { \
		void *grown = thrum__base_grow((w)->array, &(w)->capacity, \
			(w)->number + UINT64_C(1), sizeof *(w)->array); \
		if (!grown) { \
			(w)->failed = true; \
			break; \
		} \
		(w)->array = grown; \
		(w)->array[(w)->number++] = (__VA_ARGS__); \
	} while (0)

/* ---- packets.c ---- */

struct thrum__packet;
struct thrum__source_change;
typedef void visit_packet(void *data, const uint8_t *bytes, size_t size,
	const struct thrum__packet *);

/* Calls `visit` with each whole packet of a recording, and finds its numbers. Returns 0 or a negative enum
 * thrum_error. O(the recording's bytes). */
THRUM__MUST_USE int thrum__source_switches_packets(struct thrum__source_change *, struct numbers *,
	visit_packet *, void *data);
/* Writes where all lies in the file, and how many packets are used. The state stays, and so does all that
 * readers sleep on. Returns as above. */
THRUM__MUST_USE int thrum__source_switches_header(struct thrum__source_change *);

/* A request that a block device has. */
struct request {
	uint64_t sector, task; /* task 0: issued before the recording */
	bool is_used;
	bool is_back; /* the device had no room for it, so it will be issued again */
};

/* An empty table is all zero; the caller frees `all`. */
struct requests {
	struct request *all;
	uint32_t count, room;
};

/* Returns the request that begins at a sector, or NULL. */
struct request *thrum__source_requests_find(const struct requests *, uint64_t sector);
/* Adds one, or begins it anew; NULL: there is no memory. It is valid until the next one is added or
 * removed. */
struct request *thrum__source_requests_add(struct requests *, uint64_t sector);
void thrum__source_requests_remove(struct requests *, struct request *);

/* Keeps a switch, a loss, or an event of the machine; a switch and an event in the place of the oldest
 * one if there is no more room. */
void thrum__source_switches_keep(struct thrum__source_switches *,
	const struct thrum__source_switch *);
void thrum__source_switches_keep_loss(struct thrum__source_switches *,
	const struct thrum__source_switch_loss *);
void thrum__source_switches_keep_event(struct thrum__source_switches *,
	const struct thrum__source_kernel_event *);
/* Returns the lane that a thread had at a time: the first one of its own task. NULL: none yet. */
const struct holding *thrum__source_switches_holding_at(const struct writing *, uint32_t tid,
	uint64_t ticks);
/* Converts a time of CLOCK_MONOTONIC to ticks by the readings around it. */
uint64_t thrum__source_switches_ticks_at(const struct writing *, uint64_t monotonic);
/* Adds the lanes of the machine, and sets `busy`. Changes the header. Returns 0 or a negative enum
 * thrum_error. */
struct thrum__source_change;
int thrum__source_switches_add_lanes(struct writing *, struct thrum__source_change *);
/* Makes the entries of all threads, in the order of time. */
void thrum__source_switches_make_entries(struct writing *);

#endif
