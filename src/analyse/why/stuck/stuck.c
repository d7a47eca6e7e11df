/* SPDX-License-Identifier: ISC */
/*
 * Explains tasks that should resolve and don't, and tasks that wait for suspiciously long. The
 * marked ones come first: others join their findings.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/stuck/stuck.h"

#define FEW_ANSWERS 2       /* so many from outside don't tell how long the next one takes */
#define TASKS_AT_ONCE 16384 /* in a step */
#define LOOK_BACK 64        /* edges to a task that are searched for one that waits for it */
#define PAUSED 1000000000   /* ns; in a wait of that length, no pause counts */
#define NEW_EVENTS 6 /* of a thread that did nothing so far: it was made, got its names, and runs */

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

/* Makes the task of a link the leaf. Nothing is to be told of those behind it. */
static void cut_path(struct thrum__search *search, struct thrum__why_path *path, uint32_t length)
{
	*thrum__cause(search, path->leaf) = THRUM__CAUSE_HEALTHY;
	while (--path->length > length)
		*thrum__cause(search, path->links[path->length].task) = THRUM__CAUSE_HEALTHY;
	path->leaf = path->links[length].task;
}

/* If the leaf is a handle on which a request waits, makes that request the leaf. */
static void shorten_path(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);

	if (last && path->reached == THRUM__NONE && path->circle == THRUM__NONE &&
		THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_HANDLE &&
		THRUM__TASK(model, last->task, kind) == THRUM_KIND_REQUEST) {
		path->handle = path->leaf;
		cut_path(search, path, path->length - 1);
	}
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
	cut_path(search, path, path->length - 2);
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

/* Whether a task may just be under way, as its peers tell. */
static bool is_young(const struct thrum__search *search, uint32_t task)
{
	uint32_t heir = thrum__model_heir(search->model, task);

	return thrum__why_peers_is_young(&search->peers, task) ||
		(heir != task && thrum__why_peers_is_young(&search->peers, heir));
}

/* Whether nothing like the path's leaf, or else its victim, has ended, and the wait for the leaf is so
 * young that this tells nothing. Nor do two answers that came from outside. */
static bool is_too_soon(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__peer *victims = thrum__why_peers_of(&search->peers, path->victim);
	const struct thrum__peer *leaves = thrum__why_peers_of(&search->peers, path->leaf);
	bool is_outside = THRUM__TASK(model, path->leaf, kind) == THRUM_KIND_REQUEST;
	int64_t since = last && !last->is_served ? thrum__why_waits_since(model, last)
						 : THRUM__TASK(model, path->leaf, created);

	return !search->is_dead && !search->is_deadlocked &&
		!(leaves && leaves->ended > (is_outside ? FEW_ANSWERS : 0)) &&
		!(victims && victims->ended > 0 && !is_outside) &&
		thrum__why_is_too_soon(model, model->end - since, is_outside);
}

/* The longest pause in the life of a task which would be no older than its like became, but for that; or
 * NULL. */
static const struct thrum__why_pause *find_pause(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	int64_t created = THRUM__TASK(model, task, created), age = model->end - created;

	if (!peer || peer->ended == 0 || age >= PAUSED)
		return NULL;
	for (unsigned i = 0; i < search->pauses.count; i++) {
		const struct thrum__why_pause *pause = &search->pauses.all[i];
		int64_t from = created > pause->from ? created : pause->from;

		if (from < pause->to)
			return age - (pause->to - from) <= 2 * peer->longest ? pause : NULL;
	}
	return NULL;
}

/* The pause of the machine, as it seems, while an answer was on its way: it did nothing else, either. Where
 * nothing ran at all, all may as well wait for the one that is missing, unless that comes from outside. NULL:
 * there is none. */
static const struct thrum__why_pause *pause_of(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	int kind = THRUM__TASK(model, path->leaf, kind);
	const struct thrum__why_pause *pause;

	if (path->is_unknown || path->circle != THRUM__NONE ||
		thrum__analyse_task_is_object(model, path->leaf) || search->is_deadlocked)
		return NULL;
	pause = find_pause(search, path->leaf);
	return pause &&
			(pause->is_at_work || kind == THRUM_KIND_REQUEST ||
				kind == THRUM_KIND_TIMER || kind == THRUM_KIND_HANDLE)
		? pause
		: NULL;
}

/* Whether a task was made ready so late that a thread may just have been woken for it. */
static bool is_waking(const struct thrum__model *model, uint32_t task)
{
	int64_t age;

	if (!thrum__why_is_said_ready(model, task))
		return false;
	age = model->end -
		THRUM__EDGE(model, thrum__why_edge_to(model, task, THRUM__EDGE_READY), time);
	return age < THRUM__WAKING && thrum__why_is_too_soon(model, age, false);
}

/* Whether a task ran so lately that its next turn, for which it is ready, may yet come. */
static bool has_next_turn(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run);

	return thrum__model_has_row(&model->runs, run) && thrum__why_is_said_ready(model, task) &&
		model->end - THRUM__RUN(model, run, end) < PAUSED;
}

/* Whether a marked task has tried so often in vain that it tells nothing how young its latest try is. */
static bool has_tried_in_vain(struct thrum__search *search, struct thrum__why_path *path)
{
	return path->is_marked && !thrum__why_is_excused(search, path) && path->tries > 0;
}

/* Whether all may be well. Sets path->unjudged. */
static bool may_be_well(struct thrum__search *search, struct thrum__why_path *path)
{
	const struct thrum__why_pause *pause;

	path->unjudged = -1;
	if (is_young(search, path->victim))
		return true;
	path->is_soon = is_too_soon(search, path);
	pause = pause_of(search, path);
	/* Where nobody noted when the program ended, a lock may yet be lost for good, and all may have waited
	 * for each other. */
	if (is_waking(search->model, path->leaf) || has_next_turn(search->model, path->leaf) ||
		(pause && (pause->is_at_work || !path->is_marked)) ||
		(path->is_soon && !search->is_stranded &&
			(search->model->ending != THRUM_ENDING_GONE ||
				!thrum__why_is_lock_lost(search, path->leaf)))) {
		if (!has_tried_in_vain(search, path))
			path->unjudged = THRUM__UNJUDGED_TOO_SOON;
		path->is_soon = true;
		return path->unjudged >= 0;
	}
	path->is_soon |= pause != NULL;
	if (!thrum__why_is_excused(search, path))
		return false;
	if (path->is_unknown)
		path->unjudged = THRUM__UNJUDGED_PARTLY_KNOWN;
	return true;
}

/* If the path's lock is withheld, makes the holder the leaf: its latest sleep is not to blame. Returns
 * whether it is. */
static bool end_at_holder(struct thrum__search *search, struct thrum__why_path *path, bool is_stuck)
{
	uint32_t at, keeper = thrum__why_kept_by(search, path, is_stuck, &at);

	if (keeper != THRUM__NONE) {
		*thrum__cause(search, path->leaf) = THRUM__CAUSE_HEALTHY;
		for (; path->length > at + 1; path->length--)
			*thrum__cause(search,
				thrum__why_path_last(path)->task) = THRUM__CAUSE_HEALTHY;
		path->leaf = path->links[at].wait.next = keeper;
		return true;
	}
	if (!thrum__why_is_withheld(search, path))
		return false;
	if (THRUM__TASK(search->model, path->leaf, kind) == THRUM_KIND_TIMER)
		cut_path(search, path, path->length - 1);
	return true;
}

/* If the path leads on from an object that is left out while others like it are served, makes the object the
 * leaf: the server goes on, and never comes to it. Returns whether it is. */
static bool end_at_passed(struct thrum__search *search, struct thrum__why_path *path)
{
	uint32_t i = path->length;

	if (!path->is_marked || path->is_unknown || path->circle != THRUM__NONE ||
		path->reached != THRUM__NONE)
		return false;
	while (i-- > 1)
		if (path->links[i].is_served &&
			thrum__analyse_task_is_object(search->model, path->links[i].task)) {
			if (!thrum__why_add_passed_over(NULL, search, path->links[i].task))
				return false;
			cut_path(search, path, i);
			return true;
		}
	return false;
}

/* Whether a thread has ended and left the task for which others wait. */
static bool is_abandoned(struct thrum__search *search, const struct thrum__why_path *path)
{
	uint32_t count;

	return search->is_open && !path->is_unknown && path->circle == THRUM__NONE &&
		(path->is_marked || path->length > 0) &&
		thrum__why_abandoner(search, path->leaf, &count) != THRUM__NONE;
}

/* Whether a thread that serves the leaf may just compute for long. */
static bool is_served_by_busy(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__why_link *last = thrum__why_path_last(path);
	struct thrum__why_servers servers;
	unsigned first;

	if (!last || !thrum__analyse_task_is_object(search->model, path->leaf))
		return false;
	thrum__why_servers_of(search->model, path->leaf, last->task, &servers);
	return thrum__why_able_servers(search, path->leaf, &servers, &first) > 0 &&
		THRUM__TASK(search->model, servers.task[first], kind) == THRUM_KIND_THREAD &&
		thrum__why_is_busy(search, servers.task[first]);
}

/* Whether a task never ran, and a thread that did nothing so far may be to run it: it may sleep unseen. */
static bool may_begin(const struct thrum__model *model, uint32_t task)
{
	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];

		if (thrum__analyse_task_is_pending(model, lane->task) &&
			lane->events <= NEW_EVENTS && lane->suspended_ns == 0 &&
			lane->suspended == THRUM__NONE && lane->running == lane->task)
			return THRUM__TASK(model, task, kind) == THRUM_KIND_TASK &&
				THRUM__TASK(model, task, run) == THRUM__NONE;
	}
	return false;
}

/* Whether the path's leaf is a lock that others took again and again since the wait began, and one has kept
 * it for most of that time: then that it goes to others isn't the cause. */
static bool is_kept_meanwhile(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);
	int64_t taken;

	if (!last || !lock || lock->count != 1 || lock->busy <= last->wait.since ||
		!thrum__model_has_row(&model->edges, lock->holds[0].edge))
		return false;
	taken = THRUM__EDGE(model, lock->holds[0].edge, time);
	return model->end - taken > taken - last->wait.since;
}

/* Whether others tell how long a task takes, and its peers don't: a child's program may be another one than
 * before, and who reads slowly makes room late, however fast writes were before. */
static bool is_up_to_others(const struct thrum__model *model, uint32_t task)
{
	return THRUM__BEGINS_WITH(model, task, "process ", "write to ");
}

/* Whether nobody knows how long the path's leaf takes. A handler's signal may come late. */
static bool may_take_long(const struct thrum__search *search, const struct thrum__why_path *path)
{
	return is_up_to_others(search->model, path->leaf) ||
		thrum__why_is_unused_pipe(search->model, path) || is_kept_meanwhile(search, path) ||
		is_served_by_busy(search, path) || may_begin(search->model, path->leaf);
}

static bool leads_past_naps(const struct thrum__model *model, const struct thrum__why_path *path)
{
	for (uint32_t i = 0; i < path->length; i++)
		if (thrum__why_is_beside_naps(model, path->links[i].wait.on))
			return true;
	return false;
}

/* Returns the certainty with which a path's leaf is its cause, or -1 if there is no finding. Sets
 * *subject to the task that the finding is about, and path->unjudged. */
static int judge_path(struct thrum__search *search, struct thrum__why_path *path, uint32_t *subject)
{
	int evidence, beside = thrum__why_beside(search, path->leaf);

	*subject = path->victim;
	if (beside == THRUM__BESIDE_ACTS)
		return -1;
	if (may_be_well(search, path))
		return thrum__why_is_overtaken(search, path) ||
				end_at_holder(search, path, false) || is_abandoned(search, path) ||
				end_at_passed(search, path)
			? THRUM__POSSIBLE
			: -1;
	shorten_path(search, path);
	if (path->is_marked && thrum__analyse_task_is_lock(search->model, path->leaf) &&
		end_at_holder(search, path, true))
		return THRUM__POSSIBLE;
	if (path->is_marked)
		return path->is_soon || beside != THRUM__BESIDE_NONE ||
				leads_past_naps(search->model, path) ||
				thrum__why_is_loop(search, path->leaf) ||
				is_abandoned(search, path) ||
				thrum__why_may_be_forced(search, path) ||
				may_take_long(search, path)
			? THRUM__POSSIBLE
			: THRUM__LIKELY;
	/* Such tasks wait for promises, which often become others: nobody knows for which one it waits. */
	if (thrum__why_is_leaf_gone(search->model, path) && path->length > 0 &&
		thrum__analyse_task_is_plain(search->model, thrum__why_path_last(path)->task))
		return -1;
	evidence = thrum__why_evidence(search, path, subject);
	if (evidence == THRUM__EVIDENCE_NONE &&
		(thrum__why_is_overtaken(search, path) || end_at_holder(search, path, false) ||
			thrum__why_holds_up_loop(search->model, path->leaf)))
		evidence = THRUM__EVIDENCE_WEAK;
	if (evidence == THRUM__EVIDENCE_NONE)
		return -1;
	return evidence == THRUM__EVIDENCE_WEAK || is_up_to_others(search->model, path->leaf)
		? THRUM__POSSIBLE
		: THRUM__LIKELY;
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
	if ((is_young(search, path->victim) && !search->is_open) ||
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
	} else if ((certainty = judge_path(search, path, &subject)) >= 0) {
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
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
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
