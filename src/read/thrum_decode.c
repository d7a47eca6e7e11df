/* SPDX-License-Identifier: ISC */
/*
 * From the bytes of a packet to events. The switch is made from the table of records: for each
 * record the fixed part's size is checked once, then its fields are loaded, then show_NAME() makes
 * events of them.
 */
#include <string.h>

#include "read/thrum_reader.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define EVENTS_A_RECORD 3 /* at most */

/* What the fields of a record are; those that it doesn't have are never looked at. */
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

/* What a record is seen in the light of. */
struct scene {
	struct reader *reader;
	struct lane *lane;
	uint64_t clock, running;
	int64_t time;
	uint32_t number; /* of the lane */
};

/* ---- Events -------------------------------------------------------------------------------- */

/* What all events of a record have, and nothing of what only some have. */
ALWAYS_INLINE void prepare(struct thrum_event *e, const struct scene *s)
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
	OTHER = THRUM_EVENT_HAS_OTHER
};

/* A prepared event becomes one of this type; returns where the next one goes. Task 0 is nobody. */
ALWAYS_INLINE struct thrum_event *put(struct thrum_event *e, int type, int flags, uint64_t task,
	uint64_t other)
{
	e->task = task;
	e->other = other;
	e->site = 0;
	e->type = (uint8_t)type;
	e->kind = 0;
	e->flags = (uint8_t)(flags | (task ? ACTS : 0));
	return e + 1;
}

ALWAYS_INLINE void set_text(struct thrum_event *end, const char *text, uint32_t size)
{
	end[-1].text = text;
	end[-1].text_size = size;
	end[-1].flags |= THRUM_EVENT_HAS_TEXT;
}

ALWAYS_INLINE void set_value(struct thrum_event *end, int64_t value)
{
	end[-1].value = value;
	end[-1].flags |= THRUM_EVENT_HAS_VALUE;
}

/* A definition's text; for 0 that of the NAME record before. */
ALWAYS_INLINE void set_definition(struct thrum_event *end, const struct scene *s, unsigned number,
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
		d = thrum__definition(s->reader, number);
	if (UNLIKELY(!d))
		set_text(end, "", 0);
	else if (UNLIKELY(d->type != type))
		set_text(end, d->unknown, (uint32_t)strlen(d->unknown));
	else
		set_text(end, d->text, d->text_size);
}

ALWAYS_INLINE struct thrum_event *put_created(struct thrum_event *e, const struct scene *s,
	const struct fields *f, uint64_t parent)
{
	e = put(e, THRUM_EVENT_CREATE, OTHER, parent, f->other);
	e[-1].kind = f->kind <= THRUM_KIND_STREAM ? f->kind : THRUM_KIND_UNKNOWN;
	e[-1].site = f->site;
	if (f->text_size) {
		prepare(e, s);
		e = put(e, THRUM_EVENT_LABEL, 0, f->other, 0);
		set_text(e, f->text, f->text_size);
	}
	return e;
}

/* ---- One function for each record ---------------------------------------------------------- */

#define SHOW(NAME) \
	ALWAYS_INLINE struct thrum_event *show_##NAME(struct thrum_event *e, struct scene *s, \
		const struct fields *f)

SHOW(SWITCH)
{
	s->running = f->task;
	return put(e, THRUM_EVENT_SWITCH, 0, f->task, 0);
}

SHOW(WAIT)
{
	return put(e, THRUM_EVENT_TRY_READ, OTHER, f->task, f->other);
}

SHOW(READ_OWN)
{
	return put(e, THRUM_EVENT_READ, OTHER, s->running, f->other);
}

SHOW(READ)
{
	return put(e, THRUM_EVENT_READ, OTHER, f->task, f->other);
}

SHOW(RESOLVE)
{
	return put(e, THRUM_EVENT_RESOLVE, OTHER, s->running, f->other);
}

SHOW(CREATE)
{
	return put_created(e, s, f, s->running);
}

SHOW(CREATE_WAITING)
{
	e = put_created(e, s, f, s->running);
	prepare(e, s);
	return put(e, THRUM_EVENT_TRY_READ, OTHER, f->other, f->source);
}

SHOW(CREATE_IN)
{
	return put_created(e, s, f, f->task);
}

SHOW(LABEL)
{
	e = put(e, THRUM_EVENT_LABEL, 0, f->task, 0);
	set_text(e, f->text, f->text_size);
	return e;
}

SHOW(COUNTER)
{
	e = put(e, THRUM_EVENT_COUNTER, 0, s->running, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_COUNTER);
	set_value(e, f->value);
	return e;
}

SHOW(LOG)
{
	e = put(e, THRUM_EVENT_LOG, 0, s->running, 0);
	set_text(e, f->text, f->text_size);
	return e;
}

SHOW(TAG)
{
	e = put(e, THRUM_EVENT_TAG, 0, s->running, 0);
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
	e = put(e, THRUM_EVENT_SPAN_BEGIN, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	return e;
}

SHOW(SPAN_END)
{
	e = put(e, THRUM_EVENT_SPAN_END, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	return e;
}

SHOW(SUSPEND)
{
	e = put(e, THRUM_EVENT_SUSPEND, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_TAG);
	s->lane->reason = (struct span_of_text){e[-1].text, e[-1].text_size};
	return e;
}

SHOW(RESUME)
{
	e = put(e, THRUM_EVENT_RESUME, 0, 0, 0);
	set_text(e, s->lane->reason.text, s->lane->reason.size);
	s->lane->reason = (struct span_of_text){"", 0};
	return e;
}

SHOW(FAIL)
{
	e = put(e, THRUM_EVENT_FAIL, OTHER, s->running, f->other);
	set_text(e, f->text, f->text_size);
	return e;
}

SHOW(CANCEL)
{
	return put(e, THRUM_EVENT_CANCEL, OTHER, s->running, f->other);
}

SHOW(BECOME)
{
	return put(e, THRUM_EVENT_BECOME, OTHER, f->task, f->other);
}

SHOW(SIGNAL)
{
	e = put(e, THRUM_EVENT_SIGNAL, OTHER, s->running, f->other);
	set_value(e, f->value);
	return e;
}

SHOW(LOCK)
{
	return put(e, THRUM_EVENT_LOCK, OTHER, s->running, f->other);
}

SHOW(UNLOCK)
{
	return put(e, THRUM_EVENT_UNLOCK, OTHER, s->running, f->other);
}

SHOW(LINK_SEND)
{
	e = put(e, THRUM_EVENT_LINK_SEND, 0, s->running, 0);
	set_text(e, f->key, f->key_size);
	return e;
}

SHOW(LINK_RECEIVE)
{
	e = put(e, THRUM_EVENT_LINK_RECEIVE, 0, s->running, 0);
	set_text(e, f->key, f->key_size);
	return e;
}

SHOW(DUE)
{
	e = put(e, THRUM_EVENT_DUE, 0, f->task, 0);
	set_value(e, f->value);
	return e;
}

SHOW(SHOULD_RESOLVE)
{
	return put(e, THRUM_EVENT_SHOULD_RESOLVE, 0, f->task, 0);
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

SHOW(LANE)
{
	struct fields own = *f;

	own.kind = THRUM_KIND_THREAD;
	own.site = 0;
	s->lane->own = s->running = f->other;
	s->lane->shown.tid = f->tid;
	return put_created(e, s, &own, 0);
}

SHOW(CATEGORY)
{
	e = put(e, THRUM_EVENT_CATEGORY, 0, 0, 0);
	set_definition(e, s, f->def, THRUM__DEFINES_CATEGORY);
	set_value(e, f->value);
	return e;
}

SHOW(CLOCK)
{
	(void)s;
	(void)f;
	return e;
}

SHOW(LOST)
{
	const char *cause = thrum_lost_name(f->cause);

	e = put(e, THRUM_EVENT_LOST, 0, 0, 0);
	if (!cause)
		cause = "unknown cause";
	set_text(e, cause, (uint32_t)strlen(cause));
	set_value(e, f->value);
	return e;
}

/* ---- The decoder, made from the table ------------------------------------------------------ */

/* Bytes that a record has at least: its fixed part, and a text's NUL or a key's length. */
#define TASK(x) +4
#define VALUE(x) +4
#define DEF(x) +2
#define SITE(x) +2
#define KIND(x) +1
#define CAUSE(x) +1
#define U32(x) +4
#define U64(x) +8
#define TEXT(x) +1
#define KEY(x) +1
#define RECORD(id, NAME, name, runs, fields) NARROW_##NAME = 0 fields,
enum {
#include "format/records.def"
};
#undef RECORD
#undef TASK
#undef VALUE
#define TASK(x) +8
#define VALUE(x) +8
#define RECORD(id, NAME, name, runs, fields) WIDE_##NAME = 0 fields,
enum {
#include "format/records.def"
};
#undef RECORD
#undef TASK
#undef VALUE
#undef DEF
#undef SITE
#undef KIND
#undef CAUSE
#undef U32
#undef U64
#undef TEXT
#undef KEY

#define TIME_MASK ((1u << THRUM__TIME_BITS) - 1)

#define CREATES(id) \
	(id == THRUM__R_CREATE || id == THRUM__R_CREATE_WAITING || id == THRUM__R_CREATE_IN || \
		id == THRUM__R_LANE)

ALWAYS_INLINE uint16_t load16(const uint8_t *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof value);
	return value;
}

ALWAYS_INLINE uint32_t load32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof value);
	return value;
}

ALWAYS_INLINE uint64_t load64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof value);
	return value;
}

static struct bad_record bad(const char *why)
{
	return (struct bad_record){.why = why};
}

static struct bad_record bad_id(unsigned id)
{
	return (struct bad_record){.why = "unknown event id", .has_id = true, .id = id};
}

static struct bad_record cut_off(void)
{
	return (struct bad_record){.why = "event cut off", .is_cut = true};
}

static struct bad_record bad_text(size_t left)
{
	return left > THRUM_TEXT_MAX ? bad("text too long") : cut_off();
}

/* The text at p, up to its NUL. */
#define LOAD_TEXT(x) \
	{ \
		size_t left = (size_t)(end - p); \
		const uint8_t *nul = memchr(p, 0, \
			left <= THRUM_TEXT_MAX ? left : THRUM_TEXT_MAX + 1); \
		if (UNLIKELY(!nul)) { \
			problem = bad_text(left); \
			goto stop; \
		} \
		f.x = (const char *)p; \
		f.x##_size = (uint32_t)(nul - p); \
		p = nul + 1; \
	}

/* A key is moved over its length, to make room for a NUL behind it: the bytes are our own. */
#define LOAD_KEY(x) \
	{ \
		uint8_t *key = lane->slot->bytes + (p - lane->slot->bytes); \
		f.x##_size = *p++; \
		if (UNLIKELY(f.x##_size > THRUM_KEY_MAX)) { \
			problem = bad("key too long"); \
			goto stop; \
		} \
		if (UNLIKELY((size_t)(end - p) < f.x##_size)) { \
			problem = cut_off(); \
			goto stop; \
		} \
		memmove(key, p, f.x##_size); \
		p += f.x##_size; \
		key[f.x##_size] = 0; \
		f.x = (const char *)key; \
	}

#define TAKE(x, loaded, size) \
	f.x = loaded; \
	p += size;
#define DEF(x) TAKE(x, load16(p), 2)
#define SITE(x) TAKE(x, load16(p), 2)
#define KIND(x) TAKE(x, *p, 1)
#define CAUSE(x) TAKE(x, *p, 1)
#define U32(x) TAKE(x, load32(p), 4)
#define U64(x) TAKE(x, load64(p), 8)
#define TEXT(x) LOAD_TEXT(x)
#define KEY(x) LOAD_KEY(x)

#define DECODE(id, NAME, size, fields) \
	{ \
		if (UNLIKELY(end - p < (ptrdiff_t)(size))) { \
			problem = cut_off(); \
			goto stop; \
		} \
		fields; \
		if (CREATES(id) && UNLIKELY(f.other == 0)) { \
			problem = bad("created task 0"); \
			goto stop; \
		} \
		e = show_##NAME(e, &s, &f); \
		break; \
	}

/* ---- The short cut -----------------------------------------------------------------------------
 */

/*
 * Most records are nothing but one or two task ids. Which of these kinds comes next can't be
 * predicted, and a processor that guessed wrong loses more time than the whole record takes. So
 * they share one way, without branches.
 */
struct plain {
	uint8_t size; /* with the header; 0: not such a record */
	uint8_t type, flags;
	bool by_running; /* the running task does it, to the first id; else the first id does it */
	bool is_switch;
};

#define PLAIN_SIZE_MAX 12

static const struct plain plain_records[THRUM__EXTENDED + 1] = {
	[THRUM__R_SWITCH] = {8, THRUM_EVENT_SWITCH, 0, false, true},
	[THRUM__R_SHOULD_RESOLVE] = {8, THRUM_EVENT_SHOULD_RESOLVE, 0, false, false},
	[THRUM__R_WAIT] = {12, THRUM_EVENT_TRY_READ, OTHER, false, false},
	[THRUM__R_READ] = {12, THRUM_EVENT_READ, OTHER, false, false},
	[THRUM__R_BECOME] = {12, THRUM_EVENT_BECOME, OTHER, false, false},
	[THRUM__R_READ_OWN] = {8, THRUM_EVENT_READ, OTHER, true, false},
	[THRUM__R_RESOLVE] = {8, THRUM_EVENT_RESOLVE, OTHER, true, false},
	[THRUM__R_CANCEL] = {8, THRUM_EVENT_CANCEL, OTHER, true, false},
	[THRUM__R_LOCK] = {8, THRUM_EVENT_LOCK, OTHER, true, false},
	[THRUM__R_UNLOCK] = {8, THRUM_EVENT_UNLOCK, OTHER, true, false},
};

/* yes ? a : b, and no compiler makes a branch of it. */
ALWAYS_INLINE uint64_t choose(bool yes, uint64_t a, uint64_t b)
{
	return b ^ ((a ^ b) & -(uint64_t)yes);
}

/* `p`: the record's fields, of which there are as many bytes as two ids have. */
ALWAYS_INLINE struct thrum_event *put_plain(struct thrum_event *e, struct scene *s,
	const struct plain *plain, const uint8_t *p, uint64_t id_base)
{
	uint64_t first = id_base + load32(p), second = id_base + load32(p + 4);
	uint64_t task = choose(plain->by_running, s->running, first);
	uint64_t other = choose(plain->by_running, first, second);

	s->running = choose(plain->is_switch, first, s->running);
	return put(e, plain->type, plain->flags, task, choose(plain->flags, other, 0));
}

/* An extended header's time, or why it can't be right. */
static const char *check_extended(struct reader *r, uint64_t ticks, uint64_t last)
{
	if (ticks < last)
		return "event earlier than the one before it";
	return thrum__clock_is_plausible(r, ticks, last) ? NULL : "time beyond the recording's";
}

struct bad_record thrum__decode(struct reader *r, struct lane *lane)
{
	struct slot *slot = lane->slot;
	const uint8_t *p = slot->bytes + lane->at, *end = slot->bytes + lane->content, *record = p;
	struct thrum_event *e = slot->events + slot->count;
	/* One more than a record needs, for a note. */
	const struct thrum_event *full = slot->events + BATCH - EVENTS_A_RECORD - 1;
	uint64_t last = lane->ticks, bound = lane->bound, id_base = lane->id_base, records = 0;
	struct scene s = {.reader = r,
		.lane = lane,
		.running = lane->running,
		.number = lane->number};
	struct bad_record problem = {0};
	struct fields f;

	while (e <= full && p != end) {
		record = p;
		if (UNLIKELY((size_t)(end - p) < THRUM__COMPACT_SIZE)) {
			problem = cut_off();
			goto stop;
		}
		uint32_t id = load32(p);
		const struct plain *plain = &plain_records[id % 32];

		if (UNLIKELY(id % 32 == THRUM__EXTENDED)) {
			if ((size_t)(end - p) < THRUM__EXTENDED_SIZE) {
				problem = cut_off();
				goto stop;
			}
			id = load32(p + 1);
			s.clock = load64(p + 5);
			problem.why = p[0] == THRUM__EXTENDED ? check_extended(r, s.clock, last)
							      : "damaged event header";
			if (problem.why)
				goto stop;
			p += THRUM__EXTENDED_SIZE;
		} else {
			s.clock = last + (((id >> 5) - (uint32_t)last) & TIME_MASK);
			id %= 32;
			p += THRUM__COMPACT_SIZE;
		}
		if (UNLIKELY(s.clock > bound)) {
			problem = bad("event later than the next packet's");
			goto stop;
		}
		s.time = clock_ns(&r->clock, s.clock);
		/* Here, not with the rest: done while the processor finds out where the switch
		 * goes. */
		prepare(e, &s);
		if (plain->size && end - record >= PLAIN_SIZE_MAX) {
			e = put_plain(e, &s, plain, p, id_base);
			p = record + plain->size;
			last = s.clock;
			records++;
			continue;
		}
		switch (id) {
#define TASK(x) TAKE(x, id_base + load32(p), 4)
#define VALUE(x) TAKE(x, (int32_t)load32(p), 4)
#define RECORD(id, NAME, name, runs, fields) \
	case id: \
		DECODE(id, NAME, NARROW_##NAME, fields)
#include "format/records.def"
#undef RECORD
#undef TASK
#undef VALUE
#define TASK(x) TAKE(x, load64(p), 8)
#define VALUE(x) TAKE(x, (int64_t)load64(p), 8)
#define RECORD(id, NAME, name, runs, fields) \
	case id + THRUM__WIDE: \
		if ((int)WIDE_##NAME == (int)NARROW_##NAME) \
			goto unknown; /* there is no wide form */ \
		DECODE(id, NAME, WIDE_##NAME, fields)
#include "format/records.def"
#undef RECORD
		default:
		unknown:
			problem = bad_id(id);
			goto stop;
		}
		last = s.clock;
		records++;
	}
	record = p;
stop:
	lane->at = (uint32_t)(record - slot->bytes);
	lane->ticks = last;
	lane->running = s.running;
	slot->count = (size_t)(e - slot->events);
	r->trace.info.records += records;
	return problem;
}
