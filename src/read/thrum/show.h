/* SPDX-License-Identifier: ISC */
/*
 * Turns the fields of a record into events: there is one function show_NAME() for each type of
 * record. Private to the decoder, which inlines them.
 */
#ifndef READ_THRUM_SHOW_H
#define READ_THRUM_SHOW_H

#include <string.h>

#include "read/thrum/reader.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define EVENTS_A_RECORD 3 /* at most */

/*
 * The fields of a record, loaded. Those that the record doesn't have are undefined, and never read.
 */
struct fields {
	uint64_t task, other, source;
	int64_t value;
	uint64_t monotonic, realtime;
	const char *text;
	uint32_t text_size, tid;
	uint16_t def, site;
	uint8_t kind, cause;
	const char *key;
	uint32_t key_size;
};

/* The state of the decoder at a record. */
struct context {
	struct reader *reader;
	struct lane *lane;
	uint64_t clock;   /* ticks of the record */
	uint64_t running; /* the id of the task that runs on the lane; 0: none */
	int64_t time;     /* ns of the record */
	uint32_t number;  /* of the lane */
	struct thrum_event blank;
};

/* ---- Events -------------------------------------------------------------------------------- */

/*
 * Sets the members that all events of a record have in common, and clears the value and the text.
 */
ALWAYS_INLINE void prepare_event(struct thrum_event *e, const struct context *s)
{
	e->time = s->time;
	e->clock = s->clock;
	e->value = 0;
	e->text = "";
	e->text_size = 0;
	e->lane = s->number;
}

enum {
	ACTS = THRUM_EVENT_HAS_TASK,
	OTHER = THRUM_EVENT_HAS_OTHER,
	VALUED = THRUM_EVENT_HAS_VALUE
};

/* Sets the other members of a prepared event, and returns the place of the next event. Task 0 is no
 * task. */
ALWAYS_INLINE struct thrum_event *put_event(struct thrum_event *e, int type, int flags,
	uint64_t task, uint64_t other)
{
	e->task = task;
	e->other = other;
	e->site = 0;
	e->type = (uint8_t)type;
	e->kind = 0;
	e->flags = (uint8_t)(flags | (task ? ACTS : 0));
	return e + 1;
}

/* Sets the text of the event before `end`. */
ALWAYS_INLINE void set_text(struct thrum_event *end, const char *text, uint32_t size)
{
	end[-1].text = text;
	end[-1].text_size = size;
	end[-1].flags |= THRUM_EVENT_HAS_TEXT;
}

/* Sets the text of the label or message before `end`. */
ALWAYS_INLINE void set_label(struct thrum_event *end, const struct context *s,
	const struct fields *f)
{
	uint32_t size = f->text_size;
	const char *text = UNLIKELY(s->reader->has_modules)
		? thrum__read_label(s->reader, f->text, &size)
		: f->text;

	set_text(end, text, size);
}

/* Notes that the recording lacks a definition which an event has. */
static inline void miss_definition(struct reader *r, unsigned number)
{
	if (r->undefined == 0)
		r->undefined = number;
}

/* Sets the value of the event before `end`. */
ALWAYS_INLINE void set_value(struct thrum_event *end, int64_t value)
{
	end[-1].value = value;
	end[-1].flags |= THRUM_EVENT_HAS_VALUE;
}

/*
 * Sets the text of the event before `end` to a definition's; for number 0 to that of the NAME
 * record before this one.
 */
ALWAYS_INLINE void set_definition(struct thrum_event *end, const struct context *s, unsigned number,
	unsigned type)
{
	if (UNLIKELY(number == 0)) {
		set_text(end, s->lane->name.text, s->lane->name.size);
		s->lane->name = (struct span_of_text){"", 0};
		return;
	}
	const struct definition *d = NULL;

	if (number < s->reader->definition_room)
		d = s->reader->definitions[number];
	if (UNLIKELY(!d))
		d = thrum__read_definition(s->reader, number);
	if (UNLIKELY(!d))
		set_text(end, "", 0);
	else if (UNLIKELY(d->type != type)) {
		set_text(end, d->unknown, (uint32_t)strlen(d->unknown));
		miss_definition(s->reader, number);
	} else {
		set_text(end, d->text, d->text_size);
		end[-1].kind = d->kind;
	}
}

/* Loads the definition of a call site, to see whether there is one. */
static void load_site(struct reader *r, unsigned number)
{
	const struct definition *d = thrum__read_definition(r, number);

	if (d && d->type != THRUM__DEFINES_SITE && d->type != THRUM__DEFINES_ADDRESS)
		miss_definition(r, number);
}

/* Puts a create event, and a label event if the record has a text. */
ALWAYS_INLINE struct thrum_event *put_created(struct thrum_event *e, const struct context *s,
	const struct fields *f, uint64_t parent)
{
	e = put_event(e, THRUM_EVENT_CREATE, OTHER, parent, f->other);
	e[-1].kind = f->kind <= THRUM_KIND_STREAM ? f->kind : THRUM_KIND_UNKNOWN;
	e[-1].site = f->site;
	if (UNLIKELY(f->site >= s->reader->definition_room || !s->reader->definitions[f->site]) &&
		f->site)
		load_site(s->reader, f->site);
	if (f->text_size) {
		prepare_event(e, s);
		e = put_event(e, THRUM_EVENT_LABEL, 0, f->other, 0);
		set_label(e, s, f);
	}
	return e;
}

/* ---- One function for each type of record -------------------------------------------------- */

#define MAYBE_UNUSED __attribute__((unused))
#define SHOW(NAME) \
	ALWAYS_INLINE struct thrum_event *show_##NAME(struct thrum_event *e, \
		MAYBE_UNUSED struct context *s, MAYBE_UNUSED const struct fields *f)

SHOW(SWITCH)
{
	s->running = f->task;
	return put_event(e, THRUM_EVENT_SWITCH, 0, f->task, 0);
}

SHOW(WAIT)
{
	return put_event(e, THRUM_EVENT_WAIT, OTHER, f->task, f->other);
}

SHOW(READ_OWN)
{
	return put_event(e, THRUM_EVENT_READ, OTHER, s->running, f->other);
}

SHOW(READ)
{
	return put_event(e, THRUM_EVENT_READ, OTHER, f->task, f->other);
}

SHOW(RESOLVE)
{
	return put_event(e, THRUM_EVENT_RESOLVE, OTHER, s->running, f->other);
}

SHOW(CREATE)
{
	return put_created(e, s, f, s->running);
}

SHOW(CREATE_WAITING)
{
	e = put_created(e, s, f, s->running);
	prepare_event(e, s);
	return put_event(e, THRUM_EVENT_WAIT, OTHER, f->other, f->source);
}

SHOW(CREATE_IN)
{
	return put_created(e, s, f, f->task);
}

SHOW(LABEL)
{
	e = put_event(e, THRUM_EVENT_LABEL, 0, f->task, 0);
	set_label(e, s, f);
	return e;
}

SHOW(COUNTER)
{
	e = put_event(e, THRUM_EVENT_COUNTER, 0, s->running, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_COUNTER);
	set_value(e, f->value);
	return e;
}

SHOW(LOG)
{
	e = put_event(e, THRUM_EVENT_LOG, 0, s->running, 0);
	set_label(e, s, f);
	return e;
}

SHOW(TAG)
{
	e = put_event(e, THRUM_EVENT_TAG, 0, s->running, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	return e;
}

SHOW(TAG_VALUE)
{
	e = show_TAG(e, s, f);
	set_value(e, f->value);
	return e;
}

SHOW(SPAN_BEGIN)
{
	e = put_event(e, THRUM_EVENT_SPAN_BEGIN, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	return e;
}

SHOW(SPAN_END)
{
	e = put_event(e, THRUM_EVENT_SPAN_END, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	return e;
}

SHOW(SUSPEND)
{
	e = put_event(e, THRUM_EVENT_SUSPEND, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	s->lane->reason = (struct span_of_text){e[-1].text, e[-1].text_size};
	return e;
}

SHOW(RESUME)
{
	e = put_event(e, THRUM_EVENT_RESUME, 0, 0, 0);
	set_text(e, s->lane->reason.text, s->lane->reason.size);
	s->lane->reason = (struct span_of_text){"", 0};
	return e;
}

SHOW(FAIL)
{
	e = put_event(e, THRUM_EVENT_FAIL, OTHER, s->running, f->other);
	set_text(e, f->text, f->text_size);
	return e;
}

SHOW(CANCEL)
{
	return put_event(e, THRUM_EVENT_CANCEL, OTHER, s->running, f->other);
}

SHOW(BECOME)
{
	return put_event(e, THRUM_EVENT_BECOME, OTHER, f->task, f->other);
}

SHOW(SIGNAL)
{
	e = put_event(e, THRUM_EVENT_SIGNAL, OTHER, s->running, f->other);
	set_value(e, f->value);
	return e;
}

SHOW(LOCK)
{
	return put_event(e, THRUM_EVENT_LOCK, OTHER, s->running, f->other);
}

SHOW(UNLOCK)
{
	return put_event(e, THRUM_EVENT_UNLOCK, OTHER, s->running, f->other);
}

SHOW(LINK_SEND)
{
	e = put_event(e, THRUM_EVENT_LINK_SEND, 0, s->running, 0);
	set_text(e, f->key, f->key_size);
	return e;
}

SHOW(LINK_RECEIVE)
{
	e = put_event(e, THRUM_EVENT_LINK_RECEIVE, 0, s->running, 0);
	set_text(e, f->key, f->key_size);
	return e;
}

SHOW(DUE)
{
	e = put_event(e, THRUM_EVENT_DUE, 0, f->task, 0);
	set_value(e, f->value);
	return e;
}

SHOW(SHOULD_RESOLVE)
{
	return put_event(e, THRUM_EVENT_SHOULD_RESOLVE, 0, f->task, 0);
}

SHOW(CONTEXT)
{
	s->running = f->task;
	return e;
}

SHOW(NAME)
{
	s->lane->name = (struct span_of_text){f->text, f->text_size};
	return e;
}

SHOW(READY)
{
	return put_event(e, THRUM_EVENT_READY, OTHER, s->running, f->other);
}

SHOW(LANE)
{
	struct fields own = *f;

	own.kind = THRUM_KIND_THREAD;
	own.site = 0;
	s->lane->own = s->running = f->other;
	s->lane->shown.tid = f->tid;
	struct thrum_event *created = e;

	e = put_created(e, s, &own, 0);
	created->value = f->tid;
	return e;
}

SHOW(WAIT_AT)
{
	e = show_WAIT(e, s, f);
	e[-1].site = f->site;
	return e;
}

SHOW(SIGNAL_AT)
{
	e = show_SIGNAL(e, s, f);
	e[-1].site = f->site;
	return e;
}

SHOW(HELD)
{
	e = put_event(e, THRUM_EVENT_LOCK, OTHER, f->task, f->other);
	e[-1].site = f->site;
	return e;
}

SHOW(CATEGORY)
{
	e = put_event(e, THRUM_EVENT_CATEGORY, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_CATEGORY);
	set_value(e, f->value);
	return e;
}

SHOW(CLOCK)
{
	return e;
}

SHOW(LOST)
{
	const char *cause = thrum_lost_name(f->cause);

	e = put_event(e, THRUM_EVENT_LOST, 0, 0, 0);
	if (!cause)
		cause = "unknown cause";
	set_text(e, cause, (uint32_t)strlen(cause));
	set_value(e, f->value);
	return e;
}

#undef SHOW
#undef MAYBE_UNUSED

#endif
