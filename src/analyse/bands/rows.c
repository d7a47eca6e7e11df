/* SPDX-License-Identifier: ISC */
/* Sorts the lines into rows by group and class, and sums up the rows that have many. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "analyse/slow/path.h"
#include "base/sort.h"

#define FEW 1024 /* lines, or runs by twos, of a row without sums */
#define SLOTS_LEAST 1024
#define SLOTS_MOST 16384
#define SLOT_LINES 4 /* lines of a slot, on the mean */
#define SLOT_RUNS 16

/* The lines in the order of their tasks, while they are sorted. */
struct lines {
	struct thrum__bands *bands;
	uint32_t *row_of; /* by place of tasks: the row of the line that begins there, or NONE */
	uint32_t *task;
	int64_t *start, *end;
	uint8_t *flags;
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
	lines->row_of = malloc(family->places.count * sizeof *lines->row_of);
	if (!lines->task || !lines->start || !lines->end || !lines->flags || !lines->row_of ||
		thrum__slow_heads_make(model, &lines->heads) < 0)
		return -THRUM_E_MEMORY;
	for (uint32_t i = thrum__analyse_next_task(model, 0); i < model->tasks.count;
		i = thrum__analyse_next_task(model, i + 1))
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
	free(lines->row_of);
	free(lines->heads);
}

/* Makes an empty row for each class of each group, from its least to its greatest. */
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
		uint8_t class = (uint8_t)thrum__bands_class(lines->end[i] - lines->start[i]);
		uint8_t last = (uint8_t)(place->class + place->classes);

		if (place->classes == 0) {
			place->class = class;
			place->classes = 1;
			continue;
		}
		if (class < place->class)
			place->class = class;
		if (class + 1 > last)
			last = class + 1;
		place->classes = last - place->class;
	}
	for (uint32_t i = 0; i < family->group_count; i++) {
		rows->places[i].first = count;
		count += rows->places[i].classes;
	}
	rows->rows = calloc((size_t)count + 1, sizeof *rows->rows);
	rows->row_count = count;
	return rows->rows ? 0 : -THRUM_E_MEMORY;
}

/* Sorts a row by start, if it isn't sorted. `items` has room for twice the row's lines. */
static void sort_row(struct thrum__bands_rows *rows, const struct thrum__bands_row *row,
	struct lines *lines, struct thrum__base_sort_item *items)
{
	uint32_t *task = rows->task + row->first;

	for (uint32_t i = 0; i < row->count; i++)
		items[i] = (struct thrum__base_sort_item){lines->start[task[i]], task[i]};
	thrum__base_sort(items, items + row->count, row->count, NULL, NULL);
	for (uint32_t i = 0; i < row->count; i++)
		task[i] = items[i].item;
}

/* Puts the lines into their rows, each by start. */
static int fill_rows(struct lines *lines)
{
	const struct thrum__family *family = &lines->bands->family;
	struct thrum__bands_rows *rows = lines->bands->rows;
	size_t room = (size_t)lines->count + 1;
	struct thrum__base_sort_item *items = NULL;
	uint32_t at = 0, most = 0;

	memset(lines->row_of, 0xff, family->places.count * sizeof *lines->row_of);
	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t group = thrum__family_group(family, lines->task[i]);
		uint32_t row = rows->places[group].first - rows->places[group].class +
			thrum__bands_class(lines->end[i] - lines->start[i]);

		lines->row_of[thrum__place(&family->places, lines->task[i])] = row;
		rows->rows[row].count++;
	}
	for (uint32_t i = 0; i < rows->row_count; i++) {
		rows->rows[i].first = at;
		at += rows->rows[i].count;
		most = rows->rows[i].count > most ? rows->rows[i].count : most;
		rows->rows[i].count = 0;
	}
	rows->line_count = lines->count;
	rows->task = malloc(room * sizeof *rows->task);
	rows->start = malloc(room * sizeof *rows->start);
	rows->end = malloc(room * sizeof *rows->end);
	rows->flags = malloc(room);
	items = malloc((2 * (size_t)most + 1) * sizeof *items);
	if (!rows->task || !rows->start || !rows->end || !rows->flags || !items) {
		free(items);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < lines->count; i++) {
		uint32_t place = thrum__place(&family->places, lines->task[i]);
		struct thrum__bands_row *row = &rows->rows[lines->row_of[place]];

		rows->task[row->first + row->count++] = i;
	}
	for (uint32_t i = 0; i < rows->row_count; i++) {
		struct thrum__bands_row *row = &rows->rows[i];

		sort_row(rows, row, lines, items);
		for (uint32_t j = row->first; j < row->first + row->count; j++) {
			uint32_t line = rows->task[j];

			rows->task[j] = lines->task[line];
			rows->start[j] = lines->start[line];
			rows->end[j] = lines->end[line];
			rows->flags[j] = lines->flags[line];
			row->failed += (lines->flags[line] & THRUM__LINE_FAILED) > 0;
			row->pending += (lines->flags[line] & THRUM__LINE_PENDING) > 0;
			if (rows->end[j] - rows->start[j] > row->longest)
				row->longest = rows->end[j] - rows->start[j];
		}
	}
	free(items);
	return 0;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/* The row of the line for which a run is, or NONE. */
static uint32_t row_of_run(const struct lines *lines, uint32_t run)
{
	const struct thrum__family *family = &lines->bands->family;
	uint32_t worker = thrum__family_worker(family, THRUM__RUN(lines->bands->model, run, task));

	return worker == THRUM__NONE ? THRUM__NONE
				     : lines->row_of[thrum__place(&family->places, worker)];
}

/* Lists the runs of each row, by start. */
static int find_runs(struct lines *lines)
{
	const struct thrum__bands *bands = lines->bands;
	const struct thrum__model *model = bands->model;
	struct thrum__bands_rows *rows = bands->rows;
	uint32_t first = model->runs.first, count = model->runs.count - first, at = 0;
	uint32_t *row_of = malloc(((size_t)count + 1) * sizeof *row_of);

	if (!row_of)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		row_of[i] = thrum__model_has_row(&model->runs, first + i)
			? row_of_run(lines, first + i)
			: THRUM__NONE;
		if (row_of[i] != THRUM__NONE)
			rows->rows[row_of[i]].run_count++;
	}
	for (uint32_t i = 0; i < rows->row_count; i++) {
		rows->rows[i].first_run = at;
		at += rows->rows[i].run_count;
		rows->rows[i].run_count = 0;
	}
	rows->run_count = at;
	rows->runs = malloc(((size_t)at + 1) * sizeof *rows->runs);
	for (uint32_t i = 0; rows->runs && i < count; i++) {
		struct thrum__bands_row *row;
		int64_t length;

		if (row_of[i] == THRUM__NONE)
			continue;
		row = &rows->rows[row_of[i]];
		rows->runs[row->first_run + row->run_count++] = first + i;
		length = thrum__bands_run_end(bands, first + i) -
			THRUM__RUN(model, first + i, start);
		if (length > row->longest_run)
			row->longest_run = length;
	}
	free(row_of);
	return rows->runs ? 0 : -THRUM_E_MEMORY;
}

/* Sorts the runs of each row by start. They nearly always are: only late events are not. */
static int sort_runs(const struct thrum__bands *bands)
{
	const struct thrum__bands_rows *rows = bands->rows;

	for (uint32_t i = 0; i < rows->row_count; i++) {
		uint32_t *runs = rows->runs + rows->rows[i].first_run;
		uint32_t count = rows->rows[i].run_count, at = 1;
		struct thrum__base_sort_item *items;

		while (at < count &&
			THRUM__RUN(bands->model, runs[at - 1], start) <=
				THRUM__RUN(bands->model, runs[at], start))
			at++;
		if (at >= count)
			continue;
		items = malloc(2 * (size_t)count * sizeof *items);
		if (!items)
			return -THRUM_E_MEMORY;
		for (uint32_t j = 0; j < count; j++)
			items[j] = (struct thrum__base_sort_item){THRUM__RUN(bands->model, runs[j],
									  start),
				runs[j]};
		thrum__base_sort(items, items + count, count, NULL, NULL);
		for (uint32_t j = 0; j < count; j++)
			runs[j] = items[j].item;
		free(items);
	}
	return 0;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

/* Divides a time among the slots in which it lies. `whole` counts how many times begin to cover slots
 * wholly, less those that cease to. */
static void spread(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	bool is_run, int32_t *whole, int64_t from, int64_t to)
{
	struct thrum__bands_sum *sums = bands->rows->sums + row->first_slot;
	uint32_t a, b;

	if (from < bands->from)
		from = bands->from;
	if (to <= from)
		return;
	a = thrum__bands_slot(bands, row, from);
	b = thrum__bands_slot(bands, row, to);
	if (a == b) {
		*(is_run ? &sums[a + 1].ran : &sums[a + 1].life) += (double)(to - from);
		return;
	}
	*(is_run ? &sums[a + 1].ran
		 : &sums[a + 1].life) += (double)(bands->from + (a + 1) * row->slot - from);
	*(is_run ? &sums[b + 1].ran
		 : &sums[b + 1].life) += (double)(to - bands->from - b * row->slot);
	whole[a + 1]++;
	whole[b]--;
}

static void sum_row(const struct thrum__bands *bands, const struct thrum__bands_row *row,
	int32_t *whole)
{
	struct thrum__bands_rows *rows = bands->rows;
	struct thrum__bands_sum *sums = rows->sums + row->first_slot;
	int32_t *lives = whole, *runs = whole + SLOTS_MOST + 2;
	int64_t life = 0, ran = 0;

	memset(whole, 0, 2 * (SLOTS_MOST + (size_t)2) * sizeof *whole);
	for (uint32_t i = row->first; i < row->first + row->count; i++) {
		struct thrum__bands_sum *end =
			&sums[thrum__bands_slot(bands, row, rows->end[i]) + 1];

		sums[thrum__bands_slot(bands, row, rows->start[i]) + 1].begun++;
		end->ended += !(rows->flags[i] & THRUM__LINE_PENDING);
		end->failed += (rows->flags[i] & THRUM__LINE_FAILED) > 0;
		spread(bands, row, false, lives, rows->start[i], rows->end[i]);
	}
	for (uint32_t i = row->first_run; i < row->first_run + row->run_count; i++)
		spread(bands, row, true, runs, THRUM__RUN(bands->model, rows->runs[i], start),
			thrum__bands_run_end(bands, rows->runs[i]));
	for (uint32_t i = 0; i < row->slots; i++) {
		life += lives[i];
		ran += runs[i];
		sums[i + 1].life += sums[i].life + (double)life * (double)row->slot;
		sums[i + 1].ran += sums[i].ran + (double)ran * (double)row->slot;
		sums[i + 1].begun += sums[i].begun;
		sums[i + 1].ended += sums[i].ended;
		sums[i + 1].failed += sums[i].failed;
	}
}

/* How many slots a row gets. */
static uint32_t slots_of(const struct thrum__bands_row *row)
{
	uint32_t lines = row->count / SLOT_LINES, runs = row->run_count / SLOT_RUNS;
	uint32_t slots = lines > runs ? lines : runs;

	if (row->count <= FEW && row->run_count / 2 <= FEW)
		return 0;
	/* A whole trace has about so many columns on a screen: fewer slots would be of no use. */
	if (slots < SLOTS_LEAST)
		return SLOTS_LEAST;
	return slots < SLOTS_MOST ? slots : SLOTS_MOST;
}

static int sum_rows(const struct thrum__bands *bands)
{
	struct thrum__bands_rows *rows = bands->rows;
	int32_t *whole = malloc(2 * (SLOTS_MOST + (size_t)2) * sizeof *whole);
	size_t at = 0;

	for (uint32_t i = 0; i < rows->row_count; i++) {
		struct thrum__bands_row *row = &rows->rows[i];

		row->slots = slots_of(row);
		row->first_slot = (uint32_t)at;
		at += row->slots ? row->slots + UINT32_C(1) : 0;
		if (row->slots)
			row->slot = (bands->to - bands->from) / row->slots + 1;
	}
	rows->sums = calloc(at + 1, sizeof *rows->sums);
	rows->slot_count = (uint32_t)at;
	if (!whole || !rows->sums) {
		free(whole);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < rows->row_count; i++)
		if (rows->rows[i].slots)
			sum_row(bands, &rows->rows[i], whole);
	free(whole);
	return 0;
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
	if (error == 0)
		error = sort_runs(bands);
	lines_free(&lines);
	return error < 0 ? error : sum_rows(bands);
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
	free(rows->runs);
	free(rows->sums);
	free(rows);
}

size_t thrum__bands_rows_memory(const struct thrum__bands_rows *rows)
{
	return rows->row_count * sizeof *rows->rows + rows->group_count * sizeof *rows->places +
		rows->line_count * (sizeof *rows->task + 2 * sizeof *rows->start + 1) +
		rows->run_count * sizeof *rows->runs + rows->slot_count * sizeof *rows->sums;
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
