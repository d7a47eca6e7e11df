/* SPDX-License-Identifier: ISC */
/*
 * Finds runs that don't end: a task has its lane until the recording ends, far longer than any task
 * had it before, and others that took their turns there just before have none since. Nothing has to
 * happen after such a run began. A task also keeps its lane in many runs, if nobody else runs between
 * them and the lane never rests: so it is if it has priority and is ready again at once.
 */
#include <stdlib.h>

#include "analyse/why/parts.h"

#define LONG_RUN 250000000   /* ns; shorter runs are never suspicious */
#define LONG_KEEP 500000000  /* the same if one task has the lane in many runs */
#define KEEP_RUNS (1u << 18) /* runs that are read for that, from the latest back */
#define TIMES 10             /* and a run must be so many times as long as the longest before it */
#define PEERS_MIN 2          /* by so many peers that ended, too, */
#define PEERS_TIMES 50       /* and then it must be so many times as long as the longest lived */
#define LOOK_BACK 64         /* edges to a task that are searched, from the latest back */
#define RUNS_MIN 6           /* by so many runs, it is known how long they are */

/* A lane whose last run doesn't end. */
struct lane {
	uint32_t task;   /* which runs */
	int64_t start;   /* of that run; OPEN: it is none of those */
	int64_t longest; /* run before it */
	uint32_t runs;   /* before it */
};

/* If the last run of a lane goes on and may be endless, sets its start. */
static void look_at_run(const struct thrum__search *search, uint32_t number, struct lane *lane)
{
	const struct thrum__model *model = search->model;
	uint32_t run = model->lanes[number].run, task;
	struct thrum__analyse_waits waits;

	if (!thrum__model_has_row(&model->runs, run) ||
		model->end - THRUM__RUN(model, run, start) < LONG_RUN)
		return;
	task = THRUM__RUN(model, run, task);
	if (!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_task_is_lane(model, task))
		return;
	/* A task that waits may only seem to run. */
	waits = thrum__analyse_graph_waits(&search->graph, task);
	if (waits.count > 0)
		return;
	lane->task = task;
	lane->start = THRUM__RUN(model, run, start);
}

/* If one task, and nobody else, ran on a lane until the end, and the lane hardly rested meanwhile,
 * sets the start of its first run. */
static void look_at_runs(const struct thrum__search *search, uint32_t number, struct lane *lane)
{
	const struct thrum__model *model = search->model;
	uint32_t own = model->lanes[number].task, task = THRUM__NONE, at = model->runs.count;
	int64_t start = THRUM__OPEN, busy = 0;

	/* A lane that rests since before is kept by nobody. */
	if (model->end - model->lanes[number].last > LONG_KEEP)
		return;
	for (unsigned i = 0; i < KEEP_RUNS / (model->lane_count + 1) && at-- > model->runs.first;
		i++) {
		int64_t end;

		if (!thrum__model_has_row(&model->runs, at) ||
			THRUM__RUN(model, at, lane) != number)
			continue;
		if (THRUM__RUN(model, at, task) != own && task == THRUM__NONE)
			task = THRUM__RUN(model, at, task);
		if (THRUM__RUN(model, at, task) != own && THRUM__RUN(model, at, task) != task)
			break;
		end = THRUM__RUN(model, at, end) == THRUM__OPEN ? model->end
								: THRUM__RUN(model, at, end);
		if (THRUM__RUN(model, at, task) == task) {
			start = THRUM__RUN(model, at, start);
			busy += end - start;
		}
		if (start != THRUM__OPEN && busy < (model->end - start) / TIMES * (TIMES - 1))
			return;
	}
	if (start == THRUM__OPEN || model->end - start < LONG_KEEP ||
		!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_graph_waits(&search->graph, task).count > 0)
		return;
	lane->task = task;
	lane->start = start;
}

/* Reads how long the runs of tasks on these lanes were before. */
static void read_runs(const struct thrum__model *model, struct lane *lanes)
{
	for (uint32_t run = model->runs.first; run < model->runs.count; run++) {
		struct lane *lane;
		int64_t time;

		if (!thrum__model_has_row(&model->runs, run)) {
			run |= THRUM__BLOCK_MASK;
			continue;
		}
		lane = &lanes[THRUM__RUN(model, run, lane)];
		if (lane->start == THRUM__OPEN || THRUM__RUN(model, run, start) >= lane->start ||
			!thrum__model_has_row(&model->tasks, THRUM__RUN(model, run, task)) ||
			thrum__analyse_task_is_lane(model, THRUM__RUN(model, run, task)))
			continue;
		time = THRUM__RUN(model, run, end) - THRUM__RUN(model, run, start);
		lane->longest = time > lane->longest ? time : lane->longest;
		lane->runs++;
	}
}

/* Whether the last run of a lane is far longer than those before it, or than the lives of the tasks
 * like the one that runs. */
static bool is_endless(const struct thrum__search *search, const struct lane *lanes, uint32_t i)
{
	const struct thrum__model *model = search->model;
	const struct lane *lane = &lanes[i];
	const struct thrum__peer *peer;
	int64_t time = model->end - lane->start;

	if (lane->start == THRUM__OPEN)
		return false;
	peer = thrum__why_peers_of(&search->peers, lane->task);
	return (lane->runs >= RUNS_MIN && time / TIMES > lane->longest) ||
		(peer && peer->ended >= PEERS_MIN && time / PEERS_TIMES > peer->longest);
}

/* Whether nothing but this lane is left that could end a task's wait. */
static bool is_alone(const struct thrum__model *model, uint32_t lane)
{
	for (uint32_t i = 0; i < model->lane_count; i++)
		if (i != lane && thrum__analyse_task_is_pending(model, model->lanes[i].task))
			return false;
	return true;
}

/* Whether a pending task waits for this one. */
static bool is_awaited(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	THRUM__EDGES_TO (model, task, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && from != task &&
			thrum__analyse_task_is_pending(model, from) &&
			!thrum__analyse_task_is_lane(model, from))
			return true;
	}
	return false;
}

/* Whether a task lost its turn as a lane's last run began. Sets *delay. */
static bool has_no_turn(const struct thrum__search *search, const struct lane *lanes, uint32_t task,
	struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	uint32_t run = THRUM__TASK(model, task, run), lane;
	bool is_marked = THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE;

	if (!thrum__model_has_row(&model->runs, run) ||
		thrum__analyse_task_is_object(model, task) ||
		thrum__analyse_task_is_lane(model, task) ||
		THRUM__TASK(model, task, flags) & THRUM__TASK_DUE)
		return false;
	lane = THRUM__RUN(model, run, lane);
	/* It took its turns until lately. */
	if (!is_endless(search, lanes, lane) || THRUM__RUN(model, run, end) > lanes[lane].start ||
		lanes[lane].start - THRUM__RUN(model, run, end) > model->end - lanes[lane].start)
		return false;
	/* It may be idle. */
	if (!is_marked && !thrum__why_peers_is_overdue(&search->peers, task) &&
		!is_awaited(search, task))
		return false;
	if (thrum__analyse_graph_waits(&search->graph, task).count > 0 &&
		(!is_alone(model, lane) || thrum__why_peers_is_young(&search->peers, task)))
		return false;
	*delay = (struct thrum__delay){.kind = THRUM__DELAY_TURN,
		.certainty = is_marked ? THRUM__LIKELY : THRUM__POSSIBLE,
		.task = task,
		.by = THRUM__NONE,
		.lane = lane,
		.ready = lanes[lane].start,
		.ran = model->end,
		.edge = THRUM__NONE};
	return true;
}

int thrum__why_find_endless(struct thrum__search *search)
{
	const unsigned sorts = THRUM__SORT_MARKED | THRUM__SORT_WANTED;
	const struct thrum__model *model = search->model;
	struct lane *lanes = calloc((size_t)model->lane_count + 1, sizeof *lanes);
	struct thrum__delay delay;
	bool has_any = false;

	if (!lanes)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < model->lane_count; i++) {
		lanes[i].start = THRUM__OPEN;
		look_at_run(search, i, &lanes[i]);
		if (lanes[i].start == THRUM__OPEN)
			look_at_runs(search, i, &lanes[i]);
		has_any |= lanes[i].start != THRUM__OPEN;
	}
	/* A program that stops recording, or exits, ends the run in its own time. */
	if (has_any && model->ending != THRUM_ENDING_STOPPED &&
		model->ending != THRUM_ENDING_EXITED) {
		read_runs(model, lanes);
		for (uint32_t i = model->lane_count; i-- > 0;) {
			if (!is_endless(search, lanes, i))
				continue;
			search->endless = lanes[i].task;
			search->endless_since = lanes[i].start;
		}
		THRUM__WHY_EACH (search, task, sorts)
			if (thrum__analyse_task_is_pending(model, task) &&
				*thrum__cause(search, task) == THRUM__NONE &&
				has_no_turn(search, lanes, task, &delay))
				thrum__why_blame_hog(search, &delay);
	}
	free(lanes);
	return 0;
}
