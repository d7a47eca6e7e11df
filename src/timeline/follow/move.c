/* SPDX-License-Identifier: ISC */
/* Lets single items come to tracks, leave them, or change there. */
#include <thrum.h>

#include "base/array.h"
#include "timeline/follow/parts.h"

/* ---- One track ------------------------------------------------------------------------------- */

/* Returns the start by which an item is sorted: of a run that was cut, the start before cutting. */
static int64_t key_of(const struct thrum__follow_change *c, int kind, uint32_t position)
{
	const struct thrum__index_column *column = &c->index->column[kind];
	uint32_t item = column->item[position];

	return kind == THRUM__INDEX_RUNS && thrum__model_has_row(&c->model->runs, item)
		? thrum__base_time_clamp(THRUM__RUN(c->model, item, start))
		: column->start[position];
}

/* Returns the position of an item, or the position where it belongs. */
static uint32_t find_item(const struct thrum__follow_change *c, int kind, uint32_t track,
	int64_t start, uint32_t item)
{
	const struct thrum__index_column *column = &c->index->column[kind];
	uint32_t from = column->track[track].first, to = column->track[track].last;

	/* Mostly a new item comes behind all others, and one that changes or goes is the last or
	 * the first. */
	if (from == to || column->start[to - 1] < start)
		return to;
	if (column->item[to - 1] == item)
		return to - 1;
	if (column->item[from] == item)
		return from;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		int64_t key = key_of(c, kind, middle);

		if (key < start || (key == start && column->item[middle] < item))
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_at(const struct thrum__index_column *column, uint32_t track, uint32_t position,
	uint32_t item)
{
	return position < column->track[track].last && column->item[position] == item;
}

/* Cuts the runs of a track anew, from a position on until one stays as it was. */
static int cut_runs(const struct thrum__follow_change *c, uint32_t track, uint32_t position)
{
	struct thrum__index_column *column = &c->index->column[THRUM__INDEX_RUNS];
	uint32_t first = column->track[track].first, last = column->track[track].last;
	int error = 0;

	for (uint32_t i = position; i < last && !error; i++) {
		int64_t start = column->start[i], end = column->end[i];

		if (thrum__model_has_row(&c->model->runs, column->item[i]))
			thrum__index_place(c->index, c->model, c->layout, THRUM__INDEX_RUNS,
				column->item[i], 0, &start, &end);
		if (i > first && start < column->end[i - 1])
			start = column->end[i - 1];
		end = end > start ? end : start;
		if (start == column->start[i] && end == column->end[i]) {
			if (i > position)
				break;
			continue;
		}
		column->start[i] = start;
		column->end[i] = end;
		error = thrum__index_blocks_add(column, track, start, end, column->item[i], 0);
	}
	if (position < last)
		thrum__index_column_redo(column, track, position);
	return error;
}

int thrum__follow_insert(const struct thrum__follow_change *c, int kind,
	const struct thrum__index_arrival *new, bool *is_new)
{
	struct thrum__index_column *column = &c->index->column[kind];
	const struct thrum__index_extent *extent = &column->track[new->track];
	uint32_t at = find_item(c, kind, new->track, new->start, new->item);

	*is_new = !is_at(column, new->track, at, new->item);
	if (!*is_new)
		return 0;
	at = thrum__index_column_open(column, new->track, at - extent->first);
	if (at == THRUM__NONE)
		return -THRUM_E_MEMORY;
	column->item[at] = new->item;
	column->start[at] = new->start;
	if (column->end)
		column->end[at] = new->end;
	if (kind == THRUM__INDEX_RUNS &&
		(at + 1 < extent->last || (at > extent->first && column->end[at - 1] > new->start)))
		return cut_runs(c, new->track, at);
	thrum__index_column_redo(column, new->track, at);
	return 0;
}

/* Puts an item on a track and into the blocks, if it isn't there. */
static int put_item(const struct thrum__follow_change *c, int kind, uint32_t track, uint32_t item,
	int64_t start, int64_t end)
{
	struct thrum__index_column *column = &c->index->column[kind];
	bool is_new;
	int error = thrum__follow_insert(c, kind,
		&(struct thrum__index_arrival){start, end, item, track}, &is_new);

	return error || !is_new ? error
				: thrum__index_blocks_add(column, track, start, end, item, 1);
}

/* Takes an item off a track and out of the blocks, if it is there. */
static int take_item(const struct thrum__follow_change *c, int kind, uint32_t track, uint32_t item,
	int64_t start)
{
	struct thrum__index_column *column = &c->index->column[kind];
	uint32_t at = column->track[track].first;
	bool is_first = is_at(column, track, at, item);

	if (!is_first)
		at = find_item(c, kind, track, start, item);
	if (!is_at(column, track, at, item))
		return 0;
	start = column->start[at];
	thrum__index_column_close(column, track, at);
	int error = thrum__index_blocks_remove(c->index, column, track, start, item);

	if (!error && kind == THRUM__INDEX_RUNS)
		error = cut_runs(c, track, is_first ? column->track[track].first : at);
	return error;
}

int thrum__follow_failure(const struct thrum__follow_change *c, uint32_t task)
{
	const struct thrum__index_column *column = &c->index->column[THRUM__INDEX_FAILURES];
	const uint32_t *track = thrum__timeline_cell(&c->index->task_track, task);

	if (!track || *track == THRUM__NONE)
		return 0;
	for (uint32_t i = column->track[*track].first; i < column->track[*track].last; i++)
		if (column->item[i] == task)
			return take_item(c, THRUM__INDEX_FAILURES, *track, task, column->start[i]);
	return 0;
}

int thrum__follow_put(const struct thrum__follow_change *c, int kind, uint32_t item)
{
	int error = 0;

	for (int side = 0; side < (kind == THRUM__INDEX_EDGES ? 2 : 1) && !error; side++) {
		int64_t start, end;
		uint32_t track = thrum__index_place(c->index, c->model, c->layout, kind, item, side,
			&start, &end);

		if (track != THRUM__NONE)
			error = put_item(c, kind, track, item, start, end);
	}
	return error;
}

int thrum__follow_run(const struct thrum__follow_change *c, uint32_t run)
{
	struct thrum__index_column *column = &c->index->column[THRUM__INDEX_RUNS];
	const uint32_t *cell = thrum__timeline_cell(&c->index->task_track,
		THRUM__RUN(c->model, run, task));
	uint32_t track = cell ? *cell : THRUM__NONE, at;

	if (track == THRUM__NONE)
		return 0;
	at = find_item(c, THRUM__INDEX_RUNS, track,
		thrum__base_time_clamp(THRUM__RUN(c->model, run, start)), run);
	return is_at(column, track, at, run) ? cut_runs(c, track, at) : 0;
}

void thrum__follow_trim_runs(const struct thrum__follow_change *c, uint32_t track)
{
	struct thrum__index_column *column = &c->index->column[THRUM__INDEX_RUNS];
	const struct thrum__index_extent *extent = &column->track[track];
	const struct thrum__model_rows *runs = &c->model->runs;

	for (uint32_t i = extent->first; i < extent->last;) {
		bool is_there = thrum__model_has_row(runs, column->item[i]),
		     is_first = i == extent->first;

		if (is_there && THRUM__RUN(c->model, column->item[i], start) >= c->model->forgotten)
			return;
		if (is_there && THRUM__RUN(c->model, column->item[i], end) >= c->model->forgotten) {
			i++;
			continue;
		}
		thrum__index_column_close(column, track, i);
		i = is_first ? extent->first : i;
	}
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

/* Moves an item of a task from one track to another. Either may be NONE. The item stays on `other`,
 * the track of an edge's other task. */
static int move_item(const struct thrum__follow_change *c, int kind, uint32_t item, uint32_t from,
	uint32_t to, uint32_t other)
{
	int64_t start, end;
	int error = 0;

	thrum__index_place(c->index, c->model, c->layout, kind, item, 0, &start, &end);
	if (from != THRUM__NONE && from != other)
		error = take_item(c, kind, from, item, start);
	if (!error && to != THRUM__NONE && to != other && end >= c->model->forgotten)
		error = put_item(c, kind, to, item, start, end);
	return error;
}

static int move_edges(const struct thrum__follow_change *c, uint32_t task, uint32_t from,
	uint32_t to)
{
	const struct thrum__model *m = c->model;
	int error = 0;

	for (int is_in = 0; is_in < 2; is_in++) {
		uint32_t edge = is_in ? THRUM__TASK(m, task, edge_in)
				      : THRUM__TASK(m, task, edge_out);

		while (thrum__model_has_row(&m->edges, edge) && !error) {
			uint32_t other = is_in ? THRUM__EDGE(m, edge, from)
					       : THRUM__EDGE(m, edge, to);
			const uint32_t *track = thrum__timeline_cell(&c->index->task_track, other);

			/* The task may have an edge to itself. */
			if (edge < c->past->edges && (other != task || !is_in))
				error = move_item(c, THRUM__INDEX_EDGES, edge, from, to,
					track && other != task ? *track : THRUM__NONE);
			edge = is_in ? THRUM__EDGE(m, edge, prev_in)
				     : THRUM__EDGE(m, edge, prev_out);
		}
	}
	return error;
}

static int move_items(const struct thrum__follow_change *c, uint32_t task, uint32_t from,
	uint32_t to)
{
	const struct thrum__model *m = c->model;
	uint32_t run = THRUM__TASK(m, task, run), note = THRUM__TASK(m, task, note);
	int error = 0;

	for (; thrum__model_has_row(&m->runs, run) && !error; run = THRUM__RUN(m, run, prev))
		if (run < c->past->runs)
			error = move_item(c, THRUM__INDEX_RUNS, run, from, to, THRUM__NONE);
	for (; thrum__model_has_row(&m->notes, note) && !error; note = THRUM__NOTE(m, note, prev))
		if (note < c->past->notes)
			error = move_item(c, THRUM__INDEX_NOTES, note, from, to, THRUM__NONE);
	if (!error && THRUM__TASK(m, task, state) == THRUM__STATE_FAILED)
		error = move_item(c, THRUM__INDEX_FAILURES, task, from, to, THRUM__NONE);
	return error ? error : move_edges(c, task, from, to);
}

int thrum__follow_task(const struct thrum__follow_change *c, uint32_t task)
{
	uint32_t *cell = thrum__timeline_cell(&c->index->task_track, task);
	uint32_t unit = thrum__layout_unit(c->layout, task), track = THRUM__NONE;
	int error = 0;

	if (!cell || !thrum__model_has_row(&c->model->tasks, task))
		return 0;
	if (unit != THRUM__NONE && c->layout->units[unit].track != THRUM__NONE)
		track = thrum__layout_track(c->layout, unit);
	if (*cell != track && task < c->past->tasks)
		error = move_items(c, task, *cell, track);
	*cell = track;
	return error;
}

/* ---- Units ----------------------------------------------------------------------------------- */

static int note_time(struct thrum__follow_fresh *fresh, int64_t time)
{
	int64_t *grown = thrum__base_grow(fresh->times, &fresh->room, 2 * (fresh->count + 1ull),
		sizeof(*grown));

	if (!grown)
		return -THRUM_E_MEMORY;
	fresh->times = grown;
	grown[fresh->count++] = time;
	return 0;
}

int thrum__follow_times(struct thrum__follow_fresh *fresh, struct thrum__index_times *times)
{
	int error = thrum__index_times_add(times, fresh->times, fresh->count);

	fresh->count = 0;
	thrum__index_times_count(times);
	return error;
}

/* Whether a time is before model->forgotten. */
static bool is_old(const struct thrum__follow_change *c, int64_t time)
{
	return time < thrum__base_time_clamp(c->model->forgotten);
}

/* Removes a unit from where it was. One that ended before model->forgotten is only counted. */
static int take_unit(const struct thrum__follow_change *c, uint32_t unit)
{
	struct thrum__index *index = c->index;
	struct thrum__follow_placed *past = &c->past->units[unit];

	if (past->track == THRUM__NONE)
		return 0;
	if (is_old(c, past->start))
		index->older--;
	else
		thrum__index_times_remove(&index->starts, past->start);
	if (past->end == THRUM__OPEN)
		index->lasting--;
	else if (is_old(c, past->end))
		index->older++;
	else
		thrum__index_times_remove(&index->ends, past->end);
	return past->end != THRUM__OPEN && is_old(c, past->end)
		? 0
		: take_item(c, THRUM__INDEX_UNITS, past->track, unit, past->start);
}

/* Notes the times of a unit in its new place. */
static int note_unit(const struct thrum__follow_change *c, const struct thrum__follow_placed *now)
{
	int error = 0;

	if (is_old(c, now->start))
		c->index->older++;
	else
		error = note_time(&c->past->starts, now->start);
	if (now->end == THRUM__OPEN)
		c->index->lasting++;
	else if (!error)
		error = note_time(&c->past->ends, now->end);
	return error;
}

/* Gives a unit that stays at its position another end. */
static int change_end(const struct thrum__follow_change *c, uint32_t unit, uint32_t at,
	const struct thrum__follow_placed *now, int64_t end)
{
	struct thrum__index_column *column = &c->index->column[THRUM__INDEX_UNITS];
	struct thrum__follow_placed *past = &c->past->units[unit];
	int64_t old = column->end[at];
	int error = 0;

	if (past->end != now->end) {
		if (past->end != THRUM__OPEN)
			thrum__index_times_remove(&c->index->ends, past->end);
		if (now->end != THRUM__OPEN)
			error = note_time(&c->past->ends, now->end);
		c->index->lasting += now->end == THRUM__OPEN;
		c->index->lasting -= past->end == THRUM__OPEN;
	}
	column->end[at] = end;
	thrum__index_column_redo(column, now->track, at);
	return error || end <= old ? error
				   : thrum__index_blocks_add(column, now->track, old, end, unit, 0);
}

int thrum__follow_unit(const struct thrum__follow_change *c, uint32_t unit,
	struct thrum__index_arrival *new)
{
	const struct thrum__index_column *column = &c->index->column[THRUM__INDEX_UNITS];
	const struct thrum__layout *layout = c->layout;
	struct thrum__follow_placed *past = &c->past->units[unit], now = {.track = THRUM__NONE};
	uint32_t at = 0;
	bool has_moved, is_there = false;
	int64_t end = 0;
	int error = 0;

	if (layout->units[unit].task != THRUM__NONE)
		now.track = thrum__index_place(c->index, c->model, layout, THRUM__INDEX_UNITS, unit,
			0, &now.start, &end);
	now.end = thrum__index_lasts(c->model, layout, unit) ? THRUM__OPEN : end;
	has_moved = now.track != past->track;
	new->track = THRUM__NONE;
	if (!has_moved && now.track != THRUM__NONE && now.start == past->start) {
		at = find_item(c, THRUM__INDEX_UNITS, now.track, now.start, unit);
		is_there = is_at(column, now.track, at, unit);
	}
	if (is_there) {
		error = change_end(c, unit, at, &now, end);
	} else {
		error = take_unit(c, unit);
		*new = (struct thrum__index_arrival){now.start, end, unit, now.track};
		if (!error && now.track != THRUM__NONE)
			error = note_unit(c, &now);
	}
	*past = now;
	for (uint32_t task = layout->units[unit].task; has_moved && task != THRUM__NONE && !error;
		task = thrum__layout_next(layout, c->model, task))
		error = thrum__follow_task(c, task);
	return error;
}
