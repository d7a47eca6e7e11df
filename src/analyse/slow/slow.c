/* SPDX-License-Identifier: ISC */
/* Sorts tasks by how long they took, and compares the paths of a slow and a usual one. */
#include "analyse/slow/slow.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/stats/parts.h"
#include "base/array.h"

#define TASKS_AT_ONCE (UINT32_C(1) << 18) /* in a step */

/* ---- Lives --------------------------------------------------------------------------------- */

/* Whether a task is no lane's own, and its beginning is known. */
static bool has_life(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) &&
		!(THRUM__TASK(model, task, flags) & (THRUM__TASK_LANE | THRUM__TASK_PREEXISTING));
}

static int begin_list(const struct thrum__model *model, struct thrum__lives *lives)
{
	size_t room = model->tasks.count;

	lives->items = calloc(2 * room + 1, sizeof(*lives->items));
	lives->is_later = calloc(room + 1, sizeof(*lives->is_later));
	lives->wanted = calloc(room + 1, sizeof(*lives->wanted));
	lives->task = model->tasks.first;
	return lives->items && lives->is_later && lives->wanted ? 1 : -THRUM_E_MEMORY;
}

/* Marks a task if it is wanted, and the one that it became. */
static void mark_life(const struct thrum__model *model, struct thrum__lives *lives, uint32_t task,
	bool is_wanted)
{
	lives->wanted[task] = is_wanted;
	if (is_wanted && THRUM__TASK(model, task, became) < model->tasks.count)
		lives->is_later[THRUM__TASK(model, task, became)] = true;
}

/* Adds the life of a task that is wanted and part of no other's life, if it has ended. */
static void add_life(const struct thrum__model *model, const uint32_t *heads,
	struct thrum__lives *lives, uint32_t task)
{
	int64_t end, start;

	if (!lives->wanted[task] || lives->is_later[task])
		return;
	end = thrum__slow_path_end(model, task);
	start = THRUM__TASK(model, heads[task], start);
	if (end != THRUM__OPEN && end >= start)
		lives->items[lives->count++] =
			(struct thrum__base_sort_item){thrum__stats_time_between(start, end), task};
}

static void end_list(struct thrum__lives *lives)
{
	free(lives->is_later);
	free(lives->wanted);
	lives->is_later = lives->wanted = NULL;
}

int thrum__slow_lives_list(const struct thrum__model *model, const uint32_t *heads,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	struct thrum__lives *lives)
{
	uint32_t count = model->tasks.count, end;

	if (!lives->items)
		return begin_list(model, lives);
	end = count - lives->task > TASKS_AT_ONCE ? lives->task + TASKS_AT_ONCE : count;
	for (uint32_t task = lives->task; task < end; task++) {
		size_t size;
		const char *label;

		if (lives->are_marked) {
			add_life(model, heads, lives, task);
		} else if (has_life(model, task)) {
			label = thrum__model_task_name(model, task, &size);
			mark_life(model, lives, task, is_wanted(context, label, size));
		}
	}
	lives->task = end;
	if (end < count)
		return 1;
	lives->task = model->tasks.first;
	if (!lives->are_marked) {
		lives->are_marked = true;
		return 1;
	}
	thrum__base_sort(lives->items, lives->items + count, lives->count, NULL, NULL);
	end_list(lives);
	return 0;
}

int thrum__slow_lives_make(const struct thrum__model *model, const uint32_t *heads,
	bool (*is_wanted)(const void *context, const char *label, size_t size), const void *context,
	struct thrum__lives *lives)
{
	struct thrum__lives made = {0};
	int more;

	do
		more = thrum__slow_lives_list(model, heads, is_wanted, context, &made);
	while (more > 0);
	if (more == 0)
		*lives = made;
	else
		thrum__slow_lives_free(&made);
	return more;
}

void thrum__slow_lives_free(struct thrum__lives *lives)
{
	end_list(lives);
	free(lives->items);
	*lives = (struct thrum__lives){0};
}

static size_t pattern_of(const struct thrum__model *model, uint32_t task,
	char pattern[THRUM__LABEL_PATTERN_MAX])
{
	size_t size;
	const char *label = thrum__model_task_name(model, task, &size);

	return thrum__analyse_label_pattern(label, size, pattern);
}

void thrum__slow_lives_keep_alike(const struct thrum__model *model, struct thrum__lives *lives,
	uint32_t task)
{
	char wanted[THRUM__LABEL_PATTERN_MAX], pattern[THRUM__LABEL_PATTERN_MAX];
	size_t size = pattern_of(model, task, wanted);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < lives->count; i++)
		if (pattern_of(model, lives->items[i].item, pattern) == size &&
			memcmp(pattern, wanted, size) == 0)
			lives->items[kept++] = lives->items[i];
	lives->count = kept;
}

const struct thrum__base_sort_item *thrum__slow_lives_at(const struct thrum__lives *lives,
	unsigned percent)
{
	uint64_t rank = ((uint64_t)lives->count * percent + 99) / 100;

	return &lives->items[rank > 0 ? rank - 1 : 0];
}

/* ---- Shares -------------------------------------------------------------------------------- */

/* The share to which a part belongs, added if it is new. NULL: no memory. */
static struct thrum__share *share_of(struct thrum__shares *shares, struct thrum__base_keys *keys,
	const struct thrum__path_part *stretch)
{
	uint64_t number = (uint64_t)stretch->frame << 8 | stretch->doing;
	uint32_t index;

	if (thrum__base_keys_add(keys, number, "", 0, &index) < 0)
		return NULL;
	if (index == shares->room) {
		struct thrum__share *grown = thrum__base_grow(shares->shares, &shares->room,
			shares->room + UINT64_C(1), sizeof(*grown));

		if (!grown)
			return NULL;
		shares->shares = grown;
	}
	if (index == shares->count)
		shares->shares[shares->count++] = (struct thrum__share){.frame = stretch->frame,
			.doing = stretch->doing,
			.stretch = THRUM__NONE};
	return &shares->shares[index];
}

static int64_t length_of(const struct thrum__path_part *stretch)
{
	return stretch->to - stretch->from;
}

static bool add_shares(const struct thrum__path *path, struct thrum__shares *shares,
	struct thrum__base_keys *keys)
{
	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *stretch = &path->parts[i];
		struct thrum__share *share = share_of(shares, keys, stretch);

		if (!share)
			return false;
		if (share->stretch == THRUM__NONE)
			share->first = stretch->from - path->from;
		if (share->stretch == THRUM__NONE ||
			length_of(stretch) > length_of(&path->parts[share->stretch]))
			share->stretch = i;
		share->time += length_of(stretch);
		thrum__slow_doubt_add(&share->doubt, stretch->doubt);
		share->count++;
	}
	return true;
}

static bool add_usual(const struct thrum__path *path, struct thrum__shares *shares,
	struct thrum__base_keys *keys)
{
	for (uint32_t i = 0; i < path->count; i++) {
		struct thrum__share *share = share_of(shares, keys, &path->parts[i]);

		if (!share)
			return false;
		share->usual += length_of(&path->parts[i]);
	}
	return true;
}

/* Sorts the shares by time, the biggest first. */
static int sort_shares(struct thrum__shares *shares)
{
	size_t count = shares->count;
	struct thrum__base_sort_item *items = calloc(2 * count + 1, sizeof(*items));
	struct thrum__share *ordered = calloc(count + 1, sizeof(*ordered));

	if (!items || !ordered) {
		free(items);
		free(ordered);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct thrum__share *share = &shares->shares[i];

		/* Those of the usual path alone come last. */
		items[i].key = share->time > 0 ? -share->time : INT64_MAX - share->usual;
		items[i].item = i;
	}
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (size_t i = 0; i < count; i++)
		ordered[i] = shares->shares[items[i].item];
	free(items);
	free(shares->shares);
	shares->shares = ordered;
	shares->room = (uint32_t)count + 1;
	return 0;
}

int thrum__slow_shares_make(const struct thrum__path *path, const struct thrum__path *usual,
	struct thrum__shares *shares)
{
	struct thrum__shares made = {0};
	struct thrum__base_keys keys = {0};
	bool done = add_shares(path, &made, &keys) && add_usual(usual, &made, &keys);

	thrum__base_keys_free(&keys);
	if (!done || sort_shares(&made) < 0) {
		thrum__slow_shares_free(&made);
		return -THRUM_E_MEMORY;
	}
	*shares = made;
	return 0;
}

void thrum__slow_shares_free(struct thrum__shares *shares)
{
	free(shares->shares);
	*shares = (struct thrum__shares){0};
}
