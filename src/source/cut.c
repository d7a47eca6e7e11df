/* SPDX-License-Identifier: ISC */
/*
 * Copies a stretch of a recording's time. The packets that reach into it are cut at both ends: whatever
 * earlier records say of the running task goes into the packet's beginning.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/copy.h"
#include "format/scan.h"
#include "read/read.h"
#include "source/input.h"
#include "world/bundle.h"

#define CELLS 512 /* of the table of live tasks, at a time */

/* ---- Packets -------------------------------------------------------------------------------- */

static uint64_t task_of(const struct thrum__format_scan *scan, const struct thrum__packet *packet)
{
	uint32_t low;
	uint64_t task;

	if (scan->wide) {
		memcpy(&task, scan->packet + scan->fields, sizeof task);
		return task;
	}
	memcpy(&low, scan->packet + scan->fields, sizeof low);
	return packet->id_base + low;
}

static uint16_t definition_of(const struct thrum__format_scan *scan)
{
	uint16_t number;

	memcpy(&number, scan->packet + scan->fields, sizeof number);
	return number;
}

/* Makes the packet's beginning say what a record said that is cut off. */
static void take_over(struct thrum__packet *packet, const struct thrum__format_scan *scan)
{
	packet->begin = scan->ticks;
	switch (scan->id) {
	case THRUM__R_LANE: packet->own = task_of(scan, packet); /* fall through */
	case THRUM__R_SWITCH:
	case THRUM__R_CONTEXT: packet->running = task_of(scan, packet); break;
	case THRUM__R_SUSPEND:
		packet->suspended = definition_of(scan);
		if (packet->suspended == 0)
			packet->suspended = UINT16_MAX;
		break;
	case THRUM__R_RESUME: packet->suspended = 0; break;
	case THRUM__R_SPAN_BEGIN:
		if (packet->open < THRUM__SPANS_MAX)
			packet->spans[packet->open] = definition_of(scan);
		packet->open += packet->open < UINT16_MAX;
		break;
	case THRUM__R_SPAN_END: packet->open -= packet->open > 0; break;
	default: break;
	}
}

/* Leaves the records from … to in a packet of this size. Damaged records are left out. */
static void cut_packet(uint8_t *bytes, uint32_t size, uint64_t from, uint64_t to)
{
	struct thrum__packet packet;
	struct thrum__format_scan scan;
	size_t content, first, last, start = sizeof packet;

	memcpy(&packet, bytes, sizeof packet);
	content = atomic_load(&packet.content_size) / 8;
	if (content < start || content > size)
		return;
	thrum__format_scan_init(&scan, bytes, content);
	first = last = start;
	while (thrum__format_scan_next(&scan) == 1 && scan.ticks <= to) {
		last = scan.next;
		/* A name belongs to the next record. */
		if (scan.ticks < from && scan.id != THRUM__R_NAME) {
			take_over(&packet, &scan);
			first = last;
		}
	}
	memmove(bytes + start, bytes + first, last - first);
	atomic_store(&packet.content_size, (uint32_t)(start + last - first) * 8);
	memcpy(bytes, &packet, sizeof packet);
	memset(bytes + start + last - first, 0, size - (start + last - first));
}

static int copy_packet(struct thrum__format_copying *copy,
	const struct thrum__format_index_entry *entry, uint64_t from, uint64_t to)
{
	uint32_t size = copy->to.packet_size;
	int result = thrum__format_copy_packet(copy, entry);

	if (result != 1)
		return result;
	cut_packet(copy->buffer, size, from, to);
	return copy->output->write(copy->output->owner,
		copy->to.packet.offset + (uint64_t)(copy->to.packets - 1) * size, copy->buffer,
		size);
}

/* Copies the packets that reach into the time. They must be sorted by lane. Returns 0 or a negative
 * enum thrum_error. */
static int copy_packets(struct thrum__format_copying *copy, const struct thrum__format_index *index,
	uint64_t from, uint64_t to)
{
	int result = 0;

	for (size_t i = 0; i < index->count && result >= 0; i++) {
		const struct thrum__format_index_entry *entry = &index->entries[i];
		bool has_next = i + 1 < index->count && entry[1].lane == entry->lane;

		if (entry->begin <= to && (!has_next || entry[1].begin >= from))
			result = copy_packet(copy, entry, from, to);
	}
	return result < 0 ? result : 0;
}

/* ---- The rest ------------------------------------------------------------------------------- */

/* Removes the tasks that were created after a time from a copied table, and waits and notes. */
static int forget_later(int fd, const struct thrum__header *header, uint64_t to)
{
	struct thrum__live_task *cells = calloc(CELLS, sizeof *cells);
	uint64_t at = header->live_tasks.offset, end = at + header->live_tasks.size;
	int error = cells ? 0 : -THRUM_E_MEMORY;

	while (error == 0 && at < end) {
		size_t size = end - at < CELLS * sizeof *cells ? (size_t)(end - at)
							       : CELLS * sizeof *cells;
		ssize_t got = pread(fd, cells, size, (off_t)at);
		bool has_changed = false;

		if (got <= 0)
			break; /* the rest is empty */
		for (size_t i = 0; i < (size_t)got / sizeof *cells; i++) {
			if (cells[i].created > to)
				atomic_store(&cells[i].tag, 0);
			else if (THRUM__LIVE_TICKS(atomic_load(&cells[i].waited)) > to)
				atomic_store(&cells[i].waiting, 0);
			else
				continue;
			has_changed = true;
		}
		if (has_changed)
			error = thrum__source_write_at(&fd, at, cells, (size_t)got);
		at += (uint64_t)got;
	}
	free(cells);
	return error;
}

/* Notes in a copy that it shows the program at a time before its end. */
static int set_end(int fd, struct thrum__header *header, uint64_t to)
{
	uint64_t ended = atomic_load(&header->ended);
	uint32_t none = 0;
	int error;

	if (ended != 0 && ended <= to)
		return 0;
	error = thrum__source_write_at(&fd, offsetof(struct thrum__header, ended), &to, sizeof to);
	return error != 0 ? error
			  : thrum__source_write_at(&fd, offsetof(struct thrum__header, ending),
				    &none, sizeof none);
}

int thrum__source_copy_between(const struct thrum__input *input, int to, uint64_t from,
	uint64_t until)
{
	struct thrum__output output = {&to, thrum__source_write_at};
	struct thrum__format_index index = {NULL, 0};
	struct thrum__format_copying copy;
	int error = thrum__format_copy_begin(&copy, input, &output);

	if (error == 0)
		error = thrum__format_index_init(&index, input, &copy.from);
	if (error == 0)
		error = thrum__format_copy_live_tasks(&copy);
	if (error == 0) {
		thrum__format_index_sort_by_lane(&index);
		error = copy_packets(&copy, &index, from, until);
	}
	if (error == 0)
		error = forget_later(to, &copy.to, until);
	if (error == 0)
		error = thrum__format_copy_end(&copy, until);
	if (error == 0)
		error = set_end(to, &copy.to, until);
	thrum__format_index_finish(&index);
	thrum__format_copy_finish(&copy);
	return error;
}

/* ---- By times ------------------------------------------------------------------------------- */

/* The clock so many ns after the first event. */
static uint64_t ticks_after(const struct thrum_trace_info *info, int64_t ns)
{
	double ticks = ns > 0 ? (double)ns * ((double)info->clock_frequency / 1e9) : 0;

	if (!(ticks < 9e18) || (uint64_t)ticks > UINT64_MAX - info->clock_first)
		return UINT64_MAX;
	return info->clock_first + (uint64_t)ticks;
}

/* Refuses a recording that ends before a time, in ns since its first event. Only what lies near that time is
 * read. */
static int check_end(const struct thrum__input *input, int64_t time, struct thrum_error_info *error)
{
	const struct thrum_event *events;
	struct thrum_trace *trace;
	size_t count;
	int64_t end;
	int result = thrum__world_open(input, NULL, &trace, error);

	if (result < 0)
		return result;
	(void)thrum__read_from(trace, time);
	while (thrum_trace_info(trace)->end < time &&
		thrum_trace_next(trace, &events, &count, NULL) > 0)
		;
	end = thrum_trace_info(trace)->end;
	thrum_trace_close(trace);
	return end >= time ? 0
			   : thrum__read_error_set(error, -THRUM_E_ARGUMENT, 0,
				     "it ends after %.6f s, before that time", (double)end / 1e9);
}

int thrum__source_copy_times(const struct thrum__input *input, int to, int64_t from, int64_t until,
	struct thrum_error_info *error)
{
	struct thrum__source_carried carried;
	struct thrum__header header;
	struct thrum_trace *trace;
	uint64_t first, last;
	int result = thrum__source_header(input, &header, error);

	if (result == 0 && !thrum__source_is_recorded_to(input, &header))
		result = check_end(input, from, error);
	if (result < 0)
		return result;
	result = thrum__world_open(input, NULL, &trace, error);
	if (result < 0)
		return result;
	first = ticks_after(thrum_trace_info(trace), from);
	last = ticks_after(thrum_trace_info(trace), until);
	result = thrum__source_carried_init(&carried, &header);
	if (result == 0)
		result = thrum__source_carried_read(&carried, trace, first);
	thrum_trace_close(trace);
	if (result == 0)
		result = thrum__source_copy_between(input, to, first, last);
	if (result == 0)
		result = thrum__source_carried_write(&carried, to, first);
	thrum__source_carried_finish(&carried);
	return result < 0
		? thrum__read_error_set(error, result, 0, "%s", thrum_error_message(result))
		: result;
}
