/* SPDX-License-Identifier: ISC */
/* Counts the lines in the cells of a window: by the sums of a row's slots where each column is wider than
 * a slot, else line by line. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "base/array.h"

#define GUIDES 2 /* elements of the guide for each column */

/* ---- Windows -------------------------------------------------------------------------------- */

/* The column of a time between the elements `low` and `high` of the window's times. */
static uint32_t search(const struct thrum__bands_window *window, int64_t time, uint32_t low,
	uint32_t high)
{
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (window->times[middle] <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int thrum__bands_window_set(struct thrum__bands_window *window, const int64_t *times,
	uint32_t columns)
{
	uint32_t size = columns * GUIDES + 2;
	uint32_t *guide;
	int32_t *counts;
	int64_t length = columns > 0 ? times[columns] - times[0] : 0;

	guide = thrum__base_grow(window->guide, &window->guide_room, size, sizeof *guide);
	if (!guide)
		return -THRUM_E_MEMORY;
	window->guide = guide;
	counts = thrum__base_grow(window->counts, &window->count_room, 2 * (columns + UINT64_C(2)),
		sizeof *counts);
	if (!counts)
		return -THRUM_E_MEMORY;
	memset(counts, 0, 2 * ((size_t)columns + 2) * sizeof *counts);
	window->counts = counts;
	window->times = times;
	window->columns = columns;
	window->guide_size = size;
	window->scale = length > 0 ? (double)(size - 2) / (double)length : 0;
	window->each = length > 0 ? (double)columns / (double)length : 0;
	window->least = INT64_MAX;
	for (uint32_t i = 0; i < columns; i++)
		if (times[i + 1] - times[i] < window->least)
			window->least = times[i + 1] - times[i];
	for (uint32_t i = 0; i < size; i++) {
		/* One element too early: the scale is rounded. */
		int64_t time = length > 0 && i > 0
			? times[0] + (int64_t)((double)(i - 1) / window->scale)
			: INT64_MIN;

		guide[i] = columns > 0 ? search(window, time, 0, columns) : 0;
	}
	return 0;
}

void thrum__bands_window_finish(struct thrum__bands_window *window)
{
	free(window->guide);
	free(window->counts);
	*window = (struct thrum__bands_window){0};
}

uint32_t thrum__bands_window_column(const struct thrum__bands_window *window, int64_t time)
{
	uint32_t at, high;

	if (window->columns == 0 || time <= window->times[0])
		return 0;
	if (time >= window->times[window->columns])
		return window->columns - 1;
	/* Mostly all columns are alike. */
	at = (uint32_t)((double)(time - window->times[0]) * window->each);
	if (at < window->columns && window->times[at] <= time && time < window->times[at + 1])
		return at;
	at = (uint32_t)((double)(time - window->times[0]) * window->scale);
	if (at + 2 >= window->guide_size)
		at = window->guide_size - 1;
	high = at + 3 < window->guide_size ? window->guide[at + 3] + 1 : window->columns;
	return search(window, time, window->guide[at],
		high < window->columns ? high : window->columns);
}

/* ---- By sums -------------------------------------------------------------------------------- */

/* Whether the sums of a row's slots are fine enough for a window. */
static bool has_sums(const struct thrum__bands_row *row, const struct thrum__bands_window *window)
{
	return row->slots > 0 && window->least >= row->slot;
}

/* The sums of a row's slots, or of each 8th where these are fine enough. */
struct sums {
	const struct thrum__bands_sum *sums;
	uint32_t slots;
	int64_t slot;
};

static struct sums sums_of(const struct thrum__bands_rows *rows, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window)
{
	/* The last coarse slot must end with the last slot. */
	if (row->slots % THRUM__BANDS_COARSE == 0 &&
		window->least / 2 >= row->slot * THRUM__BANDS_COARSE)
		return (struct sums){rows->coarse + row->first_coarse,
			row->slots / THRUM__BANDS_COARSE, row->slot * THRUM__BANDS_COARSE};
	return (struct sums){rows->sums + row->first_slot, row->slots, row->slot};
}

/* How many slots lie before the left edge of column `i`, or before the window's end. `each`: slots of
 * one ns. */
static uint32_t slots_before(const struct thrum__bands *bands, const struct sums *sums,
	const struct thrum__bands_window *window, double each, uint32_t i)
{
	double slot = (double)(window->times[i] - bands->from) * each;

	slot += i == window->columns ? 1 : 0.5;
	return slot < 1 ? 0 : slot < sums->slots ? (uint32_t)slot : sums->slots;
}

/* How many lines of a row begin before a window and end after it. `sums`: of the slots before it and up
 * to its end. */
static uint32_t count_quiet(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, uint32_t begun_before, uint32_t ended_before)
{
	const struct thrum__bands_rows *rows = bands->rows;
	int64_t from = window->times[0], to = window->times[window->columns];
	uint32_t count = 0;

	if (row->longest <= to - from)
		return 0;
	/* No line of the class both begins and ends within. */
	if (row->least > to - from)
		return begun_before > ended_before ? begun_before - ended_before : 0;
	for (uint32_t i = thrum__bands_row_from(rows, row, to - row->longest);
		i < row->first + row->count && rows->start[i] < from; i++)
		count += rows->end[i] > to;
	return count;
}

/* Adds the pending lines of a row to a column behind its last slot: those go on there. */
static void add_advanced(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, uint32_t i, struct thrum__bands_cell *cell)
{
	int64_t to = window->times[i + 1] < bands->to ? window->times[i + 1] : bands->to;

	cell->lines += row->pending;
	cell->life += (float)row->pending * (float)(to - window->times[i]);
}

static void cells_by_sums(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, struct thrum__bands_cell *cells)
{
	struct sums of = sums_of(bands->rows, row, window);
	const struct thrum__bands_sum *sums = of.sums;
	double each = 1.0 / (double)of.slot;
	uint32_t a = slots_before(bands, &of, window, each, 0);
	uint32_t end = slots_before(bands, &of, window, each, window->columns);
	uint32_t quiet = count_quiet(bands, row, window, sums[a].begun, sums[end].ended);

	for (uint32_t i = 0; i < window->columns; i++) {
		uint32_t b = slots_before(bands, &of, window, each, i + 1);

		if (a == of.slots && window->times[i] < bands->to) {
			add_advanced(bands, row, window, i, &cells[i]);
		} else if (b > a) {
			cells[i].lines += sums[b].begun - sums[a].ended;
			cells[i].quiet += quiet;
			cells[i].ended += sums[b].ended - sums[a].ended;
			cells[i].failed += sums[b].failed - sums[a].failed;
			cells[i].life += (float)(sums[b].life - sums[a].life);
			cells[i].ran += (float)(sums[b].ran - sums[a].ran);
		}
		a = b;
	}
}

/* ---- Line by line --------------------------------------------------------------------------- */

/* Divides a time among the columns in which it lies: those from `a` to `b`. */
static void spread(const struct thrum__bands_window *window, int32_t *whole, int64_t from,
	int64_t to, uint32_t a, uint32_t b, struct thrum__bands_cell *cells, bool is_run)
{
	const int64_t *times = window->times;

	if (from < times[0])
		from = times[0];
	if (to > times[window->columns])
		to = times[window->columns];
	if (to <= from)
		return;
	if (a == b) {
		*(is_run ? &cells[a].ran : &cells[a].life) += (float)(to - from);
		return;
	}
	*(is_run ? &cells[a].ran : &cells[a].life) += (float)(times[a + 1] - from);
	*(is_run ? &cells[b].ran : &cells[b].life) += (float)(to - times[b]);
	whole[a + 1]++;
	whole[b]--;
}

/* Adds the columns that are covered wholly. */
static void add_whole(const struct thrum__bands_window *window, int32_t *whole,
	struct thrum__bands_cell *cells, bool is_run)
{
	int32_t count = 0;

	for (uint32_t i = 0; i < window->columns; i++) {
		count += whole[i];
		whole[i] = 0;
		if (count > 0)
			*(is_run ? &cells[i].ran : &cells[i].life) += (float)count *
				(float)(window->times[i + 1] - window->times[i]);
	}
	whole[window->columns] = 0;
}

/* Adds the lines of a row. Lines that cover a column's edge are counted in `touch` and `whole`. */
static void add_lines(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, struct thrum__bands_cell *cells)
{
	const struct thrum__bands_rows *rows = bands->rows;
	int32_t *touch = window->counts, *whole = window->counts + window->columns + 2, count = 0;
	int64_t from = window->times[0], to = window->times[window->columns];
	uint32_t quiet = 0;

	for (uint32_t i = thrum__bands_row_from(rows, row, from - row->longest);
		i < row->first + row->count && rows->start[i] <= to; i++) {
		int64_t start = rows->start[i], end = rows->end[i];
		uint32_t first, last;

		if (end < from)
			continue;
		first = thrum__bands_window_column(window, start);
		last = thrum__bands_window_column(window, end);
		touch[first]++;
		touch[last + 1]--;
		quiet += start < from && end > to;
		spread(window, whole, start, end, first, last, cells, false);
		if (end <= to && !(rows->flags[i] & THRUM__LINE_PENDING)) {
			cells[last].ended++;
			cells[last].failed += (rows->flags[i] & THRUM__LINE_FAILED) > 0;
		}
	}
	for (uint32_t i = 0; i <= window->columns; i++) {
		count += touch[i];
		touch[i] = 0;
		if (i < window->columns) {
			cells[i].lines += (uint32_t)count;
			cells[i].quiet += quiet;
		}
	}
	add_whole(window, whole, cells, false);
}

static void add_runs(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, struct thrum__bands_cell *cells)
{
	int32_t *whole = window->counts + window->columns + 2;
	int64_t from = window->times[0] - row->longest_run, to = window->times[window->columns];
	uint32_t low = 0, high = row->run_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (thrum__bands_row_run(bands, row, middle).from < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < row->run_count; low++) {
		struct thrum__bands_span run = thrum__bands_row_run(bands, row, low);

		if (run.from >= to)
			break;
		if (run.to > window->times[0])
			spread(window, whole, run.from, run.to,
				thrum__bands_window_column(window, run.from),
				thrum__bands_window_column(window, run.to), cells, true);
	}
	add_whole(window, whole, cells, true);
}

/* ---- Questions ------------------------------------------------------------------------------ */

void thrum__bands_cells(const struct thrum__bands *bands, uint32_t group, unsigned class,
	unsigned classes, const struct thrum__bands_window *window, struct thrum__bands_cell *cells)
{
	memset(cells, 0, window->columns * sizeof *cells);
	if (window->columns == 0 || group >= bands->rows->group_count)
		return;
	for (unsigned i = class; i < class + classes; i++) {
		const struct thrum__bands_row *row;
		unsigned at = 0;

		while ((row = thrum__bands_next_row(bands, group, i, &at)))
			if (has_sums(row, window)) {
				cells_by_sums(bands, row, window, cells);
			} else {
				add_lines(bands, row, window, cells);
				add_runs(bands, row, window, cells);
			}
	}
}

/* Adds how many lines of a row are alive at the ends of the columns. */
static void add_alive(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, uint32_t *alive)
{
	const struct thrum__bands_rows *rows = bands->rows;
	int32_t *change = window->counts, count = 0;
	int64_t from = window->times[0], to = window->times[window->columns];

	for (uint32_t i = thrum__bands_row_from(rows, row, from - row->longest);
		i < row->first + row->count && rows->start[i] <= to; i++) {
		/* Alive at the end of column c: start <= times[c + 1] < end; or pending, up to the
		 * column in which the bands end. */
		uint32_t end = bands->to < to
			? thrum__bands_window_column(window, bands->to - 1) + 1
			: window->columns;

		if (rows->end[i] < from)
			continue;
		if (rows->end[i] <= to && !(rows->flags[i] & THRUM__LINE_PENDING))
			end = thrum__bands_window_column(window, rows->end[i] - 1);
		change[rows->start[i] <= from
				? 0
				: thrum__bands_window_column(window, rows->start[i] - 1)]++;
		change[end]--;
	}
	for (uint32_t i = 0; i <= window->columns; i++) {
		count += change[i];
		change[i] = 0;
		if (i < window->columns)
			alive[i] += (uint32_t)(count > 0 ? count : 0);
	}
}

static void add_alive_by_sums(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_window *window, uint32_t *alive)
{
	struct sums of = sums_of(bands->rows, row, window);
	double each = 1.0 / (double)of.slot;

	for (uint32_t i = 0; i < window->columns && window->times[i] < bands->to; i++) {
		uint32_t b = slots_before(bands, &of, window, each, i + 1);

		alive[i] += of.sums[b].begun - of.sums[b].ended;
	}
}

void thrum__bands_alive(const struct thrum__bands *bands, uint32_t group,
	const struct thrum__bands_window *window, uint32_t *alive)
{
	const struct thrum__bands_rows *rows = bands->rows;
	const struct thrum__bands_place *place;

	memset(alive, 0, window->columns * sizeof *alive);
	if (window->columns == 0 || group >= rows->group_count)
		return;
	place = &rows->places[group];
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];

		if (row->count == 0)
			continue;
		if (!has_sums(row, window)) {
			add_alive(bands, row, window, alive);
			continue;
		}
		add_alive_by_sums(bands, row, window, alive);
	}
}
