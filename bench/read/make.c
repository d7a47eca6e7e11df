/* SPDX-License-Identifier: ISC */
/*
 * Makes the files to read: with the format's own encoder, and by hand in mirage-profile's layout.
 */
#include "read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

#define TICKS 100000000u /* per second */
#define LABEL "some-label"
#define COUNTER "net/bytes"

/* ---- Events --------------------------------------------------------------------------------- */

struct mix {
	uint32_t random;
	uint64_t ticks, next; /* the next task's id */
};

static uint32_t draw(struct mix *mix, uint32_t below)
{
	mix->random = mix->random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)mix->random * below >> 32);
}

static uint64_t some_task(struct mix *mix)
{
	return mix->next - 1 - draw(mix, 50);
}

static struct thrum__record next_record(struct mix *mix)
{
	uint32_t percent = draw(mix, 100);

	mix->ticks += draw(mix, 8);
	if (percent < 20)
		return (struct thrum__record){.type = THRUM__R_SWITCH, .task = some_task(mix)};
	if (percent < 40)
		return (struct thrum__record){.type = THRUM__R_WAIT,
			.task = some_task(mix),
			.other = some_task(mix)};
	if (percent < 60)
		return (struct thrum__record){.type = THRUM__R_RESOLVE, .other = some_task(mix)};
	if (percent < 75)
		return (struct thrum__record){.type = THRUM__R_CREATE,
			.other = mix->next++,
			.kind = THRUM_KIND_PROMISE,
			.text = LABEL};
	if (percent < 90)
		return (struct thrum__record){.type = THRUM__R_READ_OWN, .other = some_task(mix)};
	return (struct thrum__record){.type = THRUM__R_COUNTER,
		.def = 1,
		.value = draw(mix, 100000)};
}

static bool write_file(const char *file, const void *bytes, size_t size)
{
	FILE *to = fopen(file, "wb");

	if (!to)
		return false;
	bool written = fwrite(bytes, 1, size, to) == size;

	return fclose(to) == 0 && written;
}

/* ---- A recording --------------------------------------------------------------------------- */

static struct thrum__header *make_header(unsigned events)
{
	uint64_t size = ((uint64_t)events * 12 + (UINT64_C(16) << 20)) & ~UINT64_C(4095);
	struct thrum__header *h = aligned_alloc(4096, size);

	if (!h)
		return NULL;
	memset(h, 0, size);
	if (thrum__format_lay_out(h, size, 4096) != 0) {
		errno = EINVAL;
		free(h);
		return NULL;
	}
	memcpy(h->uuid, "thrum-bench-read", sizeof h->uuid);
	h->pid = 1;
	h->clock_kind = THRUM__CLOCK_GIVEN;
	h->clock_frequency = TICKS;
	h->start.ticks = TICKS;
	h->start.monotonic = UINT64_C(1000000000);
	h->start.realtime = UINT64_C(1700000000000000000);
	atomic_store(&h->start.ticket, 1);
	atomic_store(&h->state, THRUM__STOPPED);
	struct thrum__definition *cell = (void *)((uint8_t *)h + h->definitions.offset);

	cell[1].number = THRUM_COUNTER_GAUGE;
	strcpy(cell[1].text, COUNTER);
	atomic_store(&cell[1].type, THRUM__DEFINES_COUNTER);
	return h;
}

static struct thrum__packet *begin_packet(struct thrum__header *h, uint32_t index, uint64_t ticks)
{
	struct thrum__packet *p = (void *)((uint8_t *)h + h->packet.offset +
		(uint64_t)index * h->packet_size);

	p->magic = THRUM__PACKET_MAGIC;
	memcpy(p->uuid, h->uuid, sizeof p->uuid);
	p->begin = ticks;
	p->packet_size = h->packet_size * 8;
	p->seq = index;
	p->own = p->running = 1;
	atomic_store(&p->ticket, index + 1);
	atomic_store(&h->packets_used, index + 1);
	return p;
}

bool make_recording(const char *file, unsigned events)
{
	struct thrum__header *h = make_header(events);
	struct mix mix = {1, TICKS, 100};

	if (!h)
		return false;
	struct thrum__packet *p = begin_packet(h, 0, mix.ticks);
	size_t at = sizeof *p;
	uint64_t last = mix.ticks;

	for (unsigned i = 0; i < events; i++) {
		struct thrum__record record = next_record(&mix);

		if (h->packet_size - at < 64) {
			atomic_store(&p->content_size, (uint32_t)at * 8);
			p = begin_packet(h, (uint32_t)p->seq + 1, mix.ticks);
			at = sizeof *p;
		}
		at += thrum__format_encode_header((uint8_t *)p + at, record.type, mix.ticks, last);
		at += thrum__format_encode_fields((uint8_t *)p + at, &record, 0, false);
		last = mix.ticks;
	}
	atomic_store(&p->content_size, (uint32_t)at * 8);
	bool written = write_file(file, h,
		h->packet.offset + (uint64_t)h->packets_used * h->packet_size);

	free(h);
	return written;
}

/* ---- mirage-profile's layout --------------------------------------------------------------- */

enum {
	MIRAGE_PACKET = 1 << 16,
	MIRAGE_HEADER = 30,
	EVENT_MAX = 64,
	CREATES = 0,
	READ = 1,
	FULFILLS = 2,
	LABELS = 5,
	SWITCH = 7,
	TRY_READ = 10,
	COUNTS = 11,
};

static const char metadata_text[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
	"typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	uuid = \"05883b8d-521a-487b-b397-456ab150680c\";\n"
	"	packet.header := struct { u32 magic; u8 uuid[16]; }; };\n"
	"clock { name = c; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; map = clock.c.value; } := clock_t;\n"
	"stream { packet.context := struct { u32 packet_size; u16 count; u32 content_size; };\n"
	"	event.header := struct { clock_t timestamp; u8 id; } align(8); };\n"
	"event { id = 0; name = creates; fields := struct { i64 a; i64 b; u8 type; }; };\n"
	"event { id = 1; name = read; fields := struct { i64 a; i64 b; }; };\n"
	"event { id = 2; name = fulfills; fields := struct { i64 a; i64 b; }; };\n"
	"event { id = 5; name = label; fields := struct { i64 a; string text; }; };\n"
	"event { id = 7; name = switch; fields := struct { i64 a; }; };\n"
	"event { id = 10; name = try_read; fields := struct { i64 a; i64 b; }; };\n"
	"event { id = 11; name = counter; fields := struct { i64 a; i64 value; string text; }; };\n";

struct mirage {
	uint8_t *bytes, *packet;
	size_t at; /* in the packet */
	uint16_t count;
};

static void put(struct mirage *m, uint64_t value, size_t size)
{
	memcpy(m->packet + m->at, &value, size);
	m->at += size;
}

static void put_text(struct mirage *m, const char *text)
{
	memcpy(m->packet + m->at, text, strlen(text) + 1);
	m->at += strlen(text) + 1;
}

static void end_packet(struct mirage *m)
{
	uint32_t bits = (uint32_t)m->at * 8;

	memcpy(m->packet + MIRAGE_HEADER - 4, &bits, sizeof bits);
}

static void start_packet(struct mirage *m, uint8_t *packet)
{
	static const uint8_t uuid[] = {0x05, 0x88, 0x3b, 0x8d, 0x52, 0x1a, 0x48, 0x7b, 0xb3, 0x97,
		0x45, 0x6a, 0xb1, 0x50, 0x68, 0x0c};

	m->packet = packet;
	m->at = 0;
	put(m, 0xc1fc1fc1u, 4);
	memcpy(m->packet + m->at, uuid, sizeof uuid);
	m->at += sizeof uuid;
	put(m, MIRAGE_PACKET * 8, 4);
	put(m, m->count++, 2);
	m->at = MIRAGE_HEADER;
}

static void put_event(struct mirage *m, const struct thrum__record *record, const struct mix *mix)
{
	uint64_t running = 1;
	int op = record->type == THRUM__R_SWITCH    ? SWITCH
		: record->type == THRUM__R_WAIT     ? TRY_READ
		: record->type == THRUM__R_RESOLVE  ? FULFILLS
		: record->type == THRUM__R_CREATE   ? CREATES
		: record->type == THRUM__R_READ_OWN ? READ
						    : COUNTS;

	put(m, mix->ticks * 10, 8);
	put(m, (uint64_t)op, 1);
	put(m, record->task ? record->task : running, 8);
	if (op == COUNTS) {
		put(m, (uint64_t)record->value, 8);
		put_text(m, COUNTER);
	} else if (op != SWITCH) {
		put(m, record->other, 8);
	}
	if (op == CREATES)
		put(m, record->kind, 1);
}

static void put_label(struct mirage *m, uint64_t task, const struct mix *mix)
{
	put(m, mix->ticks * 10, 8);
	put(m, LABELS, 1);
	put(m, task, 8);
	put_text(m, LABEL);
}

bool make_mirage(const char *file, const char *metadata, unsigned events)
{
	/* No event is longer than 40 bytes. */
	size_t room = ((size_t)events * 40 / (MIRAGE_PACKET - EVENT_MAX) + 2) * MIRAGE_PACKET;
	struct mirage m = {.bytes = calloc(room, 1)};
	struct mix mix = {1, TICKS, 100};

	if (!m.bytes)
		return false;
	start_packet(&m, m.bytes);
	for (unsigned i = 0; i < events; i++) {
		struct thrum__record record = next_record(&mix);

		if (m.at > MIRAGE_PACKET - 2 * EVENT_MAX) {
			end_packet(&m);
			start_packet(&m, m.packet + MIRAGE_PACKET);
		}
		put_event(&m, &record, &mix);
		if (record.type == THRUM__R_CREATE && ++i < events)
			put_label(&m, record.other, &mix);
	}
	end_packet(&m);
	size_t size = (size_t)(m.packet - m.bytes) + MIRAGE_PACKET;
	bool written = write_file(file, m.bytes, size) &&
		write_file(metadata, metadata_text, sizeof metadata_text - 1);

	free(m.bytes);
	return written;
}
