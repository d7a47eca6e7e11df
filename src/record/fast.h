/* SPDX-License-Identifier: ISC */
/*
 * The shape of a fast event: take the thread's lane, read the clock, write the header and the
 * fields, publish the event, release the lane. In unusual cases (no lane yet, inside another call,
 * packet full, long gap, an id that needs 64 bits, a long text) a fast function does nothing and
 * returns false.
 */
#ifndef RECORD_FAST_H
#define RECORD_FAST_H

#include <string.h>

#include "record/record.h"

#define HEADER THRUM__COMPACT_SIZE
/* The longest text of a fast event, with its NUL, in bytes: a medium text. */
#define FAST_TEXT 48

/* TSC: the inline variant, which does nothing unless the clock is the time stamp counter. ANY: the
 * variant for any clock. */
enum clock {
	TSC,
	ANY
};

struct fast_event {
	uint8_t *at; /* NULL: nothing was done */
	uint64_t time;
};

/* Releases the lane without writing an event. Returns false. */
ALWAYS_INLINE bool abandon_event(struct thread *thread)
{
	handler_fence();
	thread->busy[0] = 0;
	return false;
}

/* Takes the lane and writes the event's header. `at` is NULL if that is not possible. */
ALWAYS_INLINE struct fast_event begin_event(enum clock clock, struct thread *thread,
	struct lane *lane, unsigned id)
{
	if (UNLIKELY(thread->busy[0]))
		return (struct fast_event){NULL, 0};
	store_stack_pointer(&thread->busy[0]);
	handler_fence();
	uint8_t *at = lane->position;
	/* The part of the time that records have. */
	uint64_t time = (clock == TSC ? read_tsc() : now()) & ~UINT64_C(15);

	/* The unsigned comparison finds both a gap too long for the header and a clock that steps
	 * back. */
	if (UNLIKELY(!is_below(at, clock == TSC ? &lane->tsc_limit : &lane->limit)) ||
		UNLIKELY(time - lane->last >= COMPACT_GAP)) {
		abandon_event(thread);
		return (struct fast_event){NULL, 0};
	}
	/* 27 bits of time / 16, and 5 of id */
	put32(at, (uint32_t)time * 2 + id);
	return (struct fast_event){at, time};
}

/* Publishes the event, of `size` bytes, and releases the lane. Returns true. */
ALWAYS_INLINE bool finish_event(struct thread *thread, struct lane *lane, struct fast_event event,
	size_t size)
{
	lane->last = event.time;
	publish(lane, event.at + size);
	handler_fence();
	thread->busy[0] = 0;
	return true;
}

/*
 * Returns less than 2^32 if an id fits 32 bits in this packet: its high half is that of id_base, and
 * it isn't NONE. (No task has an id whose low half is 0.) To test two ids at once, combine the
 * results by |. For the inline variant id_base is 0: see thrum__record_store_limit.
 */
ALWAYS_INLINE uint64_t from_base(enum clock clock, const struct lane *lane, uint64_t id)
{
	return id - (clock == TSC ? 1 : lane->lowest_id);
}

ALWAYS_INLINE bool is_beyond(uint64_t distance)
{
	return UNLIKELY(distance >> 32);
}

/* Whether the packet's records already tell a reader which task runs. A handler of this thread may
 * change that, so call this only while the lane is taken. */
ALWAYS_INLINE bool knows_running(const struct thread *thread, const struct lane *lane)
{
	return LIKELY(thread->running == lane->said);
}

#endif
