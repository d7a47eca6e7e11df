/* SPDX-License-Identifier: ISC */
/*
 * record/: the recorder behind thrum.h: lanes, packets, live tasks, definitions, counters, start
 * and stop. It never decodes a recording.
 *
 * A thread records into its lane, a stream of packets that no other thread writes. All lanes share
 * one pool of packets. A lane whose packet is full takes the packet that was closed longest ago and
 * puts the full one at the pool's end; or discards its events, if the recording is to keep the old
 * ones. Recording is lock-free, so that a signal handler that interrupts it anywhere can itself
 * record, in a lane of its own.
 *
 *   fast.h      the shape of a fast event
 *   hot.c       the calls that must be fast
 *   calls.c     the other calls
 *   lane.c      threads and their lanes
 *   write.c     the slow path of each call
 *   pool.c      packets without a lane, lanes without a thread
 *   live.c      ids and the table of live tasks
 *   category.c  categories, their levels, and the mask
 *   define.c    definitions
 *   counter.c   counters, and who adds where
 *   counter_pages.c   the memory in which counters lie
 *   clock.c     the recording's clock
 *   recorder.c  makes a recorder in a block of memory
 *   start.c     start, stop, fork, environment
 *   request.c   start and stop from outside
 *   snapshot.c  a copy while recording
 *
 * A time "on the clock" is in thirty-seconds of a tick of the recording's clock: the low half of such a
 * time is a record's compact header without the id.
 */
#ifndef RECORD_RECORD_H
#define RECORD_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/control.h"
#include "format/counters.h"
#include "format/format.h"
#include "format/request.h"
#include "port/cpu.h"
#include "port/port.h"
#include "thrum.h"
#ifdef THRUM_CORE
#include "thrum/core.h"
#endif

/* So that the compiler knows that variables are in this library, and doesn't look up their addresses. */
#pragma GCC visibility push(hidden)

/* No fast event is longer, so one may begin up to this many bytes before the end of the part of the
 * packet that is present. */
#define FAST_EVENT_MAX 64u
/* A tick on the clock is 1 << TICK_BITS. */
#define TICK_BITS (32 - THRUM__TIME_BITS)
/* From this gap on, on the clock, the compact header's 27 bits don't suffice. */
#define COMPACT_GAP (UINT64_C(1) << 32)
#define NO_PACKET UINT32_MAX
/* Lanes of a thread: its own, and two for signal handlers that interrupt a recording call. */
#define LEVELS 3
/* A lane takes ids in blocks of this many, or of the second number if the table of live tasks has
 * at most so many cells: then many lanes share few cells. */
#define ID_BLOCK 32u
#define ID_BLOCK_SMALL 8u
#define SMALL_TABLE 2048u
/* The largest pages that a kernel has; without a kernel nothing is wiped. */
#ifndef THRUM_CORE
#define PAGE_MAX 65536u
#else
#define PAGE_MAX 4096u
#endif
/* A packet's fresh pages are made present in steps of this many bytes. */
#define POPULATE_STEP 65536u

/* A lane. At most one thread at a time has it; it lives in the recorder's memory for ever. The
 * first members share a cache line. */
struct lane {
	uint8_t *position; /* the next event's place in the packet */
	/* limit if the clock is the time stamp counter, lowest_id is 1, and `said` is true; else NULL */
	_Atomic(uint8_t *) tsc_limit;
	struct thrum__packet *packet;
	uint64_t last;      /* the clock at the last event, in whole ticks */
	uint64_t lowest_id; /* the packet's id_base + 1: the lowest id that fits 32 bits */
	uint64_t said;      /* the task that a reader of the packet takes for the running one */
	uint64_t next_id, end_id; /* the unused rest of the block of ids */
	/* Where the cell of id 0 would be if cells went on down from this block's; 0: its ids have none. */
	uintptr_t cells;
	struct thrum__live_task *table; /* the recorder's table, or one cell that stays free */
	uint64_t table_mask;
	uint32_t number_twice; /* 16 bits of `number`, twice: `lane` and `waiting_lane` of a cell */
	_Atomic(uint8_t *) limit; /* a fast event begins before this place; NULL: none may */
	uint32_t first_number;    /* what descriptors keep for definition 0 of its recording */
	struct recorder *recorder;
	uint64_t seq;       /* of the next packet */
	uint64_t discarded; /* events of this lane that were lost */
	uint32_t slot;      /* number of its packet, or NO_PACKET */
	uint32_t number;
	/* While the small table is nearly full: see live.c. The cells of `kept` ids are for tasks that
	 * have a label or wait; other tasks get the `plain` ids, which have no cells. */
	uint64_t kept_next, kept_end, plain_next, plain_end;
	bool is_scarce;
	bool is_untold;               /* tsc_limit is NULL because another task ran than `said` */
	uint32_t without_cells;       /* blocks of ids still to take without cells (live.c) */
	uint32_t patience;            /* as many blocks next time */
	uint32_t region;              /* of the live-task table, + 1; 0: none */
	_Atomic uint32_t tid;         /* of its thread; 0: parked */
	_Atomic uint32_t next_parked; /* the number + 1 of the lane below it on the stack */
	_Atomic uint32_t switching;   /* between two packets: nobody may take over the lane */
	uint8_t level;                /* index in struct thread */
	bool was_left;                /* a call never returned: its work may be half done */
	uint16_t suspended;           /* as in struct thrum__packet */
	uint16_t open;                /* the number of open spans */
	uint16_t spans[THRUM__SPANS_MAX];
} __attribute__((aligned(64)));

/* The state of one recording that is not in the recording itself. Never freed: see start.c. */
struct recorder {
	struct thrum__header *header;
	uint8_t *packets;
	struct thrum__live_task *live; /* NULL: no table is kept */
	struct thrum__definition *definitions;
	struct thrum__counters_page *counters; /* the section's pages; others may write to them */
	uint32_t counter_pages;                /* how many of them are used at most */
	uint64_t live_mask, size;
	uint32_t packet_size, packet_count, definition_count;
	uint32_t id_block;   /* ids of a block, and cells of a region */
	uint32_t generation; /* tells recordings of this process apart; 16 bits, never 0 */
	struct thrum_clock clock;
	/* Replaces that clock once it has stepped back: it goes on from where it was. */
	struct thrum_clock stepped;
	_Atomic uint64_t step; /* so much is added, on the clock; 0: `stepped` isn't in use */
	_Atomic uint64_t step_to_tell; /* the part of it that no record tells yet */
	bool discard;                  /* keep the oldest events when the recording is full */
	bool careful;                  /* write no fast events: memcheck watches */
	bool has_file;                 /* false: the program supplied the memory */
	bool counters_only;            /* no events, and no table of live tasks */
	/* The mask, and the control section in the recording. */
	struct thrum__controls controls;
	/* Why a page couldn't be made present, as an enum thrum_lost; 0: none was refused. */
	_Atomic uint32_t refused;

	_Atomic uint32_t tickets, lanes_used, definitions_used;
	_Atomic uint64_t id_blocks;                  /* blocks of ids given out */
	_Atomic uint64_t next_reading, next_reclaim; /* when each is due, on the clock */
	_Atomic uint32_t readings;

	/* The pool: see pool.c */
	_Atomic uint64_t head, tail, parked;
	_Atomic uint64_t *cells;
	uint32_t *ready; /* by packet: the bytes from its beginning that are present */
	/* Memory that the kernel wipes in a fork's child, so that its calls leave the fast path. */
	struct lane *lanes;
	_Atomic uint32_t *regions; /* of the live-task table: owner lane's number + 1; 0: free */
	_Atomic uint16_t *known;   /* hash table of definitions' numbers */
	uint32_t known_mask;
};

/* A thread's state, in thread-local memory. It must stay small: it lies in the static TLS block,
 * where a dlopen'ed library finds little room. */
struct thread {
	struct lane *lane[LEVELS];
	uint64_t running, own; /* the running task, and the thread's own */
	uint64_t retry;        /* when to ask for a packet again, on the clock */
	uint32_t lost, generation;
	/* The stack pointer inside the call that uses this lane; 0: none */
	uintptr_t busy[LEVELS];
	uint8_t lost_cause;
	_Atomic uint16_t seat; /* its place among the counters' cells; 0: none */
	/* The name that it was given while nothing was recorded, for its next own task; empty: none */
	char name[THRUM__PORT_NAME];
};
#ifndef THRUM_CORE
extern __thread struct thread thrum__record_thread __attribute__((tls_model("initial-exec")));
#else
/* Without threads, each processor has one. */
struct cpu {
	struct thread thread;
} __attribute__((aligned(64)));
extern struct cpu thrum__record_cpus[THRUM_CORE_CPUS];
#define thrum__record_thread (thrum__record_cpus[thrum__port_cpu()].thread)
#endif

/* The recorder of the current recording, or NULL. The kernel wipes this page and all lanes in a
 * fork's child, however it was made: a child has no part in its parent's recording. */
struct process {
	_Atomic(struct recorder *) recorder;
	_Atomic uint32_t counters; /* whose the counters' pages are */
	/* This process has started a recording. If it hasn't, but the mask is set, it is a child
	 * that was made without the handlers of fork(). */
	_Atomic bool has_started;
	char page[PAGE_MAX - sizeof(void *) - 8];
};
_Static_assert(sizeof(struct process) == PAGE_MAX, "a page, of which nothing else has a part");
enum {
	COUNTERS_FOREIGN = 0, /* the parent's, or there are none */
	COUNTERS_TAKING,      /* this child just makes its own */
	COUNTERS_OURS,
};
extern struct process thrum__record_process;

/* The clock in use, never NULL. Its function is NULL when it is the time stamp counter. */
extern _Atomic(const struct thrum_clock *) thrum__record_clock;

/* The key whose destructor notices the end of a thread; valid if thrum__record_has_exit_key. */
extern pthread_key_t thrum__record_exit_key;
extern bool thrum__record_has_exit_key;
/* Stands in for the lane of a thread that has none. Its limits are NULL, so nothing is written. */
extern struct lane thrum__record_no_lane;

/* Returns the time that a clock shows, on the clock. */
ALWAYS_INLINE uint64_t read_clock(const struct thrum_clock *clock)
{
	return clock->read ? clock->read(clock->context) * 2 : read_tsc();
}

/* Returns the present time. */
ALWAYS_INLINE uint64_t now(void)
{
	return read_clock(atomic_load_explicit(&thrum__record_clock, memory_order_acquire));
}

/* Returns the part of a time that records have. */
ALWAYS_INLINE uint64_t in_ticks(uint64_t time)
{
	return time >> TICK_BITS << TICK_BITS;
}

/* Returns the mask of all that is recorded, as one word. */
static inline _Atomic uint64_t *thrum__record_mask(void)
{
	return (void *)thrum__control.mask;
}

/* Whether a bit of the mask of categories and levels is set. */
static inline bool is_on(unsigned bit)
{
	return has_bits(&thrum__control.mask[bit / 32], UINT32_C(1) << bit % 32);
}

/* Whether fast events may be written. If so, the lane belongs to the current recording. */
ALWAYS_INLINE bool has_limit(const struct lane *lane)
{
	return atomic_load_explicit(&lane->limit, memory_order_relaxed) != NULL;
}

/* Makes a task the running one, of which no record tells: the lane's next event that relies on it does
 * that first. */
ALWAYS_INLINE void run_untold(struct thread *thread, uint64_t task)
{
	struct lane *lane = thread->lane[0];

	thread->running = task;
	/* Partner: thrum__record_set_limit(), which a handler may call just before this. */
	handler_fence();
	/* Threads without a lane share one, which has no limit. */
	if (atomic_load_explicit(&lane->tsc_limit, memory_order_relaxed)) {
		atomic_store_explicit(&lane->tsc_limit, NULL, memory_order_relaxed);
		lane->is_untold = true;
	}
}

/* Makes the event that ends at `end` visible to readers and safe from SIGKILL. */
ALWAYS_INLINE void publish(struct lane *lane, uint8_t *end)
{
	lane->position = end;
	/* Partner: the reader's acquiring load of the content size. */
	atomic_store_explicit(&lane->packet->content_size,
		(uint32_t)(end - (uint8_t *)lane->packet) << 3, memory_order_release);
}

/* ---- pool.c: packets without a lane, lanes without a thread. Lock-free. ---- */
/* Puts all packets into the pool. */
void thrum__record_pool_init(struct recorder *);
/* Adds a closed packet at the end. */
void thrum__record_pool_put(struct recorder *, uint32_t slot);
/* Unmaps packets at the end of the file that no lane has used, beyond so many bytes. While the start is
 * locked. */
void thrum__record_pool_shrink(struct recorder *, uint64_t bytes);
/* Takes the packet that was closed longest ago. Returns NO_PACKET if the pool is empty. */
uint32_t thrum__record_pool_take(struct recorder *);
/* Leaves a lane, with its packet, for the next thread. */
void thrum__record_park(struct recorder *, struct lane *);
/* Takes the lane that was parked last. Returns NULL if none is parked. */
struct lane *thrum__record_unpark(struct recorder *);

/* ---- lane.c: all are async-signal-safe but thrum__record_thread_exit ---- */
/*
 * Takes the thread's lane, or a nested one, with a packet that has room for `bytes`. Sets *time to
 * the event's time. The caller may write any number of records within those bytes with
 * thrum__record_lane_write, and then calls thrum__record_lane_release. If there is no lane, counts
 * an event as lost (unless `bytes` is 0) and returns NULL. May change errno.
 */
struct lane *thrum__record_lane_take(struct thread *, size_t bytes, uint64_t *time);
void thrum__record_lane_release(struct thread *, struct lane *);
/* Allows no fast events. */
void thrum__record_clear_limit(struct lane *);
/* Sets the place up to which fast events may begin, as it follows from the lane's state. The lane is the
 * calling thread's and has a packet. */
void thrum__record_set_limit(struct lane *);
/* Gives the thread its lane and its own task, if it has none and there is room. Keeps errno. */
void thrum__record_thread_attach(struct thread *);
/* Ends the thread's own task and parks its lanes. The destructor of thrum__record_exit_key. */
void thrum__record_thread_exit(void *thread);
/* Leaves the thread as if it had never recorded. */
void thrum__record_thread_forget(struct thread *);
/* Adds 1 to the header's count of losses by this cause. */
void thrum__record_count_lost(enum thrum_lost);

/* ---- write.c: all are async-signal-safe ---- */
/* Writes one record into the calling thread's lane, or counts it as lost. All calls use it when
 * their fast path is not possible. Keeps errno. */
void thrum__record_write(struct thrum__record *);
/* The same for a record with a number of one of this recorder's definitions. Writes nothing if
 * another recording has begun since, where the number means something else. */
void thrum__record_write_defined(const struct recorder *, struct thrum__record *);
/* Writes a record into a lane that is taken, and before it a CONTEXT and a NAME record if it needs
 * them. */
void thrum__record_lane_write(struct lane *, const struct thrum__record *, uint64_t time);
/* Returns an upper bound for the bytes of a record and of a CONTEXT and a NAME before it. */
size_t thrum__record_bytes_needed(const struct thrum__record *);

/* ---- calls.c: the slow side of hot.c. All keep errno. ---- */
/* A new task. */
struct creation {
	enum thrum__record_type type; /* CREATE, CREATE_IN or CREATE_WAITING */
	uint64_t parent, source;      /* source: the task that it waits for; 0: none */
	const char *label;
	uint32_t place; /* 16 bits: the call site's number; 8: the kind; 8: flags of the cell */
};
/* Returns the new task's id, also if its event is lost; THRUM_TASK_NONE if nothing is recorded. */
thrum_task thrum__record_write_create(struct thrum_site *, const struct creation *);
void thrum__record_write_wait(thrum_task waiter, thrum_task source);
/* Writes the end of a task and frees its live cell. The task that ends is `other` in RESOLVE, FAIL
 * and CANCEL, and `task` in BECOME. */
void thrum__record_write_end(struct thrum__record *);
void thrum__record_write_switch(thrum_task);

/* ---- live.c: ids and the table of live tasks ---- */
/* Takes a block of ids for the lane, and its region of the live-task table. The lane is taken. */
void thrum__record_take_ids(struct lane *);
/* Makes sure that the thread's lane has an unused id. Does nothing and returns false if the thread has no
 * lane, is inside another call, or finds no id that any task may have. Takes the lane meanwhile. */
bool thrum__record_refill_ids(struct thread *);
/* Takes the next id whose live cell is free, or that has none. A task with a label or a source finds
 * a cell also where others don't. The lane is taken. */
uint64_t thrum__record_next_id(struct lane *, bool has_label_or_source);
/* Fills in the cell of a new task, if it has one. `time` is on the clock. The lane is taken. */
void thrum__record_live_begin(struct lane *, uint64_t id, uint64_t time, const struct creation *);
/* Set a task's label, and add to its flags, if it has a cell. */
void thrum__record_live_label(struct recorder *, uint64_t id, const char *label);
void thrum__record_live_flag(struct recorder *, uint64_t id, unsigned flags);
/* Note in the cell of a lock that a task took it, or that it was released; and in that of a timer in
 * how many ns it is due. A cell that has a wait keeps that. `time` is on the clock. The lane is
 * taken. */
void thrum__record_live_hold(const struct lane *, uint64_t lock, uint64_t holder, uint64_t time);
void thrum__record_live_release(const struct lane *, uint64_t lock);
void thrum__record_live_due(const struct lane *, uint64_t timer, int64_t ns, uint64_t time);

/* Some members of a cell are accessed as words: the id, which begins with the tag, and the small ones. */
_Static_assert(offsetof(struct thrum__live_task, id_high) == 4, "the id's two halves");
_Static_assert(offsetof(struct thrum__live_task, lane) == 40 &&
		offsetof(struct thrum__live_task, waiting_lane) == 42 &&
		offsetof(struct thrum__live_task, site) == 44 &&
		offsetof(struct thrum__live_task, kind) == 46 &&
		offsetof(struct thrum__live_task, flags) == 47,
	"two halves of a word");

/* Fills in a cell but for its label, and stores the tag last. */
ALWAYS_INLINE void live_fill(struct thrum__live_task *cell, const struct lane *lane, uint64_t id,
	uint64_t time, const struct creation *c)
{
	/* gcc would join neighbours by way of the vector registers, which takes longer. */
	__atomic_store_n(&cell->parent, c->parent, __ATOMIC_RELAXED);
	__atomic_store_n(&cell->created, time >> TICK_BITS, __ATOMIC_RELAXED);
	atomic_store_explicit(&cell->waiting, c->source, memory_order_relaxed);
	atomic_store_explicit(&cell->waited, time >> TICK_BITS, memory_order_relaxed);
	__atomic_store_n((thrum__half *)(void *)&cell->lane, lane->number_twice, __ATOMIC_RELAXED);
	__atomic_store_n((thrum__half *)(void *)&cell->site, c->place, __ATOMIC_RELAXED);
	/* Partner: live_is_in(), and the reader's acquiring look at the tag. */
#if UINTPTR_MAX > UINT32_MAX
	__atomic_store_n((thrum__word *)(void *)cell, id, __ATOMIC_RELEASE);
#else
	cell->id_high = (uint32_t)(id >> 32);
	atomic_store_explicit(&cell->tag, (uint32_t)id, memory_order_release);
#endif
}

/* Returns the cell of an id of the lane's block; NULL: the block has none. */
ALWAYS_INLINE struct thrum__live_task *own_cell(const struct lane *lane, uint64_t id)
{
	return lane->cells ? (void *)(lane->cells + (uintptr_t)id * sizeof(struct thrum__live_task))
			   : NULL;
}

/* Whether a task is in a cell. */
ALWAYS_INLINE bool live_is_in(const struct thrum__live_task *cell, uint64_t id)
{
	/* Partner: the release of the tag in live_fill(). */
#if UINTPTR_MAX > UINT32_MAX
	return holds((const thrum__word *)(const void *)cell, id);
#else
	return atomic_load_explicit(&cell->tag, memory_order_acquire) == (uint32_t)id &&
		cell->id_high == (uint32_t)(id >> 32);
#endif
}

/* Returns the only cell that a task may be in. */
ALWAYS_INLINE struct thrum__live_task *live_cell(const struct lane *lane, uint64_t id)
{
	return &lane->table[id & lane->table_mask];
}

/* Stores a cell's wait, or the note in its place, with its ticks. */
ALWAYS_INLINE void live_store(struct thrum__live_task *cell, const struct lane *lane,
	uint64_t waiting, uint64_t waited)
{
	atomic_store_explicit(&cell->waiting, waiting, memory_order_relaxed);
	/* Partner: thrum__format_settle_live_task(). A reader of this time sees the source, too. */
	atomic_store_explicit(&cell->waited, waited, memory_order_release);
	atomic_store_explicit(&cell->waiting_lane, (uint16_t)lane->number, memory_order_relaxed);
}

/* Notes in a task's cell that it waits for `source`. */
ALWAYS_INLINE void live_wait(const struct lane *lane, uint64_t id, uint64_t source, uint64_t time)
{
	struct thrum__live_task *cell = live_cell(lane, id);

	if (LIKELY(live_is_in(cell, id)))
		live_store(cell, lane, source, time >> TICK_BITS);
}

/* Frees a task's cell. */
ALWAYS_INLINE void live_end(const struct lane *lane, uint64_t id)
{
	struct thrum__live_task *cell = live_cell(lane, id);

	/* Partner: the acquiring load of the tag by the lane that takes an id for this cell. */
	if (LIKELY(live_is_in(cell, id)))
		atomic_store_explicit(&cell->tag, 0, memory_order_release);
}

/* ---- category.c ---- */
/* Returns the number of a category, which is made if it is new. If there is no room for another,
 * returns the last one's number. Lock-free. */
unsigned thrum__record_category_number(const char *name);
const char *thrum__record_category_name(unsigned number);
/* Clears bits of the mask, then sets others, and notes that in the recording. Lock-free. */
void thrum__record_change(struct recorder *, uint64_t clear, uint64_t set);
/* Sets the mask from the categories' levels, and shows the categories to others. */
void thrum__record_begin_mask(struct recorder *);
/* Shows categories that came to be since. The recorder is in use. */
void thrum__record_publish_categories(struct recorder *);
/* Sets levels from THRUM_ENABLE. Returns 0 or -THRUM_E_ARGUMENT. */
int thrum__record_levels_from_environment(void);

/* ---- define.c: lock-free ---- */
/*
 * Return the number of a definition, or 0 if the table is full. The definition is made at the first
 * call and its number kept in the descriptor, together with the recording's generation.
 */
uint16_t thrum__record_define_site(struct recorder *, struct thrum_site *);
uint16_t thrum__record_define_tag(struct recorder *, struct thrum_tag *);
/* The same for any definition. text_size counts the text's bytes with all NULs; *id is the place in
 * the descriptor. */
uint16_t thrum__record_define(struct recorder *, const struct thrum__definition *, size_t text_size,
	uint32_t *id);

/* Returns the number kept in a descriptor, or 0 if it is of another recording. */
ALWAYS_INLINE uint16_t kept_number(const struct recorder *r, const uint32_t *id)
{
	/* Partner: thrum__record_define(). */
	uint32_t kept = __atomic_load_n(id, __ATOMIC_ACQUIRE);

	return LIKELY(kept >> 16 == r->generation) ? (uint16_t)kept : 0;
}

/* Returns the number of a call site's definition, made now if necessary; 0: no room. */
ALWAYS_INLINE uint16_t site_number(struct recorder *r, struct thrum_site *site)
{
	uint16_t number = kept_number(r, &site->id);

	return LIKELY(number) ? number : thrum__record_define_site(r, site);
}

/* ---- counter.c: values ---- */
/*
 * A counter's value is the sum of its cells, which lie in the counters' pages. A cell of its own
 * needs no locked instruction; it belongs to a seat, which a thread has while it lives. All seats
 * share one more cell. As long as only one seat has a cell of this counter, it is the owner.
 */
struct thrum_counter {
	_Atomic uint16_t owner; /* a seat, or one of the numbers below */
	uint16_t number;
	uint32_t id; /* generation << 16 | definition */
	uint32_t kind;
	_Atomic(int64_t *) own;  /* the owner's cell */
	_Atomic int64_t *shared; /* gauges and cumulative counters; locked additions */
	char path[96];
};
enum {
	OWNER_SEVERAL = 0xffff, /* several seats have cells */
	OWNER_NONE = 0xfffe,
	OWNER_CHOSEN = 0xfffd, /* just being noted */
};
#define SEATS 256u /* seat 0 stands for none */

/* The blocks of values of a seat, by the counter's number / 16, and its distributions. */
struct seat {
	_Atomic(int64_t *) groups[THRUM_COUNTERS_MAX / THRUM__COUNTERS_WORDS];
	_Atomic(struct distribution *) distributions[THRUM_COUNTERS_MAX];
};
extern _Atomic(struct seat *) thrum__record_seats[SEATS];

/* Hold off the creation of counters, for a fork. */
void thrum__record_counters_lock(void);
void thrum__record_counters_unlock(void);
uint32_t thrum__record_counters_used(void);
/* Adds for a thread that is not the counter's owner. */
void thrum__record_counter_add(struct thrum_counter *, int64_t amount);
/* Returns a counter's value, by way of all seats. */
int64_t thrum__record_counter_sum(const struct thrum_counter *);
/* Adds to shared cells what was added to word `i` of a block: see counter_pages.c. */
void thrum__record_counter_add_part(uint32_t tag, unsigned i, int64_t now, int64_t before);
/* Gives up the seat of a thread that ends. */
void thrum__record_seat_leave(struct thread *);
/* In a child process: all seats are free but the calling thread's. */
void thrum__record_seats_forget(void);
/* Record a counter's new value: the fast path, and the slow one behind it. */
void thrum__record_counter_event(struct thrum_counter *, int64_t value);
void thrum__record_write_counter(struct thrum_counter *, int64_t value);
uint16_t thrum__record_define_counter(struct recorder *, struct thrum_counter *);

/* Returns a counter's value for its owner. */
ALWAYS_INLINE int64_t owners_value(const struct thrum_counter *counter, const int64_t *own)
{
	/* Unsigned, because an overflow wraps. */
	return (int64_t)((uint64_t)__atomic_load_n(own, __ATOMIC_RELAXED) +
		(uint64_t)atomic_load_explicit(counter->shared, memory_order_relaxed));
}

/* Returns the number of a counter's definition, made now if necessary; 0: no room. */
ALWAYS_INLINE uint16_t counter_number(struct recorder *r, struct thrum_counter *counter)
{
	uint16_t number = kept_number(r, &counter->id);

	return LIKELY(number) ? number : thrum__record_define_counter(r, counter);
}

/* ---- counter_pages.c: where they lie ---- */
struct counter_pages {
	_Atomic(struct thrum__counters_page *) pages; /* never move; NULL: no counter yet */
	_Atomic(struct recorder *) recorder;          /* in whose file they are; NULL: in none */
	_Atomic uint32_t used, room;                  /* blocks */
	_Atomic uint32_t lock;
};
extern struct counter_pages thrum__record_counter_pages;

/* Hold off changes of the pages, and new blocks. Not for signal handlers. */
void thrum__record_counter_pages_lock(void);
void thrum__record_counter_pages_unlock(void);
/* Whether the lock can be had soon. For signal handlers, too. */
bool thrum__record_counter_pages_are_free(void);
/* Makes the pages, if there are none yet. */
bool thrum__record_counter_pages_make(void);
/* Takes a block and fills it in with 16 words (NULL: zeros). Returns NULL if there is none left, or
 * if the lock is held for long. is_locked: the caller holds the lock. Async-signal-safe. */
int64_t *thrum__record_counter_block(unsigned part, unsigned number, const void *words,
	bool is_locked);
/* Puts the pages into a recording that starts, or has them copied; the reverse, at its end. */
void thrum__record_counters_begin(struct recorder *);
void thrum__record_counters_end(struct recorder *);
/* Copies the values to a recording that can't have the pages. Async-signal-safe. */
void thrum__record_counters_refresh(struct recorder *);
/* Makes sure that the pages are this process's: a child of a fork has its parent's at first.
 * Async-signal-safe. */
void thrum__record_counters_adopt(void);

/* Whether counters may be changed at once. */
ALWAYS_INLINE bool has_counters(void)
{
	return LIKELY(holds_half((void *)&thrum__record_process.counters, COUNTERS_OURS));
}

/* ---- start.c ---- */
/* Returns the recorder, which isn't stopped until thrum__record_let_go; or NULL, and nothing is
 * held. Not async-signal-safe. */
struct recorder *thrum__record_hold(void);
void thrum__record_let_go(void);
/* Does the same as thrum__record_hold, whether or not there is a recorder. Returns false, and holds
 * nothing, if that would have to wait. Async-signal-safe while signals are held off. */
bool thrum__record_try_hold(void);
/* Start and stop, held. They return 0, also if a recording has been started already; or a negative
 * enum thrum_error, -THRUM_E_NOT_RECORDING if there is nothing to stop. */
int thrum__record_start_held(const struct thrum_config *);
int thrum__record_stop_held(void);
/* Called when nothing is recorded or somebody asks: does what is asked. If nothing is recorded then,
 * makes the mask say so, as in a child that was made without the handlers of fork(). Returns the
 * recorder or NULL. Async-signal-safe. */
struct recorder *thrum__record_look_outside(void);
/* Judges an existing file for thrum__port_file_create. */
enum thrum__port_claim thrum__record_claim(const void *head, size_t size, bool is_locked);

/* ---- recorder.c ---- */
/* Fills in the sizes and sections of a header. Returns 0 or -THRUM_E_SIZE. */
int thrum__record_lay_out(struct thrum__header *, uint64_t size, const struct thrum_config *);
/* Makes a recorder over a block of memory of `size` bytes, in which the header's bytes are 0.
 * *recorder is not in use yet. Returns 0, -THRUM_E_SIZE or -THRUM_E_MEMORY. */
int thrum__record_recorder_create(struct recorder **, void *memory, uint64_t size,
	const struct thrum_config *);

/* ---- request.c ---- */
#ifndef THRUM_CORE
extern struct thrum__request thrum__record_request;
/* In a child: the parent was asked. */
static inline void forget_request(void)
{
	atomic_store(&thrum__record_request.state, THRUM__REQUEST_NONE);
}
/* Does what another program asks for, unless a lock is held. Async-signal-safe; keeps errno. */
void thrum__record_obey(void);
/* Whether another program asks for a start or stop. */
static inline bool is_asked(void)
{
	return UNLIKELY(atomic_load_explicit(&thrum__record_request.state, memory_order_acquire) ==
		THRUM__REQUEST_ASKED);
}
#else
static inline void forget_request(void)
{
}
static inline bool is_asked(void)
{
	return false;
}
static inline void thrum__record_obey(void)
{
}
#endif

/* Returns the recorder; NULL: nothing is recorded. All slow paths ask here. */
static inline struct recorder *current_recorder(void)
{
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	return LIKELY(r != NULL) && !is_asked() ? r : thrum__record_look_outside();
}

/* ---- clock.c ---- */
/* Chooses the clock of a recorder that is being made, and makes it the clock in use: `given`, or if that
 * is NULL, one that can be trusted. Notes it in the header with the first reading of all clocks. */
void thrum__record_clock_begin(struct recorder *, struct thrum__header *,
	const struct thrum_clock *given);
/* Whether a reading of all clocks is due and the calling thread has to take it. `time` is on the
 * clock. */
bool thrum__record_clock_is_due(struct recorder *, uint64_t time);
/*
 * Called when the clock is behind `last`, the time of a lane's last event. By a little, that's due to
 * processors that differ; else the clock has stepped back, and from now on it goes on from `last`, as
 * it would otherwise stand still until it gets there. Returns the time to use. Async-signal-safe.
 */
uint64_t thrum__record_clock_after(struct recorder *, uint64_t last);
/* Whether the calling thread has to tell of such a step. Fills in *record then. */
bool thrum__record_clock_has_stepped(struct recorder *, struct thrum__record *record);
/* Reads all clocks, notes them in the header and fills in *record, a CLOCK record. */
void thrum__record_note_clocks(struct recorder *, struct thrum__record *);

#pragma GCC visibility pop
#endif
