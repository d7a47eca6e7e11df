/* SPDX-License-Identifier: ISC */
/* Lays the path of a task out in levels of boxes. */
#include "analyse/story/story.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/story/parts.h"
#include "base/array.h"

#define NEAR 3 /* grains: equal boxes that are nearer than this are one */

static int doing_of(const struct thrum__paths *paths, const struct thrum__path_part *part)
{
	const struct thrum__model *model = paths->model;

	switch (part->doing) {
	case THRUM__DOING_RUNS: return THRUM__STORY_RUNS;
	case THRUM__DOING_READY:
	case THRUM__DOING_LATE:
	case THRUM__DOING_QUEUED:
		return thrum__model_has_row(&model->tasks, part->other) &&
				thrum__analyse_task_is_lane(model, part->other)
			? THRUM__STORY_WAITS
			: THRUM__STORY_BUSY;
	default: return THRUM__STORY_WAITS;
	}
}

uint32_t thrum__story_stack(const struct thrum__paths *paths, const struct thrum__path_part *part,
	uint32_t stack[THRUM__STACK_DEPTH + 1], int *doing)
{
	uint32_t frame = part->frame, count;

	*doing = doing_of(paths, part);
	if (*doing == THRUM__STORY_WAITS && paths->frames[frame].doing >= THRUM__DOING_READY &&
		paths->frames[frame].parent != THRUM__NONE)
		frame = paths->frames[frame].parent;
	count = paths->frames[frame].depth + 1;
	if (count > THRUM__STACK_DEPTH + 1)
		count = THRUM__STACK_DEPTH + 1;
	for (uint32_t i = count; i-- > 0 && frame != THRUM__NONE;
		frame = paths->frames[frame].parent)
		stack[i] = frame;
	return count;
}

bool thrum__story_is_named(const struct thrum__paths *paths, uint32_t frame, uint32_t task)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];
	size_t size, length;
	const char *label, *name = thrum__slow_frame_name(paths, frame, &length);

	if (!thrum__model_has_row(&paths->model->tasks, task))
		return false;
	label = thrum__model_task_name(paths->model, task, &size);
	size = size ? thrum__analyse_label_pattern(label, size, pattern) : 0;
	return size > 0 && size == length && memcmp(pattern, name, size) == 0;
}

/* ---- Boxes ---------------------------------------------------------------------------------- */

static bool is_same(const struct thrum__paths *paths, const struct thrum__story_box *a,
	const struct thrum__story_box *b)
{
	return a->doing == b->doing && a->task == b->task &&
		paths->frames[a->frame].name == paths->frames[b->frame].name;
}

/* Adds a box to a level. Boxes that are too small to see are left out. */
static int add_box(const struct thrum__paths *paths, struct thrum__story_level *level,
	struct thrum__story_box box, int64_t grain)
{
	struct thrum__story_box *last = level->count ? &level->boxes[level->count - 1] : NULL;
	struct thrum__story_box *grown;

	level->time += box.to - box.from;
	if (last && is_same(paths, last, &box) && box.from - last->to < NEAR * grain) {
		last->to = box.to;
		return 0;
	}
	/* A box that was begun before may still be too small: then this one takes its place. */
	if (last && last->to - last->from < grain)
		level->count--;
	grown = thrum__base_grow(level->boxes, &level->room, level->count + UINT64_C(1),
		sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	level->boxes = grown;
	grown[level->count++] = box;
	/* Equal boxes on both sides of the one that was too small are one. */
	if (level->count > 1 && is_same(paths, &grown[level->count - 2], &box) &&
		box.from - grown[level->count - 2].to < NEAR * grain) {
		level->count--;
		grown[level->count - 1].to = box.to;
	}
	return 0;
}

/* Adds the boxes of a part of the path: one on each level down to the part's own. */
static int add_part(const struct thrum__paths *paths, struct thrum__story *story,
	const struct thrum__path_part *part, int64_t grain)
{
	uint32_t stack[THRUM__STACK_DEPTH + 1];
	int doing, error = 0;
	uint32_t count = thrum__story_stack(paths, part, stack, &doing), lowest = count - 1;
	bool is_below_lock = false;

	if (count > THRUM__STORY_LEVELS) {
		count = THRUM__STORY_LEVELS;
		story->is_deeper = true;
	}
	if (count > story->level_count)
		story->level_count = count;
	for (uint32_t i = 1; error == 0 && i < count; i++) {
		struct thrum__story_box box = {part->from, part->to, THRUM__NONE, stack[i],
			(uint8_t)(i == lowest ? doing : THRUM__STORY_WAITS)};
		/* The frame of the part's own task: above that of the one that has the lane. */
		bool is_own = doing == THRUM__STORY_BUSY ? i + 1 == lowest : i == lowest;

		if (i == lowest && doing == THRUM__STORY_BUSY)
			box.task = part->other;
		else if (thrum__slow_frame_is_lock(paths, stack[i]))
			box.task = paths->frames[stack[i]].task;
		else if (is_own && thrum__story_is_named(paths, stack[i], part->task))
			box.task = part->task;
		else if (i == 1 && thrum__story_is_named(paths, stack[i], part->top))
			box.task = part->top;
		/* The highest lock tells who had it. */
		if (!is_below_lock && part->holder != THRUM__NONE &&
			thrum__slow_frame_is_lock(paths, stack[i - 1])) {
			is_below_lock = true;
			if (i < lowest || doing != THRUM__STORY_BUSY)
				box.task = part->holder;
		}
		error = add_box(paths, &story->levels[i], box, grain);
	}
	return error;
}

/* ---- Levels --------------------------------------------------------------------------------- */

/* Tells what a level mostly shows: the kind of box with the most time. */
static void name_level(const struct thrum__paths *paths, struct thrum__story *story,
	uint32_t number)
{
	struct thrum__story_level *level = &story->levels[number];
	int64_t best = -1;
	const struct thrum__story_box *most = NULL;
	bool is_one = true;

	for (uint32_t i = 0; i < level->count; i++) {
		const struct thrum__story_box *box = &level->boxes[i];
		int64_t time = 0;

		if (i > 0 && is_same(paths, box, &level->boxes[i - 1]))
			continue;
		for (uint32_t j = 0; j < level->count && j < 1000; j++)
			if (level->boxes[j].doing == box->doing &&
				paths->frames[level->boxes[j].frame].name ==
					paths->frames[box->frame].name)
				time += level->boxes[j].to - level->boxes[j].from;
		if (time > best) {
			best = time;
			most = box;
		}
		if (i > 1000)
			break;
	}
	if (!most)
		return;
	level->frame = most->frame;
	level->task = most->task;
	for (uint32_t i = 0; i < level->count; i++)
		is_one = is_one &&
			(level->boxes[i].task == most->task ||
				paths->frames[level->boxes[i].frame].name !=
					paths->frames[most->frame].name);
	if (!is_one)
		level->task = THRUM__NONE;
	if (most->doing == THRUM__STORY_BUSY)
		level->kind = THRUM__STORY_THREAD;
	else if (paths->frames[most->frame].parent != THRUM__NONE &&
		thrum__slow_frame_is_lock(paths, paths->frames[most->frame].parent))
		level->kind = THRUM__STORY_HOLDERS;
	else
		level->kind = THRUM__STORY_NAMED;
	level->is_lock = thrum__slow_frame_is_lock(paths, most->frame);
}

/* Drops the last box of each level if it is too small to see. */
static void drop_small(struct thrum__story *story, int64_t grain)
{
	for (uint32_t i = 1; i < story->level_count; i++) {
		struct thrum__story_level *level = &story->levels[i];

		if (level->count > 0 &&
			level->boxes[level->count - 1].to - level->boxes[level->count - 1].from <
				grain)
			level->count--;
	}
	while (story->level_count > 1 && story->levels[story->level_count - 1].count == 0)
		story->level_count--;
}

int thrum__story_remake(struct thrum__paths *paths, int64_t grain, struct thrum__story *story)
{
	struct thrum__story_box whole = {story->from, story->to, story->task,
		story->path.count ? story->path.parts[0].frame : 0, THRUM__STORY_WAITS};
	int error = 0;

	for (uint32_t i = 0; i < THRUM__STORY_LEVELS; i++) {
		story->levels[i].count = 0;
		story->levels[i].time = 0;
		story->levels[i].kind = THRUM__STORY_NAMED;
		story->levels[i].is_lock = false;
		story->levels[i].task = story->levels[i].frame = THRUM__NONE;
	}
	story->level_count = 1;
	story->is_deeper = false;
	for (uint32_t i = 0; error == 0 && i < story->path.count; i++)
		error = add_part(paths, story, &story->path.parts[i], grain);
	if (error < 0)
		return error;
	drop_small(story, grain);
	if (story->path.count > 0) {
		while (paths->frames[whole.frame].parent != THRUM__NONE)
			whole.frame = paths->frames[whole.frame].parent;
		error = add_box(paths, &story->levels[0], whole, 0);
		story->levels[0].task = story->task;
		story->levels[0].frame = whole.frame;
	}
	for (uint32_t i = 1; i < story->level_count; i++)
		name_level(paths, story, i);
	return error;
}

int thrum__story_make(struct thrum__paths *paths, uint32_t task, int64_t grain,
	struct thrum__story *story)
{
	const struct thrum__model *model = paths->model;
	uint32_t heir = thrum__model_heir(model, task);
	struct thrum__story made = {.task = task};

	if (thrum__slow_path_make(paths, task, &made.path) < 0)
		return -THRUM_E_MEMORY;
	made.from = made.path.from;
	made.to = made.path.to;
	made.is_failed = THRUM__TASK(model, heir, state) == THRUM__STATE_FAILED;
	made.is_pending = THRUM__TASK(model, heir, state) == THRUM__STATE_PENDING;
	if (thrum__story_remake(paths, grain, &made) < 0) {
		thrum__story_free(&made);
		return -THRUM_E_MEMORY;
	}
	*story = made;
	return 0;
}

void thrum__story_free(struct thrum__story *story)
{
	for (uint32_t i = 0; i < THRUM__STORY_LEVELS; i++)
		free(story->levels[i].boxes);
	thrum__slow_path_free(&story->path);
	*story = (struct thrum__story){0};
}

/* ---- The outside ---------------------------------------------------------------------------- */

static bool is_timer(const struct thrum__paths *paths, uint32_t frame)
{
	uint32_t task = paths->frames[frame].task;

	return thrum__model_has_row(&paths->model->tasks, task) &&
		THRUM__TASK(paths->model, task, kind) == THRUM_KIND_TIMER;
}

uint32_t thrum__story_outside(const struct thrum__paths *paths, const struct thrum__story *story,
	int64_t least, struct thrum__story_outside *outside, uint32_t most)
{
	struct thrum__story_outside now = {0};
	uint32_t count = 0, frame = THRUM__NONE;

	for (uint32_t i = 0; i <= story->path.count; i++) {
		uint32_t stack[THRUM__STACK_DEPTH + 1], depth = 0;
		const struct thrum__path_part *part = &story->path.parts[i];
		int doing = THRUM__STORY_RUNS;

		if (i < story->path.count)
			depth = thrum__story_stack(paths, part, stack, &doing) - 1;
		if (doing == THRUM__STORY_WAITS && stack[depth] == frame && part->from == now.to) {
			now.to = part->to;
			continue;
		}
		if (frame != THRUM__NONE && now.to - now.from >= least && count < most)
			outside[count++] = now;
		frame = doing == THRUM__STORY_WAITS ? stack[depth] : THRUM__NONE;
		if (frame != THRUM__NONE)
			now = (struct thrum__story_outside){part->from, part->to, depth,
				thrum__slow_frame_is_lock(paths, frame), is_timer(paths, frame)};
	}
	return count;
}
