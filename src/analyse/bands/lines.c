/* SPDX-License-Identifier: ISC */
/* Single lines: those in a time, a line's neighbours, and the exceptions. */
#include "analyse/bands/parts.h"

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
			*line = thrum__bands_line_at(rows, walk->at++);
			return true;
		}
	}
	return false;
}

/* ---- Nearest lines -------------------------------------------------------------------------- */

bool thrum__bands_is_empty(const struct thrum__bands *bands, uint32_t group, int64_t from,
	int64_t to, int64_t *before, int64_t *after)
{
	const struct thrum__bands_rows *rows = bands->rows;
	const struct thrum__bands_place *place = &rows->places[group];

	for (unsigned i = 0; i < thrum__bands_row_count(place); i++) {
		const struct thrum__bands_row *row = &rows->rows[place->first + i];
		uint32_t at = thrum__bands_row_from(rows, row, to);

		if (at < row->first + row->count && rows->start[at] < *after)
			*after = rows->start[at];
		/* Lines that began still earlier end before the latest end so far. */
		while (at > row->first && rows->start[at - 1] + row->longest > *before) {
			at--;
			*before = rows->end[at] > *before ? rows->end[at] : *before;
			if (*before >= from)
				return false;
		}
	}
	return true;
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
	*line = thrum__bands_line_at(bands->rows, at);
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

static bool is_exception(const struct thrum__bands_rows *rows, const struct thrum__group *group,
	uint32_t at)
{
	if ((rows->flags[at] & THRUM__LINE_FAILED) && !thrum__bands_nearly_all_fail(group))
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
