/* SPDX-License-Identifier: ISC */
/*
 * Decodes the bytes of a packet to events. The preprocessor makes the switch from the table of
 * records (format/records.def). For each type of record the code checks the size of the fixed part
 * once, loads the fields, and calls show_NAME(), which turns them into events.
 */
#include <string.h>

#include "read/thrum/reader.h"
#include "read/thrum/show.h"

/* ---- The decoder, made from the table ------------------------------------------------------ */

/*
 * NARROW_NAME and WIDE_NAME: the least bytes of a record. They are its fixed part, and a text's NUL
 * or a key's length.
 */
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

/* A text without a NUL in the `left` bytes that are there is too long or cut off. */
static struct bad_record bad_text(size_t left)
{
	return left > THRUM_TEXT_MAX ? bad("text too long") : cut_off();
}

/* Returns the first NUL of `left` bytes, or NULL. Most texts are short: a call of memchr takes longer. */
ALWAYS_INLINE const uint8_t *find_nul(const uint8_t *p, size_t left)
{
	for (; left >= 8; p += 8, left -= 8) {
		uint64_t word = load64(p);
		/* The lowest bit that is set is that of the first zero byte. */
		uint64_t zeros = (word - UINT64_C(0x0101010101010101)) & ~word &
			UINT64_C(0x8080808080808080);

		if (zeros)
			return p + __builtin_ctzll(zeros) / 8;
	}
	return memchr(p, 0, left);
}

/* Loads the text at p, which ends at its NUL. */
#define LOAD_TEXT(x) \
	{ \
		size_t left = (size_t)(end - p); \
		const uint8_t *nul = find_nul(p, \
			left <= THRUM_TEXT_MAX ? left : THRUM_TEXT_MAX + 1); \
		if (UNLIKELY(!nul)) { \
			problem = bad_text(left); \
			goto stop; \
		} \
		f.x = (const char *)p; \
		f.x##_size = (uint32_t)(nul - p); \
		p = nul + 1; \
	}

/*
 * Loads the key at p. Moves it over its length byte, which makes room for a NUL behind it: the
 * bytes are the reader's own copy.
 */
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
			problem = bad("creation of task 0"); \
			goto stop; \
		} \
		e = show_##NAME(e, &s, &f); \
		break; \
	}

/* ---- The short cut ------------------------------------------------------------------------- */

/*
 * Most records consist of one or two task ids, or of a definition and a value. The processor can't
 * predict which of these types comes next, and a wrong guess costs more time than decoding the record.
 * So they share one path without branches. It leaves the definitions for later.
 */
enum id {
	NOBODY, /* 0 */
	RUNNING,
	FIRST, /* of the record */
	SECOND,
	IDS
};

struct plain {
	uint8_t size;                 /* bytes, with the header; 0: not such a record */
	uint8_t type, flags;          /* of its event */
	uint8_t task, other, running; /* enum id: those of the event, and the task that runs then */
	uint8_t definition;           /* the type of its definition; 0: it has none */
	uint8_t text;                 /* where its text begins: it creates a task; 0: it doesn't */
};

#define PLAIN_SIZE_MAX 16

static const struct plain plain_records[THRUM__EXTENDED + 1] = {
	[THRUM__R_SWITCH] = {8, THRUM_EVENT_SWITCH, 0, FIRST, NOBODY, FIRST},
	[THRUM__R_SHOULD_RESOLVE] = {8, THRUM_EVENT_SHOULD_RESOLVE, 0, FIRST, NOBODY, RUNNING},
	[THRUM__R_WAIT] = {12, THRUM_EVENT_WAIT, OTHER, FIRST, SECOND, RUNNING},
	[THRUM__R_READ] = {12, THRUM_EVENT_READ, OTHER, FIRST, SECOND, RUNNING},
	[THRUM__R_BECOME] = {12, THRUM_EVENT_BECOME, OTHER, FIRST, SECOND, RUNNING},
	[THRUM__R_READ_OWN] = {8, THRUM_EVENT_READ, OTHER, RUNNING, FIRST, RUNNING},
	[THRUM__R_RESOLVE] = {8, THRUM_EVENT_RESOLVE, OTHER, RUNNING, FIRST, RUNNING},
	[THRUM__R_CANCEL] = {8, THRUM_EVENT_CANCEL, OTHER, RUNNING, FIRST, RUNNING},
	[THRUM__R_LOCK] = {8, THRUM_EVENT_LOCK, OTHER, RUNNING, FIRST, RUNNING},
	[THRUM__R_UNLOCK] = {8, THRUM_EVENT_UNLOCK, OTHER, RUNNING, FIRST, RUNNING},
	[THRUM__R_READY] = {8, THRUM_EVENT_READY, OTHER, RUNNING, FIRST, RUNNING},
	[THRUM__R_CREATE] = {12, THRUM_EVENT_CREATE, OTHER, RUNNING, FIRST, RUNNING, 0, 11},
	[THRUM__R_CREATE_IN] = {16, THRUM_EVENT_CREATE, OTHER, FIRST, SECOND, RUNNING, 0, 15},
	[THRUM__R_COUNTER] = {10, THRUM_EVENT_COUNTER, VALUED, RUNNING, NOBODY, RUNNING,
		THRUM__DEFINES_COUNTER},
	[THRUM__R_TAG] = {6, THRUM_EVENT_TAG, 0, RUNNING, NOBODY, RUNNING, THRUM__DEFINES_TAG},
	[THRUM__R_TAG_VALUE] = {10, THRUM_EVENT_TAG, VALUED, RUNNING, NOBODY, RUNNING,
		THRUM__DEFINES_TAG},
	[THRUM__R_SPAN_BEGIN] = {6, THRUM_EVENT_SPAN_BEGIN, 0, NOBODY, NOBODY, RUNNING,
		THRUM__DEFINES_TAG},
	[THRUM__R_SPAN_END] = {6, THRUM_EVENT_SPAN_END, 0, NOBODY, NOBODY, RUNNING,
		THRUM__DEFINES_TAG},
};

/* Events whose definitions and values are still to be set, and their records. */
struct unfinished {
	size_t count;
	struct {
		struct thrum_event *event;
		const uint8_t *record;
	} all[BATCH];
};

/* The decoder's place: the next record and event, and the ticks of the record before. */
struct place {
	const uint8_t *p;
	struct thrum_event *e;
	uint64_t last, records;
};

/* Returns the ticks of a record with a compact header. */
ALWAYS_INLINE uint64_t compact_time(uint32_t header, uint64_t last)
{
	return last + (((header >> 5) - (uint32_t)last) & TIME_MASK);
}

ALWAYS_INLINE size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Completes the creation at e, whose record has this text. */
ALWAYS_INLINE struct thrum_event *add_label(struct thrum_event *e, const struct context *s,
	const uint8_t *text, const uint8_t *nul)
{
	struct fields f = {.other = e->other,
		.site = load16(text - 3),
		.kind = text[-1],
		.text = (const char *)text,
		.text_size = (uint32_t)(nul - text)};

	return put_created(e, s, &f, e->task);
}

/*
 * Decodes plain records up to the first other one, or where fewer than PLAIN_SIZE_MAX bytes are left.
 */
ALWAYS_INLINE struct place decode_plain(struct unfinished *unfinished, struct context *s,
	struct place at, const uint8_t *end, const struct thrum_event *full)
{
	const struct clock clock = s->reader->clock;
	uint64_t bound = s->lane->bound, id_base = s->lane->id_base;
	uint64_t ids[IDS];
	const uint8_t *p = at.p;
	struct thrum_event *e = at.e;

	ids[NOBODY] = 0;
	ids[RUNNING] = s->running;
	while (e <= full && end - p >= PLAIN_SIZE_MAX) {
		uint32_t header = load32(p);
		const struct plain *plain = &plain_records[header % 32];
		uint64_t ticks = compact_time(header, at.last);

		if (plain->size == 0 || UNLIKELY(ticks > bound))
			break;
		ids[FIRST] = id_base + load32(p + 4);
		ids[SECOND] = id_base + load32(p + 8);
		uint64_t task = ids[plain->task];

		memcpy(&e->value, &s->blank.value,
			sizeof s->blank - offsetof(struct thrum_event, value));
		e->time = clock_ns(&clock, ticks);
		e->clock = ticks;
		e->task = task;
		e->other = ids[plain->other];
		e->type = plain->type;
		e->flags = (uint8_t)(plain->flags | (task ? ACTS : 0));
		if (plain->text) {
			const uint8_t *text = p + plain->text;
			const uint8_t *nul = find_nul(text,
				least((size_t)(end - text), THRUM_TEXT_MAX + 1));

			if (UNLIKELY(!nul || e->other == 0))
				break;
			s->time = e->time;
			s->clock = ticks;
			e = add_label(e, s, text, nul);
			p = nul + 1;
		} else {
			ids[RUNNING] = ids[plain->running];
			unfinished->all[unfinished->count].event = e++;
			unfinished->all[unfinished->count].record = p;
			unfinished->count += plain->definition != 0;
			p += plain->size;
		}
		at.last = ticks;
		at.records++;
	}
	s->running = ids[RUNNING];
	at.p = p;
	at.e = e;
	return at;
}

/* Sets the definitions and values that decode_plain left for later. */
static void finish_plain(struct unfinished *unfinished, const struct context *s)
{
	for (size_t i = 0; i < unfinished->count; i++) {
		struct thrum_event *e = unfinished->all[i].event;
		const uint8_t *record = unfinished->all[i].record;
		const struct plain *plain = &plain_records[record[0] % 32];

		set_definition(e + 1, s, load16(record + 4), plain->definition);
		if (plain->flags & VALUED)
			e->value = (int32_t)load32(record + 6);
	}
	unfinished->count = 0;
}

/* Returns the cause for which the time in an extended header can't be right, or NULL. */
static const char *check_extended(struct reader *r, uint64_t ticks, uint64_t last)
{
	if (ticks < last)
		return "event earlier than the one before it";
	return thrum__read_clock_is_plausible(r, ticks, last) ? NULL : "time outside the recording";
}

struct bad_record thrum__read_decode(struct reader *r, struct lane *lane)
{
	struct slot *slot = lane->slot;
	const uint8_t *p = slot->bytes + (lane->at - lane->chunk), *record = p;
	const uint8_t *end = slot->bytes + (lane->copied - lane->chunk);
	struct thrum_event *e = slot->events + slot->count;
	/* The last place from which there is room for a record's events and a note. */
	const struct thrum_event *full = slot->events + BATCH - EVENTS_A_RECORD - 1;
	uint64_t last = lane->ticks, bound = lane->bound, id_base = lane->id_base, records = 0;
	struct context s = {.reader = r,
		.lane = lane,
		.running = lane->running,
		.number = lane->number,
		.blank = {.text = "", .lane = lane->number}};
	struct bad_record problem = {0};
	struct unfinished unfinished;
	struct fields f;

	unfinished.count = 0;
	while (e <= full && p != end) {
		struct place now = decode_plain(&unfinished, &s,
			(struct place){p, e, last, records}, end, full);

		records = now.records;
		record = p = now.p;
		e = now.e;
		last = now.last;
		if (e > full || p == end)
			break;
		if (UNLIKELY((size_t)(end - p) < THRUM__COMPACT_SIZE)) {
			problem = cut_off();
			goto stop;
		}
		uint32_t id = load32(p);

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
			s.clock = compact_time(id, last);
			id %= 32;
			p += THRUM__COMPACT_SIZE;
		}
		if (UNLIKELY(s.clock > bound)) {
			problem = bad(bound == r->clock.end ? "time outside the recording"
							    : "event later than the next packet");
			goto stop;
		}
		s.time = clock_ns(&r->clock, s.clock);
		/* The events before need the name before. */
		if (UNLIKELY(id == THRUM__R_NAME))
			finish_plain(&unfinished, &s);
		/* Here, because the processor does it while it finds the target of the switch. */
		prepare_event(e, &s);
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
	finish_plain(&unfinished, &s);
	lane->at = lane->chunk + (uint32_t)(record - slot->bytes);
	lane->ticks = last;
	lane->running = s.running;
	slot->count = (size_t)(e - slot->events);
	r->trace.info.records += records;
	return problem;
}
