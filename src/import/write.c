/* SPDX-License-Identifier: ISC */
/*
 * Writes a recording. Each lane fills a packet of its own in memory, which goes behind the others when
 * it is full. The tables and the header come last.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "format/clock.h"
#include "format/packet.h"
#include "import/parts.h"

#define FREQUENCY UINT64_C(1000000000) /* a tick is a ns */
#define EARLY 1000000000               /* ticks of the first event, if its time can't be that */
#define LATE (INT64_C(1) << 57)        /* a machine doesn't run for years; and 0 would be unknown */

struct thrum__import_writer {
	const struct thrum__output *output;
	struct thrum__header header;
	struct thrum__format_fill *lanes;
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
	w->shift = plan->first < 1 || plan->first > LATE ? EARLY - plan->first : 0;
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

static void end_packet(struct thrum__import_writer *w, struct thrum__format_fill *lane)
{
	struct thrum__header *h = &w->header;
	uint32_t slot = atomic_load(&h->packets_used);

	if (lane->at == 0)
		return;
	thrum__format_fill_end(lane, h, slot + 1);
	write_at(w, h->packet.offset + (uint64_t)slot * h->packet_size, lane->bytes,
		h->packet_size);
	atomic_store(&h->packets_used, slot + 1);
}

void thrum__import_writer_put(struct thrum__import_writer *w, uint32_t number, int64_t time,
	const struct thrum__record *record)
{
	struct thrum__format_fill *lane = &w->lanes[number];
	uint64_t ticks = (uint64_t)(time + w->shift);

	lane->lane = number;
	if (!lane->bytes)
		lane->bytes = malloc(w->header.packet_size);
	if (!lane->bytes) {
		w->error = -THRUM_E_MEMORY;
		return;
	}
	if (thrum__format_fill_put(lane, &w->header, ticks, record))
		return;
	end_packet(w, lane);
	if (w->error == 0)
		(void)thrum__format_fill_put(lane, &w->header, ticks, record);
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
