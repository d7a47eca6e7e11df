/* SPDX-License-Identifier: ISC */
/* Finds orders: of the signals and waits of conditions, and of tasks below the same creator. */
#include <stdlib.h>

#include "analyse/diff/parts.h"
#include "analyse/graph.h"

#define READS_MAX 64 /* edges to a task that are searched for a reader */

/* ---- Conditions ---------------------------------------------------------------------------- */

static void note_first(struct thrum__diff_moment *moment, int64_t time, uint32_t by)
{
	if (time < moment->time)
		*moment = (struct thrum__diff_moment){time, by};
}

/* Notes the pending signal of a condition, now that it is known whether it was a signal or the
 * beginning of a wait. In a mirage-profile trace both look alike: it begins a wait if the condition
 * then creates the waiter. */
static void commit_pending(struct thrum__diff_moment *to, struct thrum__diff_moment *pending)
{
	if (pending->time != THRUM__OPEN)
		note_first(to, pending->time, pending->by);
	pending->time = THRUM__OPEN;
}

static void note_edge(struct thrum__aligned *side, uint32_t edge,
	struct thrum__diff_moment *pending)
{
	const struct thrum__model *model = side->model;
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);
	int64_t time = THRUM__EDGE(model, edge, time);

	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_WAIT:
		if (to < side->count)
			note_first(&side->waited[to], time, from);
		break;
	case THRUM__EDGE_SIGNAL:
		if (to >= side->count)
			break;
		commit_pending(&side->signalled[to], &pending[to]);
		if (model->is_mirage)
			pending[to] = (struct thrum__diff_moment){time, from};
		else
			note_first(&side->signalled[to], time, from);
		break;
	case THRUM__EDGE_RESOLVE:
		if (from < side->count)
			commit_pending(&side->signalled[from], &pending[from]);
		break;
	default: break;
	}
}

/* Goes through edges and creations of tasks in the order of time, as in a mirage-profile trace a
 * creation tells whether the signal before it begins a wait. */
int thrum__diff_moments(struct thrum__aligned *side)
{
	const struct thrum__model *model = side->model;
	struct thrum__diff_moment *pending = malloc(((size_t)side->count + 1) * sizeof(*pending));
	uint32_t task = model->tasks.first;

	if (!pending)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < side->count; i++)
		side->waited[i] = side->signalled[i] = pending[i] =
			(struct thrum__diff_moment){THRUM__OPEN, THRUM__NONE};
	for (uint32_t edge = model->edges.first; edge <= model->edges.count; edge++) {
		bool is_edge = thrum__model_has_row(&model->edges, edge);

		if (!is_edge && edge < model->edges.count)
			continue;
		for (; task < side->count; task++) {
			uint32_t creator;

			if (!thrum__model_has_row(&model->tasks, task))
				continue;
			if (is_edge &&
				THRUM__TASK(model, task, created) > THRUM__EDGE(model, edge, time))
				break;
			creator = THRUM__TASK(model, task, creator);
			if (creator < side->count)
				commit_pending(&side->waited[creator], &pending[creator]);
		}
		if (is_edge)
			note_edge(side, edge, pending);
	}
	for (uint32_t i = 0; i < side->count; i++)
		commit_pending(&side->signalled[i], &pending[i]);
	free(pending);
	return 0;
}

/* ---- Tasks below the same creator ---------------------------------------------------------- */

/* A group, as its tasks come among the tasks below one creator. */
struct sibling {
	uint32_t before; /* the group that came just before it in GOOD, or NONE */
	uint32_t stamp;  /* the number of the creator to which `task` belongs */
	uint32_t task;   /* the first task of the group below that creator */
	uint32_t last;   /* of those that have begun so far, the one that ends last; or NONE */
	bool is_known;   /* `before` is set */
	struct thrum__difference_side side[THRUM__SIDES];
};

static bool is_join(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, kind) == THRUM_KIND_JOIN;
}

/* Whether a task read the result of `before`, or of a join that waited for it. */
static bool has_result(const struct thrum__model *model, uint32_t task, uint32_t before,
	bool through_join)
{
	uint32_t edge = THRUM__TASK(model, before, edge_in);

	for (int i = 0; i < READS_MAX && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t from = THRUM__EDGE(model, edge, from);
		uint8_t kind = THRUM__EDGE(model, edge, kind);

		if (!thrum__model_has_row(&model->tasks, from))
			continue;
		from = thrum__model_heir(model, from);
		if ((kind == THRUM__EDGE_READ && from == task) ||
			(kind == THRUM__EDGE_WAIT && through_join && is_join(model, from) &&
				has_result(model, task, from, false)))
			return true;
	}
	return false;
}

bool thrum__diff_is_caused(const struct thrum__model *model, uint32_t before, uint32_t task)
{
	uint32_t creator = THRUM__TASK(model, task, creator);

	if (!thrum__model_has_row(&model->tasks, creator))
		return false;
	before = thrum__model_heir(model, before);
	creator = thrum__model_heir(model, creator);
	return creator == before || has_result(model, creator, before, true);
}

/* Counts a pair of tasks of the same creator, and whether they overlap: whether `task`, which
 * begins later, begins before the other ends. */
static void note_pair(const struct thrum__model *model, int which, uint32_t before, uint32_t task,
	struct sibling *sibling)
{
	struct thrum__difference_side *side = &sibling->side[which];
	int64_t end = thrum__slow_path_end(model, before), start = THRUM__TASK(model, task, start);
	bool overlaps = start < end;

	side->of++;
	side->count += overlaps;
	/* GOOD's example is the last pair in which one caused the other, BAD's the first pair that
	 * overlaps; without such a pair, it is the first of all. */
	if (side->task != THRUM__NONE &&
		(which == THRUM__BAD ? !overlaps || side->count > 1
				     : !thrum__diff_is_caused(model, before, task)))
		return;
	*side = (struct thrum__difference_side){.task = task,
		.before = before,
		.first = end,
		.second = start,
		.count = side->count,
		.of = side->of};
}

/* Counts the pairs among the tasks below one creator, which come in the order of their starts. In
 * GOOD, also notes which group comes before which. */
static void note_siblings(const struct thrum__aligned *aligned, int which,
	const struct thrum__base_sort_item *items, size_t count, uint32_t stamp,
	struct sibling *siblings)
{
	const struct thrum__model *model = aligned->model;
	uint32_t last = THRUM__NONE;

	for (size_t i = 0; i < count; i++) {
		uint32_t task = items[i].item, group = aligned->group[task];
		struct sibling *sibling = &siblings[group];

		if (sibling->stamp == stamp)
			continue;
		sibling->stamp = stamp;
		sibling->task = task;
		sibling->last = THRUM__NONE;
		if (which == THRUM__GOOD && !sibling->is_known) {
			sibling->before = last;
			sibling->is_known = true;
		}
		last = group;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t task = items[i].item, group = aligned->group[task];
		uint32_t before = siblings[group].before;

		if (siblings[group].task == task && before != THRUM__NONE &&
			siblings[before].stamp == stamp && siblings[before].last != THRUM__NONE)
			note_pair(model, which, siblings[before].last, task, &siblings[group]);
		if (siblings[group].last == THRUM__NONE ||
			thrum__slow_path_end(model, task) >
				thrum__slow_path_end(model, siblings[group].last))
			siblings[group].last = task;
	}
}

bool thrum__diff_is_step(const struct thrum__model *model, uint32_t task)
{
	return !is_join(model, task) && !thrum__analyse_task_is_object(model, task) &&
		!thrum__analyse_task_is_lane(model, thrum__model_heir(model, task));
}

/* Sorts the tasks of a recording by their nearest labelled creator, and counts their pairs. */
static void note_side(struct thrum__aligned *aligned, int which, uint32_t *stamp,
	struct sibling *siblings)
{
	struct thrum__base_sort_item *items = aligned->room,
				     *room = aligned->room + aligned->labelled;
	uint32_t count = 0;

	for (uint32_t i = 0; i < aligned->labelled; i++) {
		uint32_t task = aligned->items[i].item;

		if (thrum__diff_is_step(aligned->model, task))
			items[count++] =
				(struct thrum__base_sort_item){(int64_t)aligned->above[task], task};
	}
	thrum__base_sort(items, room, count, thrum__diff_compare_starts, aligned->model);
	for (uint32_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && items[end].key == items[i].key;)
			end++;
		note_siblings(aligned, which, items + i, end - i, ++*stamp, siblings);
	}
}

int thrum__diff_order(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	uint32_t count = comparison->groups.count, stamp = 0;
	struct sibling *siblings = calloc((size_t)count + 1, sizeof(*siblings));
	bool failed = false;

	if (!siblings)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		siblings[i].before = THRUM__NONE;
		siblings[i].side[THRUM__GOOD].task = siblings[i].side[THRUM__BAD].task =
			THRUM__NONE;
	}
	note_side(&aligned[THRUM__GOOD], THRUM__GOOD, &stamp, siblings);
	note_side(&aligned[THRUM__BAD], THRUM__BAD, &stamp, siblings);
	for (uint32_t group = 0; group < count && !failed; group++) {
		const struct thrum__difference_side *good = &siblings[group].side[THRUM__GOOD];
		const struct thrum__difference_side *bad = &siblings[group].side[THRUM__BAD];
		struct thrum__difference *difference;

		/* Few pairs prove an order only if one task caused the other. */
		if (good->of == 0 || good->count > 0 || bad->count == 0 ||
			!thrum__diff_share_differs(siblings[group].side,
				thrum__diff_is_caused(aligned[THRUM__GOOD].model, good->before,
					good->task)))
			continue;
		difference = thrum__diff_add(comparison, THRUM__DIFFERENCE_ENDS_LATER, group,
			&failed);
		if (!difference)
			break;
		difference->side[THRUM__GOOD] = *good;
		difference->side[THRUM__BAD] = *bad;
		difference->other_group = siblings[group].before;
		difference->time = bad->second;
	}
	free(siblings);
	return failed ? -THRUM_E_MEMORY : 0;
}
