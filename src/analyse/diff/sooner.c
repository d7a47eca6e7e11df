/* SPDX-License-Identifier: ISC */
/*
 * Finds what came too soon: a step that in GOOD ended only after a task, so that it couldn't matter to it. In
 * BAD it ended before that task failed, or before a task began for it that GOOD lacks.
 */
#include <stdlib.h>

#include "analyse/diff/parts.h"
#include "analyse/stats/parts.h"

#define WRONG_MAX 16 /* differences that are looked at */
#define SOONER 3     /* the part by which it is sooner: less is noise between two recordings */

/* The only task of a group in each recording. */
struct pair {
	uint32_t task[THRUM__SIDES]; /* NONE: there is none, or there are several */
	bool is_found[THRUM__SIDES];
};

static void find_pairs(const struct thrum__aligned *aligned, struct pair *pairs)
{
	for (int which = 0; which < THRUM__SIDES; which++)
		for (uint32_t i = 0; i < aligned[which].labelled; i++) {
			struct pair *pair = &pairs[aligned[which].items[i].key];

			pair->task[which] = pair->is_found[which] ? THRUM__NONE
								  : aligned[which].items[i].item;
			pair->is_found[which] = true;
		}
}

static bool is_whole(const struct pair *pair)
{
	return pair->task[THRUM__GOOD] != THRUM__NONE && pair->task[THRUM__BAD] != THRUM__NONE;
}

static int64_t end_of(const struct thrum__aligned *aligned, const struct pair *pair, int which)
{
	return thrum__slow_path_end(aligned[which].model, pair->task[which]);
}

/* The group of the task that went wrong, or of the nearest one that both recordings have once and for which
 * the new task works. NONE if there is none. */
static uint32_t victim_of(const struct thrum__difference *d, const struct thrum__aligned *bad,
	const struct pair *pairs)
{
	uint32_t task = d->side[THRUM__BAD].task;

	if (d->kind == THRUM__DIFFERENCE_FAILS)
		return is_whole(&pairs[d->group]) ? d->group : THRUM__NONE;
	while (d->kind == THRUM__DIFFERENCE_ADDED && task != THRUM__NONE) {
		if (is_whole(&pairs[bad->group[task]]))
			return bad->group[task];
		task = bad->above[task];
	}
	return THRUM__NONE;
}

/* Whether a task is that of a group, or was created for it. */
static bool is_below(const struct thrum__aligned *aligned, uint32_t task, uint32_t group)
{
	while (task != THRUM__NONE && aligned->group[task] != group)
		task = aligned->above[task];
	return task != THRUM__NONE;
}

/* Whether a step came sooner in BAD, as seen from the beginning of the victim: it ended before the moment at
 * which that went wrong. In GOOD it ended after the victim. A timer is a time, no step. */
static bool is_sooner(const struct thrum__aligned *aligned, const struct pair *step,
	const struct pair *victim, uint32_t group, int64_t moment)
{
	const struct thrum__model *good = aligned[THRUM__GOOD].model;
	int64_t after[THRUM__SIDES];

	if (!is_whole(step) || !thrum__diff_is_step(good, step->task[THRUM__GOOD]) ||
		THRUM__TASK(good, step->task[THRUM__GOOD], kind) == THRUM_KIND_TIMER)
		return false;
	for (int which = 0; which < THRUM__SIDES; which++) {
		int64_t end = end_of(aligned, step, which);

		if (end == THRUM__OPEN || is_below(&aligned[which], step->task[which], group))
			return false;
		after[which] = thrum__stats_time_between(THRUM__TASK(aligned[which].model,
								 victim->task[which], start),
			end);
	}
	return end_of(aligned, step, THRUM__GOOD) > end_of(aligned, victim, THRUM__GOOD) &&
		end_of(aligned, step, THRUM__BAD) < moment &&
		after[THRUM__BAD] < after[THRUM__GOOD] - after[THRUM__GOOD] / SOONER;
}

/* The only group that came sooner, but for what was created for it; NONE if there are several. */
static uint32_t find_sooner(const struct thrum__aligned *aligned, const struct pair *pairs,
	uint32_t count, uint32_t victim, int64_t moment)
{
	uint32_t found = THRUM__NONE;

	for (uint32_t group = 0; group < count; group++) {
		if (!is_sooner(aligned, &pairs[group], &pairs[victim], victim, moment))
			continue;
		if (found == THRUM__NONE ||
			is_below(&aligned[THRUM__GOOD], pairs[found].task[THRUM__GOOD], group))
			found = group;
		else if (!is_below(&aligned[THRUM__GOOD], pairs[group].task[THRUM__GOOD], found))
			return THRUM__NONE;
	}
	return found;
}

static int add(struct thrum__comparison *comparison, const struct thrum__aligned *aligned,
	const struct pair *pairs, uint32_t group, uint32_t victim)
{
	bool failed = false;
	struct thrum__difference *d;

	d = thrum__diff_add(comparison, THRUM__DIFFERENCE_ENDS_SOONER, group, &failed);
	if (!d)
		return failed ? -THRUM_E_MEMORY : 0;
	d->other_group = victim;
	for (int which = 0; which < THRUM__SIDES; which++)
		d->side[which] = (struct thrum__difference_side){
			.task = pairs[group].task[which],
			.before = pairs[victim].task[which],
			.by = {THRUM__NONE, THRUM__NONE},
			.first = end_of(aligned, &pairs[victim], which),
			.second = end_of(aligned, &pairs[group], which),
			.count = which == THRUM__BAD,
			.of = 1,
		};
	d->time = d->side[THRUM__BAD].second;
	return 0;
}

int thrum__diff_sooner(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	uint32_t groups = comparison->groups.count, count = comparison->count, looked = 0, other;
	struct pair *pairs = calloc((size_t)groups + 1, sizeof(*pairs));
	int error = 0;

	if (!pairs)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < groups; i++)
		pairs[i].task[THRUM__GOOD] = pairs[i].task[THRUM__BAD] = THRUM__NONE;
	find_pairs(aligned, pairs);
	for (uint32_t i = 0; i < count && looked < WRONG_MAX && error == 0; i++) {
		const struct thrum__difference *d = &comparison->differences[i];
		uint32_t victim = victim_of(d, &aligned[THRUM__BAD], pairs), group;

		if (victim == THRUM__NONE)
			continue;
		looked++;
		group = find_sooner(aligned, pairs, groups, victim,
			d->kind == THRUM__DIFFERENCE_FAILS ? d->side[THRUM__BAD].second
							   : d->side[THRUM__BAD].first);
		if (group != THRUM__NONE &&
			!thrum__diff_has(comparison, THRUM__DIFFERENCE_ENDS_SOONER, group, &other))
			error = add(comparison, aligned, pairs, group, victim);
	}
	free(pairs);
	return error;
}
