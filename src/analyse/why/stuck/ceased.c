/* SPDX-License-Identifier: ISC */
/*
 * Tells whether those that served an object come no more, although such tasks followed one another: one of
 * them did not serve it. Either the waiter itself made them all, and now it is blocked; or the last one
 * failed, and none came for far longer than ever.
 */
#include "analyse/why/stuck/stuck.h"

#define SERVED_MIN 3
#define TIMES 20 /* so many times as long as ever lay between two of them, none has come */
#define AGAIN 3  /* waits for the same object that show a worker which takes job after job */

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
