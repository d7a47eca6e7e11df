/* SPDX-License-Identifier: ISC */
/* The declarations that the files of world/ share. Private to the room. */
#ifndef WORLD_PARTS_H
#define WORLD_PARTS_H

#include "read/off_cpu.h"
#include "world/clock.h"
#include "world/world.h"

/* ---- links.c ---- */

/* One event of a link. */
struct thrum__world_link {
	uint64_t key;   /* a hash: two keys that share one cost a wrong message at worst */
	uint64_t clock; /* ticks of the part's clock */
	uint32_t part;
	bool is_send;
	/* It is of a connection that the adapters saw; then is_send tells the end instead. */
	enum {
		NO_CONNECTION,
		SENDS,
		RECEIVES
	} of_connection;
};

/* A message from one part to another, by indices of links. */
struct thrum__world_message {
	uint32_t sent, received;
};

struct thrum__world_links {
	struct thrum__world_link *all; /* by key */
	uint32_t count, room;
	struct thrum__world_message *messages;
	uint32_t message_count, message_room;
	uint32_t streamed; /* messages over connections between parts */
	/* Keys that several parts use, but one for messages to itself: others mean something else
	 * by them. In order. */
	uint64_t *own;
	uint32_t own_count, own_room;
};

/* The number by which a key is known. */
uint64_t thrum__world_key(const char *text, uint32_t size);
/* Adds the event of a part if it is one of a link. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__world_links_take(struct thrum__world_links *, uint32_t part,
	const struct thrum_event *);
/* Finds the messages between parts. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__world_links_match(struct thrum__world_links *);
/* Whether each part means a key for itself. */
bool thrum__world_links_is_own(const struct thrum__world_links *, uint64_t key);
void thrum__world_links_finish(struct thrum__world_links *);

/* ---- times.c ---- */

/* A moment on a host's clock and the common time then, both in ns. */
struct thrum__world_knot {
	int64_t at, common;
};

/* The clock of a part, which begins with the ticks `first`, and of its host. */
struct thrum__world_clock {
	uint64_t first;
	int64_t ns; /* the host's clock at `first` */
	double ns_per_tick;
	uint32_t host;
	struct thrum__world_knot *knots; /* of the host */
	uint32_t knot_count;
	int64_t zero;                 /* the common time that is 0 in the trace */
	struct thrum__world_knot own; /* of a host that came later */
};

struct thrum__world_times {
	struct thrum__world_clock clocks[THRUM__WORLD_PARTS_MAX]; /* by part */
	struct thrum__world_knot *knots; /* host by host; those of host 0 first */
	uint32_t host_count;
	int64_t *errors; /* by knot and pair of hosts: see struct thrum__read_clocks */
	struct thrum__read_clocks apart;
};

/* Finds the common time of all parts. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__world_times_make(struct thrum__world_times *,
	const struct thrum__world_part *parts, size_t count, const struct thrum__world_links *,
	const struct thrum__ping *pings, uint32_t ping_count);
void thrum__world_times_finish(struct thrum__world_times *);
/* The trace's time at which a part's clock showed so many ticks. Later ticks give no earlier time. */
int64_t thrum__world_time(const struct thrum__world_clock *, uint64_t ticks);

/* ---- off_cpu.c ---- */

/* A thread of a recording. */
struct thrum__world_thread {
	uint32_t tid, part, lane, host;
	uint64_t from, own; /* ticks, of its first event; 0: unknown, as its own task is then */
	int64_t begin;      /* the same time and `host`, once they are known */
};

/* A time in which a thread was off its processor: first in ticks of the kernel's trace, which is `part`; then
 * in ns of the whole trace. */
struct thrum__world_off {
	int64_t begin, end;
	uint64_t other;      /* the own task of the thread that woke it; 0: unknown */
	uint32_t tid, waker; /* waker: see off_cpu.c */
	uint32_t part, lane;
	uint8_t state;
};

struct thrum__world_off_cpu {
	bool is_wanted; /* there is a kernel's trace */
	/* By part: it tells such times itself, or its threads have other numbers. */
	bool is_left_out[THRUM__WORLD_PARTS_MAX];
	struct thrum__world_thread *threads;
	uint32_t thread_count, thread_room;
	struct thrum__world_off *all;
	uint32_t count, room, next;
};

/* Whether a trace is one of a kernel. Those are read after all others. */
bool thrum__world_is_kernel(const struct thrum_trace_info *);
/* Reads a part to its end: takes the events of its links, its threads or their times. Returns 0 or a negative
 * enum thrum_error. */
THRUM__MUST_USE int thrum__world_read(struct thrum__world_off_cpu *, struct thrum__world_links *,
	uint32_t part, struct thrum_trace *, struct thrum_error_info *);
/* Finds the lanes of the times, and their order. */
void thrum__world_off_cpu_place(struct thrum__world_off_cpu *, const struct thrum__world_times *,
	const struct thrum__world_part *parts);
/* Makes an event of one; the lane is missing. */
void thrum__world_off_cpu_give(const struct thrum__world_off *, struct thrum_event *);
void thrum__world_off_cpu_finish(struct thrum__world_off_cpu *);

/* ---- join.c ---- */

/* The id in the trace of a part's task. */
static inline uint64_t thrum__world_id(uint32_t part, uint64_t id)
{
	return id ? id + part * THRUM__WORLD_ID_STEP : 0;
}

/* ---- names.c ---- */

#define THRUM__WORLD_NAME 160
/* Writes a name of a part, in half of that room: its program, or, if `file` isn't NULL, that without folder
 * and ending. That of a forked child, "web.thrum.4711", is "web.4711". */
void thrum__world_put_name(const struct thrum_trace_info *, const char *file,
	char to[THRUM__WORLD_NAME]);

/* ---- hosts.c ---- */

/* Adds the clock of parts[count], which has come later. If its host is a new one, CLOCK_REALTIME alone tells
 * its time. */
void thrum__world_times_add(struct thrum__world_times *,
	const struct thrum_trace_info *const *parts, size_t count);

#endif
