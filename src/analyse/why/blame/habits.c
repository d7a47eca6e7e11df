/* SPDX-License-Identifier: ISC */
/*
 * Tells what was usual before a task hung: which task ended those like it, who took from a mailbox,
 * and that nothing failed. Something unusual since then is worth telling.
 */
#include "analyse/why/blame/blame.h"

#define AROUND 256     /* tasks created before and after a task that are searched for its like */
#define STEADY_MIN 2   /* so many of them that one task ended show that it ends them all */
#define ENDERS_MAX 16  /* that are told apart */
#define TAKES_BACK 256 /* edges of a mailbox that are searched, from the latest back */
#define TAKES_MIN 3    /* so many items that others took show that one took what wasn't for it */
#define MEANWHILE_BACK 4096 /* tasks that are searched for failures */
#define RARE 8              /* of so many alike that resolved, one may fail */
#define RUNS_BACK 4096      /* runs that are searched, from the latest back */
#define STEPS_MAX 8         /* tasks that read one another's result */

/* ---- The task that ends all alike ---------------------------------------------------------- */

uint32_t thrum__why_resolved_like(struct thrum__search *search, uint32_t task, uint32_t row)
{
	const struct thrum__model *model = search->model;

	while (row-- > model->tasks.first && thrum__why_spend(search, 1))
		if (thrum__model_has_row(&model->tasks, row) && row != task &&
			THRUM__TASK(model, row, state) == THRUM__STATE_RESOLVED &&
			thrum__why_is_alike(search, task, row))
			return row;
	return THRUM__NONE;
}

/* The task that resolved another one: for a task that resolved itself, the thread on which it ran
 * last. NONE: it isn't known, or it is the thread that made the task, which does all sorts of things. */
static uint32_t ended_by(const struct thrum__model *model, uint32_t task)
{
	uint32_t by = thrum__why_actor_to(model, task, THRUM__EDGE_RESOLVE);
	uint32_t lane = thrum__why_last_lane(model, task);

	if (by != THRUM__NONE && by == task)
		by = lane == THRUM__NONE ? lane : thrum__why_known(model, model->lanes[lane].task);
	if (by == THRUM__NONE ||
		(thrum__analyse_task_is_lane(model, by) &&
			THRUM__TASK(model, by, lane) == THRUM__TASK(model, task, lane)))
		return THRUM__NONE;
	return thrum__model_heir(model, by);
}

/* Those that ended the tasks like one, in the order of these. */
struct enders {
	uint32_t task[ENDERS_MAX], times[ENDERS_MAX];
	unsigned count, changes; /* how often the next was ended by another one */
	unsigned strangers;      /* times that the ender isn't the thread that ran the task */
	int64_t left;            /* since when one of these is pending */
};

/* Whether a thread ran a task last. */
static bool is_thread_of(const struct thrum__model *model, uint32_t thread, uint32_t task)
{
	uint32_t lane = thrum__why_last_lane(model, task);

	return thread != THRUM__NONE && lane != THRUM__NONE &&
		thrum__why_heir_of(model, model->lanes[lane].task) == thread;
}

/* Returns false if some aren't known, or there are more than `most`. */
static bool find_enders(struct thrum__search *search, uint32_t task, unsigned most,
	struct enders *enders)
{
	const struct thrum__model *model = search->model;
	uint32_t from = task > AROUND ? task - AROUND : 0, last = THRUM__NONE;

	*enders = (struct enders){.left = THRUM__TASK(model, task, created)};
	for (uint32_t i = from; i < model->tasks.count && i - from < 2 * AROUND; i++) {
		unsigned at = 0;
		uint32_t by;

		if (!thrum__why_spend(search, 1))
			return false;
		if (i == task || !thrum__model_has_row(&model->tasks, i) ||
			!thrum__why_is_alike(search, task, i))
			continue;
		if (i < task && thrum__analyse_task_is_pending(model, i) &&
			THRUM__TASK(model, i, created) < enders->left)
			enders->left = THRUM__TASK(model, i, created);
		if (THRUM__TASK(model, i, state) != THRUM__STATE_RESOLVED)
			continue;
		by = ended_by(model, i);
		while (at < enders->count && enders->task[at] != by)
			at++;
		if (by == THRUM__NONE || at == most)
			return false;
		enders->count += at == enders->count;
		enders->task[at] = by;
		enders->times[at]++;
		enders->changes += by != last;
		enders->strangers += !is_thread_of(model, by, i);
		last = by;
	}
	return enders->count > 0;
}

uint32_t thrum__why_steady_ender(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	struct enders enders;

	/* A task that began later did not end those before it. A thread that ends those which it runs doesn't
	 * end one that another thread runs now. */
	return find_enders(search, task, 1, &enders) && enders.times[0] >= STEADY_MIN &&
			enders.task[0] != task &&
			(enders.strangers > 0 || !thrum__analyse_task_is_running(model, task) ||
				is_thread_of(model, enders.task[0], task))
		? enders.task[0]
		: THRUM__NONE;
}

uint32_t thrum__why_last_ender(struct thrum__search *search, uint32_t task, unsigned *count)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE;
	struct enders enders;

	/* Those that end several at once, and end as a rule, don't take turns. */
	if (!find_enders(search, task, ENDERS_MAX, &enders) || enders.changes <= enders.count)
		return THRUM__NONE;
	for (unsigned i = 0; i < enders.count; i++) {
		if (enders.times[i] < STEADY_MIN ||
			thrum__analyse_task_is_pending(model, enders.task[i]))
			return THRUM__NONE;
		if (found == THRUM__NONE ||
			THRUM__TASK(model, enders.task[i], end) > THRUM__TASK(model, found, end))
			found = enders.task[i];
	}
	*count = enders.count;
	return THRUM__TASK(model, found, end) > enders.left ? found : THRUM__NONE;
}

/* ---- Failures meanwhile -------------------------------------------------------------------- */

/* Timers are cancelled when they aren't needed, and so are the losers of a choice; but not if the choice
 * failed, as by a time-out. */
bool thrum__why_has_failed_in(const struct thrum__model *model, uint32_t task, int64_t from,
	int64_t to)
{
	int state = THRUM__TASK(model, task, state), kind = THRUM__TASK(model, task, kind);
	uint32_t by;

	if ((state != THRUM__STATE_FAILED && state != THRUM__STATE_CANCELLED) ||
		THRUM__TASK(model, task, end) < from || THRUM__TASK(model, task, end) > to ||
		kind == THRUM_KIND_HANDLE || thrum__analyse_task_is_lane(model, task) ||
		!*thrum__model_task_name(model, task, NULL))
		return false;
	by = thrum__why_actor_to(model, task, THRUM__EDGE_CANCEL);
	return by != THRUM__NONE && thrum__analyse_task_is_choice(model, by)
		? THRUM__TASK(model, by, state) == THRUM__STATE_FAILED
		: kind != THRUM_KIND_TIMER;
}

/* Whether tasks like this one fail or are cancelled as a rule. */
static bool is_everyday(struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, task), failed = 0, resolved = 0;
	uint32_t at = model->tasks.count;

	for (unsigned i = 0; key != THRUM__NONE && i < MEANWHILE_BACK && search->budget > 0 &&
		at-- > model->tasks.first;
		i++, search->budget--) {
		if (thrum__why_peers_key(&search->peers, at) != key)
			continue;
		resolved += THRUM__TASK(model, at, state) == THRUM__STATE_RESOLVED;
		failed += THRUM__TASK(model, at, state) == THRUM__STATE_FAILED ||
			THRUM__TASK(model, at, state) == THRUM__STATE_CANCELLED;
	}
	return failed > 1 && failed > resolved / RARE;
}

uint32_t thrum__why_failed_meanwhile(struct thrum__search *search, uint32_t leaf)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE, at = model->tasks.count;
	int64_t since = THRUM__TASK(model, leaf, created);
	int64_t until = thrum__why_middle(model, since);

	if (search->gap > since)
		return found;
	for (unsigned i = 0; i < MEANWHILE_BACK && search->budget > 0 && at-- > model->tasks.first;
		i++, search->budget--)
		if (thrum__model_has_row(&model->tasks, at) && at != leaf &&
			thrum__why_has_failed_in(model, at, since, until) &&
			(found == THRUM__NONE ||
				THRUM__TASK(model, at, end) <= THRUM__TASK(model, found, end)))
			found = at;
	return found != THRUM__NONE && is_everyday(search, found) ? THRUM__NONE : found;
}

uint32_t thrum__why_failed_last(const struct thrum__model *model, uint32_t lane)
{
	THRUM__RUNS_BACK (model, row, RUNS_BACK) {
		uint32_t task = thrum__why_known(model, THRUM__RUN(model, row, task));

		if (task != THRUM__NONE && THRUM__RUN(model, row, lane) == lane &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST)
			return THRUM__TASK(model, task, state) == THRUM__STATE_FAILED ? task
										      : THRUM__NONE;
	}
	return THRUM__NONE;
}

/* ---- Strangers at a mailbox ---------------------------------------------------------------- */

/* The task that took an item, which an edge READ tells: the first with a name of those that read
 * it one after the other. */
static uint32_t taker_of(const struct thrum__model *model, uint32_t edge)
{
	uint32_t task = THRUM__EDGE(model, edge, from);

	for (int i = 0; i < STEPS_MAX && thrum__model_has_row(&model->tasks, task); i++) {
		if (*thrum__model_task_name(model, task, NULL))
			return task;
		task = thrum__why_actor_to(model, task, THRUM__EDGE_READ);
	}
	return THRUM__NONE;
}

uint32_t thrum__why_stranger_at(const struct thrum__search *search, uint32_t object,
	uint32_t waiter, uint32_t *edge)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, waiter), usual = 0, strange = 0;

	*edge = THRUM__NONE;
	if (THRUM__TASK(model, object, kind) != THRUM_KIND_MAILBOX || key == THRUM__NONE)
		return THRUM__NONE;
	THRUM__ACTS_ON (model, object, at, TAKES_BACK, THRUM__EDGE_READ) {
		uint32_t from = THRUM__EDGE(model, at, from);

		if (!thrum__model_has_row(&model->tasks, from))
			continue;
		if (thrum__why_peers_key(&search->peers, from) == key) {
			usual++;
			continue;
		}
		strange++;
		*edge = at;
	}
	return strange == 1 && usual >= TAKES_MIN ? taker_of(model, *edge) : THRUM__NONE;
}

/* ---- Tokens that are kept ------------------------------------------------------------------- */

/* The task that goes on for another one, or for what that became: it read the result. NONE: there is none. */
static uint32_t next_holder(const struct thrum__model *model, uint32_t task)
{
	return thrum__why_actor_to(model, thrum__model_heir(model, task), THRUM__EDGE_READ);
}

/* How many results were handed on from a task to that which is to have put back what it took; -1: it isn't
 * one of those that go on for it, nor did one of them make it. */
static int steps_to(const struct thrum__model *model, uint32_t taker, uint32_t giver)
{
	for (int i = 0; i < STEPS_MAX && taker != THRUM__NONE; i++) {
		if (taker == giver || thrum__model_heir(model, taker) == giver ||
			(THRUM__TASK(model, giver, creator) == taker &&
				!thrum__analyse_task_is_lane(model, taker)))
			return i;
		taker = next_holder(model, taker);
	}
	return -1;
}

/* How those that took something out of a mailbox went on. */
struct tokens {
	/* Those who put something in, and haven't taken it out: the latest first. */
	uint32_t signals[TAKES_BACK];
	unsigned signal_count;
	unsigned in, out, given; /* given: of those that went out, how many came back */
	int steps;               /* the most that lie between who took and who put back */
	unsigned kept;  /* not counting those that threads took, which hand them on unseen */
	uint32_t taken; /* the edge by which the one that was kept was taken */
};

/* Finds who put back what was taken by an edge. */
static void count_take(const struct thrum__model *model, struct tokens *tokens, uint32_t edge)
{
	uint32_t taker = THRUM__EDGE(model, edge, from);

	tokens->out++;
	for (unsigned i = tokens->signal_count; i-- > 0;) {
		int steps = steps_to(model, taker, tokens->signals[i]);

		if (steps < 0)
			continue;
		tokens->signals[i] = tokens->signals[--tokens->signal_count];
		tokens->given++;
		tokens->steps = steps > tokens->steps ? steps : tokens->steps;
		return;
	}
	if (thrum__analyse_task_is_lane(model, taker))
		return;
	tokens->kept++;
	tokens->taken = edge;
}

/* Reads all that went in and out. Returns false if some of it isn't known. */
static bool count_tokens(struct thrum__search *search, uint32_t object, struct tokens *tokens)
{
	const struct thrum__model *model = search->model;
	uint32_t at = THRUM__TASK(model, object, edge_in);

	THRUM__EDGES_BACK (model, at, prev_in, 2 * TAKES_BACK) {
		uint32_t from = THRUM__EDGE(model, at, from);
		int kind = THRUM__EDGE(model, at, kind);

		if (kind != THRUM__EDGE_SIGNAL && kind != THRUM__EDGE_READ)
			continue;
		if (!thrum__model_has_row(&model->tasks, from) || !thrum__why_spend(search, 1))
			return false;
		if (kind == THRUM__EDGE_READ) {
			count_take(model, tokens, at);
		} else {
			if (tokens->signal_count == TAKES_BACK)
				return false;
			tokens->signals[tokens->signal_count++] = from;
			tokens->in++;
		}
		if (tokens->kept > 1)
			return false;
	}
	return at == THRUM__NONE;
}

/* Whether a task and those that go on for it, so many steps on, have ended. Sets *failed to the first of
 * them that failed or was cancelled. */
static bool is_over(const struct thrum__model *model, uint32_t task, int steps, uint32_t *failed)
{
	for (int i = 0; i <= steps && task != THRUM__NONE; i++) {
		uint32_t heir = thrum__model_heir(model, task);

		if (THRUM__TASK(model, heir, state) == THRUM__STATE_PENDING)
			return false;
		if (*failed == THRUM__NONE &&
			THRUM__TASK(model, heir, state) != THRUM__STATE_RESOLVED)
			*failed = heir;
		task = next_holder(model, task);
	}
	return true;
}

uint32_t thrum__why_keeper_at(struct thrum__search *search, uint32_t object, uint32_t waiter,
	uint32_t *edge)
{
	const struct thrum__model *model = search->model;
	struct tokens tokens = {.taken = THRUM__NONE};
	uint32_t failed = THRUM__NONE, taker;

	*edge = THRUM__NONE;
	if (THRUM__TASK(model, object, kind) != THRUM_KIND_MAILBOX ||
		THRUM__TASK(model, object, created) <= search->gap ||
		!count_tokens(search, object, &tokens) || tokens.kept != 1 ||
		tokens.in != tokens.out)
		return THRUM__NONE;
	*edge = tokens.taken;
	/* It must have been about to do the same as the waiter, unless enough others put theirs back. */
	if ((tokens.given <= TAKES_MIN &&
		    !thrum__why_is_alike(search, waiter, THRUM__EDGE(model, *edge, from))) ||
		!is_over(model, THRUM__EDGE(model, *edge, from), tokens.steps, &failed) ||
		tokens.given + (failed != THRUM__NONE) < TAKES_MIN)
		return THRUM__NONE;
	taker = taker_of(model, *edge);
	return taker != THRUM__NONE ? taker : failed;
}

/* ---- Ends that nobody notices -------------------------------------------------------------- */

/* The task that was cancelled or failed among those for which a task waited, if more of them were resolved:
 * the waiting task, which counts their ends, may not have counted this one. Else NONE. */
static uint32_t uncounted(const struct thrum__model *model, uint32_t task)
{
	uint32_t found = THRUM__NONE;
	int resolved = 0, others = 0;

	THRUM__ACTS_OF (model, task, edge, TAKES_BACK, THRUM__EDGE_WAIT) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (!thrum__model_has_row(&model->tasks, to))
			continue;
		to = thrum__model_heir(model, to);
		switch (THRUM__TASK(model, to, state)) {
		case THRUM__STATE_RESOLVED: resolved++; break;
		case THRUM__STATE_FAILED:
		case THRUM__STATE_CANCELLED:
			others++;
			found = to;
			break;
		}
	}
	return others < resolved ? found : THRUM__NONE;
}

uint32_t thrum__why_ended_source(const struct thrum__search *search, uint32_t task, int64_t *since)
{
	const struct thrum__model *model = search->model;
	uint32_t wait = thrum__why_ready_since(search, task, since), source;

	if (wait == THRUM__NONE || (!search->is_deadlocked && thrum__why_is_recent(model, *since)))
		return THRUM__NONE;
	source = uncounted(model, task);
	return source != THRUM__NONE ? source
				     : thrum__model_heir(model, THRUM__EDGE(model, wait, to));
}

/* ---- Items that nobody takes --------------------------------------------------------------- */

/* Whether the program tells when something is taken out of a mailbox. */
static bool tells_takes(const struct thrum__model *model)
{
	uint32_t edge = model->edges.count;

	for (unsigned i = 0; i < MEANWHILE_BACK && edge-- > model->edges.first; i++)
		if (thrum__model_has_row(&model->edges, edge) &&
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ &&
			thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)) &&
			THRUM__TASK(model, THRUM__EDGE(model, edge, to), kind) ==
				THRUM_KIND_MAILBOX)
			return true;
	return false;
}

/* Whether another task took something since the one that put it there began to wait for room: the put is
 * recorded once all of it is there. */
static bool is_taken_meanwhile(const struct thrum__model *model, uint32_t put)
{
	uint32_t by = THRUM__EDGE(model, put, from), at = put;
	bool is_taken = false;

	while (thrum__model_has_row(&model->edges, at = THRUM__EDGE(model, at, prev_in)) &&
		THRUM__EDGE(model, at, kind) != THRUM__EDGE_SIGNAL) {
		bool is_own = THRUM__EDGE(model, at, from) == by;

		is_taken |= !is_own && THRUM__EDGE(model, at, kind) == THRUM__EDGE_READ;
		if (is_own && is_taken && THRUM__EDGE(model, at, kind) == THRUM__EDGE_WAIT)
			return true;
	}
	return false;
}

/* The latest edge by which something was put into a mailbox that nobody took since, though nobody
 * waited for it then, or others still do; or NONE. */
static uint32_t untaken_in(const struct thrum__model *model, uint32_t object)
{
	uint32_t at = THRUM__TASK(model, object, edge_in);

	while (thrum__model_has_row(&model->edges, at) &&
		THRUM__EDGE(model, at, kind) != THRUM__EDGE_SIGNAL &&
		THRUM__EDGE(model, at, kind) != THRUM__EDGE_READ)
		at = THRUM__EDGE(model, at, prev_in);
	return thrum__model_has_row(&model->edges, at) &&
			THRUM__EDGE(model, at, kind) == THRUM__EDGE_SIGNAL &&
			(thrum__model_waiters(model, at) <= 0 ||
				(THRUM__TASK(model, object, kind) == THRUM_KIND_MAILBOX &&
					tells_takes(model))) &&
			!is_taken_meanwhile(model, at)
		? at
		: THRUM__NONE;
}

uint32_t thrum__why_untaken(struct thrum__search *search, int64_t since)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE;
	/* A deadlocked loop takes nothing any more. */
	int64_t until = search->is_deadlocked ? model->end : thrum__why_middle(model, since);

	THRUM__WHY_EACH (search, task, THRUM__SORT_WANTED) {
		uint32_t edge;

		if (!thrum__why_spend(search, 1))
			break;
		if (THRUM__TASK(model, task, kind) != THRUM_KIND_MAILBOX &&
			THRUM__TASK(model, task, kind) != THRUM_KIND_STREAM)
			continue;
		edge = untaken_in(model, task);
		if (edge == THRUM__NONE || THRUM__EDGE(model, edge, time) > until)
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = edge;
	}
	return found;
}
