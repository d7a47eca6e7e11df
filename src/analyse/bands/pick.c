/* SPDX-License-Identifier: ISC */
/* The lines that an opened band shows. All lines of a window are counted and the best ones found from
 * blocks of lines, so that the cost hardly grows with the number of lines. */
#include <stdlib.h>

#include "analyse/bands/parts.h"

#define SAMPLE 64 /* lines of a class among which the median is looked for */

/* ---- The best lines so far ------------------------------------------------------------------ */

/* How much a line belongs into an opened band: the greatest first. */
static int64_t worth(int64_t length, bool is_first, bool is_whole)
{
	return is_first ? INT64_MAX / 2 + length / 4 : length / 8 + (is_whole ? INT64_MAX / 4 : 0);
}

static int by_start(const void *a, const void *b)
{
	const struct thrum__bands_line *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

/* The lines that are kept: a heap with the one on top that is the first to go. */
struct kept {
	struct thrum__bands_line *lines;
	uint32_t count, room;
	const struct thrum__bands_box *box;
	bool fails, should; /* failed lines, and pending ones, come first */
};

static int64_t worth_of(const struct kept *kept, const struct thrum__bands_line *line)
{
	return worth(line->end - line->start,
		(line->is_failed && kept->fails) || (line->is_pending && kept->should),
		line->start >= kept->box->from && line->end <= kept->box->to);
}

/* Whether line `a` goes before `b` does: it has less worth, or comes later. */
static bool goes_first(const struct kept *kept, const struct thrum__bands_line *a,
	const struct thrum__bands_line *b)
{
	int64_t worth_a = worth_of(kept, a), worth_b = worth_of(kept, b);

	return worth_a != worth_b ? worth_a < worth_b : by_start(a, b) > 0;
}

/* Puts a line where it belongs in the heap, at `at` or below. */
static void sink(struct kept *kept, uint32_t at, struct thrum__bands_line line)
{
	for (uint32_t child = 2 * at + 1; child < kept->count; child = 2 * at + 1) {
		if (child + 1 < kept->count &&
			goes_first(kept, &kept->lines[child + 1], &kept->lines[child]))
			child++;
		if (!goes_first(kept, &kept->lines[child], &line))
			break;
		kept->lines[at] = kept->lines[child];
		at = child;
	}
	kept->lines[at] = line;
}

/* Keeps a line, unless there is no room and it goes before all others. */
static void keep_line(struct kept *kept, const struct thrum__bands_line *line)
{
	uint32_t at = kept->count;

	if (kept->count == kept->room) {
		if (goes_first(kept, &kept->lines[0], line))
			sink(kept, 0, *line);
		return;
	}
	kept->count++;
	for (; at > 0 && goes_first(kept, line, &kept->lines[(at - 1) / 2]); at = (at - 1) / 2)
		kept->lines[at] = kept->lines[(at - 1) / 2];
	kept->lines[at] = *line;
}

/* ---- Rows in a box -------------------------------------------------------------------------- */

/* The lines of a row that a box may hold. */
struct reach {
	uint32_t first, sure,
		last; /* those from `sure` on are held; of the earlier ones only some */
};

static struct reach reach_of(const struct thrum__bands_rows *rows,
	const struct thrum__bands_row *row, const struct thrum__bands_box *box)
{
	struct reach reach = {thrum__bands_row_from(rows, row, box->from - row->longest), 0,
		thrum__bands_row_from(rows, row, box->to)};
	bool is_any = box->shortest >= box->longest ||
		(row->least >= box->shortest && row->longest < box->longest);

	reach.sure = is_any ? thrum__bands_row_from(rows, row, box->from - row->least) : reach.last;
	reach.sure = reach.sure < reach.last ? reach.sure : reach.last;
	return reach;
}

/* Counts the lines of a row that a box holds. Looks at as many as begin before the box, in a quarter of the
 * length of its lines. */
static uint32_t count_held(const struct thrum__bands_rows *rows, const struct thrum__bands_row *row,
	const struct thrum__bands_box *box)
{
	struct reach reach = reach_of(rows, row, box);
	uint32_t count = 0;

	for (uint32_t i = reach.first; i < reach.sure; i++) {
		struct thrum__bands_line line = thrum__bands_line_at(rows, i);

		count += thrum__bands_box_holds(box, &line);
	}
	return count + reach.last - reach.sure;
}

/* Counts the lines of a class in a box. */
static uint32_t count_class(const struct thrum__bands *bands, const struct thrum__bands_box *box,
	unsigned class)
{
	const struct thrum__bands_row *row;
	uint32_t count = 0;

	for (unsigned at = 0; (row = thrum__bands_next_row(bands, box->group, class, &at));)
		count += count_held(bands->rows, row, box);
	return count;
}

/* Counts the lines in a box, also by class. */
static uint32_t count_lines(const struct thrum__bands *bands, const struct thrum__bands_box *box,
	uint32_t counts[THRUM__BANDS_CLASSES])
{
	unsigned class, end;
	uint32_t count = 0;

	thrum__bands_box_classes(box, &class, &end);
	for (; class < end; class ++)
		count += counts[class] = count_class(bands, box, class);
	return count;
}

/* ---- The median ----------------------------------------------------------------------------- */

/* Lines of a class that are taken at even distances, or all of few. */
struct sample {
	struct thrum__bands_line lines[SAMPLE];
	uint32_t count, room, seen, all;
};

/* The next line to take, among all. */
static uint32_t wanted(const struct sample *sample)
{
	return (uint32_t)((uint64_t)sample->all * sample->count / sample->room);
}

static void take_row(struct sample *sample, const struct thrum__bands_rows *rows,
	const struct thrum__bands_row *row, const struct thrum__bands_box *box)
{
	struct reach reach = reach_of(rows, row, box);

	for (uint32_t i = reach.first; i < reach.sure; i++) {
		struct thrum__bands_line line = thrum__bands_line_at(rows, i);

		if (!thrum__bands_box_holds(box, &line))
			continue;
		if (sample->count < sample->room && sample->seen == wanted(sample))
			sample->lines[sample->count++] = line;
		sample->seen++;
	}
	while (sample->count < sample->room &&
		wanted(sample) - sample->seen < reach.last - reach.sure) {
		uint32_t at = reach.sure + wanted(sample) - sample->seen;

		sample->lines[sample->count++] = thrum__bands_line_at(rows, at);
	}
	sample->seen += reach.last - reach.sure;
}

static int by_length(const void *a, const void *b)
{
	const struct thrum__bands_line *x = a, *y = b;
	int64_t one = x->end - x->start, other = y->end - y->start;

	return one != other ? (one < other ? -1 : 1) : by_start(a, b);
}

/* Returns the median of the lines in a box. They are counted by class, and of many in its class some are
 * looked at. */
static struct thrum__bands_line find_middle(const struct thrum__bands *bands,
	const struct thrum__bands_box *box, const uint32_t counts[THRUM__BANDS_CLASSES],
	uint32_t in_sight)
{
	const struct thrum__bands_row *row;
	struct sample sample = {.count = 0};
	uint32_t left = in_sight / 2;
	unsigned class, end;

	thrum__bands_box_classes(box, &class, &end);
	for (; class < end; class ++) {
		sample.all = counts[class];
		if (left < sample.all)
			break;
		left -= sample.all;
	}
	sample.room = sample.all < SAMPLE ? sample.all : SAMPLE;
	for (unsigned at = 0; (row = thrum__bands_next_row(bands, box->group, class, &at));)
		take_row(&sample, bands->rows, row, box);
	qsort(sample.lines, sample.count, sizeof *sample.lines, by_length);
	return sample.lines[(uint64_t)left * sample.count / sample.all];
}

/* ---- Choosing ------------------------------------------------------------------------------- */

/* The worth that no line of a block exceeds. */
static int64_t most_worth(const struct kept *kept, const struct thrum__bands_row *row,
	const struct thrum__bands_longest *longest)
{
	if (kept->should && row->pending > 0)
		return worth(longest->any, true, true);
	return kept->fails && longest->failed >= 0 ? worth(longest->failed, true, true)
						   : worth(longest->any, false, true);
}

/* Keeps the lines of a row that have the most worth. Looks only into blocks that may have some. */
static void keep_lines(struct kept *kept, const struct thrum__bands_rows *rows,
	const struct thrum__bands_row *row)
{
	struct reach reach = reach_of(rows, row, kept->box);

	for (uint32_t at = reach.first, end; at < reach.last; at = end) {
		uint32_t block = at / THRUM__BANDS_BLOCK;

		end = (block + 1) * THRUM__BANDS_BLOCK;
		end = end < reach.last ? end : reach.last;
		if (kept->count == kept->room &&
			most_worth(kept, row, &rows->longest[block]) <=
				worth_of(kept, &kept->lines[0]))
			continue;
		for (uint32_t i = at; i < end; i++) {
			struct thrum__bands_line line = thrum__bands_line_at(rows, i);

			if (thrum__bands_box_holds(kept->box, &line))
				keep_line(kept, &line);
		}
	}
}

/* Keeps the lines of a box that have the most worth, which mostly are the longest. */
static void choose_lines(struct kept *kept, const struct thrum__bands *bands)
{
	const struct thrum__bands_row *row;
	unsigned first, class, at;

	thrum__bands_box_classes(kept->box, &first, &class);
	while (class -- > first)
		for (at = 0; (row = thrum__bands_next_row(bands, kept->box->group, class, &at));)
			keep_lines(kept, bands->rows, row);
}

uint32_t thrum__bands_pick(const struct thrum__bands *bands, const struct thrum__bands_box *box,
	struct thrum__bands_line *lines, uint32_t most, uint32_t *in_sight)
{
	const struct thrum__group *group = &bands->family.groups[box->group];
	struct kept kept = {.lines = lines,
		.room = most,
		.box = box,
		.fails = !thrum__bands_nearly_all_fail(group),
		.should = group->should > group->lines / 2};
	uint32_t counts[THRUM__BANDS_CLASSES];
	bool is_there = false;

	*in_sight = count_lines(bands, box, counts);
	choose_lines(&kept, bands);
	if (*in_sight > most && most > 1) {
		struct thrum__bands_line middle = find_middle(bands, box, counts, *in_sight);

		middle.is_median = true;
		for (uint32_t i = 0; i < kept.count; i++) {
			lines[i].is_median = lines[i].task == middle.task;
			is_there = is_there || lines[i].is_median;
		}
		if (!is_there)
			lines[0] = middle; /* for the one with the least worth */
	}
	qsort(lines, kept.count, sizeof *lines, by_start);
	return kept.count;
}
