/* SPDX-License-Identifier: ISC */
/*
 * Explains tasks that should resolve and don't. From each such task, the victim, it follows a path
 * along waits to the leaf: a task that waits for nothing. The leaf decides the finding's class.
 */
#include <string.h>

#include "analyse/why/parts.h"

#define LOOK_BACK 64        /* notes or edges of a task that are searched, from the latest back */
#define KEPT 5              /* waits of a path that are kept: those nearest the leaf */
#define WAY_MAX 16          /* waits that are followed from each task that a choice waits for */
#define LONG_RUN 1000000000 /* ns; a longer run is suspicious */
#define SLACK 10000000      /* ns by which a timer may be late */

/* A path along waits, from a victim to its leaf. */
struct path {
	uint32_t victim;  /* the first of the tasks that became one another */
	uint32_t waiter;  /* the last task that waits, or NONE */
	uint32_t leaf;    /* waits for nothing, as far as is known */
	uint32_t reached; /* the cause (thrum__cause) of a task on the path that has one, or NONE */
	struct {
		uint32_t task;
		struct thrum__analyse_wait wait;
	} kept[KEPT];    /* wait i is kept[i % KEPT] */
	unsigned length; /* waits, from the victim on */
	bool is_unknown; /* the path passes a choice whose other waits aren't all known */
};

/* ---- Following the waits ------------------------------------------------------------------- */

/* The time at which a timer is due; -1: unknown. */
static int64_t due_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->notes, note); i++) {
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return THRUM__NOTE(model, note, value);
		note = THRUM__NOTE(model, note, prev);
	}
	return -1;
}

/* Whether a timer may still come: it isn't due yet, or nothing tells when it is. */
static bool is_running_timer(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t due = due_of(model, task);

	if (due >= 0)
		return due >= model->end - SLACK;
	return THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER;
}

/* The ends to which the waits of a choice may lead. The first in this list is followed. */
enum way {
	WAY_COMES,          /* a timer that may still come */
	WAY_SHOULD_RESOLVE, /* a task that should resolve and has been pending for long */
	WAY_YOUNG,          /* a task that may just be under way */
	WAY_INSIDE,         /* a task that the program itself has to resolve */
	WAY_OUTSIDE,        /* a request, timer or handle */
};

/* Where the waits of a task lead. */
static enum way way_of(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	bool is_young = false;

	for (int i = 0; i < WAY_MAX; i++) {
		struct thrum__analyse_waits waits;

		if (is_running_timer(search, task))
			return WAY_COMES;
		if (THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE)
			return is_young || thrum__why_peers_is_young(&search->peers, task)
				? WAY_YOUNG
				: WAY_SHOULD_RESOLVE;
		is_young |= thrum__why_peers_is_young(&search->peers, task);
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count == 0 || waits.waits[0].next == THRUM__NONE)
			break;
		task = waits.waits[0].next;
	}
	if (is_young)
		return WAY_YOUNG;
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_REQUEST:
	case THRUM_KIND_TIMER:
	case THRUM_KIND_HANDLE: return WAY_OUTSIDE;
	default: return WAY_INSIDE;
	}
}

/* The index of the wait of a choice to follow: the one with the first enum way. */
static uint32_t pick_wait(const struct thrum__search *search, struct thrum__analyse_waits waits)
{
	enum way best = WAY_OUTSIDE;
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < waits.count; i++) {
		enum way way = way_of(search, waits.waits[i].on);

		if (way < best) {
			best = way;
			chosen = i;
		}
	}
	return chosen;
}

/* Sets *wait to the wait of a task to follow; returns false if there is none. A join needs all its
 * waits, so the oldest is followed. A request that was sent over a link to a task in the recording
 * leads to that task. */
static bool next_wait(const struct thrum__search *search, uint32_t task,
	struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph, task);

	if (waits.count == 0)
		return false;
	*wait = waits.waits[0];
	if (thrum__analyse_task_is_choice(model, task))
		*wait = waits.waits[pick_wait(search, waits)];
	else if (THRUM__TASK(model, task, kind) == THRUM_KIND_JOIN)
		*wait = waits.waits[waits.count - 1];
	if (THRUM__TASK(model, wait->on, kind) == THRUM_KIND_REQUEST)
		(void)thrum__analyse_link_wait(model, task, wait);
	return true;
}

/* Follows the waits from path->leaf to the leaf, or to a task whose cause is known. */
static void follow_path(struct thrum__search *search, struct path *path)
{
	uint32_t at = path->leaf;
	struct thrum__analyse_wait wait;

	while ((path->reached = *thrum__cause(search, at)) == THRUM__NONE &&
		next_wait(search, at, &wait)) {
		path->is_unknown |= thrum__analyse_task_is_choice(search->model, at) &&
			THRUM__TASK(search->model, at, flags) & THRUM__TASK_REMEMBERED;
		/* Until the cause is known; this also ends cycles, which choices and links can
		 * form without a deadlock. */
		*thrum__cause(search, at) = THRUM__CAUSE_HEALTHY;
		path->kept[path->length % KEPT].task = at;
		path->kept[path->length++ % KEPT].wait = wait;
		path->waiter = at;
		path->leaf = at = wait.next == THRUM__NONE ? wait.on : wait.next;
	}
	if (path->reached == THRUM__NONE)
		*thrum__cause(search, at) = THRUM__CAUSE_HEALTHY;
}

/* Sets the cause of all tasks on the path, and marks them. */
static void settle_path(struct thrum__search *search, const struct path *path, uint32_t cause)
{
	const struct thrum__model *model = search->model;
	uint32_t at = thrum__model_heir(model, path->victim);
	struct thrum__analyse_wait wait;

	for (unsigned i = 0; i <= path->length; i++) {
		*thrum__cause(search, at) = cause;
		thrum__why_mark(search, at, THRUM__MARK_BEHIND);
		if (i == path->length || !next_wait(search, at, &wait))
			break;
		thrum__why_mark(search, wait.on, THRUM__MARK_BEHIND);
		at = wait.next == THRUM__NONE ? wait.on : wait.next;
	}
}

/* ---- The leaf ------------------------------------------------------------------------------- */

/* Whether a task is running, and its run isn't long. */
static bool is_at_work(const struct thrum__model *model, uint32_t task)
{
	return thrum__analyse_task_is_running(model, task) &&
		!thrum__analyse_task_is_lane(model, task) &&
		model->end - THRUM__RUN(model, THRUM__TASK(model, task, run), start) < LONG_RUN;
}

/* Whether the wait may well be over soon, so that the path is no finding. */
static bool is_under_way(const struct thrum__search *search, const struct path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t leaf = path->leaf;

	if (path->is_unknown || thrum__why_peers_is_young(&search->peers, path->victim) ||
		thrum__why_peers_is_young(&search->peers, thrum__model_heir(model, path->victim)))
		return true;
	if (thrum__analyse_task_is_object(model, leaf))
		return false;
	return is_running_timer(search, leaf) || thrum__why_peers_is_young(&search->peers, leaf) ||
		is_at_work(model, leaf);
}

/* Whether the note that tells when a task is due is forgotten. */
static bool is_due_forgotten(const struct thrum__model *model, uint32_t task)
{
	uint32_t note = THRUM__TASK(model, task, note);

	while (thrum__model_has_row(&model->notes, note) &&
		THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
		note = THRUM__NOTE(model, note, prev);
	return THRUM__TASK(model, task, flags) & THRUM__TASK_DUE &&
		thrum__why_is_cut(&model->notes, note);
}

/* Whether the leaf may wait for something, or may still come, and the model has forgotten the edge
 * or the note that tells so. Not for objects: the edges of those that wait for them tell enough. */
static bool is_half_forgotten(const struct thrum__model *model, uint32_t leaf)
{
	uint32_t edge = THRUM__TASK(model, leaf, edge_out);

	if (thrum__analyse_task_is_object(model, leaf))
		return false;
	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_out))
		/* The task may have become one that is pending. */
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			thrum__why_is_cut(&model->tasks, THRUM__EDGE(model, edge, to)))
			return true;
	return thrum__why_is_cut(&model->edges, edge) || is_due_forgotten(model, leaf) ||
		thrum__analyse_is_link_forgotten(model, leaf);
}

/* Whether a request accepts connections, and so may be pending for ever. Tells by its name. */
static bool is_accept(const struct thrum__model *model, uint32_t task)
{
	return strncmp(thrum__model_task_name(model, task, NULL), "accept", 6) == 0;
}

/* Whether the leaf is a handle on which no overdue request waits: handles may be pending for ever.
 * If such a request waits, makes it the leaf and returns false. */
static bool is_idle_handle(const struct thrum__search *search, struct path *path)
{
	const struct thrum__model *model = search->model;

	if (THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_HANDLE)
		return false;
	if (path->waiter == THRUM__NONE ||
		THRUM__TASK(model, path->waiter, kind) != THRUM_KIND_REQUEST ||
		is_accept(model, path->waiter) ||
		thrum__why_peers_is_young(&search->peers, path->waiter))
		return true;
	path->leaf = path->waiter;
	path->length--;
	path->waiter = path->length > 0 ? path->kept[(path->length - 1) % KEPT].task : THRUM__NONE;
	return false;
}

/* The path's wait for its leaf; NULL if the path has no wait. */
static struct thrum__analyse_wait *last_wait(struct path *path)
{
	return path->length > 0 ? &path->kept[(path->length - 1) % KEPT].wait : NULL;
}

/* The edge of the lost signal that came before the path's last wait began, or NONE. Sets
 * *condition, and *since to the time when that wait began. A waiter waits for the condition itself,
 * or in mirage-profile traces for a task that the condition created. */
static uint32_t missed_signal(const struct thrum__search *search, struct path *path,
	uint32_t *condition, int64_t *since)
{
	const struct thrum__model *model = search->model;
	uint32_t leaf = path->leaf;
	bool is_itself = THRUM__TASK(model, leaf, kind) == THRUM_KIND_CONDITION;

	*condition = is_itself ? leaf : THRUM__TASK(model, leaf, creator);
	if (!last_wait(path) || !thrum__model_has_row(&model->tasks, *condition) ||
		THRUM__TASK(model, *condition, kind) != THRUM_KIND_CONDITION)
		return THRUM__NONE;
	*since = is_itself ? last_wait(path)->since : THRUM__TASK(model, leaf, created);
	return thrum__why_lost_signal(model, *condition, *since);
}

/* ---- Steps --------------------------------------------------------------------------------- */

static void add_lost_signal(struct thrum__finding *finding, const struct thrum__model *model,
	const struct path *path, uint32_t signal, int64_t since)
{
	uint32_t condition = THRUM__EDGE(model, signal, to);

	thrum__why_add_step(finding, THRUM__STEP_SIGNAL_LOST, condition,
		thrum__why_known(model, THRUM__EDGE(model, signal, from)),
		THRUM__EDGE(model, signal, time), signal);
	thrum__why_add_step(finding, THRUM__STEP_WAITS_LATE,
		path->leaf == condition ? path->waiter : path->leaf, condition, since,
		path->kept[(path->length - 1) % KEPT].wait.edge);
}

/* Adds steps for a lock that no pending task will release. If it was taken at most once since the
 * wait began and is still held, its holders; else the last task that had it (FREE). */
static void add_lock(struct thrum__finding *finding, const struct thrum__search *search,
	const struct path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_lock *lock = thrum__analyse_graph_lock(&search->graph,
		path->leaf);
	uint32_t edge = THRUM__TASK(model, path->leaf, edge_in), last = THRUM__NONE;
	int64_t since = path->kept[(path->length - 1) % KEPT].wait.since;

	for (; thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) > since;
		edge = THRUM__EDGE(model, edge, prev_in)) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (last == THRUM__NONE && (kind == THRUM__EDGE_UNLOCK || kind == THRUM__EDGE_LOCK))
			last = edge;
		finding->count += kind == THRUM__EDGE_LOCK;
	}
	if (lock && lock->count > 0 && finding->count < 2)
		thrum__why_add_holders(search, finding, path->leaf, THRUM__NONE);
	else if (last != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_FREE, path->leaf,
			thrum__why_known(model, THRUM__EDGE(model, last, from)),
			THRUM__EDGE(model, last, time), last);
}

/* Whether the task has a name, and the step before names another. */
static bool is_named_anew(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task)
{
	uint32_t before = finding->steps[finding->step_count - 1].task;
	const char *name = thrum__model_task_name(model, task, NULL);

	return *name && strcmp(name, thrum__model_task_name(model, before, NULL)) != 0;
}

/* Adds steps for the path's tasks from the wait with index `from` - 1 back to the victim: those
 * that are kept and have a name of their own, and holders of locks. */
static void add_between(struct thrum__finding *finding, const struct thrum__search *search,
	const struct path *path, unsigned from)
{
	const struct thrum__model *model = search->model;
	uint32_t victim = thrum__model_heir(model, path->victim);

	for (unsigned i = from; i > 0 && path->length - i < KEPT; i--) {
		const struct thrum__analyse_wait *wait = &path->kept[(i - 1) % KEPT].wait;
		uint32_t task = path->kept[(i - 1) % KEPT].task;

		if (finding->step_count + 2 >= THRUM__STEPS_MAX)
			return;
		if (wait->next != wait->on && wait->next != THRUM__NONE && !wait->is_link)
			thrum__why_add_holders(search, finding, wait->on, wait->next);
		if (task != victim &&
			(finding->step_count == 0 || is_named_anew(model, finding, task)))
			thrum__why_add_step(finding, THRUM__STEP_BEHIND, task, wait->on,
				wait->since, wait->edge);
	}
}

static void add_victim(struct thrum__finding *finding, const struct thrum__search *search,
	const struct path *path)
{
	const struct thrum__model *model = search->model;
	struct thrum__analyse_wait wait;
	/* Looked up again, as a long path doesn't keep the victim's own wait. */
	bool waits = path->length > 0 &&
		next_wait(search, thrum__model_heir(model, path->victim), &wait);

	thrum__why_add_step(finding, THRUM__STEP_NEVER_RESOLVED, path->victim, THRUM__NONE,
		waits ? wait.since : THRUM__TASK(model, path->victim, last),
		waits ? wait.edge : THRUM__NONE);
}

/* Whether a task is resolved from outside the program. */
static bool is_outside(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return kind == THRUM_KIND_REQUEST || kind == THRUM_KIND_TIMER || due_of(model, task) >= 0;
}

/* Adds a step for the creator of a task that waits for nothing, if the creator has ended. */
static void add_maker(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task)
{
	uint32_t maker = THRUM__TASK(model, task, creator);

	if (thrum__model_has_row(&model->tasks, maker) &&
		!thrum__analyse_task_is_lane(model, maker) &&
		THRUM__TASK(model, maker, end) != THRUM__OPEN &&
		THRUM__TASK(model, maker, state) != THRUM__STATE_BECAME &&
		*thrum__model_task_name(model, maker, NULL))
		thrum__why_add_step(finding, THRUM__STEP_MAKER_ENDED, maker, task,
			THRUM__TASK(model, maker, end), THRUM__NONE);
}

/* Adds a step for the latest task that waits for a victim which itself waits for nothing. */
static void add_waiter(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (unsigned i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge);
		i++, edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_WAIT ||
			!thrum__analyse_task_is_pending(model, from) || from == task)
			continue;
		thrum__why_add_step(finding, THRUM__STEP_BEHIND, from, task,
			THRUM__EDGE(model, edge, time), edge);
		return;
	}
}

/* Adds the finding's first steps. Returns how many of the path's waits they cover, from the end. */
static unsigned add_cause(struct thrum__finding *finding, const struct thrum__search *search,
	const struct path *path, uint32_t signal, int64_t since)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *wait = path->length > 0
		? &path->kept[(path->length - 1) % KEPT].wait
		: NULL;

	if (signal != THRUM__NONE) {
		add_lost_signal(finding, model, path, signal, since);
		return 1;
	}
	if (finding->class == THRUM__FINDING_OUTSIDE) {
		thrum__why_add_step(finding, THRUM__STEP_PENDING, path->leaf, THRUM__NONE,
			THRUM__TASK(model, path->leaf, created), THRUM__NONE);
		return 0;
	}
	if (!wait) {
		add_maker(finding, model, path->leaf);
		return 0;
	}
	if (wait->next == THRUM__NONE)
		add_lock(finding, search, path);
	else if (thrum__analyse_task_is_lock(model, wait->on))
		thrum__why_add_holders(search, finding, wait->on, wait->next);
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, path->waiter,
		wait->is_link ? path->leaf : wait->on, wait->since, wait->edge);
	return 1;
}

/* ---- Findings ------------------------------------------------------------------------------ */

/* Adds a finding that explains the path. */
static void add_finding(struct thrum__search *search, struct path *path)
{
	const struct thrum__model *model = search->model;
	int64_t since = 0;
	uint32_t condition, signal = missed_signal(search, path, &condition, &since);
	int class = signal != THRUM__NONE       ? THRUM__FINDING_LOST_WAKE_UP
		: is_outside(model, path->leaf) ? THRUM__FINDING_OUTSIDE
						: THRUM__FINDING_NEVER_RESOLVED;
	struct thrum__finding *finding = thrum__why_add(search, class, THRUM__LIKELY, path->victim);
	uint32_t number = search->findings->count - 1;
	unsigned covered;

	if (!finding) {
		settle_path(search, path, THRUM__CAUSE_HEALTHY);
		return;
	}
	if (signal != THRUM__NONE)
		finding->certainty = (uint8_t)thrum__why_certainty(search, THRUM__CERTAIN,
			THRUM__EDGE(model, signal, time));
	covered = add_cause(finding, search, path, signal, since);
	add_between(finding, search, path, path->length - covered);
	add_victim(finding, search, path);
	if (path->length == 0)
		add_waiter(finding, model, path->leaf);
	if (thrum__why_is_unsure(search, path->victim) ||
		thrum__why_is_unsure(search, path->leaf) ||
		THRUM__TASK(model, path->leaf, flags) & THRUM__TASK_PREEXISTING ||
		thrum__analyse_task_is_running(model, path->leaf))
		finding->certainty = THRUM__POSSIBLE;
	settle_path(search, path, number);
}

/* Adds a path to the finding that it leads to. If it leads to that finding's victim, its own victim
 * becomes the last step and the finding's task. */
static void join_finding(struct thrum__search *search, const struct path *path)
{
	struct thrum__finding *finding = &search->findings->findings[path->reached];
	const struct thrum__model *model = search->model;
	struct thrum__step *last = &finding->steps[finding->step_count - 1];

	settle_path(search, path, path->reached);
	if (finding->step_count == THRUM__STEPS_MAX ||
		(last->kind == THRUM__STEP_NEVER_RESOLVED &&
			thrum__model_heir(model, last->task) != path->leaf)) {
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
	add_victim(finding, search, path);
	finding->task = path->victim;
}

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

/* Adds a finding for a task that should resolve and doesn't, adds it to one, or does neither if all
 * is well. */
static void check_victim(struct thrum__search *search, uint32_t victim)
{
	uint32_t heir = thrum__model_heir(search->model, victim);
	struct path path = {.victim = victim,
		.waiter = THRUM__NONE,
		.leaf = heir,
		.reached = THRUM__NONE};

	if (*thrum__cause(search, heir) == THRUM__CAUSE_HEALTHY)
		return;
	follow_path(search, &path);
	if (path.reached == THRUM__CAUSE_HEALTHY || is_under_way(search, &path))
		return;
	if (path.reached != THRUM__NONE) {
		if (path.length > 0 || !has_step(search, heir))
			join_finding(search, &path);
	} else if (!is_idle_handle(search, &path) && !is_under_way(search, &path) &&
		!is_half_forgotten(search->model, path.leaf)) {
		add_finding(search, &path);
	} else {
		return;
	}
	thrum__why_mark(search, victim, THRUM__MARK_STUCK);
}

int thrum__why_find_stuck(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;

	for (uint32_t task = thrum__analyse_next_task(model, 0); task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1)) {
		if (!thrum__model_has_row(&model->tasks, task) ||
			!thrum__model_is_stuck(model, task) ||
			thrum__why_marks(search->findings, task) == THRUM__MARK_STUCK)
			continue; /* a task that became this one is the victim */
		check_victim(search, task);
	}
	return 0;
}
