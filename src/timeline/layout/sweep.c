/* SPDX-License-Identifier: ISC */
/* Finds the parents of units, and removes the tasks that the model forgets. */
#include "timeline/layout/parts.h"

#include <stdlib.h>
#include <thrum.h>

/* A sweep looks at all units: so it waits until one in so many needs it. */
#define SWEEP_PART 8
#define LEFT_MOST 1024 /* tasks of a chain to look at behind the forgotten blocks */

/* ---- Parents --------------------------------------------------------------------------------- */

void thrum__layout_find_parent(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit)
{
	uint32_t task = layout->units[unit].task, old = layout->units[unit].parent;
	uint32_t parent = thrum__layout_unit(layout,
		layout->simplify ? THRUM__TASK(model, task, parent)
				 : THRUM__TASK(model, task, creator));

	if (parent == unit)
		parent = THRUM__NONE;
	layout->units[unit].parent = parent;
	/* A new unit has no children but later units, so an earlier parent makes no circle. */
	layout->placer->odd += parent != old && parent != THRUM__NONE &&
		(parent > unit || layout->placer->extra[unit].is_open);
}

/* Returns the unit that a gone unit is part of by now, or NONE; halves the way for the next
 * call. */
static uint32_t living(struct thrum__layout_unit *units, uint32_t unit)
{
	while (unit != THRUM__NONE && units[unit].task == THRUM__NONE) {
		uint32_t next = units[unit].parent;

		if (next != THRUM__NONE && units[next].task == THRUM__NONE)
			units[unit].parent = units[next].parent;
		unit = next;
	}
	return unit;
}

/* Replaces parents that became part of another unit by that unit, and cuts circles open. */
static int cut_circles(struct thrum__layout *layout)
{
	struct thrum__layout_unit *units = layout->units;
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

int thrum__layout_sweep(struct thrum__layout *layout)
{
	struct thrum__layout_placer *placer = layout->placer;
	bool is_first = layout->updates <= 1;
	uint64_t wanted = (uint64_t)placer->odd + placer->dead;

	if (wanted == 0 || (!is_first && wanted * SWEEP_PART < layout->unit_count))
		return 0;
	int error = cut_circles(layout);

	if (error)
		return error;
	for (uint32_t unit = 0; unit < layout->unit_count; unit++)
		placer->extra[unit].anchor = living(layout->units, placer->extra[unit].anchor);
	placer->odd = placer->dead = placer->free_count = 0;
	/* begin_unit takes the last: so the lowest number goes there. */
	for (uint32_t unit = layout->unit_count; unit-- > 0;)
		if (layout->units[unit].task == THRUM__NONE)
			placer->free[placer->free_count++] = unit;
	return 0;
}

/* ---- Forgetting ------------------------------------------------------------------------------ */

/* Ends a unit whose last task is forgotten. The unit keeps its track until that is cleared. */
static void end_chain(struct thrum__layout *layout, uint32_t unit)
{
	uint32_t task = layout->units[unit].task;

	if (!layout->placer->logs)
		thrum__layout_stand(layout, unit);
	layout->placer->seats[unit].is_gone = layout->units[unit].track != THRUM__NONE;
	while (task != THRUM__NONE) {
		uint32_t *cell = thrum__timeline_cell(&layout->tasks, task);

		if (!cell)
			break;
		cell[THRUM__CELL_UNIT] = THRUM__NONE;
		thrum__layout_log(layout, task);
		task = cell[THRUM__CELL_NEXT];
	}
	layout->units[unit].task = layout->units[unit].parent = THRUM__NONE;
	layout->placer->dead++;
	thrum__layout_touch(layout, unit);
}

/* Leaves the forgotten tasks out of a chain that goes on. A chain is mostly in the order of its
 * tasks: so the search ends after LEFT_MOST tasks from `until` on. */
static void shorten_chain(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit, uint32_t until)
{
	uint32_t *link = &layout->units[unit].task, at = *link;

	for (unsigned left = LEFT_MOST; at != THRUM__NONE && left > 0;) {
		uint32_t *cell = thrum__timeline_cell(&layout->tasks, at);

		if (thrum__model_has_row(&model->tasks, at)) {
			*link = at;
			link = &cell[THRUM__CELL_NEXT];
			left -= at >= until;
		}
		at = cell ? cell[THRUM__CELL_NEXT] : THRUM__NONE;
	}
	*link = at;
}

/* Ends or shortens the units of a block of tasks that the model forgot. */
static void forget_block(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t number, uint32_t until)
{
	struct thrum__layout_placer *placer = layout->placer;

	for (uint32_t i = 0; i < THRUM__BLOCK; i++) {
		uint32_t unit = thrum__layout_unit(layout, (number << THRUM__BLOCK_SHIFT) + i);

		if (unit == THRUM__NONE || placer->extra[unit].pruned == layout->updates)
			continue;
		placer->extra[unit].pruned = layout->updates;
		if (thrum__model_has_row(&model->tasks, placer->extra[unit].tail))
			shorten_chain(layout, model, unit, until);
		else
			end_chain(layout, unit);
	}
}

/* Takes ended units off their tracks. They are mostly the first ones of a track and go at once. */
static void clear_tracks(struct thrum__layout *layout)
{
	struct thrum__layout_placer *placer = layout->placer;

	for (uint32_t i = 0; i < layout->changed_count; i++) {
		uint32_t number = layout->changed[i];
		struct thrum__layout_unit *unit = &layout->units[number];
		struct thrum__layout_pile *pile = &placer->piles[unit->group];

		if (unit->task != THRUM__NONE || unit->track == THRUM__NONE)
			continue;
		if (placer->seats[number].is_gone)
			thrum__layout_pile_shed(pile, placer->seats, unit->track);
		if (placer->seats[number].is_gone)
			thrum__layout_pile_remove(pile, placer->seats, unit->track, number);
		unit->track = THRUM__NONE;
	}
}

void thrum__layout_forget(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__timeline_cells *cells = &layout->tasks;
	uint32_t until = 0;

	for (uint32_t i = 0; i < cells->kept_count; i++)
		if (!model->tasks.block[cells->kept[i]])
			until = cells->kept[i] + 1;
	until <<= THRUM__BLOCK_SHIFT;
	for (uint32_t i = 0; until && i < cells->kept_count; i++)
		if (!model->tasks.block[cells->kept[i]])
			forget_block(layout, model, cells->kept[i], until);
	if (until) {
		clear_tracks(layout);
		thrum__timeline_cells_forget(cells, model);
	}
}
