/* SPDX-License-Identifier: ISC */
/* Finds the lanes that are blocked, and the tasks that only these would end, as they did others like them. */
#include "analyse/why/deadlock/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define LOOK_BACK 64    /* edges or runs of a task that are searched, from the latest back */
#define PROOF 3         /* tasks that ended on the lanes, so that others like them do */
#define LONG 1000000000 /* ns */
#define KINDS 256

/* The lanes on which the tasks with one key, or of one kind, ended. */
struct carriers {
	uint32_t lanes[THRUM__CARRIERS_MAX];
	uint32_t count, tasks;
	bool is_wanted;
	bool is_open; /* some ended on a lane that isn't known, or on too many */
};

/* The counts of all tasks. */
struct counted {
	struct carriers *by_key, *by_kind;
	struct carriers own; /* of the task that is looked at, if it ran itself */
};

/* ---- Blocked lanes -------------------------------------------------------------------------- */

uint32_t thrum__why_blocker_of(const struct thrum__search *search, uint32_t number)
{
	const struct thrum__model *model = search->model;
	const struct thrum__lane *lane = &model->lanes[number];
	uint32_t task = lane->running, run;
	struct thrum__analyse_waits waits;

	if (lane->is_unknown || !thrum__analyse_task_is_pending(model, task))
		return THRUM__NONE;
	/* The own task of a lane that runs others may wait in a loop that goes on running them. */
	if (task == lane->task && lane->ran > 0)
		return THRUM__NONE;
	waits = thrum__analyse_graph_waits(&search->graph, task);
	run = THRUM__TASK(model, task, run);
	if (waits.count == 0 || thrum__model_last_edge(model, task) != waits.waits[0].edge ||
		!thrum__model_has_row(&model->runs, run))
		return THRUM__NONE;
	/* It may have been woken since, but not to go on. */
	return (lane->suspended != THRUM__NONE && task != lane->task) ||
			THRUM__RUN(model, run, start) <= waits.waits[0].since
		? task
		: THRUM__NONE;
}

static int find_blockers(const struct thrum__search *search, struct thrum__why_lanes *lanes)
{
	const struct thrum__model *model = search->model;

	lanes->blocker = malloc(((size_t)model->lane_count + 1) * sizeof *lanes->blocker);
	if (!lanes->blocker)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < model->lane_count; i++) {
		lanes->blocker[i] = thrum__why_blocker_of(search, i);
		lanes->blocked += lanes->blocker[i] != THRUM__NONE;
	}
	return 0;
}

uint32_t thrum__why_timed_task(const struct thrum__model *model, uint32_t lane)
{
	const struct thrum__lane *at = &model->lanes[lane];
	uint32_t task = thrum__why_task_of_lane(at);

	return thrum__model_has_row(&model->tasks, task) &&
			thrum__why_rests_for(model, thrum__why_resting(model, at),
				THRUM__REASON_BLOCKED_FOR_A_TIME)
		? thrum__model_heir(model, task)
		: THRUM__NONE;
}

/* ---- The lanes of tasks that ended ---------------------------------------------------------- */

/* The lane on which a task ran last at or before a time; NONE if it isn't known. */
static uint32_t lane_at(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t run = THRUM__TASK(model, task, run);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->runs, run);
		i++, run = THRUM__RUN(model, run, prev))
		if (THRUM__RUN(model, run, start) <= time)
			return THRUM__RUN(model, run, lane);
	return THRUM__NONE;
}

/* The lane on which a task ended: where it ran last, or else where the task was that ended it. */
static uint32_t last_lane(const struct thrum__model *model, uint32_t task)
{
	uint32_t lane = lane_at(model, task, THRUM__OPEN);
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (int i = 0;
		lane == THRUM__NONE && i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_FAIL)
			return thrum__model_has_row(&model->tasks, from)
				? lane_at(model, from, THRUM__EDGE(model, edge, time))
				: THRUM__NONE;
	}
	return lane;
}

static void add_carrier(struct carriers *carriers, uint32_t lane)
{
	carriers->tasks++;
	if (thrum__why_is_among(carriers->lanes, carriers->count, lane))
		return;
	if (lane == THRUM__NONE || carriers->count == THRUM__CARRIERS_MAX)
		carriers->is_open = true;
	else
		carriers->lanes[carriers->count++] = lane;
}

/* Whether tasks of this kind run, so that those that never ran are queued somewhere. */
static bool is_run(int kind)
{
	return kind == THRUM_KIND_TASK || kind == THRUM_KIND_FIBER;
}

/* Counts a task for its key, and if it ran, for its kind. */
static void count_task(const struct thrum__search *search, struct counted *counted, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task);
	int state = THRUM__TASK(model, task, state);
	int kind = THRUM__TASK(model, task, kind);

	if (thrum__analyse_task_is_lane(model, task))
		return;
	if (is_run(kind) && THRUM__TASK(model, task, run) != THRUM__NONE)
		add_carrier(&counted->by_kind[kind], lane_at(model, task, THRUM__OPEN));
	if (key != THRUM__NONE && counted->by_key[key].is_wanted && state != THRUM__STATE_PENDING &&
		state != THRUM__STATE_CANCELLED && state != THRUM__STATE_BECAME &&
		!counted->by_key[key].is_open)
		add_carrier(&counted->by_key[key], last_lane(model, task));
}

/* ---- Tasks that are left -------------------------------------------------------------------- */

/* Whether a loop of GLib's waits for a source that was attached to the context of another one, as an adapter
 * tells: only the lane of that one runs it. */
static bool is_source_elsewhere(const struct thrum__model *model, uint32_t loop)
{
	return THRUM__TASK(model, loop, kind) == THRUM_KIND_TASK &&
		THRUM__BEGINS_WITH(model, loop, "source for the main loop of ");
}

/* Whether a task that another one waits for must be ended by somebody who runs on a lane. */
static bool may_be_left(const struct thrum__search *search, uint32_t waiter, uint32_t task)
{
	const struct thrum__model *model = search->model;

	return (!thrum__why_is_outside(model, task) || is_source_elsewhere(model, waiter)) &&
		thrum__analyse_graph_waits(&search->graph, task).count == 0 &&
		!thrum__analyse_task_is_object(model, task) &&
		!thrum__analyse_task_is_lane(model, task) &&
		!thrum__analyse_task_is_running(model, task) &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_DUE) &&
		!thrum__why_peers_is_young(&search->peers, task);
}

/* The lanes to which a task is left; NULL if that isn't known. Where others like it ended; else,
 * if it ran, where it did last; else, if it is to run, where tasks of its kind do, and one of these
 * made it. Sets *is_weak to whether few of its peers or none prove that. */
static const struct carriers *carriers_of(const struct thrum__search *search,
	struct counted *counted, uint32_t task, bool *is_weak)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task);
	const struct carriers *kind = &counted->by_kind[THRUM__TASK(model, task, kind)];
	const struct carriers *peers = key == THRUM__NONE ? NULL : &counted->by_key[key];

	*is_weak = !peers || peers->tasks < PROOF;
	if (peers && peers->tasks > 0)
		return peers->is_open ? NULL : peers;
	if (THRUM__TASK(model, task, run) != THRUM__NONE) {
		counted->own = (struct carriers){.tasks = 0};
		add_carrier(&counted->own, lane_at(model, task, THRUM__OPEN));
		return counted->own.is_open ? NULL : &counted->own;
	}
	return kind->count > 0 && !kind->is_open &&
			thrum__why_is_among(kind->lanes, kind->count,
				THRUM__TASK(model, task, lane))
		? kind
		: NULL;
}

static int add_left(struct thrum__why_lanes *lanes, uint32_t task, uint32_t wanted,
	const struct carriers *carriers, bool is_weak)
{
	struct thrum__why_left *grown;

	for (uint32_t i = 0; i < carriers->count; i++)
		if (lanes->blocker[carriers->lanes[i]] == THRUM__NONE)
			return 0;
	grown = thrum__base_grow(lanes->left, &lanes->left_room, lanes->left_count + UINT64_C(2),
		sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	lanes->left = grown;
	grown[++lanes->left_count] = (struct thrum__why_left){.task = task,
		.wanted = wanted,
		.count = carriers->count,
		.is_weak = is_weak};
	for (uint32_t i = 0; i < carriers->count; i++)
		grown[lanes->left_count].lanes[i] = carriers->lanes[i];
	return 0;
}

/* Adds a task to those that are left to lanes, if it is. Others want it, or a condition that it is to
 * signal. */
static int add_wanted(const struct thrum__search *search, struct thrum__why_lanes *lanes,
	struct counted *counted, uint32_t wanted, uint32_t task, bool is_proven)
{
	const struct thrum__model *model = search->model;
	uint32_t *number = &lanes->number[thrum__place(&search->findings->places, wanted)];
	uint32_t before = lanes->left_count;
	const struct carriers *carriers;
	bool is_weak;
	int error;

	if (*number > 0)
		return 0;
	carriers = carriers_of(search, counted, task, &is_weak);
	is_weak &= !is_proven;
	/* Without proof, the task must have been left for long, or nobody knows how long. */
	if (!carriers ||
		(is_weak && model->ending != THRUM_ENDING_GONE &&
			model->end - THRUM__TASK(model, task, created) < LONG))
		return 0;
	error = add_left(lanes, task, wanted, carriers, is_weak);
	if (lanes->left_count > before)
		*number = lanes->left_count;
	return error;
}

static void want(const struct thrum__search *search, struct counted *counted, uint32_t task)
{
	uint32_t key = thrum__why_peers_key(&search->peers, task);

	if (key != THRUM__NONE)
		counted->by_key[key].is_wanted = true;
}

/* Adds those for which a task waits. */
static int add_wanted_by(const struct thrum__search *search, struct thrum__why_lanes *lanes,
	struct counted *counted, const struct thrum__analyse_list *list)
{
	const struct thrum__analyse_wait *waits = &search->graph.waits[list->first];
	int error = 0;

	for (uint32_t i = 0; i < list->count && error == 0; i++)
		if (may_be_left(search, list->task, waits[i].on))
			error = add_wanted(search, lanes, counted, waits[i].on, waits[i].on, false);
	return error;
}

/* The task that a list's waiter asked, or NONE. */
struct asked {
	uint32_t task;
	bool is_weak;
};

static int find_left(const struct thrum__search *search, struct thrum__why_lanes *lanes,
	struct counted *counted, struct asked *asked)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_graph *graph = &search->graph;
	int error = 0;

	for (uint32_t i = 0; i < graph->wait_count; i++)
		want(search, counted, graph->waits[i].on);
	for (uint32_t i = 1; i <= graph->list_count; i++) {
		asked[i].task = thrum__why_asked(search, &graph->lists[i], &asked[i].is_weak);
		if (asked[i].task != THRUM__NONE)
			want(search, counted, asked[i].task);
	}
	THRUM__EACH_TASK (model, task)
		count_task(search, counted, task);
	for (uint32_t i = 1; i <= graph->list_count && error == 0; i++)
		error = add_wanted_by(search, lanes, counted, &graph->lists[i]);
	for (uint32_t i = 1; i <= graph->list_count && error == 0; i++)
		if (asked[i].task != THRUM__NONE)
			error = add_wanted(search, lanes, counted,
				graph->waits[graph->lists[i].first].on, asked[i].task,
				!asked[i].is_weak);
	return error;
}

int thrum__why_lanes_make(const struct thrum__search *search, struct thrum__why_lanes *lanes)
{
	struct thrum__why_lanes made = {0};
	struct counted counted = {NULL, NULL, {.tasks = 0}};
	struct asked *asked = NULL;
	int error = find_blockers(search, &made);

	if (error == 0 && made.blocked > 0) {
		made.number = calloc(search->findings->places.count, sizeof *made.number);
		counted.by_key = calloc((size_t)search->peers.keys.count + 1,
			sizeof *counted.by_key);
		counted.by_kind = calloc(KINDS, sizeof *counted.by_kind);
		asked = calloc((size_t)search->graph.list_count + 1, sizeof *asked);
		error = made.number && counted.by_key && counted.by_kind && asked
			? find_left(search, &made, &counted, asked)
			: -THRUM_E_MEMORY;
	}
	free(asked);
	free(counted.by_key);
	free(counted.by_kind);
	if (error < 0)
		thrum__why_lanes_free(&made);
	else
		*lanes = made;
	return error;
}

void thrum__why_lanes_free(struct thrum__why_lanes *lanes)
{
	free(lanes->blocker);
	free(lanes->left);
	free(lanes->number);
	*lanes = (struct thrum__why_lanes){0};
}
