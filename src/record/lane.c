/* SPDX-License-Identifier: ISC */
/* Threads and their lanes: how a thread gets a lane, changes packets, and leaves. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "port/futex.h"
#include "port/port.h"
#include "record/record.h"

struct lane thrum__record_no_lane = {.position = (uint8_t *)1, .lowest_id = 1};
/* Stands in for the table of live tasks where none is kept. */
static struct thrum__live_task no_cell;
#define WITHOUT_LANES \
	{ \
		&thrum__record_no_lane, &thrum__record_no_lane, &thrum__record_no_lane \
	}
#ifndef THRUM_CORE
__thread struct thread thrum__record_thread = {.lane = WITHOUT_LANES};
#else
struct cpu thrum__record_cpus[THRUM_CORE_CPUS] = {
	[0 ... THRUM_CORE_CPUS - 1] = {.thread = {.lane = WITHOUT_LANES}}};
#endif

/* ---- Losses --------------------------------------------------------------------------------- */

void thrum__record_count_lost(enum thrum_lost cause)
{
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	if (r)
		atomic_fetch_add_explicit(&r->header->lost[cause], 1, memory_order_relaxed);
}

/* Counts a lost event in the header, where readers see it at once, and in the thread, whose lane
 * gets a LOST record as soon as it can. */
static void lose_event(struct thread *thread, enum thrum_lost cause)
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

void thrum__record_clear_limit(struct lane *lane)
{
	atomic_store_explicit(&lane->limit, NULL, memory_order_relaxed);
	atomic_store_explicit(&lane->tsc_limit, NULL, memory_order_relaxed);
}

void thrum__record_set_limit(struct lane *lane)
{
	const struct recorder *r = lane->recorder;
	bool ids_fit = (lane->next_id - lane->lowest_id) >> 32 == 0;
	uint8_t *end = (uint8_t *)lane->packet + r->ready[lane->slot];
	uint8_t *limit = ids_fit && !r->careful ? end - FAST_EVENT_MAX + 1 : NULL;
	bool in_place = !r->clock.read && lane->lowest_id == 1;

	lane->is_untold = false;
	handler_fence();
	atomic_store_explicit(&lane->limit, limit, memory_order_relaxed);
	atomic_store_explicit(&lane->tsc_limit, in_place ? limit : NULL, memory_order_relaxed);
	/* Partners: thrum_stop() takes the recorder away, then clears the limit of each lane; a handler
	 * may have called run_untold(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&thrum__record_process.recorder, memory_order_relaxed) != r)
		thrum__record_clear_limit(lane);
	/* Partner: thrum__record_clock_after(). */
	if (UNLIKELY(atomic_load_explicit(&r->step, memory_order_relaxed)))
		atomic_store_explicit(&lane->tsc_limit, NULL, memory_order_relaxed);
	if (thrum__record_thread.running != lane->said) {
		atomic_store_explicit(&lane->tsc_limit, NULL, memory_order_relaxed);
		lane->is_untold = true;
	}
}

/* Makes the first `bytes` of a packet present. Returns false if the device is full, or if the program
 * has entered a sandbox that forbids it. */
static bool extend_packet(struct recorder *r, uint32_t slot, size_t bytes)
{
	uint32_t ready = r->ready[slot];

	while (ready < bytes) {
		uint32_t left = r->packet_size - ready;
		uint32_t step = left < POPULATE_STEP ? left : POPULATE_STEP;
		uint8_t *from = (uint8_t *)packet_at(r, slot) + ready;

		int error = r->has_file ? thrum__port_populate(from, step) : 0;

		if (error) {
			atomic_store_explicit(&r->refused,
				error == -THRUM_E_SPACE ? THRUM__LOST_NO_SPACE
							: THRUM__LOST_FORBIDDEN,
				memory_order_relaxed);
			return false;
		}
		r->ready[slot] = ready += step;
	}
	return true;
}

/* Makes sure that the header counts the packet among the used ones. */
static void note_used(struct recorder *r, uint32_t slot)
{
	uint32_t used = atomic_load_explicit(&r->header->packets_used, memory_order_relaxed);

	while (slot >= used &&
		!atomic_compare_exchange_weak(&r->header->packets_used, &used, slot + 1))
		;
}

/*
 * Makes the packet in `slot` the lane's. Readers in other processes see ticket 0 while it is
 * prepared. If they find the same ticket before and after copying, nothing changed meanwhile. The
 * process may die after any of these stores: the recording stays readable.
 */
static void begin_packet(struct lane *lane, uint32_t slot, uint64_t time, uint64_t running)
{
	struct recorder *r = lane->recorder;
	struct thrum__packet *p = packet_at(r, slot);
	/* Ids whose high half is that of the lane's next id fit 32 bits. The base is 0 as long as
	 * all ids fit. */
	uint64_t id_base = lane->next_id >> 32 << 32;
	uint32_t ticket;

	/* First all that orders accesses: behind the stores to the packet, which is no longer in any
	 * cache, it would wait for them. */
	do
		ticket = 1 + atomic_fetch_add_explicit(&r->tickets, 1, memory_order_relaxed);
	while (ticket == 0);
	note_used(r, slot);
	lane->lowest_id = id_base + 1;
	lane->slot = slot;
	lane->packet = p;
	lane->position = (uint8_t *)(p + 1);
	lane->last = in_ticks(time);
	lane->said = running;
	thrum__record_set_limit(lane);

	atomic_store_explicit(&p->ticket, 0, memory_order_relaxed);
	/* Partner: the reader's acquire fence before it looks at the ticket again. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&p->content_size, sizeof *p * 8, memory_order_relaxed);
	p->magic = THRUM__PACKET_MAGIC;
	memcpy(p->uuid, r->header->uuid, sizeof p->uuid);
	p->stream_id = 0;
	p->lane = lane->number;
	p->begin = time >> TICK_BITS;
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
	/* Partner: the reader's first, acquiring look at the ticket. */
	atomic_store_explicit(&p->ticket, ticket, memory_order_release);
}

/* Takes a packet from the pool and makes its first bytes present. Returns NO_PACKET if there is
 * none. */
static uint32_t take_packet(struct recorder *r)
{
	/* On a full disk or in a sandbox, the pool may begin with packets that can't be used. Up to
	 * four of them are dropped. */
	for (int i = 0; i < 4; i++) {
		uint32_t slot = thrum__record_pool_take(r);

		if (slot == NO_PACKET ||
			extend_packet(r, slot, FAST_EVENT_MAX + sizeof(struct thrum__packet)))
			return slot;
		atomic_fetch_add_explicit(&r->header->lost[atomic_load(&r->refused)], 1,
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

/* Replaces the lane's full packet by another one. Returns false if there is none; then the lane has
 * no packet. */
static bool change_packet(struct thread *thread, struct lane *lane, uint64_t time)
{
	struct recorder *r = lane->recorder;
	bool changed = true;

	atomic_store_explicit(&lane->switching, 1, memory_order_relaxed);
	handler_fence();
	uint32_t old = lane->slot;
	uint32_t slot = take_packet(r);

	if (slot == NO_PACKET && !r->discard)
		slot = old; /* each packet belongs to a lane: overwrite our own */
	lane->slot = NO_PACKET;
	thrum__record_clear_limit(lane);
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

/* Makes room for so many bytes in the lane's packet or in the next one. Returns false if there is
 * none. */
static bool make_room(struct thread *thread, struct lane *lane, size_t bytes, uint64_t time)
{
	struct recorder *r = lane->recorder;

	if (lane->slot != NO_PACKET) {
		size_t end = (size_t)(lane->position - (uint8_t *)lane->packet) + bytes;

		if (end <= r->ready[lane->slot])
			return true;
		if (end <= r->packet_size && extend_packet(r, lane->slot, end)) {
			thrum__record_set_limit(lane);
			return true;
		}
	}
	return change_packet(thread, lane, time) &&
		extend_packet(r, lane->slot, sizeof(struct thrum__packet) + bytes);
}

/* ---- Getting a lane ------------------------------------------------------------------------- */

/* Returns the lane of a thread that ended without leaving it, or NULL. Asks the kernel about each
 * thread, so it searches at most ten times a second. */
static struct lane *reclaim_lane(struct recorder *r, uint64_t time)
{
	uint64_t due = atomic_load(&r->next_reclaim);
	uint64_t later = time + (r->clock.frequency << TICK_BITS) / 10;

	if (time < due || !atomic_compare_exchange_strong(&r->next_reclaim, &due, later))
		return NULL;
	uint32_t lanes = atomic_load(&r->lanes_used);

	for (uint32_t i = 0; i < lanes && i < r->packet_count; i++) {
		struct lane *lane = &r->lanes[i];
		uint32_t tid = atomic_load(&lane->tid);

		/* Test `switching` only once the thread is known to be dead: a live one may still
		 * begin to switch. */
		if (tid && !thrum__port_thread_lives(r->header->pid, tid) &&
			!atomic_load(&lane->switching) &&
			atomic_compare_exchange_strong(&lane->tid, &tid, thrum__port_tid())) {
			lane->was_left = true;
			return lane;
		}
	}
	return NULL;
}

/* Finds a lane with a packet for this thread: one that another thread left, or a new one. Returns
 * NULL if there is none. */
static struct lane *find_lane(struct recorder *r, uint64_t time)
{
	struct lane *lane = thrum__record_unpark(r);

	if (lane)
		return lane;
	/* Before a packet can be counted as used: the recording may stop at any time. */
	atomic_fetch_add(&r->header->takers, 1);
	uint32_t slot = take_packet(r);

	if (slot == NO_PACKET) {
		atomic_fetch_sub(&r->header->takers, 1);
		return reclaim_lane(r, time);
	}
	/* A new lane has a packet, so there should never be more lanes than packets. */
	uint32_t number = atomic_fetch_add(&r->lanes_used, 1);

	if (number >= r->packet_count) {
		thrum__record_pool_put(r, slot);
		return NULL;
	}
	lane = &r->lanes[number];
	lane->recorder = r;
	lane->table = r->live ? r->live : &no_cell;
	lane->table_mask = r->live ? r->live_mask : 0;
	lane->first_number = r->generation << 16;
	lane->number = number;
	lane->number_twice = (number & UINT16_MAX) * 0x10001;
	lane->slot = NO_PACKET;
	thrum__record_take_ids(lane);
	/* If the thread dies here, nobody takes over a lane without a packet. */
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

/* Begins the thread's own task with the lane's first event of this thread, unless a handler was
 * quicker. */
static void begin_own_task(struct thread *thread, struct lane *lane, uint64_t time)
{
	char name[THRUM__PORT_NAME];
	uint64_t none = 0, id = thrum__record_next_id(lane, true);

	if (!__atomic_compare_exchange_n(&thread->own, &none, id, false, __ATOMIC_RELAXED,
		    __ATOMIC_RELAXED))
		return;
	thrum__port_thread_name(name);
	if (thread->name[0])
		memcpy(name, thread->name, sizeof name);
	thread->name[0] = '\0';
	if (!thread->running)
		thread->running = id;
	thrum__record_live_begin(lane, id, time,
		&(struct creation){.place = THRUM_KIND_THREAD << 16, .label = name});
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

/* A call that used this lane was left at some point, so only what it had published counts. The next
 * record tells its whole time and the running task. */
static void renew_left(struct lane *lane, uint64_t time)
{
	lane->was_left = false;
	if (lane->slot != NO_PACKET)
		lane->position = (uint8_t *)lane->packet +
			atomic_load_explicit(&lane->packet->content_size, memory_order_relaxed) / 8;
	lane->last = time - 2 * COMPACT_GAP;
	lane->said = UINT64_MAX;
	atomic_store_explicit(&lane->tsc_limit, NULL, memory_order_relaxed);
	lane->is_scarce = false;
	lane->kept_end = lane->kept_next;
	lane->plain_end = lane->plain_next;
	lane->end_id = lane->next_id;
}

/* Gives the thread a lane for this level. Returns NULL if there is none. *time becomes the event's
 * time: never before the lane's last one. */
static struct lane *attach_lane(struct thread *thread, struct recorder *r, unsigned level,
	uint64_t *time)
{
	struct lane *lane = find_lane(r, *time);

	if (!lane)
		return NULL;
	/* Signal-safe in practice: the key is one of glibc's first 32, whose values lie in the
	 * thread's own memory. */
	if (thrum__record_has_exit_key)
		pthread_setspecific(thrum__record_exit_key, thread);
	atomic_store_explicit(&lane->tid, thrum__port_tid(), memory_order_relaxed);
	lane->level = (uint8_t)level;
	lane->suspended = lane->open = 0;
	if ((int64_t)(*time - lane->last) < 0)
		*time = lane->last;
	thread->lane[level] = lane;
	if (lane->was_left)
		renew_left(lane, *time);
	if (!thread->own)
		begin_own_task(thread, lane, *time);
	else if (lane->slot != NO_PACKET && lane->packet->own != thread->own)
		change_packet(thread, lane, *time); /* its header names another thread */
	if (lane->slot != NO_PACKET)
		thrum__record_set_limit(lane); /* another task may run than on the former thread */
	return lane;
}

/* Returns the cause for which there is no packet. */
static enum thrum_lost cause_of_starvation(const struct recorder *r)
{
	uint32_t refused = atomic_load_explicit(&r->refused, memory_order_relaxed);

	if (refused)
		return (enum thrum_lost)refused;
	return r->discard ? THRUM__LOST_FULL : THRUM__LOST_NO_PACKET;
}

/* Writes the records that are due before the event: a reading of the clocks, a step of the clock, and
 * the number of events that were lost. */
static void catch_up(struct thread *thread, struct lane *lane, uint64_t time)
{
	if (thrum__record_clock_is_due(lane->recorder, time)) {
		struct thrum__record clocks;

		thrum__record_note_clocks(lane->recorder, &clocks);
		thrum__record_lane_write(lane, &clocks, time);
	}
	struct thrum__record step;

	if (thrum__record_clock_has_stepped(lane->recorder, &step))
		thrum__record_lane_write(lane, &step, time);
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
#define CATCH_UP_MAX (5 * THRUM__EXTENDED_SIZE + 16 + 9 + 56)

/* Leaves a lane whose call will never return as one that must be renewed. If it was between two
 * packets, nobody uses it again. */
static void give_up_call(struct thread *thread, unsigned level)
{
	struct lane *lane = thread->lane[level];

	if (level == 0 && thread->generation == FORGETTING)
		thread->generation = 0;
	if (lane == &thrum__record_no_lane)
		return;
	if (atomic_load_explicit(&lane->switching, memory_order_relaxed))
		thread->lane[level] = &thrum__record_no_lane;
	else
		lane->was_left = true;
}

/*
 * Takes a level of the thread. Returns false if a call uses it that this signal handler has
 * interrupted. A call that was left, by a handler with siglongjmp, doesn't count: its stack frame
 * is gone.
 */
static bool take_level(struct thread *thread, unsigned level)
{
	uintptr_t frame = thread->busy[level], here;

	store_stack_pointer(&here);
	if (frame && !thrum__port_stack_is_left(frame, here))
		return false;
	thread->busy[level] = here;
	handler_fence();
	if (frame)
		give_up_call(thread, level);
	return true;
}

/*
 * Makes sure that the thread's state belongs to this recording, and resets it if it belongs to
 * another. Returns false if this signal handler interrupted the reset.
 */
static bool join_recording(struct thread *thread, const struct recorder *r)
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

/* Called when there is no lane: counts an event as lost, unless the lane was wanted for no event
 * (0 bytes). */
static void refuse_lane(struct thread *thread, size_t bytes, enum thrum_lost cause)
{
	if (bytes > 0)
		lose_event(thread, cause);
}

struct lane *thrum__record_lane_take(struct thread *thread, size_t bytes, uint64_t *time)
{
	struct recorder *r = current_recorder();
	unsigned level = 0;

	if (!r)
		return NULL;
	while (level < LEVELS && !take_level(thread, level))
		level++;
	if (level == LEVELS) {
		refuse_lane(thread, bytes, THRUM__LOST_NESTED);
		return NULL;
	}
	if (!join_recording(thread, r)) {
		refuse_lane(thread, bytes, THRUM__LOST_NESTED);
		thread->busy[level] = 0;
		return NULL;
	}
	*time = now();

	/* A thread without a lane may ask for one after a millisecond, or when the clock steps back. */
	uint64_t wait = (r->clock.frequency << TICK_BITS) / 1000;
	struct lane *lane = thread->lane[level]->recorder == r ? thread->lane[level] : NULL;

	bool may_ask = thread->retry - *time - 1 >= wait;

	if (!lane && may_ask)
		lane = attach_lane(thread, r, level, time);
	if (lane && (int64_t)(*time - lane->last) < 0)
		*time = thrum__record_clock_after(r, lane->last);
	if (lane && lane->was_left)
		renew_left(lane, *time);
	if (lane && make_room(thread, lane, bytes + CATCH_UP_MAX, *time)) {
		catch_up(thread, lane, *time);
		return lane;
	}
	if (!lane && may_ask)
		thread->retry = *time + wait;
	refuse_lane(thread, bytes, cause_of_starvation(r));
	handler_fence();
	thread->busy[level] = 0;
	return NULL;
}

void thrum__record_lane_release(struct thread *thread, struct lane *lane)
{
	handler_fence();
	thread->busy[lane->level] = 0;
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

	thrum__record_seat_leave(thread);
	if (!r || thread->generation != r->generation)
		return;
	/* All of the thread's calls are over, also those that it never returned from. */
	for (unsigned level = 0; level < LEVELS; level++) {
		if (thread->busy[level])
			give_up_call(thread, level);
		thread->busy[level] = 0;
	}
	if (thread->own) {
		run_untold(thread, thread->own);
		thrum__resolve(thread->own);
	}
	for (unsigned level = 0; level < LEVELS; level++) {
		struct lane *lane = thread->lane[level];

		/* Handlers that come now are too late for this lane. */
		thread->busy[level] = UINTPTR_MAX;
		handler_fence();
		if (lane->recorder != r)
			continue;
		thread->lane[level] = &thrum__record_no_lane;
		atomic_store_explicit(&lane->tid, 0, memory_order_relaxed);
		thrum__record_park(r, lane);
	}
	thrum__record_thread_forget(thread);
	handler_fence();
	memset(thread->busy, 0, sizeof thread->busy);
}
