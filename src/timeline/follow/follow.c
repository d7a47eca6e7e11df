/* SPDX-License-Identifier: ISC */
/*
 * Lets the index follow a trace that grows and forgets. An update first removes forgotten items;
 * then it moves the items of tasks that came to other tracks; at last it adds new items. When all
 * tracks move, the index is made anew.
 */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "base/array.h"
#include "timeline/follow/parts.h"

#define PACK_EACH 32 /* updates between two packings */

void thrum__follow_past_free(struct thrum__follow_past *past)
{
	if (!past)
		return;
	free(past->open);
	free(past->units);
	free(past->queue.arrivals);
	free(past->queue.first);
	free(past->starts.times);
	free(past->ends.times);
	free(past);
}

size_t thrum__follow_past_memory(const struct thrum__follow_past *past)
{
	return past ? sizeof(*past) + past->open_room * sizeof(*past->open) +
			past->unit_room * sizeof(*past->units) +
			past->queue.room * sizeof(*past->queue.arrivals) +
			(past->starts.room + past->ends.room) * sizeof(struct thrum__base_span)
		    : 0;
}

/* ---- The past -------------------------------------------------------------------------------- */

static int note_open(struct thrum__follow_past *past, uint32_t run)
{
	uint32_t *grown = thrum__base_grow(past->open, &past->open_room, past->open_count + 1ull,
		sizeof(*grown));

	if (!grown)
		return -THRUM_E_MEMORY;
	past->open = grown;
	grown[past->open_count++] = run;
	return 0;
}

static int make_units(struct thrum__follow_past *past, const struct thrum__layout *layout)
{
	struct thrum__follow_placed *grown = thrum__base_grow(past->units, &past->unit_room,
		layout->unit_count, sizeof(*grown));

	if (!grown)
		return -THRUM_E_MEMORY;
	past->units = grown;
	while (past->unit_count < layout->unit_count)
		grown[past->unit_count++] = (struct thrum__follow_placed){.track = THRUM__NONE};
	return 0;
}

/* Lengthens the columns, the blocks and `wanted` for more tracks. */
static int add_tracks(struct thrum__index *index, uint32_t tracks)
{
	void *wanted = index->wanted;
	int error = 0;

	for (int kind = 0; kind < THRUM__INDEX_KINDS && !error; kind++) {
		error = thrum__index_column_add_tracks(&index->column[kind], tracks);
		if (!error)
			error = thrum__index_blocks_grow(index, &index->column[kind]);
	}
	if (!error)
		error = thrum__index_extend(&wanted, index->tracks / 8 + 1u, tracks / 8 + 1u, 1);
	index->wanted = wanted;
	index->tracks = error ? index->tracks : tracks;
	return error;
}

/* Notes how far model and layout are. */
static void count_model(struct thrum__follow_past *past, const struct thrum__model *model,
	const struct thrum__layout *layout)
{
	past->updates = layout->updates;
	past->runs = model->runs.count;
	past->edges = model->edges.count;
	past->notes = model->notes.count;
	past->tasks = layout->task_count;
	past->forgotten = model->forgotten;
}

/* Makes the past of an index that was just made. */
static int make_past(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout)
{
	struct thrum__follow_past *past = index->past = calloc(1, sizeof(*past));
	int error = past ? make_units(past, layout) : -THRUM_E_MEMORY;

	for (uint32_t i = 0; i < layout->unit_count && !error; i++) {
		struct thrum__follow_placed *placed = &past->units[i];

		if (layout->units[i].task == THRUM__NONE)
			continue;
		placed->track = thrum__index_place(index, model, layout, THRUM__INDEX_UNITS, i, 0,
			&placed->start, &placed->end);
		if (thrum__index_lasts(model, layout, i))
			placed->end = THRUM__OPEN;
	}
	for (uint32_t i = 0; i < model->lane_count && !error; i++)
		if (thrum__model_has_row(&model->runs, model->lanes[i].run))
			error = note_open(past, model->lanes[i].run);
	if (!error)
		error = add_tracks(index, index->tracks);
	if (!error)
		error = thrum__index_column_add_tracks(&index->all, 1);
	if (!error)
		count_model(past, model, layout);
	return error;
}

static int make_anew(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout)
{
	int error = thrum__index_remake(index, model, layout);

	return error ? error : make_past(index, model, layout);
}

/* ---- Forgotten items ------------------------------------------------------------------------- */

/* Removes the forgotten items of tracks from … to - 1; returns how many thrum__index_column_trim
 * did. */
static uint32_t trim_tracks(const struct thrum__follow_change *c, int kind, uint32_t from,
	uint32_t to)
{
	struct thrum__index_column *column = &c->index->column[kind];
	uint32_t count = 0;

	for (; from < to; from++) {
		count += thrum__index_column_trim(column, from,
			thrum__base_time_clamp(c->model->forgotten));
		if (kind == THRUM__INDEX_RUNS)
			thrum__follow_trim_runs(c, from);
	}
	return count;
}

/* Removes the forgotten items of a column; looks only at the tracks of blocks that hold any. */
static void trim_column(const struct thrum__follow_change *c, int kind)
{
	struct thrum__index_column *column = &c->index->column[kind];
	int64_t before = thrum__base_time_clamp(c->model->forgotten);

	if (column->levels == 0)
		trim_tracks(c, kind, 0, column->tracks);
	for (unsigned number = 0; number < column->levels; number++) {
		struct thrum__index_level *level = &column->level[number];
		uint32_t below = number ? column->level[number - 1].blocks : column->tracks;

		for (uint32_t i = 0; i < level->blocks; i++) {
			uint32_t first = i << THRUM__FAN_SHIFT;
			uint32_t end = below - first < THRUM__FAN ? below : first + THRUM__FAN;
			uint32_t items = 0;

			if (!thrum__index_blocks_trim(column, number, i, before))
				continue;
			for (uint32_t node = first; number && node < end; node++)
				items += column->level[number - 1].block[node].items;
			if (number == 0)
				items = level->block[i].items - trim_tracks(c, kind, first, end);
			level->block[i].items = items;
		}
	}
}

static void trim_index(const struct thrum__follow_change *c)
{
	struct thrum__index *index = c->index;
	int64_t before = thrum__base_time_clamp(c->model->forgotten);

	thrum__timeline_cells_forget(&index->task_track, c->model);
	if (c->past->forgotten == c->model->forgotten)
		return;
	for (int kind = 0; kind < THRUM__INDEX_KINDS; kind++)
		trim_column(c, kind);
	thrum__index_column_trim(&index->all, 0, before);
	index->older += thrum__index_times_trim(&index->starts, before);
	index->older -= thrum__index_times_trim(&index->ends, before);
}

/* ---- New items ------------------------------------------------------------------------------- */

/* Adds a run that has ended to the union of all runs. */
static int unite_run(const struct thrum__follow_change *c, uint32_t run)
{
	int64_t start = thrum__base_time_clamp(THRUM__RUN(c->model, run, start));
	int64_t end = thrum__base_time_clamp(THRUM__RUN(c->model, run, end));

	return thrum__index_is_own(c->model, run) || end < c->model->forgotten
		? 0
		: thrum__index_column_unite(&c->index->all, start, end > start ? end : start);
}

/* Brings the runs up to date that were open, and keeps those that still are. */
static int follow_open_runs(const struct thrum__follow_change *c)
{
	struct thrum__follow_past *past = c->past;
	uint32_t count = past->open_count;
	int error = 0;

	past->open_count = 0;
	for (uint32_t i = 0; i < count && !error; i++) {
		uint32_t run = past->open[i];

		if (!thrum__model_has_row(&c->model->runs, run))
			continue;
		error = thrum__follow_run(c, run);
		if (THRUM__RUN(c->model, run, end) == THRUM__OPEN)
			past->open[past->open_count++] = run;
		else if (!error)
			error = unite_run(c, run);
	}
	return error;
}

static int add_run(const struct thrum__follow_change *c, uint32_t run)
{
	int error = thrum__follow_queue_item(c, THRUM__INDEX_RUNS, run);

	if (error)
		return error;
	return THRUM__RUN(c->model, run, end) == THRUM__OPEN ? note_open(c->past, run)
							     : unite_run(c, run);
}

static int add_edge(const struct thrum__follow_change *c, uint32_t edge)
{
	uint32_t to = THRUM__EDGE(c->model, edge, to);
	int error = thrum__follow_queue_edge(c, edge);

	if (!error && THRUM__EDGE(c->model, edge, kind) == THRUM__EDGE_FAIL &&
		thrum__model_has_row(&c->model->tasks, to))
		error = thrum__follow_put(c, THRUM__INDEX_FAILURES, to);
	return error;
}

/* Removes the task of a new edge from the failures if it failed and then became another. Call it
 * before the items of tasks move. */
static int unfail(const struct thrum__follow_change *c, uint32_t edge)
{
	uint32_t task = THRUM__EDGE(c->model, edge, from);

	return THRUM__EDGE(c->model, edge, kind) == THRUM__EDGE_BECOME &&
			thrum__model_has_row(&c->model->tasks, task) &&
			THRUM__TASK(c->model, task, failure) != THRUM__NONE
		? thrum__follow_failure(c, task)
		: 0;
}

static int add_note(const struct thrum__follow_change *c, uint32_t note)
{
	return thrum__follow_queue_item(c, THRUM__INDEX_NOTES, note);
}

/* Calls `add` for the model's rows from `from` on. */
static int for_new_rows(const struct thrum__follow_change *c, const struct thrum__model_rows *rows,
	uint32_t from, int (*add)(const struct thrum__follow_change *, uint32_t))
{
	int error = 0;

	for (uint32_t i = from; i < rows->count && !error; i++) {
		if (thrum__model_has_row(rows, i))
			error = add(c, i);
		else
			i |= THRUM__BLOCK_MASK;
	}
	return error;
}

static int add_new(const struct thrum__follow_change *c)
{
	const struct thrum__model *model = c->model;
	int error = for_new_rows(c, &model->runs, c->past->runs, add_run);

	if (!error)
		error = thrum__follow_flush(c, THRUM__INDEX_RUNS);
	if (!error)
		error = for_new_rows(c, &model->edges, c->past->edges, add_edge);
	if (!error)
		error = thrum__follow_flush(c, THRUM__INDEX_EDGES);
	if (!error)
		error = for_new_rows(c, &model->notes, c->past->notes, add_note);
	if (!error)
		error = thrum__follow_flush(c, THRUM__INDEX_NOTES);
	c->index->since = INT64_MAX;
	for (uint32_t i = 0; i < c->past->open_count; i++) {
		uint32_t run = c->past->open[i];
		int64_t start = thrum__base_time_clamp(THRUM__RUN(model, run, start));

		if (start < c->index->since && !thrum__index_is_own(model, run))
			c->index->since = start;
	}
	return error;
}

/* ---- Items that move ------------------------------------------------------------------------- */

static int move_units(const struct thrum__follow_change *c)
{
	const struct thrum__layout *layout = c->layout;
	int error = 0;

	for (uint32_t i = 0; i < layout->adopted_count && !error; i++)
		error = thrum__follow_task(c, layout->adopted[i]);
	memset(c->index->wanted, 0, c->index->tracks / 8 + 1u);
	for (uint32_t i = 0; i < layout->changed_count && !error; i++) {
		error = thrum__follow_queue_unit(c, layout->changed[i]);
		if (layout->units[layout->changed[i]].task != THRUM__NONE)
			thrum__index_want(c->index, c->model, layout, layout->changed[i]);
	}
	if (!error)
		error = thrum__follow_flush(c, THRUM__INDEX_UNITS);
	if (!error)
		error = thrum__follow_times(&c->past->starts, &c->index->starts);
	if (!error)
		error = thrum__follow_times(&c->past->ends, &c->index->ends);
	return error;
}

static int pack_columns(struct thrum__index *index)
{
	int error = thrum__index_column_pack(&index->all);

	for (int kind = 0; kind < THRUM__INDEX_KINDS && !error; kind++)
		error = thrum__index_column_pack(&index->column[kind]);
	return error;
}

int thrum__follow_update(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout)
{
	struct thrum__follow_change c = {index, index->past, model, layout};
	int error;

	if (!c.past || layout->is_shifted || layout->updates != c.past->updates + 1 ||
		layout->tracks < index->tracks)
		return make_anew(index, model, layout);
	error = layout->tracks > index->tracks ? add_tracks(index, layout->tracks) : 0;
	if (!error)
		error = thrum__timeline_cells_follow(&index->task_track, model, c.past->tasks);
	if (!error)
		error = make_units(c.past, layout);
	if (!error)
		error = follow_open_runs(&c);
	trim_index(&c);
	if (!error)
		error = for_new_rows(&c, &model->edges, c.past->edges, unfail);
	index->end = thrum__base_time_clamp(model->end);
	if (!error)
		error = move_units(&c);
	if (!error)
		error = add_new(&c);
	if (!error && layout->updates % PACK_EACH == 0)
		error = pack_columns(index);
	count_model(c.past, model, layout);
	return error;
}
