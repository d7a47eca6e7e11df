/* SPDX-License-Identifier: ISC */
/*
 * Finds contended locks: those for which tasks queue all the time. A lock's busy time is one in
 * which at least one task waits for it. A short wait is healthy, and so is a queue that is soon
 * empty.
 *
 * A semaphore limits how much is done at once, so a queue at it may be meant: one batch of work, of
 * which each part waits once for its turn. It is contended if others keep coming, and wait for tasks
 * that are not like them.
 */
#include <stdlib.h>

#include "analyse/why/parts.h"
#include "base/array.h"

#define BUSY_MIN 500000000 /* ns of a busy time; a shorter one is no finding */
#define BUSY_LONG INT64_C(1000000000)
#define WAIT_MIN 100000000 /* ns of its longest wait */
#define WAIT_LONG 500000000
#define QUEUE_MIN 4 /* tasks that wait at once */
#define TAKEN_MIN 4 /* times that the lock is taken meanwhile: else somebody just keeps it */
#define HOLDERS 32  /* holders at once, and sorts of holders, that are told apart */

/* An edge of the lock: a wait that counts, or the taking or releasing of the lock. Time and kind are copied,
 * as they are asked for again and again, and a lock's edges lie far apart. */
struct act {
	int64_t time;
	uint32_t edge;
	/* A wait: the index of the act that took the lock at last; NONE: it still waits. The
	 * taking: the index of the wait before it, or NONE. */
	uint32_t other;
	uint8_t kind;
};

/* A sort of holders, all peers of each other, during a busy time. */
struct sort {
	uint32_t key, task;      /* task: the one that held the lock for most of the longest wait */
	int64_t total, from, to; /* from, to: when it held the lock */
	int64_t within;          /* ns of that which lie in the longest wait */
	uint32_t count;
	bool is_most; /* they held it for more than half of all holds' time */
};

/* A time from one act to another in which the lock is wanted. */
struct busy {
	uint32_t first, end; /* acts; end: the one behind the last */
	int64_t from, to;
	int64_t held, waited;   /* ns that somebody held the lock; ns that all waited */
	uint32_t most, longest; /* most: tasks that waited at once; longest: the longest wait */
	int64_t longest_ns;
	uint32_t taken;
};

/* The search in one lock. */
struct contention {
	struct thrum__search *search;
	uint32_t lock;
	struct act *acts;              /* the latest first */
	uint32_t count, room, permits; /* permits: the most tasks that held the lock at once */
	uint32_t *taker; /* by place of tasks: index + 1 of its act that took the lock; 0: none */
};

static int64_t time_of(const struct contention *c, uint32_t act)
{
	return c->acts[act].time;
}

static int kind_of(const struct contention *c, uint32_t act)
{
	return c->acts[act].kind;
}

/* When a wait ended. */
static int64_t end_of(const struct contention *c, uint32_t wait)
{
	uint32_t other = c->acts[wait].other;

	return other == THRUM__NONE ? c->search->model->end : time_of(c, other);
}

/* ---- The acts ------------------------------------------------------------------------------- */

/* Whether a task waits for the lock at the model's end, since that edge. */
static bool still_waits(const struct contention *c, uint32_t task, uint32_t edge)
{
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&c->search->graph, task);

	for (uint32_t i = 0; i < waits.count; i++)
		if (waits.waits[i].edge == edge)
			return true;
	return false;
}

/* Adds an act for an edge of the lock, unless it is a wait that its task gave up. */
static int add_act(struct contention *c, uint32_t edge)
{
	const struct thrum__model *model = c->search->model;
	int kind = THRUM__EDGE(model, edge, kind);
	uint32_t from = thrum__why_known(model, THRUM__EDGE(model, edge, from));
	uint32_t place = thrum__place(&c->search->findings->places, from);
	struct act act = {THRUM__EDGE(model, edge, time), edge, THRUM__NONE, (uint8_t)kind}, *grown;

	if (kind == THRUM__EDGE_WAIT && from != THRUM__NONE && c->taker[place] > 0) {
		act.other = c->taker[place] - 1;
		c->taker[place] = 0;
		c->acts[act.other].other = c->count;
	} else if (kind == THRUM__EDGE_WAIT) {
		if (from == THRUM__NONE || !still_waits(c, from, edge))
			return 0;
	} else if (kind == THRUM__EDGE_LOCK && from != THRUM__NONE) {
		c->taker[place] = c->count + 1;
	} else if (kind != THRUM__EDGE_LOCK && kind != THRUM__EDGE_UNLOCK) {
		return 0;
	}
	grown = thrum__base_grow(c->acts, &c->room, c->count + UINT64_C(1), sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	c->acts = grown;
	grown[c->count++] = act;
	return 0;
}

/* Reads the lock's edges, the latest first. */
static int read_acts(struct contention *c)
{
	const struct thrum__model *model = c->search->model;
	uint32_t edge = THRUM__TASK(model, c->lock, edge_in);
	int error = 0;

	c->count = 0;
	for (; error == 0 && thrum__model_has_row(&model->edges, edge);
		edge = THRUM__EDGE(model, edge, prev_in))
		error = add_act(c, edge);
	for (uint32_t i = 0; i < c->count; i++)
		if (kind_of(c, i) == THRUM__EDGE_LOCK)
			c->taker[thrum__place(&c->search->findings->places,
				THRUM__EDGE(model, c->acts[i].edge, from))] = 0;
	return error;
}

/* How many tasks held the lock at most at once. */
static uint32_t count_permits(const struct contention *c)
{
	uint32_t holding = 0, most = 1;

	for (uint32_t i = c->count; i-- > 0;) {
		holding += kind_of(c, i) == THRUM__EDGE_LOCK;
		holding -= kind_of(c, i) == THRUM__EDGE_UNLOCK && holding > 0;
		most = holding > most ? holding : most;
	}
	return most;
}

static bool is_semaphore(const struct contention *c)
{
	return THRUM__TASK(c->search->model, c->lock, kind) == THRUM_KIND_SEMAPHORE;
}

/* ---- Busy times ----------------------------------------------------------------------------- */

static bool is_contended(const struct busy *busy)
{
	int64_t time = busy->to - busy->from;

	return time >= BUSY_MIN && busy->longest_ns >= WAIT_MIN && busy->most >= QUEUE_MIN &&
		busy->taken >= TAKEN_MIN && busy->held >= time / 10 * 9 &&
		busy->waited / (QUEUE_MIN - 1) >= time;
}

/* Finds the longest contended time. Returns false if there is none. */
static bool find_busy(const struct contention *c, struct busy *found)
{
	const struct thrum__model *model = c->search->model;
	struct busy busy = {0};
	uint32_t waiting = 0, holding = 0, least = is_semaphore(c) ? c->permits : 1;
	bool is_found = false;

	for (uint32_t i = c->count; i-- > 0;) {
		int kind = kind_of(c, i);
		int64_t now = time_of(c, i), then;

		if (kind == THRUM__EDGE_WAIT && waiting++ == 0)
			busy = (struct busy){.first = i, .from = now};
		if (kind == THRUM__EDGE_WAIT && end_of(c, i) - now > busy.longest_ns) {
			busy.longest_ns = end_of(c, i) - now;
			busy.longest = i;
		}
		busy.most = waiting > busy.most ? waiting : busy.most;
		busy.taken += kind == THRUM__EDGE_LOCK;
		holding += kind == THRUM__EDGE_LOCK;
		holding -= kind == THRUM__EDGE_UNLOCK && holding > 0;
		if (kind == THRUM__EDGE_LOCK && c->acts[i].other != THRUM__NONE)
			waiting--;
		then = i > 0 ? time_of(c, i - 1) : model->end;
		busy.end = i;
		busy.to = waiting > 0 ? then : now;
		if (waiting > 0 && then > now) {
			busy.held += holding >= least ? then - now : 0;
			busy.waited += waiting * (then - now);
		}
		if ((waiting == 0 || i == 0) && is_contended(&busy) &&
			(!is_found || busy.to - busy.from > found->to - found->from)) {
			*found = busy;
			is_found = true;
		}
	}
	return is_found;
}

/* ---- Holders -------------------------------------------------------------------------------- */

/* How many ns of a hold lie in the busy time's longest wait. */
static int64_t time_in_wait(const struct contention *c, const struct busy *busy,
	const struct sort *hold)
{
	int64_t from = time_of(c, busy->longest), to = end_of(c, busy->longest);

	from = hold->from > from ? hold->from : from;
	to = hold->to < to ? hold->to : to;
	return to > from ? to - from : 0;
}

/* Whether a hold tells more of the longest wait than its sort's best: it takes more of the wait, or,
 * where neither is in it, it is longer. */
static bool tells_more(const struct sort *hold, const struct sort *best)
{
	if (hold->within != best->within)
		return hold->within > best->within;
	return hold->to - hold->from > best->to - best->from;
}

/* Adds a hold to the sort of its task, if there is room for its sort. */
static void add_hold(const struct contention *c, const struct busy *busy, struct sort *sorts,
	uint32_t *count, struct sort *hold)
{
	int64_t from = hold->from > busy->from ? hold->from : busy->from;
	uint32_t i = 0;

	if (hold->to <= from)
		return;
	while (i < *count &&
		(sorts[i].key != hold->key ||
			(hold->key == THRUM__NONE && sorts[i].task != hold->task)))
		i++;
	if (i == HOLDERS)
		return;
	if (i == *count)
		sorts[(*count)++] = (struct sort){.key = hold->key};
	sorts[i].count++;
	sorts[i].total += hold->to - from;
	hold->within = time_in_wait(c, busy, hold);
	if (tells_more(hold, &sorts[i])) {
		sorts[i].task = hold->task;
		sorts[i].from = hold->from;
		sorts[i].to = hold->to;
		sorts[i].within = hold->within;
	}
}

/* The sort of tasks that held the lock longest in a busy time. Its task is NONE if all holders are
 * forgotten. */
static struct sort find_sort(const struct contention *c, const struct busy *busy)
{
	const struct thrum__model *model = c->search->model;
	struct sort sorts[HOLDERS], open[HOLDERS], best = {.task = THRUM__NONE};
	uint32_t count = 0, opened = 0;
	int64_t all = 0;

	for (uint32_t i = c->count; i-- > busy->end;) {
		uint32_t from = thrum__why_known(model, THRUM__EDGE(model, c->acts[i].edge, from));
		int64_t now = time_of(c, i);
		uint32_t at = 0;

		if (kind_of(c, i) == THRUM__EDGE_LOCK && from != THRUM__NONE && opened < HOLDERS)
			open[opened++] =
				(struct sort){.key = thrum__why_peers_key(&c->search->peers, from),
					.task = from,
					.from = now};
		if (kind_of(c, i) != THRUM__EDGE_UNLOCK || opened == 0)
			continue;
		while (at + 1 < opened && open[at].task != from)
			at++;
		open[at].to = now;
		add_hold(c, busy, sorts, &count, &open[at]);
		open[at] = open[--opened];
	}
	for (uint32_t i = 0; i < opened; i++) {
		open[i].to = busy->to;
		add_hold(c, busy, sorts, &count, &open[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		all += sorts[i].total;
		if (best.task == THRUM__NONE || sorts[i].total > best.total)
			best = sorts[i];
	}
	best.is_most = best.task != THRUM__NONE && best.total > all / 2;
	return best;
}

/* ---- Findings ------------------------------------------------------------------------------- */

/* Whether a finding explains why some task waits for the lock. */
static bool is_explained(const struct contention *c, const struct busy *busy)
{
	const struct thrum__search *search = c->search;

	for (uint32_t i = busy->first + 1; i-- > busy->end;) {
		uint32_t from = thrum__why_known(search->model,
			THRUM__EDGE(search->model, c->acts[i].edge, from));

		if (from != THRUM__NONE && *thrum__cause(search, from) < search->findings->count)
			return true;
	}
	return false;
}

/* Whether a queue at a semaphore isn't meant: tasks come back or anew all the time, and wait for others
 * that took most of the permits' time. */
static bool is_hogged(const struct contention *c, const struct busy *busy, const struct sort *sort)
{
	const struct thrum__search *search = c->search;
	uint32_t waiter = THRUM__EDGE(search->model, c->acts[busy->longest].edge, from), late = 0;
	uint32_t key = thrum__why_peers_key(&search->peers, waiter);

	for (uint32_t i = busy->first + 1; i-- > busy->end;)
		late += kind_of(c, i) == THRUM__EDGE_WAIT &&
			time_of(c, i) > busy->from / 2 + busy->to / 2;
	return late >= QUEUE_MIN && sort->is_most && sort->count >= TAKEN_MIN &&
		waiter != sort->task && (key == THRUM__NONE || key != sort->key);
}

/* Makes the finding tell of this lock. */
static void show_lock(const struct contention *c, const struct busy *busy, const struct sort *sort,
	struct thrum__finding *finding)
{
	uint32_t edge = c->acts[busy->longest].edge;

	finding->task = c->lock;
	finding->count = busy->most;
	finding->until = busy->to;
	finding->step_count = 0;
	thrum__why_add_step(finding, THRUM__STEP_HELD_MOST, sort->task, c->lock, sort->from,
		THRUM__NONE);
	finding->steps[0].until = sort->to;
	finding->steps[0].more = sort->count;
	thrum__why_add_step(finding, THRUM__STEP_QUEUES, THRUM__EDGE(c->search->model, edge, from),
		c->lock, time_of(c, busy->longest), edge);
	finding->steps[1].until = end_of(c, busy->longest);
}

/* Whether somebody just kept the lock once: without that there is no busy time to tell of. */
static bool is_single_hold(const struct busy *busy, const struct sort *sort)
{
	int64_t from = sort->from > busy->from ? sort->from : busy->from;
	int64_t to = sort->to < busy->to ? sort->to : busy->to;

	return (busy->to - busy->from) - (to - from) < BUSY_MIN;
}

/* Locks that are alike share a finding, which tells of the one with the longest wait. */
static void add_finding(const struct contention *c, const struct busy *busy)
{
	struct thrum__search *search = c->search;
	struct sort sort = find_sort(c, busy);
	bool is_long = busy->to - busy->from >= BUSY_LONG && busy->longest_ns >= WAIT_LONG;
	struct thrum__finding *finding;
	int certainty;

	if (sort.task == THRUM__NONE || is_single_hold(busy, &sort) || is_explained(c, busy) ||
		(is_semaphore(c) && !is_hogged(c, busy, &sort)))
		return;
	certainty = thrum__why_certainty(search, is_long ? THRUM__LIKELY : THRUM__POSSIBLE,
		busy->from);
	finding = thrum__why_find_alike(search, THRUM__FINDING_CONTENDED, c->lock);
	if (finding)
		finding->alike++;
	else
		finding = thrum__why_add(search, THRUM__FINDING_CONTENDED, certainty, c->lock);
	if (!finding)
		return;
	if (certainty > finding->certainty)
		finding->certainty = (uint8_t)certainty;
	if (finding->step_count == 0 ||
		busy->longest_ns > finding->steps[1].until - finding->steps[1].time)
		show_lock(c, busy, &sort, finding);
}

int thrum__why_find_contended(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct contention c = {.search = search};
	struct busy busy;
	int error = 0;

	c.taker = calloc(search->findings->places.count, sizeof *c.taker);
	if (!c.taker)
		return -THRUM_E_MEMORY;
	for (c.lock = thrum__why_next(search, 0, THRUM__SORT_LOCK);
		c.lock < model->tasks.count && error == 0;
		c.lock = thrum__why_next(search, c.lock + 1, THRUM__SORT_LOCK)) {
		error = read_acts(&c);
		c.permits = count_permits(&c);
		if (error == 0 && find_busy(&c, &busy))
			add_finding(&c, &busy);
	}
	free(c.taker);
	free(c.acts);
	return error;
}
