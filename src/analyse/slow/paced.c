/* SPDX-License-Identifier: ISC */
/*
 * Work that comes at a pace. A task makes many others at once, each of which first waits for a timer of its
 * own, and each for a longer one than the one before: so they begin one after the other. That wait isn't
 * slowness, and their lives begin behind it.
 */
#include <stdlib.h>

#include "analyse/slow/parts.h"
#include "analyse/slow/slow.h"

#define PACED_MIN 8  /* so many tasks show the pace */
#define LOOK_BACK 64 /* edges of a task, back to its first one */

/* When a task is due; OPEN if that isn't known. */
static int64_t due_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	for (; thrum__model_has_row(&model->notes, note); note = THRUM__NOTE(model, note, prev))
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return THRUM__NOTE(model, note, value);
	return THRUM__OPEN;
}

/* When the timer is due for which a nameless task waits before all else, if it becomes another one after
 * that; else OPEN. */
static int64_t begins_at(const struct thrum__model *model, uint32_t head)
{
	uint32_t edge = THRUM__TASK(model, head, edge_out), first = THRUM__NONE;
	uint32_t timer, next = THRUM__TASK(model, head, became);

	for (int i = 0; thrum__model_has_row(&model->edges, edge); i++) {
		if (i == LOOK_BACK)
			return THRUM__OPEN;
		first = edge;
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	if (edge != THRUM__NONE || first == THRUM__NONE ||
		THRUM__EDGE(model, first, kind) != THRUM__EDGE_WAIT)
		return THRUM__OPEN;
	timer = THRUM__EDGE(model, first, to);
	if (!thrum__model_has_row(&model->tasks, timer) ||
		THRUM__TASK(model, timer, kind) != THRUM_KIND_TIMER ||
		THRUM__TASK(model, timer, creator) != THRUM__TASK(model, head, creator))
		return THRUM__OPEN;
	/* A loop's clock stands still meanwhile, so its timers may come early. */
	return thrum__model_has_row(&model->tasks, next) &&
			THRUM__TASK(model, next, start) >= thrum__slow_path_end(model, timer)
		? due_of(model, timer)
		: THRUM__OPEN;
}

/* Lists when the lives begin, by the tasks at their heads. Returns false if one doesn't wait so. */
static bool list_times(const struct thrum__model *model, const uint32_t *heads,
	const struct thrum__lives *lives, struct thrum__base_sort_item *times)
{
	for (uint32_t i = 0; i < lives->count; i++) {
		uint32_t task = lives->items[i].item, head = heads[task];

		if (head == task || begins_at(model, head) == THRUM__OPEN)
			return false;
		times[i] = (struct thrum__base_sort_item){head, i};
	}
	return true;
}

/* Whether one task made all, sorted by their heads, before half of them began; and each begins later than the
 * one before. */
static bool are_paced(const struct thrum__model *model, const struct thrum__base_sort_item *times,
	uint32_t count)
{
	uint32_t first = (uint32_t)times[0].key, last = (uint32_t)times[count - 1].key;

	for (uint32_t i = 1; i < count; i++) {
		uint32_t head = (uint32_t)times[i].key;

		if (THRUM__TASK(model, head, creator) != THRUM__TASK(model, first, creator) ||
			begins_at(model, head) <= begins_at(model, (uint32_t)times[i - 1].key))
			return false;
	}
	return THRUM__TASK(model, last, created) < begins_at(model, (uint32_t)times[count / 2].key);
}

/* Lets each life begin with the task that the one which waited became. */
static void leave_waits(const struct thrum__model *model, uint32_t *heads,
	struct thrum__lives *lives)
{
	for (uint32_t i = 0; i < lives->count; i++) {
		struct thrum__base_sort_item *life = &lives->items[i];
		uint32_t head = heads[life->item], next = THRUM__TASK(model, head, became);

		life->key -= THRUM__TASK(model, next, start) - THRUM__TASK(model, head, start);
		heads[life->item] = next;
	}
}

int thrum__slow_lives_pace(const struct thrum__model *model, uint32_t *heads,
	struct thrum__lives *lives)
{
	uint32_t count = lives->count;
	struct thrum__base_sort_item *times;

	if (count < PACED_MIN)
		return 0;
	times = calloc(2 * (size_t)count, sizeof *times);
	if (!times)
		return -THRUM_E_MEMORY;
	if (list_times(model, heads, lives, times)) {
		thrum__base_sort(times, times + count, count, NULL, NULL);
		if (are_paced(model, times, count)) {
			leave_waits(model, heads, lives);
			thrum__base_sort(lives->items, times, count, NULL, NULL);
		}
	}
	free(times);
	return 0;
}
