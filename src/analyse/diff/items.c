/* SPDX-License-Identifier: ISC */
/* Finds orders among the tasks of one item: those whose labels have the same numbers, such as "store
 * row 7" and "check row 7". If the item goes right, the one has to cause the other in GOOD.
 * And finds steps that some items have in GOOD only. */
#include <stdlib.h>
#include <string.h>

#include "analyse/diff/parts.h"
#include "analyse/label.h"

#define WRONG_MAX 16 /* items that go wrong and are looked at */
#define ITEM_MAX 32  /* tasks of an item that are looked at */
#define ALIKE 3      /* items that need to have the order in GOOD */
#define CHANCE 1e-3  /* more likely, it is taken for chance */

/* The tasks of both recordings, sorted by their items, and within an item by their starts. */
struct items {
	const struct thrum__comparison *comparison;
	const struct thrum__aligned *in[THRUM__SIDES];
	struct thrum__base_keys keys; /* by numbers */
	struct thrum__base_sort_item *tasks[THRUM__SIDES];
	uint32_t count[THRUM__SIDES];
};

/* ---- Items --------------------------------------------------------------------------------- */

/* Sets *item to the number of a task's item. Returns 1, 0 if the task has none, or
 * -THRUM_E_MEMORY. */
static int item_of(struct items *items, int which, uint32_t task, uint32_t *item)
{
	char numbers[THRUM__LABEL_PATTERN_MAX];
	uint32_t label = items->in[which]->label[task];
	size_t size = 0;
	const char *text;

	if (label == THRUM__NONE)
		return 0;
	text = thrum__model_string(items->in[which]->model, label, &size);
	size = thrum__analyse_label_numbers(text, size, numbers);
	if (size == 0)
		return 0;
	return thrum__base_keys_add(&items->keys, 0, numbers, size, item) < 0 ? -THRUM_E_MEMORY : 1;
}

static int sort_side(struct items *items, struct thrum__aligned *aligned, int which)
{
	items->in[which] = aligned;
	items->tasks[which] = malloc(((size_t)aligned->labelled + 1) * sizeof **items->tasks);
	if (!items->tasks[which])
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < aligned->labelled; i++) {
		uint32_t task = aligned->items[i].item, item;
		int found = item_of(items, which, task, &item);

		if (found < 0)
			return found;
		if (found > 0)
			items->tasks[which][items->count[which]++] =
				(struct thrum__base_sort_item){item, task};
	}
	thrum__base_sort(items->tasks[which], aligned->room, items->count[which],
		thrum__diff_compare_starts, aligned->model);
	return 0;
}

/* The index behind the last task of the item that begins at an index. */
static uint32_t end_of(const struct items *items, int which, uint32_t from)
{
	uint32_t end = from;

	while (end < items->count[which] &&
		items->tasks[which][end].key == items->tasks[which][from].key)
		end++;
	return end;
}

/* Sets *from and *to to the place of an item. */
static void find_item(const struct items *items, int which, uint32_t item, uint32_t *from,
	uint32_t *to)
{
	uint32_t low = 0, high = items->count[which];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (items->tasks[which][middle].key < item)
			low = middle + 1;
		else
			high = middle;
	}
	*from = *to = low;
	if (low < items->count[which] && items->tasks[which][low].key == item)
		*to = end_of(items, which, low);
	if (*to - *from > ITEM_MAX)
		*to = *from;
}

/* ---- Orders -------------------------------------------------------------------------------- */

/* Whether two groups have the same kind and pattern. An item's number says where it belongs, whoever
 * created it. */
static bool is_like(const struct items *items, uint32_t group, uint32_t other)
{
	const struct thrum__base_keys *keys = &items->comparison->groups;
	size_t size, other_size;
	const char *name = thrum__base_keys_text(keys, group, &size);
	const char *other_name = thrum__base_keys_text(keys, other, &other_size);

	return group == other ||
		((keys->keys[group].number & 0xff) == (keys->keys[other].number & 0xff) &&
			size == other_size && memcmp(name, other_name, size) == 0);
}

/* The only task like those of a group in an item; NONE if there is none, or several. */
static uint32_t only_task(const struct items *items, int which, uint32_t from, uint32_t to,
	uint32_t group)
{
	uint32_t found = THRUM__NONE;

	for (uint32_t i = from; i < to; i++) {
		uint32_t task = items->tasks[which][i].item;

		if (!is_like(items, items->in[which]->group[task], group))
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = task;
	}
	return found;
}

/* Notes one item in the difference's side: whether the task of one group begins before that of the
 * other ends. The example is in BAD an item in which it does, else any. */
static void note_item(const struct items *items, int which, uint32_t from, uint32_t to,
	const uint32_t groups[2], struct thrum__difference_side *side)
{
	uint32_t before = only_task(items, which, from, to, groups[0]);
	uint32_t task = only_task(items, which, from, to, groups[1]);
	const struct thrum__model *model = items->in[which]->model;
	int64_t end;
	bool is_broken;

	if (before == THRUM__NONE || task == THRUM__NONE)
		return;
	end = thrum__slow_path_end(model, before);
	is_broken = THRUM__TASK(model, task, start) < end;
	side->of++;
	side->count += is_broken;
	if (side->task != THRUM__NONE && !(is_broken && side->count == 1))
		return;
	side->task = task;
	side->before = before;
	side->first = end;
	side->second = THRUM__TASK(model, task, start);
}

/* Counts in how many items of a recording an order is broken. */
static struct thrum__difference_side count_items(const struct items *items, int which,
	const uint32_t groups[2])
{
	struct thrum__difference_side side = {.task = THRUM__NONE,
		.before = THRUM__NONE,
		.by = {THRUM__NONE, THRUM__NONE}};

	for (uint32_t i = 0, end; i < items->count[which]; i = end) {
		end = end_of(items, which, i);
		if (end - i <= ITEM_MAX)
			note_item(items, which, i, end, groups, &side);
	}
	return side;
}

static bool is_known(const struct thrum__comparison *comparison, const uint32_t groups[2])
{
	for (uint32_t i = 0; i < comparison->count; i++)
		if (comparison->differences[i].kind == THRUM__DIFFERENCE_ENDS_LATER &&
			comparison->differences[i].group == groups[1] &&
			comparison->differences[i].other_group == groups[0])
			return true;
	return false;
}

/* Adds a difference if an order holds for all items in GOOD, but not for the one in BAD. Returns
 * whether it was added. */
static bool check_order(struct thrum__comparison *comparison, const struct items *items,
	const uint32_t groups[2], const uint32_t range[2], bool *failed)
{
	struct thrum__difference_side here = {.task = THRUM__NONE}, good;
	struct thrum__difference *d;

	note_item(items, THRUM__BAD, range[0], range[1], groups, &here);
	if (here.count == 0 || is_known(comparison, groups))
		return false;
	good = count_items(items, THRUM__GOOD, groups);
	if (good.of < ALIKE || good.count > 0)
		return false;
	d = thrum__diff_add(comparison, THRUM__DIFFERENCE_ENDS_LATER, groups[1], failed);
	if (!d)
		return false;
	d->other_group = groups[0];
	d->side[THRUM__GOOD] = good;
	d->side[THRUM__BAD] = count_items(items, THRUM__BAD, groups);
	d->time = d->side[THRUM__BAD].second;
	return true;
}

/* Compares the order of an item's tasks with GOOD's, up to the first step that is out of order. */
static int check_item(struct thrum__comparison *comparison, const struct items *items,
	uint32_t item)
{
	uint32_t from, to, range[2];
	bool failed = false;

	find_item(items, THRUM__GOOD, item, &from, &to);
	find_item(items, THRUM__BAD, item, &range[0], &range[1]);
	for (uint32_t i = from; i + 1 < to; i++) {
		const uint32_t *group = items->in[THRUM__GOOD]->group;
		const uint32_t groups[2] = {group[items->tasks[THRUM__GOOD][i].item],
			group[items->tasks[THRUM__GOOD][i + 1].item]};

		if (!is_like(items, groups[0], groups[1]) &&
			check_order(comparison, items, groups, range, &failed))
			break;
	}
	return failed ? -THRUM_E_MEMORY : 0;
}

/* Finds the task of an item that ended last before another began. NONE: none did. */
static uint32_t last_before(const struct items *items, uint32_t from, uint32_t to, uint32_t task)
{
	const struct thrum__model *model = items->in[THRUM__GOOD]->model;
	uint32_t found = THRUM__NONE;
	int64_t latest = -1;

	for (uint32_t i = from; i < to; i++) {
		uint32_t other = items->tasks[THRUM__GOOD][i].item;
		int64_t end = thrum__slow_path_end(model, other);

		if (end > latest && end <= THRUM__TASK(model, task, start)) {
			latest = end;
			found = other;
		}
	}
	return found;
}

/* Whether the same makes both tasks: their creators have the same kind, and alike labels if they have any.
 * One that another makes didn't lose its order: it came another way. */
static bool is_made_alike(const struct items *items, uint32_t good, uint32_t bad)
{
	const struct thrum__model *model = items->in[THRUM__GOOD]->model;
	const struct thrum__model *bad_model = items->in[THRUM__BAD]->model;
	uint32_t creator = THRUM__TASK(model, good, creator);
	uint32_t bad_creator = THRUM__TASK(bad_model, bad, creator), group, bad_group;

	if (!thrum__model_has_row(&model->tasks, creator) ||
		!thrum__model_has_row(&bad_model->tasks, bad_creator) ||
		THRUM__TASK(model, creator, kind) != THRUM__TASK(bad_model, bad_creator, kind))
		return false;
	group = items->in[THRUM__GOOD]->group[creator];
	bad_group = items->in[THRUM__BAD]->group[bad_creator];
	if (group == THRUM__NONE || bad_group == THRUM__NONE)
		return group == bad_group;
	return is_like(items, group, bad_group);
}

/* Compares an item of GOOD with that of BAD, which needn't go wrong: whether a step that one before it
 * caused begins before that one ends. */
static void check_causes(struct thrum__comparison *comparison, const struct items *items,
	const uint32_t good[2], const uint32_t bad[2], uint32_t *looked, bool *failed)
{
	const struct thrum__aligned *in = items->in[THRUM__GOOD];

	for (uint32_t i = good[0]; i < good[1] && *looked < WRONG_MAX; i++) {
		uint32_t task = items->tasks[THRUM__GOOD][i].item;
		uint32_t before = last_before(items, good[0], good[1], task), other;
		struct thrum__difference_side here = {.task = THRUM__NONE};

		if (before == THRUM__NONE || !thrum__diff_is_caused(in->model, before, task))
			continue;
		other = only_task(items, THRUM__BAD, bad[0], bad[1], in->group[task]);
		if (other == THRUM__NONE || !is_made_alike(items, task, other))
			continue;
		note_item(items, THRUM__BAD, bad[0], bad[1],
			(uint32_t[2]){in->group[before], in->group[task]}, &here);
		if (here.count == 0)
			continue;
		(*looked)++;
		check_order(comparison, items, (uint32_t[2]){in->group[before], in->group[task]},
			bad, failed);
	}
}

/* ---- Steps that are left out ---------------------------------------------------------------- */

/* A step, and the one that ended before it in each item of GOOD. */
struct step {
	uint32_t group, before;
	uint32_t example; /* in GOOD, of an item that lacks it in BAD */
	int64_t gap;      /* the longest time from the end of that one to the step, in ns */
};

/* Notes for GOOD whether the step follows the one before it in an item. */
static void note_step(const struct items *items, uint32_t from, uint32_t to, struct step *step,
	struct thrum__difference_side *side)
{
	const struct thrum__model *model = items->in[THRUM__GOOD]->model;
	uint32_t before = only_task(items, THRUM__GOOD, from, to, step->before);
	uint32_t task = only_task(items, THRUM__GOOD, from, to, step->group);
	int64_t gap;

	if (before == THRUM__NONE)
		return;
	side->of++;
	gap = task == THRUM__NONE
		? -1
		: THRUM__TASK(model, task, start) - thrum__slow_path_end(model, before);
	side->count += gap < 0;
	step->gap = gap > step->gap ? gap : step->gap;
	if (task != step->example)
		return;
	side->task = task;
	side->first = THRUM__TASK(model, task, start);
	side->second = thrum__slow_path_end(model, task);
}

/* Notes for BAD whether the step is left out in an item, though the one before it succeeded so early that the
 * step should have come. */
static void note_left_out(const struct items *items, uint32_t from, uint32_t to,
	const struct step *step, struct thrum__difference_side *side)
{
	const struct thrum__model *model = items->in[THRUM__BAD]->model;
	uint32_t before = only_task(items, THRUM__BAD, from, to, step->before);
	int64_t end;

	if (before == THRUM__NONE ||
		THRUM__TASK(model, thrum__model_heir(model, before), state) !=
			THRUM__STATE_RESOLVED)
		return;
	end = thrum__slow_path_end(model, before);
	if (model->end - end <= 2 * step->gap)
		return;
	side->of++;
	for (uint32_t i = from; i < to; i++)
		if (is_like(items, items->in[THRUM__BAD]->group[items->tasks[THRUM__BAD][i].item],
			    step->group))
			return;
	side->count++;
	if (side->task != THRUM__NONE)
		return;
	side->task = before;
	side->first = THRUM__TASK(model, before, start);
	side->second = end;
}

static bool is_missing(const struct items *items, uint32_t group)
{
	const struct thrum__comparison *comparison = items->comparison;

	for (uint32_t i = 0; i < comparison->count; i++)
		if (comparison->differences[i].kind == THRUM__DIFFERENCE_MISSING &&
			is_like(items, comparison->differences[i].group, group))
			return true;
	return false;
}

/* Whether chance leaves a step out so often in BAD, and in GOOD never. */
static bool is_chance(const struct thrum__difference_side sides[THRUM__SIDES])
{
	double kept = 1 - (double)sides[THRUM__BAD].count / sides[THRUM__BAD].of, all = 1;

	for (uint32_t i = 0; i < sides[THRUM__GOOD].of && all >= CHANCE; i++)
		all *= kept;
	return all >= CHANCE;
}

/* Adds a difference if each item of GOOD has a step, and some in BAD have not. */
static void check_step(struct thrum__comparison *comparison, const struct items *items,
	struct step step, bool *failed)
{
	struct thrum__difference_side sides[THRUM__SIDES];
	struct thrum__difference *d;

	for (int which = 0; which < THRUM__SIDES; which++) {
		sides[which] = (struct thrum__difference_side){.task = THRUM__NONE,
			.before = THRUM__NONE,
			.by = {THRUM__NONE, THRUM__NONE}};
		for (uint32_t i = 0, end; i < items->count[which]; i = end) {
			end = end_of(items, which, i);
			if (end - i > ITEM_MAX)
				continue;
			if (which == THRUM__GOOD)
				note_step(items, i, end, &step, &sides[which]);
			else
				note_left_out(items, i, end, &step, &sides[which]);
		}
	}
	if (sides[THRUM__GOOD].of < ALIKE || sides[THRUM__GOOD].count > 0 ||
		sides[THRUM__BAD].count == 0 || is_chance(sides))
		return;
	d = thrum__diff_add(comparison, THRUM__DIFFERENCE_MISSING, step.group, failed);
	if (!d)
		return;
	d->other_group = step.before;
	memcpy(d->side, sides, sizeof sides);
	d->time = sides[THRUM__BAD].second;
}

/* Looks for steps that an item has in GOOD, and not in BAD. */
static void check_steps(struct thrum__comparison *comparison, const struct items *items,
	const uint32_t good[2], const uint32_t bad[2], uint32_t *looked, bool *failed)
{
	const struct thrum__aligned *in = items->in[THRUM__GOOD];

	for (uint32_t i = good[0]; i < good[1] && *looked < WRONG_MAX; i++) {
		uint32_t task = items->tasks[THRUM__GOOD][i].item, before;
		bool has_it = false;

		for (uint32_t k = bad[0]; k < bad[1] && !has_it; k++)
			has_it = is_like(items,
				items->in[THRUM__BAD]->group[items->tasks[THRUM__BAD][k].item],
				in->group[task]);
		before = has_it ? THRUM__NONE : last_before(items, good[0], good[1], task);
		if (before == THRUM__NONE || is_missing(items, in->group[task]))
			continue;
		(*looked)++;
		check_step(comparison, items,
			(struct step){in->group[task], in->group[before], task, 0}, failed);
	}
}

typedef void check_function(struct thrum__comparison *, const struct items *,
	const uint32_t good[2], const uint32_t bad[2], uint32_t *looked, bool *failed);

/* Compares each item that both recordings have. */
static int check_items(struct thrum__comparison *comparison, const struct items *items,
	check_function *check)
{
	uint32_t looked = 0;
	bool failed = false;

	for (uint32_t i = 0, end; i < items->count[THRUM__GOOD] && looked < WRONG_MAX; i = end) {
		uint32_t range[2];

		end = end_of(items, THRUM__GOOD, i);
		find_item(items, THRUM__BAD, (uint32_t)items->tasks[THRUM__GOOD][i].key, &range[0],
			&range[1]);
		if (end - i <= ITEM_MAX && range[1] > range[0])
			check(comparison, items, (uint32_t[2]){i, end}, range, &looked, &failed);
	}
	return failed ? -THRUM_E_MEMORY : 0;
}

/* ---- All ------------------------------------------------------------------------------------ */

static bool goes_wrong(const struct thrum__difference *d)
{
	return d->kind == THRUM__DIFFERENCE_NEVER_ENDS || d->kind == THRUM__DIFFERENCE_FAILS ||
		d->kind == THRUM__DIFFERENCE_CANCELLED;
}

int thrum__diff_items(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	struct items items = {.comparison = comparison};
	uint32_t count = comparison->count, looked = 0;
	int error = 0;

	for (int which = 0; which < THRUM__SIDES && error == 0; which++)
		error = sort_side(&items, &aligned[which], which);
	for (uint32_t i = 0; i < count && looked < WRONG_MAX && error == 0; i++) {
		uint32_t task = comparison->differences[i].side[THRUM__BAD].task, item = 0;

		if (!goes_wrong(&comparison->differences[i]))
			continue;
		looked++;
		error = item_of(&items, THRUM__BAD, task, &item);
		if (error > 0)
			error = check_item(comparison, &items, item);
	}
	if (error == 0)
		error = check_items(comparison, &items, check_causes);
	if (error == 0)
		error = check_items(comparison, &items, check_steps);
	thrum__base_keys_free(&items.keys);
	free(items.tasks[THRUM__GOOD]);
	free(items.tasks[THRUM__BAD]);
	return error;
}
