/* SPDX-License-Identifier: ISC */
/* Single lines: those in a time, a line's neighbours, and the exceptions. */
#include <stdlib.h>

#include "analyse/bands/parts.h"
#include "base/sort.h"

static struct thrum__bands_line line_at(const struct thrum__bands_rows *rows, uint32_t at)
{
	return (struct thrum__bands_line){
		.task = rows->task[at],
		.start = rows->start[at],
		.end = rows->end[at],
		.is_failed = rows->flags[at] & THRUM__LINE_FAILED,
		.is_pending = rows->flags[at] & THRUM__LINE_PENDING,
	};
}

/* ---- Walks ---------------------------------------------------------------------------------- */

/* Goes to the first line that may touch the walk's time in its class' next row, or in the next class. */
static void enter_row(struct thrum__bands_walk *walk)
{
	for (; walk->class < walk->end; walk->class ++, walk->row = 0) {
		const struct thrum__bands_row *row;

		while ((row = thrum__bands_next_row(walk->bands, walk->group, walk->class,
				&walk->row))) {
			walk->at = thrum__bands_row_from(walk->bands->rows, row,
				walk->from - row->longest);
			walk->last = row->first + row->count;
			if (walk->at < walk->last)
				return;
		}
	}
}

void thrum__bands_walk_begin(struct thrum__bands_walk *walk, const struct thrum__bands *bands,
	uint32_t group, unsigned class, unsigned classes, int64_t from, int64_t to)
{
	*walk = (struct thrum__bands_walk){
		.bands = bands,
		.group = group,
		.class = class,
		.end = group < bands->rows->group_count ? class + classes : class,
		.from = from,
		.to = to,
	};
	enter_row(walk);
}

bool thrum__bands_walk_next(struct thrum__bands_walk *walk, struct thrum__bands_line *line)
{
	const struct thrum__bands_rows *rows = walk->bands->rows;

	while (walk->class < walk->end) {
		if (walk->at >= walk->last || rows->start[walk->at] >= walk->to) {
			enter_row(walk);
		} else if (rows->end[walk->at] < walk->from) {
			walk->at++;
		} else {
			*line = line_at(rows, walk->at++);
			return true;
		}
	}
	return false;
}

/* ---- One line ------------------------------------------------------------------------------- */

/* The place of a line that begins with a task, in the columns of lines; NONE if there is none. */
static uint32_t find_line(const struct thrum__bands *bands, uint32_t task)
{
	const struct thrum__bands_rows *rows = bands->rows;
	uint32_t group = thrum__family_group(&bands->family, task);
	const struct thrum__bands_place *place;
	int64_t start;

	if (group >= rows->group_count || !thrum__model_has_row(&bands->model->tasks, task))
		return THRUM__NONE;
	place = &rows->places[group];
	start = THRUM__TASK(bands->model, task, start);
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];
		uint32_t last = row->first + row->count;

		/* Mostly the line begins with the task; else with one that became it. */
		for (uint32_t at = thrum__bands_row_from(rows, row, start);
			at < last && rows->start[at] == start; at++)
			if (rows->task[at] == task)
				return at;
	}
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];

		for (uint32_t at = row->first; at < row->first + row->count; at++)
			if (rows->task[at] == task)
				return at;
	}
	return THRUM__NONE;
}

bool thrum__bands_line_of(const struct thrum__bands *bands, uint32_t task,
	struct thrum__bands_line *line, uint32_t *group)
{
	uint32_t first = thrum__family_line(&bands->family, task), at;

	if (first == THRUM__NONE)
		return false;
	at = find_line(bands, first);
	if (at == THRUM__NONE)
		return false;
	*line = line_at(bands->rows, at);
	*group = thrum__family_group(&bands->family, first);
	return true;
}

/* Whether line `a` comes before `b` by start. */
static bool starts_before(const struct thrum__bands_rows *rows, uint32_t a, uint32_t b)
{
	return rows->start[a] != rows->start[b] ? rows->start[a] < rows->start[b]
						: rows->task[a] < rows->task[b];
}

uint32_t thrum__bands_neighbour(const struct thrum__bands *bands, uint32_t task, int step)
{
	const struct thrum__bands_rows *rows = bands->rows;
	uint32_t first = thrum__family_line(&bands->family, task), best = THRUM__NONE, own;
	const struct thrum__bands_place *place;

	own = first == THRUM__NONE ? THRUM__NONE : find_line(bands, first);
	if (own == THRUM__NONE)
		return THRUM__NONE;
	place = &rows->places[thrum__family_group(&bands->family, first)];
	for (unsigned i = 0; i < thrum__bands_row_count(place); i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];
		uint32_t at = thrum__bands_row_from(rows, row, rows->start[own]);
		uint32_t last = row->first + row->count;

		/* Lines of the same start are by task. */
		while (at < last && (at == own || starts_before(rows, at, own)))
			at++;
		if (step < 0) {
			while (at > row->first && !starts_before(rows, at - 1, own))
				at--;
			if (at == row->first)
				continue;
			at--;
		} else if (at == last) {
			continue;
		}
		if (best == THRUM__NONE || starts_before(rows, at, best) == (step > 0))
			best = at;
	}
	return best == THRUM__NONE ? THRUM__NONE : rows->task[best];
}

/* ---- Exceptions ----------------------------------------------------------------------------- */

static bool nearly_all_fail(const struct thrum__group *group)
{
	return group->failed >= group->lines - group->lines / 50;
}

static bool is_exception(const struct thrum__bands_rows *rows, const struct thrum__group *group,
	uint32_t at)
{
	if ((rows->flags[at] & THRUM__LINE_FAILED) && !nearly_all_fail(group))
		return true;
	if ((rows->flags[at] & THRUM__LINE_PENDING) && (rows->flags[at] & THRUM__LINE_SHOULD))
		return true;
	return rows->end[at] - rows->start[at] > group->slow;
}

/* The search for an exception in the order of ends, and of tasks where ends are equal. */
struct exceptions {
	const struct thrum__bands *bands;
	int64_t end;
	uint32_t task, best;
	int step;
};

static bool ends_before(int64_t end_a, uint32_t task_a, int64_t end_b, uint32_t task_b)
{
	return end_a != end_b ? end_a < end_b : task_a < task_b;
}

/* Looks whether a line comes next. */
static void try_line(struct exceptions *search, const struct thrum__group *group, uint32_t at)
{
	const struct thrum__bands_rows *rows = search->bands->rows;
	int64_t end = rows->end[at];
	uint32_t task = rows->task[at];
	bool is_beyond = search->step > 0 ? ends_before(search->end, search->task, end, task)
					  : ends_before(end, task, search->end, search->task);

	if (!is_beyond || !is_exception(rows, group, at))
		return;
	if (search->best == THRUM__NONE ||
		ends_before(end, task, rows->end[search->best], rows->task[search->best]) ==
			(search->step > 0))
		search->best = at;
}

static void search_group(struct exceptions *search, uint32_t number)
{
	const struct thrum__bands_rows *rows = search->bands->rows;
	const struct thrum__group *group = &search->bands->family.groups[number];
	const struct thrum__bands_place *place = &rows->places[number];

	for (unsigned i = 0; i < thrum__bands_row_count(place); i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];

		if (row->failed == 0 && row->pending == 0 && row->longest <= group->slow)
			continue;
		for (uint32_t at = row->first; at < row->first + row->count; at++)
			try_line(search, group, at);
	}
}

uint32_t thrum__bands_exception(const struct thrum__bands *bands, uint32_t group, uint32_t task,
	int64_t time, int step)
{
	struct exceptions search = {bands, time, step > 0 ? 0 : THRUM__NONE, THRUM__NONE, step};
	uint32_t first = thrum__family_line(&bands->family, task);
	uint32_t own = first == THRUM__NONE ? THRUM__NONE : find_line(bands, first);

	if (own != THRUM__NONE) {
		search.end = bands->rows->end[own];
		search.task = bands->rows->task[own];
	}
	if (group != THRUM__NONE && group < bands->rows->group_count)
		search_group(&search, group);
	for (uint32_t i = 0; group == THRUM__NONE && i < bands->family.shown_count; i++)
		search_group(&search, bands->family.shown[i]);
	return search.best == THRUM__NONE ? THRUM__NONE : bands->rows->task[search.best];
}

/* ---- The lines of an opened band ------------------------------------------------------------ */

/* How much a line belongs into an opened band: the greatest first. */
static int64_t worth(const struct thrum__bands_line *line, bool should,
	const struct thrum__bands_box *box)
{
	int64_t length = line->end - line->start;

	if (line->is_failed || (line->is_pending && should))
		return INT64_MAX / 2 + length / 4;
	return line->start >= box->from && line->end <= box->to ? INT64_MAX / 4 + length / 8
								: length / 8;
}

/* The median of the lines in a box, by class and start: lines are walked by class, so that the one in
 * the middle is about the median. */
static bool find_median(const struct thrum__bands *bands, const struct thrum__bands_box *box,
	uint32_t count, struct thrum__bands_line *line)
{
	struct thrum__bands_walk walk;

	thrum__bands_box_begin(&walk, bands, box);
	for (uint32_t i = 0; thrum__bands_box_next(&walk, box, line); i++)
		if (i == count / 2)
			return true;
	return false;
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

/* Whether line `a` goes before `b` does: it has less worth, or comes later. */
static bool goes_first(const struct kept *kept, const struct thrum__bands_line *a,
	const struct thrum__bands_line *b)
{
	struct thrum__bands_line x = *a, y = *b;
	int64_t worth_a, worth_b;

	x.is_failed = x.is_failed && kept->fails;
	y.is_failed = y.is_failed && kept->fails;
	worth_a = worth(&x, kept->should, kept->box);
	worth_b = worth(&y, kept->should, kept->box);
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
		if (kept->room > 0 && goes_first(kept, &kept->lines[0], line))
			sink(kept, 0, *line);
		return;
	}
	kept->count++;
	for (; at > 0 && goes_first(kept, line, &kept->lines[(at - 1) / 2]); at = (at - 1) / 2)
		kept->lines[at] = kept->lines[(at - 1) / 2];
	kept->lines[at] = *line;
}

uint32_t thrum__bands_pick(const struct thrum__bands *bands, const struct thrum__bands_box *box,
	struct thrum__bands_line *lines, uint32_t most, uint32_t *in_sight)
{
	const struct thrum__group *group = box->group < bands->rows->group_count
		? &bands->family.groups[box->group]
		: NULL;
	struct kept kept = {.lines = lines,
		.room = most,
		.box = box,
		.fails = group && !nearly_all_fail(group),
		.should = group && group->should > group->lines / 2};
	struct thrum__bands_walk walk;
	struct thrum__bands_line line;
	uint32_t count = 0;

	thrum__bands_box_begin(&walk, bands, box);
	for (; thrum__bands_box_next(&walk, box, &line); count++)
		keep_line(&kept, &line);
	*in_sight = count;
	if (count > most && most > 1 && find_median(bands, box, count, &line)) {
		bool is_there = false;

		for (uint32_t i = 0; i < kept.count; i++)
			is_there = is_there || lines[i].task == line.task;
		if (!is_there)
			lines[0] = line; /* for the one with the least worth */
	}
	qsort(lines, kept.count, sizeof *lines, by_start);
	return kept.count;
}
