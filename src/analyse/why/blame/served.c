/* SPDX-License-Identifier: ISC */
/* Tells of those that serve the leaf of a path, or would have to. */
#include "analyse/why/blame/blame.h"
#include "analyse/why/stuck/stuck.h"

/* When a task did something last, or another read it. */
static int64_t last_act_of(const struct thrum__model *model, uint32_t task)
{
	int64_t last = THRUM__TASK(model, task, last);
	uint32_t edge = thrum__why_edge_to(model, task, THRUM__EDGE_READ);

	return edge != THRUM__NONE && THRUM__EDGE(model, edge, time) > last
		? THRUM__EDGE(model, edge, time)
		: last;
}

void thrum__why_add_silent(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t task, uint32_t other, int64_t since)
{
	const struct thrum__model *model = search->model;
	int64_t last = last_act_of(model, task);

	if (last < thrum__why_middle(model, since) && *thrum__model_task_name(model, task, NULL))
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_SILENT, task, other,
					    last, THRUM__NONE),
			THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD &&
				thrum__why_is_busy(search, task));
}

/* Adds a step for the last task that served the path's leaf. A condition that it signalled before the
 * wait may stand for an event that had come already. */
static void add_ended_server(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path, uint32_t server, uint32_t edge)
{
	struct thrum__step *step = thrum__why_add_step(finding, THRUM__STEP_SERVER_ENDED, server,
		path->leaf, THRUM__TASK(model, server, end), edge);

	if (THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_CONDITION &&
		THRUM__EDGE(model, edge, time) < thrum__why_path_last(path)->wait.since)
		thrum__why_set_more(step, 1);
}

/* Adds steps for those who ended without serving the path's leaf, as their like did. Returns whether there
 * are any. */
static bool add_deserters(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path, const struct thrum__why_servers *servers)
{
	struct thrum__why_deserters found = thrum__why_deserters_of(search, path->leaf, servers);

	if (found.count == 0)
		found = thrum__why_quitters_of(search, path->leaf, servers,
			thrum__why_path_last(path)->wait.since);
	for (uint32_t i = 0; i < found.count && i < THRUM__DESERTERS_MAX; i++) {
		struct thrum__step *step = thrum__why_add_end(finding, search->model,
			THRUM__STEP_ENDS_UNSERVED, found.task[i], path->leaf);

		if (i + 1 == THRUM__DESERTERS_MAX)
			thrum__why_set_more(step, found.count - THRUM__DESERTERS_MAX);
	}
	return found.count > 0;
}

uint32_t thrum__why_voice_for(const struct thrum__model *model, const struct thrum__why_path *path)
{
	uint32_t waiter = thrum__why_path_last(path)->task;

	/* A thread that another one started may be a worker without a job. */
	return THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_CONDITION &&
			model->lane_count > 0 && model->lanes[0].task == waiter
		? thrum__why_last_voice(model, path->leaf)
		: THRUM__NONE;
}

/* The functions from here on add steps for one sort of cause, and return whether there is one. This one adds
 * a step for each task that is missing at a barrier. At a barrier there is no other cause. */
static bool add_barrier(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t absent[THRUM__ABSENT_MAX];
	unsigned missing = thrum__why_absent(search, path->leaf, thrum__why_path_last(path)->task,
		absent);

	for (unsigned i = 0; i < missing; i++)
		if (thrum__analyse_task_is_pending(model, absent[i]))
			thrum__why_add_step(finding, THRUM__STEP_ABSENT, absent[i], path->leaf,
				THRUM__TASK(model, absent[i], last), THRUM__NONE);
		else
			thrum__why_add_end(finding, model, THRUM__STEP_ENDS_ABSENT, absent[i],
				path->leaf);
	return missing > 0 || thrum__why_is_barrier(model, path->leaf);
}

/* A handle ran once for several wake-ups. */
static bool add_merged(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	unsigned count;
	int64_t time;
	uint32_t task = thrum__why_merged(model, last, &count, &time);

	if (task == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_MERGED, task, last->task, time,
				    THRUM__NONE),
		count);
	return true;
}

/* Since the last signal nothing but timers goes on. */
static bool add_last_voice(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	uint32_t voice = thrum__why_voice_for(model, path);

	if (voice == THRUM__NONE)
		return false;
	thrum__why_add_at(finding, model, THRUM__STEP_SIGNALLED_LAST,
		thrum__why_known(model, THRUM__EDGE(model, voice, from)), path->leaf, voice);
	return true;
}

/* A task wasn't started again, or is put off. */
static bool add_not_again(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path, const struct thrum__why_servers *servers)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_blame blame = thrum__why_not_again(search, last, servers);

	if (blame.kind == THRUM__STEP_NOT_AGAIN) {
		thrum__why_add_again(finding, search->model, blame.task, blame.other,
			servers->count);
	} else if (blame.kind == THRUM__STEP_PUT_OFF) {
		finding->count = THRUM__PUT_OFF;
		thrum__why_add_step(finding, blame.kind, blame.task, blame.other, last->wait.since,
			THRUM__NONE);
	}
	return blame.kind >= 0;
}

/* The connection was made anew, and the question wasn't sent again. */
static bool add_not_sent(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path, const struct thrum__why_servers *servers)
{
	struct thrum__why_dropped dropped = thrum__why_not_sent_again(search,
		thrum__why_path_last(path), servers);

	if (dropped.task == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_end(finding, search->model, THRUM__STEP_BEGINS_NOTHING,
				    dropped.task, dropped.like),
		THRUM__TASK(search->model, dropped.like, kind) == THRUM_KIND_REQUEST ? 2 : 3);
	return true;
}

/* One task alone has not signalled the leaf since the waiter began to wait, again and again. */
static bool add_missing_in_wait(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path)
{
	uint32_t edge, task = thrum__why_missing_in_wait(model, thrum__why_path_last(path), &edge);

	if (task != THRUM__NONE)
		thrum__why_add_at(finding, model, THRUM__STEP_MISSES_ROUND, task, path->leaf, edge);
	return task != THRUM__NONE;
}

/* One server alone has not served the leaf since the wait began, or in the last round. */
static bool add_missing(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	uint32_t task = thrum__why_missing_voice(search, last, servers);

	if (task != THRUM__NONE) {
		thrum__why_set_more(thrum__why_add_end(finding, model, THRUM__STEP_SERVER_ENDED,
					    task, path->leaf),
			2);
		return true;
	}
	task = thrum__why_missing_in_round(model, path->leaf, servers);
	if (task != THRUM__NONE) {
		uint32_t edge = servers->edge[servers->count - 1];

		thrum__why_add_at(finding, model, THRUM__STEP_MISSES_ROUND, task, path->leaf, edge);
	}
	return task != THRUM__NONE;
}

/* Adds steps where none of the servers can serve the leaf any more. */
static void add_unable(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_blame blame = thrum__why_blame_server(search, path->leaf, servers);
	unsigned ended = 0;

	/* Not twice: that it failed meanwhile is told already. */
	if (blame.kind >= 0 && finding->step_count == 1 && finding->steps[0].task == blame.task)
		finding->step_count = 0;
	thrum__why_add_blame(finding, model, &blame);
	if (blame.kind >= 0 || add_deserters(finding, search, path, servers))
		return;
	while (ended < servers->count &&
		thrum__analyse_task_is_pending(model, servers->task[ended]))
		ended++;
	if (ended < servers->count) {
		thrum__why_add_newcomers(finding, search, thrum__why_path_last(path),
			THRUM__TASK(model, servers->task[ended], end));
		add_ended_server(finding, model, path, servers->task[ended], servers->edge[ended]);
	} else {
		thrum__why_add_step(finding, THRUM__STEP_SERVES_ITSELF, servers->task[0],
			path->leaf, thrum__why_wait_of(search, servers->task[0])->since,
			servers->edge[0]);
	}
}

bool thrum__why_add_without_limit(struct thrum__finding *finding,
	const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	uint32_t edge, task = thrum__why_without_limit(search, link, &edge);

	if (task != THRUM__NONE)
		thrum__why_add_at(finding, model, THRUM__STEP_SLEEPS_ON, task,
			thrum__why_known(model, THRUM__EDGE(model, edge, from)), edge);
	return task != THRUM__NONE;
}

/* Whether a link's wait is for a socket that only the other end of the pair serves, as messages and names
 * tell: then its loop lost its time limit. */
static bool is_for_far_end(const struct thrum__model *model, const struct thrum__why_path *path,
	uint32_t link)
{
	uint32_t next = link + 1 < path->length ? link + 1 : path->circle;
	uint32_t edge = path->links[next].wait.edge;

	return path->links[next].is_served && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK;
}

void thrum__why_add_circle_limit(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	for (uint32_t i = path->circle; i < path->length; i++) {
		const struct thrum__why_link *link = &path->links[i];

		if (link->is_served || !thrum__analyse_task_is_object(search->model, link->wait.on))
			continue;
		if (is_for_far_end(search->model, path, i)) {
			thrum__why_add_step(finding, THRUM__STEP_SLEEPS_ON, link->task, THRUM__NONE,
				link->wait.since, link->wait.edge);
			return;
		}
		if (thrum__why_add_without_limit(finding, search, link))
			return;
	}
}

/* Nobody ever served the leaf, which was made anew for the wait. Those who served such before left it. */
static bool add_earlier(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_link *link)
{
	uint32_t edge, task;

	if (thrum__why_add_without_limit(finding, search, link))
		return true;
	task = thrum__why_last_of_circle(search, link, &edge);
	if (task != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_SERVER_ENDED, task,
					    link->wait.on, THRUM__TASK(search->model, task, end),
					    edge),
			THRUM__SERVED_SUCH);
	return task != THRUM__NONE;
}

/* The waiter asked a task whose loop nobody runs. */
static bool add_asked(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_link *link)
{
	uint32_t asked;
	const struct thrum__analyse_wait *wait = thrum__why_asked_unrun(search, &link->wait,
		&asked);

	if (wait)
		thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, asked, wait->on, wait->since,
			wait->edge);
	return wait != NULL;
}

/* The one that answers questions by a socket left this one out, and goes on with others. */
static bool add_left_out(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_path *path, uint32_t server)
{
	struct thrum__step step;

	if (!THRUM__BEGINS_WITH(model, path->leaf, "socket ") ||
		!thrum__why_is_left_out_beside(model, thrum__why_path_last(path)->task, server,
			&step))
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, step.kind, step.task, path->leaf,
				    step.time, THRUM__NONE),
		step.more);
	return true;
}

void thrum__why_add_servers(struct thrum__finding *finding, struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_servers servers;
	unsigned able, first;

	if (add_barrier(finding, search, path) || add_merged(finding, model, path) ||
		add_asked(finding, search, last) || thrum__why_add_uncounted(finding, model, last))
		return;
	thrum__why_servers_of(model, path->leaf, last->task, &servers);
	if (servers.count > 0)
		thrum__why_add_newcomers(finding, search, last, THRUM__OPEN);
	thrum__why_add_given_up(finding, model, last, &servers);
	if (add_last_voice(finding, model, path) ||
		thrum__why_add_unarmed(finding, search, last, &servers) ||
		add_not_again(finding, search, path, &servers) ||
		add_not_sent(finding, search, path, &servers) ||
		add_missing_in_wait(finding, model, path) ||
		(servers.count == 0 && servers.is_whole && add_earlier(finding, search, last)))
		return;
	if (servers.count == 0 && servers.is_whole &&
		THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_CONDITION &&
		!thrum__why_add_takers(finding, search, path))
		thrum__why_add_mutual(finding, search, path->leaf, last->task);
	if (servers.count == 0 || !servers.is_whole || add_missing(finding, search, path, &servers))
		return;
	able = thrum__why_able_servers(search, path->leaf, &servers, &first);
	/* Another one is to blame. */
	if (finding->step_count > 0 && finding->steps[0].kind == THRUM__STEP_TOOK)
		return;
	if (able == 1 && add_left_out(finding, model, path, servers.task[first]))
		return;
	/* Where nothing happens any more, the one of several that served it last. */
	if (able == 1 ||
		(able > 1 && (search->is_dead || thrum__why_is_at_standstill(search, last))))
		thrum__why_add_silent(finding, search, servers.task[first], path->leaf,
			last->wait.since);
	else if (able == 0)
		add_unable(finding, search, path, &servers);
}

void thrum__why_add_server(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_link *link)
{
	bool is_barrier = thrum__why_is_barrier(model, link->task);
	/* Nobody has served it so far if no edge tells of that. */
	bool is_served = link->wait.edge != THRUM__NONE &&
		thrum__analyse_task_is_object(model, link->task);
	int kind = is_barrier                       ? THRUM__STEP_ABSENT
		: is_served                         ? THRUM__STEP_SERVES
		: link->is_steady || link->is_child ? THRUM__STEP_SHOULD_GO_ON
						    : THRUM__STEP_SHOULD_END;

	if (link->is_carried && thrum__analyse_task_is_object(model, link->task)) {
		thrum__why_add_step(finding, THRUM__STEP_BLOCKS_SERVERS, link->wait.on, link->task,
			link->wait.since, THRUM__NONE);
		return;
	}
	if (link->is_carried) {
		thrum__why_add_step(finding, THRUM__STEP_NEEDS_LANE, link->task, link->wait.on,
			link->wait.since, THRUM__NONE);
		return;
	}
	thrum__why_set_more(thrum__why_add_step(finding, kind, link->wait.on, link->task,
				    link->wait.since, link->wait.edge),
		link->is_child ? 2 : link->also);
}

void thrum__why_add_busy_loop(struct thrum__finding *finding, const struct thrum__search *search,
	uint32_t timer)
{
	const struct thrum__model *model = search->model;
	int64_t due = thrum__why_due_of(model, timer);
	unsigned count;
	uint32_t busy;

	if (due < 0 || due >= model->end || THRUM__TASK(model, timer, kind) != THRUM_KIND_TIMER)
		return;
	busy = thrum__why_busy_with(search, THRUM__TASK(model, timer, lane), due, &count);
	if (busy != THRUM__NONE)
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_RUNS_MEANWHILE, busy,
					    timer, due, THRUM__NONE),
			count);
}
