/* SPDX-License-Identifier: ISC */
/*
 * Finds the one of several alike that BAD lacks, where something never ends: GOOD has it, and of all the
 * others each has its name in both recordings, whoever created it. All of BAD's have ended long ago, so it
 * is not that the lacking one is to come.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/diff/parts.h"

#define ALIKE 4 /* so many in GOOD */

/* The tasks of one kind and pattern. */
struct sort {
	uint32_t count[THRUM__SIDES];
	bool is_other; /* two have one name, BAD has one that GOOD lacks, or one is pending there */
	int64_t first, last; /* in GOOD: the first start and the last end */
	int64_t over;        /* in BAD: the last end */
};

struct missing {
	struct thrum__comparison *comparison;
	const struct thrum__aligned *aligned;
	struct thrum__base_keys sorts;               /* by kind and pattern */
	struct thrum__base_keys names[THRUM__SIDES]; /* whole labels, by sort */
	struct sort *all;                            /* by sort */
};

static const char *label_of(const struct missing *m, int which, uint32_t task, size_t *size)
{
	return thrum__model_string(m->aligned[which].model, m->aligned[which].label[task], size);
}

/* Sets *sort to the number of a task's sort. Returns 0 or -THRUM_E_MEMORY. */
static int sort_of(struct missing *m, int which, uint32_t task, uint32_t *sort)
{
	const struct thrum__base_keys *groups = &m->comparison->groups;
	uint32_t group = m->aligned[which].group[task];
	size_t size;
	const char *name = thrum__base_keys_text(groups, group, &size);

	return thrum__base_keys_add(&m->sorts, groups->keys[group].number & 0xff, name, size, sort);
}

static void note_times(struct sort *sort, const struct thrum__model *model, int which,
	uint32_t task)
{
	int64_t start = THRUM__TASK(model, task, start), end = thrum__slow_path_end(model, task);

	if (which == THRUM__BAD) {
		sort->over = end > sort->over ? end : sort->over;
		sort->is_other |= THRUM__TASK(model, thrum__model_heir(model, task), state) ==
			THRUM__STATE_PENDING;
		return;
	}
	sort->first = sort->count[which] == 1 || start < sort->first ? start : sort->first;
	sort->last = end > sort->last ? end : sort->last;
}

/* Counts a task of a recording: GOOD's come first. */
static int count_task(struct missing *m, int which, uint32_t task)
{
	uint32_t known = m->names[which].count, at, name;
	size_t size;
	const char *label = label_of(m, which, task, &size);
	struct sort *sort;

	if (sort_of(m, which, task, &at) ||
		thrum__base_keys_add(&m->names[which], at, label, size, &name))
		return -THRUM_E_MEMORY;
	sort = &m->all[at];
	sort->count[which]++;
	sort->is_other |= name < known ||
		(which == THRUM__BAD &&
			thrum__base_keys_find(&m->names[THRUM__GOOD], at, label, size) ==
				UINT32_MAX);
	note_times(sort, m->aligned[which].model, which, task);
	return 0;
}

static bool lacks_one(const struct missing *m, const struct sort *sort)
{
	const struct thrum__model *bad = m->aligned[THRUM__BAD].model;

	return !sort->is_other && sort->count[THRUM__GOOD] >= ALIKE &&
		sort->count[THRUM__BAD] + 1 == sort->count[THRUM__GOOD] &&
		bad->end - sort->over > 2 * (sort->last - sort->first);
}

/* Adds a difference for a task of GOOD if it is the one that BAD lacks. */
static int check_task(struct missing *m, uint32_t task)
{
	const struct thrum__aligned *good = &m->aligned[THRUM__GOOD];
	struct thrum__difference *d;
	uint32_t at;
	size_t size;
	const char *label = label_of(m, THRUM__GOOD, task, &size);
	bool failed = false;

	if (sort_of(m, THRUM__GOOD, task, &at))
		return -THRUM_E_MEMORY;
	if (!lacks_one(m, &m->all[at]) ||
		thrum__base_keys_find(&m->names[THRUM__BAD], at, label, size) != UINT32_MAX)
		return 0;
	d = thrum__diff_add(m->comparison, THRUM__DIFFERENCE_MISSING, good->group[task], &failed);
	if (!d)
		return failed ? -THRUM_E_MEMORY : 0;
	d->side[THRUM__GOOD].task = task;
	d->side[THRUM__GOOD].first = THRUM__TASK(good->model, task, start);
	d->side[THRUM__GOOD].second = thrum__slow_path_end(good->model, task);
	d->side[THRUM__GOOD].count = 1;
	d->side[THRUM__GOOD].of = m->all[at].count[THRUM__GOOD];
	d->time = THRUM__TASK(good->model, task, start);
	return 0;
}

static bool hangs(const struct thrum__comparison *comparison)
{
	for (uint32_t i = 0; i < comparison->count; i++)
		if (comparison->differences[i].kind == THRUM__DIFFERENCE_NEVER_ENDS)
			return true;
	return false;
}

int thrum__diff_missing(struct thrum__comparison *comparison,
	const struct thrum__aligned aligned[THRUM__SIDES])
{
	struct missing m = {.comparison = comparison, .aligned = aligned};
	int error = 0;

	if (comparison->is_kin || !hangs(comparison))
		return 0;
	m.all = calloc((size_t)comparison->groups.count + 1, sizeof *m.all);
	if (!m.all)
		return -THRUM_E_MEMORY;
	for (int which = 0; which < THRUM__SIDES; which++)
		for (uint32_t i = 0; i < aligned[which].labelled && !error; i++)
			error = count_task(&m, which, aligned[which].items[i].item);
	for (uint32_t i = 0; i < aligned[THRUM__GOOD].labelled && !error; i++)
		error = check_task(&m, aligned[THRUM__GOOD].items[i].item);
	thrum__base_keys_free(&m.sorts);
	thrum__base_keys_free(&m.names[THRUM__GOOD]);
	thrum__base_keys_free(&m.names[THRUM__BAD]);
	free(m.all);
	return error;
}
