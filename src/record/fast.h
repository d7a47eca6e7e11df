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
#define FAST_KEY (FAST_EVENT_MAX - HEADER - 1) /* the longest key, in bytes */

/* TSC: the inline variant, which does nothing unless the clock is the time stamp counter. ANY: the
 * variant for any clock. */
enum clock {
	TSC,
	ANY
};

struct fast_event {
	uint8_t *at; /* NULL: nothing was done */
	uint64_t time;
	uint64_t gap; /* is_beyond() if the header has too few bits for the time */
};

/* Releases the lane without writing an event. Returns false. */
ALWAYS_INLINE bool abandon_event(struct thread *thread)
{
	handler_fence();
	thread->busy[0] = 0;
	return false;
}

/* Takes the lane and writes the event's header. `at` is NULL if that is not possible. The caller tests
 * the gap, together with whatever else must fit. */
ALWAYS_INLINE struct fast_event begin_event(enum clock clock, struct thread *thread,
	struct lane *lane, unsigned id)
{
	if (UNLIKELY(thread->busy[0]))
		return (struct fast_event){NULL, 0, 0};
	store_stack_pointer(&thread->busy[0]);
	handler_fence();
	uint8_t *at = lane->position;
	uint64_t time = in_ticks(clock == TSC ? read_tsc() : now());
	uint64_t header = time + id; /* 5 bits of id, 27 of time, and the rest of the time */

	if (UNLIKELY(!is_below(at, clock == TSC ? &lane->tsc_limit : &lane->limit))) {
		abandon_event(thread);
		return (struct fast_event){NULL, 0, 0};
	}
	/* A handler ran another task meanwhile, or several. */
	if (clock == ANY && UNLIKELY(lane->is_untold) && thread->running == lane->said)
		thrum__record_set_limit(lane);
	put32(at, (uint32_t)header);
	/* It wraps if the clock has stepped back. */
	return (struct fast_event){at, time, header - lane->last};
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
 * it isn't NONE. (No task has an id whose low half is 0.) To test several such numbers at once,
 * combine them by |. For the inline variant id_base is 0: see thrum__record_set_limit.
 */
ALWAYS_INLINE uint64_t from_base(enum clock clock, const struct lane *lane, uint64_t id)
{
	return id - (clock == TSC ? 1 : lane->lowest_id);
}

/* Does the same for a value that must fit 32 bits. */
ALWAYS_INLINE uint64_t from_value(int64_t value)
{
	return (uint64_t)value ^ (uint64_t)(int32_t)value;
}

ALWAYS_INLINE bool is_beyond(uint64_t distance)
{
	return UNLIKELY(distance >> 32);
}

/* Whether the packet's records already tell a reader which task runs. A handler of this thread may
 * change that, so call this only while the lane is taken. The inline variant has its limit only then. */
ALWAYS_INLINE bool knows_running(enum clock clock, const struct thread *thread,
	const struct lane *lane)
{
	return clock == TSC || LIKELY(thread->running == lane->said);
}

#endif
