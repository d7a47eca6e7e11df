/* SPDX-License-Identifier: ISC */
/*
 * Objects that a task makes anew for each of its waits, as on its stack. Nobody has ever served the one for
 * which it waits now. Those of its earlier waits tell who should. A time limit that was forgotten shows also
 * where all wait for one object.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 4096        /* edges of the waiter that are searched, from the latest back */
#define SIGNALS_BACK 1024     /* edges of an object */
#define WAITS_MAX 64          /* earlier waits that are looked at */
#define SUSPENSIONS_BACK 4096 /* suspensions that are searched for those of a lane */
#define HABIT_MIN 3           /* so many earlier waits show what the server does meanwhile */
#define LIMITS_MIN 8          /* so many rests show that a loop always has a time limit */
#define LONGER 20             /* so many times as long as any of these it rests now */
#define NAMED 1000000         /* ns after a rest for work: then it is told as one for an object */

/* The earlier waits of a task for the object for which it waits now, or for such ones, the latest first. */
struct earlier {
	uint32_t wait[WAITS_MAX]; /* edges */
	unsigned count;
};

static void find_earlier(const struct thrum__search *search, const struct thrum__why_link *link,
	struct earlier *earlier)
{
	const struct thrum__model *model = search->model;

	earlier->count = 0;
	THRUM__ACTS_OF (model, link->task, edge, LOOK_BACK, THRUM__EDGE_WAIT) {
		uint32_t on = THRUM__EDGE(model, edge, to);

		if (earlier->count == WAITS_MAX)
			break;
		if (edge != link->wait.edge && thrum__model_has_row(&model->tasks, on) &&
			thrum__why_is_alike(search, on, link->wait.on))
			earlier->wait[earlier->count++] = edge;
	}
}

/* The tasks that ended these waits, each with its latest edge. Returns false if not all are known. */
static bool find_servers(const struct thrum__model *model, const struct earlier *earlier,
	uint32_t waiter, struct thrum__why_servers *all)
{
	struct thrum__why_servers servers;

	*all = (struct thrum__why_servers){.is_whole = true};
	for (unsigned i = 0; i < earlier->count; i++) {
		thrum__why_servers_of(model, THRUM__EDGE(model, earlier->wait[i], to), waiter,
			&servers);
		for (unsigned k = 0; k < servers.count; k++) {
			if (thrum__why_is_server(all, servers.task[k]))
				continue;
			if (all->count == THRUM__SERVERS_MAX)
				return false;
			all->task[all->count] = servers.task[k];
			all->edge[all->count++] = servers.edge[k];
		}
		if (!servers.is_whole)
			return false;
	}
	return all->count > 0;
}

/* ---- The last of a circle that ended ----------------------------------------------------------- */

/* When a task began to wait for an object like this one, which nobody ever served; -1: it doesn't. */
static int64_t waits_likewise(const struct thrum__search *search, uint32_t task, uint32_t object)
{
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);
	struct thrum__why_servers servers;

	if (!wait || !thrum__why_is_alike(search, wait->on, object) ||
		!thrum__why_is_blocked(search->model, task, wait))
		return -1;
	thrum__why_servers_of(search->model, wait->on, task, &servers);
	return servers.count == 0 && servers.is_whole ? wait->since : -1;
}

uint32_t thrum__why_last_of_circle(const struct thrum__search *search,
	const struct thrum__why_link *link, uint32_t *edge)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_servers servers;
	struct earlier earlier;
	int64_t since = link->wait.since;
	uint32_t gone = THRUM__NONE;

	find_earlier(search, link, &earlier);
	if (search->gap >= 0 || !find_servers(model, &earlier, link->task, &servers))
		return THRUM__NONE;
	for (unsigned i = 0; i < servers.count; i++) {
		uint32_t task = servers.task[i];
		int64_t waits = waits_likewise(search, task, link->wait.on);

		if (!thrum__analyse_task_is_pending(model, task)) {
			if (gone == THRUM__NONE ||
				THRUM__TASK(model, task, end) > THRUM__TASK(model, gone, end)) {
				gone = task;
				*edge = servers.edge[i];
			}
		} else if (waits < 0) {
			return THRUM__NONE;
		} else if (waits > since) {
			since = waits;
		}
	}
	return gone != THRUM__NONE && THRUM__TASK(model, gone, end) > since &&
			THRUM__TASK(model, gone, state) == THRUM__STATE_RESOLVED
		? gone
		: THRUM__NONE;
}

/* ---- A sleeper that forgot its time limit ------------------------------------------------------ */

/* How often a lane began to wait for work in a time: with a limit, and without. */
struct rests {
	unsigned timed, open;
};

static bool is_timed(const struct thrum__model *model, uint32_t row)
{
	return thrum__why_rests_for(model, row, THRUM__REASON_WORK_FOR_A_TIME);
}

/* A lane's waits for work, from the latest back. */
struct walk {
	const struct thrum__model *model;
	uint32_t lane, row;
	unsigned left; /* suspensions that may yet be looked at */
};

/* The next one, a suspension; NONE: there is none, or it isn't known. */
static uint32_t next_rest(struct walk *walk)
{
	const struct thrum__model *model = walk->model;

	while (walk->left > 0 && walk->row-- > model->suspensions.first) {
		walk->left--;
		if (!thrum__model_has_row(&model->suspensions, walk->row))
			return THRUM__NONE;
		if (THRUM__SUSPENSION(model, walk->row, lane) == walk->lane &&
			(is_timed(model, walk->row) ||
				thrum__why_rests_for(model, walk->row, THRUM__REASON_WORK)))
			return walk->row;
	}
	return THRUM__NONE;
}

/* Counts those from this one on that began at a time or later. Returns the one before them, or NONE. */
static uint32_t count_rests(struct walk *walk, uint32_t row, int64_t from, struct rests *rests)
{
	*rests = (struct rests){0};
	for (; row != THRUM__NONE && THRUM__SUSPENSION(walk->model, row, start) >= from;
		row = next_rest(walk))
		if (is_timed(walk->model, row))
			rests->timed++;
		else
			rests->open++;
	return row;
}

/* When the server ended an earlier wait; -1: it didn't. */
static int64_t served_at(const struct thrum__model *model, uint32_t wait, uint32_t server)
{
	int64_t time = -1;

	THRUM__ACTS_ON (model, THRUM__EDGE(model, wait, to), edge, SIGNALS_BACK,
		THRUM__EDGE_SIGNAL) {
		if (THRUM__EDGE(model, edge, time) <= THRUM__EDGE(model, wait, time))
			break;
		if (THRUM__EDGE(model, edge, from) == server)
			time = THRUM__EDGE(model, edge, time);
	}
	return time;
}

/* Whether a lane never began to wait without a limit during these waits, but mostly with one, and often
 * without one at other times. `row` is its latest before the link's wait. */
static bool has_habit(const struct earlier *earlier, uint32_t server, struct walk *walk,
	uint32_t row)
{
	const struct thrum__model *model = walk->model;
	unsigned count = 0, others = 0;

	for (unsigned i = 0; i < earlier->count && row != THRUM__NONE; i++) {
		int64_t served = served_at(model, earlier->wait[i], server);
		struct rests rests;

		if (served < 0)
			continue;
		row = count_rests(walk, row, served, &rests);
		others += rests.open;
		row = count_rests(walk, row, THRUM__EDGE(model, earlier->wait[i], time), &rests);
		if (rests.open > 0)
			return false;
		count += rests.timed > 0 || (row != THRUM__NONE && is_timed(model, row));
	}
	return count >= HABIT_MIN && others >= HABIT_MIN;
}

/* The edge of the signal that ended a wait for work at a time, if somebody else gave it; or NONE. */
static uint32_t waker_at(const struct thrum__model *model, uint32_t task, uint32_t on,
	int64_t ended)
{
	THRUM__ACTS_ON (model, on, edge, LOOK_BACK, THRUM__EDGE_SIGNAL)
		if (THRUM__EDGE(model, edge, time) <= ended)
			return THRUM__EDGE(model, edge, from) != task ? edge : THRUM__NONE;
	return THRUM__NONE;
}

uint32_t thrum__why_without_limit(const struct thrum__search *search,
	const struct thrum__why_link *link, uint32_t *edge)
{
	const struct thrum__model *model = search->model;
	struct walk walk = {model, .row = model->suspensions.count, .left = SUSPENSIONS_BACK};
	const struct thrum__analyse_wait *wait;
	struct thrum__why_servers servers;
	struct earlier earlier;
	uint32_t last;

	find_earlier(search, link, &earlier);
	if (search->gap >= 0 || !find_servers(model, &earlier, link->task, &servers) ||
		servers.count != 1 || !thrum__analyse_task_is_pending(model, servers.task[0]))
		return THRUM__NONE;
	wait = thrum__why_wait_of(search, servers.task[0]);
	walk.lane = thrum__why_last_lane(model, servers.task[0]);
	if (!wait || !thrum__why_lane_rests_for(model, walk.lane, THRUM__REASON_WORK) ||
		is_timed(model, next_rest(&walk)))
		return THRUM__NONE;
	last = next_rest(&walk);
	if (last == THRUM__NONE || !is_timed(model, last) ||
		THRUM__SUSPENSION(model, last, end) < link->wait.since)
		return THRUM__NONE;
	*edge = waker_at(model, servers.task[0], wait->on, THRUM__SUSPENSION(model, last, end));
	return *edge != THRUM__NONE &&
			THRUM__EDGE(model, *edge, time) >= THRUM__SUSPENSION(model, last, start) &&
			has_habit(&earlier, servers.task[0], &walk, last)
		? servers.task[0]
		: THRUM__NONE;
}

bool thrum__why_lost_limit(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct walk walk = {model, .row = model->suspensions.count, .left = SUSPENSIONS_BACK};
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);
	int64_t longest = 0;
	unsigned count = 0;
	uint32_t row;

	walk.lane = thrum__why_last_lane(model, task);
	if (!wait || walk.lane == THRUM__NONE || search->gap >= 0 ||
		!thrum__why_spend(search, SUSPENSIONS_BACK))
		return false;
	row = next_rest(&walk);
	/* The adapters tell for whom it waits after a while, in the same rest. */
	if (row == THRUM__NONE || is_timed(model, row) ||
		THRUM__SUSPENSION(model, row, start) > wait->since ||
		THRUM__SUSPENSION(model, row, end) < wait->since - NAMED)
		return false;
	while ((row = next_rest(&walk)) != THRUM__NONE) {
		int64_t took = THRUM__SUSPENSION(model, row, end) -
			THRUM__SUSPENSION(model, row, start);

		if (!is_timed(model, row))
			return false;
		longest = took > longest ? took : longest;
		count++;
	}
	return count >= LIMITS_MIN && (model->end - wait->since) / LONGER > longest;
}
