/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that hung until the program was torn down: something cancelled them, or made them
 * fail, when all was over. That is not the cause. The cause is the task for which they waited then,
 * perhaps through others.
 */
#include <stdlib.h>

#include "analyse/why/parts.h"

#define LOOK_BACK 64    /* edges or notes of a task that are searched, from the latest back */
#define WAY_MAX 16      /* waits from the victim to the task that hung */
#define KEPT 3          /* of these, the last ones have steps */
#define LONG 1000000000 /* ns; a wait is long if nothing tells how long it usually takes */
#define SLACK 100000000 /* ns that a tear-down may take; and a tenth of the time before it */
#define MARKED_MIN 8    /* so many tasks must have resolved before others like them should */

/* The tasks with one peers' key. */
struct kin {
	uint32_t resolved;
	int64_t longest; /* life of these */
	int64_t last;    /* when the last task was created or resolved */
};

/* The work that was done before a tear-down. */
struct work {
	struct kin *kin; /* by peers' key */
	int64_t last;    /* when the last task resolved that is not resolved from outside; or -1 */
};

/* The wait of a task that was not over when the task ended. */
struct wait {
	uint32_t task, on, edge;
};

/* The edge by which another task ended this one without success, or NONE. */
static uint32_t ended_by(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge); i++) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_CANCEL || kind == THRUM__EDGE_FAIL)
			return THRUM__EDGE(model, edge, from) == task ? THRUM__NONE : edge;
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return THRUM__NONE;
}

/* Sets *wait to the latest wait of a task, if that was not over at a time. Sets *unknown if that is
 * forgotten. */
static bool wait_at(const struct thrum__model *model, uint32_t task, int64_t time,
	struct wait *wait, bool *unknown)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_out)) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t on = THRUM__EDGE(model, edge, to);

		if (THRUM__EDGE(model, edge, time) >= time)
			continue;
		if (kind == THRUM__EDGE_READ || kind == THRUM__EDGE_LOCK)
			return false;
		if (kind != THRUM__EDGE_WAIT)
			continue;
		*unknown = !thrum__model_has_row(&model->tasks, on);
		if (*unknown)
			return false;
		on = thrum__model_heir(model, on);
		*wait = (struct wait){task, on, edge};
		/* Those who tear down may end it just before those who wait for it. */
		return on != task && THRUM__TASK(model, on, state) != THRUM__STATE_RESOLVED;
	}
	*unknown = thrum__why_is_cut(&model->edges, edge);
	return false;
}

/* The time at which a task is due, or -1. */
static int64_t due_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->notes, note); i++) {
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return THRUM__NOTE(model, note, value);
		note = THRUM__NOTE(model, note, prev);
	}
	return -1;
}

/* How certain a task hung at a time, as it was old then; -1: nothing tells so. */
static int is_hung(const struct thrum__search *search, const struct work *work, uint32_t task,
	int64_t time)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task);
	int64_t age = time - THRUM__TASK(model, task, created);
	bool is_known = key != THRUM__NONE && work->kin[key].resolved > 0;

	if (thrum__analyse_task_is_object(model, task) ||
		thrum__analyse_task_is_lane(model, task) || due_of(model, task) >= time ||
		(is_known && age / 2 <= work->kin[key].longest))
		return -1;
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_HANDLE:
	case THRUM_KIND_THREAD: return -1;
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER: return is_known ? THRUM__LIKELY : -1;
	default: return is_known ? THRUM__LIKELY : age >= LONG ? THRUM__POSSIBLE : -1;
	}
}

/* Whether work of a task's kind goes on after a time, so that the program isn't torn down then. */
static bool goes_on(const struct thrum__search *search, const struct work *work, uint32_t task,
	int64_t time)
{
	uint32_t key = thrum__why_peers_key(&search->peers, task);

	return search->model->last - time > SLACK + time / 10 ||
		(key != THRUM__NONE && work->kin[key].last > time);
}

/* Whether a task that was torn down should have resolved. */
static bool should_resolve(const struct thrum__search *search, const struct work *work,
	uint32_t task)
{
	uint32_t key = thrum__why_peers_key(&search->peers, task);
	const struct thrum__model *model = search->model;

	return THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE ||
		(key != THRUM__NONE && work->kin[key].resolved >= MARKED_MIN &&
			THRUM__TASK(model, task, end) - THRUM__TASK(model, task, created) >
				4 * work->kin[key].longest);
}

/* ---- Findings ------------------------------------------------------------------------------ */

static void add_torn(struct thrum__search *search, const struct wait *waits, unsigned count,
	uint32_t by, int certainty)
{
	const struct thrum__model *model = search->model;
	uint32_t victim = waits[0].task, hung = waits[count - 1].on;
	struct thrum__finding *finding;

	if (*thrum__cause(search, hung) < search->findings->count) {
		search->findings->findings[*thrum__cause(search, hung)].behind++;
		*thrum__cause(search, victim) = *thrum__cause(search, hung);
		return;
	}
	finding = thrum__why_add(search, THRUM__FINDING_NEVER_RESOLVED,
		thrum__why_certainty(search, certainty, THRUM__EDGE(model, waits[0].edge, time)),
		victim);
	if (!finding)
		return;
	finding->until = THRUM__TASK(model, victim, end);
	for (unsigned i = count; i > 0 && count - i < KEPT; i--)
		thrum__why_add_step(finding, i == count ? THRUM__STEP_WAITED : THRUM__STEP_BEHIND,
			waits[i - 1].task, waits[i - 1].on,
			THRUM__EDGE(model, waits[i - 1].edge, time), waits[i - 1].edge);
	thrum__why_add_step(finding,
		THRUM__TASK(model, victim, state) == THRUM__STATE_FAILED ? THRUM__STEP_FAILED
									 : THRUM__STEP_CANCELLED,
		victim, thrum__why_known(model, THRUM__EDGE(model, by, from)),
		THRUM__TASK(model, victim, end), by);
	*thrum__cause(search, victim) = *thrum__cause(search, hung) = search->findings->count - 1;
	thrum__why_mark(search, victim, THRUM__MARK_STUCK);
	thrum__why_mark(search, hung, THRUM__MARK_BEHIND);
}

static void check_victim(struct thrum__search *search, const struct work *work, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t end = THRUM__TASK(model, task, end);
	uint32_t by = ended_by(model, task);
	struct wait waits[WAY_MAX];
	unsigned count = 0;
	bool unknown = false;
	int certainty, own;
	int64_t since;

	if (by == THRUM__NONE || !should_resolve(search, work, task) ||
		goes_on(search, work, task, end))
		return;
	for (uint32_t at = task;
		count < WAY_MAX && wait_at(model, at, end, &waits[count], &unknown);
		at = waits[count++].on)
		if (thrum__analyse_task_is_choice(model, at))
			return; /* any of its waits could have ended */
	/* The task that ended it, or the one that it waited for, may have failed and told so. */
	if (count == 0 || count == WAY_MAX || unknown ||
		(THRUM__EDGE(model, by, from) == waits[0].on &&
			THRUM__EDGE(model, by, kind) == THRUM__EDGE_FAIL))
		return;
	certainty = is_hung(search, work, waits[count - 1].on, end);
	own = is_hung(search, work, task, end);
	if (certainty < 0 || own < 0)
		return;
	certainty = certainty > own ? certainty : own;
	since = THRUM__EDGE(model, waits[0].edge, time);
	/* If nothing tells how long they usually take, the whole program must have hung. */
	if (certainty == THRUM__POSSIBLE && work->last > since + (end - since) / 2)
		return;
	add_torn(search, waits, count, by, certainty);
}

/* Whether a time is so late that a tear-down at the end may have begun. */
static bool is_late(const struct thrum__model *model, int64_t time)
{
	return model->last - time <= SLACK + model->last / 10;
}

static void count_task(const struct thrum__search *search, struct work *work, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task);
	int64_t created = THRUM__TASK(model, task, created), end = THRUM__TASK(model, task, end);
	int kind = THRUM__TASK(model, task, kind);
	bool is_resolved = THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED;
	struct kin *kin;

	if (is_resolved && kind != THRUM_KIND_REQUEST && kind != THRUM_KIND_TIMER &&
		kind != THRUM_KIND_HANDLE && end > work->last && !is_late(model, end))
		work->last = end;
	if (key == THRUM__NONE)
		return;
	kin = &work->kin[key];
	kin->last = created > kin->last ? created : kin->last;
	if (!is_resolved)
		return;
	kin->resolved++;
	kin->last = end > kin->last ? end : kin->last;
	kin->longest = end - created > kin->longest ? end - created : kin->longest;
}

static int count_tasks(const struct thrum__search *search, struct work *work)
{
	const struct thrum__model *model = search->model;

	*work = (struct work){calloc((size_t)search->peers.keys.count + 1, sizeof *work->kin), -1};
	if (!work->kin)
		return -THRUM_E_MEMORY;
	for (uint32_t task = thrum__analyse_next_task(model, 0); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1))
		count_task(search, work, task);
	return 0;
}

/* Whether a task ended without success shortly before the end. */
static bool is_ended_late(const struct thrum__model *model, uint32_t task)
{
	int state = THRUM__TASK(model, task, state);

	return (state == THRUM__STATE_CANCELLED || state == THRUM__STATE_FAILED) &&
		is_late(model, THRUM__TASK(model, task, end));
}

int thrum__why_find_torn(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct work work = {0};

	for (uint32_t task = thrum__analyse_next_task(model, 0); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1)) {
		if (!is_ended_late(model, task))
			continue;
		if (!work.kin && count_tasks(search, &work) < 0)
			return -THRUM_E_MEMORY;
		check_victim(search, &work, task);
	}
	free(work.kin);
	return 0;
}
