/* SPDX-License-Identifier: ISC */
/* Makes units of tasks: follows chains of tasks that became each other, and finds the time that
 * each unit occupies. */
#include "base/array.h"
#include "timeline/layout/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define NEAR_PART 100

/* The length of a silent pending unit's stub, in ns; a unit heard of that shortly before the end
 * counts as alive. It is a part of the time in which anything ran, since pictures fold the rest. */
static int64_t near_duration(const struct thrum__model *model)
{
	int64_t ran = 0;

	for (uint32_t i = 0; i < model->lane_count; i++)
		ran += model->lanes[i].ran;
	return ran < model->end ? ran / NEAR_PART : model->end / NEAR_PART;
}

/* Returns when a task starts, for the layout. */
static int64_t start_of(const struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t task)
{
	/* Nobody knows since when such a task exists: it takes no track for the time before it was
	 * seen. */
	bool is_old = THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING;

	return layout->simplify && !is_old ? THRUM__TASK(model, task, start)
					   : THRUM__TASK(model, task, created);
}

static bool is_pending(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, end) == THRUM__OPEN;
}

void thrum__layout_occupied(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit, int64_t *start, int64_t *end)
{
	struct thrum__layout_extra *extra = &layout->placer->extra[unit];
	int64_t last = thrum__base_time_clamp(layout->units[unit].end),
		now = thrum__base_time_clamp(model->end);
	int64_t near = layout->placer->near;

	*start = thrum__base_time_clamp(layout->units[unit].start);
	extra->lasts = is_pending(model, extra->tail) &&
		(extra->is_lane || extra->is_wanted || last >= now - near);
	*end = extra->busy > last ? thrum__base_time_clamp(extra->busy) : last;
	if (extra->lasts)
		*end = THRUM__FARTHEST;
	else if (is_pending(model, extra->tail))
		*end += near;
	/* Even the shortest unit occupies some time, and neighbours don't touch. */
	*end = (*end > *start ? *end : *start) + 1;
}

void thrum__layout_touch(struct thrum__layout *layout, uint32_t unit)
{
	struct thrum__layout_extra *extra = &layout->placer->extra[unit];

	if (layout->placer->logs && !extra->is_changed) {
		extra->is_changed = true;
		layout->changed[layout->changed_count++] = unit;
	}
}

/* ---- Chains ---------------------------------------------------------------------------------- */

/* Extends a unit's time so that it holds one of its tasks. */
static void extend_unit(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit, uint32_t task)
{
	struct thrum__layout_unit *u = &layout->units[unit];
	struct thrum__layout_extra *extra = &layout->placer->extra[unit];
	int64_t start = start_of(layout, model, task),
		end = thrum__model_task_end_time(model, task);
	uint32_t run = THRUM__TASK(model, task, run);

	if (task == u->task || start < u->start)
		u->start = start;
	if (end > u->end)
		u->end = end;
	if (u->end < u->start)
		u->end = u->start;
	if (run != THRUM__NONE && thrum__model_has_row(&model->runs, run) &&
		THRUM__RUN(model, run, end) > extra->busy)
		extra->busy = THRUM__RUN(model, run, end);
	extra->is_lane |= (THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) != 0;
	extra->is_wanted |= (THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE) != 0;
}

void thrum__layout_log(struct thrum__layout *layout, uint32_t task)
{
	struct thrum__layout_placer *placer = layout->placer;
	uint32_t *grown = NULL;

	if (!placer->logs)
		return;
	/* Where chains join again and again, looking at all units is cheaper than a longer log. */
	if (layout->adopted_count < layout->tasks.kept_count << THRUM__BLOCK_SHIFT)
		grown = thrum__base_grow(layout->adopted, &placer->adopted_room,
			layout->adopted_count + 1ull, sizeof(*grown));
	if (!grown) {
		layout->is_shifted = true;
		return;
	}
	layout->adopted = grown;
	grown[layout->adopted_count++] = task;
}

/* Puts a task at the end of a unit's chain. */
static void adopt_task(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit, uint32_t task)
{
	thrum__timeline_cell(&layout->tasks, task)[THRUM__CELL_UNIT] = unit;
	layout->placer->extra[unit].tail = task;
	extend_unit(layout, model, unit, task);
	thrum__layout_log(layout, task);
}

/* Puts another unit's chain at the end of a unit's. The unit keeps its track, or gets that of the
 * other if only that had one. */
static void absorb_unit(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit, uint32_t other)
{
	struct thrum__layout_extra *extra = &layout->placer->extra[unit];
	const struct thrum__layout_extra *gone = &layout->placer->extra[other];
	uint32_t task = layout->units[other].task;

	thrum__layout_stand(layout, other);
	if (layout->units[unit].track == THRUM__NONE && extra->wish == THRUM__NONE &&
		gone->wish != THRUM__NONE) {
		extra->wish = gone->wish;
		layout->units[unit].group = layout->units[other].group;
	}
	if (gone->busy > extra->busy)
		extra->busy = gone->busy;
	while (task != THRUM__NONE) {
		uint32_t next = thrum__layout_next(layout, model, task);

		adopt_task(layout, model, unit, task);
		task = next;
	}
	layout->units[other].task = THRUM__NONE;
	layout->units[other].parent = unit;
	layout->placer->dead++;
	thrum__layout_touch(layout, other);
	thrum__layout_touch(layout, unit);
}

/* Extends a chain as far as it goes. Where several tasks became the same task, only the one that
 * claimed it goes on. */
static void follow_chain(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit)
{
	for (;;) {
		uint32_t tail = layout->placer->extra[unit].tail;
		uint32_t next = THRUM__TASK(model, tail, became);
		const uint32_t *cell = thrum__timeline_cell(&layout->tasks, next);

		if (!cell || !thrum__model_has_row(&model->tasks, next) ||
			cell[THRUM__CELL_CLAIM] != tail)
			return;
		uint32_t owner = cell[THRUM__CELL_UNIT];
		uint32_t *link = &thrum__timeline_cell(&layout->tasks, tail)[THRUM__CELL_NEXT];

		if (owner == unit || (owner != THRUM__NONE && layout->units[owner].task != next))
			return;
		*link = next;
		if (owner == THRUM__NONE)
			adopt_task(layout, model, unit, next);
		else
			absorb_unit(layout, model, unit, owner);
	}
}

/* Makes a unit of a task and the rest of its chain. */
static void begin_unit(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t task)
{
	struct thrum__layout_placer *placer = layout->placer;
	uint32_t unit = placer->free_count ? placer->free[--placer->free_count]
					   : layout->unit_count++;

	layout->units[unit] = (struct thrum__layout_unit){
		.start = INT64_MAX,
		.end = INT64_MIN,
		.task = task,
		.parent = THRUM__NONE,
		.track = THRUM__NONE,
	};
	placer->extra[unit] = (struct thrum__layout_extra){
		.busy = INT64_MIN,
		.anchor = THRUM__NONE,
		.wish = THRUM__NONE,
		.is_fresh = true,
	};
	placer->fresh[placer->fresh_count++] = unit;
	thrum__layout_touch(layout, unit);
	adopt_task(layout, model, unit, task);
	follow_chain(layout, model, unit);
}

/* ---- All units ------------------------------------------------------------------------------- */

/* Grows an array to `count` elements. */
static int grow_array(void **array, uint32_t room, uint64_t count, size_t size)
{
	void *grown = thrum__base_grow(*array, &room, count, size);

	if (grown)
		*array = grown;
	return grown ? 0 : -THRUM_E_MEMORY;
}

/* Makes room for the units of all new tasks. */
static int reserve_units(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;
	uint64_t count = (uint64_t)layout->unit_count + (model->tasks.count - layout->task_count);
	struct {
		void *array;
		size_t size;
	} all[] = {
		{layout->units, sizeof(*layout->units)},
		{placer->extra, sizeof(*placer->extra)},
		{placer->seats, sizeof(*placer->seats)},
		{placer->fresh, sizeof(*placer->fresh)},
		{placer->free, sizeof(*placer->free)},
		{placer->child, sizeof(*placer->child)},
		{placer->sibling, sizeof(*placer->sibling)},
		{layout->changed, sizeof(*layout->changed)},
	};
	uint32_t room = placer->unit_room;
	int error = thrum__timeline_cells_follow(&layout->tasks, model, layout->task_count);

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		error = error ? error : grow_array(&all[i].array, room, count, all[i].size);
	layout->units = all[0].array;
	placer->extra = all[1].array;
	placer->seats = all[2].array;
	placer->fresh = all[3].array;
	placer->free = all[4].array;
	placer->child = all[5].array;
	placer->sibling = all[6].array;
	layout->changed = all[7].array;
	if (!error && count > room)
		placer->unit_room = count > room + room / 2 ? (uint32_t)count : room + room / 2;
	return error;
}

/* Lets a task claim the task that it became. The first of several to end has the claim. */
static void claim_next(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t task)
{
	uint32_t next = THRUM__TASK(model, task, became);

	if (next >= layout->task_count || next == task ||
		!thrum__model_has_row(&model->tasks, next))
		return;
	uint32_t *claim = &thrum__timeline_cell(&layout->tasks, next)[THRUM__CELL_CLAIM];

	if (!thrum__model_has_row(&model->tasks, *claim) ||
		THRUM__TASK(model, task, end) < THRUM__TASK(model, *claim, end))
		*claim = task;
}

/* Makes units of the tasks from `first` on. First open units go on; then each task that no other
 * became begins a unit; the tasks left over form circles, which begin anywhere. */
static void begin_units(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t first)
{
	const struct thrum__layout_placer *placer = layout->placer;

	for (uint32_t i = 0; i < placer->open_count; i++)
		if (layout->units[placer->open[i]].task != THRUM__NONE)
			claim_next(layout, model, placer->extra[placer->open[i]].tail);
	for (uint32_t task = first; task < layout->task_count; task++)
		if (thrum__model_has_row(&model->tasks, task))
			claim_next(layout, model, task);
	for (uint32_t i = 0; i < placer->open_count; i++)
		if (layout->units[placer->open[i]].task != THRUM__NONE)
			follow_chain(layout, model, placer->open[i]);
	for (int circles = 0; circles < 2; circles++)
		for (uint32_t task = first; task < layout->task_count; task++) {
			const uint32_t *cell = thrum__model_has_row(&model->tasks, task)
				? thrum__timeline_cell(&layout->tasks, task)
				: NULL;

			if (cell && cell[THRUM__CELL_UNIT] == THRUM__NONE &&
				(circles || cell[THRUM__CELL_CLAIM] == THRUM__NONE))
				begin_unit(layout, model, task);
		}
}

static void find_parents(struct thrum__layout *layout, const struct thrum__model *model,
	const uint32_t *units, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (layout->units[units[i]].task != THRUM__NONE)
			thrum__layout_find_parent(layout, model, units[i]);
}

int thrum__layout_collect(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;
	uint32_t first = layout->task_count, fresh = placer->fresh_count;
	int error = reserve_units(layout, model);

	if (error)
		return error;
	placer->near = near_duration(model);
	placer->logs = layout->updates > 1;
	thrum__layout_forget(layout, model);
	for (uint32_t i = 0; i < placer->open_count; i++) {
		uint32_t unit = placer->open[i];

		thrum__layout_touch(layout, unit);
		if (layout->units[unit].task != THRUM__NONE)
			extend_unit(layout, model, unit, placer->extra[unit].tail);
	}
	layout->task_count = model->tasks.count;
	begin_units(layout, model, first);
	find_parents(layout, model, placer->open, placer->open_count);
	find_parents(layout, model, placer->fresh + fresh, placer->fresh_count - fresh);
	/* After thrum__layout_units the first update finds parents of open units again. */
	return first == 0 || layout->updates == 1 ? thrum__layout_sweep(layout) : 0;
}

/* Sorts the fresh units by start. */
static int sort_fresh(struct thrum__layout *layout)
{
	uint32_t *fresh = layout->placer->fresh, count = layout->placer->fresh_count;
	struct thrum__base_sort_item *items = malloc((2ull * count + 1) * sizeof(*items));

	if (!items)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){layout->units[fresh[i]].start, fresh[i]};
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (uint32_t i = 0; i < count; i++)
		fresh[i] = items[i].item;
	free(items);
	return 0;
}

int thrum__layout_gather(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;
	const struct thrum__layout_unit *units = layout->units;
	uint32_t count = 0;
	bool is_sorted = true;

	for (uint32_t i = 0; i < placer->fresh_count; i++) {
		uint32_t unit = placer->fresh[i];
		struct thrum__layout_extra *extra = &placer->extra[unit];

		extra->is_fresh = units[unit].track == THRUM__NONE &&
			units[unit].task != THRUM__NONE;
		placer->child[unit] = THRUM__NONE;
		if (!extra->is_fresh)
			continue;
		thrum__layout_occupied(layout, model, unit, &placer->seats[unit].start,
			&placer->seats[unit].end);
		is_sorted = is_sorted &&
			(count == 0 || units[placer->fresh[count - 1]].start <= units[unit].start);
		placer->fresh[count++] = unit;
	}
	placer->fresh_count = count;
	return is_sorted ? 0 : sort_fresh(layout);
}

/* Whether a unit may still change: it is pending, or a run of it hasn't ended. */
static bool is_open(const struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit)
{
	const struct thrum__layout_extra *extra = &layout->placer->extra[unit];

	return layout->units[unit].task != THRUM__NONE &&
		(is_pending(model, extra->tail) || extra->busy == THRUM__OPEN);
}

int thrum__layout_keep_open(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;
	uint64_t most = (uint64_t)placer->open_count + placer->fresh_count;
	uint32_t *open = thrum__base_grow(placer->open, &placer->open_room, most, sizeof(*open));
	uint32_t count = 0, left = 0;

	if (!open)
		return -THRUM_E_MEMORY;
	placer->open = open;
	for (uint32_t i = 0; i < placer->open_count; i++) {
		uint32_t unit = open[i];

		placer->extra[unit].is_open = is_open(layout, model, unit);
		if (placer->extra[unit].is_open)
			open[count++] = unit;
	}
	for (uint32_t i = 0; i < placer->fresh_count; i++) {
		uint32_t unit = placer->fresh[i];
		struct thrum__layout_extra *extra = &placer->extra[unit];

		extra->is_fresh = layout->units[unit].track == THRUM__NONE &&
			layout->units[unit].task != THRUM__NONE;
		if (extra->is_fresh)
			placer->fresh[left++] = unit;
		if (!extra->is_open && is_open(layout, model, unit)) {
			extra->is_open = true;
			open[count++] = unit;
		}
	}
	placer->open_count = count;
	placer->fresh_count = left;
	return 0;
}
