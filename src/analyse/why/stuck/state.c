/* SPDX-License-Identifier: ISC */
/* Tells whether anything can still happen in the program, or in one of its processes. */
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define TAIL 10000000 /* ns in which a program that gives up may still record something */
#define LOOK_BACK 64  /* suspensions that are searched for a lane's last, from the latest back */
/* A process's death may let others do something. That takes so many ns, */
#define DYING 20000000
/* and is over so many ns after it, or before the end that is noted: whoever notes it may be late. */
#define NOTED 500000000

/* Whether a lane's last act is a wait that goes on, so that it can do nothing any more: nobody is about to
 * wake it. */
static bool is_lane_blocked(const struct thrum__search *search, const struct thrum__lane *lane)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits;
	uint32_t task = thrum__why_task_of_lane(lane);

	if (!thrum__model_has_row(&model->tasks, task))
		return false;
	waits = thrum__analyse_graph_waits(&search->graph, task);
	return waits.count > 0 && thrum__why_is_blocked(model, task, &waits.waits[0]) &&
		thrum__model_last_edge(model, task) == waits.waits[0].edge &&
		!thrum__why_is_woken(search, &waits.waits[0]);
}

/* The last suspension of a lane: the open one, or one after which the lane did nothing; or NONE. */
static uint32_t last_suspension(const struct thrum__model *model, const struct thrum__lane *lane)
{
	uint32_t last = model->suspensions.count;

	if (lane->suspended != THRUM__NONE)
		return lane->suspended;
	for (int i = 0; i < LOOK_BACK && last-- > model->suspensions.first; i++)
		if (thrum__model_has_row(&model->suspensions, last) &&
			&model->lanes[THRUM__SUSPENSION(model, last, lane)] == lane)
			return lane->last - THRUM__SUSPENSION(model, last, end) < TAIL
				? last
				: THRUM__NONE;
	return THRUM__NONE;
}

/* Whether a lane's loop said last that nothing is left that could wake it. */
static bool is_deadlocked(const struct thrum__model *model, const struct thrum__lane *lane)
{
	return thrum__why_rests_for(model, last_suspension(model, lane), THRUM__REASON_DEADLOCKED);
}

bool thrum__why_is_lane_stuck(const struct thrum__search *search, const struct thrum__lane *lane)
{
	const struct thrum__model *model = search->model;
	uint32_t row = thrum__why_resting(model, lane);

	if (lane->suspended == THRUM__NONE && lane->suspended_ns > 0 &&
		model->end - lane->last < TAIL)
		return false;
	return is_lane_blocked(search, lane) &&
		(!thrum__model_has_row(&model->suspensions, row) ||
			thrum__why_rests_for(model, row, THRUM__REASON_BLOCKED));
}

/* The state of a lane's process, as far as it is known. */
enum {
	PROCESS_UNKNOWN,
	PROCESS_ALIVE,
	PROCESS_DEAD /* nothing can happen in it any more */
};

/* Whether a lane is a thread of libuv's own pool. A loop that has nothing left has given it nothing to do. */
static bool is_pool_thread(const struct thrum__model *model, const struct thrum__lane *lane)
{
	return THRUM__BEGINS_WITH(model, lane->task, "thread libuv");
}

/* Whether a lane of this process can still do something, and whether one can't: of all lanes if the
 * process is NONE. */
static void look_at_process(const struct thrum__search *search, uint32_t process, bool *is_alive,
	bool *is_blocked)
{
	const struct thrum__model *model = search->model;
	bool has_pool = false, is_over = false;

	*is_alive = *is_blocked = false;
	THRUM__EACH_LANE (model, lane) {
		if ((process != THRUM__NONE && lane->process != process) ||
			!thrum__analyse_task_is_pending(model, lane->task))
			continue;
		if (is_deadlocked(model, lane))
			*is_blocked = is_over = true;
		else if (thrum__why_is_lane_stuck(search, lane))
			*is_blocked = true;
		else if (is_pool_thread(model, lane))
			has_pool = true;
		else
			*is_alive = true;
	}
	*is_alive |= has_pool && !is_over;
}

void thrum__why_look_at_lanes(struct thrum__search *search)
{
	static const char *const own[] = {"async", "signal"};
	const struct thrum__model *model = search->model;
	bool is_resting = true, is_alive, is_blocked;

	THRUM__EACH_LANE (model, lane) {
		if (!thrum__analyse_task_is_pending(model, lane->task))
			continue;
		is_resting &= lane->suspended != THRUM__NONE || is_lane_blocked(search, lane);
		search->is_deadlocked |= is_deadlocked(model, lane);
	}
	look_at_process(search, THRUM__NONE, &is_alive, &is_blocked);
	search->is_deadlocked &= !is_alive;
	search->peers.is_over = search->is_deadlocked;
	search->is_dead = is_blocked && !is_alive;
	search->is_open = is_resting && model->ending == THRUM_ENDING_GONE;
	search->is_stranded = search->is_open && !model->is_joined &&
		!thrum__why_awaits_outside(model, own, sizeof own / sizeof *own, true);
}

void thrum__why_look_at_process(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = THRUM__TASK(model, task, lane), process = THRUM__NONE;
	bool is_alive, is_blocked;

	if (!model->is_joined)
		return;
	if (lane < model->lane_count)
		process = model->lanes[lane].process;
	else
		lane = model->lane_count;
	if (search->process[lane] == PROCESS_UNKNOWN) {
		look_at_process(search, process, &is_alive, &is_blocked);
		search->process[lane] = is_blocked && !is_alive ? PROCESS_DEAD : PROCESS_ALIVE;
		for (uint32_t i = 0; i < model->lane_count; i++)
			if (model->lanes[i].process == process)
				search->process[i] = search->process[lane];
	}
	search->is_dead = search->process[lane] == PROCESS_DEAD;
}

/* Whether a path leads to an object in memory that processes share, as the adapters' name for it says. */
static bool is_for_shared(const struct thrum__model *model, const struct thrum__why_path *path)
{
	for (uint32_t i = 0; i < path->length; i++)
		if (strstr(thrum__model_task_name(model, path->links[i].wait.on, NULL),
			    " in shared "))
			return true;
	return false;
}

/* Whether nothing can happen any more in any process that hasn't ended. */
static bool is_all_dead(const struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	THRUM__EACH_LANE (model, lane)
		if (thrum__analyse_task_is_pending(model, lane->task) &&
			!thrum__why_has_ended(model, lane) &&
			!thrum__why_is_lane_stuck(search, lane))
			return false;
	return true;
}

void thrum__why_look_at_sharers(struct thrum__search *search, const struct thrum__why_path *path)
{
	if (search->is_dead && search->model->is_joined && is_for_shared(search->model, path))
		search->is_dead = is_all_dead(search);
}

/* When the process of the first lane ended, if the others did so soon after that; or the model's end. */
static int64_t first_death(const struct thrum__model *model)
{
	const struct thrum__lane *lane = &model->lanes[0];
	int64_t death = model->lane_count > 0 && thrum__why_has_ended(model, lane)
		? THRUM__SUSPENSION(model, lane->suspended, start)
		: model->end;

	return death > model->end - NOTED ? death : model->end;
}

int64_t thrum__why_before_death(const struct thrum__model *model)
{
	int64_t death = first_death(model);

	if (!model->is_joined || model->ending != THRUM_ENDING_KILLED ||
		model->last <= death - NOTED)
		return -1;
	return (model->last < death ? model->last : death) - DYING;
}

bool thrum__why_is_outlived(const struct thrum__model *model)
{
	return model->is_joined && model->ending == THRUM_ENDING_KILLED &&
		!thrum__why_is_polite(model) && first_death(model) < model->last;
}
