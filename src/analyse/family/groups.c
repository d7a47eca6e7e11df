/* SPDX-License-Identifier: ISC */
/* Counts the lines of groups, makes a tree of the groups, and chooses those that are shown. */
#include <stdlib.h>
#include <string.h>

#include "analyse/family/parts.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"
#include "base/time.h"

#define UP_MOST 8 /* owners of the same group that are passed over */

/* Which groups wait for which: a table of pairs, with how often. */
struct pairs {
	struct pair {
		uint32_t from, to, count;
	} * cells;
	uint32_t size, count; /* size: a power of two */
};

/* The group of the first line that owns a line and is of another group, or NONE. */
static uint32_t owning_group(const struct thrum__family *family, uint32_t task)
{
	uint32_t group = thrum__family_group(family, task);

	for (int i = 0; i < UP_MOST; i++) {
		uint32_t owning;

		task = thrum__family_owner(family, task);
		owning = thrum__family_group(family, task);
		if (owning != group)
			return owning;
	}
	return THRUM__NONE;
}

bool thrum__family_is_line(const struct thrum__family *family, uint32_t task)
{
	uint32_t place = thrum__place(&family->places, task);

	return place > 0 && family->group[place] != THRUM__NONE &&
		!(family->continued[place / 32] >> place % 32 & 1);
}

/* ---- Numbers of groups ---------------------------------------------------------------------- */

/* Counts the lines of each group. */
static void count_lines(struct thrum__family *family)
{
	const struct thrum__model *model = family->model;

	THRUM__EACH_TASK (model, i) {
		struct thrum__group *group;
		uint32_t heir;
		int64_t end;

		if (!thrum__family_is_line(family, i))
			continue;
		group = &family->groups[thrum__family_group(family, i)];
		heir = thrum__model_heir(model, i);
		end = thrum__family_end(model, heir);
		group->lines++;
		group->should += (THRUM__TASK(model, i, flags) & THRUM__TASK_SHOULD_RESOLVE) ||
			(THRUM__TASK(model, heir, flags) & THRUM__TASK_SHOULD_RESOLVE);
		group->failed += THRUM__TASK(model, heir, state) == THRUM__STATE_FAILED;
		group->pending += end == THRUM__OPEN;
		thrum__family_add_time(&group->life, THRUM__TASK(model, i, start),
			end == THRUM__OPEN ? model->end : end);
	}
}

/* ---- The tree ------------------------------------------------------------------------------- */

/* Gives each group the group that owns most of its lines, by the majority vote of Boyer and Moore
 * (MJRTY, 1981): a candidate first, then a count of its lines. */
static int find_parents(struct thrum__family *family)
{
	const struct thrum__model *model = family->model;
	struct vote {
		uint32_t group, count;
	} *votes = calloc((size_t)family->group_count + 1, sizeof *votes);
	/* By place: the group that owns a line. */
	uint32_t *owning = malloc(family->places.count * sizeof *owning);

	if (!votes || !owning) {
		free(votes);
		free(owning);
		return -THRUM_E_MEMORY;
	}
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; round == 1 && i < family->group_count; i++)
			votes[i].count = 0;
		THRUM__EACH_TASK (model, i) {
			uint32_t *group = &owning[thrum__place(&family->places, i)];
			struct vote *vote;

			if (!thrum__family_is_line(family, i))
				continue;
			vote = &votes[thrum__family_group(family, i)];
			if (round == 0)
				*group = owning_group(family, i);
			if (round == 0 && vote->count == 0)
				*vote = (struct vote){*group, 1};
			else if (round == 0)
				vote->count += *group == vote->group ? 1 : UINT32_MAX;
			else if (*group == vote->group)
				vote->count++;
		}
	}
	free(owning);
	for (uint32_t i = 0; i < family->group_count; i++)
		if (votes[i].count >= (family->groups[i].lines + 1) / 2)
			family->groups[i].parent = votes[i].group;
	free(votes);
	return 0;
}

/* Cuts circles: a group that comes again on the way up from a group loses its parent. */
static int cut_circles(struct thrum__family *family)
{
	uint32_t *seen = calloc((size_t)family->group_count + 1, sizeof *seen);

	if (!seen)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < family->group_count; i++)
		for (uint32_t at = i; at != THRUM__NONE; at = family->groups[at].parent) {
			if (seen[at] == i + 1) {
				family->groups[at].parent = THRUM__NONE;
				break;
			}
			if (seen[at] > 0)
				break; /* the way from here on was walked before */
			seen[at] = i + 1;
		}
	free(seen);
	return 0;
}

/* ---- The outside ---------------------------------------------------------------------------- */

/* The cell of a pair, or the free one for it. */
static struct pair *pair_cell(const struct pairs *pairs, uint32_t from, uint32_t to)
{
	uint64_t hash = thrum__base_hash_number(0, (uint64_t)from << 32 | to);

	for (uint32_t i = (uint32_t)hash;; i++) {
		struct pair *cell = &pairs->cells[i & (pairs->size - 1)];

		if (cell->count == 0 || (cell->from == from && cell->to == to))
			return cell;
	}
}

static int pairs_grow(struct pairs *pairs)
{
	struct pairs grown = {.size = pairs->size ? pairs->size * 2 : 256, .count = pairs->count};

	grown.cells = calloc(grown.size, sizeof *grown.cells);
	if (!grown.cells)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < pairs->size; i++)
		if (pairs->cells[i].count > 0)
			*pair_cell(&grown, pairs->cells[i].from,
				pairs->cells[i].to) = pairs->cells[i];
	free(pairs->cells);
	*pairs = grown;
	return 0;
}

/* Counts how often the lines of each group wait for those of another. */
static int count_pairs(const struct thrum__family *family, const uint32_t *served,
	struct pairs *pairs)
{
	const struct thrum__model *model = family->model;

	for (uint32_t i = model->edges.first; i < model->edges.count; i++) {
		uint32_t from, to;
		struct pair *pair;

		if (!thrum__model_has_row(&model->edges, i) ||
			THRUM__EDGE(model, i, kind) != THRUM__EDGE_WAIT)
			continue;
		from = thrum__place(&family->places, THRUM__EDGE(model, i, from));
		to = thrum__place(&family->places, THRUM__EDGE(model, i, to));
		from = from > 0 ? served[from] : THRUM__NONE;
		to = to > 0 ? served[to] : THRUM__NONE;
		if (from == THRUM__NONE || to == THRUM__NONE || from == to)
			continue;
		if (pairs->count >= pairs->size / 2 && pairs_grow(pairs) < 0)
			return -THRUM_E_MEMORY;
		pair = pair_cell(pairs, from, to);
		pairs->count += pair->count == 0;
		*pair = (struct pair){from, to, pair->count + 1};
	}
	return 0;
}

/*
 * Finds the groups that wait for the outside: the greatest set of groups that run for less than a
 * tenth of their lives, need not resolve, own no group outside the set, and but for under a fifth
 * of their lines wait for none.
 */
static int find_outside(struct thrum__family *family, const uint32_t *served)
{
	struct pairs pairs = {0};
	uint32_t *bad = calloc((size_t)family->group_count + 1, sizeof *bad);
	bool changed = true;

	if (!bad || pairs_grow(&pairs) < 0 || count_pairs(family, served, &pairs) < 0) {
		free(bad);
		free(pairs.cells);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < family->group_count; i++) {
		struct thrum__group *group = &family->groups[i];

		group->is_outside = group->ran < group->life / 10 &&
			group->should <= group->lines / 2 && !group->is_object;
	}
	while (changed) {
		changed = false;
		memset(bad, 0, family->group_count * sizeof *bad);
		for (uint32_t i = 0; i < pairs.size; i++)
			if (pairs.cells[i].count > 0 &&
				!family->groups[pairs.cells[i].to].is_outside)
				bad[pairs.cells[i].from] += pairs.cells[i].count;
		for (uint32_t i = 0; i < family->group_count; i++) {
			const struct thrum__group *group = &family->groups[i];

			if (group->parent != THRUM__NONE && !group->is_outside &&
				!group->is_object && group->lines >= THRUM__FAMILY_FEW)
				bad[group->parent] = UINT32_MAX;
		}
		for (uint32_t i = 0; i < family->group_count; i++)
			if (family->groups[i].is_outside && bad[i] > family->groups[i].lines / 5) {
				family->groups[i].is_outside = false;
				changed = true;
			}
	}
	free(bad);
	free(pairs.cells);
	return 0;
}

/* ---- The shown groups ----------------------------------------------------------------------- */

static bool is_shown(const struct thrum__group *group, bool outside)
{
	return group->lines >= THRUM__FAMILY_FEW && !group->is_object &&
		group->is_outside == outside;
}

/* The nearest ancestor of a group that is marked as shown, or NONE. */
static uint32_t shown_parent(const struct thrum__family *family, uint32_t group)
{
	do
		group = family->groups[group].parent;
	while (group != THRUM__NONE && family->groups[group].shown == THRUM__NONE);
	return group;
}

/* Lists the shown groups below a parent (NONE: at the top) and all below them, in order. */
static void list_below(struct thrum__family *family, const struct thrum__base_sort_item *chosen,
	uint32_t count, uint32_t parent, uint32_t depth)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t group = chosen[i].item;

		if (shown_parent(family, group) != parent)
			continue;
		family->groups[group].shown = family->shown_count;
		family->groups[group].depth = depth;
		family->shown[family->shown_count++] = group;
		list_below(family, chosen, count, group, depth + 1);
	}
}

/* Sorts the groups by the sums of their lives (or by how many lines they have), the greatest first. */
static int choose(struct thrum__family *family)
{
	uint32_t count = family->group_count, chosen = 0, more = 0;
	struct thrum__base_sort_item *items = malloc((2 * (size_t)count + 1) * sizeof *items);

	family->more = malloc(((size_t)count + 1) * sizeof *family->more);
	if (!items || !family->more) {
		free(items);
		return -THRUM_E_MEMORY;
	}
	/* If there is nothing else, the outside is shown. */
	for (int outside = 0; chosen == 0 && outside < 2; outside++)
		for (uint32_t i = 0; i < count; i++)
			if (is_shown(&family->groups[i], outside))
				items[chosen++] =
					(struct thrum__base_sort_item){-family->groups[i].life, i};
	thrum__base_sort(items, items + count, chosen, NULL, NULL);
	if (chosen > THRUM__FAMILY_BANDS)
		chosen = THRUM__FAMILY_BANDS;
	for (uint32_t i = 0; i < chosen; i++)
		family->groups[items[i].item].shown = 0;
	list_below(family, items, chosen, THRUM__NONE, 0);
	for (uint32_t i = 0; i < count; i++)
		if (family->groups[i].shown == THRUM__NONE && family->groups[i].lines > 0 &&
			!family->groups[i].is_object)
			items[more++] =
				(struct thrum__base_sort_item){-(int64_t)family->groups[i].lines,
					i};
	thrum__base_sort(items, items + count, more, NULL, NULL);
	for (uint32_t i = 0; i < more; i++)
		family->more[i] = items[i].item;
	family->more_count = more;
	free(items);
	return 0;
}

int thrum__family_arrange(struct thrum__family *family, const uint32_t *served)
{
	int error;

	count_lines(family);
	error = find_parents(family);
	if (error == 0)
		error = cut_circles(family);
	if (error == 0)
		error = find_outside(family, served);
	if (error == 0)
		error = choose(family);
	return error;
}
