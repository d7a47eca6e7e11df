/* SPDX-License-Identifier: ISC */
/*
 * Explains tasks that should resolve and don't, and tasks that wait for suspiciously long. The
 * marked ones come first: others join their findings.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define TASKS_AT_ONCE 16384 /* in a step */
#define LOOK_BACK 64        /* edges to a task that are searched for one that waits for it */

/* ---- Findings ------------------------------------------------------------------------------ */

/* Whether a step of the task's finding is about it. */
static bool has_step(const struct thrum__search *search, uint32_t task)
{
	uint32_t cause = *thrum__cause(search, task);

	if (cause >= search->findings->count)
		return false;
	for (unsigned i = 0; i < search->findings->findings[cause].step_count; i++)
		if (thrum__model_heir(search->model,
			    search->findings->findings[cause].steps[i].task) == task)
			return true;
	return false;
}

/* The task that a finding shows as its victim, or NONE. */
static uint32_t victim_of(const struct thrum__model *model, const struct thrum__finding *finding)
{
	const struct thrum__step *last = &finding->steps[finding->step_count - 1];

	if (last->kind == THRUM__STEP_NEVER_RESOLVED)
		return thrum__model_heir(model, last->task);
	return thrum__why_is_told(model, finding, finding->task)
		? thrum__model_heir(model, finding->task)
		: THRUM__NONE;
}

/* If a finding's last step tells of a waiter for the path's leaf that may not be on the path, tells of
 * the one that is instead. The path's victim gets a step of its own. */
static void replace_waiter(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *link = thrum__why_path_last(path);
	const struct thrum__step *last = &finding->steps[finding->step_count - 1];

	if (last->kind != THRUM__STEP_BEHIND || last->other != path->leaf || !link ||
		link->is_served || link->task == last->task)
		return;
	finding->step_count--;
	if (link->task != thrum__model_heir(search->model, path->victim))
		thrum__why_add_step(finding, THRUM__STEP_BEHIND, link->task, link->wait.on,
			link->wait.since, link->wait.edge);
}

/* Adds a path to the finding that it leads to. If it leads to that finding's victim, its own victim
 * becomes the last step. The finding's task stays: it is named in the headline. */
static void join_finding(struct thrum__search *search, const struct thrum__why_path *path)
{
	struct thrum__finding *finding = &search->findings->findings[path->reached];
	const struct thrum__model *model = search->model;
	struct thrum__step *last = &finding->steps[finding->step_count - 1];
	uint32_t victim = victim_of(model, finding);

	/* A starved task that waits for nothing isn't behind the one that is shown, but beside it. */
	if (finding->step_count == THRUM__STEPS_MAX || !path->is_marked ||
		(finding->class == THRUM__FINDING_STARVED && path->length == 0) ||
		(victim != THRUM__NONE && victim != path->leaf)) {
		finding->behind++;
		return;
	}
	if (last->kind == THRUM__STEP_NEVER_RESOLVED && finding->step_count > 1 &&
		last[-1].task == thrum__model_heir(model, last->task)) {
		finding->step_count--; /* the step before names that task already */
	} else if (last->kind == THRUM__STEP_NEVER_RESOLVED && finding->step_count > 1) {
		last->kind = THRUM__STEP_BEHIND;
		last->other = finding->steps[finding->step_count - 2].task;
	}
	if (finding->class == THRUM__FINDING_STARVED)
		thrum__why_tell_between(finding, search, path, path->length);
	replace_waiter(finding, search, path);
	thrum__why_tell_victim(finding, search, path);
}

/* If the path leads to a thread that left an answer out, and waits for the next message, makes the answer the
 * leaf. */
static void end_at_answer(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__step step;

	if (path->length < 2 || path->reached != THRUM__NONE || path->circle != THRUM__NONE ||
		!last[-1].wait.is_link || !thrum__why_no_reply(search, last[-1].task, &step))
		return;
	thrum__why_path_cut(search, path, path->length - 2);
}

/* Whether two findings tell the same story of tasks that are alike. */
static bool is_same_story(const struct thrum__search *search, const struct thrum__finding *a,
	const struct thrum__finding *b)
{
	if (a->class != b->class || a->step_count != b->step_count)
		return false;
	for (unsigned i = 0; i < a->step_count; i++)
		if (a->steps[i].kind != b->steps[i].kind ||
			!thrum__why_are_peers(search, a->steps[i].task, b->steps[i].task))
			return false;
	return true;
}

/* Whether two tasks are the same, or what two processes recorded of the same, or of their own ones alike. */
static bool is_same_thing(const struct thrum__model *model, uint32_t a, uint32_t b)
{
	if (a == b || a == THRUM__NONE || b == THRUM__NONE)
		return a == b;
	return model->is_joined && THRUM__TASK(model, a, kind) == THRUM__TASK(model, b, kind) &&
		*thrum__model_task_name(model, a, NULL) &&
		strcmp(thrum__model_task_name(model, a, NULL),
			thrum__model_task_name(model, b, NULL)) == 0;
}

/* Whether two findings begin with the same event, or with a task that never resolves and one like it. */
static bool is_same_cause(const struct thrum__search *search, const struct thrum__finding *a,
	const struct thrum__finding *b)
{
	const struct thrum__step *x = a->steps, *y = b->steps;

	if (a->class != b->class || x->kind != y->kind)
		return false;
	switch (x->kind) {
	case THRUM__STEP_HOGS:
	case THRUM__STEP_RESOLVED_OTHERS:
	case THRUM__STEP_FAILED_MEANWHILE:
	case THRUM__STEP_LEFT_QUEUE:
	case THRUM__STEP_NOT_AGAIN:
	case THRUM__STEP_BEGAN_OTHERS:
	case THRUM__STEP_CANCELLED_MEANWHILE: return x->task == y->task;
	case THRUM__STEP_LOGGED: return x->more == y->more;
	case THRUM__STEP_NEVER_RESOLVED: return thrum__why_are_peers(search, x->task, y->task);
	default:
		return is_same_thing(search->model, x->task, y->task) &&
			is_same_thing(search->model, x->other, y->other);
	}
}

/* If an earlier finding tells the same story as the last one, takes the last one back. Returns the
 * finding that remains. */
static uint32_t merge_last(struct thrum__search *search, uint32_t last)
{
	struct thrum__findings *findings = search->findings;

	if (last + 1 != findings->count)
		return last;
	for (uint32_t i = 0; i < last; i++) {
		if (!is_same_story(search, &findings->findings[i], &findings->findings[last]) &&
			!is_same_cause(search, &findings->findings[i], &findings->findings[last]))
			continue;
		if (findings->findings[i].certainty < findings->findings[last].certainty)
			findings->findings[i].certainty = findings->findings[last].certainty;
		findings->findings[i].behind += 1 + findings->findings[last].behind;
		if (!is_same_thing(search->model, findings->findings[i].steps[0].task,
			    findings->findings[last].steps[0].task))
			findings->findings[i].alike += 1 + findings->findings[last].alike;
		findings->count--;
		search->each[findings->findings[last].class]--;
		return i;
	}
	return last;
}

/* Whether nothing can tell that a task which isn't marked should end: it waits for nothing, has no
 * peers, is due at no time, and has no loop that a forgotten handle keeps, or in which a request was
 * dropped. */
static bool is_unremarkable(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	return thrum__analyse_graph_waits(&search->graph, task).count == 0 &&
		thrum__why_peers_key(&search->peers, task) == THRUM__NONE &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_DUE) &&
		thrum__why_last_open(search, task) == THRUM__NONE &&
		thrum__why_dropped(search, task).task == THRUM__NONE;
}

static void note_unjudged(struct thrum__findings *findings, const struct thrum__why_path *path)
{
	if (findings->unjudged_count < THRUM__UNJUDGED_MAX)
		findings->unjudged[findings->unjudged_count] =
			(struct thrum__unjudged){.task = path->victim,
				.reason = (uint8_t)path->unjudged};
	findings->unjudged_count++;
}

static void note_idle(struct thrum__findings *findings, uint32_t task)
{
	if (findings->idle_count < THRUM__UNJUDGED_MAX)
		findings->idle[findings->idle_count] = task;
	findings->idle_count++;
}

/* Adds a finding for a task that doesn't resolve, adds it to one, or does neither if all is
 * well. */
static int check_victim(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t heir = thrum__model_heir(model, path->victim), cause = THRUM__CAUSE_HEALTHY;
	uint32_t subject;
	int error, certainty;

	if (!path->is_marked && is_unremarkable(search, heir)) {
		*thrum__cause(search, heir) = THRUM__CAUSE_HEALTHY;
		return 0;
	}
	if ((thrum__why_is_young(search, path->victim) && !search->is_open) ||
		*thrum__cause(search, heir) == THRUM__CAUSE_HEALTHY)
		return 0;
	path->leaf = heir;
	path->is_unknown = false;
	thrum__why_look_at_process(search, heir);
	error = thrum__why_path_follow(search, path);
	if (error < 0)
		return error;
	thrum__why_look_at_sharers(search, path);
	end_at_answer(search, path);
	if (path->reached == THRUM__CAUSE_HEALTHY) {
		thrum__why_path_settle(search, path, THRUM__CAUSE_HEALTHY);
		return 0;
	}
	if (path->reached != THRUM__NONE) {
		cause = path->reached;
		if (path->length > 0 || (path->is_marked && !has_step(search, heir)))
			join_finding(search, path);
	} else if ((certainty = thrum__why_judge(search, path, &subject)) >= 0) {
		search->joined = THRUM__NONE;
		cause = thrum__why_tell(search, path, subject, certainty);
		if (cause < search->findings->count)
			cause = merge_last(search, cause);
		if (search->joined != THRUM__NONE)
			*thrum__cause(search, search->joined) = cause;
	} else if (path->is_marked && path->unjudged >= 0) {
		note_unjudged(search->findings, path);
	} else if (path->is_marked && path->circle == THRUM__NONE &&
		thrum__why_is_in_call(model, path->leaf)) {
		note_idle(search->findings, path->victim);
	}
	thrum__why_path_settle(search, path, cause);
	if (cause < search->findings->count && path->is_marked)
		thrum__why_mark(search, path->victim, THRUM__MARK_STUCK);
	return 0;
}

/* ---- The search ---------------------------------------------------------------------------- */

/* Whether a task doesn't go on before another one ends. A thread may run others in the meantime,
 * and then its path leads nowhere. */
static bool is_held_up(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, task);

	return !thrum__analyse_task_is_lane(model, task) ||
		(waits.count > 0 && thrum__why_is_blocked(model, task, &waits.waits[0]));
}

/* Whether a pending task waits for this one. */
static bool is_awaited(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	THRUM__EDGES_TO (model, task, edge, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT && from != task &&
			thrum__model_has_row(&model->tasks, from) &&
			thrum__analyse_task_is_pending(model, thrum__model_heir(model, from)) &&
			is_held_up(search, thrum__model_heir(model, from)))
			return true;
	}
	return false;
}

/* Whether some task read the result of this one: so it has ended, although the event is missing. */
static bool was_read(const struct thrum__model *model, uint32_t task)
{
	return model->is_cut && !thrum__analyse_task_is_object(model, task) &&
		thrum__why_edge_to(model, task, THRUM__EDGE_READ) != THRUM__NONE;
}

/* Whether to begin a search with a task. A task that became this one is the victim instead. One that
 * is ready is starved, or has its turn soon. */
static bool is_victim(const struct thrum__search *search, uint32_t task, bool is_marked)
{
	const struct thrum__model *model = search->model;

	if (is_marked)
		return thrum__model_is_stuck(model, task) &&
			thrum__why_marks(search->findings, task) != THRUM__MARK_STUCK &&
			!was_read(model, thrum__model_heir(model, task));
	return thrum__analyse_task_is_pending(model, task) &&
		(THRUM__TASK(model, task, edge_out) != THRUM__NONE ||
			thrum__why_peer_evidence(search, task) != THRUM__EVIDENCE_NONE) &&
		!thrum__analyse_task_is_object(model, task) &&
		*thrum__cause(search, task) == THRUM__NONE && !was_read(model, task) &&
		!is_awaited(search, task) && !thrum__why_is_said_ready(model, task);
}

/* Whether a task waits for an object. The paths of these lead on to the task that serves it: so they are
 * followed before that one alone is found to be idle. */
static bool waits_for_object(const struct thrum__search *search, uint32_t task)
{
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, task);

	return waits.count > 0 && thrum__analyse_task_is_object(search->model, waits.waits[0].on);
}

/* Checks some tasks from search->at on. Returns 1 if there are more, 0, or -THRUM_E_MEMORY. */
static int check_some(struct thrum__search *search, struct thrum__why_path *path, bool has_objects)
{
	unsigned sorts = path->is_marked ? THRUM__SORT_MARKED
					 : THRUM__SORT_ACTED | THRUM__SORT_WANTED;
	const struct thrum__model *model = search->model;
	uint32_t looked = 0;

	for (uint32_t task = thrum__why_next(search, search->at, sorts); task < model->tasks.count;
		task = thrum__why_next(search, task + 1, sorts)) {
		int error = 0;

		search->at = task;
		if (looked++ == TASKS_AT_ONCE)
			return 1;
		if ((has_objects && !waits_for_object(search, task)) ||
			!is_victim(search, task, path->is_marked))
			continue;
		path->victim = task;
		error = check_victim(search, path);
		if (error < 0)
			return error;
	}
	search->at = 0;
	return 0;
}

static int begin(struct thrum__search *search)
{
	search->process = calloc(search->model->lane_count + 1, sizeof *search->process);
	if (!search->process)
		return -THRUM_E_MEMORY;
	thrum__why_look_at_lanes(search);
	thrum__why_find_silence(search);
	thrum__why_find_pauses(search->model, &search->pauses);
	search->dropped_lane = THRUM__NONE;
	if (search->is_still && search->model->has_connections && search->gap < 0)
		search->sites = thrum__why_count_sites(search->model);
	return thrum__why_find_lost(search);
}

int thrum__why_find_stuck(struct thrum__search *search)
{
	/* Marked ones, then others that wait for an object, then all others. */
	struct thrum__why_path path = {.is_marked = search->phase == 0};
	int more = search->process ? 0 : begin(search);

	if (more == 0 && search->phase == 1 && !search->graph.has_objects)
		search->phase++;
	if (more == 0)
		more = check_some(search, &path, search->phase == 1);
	free(path.links);
	return more == 0 && ++search->phase <= 2 ? 1 : more;
}
