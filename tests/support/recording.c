/* SPDX-License-Identifier: ISC */
/* Makes recordings by hand. */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_TICKS 1000000u
#define FREQUENCY 100000000u

void recording_init(struct recording *recording, uint64_t size)
{
	struct thrum__header *header = aligned_alloc(4096, size);
	if (!header)
		abort();
	memset(header, 0, size);
	if (thrum__format_lay_out(header, size, 4096) != 0)
		abort();
	memcpy(header->uuid, "0123456789abcdef", sizeof header->uuid);
	strcpy(header->program, "made by hand");
	strcpy(header->host, "test");
	header->pid = 1;
	header->clock_kind = THRUM__CLOCK_TSC;
	header->clock_frequency = FREQUENCY;
	header->start.ticks = START_TICKS;
	header->start.monotonic = UINT64_C(5000000000);
	header->start.realtime = UINT64_C(1700000000123456789);
	atomic_init(&header->start.ticket, 1);
	atomic_init(&header->state, THRUM__STOPPED);
	*recording = (struct recording){(uint8_t *)header, header, 0};
}

void recording_finish(struct recording *recording)
{
	free(recording->bytes);
}

static int64_t read_memory(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct recording *recording = owner;
	uint64_t whole = recording->header->size;
	if (offset >= whole)
		return 0;
	if (size > whole - offset)
		size = (size_t)(whole - offset);
	memcpy(to, recording->bytes + offset, size);
	return (int64_t)size;
}

static uint64_t memory_size(void *owner)
{
	return ((const struct recording *)owner)->header->size;
}

struct thrum__input recording_input(struct recording *recording)
{
	return (struct thrum__input){recording, read_memory, memory_size};
}

bool recording_save(const struct recording *recording, const char *file)
{
	FILE *to = fopen(file, "wb");
	if (!to)
		return false;
	size_t size = recording->header->size;
	bool written = fwrite(recording->bytes, 1, size, to) == size;
	return fclose(to) == 0 && written;
}

void remove_folder(const char *folder)
{
	char command[256];

	snprintf(command, sizeof command, "rm -r '%s'", folder);
	if (system(command) != 0)
		abort();
}

void recording_define(struct recording *recording, unsigned number,
	enum thrum__definition_type type, uint32_t value, const char *text, size_t size)
{
	struct thrum__definition *cells = (void *)(recording->bytes +
		recording->header->definitions.offset);
	cells[number].number = value;
	memcpy(cells[number].text, text, size);
	atomic_store(&cells[number].type, type);
}

struct packet_writer packet_writer_begin(struct recording *recording, uint32_t index, uint64_t lane,
	uint64_t seq, uint64_t ticks)
{
	struct thrum__header *header = recording->header;
	struct thrum__packet *packet = (void *)(recording->bytes + header->packet.offset +
		(uint64_t)index * header->packet_size);
	memset(packet, 0, sizeof *packet);
	packet->magic = THRUM__PACKET_MAGIC;
	memcpy(packet->uuid, header->uuid, sizeof packet->uuid);
	packet->lane = lane;
	packet->begin = ticks;
	packet->packet_size = header->packet_size * 8;
	packet->seq = seq;
	packet->tid = 1000 + (uint32_t)lane;
	packet->own = packet->running = lane + 1;
	atomic_store(&packet->content_size, (uint32_t)sizeof *packet * 8);
	atomic_store(&packet->ticket, ++recording->tickets);
	if (atomic_load(&header->packets_used) <= index)
		atomic_store(&header->packets_used, index + 1);
	return (struct packet_writer){recording, packet, sizeof *packet, ticks};
}

bool packet_writer_add(struct packet_writer *writer, const struct thrum__record *record,
	uint64_t ticks)
{
	uint8_t event[THRUM__EXTENDED_SIZE + THRUM__BODY_MAX];
	bool wide = thrum__format_record_is_wide(record, writer->packet->id_base);
	size_t size = thrum__format_encode_header(event,
		(unsigned)record->type + (wide ? THRUM__WIDE : 0), ticks, writer->last);
	size += thrum__format_encode_fields(event + size, record, writer->packet->id_base, wide);
	if (size > writer->recording->header->packet_size - writer->at)
		return false;
	memcpy((uint8_t *)writer->packet + writer->at, event, size);
	writer->at += size;
	writer->last = ticks;
	atomic_store(&writer->packet->content_size, (uint32_t)writer->at * 8);
	return true;
}

void packet_writer_log(struct packet_writer *writer, uint64_t ticks, const char *text)
{
	if (!packet_writer_add(writer, &(struct thrum__record){.type = THRUM__R_LOG, .text = text},
		    ticks))
		abort();
}
