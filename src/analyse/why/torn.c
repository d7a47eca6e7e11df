/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that hung until the program was torn down: something cancelled them, or made them
 * fail, when all was over. That is not the cause. The cause is the task for which they waited then,
 * perhaps through others, or a circle of such waits.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/parts.h"

#define LOOK_BACK 64    /* edges of a task that are searched, from the latest back */
#define WAY_MAX 16      /* waits from the victim to the task that hung */
#define KEPT 3          /* of these, the last ones have steps */
#define LONG 1000000000 /* ns; a wait is long if nothing tells how long it usually takes */
#define SLACK 100000000 /* ns that a tear-down may take; and a tenth of the time before it */
#define MARKED_MIN 8    /* so many tasks must have resolved before others like them should */

/* The work that was done before a tear-down. */
struct work {
	bool is_begun; /* some task was torn down, perhaps: `dead` is set */
	int64_t dead;  /* when a loop said last that nothing could wake it; OPEN: never */
	int64_t *
		latest; /* by peers' key: when the last task was created or resolved; NULL: not counted */
	int64_t last; /* when the last task resolved that is not resolved from outside; or -1 */
};

/* The wait of a task that was not over when the task ended. */
struct wait {
	uint32_t task, on, edge;
	uint32_t hold; /* `on` is a lock: the edge by which a task had it then; or NONE */
};

/* The waits from a victim on. */
struct way {
	struct wait waits[WAY_MAX];
	unsigned count;
	unsigned circle; /* the last wait leads back to the task of this one; WAY_MAX: it doesn't */
	uint32_t by;     /* the edge by which the victim ended */
	int64_t start;   /* when the tear-down had begun */
};

/* The edge by which another task ended this one without success, or NONE. */
static uint32_t ended_by(const struct thrum__model *model, uint32_t task)
{
	THRUM__EDGES_TO (model, task, edge, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_CANCEL || kind == THRUM__EDGE_FAIL)
			return THRUM__EDGE(model, edge, from) == task ? THRUM__NONE : edge;
	}
	return THRUM__NONE;
}

/* Sets *wait to the latest wait of a task, if that was not over at a time. Sets *unknown if that is
 * forgotten. */
static bool wait_at(const struct thrum__model *model, uint32_t task, int64_t time,
	struct wait *wait, bool *unknown)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
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
		*wait = (struct wait){task, on, edge, THRUM__NONE};
		/* Those who tear down may end it just before those who wait for it. */
		return on != task && THRUM__TASK(model, on, state) != THRUM__STATE_RESOLVED;
	}
	*unknown = thrum__why_is_cut(&model->edges, edge);
	return false;
}

/* The edge by which a task had a lock at a time, or NONE. */
static uint32_t hold_at(const struct thrum__model *model, uint32_t lock, int64_t time)
{
	THRUM__EDGES_TO (model, lock, edge, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (THRUM__EDGE(model, edge, time) >= time)
			continue;
		if (kind == THRUM__EDGE_UNLOCK)
			return THRUM__NONE;
		if (kind == THRUM__EDGE_LOCK)
			return thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, from))
				? edge
				: THRUM__NONE;
	}
	return THRUM__NONE;
}

/* Follows the waits that were not over at the end of a task. Returns false if one of them is not
 * known, or need not have been over for the task to go on. */
static bool follow_waits(const struct thrum__model *model, uint32_t task, struct way *way)
{
	uint32_t at = task;
	bool unknown = false;

	way->count = 0;
	way->circle = WAY_MAX;
	while (way->count < WAY_MAX &&
		wait_at(model, at, THRUM__TASK(model, task, end), &way->waits[way->count],
			&unknown)) {
		struct wait *wait = &way->waits[way->count++];

		if (thrum__analyse_task_is_choice(model, at))
			return false; /* any of its waits could have ended */
		at = wait->on;
		if (THRUM__TASK(model, at, kind) == THRUM_KIND_LOCK) {
			wait->hold = hold_at(model, at, THRUM__TASK(model, task, end));
			if (wait->hold != THRUM__NONE)
				at = thrum__model_heir(model, THRUM__EDGE(model, wait->hold, from));
		}
		for (unsigned i = 0; i < way->count; i++)
			if (way->waits[i].task == at) {
				way->circle = i;
				return true;
			}
	}
	return way->count > 0 && way->count < WAY_MAX && !unknown;
}

/* How certain a task hung at a time, as it was old then; -1: nothing tells so. */
static int is_hung(const struct thrum__search *search, const struct work *work, uint32_t task,
	int64_t time)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	int64_t created = THRUM__TASK(model, task, created), age = time - created;
	bool is_known = peer && peer->resolved > 0;

	if (created < work->dead && work->dead <= time &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE)
		return THRUM__LIKELY;
	if (thrum__analyse_task_is_lane(model, task) || thrum__why_due_of(model, task) >= time ||
		(is_known && age / 2 <= peer->longest_resolved))
		return -1;
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_HANDLE:
	case THRUM_KIND_THREAD: return -1;
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER: return is_known ? THRUM__LIKELY : -1;
	default: return is_known ? THRUM__LIKELY : age >= LONG ? THRUM__POSSIBLE : -1;
	}
}

/* Whether all that ever served an object had ended before the tear-down. Sets *server and *edge to
 * the last of them, and what it did. */
static bool has_lost_servers(const struct thrum__model *model, const struct way *way,
	uint32_t *server, uint32_t *edge)
{
	const struct wait *last = &way->waits[way->count - 1];
	struct thrum__why_servers servers;

	thrum__why_servers_of(model, last->on, last->task, &servers);
	for (unsigned i = 0; i < servers.count; i++)
		if (THRUM__TASK(model, servers.task[i], end) >= way->start)
			return false;
	*server = servers.task[0];
	*edge = servers.edge[0];
	return servers.count > 0 && servers.is_whole;
}

/* How certain the way's last wait would never have ended. Sets *class. */
static int judge_way(const struct thrum__search *search, const struct work *work,
	const struct way *way, int *class)
{
	const struct thrum__model *model = search->model;
	const struct wait *last = &way->waits[way->count - 1];
	uint32_t server, edge;
	int64_t end = THRUM__TASK(model, way->waits[0].task, end);

	*class = THRUM__FINDING_NEVER_RESOLVED;
	if (way->circle != WAY_MAX) {
		*class = THRUM__FINDING_DEADLOCK;
		return THRUM__LIKELY;
	}
	if (!thrum__analyse_task_is_object(model, last->on))
		return is_hung(search, work, last->on, end);
	if (THRUM__TASK(model, last->on, kind) == THRUM_KIND_CONDITION &&
		thrum__why_lost_signal(model, last->on, last->task,
			THRUM__EDGE(model, last->edge, time)) != THRUM__NONE) {
		*class = THRUM__FINDING_LOST_WAKE_UP;
		return THRUM__LIKELY;
	}
	return has_lost_servers(model, way, &server, &edge) ? THRUM__LIKELY : -1;
}

/* Whether work of a task's kind goes on after a time, so that the program isn't torn down then. */
static bool goes_on(const struct thrum__search *search, const struct work *work, uint32_t task,
	int64_t time)
{
	uint32_t key = thrum__why_peers_key(&search->peers, task);

	if (work->dead <= time)
		return false;
	return search->model->last - time > SLACK + time / 10 ||
		(key != THRUM__NONE && work->latest[key] > time);
}

/* Whether a loop had nothing left that could wake it when the task was torn down. */
static bool was_dead(const struct thrum__model *model, const struct work *work, uint32_t task)
{
	return THRUM__TASK(model, task, created) < work->dead &&
		work->dead <= THRUM__TASK(model, task, end);
}

/* Whether a task that was torn down should have resolved. When its loop was dead, no mark is needed
 * for that. */
static bool should_resolve(const struct thrum__search *search, const struct work *work,
	uint32_t task, bool is_marked)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	const struct thrum__model *model = search->model;

	if (!is_marked)
		return was_dead(model, work, task) && !thrum__analyse_task_is_lane(model, task) &&
			!thrum__analyse_task_is_object(model, task);
	return THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE ||
		(peer && peer->resolved >= MARKED_MIN &&
			THRUM__TASK(model, task, end) - THRUM__TASK(model, task, created) >
				4 * peer->longest_resolved);
}

/* ---- Findings ------------------------------------------------------------------------------ */

/* Adds the step of a task that holds the lock for which a wait of the way is. */
static void add_hold(struct thrum__finding *finding, const struct thrum__model *model,
	const struct wait *wait, int64_t start)
{
	uint32_t holder = wait->hold == THRUM__NONE ? THRUM__NONE
						    : THRUM__EDGE(model, wait->hold, from);
	int64_t end = holder == THRUM__NONE ? 0 : THRUM__TASK(model, holder, end);

	if (holder != THRUM__NONE)
		thrum__why_add_step(finding,
			end < start ? THRUM__STEP_STILL_HOLDS : THRUM__STEP_HOLDS, holder, wait->on,
			end < start ? end : THRUM__EDGE(model, wait->hold, time), wait->hold);
}

/* Adds a step for each wait of a circle. */
static void add_circle(struct thrum__finding *finding, const struct thrum__model *model,
	const struct way *way)
{
	for (unsigned i = way->circle; i < way->count; i++) {
		const struct wait *wait = &way->waits[i];

		finding->count++;
		thrum__why_add_at(finding, model, THRUM__STEP_WAITS_IN_CYCLE, wait->task, wait->on,
			wait->edge);
		add_hold(finding, model, wait, way->start);
	}
}

/* Adds a step for the task that should have ended the last one of a way. */
static void add_blame(struct thrum__search *search, struct thrum__finding *finding,
	const struct way *way, uint32_t hung)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_blame blame = thrum__why_blame(search, hung, way->start);
	uint32_t usual, ender;

	if (blame.kind >= 0) {
		thrum__why_add_blame(finding, model, &blame);
		*thrum__cause(search, blame.task) = search->findings->count - 1;
		return;
	}
	ender = thrum__why_ender_of(search, hung, &usual);
	if (ender != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_SHOULD_END, ender, hung,
			THRUM__TASK(model, hung, created), THRUM__NONE);
}

/* Adds the steps of the cause. Returns how many waits they cover, from the end. */
static unsigned add_cause(struct thrum__search *search, struct thrum__finding *finding,
	const struct way *way)
{
	const struct thrum__model *model = search->model;
	const struct wait *last = &way->waits[way->count - 1];
	int64_t since = THRUM__EDGE(model, last->edge, time);
	uint32_t edge, server;

	if (finding->class == THRUM__FINDING_DEADLOCK) {
		add_circle(finding, model, way);
		return way->count - way->circle;
	}
	if (finding->class == THRUM__FINDING_LOST_WAKE_UP) {
		edge = thrum__why_lost_signal(model, last->on, last->task, since);
		thrum__why_add_at(finding, model, THRUM__STEP_SIGNAL_LOST, last->on,
			thrum__why_known(model, THRUM__EDGE(model, edge, from)), edge);
		thrum__why_add_step(finding, THRUM__STEP_WAITS_LATE, last->task, last->on, since,
			last->edge);
		return 1;
	}
	if (!thrum__analyse_task_is_object(model, last->on))
		add_blame(search, finding, way, last->on);
	else if (has_lost_servers(model, way, &server, &edge))
		thrum__why_add_step(finding, THRUM__STEP_SERVER_ENDED, server, last->on,
			THRUM__TASK(model, server, end), edge);
	thrum__why_add_step(finding, THRUM__STEP_WAITED, last->task, last->on, since, last->edge);
	return 1;
}

static void add_torn(struct thrum__search *search, const struct way *way, int class, int certainty)
{
	const struct thrum__model *model = search->model;
	uint32_t victim = way->waits[0].task, hung = way->waits[way->count - 1].on;
	uint32_t known = *thrum__cause(search, hung);
	struct thrum__finding *finding;
	unsigned covered;

	if (known < search->findings->count) {
		search->findings->findings[known].behind++;
		*thrum__cause(search, victim) = known;
		return;
	}
	finding = thrum__why_add(search, class,
		thrum__why_certainty(search, certainty,
			THRUM__EDGE(model, way->waits[0].edge, time)),
		victim);
	if (!finding)
		return;
	finding->until = THRUM__TASK(model, victim, end);
	covered = add_cause(search, finding, way);
	for (unsigned i = way->count - covered; i > 0 && way->count - i < KEPT; i--) {
		const struct wait *wait = &way->waits[i - 1];

		add_hold(finding, model, wait, way->start);
		thrum__why_add_at(finding, model, THRUM__STEP_BEHIND, wait->task, wait->on,
			wait->edge);
	}
	thrum__why_add_step(finding, THRUM__STEP_TORN_DOWN, victim,
		thrum__why_known(model, THRUM__EDGE(model, way->by, from)),
		THRUM__TASK(model, victim, end), way->by);
	for (unsigned i = 0; i < way->count; i++) {
		*thrum__cause(search, way->waits[i].task) = search->findings->count - 1;
		*thrum__cause(search, way->waits[i].on) = search->findings->count - 1;
		thrum__why_mark(search, way->waits[i].on, THRUM__MARK_BEHIND);
	}
	thrum__why_mark(search, victim, THRUM__MARK_STUCK);
}

/* When the way's tasks began to end together. */
static int64_t start_of(const struct thrum__model *model, const struct way *way)
{
	int64_t start = THRUM__TASK(model, way->waits[0].task, end);

	for (unsigned i = 0; i < way->count; i++) {
		int64_t end = THRUM__TASK(model, way->waits[i].on, end);

		start = end < start ? end : start;
	}
	return start;
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

	if (is_resolved && kind != THRUM_KIND_REQUEST && kind != THRUM_KIND_TIMER &&
		kind != THRUM_KIND_HANDLE && end > work->last && !is_late(model, end))
		work->last = end;
	if (key == THRUM__NONE)
		return;
	work->latest[key] = created > work->latest[key] ? created : work->latest[key];
	if (is_resolved && end > work->latest[key])
		work->latest[key] = end;
}

/* Counts all tasks, unless that is done. */
static int count_tasks(const struct thrum__search *search, struct work *work)
{
	const struct thrum__model *model = search->model;

	if (work->latest)
		return 0;
	work->last = -1;
	work->latest = calloc((size_t)search->peers.keys.count + 1, sizeof *work->latest);
	if (!work->latest)
		return -THRUM_E_MEMORY;
	THRUM__EACH_TASK (model, task)
		count_task(search, work, task);
	return 0;
}

/* Adds a finding if the way tells that its first task hung. */
static void check_way(struct thrum__search *search, const struct work *work, struct way *way)
{
	const struct thrum__model *model = search->model;
	uint32_t task = way->waits[0].task;
	int64_t end = THRUM__TASK(model, task, end), since;
	int certainty, own, class;

	/* The task that ended it, or the one that it waited for, may have failed and told so. */
	if (goes_on(search, work, task, end) ||
		(THRUM__EDGE(model, way->by, from) == way->waits[0].on &&
			THRUM__EDGE(model, way->by, kind) == THRUM__EDGE_FAIL))
		return;
	way->start = start_of(model, way);
	certainty = judge_way(search, work, way, &class);
	own = is_hung(search, work, task, end);
	if (certainty < 0 || own < 0)
		return;
	certainty = certainty > own ? certainty : own;
	since = THRUM__EDGE(model, way->waits[0].edge, time);
	/* If nothing tells how long they usually take, the whole program must have hung. */
	if (certainty == THRUM__POSSIBLE && work->last > since / 2 + end / 2)
		return;
	add_torn(search, way, class, certainty);
}

static int check_victim(struct thrum__search *search, struct work *work, uint32_t task,
	bool is_marked)
{
	const struct thrum__model *model = search->model;
	struct way way = {.by = ended_by(model, task)};
	int error;

	if (way.by == THRUM__NONE || !should_resolve(search, work, task, is_marked) ||
		!follow_waits(model, task, &way))
		return 0;
	error = count_tasks(search, work);
	if (error == 0)
		check_way(search, work, &way);
	return error;
}

/* The time at which a lane's loop said last that nothing is left that could wake it. */
static int64_t deadlocked_at(const struct thrum__model *model)
{
	for (uint32_t i = model->suspensions.count; i-- > model->suspensions.first;)
		if (thrum__why_rests_for(model, i, THRUM__REASON_DEADLOCKED))
			return THRUM__SUSPENSION(model, i, start);
	return THRUM__OPEN;
}

/* Whether a task ended without success shortly before the end. */
static bool is_ended_late(const struct thrum__model *model, uint32_t task)
{
	int state = THRUM__TASK(model, task, state);

	return (state == THRUM__STATE_CANCELLED || state == THRUM__STATE_FAILED) &&
		is_late(model, THRUM__TASK(model, task, end));
}

/* Checks all tasks that may have been torn down. */
static int check_all(struct thrum__search *search, struct work *work, bool is_marked)
{
	const struct thrum__model *model = search->model;
	int error = 0;

	for (uint32_t task = thrum__why_next(search, 0, THRUM__SORT_FAILED);
		task < model->tasks.count && error == 0;
		task = thrum__why_next(search, task + 1, THRUM__SORT_FAILED)) {
		if (!is_ended_late(model, task) || *thrum__cause(search, task) != THRUM__NONE)
			continue;
		if (!work->is_begun)
			work->dead = deadlocked_at(model);
		work->is_begun = true;
		error = check_victim(search, work, task, is_marked);
	}
	return error;
}

int thrum__why_find_torn(struct thrum__search *search)
{
	struct work work = {0};
	int error = check_all(search, &work, true);

	if (error == 0 && work.is_begun && work.dead != THRUM__OPEN)
		error = check_all(search, &work, false);
	free(work.latest);
	return error;
}
