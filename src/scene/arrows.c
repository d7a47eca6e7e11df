/* SPDX-License-Identifier: ISC */
/* Going along arrows: from a task to its creator, to the task it waits for, or to its waker. */
#include "scene/move.h"

#define CHAIN_MAX 1000   /* tasks of a unit that are looked at */
#define EDGES_MAX 100000 /* edges of these tasks that are looked at */
#define ANSWERS_MAX 32   /* reads and locks that are remembered while a wait is looked for */

/* The tasks to which arrows of a unit lead, one task of each other unit, and the times of the
 * arrows. */
struct targets {
	const struct thrum__scene *scene;
	uint32_t unit, edges_left;
	uint32_t count, task[THRUM__ARROWS_MAX];
	int64_t time[THRUM__ARROWS_MAX];
};

static void add_target(struct targets *targets, uint32_t task, int64_t time)
{
	const struct thrum__layout *layout = targets->scene->layout;
	uint32_t unit = thrum__layout_unit(layout, task);

	if (!thrum__model_has_row(&targets->scene->model->tasks, task) || unit == THRUM__NONE ||
		unit == targets->unit || targets->count == THRUM__ARROWS_MAX)
		return;
	for (uint32_t i = 0; i < targets->count; i++)
		if (thrum__layout_unit(layout, targets->task[i]) == unit)
			return;
	targets->task[targets->count] = task;
	targets->time[targets->count++] = time;
}

static bool is_wait(int kind)
{
	return kind == THRUM__EDGE_WAIT || kind == THRUM__EDGE_LOCK;
}

static bool is_read(int kind)
{
	return kind == THRUM__EDGE_READ || kind == THRUM__EDGE_READ_LATER;
}

static bool is_waking(int kind)
{
	return kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_FAIL ||
		kind == THRUM__EDGE_CANCEL || kind == THRUM__EDGE_SIGNAL ||
		kind == THRUM__EDGE_UNLOCK || kind == THRUM__EDGE_LINK || kind == THRUM__EDGE_READY;
}

/* Adds the other ends of edges of some kinds, for each task of a chain from `task` on. The latest
 * edges of a task come first. */
static void add_edges(struct targets *targets, uint32_t task, bool is_out,
	bool (*is_such)(int kind))
{
	const struct thrum__model *model = targets->scene->model;

	for (uint32_t i = 0; i < CHAIN_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		uint32_t edge = is_out ? THRUM__TASK(model, task, edge_out)
				       : THRUM__TASK(model, task, edge_in);

		for (; thrum__model_has_row(&model->edges, edge) && targets->edges_left > 0;
			targets->edges_left--) {
			if (is_such(THRUM__EDGE(model, edge, kind)))
				add_target(targets,
					is_out ? THRUM__EDGE(model, edge, to)
					       : THRUM__EDGE(model, edge, from),
					THRUM__EDGE(model, edge, time));
			edge = is_out ? THRUM__EDGE(model, edge, prev_out)
				      : THRUM__EDGE(model, edge, prev_in);
		}
		task = thrum__layout_next(targets->scene->layout, model, task);
	}
}

/* Adds what the chain from `task` on waits for now: the latest wait that nothing has answered. */
static void add_current(struct targets *targets, uint32_t task)
{
	const struct thrum__model *model = targets->scene->model;
	uint32_t answered[ANSWERS_MAX], count = 0, last = task, edge;

	for (uint32_t i = 0; i < CHAIN_MAX && task != THRUM__NONE; i++) {
		last = task;
		task = thrum__layout_next(targets->scene->layout, model, task);
	}
	edge = THRUM__TASK(model, last, edge_out);
	for (uint32_t i = 0; i < EDGES_MAX && thrum__model_has_row(&model->edges, edge); i++) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t to = THRUM__EDGE(model, edge, to), k = 0;

		while (k < count && answered[k] != to)
			k++;
		if (kind == THRUM__EDGE_WAIT && k == count) {
			add_target(targets, to, THRUM__EDGE(model, edge, time));
			return;
		}
		if ((kind == THRUM__EDGE_LOCK || is_read(kind)) && k == count &&
			count < ANSWERS_MAX)
			answered[count++] = to;
		edge = THRUM__EDGE(model, edge, prev_out);
	}
}

/* Adds the creator of a unit's first task; if there is none, the unit's parent. */
static void add_creator(struct targets *targets)
{
	const struct thrum__layout *layout = targets->scene->layout;
	const struct thrum__model *model = targets->scene->model;
	uint32_t first = layout->units[targets->unit].task, parent;

	add_target(targets, THRUM__TASK(model, first, creator), THRUM__TASK(model, first, created));
	parent = thrum__layout_parent(layout, &layout->units[targets->unit]);
	if (targets->count == 0 && parent != THRUM__NONE)
		add_target(targets, layout->units[parent].task, layout->units[targets->unit].start);
}

static void find_targets(struct targets *targets, const struct thrum__scene *scene, int command,
	uint32_t task)
{
	*targets = (struct targets){.scene = scene,
		.unit = thrum__layout_unit(scene->layout, task),
		.edges_left = EDGES_MAX};
	if (targets->unit == THRUM__NONE)
		return;
	if (command == THRUM__COMMAND_CREATOR) {
		add_creator(targets);
	} else if (command == THRUM__COMMAND_AWAITED) {
		add_current(targets, task);
		add_edges(targets, task, true, is_wait);
		add_edges(targets, task, true, is_read);
	} else {
		add_edges(targets, task, false, is_waking);
	}
}

static int go_to_target(struct thrum__scene *scene, uint32_t task, int64_t time)
{
	uint32_t track = thrum__layout_track(scene->layout,
		thrum__layout_unit(scene->layout, task));

	thrum__scene_remember(scene);
	if (time < scene->state.from || time > scene->state.to)
		thrum__scene_set_window_around(scene, time, time,
			(scene->state.to - scene->state.from) / 2);
	if (thrum__scene_select(scene, task) < 0 || thrum__scene_show_track(scene, track) < 0)
		return -THRUM_E_MEMORY;
	return 1;
}

int thrum__scene_follow_arrow(struct thrum__scene *scene, int command)
{
	struct thrum__scene_arrow *last = &scene->arrow;
	uint32_t from = scene->selected, index = 0;
	bool is_again = last->command == command && last->from != last->to;
	struct targets targets;

	if (!thrum__model_has_row(&scene->model->tasks, from))
		return 0;
	/* The user came back to where the last arrow began: go to the next of several targets. */
	if (is_again && from == last->from)
		index = last->index + 1;
	find_targets(&targets, scene, command, from);
	if (targets.count == 0 && is_again && from == last->to) {
		from = last->from;
		index = last->index + 1;
		find_targets(&targets, scene, command, from);
	}
	if (targets.count == 0)
		return 0;
	index %= targets.count;
	if (targets.task[index] == scene->selected)
		return 0;
	*last = (struct thrum__scene_arrow){command, from, targets.task[index], index};
	return go_to_target(scene, targets.task[index], targets.time[index]);
}
