/* SPDX-License-Identifier: ISC */
/*
 * Puts the times in which threads were off their processors into a recording. The packets tell which
 * lane a thread has, and from when on; their readings of the clock convert the kernel's times, as
 * they are a second apart.
 */
#include <stdlib.h>
#include <string.h>

#include "format/clock.h"
#include "format/scan.h"
#include "source/input.h"
#include "source/switches/parts.h"

/* ---- The packets ------------------------------------------------------------------------- */

static void add_holding(struct writing *w, uint32_t tid, uint64_t lane, uint64_t from, uint64_t own)
{
	if (tid != 0 && lane <= UINT32_MAX)
		ADD(w, holdings, holding_count, holding_room,
			(struct holding){.tid = tid,
				.lane = (uint32_t)lane,
				.from = from,
				.until = UINT64_MAX,
				.own = own});
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

static void read_packet(void *writing, const uint8_t *bytes, size_t size,
	const struct thrum__packet *packet)
{
	struct writing *w = writing;

	if (packet->own != 0)
		add_holding(w, packet->tid, packet->lane, packet->begin, packet->own);
	read_records(w, bytes, size, packet);
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
uint64_t thrum__source_switches_ticks_at(const struct writing *w, uint64_t monotonic)
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
			w->frequency, 1000000000);

		return ticks < first->ticks ? first->ticks - ticks : 0;
	}
	const struct reading *before = &w->readings[low - 1], *after = &w->readings[low];
	uint64_t passed = monotonic - before->monotonic;

	if (low == w->reading_count || after->ticks < before->ticks)
		return before->ticks +
			thrum__format_multiply_divide(passed, w->frequency, 1000000000);
	return before->ticks +
		thrum__format_multiply_divide(passed, after->ticks - before->ticks,
			after->monotonic - before->monotonic);
}

/* ---- Lanes of threads ---------------------------------------------------------------------- */

static int compare_holdings(const void *left, const void *right)
{
	const struct holding *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* Returns the lane that a thread had at a time: the first one of its own task. NULL: none yet. */
const struct holding *thrum__source_switches_holding_at(const struct writing *w, uint32_t tid,
	uint64_t ticks)
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

static int compare_lanes(const void *left, const void *right)
{
	const struct holding *a = left, *b = right;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

/* A thread has its lane until another one has it. */
static void end_holdings(struct writing *w)
{
	if (w->holding_count > 0)
		qsort(w->holdings, w->holding_count, sizeof *w->holdings, compare_lanes);
	for (uint32_t i = w->holding_count; i-- > 1;) {
		struct holding *before = &w->holdings[i - 1], *next = &w->holdings[i];

		if (before->lane == next->lane)
			before->until = before->tid == next->tid ? next->until : next->from;
	}
}

/* Leaves only the first holding of each thread and own task: the thread's main lane. */
static void merge_holdings(struct writing *w)
{
	uint32_t count = 0;

	end_holdings(w);
	if (w->holding_count > 0)
		qsort(w->holdings, w->holding_count, sizeof *w->holdings, compare_holdings);
	for (uint32_t i = 0; i < w->holding_count; i++)
		if (count == 0 || w->holdings[count - 1].tid != w->holdings[i].tid ||
			w->holdings[count - 1].own != w->holdings[i].own)
			w->holdings[count++] = w->holdings[i];
	w->holding_count = count;
}

/* ---- The switches ------------------------------------------------------------------------ */

/* A time of CLOCK_MONOTONIC, not much before a time in ticks, and not after it. */
static uint64_t monotonic_before(const struct writing *w, uint64_t ticks)
{
	uint32_t i = 0;

	while (i + 1 < w->reading_count && w->readings[i].ticks < ticks)
		i++;
	uint64_t passed = w->readings[i].ticks > ticks ? w->readings[i].ticks - ticks : 0;
	/* 2 % more, as the frequency comes from a short measurement. */
	uint64_t ns = thrum__format_multiply_divide(passed, 1020000000, w->frequency);

	return w->readings[i].monotonic > ns ? w->readings[i].monotonic - ns : 0;
}

/* Returns the first holding of a thread, or NULL. */
static struct holding *first_holding(const struct writing *w, uint32_t tid)
{
	uint32_t low = 0, high = w->holding_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->holdings[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->holding_count && w->holdings[low].tid == tid ? &w->holdings[low] : NULL;
}

static int compare_switches(const void *left, const void *right)
{
	const struct thrum__source_switch *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* Takes the switches of the recording's threads and time, and of each thread the last one before. */
static void choose_switches(struct writing *w)
{
	const struct thrum__source_switches *switches = w->switches;
	uint64_t from;

	w->begin = UINT64_MAX;
	for (uint32_t i = 0; i < w->holding_count; i++)
		if (w->holdings[i].from < w->begin)
			w->begin = w->holdings[i].from;
	from = monotonic_before(w, w->begin);
	for (uint32_t i = 0; i < switches->count && !w->failed; i++) {
		const struct thrum__source_switch *one = &switches->all[i];
		struct holding *holding = first_holding(w, one->tid);

		if (holding && one->time >= from)
			ADD(w, all, all_count, all_room, *one);
		else if (holding && one->time > holding->before.time &&
			one->kind <= THRUM__SWITCH_WOKEN)
			holding->before = *one;
	}
	if (w->all_count > 0)
		qsort(w->all, w->all_count, sizeof *w->all, compare_switches);
}

/* ---- The file ---------------------------------------------------------------------------- */

/* Writes the entries behind all else. */
static int append(struct thrum__source_change *change, const struct writing *w)
{
	struct thrum__header *header = &change->header;
	uint64_t size = (uint64_t)w->count * sizeof *w->entries;
	uint64_t end = change->file_size > header->size ? change->file_size : header->size;
	int error;

	end = (end + 7) / 8 * 8;
	error = thrum__source_write_at(&change->fd, end, w->entries, size);
	if (error == 0) {
		header->size = end + size;
		header->off_cpu = (struct thrum__section){end, size};
	}
	return error;
}

static int write_header(struct thrum__source_change *change, uint64_t lost)
{
	struct thrum__header *header = &change->header;
	int error = thrum__source_switches_header(change);

	atomic_store(&header->lost[THRUM__LOST_SWITCHES], lost);
	return error ? error
		     : thrum__source_write_at(&change->fd, offsetof(struct thrum__header, lost),
			       header->lost, sizeof *header - offsetof(struct thrum__header, lost));
}

static int write_switches(struct thrum__source_change *change)
{
	const struct thrum__header *header = &change->header;
	struct writing w = {.switches = change->context, .frequency = header->clock_frequency};
	uint64_t ended = atomic_load(&header->ended);
	uint32_t ending = atomic_load(&header->ending);
	int error = w.switches->failed
		? -THRUM_E_MEMORY
		: thrum__source_switches_packets(change, &w.numbers, read_packet, &w);

	w.until = ended > 0 ? ended : UINT64_MAX;
	w.is_cut = ended > 0 && (ending == 0 || ending == THRUM__ENDED_STOPPED);
	if (error == 0) {
		add_header_readings(&w, header);
		merge_holdings(&w);
		if (w.reading_count > 0) {
			choose_switches(&w);
			error = thrum__source_switches_add_lanes(&w, change);
			thrum__source_switches_make_entries(&w);
		}
		if (w.failed)
			error = -THRUM_E_MEMORY;
		else if (error == 0 && w.count > 0)
			error = append(change, &w);
		if (error == 0)
			error = write_header(change, w.lost);
	}
	free(w.all);
	free(w.holdings);
	free(w.readings);
	free(w.losses);
	free(w.busy);
	free(w.entries);
	return error;
}

int thrum__source_switches_write(const struct thrum__source_switches *switches, const char *file,
	struct thrum_error_info *info)
{
	return thrum__source_change(file, write_switches, (void *)switches, info);
}
