/* SPDX-License-Identifier: ISC */
/*
 * Finds tasks that ended while others still rely on them: failures that nobody read, and tasks that
 * were cancelled although a task waited for them or they should have resolved.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/parts.h"

#define LOOK_BACK 64 /* edges of a task that are searched, from the latest back */
#define ANCESTORS_MAX 16
#define RETRIES_MAX 256 /* tasks after a failure among which another try is searched */
#define HABIT_MIN 4     /* tasks that a function made by which its others may be judged */

/* How many tasks of a call site resolved, how many of them were read, and whether nobody reads them. */
struct habit {
	uint32_t ended, read;
	enum {
		UNKNOWN,
		NOBODY,
		SOMEBODY
	} readers;
};

/* ---- Tasks that don't notice that their wait is over ---------------------------------------- */

uint32_t thrum__why_ready_since(const struct thrum__search *search, uint32_t task, int64_t *since)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, task, edge_out), run = THRUM__TASK(model, task, run);

	if (!(search->sorts[thrum__place(&search->findings->places, task)] & THRUM__SORT_READY) ||
		!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_task_is_lane(model, task))
		return THRUM__NONE;
	uint32_t source = THRUM__EDGE(model, edge, to);

	if (!thrum__model_has_row(&model->tasks, source))
		return THRUM__NONE;
	source = thrum__model_heir(model, source);
	if (thrum__analyse_task_is_pending(model, source))
		return THRUM__NONE;
	*since = THRUM__TASK(model, source, end);
	/* If the task ran since then, it read the result or goes on with something else. A forgotten
	 * run ended before model->forgotten, perhaps since then. */
	if (*since < THRUM__EDGE(model, edge, time) ||
		(run != THRUM__NONE && !thrum__model_has_row(&model->runs, run) &&
			*since < model->forgotten) ||
		(thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, end) > *since))
		return THRUM__NONE;
	return edge;
}

/* Adds a finding: `task` still waits for a task that was cancelled or failed. */
static void add_hanging(struct thrum__search *search, uint32_t task, uint32_t wait, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t source = thrum__model_heir(model, THRUM__EDGE(model, wait, to));
	bool is_cancelled = THRUM__TASK(model, source, state) == THRUM__STATE_CANCELLED;
	uint32_t edge = thrum__why_edge_to(model, source,
		is_cancelled ? THRUM__EDGE_CANCEL : THRUM__EDGE_FAIL);
	struct thrum__finding *finding = thrum__why_add(search,
		is_cancelled ? THRUM__FINDING_CANCELLED : THRUM__FINDING_FAILED_UNSEEN,
		thrum__why_certainty(search, THRUM__LIKELY, since), source);

	if (!finding)
		return;
	thrum__why_add_step(finding, is_cancelled ? THRUM__STEP_CANCELLED : THRUM__STEP_FAILED,
		source, thrum__why_actor(model, edge), since, edge);
	thrum__why_add_at(finding, model, THRUM__STEP_WAITS_FOR, task, source, wait);
	*thrum__cause(search, task) = search->findings->count - 1;
	*thrum__cause(search, source) = search->findings->count - 1; /* told once */
	thrum__why_mark(search, task, THRUM__MARK_BEHIND);
}

/* Looks whether a pending task still waits for a task that was cancelled or failed. */
static void check_waiter(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	int64_t since = 0;
	uint32_t wait = thrum__why_ready_since(search, task, &since);
	int state;

	if (wait == THRUM__NONE || thrum__why_is_recent(model, since))
		return;
	state = THRUM__TASK(model, thrum__model_heir(model, THRUM__EDGE(model, wait, to)), state);
	if (state == THRUM__STATE_CANCELLED || state == THRUM__STATE_FAILED)
		add_hanging(search, task, wait, since);
}

/* ---- Failed unseen ------------------------------------------------------------------------- */

/* Whether a pending task went on after the end of one for which it waited, and waits for another one. One
 * that waits for several at once may just have added one. */
static bool waits_anew(const struct thrum__model *model, uint32_t task, int64_t end)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
		THRUM__EDGE(model, edge, time) > end &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_JOIN &&
		!thrum__analyse_task_is_choice(model, task);
}

/* Whether a task that ended was read, or a task that waited for it has ended since or waits for another one.
 * Returns `unknown` if the edges that are left tell nothing and others are forgotten. */
static bool is_seen(const struct thrum__model *model, uint32_t task, bool unknown)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		switch (THRUM__EDGE(model, edge, kind)) {
		case THRUM__EDGE_READ: return true;
		case THRUM__EDGE_WAIT:
			/* The waiter ended or goes on, so it learned of it. So did a forgotten one. */
			if (from != THRUM__NONE && from != task &&
				(!thrum__analyse_task_is_pending(model, from) ||
					waits_anew(model, from, THRUM__TASK(model, task, end))))
				return true;
			break;
		default: break;
		}
	}
	return unknown && thrum__why_is_cut(&model->edges, edge);
}

/* The task that made this one fail, or NONE. It may be forgotten. */
static uint32_t failer_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = thrum__why_edge_to(model, task, THRUM__EDGE_FAIL);

	return edge == THRUM__NONE ? edge : THRUM__EDGE(model, edge, from);
}

/* Whether the task that made this one fail knows of the failure anyway, as it created this task or
 * waited for it. */
static bool is_known_to_its_failer(const struct thrum__model *model, uint32_t task)
{
	uint32_t failer = failer_of(model, task);

	if (failer == THRUM__NONE || failer == task)
		return false;
	if (failer == THRUM__TASK(model, task, creator))
		return !thrum__model_has_row(&model->tasks, failer) ||
			!thrum__analyse_task_is_lane(model, failer);
	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_WAIT)
		if (THRUM__EDGE(model, edge, from) == failer)
			return true;
	return false;
}

/* Counts the resolved tasks of each call site. The caller frees the habits, by number of the site; NULL:
 * no memory. */
static struct habit *learn_habits(const struct thrum__model *model)
{
	struct habit *habits = calloc((size_t)UINT16_MAX + 1, sizeof *habits);

	for (uint32_t task = thrum__analyse_next_task(model, 0);
		habits && task < model->tasks.count;
		task = thrum__analyse_next_task(model, task + 1)) {
		if (!thrum__model_has_row(&model->tasks, task) ||
			THRUM__TASK(model, task, state) != THRUM__STATE_RESOLVED)
			continue;
		habits[THRUM__TASK(model, task, site)].ended++;
		habits[THRUM__TASK(model, task, site)].read += is_seen(model, task, false);
	}
	return habits;
}

/* Whether other tasks of this call site resolved, and none of these was read, as far as the model
 * remembers. If none of the site resolved, those that its function made count. */
static bool has_no_reader(const struct thrum__model *model, const struct habit *habits,
	unsigned number)
{
	const struct thrum_trace_site *own = thrum__model_site_of(model, number), *site;
	uint32_t ended = 0, read = 0;

	if (habits[number].ended > 0)
		return habits[number].read == 0;
	for (unsigned i = 1; own && i <= UINT16_MAX; i++) {
		site = habits[i].ended > 0 ? thrum__model_site_of(model, i) : NULL;
		if (site && strcmp(site->function, own->function) == 0 &&
			strcmp(site->file, own->file) == 0) {
			ended += habits[i].ended;
			read += habits[i].read;
		}
	}
	return ended >= HABIT_MIN && read == 0;
}

static bool is_read_by_nobody(const struct thrum__model *model, struct habit *habits, uint32_t task)
{
	unsigned site = THRUM__TASK(model, task, site);

	if (site > 0 && habits[site].readers == UNKNOWN)
		habits[site].readers = has_no_reader(model, habits, site) ? NOBODY : SOMEBODY;
	return habits[site].readers == NOBODY;
}

/* Whether a connection, or a request on one, failed as the other side went away, and nobody ever
 * waited for it: that happens to every server, and it need not tell anybody. */
static bool is_disconnected(const struct thrum__model *model, uint32_t task)
{
	static const char *const reasons[] = {"ECONNRESET", "connection reset", "Connection reset",
		"EPIPE", "broken pipe", "Broken pipe", "EOF", "end of file", "disconnected"};
	const char *reason = thrum__model_string(model, THRUM__TASK(model, task, failure), NULL);

	if (THRUM__TASK(model, task, kind) != THRUM_KIND_REQUEST &&
		!thrum__why_is_lasting(model, task))
		return false;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (strncmp(reason, reasons[i], strlen(reasons[i])) == 0)
			return thrum__why_edge_to(model, task, THRUM__EDGE_WAIT) == THRUM__NONE;
	return false;
}

/* Whether the last task whose result it read had been cancelled: then its failure only passes that
 * on, and somebody wanted it. */
static bool passes_on_cancel(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_out);

	while (thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ)
		edge = THRUM__EDGE(model, edge, prev_out);
	return thrum__model_has_row(&model->edges, edge) &&
		thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)) &&
		THRUM__TASK(model, THRUM__EDGE(model, edge, to), state) == THRUM__STATE_CANCELLED;
}

/* Adds a finding about a failure that nobody read; failures of tasks that are alike share one. */
static void add_unseen(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct thrum__finding *finding = thrum__why_find_alike(search, THRUM__FINDING_FAILED_UNSEEN,
		task);
	uint32_t edge = thrum__why_edge_to(model, task, THRUM__EDGE_FAIL);
	uint32_t creator = THRUM__TASK(model, task, creator);
	int64_t end = THRUM__TASK(model, task, end);

	if (finding) {
		finding->count++;
		return;
	}
	/* A gap after the failure may hide the read. */
	finding = thrum__why_add(search, THRUM__FINDING_FAILED_UNSEEN,
		thrum__why_certainty(search, THRUM__LIKELY, end), task);
	if (!finding)
		return;
	finding->count = 1;
	thrum__why_add_step(finding, THRUM__STEP_FAILED, task, thrum__why_actor(model, edge), end,
		edge);
	if (thrum__model_has_row(&model->tasks, creator))
		thrum__why_add_step(finding, THRUM__STEP_UNREAD, creator, task,
			THRUM__TASK(model, task, created), THRUM__NONE);
}

/* Whether the task was tried again, so far without another failure: another of its creator's tasks has the
 * same label, with a number, and began after it had failed. Looks at the next 256 tasks. */
static bool is_retried(const struct thrum__model *model, uint32_t task)
{
	uint32_t name = THRUM__TASK(model, task, name), creator = THRUM__TASK(model, task, creator);
	const char *label = thrum__model_string(model, name, NULL);
	uint32_t next;

	if (creator == THRUM__NONE || !label[strcspn(label, "0123456789")])
		return false;
	next = thrum__analyse_task_from(model, THRUM__TASK(model, task, end));
	for (int i = 0; i < RETRIES_MAX && thrum__model_has_row(&model->tasks, next); i++, next++)
		if (THRUM__TASK(model, next, name) == name &&
			THRUM__TASK(model, next, creator) == creator &&
			THRUM__TASK(model, next, state) != THRUM__STATE_FAILED)
			return true;
	return false;
}

static bool is_unseen(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;

	return THRUM__TASK(model, task, state) == THRUM__STATE_FAILED &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING) &&
		THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE &&
		*thrum__cause(search, task) == THRUM__NONE && !is_seen(model, task, true) &&
		!is_known_to_its_failer(model, task) && !is_disconnected(model, task) &&
		!passes_on_cancel(model, task) &&
		!thrum__why_is_recent(model, THRUM__TASK(model, task, end)) &&
		!is_retried(model, task);
}

/* ---- Cancelled ----------------------------------------------------------------------------- */

/* Whether `who` is the task, one of its creators, or a task that one of these became: then it may
 * cancel the task. Looks at 16 tasks. Also true if that can't be known, as a creator is
 * forgotten. */
static bool is_below(const struct thrum__model *model, uint32_t task, uint32_t who)
{
	for (int i = 0; i < ANCESTORS_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		if (task == who || thrum__model_heir(model, task) == who)
			return true;
		task = THRUM__TASK(model, task, creator);
	}
	return thrum__why_is_cut(&model->tasks, task);
}

/* Whether a task other than this one waited for the cancelled one. */
static bool is_shared(const struct thrum__model *model, uint32_t cancelled, uint32_t task)
{
	THRUM__ACTS_ON (model, cancelled, edge, LOOK_BACK, THRUM__EDGE_WAIT)
		if (THRUM__EDGE(model, edge, from) != task)
			return true;
	return false;
}

/* Whether those that waited for a task expect its end: they resolved nevertheless, or ignore its result. */
static bool is_expected(const struct thrum__model *model, uint32_t task)
{
	bool is_awaited = false;

	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_WAIT) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (!thrum__model_has_row(&model->tasks, from) ||
			(THRUM__TASK(model, thrum__model_heir(model, from), state) !=
					THRUM__STATE_RESOLVED &&
				THRUM__TASK(model, from, kind) != THRUM_KIND_IGNORE_RESULT))
			return false;
		is_awaited = true;
	}
	return is_awaited;
}

/* Whether a task was cancelled with its own request, which nobody else needs, and those that waited
 * for it expect that: so does a client that disconnects. */
static bool is_given_up(const struct thrum__model *model, uint32_t task, uint32_t cancelled)
{
	return is_expected(model, task) &&
		(task == cancelled || !is_shared(model, cancelled, task));
}

/* Adds a finding if a task that should resolve was cancelled by a stranger, or ended because
 * another task was. */
static void check_cancelled(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t cancelled = thrum__why_first_cancelled(model, task), by;
	struct thrum__finding *finding;

	if (THRUM__TASK(model, cancelled, state) != THRUM__STATE_CANCELLED)
		return;
	uint32_t cancel = thrum__why_edge_to(model, cancelled, THRUM__EDGE_CANCEL);

	by = thrum__why_actor(model, cancel);
	/* The losers of a choice are meant to end. */
	if (by == THRUM__NONE || thrum__analyse_task_is_choice(model, by) ||
		is_below(model, cancelled, by) || is_below(model, task, by) ||
		is_given_up(model, task, cancelled) ||
		thrum__why_find_alike(search, THRUM__FINDING_CANCELLED, cancelled))
		return;
	/* POSSIBLE only, as the program may intend it. */
	finding = thrum__why_add(search, THRUM__FINDING_CANCELLED, THRUM__POSSIBLE, cancelled);
	if (!finding)
		return;
	thrum__why_add_at(finding, model, THRUM__STEP_CANCELLED, cancelled, by, cancel);
	if (task != cancelled)
		thrum__why_add_step(finding, THRUM__STEP_ENDS_TOO, task, cancelled,
			THRUM__TASK(model, task, end),
			thrum__why_edge_to(model, task,
				THRUM__TASK(model, task, state) == THRUM__STATE_FAILED
					? THRUM__EDGE_FAIL
					: THRUM__EDGE_CANCEL));
}

/* ---- The searches --------------------------------------------------------------------------- */

static int find_unseen(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct habit *habits = NULL;

	THRUM__WHY_EACH (search, task, THRUM__SORT_FAILED) {
		if (!is_unseen(search, task))
			continue;
		if (!habits)
			habits = learn_habits(model);
		if (!habits)
			return -THRUM_E_MEMORY;
		if (!is_read_by_nobody(model, habits, task))
			add_unseen(search, task);
	}
	free(habits);
	return 0;
}

int thrum__why_find_ended(struct thrum__search *search)
{
	const unsigned sorts = THRUM__SORT_READY | THRUM__SORT_FAILED;
	const struct thrum__model *model = search->model;

	THRUM__WHY_EACH (search, task, sorts) {
		switch (THRUM__TASK(model, task, state)) {
		case THRUM__STATE_PENDING:
			if (!thrum__model_is_gone(model, task))
				check_waiter(search, task);
			break;
		case THRUM__STATE_FAILED:
		case THRUM__STATE_CANCELLED:
			if (THRUM__TASK(model, task, flags) & THRUM__TASK_SHOULD_RESOLVE &&
				*thrum__cause(search, task) == THRUM__NONE)
				check_cancelled(search, task);
			break;
		default: break;
		}
	}
	return find_unseen(search);
}
