/* SPDX-License-Identifier: ISC */
/*
 * Reads the traces of mirage-profile: packets of events, each event u64 ns, u8 op, fields.
 * mirage_packets.c finds the packets and puts them in order.
 *
 * Nothing in the file says whether an event was written completely: the recorder announces an event
 * before it writes it, so one that was killed leaves zeros, or what lay there a round of the ring
 * ago, behind a good header. What can be known is whether a stamp is plausible:
 *
 *  1. It isn't before the event before it, nor behind the beginning of a later packet. Which stamps
 *     begin a packet is believed only where the second event of that packet bears it out, so that a
 * torn one can't hide the packets before it.
 *  2. Where no later packet follows, it lies at most a leap ahead, or the event behind it does so
 * too. A leap is an hour, 8 times the trace so far, or what multiplies the stamp by 128 (at most 30
 * days), whichever is most: bytes that are taken for a stamp though they lie elsewhere are off by a
 * factor of 256 or more.
 *  3. When time runs back, one of two stamps is wrong. It is the earlier one if the next stamp
 * agrees with the later one, and both with the time before.
 *
 * An implausible event costs itself when the stamp behind it is plausible again, else the rest of
 * its packet. It never moves the time of others. Task 0 is the main context, which is never
 * created: zeros read as an event do that.
 */
#include "read/mirage_packets.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	BATCH = 256,
	NOTES = 16,       /* messages of one batch */
	SPARE = 4,        /* room for notes that one step may need */
	CHUNK = 1 << 17,  /* bytes read at once: they stay in the processor's cache */
	WINDOW = 1 << 20, /* a text can't be longer */
	SLACK = 32,       /* readable bytes behind the window */
	WALL_CLOCK_SECONDS = 1000000000, /* stamps from September 2001 on are taken for wall time */
};

struct reader {
	struct thrum_trace trace;
	struct thrum_trace_lane lane;
	struct thrum__mirage_packets packets;
	size_t next_packet;
	const struct thrum__mirage_packet *packet; /* the one at hand, or NULL */
	const struct thrum__mirage_packet *before; /* the one before it that had a header */

	/* window[at..filled] are the next bytes of the packet's content, `rest` more are to be
	 * read. */
	uint8_t *window;
	size_t at, filled, latest; /* latest: where the last event began */
	uint64_t where, rest;      /* where: the place of window[0] in the file */

	uint64_t base, last; /* stamps of the first and of the last event */
	uint64_t last_of_batch_before;
	uint64_t bound; /* the packet's stamps aren't behind this */
	bool started;   /* base and last are known */

	size_t count, decoded; /* of `events`; how many were read from the window */
	size_t notes;
	bool prefetched;
	struct thrum_event events[BATCH];
	char texts[NOTES][160];
};

#define PAIR (THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER)
#define NUMBER (THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_VALUE | THRUM_EVENT_HAS_TEXT)

/* clang-format off */
const struct thrum__mirage_op thrum__mirage_ops[THRUM__MIRAGE_OPS] = {
	/* other, value, event, flags, size, text, kind, odd */
	{-1, 0, THRUM_EVENT_CREATE, PAIR, 26, 0, 255, 0},
	{-1, 0, THRUM_EVENT_READ, PAIR, 25, 0, 0, 0},
	{-1, 0, THRUM_EVENT_RESOLVE, PAIR, 25, 0, 0, 0},
	{-1, 0, THRUM_EVENT_FAIL, PAIR | THRUM_EVENT_HAS_TEXT, 25, 1, 0, 0},
	{-1, 0, THRUM_EVENT_BECOME, PAIR, 25, 0, 0, 0},
	{0, 0, THRUM_EVENT_LABEL, THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_TEXT, 17, 1, 0, 0},
	{0, -1, THRUM_EVENT_INCREASE, NUMBER, 25, 1, 0, 0},
	{0, 0, THRUM_EVENT_SWITCH, THRUM_EVENT_HAS_TASK, 17, 0, 0, 0},
	{0, 0, THRUM_EVENT_GC, THRUM_EVENT_HAS_VALUE, 17, 0, 0, 1},
	{-1, 0, THRUM_EVENT_SIGNAL, PAIR, 25, 0, 0, 1}, /* and switches to the one that is signalled */
	{-1, 0, THRUM_EVENT_TRY_READ, PAIR, 25, 0, 0, 0},
	{0, -1, THRUM_EVENT_COUNTER, NUMBER, 25, 1, 0, 0},
	{-1, 0, THRUM_EVENT_READ_LATER, PAIR, 25, 0, 0, 0},
	{-1, 0, THRUM_EVENT_SIGNAL, PAIR, 25, 0, 0, 1}, /* without a switch */
};
/* clang-format on */

/* ---- Notes: what is missing, told among the events
 * ------------------------------------------------ */

static struct thrum_event *add_event(struct reader *r, int type)
{
	struct thrum_event *event = &r->events[r->count++];
	*event = (struct thrum_event){.text = "", .type = (uint8_t)type};
	if (r->started) {
		event->clock = r->last;
		event->time = (int64_t)(r->last - r->base);
	}
	return event;
}

__attribute__((format(printf, 3, 4))) static void note(struct reader *r, int type,
	const char *format, ...)
{
	char *text = r->texts[r->notes++];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(r->texts[0]), format, arguments);
	va_end(arguments);
	struct thrum_event *event = add_event(r, type);
	event->text = text;
	event->text_size = (uint32_t)strlen(text);
	event->flags = THRUM_EVENT_HAS_TEXT;
	if (type == THRUM_EVENT_DAMAGED)
		r->trace.info.damaged++;
	else
		r->trace.info.gaps++;
}

static bool has_room(const struct reader *r)
{
	return r->count <= BATCH - SPARE && r->notes <= NOTES - SPARE;
}

/* ---- The window
 * ----------------------------------------------------------------------------------- */

/* Reads on in the packet. Texts of earlier events are gone then. */
static int fill(struct reader *r, struct thrum_error_info *info)
{
	struct thrum__input *input = &r->trace.input;
	memmove(r->window, r->window + r->at, r->filled - r->at);
	r->where += r->at;
	r->filled -= r->at;
	r->at = 0;
	size_t size = WINDOW - r->filled;
	if (size > CHUNK)
		size = CHUNK;
	if (size > r->rest)
		size = (size_t)r->rest;
	int64_t got = input->read(input->owner, r->where + r->filled, r->window + r->filled, size);
	if (got < 0)
		return thrum__error_set(info, (int)got, r->where + r->filled, "can't be read");
	r->filled += (size_t)got;
	r->rest -= (uint64_t)got;
	if ((size_t)got < size) {
		note(r, THRUM_EVENT_DAMAGED, "the file has become shorter than byte %" PRIu64,
			r->where + r->filled + r->rest);
		r->rest = 0;
	} else if (size == 0) {
		/* The window is full of one text, which has no end for us. */
		r->rest = 0;
	}
	return 0;
}

/* ---- Events
 * --------------------------------------------------------------------------------------- */

/* A signal names whom it wakes first; a collection of garbage is nobody's. */
static void finish_odd(struct thrum_event *event)
{
	if (event->type == THRUM_EVENT_GC) {
		event->value = (int64_t)event->task;
		event->task = 0;
	} else {
		uint64_t condition = event->task;
		event->task = event->other;
		event->other = condition;
	}
}

static void finish_label(struct thrum_event *event)
{
	static const char mark[] = "__should_resolve";
	if (event->text_size != sizeof(mark) - 1 || memcmp(event->text, mark, sizeof(mark)) != 0)
		return;
	event->type = THRUM_EVENT_SHOULD_RESOLVE;
	event->flags = THRUM_EVENT_HAS_TASK;
	event->text = "";
	event->text_size = 0;
}

/* The hot loop: takes events up to the first one about which there is any doubt. */
static void decode(struct reader *r)
{
	const uint8_t *p = r->window + r->at, *const end = r->window + r->filled, *latest = NULL;
	struct thrum_event *event = r->events + r->count, *const stop = r->events + BATCH - SPARE;
	struct thrum_event *const begin = event;
	const uint64_t base = r->base, bound = r->bound;
	const uint64_t leap = thrum__mirage_leap(r->last, r->last - base);
	uint64_t last = r->last;
	while (event < stop && end - p >= THRUM__MIRAGE_EVENT_MIN) {
		uint64_t stamp = thrum__load64(p), first = thrum__load64(p + 9);
		uint64_t second = thrum__load64(p + 17);
		/* Running back is a leap, too. */
		if (stamp - last > leap || stamp > bound || p[8] >= THRUM__MIRAGE_OPS)
			break;
		const struct thrum__mirage_op *op = &thrum__mirage_ops[p[8]];
		if (second == 0 && op->kind)
			break;
		const uint8_t *next = p + op->size;
		event->text = "";
		event->text_size = 0;
		event->type = op->type;
		event->flags = op->flags;
		if (op->text) {
			const uint8_t *nul = thrum__text_end(next, end);
			if (nul >= end)
				break;
			event->text = (const char *)next;
			event->text_size = (uint32_t)(nul - next);
			next = nul + 1;
			if (op->type == THRUM_EVENT_LABEL)
				finish_label(event);
		} else if (next > end) {
			break;
		}
		event->time = (int64_t)(stamp - base);
		event->clock = last = stamp;
		event->task = first;
		event->other = second & op->other;
		event->value = (int64_t)(second & op->value);
		event->kind = op->kind & (p[25] <= THRUM_KIND_SWITCH ? p[25] : THRUM_KIND_UNKNOWN);
		event->lane = 0;
		event->site = 0;
		if (op->odd)
			finish_odd(event);
		event++;
		latest = p;
		p = next;
	}
	r->last = last;
	r->count += (size_t)(event - begin);
	r->decoded += (size_t)(event - begin);
	r->trace.info.records += (uint64_t)(event - begin);
	if (latest)
		r->latest = (size_t)(latest - r->window);
	r->at = (size_t)(p - r->window);
}
