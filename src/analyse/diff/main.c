/* SPDX-License-Identifier: ISC */
/*
 * Finds by what slower tasks became slower, and the main difference: the one that explains most of
 * the time that the slowest group took in addition. Orders and ends come before times.
 */
#include <stdlib.h>

#include "analyse/diff/parts.h"

#define SLOWER_MAX 200      /* groups whose paths are compared */
#define EXPLAINS_PERCENT 50 /* of the additional time: less is not its cause */
#define BUSY 100000000      /* ns for which a busy machine may keep a thread off its processor */
#define ALIKE_PERCENT 85    /* of the greatest weight: differences that explain about as much */

/* The parts of two paths that have the same place in the tree of frames and do the same. */
struct change {
	int64_t time[THRUM__SIDES];
	uint32_t frame;        /* in BAD's paths; NONE: only GOOD has it */
	uint32_t task;         /* in BAD: of the longest part */
	int64_t longest, from; /* of that part: its ns and its beginning */
	uint8_t doing;
};

struct changes {
	struct thrum__base_keys joint; /* the frames of both recordings by parent, doing and name */
	struct thrum__base_keys keys;  /* by joint frame and doing */
	struct change *changes;        /* by key */
	uint32_t room;
};

/* ---- Two paths ----------------------------------------------------------------------------- */

/* Sets *joint to the number of a frame in the tree that both recordings share. Frames at the top are
 * alike. */
static int find_joint(struct changes *c, const struct thrum__paths *paths, uint32_t frame,
	uint32_t *joint)
{
	uint32_t stack[THRUM__STACK_DEPTH + 2], count = 0;
	uint32_t at = THRUM__NONE;

	for (; frame != THRUM__NONE && count < THRUM__STACK_DEPTH + 2;
		frame = paths->frames[frame].parent)
		stack[count++] = frame;
	while (count-- > 0) {
		const struct thrum__frame *f = &paths->frames[stack[count]];
		size_t size = 0;
		const char *name = f->parent == THRUM__NONE
			? ""
			: thrum__slow_frame_name(paths, stack[count], &size);

		if (thrum__base_keys_add(&c->joint, (uint64_t)at << 8 | f->doing, name, size, &at) <
			0)
			return -THRUM_E_MEMORY;
	}
	*joint = at;
	return 0;
}

static int add_path(struct changes *c, const struct thrum__paths *paths, int side,
	const struct thrum__path *path)
{
	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *part = &path->parts[i];
		int64_t length = part->to - part->from;
		struct change *change;
		uint32_t joint, key;

		if (find_joint(c, paths, part->frame, &joint) < 0 ||
			thrum__base_keys_add(&c->keys, (uint64_t)joint << 8 | part->doing, "", 0,
				&key) < 0)
			return -THRUM_E_MEMORY;
		if (key >= c->room) {
			uint32_t room = c->room > 0 ? 2 * c->room : 64;
			struct change *grown = realloc(c->changes, room * sizeof(*grown));

			if (!grown)
				return -THRUM_E_MEMORY;
			for (uint32_t j = c->room; j < room; j++)
				grown[j] = (struct change){.frame = THRUM__NONE};
			c->changes = grown;
			c->room = room;
		}
		change = &c->changes[key];
		change->time[side] += length;
		change->doing = part->doing;
		if (side == THRUM__BAD &&
			(change->frame == THRUM__NONE || length > change->longest)) {
			change->frame = part->frame;
			change->longest = length;
			change->from = part->from;
			change->task = part->doing >= THRUM__DOING_READY ? part->other : part->task;
		}
	}
	return 0;
}

static void free_changes(struct changes *c)
{
	thrum__base_keys_free(&c->joint);
	thrum__base_keys_free(&c->keys);
	free(c->changes);
}

/* Compares the paths of the examples of a difference. */
static int find_changes(struct thrum__comparison *comparison, const struct thrum__difference *d,
	struct changes *c)
{
	*c = (struct changes){0};
	for (int side = 0; side < THRUM__SIDES; side++) {
		struct thrum__path path;
		int error = thrum__slow_path_make(&comparison->paths[side], d->side[side].task,
			&path);

		if (error == 0) {
			error = add_path(c, &comparison->paths[side], side, &path);
			thrum__slow_path_free(&path);
		}
		if (error < 0) {
			free_changes(c);
			return error;
		}
	}
	return 0;
}

static int64_t growth_of(const struct change *change)
{
	int64_t more = change->time[THRUM__BAD] - change->time[THRUM__GOOD];

	return change->frame == THRUM__NONE || more < 0 ? 0 : more;
}

/* Notes the greatest change in a difference. */
static void note_change(struct thrum__difference *d, const struct changes *c,
	const struct thrum__paths *bad)
{
	const struct change *most = NULL;

	for (uint32_t i = 0; i < c->keys.count; i++)
		if (growth_of(&c->changes[i]) > (most ? growth_of(most) : 0))
			most = &c->changes[i];
	if (!most)
		return;
	d->by_frame = most->frame;
	d->by_task = most->task;
	d->by_doing = most->doing;
	d->by_site = thrum__slow_wait_site(bad, d->side[THRUM__BAD].task, most->from);
	for (int side = 0; side < THRUM__SIDES; side++)
		d->by_time[side] = most->time[side];
}

/* ---- The main difference ------------------------------------------------------------------- */

/* The group of a task in BAD, or NONE. */
static uint32_t group_of(const struct thrum__aligned *bad, uint32_t task)
{
	return task < bad->count ? bad->group[task] : THRUM__NONE;
}

/* Returns how deep a group's tasks lie on the way to a change, from 1; 0: they don't. */
static uint32_t depth_in(const struct thrum__comparison *comparison,
	const struct thrum__aligned *bad, const struct change *change, uint32_t group)
{
	const struct thrum__paths *paths = &comparison->paths[THRUM__BAD];

	if (group_of(bad, change->task) == group)
		return THRUM__STACK_DEPTH;
	for (uint32_t i = change->frame; paths->frames[i].parent != THRUM__NONE;
		i = paths->frames[i].parent)
		if (group_of(bad, paths->frames[i].task) == group)
			return paths->frames[i].depth;
	return 0;
}

/* Whether a difference may be the cause of another one's time. */
static bool can_explain(int kind)
{
	return kind == THRUM__DIFFERENCE_SEQUENTIAL || kind == THRUM__DIFFERENCE_MORE ||
		kind == THRUM__DIFFERENCE_USES || kind == THRUM__DIFFERENCE_SLOWER ||
		kind == THRUM__DIFFERENCE_ADDED;
}

/* The greatest additional time. */
static uint32_t find_slowest(const struct thrum__comparison *comparison)
{
	uint32_t best = THRUM__NONE;

	for (uint32_t i = 0; i < comparison->count; i++) {
		const struct thrum__difference *d = &comparison->differences[i];

		if (d->kind == THRUM__DIFFERENCE_SLOWER &&
			(best == THRUM__NONE || d->extra > comparison->differences[best].extra))
			best = i;
	}
	return best;
}

/* Chooses the difference that explains most of what changed for the slowest group. If several
 * explain about as much, it is a change of structure rather than of times, else the one whose tasks
 * lie deepest. */
static uint32_t choose_cause(struct thrum__comparison *comparison, const struct thrum__aligned *bad,
	uint32_t slowest, const struct changes *c)
{
	struct thrum__difference *all = comparison->differences;
	int64_t whole = 0, most = 0;
	uint32_t best = slowest, best_depth = 0;

	for (uint32_t j = 0; j < c->keys.count; j++)
		whole += growth_of(&c->changes[j]);
	for (uint32_t i = 0; i < comparison->count; i++) {
		uint32_t group = all[i].kind == THRUM__DIFFERENCE_USES ? all[i].other_group
								       : all[i].group;

		all[i].weight = 0;
		for (uint32_t j = 0; j < c->keys.count && i != slowest; j++)
			if (growth_of(&c->changes[j]) > 0 && can_explain(all[i].kind) &&
				depth_in(comparison, bad, &c->changes[j], group) > 0)
				all[i].weight += growth_of(&c->changes[j]);
		most = all[i].weight > most ? all[i].weight : most;
	}
	if (most == 0 || most < whole / 100 * EXPLAINS_PERCENT)
		return slowest;
	for (uint32_t i = 0; i < comparison->count; i++) {
		uint32_t depth = 1;
		bool is_time = all[i].kind == THRUM__DIFFERENCE_SLOWER;

		if (all[i].weight == 0 || all[i].weight < most / 100 * ALIKE_PERCENT)
			continue;
		for (uint32_t j = 0; j < c->keys.count && is_time; j++) {
			uint32_t here = growth_of(&c->changes[j]) > 0
				? depth_in(comparison, bad, &c->changes[j], all[i].group)
				: 0;

			depth = here > depth ? here : depth;
		}
		depth = is_time ? depth : 2u * THRUM__STACK_DEPTH - all[i].kind;
		if (depth > best_depth) {
			best = i;
			best_depth = depth;
		}
	}
	all[best].explains = (uint8_t)((double)all[best].weight * 100 / (double)whole + 0.5);
	return best;
}

/* The first difference of the kinds from `from` to `to` in the order of time, or NONE. */
static uint32_t earliest_of(const struct thrum__comparison *comparison, int from, int to)
{
	const struct thrum__difference *all = comparison->differences;
	uint32_t best = THRUM__NONE;

	for (uint32_t i = 0; i < comparison->count; i++)
		if (all[i].kind >= from && all[i].kind <= to &&
			(best == THRUM__NONE || all[i].time < all[best].time))
			best = i;
	return best;
}

/* The difference that those who signal a condition in GOOD fail or are cancelled in BAD, if nobody signals
 * it there; else NONE. */
static uint32_t ended_signaller(const struct thrum__comparison *comparison,
	const struct thrum__aligned aligned[THRUM__SIDES], uint32_t order)
{
	uint32_t group = thrum__diff_signallers(&comparison->differences[order], aligned), index;

	return group != THRUM__NONE &&
			(thrum__diff_has(comparison, THRUM__DIFFERENCE_FAILS, group, &index) ||
				thrum__diff_has(comparison, THRUM__DIFFERENCE_CANCELLED, group,
					&index))
		? index
		: THRUM__NONE;
}

/* Chooses among orders and ends. */
static uint32_t choose_end(const struct thrum__comparison *comparison,
	const struct thrum__aligned aligned[THRUM__SIDES], uint32_t slowest)
{
	uint32_t order = earliest_of(comparison, THRUM__DIFFERENCE_SIGNAL_FIRST,
		THRUM__DIFFERENCE_ENDS_SOONER);
	uint32_t fails = earliest_of(comparison, THRUM__DIFFERENCE_FAILS,
		THRUM__DIFFERENCE_CANCELLED);
	uint32_t ends = earliest_of(comparison, THRUM__DIFFERENCE_NEVER_ENDS,
		THRUM__DIFFERENCE_NEVER_ENDS);

	if (order != THRUM__NONE) {
		uint32_t ended = ended_signaller(comparison, aligned, order);

		if (ended != THRUM__NONE)
			return ended;
	}
	if (order != THRUM__NONE &&
		(comparison->differences[order].kind < THRUM__DIFFERENCE_ENDS_LATER ||
			fails != THRUM__NONE || ends != THRUM__NONE || slowest == THRUM__NONE))
		return order;
	return fails != THRUM__NONE ? fails : ends;
}

/* If a cause is that the program did other things, not that they took longer, and an order broke
 * before, that order is what made it do them. */
static uint32_t order_before(const struct thrum__comparison *comparison, uint32_t cause)
{
	uint32_t order = earliest_of(comparison, THRUM__DIFFERENCE_ENDS_LATER,
		THRUM__DIFFERENCE_ENDS_SOONER);
	const struct thrum__difference *all = comparison->differences;

	if (cause == THRUM__NONE || order == THRUM__NONE ||
		all[cause].kind == THRUM__DIFFERENCE_SLOWER || all[order].time > all[cause].time)
		return cause;
	return order;
}

/* ---- Chance ---------------------------------------------------------------------------------- */

/* Whether a difference may come from a busy machine: one task out of many took longer as its thread
 * had no processor, or may have had none. */
static bool may_be_chance(const struct thrum__comparison *comparison,
	const struct thrum__difference *d)
{
	int64_t more = d->by_time[THRUM__BAD] - d->by_time[THRUM__GOOD];
	bool is_cpu_known = comparison->model[THRUM__BAD]->off_cpu.count > 0;

	return d->kind == THRUM__DIFFERENCE_SLOWER && d->is_one && more > d->extra / 2 &&
		(d->by_doing == THRUM__DOING_PREEMPTED ||
			(d->by_doing == THRUM__DOING_RUNS && !is_cpu_known && more < BUSY));
}

static void drop_chance(struct thrum__comparison *comparison)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < comparison->count; i++)
		if (!may_be_chance(comparison, &comparison->differences[i]))
			comparison->differences[kept++] = comparison->differences[i];
	comparison->count = kept;
}

/* ---- All differences ------------------------------------------------------------------------- */

/* Notes what changed most for each group that is slower. */
static int compare_paths(struct thrum__comparison *comparison)
{
	uint32_t slowest = find_slowest(comparison), compared = 0;

	for (uint32_t i = 0; i < comparison->count && slowest != THRUM__NONE; i++) {
		struct thrum__difference *d = &comparison->differences[i];
		struct changes changes;

		if (d->kind != THRUM__DIFFERENCE_SLOWER ||
			(compared++ >= SLOWER_MAX && i != slowest))
			continue;
		for (int side = 0; side < THRUM__SIDES; side++)
			if (!comparison->paths[side].model &&
				thrum__slow_paths_init(&comparison->paths[side],
					comparison->model[side]) < 0)
				return -THRUM_E_MEMORY;
		if (find_changes(comparison, d, &changes) < 0)
			return -THRUM_E_MEMORY;
		note_change(d, &changes, &comparison->paths[THRUM__BAD]);
		free_changes(&changes);
	}
	return 0;
}

int thrum__diff_main(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	uint32_t slowest, cause;
	struct changes changes;

	if (compare_paths(comparison) < 0)
		return -THRUM_E_MEMORY;
	drop_chance(comparison);
	slowest = cause = find_slowest(comparison);
	if (slowest != THRUM__NONE) {
		if (find_changes(comparison, &comparison->differences[slowest], &changes) < 0)
			return -THRUM_E_MEMORY;
		cause = choose_cause(comparison, &aligned[THRUM__BAD], slowest, &changes);
		free_changes(&changes);
	}
	comparison->slowest = slowest;
	comparison->first = choose_end(comparison, aligned, slowest);
	if (comparison->first == THRUM__NONE)
		comparison->first = order_before(comparison, cause);
	if (comparison->first == THRUM__NONE && comparison->count > 0)
		comparison->first = 0;
	return 0;
}
