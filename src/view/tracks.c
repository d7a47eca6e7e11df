/* SPDX-License-Identifier: ISC */
/* Making tracks: by counting sort, since the model's columns are in the order of time but for late
 * events. And what is asked of them beside walking. */
#include "view/tracks_parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

struct source {
	const struct thrum__model *model;
	const struct thrum__layout *layout;
	uint32_t *row; /* by task, or NONE */
};

static uint32_t row_of(const struct source *source, uint32_t task)
{
	return task < source->layout->task_count ? source->row[task] : THRUM__NONE;
}

static const struct thrum__rows *rows_of(const struct source *source, int kind)
{
	const struct thrum__model *model = source->model;

	return kind == THRUM__TRACK_RUNS     ? &model->runs
		: kind == THRUM__TRACK_EDGES ? &model->edges
		: kind == THRUM__TRACK_NOTES ? &model->notes
					     : &model->tasks;
}

static int64_t run_end(const struct thrum__model *model, uint32_t run)
{
	int64_t end = THRUM__RUN(model, run, end);

	return thrum__bounded(end == THRUM__OPEN ? model->end : end);
}

/* Where an item goes, and when it is; side 1 is an edge's other end. NONE: nowhere. */
static uint32_t place(const struct source *source, int kind, uint32_t i, int side, int64_t *start,
	int64_t *end)
{
	const struct thrum__model *model = source->model;
	uint32_t row = THRUM__NONE, other;

	switch (kind) {
	case THRUM__TRACK_UNITS:
		if (source->layout->units[i].row == THRUM__NONE)
			return THRUM__NONE;
		*start = thrum__bounded(source->layout->units[i].start);
		*end = thrum__bounded(source->layout->units[i].end);
		if (thrum__layout_lasts(source->layout, i) && *end < thrum__bounded(model->end))
			*end = thrum__bounded(model->end);
		return thrum__layout_row(source->layout, i);
	case THRUM__TRACK_RUNS:
		*start = thrum__bounded(THRUM__RUN(model, i, start));
		*end = run_end(model, i);
		return row_of(source, THRUM__RUN(model, i, task));
	case THRUM__TRACK_EDGES:
		row = row_of(source, THRUM__EDGE(model, i, from));
		other = row_of(source, THRUM__EDGE(model, i, to));
		if (side)
			row = other == row ? THRUM__NONE : other;
		*start = *end = thrum__bounded(THRUM__EDGE(model, i, time));
		return row;
	case THRUM__TRACK_NOTES:
		*start = *end = thrum__bounded(THRUM__NOTE(model, i, time));
		return row_of(source, THRUM__NOTE(model, i, task));
	default:
		*start = *end = thrum__bounded(THRUM__TASK(model, i, end));
		return THRUM__TASK(model, i, state) == THRUM__STATE_FAILED ? row_of(source, i)
									   : THRUM__NONE;
	}
}

/* Sorts what came late, and cuts what overlaps. */
static int tidy(struct thrum__track *track)
{
	struct thrum__piece *pieces = NULL;
	uint32_t room = 0;

	for (uint32_t row = 0; row < track->rows; row++) {
		uint32_t first = track->first[row], count = track->first[row + 1] - first, i = 1;
		int64_t *start = track->start + first,
			*end = track->end ? track->end + first : NULL;
		uint32_t *item = track->item + first;

		while (i < count && start[i - 1] <= start[i])
			i++;
		if (i < count) {
			struct thrum__piece *grown = thrum__grown(pieces, &room, 2ull * count,
				sizeof(*pieces));

			if (!grown) {
				free(pieces);
				return -THRUM_E_MEMORY;
			}
			pieces = grown;
			for (i = 0; i < count; i++)
				pieces[i] = (struct thrum__piece){start[i], end ? end[i] : start[i],
					item[i]};
			thrum__pieces_sort(pieces, pieces + count, count);
			for (i = 0; i < count; i++) {
				start[i] = pieces[i].start;
				item[i] = pieces[i].item;
				if (end)
					end[i] = pieces[i].end;
			}
		}
		for (i = 0; end && i < count; i++) {
			if (i > 0 && start[i] < end[i - 1])
				start[i] = end[i - 1];
			if (end[i] < start[i])
				end[i] = start[i];
		}
	}
	free(pieces);
	return 0;
}

/*
 * Counts the items of row r at first[r + 2]; summed up, row r begins at first[r + 1]; where the
 * items are put there one by one, that ends as the beginning of the next row.
 */
static void deal(const struct source *source, int kind, struct thrum__track *track, bool counts)
{
	const struct thrum__rows *rows = kind == THRUM__TRACK_UNITS ? NULL : rows_of(source, kind);
	uint32_t i = rows ? rows->first : 0;
	uint32_t end = rows ? rows->count : source->layout->unit_count;
	int sides = kind == THRUM__TRACK_EDGES ? 2 : 1;

	for (; i < end; i++) {
		if (rows && !thrum__has_row(rows, i)) {
			i |= THRUM__BLOCK_MASK;
			continue;
		}
		for (int side = 0; side < sides; side++) {
			int64_t from, to;
			uint32_t row = place(source, kind, i, side, &from, &to);

			if (row == THRUM__NONE)
				continue;
			if (counts) {
				track->first[row + 2]++;
				continue;
			}
			uint32_t at = track->first[row + 1]++;

			track->start[at] = from;
			track->item[at] = i;
			if (track->end)
				track->end[at] = to;
		}
	}
}

static int make_track(struct thrum__tracks *tracks, const struct source *source, int kind)
{
	struct thrum__track *track = &tracks->track[kind];
	bool is_long = kind == THRUM__TRACK_UNITS || kind == THRUM__TRACK_RUNS;
	uint64_t most = kind == THRUM__TRACK_UNITS ? source->layout->unit_count
						   : rows_of(source, kind)->count;
	uint64_t sum = 0;

	if (most * (kind == THRUM__TRACK_EDGES ? 2 : 1) >= UINT32_MAX)
		return -THRUM_E_MEMORY;
	track->rows = tracks->rows;
	track->first = thrum__tracks_allocate(tracks, tracks->rows + 2ull, sizeof(*track->first));
	if (!track->first)
		return -THRUM_E_MEMORY;
	memset(track->first, 0, (tracks->rows + 3ull) * sizeof(*track->first));
	deal(source, kind, track, true);
	for (uint32_t row = 0; row < tracks->rows; row++)
		track->first[row + 2] += track->first[row + 1];
	sum = track->count = track->first[tracks->rows + 1];
	track->start = thrum__tracks_allocate(tracks, sum, sizeof(*track->start));
	track->item = thrum__tracks_allocate(tracks, sum, sizeof(*track->item));
	if (is_long)
		track->end = thrum__tracks_allocate(tracks, sum, sizeof(*track->end));
	if (!track->start || !track->item || (is_long && !track->end))
		return -THRUM_E_MEMORY;
	deal(source, kind, track, false);

	int error = tidy(track);

	if (!error)
		error = thrum__track_index(tracks, track);
	return error ? error : thrum__track_summarize(tracks, track);
}

/* ---- Of all rows ----------------------------------------------------------------------------- */

struct unions {
	struct thrum__piece *pieces, *late;
	uint32_t count, room, late_count, late_room;
};

static bool unite(struct unions *all, int64_t start, int64_t end)
{
	struct thrum__piece *last = all->count ? &all->pieces[all->count - 1] : NULL;

	if (last && start >= last->start && start <= last->end) {
		if (end > last->end)
			last->end = end;
		return true;
	}
	bool is_late = last && start < last->start;
	struct thrum__piece **list = is_late ? &all->late : &all->pieces;
	uint32_t *count = is_late ? &all->late_count : &all->count;
	struct thrum__piece *grown = thrum__grown(*list, is_late ? &all->late_room : &all->room,
		*count + 1ull, sizeof(*grown));

	if (!grown)
		return false;
	*list = grown;
	grown[(*count)++] = (struct thrum__piece){.start = start, .end = end};
	return true;
}

static bool unite_runs(const struct thrum__model *model, struct unions *all)
{
	for (uint32_t i = model->runs.first; i < model->runs.count; i++) {
		if (!thrum__has_row(&model->runs, i)) {
			i |= THRUM__BLOCK_MASK;
			continue;
		}
		uint32_t task = THRUM__RUN(model, i, task);
		int64_t start = thrum__bounded(THRUM__RUN(model, i, start)),
			end = run_end(model, i);

		if (thrum__has_row(&model->tasks, task) &&
			(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE))
			continue;
		if (!unite(all, start, end > start ? end : start))
			return false;
	}
	return true;
}

/* What came late is merged with the others in a second go, in which nothing is late. */
static bool unite_late(struct unions *all)
{
	struct unions again = {0};
	size_t count = (size_t)all->count + all->late_count;
	struct thrum__piece *pieces = count < SIZE_MAX / 2 / sizeof(*pieces)
		? malloc(2 * count * sizeof(*pieces))
		: NULL;
	bool is_fine = pieces != NULL;

	if (is_fine) {
		memcpy(pieces, all->pieces, all->count * sizeof(*pieces));
		memcpy(pieces + all->count, all->late, all->late_count * sizeof(*pieces));
		thrum__pieces_sort(pieces, pieces + count, count);
	}
	for (size_t i = 0; i < count && is_fine; i++)
		is_fine = unite(&again, pieces[i].start, pieces[i].end);
	free(pieces);
	free(all->pieces);
	free(all->late);
	*all = again;
	return is_fine;
}

static int make_union(struct thrum__tracks *tracks, const struct thrum__model *model)
{
	struct unions all = {0};
	struct thrum__track *track = &tracks->all;
	int error = -THRUM_E_MEMORY;

	if (!unite_runs(model, &all) || (all.late_count && !unite_late(&all)))
		goto end;
	track->rows = 1;
	track->count = all.count;
	track->first = thrum__tracks_allocate(tracks, 2, sizeof(*track->first));
	track->start = thrum__tracks_allocate(tracks, all.count, sizeof(*track->start));
	track->end = thrum__tracks_allocate(tracks, all.count, sizeof(*track->end));
	if (!track->first || !track->start || !track->end)
		goto end;
	track->first[0] = 0;
	track->first[1] = all.count;
	for (uint32_t i = 0; i < all.count; i++) {
		track->start[i] = all.pieces[i].start;
		track->end[i] = all.pieces[i].end;
	}
	error = thrum__track_index(tracks, track);
end:
	free(all.pieces);
	free(all.late);
	return error;
}

/* The beginnings and the ends of all units, each by themselves in order. */
static int make_lives(struct thrum__tracks *tracks)
{
	const struct thrum__track *track = &tracks->track[THRUM__TRACK_UNITS];
	uint32_t count = track->count;
	struct thrum__piece *pieces = (uint64_t)count * 2 < SIZE_MAX / sizeof(*pieces)
		? malloc((2 * (size_t)count + 1) * sizeof(*pieces))
		: NULL;

	tracks->units = count;
	tracks->starts = thrum__tracks_allocate(tracks, count, sizeof(*tracks->starts));
	tracks->ends = thrum__tracks_allocate(tracks, count, sizeof(*tracks->ends));
	if (!pieces || !tracks->starts || !tracks->ends) {
		free(pieces);
		return -THRUM_E_MEMORY;
	}
	for (int by_end = 0; by_end < 2; by_end++) {
		int64_t *to = by_end ? tracks->ends : tracks->starts;

		for (uint32_t i = 0; i < count; i++)
			pieces[i].start = by_end ? track->end[i] : track->start[i];
		thrum__pieces_sort(pieces, pieces + count, count);
		for (uint32_t i = 0; i < count; i++)
			to[i] = pieces[i].start;
	}
	free(pieces);
	return 0;
}

static int mark_wanted(struct thrum__tracks *tracks, const struct source *source)
{
	const struct thrum__layout *layout = source->layout;

	tracks->wanted = thrum__tracks_allocate(tracks, tracks->rows / 8 + 1ull, 1);
	if (!tracks->wanted)
		return -THRUM_E_MEMORY;
	memset(tracks->wanted, 0, tracks->rows / 8 + 1u);
	for (uint32_t i = 0; i < layout->unit_count; i++) {
		if (layout->units[i].row == THRUM__NONE || !thrum__layout_lasts(layout, i))
			continue;
		uint32_t row = thrum__layout_row(layout, i);

		if (thrum__model_is_stuck(source->model,
			    thrum__model_heir(source->model, layout->units[i].task)))
			tracks->wanted[row / 8] |= (uint8_t)(1u << row % 8);
	}
	return 0;
}

int thrum__tracks_create(const struct thrum__model *model, const struct thrum__layout *layout,
	struct thrum__tracks **tracks)
{
	struct source source = {.model = model, .layout = layout};
	struct thrum__tracks *made = calloc(1, sizeof(*made));
	int error = 0;

	if (!made)
		return -THRUM_E_MEMORY;
	made->rows = layout->rows;
	made->end = thrum__bounded(model->end);
	source.row = malloc((layout->task_count + 1ull) * sizeof(*source.row));
	if (!source.row)
		error = -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < layout->task_count && !error; i++) {
		uint32_t unit = layout->unit_of[i];

		source.row[i] = unit == THRUM__NONE || layout->units[unit].row == THRUM__NONE
			? THRUM__NONE
			: thrum__layout_row(layout, unit);
	}
	for (int kind = 0; kind < THRUM__TRACK_KINDS && !error; kind++)
		error = make_track(made, &source, kind);
	if (!error)
		error = make_union(made, model);
	if (!error)
		error = make_lives(made);
	if (!error)
		error = mark_wanted(made, &source);
	free(source.row);
	if (error) {
		thrum__tracks_destroy(made);
		return error;
	}
	*tracks = made;
	return 0;
}

void thrum__tracks_destroy(struct thrum__tracks *tracks)
{
	if (!tracks)
		return;
	for (int kind = 0; kind < THRUM__TRACK_KINDS; kind++)
		thrum__track_finish(&tracks->track[kind]);
	thrum__track_finish(&tracks->all);
	free(tracks->starts);
	free(tracks->ends);
	free(tracks->wanted);
	free(tracks);
}

size_t thrum__tracks_memory(const struct thrum__tracks *tracks)
{
	return sizeof(*tracks) + tracks->memory;
}
