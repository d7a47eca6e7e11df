/* SPDX-License-Identifier: ISC */
/*
 * Places units on tracks. Parents are placed before their children, and of the children the latest
 * first: so the line from the parent to a child passes only siblings that begin later, and crosses
 * none of them. Each child takes the first track below its parent's that is free as long as the
 * child lives. When the parent has ended by then, its track is free again, and tracks from one
 * above it will do: so a loop whose iterations create each other goes back and forth between two
 * tracks and doesn't walk down. The parent's own track is left to the edge between the two.
 */
#include "base/array.h"
#include "timeline/layout/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

/* How many ancestors are looked at for one that is still alive: bounds the climb in long chains. */
#define CLIMB 64
#define INLINE static inline __attribute__((always_inline))
#define AHEAD 8             /* units on the stack above the one that the processor is to load */
#define STEP 1024           /* units that are placed in one step */
#define CHECKED_MOST 200000 /* units: checking more takes minutes, and nobody can cancel it */

int thrum__layout_create(bool simplify, bool by_lane, struct thrum__layout **layout)
{
	struct thrum__layout *made = calloc(1, sizeof(*made));
	struct thrum__layout_placer *placer = calloc(1, sizeof(*placer));

	if (!made || !placer) {
		free(made);
		free(placer);
		return -THRUM_E_MEMORY;
	}
	placer->by_lane = by_lane;
	made->simplify = simplify;
	made->tasks.width = THRUM__CELL_WIDTH;
	made->placer = placer;
	*layout = made;
	return 0;
}

void thrum__layout_destroy(struct thrum__layout *layout)
{
	if (!layout)
		return;
	struct thrum__layout_placer *placer = layout->placer;

	for (uint32_t i = 0; i < layout->group_count; i++)
		thrum__layout_pile_finish(&placer->piles[i]);
	free(placer->piles);
	free(placer->extra);
	free(placer->seats);
	free(placer->group_of_lane);
	free(placer->open);
	free(placer->fresh);
	free(placer->free);
	free(placer->child);
	free(placer->sibling);
	free(placer->stack);
	free(placer);
	free(layout->units);
	free(layout->changed);
	free(layout->adopted);
	thrum__timeline_cells_finish(&layout->tasks);
	free(layout->groups);
	free(layout);
}

bool thrum__layout_lasts(const struct thrum__layout *layout, uint32_t unit)
{
	return layout->placer->extra[unit].lasts;
}

uint32_t thrum__layout_next(const struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t task)
{
	const uint32_t *cell = thrum__timeline_cell(&layout->tasks, task);
	uint32_t next = cell && cell[THRUM__CELL_UNIT] != THRUM__NONE ? cell[THRUM__CELL_NEXT]
								      : THRUM__NONE;

	(void)model;
	return next != THRUM__NONE && thrum__layout_unit(layout, next) == cell[THRUM__CELL_UNIT]
		? next
		: THRUM__NONE;
}

size_t thrum__layout_memory(const struct thrum__layout *layout)
{
	const struct thrum__layout_placer *placer = layout->placer;
	size_t unit = sizeof(*layout->units) + sizeof(*placer->extra) + sizeof(*placer->seats) +
		5 * sizeof(uint32_t);
	size_t sum = sizeof(*layout) + sizeof(*placer) + placer->unit_room * unit +
		thrum__timeline_cells_memory(&layout->tasks) +
		((size_t)placer->adopted_room + placer->open_room) * sizeof(uint32_t);

	for (uint32_t i = 0; i < layout->group_count; i++)
		sum += placer->piles[i].room *
			(sizeof(*placer->piles[i].held) + 2 * sizeof(*placer->piles[i].tree));
	return sum;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* Gives the group of a lane, and makes it where there is none. */
static int group_of(struct thrum__layout *layout, const struct thrum__model *model, uint32_t lane,
	uint32_t *group)
{
	struct thrum__layout_placer *placer = layout->placer;

	if (!placer->by_lane || lane >= model->lane_count)
		lane = 0;
	if (lane >= placer->lanes) {
		uint32_t *grown = thrum__base_grow(placer->group_of_lane, &placer->lane_room,
			lane + 1ull, sizeof(*grown));

		if (!grown)
			return -THRUM_E_MEMORY;
		placer->group_of_lane = grown;
		while (placer->lanes <= lane)
			grown[placer->lanes++] = THRUM__NONE;
	}
	if (placer->group_of_lane[lane] == THRUM__NONE) {
		uint32_t count = layout->group_count;
		uint32_t room = placer->group_room, pile_room = room;
		struct thrum__layout_group *groups = thrum__base_grow(layout->groups, &room,
			count + UINT64_C(1), sizeof(*groups));

		if (!groups)
			return -THRUM_E_MEMORY;
		layout->groups = groups;
		struct thrum__layout_pile *piles = thrum__base_grow(placer->piles, &pile_room,
			count + UINT64_C(1), sizeof(*piles));

		if (!piles)
			return -THRUM_E_MEMORY;
		placer->piles = piles;
		placer->group_room = room;
		groups[count] = (struct thrum__layout_group){.lane = lane};
		piles[count] = (struct thrum__layout_pile){0};
		placer->group_of_lane[lane] = count;
		layout->group_count++;
	}
	*group = placer->group_of_lane[lane];
	return 0;
}

/* Stacks the groups in the picture, in the order of their lanes. */
static void stack_groups(struct thrum__layout *layout)
{
	struct thrum__layout_placer *placer = layout->placer;

	layout->tracks = 0;
	for (uint32_t lane = 0; lane < placer->lanes; lane++) {
		uint32_t i = placer->group_of_lane[lane];

		if (i == THRUM__NONE)
			continue;
		layout->groups[i].lane = layout->group_count > 1 ? lane : THRUM__NONE;
		layout->is_shifted |= layout->groups[i].first_track != layout->tracks;
		layout->groups[i].first_track = layout->tracks;
		layout->groups[i].tracks = placer->piles[i].tracks;
		layout->tracks += placer->piles[i].tracks;
	}
}

/* ---- One unit's track ------------------------------------------------------------------------ */

/*
 * Whether an ancestor counts as alive beside the unit: they share more than an eighth of the life
 * of one of them. An ancestor that ends as the unit takes over, as in a loop whose iterations
 * create each other, doesn't count.
 */
static bool is_beside(const struct thrum__layout *layout, uint32_t ancestor, uint32_t unit)
{
	const struct thrum__layout_seat *old = &layout->placer->seats[ancestor];
	const struct thrum__layout_seat *new = &layout->placer->seats[unit];
	int64_t shared = old->end - new->start;

	return shared > 0 &&
		(shared > (old->end - old->start) / 8 || shared > (new->end - new->start) / 8);
}

/* Returns the nearest ancestor that is alive beside the unit and in its group, or NONE. */
static uint32_t anchor_of(const struct thrum__layout *layout, uint32_t unit)
{
	uint32_t at = layout->units[unit].parent;

	for (int i = 0; i < CLIMB && at != THRUM__NONE && !is_beside(layout, at, unit); i++)
		at = layout->units[at].task == THRUM__NONE ? layout->units[at].parent
							   : layout->placer->extra[at].anchor;
	return at != THRUM__NONE && layout->units[at].track != THRUM__NONE &&
			layout->units[at].group == layout->units[unit].group
		? at
		: THRUM__NONE;
}

/* Returns the track for a unit: the one it wishes for, or the first by the rules at the top. */
static uint32_t track_for(struct thrum__layout *layout, const struct thrum__model *model,
	uint32_t unit)
{
	struct thrum__layout_placer *placer = layout->placer;
	const struct thrum__layout_unit *u = &layout->units[unit];
	const struct thrum__layout_seat *seat = &placer->seats[unit];
	struct thrum__layout_pile *pile = &placer->piles[u->group];
	struct thrum__layout_extra *extra = &placer->extra[unit];
	uint32_t from = 0, skip = THRUM__NONE;

	if (extra->wish != THRUM__NONE &&
		thrum__layout_pile_fits(pile, placer->seats, extra->wish, seat->start, seat->end))
		return extra->wish;
	/* The top track is for the lane's own task. */
	if (!model->is_mirage && !extra->is_lane)
		from = 1;
	extra->anchor = extra->is_lane ? THRUM__NONE : anchor_of(layout, unit);
	if (extra->anchor != THRUM__NONE)
		from = layout->units[extra->anchor].track + 1;
	if (u->parent != THRUM__NONE && !extra->is_lane && extra->anchor != u->parent &&
		layout->units[u->parent].group == u->group &&
		layout->units[u->parent].track != THRUM__NONE) {
		skip = layout->units[u->parent].track;
		if (skip > from + 1)
			from = skip - 1;
	}
	return thrum__layout_pile_find(pile, placer->seats, from, skip, seat->start, seat->end);
}

/* Finds a track for a unit and puts it there. */
static int seat_unit(struct thrum__layout *layout, const struct thrum__model *model, uint32_t unit)
{
	struct thrum__layout_unit *u = &layout->units[unit];
	struct thrum__layout_pile *pile = &layout->placer->piles[u->group];
	uint32_t track = track_for(layout, model, unit);
	int error = thrum__layout_pile_reserve(pile, track);

	if (error)
		return error;
	thrum__layout_pile_insert(pile, layout->placer->seats, track, unit);
	u->track = track;
	layout->placer->extra[unit].wish = THRUM__NONE;
	thrum__layout_touch(layout, unit);
	return 0;
}

void thrum__layout_stand(struct thrum__layout *layout, uint32_t unit)
{
	struct thrum__layout_unit *u = &layout->units[unit];

	if (u->track == THRUM__NONE)
		return;
	thrum__layout_pile_remove(&layout->placer->piles[u->group], layout->placer->seats, u->track,
		unit);
	layout->placer->extra[unit].wish = u->track;
	u->track = THRUM__NONE;
	thrum__layout_touch(layout, unit);
}

/* ---- An update ------------------------------------------------------------------------------- */

/*
 * Fits open units that have a track to the time that they occupy by now: first those that need
 * less, then those that need more. One that doesn't fit on its track leaves it and is placed with
 * the new units.
 */
static int fit_open_units(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;

	for (int grows = 0; grows < 2; grows++) {
		for (uint32_t i = 0; i < placer->open_count; i++) {
			uint32_t unit = placer->open[i], track = layout->units[unit].track;
			struct thrum__layout_pile *pile;
			struct thrum__layout_seat *seat;
			int64_t start, end;

			if (track == THRUM__NONE)
				continue;
			pile = &placer->piles[layout->units[unit].group];
			seat = &placer->seats[unit];
			thrum__layout_occupied(layout, model, unit, &start, &end);
			if ((start == seat->start && end == seat->end) ||
				(!grows && (start < seat->start || end > seat->end)))
				continue;
			if (start == seat->start &&
				thrum__layout_pile_stretch(pile, placer->seats, track, unit, end))
				continue;
			thrum__layout_stand(layout, unit);
			seat->start = start;
			seat->end = end;
			if (thrum__layout_pile_fits(pile, placer->seats, track, start, end)) {
				int error = seat_unit(layout, model, unit);

				if (error)
					return error;
			} else if (!placer->extra[unit].is_fresh) {
				placer->extra[unit].is_fresh = true;
				placer->fresh[placer->fresh_count++] = unit;
			}
		}
	}
	return 0;
}

/* Reverses an array of units. */
static void reverse(uint32_t *units, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		uint32_t unit = units[i];

		units[i] = units[count - 1 - i];
		units[count - 1 - i] = unit;
	}
}

/*
 * Orders a stack of units, sorted by start, for placing. Units that are alive together are placed
 * latest first, so that lines of creations cross none of them. But they are placed before units
 * that begin after one of them ended: else the free time of each track would lie in its middle and
 * be hard to find.
 */
static void order_for_placing(const struct thrum__layout_seat *seats, uint32_t *stack,
	uint32_t count)
{
	reverse(stack, count);
	for (uint32_t last = count, i; last > 0; last = i) {
		int64_t until = INT64_MAX;

		for (i = last; i > 0; i--) {
			const struct thrum__layout_seat *seat = &seats[stack[i - 1]];

			if (seat->start >= until)
				break;
			until = seat->end < until ? seat->end : until;
		}
		reverse(stack + i, last - i);
	}
}

/* Makes the stack of the fresh units to begin with, so that they are popped in this order: lanes' own tasks;
 * units without a parent, the earliest first; children of units that have tracks. Each other unit
 * goes to the front of its parent's list, so that the earliest is first there. */
static int push_roots(struct thrum__layout *layout)
{
	struct thrum__layout_placer *placer = layout->placer;
	const struct thrum__layout_unit *units = layout->units;
	uint32_t *stack = malloc((placer->fresh_count + 1ull) * sizeof(*stack));
	uint32_t depth = 0;

	if (!stack)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < placer->fresh_count; i++) {
		uint32_t unit = placer->fresh[i];

		if (!placer->extra[unit].is_lane && units[unit].parent != THRUM__NONE &&
			units[units[unit].parent].track != THRUM__NONE)
			stack[depth++] = unit;
	}
	order_for_placing(placer->seats, stack, depth);
	for (int lanes = 0; lanes < 2; lanes++)
		for (uint32_t i = placer->fresh_count; i-- > 0;) {
			uint32_t unit = placer->fresh[i], parent = units[unit].parent;

			if (placer->extra[unit].is_lane != lanes)
				continue;
			if (parent == THRUM__NONE || lanes) {
				stack[depth++] = unit;
			} else if (units[parent].track == THRUM__NONE) {
				placer->sibling[unit] = placer->child[parent];
				placer->child[parent] = unit;
			}
		}
	placer->stack = stack;
	placer->depth = depth;
	placer->cut = 0;
	return 0;
}

/* Chooses the group and the track of a fresh unit. */
static int give_track(struct thrum__layout *layout, const struct thrum__model *model, uint32_t unit)
{
	struct thrum__layout_placer *placer = layout->placer;
	struct thrum__layout_unit *u = &layout->units[unit];

	if (placer->extra[unit].wish == THRUM__NONE) {
		if (u->parent == THRUM__NONE || placer->extra[unit].is_lane) {
			int error = group_of(layout, model, THRUM__TASK(model, u->task, lane),
				&u->group);

			if (error)
				return error;
		} else {
			u->group = layout->units[u->parent].group;
		}
	}
	return seat_unit(layout, model, unit);
}

/* Pushes a unit that is left over when the stack is empty: such units form circles of parents, which are cut
 * anywhere. Returns false if there is none. */
static bool push_left(struct thrum__layout *layout)
{
	struct thrum__layout_placer *placer = layout->placer;

	while (placer->depth == 0 && placer->cut < placer->fresh_count) {
		uint32_t unit = placer->fresh[placer->cut++];

		if (layout->units[unit].track != THRUM__NONE)
			continue;
		layout->units[unit].parent = THRUM__NONE;
		placer->stack[placer->depth++] = unit;
	}
	return placer->depth > 0;
}

/* Lets the processor load the parts of a unit. (gcc leaves out calls of functions that only do this, unless
 * they are inlined.) */
INLINE void load_unit(const struct thrum__layout *layout, uint32_t unit)
{
	__builtin_prefetch(&layout->units[unit]);
	__builtin_prefetch(&layout->placer->extra[unit]);
	/* A seat mostly lies in two lines of the cache. */
	__builtin_prefetch(&layout->placer->seats[unit]);
	__builtin_prefetch(&layout->placer->seats[unit].left);
}

/* Loads a unit that will probably be placed soon, and the child that comes behind it. */
INLINE void expect_unit(const struct thrum__layout *layout)
{
	const struct thrum__layout_placer *placer = layout->placer;

	if (placer->depth <= AHEAD)
		return;
	uint32_t unit = placer->stack[placer->depth - 1 - AHEAD];

	load_unit(layout, unit);
	if (placer->child[unit] != THRUM__NONE)
		load_unit(layout, placer->child[unit]);
}

/* Places some units of the stack, and pushes their children. Returns 1 while there are more. */
static int place_some(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;

	for (uint32_t i = 0; i < STEP; i++) {
		uint32_t unit, child;
		int error;

		if (!push_left(layout))
			return 0;
		expect_unit(layout);
		unit = placer->stack[--placer->depth];
		if (layout->units[unit].track != THRUM__NONE)
			continue;
		child = placer->child[unit];
		error = give_track(layout, model, unit);
		if (error)
			return error;
		placer->placed++;
		for (; child != THRUM__NONE; child = placer->sibling[child])
			placer->stack[placer->depth++] = child;
	}
	return 1;
}

int thrum__layout_units(struct thrum__layout *layout, const struct thrum__model *model)
{
	int error = thrum__layout_collect(layout, model);
	int64_t start, end;

	for (uint32_t i = 0; i < layout->placer->fresh_count && !error; i++)
		thrum__layout_occupied(layout, model, layout->placer->fresh[i], &start, &end);
	return error ? error : thrum__layout_keep_open(layout, model);
}

/* Makes the units that get tracks. */
static int begin_update(struct thrum__layout *layout, const struct thrum__model *model)
{
	int error;

	for (uint32_t i = 0; i < layout->changed_count; i++)
		layout->placer->extra[layout->changed[i]].is_changed = false;
	layout->changed_count = layout->adopted_count = 0;
	layout->is_shifted = layout->updates++ == 0;
	error = thrum__layout_collect(layout, model);
	return error ? error : fit_open_units(layout, model);
}

/* Leaves the layout in order, also after an error, which it returns. */
static int end_update(struct thrum__layout *layout, const struct thrum__model *model, int error)
{
	int kept = thrum__layout_keep_open(layout, model);

	free(layout->placer->stack);
	layout->placer->stack = NULL;
	layout->placer->step = layout->placer->placed = 0;
	stack_groups(layout);
	if (!kept && layout->updates > 1)
		kept = thrum__layout_sweep(layout);
#if THRUM_DEBUG >= 3
	if (!error && !kept && layout->unit_count < CHECKED_MOST &&
		!thrum__layout_is_valid(layout, model))
		abort();
#endif
	return error ? error : kept;
}

int thrum__layout_step(struct thrum__layout *layout, const struct thrum__model *model)
{
	struct thrum__layout_placer *placer = layout->placer;
	int error;

	switch (placer->step) {
	case 0: error = begin_update(layout, model); break;
	case 1: error = thrum__layout_gather(layout, model); break;
	case 2: error = push_roots(layout); break;
	default: error = place_some(layout, model);
	}
	if (error < 0 || (error == 0 && placer->step > 2))
		return end_update(layout, model, error);
	placer->step += placer->step <= 2;
	return 1;
}

int thrum__layout_update(struct thrum__layout *layout, const struct thrum__model *model,
	bool (*progress)(void *context, double part), void *context)
{
	const struct thrum__layout_placer *placer = layout->placer;
	int error = placer->step > 0 ? end_update(layout, model, 0) : 0;

	while (!error && (error = thrum__layout_step(layout, model)) > 0) {
		bool goes_on = placer->placed == 0 || !progress ||
			progress(context, placer->placed / (double)placer->fresh_count);

		error = goes_on ? 0 : end_update(layout, model, 1);
	}
	return error;
}
