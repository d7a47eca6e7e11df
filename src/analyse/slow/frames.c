/* SPDX-License-Identifier: ISC */
/* Sorts the rows of a model by task and lane for path.c, and makes the frames of stacks. */
#include <stdlib.h>

#include "analyse/graph.h"
#include "analyse/label.h"
#include "analyse/locks.h"
#include "analyse/slow/parts.h"
#include "base/array.h"

#define EDGES_AT_ONCE (UINT32_C(1) << 19) /* in a step */

const char *thrum__slow_doing_name(int doing)
{
	static const char *const names[] = {
#define THRUM__X(NAME, word) word,
		THRUM__DOINGS(THRUM__X)
#undef THRUM__X
	};

	return doing >= 0 && doing < THRUM__DOING_COUNT ? names[doing] : "unknown";
}

/* ---- Rows by their owners ------------------------------------------------------------------ */

/* The slices of edges. An edge belongs to two of them at most. */
enum edge_slices {
	BY_WAITS,
	BY_GETS,
	BY_ACTS,
	BY_TAKES,
	BY_ENDERS,
	BY_READIES,
	BY_SENDS,
	EDGE_SLICES,
};

struct edge_place {
	uint8_t slices; /* enum edge_slices */
	uint32_t owner;
};

/* Returns how many slices have the edge: none if it is forgotten. */
static unsigned places_of(const struct thrum__model *model, uint32_t edge,
	struct edge_place places[2])
{
	uint32_t from, to;

	if (!thrum__model_has_row(&model->edges, edge))
		return 0;
	from = THRUM__EDGE(model, edge, from);
	to = THRUM__EDGE(model, edge, to);
	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_WAIT: places[0] = (struct edge_place){BY_WAITS, from}; return 1;
	case THRUM__EDGE_LOCK:
		places[0] = (struct edge_place){BY_GETS, from};
		places[1] = (struct edge_place){BY_TAKES, to};
		return 2;
	case THRUM__EDGE_READ:
		places[0] = (struct edge_place){BY_GETS, from};
		places[1] = (struct edge_place){BY_TAKES, to};
		return thrum__model_has_row(&model->tasks, to) && thrum__slow_is_buffer(model, to)
			? 2
			: 1;
	case THRUM__EDGE_SIGNAL:
	case THRUM__EDGE_UNLOCK: places[0] = (struct edge_place){BY_ACTS, to}; return 1;
	case THRUM__EDGE_RESOLVE:
	case THRUM__EDGE_FAIL:
	case THRUM__EDGE_CANCEL: places[0] = (struct edge_place){BY_ENDERS, from}; return 1;
	case THRUM__EDGE_READY: places[0] = (struct edge_place){BY_READIES, to}; return 1;
	case THRUM__EDGE_LINK: places[0] = (struct edge_place){BY_SENDS, from}; return 1;
	default: return 0;
	}
}

static uint32_t creator_of(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, creator);
}

static uint32_t run_of(const struct thrum__model *model, uint32_t run)
{
	return THRUM__RUN(model, run, task);
}

static uint32_t lane_of(const struct thrum__model *model, uint32_t run)
{
	return THRUM__RUN(model, run, lane);
}

static uint32_t suspended_of(const struct thrum__model *model, uint32_t suspension)
{
	return THRUM__SUSPENSION(model, suspension, lane);
}

static uint32_t off_cpu_of(const struct thrum__model *model, uint32_t off_cpu)
{
	return THRUM__OFF_CPU(model, off_cpu, lane);
}

int64_t thrum__slow_edge_time(const struct thrum__model *model, uint32_t edge)
{
	return THRUM__EDGE(model, edge, time);
}

int64_t thrum__slow_run_start(const struct thrum__model *model, uint32_t run)
{
	return THRUM__RUN(model, run, start);
}

int64_t thrum__slow_suspension_start(const struct thrum__model *model, uint32_t suspension)
{
	return THRUM__SUSPENSION(model, suspension, start);
}

int64_t thrum__slow_off_cpu_start(const struct thrum__model *model, uint32_t off_cpu)
{
	return THRUM__OFF_CPU(model, off_cpu, start);
}

uint32_t thrum__slow_rows_before(const struct thrum__model *model,
	const struct thrum__slices *slices, uint32_t owner, int64_t time,
	int64_t (*time_of)(const struct thrum__model *, uint32_t))
{
	uint32_t low = slices->first[owner], high = slices->first[owner + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (time_of(model, slices->rows[middle]) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int thrum__slow_heads_make(const struct thrum__model *model, uint32_t **heads)
{
	uint32_t tasks = model->tasks.count;
	uint32_t *made = malloc(((size_t)tasks + 1) * sizeof(*made));

	if (!made)
		return -THRUM_E_MEMORY;
	for (uint32_t task = 0; task < tasks; task++)
		made[task] = task;
	/* Later tasks come after those that became them, so one pass follows whole chains. */
	for (uint32_t task = model->tasks.first; task < tasks; task++) {
		uint32_t next;

		if (!thrum__model_has_row(&model->tasks, task))
			continue;
		next = THRUM__TASK(model, task, became);
		if (THRUM__TASK(model, task, name) == THRUM__NONE && next > task &&
			thrum__model_has_row(&model->tasks, next) && made[next] == next &&
			THRUM__TASK(model, task, start) < THRUM__TASK(model, next, start) &&
			!(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING))
			made[next] = made[task];
	}
	*heads = made;
	return 0;
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* Gives the slices of edges, by the numbers of enum edge_slices. */
static void edge_slices_of(struct thrum__paths *paths, struct thrum__slices *all[EDGE_SLICES])
{
	all[BY_WAITS] = &paths->waits;
	all[BY_GETS] = &paths->gets;
	all[BY_ACTS] = &paths->acts;
	all[BY_TAKES] = &paths->takes;
	all[BY_ENDERS] = &paths->enders;
	all[BY_READIES] = &paths->readies;
	all[BY_SENDS] = &paths->sends;
}

/* Returns the edge before which a step ends. */
static uint32_t step_end(const struct thrum__paths *paths)
{
	uint32_t count = paths->model->edges.count;

	return count - paths->row > EDGES_AT_ONCE ? paths->row + EDGES_AT_ONCE : count;
}

static int make_heads(struct thrum__paths *paths)
{
	paths->row = paths->model->edges.first;
	return thrum__slow_heads_make(paths->model, &paths->heads);
}

static int begin_edges(struct thrum__paths *paths)
{
	uint32_t tasks = paths->model->tasks.count;
	struct thrum__slices *all[EDGE_SLICES];

	edge_slices_of(paths, all);
	paths->resolved = malloc(((size_t)tasks + 1) * sizeof(*paths->resolved));
	if (!paths->resolved)
		return -THRUM_E_MEMORY;
	for (uint32_t task = 0; task < tasks; task++)
		paths->resolved[task] = THRUM__NONE;
	for (unsigned i = 0; i < EDGE_SLICES; i++) {
		all[i]->first = calloc((size_t)tasks + 2, sizeof(*all[i]->first));
		if (!all[i]->first)
			return -THRUM_E_MEMORY;
	}
	return 0;
}

/* Counts the edges of each owner, as thrum__analyse_slices_count does, and finds the first edge by which
 * each task was resolved, failed or was cancelled. All slices are made in two passes: many edges are far
 * from the processor. */
static int count_edges(struct thrum__paths *paths)
{
	const struct thrum__model *model = paths->model;
	uint32_t tasks = model->tasks.count, end = step_end(paths);
	struct thrum__slices *all[EDGE_SLICES];

	edge_slices_of(paths, all);
	for (uint32_t edge = paths->row; edge < end; edge++) {
		struct edge_place places[2];
		unsigned count = places_of(model, edge, places);
		uint32_t to = count > 0 ? THRUM__EDGE(model, edge, to) : THRUM__NONE;

		for (unsigned i = 0; i < count; i++)
			if (places[i].owner < tasks)
				all[places[i].slices]->first[places[i].owner + 2]++;
		if (count > 0 && places[0].slices == BY_ENDERS && to < tasks &&
			paths->resolved[to] == THRUM__NONE)
			paths->resolved[to] = edge;
	}
	paths->row = end;
	return end < model->edges.count;
}

static int sum_edges(struct thrum__paths *paths)
{
	uint32_t tasks = paths->model->tasks.count;
	struct thrum__slices *all[EDGE_SLICES];

	edge_slices_of(paths, all);
	for (unsigned i = 0; i < EDGE_SLICES; i++) {
		uint32_t *first = all[i]->first;

		for (uint32_t k = 2; k < tasks + 2; k++)
			first[k] += first[k - 1];
		all[i]->rows = malloc(((size_t)first[tasks + 1] + 1) * sizeof(*all[i]->rows));
		if (!all[i]->rows)
			return -THRUM_E_MEMORY;
	}
	paths->row = paths->model->edges.first;
	return 0;
}

/* first[i + 1] is where the next edge of i goes, so it ends as the beginning of i + 1's. */
static int fill_edges(struct thrum__paths *paths)
{
	const struct thrum__model *model = paths->model;
	struct thrum__slices *all[EDGE_SLICES];
	uint32_t end = step_end(paths);

	edge_slices_of(paths, all);
	for (uint32_t edge = paths->row; edge < end; edge++) {
		struct edge_place places[2];
		unsigned count = places_of(model, edge, places);

		for (unsigned i = 0; i < count; i++) {
			struct thrum__slices *slices = all[places[i].slices];

			if (places[i].owner < model->tasks.count)
				slices->rows[slices->first[places[i].owner + 1]++] = edge;
		}
	}
	paths->row = end < model->edges.count ? end : 0;
	return paths->row > 0;
}

/* Makes other slices, each in two steps. */
static int make_slices(struct thrum__paths *paths)
{
	const struct thrum__model *model = paths->model;
	const struct {
		const struct thrum__model_rows *rows;
		uint32_t owners;
		thrum__slices_owner *owner;
		struct thrum__slices *slices;
	} all[] =
		{
			{&model->tasks, model->tasks.count, creator_of, &paths->children},
			{&model->runs, model->tasks.count, run_of, &paths->runs},
			{&model->runs, model->lane_count, lane_of, &paths->lane_runs},
			{&model->suspensions, model->lane_count, suspended_of, &paths->suspensions},
			{&model->off_cpu, model->lane_count, off_cpu_of, &paths->off_cpu},
		},
	  *it = &all[paths->row / 2];
	int error = paths->row % 2 == 0
		? thrum__analyse_slices_count(model, it->rows, it->owners, it->owner, it->slices)
		: thrum__analyse_slices_fill(model, it->rows, it->owners, it->owner, it->slices);

	return error < 0 ? error : ++paths->row < 2 * sizeof all / sizeof *all;
}

void thrum__slow_paths_begin(struct thrum__paths *paths, const struct thrum__model *model)
{
	*paths = (struct thrum__paths){.model = model};
}

int thrum__slow_paths_step(struct thrum__paths *paths)
{
	/* Each returns 1 as long as it is to be called again. */
	static int (*const steps[])(struct thrum__paths *) = {make_heads, begin_edges, count_edges,
		sum_edges, fill_edges, make_slices};
	const unsigned count = sizeof steps / sizeof *steps;
	int more;

	if (paths->step == count)
		return 0;
	more = steps[paths->step](paths);
	return more != 0 ? more : ++paths->step < count;
}

int thrum__slow_paths_init(struct thrum__paths *paths, const struct thrum__model *model)
{
	struct thrum__paths made;
	int more;

	thrum__slow_paths_begin(&made, model);
	do
		more = thrum__slow_paths_step(&made);
	while (more > 0);
	if (more == 0)
		*paths = made;
	else
		thrum__slow_paths_finish(&made);
	return more;
}

void thrum__slow_paths_finish(struct thrum__paths *paths)
{
	thrum__analyse_slices_free(&paths->waits);
	thrum__analyse_slices_free(&paths->gets);
	thrum__analyse_slices_free(&paths->acts);
	thrum__analyse_slices_free(&paths->takes);
	thrum__analyse_slices_free(&paths->enders);
	thrum__analyse_slices_free(&paths->readies);
	thrum__analyse_slices_free(&paths->sends);
	thrum__analyse_slices_free(&paths->children);
	thrum__analyse_slices_free(&paths->suspensions);
	thrum__analyse_slices_free(&paths->off_cpu);
	thrum__analyse_slices_free(&paths->runs);
	thrum__analyse_slices_free(&paths->lane_runs);
	thrum__base_keys_free(&paths->keys);
	thrum__base_keys_free(&paths->names);
	free(paths->frames);
	free(paths->resolved);
	free(paths->heads);
	*paths = (struct thrum__paths){0};
}

/* ---- Frames -------------------------------------------------------------------------------- */

/* Writes the pattern of a task's name, or else its kind's word, and returns the size. *is_plain:
 * the task has no name and only hands on results. */
static size_t write_name(const struct thrum__model *model, uint32_t task,
	char name[THRUM__LABEL_PATTERN_MAX], bool *is_plain)
{
	size_t size = 0;
	const char *text;

	*is_plain = false;
	if (!thrum__model_has_row(&model->tasks, task))
		return thrum__analyse_label_pattern("others", 6, name);
	text = thrum__model_task_name(model, task, &size);
	if (size == 0) {
		*is_plain = thrum__analyse_task_is_plain(model, task);
		text = thrum_kind_name(THRUM__TASK(model, task, kind));
		while (text[size])
			size++;
	}
	return thrum__analyse_label_pattern(text, size, name);
}

/* The frame at or above `parent` with this name below a frame with the parent's name, or NONE. */
static uint32_t find_alike(const struct thrum__paths *paths, uint32_t parent, uint32_t name)
{
	const struct thrum__frame *frames = paths->frames;
	uint32_t above = frames[parent].name;

	for (uint32_t i = parent; frames[i].parent != THRUM__NONE; i = frames[i].parent)
		if (frames[i].name == name && frames[frames[i].parent].name == above)
			return i;
	return THRUM__NONE;
}

/* Adds a frame, or finds the one with that parent and name. */
static int add_frame(struct thrum__paths *paths, struct thrum__frame added, uint32_t *frame)
{
	uint64_t number = (uint64_t)added.parent << 32 | added.name;

	if (thrum__base_keys_add(&paths->keys, number, "", 0, frame) < 0)
		return -THRUM_E_MEMORY;
	if (*frame < paths->frame_count)
		return 0;
	if (paths->frame_count == paths->frame_room) {
		struct thrum__frame *grown = thrum__base_grow(paths->frames, &paths->frame_room,
			paths->frame_room + UINT64_C(1), sizeof(*grown));

		if (!grown)
			return -THRUM_E_MEMORY;
		paths->frames = grown;
	}
	paths->frames[paths->frame_count++] = added;
	return 0;
}

int thrum__slow_frame_find(struct thrum__paths *paths, uint32_t parent, uint32_t task, int doing,
	uint32_t *frame)
{
	struct thrum__frame added = {.parent = parent, .task = task, .doing = (uint8_t)doing};
	char name[THRUM__LABEL_PATTERN_MAX];
	uint32_t alike = THRUM__NONE;
	bool is_plain;
	size_t size = write_name(paths->model, task, name, &is_plain);

	if (thrum__base_keys_add(&paths->names, (unsigned)doing, name, size, &added.name) < 0)
		return -THRUM_E_MEMORY;
	if (parent != THRUM__NONE) {
		added.depth = paths->frames[parent].depth + 1;
		if (doing == THRUM__DOING_RUNS)
			alike = is_plain ? parent : find_alike(paths, parent, added.name);
		if (added.depth >= THRUM__STACK_DEPTH && alike == THRUM__NONE)
			alike = parent;
	}
	if (alike == THRUM__NONE)
		return add_frame(paths, added, frame);
	*frame = alike;
	return 0;
}

int thrum__slow_frame_suspended(struct thrum__paths *paths, uint32_t parent, uint32_t reason,
	uint32_t *frame)
{
	struct thrum__frame added = {.parent = parent,
		.depth = paths->frames[parent].depth + 1,
		.task = THRUM__NONE,
		.doing = THRUM__DOING_SUSPENDED};
	char name[THRUM__LABEL_PATTERN_MAX];
	size_t size;
	const char *text = thrum__model_string(paths->model, reason, &size);

	size = thrum__analyse_label_pattern(text, size, name);
	if (thrum__base_keys_add(&paths->names, THRUM__DOING_SUSPENDED, name, size, &added.name) <
		0)
		return -THRUM_E_MEMORY;
	return add_frame(paths, added, frame);
}

bool thrum__slow_frame_is_lock(const struct thrum__paths *paths, uint32_t frame)
{
	uint32_t task = paths->frames[frame].task;

	return thrum__model_has_row(&paths->model->tasks, task) &&
		thrum__analyse_task_is_lock(paths->model, task);
}

const char *thrum__slow_frame_name(const struct thrum__paths *paths, uint32_t frame, size_t *size)
{
	return thrum__base_keys_text(&paths->names, paths->frames[frame].name, size);
}
