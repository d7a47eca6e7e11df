/* SPDX-License-Identifier: ISC */
/* Sorts the lines and their runs into rows by group and class. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "analyse/slow/path.h"
#include "base/sort.h"
#include "base/time.h"

/* The lines in the order of their tasks, while they are sorted. */
struct lines {
	struct thrum__bands *bands;
	uint32_t *row_of; /* by place of tasks: the row of the line for which it works, or NONE */
	uint32_t *task;
	int64_t *start, *end;
	uint8_t *flags, *class;
	uint32_t count, room;
	uint32_t *heads;
};

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Notes the line that begins with a task. */
static void add_line(struct lines *lines, uint32_t task)
{
	const struct thrum__bands *bands = lines->bands;
	const struct thrum__model *model = bands->model;
	uint32_t heir = thrum__model_heir(model, task), at = lines->count++;
	uint32_t head = lines->heads[task];
	int64_t end = thrum__family_end(model, heir);
	uint8_t flags = 0;

	if (THRUM__TASK(model, heir, state) == THRUM__STATE_FAILED)
		flags |= THRUM__LINE_FAILED;
	if (end == THRUM__OPEN)
		flags |= THRUM__LINE_PENDING;
	if ((THRUM__TASK(model, task, flags) | THRUM__TASK(model, heir, flags)) &
		THRUM__TASK_SHOULD_RESOLVE)
		flags |= THRUM__LINE_SHOULD;
	lines->task[at] = task;
	lines->flags[at] = flags;
	lines->start[at] = THRUM__TASK(model,
		thrum__model_has_row(&model->tasks, head) ? head : task, start);
	lines->end[at] = end == THRUM__OPEN ? bands->to : end;
	if (lines->end[at] < lines->start[at])
		lines->end[at] = lines->start[at];
	lines->class[at] = (uint8_t)thrum__bands_class(lines->end[at] - lines->start[at]);
}

static int find_lines(struct lines *lines)
{
	const struct thrum__family *family = &lines->bands->family;
	const struct thrum__model *model = lines->bands->model;
	size_t room = 1;

	for (uint32_t i = 0; i < family->group_count; i++)
		room += family->groups[i].lines;
	lines->task = malloc(room * sizeof *lines->task);
	lines->start = malloc(room * sizeof *lines->start);
	lines->end = malloc(room * sizeof *lines->end);
	lines->flags = malloc(room);
	lines->class = malloc(room);
	lines->row_of = malloc(family->places.count * sizeof *lines->row_of);
	if (!lines->task || !lines->start || !lines->end || !lines->flags || !lines->class ||
		!lines->row_of || thrum__slow_heads_make(model, &lines->heads) < 0)
		return -THRUM_E_MEMORY;
	THRUM__EACH_TASK (model, i)
		if (thrum__family_is_line(family, i))
			add_line(lines, i);
	free(lines->heads);
	lines->heads = NULL;
	return 0;
}

static void lines_free(struct lines *lines)
{
	free(lines->task);
	free(lines->start);
	free(lines->end);
	free(lines->flags);
	free(lines->class);
	free(lines->row_of);
	free(lines->heads);
}

static void widen(struct thrum__bands_classes *classes, uint8_t class)
{
	uint8_t last = (uint8_t)(classes->class + classes->count);

	if (classes->count == 0) {
		classes->class = class;
		last = class;
	} else if (class < classes->class) {
		classes->class = class;
	}
	last = class >= last ? class + 1 : last;
	classes->count = last - classes->class;
}

static void set_classes(struct thrum__bands_row *rows, const struct thrum__bands_classes *classes)
{
	for (unsigned i = 0; i < classes->count; i++)
		rows[i].class = classes->class + i;
}

/* Makes empty rows for the classes of each group, from its least to its greatest. */
static int make_rows(struct lines *lines)
{
	const struct thrum__family *family = &lines->bands->family;
	struct thrum__bands_rows *rows = lines->bands->rows;
	uint32_t count = 0;

	rows->group_count = family->group_count;
	rows->places = calloc((size_t)family->group_count + 1, sizeof *rows->places);
	if (!rows->places)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < lines->count; i++) {
		struct thrum__bands_place *place =
			&rows->places[thrum__family_group(family, lines->task[i])];
		widen(lines->flags[i] & THRUM__LINE_PENDING ? &place->pending : &place->ended,
			lines->class[i]);
	}
	for (uint32_t i = 0; i < family->group_count; i++) {
		rows->places[i].first = count;
		count += thrum__bands_row_count(&rows->places[i]);
	}
	rows->rows = calloc((size_t)count + 1, sizeof *rows->rows);
	rows->row_count = count;
	if (!rows->rows)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < family->group_count; i++) {
		const struct thrum__bands_place *place = &rows->places[i];

		set_classes(rows->rows + place->first, &place->ended);
		set_classes(rows->rows + place->first + place->ended.count, &place->pending);
	}
	return 0;
}

/* The row of a line that is to be sorted. */
static uint32_t row_of_line(const struct lines *lines, uint32_t line)
{
	const struct thrum__bands_place *place =
		&lines->bands->rows
			 ->places[thrum__family_group(&lines->bands->family, lines->task[line])];

	return lines->flags[line] & THRUM__LINE_PENDING
		? place->first + place->ended.count + lines->class[line] - place->pending.class
		: place->first + lines->class[line] - place->ended.class;
}

/* Puts a line behind the last one of its row. */
static void put_line(struct thrum__bands_rows *rows, struct thrum__bands_row *row,
	const struct lines *lines, uint32_t line)
{
	uint32_t at = row->first + row->count++;
	int64_t length = lines->end[line] - lines->start[line];

	rows->task[at] = lines->task[line];
	rows->start[at] = lines->start[line];
	rows->end[at] = lines->end[line];
	rows->flags[at] = lines->flags[line];
	row->failed += (lines->flags[line] & THRUM__LINE_FAILED) > 0;
	row->pending += (lines->flags[line] & THRUM__LINE_PENDING) > 0;
	if (length > row->longest)
		row->longest = thrum__base_time_clamp(length);
	if (row->count == 1 || length < row->least)
		row->least = length;
}

/* Sorts a row by start, if it isn't sorted. */
static int sort_row(struct thrum__bands_rows *rows, const struct thrum__bands_row *row)
{
	uint32_t first = row->first, count = row->count, sorted = 1;
	struct thrum__base_sort_item *items;
	struct {
		int64_t end;
		uint32_t task;
		uint8_t flags;
	} * before;

	while (sorted < count && rows->start[first + sorted - 1] <= rows->start[first + sorted])
		sorted++;
	if (sorted >= count)
		return 0;
	items = malloc(2 * (size_t)count * sizeof *items);
	before = malloc(count * sizeof *before);
	for (uint32_t i = 0; items && before && i < count; i++) {
		uint32_t at = first + i;

		items[i] = (struct thrum__base_sort_item){rows->start[at], i};
		before[i].end = rows->end[at];
		before[i].task = rows->task[at];
		before[i].flags = rows->flags[at];
	}
	if (items && before)
		thrum__base_sort(items, items + count, count, NULL, NULL);
	for (uint32_t i = 0; items && before && i < count; i++) {
		uint32_t at = first + i, from = items[i].item;

		rows->start[at] = items[i].key;
		rows->end[at] = before[from].end;
		rows->task[at] = before[from].task;
		rows->flags[at] = before[from].flags;
	}
	sorted = items && before ? count : 0;
	free(items);
	free(before);
	return sorted ? 0 : -THRUM_E_MEMORY;
}

/* Notes by task the row of the line for which it works. */
static void note_rows(struct lines *lines)
{
	const struct thrum__family *family = &lines->bands->family;
	const struct thrum__model *model = lines->bands->model;

	THRUM__EACH_TASK (model, i) {
		uint32_t worker = thrum__family_worker(family, i);

		if (worker != THRUM__NONE && worker != i)
			lines->row_of[thrum__place(&family->places, i)] =
				lines->row_of[thrum__place(&family->places, worker)];
	}
}

/* Finds the longest lines of all blocks that have some of `count` lines. */
static void measure_blocks(const struct thrum__bands_rows *rows, uint32_t first, uint32_t count)
{
	uint32_t at = first - first % THRUM__BANDS_BLOCK;

	for (; at < first + count; at += THRUM__BANDS_BLOCK) {
		struct thrum__bands_longest longest = {0, -1};

		for (uint32_t i = at; i < at + THRUM__BANDS_BLOCK && i < rows->line_count; i++) {
			int64_t length = rows->end[i] - rows->start[i];

			longest.any = length > longest.any ? length : longest.any;
			if ((rows->flags[i] & THRUM__LINE_FAILED) && length > longest.failed)
				longest.failed = length;
		}
		rows->longest[at / THRUM__BANDS_BLOCK] = longest;
	}
}

/* Puts the lines into their rows, each by start. */
static int fill_rows(struct lines *lines)
{
	const struct thrum__family *family = &lines->bands->family;
	struct thrum__bands_rows *rows = lines->bands->rows;
	size_t room = (size_t)lines->count + 1;
	uint32_t at = 0;
	int error = 0;

	memset(lines->row_of, 0xff, family->places.count * sizeof *lines->row_of);
	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t row = row_of_line(lines, i);

		lines->row_of[thrum__place(&family->places, lines->task[i])] = row;
		rows->rows[row].count++;
	}
	for (uint32_t i = 0; i < rows->row_count; i++) {
		rows->rows[i].first = at;
		at += rows->rows[i].count;
		rows->rows[i].count = 0;
	}
	rows->line_count = lines->count;
	rows->task = malloc(room * sizeof *rows->task);
	rows->start = malloc(room * sizeof *rows->start);
	rows->end = malloc(room * sizeof *rows->end);
	rows->flags = malloc(room);
	rows->longest = malloc((room / THRUM__BANDS_BLOCK + 1) * sizeof *rows->longest);
	if (!rows->task || !rows->start || !rows->end || !rows->flags || !rows->longest)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t place = thrum__place(&family->places, lines->task[i]);

		put_line(rows, &rows->rows[lines->row_of[place]], lines, i);
	}
	for (uint32_t i = 0; error == 0 && i < rows->row_count; i++)
		error = sort_row(rows, &rows->rows[i]);
	if (error == 0)
		measure_blocks(rows, 0, rows->line_count);
	return error;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/* The row of the line for which a run is, or NONE. */
static uint32_t row_of_run(const struct lines *lines, uint32_t run)
{
	uint32_t place = thrum__place(&lines->bands->family.places,
		THRUM__RUN(lines->bands->model, run, task));

	return place > 0 ? lines->row_of[place] : THRUM__NONE;
}

/* Counts the runs of each row, and notes the row of each run in `row_of`. */
static void count_runs(const struct lines *lines, uint32_t *row_of)
{
	const struct thrum__model *model = lines->bands->model;
	struct thrum__bands_rows *rows = lines->bands->rows;
	uint32_t first = model->runs.first, at = 0;

	for (uint32_t i = first; i < model->runs.count; i++) {
		uint32_t row = thrum__model_has_row(&model->runs, i) ? row_of_run(lines, i)
								     : THRUM__NONE;

		row_of[i - first] = row;
		if (row != THRUM__NONE)
			rows->rows[row].run_count++;
	}
	for (uint32_t i = 0; i < rows->row_count; i++) {
		rows->rows[i].first_run = at;
		at += rows->rows[i].run_count;
	}
	rows->run_count = at;
}

/* Lists the runs of each row in the order of the model, and adds them to the sums: in that order they
 * touch little memory at a time. `last`: by row, all 0. Returns whether some rows aren't sorted. */
static bool list_runs(const struct thrum__bands *bands, const uint32_t *row_of, int64_t *last)
{
	const struct thrum__model *model = bands->model;
	struct thrum__bands_rows *rows = bands->rows;
	uint32_t first = model->runs.first;
	bool is_unsorted = false;

	for (uint32_t i = 0; i < rows->row_count; i++) {
		rows->rows[i].run_count = 0;
		last[i] = INT64_MIN;
	}
	for (uint32_t i = first; i < model->runs.count; i++) {
		struct thrum__bands_span run;
		struct thrum__bands_row *row;

		if (row_of[i - first] == THRUM__NONE)
			continue;
		row = &rows->rows[row_of[i - first]];
		run = (struct thrum__bands_span){THRUM__RUN(model, i, start),
			thrum__bands_run_end(bands, i)};
		is_unsorted = is_unsorted || run.from < last[row_of[i - first]];
		last[row_of[i - first]] = run.from;
		if (run.to - run.from > row->longest_run)
			row->longest_run = thrum__base_time_clamp(run.to - run.from);
		if (row->slots > 0)
			thrum__bands_sums_add_run(bands, row, run);
		else
			rows->spans[row->first_span + row->run_count] = run;
		rows->runs[row->first_run + row->run_count++] = i;
	}
	return is_unsorted;
}

/* Sorts the runs of each row by start. That is rarely needed: only late events come out of order. */
static int sort_runs(const struct thrum__bands *bands)
{
	const struct thrum__bands_rows *rows = bands->rows;

	for (uint32_t i = 0; i < rows->row_count; i++) {
		const struct thrum__bands_row *row = &rows->rows[i];
		uint32_t *runs = rows->runs + row->first_run, count = row->run_count;
		struct thrum__base_sort_item *items = malloc(
			(2 * (size_t)count + 1) * sizeof *items);

		if (!items)
			return -THRUM_E_MEMORY;
		for (uint32_t j = 0; j < count; j++)
			items[j] = (struct thrum__base_sort_item){THRUM__RUN(bands->model, runs[j],
									  start),
				runs[j]};
		thrum__base_sort(items, items + count, count, NULL, NULL);
		for (uint32_t j = 0; j < count; j++) {
			runs[j] = items[j].item;
			if (row->slots == 0)
				rows->spans[row->first_span + j] =
					(struct thrum__bands_span){items[j].key,
						thrum__bands_run_end(bands, runs[j])};
		}
		free(items);
	}
	return 0;
}

static int find_runs(struct lines *lines)
{
	const struct thrum__bands *bands = lines->bands;
	const struct thrum__model *model = bands->model;
	struct thrum__bands_rows *rows = bands->rows;
	uint32_t *row_of = malloc(
		(model->runs.count - model->runs.first + (size_t)1) * sizeof *row_of);
	int64_t *last = calloc((size_t)rows->row_count + 1, sizeof *last);
	int error = row_of && last ? 0 : -THRUM_E_MEMORY;

	if (error == 0) {
		note_rows(lines);
		count_runs(lines, row_of);
		rows->runs = malloc(((size_t)rows->run_count + 1) * sizeof *rows->runs);
		error = rows->runs ? thrum__bands_sums_begin(bands) : -THRUM_E_MEMORY;
	}
	if (error == 0 && list_runs(bands, row_of, last))
		error = sort_runs(bands);
	free(row_of);
	free(last);
	return error;
}

/* ---- Pending lines -------------------------------------------------------------------------- */

/* Lets a line last until the bands' end, or until it ended since they were made. */
static void advance_line(struct thrum__bands *bands, struct thrum__bands_row *row, uint32_t line)
{
	struct thrum__bands_rows *rows = bands->rows;
	uint32_t heir = thrum__model_heir(bands->model, rows->task[line]);
	int64_t end = thrum__family_end(bands->model, heir);

	if (end == THRUM__OPEN) {
		rows->end[line] = bands->to;
		return;
	}
	rows->end[line] = end > rows->start[line] ? end : rows->start[line];
	rows->flags[line] &= (uint8_t)~THRUM__LINE_PENDING;
	row->pending--;
	if (THRUM__TASK(bands->model, heir, state) != THRUM__STATE_FAILED)
		return;
	rows->flags[line] |= THRUM__LINE_FAILED;
	row->failed++;
}

static void advance_row(struct thrum__bands *bands, struct thrum__bands_row *row)
{
	struct thrum__bands_rows *rows = bands->rows;

	row->longest = 0;
	row->least = INT64_MAX;
	for (uint32_t i = row->first; i < row->first + row->count; i++) {
		int64_t length;

		/* In a row with sums, that a line has ended is seen when the bands are made anew. */
		if (row->slots > 0)
			rows->end[i] = bands->to;
		else if (rows->flags[i] & THRUM__LINE_PENDING)
			advance_line(bands, row, i);
		length = rows->end[i] - rows->start[i];
		row->longest = length > row->longest ? thrum__base_time_clamp(length)
						     : row->longest;
		row->least = length < row->least ? length : row->least;
	}
	row->class = thrum__bands_class(row->longest);
	measure_blocks(rows, row->first, row->count);
}

void thrum__bands_rows_advance(struct thrum__bands *bands)
{
	struct thrum__bands_rows *rows = bands->rows;

	for (uint32_t group = 0; group < rows->group_count; group++) {
		const struct thrum__bands_place *place = &rows->places[group];

		for (unsigned i = place->ended.count; i < thrum__bands_row_count(place); i++)
			if (rows->rows[place->first + i].count > 0)
				advance_row(bands, &rows->rows[place->first + i]);
	}
}

/* ---- All of it ------------------------------------------------------------------------------ */

int thrum__bands_rows_make(struct thrum__bands *bands)
{
	struct lines lines = {.bands = bands};
	int error;

	bands->rows = calloc(1, sizeof *bands->rows);
	if (!bands->rows)
		return -THRUM_E_MEMORY;
	error = find_lines(&lines);
	if (error == 0)
		error = make_rows(&lines);
	if (error == 0)
		error = fill_rows(&lines);
	if (error == 0)
		error = find_runs(&lines);
	lines_free(&lines);
	return error < 0 ? error : thrum__bands_sums_finish(bands);
}

void thrum__bands_rows_free(struct thrum__bands_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows->places);
	free(rows->task);
	free(rows->start);
	free(rows->end);
	free(rows->flags);
	free(rows->longest);
	free(rows->runs);
	free(rows->spans);
	free(rows->sums);
	free(rows->coarse);
	free(rows);
}

size_t thrum__bands_rows_memory(const struct thrum__bands_rows *rows)
{
	return rows->row_count * sizeof *rows->rows + rows->group_count * sizeof *rows->places +
		rows->line_count * (sizeof *rows->task + 2 * sizeof *rows->start + 1) +
		rows->line_count / THRUM__BANDS_BLOCK * sizeof *rows->longest +
		rows->run_count * sizeof *rows->runs + rows->span_count * sizeof *rows->spans +
		((size_t)rows->slot_count + rows->coarse_count) * sizeof *rows->sums;
}

uint32_t thrum__bands_row_from(const struct thrum__bands_rows *rows,
	const struct thrum__bands_row *row, int64_t time)
{
	uint32_t low = row->first, high = row->first + row->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (rows->start[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
