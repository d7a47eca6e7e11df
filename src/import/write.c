/* SPDX-License-Identifier: ISC */
/*
 * Writes a recording. Each lane fills a packet of its own in memory, which goes behind the others when
 * it is full. The tables and the header come last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/clock.h"
#include "import/parts.h"

#define FREQUENCY UINT64_C(1000000000) /* a tick is a ns */
#define EARLY 1000000000               /* ticks of the first event at least: 0 would be unknown */
#define LATE (INT64_C(1) << 57)        /* and at most: a machine doesn't run for years */

struct lane {
	uint8_t *bytes; /* its packet; NULL: none so far */
	size_t at;      /* bytes of it */
	uint64_t last, seq, own, running;
	uint32_t tid;
	uint16_t suspended, open, spans[THRUM__SPANS_MAX];
};

struct thrum__import_writer {
	const struct thrum__output *output;
	struct thrum__header header;
	struct lane *lanes;
	uint32_t lane_count;
	int64_t shift; /* ticks less ns */
	struct thrum__base_keys names;
	struct thrum__definition *definitions;
	int error;
};

/* ---- Beginning ------------------------------------------------------------------------------ */

/* The same file gives the same number each time. */
static void number_recording(struct thrum__header *h, const struct thrum__import_plan *plan)
{
	for (uint32_t i = 0; i < sizeof h->uuid; i++) {
		uint32_t hash = thrum__base_hash_byte(THRUM__HASH_START, (uint8_t)i);

		for (const char *name = plan->program; *name; name++)
			hash = thrum__base_hash_byte(hash, (uint8_t)*name);
		for (unsigned shift = 0; shift < 64; shift += 8) {
			hash = thrum__base_hash_byte(hash, (uint8_t)(plan->first >> shift));
			hash = thrum__base_hash_byte(hash, (uint8_t)(plan->last >> shift));
			hash = thrum__base_hash_byte(hash, (uint8_t)(plan->bytes >> shift));
		}
		h->uuid[i] = (uint8_t)(hash ^ hash >> 16);
	}
	h->uuid[6] = (h->uuid[6] & 0x0f) | 0x80; /* RFC 9562, version 8 */
	h->uuid[8] = (h->uuid[8] & 0x3f) | 0x80;
}

static void read_clock(struct thrum__reading *reading, const struct thrum__import_writer *w,
	const struct thrum__import_plan *plan, int64_t time)
{
	reading->ticks = reading->monotonic = (uint64_t)(time + w->shift);
	if (plan->realtime != INT64_MIN)
		reading->realtime = (uint64_t)(time + plan->realtime);
	atomic_store(&reading->ticket, 1);
}

static int lay_out(struct thrum__import_writer *w, const struct thrum__import_plan *plan)
{
	struct thrum__header *h = &w->header;
	uint64_t size = plan->bytes + (UINT64_C(1) << 20);
	int error = thrum__format_lay_out(h, size < THRUM__SIZE_MAX ? size : THRUM__SIZE_MAX, 4096);

	if (error)
		return error;
	thrum__format_copy_text(h->program, plan->program, sizeof h->program - 1);
	thrum__format_copy_text(h->host, plan->host, sizeof h->host - 1);
	h->pid = plan->pid;
	h->clock_kind = THRUM__CLOCK_MONOTONIC;
	h->clock_frequency = FREQUENCY;
	h->boot = plan->boot;
	w->shift = plan->first < EARLY || plan->first > LATE ? EARLY - plan->first : 0;
	read_clock(&h->start, w, plan, plan->first);
	read_clock(&h->latest[0], w, plan, plan->last);
	number_recording(h, plan);
	atomic_store(&h->ended, h->latest[0].ticks);
	atomic_store(&h->ending, THRUM__ENDED_STOPPED);
	atomic_store(&h->state, THRUM__STOPPED);
	return 0;
}

int thrum__import_writer_create(struct thrum__import_writer **writer,
	const struct thrum__output *output, const struct thrum__import_plan *plan)
{
	struct thrum__import_writer *w = calloc(1, sizeof *w);
	int error = w ? 0 : -THRUM_E_MEMORY;

	if (w) {
		w->output = output;
		error = lay_out(w, plan);
	}
	if (error == 0) {
		w->lane_count = plan->lanes;
		w->lanes = calloc(w->lane_count, sizeof *w->lanes);
		w->definitions = calloc(1, w->header.definitions.size);
		error = w->lanes && w->definitions ? 0 : -THRUM_E_MEMORY;
	}
	if (error == 0)
		*writer = w;
	else
		thrum__import_writer_destroy(w);
	return error;
}

void thrum__import_writer_destroy(struct thrum__import_writer *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; w->lanes && i < w->lane_count; i++)
		free(w->lanes[i].bytes);
	free(w->lanes);
	free(w->definitions);
	thrum__base_keys_free(&w->names);
	free(w);
}

/* ---- Packets -------------------------------------------------------------------------------- */

static void write_at(struct thrum__import_writer *w, uint64_t offset, const void *from, size_t size)
{
	if (w->error == 0)
		w->error = w->output->write(w->output->owner, offset, from, size);
}

static void end_packet(struct thrum__import_writer *w, struct lane *lane)
{
	struct thrum__header *h = &w->header;
	struct thrum__packet *packet = (struct thrum__packet *)lane->bytes;
	uint32_t slot = atomic_load(&h->packets_used);

	if (!packet || lane->at == 0)
		return;
	atomic_store(&packet->content_size, (uint32_t)lane->at * 8);
	atomic_store(&packet->ticket, slot + 1);
	memset(lane->bytes + lane->at, 0, h->packet_size - lane->at);
	write_at(w, h->packet.offset + (uint64_t)slot * h->packet_size, packet, h->packet_size);
	atomic_store(&h->packets_used, slot + 1);
	lane->at = 0;
}

static bool begin_packet(struct thrum__import_writer *w, uint32_t number, uint64_t ticks)
{
	struct lane *lane = &w->lanes[number];
	struct thrum__packet *packet;

	if (!lane->bytes)
		lane->bytes = malloc(w->header.packet_size);
	packet = (struct thrum__packet *)lane->bytes;
	if (!packet) {
		w->error = -THRUM_E_MEMORY;
		return false;
	}
	memset(packet, 0, sizeof *packet);
	packet->magic = THRUM__PACKET_MAGIC;
	memcpy(packet->uuid, w->header.uuid, sizeof packet->uuid);
	packet->lane = number;
	packet->begin = ticks;
	packet->packet_size = w->header.packet_size * 8;
	packet->seq = lane->seq++;
	packet->tid = lane->tid;
	packet->own = lane->own;
	packet->running = lane->running;
	packet->suspended = lane->suspended;
	packet->open = lane->open;
	memcpy(packet->spans, lane->spans, sizeof packet->spans);
	lane->at = sizeof *packet;
	lane->last = ticks;
	return true;
}

/* ---- Records -------------------------------------------------------------------------------- */

/* Keeps what the beginning of the next packet has to say. */
static void follow(struct lane *lane, const struct thrum__record *record)
{
	switch (record->type) {
	case THRUM__R_LANE: lane->own = lane->running = record->other; break;
	case THRUM__R_SWITCH: lane->running = record->task; break;
	case THRUM__R_SPAN_BEGIN:
		if (lane->open < THRUM__SPANS_MAX)
			lane->spans[lane->open] = record->def;
		lane->open += lane->open < UINT16_MAX;
		break;
	case THRUM__R_SUSPEND: lane->suspended = record->def ? record->def : UINT16_MAX; break;
	case THRUM__R_RESUME: lane->suspended = 0; break;
	case THRUM__R_SPAN_END: lane->open -= lane->open > 0; break;
	default: break;
	}
}

static size_t encode(uint8_t *to, const struct thrum__record *record, uint64_t ticks, uint64_t last)
{
	bool wide = thrum__format_record_is_wide(record, 0);
	size_t size = thrum__format_encode_header(to,
		(unsigned)record->type + (wide ? THRUM__WIDE : 0), ticks, last);

	return size + thrum__format_encode_fields(to + size, record, 0, wide);
}

void thrum__import_writer_put(struct thrum__import_writer *w, uint32_t number, int64_t time,
	const struct thrum__record *record)
{
	uint8_t bytes[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX];
	struct lane *lane = &w->lanes[number];
	uint64_t ticks = (uint64_t)(time + w->shift);
	size_t size = 0;

	ticks = ticks < lane->last ? lane->last : ticks;
	if (lane->at > 0)
		size = encode(bytes, record, ticks, lane->last);
	if (lane->at == 0 || size > w->header.packet_size - lane->at) {
		end_packet(w, lane);
		if (w->error || !begin_packet(w, number, ticks))
			return;
		size = encode(bytes, record, ticks, ticks);
	}
	memcpy(lane->bytes + lane->at, bytes, size);
	lane->at += size;
	lane->last = ticks;
	follow(lane, record);
}

void thrum__import_writer_lane(struct thrum__import_writer *w, uint32_t lane, int64_t time,
	uint64_t own, uint32_t tid, const char *name)
{
	w->lanes[lane].tid = tid;
	w->lanes[lane].own = w->lanes[lane].running = own;
	thrum__import_writer_put(w, lane, time,
		&(struct thrum__record){.type = THRUM__R_LANE,
			.other = own,
			.tid = tid,
			.text = name});
}

/* The number of a name's definition; 0: the table has no room. */
static uint16_t define(struct thrum__import_writer *w, enum thrum__definition_type type,
	const char *name)
{
	uint64_t room = w->header.definitions.size / sizeof *w->definitions;
	size_t size = strlen(name);
	uint32_t index = thrum__base_keys_find(&w->names, type, name, size);
	struct thrum__definition *cell;

	if (index != UINT32_MAX)
		return (uint16_t)(index + 1);
	if (w->names.count + UINT64_C(1) >= room || size >= sizeof cell->text)
		return 0;
	if (thrum__base_keys_add(&w->names, type, name, size, &index)) {
		w->error = -THRUM_E_MEMORY;
		return 0;
	}
	cell = &w->definitions[index + 1];
	memcpy(cell->text, name, size);
	atomic_store(&cell->type, type);
	return (uint16_t)(index + 1);
}

void thrum__import_writer_named(struct thrum__import_writer *w, uint32_t lane, int64_t time,
	struct thrum__record *record, enum thrum__definition_type type, const char *name)
{
	record->def = define(w, type, name);
	if (record->def == 0)
		thrum__import_writer_put(w, lane, time,
			&(struct thrum__record){.type = THRUM__R_NAME, .text = name});
	thrum__import_writer_put(w, lane, time, record);
}

/* ---- The end -------------------------------------------------------------------------------- */

static void write_metadata(struct thrum__import_writer *w)
{
	struct thrum__header *h = &w->header;
	struct thrum__metadata metadata = {.uuid = h->uuid, .program = h->program, .host = h->host};
	char *text = calloc(1, h->metadata.size);

	if (!text) {
		w->error = -THRUM_E_MEMORY;
		return;
	}
	thrum__format_set_clock(&metadata, h);
	thrum__format_write_metadata(text, h->metadata.size, &metadata);
	write_at(w, h->metadata.offset, text, h->metadata.size);
	free(text);
}

int thrum__import_writer_end(struct thrum__import_writer *w)
{
	struct thrum__header *h = &w->header;

	for (uint32_t i = 0; i < w->lane_count; i++)
		end_packet(w, &w->lanes[i]);
	h->packets = atomic_load(&h->packets_used);
	h->packet.size = (uint64_t)h->packets * h->packet_size;
	h->size = h->packet.offset + h->packet.size;
	write_at(w, h->definitions.offset, w->definitions, h->definitions.size);
	write_metadata(w);
	write_at(w, 0, h, sizeof *h);
	return w->error;
}
