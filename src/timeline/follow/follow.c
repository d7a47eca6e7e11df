/* SPDX-License-Identifier: ISC */
/*
 * The index that follow a trace which grows and forgets. First what is old goes; then tracks get what
 * their tasks did before and bring along; at last comes what is new. Whatever moves all tracks makes
 * all anew.
 */
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#include "base/array.h"
#include "timeline/follow/parts.h"

#define PACK_EACH 32 /* updates */

void thrum__follow_past_free(struct thrum__follow_past *past)
{
	if (!past)
		return;
	free(past->open);
	free(past->units);
	free(past->batch.arrivals);
	free(past->batch.first);
	free(past->starts.pieces);
	free(past->ends.pieces);
	free(past);
}

size_t thrum__follow_past_memory(const struct thrum__follow_past *past)
{
	return past ? sizeof(*past) + past->open_room * sizeof(*past->open) +
			past->unit_room * sizeof(*past->units) +
			past->batch.room * sizeof(*past->batch.arrivals) +
			(past->starts.room + past->ends.room) * sizeof(struct thrum__base_span)
		    : 0;
}

/* ---- What to compare with -------------------------------------------------------------------- */

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

/* Of index that were just made. */
static int remember(struct thrum__index *index, const struct thrum__model *model,
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
	struct thrum__index *made;
	int error = thrum__index_create(model, layout, &made);

	if (error)
		return error;
	error = remember(made, model, layout);
	thrum__index_finish(index);
	*index = *made;
	free(made);
	return error;
}

/* ---- What is old ----------------------------------------------------------------------------- */

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

static void trim(const struct thrum__follow_change *c)
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

/* ---- What is new ----------------------------------------------------------------------------- */

/* A run that has ended is part of the union. */
static int unite(const struct thrum__follow_change *c, uint32_t run)
{
	int64_t start = thrum__base_time_clamp(THRUM__RUN(c->model, run, start));
	int64_t end = thrum__base_time_clamp(THRUM__RUN(c->model, run, end));

	return thrum__index_is_own(c->model, run) || end < c->model->forgotten
		? 0
		: thrum__index_column_unite(&c->index->all, start, end > start ? end : start);
}

static int follow_open(const struct thrum__follow_change *c)
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
			error = unite(c, run);
	}
	return error;
}

static int add_run(const struct thrum__follow_change *c, uint32_t run)
{
	int error = thrum__follow_await(c, THRUM__INDEX_RUNS, run);

	if (error)
		return error;
	return THRUM__RUN(c->model, run, end) == THRUM__OPEN ? note_open(c->past, run)
							     : unite(c, run);
}

static int add_edge(const struct thrum__follow_change *c, uint32_t edge)
{
	uint32_t to = THRUM__EDGE(c->model, edge, to);
	int error = thrum__follow_await_edge(c, edge);

	if (!error && THRUM__EDGE(c->model, edge, kind) == THRUM__EDGE_FAIL &&
		thrum__model_has_row(&c->model->tasks, to))
		error = thrum__follow_put(c, THRUM__INDEX_FAILURES, to);
	return error;
}

/* Whoever failed, and then became another: before it moves. */
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
	return thrum__follow_await(c, THRUM__INDEX_NOTES, note);
}

static int for_rest(const struct thrum__follow_change *c, const struct thrum__model_rows *tracks,
	uint32_t from, int (*add)(const struct thrum__follow_change *, uint32_t))
{
	int error = 0;

	for (uint32_t i = from; i < tracks->count && !error; i++) {
		if (thrum__model_has_row(tracks, i))
			error = add(c, i);
		else
			i |= THRUM__BLOCK_MASK;
	}
	return error;
}

static int add_new(const struct thrum__follow_change *c)
{
	const struct thrum__model *model = c->model;
	int error = for_rest(c, &model->runs, c->past->runs, add_run);

	if (!error)
		error = thrum__follow_settle(c, THRUM__INDEX_RUNS);
	if (!error)
		error = for_rest(c, &model->edges, c->past->edges, add_edge);
	if (!error)
		error = thrum__follow_settle(c, THRUM__INDEX_EDGES);
	if (!error)
		error = for_rest(c, &model->notes, c->past->notes, add_note);
	if (!error)
		error = thrum__follow_settle(c, THRUM__INDEX_NOTES);
	c->index->since = INT64_MAX;
	for (uint32_t i = 0; i < c->past->open_count; i++) {
		uint32_t run = c->past->open[i];
		int64_t start = thrum__base_time_clamp(THRUM__RUN(model, run, start));

		if (start < c->index->since && !thrum__index_is_own(model, run))
			c->index->since = start;
	}
	return error;
}

/* ---- What moved ------------------------------------------------------------------------------ */

static int move_all(const struct thrum__follow_change *c)
{
	const struct thrum__layout *layout = c->layout;
	int error = 0;

	for (uint32_t i = 0; i < layout->adopted_count && !error; i++)
		error = thrum__follow_task(c, layout->adopted[i]);
	memset(c->index->wanted, 0, c->index->tracks / 8 + 1u);
	for (uint32_t i = 0; i < layout->changed_count && !error; i++) {
		error = thrum__follow_await_unit(c, layout->changed[i]);
		if (layout->units[layout->changed[i]].task != THRUM__NONE)
			thrum__index_want(c->index, c->model, layout, layout->changed[i]);
	}
	if (!error)
		error = thrum__follow_settle(c, THRUM__INDEX_UNITS);
	if (!error)
		error = thrum__follow_times(&c->past->starts, &c->index->starts);
	if (!error)
		error = thrum__follow_times(&c->past->ends, &c->index->ends);
	return error;
}

static int pack(struct thrum__index *index)
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
		error = follow_open(&c);
	trim(&c);
	if (!error)
		error = for_rest(&c, &model->edges, c.past->edges, unfail);
	index->end = thrum__base_time_clamp(model->end);
	if (!error)
		error = move_all(&c);
	if (!error)
		error = add_new(&c);
	if (!error && layout->updates % PACK_EACH == 0)
		error = pack(index);
	count_model(c.past, model, layout);
	return error;
}
