/* SPDX-License-Identifier: ISC */
/* Makes an index: by counting sort over the tracks, since the model's rows are in the order of time
 * but for late events. */
#include "base/array.h"
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define INLINE static inline __attribute__((always_inline))
#define STEP 65536 /* rows of the model that are looked at in one step */
#define PHASES 7   /* of making a column: step_column */
#define STEPS (PHASES * THRUM__INDEX_KINDS + 2)

/* The index that is made, and its sources. */
struct source {
	struct thrum__index *index;
	const struct thrum__model *model;
	const struct thrum__layout *layout;
};

/* The rows of the model that a kind of item other than units stands for. */
static const struct thrum__model_rows *rows_of(const struct thrum__model *model, int kind)
{
	return kind == THRUM__INDEX_RUNS     ? &model->runs
		: kind == THRUM__INDEX_EDGES ? &model->edges
		: kind == THRUM__INDEX_NOTES ? &model->notes
					     : &model->tasks;
}

/* When a run ends: an open one at the model's end. */
static int64_t run_end(const struct thrum__model *model, uint32_t run)
{
	int64_t end = THRUM__RUN(model, run, end);

	return thrum__base_time_clamp(end == THRUM__OPEN ? model->end : end);
}

bool thrum__index_lasts(const struct thrum__model *model, const struct thrum__layout *layout,
	uint32_t unit)
{
	return thrum__layout_lasts(layout, unit) &&
		thrum__base_time_clamp(layout->units[unit].end) <=
		thrum__base_time_clamp(model->end);
}

/* Where an item lies. */
struct place {
	int64_t start, end;
	uint32_t track, other; /* NONE: on no track, on no other one */
};

static void place_unit(const struct thrum__model *model, const struct thrum__layout *layout,
	uint32_t unit, struct place *place)
{
	const struct thrum__layout_unit *u = &layout->units[unit];

	place->start = u->start;
	place->end = thrum__index_lasts(model, layout, unit) ? model->end : u->end;
	place->track = thrum__layout_track(layout, unit);
}

/* An edge lies on the tracks of both its tasks; once, where that is the same track. */
static void place_edge(const struct thrum__index *index, const struct thrum__model *model,
	uint32_t edge, struct place *place)
{
	place->start = place->end = THRUM__EDGE(model, edge, time);
	place->track = thrum__index_track(index, THRUM__EDGE(model, edge, from));
	place->other = thrum__index_track(index, THRUM__EDGE(model, edge, to));
	if (place->other == place->track)
		place->other = THRUM__NONE;
}

/* Finds the place of an item. It is inlined, so that deal_kind knows the kind when it is compiled. */
INLINE struct place place_item(const struct source *source, int kind, uint32_t i)
{
	const struct thrum__index *index = source->index;
	const struct thrum__model *model = source->model;
	struct place place = {.track = THRUM__NONE, .other = THRUM__NONE};

	switch (kind) {
	case THRUM__INDEX_UNITS: place_unit(model, source->layout, i, &place); break;
	case THRUM__INDEX_RUNS:
		place.start = THRUM__RUN(model, i, start);
		place.end = run_end(model, i);
		place.track = thrum__index_track(index, THRUM__RUN(model, i, task));
		break;
	case THRUM__INDEX_EDGES: place_edge(index, model, i, &place); break;
	case THRUM__INDEX_NOTES:
		place.start = place.end = THRUM__NOTE(model, i, time);
		place.track = thrum__index_track(index, THRUM__NOTE(model, i, task));
		break;
	default:
		place.start = place.end = THRUM__TASK(model, i, end);
		if (THRUM__TASK(model, i, state) == THRUM__STATE_FAILED)
			place.track = thrum__index_track(index, i);
	}
	if (place.end < model->forgotten)
		place.track = place.other = THRUM__NONE;
	place.start = thrum__base_time_clamp(place.start);
	place.end = thrum__base_time_clamp(place.end);
	return place;
}

uint32_t thrum__index_place(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout, int kind, uint32_t item, int side, int64_t *start,
	int64_t *end)
{
	struct place place = place_item(&(struct source){index, model, layout}, kind, item);

	*start = place.start;
	*end = place.end;
	return side ? place.other : place.track;
}

/* Sorts the tracks that got late items, and cuts items that overlap. */
static int tidy_column(struct thrum__index_column *column)
{
	struct thrum__base_span *spans = NULL;
	uint32_t room = 0;

	for (uint32_t track = 0; track < column->tracks; track++) {
		uint32_t first = column->track[track].first,
			 count = column->track[track].last - first, i = 1;
		int64_t *start = column->start + first,
			*end = column->end ? column->end + first : NULL;
		uint32_t *item = column->item + first;

		while (i < count && start[i - 1] <= start[i])
			i++;
		if (i < count) {
			struct thrum__base_span *grown = thrum__base_grow(spans, &room,
				2ull * count, sizeof(*spans));

			if (!grown) {
				free(spans);
				return -THRUM_E_MEMORY;
			}
			spans = grown;
			for (i = 0; i < count; i++)
				spans[i] = (struct thrum__base_span){start[i],
					end ? end[i] : start[i], item[i]};
			thrum__base_sort_spans(spans, spans + count, count);
			for (i = 0; i < count; i++) {
				start[i] = spans[i].start;
				item[i] = spans[i].item;
				if (end)
					end[i] = spans[i].end;
			}
		}
		for (i = 0; end && i < count; i++) {
			if (i > 0 && start[i] < end[i - 1])
				start[i] = end[i - 1];
			if (end[i] < start[i])
				end[i] = start[i];
		}
	}
	free(spans);
	return 0;
}

/* Counts an item of a track (counts), or puts it behind the track's last one. */
INLINE void deal_item(struct thrum__index_column *column, bool counts, uint32_t track,
	uint32_t item, const struct place *place)
{
	if (track == THRUM__NONE)
		return;
	uint32_t at = column->track[track].last++;

	if (counts)
		return;
	column->start[at] = place->start;
	column->item[at] = item;
	if (column->end)
		column->end[at] = place->end;
}

/* Deals the items from `i` to `end`. */
INLINE void deal_kind(const struct source *source, int kind, struct thrum__index_column *column,
	bool counts, uint32_t i, uint32_t end)
{
	const struct thrum__model_rows *rows = kind == THRUM__INDEX_UNITS
		? NULL
		: rows_of(source->model, kind);

	for (; i < end; i++) {
		if (rows && !thrum__model_has_row(rows, i)) {
			i |= THRUM__BLOCK_MASK;
			continue;
		}
		struct place place = place_item(source, kind, i);

		deal_item(column, counts, place.track, i, &place);
		deal_item(column, counts, place.other, i, &place);
	}
}

/* Deals some items, from index->step_at on. Returns 1 while there are more. */
static int deal_items(const struct source *source, int kind, bool counts)
{
	struct thrum__index *index = source->index;
	struct thrum__index_column *column = &index->column[kind];
	const struct thrum__model_rows *rows = kind == THRUM__INDEX_UNITS
		? NULL
		: rows_of(source->model, kind);
	uint32_t first = rows ? rows->first : 0;
	uint32_t all = rows ? rows->count : source->layout->unit_count;
	uint32_t i = index->step_at > first ? index->step_at : first;
	uint32_t end = all - i > STEP ? i + STEP : all;

	switch (kind) {
	case THRUM__INDEX_UNITS:
		deal_kind(source, THRUM__INDEX_UNITS, column, counts, i, end);
		break;
	case THRUM__INDEX_RUNS: deal_kind(source, THRUM__INDEX_RUNS, column, counts, i, end); break;
	case THRUM__INDEX_EDGES:
		deal_kind(source, THRUM__INDEX_EDGES, column, counts, i, end);
		break;
	case THRUM__INDEX_NOTES:
		deal_kind(source, THRUM__INDEX_NOTES, column, counts, i, end);
		break;
	default: deal_kind(source, THRUM__INDEX_FAILURES, column, counts, i, end);
	}
	index->step_at = end;
	return end < all;
}

static int begin_column(struct thrum__index *index, struct thrum__index_column *column)
{
	column->tracks = column->track_room = index->tracks;
	column->track = calloc(index->tracks + 1ull, sizeof(*column->track));
	return column->track ? 0 : -THRUM_E_MEMORY;
}

/* Makes room for the items that were counted. */
static int place_tracks(struct thrum__index_column *column, bool is_long)
{
	uint64_t sum = 0;

	for (uint32_t track = 0; track < column->tracks; track++) {
		uint32_t count = column->track[track].last;

		column->track[track] = (struct thrum__index_extent){(uint32_t)sum, (uint32_t)sum};
		sum += count;
	}
	if (sum >= UINT32_MAX)
		return -THRUM_E_MEMORY;
	column->count = (uint32_t)sum;
	column->start = thrum__index_allocate(sum, sizeof(*column->start));
	column->item = thrum__index_allocate(sum, sizeof(*column->item));
	if (is_long)
		column->end = thrum__index_allocate(sum, sizeof(*column->end));
	return column->start && column->item && (!is_long || column->end) ? 0 : -THRUM_E_MEMORY;
}

/* Does a part of a phase of making a column with its summaries. Returns 1 while the phase has more. */
static int step_column(const struct source *source, int kind, unsigned phase)
{
	struct thrum__index *index = source->index;
	struct thrum__index_column *column = &index->column[kind];

	switch (phase) {
	case 0: return begin_column(index, column);
	case 2:
		return place_tracks(column,
			kind == THRUM__INDEX_UNITS || kind == THRUM__INDEX_RUNS);
	case 1:
	case 3: return deal_items(source, kind, phase == 1);
	case 4: return tidy_column(column);
	case 5: return thrum__index_column_summarize(column);
	default: return thrum__index_blocks_step(index, column, &index->step_at);
	}
}

/* ---- The union of all runs ------------------------------------------------------------------- */

bool thrum__index_is_own(const struct thrum__model *model, uint32_t run)
{
	uint32_t task = THRUM__RUN(model, run, task);

	return thrum__model_has_row(&model->tasks, task) &&
		(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE);
}

/* Intervals that don't touch, in the order of time; and those that came late, in any order. */
struct intervals {
	struct thrum__base_span *spans, *late;
	uint32_t count, room, late_count, late_room;
};

/* Adds an interval. One that overlaps the last one, or touches it, extends that. */
static bool add_interval(struct intervals *all, int64_t start, int64_t end)
{
	struct thrum__base_span *last = all->count ? &all->spans[all->count - 1] : NULL;

	if (last && start >= last->start && start <= last->end) {
		if (end > last->end)
			last->end = end;
		return true;
	}
	bool is_late = last && start < last->start;
	struct thrum__base_span **list = is_late ? &all->late : &all->spans;
	uint32_t *count = is_late ? &all->late_count : &all->count;
	struct thrum__base_span *grown = thrum__base_grow(*list,
		is_late ? &all->late_room : &all->room, *count + 1ull, sizeof(*grown));

	if (!grown)
		return false;
	*list = grown;
	grown[(*count)++] = (struct thrum__base_span){.start = start, .end = end};
	return true;
}

/* Unites the ended runs, and finds since when one is open. */
static bool unite_runs(struct thrum__index *index, const struct thrum__model *model,
	struct intervals *all)
{
	index->since = INT64_MAX;
	for (uint32_t i = model->runs.first; i < model->runs.count; i++) {
		if (!thrum__model_has_row(&model->runs, i)) {
			i |= THRUM__BLOCK_MASK;
			continue;
		}
		int64_t start = thrum__base_time_clamp(THRUM__RUN(model, i, start)),
			end = run_end(model, i);

		if (thrum__index_is_own(model, i) || end < model->forgotten)
			continue;
		if (THRUM__RUN(model, i, end) == THRUM__OPEN)
			index->since = start < index->since ? start : index->since;
		else if (!add_interval(all, start, end > start ? end : start))
			return false;
	}
	return true;
}

/* Merges the late intervals with the others in a second pass, in which none is late. */
static bool unite_late(struct intervals *all)
{
	struct intervals again = {0};
	size_t count = (size_t)all->count + all->late_count;
	struct thrum__base_span *spans = count < SIZE_MAX / 2 / sizeof(*spans)
		? malloc(2 * count * sizeof(*spans))
		: NULL;
	bool is_fine = spans != NULL;

	if (is_fine) {
		memcpy(spans, all->spans, all->count * sizeof(*spans));
		memcpy(spans + all->count, all->late, all->late_count * sizeof(*spans));
		thrum__base_sort_spans(spans, spans + count, count);
	}
	for (size_t i = 0; i < count && is_fine; i++)
		is_fine = add_interval(&again, spans[i].start, spans[i].end);
	free(spans);
	free(all->spans);
	free(all->late);
	*all = again;
	return is_fine;
}

/* Makes index->all. */
static int make_union(struct thrum__index *index, const struct thrum__model *model)
{
	struct intervals all = {0};
	struct thrum__index_column *column = &index->all;
	int error = -THRUM_E_MEMORY;

	if (!unite_runs(index, model, &all) || (all.late_count && !unite_late(&all)))
		goto end;
	column->tracks = column->track_room = 1;
	column->count = all.count;
	column->track = calloc(2, sizeof(*column->track));
	column->start = thrum__index_allocate(all.count, sizeof(*column->start));
	column->end = thrum__index_allocate(all.count, sizeof(*column->end));
	if (!column->track || !column->start || !column->end)
		goto end;
	column->track[0].last = all.count;
	for (uint32_t i = 0; i < all.count; i++) {
		column->start[i] = all.spans[i].start;
		column->end[i] = all.spans[i].end;
	}
	error = thrum__index_column_summarize(column);
end:
	free(all.spans);
	free(all.late);
	return error;
}

/* Gives the place of a unit. Returns false if the unit is gone or forgotten. */
static bool life_of(const struct source *source, uint32_t unit, struct place *place)
{
	place_unit(source->model, source->layout, unit, place);
	return source->layout->units[unit].task != THRUM__NONE &&
		place->end >= source->model->forgotten;
}

/* Collects when units start and when they end, each sorted; of units that started before
 * model->forgotten it counts the starts only. */
static int make_lives(const struct source *source)
{
	struct thrum__index *index = source->index;
	uint32_t count = source->layout->unit_count, starts = 0, ends = 0;
	int64_t *times = thrum__index_allocate(2 * (uint64_t)count, sizeof(*times));
	int64_t before = thrum__base_time_clamp(source->model->forgotten);
	int error = times ? 0 : -THRUM_E_MEMORY;
	struct place place;

	for (uint32_t i = 0; i < count && !error; i++) {
		if (!life_of(source, i, &place))
			continue;
		if (thrum__base_time_clamp(place.start) < before)
			index->older++;
		else
			times[starts++] = thrum__base_time_clamp(place.start);
	}
	if (!error)
		error = thrum__index_times_add(&index->starts, times, starts);
	for (uint32_t i = 0; i < count && !error; i++) {
		if (!life_of(source, i, &place))
			continue;
		if (thrum__index_lasts(source->model, source->layout, i))
			index->lasting++;
		else
			times[ends++] = thrum__base_time_clamp(place.end);
	}
	if (!error)
		error = thrum__index_times_add(&index->ends, times, ends);
	thrum__index_times_count(&index->starts);
	thrum__index_times_count(&index->ends);
	free(times);
	return error;
}

void thrum__index_want(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout, uint32_t unit)
{
	const struct thrum__layout_unit *u = &layout->units[unit];

	if (u->track == THRUM__NONE || !thrum__layout_lasts(layout, unit) ||
		!thrum__model_is_stuck(model, thrum__model_heir(model, u->task)))
		return;
	uint32_t track = thrum__layout_track(layout, unit);

	index->wanted[track / 8] |= (uint8_t)(1u << track % 8);
}

static int mark_wanted(const struct source *source)
{
	struct thrum__index *index = source->index;

	index->wanted = calloc(index->tracks / 8 + 1u, 1);
	for (uint32_t i = 0; index->wanted && i < source->layout->unit_count; i++)
		thrum__index_want(index, source->model, source->layout, i);
	return index->wanted ? 0 : -THRUM_E_MEMORY;
}

/* Notes the tracks of some tasks. Returns 1 while there are more. */
static int note_tasks(const struct source *source)
{
	struct thrum__index *index = source->index;
	const struct thrum__model_rows *tasks = &source->model->tasks;
	uint32_t all = source->layout->task_count, i = index->step_at, end;
	int error = 0;

	if (i == 0) {
		index->task_track.width = 1;
		error = thrum__timeline_cells_follow(&index->task_track, source->model,
			tasks->first);
	}
	i = i > tasks->first ? i : tasks->first;
	end = all > i && all - i > STEP ? i + STEP : all;
	for (; i < end && !error; i++) {
		uint32_t unit = thrum__layout_unit(source->layout, i);

		if (!thrum__model_has_row(tasks, i))
			i |= THRUM__BLOCK_MASK;
		else if (unit != THRUM__NONE && source->layout->units[unit].track != THRUM__NONE)
			*thrum__timeline_cell(&index->task_track,
				i) = thrum__layout_track(source->layout, unit);
	}
	index->step_at = end;
	return error ? error : end < all;
}

int thrum__index_create(const struct thrum__model *model, const struct thrum__layout *layout,
	struct thrum__index **index)
{
	return thrum__index_make(model, layout, NULL, NULL, index);
}

/* Makes the part that needs no tracks. */
static int begin_index(const struct source *source)
{
	int error = make_union(source->index, source->model);

	source->index->end = thrum__base_time_clamp(source->model->end);
	return error ? error : make_lives(source);
}

int thrum__index_outline(const struct thrum__model *model, const struct thrum__layout *layout,
	struct thrum__index **index)
{
	struct thrum__index *made = calloc(1, sizeof(*made));
	int error = made ? begin_index(&(struct source){made, model, layout}) : -THRUM_E_MEMORY;

	if (error)
		thrum__index_destroy(made);
	else
		*index = made;
	return error;
}

void thrum__index_complete(struct thrum__index *outline, struct thrum__index *made)
{
	made->all = outline->all;
	made->since = outline->since;
	made->starts = outline->starts;
	made->ends = outline->ends;
	made->older = outline->older;
	made->lasting = outline->lasting;
	made->end = outline->end;
	*outline = *made;
	free(made);
}

int thrum__index_remake(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout)
{
	struct thrum__index *made;
	int error = thrum__index_create(model, layout, &made);

	if (error)
		return error;
	thrum__index_finish(index);
	*index = *made;
	free(made);
	return 0;
}

int thrum__index_begin(const struct thrum__layout *layout, struct thrum__index **index)
{
	struct thrum__index *made = calloc(1, sizeof(*made));

	if (!made)
		return -THRUM_E_MEMORY;
	made->tracks = layout->tracks;
	*index = made;
	return 0;
}

int thrum__index_step(struct thrum__index *index, const struct thrum__model *model,
	const struct thrum__layout *layout)
{
	struct source source = {index, model, layout};
	unsigned step = index->step, kind = (step - 1) / PHASES, phase = (step - 1) % PHASES;
	int more;

	if (step == 0)
		more = note_tasks(&source);
	else if (kind < THRUM__INDEX_KINDS)
		more = step_column(&source, (int)kind, phase);
	else
		return mark_wanted(&source);
	if (more == 0) {
		index->step++;
		index->step_at = 0;
	}
	return more < 0 ? more : 1;
}

int thrum__index_make(const struct thrum__model *model, const struct thrum__layout *layout,
	bool (*progress)(void *context, double part), void *context, struct thrum__index **index)
{
	struct thrum__index *made;
	int error = thrum__index_begin(layout, &made);

	if (error)
		return error;
	while (!error && (error = thrum__index_step(made, model, layout)) > 0)
		error = progress && !progress(context, made->step / (double)STEPS);
	if (!error)
		error = begin_index(&(struct source){made, model, layout});
	if (error)
		thrum__index_destroy(made);
	else
		*index = made;
	return error;
}

void thrum__index_finish(struct thrum__index *index)
{
	for (int kind = 0; kind < THRUM__INDEX_KINDS; kind++)
		thrum__index_column_finish(&index->column[kind]);
	thrum__index_column_finish(&index->all);
	thrum__index_times_finish(&index->starts);
	thrum__index_times_finish(&index->ends);
	thrum__timeline_cells_finish(&index->task_track);
	thrum__follow_past_free(index->past);
	free(index->wanted);
	free(index->maker);
}

void thrum__index_destroy(struct thrum__index *index)
{
	if (!index)
		return;
	thrum__index_finish(index);
	free(index);
}

size_t thrum__index_memory(const struct thrum__index *index)
{
	size_t sum = sizeof(*index) + thrum__index_column_memory(&index->all) +
		thrum__index_times_memory(&index->starts) +
		thrum__index_times_memory(&index->ends) +
		thrum__timeline_cells_memory(&index->task_track) +
		thrum__follow_past_memory(index->past) + index->tracks / 8;

	for (int kind = 0; kind < THRUM__INDEX_KINDS; kind++)
		sum += thrum__index_column_memory(&index->column[kind]);
	return sum;
}
