/* SPDX-License-Identifier: ISC */
/* Rates, percentiles and failures of the lines that ended in a time, and the differences of two times. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "base/sort.h"

#define EXACT_MOST 100000 /* lines of a group for exact percentiles */
#define SMALL_PART 10   /* half of the lines of a small group's last over this part of the trace */
#define DIFFER_LINES 20 /* lines that a difference needs */
#define DIFFER_SLOW 100 /* lines that a difference of the slowest needs, in both times */
#define DIFFER_RATIO 1.3

/* ---- Lines that ended ----------------------------------------------------------------------- */

/* How many lines of each class ended in a time, and of all. */
struct ends {
	const struct thrum__bands *bands;
	const struct thrum__bands_time *time;
	uint32_t group;
	uint32_t count[THRUM__BANDS_CLASSES], ended, failed;
};

/* Whether a line's end lies in a part of a time. The last moment of the bands belongs to a part that
 * reaches up to it. */
static bool is_in(const struct thrum__bands *bands, const struct thrum__bands_time *time, int part,
	int64_t end)
{
	return end >= time->from[part] &&
		(end < time->to[part] || (end == bands->to && time->to[part] == bands->to));
}

/* Counts the lines of a row that ended in a part, one by one; copies their lengths to `lengths` (NULL:
 * doesn't), which has room for them. */
static uint32_t count_ends(struct ends *ends, const struct thrum__bands_row *row, int part,
	int64_t *lengths, uint32_t *failed)
{
	const struct thrum__bands_rows *rows = ends->bands->rows;
	int64_t from = ends->time->from[part], to = ends->time->to[part];
	uint32_t count = 0;

	if (from >= to)
		return 0;
	for (uint32_t i = thrum__bands_row_from(rows, row, from - row->longest);
		i < row->first + row->count && rows->start[i] <= to; i++) {
		if ((rows->flags[i] & THRUM__LINE_PENDING) ||
			!is_in(ends->bands, ends->time, part, rows->end[i]))
			continue;
		*failed += (rows->flags[i] & THRUM__LINE_FAILED) > 0;
		if (lengths)
			lengths[count] = rows->end[i] - rows->start[i];
		count++;
	}
	return count;
}

/* The same by the sums of the row's slots. */
static uint32_t sum_ends(const struct ends *ends, const struct thrum__bands_row *row, int part,
	uint32_t *failed)
{
	const struct thrum__bands *bands = ends->bands;
	int64_t from = ends->time->from[part], to = ends->time->to[part];
	uint32_t a, b;

	if (from >= to)
		return 0;
	a = from <= bands->from ? 0 : thrum__bands_slot(bands, row, from);
	b = to >= bands->to ? row->slots : thrum__bands_slot(bands, row, to);
	*failed += bands->rows->sums[row->first_slot + b].failed -
		bands->rows->sums[row->first_slot + a].failed;
	return bands->rows->sums[row->first_slot + b].ended -
		bands->rows->sums[row->first_slot + a].ended;
}

/* Counts the lines by class. `exactly`: one by one, else by sums where a row has them. */
static void count_classes(struct ends *ends, bool exactly)
{
	memset(ends->count, 0, sizeof ends->count);
	ends->ended = ends->failed = 0;
	for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++) {
		const struct thrum__bands_row *row = thrum__bands_row(ends->bands, ends->group,
			class);

		for (int part = 0; row && row->count > 0 && part < 2; part++)
			ends->count[class] += exactly || row->slots == 0
				? count_ends(ends, row, part, NULL, &ends->failed)
				: sum_ends(ends, row, part, &ends->failed);
		ends->ended += ends->count[class];
	}
}

/* The length of rank `rank` among the lines, by proportion within its class: as good as its class is
 * narrow. */
static int64_t length_about(const struct ends *ends, unsigned class, uint32_t rank)
{
	int64_t low = thrum__bands_bound(class), high = thrum__bands_bound(class + 1);

	return low + (int64_t)((double)(high - low) * (rank + 0.5) / ends->count[class]);
}

/* The length at a percentile of the lines, by the nearest rank. */
static int64_t length_at(struct ends *ends, unsigned percent, bool exactly)
{
	uint64_t rank = ((uint64_t)ends->ended * percent + 99) / 100;
	const struct thrum__bands_row *row;
	int64_t *lengths, length;
	uint32_t count = 0, failed = 0;
	unsigned class = 0;

	if (ends->ended == 0)
		return 0;
	rank = rank > 0 ? rank - 1 : 0;
	while (class + 1 < THRUM__BANDS_CLASSES && rank >= ends->count[class])
		rank -= ends->count[class ++];
	lengths = exactly ? malloc(ends->count[class] * sizeof *lengths) : NULL;
	if (!lengths)
		return length_about(ends, class, (uint32_t)rank);
	row = thrum__bands_row(ends->bands, ends->group, class);
	for (int part = 0; part < 2; part++)
		count += count_ends(ends, row, part, lengths + count, &failed);
	length = thrum__base_select(lengths, count, (uint32_t)rank);
	free(lengths);
	return length;
}

/* ---- Numbers -------------------------------------------------------------------------------- */

/* Counts the lines of a row that are alive in a time, and those that are pending and began in it. */
static void count_alive(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	const struct thrum__bands_time *time, struct thrum__bands_numbers *numbers)
{
	const struct thrum__bands_rows *rows = bands->rows;

	for (int part = 0; part < 2; part++) {
		if (time->from[part] >= time->to[part])
			continue;
		if (row->slots > 0 && row->pending == 0) {
			uint32_t a = thrum__bands_slot(bands, row, time->from[part]);
			uint32_t b = thrum__bands_slot(bands, row, time->to[part]) + 1;

			numbers->touched += rows->sums[row->first_slot + b].begun -
				rows->sums[row->first_slot + a].ended;
			continue;
		}
		for (uint32_t i = thrum__bands_row_from(rows, row, time->from[part] - row->longest);
			i < row->first + row->count && rows->start[i] < time->to[part]; i++) {
			numbers->touched += rows->end[i] >= time->from[part];
			numbers->pending += (rows->flags[i] & THRUM__LINE_PENDING) &&
				rows->start[i] >= time->from[part];
		}
	}
}

uint32_t thrum__bands_touched(const struct thrum__bands *bands, uint32_t group, int64_t from,
	int64_t to)
{
	const struct thrum__bands_time time = {{from, 0}, {to, 0}};
	struct thrum__bands_numbers numbers = {0};
	const struct thrum__bands_place *place;

	if (group >= bands->rows->group_count)
		return 0;
	place = &bands->rows->places[group];
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++)
		count_alive(bands, &bands->rows->rows[place->first + i], &time, &numbers);
	return numbers.touched;
}

void thrum__bands_numbers(const struct thrum__bands *bands, uint32_t group,
	const struct thrum__bands_time *time, struct thrum__bands_numbers *numbers)
{
	struct ends ends = {.bands = bands, .time = time, .group = group};
	const struct thrum__bands_place *place;
	double seconds = 0;
	bool exactly;

	*numbers = (struct thrum__bands_numbers){0};
	if (group >= bands->rows->group_count)
		return;
	place = &bands->rows->places[group];
	count_classes(&ends, false);
	exactly = ends.ended <= EXACT_MOST;
	if (exactly)
		count_classes(&ends, true);
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++)
		count_alive(bands, &bands->rows->rows[place->first + i], time, numbers);
	for (int part = 0; part < 2; part++)
		if (time->to[part] > time->from[part])
			seconds += (double)(time->to[part] - time->from[part]) / 1e9;
	numbers->ended = ends.ended;
	numbers->failed = ends.failed;
	numbers->rate = seconds > 0 ? ends.ended / seconds : 0;
	numbers->half = length_at(&ends, 50, exactly);
	numbers->slow = length_at(&ends, 99, exactly);
	numbers->all_failed = ends.ended > 0 && ends.failed >= 0.98 * ends.ended;
}

/* ---- Usual lines ---------------------------------------------------------------------------- */

static bool has_resolved(const struct thrum__bands_rows *rows, uint32_t line)
{
	return !(rows->flags[line] & (THRUM__LINE_FAILED | THRUM__LINE_PENDING));
}

/* The line of a row of rank `rank` by length among those that resolved. */
static uint32_t line_at_rank(const struct thrum__bands_rows *rows,
	const struct thrum__bands_row *row, uint32_t rank)
{
	int64_t *lengths = malloc(((size_t)row->count + 1) * sizeof *lengths), length = -1;
	uint32_t count = 0, end = row->first + row->count;

	for (uint32_t i = row->first; lengths && i < end; i++)
		if (has_resolved(rows, i))
			lengths[count++] = rows->end[i] - rows->start[i];
	if (count > rank)
		length = thrum__base_select(lengths, count, rank);
	free(lengths);
	for (uint32_t i = row->first; i < end; i++)
		if (has_resolved(rows, i) &&
			(length < 0 || rows->end[i] - rows->start[i] == length))
			return rows->task[i];
	return THRUM__NONE;
}

uint32_t thrum__bands_usual(const struct thrum__bands *bands, uint32_t group, uint32_t *resolved)
{
	const struct thrum__bands_rows *rows = bands->rows;
	const struct thrum__bands_place *place;
	uint32_t counts[THRUM__BANDS_CLASSES] = {0}, rank;

	*resolved = 0;
	if (group >= rows->group_count)
		return THRUM__NONE;
	place = &rows->places[group];
	for (unsigned i = 0; i < place->ended.count; i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];

		for (uint32_t j = row->first; j < row->first + row->count; j++)
			counts[i] += has_resolved(rows, j);
		*resolved += counts[i];
	}
	rank = *resolved > 0 ? (*resolved - 1) / 2 : 0;
	for (unsigned i = 0; *resolved > 0 && i < place->ended.count; i++) {
		if (rank < counts[i])
			return line_at_rank(rows, &rows->rows[place->first + i], rank);
		rank -= counts[i];
	}
	return THRUM__NONE;
}

/* Goes through the lines of a group that ended in a time and did not fail, and writes each `each`th of
 * them. Returns how many there are. */
static uint32_t walk_resolved(const struct thrum__bands *bands, uint32_t group,
	const struct thrum__bands_time *time, uint32_t each, uint32_t *tasks, uint32_t most)
{
	const struct thrum__bands_rows *rows = bands->rows;
	uint32_t count = 0;

	for (unsigned class = 0; class < THRUM__BANDS_CLASSES; class ++) {
		const struct thrum__bands_row *row = thrum__bands_row(bands, group, class);

		for (int part = 0; row && part < 2; part++) {
			uint32_t i = thrum__bands_row_from(rows, row,
				time->from[part] - row->longest);

			if (time->from[part] >= time->to[part])
				continue;
			for (; i < row->first + row->count && rows->start[i] <= time->to[part];
				i++) {
				if (!has_resolved(rows, i) ||
					!is_in(bands, time, part, rows->end[i]))
					continue;
				if (tasks && count % each == 0 && count / each < most)
					tasks[count / each] = rows->task[i];
				count++;
			}
		}
	}
	return count;
}

uint32_t thrum__bands_sample(const struct thrum__bands *bands, uint32_t group,
	const struct thrum__bands_time *time, uint32_t *tasks, uint32_t most)
{
	uint32_t count, each;

	if (group >= bands->rows->group_count || most == 0)
		return 0;
	count = walk_resolved(bands, group, time, 1, NULL, 0);
	each = count / most + (count % most > 0);
	if (count > 0)
		walk_resolved(bands, group, time, each, tasks, most);
	return count > 0 ? (count + each - 1) / each : 0;
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* The length of a group's line of rank `rank`, pending ones included. */
static int64_t length_of(const struct thrum__bands *bands, uint32_t group, uint64_t rank,
	int64_t *lengths)
{
	const struct thrum__bands_rows *rows = bands->rows;
	const struct thrum__bands_row *row;
	uint32_t count = 0;
	unsigned class = 0, at = 0;

	for (;; class ++, at = 0) {
		uint32_t in_class = 0;

		while ((row = thrum__bands_next_row(bands, group, class, &at)))
			in_class += row->count;
		if (rank < in_class)
			break;
		rank -= in_class;
	}
	at = 0;
	while ((row = thrum__bands_next_row(bands, group, class, &at)))
		for (uint32_t i = row->first; i < row->first + row->count; i++)
			lengths[count++] = rows->end[i] - rows->start[i];
	return thrum__base_select(lengths, count, (uint32_t)rank);
}

/* Finds the median and so on of all lines of a group, pending ones included. */
static int measure_group(const struct thrum__bands *bands, uint32_t number, int64_t *lengths)
{
	struct thrum__group *group = &bands->family.groups[number];
	const struct thrum__bands_place *place = &bands->rows->places[number];
	const uint32_t percents[] = {1, 50, 99};
	int64_t *results[] = {&group->low, &group->median, &group->slow};

	for (int i = 0; i < 3; i++) {
		uint64_t rank = ((uint64_t)group->lines * percents[i] + 99) / 100;

		*results[i] = length_of(bands, number, rank > 0 ? rank - 1 : 0, lengths);
	}
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++)
		if (bands->rows->rows[place->first + i].longest > group->longest)
			group->longest = bands->rows->rows[place->first + i].longest;
	group->low = group->low > 0 ? group->low : 1;
	group->longest = group->longest > 0 ? group->longest : 1;
	group->size = group->should > group->lines / 2                   ? THRUM__GROUP_LARGE
		: group->median > (bands->to - bands->from) / SMALL_PART ? THRUM__GROUP_SMALL
									 : THRUM__GROUP_MIDDLE;
	return 0;
}

int thrum__bands_measure_groups(struct thrum__bands *bands)
{
	uint32_t most = 0;
	int64_t *lengths;

	for (uint32_t i = 0; i < bands->rows->row_count; i++)
		if (bands->rows->rows[i].count > most)
			most = bands->rows->rows[i].count;
	/* A class has a row of lines that ended, and one of pending ones. */
	lengths = malloc((2 * (size_t)most + 1) * sizeof *lengths);
	if (!lengths)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < bands->family.group_count; i++)
		if (bands->family.groups[i].lines > 0)
			measure_group(bands, i, lengths);
	free(lengths);
	return 0;
}

/* ---- Differences ---------------------------------------------------------------------------- */

static double ratio_of(const struct thrum__bands_difference *difference)
{
	double ratio = difference->here / difference->other;

	return ratio < 1 ? 1 / ratio : ratio;
}

/* Adds a difference to those so far, the greatest first, if it is great enough. */
static uint32_t add_difference(struct thrum__bands_difference *differences, uint32_t count,
	uint32_t group, uint8_t measure, double here, double other)
{
	struct thrum__bands_difference difference = {group, measure, here, other};
	uint32_t at = count;

	if (here <= 0 || other <= 0 || ratio_of(&difference) < DIFFER_RATIO)
		return count;
	while (at > 0 && ratio_of(&differences[at - 1]) < ratio_of(&difference))
		at--;
	if (at >= THRUM__BANDS_DIFFERENCES)
		return count;
	count += count < THRUM__BANDS_DIFFERENCES;
	for (uint32_t i = count - 1; i > at; i--)
		differences[i] = differences[i - 1];
	differences[at] = difference;
	return count;
}

uint32_t thrum__bands_differences(const struct thrum__bands *bands,
	const struct thrum__bands_time *here, const struct thrum__bands_time *other,
	struct thrum__bands_difference differences[THRUM__BANDS_DIFFERENCES])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < bands->family.shown_count; i++) {
		uint32_t group = bands->family.shown[i];
		struct thrum__bands_numbers a, b;

		if (bands->family.groups[group].size == THRUM__GROUP_SMALL)
			continue;
		thrum__bands_numbers(bands, group, here, &a);
		thrum__bands_numbers(bands, group, other, &b);
		if (a.ended < DIFFER_LINES || b.ended == 0)
			continue;
		count = add_difference(differences, count, group, THRUM__BANDS_HALF, (double)a.half,
			(double)b.half);
		if (a.ended >= DIFFER_SLOW && b.ended >= DIFFER_SLOW)
			count = add_difference(differences, count, group, THRUM__BANDS_SLOW,
				(double)a.slow, (double)b.slow);
		count = add_difference(differences, count, group, THRUM__BANDS_RATE, a.rate,
			b.rate);
		count = add_difference(differences, count, group, THRUM__BANDS_FAILED,
			(double)a.failed / a.ended, (double)b.failed / b.ended);
	}
	return count;
}
