/* SPDX-License-Identifier: ISC */
/* Adds a lane with the system calls in which threads hang: one packet behind those of the recording. */
#include <stdlib.h>
#include <string.h>

#include "format/clock.h"
#include "format/packet.h"
#include "format/scan.h"
#include "read/off_cpu.h"
#include "source/input.h"
#include "source/switches/parts.h"

/* The latest that a lane of a thread tells. */
struct latest {
	uint64_t ticks, running;
	bool is_known, is_suspended;
};

struct adding {
	struct thrum__source_change *change;
	const struct thrum__source_call *calls;
	size_t count;
	struct latest *latest; /* by call: of the thread's lane with the latest event */
	struct numbers numbers;
};

struct all_calls {
	const struct thrum__source_call *calls;
	size_t count;
};

static bool is_of(const struct thrum__source_call *call, const struct thrum__header *header)
{
	return call->process == header->pid &&
		(header->process_start == 0 || call->start == header->process_start);
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* The number of a record's first field, a task. */
static uint64_t task_of(const uint8_t *bytes, const struct thrum__format_scan *scan, uint64_t base)
{
	uint64_t number = 0;
	uint32_t low;

	if (scan->wide) {
		memcpy(&number, bytes + scan->fields, sizeof number);
		return number;
	}
	memcpy(&low, bytes + scan->fields, sizeof low);
	return base + low;
}

/* Reads what runs, and since when, at the end of a packet. */
static struct latest read_packet(const uint8_t *bytes, size_t size,
	const struct thrum__packet *packet)
{
	struct latest latest = {.ticks = packet->begin,
		.running = packet->running,
		.is_known = true,
		.is_suspended = packet->suspended != 0};
	struct thrum__format_scan scan;

	thrum__format_scan_init(&scan, bytes, size);
	while (thrum__format_scan_next(&scan) == 1) {
		latest.ticks = scan.ticks;
		if (scan.id == THRUM__R_SWITCH || scan.id == THRUM__R_CONTEXT ||
			scan.id == THRUM__R_LANE)
			latest.running = task_of(bytes, &scan, packet->id_base);
		if (scan.id == THRUM__R_SUSPEND || scan.id == THRUM__R_RESUME ||
			scan.id == THRUM__R_LANE)
			latest.is_suspended = scan.id == THRUM__R_SUSPEND;
	}
	return latest;
}

static void take_packet(void *data, const uint8_t *bytes, size_t size,
	const struct thrum__packet *packet)
{
	struct adding *adding = data;
	struct latest latest = {0};

	for (size_t i = 0; i < adding->count; i++) {
		struct latest *known = &adding->latest[i];

		if (adding->calls[i].tid != packet->tid ||
			!is_of(&adding->calls[i], &adding->change->header))
			continue;
		if (!latest.is_known)
			latest = read_packet(bytes, size, packet);
		if (!known->is_known || latest.ticks >= known->ticks)
			*known = latest;
	}
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Converts a time between the first and the latest reading of the clock, or after them. */
static uint64_t ticks_at(const struct thrum__header *header, uint64_t monotonic)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(header);
	uint64_t passed, before;

	if (!latest || monotonic >= latest->monotonic)
		return thrum__format_ticks_at(header, monotonic);
	passed = latest->monotonic - header->start.monotonic;
	before = latest->monotonic - monotonic;
	if (before >= passed || latest->ticks < header->start.ticks)
		return 0;
	return latest->ticks -
		thrum__format_multiply_divide(before, latest->ticks - header->start.ticks, passed);
}

/* Whether a thread has recorded nothing since somebody saw it in its call, and isn't known to wait. */
static bool is_silent(const struct adding *adding, size_t i)
{
	const struct latest *latest = &adding->latest[i];

	return latest->is_known && !latest->is_suspended && latest->running != 0 &&
		latest->ticks <= ticks_at(&adding->change->header, adding->calls[i].from);
}

static bool put(const struct adding *adding, struct thrum__format_fill *fill, uint64_t ticks,
	const struct thrum__record *record)
{
	return thrum__format_fill_put(fill, &adding->change->header, ticks, record);
}

/* Fills a packet with the calls, in the order of time. Returns whether there are any. */
static bool fill_packet(const struct adding *adding, struct thrum__format_fill *fill)
{
	uint64_t own = adding->numbers.next_base + 1, last = 0;
	bool has_begun = false;

	for (;;) {
		size_t next = adding->count;

		for (size_t i = 0; i < adding->count; i++)
			if (is_silent(adding, i) && adding->latest[i].ticks >= last &&
				(next == adding->count ||
					adding->latest[i].ticks < adding->latest[next].ticks))
				next = i;
		if (next == adding->count)
			break;
		last = adding->latest[next].ticks;
		if (!has_begun)
			put(adding, fill, last,
				&(struct thrum__record){.type = THRUM__R_LANE,
					.other = own,
					.text = THRUM__CALLS_LANE});
		has_begun = true;
		if (!put(adding, fill, last,
			    &(struct thrum__record){.type = THRUM__R_CREATE_IN,
				    .task = adding->latest[next].running,
				    .other = own + 1 + next,
				    .kind = THRUM_KIND_HANDLE,
				    .text = adding->calls[next].name}))
			break;
		adding->latest[next].is_known = false;
	}
	/* The lane is over, so that it counts as none that may do something. */
	if (has_begun)
		put(adding, fill, last,
			&(struct thrum__record){.type = THRUM__R_RESOLVE, .other = own});
	return has_begun;
}

/* Writes the packet behind those of the recording, and then the header. */
static int append(const struct adding *adding, struct thrum__format_fill *fill)
{
	struct thrum__source_change *change = adding->change;
	struct thrum__header *header = &change->header;
	uint32_t slot = atomic_load(&header->packets_used);
	uint64_t offset = header->packet.offset + (uint64_t)slot * header->packet_size;
	int error;

	thrum__format_fill_end(fill, header, adding->numbers.ticket + 1);
	error = thrum__source_write_at(&change->fd, offset, fill->bytes, header->packet_size);
	if (error != 0)
		return error;
	atomic_store(&header->packets_used, slot + 1);
	if (header->packets < slot + 1)
		header->packets = slot + 1;
	header->packet.size = (uint64_t)header->packets * header->packet_size;
	if (header->size < header->packet.offset + header->packet.size)
		header->size = header->packet.offset + header->packet.size;
	return thrum__source_switches_header(change);
}

static int write_calls(struct thrum__source_change *change)
{
	const struct all_calls *all = change->context;
	const struct thrum__header *header = &change->header;
	struct adding adding = {.change = change, .calls = all->calls, .count = all->count};
	struct thrum__format_fill fill = {0};
	bool is_any = false;
	int error = 0;

	for (size_t i = 0; i < adding.count; i++)
		is_any |= is_of(&adding.calls[i], header);
	/* More packets have room behind the last one only. */
	if (!is_any ||
		(atomic_load(&header->packets_used) >= header->packets &&
			header->packet.offset + header->packet.size + header->packet_size <=
				header->size))
		return 0;
	adding.latest = calloc(adding.count, sizeof *adding.latest);
	fill.bytes = calloc(1, header->packet_size);
	if (!adding.latest || !fill.bytes)
		error = -THRUM_E_MEMORY;
	if (error == 0)
		error = thrum__source_switches_packets(change, &adding.numbers, take_packet,
			&adding);
	fill.lane = adding.numbers.next_lane;
	fill.id_base = adding.numbers.next_base;
	if (error == 0 && fill_packet(&adding, &fill))
		error = append(&adding, &fill);
	free(adding.latest);
	free(fill.bytes);
	return error;
}

int thrum__source_calls_write(const struct thrum__source_call *calls, size_t count,
	const char *file, struct thrum_error_info *info)
{
	struct all_calls all = {calls, count};

	return count == 0 ? 0 : thrum__source_change(file, write_calls, &all, info);
}
