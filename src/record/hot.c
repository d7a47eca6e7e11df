/* SPDX-License-Identifier: ISC */
/*
 * The calls that must be fast, encoded by hand as fast.h describes. If a fast function returns
 * false, the event goes the slow way, through thrum__record_write. A test compares both ways byte
 * for byte.
 *
 * Each fast function is compiled twice: for the time stamp counter, which one instruction reads,
 * and for any other clock, which is a function call. A function call costs even the path that
 * doesn't take it a dozen instructions, so the second variant is a function of its own
 * (`*_otherwise`).
 */
#include <string.h>

#include "record/fast.h"

#define NOINLINE __attribute__((noinline))
_Static_assert(HEADER + 2 * 4 + 2 + 1 + FAST_TEXT <= FAST_EVENT_MAX,
	"create_waiting is the longest fast event");

/* ---- Waits, reads, resolves ---------------------------------------------------------------- */

ALWAYS_INLINE bool fast_wait(enum clock clock, thrum_task waiter, thrum_task source)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_WAIT);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | from_base(clock, lane, waiter) | from_base(clock, lane, source)))
		return abandon_event(thread);
	put32(event.at + HEADER, (uint32_t)waiter);
	put32(event.at + HEADER + 4, (uint32_t)source);
	live_wait(lane, waiter, source, event.time);
	return finish_event(thread, lane, event, HEADER + 8);
}

static NOINLINE void wait_otherwise(thrum_task waiter, thrum_task source)
{
	if (waiter && source && !fast_wait(ANY, waiter, source))
		thrum__record_write_wait(waiter, source);
}

void thrum__wait(thrum_task waiter, thrum_task source)
{
	if (UNLIKELY(!fast_wait(TSC, waiter, source)))
		wait_otherwise(waiter, source);
}

ALWAYS_INLINE bool fast_read(enum clock clock, thrum_task reader, thrum_task source)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_READ);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | from_base(clock, lane, reader) | from_base(clock, lane, source)))
		return abandon_event(thread);
	if (reader == lane->said) {
		event.at[0] ^= THRUM__R_READ ^ THRUM__R_READ_OWN;
		put32(event.at + HEADER, (uint32_t)source);
		return finish_event(thread, lane, event, HEADER + 4);
	}
	put32(event.at + HEADER, (uint32_t)reader);
	put32(event.at + HEADER + 4, (uint32_t)source);
	return finish_event(thread, lane, event, HEADER + 8);
}

static NOINLINE void read_otherwise(thrum_task reader, thrum_task source)
{
	if (reader && source && !fast_read(ANY, reader, source))
		thrum__record_write(&(struct thrum__record){.type = THRUM__R_READ,
			.task = reader,
			.other = source});
}

void thrum__read(thrum_task reader, thrum_task source)
{
	if (UNLIKELY(!fast_read(TSC, reader, source)))
		read_otherwise(reader, source);
}

ALWAYS_INLINE bool fast_resolve(enum clock clock, thrum_task task)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	if (UNLIKELY(!is_on(THRUM__BIT_LIFE)))
		return false;
	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_RESOLVE);

	if (UNLIKELY(!event.at))
		return false;
	if (!knows_running(clock, thread, lane) ||
		is_beyond(event.gap | from_base(clock, lane, task)))
		return abandon_event(thread);
	put32(event.at + HEADER, (uint32_t)task);
	live_end(lane, task);
	return finish_event(thread, lane, event, HEADER + 4);
}

static NOINLINE void resolve_otherwise(thrum_task task)
{
	const struct lane *lane = thrum__record_thread.lane[0];

	if (task && !is_on(THRUM__BIT_LIFE) && has_limit(lane)) {
		live_end(lane, task); /* there is no event to write */
		return;
	}
	if (task && !fast_resolve(ANY, task))
		thrum__record_write_end(
			&(struct thrum__record){.type = THRUM__R_RESOLVE, .other = task});
}

void thrum__resolve(thrum_task task)
{
	if (UNLIKELY(!fast_resolve(TSC, task)))
		resolve_otherwise(task);
}

/* ---- The running task ---------------------------------------------------------------------- */

/* If the event can be written, the thread has a lane of this recording and a task of its own. */
ALWAYS_INLINE bool fast_switch(enum clock clock, thrum_task task)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	if (UNLIKELY(!is_on(THRUM__BIT_RUNS)))
		return false;
	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_SWITCH);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | from_base(clock, lane, task)))
		return abandon_event(thread);
	put32(event.at + HEADER, (uint32_t)task);
	thread->running = lane->said = task;
	return finish_event(thread, lane, event, HEADER + 4);
}

static NOINLINE void switch_otherwise(thrum_task task)
{
	struct thread *thread = &thrum__record_thread;

	if (task && !is_on(THRUM__BIT_RUNS) && has_limit(thread->lane[0])) {
		run_untold(thread, task);
		return;
	}
	if (fast_switch(ANY, task))
		return;
	thrum__record_thread_attach(thread);
	if (!task)
		task = thread->own;
	run_untold(thread, task);
	if (task && is_on(THRUM__BIT_RUNS))
		thrum__record_write_switch(task);
}

void thrum__switch(thrum_task task)
{
	if (UNLIKELY(!fast_switch(TSC, task)))
		switch_otherwise(task);
}

ALWAYS_INLINE thrum_task current_task(struct thread *thread)
{
	/* The thread may have no lane yet, or one of a former recording. */
	if (UNLIKELY(!has_limit(thread->lane[0])))
		thrum__record_thread_attach(thread);
	return thread->running;
}

thrum_task thrum__current(void)
{
	return current_task(&thrum__record_thread);
}

static NOINLINE thrum_task enter_otherwise(thrum_task task)
{
	thrum_task before = current_task(&thrum__record_thread);

	switch_otherwise(task);
	return before;
}

thrum_task thrum__enter(thrum_task task)
{
	/* If the event can be written, this is the truth. */
	thrum_task before = thrum__record_thread.running;

	return LIKELY(fast_switch(TSC, task)) ? before : enter_otherwise(task);
}

/* Two records with one time, and one clock read: the switch to a task, and that it reads `source`. */
ALWAYS_INLINE bool fast_enter_reading(enum clock clock, thrum_task task, thrum_task source)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	if (UNLIKELY(!is_on(THRUM__BIT_RUNS) || !is_on(THRUM__BIT_WAITS)))
		return false;
	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_SWITCH);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | from_base(clock, lane, task) | from_base(clock, lane, source)))
		return abandon_event(thread);
	put32(event.at + HEADER, (uint32_t)task);
	put32(event.at + HEADER + 4, (uint32_t)(event.time + THRUM__R_READ_OWN));
	put32(event.at + 2 * HEADER + 4, (uint32_t)source);
	thread->running = lane->said = task;
	return finish_event(thread, lane, event, 2 * (HEADER + 4));
}

static NOINLINE thrum_task enter_reading_otherwise(thrum_task task, thrum_task source)
{
	thrum_task before = current_task(&thrum__record_thread);

	if (task && source && fast_enter_reading(ANY, task, source))
		return before;
	switch_otherwise(task);
	if (is_on(THRUM__BIT_WAITS))
		thrum__read(task, source);
	return before;
}

thrum_task thrum__enter_reading(thrum_task task, thrum_task source)
{
	/* If the records can be written, this is the truth. */
	thrum_task before = thrum__record_thread.running;

	return LIKELY(fast_enter_reading(TSC, task, source))
		? before
		: enter_reading_otherwise(task, source);
}

/* ---- Text ---------------------------------------------------------------------------------- */

/* The forms of a text: short, medium, or empty. Each function is compiled for one of them. */
enum form {
	SHORT,
	MEDIUM,
	EMPTY
};

struct text {
	struct short_text is_short;
	struct medium_text is_medium;
	size_t size; /* with the NUL; 0: it doesn't have this form */
};

ALWAYS_INLINE struct text read_text(enum form form, const char *from)
{
	struct text text = {.size = 1};

	if (form == SHORT) {
		text.is_short = read_short_text(from);
		text.size = text.is_short.size;
	} else if (form == MEDIUM) {
		text.is_medium = read_medium_text(from);
		text.size = text.is_medium.size;
	}
	return text;
}

/* `is_alone`: the memory isn't overwritten soon. */
ALWAYS_INLINE void put_text(enum form form, void *to, struct text text, bool is_alone)
{
	if (form == MEDIUM)
		put_medium_text(to, text.is_medium);
	else if (form == EMPTY)
		*(char *)to = '\0';
	else if (is_alone)
		put_short_text_alone(to, text.is_short);
	else
		put_short_text(to, text.is_short);
}

ALWAYS_INLINE bool fast_log(enum clock clock, enum form form, const char *given)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];
	struct text text = read_text(form, given);

	if (UNLIKELY(!text.size))
		return false;
	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_LOG);

	if (UNLIKELY(!event.at))
		return false;
	if (!knows_running(clock, thread, lane) || is_beyond(event.gap))
		return abandon_event(thread);
	put_text(form, event.at + HEADER, text, false);
	return finish_event(thread, lane, event, HEADER + text.size);
}

static NOINLINE void log_otherwise(const char *text)
{
	if (!text)
		text = "";
	if (!fast_log(ANY, MEDIUM, text))
		thrum__record_write(&(struct thrum__record){.type = THRUM__R_LOG, .text = text});
}

void thrum__log(const char *text)
{
	if (UNLIKELY(!fast_log(TSC, SHORT, text)))
		log_otherwise(text);
}

/* ---- Creation ------------------------------------------------------------------------------ */

/* Returns the kind's part of a creation's place. */
ALWAYS_INLINE uint32_t place_of(int kind)
{
	uint32_t place = (uint8_t)kind;

	COMPUTE(place);
	return place << 16;
}

/* The same as from_base, for the task that the record names besides the new one. */
ALWAYS_INLINE uint64_t other_from_base(enum clock clock, const struct lane *lane,
	const struct creation *c)
{
	if (c->type == THRUM__R_CREATE_WAITING)
		return from_base(clock, lane, c->source);
	if (c->type == THRUM__R_CREATE || (!c->parent && (clock == TSC || lane->lowest_id == 1)))
		return 0;
	return from_base(clock, lane, c->parent);
}

ALWAYS_INLINE void write_creation(enum form form, struct thread *thread, struct lane *lane,
	struct fast_event event, struct text label, const struct creation *c, uint64_t id)
{
	uint8_t *p = event.at + HEADER;

	if (c->type == THRUM__R_CREATE_IN)
		put32(p, (uint32_t)c->parent), p += 4;
	put32(p, (uint32_t)id);
	put32(p + 4, c->place); /* three bytes, and one that the text overwrites */
	p += 7;
	if (c->type == THRUM__R_CREATE_WAITING)
		put32(p, (uint32_t)c->source), p += 4;
	put_text(form, p, label, false);
	finish_event(thread, lane, event, (size_t)(p - event.at) + label.size);
}

/* Does the rest of fast_create, with a lane that is taken. If event.at is NULL, no event is written. */
ALWAYS_INLINE thrum_task finish_create(enum form form, bool has_cells, struct thread *thread,
	struct lane *lane, struct fast_event event, struct text label, struct creation c)
{
	/* The id is read while the lane is taken, so that a handler on this thread can't get it. */
	uint64_t id = lane->next_id;
	struct thrum__live_task *cell = has_cells ? own_cell(lane, id) : NULL;

	if (UNLIKELY(holds(&lane->end_id, id)) ||
		(has_cells && UNLIKELY(has_bits((void *)&cell->tag, UINT32_MAX))))
		return abandon_event(thread);
	/* Partners: live_end(), whose store this look at the tag saw; and the reader's second look at
	 * the tag, which was 0 before any of this. */
	atomic_thread_fence(memory_order_acq_rel);
	lane->next_id = id + 1;
	if (form == SHORT || (form == MEDIUM && label.size > 1))
		c.place |= THRUM__LIVE_LABELLED << 24;
	if (has_cells)
		put_text(form, cell->label, label, true);
	if (c.type != THRUM__R_CREATE_IN)
		c.parent = event.at ? lane->said : thread->running;
	if (has_cells)
		live_fill(cell, lane, id, event.time, &c);
	if (event.at)
		write_creation(form, thread, lane, event, label, &c, id);
	else
		abandon_event(thread);
	if (!id)
		__builtin_unreachable(); /* no task has this id */
	return id;
}

/* Returns the new task's id, or 0 if nothing was done. c.type is a constant but in the ANY variant. */
ALWAYS_INLINE thrum_task fast_create(enum clock clock, enum form form, struct thrum_site *site,
	struct creation c)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	if (c.type == THRUM__R_CREATE_WAITING && UNLIKELY(!is_on(THRUM__BIT_WAITS)))
		return 0;
	struct text label = read_text(form, c.label);

	if (UNLIKELY(!label.size) || (form == SHORT && UNLIKELY(!c.label[0])))
		return 0;
	uint32_t number = __atomic_load_n(&site->id, __ATOMIC_RELAXED) - lane->first_number;

	if (UNLIKELY(number > UINT16_MAX))
		return 0;
	/* In one register, before any other is needed. */
	c.place |= number;
	COMPUTE(c.place);
	struct fast_event event = begin_event(clock, thread, lane, c.type);

	if (UNLIKELY(!event.at))
		return 0;
	if (!knows_running(clock, thread, lane) ||
		is_beyond(event.gap | other_from_base(clock, lane, &c)))
		return abandon_event(thread);
	return LIKELY(lane->cells) ? finish_create(form, true, thread, lane, event, label, c)
				   : finish_create(form, false, thread, lane, event, label, c);
}

static NOINLINE thrum_task create_otherwise(enum thrum__record_type type, struct thrum_site *site,
	thrum_task parent, int kind, const char *label, thrum_task source)
{
	struct creation c = {.type = type,
		.place = place_of(kind),
		.label = label,
		.parent = parent,
		.source = source};

	/* The reason is mostly that the lane has used up its ids, or that the label is long. */
	thrum__record_refill_ids(&thrum__record_thread);
	thrum_task task = fast_create(ANY, MEDIUM, site, c);

	return task ? task : thrum__record_write_create(site, &c);
}

/* Creates a task while only ids and live tasks are recorded: no event is written. When the block of ids
 * is used up, the slow way is left to read the clocks. */
ALWAYS_INLINE thrum_task fast_unrecorded(enum form form, struct thrum_site *site, struct creation c)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];
	struct text label = read_text(form, c.label);
	uint32_t number = __atomic_load_n(&site->id, __ATOMIC_RELAXED) - lane->first_number;

	if (!label.size || number > UINT16_MAX || thread->busy[0])
		return 0;
	store_stack_pointer(&thread->busy[0]);
	handler_fence();
	struct fast_event event = {.time = in_ticks(now())};

	if (!has_limit(lane) || !lane->cells || (int64_t)(event.time - lane->last) < 0)
		return abandon_event(thread);
	c.place |= number;
	return finish_create(form, true, thread, lane, event, label, c);
}

static NOINLINE thrum_task create_unrecorded(enum thrum__record_type type, struct thrum_site *site,
	thrum_task parent, int kind, const char *label, thrum_task source)
{
	bool waits = source && is_on(THRUM__BIT_WAITS);
	struct creation c = {.type = type == THRUM__R_CREATE_WAITING && !waits ? THRUM__R_CREATE
									       : type,
		.place = place_of(kind),
		.label = label,
		.parent = parent,
		.source = waits ? source : 0};
	thrum_task task = label[0] ? fast_unrecorded(MEDIUM, site, c)
				   : fast_unrecorded(EMPTY, site, c);

	return LIKELY(task) ? task : thrum__record_write_create(site, &c);
}

static NOINLINE thrum_task create_unlabelled(struct thrum_site *site, int kind)
{
	thrum_task task = fast_create(TSC, EMPTY, site,
		(struct creation){.type = THRUM__R_CREATE, .place = place_of(kind)});

	return LIKELY(task) ? task : create_otherwise(THRUM__R_CREATE, site, 0, kind, "", 0);
}

/* The rest of thrum__create: no label, a longer one, or the block of ids is used up. */
static NOINLINE thrum_task create_labelled(struct thrum_site *site, int kind, const char *label)
{
	const struct lane *lane = thrum__record_thread.lane[0];

	if (!label || !label[0])
		return create_unlabelled(site, kind);
	if (lane->next_id == lane->end_id && thrum__record_refill_ids(&thrum__record_thread))
		return thrum__create(site, kind, label);
	thrum_task task = fast_create(TSC, MEDIUM, site,
		(struct creation){.type = THRUM__R_CREATE,
			.place = place_of(kind),
			.label = label});

	return LIKELY(task) ? task : create_otherwise(THRUM__R_CREATE, site, 0, kind, label, 0);
}

thrum_task thrum__create(struct thrum_site *site, int kind, const char *label)
{
	if (UNLIKELY(!is_on(THRUM__BIT_LIFE)))
		return create_unrecorded(THRUM__R_CREATE, site, 0, kind, thrum__text(label), 0);
	/* For the slow way. In registers they would displace others, which would have to be saved. */
	struct thrum_site *volatile kept_site = site;
	const char *volatile kept_label = label;
	volatile int kept_kind = kind;
	thrum_task task = fast_create(TSC, SHORT, site,
		(struct creation){.type = THRUM__R_CREATE,
			.place = place_of(kind),
			.label = label});

	return LIKELY(task) ? task : create_labelled(kept_site, kept_kind, kept_label);
}

thrum_task thrum__create_in(struct thrum_site *site, thrum_task parent, int kind, const char *label)
{
	if (UNLIKELY(!is_on(THRUM__BIT_LIFE)))
		return create_unrecorded(THRUM__R_CREATE_IN, site, parent, kind, label, 0);
	thrum_task task = fast_create(TSC, MEDIUM, site,
		(struct creation){.type = THRUM__R_CREATE_IN,
			.place = place_of(kind),
			.label = label,
			.parent = parent});

	return LIKELY(task) ? task
			    : create_otherwise(THRUM__R_CREATE_IN, site, parent, kind, label, 0);
}

static NOINLINE thrum_task create_waiting_labelled(struct thrum_site *site, int kind,
	const char *label, thrum_task source)
{
	if (!is_on(THRUM__BIT_WAITS))
		return thrum__create(site, kind, label);
	thrum_task task = fast_create(TSC, MEDIUM, site,
		(struct creation){.type = THRUM__R_CREATE_WAITING,
			.place = place_of(kind),
			.label = label,
			.source = source});

	if (LIKELY(task))
		return task;
	return create_otherwise(source ? THRUM__R_CREATE_WAITING : THRUM__R_CREATE, site, 0, kind,
		label, source);
}

/* Most of these have no label: their source says what they are about. */
thrum_task thrum__create_waiting(struct thrum_site *site, int kind, const char *label,
	thrum_task source)
{
	if (UNLIKELY(!is_on(THRUM__BIT_LIFE)))
		return create_unrecorded(THRUM__R_CREATE_WAITING, site, 0, kind, label, source);
	thrum_task task = label[0] ? 0
				   : fast_create(TSC, EMPTY, site,
					     (struct creation){.type = THRUM__R_CREATE_WAITING,
						     .place = place_of(kind),
						     .source = source});

	return LIKELY(task) ? task : create_waiting_labelled(site, kind, label, source);
}

/* ---- Counters ------------------------------------------------------------------------------ */

ALWAYS_INLINE bool fast_counter(enum clock clock, const struct thrum_counter *counter,
	int64_t value)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	uint32_t number = __atomic_load_n(&counter->id, __ATOMIC_RELAXED) - lane->first_number;

	if (UNLIKELY(number > UINT16_MAX))
		return false;
	struct fast_event event = begin_event(clock, thread, lane, THRUM__R_COUNTER);

	if (UNLIKELY(!event.at))
		return false;
	if (!knows_running(clock, thread, lane) || is_beyond(event.gap | from_value(value)))
		return abandon_event(thread);
	put16(event.at + HEADER, (uint16_t)number);
	put32(event.at + HEADER + 2, (uint32_t)(int32_t)value);
	return finish_event(thread, lane, event, HEADER + 6);
}

static NOINLINE void counter_otherwise(struct thrum_counter *counter, int64_t value)
{
	if (!fast_counter(ANY, counter, value))
		thrum__record_write_counter(counter, value);
}

void thrum__record_counter_event(struct thrum_counter *counter, int64_t value)
{
	if (UNLIKELY(!fast_counter(TSC, counter, value)))
		counter_otherwise(counter, value);
}

void thrum__counter_add(struct thrum_counter *counter, int64_t amount)
{
	/* Partner: become_owner(). */
	if (UNLIKELY(atomic_load_explicit(&counter->owner, memory_order_acquire) !=
		    atomic_load_explicit(&thrum__record_thread.seat, memory_order_relaxed))) {
		thrum__record_counter_add(counter, amount);
		return;
	}
	/* A child that nobody announced still has its parent's pages. */
	if (UNLIKELY(!has_counters())) {
		thrum__record_counter_add(counter, amount);
		return;
	}
	int64_t *own = atomic_load_explicit(&counter->own, memory_order_relaxed);

	add_unlocked(own, amount);
	if (!is_on(THRUM__BIT_COUNTER))
		return;
	int64_t value = owners_value(counter, own);

	if (UNLIKELY(!fast_counter(TSC, counter, value)))
		counter_otherwise(counter, value);
}
