/* SPDX-License-Identifier: ISC */
/*
 * read/thrum/: the reader of thrum's recordings.
 *
 *   thrum.c   opens, closes and refreshes; finds lanes and definitions by their numbers
 *   clock.c   converts ticks to ns; tells which times are plausible
 *   scan.c    finds the packets and their lanes
 *   order.c   puts the packets of a lane in order; refuses those that can't be right
 *   lane.c    copies a lane's packets one after the other; notes the gaps between them
 *   decode.c  turns the bytes of a packet into events; show.h: the events that a record stands for
 *   live.c    makes up the beginnings of tasks that are overwritten, from the table of live tasks
 *   control.c makes events of the changes of the mask
 *   off_cpu.c makes events of the times in which threads were off their processors
 *   merge.c   gives the events of all lanes in the order of time
 *   follow.c  gives them packet by packet, as these are finished
 *   window.c  chooses a part of a recording that is too large to be read whole
 *
 * This header is private to the folder; from outside one uses thrum__read_thrum_format
 * (read/read.h).
 *
 * Nothing found in a recording is trusted. Opening a trace reads the packets' headers only. A
 * packet's content is copied when its turn comes, a chunk at a time, so memory holds one chunk for
 * each lane that has events at that time.
 *
 * A recorder may write to the recording while it is read. Times are ticks of the recording's clock
 * unless a comment says ns.
 */
#ifndef READ_THRUM_READER_H
#define READ_THRUM_READER_H

#include "format/control.h"
#include "read/read.h"

#define BATCH 128 /* events that a lane decodes at once */
/* Bytes of a packet that are copied at once. Smaller packets are copied whole. */
#define CHUNK_SIZE (1u << 18)

/* ---- The content of a recording ------------------------------------------------------------ */

/* The part of a packet's header that the reader needs. */
struct packet_ref {
	uint64_t lane, seq; /* the numbers of the lane, and of the packet in the lane */
	uint64_t begin;     /* ticks */
	uint64_t first;     /* ticks of the first event; when there is none, `begin` */
	uint64_t own;       /* the id of the lane's own task */
	uint32_t tid, ticket;
	uint32_t content; /* bytes, header included */
	enum packet_state {
		PACKET_NONE, /* unused, or being prepared */
		PACKET_GOOD,
		PACKET_BAD, /* no event has told so yet */
		PACKET_TOLD /* bad, and an event has told so */
	} state;
	const char *why; /* the cause for which it is bad */
};

/* A definition, loaded when it is first needed. */
struct definition {
	uint32_t type; /* 0: there is none of this number, or it is broken */
	uint32_t text_size;
	uint8_t kind; /* of a counter */
	char text[116];
	char unknown[8]; /* shown in its place if it has the wrong type: "?" and its number */
	struct thrum_trace_site site;
};

/* A creation or a wait that the table of live tasks remembers, or what is noted in a wait's place. */
struct remembered {
	uint64_t ticks;
	uint32_t task; /* index in live.tasks */
	uint32_t lane; /* index in reader.lanes */
	bool is_wait;  /* else it is a creation */
};

/* The table of live tasks, as it was when the trace was opened. See live.c. */
struct live {
	/* First those in the table; behind them the ended ones that hold a lock of the table, by id. */
	struct thrum__live_task *tasks;
	size_t ended;
	uint8_t *seen;    /* for each task: SEEN_ flags */
	uint32_t *places; /* for each cell of the table: the index in `tasks` + 1, or 0; live.c */
	uint64_t mask;    /* a task's cell is its id & mask */
	struct remembered *queue; /* by time */
	size_t count, queued,
		next; /* of tasks in the table; of the queue; the next one of the queue */
	char label[sizeof((struct thrum__live_task *)0)->label + 3]; /* with an ellipsis */
	struct thrum_event events[4];                                /* the last ones given */
};

/* A time at which bits of the mask were cleared or set. */
struct toggle {
	uint64_t ticks;
	uint64_t bits;
	uint32_t number; /* its place in the history */
	bool is_on;
};

/* The changes of the mask, from the recording's control section. See control.c. */
struct changes {
	uint32_t room;        /* entries of the history */
	uint32_t next_entry;  /* the number of the first entry that wasn't loaded yet */
	struct toggle *queue; /* by time */
	uint32_t queue_room;
	size_t queued, next; /* the next one of the queue */
	bool is_unsorted;    /* toggles came that are earlier than the one before them */
	uint64_t last;       /* ticks of the entry that was loaded last */
	uint8_t off[64];     /* by bit of the mask: how often it is off now */
	uint64_t told;       /* the bits that are off, as the events given so far tell it */
	char names[THRUM__CATEGORIES][THRUM__CATEGORY_NAME];
	struct thrum_event events[4 * THRUM__CATEGORIES]; /* the last ones given */
};

#define OFF_CPU_BATCH 64

/* The times in which threads were off their processors. See off_cpu.c. */
struct off_cpu {
	uint64_t next, count; /* entries: to be loaded next, and all */
	uint64_t last;        /* ticks of the last one that was given */
	struct thrum__off_cpu batch[OFF_CPU_BATCH];
	uint32_t batch_next, batch_count;
	struct thrum_event events[OFF_CPU_BATCH]; /* the last ones given */
};

struct clock {
	uint64_t base;       /* ticks at time 0 */
	uint64_t multiplier; /* ns per tick, times 2^(64 - shift) */
	unsigned shift;
	double ns_per_tick;
	uint64_t first;  /* ticks: no plausible time is earlier */
	uint64_t end;    /* ticks: or later */
	uint64_t latest; /* ticks of the latest reading of the clock that the reader knows */
	int64_t set;     /* ns by which CLOCK_REALTIME was set forward until the latest reading */
	uint64_t slack;  /* ticks that a plausible time may lie after `latest` */
};

/* ---- Lanes --------------------------------------------------------------------------------- */

/* The copy of a chunk of the packet that a lane reads, and the batch of events decoded from it. */
struct slot {
	struct slot *next_free;
	size_t first, count; /* events[first..count) are still to be given */
	struct thrum_event events[BATCH];
	char note[160];              /* the text of the last event if that is lost or damaged */
	_Alignas(8) uint8_t bytes[]; /* of the packet: from lane->chunk to lane->copied */
};

struct span_of_text {
	const char *text;
	uint32_t size;
};

struct lane {
	struct thrum_trace_lane shown; /* the public description */
	uint32_t number;               /* its index: `lane` of its events */
	size_t next, end; /* reader.order[next..end) are the packets still to be read */

	/* The scan before this one: whether it found packets, and the last one's number. */
	bool was_seen;
	uint64_t seen_seq;

	/* The packet that is being read. Without a slot it was read to its end, and may grow. */
	struct slot *slot;
	uint32_t packet; /* its index in the recording */
	uint32_t ticket;
	uint64_t seq;
	uint32_t tid;
	bool has_begun;    /* a packet was read: the members here are valid */
	bool may_grow;     /* the recorder may append records to it */
	bool has_grown;    /* the last scan found more content */
	bool has_vanished; /* it could have grown, but was overwritten */
	bool is_cut;       /* the file ends in it, and no event has told so yet */
	/* Bytes of the packet: read up to here; all; added to info.content_bytes. */
	uint32_t at, content, counted;
	uint32_t chunk, copied; /* the slot has the bytes from … to */

	/* The state of the decoder. */
	uint64_t last;  /* ticks: no event that comes is earlier */
	uint64_t ticks; /* of the last event of this packet, or of its beginning */
	uint64_t bound; /* ticks of the next packet: no event of this one is later */
	uint64_t id_base, own, running; /* task ids; id_base is added to narrow ones */
	struct span_of_text name;       /* for definition 0 in the next record */
	struct span_of_text reason;     /* why the lane is suspended */
	char name_copy[THRUM_TEXT_MAX + 1], reason_copy[THRUM_TEXT_MAX + 1];
};

struct heap_entry {
	uint64_t ticks; /* the lane's next event is not earlier */
	uint32_t lane;
};

struct reader {
	struct thrum_trace trace; /* first: the public handle */
	struct thrum__header header;
	struct clock clock;
	bool is_dead;    /* the recorder's process had ended before the last scan */
	bool holds_back; /* some packets wait for the next scan (see hold_back in lane.c) */
	bool has_ended;  /* at the last scan the recorder had stopped or its process had ended */

	struct packet_ref *packets; /* by index */
	size_t packet_count;
	uint32_t *order;   /* indexes of good packets, by lane and sequence number */
	uint64_t missing;  /* packets behind the end of a truncated file */
	bool missing_told; /* an event has told so */
	uint64_t emptied;  /* packets of an ended recording that were used and hold nothing */
	bool emptied_told;
	bool has_bad; /* some packet from bad_next on may be PACKET_BAD */
	size_t bad_next;

	struct definition **definitions; /* by number; NULL: not loaded yet */
	uint32_t definition_room;
	uint32_t definition_count; /* cells in the recording */
	/* A definition that an event has and the recording lacks; 0: there is none. */
	uint32_t undefined;
	bool undefined_told;
	struct addresses *addresses;
	bool has_modules; /* so labels may hold addresses */

	struct lane *lanes;
	uint32_t *lanes_by_number; /* indexes of lanes */
	uint32_t lane_count, lane_room;
	uint32_t follow_lane;    /* the lane that thrum_trace_follow looks at next */
	uint64_t others;         /* ticks: no event outside of packets is earlier; 0: not known */
	uint64_t skipped;        /* ticks: lanes' events before this time are left out: window.c */
	struct heap_entry *heap; /* the lanes that have events, the earliest on top */
	uint32_t heap_count;
	struct slot *free_slots;
	struct slot *notes; /* events that concern no lane; without packet bytes */
	struct live live;
	struct changes changes;
	struct off_cpu off_cpu;
};

/* ---- thrum.c ------------------------------------------------------------------------------- */

/* Returns the definition of this number, loaded if need be; NULL when the number is out of range or
 * there is no memory. It lives as long as the reader. */
const struct definition *thrum__read_definition(struct reader *, uint32_t number);
/*
 * Returns the index of the lane with this number, and adds the lane if it is new; or
 * -THRUM_E_MEMORY. Adding moves reader.lanes.
 */
int64_t thrum__read_lane_index(struct reader *, uint64_t number);

/* Returns the index of the lane with this number, or -1. */
int64_t thrum__read_find_lane(const struct reader *, uint64_t number);

/* ---- address.c ----------------------------------------------------------------------------- */

/* Looks for modules that have been defined since the last call. */
void thrum__read_addresses_update(struct reader *);
void thrum__read_addresses_free(struct reader *);
/* Makes a call site of a cell that defines an address. */
void thrum__read_address_site(struct reader *, const struct thrum__definition *cell,
	struct definition *);
/* Returns the label, or one with a name in place of the address in which it ends. That one lives as
 * long as the reader, and its size is *size. Only if reader.has_modules. */
const char *thrum__read_label(struct reader *, const char *label, uint32_t *size);

/* ---- clock.c ------------------------------------------------------------------------------- */

/* Sets up reader.clock, but for its base, from the header and the clock's latest reading. */
void thrum__read_clock_init(struct reader *);
/* Loads the clock's latest reading, if there is a newer one. */
void thrum__read_clock_update(struct reader *);
/*
 * Tells whether an event can have happened at `ticks`. `last`: ticks of an event that is known to
 * be right, or 0. May load the clock's latest reading.
 */
bool thrum__read_clock_is_plausible(struct reader *, uint64_t ticks, uint64_t last);

/* Converts ticks to ns since the first event. */
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

/* ---- scan.c -------------------------------------------------------------------------------- */

/* Reads all packets' headers and finds the packets that each lane has still to read. Returns 1 when
 * something has changed, else 0; or a negative enum thrum_error. */
int thrum__read_scan(struct reader *);
/*
 * Returns the ticks of a packet's first event; when there is none, those of its beginning. `bytes`:
 * the packet's first `size` bytes, at least its header.
 */
uint64_t thrum__read_packet_first(const uint8_t *bytes, size_t size);

/* ---- order.c ------------------------------------------------------------------------------- */

/* Fills reader.order, and marks the packets bad that contradict their neighbours. Returns how many
 * packets are in it, or -THRUM_E_MEMORY. Takes O(n log n) time for n packets. */
int64_t thrum__read_order_packets(struct reader *);
/* Tells whether one thread can have written both packets of a lane. */
static inline bool same_writer(const struct packet_ref *a, const struct packet_ref *b)
{
	return a->own == b->own || a->tid == b->tid;
}

/* ---- lane.c -------------------------------------------------------------------------------- */

/*
 * Decodes the lane's next events to its empty batch. Returns 1; 0 when there are none so far, and
 * the lane then has no slot; or a negative enum thrum_error.
 */
int thrum__read_lane_fill(struct reader *, struct lane *);
/*
 * Called after a scan, which has set lane->next and lane->end to all of the lane's packets: skips
 * those that were read already.
 */
void thrum__read_lane_reposition(struct reader *, struct lane *);
/* Returns an empty slot, or NULL when there is no memory. */
struct slot *thrum__read_slot_take(struct reader *);
/*
 * Appends a lost or damaged event with a text to the slot's batch, and counts it in the info. It
 * must be the batch's last event: a slot has room for one such text.
 */
void thrum__read_note(struct reader *, struct slot *, enum thrum_event_type, uint32_t lane,
	uint64_t ticks, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* ---- decode.c ------------------------------------------------------------------------------ */

/* The cause for which a record can't be decoded. */
struct bad_record {
	const char *why; /* NULL: the record is not bad */
	bool is_cut;     /* it goes on behind the content */
	bool has_id;     /* the text for people has `id` behind `why` */
	unsigned id;
};
/*
 * Decodes records from lane->at on, to the lane's batch, until the batch is full, the copied bytes
 * end, or the record at lane->at is bad.
 */
struct bad_record thrum__read_decode(struct reader *, struct lane *);

/* ---- live.c -------------------------------------------------------------------------------- */

/* Copies the recording's table of live tasks. Returns 0 or a negative enum thrum_error. */
int thrum__read_live_init(struct reader *);
/*
 * Sets the lane of each remembered event, and adds lanes that have no packets any more. Returns 0
 * or -THRUM_E_MEMORY.
 */
int thrum__read_live_find_lanes(struct reader *);
void thrum__read_live_finish(struct reader *);
/* Returns the earliest ticks in the table, or `ticks` when those are earlier. */
uint64_t thrum__read_live_earliest(const struct reader *, uint64_t ticks);
/* Notes that packets hold these events: the table need not give them. */
void thrum__read_live_see(struct live *, struct thrum_event *, size_t count);
/* Makes the remembered events of the next task that packets don't hold, if they lie before `ticks`.
 * Returns how many; they are valid until the next call. */
size_t thrum__read_live_give(struct reader *, uint64_t ticks, const struct thrum_event **);

/* ---- control.c ----------------------------------------------------------------------------- */

/* Loads the changes of the mask that are new. Call it after packets were copied, so that all changes
 * before their events are known. Returns 0 or -THRUM_E_MEMORY. */
int thrum__read_changes_update(struct reader *);
void thrum__read_changes_finish(struct reader *);
/* Makes the events of the next change, if it was at `ticks` or before. Returns how many; they are
 * valid until the next call. */
size_t thrum__read_changes_give(struct reader *, uint64_t ticks, const struct thrum_event **);
/* Returns the ticks of the next change, or UINT64_MAX. */
uint64_t thrum__read_changes_next(const struct reader *);

/* ---- off_cpu.c ----------------------------------------------------------------------------- */

void thrum__read_off_cpu_init(struct reader *);
/* Makes the next events, if they were at `ticks` or before. Returns how many; they are valid until
 * the next call. */
size_t thrum__read_off_cpu_give(struct reader *, uint64_t ticks, const struct thrum_event **);
/* Returns the ticks of the next one, or UINT64_MAX. */
uint64_t thrum__read_off_cpu_next(struct reader *);
/* Passes over those that begin before a time. */
void thrum__read_off_cpu_skip(struct reader *, uint64_t ticks);

/* ---- merge.c ------------------------------------------------------------------------------- */

/* Puts all lanes that have something to read into the heap. */
void thrum__read_merge_restart(struct reader *);
/* thrum_trace_next of this format. */
int thrum__read_merge_next(struct thrum_trace *, const struct thrum_event **, size_t *count,
	struct thrum_error_info *);

/* ---- follow.c ------------------------------------------------------------------------------ */

/* See follow in struct thrum__read_format. */
int thrum__read_follow(struct thrum_trace *, bool is_all, const struct thrum_event **, size_t *,
	struct thrum_error_info *);

#endif
