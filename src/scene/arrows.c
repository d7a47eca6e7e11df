/* SPDX-License-Identifier: ISC */
/* Going along the arrows: from a task to who created it, what it waits for, who woke it. */
#include "scene/move.h"

#define CHAIN_MAX 1000   /* tasks of a unit that are looked at */
#define EDGES_MAX 100000 /* edges of these, too */

/* Other units than where one comes from, each once, with the moment of the arrow. */
struct ends {
	const struct thrum__scene *scene;
	uint32_t unit, edges_left;
	uint32_t count, task[THRUM__ARROWS_MAX];
	int64_t time[THRUM__ARROWS_MAX];
};

static void add(struct ends *ends, uint32_t task, int64_t time)
{
	const struct thrum__layout *layout = ends->scene->layout;
	uint32_t unit = thrum__layout_unit(layout, task);

	if (!thrum__model_has_row(&ends->scene->model->tasks, task) || unit == THRUM__NONE ||
		unit == ends->unit || ends->count == THRUM__ARROWS_MAX)
		return;
	for (uint32_t i = 0; i < ends->count; i++)
		if (thrum__layout_unit(layout, ends->task[i]) == unit)
			return;
	ends->task[ends->count] = task;
	ends->time[ends->count++] = time;
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
		kind == THRUM__EDGE_UNLOCK || kind == THRUM__EDGE_LINK;
}

/* Of a unit's tasks from one on, the latest edges of each first. */
static void add_edges(struct ends *ends, uint32_t task, bool is_out, bool (*is_such)(int kind))
{
	const struct thrum__model *model = ends->scene->model;

	for (uint32_t i = 0; i < CHAIN_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		uint32_t edge = is_out ? THRUM__TASK(model, task, edge_out)
				       : THRUM__TASK(model, task, edge_in);

		for (; thrum__model_has_row(&model->edges, edge) && ends->edges_left > 0;
			ends->edges_left--) {
			if (is_such(THRUM__EDGE(model, edge, kind)))
				add(ends,
					is_out ? THRUM__EDGE(model, edge, to)
					       : THRUM__EDGE(model, edge, from),
					THRUM__EDGE(model, edge, time));
			edge = is_out ? THRUM__EDGE(model, edge, prev_out)
				      : THRUM__EDGE(model, edge, prev_in);
		}
		task = thrum__layout_next(ends->scene->layout, model, task);
	}
}

/* Of a chain: who created its first task. */
static void add_creator(struct ends *ends)
{
	const struct thrum__layout *layout = ends->scene->layout;
	const struct thrum__model *model = ends->scene->model;
	uint32_t first = layout->units[ends->unit].task, parent;

	add(ends, THRUM__TASK(model, first, creator), THRUM__TASK(model, first, created));
	parent = thrum__layout_parent(layout, &layout->units[ends->unit]);
	if (ends->count == 0 && parent != THRUM__NONE)
		add(ends, layout->units[parent].task, layout->units[ends->unit].start);
}

static void find(struct ends *ends, const struct thrum__scene *scene, int command, uint32_t task)
{
	*ends = (struct ends){.scene = scene,
		.unit = thrum__layout_unit(scene->layout, task),
		.edges_left = EDGES_MAX};
	if (ends->unit == THRUM__NONE)
		return;
	if (command == THRUM__COMMAND_CREATOR) {
		add_creator(ends);
	} else if (command == THRUM__COMMAND_AWAITED) {
		add_edges(ends, task, true, is_wait);
		add_edges(ends, task, true, is_read);
	} else {
		add_edges(ends, task, false, is_waking);
	}
}

static int go(struct thrum__scene *scene, uint32_t task, int64_t time)
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
	struct ends ends;

	if (!thrum__model_has_row(&scene->model->tasks, from))
		return 0;
	/* Back where one came from: the next of several. */
	if (is_again && from == last->from)
		index = last->index + 1;
	find(&ends, scene, command, from);
	if (ends.count == 0 && is_again && from == last->to) {
		from = last->from;
		index = last->index + 1;
		find(&ends, scene, command, from);
	}
	if (ends.count == 0)
		return 0;
	index %= ends.count;
	if (ends.task[index] == scene->selected)
		return 0;
	*last = (struct thrum__scene_arrow){command, from, ends.task[index], index};
	return go(scene, ends.task[index], ends.time[index]);
}
