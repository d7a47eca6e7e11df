/* SPDX-License-Identifier: ISC */
/* Finds for whom each task works, and sorts tasks into groups. The tree of the groups is made in
 * groups.c. */
#include "analyse/family/family.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/family/parts.h"
#include "analyse/label.h"
#include "analyse/slow/path.h"
#include "base/array.h"

#define STEPS 200  /* from a task to its owner, and through a chain */
#define CACHE 4096 /* names whose groups are remembered; a power of two */
/* Stands in `owner` while owners are searched for: it is known that the task has none. */
#define NOBODY (THRUM__NONE - 1)

/* The task of a row, or NONE if the model doesn't have it. */
static uint32_t known(const struct thrum__model *model, uint32_t task)
{
	return thrum__model_has_row(&model->tasks, task) ? task : THRUM__NONE;
}

static bool is_lane(const struct thrum__model *model, uint32_t task)
{
	return (THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) ||
		THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD;
}

static bool has_label(const struct thrum__model *model, uint32_t task)
{
	size_t size;

	if (THRUM__TASK(model, task, name) == THRUM__NONE)
		return false;
	thrum__model_string(model, THRUM__TASK(model, task, name), &size);
	return size > 0;
}

/* Whether a task is in a group: in programs with labels those that have one, else all. */
static bool is_grouped(const struct thrum__family *family, uint32_t task)
{
	return !is_lane(family->model, task) && (family->by_site || has_label(family->model, task));
}

bool thrum__family_is_shared(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_CONDITION:
	case THRUM_KIND_LOCK:
	case THRUM_KIND_SEMAPHORE:
	case THRUM_KIND_MAILBOX:
	case THRUM_KIND_STREAM:
	case THRUM_KIND_SWITCH: return true;
	default: return false;
	}
}

static bool is_continued(const struct thrum__family *family, uint32_t place)
{
	return family->continued[place / 32] >> place % 32 & 1;
}

/* The first task of the line of a task that has a group. */
static uint32_t first_of_line(const struct thrum__family *family, uint32_t task)
{
	uint32_t place = thrum__place(&family->places, task);

	for (int i = 0; i < STEPS && is_continued(family, place); i++) {
		task = family->owner[place];
		place = thrum__place(&family->places, task);
	}
	return task;
}

/* ---- For whom a task works ------------------------------------------------------------------ */

/* Notes who waited for each task last. A lane's own task waits for whatever the program waits for:
 * that says nothing. */
static void find_waiters(struct thrum__family *family)
{
	const struct thrum__model *model = family->model;

	for (uint32_t i = model->edges.first; i < model->edges.count; i++) {
		uint32_t from, to;

		if (!thrum__model_has_row(&model->edges, i) ||
			THRUM__EDGE(model, i, kind) != THRUM__EDGE_WAIT)
			continue;
		from = known(model, THRUM__EDGE(model, i, from));
		to = known(model, THRUM__EDGE(model, i, to));
		if (from != THRUM__NONE && to != THRUM__NONE && from != to &&
			!is_lane(model, from) && !thrum__family_is_shared(model, to))
			family->up[thrum__place(&family->places, to)] = from;
	}
}

/* The task that waited for what a task became, unless it is of the same chain; or NONE. */
static uint32_t waiter_of_heir(const struct thrum__family *family, uint32_t task)
{
	uint32_t heir = thrum__model_heir(family->model, task);
	uint32_t from = family->up[thrum__place(&family->places, heir)];

	return from != THRUM__NONE && thrum__model_heir(family->model, from) == heir ? THRUM__NONE
										     : from;
}

static int find_ups(struct thrum__family *family)
{
	const struct thrum__model *model = family->model;
	uint32_t *before = malloc(family->places.count * sizeof *before);

	if (!before)
		return -THRUM_E_MEMORY;
	memset(before, 0xff, family->places.count * sizeof *before);
	find_waiters(family);
	THRUM__EACH_TASK (model, i) {
		uint32_t next = known(model, THRUM__TASK(model, i, became));

		if (next != THRUM__NONE)
			before[thrum__place(&family->places, next)] = i;
	}
	THRUM__EACH_TASK (model, i) {
		uint32_t place = thrum__place(&family->places, i), *up = &family->up[place];

		if (*up == THRUM__NONE && THRUM__TASK(model, i, became) != THRUM__NONE &&
			!thrum__family_is_shared(model, i))
			*up = waiter_of_heir(family, i);
		if (*up == THRUM__NONE)
			*up = before[place];
		if (*up == THRUM__NONE)
			*up = known(model, THRUM__TASK(model, i, creator));
	}
	free(before);
	return 0;
}

/* Finds the owner of a task: the nearest task along `up` that is in a group. Notes it for all tasks on
 * the way, too, so that each step is taken about once. */
static void find_owner(struct thrum__family *family, uint32_t task)
{
	uint32_t way[STEPS], count = 0, owner = NOBODY;

	for (uint32_t i = task; i != THRUM__NONE && count < STEPS;) {
		uint32_t place = thrum__place(&family->places, i);

		if (family->owner[place] != THRUM__NONE) {
			owner = family->owner[place];
			break;
		}
		way[count++] = place;
		i = family->up[place];
		if (i == THRUM__NONE || is_lane(family->model, i))
			break;
		if (family->group[thrum__place(&family->places, i)] != THRUM__NONE) {
			owner = first_of_line(family, i);
			break;
		}
	}
	/* A task that works for its own line has no owner that anybody knows. */
	if (owner == task)
		owner = NOBODY;
	for (uint32_t i = 0; i < count; i++)
		family->owner[way[i]] = owner;
}

static void find_owners(struct thrum__family *family)
{
	const struct thrum__model *model = family->model;

	THRUM__EACH_TASK (model, i)
		if (family->owner[thrum__place(&family->places, i)] == THRUM__NONE) {
			if (is_lane(model, i))
				family->owner[thrum__place(&family->places, i)] = NOBODY;
			else
				find_owner(family, i);
		}
	for (uint32_t i = 0; i < family->places.count; i++)
		if (family->owner[i] == NOBODY)
			family->owner[i] = THRUM__NONE;
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* The groups of names that came lately. */
struct cache {
	struct {
		uint32_t string, group;
		uint8_t kind;
	} cells[CACHE];
};

/* Sets *group to the group of a task, which is added if it is new. */
static int add_to_group(struct thrum__family *family, struct cache *cache, uint32_t task,
	uint32_t *group)
{
	const struct thrum__model *model = family->model;
	uint8_t kind = THRUM__TASK(model, task, kind);
	uint32_t string = family->by_site ? THRUM__TASK(model, task, site)
					  : THRUM__TASK(model, task, name);
	uint32_t cell = (string * UINT32_C(2654435761) + kind) >> 8 & (CACHE - 1);
	char pattern[THRUM__LABEL_PATTERN_MAX];
	uint64_t number = kind;
	size_t size = 0;
	struct thrum__group *grown;

	if (cache->cells[cell].string == string && cache->cells[cell].kind == kind) {
		*group = cache->cells[cell].group;
		return 0;
	}
	if (family->by_site) {
		number |= ((uint64_t)string + 1) << 8;
	} else {
		const char *name = thrum__model_string(model, string, &size);

		size = thrum__analyse_label_pattern(name, size, pattern);
	}
	if (thrum__base_keys_add(&family->keys, number, pattern, size, group) < 0)
		return -THRUM_E_MEMORY;
	if (*group == family->group_count) {
		grown = thrum__base_grow(family->groups, &family->group_room,
			family->group_count + UINT64_C(1), sizeof *grown);
		if (!grown)
			return -THRUM_E_MEMORY;
		family->groups = grown;
		grown[family->group_count++] = (struct thrum__group){.sample = task,
			.parent = THRUM__NONE,
			.shown = THRUM__NONE,
			.kind = kind,
			.is_object = thrum__family_is_shared(model, task)};
	}
	cache->cells[cell].string = string;
	cache->cells[cell].kind = kind;
	cache->cells[cell].group = *group;
	return 0;
}

/* Notes the task of the same group that a task became, directly or through tasks without a group. */
static void note_continued(struct thrum__family *family, uint32_t task)
{
	const struct thrum__model *model = family->model;
	uint32_t group = family->group[thrum__place(&family->places, task)];
	uint32_t next = known(model, THRUM__TASK(model, task, became));

	for (int i = 0; next != THRUM__NONE && next != task && i < STEPS; i++) {
		uint32_t place = thrum__place(&family->places, next);

		if (family->group[place] == group && !is_continued(family, place) &&
			first_of_line(family, task) != next) {
			family->continued[place / 32] |= UINT32_C(1) << place % 32;
			family->owner[place] = first_of_line(family, task);
		}
		if (family->group[place] != THRUM__NONE)
			return;
		next = known(model, THRUM__TASK(model, next, became));
	}
}

static int find_groups(struct thrum__family *family)
{
	const struct thrum__model *model = family->model;
	struct cache *cache = malloc(sizeof *cache);

	if (!cache)
		return -THRUM_E_MEMORY;
	memset(cache, 0xff, sizeof *cache);
	memset(family->group, 0xff, family->places.count * sizeof *family->group);
	memset(family->owner, 0xff, family->places.count * sizeof *family->owner);
	memset(family->continued, 0, (family->places.count / 32 + 1) * sizeof *family->continued);
	THRUM__EACH_TASK (model, i)
		if (is_grouped(family, i) &&
			add_to_group(family, cache, i,
				&family->group[thrum__place(&family->places, i)]) < 0) {
			free(cache);
			return -THRUM_E_MEMORY;
		}
	free(cache);
	THRUM__EACH_TASK (model, i)
		if (family->group[thrum__place(&family->places, i)] != THRUM__NONE)
			note_continued(family, i);
	return 0;
}

/* ---- All of it ------------------------------------------------------------------------------ */

/* Notes by place for lines of which group each task works, as thrum__family_worker tells; NONE: of none. */
static void find_served(const struct thrum__family *family, uint32_t *served)
{
	for (uint32_t i = 0; i < family->places.count; i++) {
		uint32_t owner = family->owner[i];

		served[i] = family->group[i];
		if (served[i] == THRUM__NONE && owner != THRUM__NONE)
			served[i] = family->group[thrum__place(&family->places, owner)];
	}
}

/* Adds the runs to the times of the groups for which they are. Returns whether fewer than 1 in 10 runs is for
 * a line; without runs, whether nothing has a label. */
static bool add_runs(struct thrum__family *family, const uint32_t *served)
{
	const struct thrum__model *model = family->model;
	uint64_t all = 0, owned = 0;

	for (uint32_t i = model->runs.first; i < model->runs.count; i++) {
		uint32_t task, place;

		if (!thrum__model_has_row(&model->runs, i))
			continue;
		task = THRUM__RUN(model, i, task);
		place = thrum__place(&family->places, task);
		if (place > 0 && served[place] != THRUM__NONE) {
			int64_t end = THRUM__RUN(model, i, end);

			owned++;
			thrum__family_add_time(&family->groups[served[place]].ran,
				THRUM__RUN(model, i, start), end == THRUM__OPEN ? model->end : end);
		} else if (known(model, task) == THRUM__NONE || is_lane(model, task)) {
			continue;
		}
		all++;
	}
	return all > 0 ? owned < all / 10 || owned == 0 : family->group_count == 0;
}

/* Finds groups and owners. Returns 0, 1 if there are few labels, or -THRUM_E_MEMORY. `served`: by place. */
static int find_all(struct thrum__family *family, uint32_t *served)
{
	int error = find_groups(family);

	if (error < 0)
		return error;
	find_owners(family);
	find_served(family, served);
	return add_runs(family, served);
}

static int fill(struct thrum__family *family, uint32_t *served)
{
	size_t places = family->places.count;
	int error;

	family->up = malloc(places * sizeof *family->up);
	family->owner = malloc(places * sizeof *family->owner);
	family->group = malloc(places * sizeof *family->group);
	family->continued = malloc((places / 32 + 1) * sizeof *family->continued);
	if (!served || !family->up || !family->owner || !family->group || !family->continued)
		return -THRUM_E_MEMORY;
	memset(family->up, 0xff, places * sizeof *family->up);
	error = find_ups(family);
	if (error == 0)
		error = find_all(family, served);
	if (error > 0) {
		thrum__base_keys_free(&family->keys);
		family->keys = (struct thrum__base_keys){0};
		family->group_count = 0;
		family->by_site = true;
		error = find_all(family, served);
	}
	return error < 0 ? error : thrum__family_arrange(family, served);
}

int thrum__family_init(struct thrum__family *family, const struct thrum__model *model)
{
	struct thrum__family made = {.model = model};
	uint32_t *served = NULL;
	int error = thrum__analyse_places_make(model, &made.places);

	if (error == 0) {
		served = malloc(made.places.count * sizeof *served);
		error = fill(&made, served);
	}
	free(served);
	if (error < 0) {
		thrum__family_finish(&made);
		return error;
	}
	*family = made;
	return 0;
}

void thrum__family_finish(struct thrum__family *family)
{
	thrum__analyse_places_free(&family->places);
	thrum__base_keys_free(&family->keys);
	free(family->up);
	free(family->owner);
	free(family->group);
	free(family->continued);
	free(family->groups);
	free(family->more);
	*family = (struct thrum__family){0};
}

int64_t thrum__family_end(const struct thrum__model *model, uint32_t heir)
{
	return thrum__model_is_gone(model, heir) ? thrum__model_task_end_time(model, heir)
						 : THRUM__TASK(model, heir, end);
}

/* ---- Questions ------------------------------------------------------------------------------ */

uint32_t thrum__family_up(const struct thrum__family *family, uint32_t task)
{
	uint32_t place = thrum__place(&family->places, task);

	return place > 0 ? family->up[place] : THRUM__NONE;
}

uint32_t thrum__family_owner(const struct thrum__family *family, uint32_t task)
{
	uint32_t place = thrum__place(&family->places, task);

	return place > 0 ? family->owner[place] : THRUM__NONE;
}

uint32_t thrum__family_group(const struct thrum__family *family, uint32_t task)
{
	uint32_t place = thrum__place(&family->places, task);

	return place > 0 ? family->group[place] : THRUM__NONE;
}

/* The task that became this one, and has a group or leads to one that has; or NONE. */
static uint32_t task_before(const struct thrum__family *family, uint32_t task)
{
	const struct thrum__model *model = family->model;
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (; thrum__model_has_row(&model->edges, edge); edge = THRUM__EDGE(model, edge, prev_in))
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_BECOME)
			return known(model, THRUM__EDGE(model, edge, from));
	return THRUM__NONE;
}

uint32_t thrum__family_line(const struct thrum__family *family, uint32_t task)
{
	uint32_t i = task;

	if (thrum__place(&family->places, task) == 0 ||
		!thrum__model_has_row(&family->model->tasks, task))
		return THRUM__NONE;
	for (int steps = 0; steps < STEPS && i != THRUM__NONE; steps++, i = task_before(family, i))
		if (thrum__family_group(family, i) != THRUM__NONE)
			return first_of_line(family, i);
	i = task;
	for (int steps = 0; steps < STEPS && i != THRUM__NONE; steps++) {
		if (thrum__family_group(family, i) != THRUM__NONE)
			return first_of_line(family, i);
		i = known(family->model, THRUM__TASK(family->model, i, became));
	}
	return THRUM__NONE;
}

uint32_t thrum__family_worker(const struct thrum__family *family, uint32_t task)
{
	uint32_t place = thrum__place(&family->places, task);

	if (place == 0)
		return THRUM__NONE;
	return family->group[place] != THRUM__NONE ? first_of_line(family, task)
						   : family->owner[place];
}

const char *thrum__family_name(const struct thrum__family *family, uint32_t group, size_t *size)
{
	return thrum__base_keys_text(&family->keys, group, size);
}

uint32_t thrum__family_find(const struct thrum__family *family, const char *name, size_t size)
{
	for (uint32_t i = 0; i < family->group_count; i++) {
		size_t length;
		const char *text = thrum__family_name(family, i, &length);

		if (length == size && memcmp(text, name, size) == 0)
			return i;
	}
	return THRUM__NONE;
}

size_t thrum__family_memory(const struct thrum__family *family)
{
	size_t places = family->places.count;

	return places * (sizeof *family->up + sizeof *family->owner + sizeof *family->group) +
		places / 8 + family->group_room * sizeof *family->groups + family->keys.text.room +
		family->keys.room * sizeof *family->keys.keys;
}
