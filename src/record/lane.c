/* SPDX-License-Identifier: ISC */
/* Threads and their lanes: getting one, changing packets, the slow path of every call, and leaving.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "port/futex.h"
#include "port/port.h"
#include "record/record.h"

struct lane thrum__record_no_lane = {.position = (uint8_t *)1, .lowest_id = 1};
__thread struct thread thrum__record_thread = {
	.lane = {&thrum__record_no_lane, &thrum__record_no_lane, &thrum__record_no_lane}};

/* ---- Losses --------------------------------------------------------------------------------- */

void thrum__record_count_lost(enum thrum_lost cause)
{
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	if (r)
		atomic_fetch_add_explicit(&r->header->lost[cause], 1, memory_order_relaxed);
}

/* An event is lost: counted for all to see at once, and told in the thread's lane when it can be.
 */
static void lose(struct thread *thread, enum thrum_lost cause)
{
	thrum__record_count_lost(cause);
	thread->lost++;
	thread->lost_cause = cause;
}

/* ---- Packets -------------------------------------------------------------------------------- */

static struct thrum__packet *packet_at(const struct recorder *r, uint32_t slot)
{
	return (struct thrum__packet *)(void *)(r->packets + (size_t)slot * r->packet_size);
}

void thrum__record_store_limit(struct lane *lane, uint8_t *limit)
{
	bool in_place = limit && !lane->recorder->clock.read;

	atomic_store_explicit(&lane->limit, limit, memory_order_relaxed);
	atomic_store_explicit(&lane->tsc_limit, in_place ? limit : NULL, memory_order_relaxed);
}

void thrum__record_set_limit(struct lane *lane)
{
	const struct recorder *r = lane->recorder;
	bool ids_fit = (lane->next_id - lane->lowest_id) >> 32 == 0;
	uint8_t *end = (uint8_t *)lane->packet + r->ready[lane->slot];

	thrum__record_store_limit(lane, ids_fit && !r->careful ? end - FAST_EVENT_MAX : NULL);
	/* Partner: stop() makes the recorder another one, then looks at every lane. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&thrum__record_process.recorder, memory_order_relaxed) != r)
		thrum__record_store_limit(lane, NULL);
}

/* Makes the first `bytes` of a packet present. False: no space left on the device. */
static bool extend(struct recorder *r, uint32_t slot, size_t bytes)
{
	uint32_t ready = r->ready[slot];

	while (ready < bytes) {
		uint32_t left = r->packet_size - ready;
		uint32_t step = left < POPULATE_STEP ? left : POPULATE_STEP;
		uint8_t *from = (uint8_t *)packet_at(r, slot) + ready;

		if (r->has_file && thrum__port_populate(from, step) == -THRUM_E_SPACE) {
			atomic_store_explicit(&r->no_space, true, memory_order_relaxed);
			return false;
		}
		r->ready[slot] = ready += step;
	}
	return true;
}

static void note_used(struct recorder *r, uint32_t slot)
{
	uint32_t used = atomic_load_explicit(&r->header->packets_used, memory_order_relaxed);

	while (slot >= used &&
		!atomic_compare_exchange_weak(&r->header->packets_used, &used, slot + 1))
		;
}

/*
 * The slot is the lane's from now on. Readers of other processes: ticket 0 means that it is being
 * prepared; if they find the same ticket before and after copying, nothing was changed meanwhile.
 * Each prefix of these stores is safe to die after.
 */
static void begin_packet(struct lane *lane, uint32_t slot, uint64_t time, uint64_t running)
{
	struct recorder *r = lane->recorder;
	struct thrum__packet *p = packet_at(r, slot);
	uint32_t ticket;

	atomic_store_explicit(&p->ticket, 0, memory_order_relaxed);
	/* Partner: the reader's acquire fence before it looks at the ticket again. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&p->content_size, sizeof *p * 8, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	/* Ids with the high half of the lane's own fit 32 bits; 0 as long as all do. */
	uint64_t id_base = lane->next_id >> 32 << 32;

	lane->lowest_id = id_base + 1;
	p->magic = THRUM__PACKET_MAGIC;
	memcpy(p->uuid, r->header->uuid, sizeof p->uuid);
	p->stream_id = 0;
	p->lane = lane->number;
	p->begin = time >> 4;
	p->packet_size = r->packet_size * 8;
	p->seq = lane->seq++;
	p->discarded = lane->discarded;
	p->tid = atomic_load_explicit(&lane->tid, memory_order_relaxed);
	p->id_base = id_base;
	p->own = thrum__record_thread.own;
	p->running = running;
	p->suspended = lane->suspended;
	p->open = lane->open;
	memcpy(p->spans, lane->spans, sizeof p->spans);
	do
		ticket = 1 + atomic_fetch_add_explicit(&r->tickets, 1, memory_order_relaxed);
	while (ticket == 0);
	/* Partner: the reader's first, acquiring look at the ticket. */
	atomic_store_explicit(&p->ticket, ticket, memory_order_release);
	note_used(r, slot);

	lane->slot = slot;
	lane->packet = p;
	lane->position = (uint8_t *)(p + 1);
	lane->last = time;
	lane->said = running;
	thrum__record_set_limit(lane);
}

/* A packet from the pool whose first bytes are present. */
static uint32_t take_packet(struct recorder *r)
{
	/* A few tries: on a full disk the pool may begin with packets that can't be used; they are
	 * dropped. */
	for (int i = 0; i < 4; i++) {
		uint32_t slot = thrum__record_pool_take(r);

		if (slot == NO_PACKET ||
			extend(r, slot, FAST_EVENT_MAX + sizeof(struct thrum__packet)))
			return slot;
		atomic_fetch_add_explicit(&r->header->lost[THRUM__LOST_NO_SPACE], 1,
			memory_order_relaxed);
	}
	return NO_PACKET;
}

static void wake_readers(struct recorder *r)
{
	if (atomic_load_explicit(&r->header->waiters, memory_order_relaxed) == 0)
		return;
	atomic_fetch_add_explicit(&r->header->progress, 1, memory_order_release);
	thrum__port_wake(&r->header->progress);
}

/* The lane's packet is full: another one. False: there is none, and the lane has none now. */
static bool change_packet(struct thread *thread, struct lane *lane, uint64_t time)
{
	struct recorder *r = lane->recorder;
	bool changed = true;

	atomic_store_explicit(&lane->switching, 1, memory_order_relaxed);
	handler_fence();
	uint32_t old = lane->slot;
	uint32_t slot = take_packet(r);

	if (slot == NO_PACKET && !r->discard)
		slot = old; /* as many lanes as packets: overwrite our own */
	lane->slot = NO_PACKET;
	thrum__record_store_limit(lane, NULL);
	if (old != NO_PACKET && old != slot && !r->discard)
		thrum__record_pool_put(r, old);
	if (slot != NO_PACKET)
		begin_packet(lane, slot, time, thread->running);
	else
		changed = false;
	handler_fence();
	atomic_store_explicit(&lane->switching, 0, memory_order_relaxed);
	wake_readers(r);
	return changed;
}

/* Room for so many bytes in the lane's packet, or in the next. */
static bool make_room(struct thread *thread, struct lane *lane, size_t bytes, uint64_t time)
{
	struct recorder *r = lane->recorder;

	if (lane->slot != NO_PACKET) {
		size_t end = (size_t)(lane->position - (uint8_t *)lane->packet) + bytes;

		if (end <= r->ready[lane->slot])
			return true;
		if (end <= r->packet_size && extend(r, lane->slot, end)) {
			thrum__record_set_limit(lane);
			return true;
		}
	}
	return change_packet(thread, lane, time) &&
		extend(r, lane->slot, sizeof(struct thrum__packet) + bytes);
}

/* ---- Getting a lane ------------------------------------------------------------------------- */

/* The lane of a thread that ended without telling us. Rarely looked for, as it asks the kernel
 * about each thread. */
static struct lane *reclaim(struct recorder *r, uint64_t time)
{
	uint64_t due = atomic_load(&r->next_reclaim);
	uint64_t later = time + 16 * r->clock.frequency / 10;

	if (time < due || !atomic_compare_exchange_strong(&r->next_reclaim, &due, later))
		return NULL;
	uint32_t lanes = atomic_load(&r->lanes_used);

	for (uint32_t i = 0; i < lanes && i < r->packet_count; i++) {
		struct lane *lane = &r->lanes[i];
		uint32_t tid = atomic_load(&lane->tid);

		/* `switching` is looked at when the thread is known to be dead: before, it might
		 * still begin to switch. */
		if (tid && !thrum__port_thread_lives(r->header->pid, tid) &&
			!atomic_load(&lane->switching) &&
			atomic_compare_exchange_strong(&lane->tid, &tid, thrum__port_tid()))
			return lane;
	}
	return NULL;
}

/* A lane with a packet for this thread: one that another thread left, or a new one. */
static struct lane *find_lane(struct recorder *r, uint64_t time)
{
	struct lane *lane = thrum__record_unpark(r);

	if (lane)
		return lane;
	uint32_t slot = take_packet(r);

	if (slot == NO_PACKET)
		return reclaim(r, time);
	/* Each lane has a packet, so there are never more lanes than packets. */
	uint32_t number = atomic_fetch_add(&r->lanes_used, 1);

	if (number >= r->packet_count) {
		thrum__record_pool_put(r, slot);
		return NULL;
	}
	lane = &r->lanes[number];
	lane->recorder = r;
	lane->table = r->live;
	lane->table_mask = r->live_mask;
	lane->generation = (uint16_t)r->generation;
	lane->number = number;
	lane->slot = NO_PACKET;
	thrum__record_take_ids(lane);
	/* Should the thread die here, nobody takes over a lane without a packet. */
	atomic_store(&lane->switching, 1);
	atomic_store(&lane->tid, thrum__port_tid());
	begin_packet(lane, slot, time, thrum__record_thread.running);
	atomic_store(&lane->switching, 0);
	return lane;
}

void thrum__record_thread_forget(struct thread *thread)
{
	for (unsigned level = 0; level < LEVELS; level++)
		thread->lane[level] = &thrum__record_no_lane;
	thread->running = thread->own = thread->retry = 0;
	thread->lost = 0;
}

/* The lane's first event of this thread: the thread's own task begins, unless a handler was
 * quicker. */
static void begin_own_task(struct thread *thread, struct lane *lane, uint64_t time)
{
	char name[16];
	uint64_t none = 0, id = thrum__record_next_id(lane);

	if (!__atomic_compare_exchange_n(&thread->own, &none, id, false, __ATOMIC_RELAXED,
		    __ATOMIC_RELAXED))
		return;
	thrum__port_thread_name(name);
	if (!thread->running)
		thread->running = id;
	thrum__record_live_begin(lane, id, time,
		&(struct creation){.kind = THRUM_KIND_THREAD, .label = name});
	thrum__record_live_flag(lane->recorder, id, THRUM__LIVE_LANE);

	struct thrum__record begins = {.type = THRUM__R_LANE,
		.other = id,
		.tid = thrum__port_tid(),
		.text = name};

	if (make_room(thread, lane, thrum__record_bytes_needed(&begins), time)) {
		thrum__record_lane_write(lane, &begins, time);
		lane->said = id;
	}
}

static struct lane *attach(struct thread *thread, struct recorder *r, unsigned level,
	uint64_t *time)
{
	struct lane *lane = find_lane(r, *time);

	if (!lane)
		return NULL;
	/* In practice signal-safe: the key is one of glibc's first 32, whose values lie in the
	 * thread itself. */
	if (thrum__record_has_exit_key)
		pthread_setspecific(thrum__record_exit_key, thread);
	atomic_store_explicit(&lane->tid, thrum__port_tid(), memory_order_relaxed);
	lane->level = (uint8_t)level;
	lane->suspended = lane->open = 0;
	if ((int64_t)(*time - lane->last) < 0)
		*time = lane->last;
	thread->lane[level] = lane;
	if (!thread->own)
		begin_own_task(thread, lane, *time);
	else if (lane->slot != NO_PACKET && lane->packet->own != thread->own)
		change_packet(thread, lane, *time); /* its header still tells of another thread */
	return lane;
}

/* Why there is no packet for us. */
static enum thrum_lost cause_of_starvation(const struct recorder *r)
{
	if (atomic_load_explicit(&r->no_space, memory_order_relaxed))
		return THRUM__LOST_NO_SPACE;
	return r->discard ? THRUM__LOST_FULL : THRUM__LOST_NO_PACKET;
}

/* What there may be to say before the event itself: time that passed on other clocks, events that
 * were lost. */
static void catch_up(struct thread *thread, struct lane *lane, uint64_t time)
{
	if (thrum__record_clock_is_due(lane->recorder, time)) {
		struct thrum__record clocks;

		thrum__record_note_clocks(lane->recorder, &clocks);
		thrum__record_lane_write(lane, &clocks, time);
	}
	if (thread->lost) {
		struct thrum__record lost = {.type = THRUM__R_LOST,
			.cause = thread->lost_cause,
			.value = thread->lost};

		lane->discarded += thread->lost;
		thread->lost = 0;
		thrum__record_lane_write(lane, &lost, time);
	}
}
#define FORGETTING UINT32_MAX /* a generation that no recording has */
#define CATCH_UP_MAX (2 * THRUM__EXTENDED_SIZE + 16 + 9)

/*
 * Sees to it that what the thread has is this recording's. False: we interrupted just that, in this
 * thread. (A handler that never returns, but jumps out of these few instructions, silences its
 * thread.)
 */
static bool is_of(struct thread *thread, const struct recorder *r)
{
	uint32_t seen = __atomic_load_n(&thread->generation, __ATOMIC_RELAXED);

	if (seen == FORGETTING)
		return false;
	if (seen == r->generation ||
		!__atomic_compare_exchange_n(&thread->generation, &seen, FORGETTING, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return true;
	thrum__record_thread_forget(thread);
	handler_fence();
	__atomic_store_n(&thread->generation, r->generation, __ATOMIC_RELAXED);
	return true;
}

/* There is no lane; where one was only asked for, for no event, nothing is lost. */
static void refuse(struct thread *thread, size_t bytes, enum thrum_lost cause)
{
	if (bytes > 0)
		lose(thread, cause);
}

struct lane *thrum__record_lane_take(struct thread *thread, size_t bytes, uint64_t *time)
{
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);
	unsigned level = 0;

	if (!r)
		return NULL;
	while (level < LEVELS && thread->busy[level])
		level++;
	if (level == LEVELS) {
		refuse(thread, bytes, THRUM__LOST_NESTED);
		return NULL;
	}
	thread->busy[level] = 1;
	handler_fence();
	if (!is_of(thread, r)) {
		refuse(thread, bytes, THRUM__LOST_NESTED);
		thread->busy[level] = 0;
		return NULL;
	}
	*time = now();

	struct lane *lane = thread->lane[level]->recorder == r ? thread->lane[level] : NULL;

	if (!lane && (int64_t)(*time - thread->retry) >= 0)
		lane = attach(thread, r, level, time);
	if (lane && (int64_t)(*time - lane->last) < 0)
		*time = lane->last;
	if (lane && make_room(thread, lane, bytes + CATCH_UP_MAX, *time)) {
		catch_up(thread, lane, *time);
		return lane;
	}
	if (!lane && (int64_t)(*time - thread->retry) >= 0)
		thread->retry = *time + 16 * r->clock.frequency / 1000;
	refuse(thread, bytes, cause_of_starvation(r));
	handler_fence();
	thread->busy[level] = 0;
	return NULL;
}

void thrum__record_lane_release(struct thread *thread, struct lane *lane)
{
	handler_fence();
	thread->busy[lane->level] = 0;
}

/* ---- Writing -------------------------------------------------------------------------------- */

enum {
	RELIES = 1,
	DEFINES = 2
};

/* Of each record: whether it relies on the running task, whether it has a definition. */
static const uint8_t traits[64] = {
#define RUNNING RELIES
#define NOBODY 0
#define TASK(x)
#define VALUE(x)
#define DEF(x) | DEFINES
#define SITE(x)
#define KIND(x)
#define CAUSE(x)
#define U32(x)
#define U64(x)
#define TEXT(x)
#define KEY(x)
#define RECORD(id, NAME, name, runs, fields) [id] = runs fields,
#include "format/records.def"
#undef RECORD
};

static void emit(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	bool wide = thrum__format_record_is_wide(record, lane->lowest_id - 1);
	unsigned id = record->type + (wide ? THRUM__WIDE : 0);
	uint8_t *p = lane->position;

	p += thrum__format_encode_header(p, id, time >> 4, lane->last >> 4);
	p += thrum__format_encode_fields(p, record, lane->lowest_id - 1, wide);
	lane->last = time;
	publish(lane, p);
}

void thrum__record_lane_write(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	uint8_t trait = traits[record->type];
	uint64_t running = thrum__record_thread.running;

	if (trait & RELIES && lane->said != running) {
		emit(lane, &(struct thrum__record){.type = THRUM__R_CONTEXT, .task = running},
			time);
		lane->said = running;
	}
	if (trait & DEFINES && !record->def)
		emit(lane, &(struct thrum__record){.type = THRUM__R_NAME, .text = record->text},
			time);
	emit(lane, record, time);
}

size_t thrum__record_bytes_needed(const struct thrum__record *record)
{
	size_t text = record->text ? strnlen(record->text, THRUM_TEXT_MAX) + 1 : 0;

	/* The record itself, a context and a name before it: headers, numbers, text. */
	return 3 * THRUM__EXTENDED_SIZE + 32 + 8 + text + record->key_size;
}

void thrum__record_write_defined(const struct recorder *r, struct thrum__record *record)
{
	struct thread *thread = &thrum__record_thread;
	int error = errno;
	uint64_t time;
	struct lane *lane = thrum__record_lane_take(thread, thrum__record_bytes_needed(record),
		&time);

	if (lane) {
		if (!r || lane->recorder == r)
			thrum__record_lane_write(lane, record, time);
		thrum__record_lane_release(thread, lane);
	}
	errno = error;
}

void thrum__record_write(struct thrum__record *record)
{
	thrum__record_write_defined(NULL, record);
}

/* ---- The thread itself ---------------------------------------------------------------------- */

void thrum__record_thread_attach(struct thread *thread)
{
	int error = errno;
	uint64_t time;
	struct lane *lane = thrum__record_lane_take(thread, 0, &time);

	if (lane)
		thrum__record_lane_release(thread, lane);
	errno = error;
}

void thrum__record_thread_exit(void *pointer)
{
	struct thread *thread = pointer;
	struct recorder *r = atomic_load(&thrum__record_process.recorder);

	if (!r || thread->generation != r->generation)
		return;
	if (thread->own) {
		thread->running = thread->own;
		thrum__resolve(thread->own);
	}
	for (unsigned level = 0; level < LEVELS; level++) {
		struct lane *lane = thread->lane[level];
		/* A handler jumped out of a call: what it left undone stays as it is, and the lane
		 * with it. */
		bool jumped_out = thread->busy[level];

		thread->busy[level] = 1; /* handlers of these last moments come too late */
		handler_fence();
		if (lane->recorder != r || jumped_out)
			continue;
		thread->lane[level] = &thrum__record_no_lane;
		atomic_store_explicit(&lane->tid, 0, memory_order_relaxed);
		thrum__record_park(r, lane);
	}
	thrum__record_thread_forget(thread);
	handler_fence();
	memset(thread->busy, 0, sizeof thread->busy);
}
