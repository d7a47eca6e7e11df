/* SPDX-License-Identifier: ISC */
/*
 * Tells whether those that served an object come no more, although such tasks followed one another: one of
 * them did not serve it. Either the waiter itself made them all, and now it is blocked; or the last one
 * failed, and none came for far longer than ever. Or tells whether the only one that ever served it ended in
 * a turn in which it didn't, while others like it go on, and no timer may begin it anew.
 */
#include "analyse/why/stuck/stuck.h"

#define LOOK_BACK 1024 /* signals of an object that are searched */
#define SERVED_MIN 3
#define TIMES 20          /* so many times as long as ever lay between two of them, none has come */
#define NAP_MAX 500000000 /* ns of a sleep; naps are shorter */
#define TURNS_MIN 8       /* in which the only one served it */
#define AGAIN 3 /* waits for the same object that show a worker which takes job after job */

/* All tasks that are like those that served an object. */
struct series {
	uint32_t maker, last;
	uint32_t served, unserved;
	int64_t longest; /* that lay between two of them */
};

/* Returns false if one of them is pending, if they have several makers, or if that would take too long. */
static bool read_series(struct thrum__search *search, const struct thrum__why_servers *servers,
	struct series *series)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, servers->task[0]);

	*series = (struct series){.maker = THRUM__TASK(model, servers->task[0], creator),
		.last = THRUM__NONE};
	THRUM__EACH_TASK (model, i) {
		int64_t between;

		if (!thrum__why_spend(search, 1))
			return false;
		if (thrum__why_peers_key(&search->peers, i) != key)
			continue;
		if (thrum__analyse_task_is_pending(model, i) ||
			THRUM__TASK(model, i, creator) != series->maker)
			return false;
		between = series->last == THRUM__NONE ? 0
						      : THRUM__TASK(model, i, created) -
				THRUM__TASK(model, series->last, created);
		series->longest = between > series->longest ? between : series->longest;
		series->last = i;
		if (thrum__why_is_server(servers, i))
			series->served++;
		else
			series->unserved++;
	}
	return key != THRUM__NONE && series->served == servers->count;
}

bool thrum__why_have_ceased(struct thrum__search *search, const struct thrum__why_path *path,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct series series;
	int64_t ended;

	if (THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_CONDITION || search->gap >= 0 ||
		servers->count < SERVED_MIN || servers->pending > 0 || !servers->is_whole ||
		!read_series(search, servers, &series) || series.unserved == 0 ||
		series.served <= series.unserved ||
		!thrum__why_is_blocked(model, last->task, &last->wait))
		return false;
	if (series.maker == last->task)
		return true;
	ended = THRUM__TASK(model, series.last, end);
	return series.unserved == 1 && !thrum__why_is_server(servers, series.last) &&
		THRUM__TASK(model, series.last, state) != THRUM__STATE_RESOLVED &&
		model->end - ended >= THRUM__SOON_OUTSIDE &&
		(model->end - ended) / TIMES > series.longest &&
		thrum__why_waits_on(model, last->task, path->leaf) < AGAIN;
}

/* Whether a task served an object again and again, but not in its last turn, nor for far longer than ever. */
static bool left_it_out(const struct thrum__model *model, uint32_t server, uint32_t object)
{
	uint32_t run = THRUM__TASK(model, server, run);
	uint32_t served = 0;
	int64_t next = model->end, age = 0, longest = 0;

	THRUM__ACTS_ON (model, object, edge, LOOK_BACK, THRUM__EDGE_SIGNAL) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (served++ == 0)
			age = next - time;
		else if (next - time > longest)
			longest = next - time;
		next = time;
		if (served == 1 &&
			(!thrum__model_has_row(&model->runs, run) ||
				time >= THRUM__RUN(model, run, start)))
			return false;
	}
	return served >= TURNS_MIN && age >= THRUM__SOON_OUTSIDE && age / TIMES > longest;
}

/* Whether one like a task that has ended had a turn long after that. */
static bool does_other_go_on(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t long_after = model->end - (model->end - THRUM__TASK(model, task, end)) / 2;

	THRUM__WHY_EACH (search, other, THRUM__SORT_ACTED) {
		uint32_t run = THRUM__TASK(model, other, run);

		if (thrum__analyse_task_is_pending(model, other) &&
			thrum__why_is_alike(search, other, task) &&
			thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, start) > long_after)
			return true;
	}
	return false;
}

/* Whether a timer that came last before a time, or a long sleep, is yet to come: it may begin anew what ended
 * then. */
static bool is_timer_due(const struct thrum__search *search, int64_t since)
{
	const struct thrum__model *model = search->model;

	for (uint32_t task = model->tasks.first; task < model->tasks.count; task++) {
		uint32_t run;

		if (!thrum__model_has_row(&model->tasks, task) ||
			THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER ||
			!thrum__analyse_task_is_pending(model, task) ||
			model->end - THRUM__TASK(model, task, created) < NAP_MAX)
			continue;
		run = THRUM__TASK(model, task, run);
		if (!thrum__model_has_row(&model->runs, run) ||
			THRUM__RUN(model, run, start) <= since)
			return true;
	}
	return false;
}

bool thrum__why_breaks_off(const struct thrum__search *search, const struct thrum__why_path *path,
	const struct thrum__why_servers *servers)
{
	uint32_t server = servers->task[0];

	return search->gap < 0 && servers->count == 1 && servers->is_whole &&
		THRUM__TASK(search->model, server, state) == THRUM__STATE_RESOLVED &&
		!thrum__analyse_task_is_lane(search->model, server) &&
		left_it_out(search->model, server, path->leaf) &&
		does_other_go_on(search, server) &&
		!is_timer_due(search, THRUM__TASK(search->model, server, end));
}
