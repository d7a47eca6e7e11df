/* SPDX-License-Identifier: ISC */
/*
 * Reads the traces of mirage-profile: packets of events, each event u64 ns, u8 op, fields.
 * mirage_packets.c finds the packets and puts them in order.
 *
 * Nothing in the file says whether an event was written completely: the recorder announces an event
 * before it writes it, so one that was killed leaves zeros, or what lay there a round of the ring
 * ago, behind a good header. What can be known is whether a stamp is plausible:
 *
 * Rule 1: It isn't before the event before it.
 *
 * Rule 2: It isn't behind the second event of a later packet. That one speaks for its packet where
 * the first and the third one bear it out: no single wrong stamp can hide the packets before it.
 *
 * Rule 3: Where no such packet follows, it lies at most a leap ahead, unless the event behind it
 * agrees with it. A leap is an hour, 8 times the trace so far, or what multiplies the stamp by 128
 * (at most 30 days), whichever is most: bytes that are taken for a stamp, but lie elsewhere, are
 * off by a factor of 256 or more. The trace's first event is judged likewise, by the one behind it.
 *
 * Rule 4: When time runs back, one of two events is wrong: the earlier one, if the later one and
 * the one behind that fit where it stands; else the later one. Across the seam of two packets
 * nobody can tell; if both fit between their neighbours, the later one is moved up to the earlier
 * one.
 *
 * An implausible event costs itself when the stamp behind it is plausible again, else the rest of
 * its packet. It never moves the time of others. Task 0 is the main context, which is never
 * created: zeros read as an event do that.
 */
#include "read/mirage/packets.h"

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
	size_t room, at, filled, latest; /* latest: where the last event began */
	uint64_t where, rest;            /* where: the place of window[0] in the file */

	uint64_t base, last;                        /* stamps of the first and of the last event */
	uint64_t last_of_batch_before, before_last; /* the last stamps of the batch before */
	uint64_t bound;                             /* the packet's stamps aren't behind this */
	bool started;                               /* base and last are known */

	size_t count, decoded; /* of `events`; how many were read from the window */
	size_t notes;
	bool prefetched;
	struct thrum_event events[BATCH];
	char texts[NOTES][160];
};

#define ALL UINT64_MAX
#define PAIR (THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER)
#define NUMBER (THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_VALUE | THRUM_EVENT_HAS_TEXT)

/* clang-format off */
const struct thrum__mirage_op thrum__mirage_ops[THRUM__MIRAGE_OPS] = {
	/* other, value, event, flags, size, text, kind, odd */
	{ALL, 0, THRUM_EVENT_CREATE, PAIR, 26, 0, 255, 0},
	{ALL, 0, THRUM_EVENT_READ, PAIR, 25, 0, 0, 0},
	{ALL, 0, THRUM_EVENT_RESOLVE, PAIR, 25, 0, 0, 0},
	{ALL, 0, THRUM_EVENT_FAIL, PAIR | THRUM_EVENT_HAS_TEXT, 25, 1, 0, 0},
	{ALL, 0, THRUM_EVENT_BECOME, PAIR, 25, 0, 0, 0},
	{0, 0, THRUM_EVENT_LABEL, THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_TEXT, 17, 1, 0, 0},
	{0, ALL, THRUM_EVENT_INCREASE, NUMBER, 25, 1, 0, 0},
	{0, 0, THRUM_EVENT_SWITCH, THRUM_EVENT_HAS_TASK, 17, 0, 0, 0},
	{0, 0, THRUM_EVENT_GC, THRUM_EVENT_HAS_VALUE, 17, 0, 0, 1},
	{ALL, 0, THRUM_EVENT_SIGNAL, PAIR, 25, 0, 0, 1}, /* and switches to it */
	{ALL, 0, THRUM_EVENT_WAIT, PAIR, 25, 0, 0, 0},
	{0, ALL, THRUM_EVENT_COUNTER, NUMBER, 25, 1, 0, 0},
	{ALL, 0, THRUM_EVENT_READ_LATER, PAIR, 25, 0, 0, 0},
	{ALL, 0, THRUM_EVENT_SIGNAL, PAIR, 25, 0, 0, 1}, /* without a switch */
};
/* clang-format on */

/* ---- Notes: what is missing, told among the events ---- */

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
	return r->count < BATCH - SPARE && r->notes < NOTES - SPARE;
}

/* ---- The window ---- */

/* Reads on in the packet. Texts of earlier events are gone then. */
static int fill(struct reader *r, struct thrum_error_info *info)
{
	struct thrum__input *input = &r->trace.input;
	memmove(r->window, r->window + r->at, r->filled - r->at);
	r->where += r->at;
	r->filled -= r->at;
	r->at = 0;
	size_t size = r->room - r->filled;
	if (size > CHUNK)
		size = CHUNK;
	if (size > r->rest)
		size = (size_t)r->rest;
	int64_t got = input->read(input->owner, r->where + r->filled, r->window + r->filled, size);
	if (got < 0)
		return thrum__read_error_set(info, (int)got, r->where + r->filled, "can't be read");
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

/* ---- Events ---- */

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

/* Returns what is behind the text at p, or NULL if it doesn't end. */
static inline const uint8_t *take_text(struct thrum_event *event, const uint8_t *p,
	const uint8_t *end)
{
	const uint8_t *nul = thrum__read_text_end(p, end);
	if (nul >= end)
		return NULL;
	event->text = (const char *)p;
	event->text_size = (uint32_t)(nul - p);
	if (event->type == THRUM_EVENT_LABEL)
		finish_label(event);
	return nul + 1;
}

/*
 * The hot loop: takes events up to the first one about which there is any doubt. Fields are loaded
 * whether or not the event has them: tests that are hard to predict cost more.
 */
static void decode(struct reader *r)
{
	const uint8_t *p = r->window + r->at, *next, *const end = r->window + r->filled;
	struct thrum_event *const begin = r->events + r->count, *event = begin;
	const struct thrum_event *const stop = r->events + BATCH - SPARE;
	const uint64_t base = r->base, bound = r->bound;
	const uint64_t leap = thrum__mirage_leap(r->last, r->last - base);
	for (uint64_t last = r->last; event < stop && end - p >= THRUM__MIRAGE_EVENT_MIN; event++) {
		uint64_t stamp = thrum__mirage_load64(p), second = thrum__mirage_load64(p + 17);
		/* Running back is a leap, too. */
		if (stamp - last > leap || stamp > bound || p[8] >= THRUM__MIRAGE_OPS)
			break;
		const struct thrum__mirage_op *op = &thrum__mirage_ops[p[8]];
		if (second == 0 && op->kind)
			break;
		event->text = "";
		event->text_size = 0;
		event->type = op->type;
		event->flags = op->flags;
		next = p + op->size;
		if (op->text)
			next = take_text(event, next, end);
		if (!next || next > end)
			break;
		event->time = (int64_t)(stamp - base);
		event->clock = last = stamp;
		event->task = thrum__mirage_load64(p + 9);
		event->other = second & op->other;
		event->value = (int64_t)(second & op->value);
		event->kind = op->kind & (p[25] <= THRUM_KIND_SWITCH ? p[25] : THRUM_KIND_UNKNOWN);
		if (op->odd)
			finish_odd(event);
		r->latest = (size_t)(p - r->window);
		p = next;
	}
	size_t taken = (size_t)(event - begin);
	if (taken)
		r->last = event[-1].clock;
	r->count += taken;
	r->decoded += taken;
	r->trace.info.records += taken;
	r->at = (size_t)(p - r->window);
}

/* ---- Doubts ---- */

enum verdict {
	TAKEN,   /* decode() will take it now, or it is skipped */
	STARVED, /* more of the packet must be read first */
	ENDED,   /* the packet has */
};

/* Gives up the rest of the packet. */
static enum verdict drop(struct reader *r, const char *cause)
{
	uint64_t left = r->filled - r->at + r->rest;
	note(r, THRUM_EVENT_DAMAGED, "%s at byte %" PRIu64 ", %" PRIu64 " bytes skipped", cause,
		r->where + r->at, left);
	return ENDED;
}

/* What speaks against an event of this stamp, or NULL. `next` is the stamp behind it, or 0. */
static const char *doubt(const struct reader *r, uint64_t stamp, uint64_t next)
{
	if (stamp > r->bound)
		return r->bound == INT64_MAX ? "impossible time" : "time runs into a later packet";
	if (!r->started) {
		uint64_t after = next ? next : r->bound;
		bool alone = after > stamp && after - stamp > thrum__mirage_leap(stamp, 0);
		return alone && after < INT64_MAX ? "implausible time" : NULL;
	}
	if (stamp < r->last)
		return "time runs back";
	uint64_t leap = thrum__mirage_leap(r->last, r->last - r->base);
	bool agreed = next >= stamp && next - stamp <= leap;
	if (r->bound == INT64_MAX && stamp - r->last > leap && !agreed)
		return "time leaps ahead";
	return NULL;
}

/* Rule 4: takes the last event back if that is the one that is wrong. */
static void take_back(struct reader *r, uint64_t stamp, uint64_t next)
{
	if (!r->decoded || r->events[r->count - 1].type == THRUM_EVENT_DAMAGED)
		return;
	bool first = r->trace.info.records == 1;
	uint64_t before = r->count > 1 ? r->events[r->count - 2].clock : r->last_of_batch_before;
	if (first)
		before = 0;
	bool fits = before <= stamp && stamp < r->last;
	if (!fits || (next && (next < stamp || next >= r->last)))
		return;
	r->count--;
	r->decoded--;
	r->trace.info.records--;
	r->last = before;
	r->started = !first;
	note(r, THRUM_EVENT_DAMAGED, "time leaps ahead at byte %" PRIu64 ", one event skipped",
		r->where + r->latest);
}

static void take(struct reader *r, uint64_t stamp)
{
	r->last = stamp;
	if (r->started)
		return;
	r->started = true;
	r->base = stamp;
	for (size_t i = 0; i < r->count; i++)
		r->events[i].clock = stamp;
}

/*
 * The last event of the packet before and the first of this one are in the wrong order, and both
 * fit between their neighbours. Nobody can tell which is wrong, nor by much: both stay.
 */
static bool is_seam(const struct reader *r, uint64_t stamp, uint64_t next)
{
	bool first = r->where + r->at == r->packet->offset + THRUM__MIRAGE_HEADER;
	return first && r->started && r->packet->witnessed && stamp < r->last &&
		stamp >= r->before_last && next >= r->last;
}

/* Decides about a complete event of `size` bytes; `next` is the stamp behind it, or 0. */
static enum verdict judge_event(struct reader *r, uint8_t *p, size_t size, uint64_t next)
{
	uint64_t stamp = thrum__mirage_load64(p);
	if (r->started)
		take_back(r, stamp, next);
	const char *cause = doubt(r, stamp, next);
	if (cause && is_seam(r, stamp, next)) {
		note(r, THRUM_EVENT_DAMAGED, "%s by %" PRIu64 " ns at byte %" PRIu64, cause,
			r->last - stamp, r->where + r->at);
		memcpy(p, &r->last, sizeof(r->last));
		return TAKEN;
	}
	if (!cause && p[8] == THRUM__MIRAGE_CREATES && thrum__mirage_load64(p + 17) == 0)
		cause = "creation of task 0";
	if (!cause) {
		take(r, stamp);
		return TAKEN;
	}
	if (!next || doubt(r, next, 0))
		return drop(r, cause);
	note(r, THRUM_EVENT_DAMAGED, "%s at byte %" PRIu64 ", one event skipped", cause,
		r->where + r->at);
	r->at += size;
	return TAKEN;
}

/* Decides about whatever decode() stopped at. */
static enum verdict judge(struct reader *r)
{
	uint8_t *p = r->window + r->at;
	size_t left = r->filled - r->at;
	if (left == 0 && r->rest == 0)
		return ENDED;
	if (left >= THRUM__MIRAGE_EVENT_MIN && p[8] >= THRUM__MIRAGE_OPS)
		return drop(r, "unknown type of event");
	size_t size = thrum__mirage_event_size(p, left);
	if (r->rest && (size == 0 || left - size < 8))
		return STARVED;
	/* That the file ends too early is said when the packet is done. */
	if (size == 0)
		return r->packet->missing ? ENDED : drop(r, "unfinished event");
	return judge_event(r, p, size, left - size >= 8 ? thrum__mirage_load64(p + size) : 0);
}

/* ---- Packets ---- */

/* Goes to the next packet; notes what is wrong with it as such. */
static void begin_packet(struct reader *r)
{
	const struct thrum__mirage_packet *packet = &r->packets.all[r->next_packet];
	struct thrum_trace_info *info = &r->trace.info;
	if (r->next_packet++ == 0 && r->packets.by_time)
		note(r, THRUM_EVENT_DAMAGED,
			"packets' counts contradict their times, which are followed");
	if (packet->damage == THRUM__MIRAGE_NO_HEADER) {
		note(r, THRUM_EVENT_DAMAGED,
			"no packet header at byte %" PRIu64 ", %" PRIu64 " bytes skipped",
			packet->offset, packet->size);
		return;
	}
	int64_t step = r->before ? packet->number - r->before->number : 1;
	r->before = packet;
	if (step > 1 && !r->packets.by_time)
		note(r, THRUM_EVENT_LOST, "%" PRId64 " packet%s missing before byte %" PRIu64,
			step - 1, step > 2 ? "s" : "", packet->offset);
	if (packet->damage == THRUM__MIRAGE_BAD_SIZE)
		note(r, THRUM_EVENT_DAMAGED, "wrong packet size at byte %" PRIu64,
			packet->offset + 20);
	if (packet->damage == THRUM__MIRAGE_BAD_CONTENT)
		note(r, THRUM_EVENT_DAMAGED,
			"wrong content size at byte %" PRIu64 ", the packet is skipped",
			packet->offset + 26);
	if (packet->content > THRUM__MIRAGE_HEADER) {
		info->packets++;
		info->content_bytes += packet->content;
	}
	r->packet = packet;
	r->bound = packet->bound;
	r->at = r->filled = 0;
	r->where = packet->offset + THRUM__MIRAGE_HEADER;
	r->rest = packet->content - THRUM__MIRAGE_HEADER;
}

static void end_packet(struct reader *r)
{
	if (r->packet->missing)
		note(r, THRUM_EVENT_DAMAGED,
			"the file ends %" PRIu32 " bytes before its packet of byte %" PRIu64,
			r->packet->missing, r->packet->offset);
	r->packet = NULL;
}

/* Reads the packet at hand until it ends, the batch is full, or its texts would be lost. */
static int read_packet(struct reader *r, struct thrum_error_info *info)
{
	while (has_room(r)) {
		if (r->started)
			decode(r);
		if (!has_room(r))
			break;
		switch (judge(r)) {
		case TAKEN: break;
		case STARVED:
			if (r->decoded)
				return 0;
			int error = fill(r, info);
			if (error)
				return error;
			break;
		case ENDED: end_packet(r); return 0;
		}
	}
	return 0;
}

static int read_batch(struct reader *r, struct thrum_error_info *info)
{
	r->before_last = r->count > 1 ? r->events[r->count - 2].clock : r->last_of_batch_before;
	r->count = r->decoded = r->notes = 0;
	r->last_of_batch_before = r->last;
	while (!r->decoded && has_room(r)) {
		if (r->packet) {
			int error = read_packet(r, info);
			if (error)
				return error;
		} else if (r->next_packet < r->packets.count) {
			begin_packet(r);
		} else {
			break;
		}
	}
	return 0;
}

/* ---- The format ---- */

static bool probe(const uint8_t *head, size_t size)
{
	/* One damaged byte doesn't make it something else; nor does a first packet that is gone. */
	size_t same = 0, zeros = 0;
	if (size < THRUM__MIRAGE_HEADER)
		return false;
	for (size_t i = 0; i < THRUM__MIRAGE_MARK; i++) {
		same += head[i] == thrum__mirage_mark[i];
		zeros += head[i] == 0;
	}
	return same >= THRUM__MIRAGE_MARK - 4 || zeros == THRUM__MIRAGE_MARK;
}

static void close_reader(struct thrum_trace *trace)
{
	struct reader *r = (struct reader *)trace;
	free(r->packets.all);
	free(r->window);
	free(r);
}

static void describe(struct reader *r)
{
	struct thrum_trace_info *info = &r->trace.info;
	const struct thrum__mirage_packet *first = NULL;
	for (size_t i = 0; i < r->packets.count; i++) {
		const struct thrum__mirage_packet *packet = &r->packets.all[i];
		if (packet->content <= THRUM__MIRAGE_HEADER)
			continue;
		if (!first)
			first = packet;
		r->lane.packets++;
		r->lane.first_seq = first->count;
		if (packet->number >= first->number)
			r->lane.last_seq = first->count +
				(uint64_t)(packet->number - first->number);
	}
	bool wall = r->started && r->base / 1000000000 >= WALL_CLOCK_SECONDS;
	info->format = r->trace.format->name;
	info->program = info->host = info->state = "";
	info->clock = wall ? "realtime" : "monotonic";
	info->clock_frequency = 1000000000;
	info->clock_first = r->started ? r->base : 0;
	info->start = wall ? (int64_t)r->base : 0;
	info->file_size = r->trace.input.size(r->trace.input.owner);
	info->packet_size = r->packets.largest;
	info->lanes = 1;
	info->signed_ids = true;
}

static int open_reader(const struct thrum__input *input, struct thrum_trace **trace,
	struct thrum_error_info *info)
{
	struct reader *r = calloc(1, sizeof(*r));
	if (!r)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	r->trace.format = &thrum__mirage_format;
	r->trace.input = *input;
	int error = thrum__mirage_find_packets(input, &r->packets, info);
	if (!error) {
		r->room = r->packets.largest < WINDOW ? (size_t)r->packets.largest : WINDOW;
		r->window = calloc(1, r->room + SLACK);
		if (!r->window)
			error = thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	/* The first events tell when the trace begins. */
	if (!error)
		error = read_batch(r, info);
	if (error) {
		close_reader(&r->trace);
		return error;
	}
	r->prefetched = true;
	describe(r);
	*trace = &r->trace;
	return 0;
}

static int next_events(struct thrum_trace *trace, const struct thrum_event **events, size_t *count,
	struct thrum_error_info *info)
{
	struct reader *r = (struct reader *)trace;
	if (!r->prefetched) {
		int error = read_batch(r, info);
		if (error)
			return error;
	}
	r->prefetched = false;
	if (!r->count)
		return 0;
	*events = r->events;
	*count = r->count;
	return 1;
}

static const struct thrum_trace_lane *lane(const struct thrum_trace *trace, unsigned number)
{
	return number ? NULL : &((const struct reader *)trace)->lane;
}

const struct thrum__read_format thrum__mirage_format = {
	.name = "mirage-profile",
	.probe = probe,
	.open = open_reader,
	.next = next_events,
	.lane = lane,
	.close = close_reader,
};
