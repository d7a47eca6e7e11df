/* SPDX-License-Identifier: ISC */
/*
 * The reader of thrum's recordings.
 *
 *   thrum.c         opening, closing, refreshing; definitions
 *   thrum_clock.c   ticks to ns; which times are plausible
 *   thrum_scan.c    which packets there are, and of which lanes
 *   thrum_order.c   the packets of a lane in order; which of them can't be right
 *   thrum_lane.c    a lane's packets one after the other, what is missing between them
 *   thrum_decode.c  bytes of a packet to events; thrum_show.h: which events a record stands for
 *   thrum_live.c    tasks whose beginnings are overwritten, from the table of live tasks
 *   thrum_merge.c   the lanes' events in the order of time
 *
 * Nothing found in a recording is trusted. Only packet headers are looked at when a trace is
 * opened; a packet's content is copied when its turn comes, so that memory holds one packet for
 * each lane that has events at that time.
 */
#ifndef READ_THRUM_READER_H
#define READ_THRUM_READER_H

#include "read/read.h"

#define BATCH 128 /* events that a lane decodes at once */

/* ---- What is in the recording -------------------------------------------------------------- */

struct packet_ref {
	uint64_t lane, seq;
	uint64_t begin; /* ticks */
	uint64_t first; /* of the first event; when there is none, begin */
	uint64_t own;
	uint32_t tid, ticket;
	uint32_t content; /* bytes */
	enum packet_state {
		PACKET_NONE,
		PACKET_GOOD,
		PACKET_BAD,
		PACKET_TOLD
	} state;
	const char *why; /* is it bad */
};

/* A definition that was asked for. */
struct definition {
	uint32_t type; /* 0: there is none of this number, or it is broken */
	uint32_t text_size;
	char text[116];
	char unknown[8]; /* what is shown in its place where it has the wrong type */
	struct thrum_trace_site site;
};

/* A moment at which something of the table of live tasks happened. */
struct remembered {
	uint64_t ticks;
	uint32_t task; /* in live.tasks */
	uint32_t lane; /* in reader.lanes */
	bool is_wait;
};

struct live {
	struct thrum__live_task *tasks;
	uint8_t *seen;    /* of each task: SEEN_ flags */
	uint32_t *places; /* of id mod the table's size: index in tasks, + 1 */
	uint64_t mask;
	struct remembered *queue;
	size_t count, queued, next;
	char label[sizeof((struct thrum__live_task *)0)->label + 3];
	struct thrum_event events[4];
};

struct clock {
	uint64_t base;       /* ticks; time 0 */
	uint64_t multiplier; /* ns a tick, times 2^(64 - shift) */
	unsigned shift;
	double ns_per_tick;
	uint64_t first,
		latest; /* ticks of the readings: when recording began; the last we know of */
	uint64_t slack; /* ticks that a time may lie beyond them */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

/* Room for a packet in flight and the events made from it. */
struct slot {
	struct slot *next_free;
	size_t first, count; /* events that are still to be given; how many there are */
	struct thrum_event events[BATCH];
	char note[160];              /* text of the last event, when it is lost or damaged */
	_Alignas(8) uint8_t bytes[]; /* of the packet */
};

struct span_of_text {
	const char *text;
	uint32_t size;
};

struct lane {
	struct thrum_trace_lane shown;
	uint32_t number;  /* in the trace */
	size_t next, end; /* packets to come, in reader.order */

	/* When packets were looked for before: whether there were any, and the last one's number.
	 */
	bool was_seen;
	uint64_t seen_seq;

	/* The packet that is being read; also, without a slot, one that was read to its end and may
	 * grow. */
	struct slot *slot;
	uint32_t packet, ticket;
	uint64_t seq;
	uint32_t tid;
	bool has_begun; /* seq says something */
	bool may_grow;
	bool has_grown;
	bool has_vanished; /* it may have grown, but it is gone */
	bool is_cut;       /* the file ends in it, and that wasn't told yet */
	uint32_t at, content, counted;

	/* What the decoder knows. */
	uint64_t last;  /* ticks: nothing that comes is earlier */
	uint64_t ticks; /* of the last event of this packet, or of its beginning */
	uint64_t bound; /* ticks of the next packet: nothing here is later */
	uint64_t id_base, own, running;
	struct span_of_text name;   /* for definition 0 in the next record */
	struct span_of_text reason; /* of the suspension */
	char name_copy[THRUM_TEXT_MAX + 1], reason_copy[THRUM_TEXT_MAX + 1];
};

struct heap_entry {
	uint64_t ticks;
	uint32_t lane;
};

struct reader {
	struct thrum_trace trace; /* first: the public handle */
	struct thrum__header header;
	struct clock clock;
	bool is_dead;    /* the recorder's process, since before packets were last looked for */
	bool holds_back; /* there are packets that wait for the next look */
	bool has_ended;  /* when packets were last looked for, the recorder had stopped */

	struct packet_ref *packets; /* by index */
	size_t packet_count;
	uint32_t *order;  /* indexes of good packets, by lane and sequence number */
	uint64_t missing; /* packets beyond the end of a truncated file */
	bool missing_told;
	bool has_bad; /* some packet's state is PACKET_BAD, from bad_next on */
	size_t bad_next;

	struct definition **definitions; /* NULL: not asked for yet */
	uint32_t definition_room;
	uint32_t definition_count; /* in the recording */

	struct lane *lanes;
	uint32_t *lanes_by_number;
	uint32_t lane_count, lane_room;
	struct heap_entry *heap;
	uint32_t heap_count;
	struct slot *free_slots;
	struct slot *notes; /* what concerns no lane */
	struct live live;
};

/* ---- thrum.c */
/* The definition of this number; never NULL but when memory is short. */
const struct definition *thrum__read_definition(struct reader *, uint32_t number);
/* The index of the lane with this number, made when it is new; or -THRUM_E_MEMORY. */
int64_t thrum__read_lane_index(struct reader *, uint64_t number);

/* ---- thrum_clock.c */
void thrum__read_clock_init(struct reader *);
/* Looks for a newer reading. */
void thrum__read_clock_update(struct reader *);
/* Whether something can have happened at `ticks`, `last` being the time of what is known to have
 * happened. */
bool thrum__read_clock_is_plausible(struct reader *, uint64_t ticks, uint64_t last);

static inline int64_t clock_ns(const struct clock *clock, uint64_t ticks)
{
	uint64_t distance = (ticks - clock->base) << clock->shift;
#ifdef __SIZEOF_INT128__
	return (int64_t)((__int128)(int64_t)distance * (int64_t)clock->multiplier >> 64);
#else
	bool is_before = (int64_t)distance < 0;
	uint64_t a = is_before ? -distance : distance, b = clock->multiplier;
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
	uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
	uint64_t high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);

	return is_before ? -(int64_t)high - 1 : (int64_t)high;
#endif
}

/* ---- thrum_scan.c */
/* Looks at all packets' headers. Returns 1 when something is new, else 0; or a negative enum
 * thrum_error. */
int thrum__read_scan(struct reader *);
/* The time of a packet's first event, or of its beginning when there is none. */
uint64_t thrum__read_packet_first(const uint8_t *bytes, size_t size);

/* ---- thrum_order.c */
/* Fills reader.order; marks packets bad that contradict their neighbours. Returns how many are in
 * it, or -THRUM_E_MEMORY. */
int64_t thrum__read_order_packets(struct reader *);
/* Whether two packets of a lane can have been written by one thread. */
static inline bool same_writer(const struct packet_ref *a, const struct packet_ref *b)
{
	return a->own == b->own || a->tid == b->tid;
}

/* ---- thrum_lane.c */
/*
 * Fills an empty batch with the lane's next events. Returns 1; 0 when there are none (now); or a
 * negative enum thrum_error.
 */
int thrum__read_lane_fill(struct reader *, struct lane *);
/* After packets were looked for, lane->next to lane->end being the lane's: skips what was read
 * already. */
void thrum__read_lane_reposition(struct reader *, struct lane *);
struct slot *thrum__read_slot_take(struct reader *);
/* Appends a lost or damaged event, which ends the batch. */
void thrum__read_note(struct reader *, struct slot *, enum thrum_event_type, uint32_t lane,
	uint64_t ticks, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* ---- thrum_decode.c */
struct bad_record {
	const char *why; /* NULL: all is well */
	bool is_cut;     /* it goes on behind the content */
	bool has_id;     /* id is part of the text */
	unsigned id;
};
/* Decodes records from lane->at on until the batch is full, the content ends, or the record at
 * lane->at is bad. */
struct bad_record thrum__read_decode(struct reader *, struct lane *);

/* ---- thrum_live.c */
int thrum__read_live_init(struct reader *);
/* Gives each lane that is named in the table an index, also when it has no packets any more. */
int thrum__read_live_find_lanes(struct reader *);
void thrum__read_live_finish(struct reader *);
/* The earliest time in the table, or `ticks` when that is earlier. */
uint64_t thrum__read_live_earliest(const struct reader *, uint64_t ticks);
/* These events are in packets, so they needn't be remembered. */
void thrum__read_live_see(struct live *, const struct thrum_event *, size_t count);
/* Remembered events of the next moment, if that is before `ticks`; returns how many. */
size_t thrum__read_live_give(struct reader *, uint64_t ticks, const struct thrum_event **);

/* ---- thrum_merge.c */
/* Puts all lanes in which there is something to read into the heap. */
void thrum__read_merge_restart(struct reader *);
int thrum__read_merge_next(struct thrum_trace *, const struct thrum_event **, size_t *count,
	struct thrum_error_info *);

#endif
