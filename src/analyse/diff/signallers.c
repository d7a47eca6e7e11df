/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that were cancelled and should have signalled a condition: in GOOD one of their group did, and
 * in BAD nobody does. Then a single one is no chance.
 */
#include "analyse/diff/parts.h"

uint32_t thrum__diff_signallers(const struct thrum__difference *d,
	const struct thrum__aligned aligned[THRUM__SIDES])
{
	const struct thrum__aligned *good = &aligned[THRUM__GOOD];
	uint32_t by = d->side[THRUM__GOOD].by[0];

	if (d->kind != THRUM__DIFFERENCE_NO_SIGNAL || by >= good->count)
		return THRUM__NONE;
	if (good->group[by] == THRUM__NONE)
		by = good->above[by];
	return by < good->count ? good->group[by] : THRUM__NONE;
}

/* Counts a group's cancelled tasks. The example is in BAD the first of them, in GOOD the first other one. */
static struct thrum__difference_side count_cancelled(const struct thrum__aligned *in, int which,
	uint32_t group)
{
	const struct thrum__model *model = in->model;
	struct thrum__difference_side side = {.task = THRUM__NONE,
		.before = THRUM__NONE,
		.first = -1,
		.second = -1,
		.by = {THRUM__NONE, THRUM__NONE}};

	for (uint32_t i = 0; i < in->labelled; i++) {
		uint32_t task = in->items[i].item, heir = thrum__model_heir(model, task);
		bool is_cancelled = THRUM__TASK(model, heir, state) == THRUM__STATE_CANCELLED;

		if (in->items[i].key != group)
			continue;
		side.of++;
		side.count += is_cancelled;
		if (side.task != THRUM__NONE || is_cancelled != (which == THRUM__BAD))
			continue;
		side.task = task;
		side.first = THRUM__TASK(model, task, start);
		side.second = THRUM__TASK(model, heir, end) == THRUM__OPEN
			? -1
			: THRUM__TASK(model, heir, end);
	}
	return side;
}

bool thrum__diff_has(const struct thrum__comparison *comparison, int kind, uint32_t group,
	uint32_t *index)
{
	for (*index = 0; *index < comparison->count; ++*index)
		if (comparison->differences[*index].kind == kind &&
			comparison->differences[*index].group == group)
			return true;
	return false;
}

int thrum__diff_unsignalled(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	uint32_t count = comparison->count, index;
	bool failed = false;

	for (uint32_t i = 0; i < count && !failed; i++) {
		uint32_t group = thrum__diff_signallers(&comparison->differences[i], aligned);
		struct thrum__difference_side side[THRUM__SIDES];
		struct thrum__difference *d;

		if (group == THRUM__NONE ||
			thrum__diff_has(comparison, THRUM__DIFFERENCE_CANCELLED, group, &index))
			continue;
		for (int which = 0; which < THRUM__SIDES; which++)
			side[which] = count_cancelled(&aligned[which], which, group);
		if (side[THRUM__GOOD].count > 0 || side[THRUM__BAD].count == 0)
			continue;
		d = thrum__diff_add(comparison, THRUM__DIFFERENCE_CANCELLED, group, &failed);
		if (!d)
			break;
		for (int which = 0; which < THRUM__SIDES; which++)
			d->side[which] = side[which];
		d->time = side[THRUM__BAD].first;
	}
	return failed ? -THRUM_E_MEMORY : 0;
}
