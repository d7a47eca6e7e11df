/* SPDX-License-Identifier: ISC */
/* Which tasks are one unit, what a unit occupies, and whose child it is. */
#include "view/layout_parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

/* A silent pending unit's stub, and how long before the end a unit was heard of to be alive there:
 * as a part of the time in which anything ran, since pictures fold the rest. */
#define PART 100

static int64_t part(const struct thrum__model *model)
{
	int64_t ran = 0;

	for (uint32_t i = 0; i < model->lane_count; i++)
		ran += model->lanes[i].ran;
	return ran < model->end ? ran / PART : model->end / PART;
}

static int64_t start_of(const struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t task)
{
	/* Nobody knows since when they have been there: they don't take rows for that. */
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
	struct thrum__extra *extra = &layout->placer->extra[unit];
	int64_t last = thrum__bounded(layout->units[unit].end), now = thrum__bounded(model->end);
	int64_t near = part(model);

	*start = thrum__bounded(layout->units[unit].start);
	extra->lasts = is_pending(model, extra->tail) &&
		(extra->is_lane || extra->is_wanted || last >= now - near);
	*end = extra->busy > last ? thrum__bounded(extra->busy) : last;
	if (extra->lasts)
		*end = THRUM__FARTHEST;
	else if (is_pending(model, extra->tail))
		*end += near;
	/* However short, it is there; and neighbours don't touch. */
	*end = (*end > *start ? *end : *start) + 1;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

/* Lets a unit's stretch hold what a task of it did. */
static void stretch(struct thrum__layout *layout, const struct thrum__model *model, uint32_t unit,
	uint32_t task)
{
	struct thrum__unit *u = &layout->units[unit];
	struct thrum__extra *extra = &layout->placer->extra[unit];
	int64_t start = start_of(layout, model, task), end = thrum__model_task_end(model, task);
	uint32_t run = THRUM__TASK(model, task, run);

	if (task == u->task || start < u->start)
		u->start = start;
	if (end > u->end)
		u->end = end;
	if (u->end < u->start)
		u->end = u->start;
	if (run != THRUM__NONE && thrum__has_row(&model->runs, run) &&
		THRUM__RUN(model, run, end) > extra->busy)
		extra->busy = THRUM__RUN(model, run, end);
	extra->is_lane |= (THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) != 0;
	extra->is_wanted |= (THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE) != 0;
}

static void adopt(struct thrum__layout *layout, const struct thrum__model *model, uint32_t unit,
	uint32_t task)
{
	layout->unit_of[task] = unit;
	layout->placer->extra[unit].tail = task;
	stretch(layout, model, unit, task);
}

/* A unit becomes the rest of another's chain. The whole has the row of the first of them that had
 * one. */
static void absorb(struct thrum__layout *layout, const struct thrum__model *model, uint32_t unit,
	uint32_t other)
{
	struct thrum__extra *extra = &layout->placer->extra[unit];
	const struct thrum__extra *gone = &layout->placer->extra[other];
	uint32_t tail = gone->tail, task = layout->units[other].task;

	thrum__layout_stand(layout, other);
	if (layout->units[unit].row == THRUM__NONE && extra->wish == THRUM__NONE &&
		gone->wish != THRUM__NONE) {
		extra->wish = gone->wish;
		layout->units[unit].group = layout->units[other].group;
	}
	if (gone->busy > extra->busy)
		extra->busy = gone->busy;
	while (task != THRUM__NONE) {
		uint32_t next = task == tail ? THRUM__NONE : THRUM__TASK(model, task, became);

		adopt(layout, model, unit, task);
		task = next;
	}
	layout->units[other].task = THRUM__NONE;
	layout->units[other].parent = unit;
	layout->placer->has_odd_parents = true;
}

/* Lets a chain go on as far as it goes. What several tasks became is `claimed` by the first. */
static void follow(struct thrum__layout *layout, const struct thrum__model *model,
	const uint32_t *claimed, uint32_t unit)
{
	for (;;) {
		uint32_t tail = layout->placer->extra[unit].tail;
		uint32_t next = THRUM__TASK(model, tail, became);

		if (next >= layout->task_count || claimed[next] != tail)
			return;
		uint32_t owner = layout->unit_of[next];

		if (owner == THRUM__NONE)
			adopt(layout, model, unit, next);
		else if (owner != unit && layout->units[owner].task == next)
			absorb(layout, model, unit, owner);
		else
			return;
	}
}

static void begin(struct thrum__layout *layout, const struct thrum__model *model,
	const uint32_t *claimed, uint32_t task)
{
	uint32_t unit = layout->unit_count++;

	layout->units[unit] = (struct thrum__unit){
		.start = INT64_MAX,
		.end = INT64_MIN,
		.task = task,
		.parent = THRUM__NONE,
		.row = THRUM__NONE,
	};
	layout->placer->extra[unit] = (struct thrum__extra){
		.busy = INT64_MIN,
		.anchor = THRUM__NONE,
		.wish = THRUM__NONE,
	};
	adopt(layout, model, unit, task);
	follow(layout, model, claimed, unit);
}

/* ---- Parents --------------------------------------------------------------------------------- */

static void find_parent(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit)
{
	uint32_t task = layout->units[unit].task;
	uint32_t parent = layout->simplify ? THRUM__TASK(model, task, parent)
					   : THRUM__TASK(model, task, creator);

	parent = parent < layout->task_count ? layout->unit_of[parent] : THRUM__NONE;
	if (parent == unit)
		parent = THRUM__NONE;
	layout->units[unit].parent = parent;
	if (parent != THRUM__NONE && parent > unit)
		layout->placer->has_odd_parents = true;
}

/* What a unit is part of by now; halves the way for who comes next. */
static uint32_t living(struct thrum__unit *units, uint32_t unit)
{
	while (unit != THRUM__NONE && units[unit].task == THRUM__NONE) {
		uint32_t next = units[unit].parent;

		if (next != THRUM__NONE && units[next].task == THRUM__NONE)
			units[unit].parent = units[next].parent;
		unit = next;
	}
	return unit;
}

/* Points parents that became part of another unit to that, and cuts circles open. */
static int cut_circles(struct thrum__layout *layout)
{
	struct thrum__unit *units = layout->units;
	uint32_t *walk = calloc(layout->unit_count + 1ull, sizeof(*walk));

	if (!walk)
		return -THRUM_E_MEMORY;
	for (uint32_t unit = 0; unit < layout->unit_count; unit++) {
		uint32_t at = unit;

		while (units[at].task != THRUM__NONE && walk[at] == 0) {
			walk[at] = unit + 1;
			uint32_t parent = living(units, units[at].parent);

			if (parent != THRUM__NONE && walk[parent] == unit + 1)
				parent = THRUM__NONE;
			units[at].parent = parent;
			if (parent == THRUM__NONE)
				break;
			at = parent;
		}
	}
	free(walk);
	return 0;
}

/* ---- What is forgotten ----------------------------------------------------------------------- */

/* A chain whose last task is forgotten is over; one whose first tasks are, begins with the first
 * that is left. */
static void forget_tasks(struct thrum__layout *layout, const struct thrum__model *model,
	uint8_t *is_target)
{
	struct thrum__unit *units = layout->units;

	for (uint32_t unit = 0; unit < layout->unit_count; unit++) {
		if (units[unit].task == THRUM__NONE)
			continue;
		if (!thrum__has_row(&model->tasks, layout->placer->extra[unit].tail))
			thrum__layout_stand(layout, unit);
		else if (thrum__has_row(&model->tasks, units[unit].task))
			continue;
		units[unit].task = THRUM__NONE;
	}
	for (uint32_t task = 0; task < layout->task_count; task++) {
		uint32_t unit = layout->unit_of[task];

		if (unit == THRUM__NONE)
			continue;
		if (!thrum__has_row(&model->tasks, task) ||
			!thrum__has_row(&model->tasks, layout->placer->extra[unit].tail)) {
			layout->unit_of[task] = THRUM__NONE;
			continue;
		}
		uint32_t next = thrum__layout_next(layout, model, task);

		if (next != THRUM__NONE)
			is_target[next] = 1;
	}
	for (uint32_t task = 0; task < layout->task_count; task++) {
		uint32_t unit = layout->unit_of[task];

		if (unit != THRUM__NONE && units[unit].task == THRUM__NONE && !is_target[task])
			units[unit].task = task;
	}
}

static int forget(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__unit *units = layout->units;
	uint8_t *is_target = calloc(layout->task_count + 1ull, 1);

	if (!is_target)
		return -THRUM_E_MEMORY;
	forget_tasks(layout, model, is_target);
	free(is_target);
	for (uint32_t unit = 0; unit < layout->unit_count; unit++) {
		uint32_t parent = units[unit].parent;

		if (units[unit].task == THRUM__NONE ||
			(parent != THRUM__NONE && units[parent].task == THRUM__NONE))
			units[unit].parent = THRUM__NONE;
	}
	layout->placer->forgotten = model->tasks.first;
	return 0;
}

/* ---- All together ---------------------------------------------------------------------------- */

static int make_room(struct thrum__layout *layout, uint32_t tasks)
{
	struct thrum__placer *placer = layout->placer;
	uint64_t units = (uint64_t)layout->unit_count + (tasks - layout->task_count);
	uint32_t room = placer->task_room;
	uint32_t *unit_of = thrum__grown(layout->unit_of, &room, tasks, sizeof(*unit_of));

	if (!unit_of)
		return -THRUM_E_MEMORY;
	layout->unit_of = unit_of;
	placer->task_room = room;
	uint32_t rooms[3] = {placer->unit_room, placer->unit_room, placer->unit_room};
	struct thrum__unit *u = thrum__grown(layout->units, &rooms[0], units, sizeof(*u));

	if (u)
		layout->units = u;
	struct thrum__extra *extra = thrum__grown(placer->extra, &rooms[1], units, sizeof(*extra));

	if (extra)
		placer->extra = extra;
	struct thrum__seat *seats = thrum__grown(placer->seats, &rooms[2], units, sizeof(*seats));

	if (seats)
		placer->seats = seats;
	if (!u || !extra || !seats)
		return -THRUM_E_MEMORY;
	placer->unit_room = rooms[0];
	return 0;
}

static void claim(const struct thrum__model *model, uint32_t *claimed, uint32_t task)
{
	uint32_t next = THRUM__TASK(model, task, became);

	if (next < model->tasks.count && next != task && thrum__has_row(&model->tasks, next) &&
		(claimed[next] == THRUM__NONE ||
			THRUM__TASK(model, task, end) < THRUM__TASK(model, claimed[next], end)))
		claimed[next] = task;
}

/* Makes units of the tasks from `first` on: those that no other becomes begin one; what is left
 * then are circles, which begin anywhere. */
static int begin_all(struct thrum__layout *layout, const struct thrum__model *model, uint32_t first)
{
	const struct thrum__placer *placer = layout->placer;
	uint32_t count = layout->task_count;
	uint32_t *claimed = malloc((count + 1ull) * sizeof(*claimed));

	if (!claimed)
		return -THRUM_E_MEMORY;
	memset(claimed, 0xff, count * sizeof(*claimed));
	for (uint32_t i = 0; i < placer->open_count; i++)
		if (layout->units[placer->open[i]].task != THRUM__NONE)
			claim(model, claimed, placer->extra[placer->open[i]].tail);
	for (uint32_t task = first; task < count; task++) {
		layout->unit_of[task] = THRUM__NONE;
		if (thrum__has_row(&model->tasks, task))
			claim(model, claimed, task);
	}
	for (uint32_t i = 0; i < placer->open_count; i++)
		if (layout->units[placer->open[i]].task != THRUM__NONE)
			follow(layout, model, claimed, placer->open[i]);
	for (int circles = 0; circles < 2; circles++)
		for (uint32_t task = first; task < count; task++)
			if (layout->unit_of[task] == THRUM__NONE &&
				thrum__has_row(&model->tasks, task) &&
				(circles || claimed[task] == THRUM__NONE))
				begin(layout, model, claimed, task);
	free(claimed);
	return 0;
}

int thrum__layout_collect(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__placer *placer = layout->placer;
	uint32_t first = layout->task_count, units = layout->unit_count;
	int error = make_room(layout, model->tasks.count);

	if (!error && placer->forgotten != model->tasks.first)
		error = forget(layout, model);
	if (error)
		return error;
	for (uint32_t i = 0; i < placer->open_count; i++) {
		uint32_t unit = placer->open[i];

		if (layout->units[unit].task != THRUM__NONE)
			stretch(layout, model, unit, placer->extra[unit].tail);
	}
	layout->task_count = model->tasks.count;
	error = begin_all(layout, model, first);
	if (error) {
		layout->task_count = first;
		return error;
	}
	for (uint32_t i = 0; i < placer->open_count; i++)
		if (layout->units[placer->open[i]].task != THRUM__NONE)
			find_parent(layout, model, placer->open[i]);
	for (uint32_t unit = units; unit < layout->unit_count; unit++)
		if (layout->units[unit].task != THRUM__NONE)
			find_parent(layout, model, unit);
	return placer->has_odd_parents ? cut_circles(layout) : 0;
}

int thrum__layout_gather(struct thrum__layout *layout)
{
	struct thrum__placer *placer = layout->placer;
	const struct thrum__unit *units = layout->units;
	uint32_t count = 0;

	while (placer->first_fresh < layout->unit_count &&
		(units[placer->first_fresh].row != THRUM__NONE ||
			units[placer->first_fresh].task == THRUM__NONE))
		placer->first_fresh++;
	for (uint32_t i = placer->first_fresh; i < layout->unit_count; i++)
		count += units[i].row == THRUM__NONE && units[i].task != THRUM__NONE;
	uint32_t *fresh = thrum__grown(placer->fresh, &placer->fresh_room, count, sizeof(*fresh));
	struct thrum__piece *pieces = malloc((2ull * count + 1) * sizeof(*pieces));

	if (fresh)
		placer->fresh = fresh;
	if (!fresh || !pieces) {
		free(pieces);
		return -THRUM_E_MEMORY;
	}
	count = 0;
	for (uint32_t i = placer->first_fresh; i < layout->unit_count; i++)
		if (units[i].row == THRUM__NONE && units[i].task != THRUM__NONE)
			pieces[count++] = (struct thrum__piece){.start = units[i].start, .item = i};
	thrum__pieces_sort(pieces, pieces + count, count);
	for (uint32_t i = 0; i < count; i++)
		fresh[i] = pieces[i].item;
	placer->fresh_count = count;
	free(pieces);
	return 0;
}

/* Whether a unit may still change: it is pending, or a run of it hasn't ended. */
static bool is_open(const struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit)
{
	const struct thrum__extra *extra = &layout->placer->extra[unit];

	return layout->units[unit].task != THRUM__NONE &&
		(is_pending(model, extra->tail) || extra->busy == THRUM__OPEN);
}

int thrum__layout_keep_open(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__placer *placer = layout->placer;
	uint64_t most = (uint64_t)placer->open_count + placer->fresh_count;
	uint32_t *open = thrum__grown(placer->open, &placer->open_room, most, sizeof(*open));
	uint32_t count = 0;

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

		if (placer->extra[unit].is_open || !is_open(layout, model, unit))
			continue;
		placer->extra[unit].is_open = true;
		open[count++] = unit;
	}
	placer->open_count = count;
	placer->fresh_count = 0;
	return 0;
}
