/* SPDX-License-Identifier: ISC */
/* Sums up rows that have many lines or runs, slot by slot of the time. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"

#define FEW 1024 /* lines, or runs, of a row without sums */
#define SLOTS_LEAST 1024
#define SLOTS_MOST 16384
#define SLOT_LINES 4 /* lines of a slot, on the mean */
#define SLOT_RUNS 16

/* How many slots a row gets. */
static uint32_t slots_of(const struct thrum__bands_row *row)
{
	uint32_t lines = row->count / SLOT_LINES, runs = row->run_count / SLOT_RUNS;
	uint32_t slots = lines > runs ? lines : runs;

	if (row->count <= FEW && row->run_count <= FEW)
		return 0;
	/* A whole trace has about so many columns on a screen: fewer slots would be of no use. */
	if (slots < SLOTS_LEAST)
		return SLOTS_LEAST;
	slots -= slots % THRUM__BANDS_COARSE;
	return slots < SLOTS_MOST ? slots : SLOTS_MOST;
}

int thrum__bands_sums_begin(const struct thrum__bands *bands)
{
	struct thrum__bands_rows *rows = bands->rows;
	size_t at = 0, coarse = 0, spans = 0;

	for (uint32_t i = 0; i < rows->row_count; i++) {
		struct thrum__bands_row *row = &rows->rows[i];

		row->slots = slots_of(row);
		row->first_slot = (uint32_t)at;
		row->first_coarse = (uint32_t)coarse;
		row->first_span = (uint32_t)spans;
		if (row->slots == 0) {
			spans += row->run_count;
			continue;
		}
		row->slot = (bands->to - bands->from) / row->slots + 1;
		row->each = 1.0 / (double)row->slot;
		at += row->slots + (size_t)1;
		coarse += row->slots / THRUM__BANDS_COARSE + (size_t)1;
	}
	rows->sums = calloc(at + 1, sizeof *rows->sums);
	rows->coarse = calloc(coarse + 1, sizeof *rows->coarse);
	rows->spans = malloc((spans + 1) * sizeof *rows->spans);
	rows->slot_count = (uint32_t)at;
	rows->coarse_count = (uint32_t)coarse;
	rows->span_count = (uint32_t)spans;
	return rows->sums && rows->coarse && rows->spans ? 0 : -THRUM_E_MEMORY;
}

/* ---- Times over slots ----------------------------------------------------------------------- */

/* Divides a time among the slots in which it lies: those that it covers in part get their parts, and
 * *first … *last - 1 are covered wholly. Returns false if there is nothing to divide. */
static bool divide(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	struct thrum__bands_span span, uint32_t *first, uint32_t *last, double parts[2])
{
	if (span.from < bands->from)
		span.from = bands->from;
	if (span.to <= span.from)
		return false;
	*first = thrum__bands_slot(bands, row, span.from);
	*last = thrum__bands_slot(bands, row, span.to);
	if (*first == *last) {
		parts[0] = (double)(span.to - span.from);
		parts[1] = 0;
	} else {
		parts[0] = (double)(bands->from + (*first + INT64_C(1)) * row->slot - span.from);
		parts[1] = (double)(span.to - bands->from - *last * row->slot);
	}
	return true;
}

void thrum__bands_sums_add_run(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	struct thrum__bands_span run)
{
	struct thrum__bands_sum *sums = bands->rows->sums + row->first_slot;
	uint32_t first, last;
	double parts[2];

	if (!divide(bands, row, run, &first, &last, parts))
		return;
	sums[first + 1].ran += parts[0];
	if (first == last)
		return;
	sums[last + 1].ran += parts[1];
	sums[first + 1].whole++;
	sums[last].whole--;
}

/* Adds the lines of a row. `whole` is by slot. */
static void add_lines(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	int32_t *whole)
{
	const struct thrum__bands_rows *rows = bands->rows;
	struct thrum__bands_sum *sums = rows->sums + row->first_slot;

	for (uint32_t i = row->first; i < row->first + row->count; i++) {
		struct thrum__bands_span span = {rows->start[i], rows->end[i]};
		uint32_t first = thrum__bands_slot(bands, row, span.from);
		uint32_t last = thrum__bands_slot(bands, row, span.to);
		double parts[2];

		sums[first + 1].begun++;
		sums[last + 1].ended += !(rows->flags[i] & THRUM__LINE_PENDING);
		sums[last + 1].failed += (rows->flags[i] & THRUM__LINE_FAILED) > 0;
		if (!divide(bands, row, span, &first, &last, parts))
			continue;
		sums[first + 1].life += parts[0];
		if (first == last)
			continue;
		sums[last + 1].life += parts[1];
		whole[first + 1]++;
		whole[last]--;
	}
}

/* Makes sums of the slots' own numbers. */
static void add_up(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const int32_t *whole)
{
	struct thrum__bands_sum *sums = bands->rows->sums + row->first_slot;
	int64_t living = 0, running = 0;

	for (uint32_t i = 0; i < row->slots; i++) {
		living += whole[i];
		running += sums[i].whole;
		sums[i + 1].life += sums[i].life + (double)living * (double)row->slot;
		sums[i + 1].ran += sums[i].ran + (double)running * (double)row->slot;
		sums[i + 1].begun += sums[i].begun;
		sums[i + 1].ended += sums[i].ended;
		sums[i + 1].failed += sums[i].failed;
	}
	for (uint32_t i = 0; i <= row->slots / THRUM__BANDS_COARSE; i++)
		bands->rows->coarse[row->first_coarse + i] = sums[i * THRUM__BANDS_COARSE];
}

int thrum__bands_sums_finish(const struct thrum__bands *bands)
{
	size_t room = (SLOTS_MOST + (size_t)2) * sizeof(int32_t);
	int32_t *whole = malloc(room);

	if (!whole)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < bands->rows->row_count; i++) {
		const struct thrum__bands_row *row = &bands->rows->rows[i];

		if (row->slots == 0)
			continue;
		memset(whole, 0, (row->slots + (size_t)2) * sizeof *whole);
		add_lines(bands, row, whole);
		add_up(bands, row, whole);
	}
	free(whole);
	return 0;
}
