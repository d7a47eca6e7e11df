/* SPDX-License-Identifier: ISC */
/*
 * record/: lanes, packets, live tasks, definitions, counters, start and stop. Never decodes.
 *
 * A thread records into its lane: a stream of packets that only it writes. Packets come from one
 * pool; a full one goes back to the pool's end and the packet that was closed longest ago is taken
 * in its place. Everything here is lock-free, so that a signal handler that interrupts any of it
 * can do the same in a lane of its own.
 *
 *   pool.c    which packet is whose            hot.c     the calls that must be fast
 *   lane.c    threads and their lanes          calls.c   the other calls
 *   live.c    ids and the live-task table      define.c  categories and definitions
 *   start.c   start, stop, fork, environment   counter.c, snapshot.c
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"
#include "port/cpu.h"
#include "port/port.h"
#include "thrum.h"

/* A fast event may begin up to this many bytes before the end: none is longer. */
#define FAST_EVENT_MAX 64u
/* Sixteenths of a tick. From this gap on the compact header's 27 bits might not do. */
#define COMPACT_GAP ((UINT64_C(1) << (THRUM__TIME_BITS + 4)) - 32)
#define NO_PACKET UINT32_MAX
/* A thread's lane, and those of the signal handlers that interrupt it in there. */
#define LEVELS 3
/* Ids are taken so many at once. */
#define ID_BLOCK 32u
/* Fresh pages of a packet are made present so many bytes at a time. */
#define POPULATE_STEP 65536u

/* What one thread at a time has; lives in the recorder's memory for ever. The first members share a
 * cache line. */
struct lane {
	uint8_t *position; /* where the next event goes */
	_Atomic(uint8_t *)
		tsc_limit; /* = limit if the clock is the time stamp counter, else NULL */
	struct thrum__packet *packet;
	uint64_t last;      /* the clock at the last event, sixteenths of ticks */
	uint64_t lowest_id; /* the packet's id_base + 1: the lowest id that fits 32 bits */
	uint64_t said;      /* the running task as a reader of the packet knows it */
	uint64_t next_id, end_id;
	struct thrum__live_task *live;  /* the cells of this block of ids; NULL: they have none */
	struct thrum__live_task *table; /* the recorder's; NULL: none are kept */
	uint64_t table_mask;
	_Atomic(uint8_t *) limit; /* a fast event may begin here at the latest; NULL: none may */
	uint16_t generation;      /* the recorder's */
	struct recorder *recorder;
	uint64_t seq;
	uint64_t discarded; /* events of this lane that are lost */
	uint32_t slot;      /* number of its packet, or NO_PACKET */
	uint32_t number;
	uint32_t without_cells, patience; /* blocks of ids: see live.c */
	uint32_t region;                  /* of the live-task table, + 1; 0: none */
	_Atomic uint32_t tid;             /* of its thread; 0: parked */
	_Atomic uint32_t next_parked;     /* number + 1 */
	_Atomic uint32_t switching;       /* between two packets: nobody may take over the lane */
	uint8_t level;
	uint16_t suspended;
	uint16_t open; /* spans */
	uint16_t spans[THRUM__SPANS_MAX];
} __attribute__((aligned(64)));

/* All state of one recording but for what is in the recording itself. Never freed: see thrum_stop.
 */
struct recorder {
	struct thrum__header *header;
	uint8_t *packets;
	struct thrum__live_task *live; /* NULL: none are kept */
	struct thrum__definition *definitions;
	uint64_t live_mask, size;
	uint32_t packet_size, packet_count, definition_count;
	uint32_t generation; /* 16 bits; never 0 */
	struct thrum_clock clock;
	bool discard;
	bool careful;          /* no fast events: memcheck watches */
	bool has_file;         /* else memory that the program gave */
	_Atomic bool no_space; /* a page couldn't be had: the device is full */

	_Atomic uint32_t tickets, lanes_used, definitions_used;
	_Atomic uint64_t id_blocks;
	_Atomic uint64_t next_reading, next_reclaim; /* clock */
	_Atomic uint32_t readings;

	/* The pool: see pool.c */
	_Atomic uint64_t head, tail, parked;
	_Atomic uint64_t *cells;
	uint32_t *ready; /* by packet: bytes that are present */
	struct lane *lanes;
	_Atomic uint32_t *regions; /* owner lane's number + 1 */
	_Atomic uint16_t *known;   /* hash table of definitions' numbers */
	uint32_t known_mask;
};

/* Thread-local. Small: it lies in the static TLS block, of which a dlopen'ed library gets little.
 */
struct thread {
	struct lane *lane[LEVELS];
	uint64_t running, own;
	uint64_t retry; /* when to ask for a packet again */
	uint32_t lost, generation;
	uint8_t busy[LEVELS]; /* inside a call that uses this lane */
	uint8_t lost_cause;
};
extern __thread struct thread thrum__record_thread __attribute__((tls_model("initial-exec")));

/* What this process records now, or NULL. Like the mask it is wiped in a fork's child, however it
 * was made: a child has no part in its parent's recording. */
struct process {
	_Atomic(struct recorder *) recorder;
	char page[4096 - sizeof(void *)];
};
extern struct process thrum__record_process;

/* The clock in use, the recorder's; a NULL function means the time stamp counter. Never NULL. */
extern _Atomic(const struct thrum_clock *) thrum__record_clock;

/* Notices the end of threads; set only when has_exit_key. */
extern pthread_key_t thrum__record_exit_key;
extern bool thrum__record_has_exit_key;
/* The lane of a thread that has none: never written to. */
extern struct lane thrum__record_no_lane;

/* Sixteenths of a tick. */
ALWAYS_INLINE uint64_t now(void)
{
	const struct thrum_clock *clock = atomic_load_explicit(&thrum__record_clock,
		memory_order_acquire);

	return clock->read ? clock->read(clock->context) : read_tsc();
}

static inline bool is_on(unsigned bit)
{
	return __atomic_load_n(&thrum__control.mask[bit / 32], __ATOMIC_RELAXED) >> (bit % 32) & 1;
}

/* Whether fast events may be written: then the lane is the current recording's. */
ALWAYS_INLINE bool has_limit(const struct lane *lane)
{
	return atomic_load_explicit(&lane->limit, memory_order_relaxed) != NULL;
}

/* The event ends at `end`: from here on readers see it, and SIGKILL can't take it away. */
ALWAYS_INLINE void publish(struct lane *lane, uint8_t *end)
{
	lane->position = end;
	/* Partner: the reader's acquiring load of the content size. */
	atomic_store_explicit(&lane->packet->content_size,
		(uint32_t)(end - (uint8_t *)lane->packet) << 3, memory_order_release);
}

/* ---- pool.c ---- */
void thrum__record_pool_init(struct recorder *);
void thrum__record_pool_put(struct recorder *, uint32_t slot);
uint32_t thrum__record_pool_take(struct recorder *); /* NO_PACKET: none */
void thrum__record_park(struct recorder *, struct lane *);
struct lane *thrum__record_unpark(struct recorder *); /* NULL: none */

/* ---- lane.c ---- */
/* Writes one record, into the lane of whatever runs now; the slow path of everything. Keeps errno.
 */
void thrum__record_write(struct thrum__record *);
/* The same for a record with one of the recorder's definitions: if another recording has begun
 * since, its numbers mean other things, so nothing is written. */
void thrum__record_write_defined(const struct recorder *, struct thrum__record *);
/*
 * Takes the thread's lane, or a nested one, with a packet that has room for `bytes`; NULL: counted
 * as lost. *time is the event's. Then thrum__record_lane_write any number of records within those bytes,
 * then thrum__record_lane_release.
 */
struct lane *thrum__record_lane_take(struct thread *, size_t bytes, uint64_t *time);
void thrum__record_lane_write(struct lane *, const struct thrum__record *, uint64_t time);
void thrum__record_lane_release(struct thread *, struct lane *);
void thrum__record_store_limit(struct lane *, uint8_t *limit);
/* Fast events may or may not be written from now on, as the lane's state says. */
void thrum__record_set_limit(struct lane *);
/* Gives the thread its lane and its own task, if it has none and there is room. */
void thrum__record_thread_attach(struct thread *);
void thrum__record_thread_exit(void *thread);
/* Leaves the thread as if it had never recorded. */
void thrum__record_thread_forget(struct thread *);
void thrum__record_count_lost(enum thrum_lost);
/* So many bytes are enough for a record with this text. */
size_t thrum__record_bytes_needed(const struct thrum__record *);

/* ---- calls.c: the slow side of hot.c ---- */
/* What there is to say of a new task. */
struct creation {
	enum thrum__record_type type; /* CREATE, CREATE_IN or CREATE_WAITING */
	uint64_t parent, source;
	const char *label;
	uint16_t site;
	uint8_t kind;
};
thrum_task thrum__record_write_create(struct thrum_site *, const struct creation *);
void thrum__record_write_wait(thrum_task waiter, thrum_task source);
void thrum__record_write_end(
	struct thrum__record *); /* resolved, failed, cancelled: other; became: task */
void thrum__record_write_switch(thrum_task);

/* ---- live.c ---- */
/* Takes a block of ids for the lane, and its part of the live-task table. */
void thrum__record_take_ids(struct lane *);
/* Sees to it that the thread's lane has an id, if it has a lane. */
void thrum__record_refill_ids(struct thread *);
/* The next id; the lane is taken. Its live cell is free, or it has none. */
uint64_t thrum__record_next_id(struct lane *);
void thrum__record_live_begin(struct lane *, uint64_t id, uint64_t time, const struct creation *);
void thrum__record_live_label(struct recorder *, uint64_t id, const char *label);
void thrum__record_live_flag(struct recorder *, uint64_t id, unsigned flags);
/* The cell of a task in a table, or NULL when it has none. */
ALWAYS_INLINE struct thrum__live_task *live_cell(struct thrum__live_task *table, uint64_t mask,
	uint64_t id)
{
	if (!table)
		return NULL;
	struct thrum__live_task *cell = &table[id & mask];

	/* Partner: the release of the tag in thrum__record_live_begin. */
	if (atomic_load_explicit(&cell->tag, memory_order_acquire) != (uint32_t)id)
		return NULL;
	return cell->id_high == (uint32_t)(id >> 32) ? cell : NULL;
}

ALWAYS_INLINE void live_wait(const struct lane *lane, uint64_t id, uint64_t source, uint64_t time)
{
	struct thrum__live_task *cell = live_cell(lane->table, lane->table_mask, id);

	if (!cell)
		return;
	atomic_store_explicit(&cell->waiting, source, memory_order_relaxed);
	atomic_store_explicit(&cell->waited, time >> 4, memory_order_relaxed);
	atomic_store_explicit(&cell->waiting_lane, (uint16_t)lane->number, memory_order_relaxed);
}

ALWAYS_INLINE void live_end(const struct lane *lane, uint64_t id)
{
	struct thrum__live_task *cell = live_cell(lane->table, lane->table_mask, id);

	/* Partner: the lane that takes an id whose cell this is. */
	if (cell)
		atomic_store_explicit(&cell->tag, 0, memory_order_release);
}

/* ---- define.c ---- */
/*
 * Numbers of definitions, made when they are first asked for and then kept in the descriptor with
 * the recording's generation. 0: there is no room.
 */
uint16_t thrum__record_define_site(struct recorder *, struct thrum_site *);
uint16_t thrum__record_define_tag(struct recorder *, struct thrum_tag *);
uint16_t thrum__record_define_category(struct recorder *, const char *name, unsigned number);
uint16_t thrum__record_define(struct recorder *, const struct thrum__definition *, size_t text_size,
	uint32_t *id);
/* Sets the mask to what the categories' levels say; 0 when nothing is recorded. To be called after
 * each change of a level, a category or the recorder. */
void thrum__record_apply_levels(void);

/* The number kept in a descriptor, if it is this recording's. */
ALWAYS_INLINE uint16_t kept_number(const struct recorder *r, const uint32_t *id)
{
	/* Partner: thrum__record_define(). */
	uint32_t kept = __atomic_load_n(id, __ATOMIC_ACQUIRE);

	return LIKELY(kept >> 16 == r->generation) ? (uint16_t)kept : 0;
}

ALWAYS_INLINE uint16_t site_number(struct recorder *r, struct thrum_site *site)
{
	uint16_t number = kept_number(r, &site->id);

	return LIKELY(number) ? number : thrum__record_define_site(r, site);
}

/* ---- counter.c ---- */
struct thrum_counter {
	_Atomic(struct thread *) owner; /* the thread that adds without a lock */
	int64_t own;                    /* what it added; only it writes */
	_Atomic int64_t others;         /* the rest of the value */
	uint32_t id;                    /* generation << 16 | definition */
	uint32_t kind;
	char path[96];
};
/* Around a fork. */
void thrum__record_counters_lock(void);
void thrum__record_counters_unlock(void);
void thrum__record_counter_event(struct thrum_counter *, int64_t value);
void thrum__record_write_counter(struct thrum_counter *, int64_t value);
uint16_t thrum__record_define_counter(struct recorder *, struct thrum_counter *);

ALWAYS_INLINE int64_t counter_value(const struct thrum_counter *counter)
{
	/* Unsigned, as an overflow wraps. */
	return (int64_t)((uint64_t)__atomic_load_n(&counter->own, __ATOMIC_RELAXED) +
		(uint64_t)atomic_load_explicit(&counter->others, memory_order_relaxed));
}

ALWAYS_INLINE uint16_t counter_number(struct recorder *r, struct thrum_counter *counter)
{
	uint16_t number = kept_number(r, &counter->id);

	return LIKELY(number) ? number : thrum__record_define_counter(r, counter);
}

/* ---- start.c ---- */
/* Makes a recorder over a block of memory of `size` bytes, whose header's place is zeroed.
 * *recorder: not yet in use. */
int thrum__record_recorder_create(struct recorder **, void *memory, uint64_t size,
	const struct thrum_config *);
/* Whose file it is that begins like this. */
enum thrum__port_claim thrum__record_claim(const void *head, size_t size);
/* Whether it is time for a reading of all clocks, and this thread is the one to take it. */
bool thrum__record_clock_is_due(struct recorder *, uint64_t time);
/* Reads all clocks, notes them in the header and gives them in *record. */
void thrum__record_note_clocks(struct recorder *, struct thrum__record *);

#endif
