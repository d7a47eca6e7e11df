/* SPDX-License-Identifier: ISC */
/* Turns events into rows: one function for each type of event, and the switch that calls them. */
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"

/* Bits of the events that aren't among those of a lane: a category's has none, others are the kernel's. */
#define OUTSIDE (UINT64_C(1) << THRUM_EVENT_CATEGORY | UINT64_C(1) << THRUM_EVENT_OFF_CPU)
_Static_assert(THRUM_EVENT_TYPES <= 64, "a bit for each type");

#define CHECK_EVERY 4096 /* events between two checks of a large model (THRUM_DEBUG=3) */

/* ---- Data of the trace --------------------------------------------------------------------- */

/* Adds the event's lane and those before it. Returns as thrum__model_lanes_grow does. */
static int add_lane(struct thrum__model_input *s)
{
	struct thrum__model *m = s->model;
	uint32_t i = m->lane_count;
	int error = thrum__model_lanes_grow(m, s->event->lane);

	for (; s->trace && i < m->lane_count; i++) {
		const struct thrum_trace_lane *there = thrum_trace_lane(s->trace, i);

		if (!there)
			continue;
		m->lanes[i].number = there->number;
		m->lanes[i].host = there->host;
		if (*there->process) {
			m->is_joined = true;
			m->lanes[i].process = thrum__model_strings_add(m->strings, there->process,
				strlen(there->process));
		}
		m->lanes[i].is_cut = there->packets > 0 && there->first_seq > 0;
		m->is_cut |= m->lanes[i].is_cut;
	}
	return error;
}

/* ---- The tasks and the text of an event ---------------------------------------------------- */

/* Returns the row of the task that acts, or NONE. */
static inline uint32_t actor(struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;

	if (!(e->flags & THRUM_EVENT_HAS_TASK) || e->task == s->nobody)
		return THRUM__NONE;
	return thrum__model_task_of(s, e->task);
}

static bool has_other(const struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;

	return e->flags & THRUM_EVENT_HAS_OTHER && e->other != s->nobody;
}

/* Returns the row of the task that is acted on, or NONE. */
static inline uint32_t other_task(struct thrum__model_input *s)
{
	return has_other(s) ? thrum__model_task_of(s, s->event->other) : THRUM__NONE;
}

uint32_t thrum__model_text_of(struct thrum__model_input *s)
{
	uint32_t text = thrum__model_strings_add(s->model->strings, s->event->text,
		s->event->text_size);

	if (text == THRUM__NONE)
		s->model->failed = true;
	return text;
}

/*
 * Returns the task that acts, which is the running one: if the lane's was unknown, it is known now.
 */
static uint32_t runner(struct thrum__model_input *s)
{
	uint32_t task = actor(s);

	if (s->lane->is_unknown && task != THRUM__NONE &&
		!(s->event->flags & THRUM_EVENT_REMEMBERED))
		thrum__model_lane_run(s, task);
	return task;
}

/*
 * The task runs on the lane from now on. NONE means the lane's own task; in traces of
 * mirage-profile it suspends the lane.
 */
static void switch_to(struct thrum__model_input *s, uint32_t task)
{
	if (task != THRUM__NONE || !s->model->is_mirage) {
		thrum__model_lane_run(s, task == THRUM__NONE ? s->lane->task : task);
	} else if (s->lane->suspended == THRUM__NONE) {
		thrum__model_lane_run(s, THRUM__NONE);
		thrum__model_lane_suspend(s, THRUM__NONE);
	}
}

/* ---- Notes --------------------------------------------------------------------------------- */

static void add_note(struct thrum__model_input *s, enum thrum__note_kind kind, uint32_t task,
	uint32_t text, int64_t value)
{
	struct thrum__model *m = s->model;
	uint32_t row = thrum__model_rows_add(m, &m->notes, sizeof(struct thrum__notes),
		THRUM__BLOCK_SHIFT, s->time);

	if (row == THRUM__NONE)
		return;
	THRUM__PUT(m, notes, row, time, s->time);
	THRUM__NOTE(m, row, value) = value;
	THRUM__NOTE(m, row, task) = task;
	THRUM__NOTE(m, row, text) = text;
	THRUM__NOTE(m, row, prev) = THRUM__NONE;
	THRUM__NOTE(m, row, kind) = (uint8_t)kind;
	if (task == THRUM__NONE)
		return;
	THRUM__NOTE(m, row, prev) = THRUM__TASK(m, task, note);
	THRUM__TASK(m, task, note) = row;
	thrum__model_task_hear(m, task, s->time);
}

static void add_label(struct thrum__model_input *s)
{
	uint32_t task = actor(s), text;

	if (task == THRUM__NONE)
		return;
	text = thrum__model_text_of(s);
	/* mirage-profile records log lines as labels: all but a task's first one are that. */
	if (s->model->is_mirage && THRUM__TASK(s->model, task, name) != THRUM__NONE) {
		add_note(s, THRUM__NOTE_LOG, task, text, 0);
		return;
	}
	THRUM__TASK(s->model, task, name) = text;
	thrum__model_task_hold(s->model, task);
	add_note(s, THRUM__NOTE_LABEL, task, text, 0);
}

static void add_due(struct thrum__model_input *s)
{
	uint32_t task = actor(s);
	int64_t delay = s->event->value;

	if (task == THRUM__NONE)
		return;
	THRUM__TASK(s->model, task, flags) |= THRUM__TASK_DUE;
	add_note(s, THRUM__NOTE_DUE, task, THRUM__NONE,
		delay > THRUM__OPEN - s->time ? THRUM__OPEN : s->time + delay);
}

static void log_or_tag(struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;
	enum thrum__note_kind kind = e->type == THRUM_EVENT_LOG ? THRUM__NOTE_LOG
		: e->flags & THRUM_EVENT_HAS_VALUE              ? THRUM__NOTE_TAG_VALUE
								: THRUM__NOTE_TAG;
	uint32_t task = runner(s);

	add_note(s, kind, task, thrum__model_text_of(s), e->value);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

/* Keeps the place in the program of an event. Returns its number; 0: it is unknown. */
static uint16_t note_place(struct thrum__model_input *s)
{
	uint16_t site = s->event->site;

	return site && s->trace ? thrum__model_site_note(s->model, s->trace, site) : site;
}

static void create_task(struct thrum__model_input *s)
{
	/* In thrum's own traces the creator need not be the running task. */
	uint32_t creator = s->model->is_mirage ? runner(s) : actor(s);

	if (!has_other(s) || s->model->failed)
		return;
	thrum__model_task_create(s, creator, note_place(s));
}

/* Ends the task that is acted on, and adds the edge. */
static void end_other(struct thrum__model_input *s)
{
	static const struct {
		uint8_t edge, state;
	} ends[THRUM_EVENT_TYPES] = {
		[THRUM_EVENT_RESOLVE] = {THRUM__EDGE_RESOLVE, THRUM__STATE_RESOLVED},
		[THRUM_EVENT_FAIL] = {THRUM__EDGE_FAIL, THRUM__STATE_FAILED},
		[THRUM_EVENT_CANCEL] = {THRUM__EDGE_CANCEL, THRUM__STATE_CANCELLED},
	};
	struct thrum__model *m = s->model;
	uint32_t from = runner(s), to = other_task(s);

	if (to == THRUM__NONE)
		return;
	thrum__model_edge_add(s, ends[s->event->type].edge, from, to, 0);
	if (s->event->type == THRUM_EVENT_FAIL && THRUM__TASK(m, to, state) == THRUM__STATE_PENDING)
		THRUM__PUT_RARE(m, to, failure, thrum__model_text_of(s));
	thrum__model_task_end(s, to, ends[s->event->type].state);
}

static void become_other(struct thrum__model_input *s)
{
	struct thrum__model *m = s->model;
	uint32_t task = actor(s);

	if (task == THRUM__NONE || !has_other(s))
		return;
	thrum__model_task_become(s, task, s->event->other);
	if (m->is_mirage && s->lane->running == task && !m->failed) {
		uint32_t heir = thrum__model_heir(m, task);

		if (heir != task)
			thrum__model_lane_run(s, heir);
	}
}

static void should_resolve(struct thrum__model_input *s)
{
	uint32_t task = actor(s);

	if (task != THRUM__NONE)
		THRUM__TASK(s->model, task, flags) |= THRUM__TASK_SHOULD_RESOLVE;
}

/* ---- Edges --------------------------------------------------------------------------------- */

/* The place of a wait or of the taking of a lock. */
static int64_t place_of(struct thrum__model_input *s)
{
	uint16_t site = note_place(s);

	return site <= INT16_MAX ? site : 0;
}

/* Whether the event's task runs elsewhere: then another thread tells that it holds a lock. */
static bool is_told_by_other(const struct thrum__model_input *s, uint32_t task)
{
	const struct thrum__model *m = s->model;
	uint32_t run = task == THRUM__NONE ? THRUM__NONE : THRUM__TASK(m, task, run);

	return thrum__model_has_row(&m->runs, run) && THRUM__RUN(m, run, lane) != s->event->lane;
}

/* The value of the edge of the taking of a lock. */
static int64_t taken_at(struct thrum__model_input *s)
{
	int64_t place = place_of(s);

	if (!is_told_by_other(s, actor(s)))
		return place;
	return place ? -place : INT16_MIN;
}

static int64_t signal_of(struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;

	return thrum__model_signal_note(s->model, note_place(s),
		e->flags & THRUM_EVENT_HAS_VALUE ? e->value : -1);
}

static void take_wait(struct thrum__model_input *s)
{
	uint32_t from = actor(s), to = other_task(s);

	if (to != THRUM__NONE)
		thrum__model_task_wait(s, from, to, place_of(s));
}

static void read_result(struct thrum__model_input *s)
{
	uint32_t from = actor(s), to = other_task(s);

	if (to == THRUM__NONE || s->model->failed)
		return;
	if (s->model->is_mirage)
		switch_to(s, from);
	thrum__model_task_read(s, from, to);
}

/* Adds an edge of this kind from the running task. */
static void act_on(struct thrum__model_input *s, enum thrum__edge_kind kind, int64_t value)
{
	uint32_t from = runner(s), to = other_task(s);

	if (to == THRUM__NONE || s->model->failed)
		return;
	thrum__model_edge_add(s, kind, from, to, value);
	thrum__model_task_hear(s->model, to, s->time);
	if (kind == THRUM__EDGE_SIGNAL && s->model->is_mirage)
		thrum__model_lane_run(s, to);
}

/* ---- Gaps ---------------------------------------------------------------------------------- */

static void lost_or_damaged(struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;
	bool is_lost = e->type == THRUM_EVENT_LOST;
	bool has_count = is_lost && e->flags & THRUM_EVENT_HAS_VALUE && e->value > 0;
	uint32_t cause = thrum__model_text_of(s);

	s->model->damaged += !is_lost;
	thrum__model_lane_gap(s, s->lane->last, cause, has_count ? (uint64_t)e->value : 0);
}

/* Adds the gap before a lane's first event whose beginning is overwritten. */
static void cut_beginning(struct thrum__model_input *s)
{
	const char *cause = s->model->unread > 0 ? "not read" : "overwritten";
	uint32_t text = thrum__model_strings_add(s->model->strings, cause, strlen(cause));

	s->lane->is_cut = false;
	s->model->failed |= text == THRUM__NONE;
	if (s->now > 0)
		thrum__model_lane_gap(s, 0, text, 0);
	if (s->now > s->model->whole)
		s->model->whole = s->now;
}

/* ---- All types of events ------------------------------------------------------------------- */

static void dispatch(struct thrum__model_input *s)
{
	const struct thrum_event *e = s->event;
	switch (e->type) {
	case THRUM_EVENT_CREATE: create_task(s); break;
	case THRUM_EVENT_LABEL: add_label(s); break;
	case THRUM_EVENT_SHOULD_RESOLVE: should_resolve(s); break;
	case THRUM_EVENT_READY: act_on(s, THRUM__EDGE_READY, 0); break;
	case THRUM_EVENT_READ: read_result(s); break;
	case THRUM_EVENT_WAIT: take_wait(s); break;
	case THRUM_EVENT_READ_LATER: act_on(s, THRUM__EDGE_READ_LATER, 0); break;
	case THRUM_EVENT_RESOLVE:
	case THRUM_EVENT_FAIL:
	case THRUM_EVENT_CANCEL: end_other(s); break;
	case THRUM_EVENT_BECOME: become_other(s); break;
	case THRUM_EVENT_SWITCH: switch_to(s, actor(s)); break;
	case THRUM_EVENT_SIGNAL: act_on(s, THRUM__EDGE_SIGNAL, signal_of(s)); break;
	case THRUM_EVENT_DUE: add_due(s); break;
	case THRUM_EVENT_SUSPEND: thrum__model_lane_suspend(s, thrum__model_text_of(s)); break;
	case THRUM_EVENT_RESUME: thrum__model_lane_resume(s); break;
	case THRUM_EVENT_LOCK: act_on(s, THRUM__EDGE_LOCK, taken_at(s)); break;
	case THRUM_EVENT_UNLOCK: act_on(s, THRUM__EDGE_UNLOCK, 0); break;
	case THRUM_EVENT_LINK_SEND: thrum__model_links_send(s, runner(s)); break;
	case THRUM_EVENT_LINK_RECEIVE: thrum__model_links_receive(s, runner(s)); break;
	case THRUM_EVENT_LOG:
	case THRUM_EVENT_TAG: log_or_tag(s); break;
	case THRUM_EVENT_SPAN_BEGIN: thrum__model_lane_span_begin(s); break;
	case THRUM_EVENT_SPAN_END: thrum__model_lane_span_end(s); break;
	case THRUM_EVENT_GC: thrum__model_lane_gc(s); break;
	case THRUM_EVENT_COUNTER:
	case THRUM_EVENT_INCREASE: thrum__model_value_add(s, runner(s)); break;
	case THRUM_EVENT_LOST:
	case THRUM_EVENT_DAMAGED: lost_or_damaged(s); break;
	case THRUM_EVENT_CATEGORY: thrum__model_take_category(s); break;
	case THRUM_EVENT_OFF_CPU: thrum__model_lane_off_cpu(s); break;
	default: break;
	}
}

/* Sets the input's event, times and lane, and turns the event into rows. */
static inline void append_event(struct thrum__model_input *s, struct thrum__model *m,
	const struct thrum_event *e)
{
	bool is_remembered = e->flags & THRUM_EVENT_REMEMBERED;

	s->event = e;
	if (e->lane >= m->lane_count) {
		int error = add_lane(s);

		m->failed |= error == -THRUM_E_MEMORY;
		m->damaged += error != 0;
		if (error)
			return;
	}
	if (m->has_off_next && (e->type != THRUM_EVENT_CATEGORY || e->time != m->off_time))
		thrum__model_apply_categories(m);
	struct thrum__lane *lane = s->lane = &m->lanes[e->lane];

	s->time = e->time < 0 ? 0 : e->time == THRUM__OPEN ? THRUM__OPEN - 1 : e->time;
	s->now = s->time > lane->last && !is_remembered ? s->time : lane->last;
	if (s->time < m->last)
		m->late++;
	else
		m->last = s->time;
	if (m->end < m->last)
		m->end = m->last;
	bool is_lanes = !is_remembered && !(OUTSIDE >> e->type & 1);

	if (lane->is_cut && is_lanes)
		cut_beginning(s);
	dispatch(s);
	if (!is_lanes)
		return;
	if (lane->events++ == 0)
		lane->first = s->now;
	lane->last = s->now;
}

int thrum__model_append_from(struct thrum__model *m, const struct thrum_trace *trace,
	const struct thrum_event *events, size_t count)
{
	struct thrum__model_input s = {
		.model = m,
		.trace = trace,
		/* In thrum's own traces id 0 is no task; in mirage's it is the main context. */
		.nobody = m->is_mirage ? UINT64_MAX : 0,
	};

	const struct thrum_event *event = events, *end = events + count;

	for (; event < end && !m->failed; event++)
		append_event(&s, m, event);
	m->events += (uint64_t)(event - events);
#if THRUM_DEBUG >= 3
	/* A check takes time in proportion to the model, so a large one is checked now and then. */
	bool is_due = m->events < CHECK_EVERY || m->events % CHECK_EVERY < count;

	if (is_due && !m->failed && !thrum__model_is_valid(m))
		abort();
#endif
	return m->failed ? -THRUM_E_MEMORY : 0;
}

int thrum__model_append(struct thrum__model *m, const struct thrum_event *events, size_t count)
{
	return thrum__model_append_from(m, NULL, events, count);
}
