/* SPDX-License-Identifier: ISC */
/*
 * Decodes the traces of mirage-profile: packets of events, each event a u64 timestamp in ns, a u8
 * op, and fields. packets.c finds the packets and puts them in order.
 *
 * The file doesn't tell whether an event was written completely. The recorder announces an event
 * before it writes it. A recorder that was killed leaves behind a good header either zeros or the
 * bytes of the ring's previous round. But a timestamp is plausible or not:
 *
 * Rule 1: an event is not earlier than the event before it.
 *
 * Rule 2: an event is not later than the second event of a later packet, where that packet's first
 * and third events agree with the second. So no single wrong timestamp can hide the packets before
 * it.
 *
 * Rule 3: where no such packet follows, an event lies at most a leap after the event before it,
 * unless the event behind it agrees with it. A leap is the longest of: an hour; 8 times the trace
 * so far; 127 times the timestamp of the event before it, but at most 30 days. Bytes from elsewhere
 * that are taken for a timestamp are off by a factor of 256 or more. The first event of the trace
 * is judged in the same way, by the event behind it.
 *
 * Rule 4: when time runs back, one of two events is wrong. It is the earlier event of the two in
 * the file if the later one and the event behind that fit in its place; otherwise it is the later
 * one. When the two lie on both sides of a border of two packets (a seam), nobody can tell. If both
 * then fit between their neighbours, the later event gets the time of the earlier one.
 *
 * An implausible event costs only itself when the timestamp behind it is plausible, otherwise the
 * rest of its packet. It never moves the time of other events. Task 0 is the main context, which no
 * event creates: an event that creates it was read from zeros, and is damage.
 */
#include "read/mirage/guess.h"
#include "read/mirage/packets.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	BATCH = 256,      /* events given at once */
	NOTES = 16,       /* lost and damaged events of one batch */
	SPARE = 4,        /* room for the notes that one step may need */
	CHUNK = 1 << 17,  /* bytes read at once: they stay in the processor's cache */
	WINDOW = 1 << 20, /* bytes; a text can't be longer */
	SLACK = 32,       /* readable bytes behind the window */
	/* A timestamp is taken for wall time from this one on: September 2001. */
	WALL_CLOCK_SECONDS = 1000000000,
};

struct reader {
	struct thrum_trace trace; /* first: the public handle */
	struct thrum_trace_lane lane;
	struct thrum__mirage_packets packets;
	size_t next_packet;
	const struct thrum__mirage_packet *packet; /* the one that is being read, or NULL */
	const struct thrum__mirage_packet *before; /* the last one begun that had a header */

	/* window[at..filled) are the next bytes of the packet's content; `rest` more bytes are
	 * still in the file. window[0] lies at byte `where` of the file, the last event at
	 * window[latest]. */
	uint8_t *window;
	size_t room, at, filled, latest;
	uint64_t where, rest;

	uint64_t base, last; /* timestamps of the first and of the last event */
	/* The last timestamp of the batch before, and the last but one. */
	uint64_t last_of_batch_before, before_last;
	uint64_t bound; /* no timestamp of the packet is later */
	bool started;   /* base and last are known */

	size_t count;    /* of `events` */
	size_t decoded;  /* events among them that come from the window: the others are notes */
	size_t notes;    /* of `texts` */
	bool prefetched; /* `events` holds a batch that was not given yet */
	struct thrum__mirage_guesses guesses;
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

/* ---- Notes: events that tell of damage and losses ------------------------------------------- */

/* Appends an event of this type at the time of the last one. There must be room. */
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

/* Appends a lost or damaged event with a text, and counts it. There must be room (has_room). */
__attribute__((format(printf, 3, 4))) static void add_note(struct reader *r, int type,
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

/* Tells whether the batch has room for one more step. */
static bool has_room(const struct reader *r)
{
	return r->count < BATCH - SPARE && r->notes < NOTES - SPARE;
}

/* ---- The window --------------------------------------------------------------------------- */

/*
 * Reads more of the packet's content to the window. Texts of earlier events are overwritten.
 * Returns 0 or a negative enum thrum_error.
 */
static int fill_window(struct reader *r, struct thrum_error_info *info)
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
		add_note(r, THRUM_EVENT_DAMAGED, "the file has become shorter than byte %" PRIu64,
			r->where + r->filled + r->rest);
		r->rest = 0;
	} else if (size == 0) {
		/* One text fills the window: it is too long to be read. */
		r->rest = 0;
	}
	return 0;
}

/* ---- Events -------------------------------------------------------------------------------- */

/*
 * Puts the numbers of a signal or a garbage collection into the right members. A signal names the
 * condition first and then the task that signals it; a garbage collection has only a duration.
 */
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

/* mirage-profile records by a special label that a task should resolve. */
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

/*
 * Sets the event's text to the one at p. Returns the byte behind its NUL, or NULL if it doesn't
 * end.
 */
static const uint8_t *take_text(struct thrum_event *event, const uint8_t *p, const uint8_t *end)
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
 * Decodes events up to the first one about which there is any doubt. This is the hot loop: it loads
 * fields whether or not the event has them, because branches that are hard to predict cost more. So
 * it guesses where texts end.
 */
static void decode_events(struct reader *r)
{
	const uint8_t *p = r->window + r->at, *const end = r->window + r->filled;
	const uint8_t *latest = r->window + r->latest, *next;
	struct thrum_event *const begin = r->events + r->count, *event = begin;
	const struct thrum_event *const stop = r->events + BATCH - SPARE;
	const uint64_t base = r->base, leap = thrum__mirage_leap(r->last, r->last - base);
	const uint64_t bound = r->last + leap < r->bound ? r->last + leap : r->bound;
	for (uint64_t last = r->last; event < stop && end - p >= THRUM__MIRAGE_EVENT_MIN; event++) {
		uint64_t stamp = thrum__mirage_load64(p), second = thrum__mirage_load64(p + 17);
		if (stamp < last || stamp > bound || p[8] >= THRUM__MIRAGE_OPS)
			break;
		const struct thrum__mirage_op *op = &thrum__mirage_ops[p[8]];
		if (second == 0 && op->kind)
			break;
		const struct thrum__mirage_guess *guess = &r->guesses.of[p[8]];
		const uint8_t *text = p + op->size;
		event->text = op->text ? (const char *)text : "";
		event->text_size = guess->text_size;
		event->type = op->type;
		event->flags = op->flags;
		next = p + r->guesses.sizes[p[8]];
		if (!thrum__mirage_guess_is_right(guess, text)) {
			next = take_text(event, text, end);
			if (!next)
				break;
			thrum__mirage_guess_set(&r->guesses, p[8], (size_t)(next - text) - 1);
		}
		if (next > end)
			break;
		event->time = (int64_t)(stamp - base);
		event->clock = last = stamp;
		event->task = thrum__mirage_load64(p + 9);
		event->other = second & op->other;
		event->value = (int64_t)(second & op->value);
		event->kind = op->kind & (p[25] <= THRUM_KIND_SWITCH ? p[25] : THRUM_KIND_UNKNOWN);
		if (op->odd)
			finish_odd(event);
		latest = p;
		p = next;
	}
	size_t taken = (size_t)(event - begin);
	r->latest = (size_t)(latest - r->window);
	if (taken)
		r->last = event[-1].clock;
	r->count += taken;
	r->decoded += taken;
	r->trace.info.records += taken;
	r->at = (size_t)(p - r->window);
}

/* ---- Doubts -------------------------------------------------------------------------------- */

enum verdict {
	TAKEN,   /* go on: decode_events() will take the event, or it was skipped */
	STARVED, /* more of the packet must be read first */
	ENDED,   /* nothing more can be read from the packet */
};

/* Skips the rest of the packet, and notes why. */
static enum verdict skip_rest(struct reader *r, const char *cause)
{
	uint64_t left = r->filled - r->at + r->rest;
	add_note(r, THRUM_EVENT_DAMAGED, "%s at byte %" PRIu64 ", %" PRIu64 " bytes skipped", cause,
		r->where + r->at, left);
	return ENDED;
}

/*
 * Returns the cause for which an event of this timestamp is implausible, or NULL. `next` is the
 * timestamp of the event behind it, or 0 when that is unknown.
 */
static const char *find_doubt(const struct reader *r, uint64_t stamp, uint64_t next)
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

/* Rule 4: removes the last event from the batch if that one is wrong, not the one of `stamp`. */
static void take_back_event(struct reader *r, uint64_t stamp, uint64_t next)
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
	add_note(r, THRUM_EVENT_DAMAGED, "time leaps ahead at byte %" PRIu64 ", one event skipped",
		r->where + r->latest);
}

/* Accepts an event of this timestamp. The first one also dates the notes before it. */
static void accept_time(struct reader *r, uint64_t stamp)
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
 * Tells whether an event lies on a seam, as rule 4 says: the last event of the packet before and
 * the first of this one are in the wrong order, and both fit between their neighbours. Nobody can
 * tell which one is wrong, and neither is wrong by much. So both stay.
 */
static bool is_seam(const struct reader *r, uint64_t stamp, uint64_t next)
{
	bool first = r->where + r->at == r->packet->offset + THRUM__MIRAGE_HEADER;
	return first && r->started && r->packet->witnessed && stamp < r->last &&
		stamp >= r->before_last && next >= r->last;
}

/* Takes or skips a complete event of `size` bytes. `next` is the timestamp behind it, or 0. */
static enum verdict judge_event(struct reader *r, uint8_t *p, size_t size, uint64_t next)
{
	uint64_t stamp = thrum__mirage_load64(p);
	if (r->started)
		take_back_event(r, stamp, next);
	const char *cause = find_doubt(r, stamp, next);
	if (cause && is_seam(r, stamp, next)) {
		add_note(r, THRUM_EVENT_DAMAGED, "%s by %" PRIu64 " ns at byte %" PRIu64, cause,
			r->last - stamp, r->where + r->at);
		memcpy(p, &r->last, sizeof(r->last));
		return TAKEN;
	}
	if (!cause && p[8] == THRUM__MIRAGE_CREATES && thrum__mirage_load64(p + 17) == 0)
		cause = "creation of task 0";
	if (!cause) {
		accept_time(r, stamp);
		return TAKEN;
	}
	if (!next || find_doubt(r, next, 0))
		return skip_rest(r, cause);
	add_note(r, THRUM_EVENT_DAMAGED, "%s at byte %" PRIu64 ", one event skipped", cause,
		r->where + r->at);
	r->at += size;
	return TAKEN;
}

/* Decides whether to take or to skip the bytes at which decode_events() stopped. */
static enum verdict judge_next(struct reader *r)
{
	uint8_t *p = r->window + r->at;
	size_t left = r->filled - r->at;
	if (left == 0 && r->rest == 0)
		return ENDED;
	if (left >= THRUM__MIRAGE_EVENT_MIN && p[8] >= THRUM__MIRAGE_OPS)
		return skip_rest(r, "unknown type of event");
	size_t size = thrum__mirage_event_size(p, left);
	if (r->rest && (size == 0 || left - size < 8))
		return STARVED;
	/* end_packet() tells that the file ends too early. */
	if (size == 0)
		return r->packet->missing ? ENDED : skip_rest(r, "unfinished event");
	return judge_event(r, p, size, left - size >= 8 ? thrum__mirage_load64(p + size) : 0);
}

/* ---- Packets ------------------------------------------------------------------------------- */

/*
 * Goes to the next packet, and notes damage of its header and packets that are missing before it.
 */
static void begin_packet(struct reader *r)
{
	const struct thrum__mirage_packet *packet = &r->packets.all[r->next_packet];
	struct thrum_trace_info *info = &r->trace.info;
	if (r->next_packet++ == 0 && r->packets.by_time)
		add_note(r, THRUM_EVENT_DAMAGED,
			"packets' counts contradict their times: the times give the order");
	if (packet->damage == THRUM__MIRAGE_NO_HEADER) {
		add_note(r, THRUM_EVENT_DAMAGED,
			"no packet header at byte %" PRIu64 ", %" PRIu64 " bytes skipped",
			packet->offset, packet->size);
		return;
	}
	int64_t step = r->before ? packet->number - r->before->number : 1;
	r->before = packet;
	if (step > 1 && !r->packets.by_time)
		add_note(r, THRUM_EVENT_LOST, "%" PRId64 " packet%s missing before byte %" PRIu64,
			step - 1, step > 2 ? "s" : "", packet->offset);
	if (packet->damage == THRUM__MIRAGE_BAD_SIZE)
		add_note(r, THRUM_EVENT_DAMAGED, "wrong packet size at byte %" PRIu64,
			packet->offset + 20);
	if (packet->damage == THRUM__MIRAGE_BAD_CONTENT)
		add_note(r, THRUM_EVENT_DAMAGED,
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

/* Leaves the packet, and notes if the file ends in it. */
static void end_packet(struct reader *r)
{
	if (r->packet->missing)
		add_note(r, THRUM_EVENT_DAMAGED,
			"the file ends %" PRIu32
			" bytes before the end of the packet at byte %" PRIu64,
			r->packet->missing, r->packet->offset);
	r->packet = NULL;
}

/*
 * Reads from the packet until it ends, the batch is full, or reading on would overwrite the texts
 * of the batch. Returns 0 or a negative enum thrum_error.
 */
static int read_packet(struct reader *r, struct thrum_error_info *info)
{
	while (has_room(r)) {
		if (r->started)
			decode_events(r);
		if (!has_room(r))
			break;
		switch (judge_next(r)) {
		case TAKEN: break;
		case STARVED:
			if (r->decoded)
				return 0;
			int error = fill_window(r, info);
			if (error)
				return error;
			break;
		case ENDED: end_packet(r); return 0;
		}
	}
	return 0;
}

/* Fills an empty batch. At the end of the trace it stays empty. Returns as read_packet does. */
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

/* ---- The format ---------------------------------------------------------------------------- */

static bool probe(const uint8_t *head, size_t size)
{
	/* A few damaged bytes don't make it another format; nor does a first packet of zeros. */
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

/* Fills in the trace's info and its lane. */
static void set_info(struct reader *r)
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
	info->program = info->host = info->state = r->lane.process = "";
	info->ending_code = -1;
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
	for (unsigned op = 0; op < THRUM__MIRAGE_OPS; op++)
		thrum__mirage_guess_set(&r->guesses, op, 0);
	int error = thrum__mirage_find_packets(input, &r->packets, info);
	if (!error) {
		r->room = r->packets.largest < WINDOW ? (size_t)r->packets.largest : WINDOW;
		r->window = calloc(1, r->room + SLACK);
		if (!r->window)
			error = thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	/* The first batch tells when the trace begins. */
	if (!error)
		error = read_batch(r, info);
	if (error) {
		close_reader(&r->trace);
		return error;
	}
	r->prefetched = true;
	set_info(r);
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

static const struct thrum_trace_lane *get_lane(const struct thrum_trace *trace, unsigned number)
{
	return number ? NULL : &((const struct reader *)trace)->lane;
}

const struct thrum__read_format thrum__mirage_format = {
	.name = "mirage-profile",
	.probe = probe,
	.open = open_reader,
	.next = next_events,
	.lane = get_lane,
	.close = close_reader,
};
