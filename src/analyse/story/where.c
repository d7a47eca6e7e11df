/* SPDX-License-Identifier: ISC */
/* The stretches of one task's life, and where the time of a group's tasks goes. */
#include <stdlib.h>
#include <string.h>

#include "analyse/story/parts.h"
#include "base/array.h"

/* The highest frame of a lock in a stack, or NONE. */
static uint32_t lock_in(const struct thrum__paths *paths, const uint32_t *stack, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (thrum__slow_frame_is_lock(paths, stack[i]))
			return stack[i];
	return THRUM__NONE;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* A part of a path as a stretch: a lock counts for all that its holders do. */
static struct thrum__story_stretch stretch_of(const struct thrum__paths *paths,
	const struct thrum__path_part *part)
{
	struct thrum__story_stretch stretch = {part->from, part->to, 0, THRUM__NONE};
	uint32_t stack[THRUM__STACK_DEPTH + 1];
	int doing;
	uint32_t count = thrum__story_stack(paths, part, stack, &doing);
	uint32_t lock = lock_in(paths, stack, count);

	stretch.doing = (uint8_t)doing;

	if (stretch.doing == THRUM__STORY_BUSY) {
		stretch.task = part->other;
	} else if (lock != THRUM__NONE) {
		stretch.doing = THRUM__STORY_WAITS;
		stretch.task = paths->frames[lock].task;
	} else if (stretch.doing == THRUM__STORY_WAITS && count > 1) {
		for (uint32_t i = count - 1; i > 0 && stretch.task == THRUM__NONE; i--)
			if (thrum__story_is_named(paths, stack[i], part->task))
				stretch.task = part->task;
			else if (thrum__story_is_named(paths, stack[i],
					 paths->frames[stack[i]].task))
				stretch.task = paths->frames[stack[i]].task;
	}
	return stretch;
}

static int add_stretch(struct thrum__story_row *row, struct thrum__story_stretch stretch,
	int64_t grain)
{
	struct thrum__story_stretch *last = row->count ? &row->stretches[row->count - 1] : NULL;
	struct thrum__story_stretch *grown;

	if (last &&
		((last->doing == stretch.doing && last->task == stretch.task) ||
			stretch.to - stretch.from < grain)) {
		last->to = stretch.to;
		return 0;
	}
	grown = thrum__base_grow(row->stretches, &row->room, row->count + UINT64_C(1),
		sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	row->stretches = grown;
	grown[row->count++] = stretch;
	return 0;
}

int thrum__story_row_make(struct thrum__paths *paths, uint32_t task, int64_t grain,
	struct thrum__story_row *row)
{
	struct thrum__story_row made = {0};
	struct thrum__path path;
	int error = thrum__slow_path_make(paths, task, &path);

	if (error < 0)
		return error;
	for (uint32_t i = 0; error == 0 && i < path.count; i++)
		error = add_stretch(&made, stretch_of(paths, &path.parts[i]), grain);
	thrum__slow_path_free(&path);
	if (error < 0)
		free(made.stretches);
	else
		*row = made;
	return error;
}

void thrum__story_row_free(struct thrum__story_row *row)
{
	free(row->stretches);
	*row = (struct thrum__story_row){0};
}

/* ---- Where time goes ------------------------------------------------------------------------ */

/* Whether a group is another's ancestor, or the same. */
static bool is_above(const struct thrum__family *family, uint32_t above, uint32_t group)
{
	for (; group != THRUM__NONE; group = family->groups[group].parent)
		if (group == above)
			return true;
	return false;
}

/* Tells for what a part of a path waits: the lock, or the lowest group that is not above its own. */
static struct thrum__story_part part_of(const struct thrum__paths *paths,
	const struct thrum__family *family, uint32_t own, const struct thrum__path_part *part)
{
	struct thrum__story_part made = {THRUM__WHERE_OUTSIDE, THRUM__NONE, 0};
	uint32_t stack[THRUM__STACK_DEPTH + 1];
	int doing;
	uint32_t count = thrum__story_stack(paths, part, stack, &doing);
	uint32_t lock = lock_in(paths, stack, count);

	if (doing == THRUM__STORY_BUSY) {
		made.kind = THRUM__WHERE_BUSY;
		return made;
	}
	if (lock != THRUM__NONE)
		made.group = thrum__family_group(family, paths->frames[lock].task);
	else if (doing == THRUM__STORY_RUNS)
		made.kind = THRUM__WHERE_RUNS;
	for (uint32_t i = count; lock == THRUM__NONE && doing == THRUM__STORY_WAITS && i-- > 1;) {
		uint32_t task = paths->frames[stack[i]].task;
		uint32_t group = thrum__family_group(family, task);

		if (group == THRUM__NONE || !thrum__story_is_named(paths, stack[i], task) ||
			is_above(family, group, own))
			continue;
		made.group = group;
		break;
	}
	if (made.group != THRUM__NONE)
		made.kind = THRUM__WHERE_WAITS;
	return made;
}

/* All parts that were met so far. */
struct sums {
	struct thrum__story_part *parts;
	uint32_t count, room;
	double total;
};

static int add_time(struct sums *sums, struct thrum__story_part part, double time)
{
	struct thrum__story_part *grown;
	uint32_t i = 0;

	sums->total += time;
	while (i < sums->count &&
		(sums->parts[i].kind != part.kind || sums->parts[i].group != part.group))
		i++;
	if (i == sums->count) {
		grown = thrum__base_grow(sums->parts, &sums->room, sums->count + UINT64_C(1),
			sizeof *grown);
		if (!grown)
			return -THRUM_E_MEMORY;
		sums->parts = grown;
		grown[sums->count++] = part;
	}
	sums->parts[i].share += time;
	return 0;
}

static int by_share(const void *a, const void *b)
{
	double x = ((const struct thrum__story_part *)a)->share;
	double y = ((const struct thrum__story_part *)b)->share;

	return x < y ? 1 : x > y ? -1 : 0;
}

int thrum__story_where_make(struct thrum__paths *paths, const struct thrum__family *family,
	const uint32_t *tasks, uint32_t count, struct thrum__story_where *where)
{
	struct sums sums = {0};
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < count; i++) {
		uint32_t group = thrum__family_group(family, tasks[i]);
		struct thrum__path path;

		error = thrum__slow_path_make(paths, tasks[i], &path);
		if (error < 0)
			break;
		for (uint32_t j = 0; error == 0 && j < path.count; j++)
			error = add_time(&sums, part_of(paths, family, group, &path.parts[j]),
				(double)(path.parts[j].to - path.parts[j].from));
		thrum__slow_path_free(&path);
	}
	if (error == 0) {
		*where = (struct thrum__story_where){.tasks = count};
		if (sums.count > 0)
			qsort(sums.parts, sums.count, sizeof *sums.parts, by_share);
		where->count = sums.count < THRUM__WHERE_PARTS ? sums.count : THRUM__WHERE_PARTS;
		for (uint32_t i = 0; i < where->count; i++) {
			where->parts[i] = sums.parts[i];
			where->parts[i].share /= sums.total > 0 ? sums.total : 1;
		}
	}
	free(sums.parts);
	return error;
}
