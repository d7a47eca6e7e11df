/* SPDX-License-Identifier: ISC */
/* Puts the tasks of two recordings into groups. */
#include <stdlib.h>
#include <string.h>

#include "analyse/diff/parts.h"
#include "analyse/label.h"
#include "base/array.h"

#define FLAT (UINT32_MAX - 1) /* as a parent: the group holds a kind and pattern of any creator */
#define DEPTH_MAX 16          /* groups above a group; a deeper one gets a parent above its own */
#define TEMPORARY 6           /* letters and digits by which mkstemp() makes a name unique */
#define LABEL_MAX 1024        /* bytes of a temporary file's label that are read */

const char *thrum__diff_group_name(const struct thrum__comparison *comparison, uint32_t group,
	size_t *size)
{
	return thrum__base_keys_text(&comparison->groups, group, size);
}

static unsigned kind_of(const struct thrum__comparison *comparison, uint32_t group)
{
	return (unsigned)(comparison->groups.keys[group].number & 0xff);
}

const char *thrum__diff_group_kind(const struct thrum__comparison *comparison, uint32_t group)
{
	return thrum_kind_name((int)kind_of(comparison, group));
}

/* ---- Labels -------------------------------------------------------------------------------- */

/* Whether a label completes the one before it: "timeout" becomes "timeout on_reply" once the callback is set.
 * Or the program names a sleep. Labels of other kinds may tell how far the task got. */
static bool completes(const struct thrum__model *model, uint32_t task, uint32_t before,
	uint32_t label)
{
	uint8_t kind = THRUM__TASK(model, task, kind);
	size_t size, whole;
	const char *begin = thrum__model_string(model, before, &size);
	const char *text = thrum__model_string(model, label, &whole);

	if (kind == THRUM_KIND_TIMER && strncmp(begin, "sleep ", strlen("sleep ")) == 0)
		return true;
	return (kind == THRUM_KIND_TIMER || kind == THRUM_KIND_HANDLE) && whole > size &&
		memcmp(text, begin, size) == 0 && text[size] == ' ';
}

/* Finds the string and the time of each task's first label. The last label wouldn't do, as it may
 * tell how far the task got. */
static void find_labels(const struct thrum__model *model, uint32_t *label, int64_t *named)
{
	for (uint32_t note = model->notes.first; note < model->notes.count; note++) {
		uint32_t task;

		if (!thrum__model_has_row(&model->notes, note) ||
			THRUM__NOTE(model, note, kind) != THRUM__NOTE_LABEL)
			continue;
		task = THRUM__NOTE(model, note, task);
		if (!thrum__model_has_row(&model->tasks, task) ||
			(label[task] != THRUM__NONE &&
				!completes(model, task, label[task],
					THRUM__NOTE(model, note, text))))
			continue;
		label[task] = THRUM__NOTE(model, note, text);
		named[task] = THRUM__NOTE(model, note, time);
	}
}

/* Whether a task runs while no other does. It is in no group, whatever its label is. */
static bool is_ground(const struct thrum__model *model, uint32_t task)
{
	return (THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) ||
		(model->is_mirage && THRUM__TASK(model, task, id) == 0);
}

/* ---- Groups -------------------------------------------------------------------------------- */

/* The kind that stands for a task's in a group. A promise with a label may be that of a bind or a map: that
 * depends on whether what it was made from had ended. */
static unsigned class_of(uint8_t kind)
{
	return kind == THRUM_KIND_MAP ? THRUM_KIND_BIND : kind;
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether these letters and digits are as mkstemp() chooses them, and look like no word. */
static bool is_random(const char *text)
{
	unsigned capitals = 0;

	for (int i = 0; i < TEMPORARY; i++)
		capitals += text[i] >= 'A' && text[i] <= 'Z';
	return capitals > 0 && capitals < TEMPORARY;
}

/* Whether a label names a temporary file. */
static bool is_temporary(const char *label)
{
	return strstr(label, "/tmp/") || strstr(label, "/dev/shm/") || strstr(label, " (deleted)");
}

/* Copies a label without the part of temporary files' names that differs in each run. Returns the size. */
static size_t drop_random(const char *label, size_t size, char to[LABEL_MAX])
{
	size_t word = 0, used = 0; /* word: letters and digits up to here */

	for (size_t i = 0; i < size && used < LABEL_MAX - 1; i++) {
		word = is_alnum(label[i]) ? word + 1 : 0;
		to[used++] = label[i];
		if (word >= TEMPORARY && (i + 1 == size || !is_alnum(label[i + 1])) &&
			is_random(to + used - TEMPORARY)) {
			used -= TEMPORARY;
			to[used++] = '#';
		}
	}
	return used;
}

/* The pattern of a label. */
static size_t pattern_of(const char *label, size_t size, char to[THRUM__LABEL_PATTERN_MAX])
{
	char plain[LABEL_MAX];

	if (!is_temporary(label))
		return thrum__analyse_label_pattern(label, size, to);
	size = drop_random(label, size, plain);
	return thrum__analyse_label_pattern(plain, size, to);
}

/* Sets *group to the group of a kind and pattern below `parent`, which is added if it is new. */
static int group_of(struct thrum__comparison *comparison, uint32_t parent, unsigned kind,
	const char *pattern, size_t size, uint32_t *group)
{
	uint64_t number = (uint64_t)parent << 8 | kind;

	if (thrum__base_keys_add(&comparison->groups, number, pattern, size, group) < 0)
		return -THRUM_E_MEMORY;
	while (comparison->parent_room < comparison->groups.count) {
		uint32_t *grown = thrum__base_grow(comparison->parents, &comparison->parent_room,
			comparison->parent_room + UINT64_C(1), sizeof(*grown));

		if (!grown)
			return -THRUM_E_MEMORY;
		comparison->parents = grown;
	}
	comparison->parents[*group] = parent == FLAT ? THRUM__NONE : parent;
	return 0;
}

/* The group with this kind and pattern among `parent` and those above it, or NONE. So a loop, in
 * which each task creates the next, gets a single group. Sets *depth to the groups searched. */
static uint32_t find_above(const struct thrum__comparison *comparison, uint32_t parent,
	unsigned kind, const char *pattern, size_t size, unsigned *depth)
{
	*depth = 0;
	for (; parent != THRUM__NONE; parent = comparison->parents[parent]) {
		const struct thrum__base_key *key = &comparison->groups.keys[parent];

		++*depth;
		if ((key->number & 0xff) == kind && key->size == size &&
			memcmp(comparison->groups.text.bytes + key->text, pattern, size) == 0)
			return parent;
	}
	return THRUM__NONE;
}

/* The text by which a task joins others: its label, or if the recordings have no labels in common,
 * the function that created it. "" if it has none. */
static const char *name_of(const struct thrum__comparison *comparison, struct thrum__aligned *side,
	uint32_t task, uint32_t label, size_t *size)
{
	const struct thrum_trace_site *site;

	*size = 0;
	if (!comparison->is_kin)
		return label == THRUM__NONE ? "" : thrum__model_string(side->model, label, size);
	side->named[task] = THRUM__TASK(side->model, task, created);
	site = thrum__model_site(side->model, task);
	if (!site)
		return "";
	*size = strlen(site->function);
	return site->function;
}

/* Finds a task's group, and its nearest labelled creator. nearest[task] becomes the labelled task
 * that is nearest for the tasks it creates. Creators come before the tasks that they create. */
static int group_task(struct thrum__comparison *comparison, struct thrum__aligned *side,
	uint32_t task, uint32_t label, uint32_t *nearest)
{
	const struct thrum__model *model = side->model;
	uint32_t creator = THRUM__TASK(model, task, creator), parent, above;
	unsigned kind = class_of(THRUM__TASK(model, task, kind)), depth;
	char pattern[THRUM__LABEL_PATTERN_MAX];
	const char *text;
	size_t size;

	above = creator < task ? nearest[creator] : THRUM__NONE;
	side->above[task] = nearest[task] = above;
	text = is_ground(model, task) ? "" : name_of(comparison, side, task, label, &size);
	size = *text ? pattern_of(text, size, pattern) : 0;
	if (size == 0)
		return 0;
	nearest[task] = task;
	parent = above == THRUM__NONE ? THRUM__NONE : side->group[above];
	side->group[task] = find_above(comparison, parent, kind, pattern, size, &depth);
	if (side->group[task] != THRUM__NONE)
		return 0;
	if (depth >= DEPTH_MAX)
		parent = comparison->parents[parent];
	return group_of(comparison, parent, kind, pattern, size, &side->group[task]);
}

static int group_tasks(struct thrum__comparison *comparison, struct thrum__aligned *side)
{
	uint32_t *label = side->label;
	uint32_t *nearest = malloc(((size_t)side->count + 1) * sizeof(*nearest));
	int error = nearest ? 0 : -THRUM_E_MEMORY;

	for (uint32_t task = 0; task < side->count && error == 0; task++) {
		label[task] = nearest[task] = THRUM__NONE;
		side->group[task] = side->above[task] = THRUM__NONE;
	}
	if (error == 0)
		find_labels(side->model, label, side->named);
	for (uint32_t task = side->model->tasks.first; task < side->count && error == 0; task++)
		if (thrum__model_has_row(&side->model->tasks, task))
			error = group_task(comparison, side, task, label[task], nearest);
	free(nearest);
	return error;
}

/* ---- Groups that only one recording has ---------------------------------------------------- */

enum {
	IN_GOOD = 1,
	IN_BAD = 2,
	IN_BOTH = 3,
};

bool thrum__diff_group_is_in_both(const struct thrum__comparison *comparison, uint32_t group)
{
	return comparison->in[group] == IN_BOTH;
}

/* Notes which groups a recording has. */
static void mark_groups(const struct thrum__aligned *side, uint8_t bit, uint8_t *in)
{
	for (uint32_t task = 0; task < side->count; task++)
		if (side->group[task] != THRUM__NONE)
			in[side->group[task]] |= bit;
}

/* Sets *flat to the group of a group's kind and pattern below any creator. */
static int flat_of(struct thrum__comparison *comparison, uint32_t group, uint32_t *flat)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];
	size_t size;
	const char *text = thrum__diff_group_name(comparison, group, &size);

	memcpy(pattern, text, size);
	return group_of(comparison, FLAT, kind_of(comparison, group), pattern, size, flat);
}

/* A promise for what is done with a permit is a try, or a bind if it has to wait for the permit. So that a
 * recording has only one of both is no difference. */
static void join_permits(const struct thrum__comparison *comparison, uint8_t *everywhere)
{
	for (uint32_t group = 0; group < comparison->groups.count; group++) {
		uint64_t number = comparison->groups.keys[group].number;
		size_t size;
		const char *name = thrum__diff_group_name(comparison, group, &size);
		uint32_t other;

		if (number != ((uint64_t)FLAT << 8 | THRUM_KIND_TRY))
			continue;
		other = thrum__base_keys_find(&comparison->groups,
			(uint64_t)FLAT << 8 | THRUM_KIND_BIND, name, size);
		if (other != UINT32_MAX)
			everywhere[group] = everywhere[other] |= everywhere[group];
	}
}

/* Finds the flat group of each group, and which recordings have tasks that belong there. */
static int find_flat(struct thrum__comparison *comparison, const uint8_t *in, uint32_t count,
	uint32_t *flat)
{
	uint8_t *everywhere;

	for (uint32_t group = 0; group < count; group++)
		if (flat_of(comparison, group, &flat[group]) < 0)
			return -THRUM_E_MEMORY;
	everywhere = calloc((size_t)comparison->groups.count + 1, 1);
	if (!everywhere)
		return -THRUM_E_MEMORY;
	for (uint32_t group = 0; group < count; group++)
		everywhere[flat[group]] |= in[group];
	join_permits(comparison, everywhere);
	comparison->in = everywhere;
	return 0;
}

/* Moves the tasks of groups that only one recording has to their flat groups. */
static int flatten_both(struct thrum__comparison *comparison, struct thrum__aligned *aligned)
{
	uint32_t count = comparison->groups.count;
	uint8_t *in = calloc((size_t)count + 1, 1);
	uint32_t *flat = calloc((size_t)count + 1, sizeof(*flat));
	int error = in && flat ? 0 : -THRUM_E_MEMORY;

	if (error == 0) {
		mark_groups(&aligned[THRUM__GOOD], IN_GOOD, in);
		mark_groups(&aligned[THRUM__BAD], IN_BAD, in);
		error = find_flat(comparison, in, count, flat);
	}
	for (int side = 0; side < THRUM__SIDES && error == 0; side++)
		for (uint32_t task = 0; task < aligned[side].count; task++) {
			uint32_t *group = &aligned[side].group[task];

			if (*group != THRUM__NONE && in[*group] != IN_BOTH)
				*group = flat[*group];
		}
	free(in);
	free(flat);
	return error;
}

/* Whether a group, whatever its creators are, has tasks in both recordings. */
static bool has_common(const struct thrum__comparison *comparison)
{
	for (uint32_t group = 0; group < comparison->groups.count; group++)
		if (comparison->in[group] == IN_BOTH)
			return true;
	return false;
}

int thrum__diff_compare_starts(const void *context, uint32_t a, uint32_t b)
{
	const struct thrum__model *model = context;
	int64_t x = THRUM__TASK(model, a, start), y = THRUM__TASK(model, b, start);

	return x < y ? -1 : x > y;
}

/* ---- Both recordings ----------------------------------------------------------------------- */

static int make_side(struct thrum__aligned *side, const struct thrum__model *model)
{
	size_t room = (size_t)model->tasks.count + 1;

	*side = (struct thrum__aligned){
		.model = model,
		.count = model->tasks.count,
		.group = malloc(room * sizeof(*side->group)),
		.label = malloc(room * sizeof(*side->label)),
		.above = malloc(room * sizeof(*side->above)),
		.named = calloc(room, sizeof(*side->named)),
		.is_later = calloc(room, sizeof(*side->is_later)),
		.waited = malloc(room * sizeof(*side->waited)),
		.signalled = malloc(room * sizeof(*side->signalled)),
		.items = calloc(room, sizeof(*side->items)),
		.room = calloc(2 * room, sizeof(*side->room)),
	};
	return side->group && side->label && side->above && side->named && side->is_later &&
			side->waited && side->signalled && side->items && side->room
		? 0
		: -THRUM_E_MEMORY;
}

void thrum__diff_aligned_free(struct thrum__aligned *side)
{
	free(side->group);
	free(side->label);
	free(side->above);
	free(side->named);
	free(side->is_later);
	free(side->waited);
	free(side->signalled);
	free(side->items);
	free(side->room);
	*side = (struct thrum__aligned){0};
}

/* Sorts the labelled tasks by group, and within a group by time. Tasks of one group that became one
 * another count as one, the first. */
static void sort_by_group(struct thrum__aligned *side)
{
	const struct thrum__model *model = side->model;

	for (uint32_t task = 0; task < side->count; task++) {
		uint32_t became;

		if (side->group[task] == THRUM__NONE)
			continue;
		became = THRUM__TASK(model, task, became);
		if (became < side->count && side->group[became] == side->group[task])
			side->is_later[became] = true;
	}
	for (uint32_t task = 0; task < side->count; task++)
		if (side->group[task] != THRUM__NONE && !side->is_later[task])
			side->items[side->labelled++] =
				(struct thrum__base_sort_item){side->group[task], task};
	thrum__base_sort(side->items, side->room, side->labelled, NULL, NULL);
}

/* Puts the tasks into groups, and forgets groups that there were before. */
static int group_both(struct thrum__comparison *comparison, struct thrum__aligned *aligned)
{
	int error = 0;

	thrum__base_keys_free(&comparison->groups);
	comparison->groups = (struct thrum__base_keys){0};
	free(comparison->in);
	comparison->in = NULL;
	for (int side = 0; side < THRUM__SIDES && error == 0; side++)
		error = group_tasks(comparison, &aligned[side]);
	return error == 0 ? flatten_both(comparison, aligned) : error;
}

int thrum__diff_align(struct thrum__comparison *comparison,
	struct thrum__aligned aligned[THRUM__SIDES])
{
	int error = 0;

	for (int side = 0; side < THRUM__SIDES; side++)
		if (make_side(&aligned[side], comparison->model[side]) < 0)
			error = -THRUM_E_MEMORY;
	if (error == 0)
		error = group_both(comparison, aligned);
	if (error == 0 && !has_common(comparison)) {
		comparison->is_kin = true;
		error = group_both(comparison, aligned);
		comparison->is_kin = error == 0 && has_common(comparison);
		if (error == 0 && !comparison->is_kin)
			error = group_both(comparison, aligned);
	}
	for (int side = 0; side < THRUM__SIDES && error == 0; side++) {
		sort_by_group(&aligned[side]);
		error = thrum__diff_moments(&aligned[side]);
		comparison->tasks[side] = aligned[side].labelled;
	}
	return error;
}
