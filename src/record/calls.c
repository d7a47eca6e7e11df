/* SPDX-License-Identifier: ISC */
/*
 * The other calls, and the slow side of those in hot.c. All use the generic encoder. Calls that are
 * frequent in servers try a fast function first (see fast.h), which knows the time stamp counter
 * only.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/fast.h"

/* ---- The slow side of hot.c ----------------------------------------------------------------- */

/* Returns an id for a task whose creation can't be recorded for want of a lane or a packet. */
static thrum_task id_without_lane(void)
{
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	return r ? atomic_fetch_add_explicit(&r->id_blocks, 1, memory_order_relaxed) * r->id_block +
			1
		 : THRUM_TASK_NONE;
}

thrum_task thrum__record_write_create(struct thrum_site *site, const struct creation *given)
{
	struct thread *thread = &thrum__record_thread;
	struct creation c = *given;
	struct thrum__record record = {.type = c.type,
		.kind = (uint8_t)(c.place >> 16),
		.source = c.source,
		.text = c.label};
	int error = errno;
	uint64_t time;
	struct lane *lane = thrum__record_lane_take(thread, thrum__record_bytes_needed(&record),
		&time);

	errno = error;
	if (!lane)
		return id_without_lane();
	if (c.type != THRUM__R_CREATE_IN)
		c.parent = thread->running;
	record.site = site_number(lane->recorder, site);
	c.place = (c.place >> 16 << 16) | record.site;
	record.task = c.parent;
	record.other = thrum__record_next_id(lane, (c.label && c.label[0]) || c.source);
	if (c.type == THRUM__R_CREATE_WAITING && !is_on(THRUM__BIT_WAITS)) {
		record.type = THRUM__R_CREATE;
		c.source = 0;
	}
	thrum__record_live_begin(lane, record.other, time, &c);
	if (is_on(THRUM__BIT_LIFE))
		thrum__record_lane_write(lane, &record, time);
	thrum__record_lane_release(thread, lane);
	return record.other;
}

/* Takes the lane, calls `also`, and writes the record if that returns true. r: the recorder of the
 * record's definition, or NULL; see thrum__record_write_defined. */
static void write_and_note(const struct recorder *r, struct thrum__record *record,
	bool (*also)(struct lane *, const struct thrum__record *, uint64_t time))
{
	struct thread *thread = &thrum__record_thread;
	int error = errno;
	uint64_t time;
	struct lane *lane = thrum__record_lane_take(thread, thrum__record_bytes_needed(record),
		&time);

	if (lane && (!r || lane->recorder == r)) {
		if (also(lane, record, time))
			thrum__record_lane_write(lane, record, time);
	}
	if (lane)
		thrum__record_lane_release(thread, lane);
	errno = error;
}

static bool note_wait(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	live_wait(lane, record->task, record->other, time);
	return true;
}

void thrum__record_write_wait(thrum_task waiter, thrum_task source)
{
	write_and_note(NULL,
		&(struct thrum__record){.type = THRUM__R_WAIT, .task = waiter, .other = source},
		note_wait);
}

/* Writes a record about a place in the program. The site may be NULL. */
static void write_at(struct thrum_site *site, struct thrum__record *record,
	bool (*also)(struct lane *, const struct thrum__record *, uint64_t))
{
	struct recorder *r = current_recorder();

	if (!r || !record->other)
		return;
	record->site = site ? site_number(r, site) : 0;
	write_and_note(r, record, also);
}

void thrum__wait_at(struct thrum_site *site, thrum_task waiter, thrum_task source)
{
	if (!waiter)
		return;
	write_at(site,
		&(struct thrum__record){.type = THRUM__R_WAIT_AT, .task = waiter, .other = source},
		note_wait);
}

static bool note_end(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	(void)time;
	live_end(lane, record->type == THRUM__R_BECOME ? record->task : record->other);
	return is_on(THRUM__BIT_LIFE);
}

void thrum__record_write_end(struct thrum__record *record)
{
	struct lane *lane = thrum__record_thread.lane[0];

	/* Only live tasks are recorded: there is no event to write. */
	if (!is_on(THRUM__BIT_LIFE) && has_limit(lane)) {
		note_end(lane, record, 0);
		return;
	}
	write_and_note(NULL, record, note_end);
}

static bool note_switch(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	(void)time;
	lane->said = record->task;
	thrum__record_set_limit(lane);
	return true;
}

void thrum__record_write_switch(thrum_task task)
{
	write_and_note(NULL, &(struct thrum__record){.type = THRUM__R_SWITCH, .task = task},
		note_switch);
}

/* ---- Fast events ---------------------------------------------------------------------------- */

/* The fields of an event, in this order. All but the tasks and the value are constants. */
struct fields {
	enum thrum__record_type type;
	bool ends; /* the first task */
	/* Leaves a note in the first task's cell; or NULL. Called while the lane is taken. */
	void (*note)(const struct lane *, thrum_task, int64_t value, uint64_t time);
	unsigned tasks;
	bool has_value;
	thrum_task first, second;
	int64_t value;
};

ALWAYS_INLINE bool fast_event(struct fields f)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	if (f.ends && UNLIKELY(!is_on(THRUM__BIT_LIFE)))
		return false;
	struct fast_event event = begin_event(TSC, thread, lane, f.type);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | from_base(TSC, lane, f.first) |
		    (f.tasks > 1 ? from_base(TSC, lane, f.second) : 0) |
		    (f.has_value ? from_value(f.value) : 0)))
		return abandon_event(thread);
	uint8_t *p = event.at + HEADER;

	put32(p, (uint32_t)f.first), p += 4;
	if (f.tasks > 1)
		put32(p, (uint32_t)f.second), p += 4;
	if (f.has_value)
		put32(p, (uint32_t)(int32_t)f.value), p += 4;
	if (f.ends)
		live_end(lane, f.first);
	if (f.note)
		f.note(lane, f.first, f.value, event.time);
	return finish_event(thread, lane, event, (size_t)(p - event.at));
}

/* An event about one task. */
ALWAYS_INLINE bool fast_about(enum thrum__record_type type, thrum_task task)
{
	return fast_event((struct fields){.type = type, .tasks = 1, .first = task});
}

static bool fast_label(thrum_task task, const char *label)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];
	struct medium_text text = read_medium_text(label);

	if (!text.size)
		return false;
	struct fast_event event = begin_event(TSC, thread, lane, THRUM__R_LABEL);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | from_base(TSC, lane, task)))
		return abandon_event(thread);
	put32(event.at + HEADER, (uint32_t)task);
	put_medium_text(event.at + HEADER + 4, text);
	return finish_event(thread, lane, event, HEADER + 4 + text.size);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

void thrum__label(thrum_task task, const char *label)
{
	struct recorder *r = current_recorder();

	if (!task || !r)
		return;
	if (!label)
		label = "";
	thrum__record_live_label(r, task, label);
	if (fast_label(task, label))
		return;
	thrum__record_write(
		&(struct thrum__record){.type = THRUM__R_LABEL, .task = task, .text = label});
}

void thrum__should_resolve(thrum_task task)
{
	struct recorder *r = current_recorder();

	if (!task || !r)
		return;
	thrum__record_live_flag(r, task, THRUM__LIVE_SHOULD_RESOLVE);
	if (!fast_about(THRUM__R_SHOULD_RESOLVE, task))
		thrum__record_write(
			&(struct thrum__record){.type = THRUM__R_SHOULD_RESOLVE, .task = task});
}

static bool note_due(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	thrum__record_live_due(lane, record->task, record->value, time);
	return true;
}

void thrum__due(thrum_task task, int64_t ns_from_now)
{
	if (task &&
		!fast_event((struct fields){.type = THRUM__R_DUE,
			.note = thrum__record_live_due,
			.tasks = 1,
			.first = task,
			.has_value = true,
			.value = ns_from_now}))
		write_and_note(NULL,
			&(struct thrum__record){.type = THRUM__R_DUE,
				.task = task,
				.value = ns_from_now},
			note_due);
}

void thrum__fail(thrum_task task, const char *reason)
{
	if (task)
		thrum__record_write_end(&(struct thrum__record){.type = THRUM__R_FAIL,
			.other = task,
			.text = reason ? reason : ""});
}

void thrum__cancel(thrum_task task)
{
	if (task &&
		!fast_event((struct fields){.type = THRUM__R_CANCEL,
			.ends = true,
			.tasks = 1,
			.first = task}))
		thrum__record_write_end(
			&(struct thrum__record){.type = THRUM__R_CANCEL, .other = task});
}

void thrum__become(thrum_task task, thrum_task other)
{
	if (task && other &&
		!fast_event((struct fields){.type = THRUM__R_BECOME,
			.ends = true,
			.tasks = 2,
			.first = task,
			.second = other}))
		thrum__record_write_end(&(struct thrum__record){.type = THRUM__R_BECOME,
			.task = task,
			.other = other});
}

/* Records that the running task did something to `other`. */
static void write_act(enum thrum__record_type type, thrum_task other, int64_t value)
{
	if (other)
		thrum__record_write(
			&(struct thrum__record){.type = type, .other = other, .value = value});
}

void thrum__ready(thrum_task task)
{
	if (!fast_about(THRUM__R_READY, task))
		write_act(THRUM__R_READY, task, 0);
}

void thrum__signal(thrum_task condition, unsigned waiters)
{
	if (!fast_event((struct fields){.type = THRUM__R_SIGNAL,
		    .tasks = 1,
		    .first = condition,
		    .has_value = true,
		    .value = waiters}))
		write_act(THRUM__R_SIGNAL, condition, waiters);
}

/* The running task takes or releases a lock. */
static void note_taken(const struct lane *lane, thrum_task lock, int64_t value, uint64_t time)
{
	(void)value;
	thrum__record_live_hold(lane, lock, thrum__record_thread.running, time);
}

static void note_released(const struct lane *lane, thrum_task lock, int64_t value, uint64_t time)
{
	(void)value, (void)time;
	thrum__record_live_release(lane, lock);
}

static bool note_lock(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	if (record->type == THRUM__R_UNLOCK)
		note_released(lane, record->other, 0, time);
	else if (record->type == THRUM__R_HELD)
		thrum__record_live_hold(lane, record->other, record->task, time);
	else
		note_taken(lane, record->other, 0, time);
	return true;
}

ALWAYS_INLINE void write_lock(enum thrum__record_type type, thrum_task lock,
	void (*note)(const struct lane *, thrum_task, int64_t value, uint64_t time))
{
	if (lock &&
		!fast_event((struct fields){.type = type, .note = note, .tasks = 1, .first = lock}))
		write_and_note(NULL, &(struct thrum__record){.type = type, .other = lock},
			note_lock);
}

void thrum__lock_acquired(thrum_task lock)
{
	write_lock(THRUM__R_LOCK, lock, note_taken);
}

void thrum__lock_released(thrum_task lock)
{
	write_lock(THRUM__R_UNLOCK, lock, note_released);
}

/* The task holds the lock, which it may have taken before. */
void thrum__lock_held(struct thrum_site *site, thrum_task task, thrum_task lock)
{
	if (!task)
		return;
	write_at(site, &(struct thrum__record){.type = THRUM__R_HELD, .task = task, .other = lock},
		note_lock);
}

static bool note_nothing(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	(void)lane, (void)record, (void)time;
	return true;
}

void thrum__signal_at(struct thrum_site *site, thrum_task condition, unsigned waiters)
{
	write_at(site,
		&(struct thrum__record){.type = THRUM__R_SIGNAL_AT,
			.other = condition,
			.value = waiters},
		note_nothing);
}

static bool fast_link(enum thrum__record_type type, const void *key, size_t size)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];

	if (size > FAST_KEY)
		return false;
	struct fast_event event = begin_event(TSC, thread, lane, type);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap))
		return abandon_event(thread);
	event.at[HEADER] = (uint8_t)size;
	if (LIKELY(size == sizeof(struct thrum__connection_key))) /* without a call */
		memcpy(event.at + HEADER + 1, key, sizeof(struct thrum__connection_key));
	else
		memcpy(event.at + HEADER + 1, key, size);
	return finish_event(thread, lane, event, HEADER + 1 + size);
}

static void write_link(enum thrum__record_type type, const void *key, size_t size)
{
	if (key && !fast_link(type, key, size))
		thrum__record_write(&(struct thrum__record){.type = type,
			.key = key,
			.key_size = (uint8_t)(size < THRUM_KEY_MAX ? size : THRUM_KEY_MAX)});
}

void thrum__link_send(const void *key, size_t size)
{
	write_link(THRUM__R_LINK_SEND, key, size);
}

void thrum__link_receive(const void *key, size_t size)
{
	write_link(THRUM__R_LINK_RECEIVE, key, size);
}

/* ---- Lanes, tags, spans --------------------------------------------------------------------- */

thrum_task thrum__own(void)
{
	thrum__record_thread_attach(&thrum__record_thread);
	return thrum__record_thread.own;
}

bool thrum__own_runs(thrum_task waited)
{
	const struct thread *thread = &thrum__record_thread;
	const struct lane *lane = thread->lane[0];
	const struct thrum__live_task *cell;

	if (thread->running != thread->own || !lane->table)
		return false;
	cell = live_cell(lane, thread->own);
	return !lane->suspended &&
		(!live_is_in(cell, thread->own) ||
			atomic_load_explicit(&cell->waiting, memory_order_relaxed) == waited);
}

void thrum__lane_name(const char *name)
{
	struct thread *thread = &thrum__record_thread;

	if (!is_on(THRUM__BIT_STARTED)) {
		thrum__format_copy_text(thread->name, name ? name : "", sizeof thread->name - 1);
		return;
	}
	thrum__record_thread_attach(thread);
	thrum__label(thread->own, name);
}

static bool note_suspension(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	(void)time;
	lane->suspended = record->type == THRUM__R_RESUME ? 0
		: record->def                             ? record->def
							  : UINT16_MAX;
	return true;
}

static bool note_span(struct lane *lane, const struct thrum__record *record, uint64_t time)
{
	(void)time;
	if (record->type == THRUM__R_SPAN_BEGIN) {
		if (lane->open < THRUM__SPANS_MAX)
			lane->spans[lane->open] = record->def;
		lane->open++;
	} else if (lane->open > 0) {
		lane->open--;
		if (lane->open < THRUM__SPANS_MAX)
			lane->spans[lane->open] = 0;
	}
	return true;
}

/* Writes a record with a tag, which is defined first; if there is no room for a definition, the
 * record has the tag's name. The tag's level is tested only then, because a tag that is not defined
 * yet doesn't know its bit of the mask. */
static void write_tag(enum thrum__record_type type, struct thrum_tag *tag, int64_t value,
	bool (*also)(struct lane *, const struct thrum__record *, uint64_t))
{
	struct recorder *r = current_recorder();

	if (!tag || !r)
		return;
	struct thrum__record record = {.type = type,
		.def = kept_number(r, &tag->id),
		.value = value,
		.text = tag->name};

	if (!record.def)
		record.def = thrum__record_define_tag(r, tag);
	if (is_on(__atomic_load_n(&tag->bit, __ATOMIC_RELAXED)))
		write_and_note(r, &record, also);
}

/* The same for a tag that is defined. All but the tag and the value are constants. */
ALWAYS_INLINE bool fast_tag(enum thrum__record_type type, const struct thrum_tag *tag,
	int64_t value, bool (*also)(struct lane *, const struct thrum__record *, uint64_t))
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];
	bool has_value = type == THRUM__R_TAG_VALUE;

	if (UNLIKELY(!tag))
		return false;
	uint32_t number = __atomic_load_n(&tag->id, __ATOMIC_RELAXED) - lane->first_number;

	if (UNLIKELY(number > UINT16_MAX) ||
		UNLIKELY(!is_on(__atomic_load_n(&tag->bit, __ATOMIC_RELAXED))))
		return false;
	struct fast_event event = begin_event(TSC, thread, lane, type);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap | (has_value ? from_value(value) : 0)))
		return abandon_event(thread);
	put16(event.at + HEADER, (uint16_t)number);
	if (has_value)
		put32(event.at + HEADER + 2, (uint32_t)(int32_t)value);
	also(lane, &(struct thrum__record){.type = type, .def = (uint16_t)number}, event.time);
	return finish_event(thread, lane, event, HEADER + 2 + (has_value ? 4 : 0));
}

static bool fast_resume(void)
{
	struct thread *thread = &thrum__record_thread;
	struct lane *lane = thread->lane[0];
	struct fast_event event = begin_event(TSC, thread, lane, THRUM__R_RESUME);

	if (UNLIKELY(!event.at))
		return false;
	if (is_beyond(event.gap))
		return abandon_event(thread);
	lane->suspended = 0;
	return finish_event(thread, lane, event, HEADER);
}

void thrum__suspend(struct thrum_tag *reason)
{
	if (!fast_tag(THRUM__R_SUSPEND, reason, 0, note_suspension))
		write_tag(THRUM__R_SUSPEND, reason, 0, note_suspension);
}

void thrum__resume(void)
{
	if (!fast_resume())
		write_and_note(NULL, &(struct thrum__record){.type = THRUM__R_RESUME},
			note_suspension);
}

void thrum__tag(struct thrum_tag *tag)
{
	if (!fast_tag(THRUM__R_TAG, tag, 0, note_nothing))
		write_tag(THRUM__R_TAG, tag, 0, note_nothing);
}

void thrum__tag_value(struct thrum_tag *tag, int64_t value)
{
	if (!fast_tag(THRUM__R_TAG_VALUE, tag, value, note_nothing))
		write_tag(THRUM__R_TAG_VALUE, tag, value, note_nothing);
}

void thrum__span_begin(struct thrum_tag *tag)
{
	if (!fast_tag(THRUM__R_SPAN_BEGIN, tag, 0, note_span))
		write_tag(THRUM__R_SPAN_BEGIN, tag, 0, note_span);
}

void thrum__span_end(struct thrum_tag *tag)
{
	if (!fast_tag(THRUM__R_SPAN_END, tag, 0, note_span))
		write_tag(THRUM__R_SPAN_END, tag, 0, note_span);
}

/* ---- Formatted text ------------------------------------------------------------------------- */

#define FORMATTED(text, format) \
	do { \
		va_list arguments; \
		va_start(arguments, format); \
		if (vsnprintf(text, sizeof text, format, arguments) < 0) \
			text[0] = '\0'; \
		va_end(arguments); \
	} while (0)

void thrum__logf(const char *format, ...)
{
	char text[THRUM_TEXT_MAX + 2]; /* one more, so that a cut is noticed and marked */
	int error = errno;

	FORMATTED(text, format);
	thrum__log(text);
	errno = error;
}

thrum_task thrum__createf(struct thrum_site *site, int kind, const char *format, ...)
{
	char text[THRUM_TEXT_MAX + 2];
	int error = errno;

	FORMATTED(text, format);
	thrum_task task = thrum__create(site, kind, text);
	errno = error;
	return task;
}
