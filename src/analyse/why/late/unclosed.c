/* SPDX-License-Identifier: ISC */
/*
 * Finds a loop that goes on for a handle that was forgotten: a newer one was made in the same place, which
 * took its turns from then on, and that one was closed at once with all others.
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#define CLOSED_MIN 3     /* so many handles unlike each other were closed at once */
#define AT_ONCE 50000000 /* ns */
#define LONG 1000000000  /* ns for which the loop rests since */

/* The handles of a loop. */
struct handles {
	uint32_t left, newer; /* the only one that is open; the only one like it that was closed */
	unsigned closed;      /* that aren't like it */
	int64_t end;          /* when the last of them was closed */
	bool has_other;       /* something else is pending there, or was closed before */
};

static bool is_of_lane(const struct thrum__model *model, uint32_t task, uint32_t lane)
{
	int kind = THRUM__TASK(model, task, kind);

	return THRUM__TASK(model, task, lane) == lane && kind != THRUM_KIND_THREAD &&
		!thrum__analyse_task_is_object(model, task);
}

static void find_left(const struct thrum__model *model, uint32_t lane, struct handles *handles)
{
	THRUM__EACH_TASK (model, task) {
		if (!is_of_lane(model, task, lane))
			continue;
		if (thrum__why_is_handle(model, task) &&
			THRUM__TASK(model, task, end) != THRUM__OPEN &&
			THRUM__TASK(model, task, end) > handles->end)
			handles->end = THRUM__TASK(model, task, end);
		if (!thrum__analyse_task_is_pending(model, task))
			continue;
		handles->has_other |= handles->left != THRUM__NONE ||
			THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE;
		handles->left = task;
	}
}

/* Sorts those that were closed: one is like the one that is left, all others are closed at once with it. */
static void find_closed(const struct thrum__model *model, uint32_t lane, struct handles *handles)
{
	THRUM__EACH_TASK (model, task) {
		if (!is_of_lane(model, task, lane) || !thrum__why_is_handle(model, task) ||
			task == handles->left)
			continue;
		if (THRUM__TASK(model, task, end) < handles->end - AT_ONCE) {
			handles->has_other = true;
		} else if (THRUM__TASK(model, task, name) !=
			THRUM__TASK(model, handles->left, name)) {
			handles->closed++;
		} else {
			handles->has_other |= handles->newer != THRUM__NONE;
			handles->newer = task;
		}
	}
}

/* Whether two handles are connections, each of which ends when its other end does: a server that stops may
 * let the last ones finish, and a client that stops may await its last answer. */
static bool are_connections(const struct thrum__model *model, uint32_t left, uint32_t newer)
{
	uint32_t maker = THRUM__TASK(model, left, creator);

	return thrum__why_is_lasting(model, left) ||
		THRUM__BEGINS_WITH(model, left, "bufferevent", "pipe", "stream") ||
		(maker == THRUM__TASK(model, newer, creator) &&
			thrum__model_has_row(&model->tasks, maker) &&
			thrum__why_is_handle(model, maker));
}

/* Whether a handle had several turns. */
static bool came_again(const struct thrum__model *model, uint32_t task)
{
	uint32_t last = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, last) &&
		thrum__model_has_row(&model->runs, THRUM__RUN(model, last, prev));
}

/* Whether the newer one took the turns of the one that is left. */
static bool is_replaced(const struct thrum__model *model, const struct handles *handles)
{
	uint32_t last = THRUM__TASK(model, handles->left, run);
	int64_t since = THRUM__TASK(model, handles->newer, created);

	return came_again(model, handles->left) && came_again(model, handles->newer) &&
		!are_connections(model, handles->left, handles->newer) &&
		THRUM__TASK(model, handles->left, created) < since &&
		THRUM__RUN(model, last, start) < since + AT_ONCE &&
		THRUM__TASK(model, handles->newer, site) != 0 &&
		THRUM__TASK(model, handles->newer, site) == THRUM__TASK(model, handles->left, site);
}

static void look_at(struct thrum__search *search, uint32_t thread)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = thrum__why_loop_of(model, thread);
	struct handles handles = {.left = THRUM__NONE, .newer = THRUM__NONE, .end = -1};
	struct thrum__finding *finding;

	if (lane == THRUM__NONE || *thrum__cause(search, thread) < search->findings->count)
		return;
	find_left(model, lane, &handles);
	if (handles.left == THRUM__NONE || handles.has_other || model->end - handles.end < LONG)
		return;
	find_closed(model, lane, &handles);
	if (handles.newer == THRUM__NONE || handles.has_other || handles.closed < CLOSED_MIN ||
		!is_replaced(model, &handles))
		return;
	finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
		thrum__why_certainty(search, THRUM__POSSIBLE, handles.end), thread);
	if (!finding)
		return;
	thrum__why_add_step(finding, THRUM__STEP_LEFT_OPEN, handles.left, thread,
		THRUM__TASK(model, handles.left, created), THRUM__NONE);
	thrum__why_add_step(finding, THRUM__STEP_NEVER_RESOLVED, thread, THRUM__NONE, handles.end,
		THRUM__NONE);
	*thrum__cause(search, thread) = search->findings->count - 1;
}

int thrum__why_find_unclosed(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	for (uint32_t i = 0; i < model->lane_count && search->gap < 0 && !model->is_joined; i++)
		if (thrum__model_has_row(&model->tasks, model->lanes[i].task) &&
			thrum__analyse_task_is_pending(model, model->lanes[i].task))
			look_at(search, model->lanes[i].task);
	return 0;
}
