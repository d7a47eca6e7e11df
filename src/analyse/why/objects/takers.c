/* SPDX-License-Identifier: ISC */
/*
 * Tells who took the lock of a condition while others wait for that: it may have changed what they wait
 * for. A task that goes to wait for a condition releases its lock just before, which tells the lock.
 */
#include "analyse/why/objects/objects.h"
#include "base/time.h"

#define LOOK_BACK 1024  /* edges that are searched, from the latest back */
#define LOCKS_BACK 8192 /* the same, of a lock whose places are compared */
#define AT_ONCE 1000000 /* ns from the release of a lock to the wait */
#define TOLD 2
#define PLACES 32     /* where a lock is taken */
#define HELD_BACK 64  /* edges of a task while it has a lock */
#define SIGNALS_MIN 8 /* so often those who took the lock at a place signalled: so each should */
#define SILENT_MAX 2  /* so often it was not so: the first who came there had nobody to signal */

/* The lock that a task released to begin a wait, an edge; NONE if its act before was another one. */
static uint32_t lock_of(const struct thrum__model *model, uint32_t wait)
{
	uint32_t act = thrum__model_has_row(&model->edges, wait)
		? THRUM__EDGE(model, wait, prev_out)
		: THRUM__NONE;

	return thrum__model_has_row(&model->edges, act) &&
			THRUM__EDGE(model, act, kind) == THRUM__EDGE_UNLOCK &&
			thrum__base_time_between(THRUM__EDGE(model, act, time),
				THRUM__EDGE(model, wait, time)) < AT_ONCE
		? thrum__why_known(model, THRUM__EDGE(model, act, to))
		: THRUM__NONE;
}

bool thrum__why_is_signaller(const struct thrum__search *search, uint32_t task, uint32_t condition)
{
	const struct thrum__model *model = search->model;

	THRUM__ACTS_OF (model, task, edge, LOOK_BACK, THRUM__EDGE_SIGNAL)
		if (thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)) &&
			thrum__why_is_alike(search, condition, THRUM__EDGE(model, edge, to)))
			return true;
	return false;
}

/* Whether a task may be told: it doesn't wait for the condition itself, nor for one like it of which it has
 * signalled none. */
static bool is_other(const struct thrum__search *search, const struct thrum__why_link *link,
	uint32_t task)
{
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

	if (!thrum__model_has_row(&search->model->tasks, task) || task == link->task ||
		!*thrum__model_task_name(search->model, task, NULL))
		return false;
	return !wait ||
		(wait->on != link->wait.on &&
			(!thrum__why_is_alike(search, link->wait.on, wait->on) ||
				thrum__why_is_signaller(search, task, link->wait.on)));
}

/* ---- At a place where others signalled ----------------------------------------------------- */

/* How a lock was used by those that took it at a place. */
struct use {
	int place;
	unsigned signals,
		silent; /* how often they signalled before they released it, and how often not */
	uint32_t last;  /* the edge by which one took it and signalled nobody, after all signals */
};

struct uses {
	struct use of[PLACES];
	unsigned count, signals;
};

static struct use *use_at(struct uses *uses, int place)
{
	unsigned i = 0;

	while (i < uses->count && uses->of[i].place != place)
		i++;
	if (i == PLACES)
		return NULL;
	if (i == uses->count)
		uses->of[uses->count++] = (struct use){.place = place, .last = THRUM__NONE};
	return &uses->of[i];
}

/* Whether a task signalled a condition like this one while it had a lock: between two edges. Also if that
 * isn't known. */
static bool has_signalled(const struct thrum__search *search, uint32_t condition, uint32_t lock,
	uint32_t unlock)
{
	const struct thrum__model *model = search->model;

	THRUM__EDGES_BACK (model, unlock, prev_out, HELD_BACK) {
		uint32_t to = THRUM__EDGE(model, unlock, to);

		if (unlock == lock)
			return false;
		if (THRUM__EDGE(model, unlock, kind) == THRUM__EDGE_SIGNAL &&
			thrum__model_has_row(&model->tasks, to) &&
			thrum__why_is_alike(search, condition, to))
			return true;
	}
	return true;
}

/* Finds for each place where a lock was taken whether those who did signalled conditions like this one.
 * Returns false if not all is known. */
static bool find_uses(const struct thrum__search *search, uint32_t lock, uint32_t condition,
	struct uses *uses)
{
	const struct thrum__model *model = search->model;
	uint32_t edge = THRUM__TASK(model, lock, edge_in), unlock = THRUM__NONE;

	*uses = (struct uses){.count = 0};
	THRUM__EDGES_BACK (model, edge, prev_in, LOCKS_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		struct use *use;

		if (kind == THRUM__EDGE_UNLOCK)
			unlock = edge;
		use = kind == THRUM__EDGE_LOCK && unlock != THRUM__NONE &&
				THRUM__EDGE(model, unlock, from) == THRUM__EDGE(model, edge, from)
			? use_at(uses, thrum__model_edge_place(model, edge))
			: NULL;
		if (!use)
			continue;
		if (has_signalled(search, condition, edge, unlock)) {
			use->signals++;
			uses->signals++;
		} else if (use->silent++ == 0 && uses->signals == 0) {
			use->last = edge;
		}
		unlock = THRUM__NONE;
	}
	return edge == THRUM__NONE;
}

/* The edge by which somebody took a lock and signalled nobody, at the only place where nearly all did who
 * took it there; nobody has signalled since. NONE: there is none. */
static uint32_t silent_at(const struct uses *uses)
{
	uint32_t found = THRUM__NONE;

	for (unsigned i = 0; i < uses->count; i++) {
		const struct use *use = &uses->of[i];

		if (use->place <= 0 || use->last == THRUM__NONE || use->signals < SIGNALS_MIN ||
			use->silent > SILENT_MAX)
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = use->last;
	}
	return found;
}

/* Whether nobody signals who takes the lock at a place, though others do that take it elsewhere. */
static bool is_used_otherwise(const struct uses *uses, int place)
{
	for (unsigned i = 0; i < uses->count && uses->signals >= SIGNALS_MIN; i++)
		if (uses->of[i].place == place)
			return place > 0 && uses->of[i].signals == 0 &&
				uses->of[i].silent > SILENT_MAX;
	return false;
}

/* ---- Meanwhile ----------------------------------------------------------------------------- */

bool thrum__why_add_takers(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__analyse_wait *wait = &thrum__why_path_last(path)->wait;
	uint32_t lock = lock_of(model, wait->edge), told = 0;
	uint32_t edge = lock == THRUM__NONE ? lock : THRUM__TASK(model, lock, edge_in), silent;
	struct uses uses = {.count = 0};
	bool is_whole = lock != THRUM__NONE && find_uses(search, lock, path->leaf, &uses);

	silent = is_whole && THRUM__TASK(model, lock, created) > search->gap ? silent_at(&uses)
									     : THRUM__NONE;
	if (silent != THRUM__NONE) {
		thrum__why_set_more(thrum__why_add_at(finding, model, THRUM__STEP_TAKES_LOCK,
					    THRUM__EDGE(model, silent, from), path->leaf, silent),
			1);
		return true;
	}
	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		uint32_t task = THRUM__EDGE(model, edge, from);

		if (told == TOLD || THRUM__EDGE(model, edge, time) <= wait->since)
			break;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LOCK ||
			!is_other(search, thrum__why_path_last(path), task) ||
			thrum__why_has_step(finding, 0, task) ||
			is_used_otherwise(&uses, thrum__model_edge_place(model, edge)))
			continue;
		thrum__why_add_at(finding, model, THRUM__STEP_TAKES_LOCK, task, path->leaf, edge);
		told++;
	}
	return told > 0;
}

/* ---- At a new place ------------------------------------------------------------------------- */

uint32_t thrum__why_lock_of_condition(const struct thrum__model *model, uint32_t condition)
{
	bool is_known = thrum__model_has_row(&model->tasks, condition);
	uint32_t edge = is_known ? THRUM__TASK(model, condition, edge_in) : THRUM__NONE;

	THRUM__EDGES_OF (model, edge, prev_in, LOOK_BACK, THRUM__EDGE_WAIT)
		if (lock_of(model, edge) != THRUM__NONE)
			return lock_of(model, edge);
	return THRUM__NONE;
}

static bool is_for_condition(const struct thrum__model *model, uint32_t edge, int kind)
{
	return thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == kind &&
		thrum__why_is_condition(model, THRUM__EDGE(model, edge, to));
}

/* Whether a task made use of a lock that it took by this edge, or may have: it was woken by a condition just
 * before, or before it took the lock anew, it signalled this condition or went to wait with that lock. */
static bool has_use(const struct thrum__model *model, uint32_t taken, uint32_t condition)
{
	uint32_t task = THRUM__EDGE(model, taken, from), lock = THRUM__EDGE(model, taken, to);
	uint32_t after = THRUM__NONE;
	bool is_used = false;

	THRUM__EDGES_FROM (model, task, edge, LOOK_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (edge == taken)
			return is_used ||
				is_for_condition(model, THRUM__EDGE(model, edge, prev_out),
					THRUM__EDGE_READ);
		is_used |= kind == THRUM__EDGE_SIGNAL && to == condition;
		if (to == lock && kind == THRUM__EDGE_LOCK)
			is_used = false;
		if (to == lock && kind == THRUM__EDGE_UNLOCK &&
			is_for_condition(model, after, THRUM__EDGE_WAIT) &&
			lock_of(model, after) == lock)
			is_used = true;
		after = edge;
	}
	return true;
}

/* Whether a task signalled but other conditions while it had a lock that it took by this edge. */
static bool signals_others(const struct thrum__model *model, uint32_t taken, uint32_t condition)
{
	uint32_t lock = THRUM__EDGE(model, taken, to);
	bool signals = false;

	THRUM__EDGES_FROM (model, THRUM__EDGE(model, taken, from), edge, LOOK_BACK) {
		if (edge == taken)
			return signals;
		if (THRUM__EDGE(model, edge, to) == lock)
			signals = false;
		else if (is_for_condition(model, edge, THRUM__EDGE_SIGNAL))
			signals = THRUM__EDGE(model, edge, to) != condition;
	}
	return false;
}

/* Whether a task is one of those that served a condition, or is named like one. */
static bool is_like_server(const struct thrum__model *model, uint32_t task,
	const struct thrum__why_servers *servers)
{
	for (unsigned i = 0; i < servers->count; i++)
		if (servers->task[i] == task ||
			thrum__why_are_named_alike(model, servers->task[i], task))
			return true;
	return false;
}

/* Bits: the places, by their numbers, where a lock was taken up to a time. */
struct places {
	uint8_t bits[INT16_MAX / 8 + 1];
};

/* Returns false if not all are known. */
static bool find_places(const struct thrum__model *model, uint32_t lock, int64_t until,
	struct places *places)
{
	uint32_t edge = THRUM__TASK(model, lock, edge_in);

	*places = (struct places){{0}};
	THRUM__EDGES_BACK (model, edge, prev_in, LOCKS_BACK) {
		int place = thrum__model_edge_place(model, edge);

		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LOCK && place > 0 &&
			THRUM__EDGE(model, edge, time) <= until)
			places->bits[place / 8] |= (uint8_t)(1 << place % 8);
	}
	return edge == THRUM__NONE;
}

/* Whether a lock was taken, by this edge, at a place that isn't one of these. */
static bool is_new_place(const struct thrum__model *model, uint32_t taken,
	const struct places *places)
{
	int place = thrum__model_edge_place(model, taken);

	return THRUM__EDGE(model, taken, kind) == THRUM__EDGE_LOCK && place > 0 &&
		!(places->bits[place / 8] >> place % 8 & 1);
}

/* The edges by which some first took the condition's lock at a new place since a wait began, and made no use
 * of it: those that serve the condition, and their like. If those have ended, any that took it before that,
 * and signalled other conditions meanwhile. Returns how many there are, at most TOLD + 1. */
static unsigned find_new(const struct thrum__search *search, const struct thrum__why_link *link,
	int64_t ended, uint32_t found[TOLD + 1])
{
	const struct thrum__model *model = search->model;
	uint32_t on = link->wait.on, lock = thrum__why_lock_of_condition(model, on), edge;
	struct thrum__why_servers servers;
	struct places places;
	unsigned count = 0;

	if (lock == THRUM__NONE || THRUM__TASK(model, lock, created) <= search->gap ||
		!find_places(model, lock, link->wait.since, &places))
		return 0;
	thrum__why_servers_of(model, on, link->task, &servers);
	for (edge = THRUM__TASK(model, lock, edge_in);
		count <= TOLD && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) > link->wait.since;
		edge = THRUM__EDGE(model, edge, prev_in)) {
		uint32_t task = THRUM__EDGE(model, edge, from);
		unsigned at = 0;

		if (THRUM__EDGE(model, edge, time) > ended || !is_new_place(model, edge, &places) ||
			!is_other(search, link, task) ||
			!(ended == THRUM__OPEN ? is_like_server(model, task, &servers)
					       : signals_others(model, edge, on)) ||
			has_use(model, edge, on))
			continue;
		while (at < count &&
			thrum__model_edge_place(model, found[at]) !=
				thrum__model_edge_place(model, edge))
			at++;
		found[at] = edge;
		count = at == count ? count + 1 : count;
	}
	return count;
}

bool thrum__why_add_newcomers(struct thrum__finding *finding, const struct thrum__search *search,
	const struct thrum__why_link *link, int64_t ended)
{
	const struct thrum__model *model = search->model;
	uint32_t found[TOLD + 1];
	unsigned count, most = ended == THRUM__OPEN ? TOLD : 1;

	if (THRUM__TASK(model, link->wait.on, kind) != THRUM_KIND_CONDITION)
		return false;
	count = find_new(search, link, ended, found);
	for (unsigned i = count; count <= most && i-- > 0;)
		thrum__why_add_at(finding, model, THRUM__STEP_TAKES_LOCK,
			THRUM__EDGE(model, found[i], from), link->wait.on, found[i]);
	return count > 0 && count <= most;
}
