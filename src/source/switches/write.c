/* SPDX-License-Identifier: ISC */
/*
 * Puts the times in which threads were off their processors into a recording. The packets tell which
 * lane a thread has, and from when on; their readings of the clock convert the kernel's times, as
 * they are a second apart.
 */
#include "source/switches/switches.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/clock.h"
#include "format/index.h"
#include "format/scan.h"
#include "source/input.h"

/* A thread has a lane from a time on. */
struct holding {
	uint32_t tid, lane;
	uint64_t from; /* ticks */
	uint64_t own;  /* the thread's own task: its lanes for signal handlers have the same */
};

struct reading {
	uint64_t ticks, monotonic;
};

struct writing {
	const struct thrum__source_switches *switches;
	struct holding *holdings;
	uint32_t holding_count, holding_room;
	struct reading *readings;
	uint32_t reading_count, reading_room;
	uint64_t *losses; /* when the kernel had no room, by time */
	uint32_t loss_count, loss_room;
	struct thrum__off_cpu *entries;
	uint32_t count, room;
	bool failed; /* out of memory */
};

#define ADD(w, array, number, capacity, ...) \
	do { \
		void *grown = thrum__base_grow((w)->array, &(w)->capacity, \
			(w)->number + UINT64_C(1), sizeof *(w)->array); \
		if (!grown) { \
			(w)->failed = true; \
			break; \
		} \
		(w)->array = grown; \
		(w)->array[(w)->number++] = (__VA_ARGS__); \
	} while (0)

/* ---- The packets ------------------------------------------------------------------------- */

static void add_holding(struct writing *w, uint32_t tid, uint64_t lane, uint64_t from, uint64_t own)
{
	if (tid != 0 && lane <= UINT32_MAX)
		ADD(w, holdings, holding_count, holding_room,
			(struct holding){tid, (uint32_t)lane, from, own});
}

static void add_reading(struct writing *w, uint64_t ticks, uint64_t monotonic)
{
	if (monotonic > 0)
		ADD(w, readings, reading_count, reading_room, (struct reading){ticks, monotonic});
}

/* Reads the records that tell of threads and of the clock. */
static void read_records(struct writing *w, const uint8_t *bytes, size_t size,
	const struct thrum__packet *packet)
{
	struct thrum__format_scan scan;

	thrum__format_scan_init(&scan, bytes, size);
	while (thrum__format_scan_next(&scan) == 1) {
		const uint8_t *fields = bytes + scan.fields;
		uint64_t number = 0;
		uint32_t low, tid;

		if (scan.id == THRUM__R_LANE) {
			memcpy(&low, fields, sizeof low);
			number = packet->id_base + low;
			if (scan.wide)
				memcpy(&number, fields, sizeof number);
			memcpy(&tid, fields + (scan.wide ? sizeof number : sizeof low), sizeof tid);
			add_holding(w, tid, packet->lane, scan.ticks, number);
		} else if (scan.id == THRUM__R_CLOCK) {
			memcpy(&number, fields, sizeof number);
			add_reading(w, scan.ticks, number);
		}
	}
}

static int read_packets(struct writing *w, const struct thrum__source_change *change)
{
	struct thrum__format_index index;
	uint8_t *bytes = malloc(change->header.packet_size);
	int error = thrum__format_index_init(&index, change->input, &change->header);

	if (error != 0 || !bytes) {
		free(bytes);
		return error ? error : -THRUM_E_MEMORY;
	}
	for (size_t i = 0; i < index.count && !w->failed; i++) {
		struct thrum__packet packet;
		size_t size;

		if (thrum__format_index_read(&index.entries[i], change->input, &change->header,
			    bytes, &size) != 1)
			continue;
		memcpy(&packet, bytes, sizeof packet);
		if (packet.own != 0)
			add_holding(w, packet.tid, packet.lane, packet.begin, packet.own);
		read_records(w, bytes, size, &packet);
	}
	thrum__format_index_finish(&index);
	free(bytes);
	return 0;
}

/* ---- The clock --------------------------------------------------------------------------- */

static int compare_readings(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;

	return (a->monotonic > b->monotonic) - (a->monotonic < b->monotonic);
}

static void add_header_readings(struct writing *w, const struct thrum__header *header)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(header);

	add_reading(w, header->start.ticks, header->start.monotonic);
	if (latest)
		add_reading(w, latest->ticks, latest->monotonic);
	if (w->reading_count > 0)
		qsort(w->readings, w->reading_count, sizeof *w->readings, compare_readings);
}

/* Converts a time of CLOCK_MONOTONIC to ticks by the readings around it. */
static uint64_t ticks_at(const struct writing *w, uint64_t frequency, uint64_t monotonic)
{
	uint32_t low = 0, high = w->reading_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->readings[middle].monotonic <= monotonic)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0) {
		const struct reading *first = &w->readings[0];
		uint64_t ticks = thrum__format_multiply_divide(first->monotonic - monotonic,
			frequency, 1000000000);

		return ticks < first->ticks ? first->ticks - ticks : 0;
	}
	const struct reading *before = &w->readings[low - 1], *after = &w->readings[low];
	uint64_t passed = monotonic - before->monotonic;

	if (low == w->reading_count || after->ticks < before->ticks)
		return before->ticks + thrum__format_multiply_divide(passed, frequency, 1000000000);
	return before->ticks +
		thrum__format_multiply_divide(passed, after->ticks - before->ticks,
			after->monotonic - before->monotonic);
}

/* ---- The entries ------------------------------------------------------------------------- */

static int compare_switches(const void *left, const void *right)
{
	const struct thrum__source_switch *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static int compare_holdings(const void *left, const void *right)
{
	const struct holding *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static int compare_entries(const void *left, const void *right)
{
	const struct thrum__off_cpu *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->lane > b->lane) - (a->lane < b->lane);
}

/* Whether the kernel lost switches after `from`, up to `to`. */
static bool is_lost(const struct writing *w, uint64_t from, uint64_t to)
{
	for (uint32_t low = 0, high = w->loss_count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (w->losses[middle] > from && w->losses[middle] <= to)
			return true;
		if (w->losses[middle] <= from)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Returns the lane that a thread had at a time: the first one of its own task. NULL: none yet. */
static const struct holding *holding_at(const struct writing *w, uint32_t tid, uint64_t ticks)
{
	uint32_t low = 0, high = w->holding_count;
	struct holding wanted = {.tid = tid, .from = ticks};

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare_holdings(&w->holdings[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && w->holdings[low - 1].tid == tid ? &w->holdings[low - 1] : NULL;
}

/* Leaves only the first holding of each thread and own task: the thread's main lane. */
static void merge_holdings(struct writing *w)
{
	uint32_t count = 0;

	if (w->holding_count > 0)
		qsort(w->holdings, w->holding_count, sizeof *w->holdings, compare_holdings);
	for (uint32_t i = 0; i < w->holding_count; i++)
		if (count == 0 || w->holdings[count - 1].tid != w->holdings[i].tid ||
			w->holdings[count - 1].own != w->holdings[i].own)
			w->holdings[count++] = w->holdings[i];
	w->holding_count = count;
}

static void add_entry(struct writing *w, uint64_t frequency, const struct thrum__source_switch *out,
	const struct thrum__source_switch *in)
{
	uint64_t begin = ticks_at(w, frequency, out->time);
	uint64_t end = ticks_at(w, frequency, in->time);
	const struct holding *holding = holding_at(w, out->tid, begin);

	if (holding && end >= begin)
		ADD(w, entries, count, room,
			(struct thrum__off_cpu){begin, end, holding->lane,
				out->kind == THRUM__SWITCH_PREEMPTED ? THRUM__OFF_PREEMPTED
								     : THRUM__OFF_BLOCKED});
}

/* A thread that doesn't come back has ended. */
static void pair(struct writing *w, uint64_t frequency)
{
	const struct thrum__source_switch *all = w->switches->all;

	for (uint32_t i = 0; i < w->switches->count; i++)
		if (all[i].kind == THRUM__SWITCH_LOST)
			ADD(w, losses, loss_count, loss_room, all[i].time);
	if (w->loss_count > 0)
		qsort(w->losses, w->loss_count, sizeof *w->losses, compare_times);
	for (uint32_t i = 0; i + 1 < w->switches->count && !w->failed; i++)
		if ((all[i].kind == THRUM__SWITCH_PREEMPTED ||
			    all[i].kind == THRUM__SWITCH_BLOCKED) &&
			all[i + 1].kind == THRUM__SWITCH_IN && all[i].tid == all[i + 1].tid &&
			!is_lost(w, all[i].time, all[i + 1].time))
			add_entry(w, frequency, &all[i], &all[i + 1]);
	if (w->count > 0)
		qsort(w->entries, w->count, sizeof *w->entries, compare_entries);
}

/* ---- The file ---------------------------------------------------------------------------- */

/* Writes the entries behind all else, then the header that tells of them. */
static int append(struct thrum__source_change *change, const struct writing *w)
{
	struct thrum__header *header = &change->header;
	uint64_t size = (uint64_t)w->count * sizeof *w->entries;
	uint64_t end = change->file_size > header->size ? change->file_size : header->size;
	int error;

	end = (end + 7) / 8 * 8;
	error = thrum__source_write_at(&change->fd, end, w->entries, size);
	if (error != 0)
		return error;
	header->size = end + size;
	header->off_cpu = (struct thrum__section){end, size};
	return thrum__source_write_at(&change->fd, 0, header,
		offsetof(struct thrum__header, state));
}

/* Writes the rest of the header: how many switches were lost, and the place of the entries. */
static int write_lost(struct thrum__source_change *change, uint64_t lost)
{
	struct thrum__header *header = &change->header;

	atomic_store(&header->lost[THRUM__LOST_SWITCHES], lost);
	return thrum__source_write_at(&change->fd, offsetof(struct thrum__header, lost),
		header->lost, sizeof *header - offsetof(struct thrum__header, lost));
}

static int write_switches(struct thrum__source_change *change)
{
	struct writing w = {.switches = change->context};
	int error = w.switches->failed ? -THRUM_E_MEMORY : read_packets(&w, change);

	if (error == 0) {
		add_header_readings(&w, &change->header);
		merge_holdings(&w);
		if (w.reading_count > 0)
			pair(&w, change->header.clock_frequency);
		if (w.failed)
			error = -THRUM_E_MEMORY;
		else if (w.count > 0)
			error = append(change, &w);
		if (error == 0)
			error = write_lost(change, w.switches->lost);
	}
	free(w.holdings);
	free(w.readings);
	free(w.losses);
	free(w.entries);
	return error;
}

int thrum__source_switches_write(struct thrum__source_switches *switches, const char *file,
	struct thrum_error_info *info)
{
	if (switches->count > 0)
		qsort(switches->all, switches->count, sizeof *switches->all, compare_switches);
	return thrum__source_change(file, write_switches, switches, info);
}
