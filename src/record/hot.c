/* SPDX-License-Identifier: ISC */
/*
 * The calls that must be fast, encoded by hand. Each has the same shape: take the thread's lane,
 * read the clock, write header and fields, publish, let go. Whatever is unusual (no lane yet,
 * inside another call, packet full, long gap, an id that needs 64 bits, a long text) goes the slow
 * way, thrum__write. A test compares both byte for byte.
 */
#include <string.h>

#include "record/record.h"

#define HEADER THRUM__COMPACT_SIZE
/* A fast event's text, with its NUL. */
#define FAST_TEXT 48
_Static_assert(HEADER + 2 * 4 + 2 + 1 + FAST_TEXT <= FAST_EVENT_MAX,
	"create_waiting is the longest fast event");

/* ---- The shape of a fast event ------------------------------------------------------------------
 */

struct event {
	uint8_t *at; /* NULL: nothing was done, take the slow path */
	uint64_t time;
};

/* Takes the lane and writes the event's header. */
ALWAYS_INLINE struct event begin(struct thread *thread, struct lane *lane, unsigned id)
{
	struct event none = {NULL, 0};

	if (UNLIKELY(!lane) || UNLIKELY(thread->busy[0]))
		return none;
	thread->busy[0] = 1;
	handler_fence();
	uint8_t *at = lane->position;
	uint64_t time = now();

	/* One unsigned test for both: a gap too long for the header, and a clock that steps back.
	 */
	if (UNLIKELY(at > atomic_load_explicit(&lane->limit, memory_order_relaxed)) ||
		UNLIKELY(time - lane->last >= COMPACT_GAP)) {
		handler_fence();
		thread->busy[0] = 0;
		return none;
	}
	/* 27 bits of time / 16, and 5 of id */
	put32(at, ((uint32_t)(time << 1) & ~31u) | id);
	return (struct event){at, time};
}

ALWAYS_INLINE void finish(struct thread *thread, struct lane *lane, struct event event, size_t size)
{
	lane->last = event.time;
	publish(lane, event.at + size);
	handler_fence();
	thread->busy[0] = 0;
}

/* The event doesn't happen after all. */
ALWAYS_INLINE void abandon(struct thread *thread)
{
	handler_fence();
	thread->busy[0] = 0;
}

/* Whether two ids, relative to the packet's base, fit 32 bits. */
ALWAYS_INLINE bool fit(uint64_t a, uint64_t b)
{
	return LIKELY((a | b) >> 32 == 0);
}

/* Whether the packet knows which task runs. */
ALWAYS_INLINE bool knows_running(const struct thread *thread, const struct lane *lane)
{
	return LIKELY(lane != NULL) && LIKELY(thread->running == lane->said);
}

/* ---- Waits, reads, resolves -------------------------------------------------------------------
 */

static __attribute__((noinline)) void write_two(enum thrum__record_type type, thrum_task task,
	thrum_task other)
{
	thrum__write(&(struct thrum__record){.type = type, .task = task, .other = other});
}

void thrum__wait(thrum_task waiter, thrum_task source)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = thread->lane[0];
	struct event event = {NULL, 0};

	if (UNLIKELY(!waiter) || UNLIKELY(!source))
		return;
	uint64_t base = lane ? lane->id_base : 0;

	if (fit(waiter - base, source - base))
		event = begin(thread, lane, THRUM__R_WAIT);
	if (UNLIKELY(!event.at)) {
		thrum__write_wait(waiter, source);
		return;
	}
	put32(event.at + HEADER, (uint32_t)(waiter - base));
	put32(event.at + HEADER + 4, (uint32_t)(source - base));
	live_wait(lane, waiter, source, event.time);
	finish(thread, lane, event, HEADER + 8);
}

void thrum__read(thrum_task reader, thrum_task source)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = thread->lane[0];
	struct event event = {NULL, 0};

	if (UNLIKELY(!reader) || UNLIKELY(!source))
		return;
	uint64_t base = lane ? lane->id_base : 0;
	bool own = lane && reader == lane->said;

	if (fit(reader - base, source - base))
		event = begin(thread, lane, own ? THRUM__R_READ_OWN : THRUM__R_READ);
	if (UNLIKELY(!event.at)) {
		write_two(THRUM__R_READ, reader, source);
		return;
	}
	if (own) {
		put32(event.at + HEADER, (uint32_t)(source - base));
		finish(thread, lane, event, HEADER + 4);
	} else {
		put32(event.at + HEADER, (uint32_t)(reader - base));
		put32(event.at + HEADER + 4, (uint32_t)(source - base));
		finish(thread, lane, event, HEADER + 8);
	}
}

void thrum__resolve(thrum_task task)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = thread->lane[0];
	struct event event = {NULL, 0};

	if (UNLIKELY(!task))
		return;
	if (knows_running(thread, lane) && fit(task - lane->id_base, 0))
		event = begin(thread, lane, THRUM__R_RESOLVE);
	if (UNLIKELY(!event.at)) {
		thrum__write_end(&(struct thrum__record){.type = THRUM__R_RESOLVE, .other = task});
		return;
	}
	put32(event.at + HEADER, (uint32_t)(task - lane->id_base));
	live_end(lane, task);
	finish(thread, lane, event, HEADER + 4);
}

/* ---- The running task ---------------------------------------------------------------------------
 */

/* Makes sure that the thread has a task of its own in this recording. */
ALWAYS_INLINE struct lane *attached(struct thread *thread)
{
	struct lane *lane = thread->lane[0];

	/* No limit: perhaps the lane is a former recording's. */
	if (UNLIKELY(!lane) ||
		UNLIKELY(!atomic_load_explicit(&lane->limit, memory_order_relaxed))) {
		thrum__thread_attach(thread);
		lane = thread->lane[0];
	}
	return lane;
}

thrum_task thrum__current(void)
{
	attached(&thrum__thread);
	return thrum__thread.running;
}

ALWAYS_INLINE void run(struct thread *thread, struct lane *lane, thrum_task task)
{
	struct event event = {NULL, 0};

	if (!task)
		task = thread->own;
	thread->running = task;
	if (UNLIKELY(!is_on(THRUM__BIT_RUNS)) || UNLIKELY(!task))
		return;
	if (LIKELY(lane != NULL) && fit(task - lane->id_base, 0))
		event = begin(thread, lane, THRUM__R_SWITCH);
	if (UNLIKELY(!event.at)) {
		thrum__write_switch(task);
		return;
	}
	put32(event.at + HEADER, (uint32_t)(task - lane->id_base));
	lane->said = task;
	finish(thread, lane, event, HEADER + 4);
}

void thrum__switch(thrum_task task)
{
	struct thread *thread = &thrum__thread;

	run(thread, attached(thread), task);
}

thrum_task thrum__enter(thrum_task task)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = attached(thread);
	thrum_task before = thread->running;

	run(thread, lane, task);
	return before;
}

/* ---- Text -------------------------------------------------------------------------------------
 */

void thrum__log(const char *text)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = thread->lane[0];
	struct event event = {NULL, 0};
	size_t size = 0;

	if (!text)
		text = "";
	if (knows_running(thread, lane))
		event = begin(thread, lane, THRUM__R_LOG);
	if (LIKELY(event.at)) {
		size = copy_text(event.at + HEADER, NULL, text, FAST_TEXT);
		if (LIKELY(size)) {
			finish(thread, lane, event, HEADER + size);
			return;
		}
		abandon(thread);
	}
	thrum__write(&(struct thrum__record){.type = THRUM__R_LOG, .text = text});
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

/* Begins the live cell, whose label is there already: `size` bytes with the NUL. */
ALWAYS_INLINE void begin_cell(struct thrum__live_task *cell, const struct lane *lane, uint64_t id,
	uint64_t time, const struct creation *c, size_t size)
{
	cell->id_high = (uint32_t)(id >> 32);
	cell->parent = c->parent;
	cell->created = time >> 4;
	atomic_store_explicit(&cell->waiting, c->source, memory_order_relaxed);
	atomic_store_explicit(&cell->waited, time >> 4, memory_order_relaxed);
	cell->lane = (uint16_t)lane->number;
	atomic_store_explicit(&cell->waiting_lane, (uint16_t)lane->number, memory_order_relaxed);
	cell->site = c->site;
	cell->kind = c->kind;
	atomic_store_explicit(
		&cell->flags, size > 1 ? THRUM__LIVE_LABELLED : 0, memory_order_relaxed);
	/* Partner: live_cell(), and the reader's acquiring look at the tag. */
	atomic_store_explicit(&cell->tag, (uint32_t)id, memory_order_release);
}

ALWAYS_INLINE uint64_t next_id(struct lane *lane)
{
	uint64_t id = lane->next_id;

	if (LIKELY(id != lane->end_id) &&
		(!lane->live ||
			LIKELY(!atomic_load_explicit(&lane->live[id % ID_BLOCK].tag,
				memory_order_acquire)))) {
		lane->next_id = id + 1;
		return id;
	}
	return thrum__next_id(lane);
}

/* `type` is a constant: one of the three records of creation. */
ALWAYS_INLINE thrum_task create(enum thrum__record_type type, struct thrum_site *site,
	struct creation c)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = thread->lane[0];
	bool in = type == THRUM__R_CREATE_IN, waiting = type == THRUM__R_CREATE_WAITING;

	c.type = type;
	if (!in)
		c.parent = thread->running;
	if (!c.label)
		c.label = "";
	if (UNLIKELY(!knows_running(thread, lane)) || UNLIKELY(!is_on(THRUM__BIT_LIFE)) ||
		!fit(in ? c.parent - lane->id_base : 0, waiting ? c.source - lane->id_base : 0))
		return thrum__write_create(site, &c);
	c.site = site_number(lane->recorder, site);
	struct event event = begin(thread, lane, type);

	if (UNLIKELY(!event.at))
		return thrum__write_create(site, &c);
	uint64_t id = next_id(lane), base = lane->id_base;
	uint8_t *p = event.at + HEADER;

	if (in)
		put32(p, (uint32_t)(c.parent - base)), p += 4;
	put32(p, (uint32_t)(id - base));
	put16(p + 4, c.site);
	p[6] = c.kind;
	p += 7;
	if (waiting)
		put32(p, (uint32_t)(c.source - base)), p += 4;
	struct thrum__live_task *cell = lane->live ? &lane->live[id % ID_BLOCK] : NULL;
	size_t size = copy_text(p, cell ? cell->label : NULL, c.label, FAST_TEXT);

	if (UNLIKELY(!size) || UNLIKELY((id - base) >> 32)) {
		/* The id is the last one taken: the slow path takes it again. */
		lane->next_id = id;
		abandon(thread);
		return thrum__write_create(site, &c);
	}
	if (LIKELY(cell != NULL))
		begin_cell(cell, lane, id, event.time, &c, size);
	finish(thread, lane, event, (size_t)(p - event.at) + size);
	return id;
}

thrum_task thrum__create(struct thrum_site *site, int kind, const char *label)
{
	return create(THRUM__R_CREATE, site,
		(struct creation){.kind = (uint8_t)kind, .label = label});
}

thrum_task thrum__create_in(struct thrum_site *site, thrum_task parent, int kind, const char *label)
{
	return create(THRUM__R_CREATE_IN, site,
		(struct creation){.kind = (uint8_t)kind, .label = label, .parent = parent});
}

thrum_task thrum__create_waiting(struct thrum_site *site, int kind, const char *label,
	thrum_task source)
{
	if (!source)
		return thrum__create(site, kind, label);
	return create(THRUM__R_CREATE_WAITING, site,
		(struct creation){.kind = (uint8_t)kind, .label = label, .source = source});
}

/* ---- Counters ---------------------------------------------------------------------------------
 */

void thrum__counter_event(struct thrum_counter *counter, int64_t value)
{
	struct thread *thread = &thrum__thread;
	struct lane *lane = thread->lane[0];
	struct event event = {NULL, 0};
	uint16_t def = 0;

	if (knows_running(thread, lane) && LIKELY(value == (int32_t)value) &&
		LIKELY((def = counter_number(lane->recorder, counter)) != 0))
		event = begin(thread, lane, THRUM__R_COUNTER);
	if (UNLIKELY(!event.at)) {
		thrum__write_counter(counter, value);
		return;
	}
	put16(event.at + HEADER, def);
	put32(event.at + HEADER + 2, (uint32_t)(int32_t)value);
	finish(thread, lane, event, HEADER + 6);
}
