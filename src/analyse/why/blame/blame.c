/* SPDX-License-Identifier: ISC */
/*
 * Tells who should have ended a task that waits for nothing. Its peers show it: each of them was
 * ended by a task that stands in the same relation to it.
 */
#include "analyse/why/blame/blame.h"

#include <string.h>

#define AFTER 2048   /* tasks created after a task that are searched for the one that ends it */
#define BEFORE 256   /* the same before it */
#define LOOK_BACK 64 /* edges to a task that are searched, from the latest back */
#define NEAR 8       /* tasks created after a task that may belong to it */
#define NEAR_TIME 1000000 /* ns between their creations */
#define PEERS_MIN 3       /* so many peers show who ends a task */

int64_t thrum__why_number_of(const struct thrum__model *model, uint32_t task)
{
	const char *name = thrum__model_task_name(model, task, NULL);
	int64_t number = 0;

	name += strcspn(name, "0123456789");
	if (!*name)
		return -1;
	for (; *name >= '0' && *name <= '9' && number < INT64_MAX / 16; name++)
		number = number * 10 + (*name - '0');
	return number;
}

/* ---- The relation -------------------------------------------------------------------------- */

/* How a task stands to the one that ended it. */
struct relation {
	uint32_t key; /* the peers' key of the one that ended it */
	bool is_child, is_sibling, has_number;
};

static struct relation relation_of(const struct thrum__search *search, uint32_t sample,
	uint32_t ender)
{
	const struct thrum__model *model = search->model;
	uint32_t creator = THRUM__TASK(model, ender, creator);
	int64_t number = thrum__why_number_of(model, sample);

	return (struct relation){
		.key = thrum__why_peers_key(&search->peers, ender),
		.is_child = creator == sample,
		.is_sibling = creator != THRUM__NONE &&
			creator == THRUM__TASK(model, sample, creator),
		.has_number = number >= 0 && number == thrum__why_number_of(model, ender),
	};
}

/* How well a task fits the relation: 0 for not at all. */
static int fitness(const struct thrum__search *search, const struct relation *relation,
	uint32_t task, uint32_t candidate)
{
	const struct thrum__model *model = search->model;
	uint32_t creator = THRUM__TASK(model, candidate, creator);

	if (candidate == task || thrum__why_peers_key(&search->peers, candidate) != relation->key)
		return 0;
	if (relation->has_number)
		return thrum__why_number_of(model, candidate) == thrum__why_number_of(model, task)
			? 3
			: 0;
	if (relation->is_child)
		return creator == task ? 3 : 0;
	if (!relation->is_sibling || creator != THRUM__TASK(model, task, creator))
		return 0;
	/* Threads create tasks for many others. */
	return thrum__model_has_row(&model->tasks, creator) &&
			thrum__analyse_task_is_lane(model, creator)
		? 0
		: 2;
}

/* How likely one of several that fit equally well is the one that is missing. */
static int rank_of(const struct thrum__model *model, uint32_t task)
{
	switch (THRUM__TASK(model, thrum__model_heir(model, task), state)) {
	case THRUM__STATE_PENDING: return 2;
	case THRUM__STATE_FAILED:
	case THRUM__STATE_CANCELLED: return 1;
	default: return 0;
	}
}

/* The task that fits best among those created near a task, or NONE. */
static uint32_t find_fitting(struct thrum__search *search, const struct relation *relation,
	uint32_t task)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE;
	uint32_t from = task > BEFORE ? task - BEFORE : 0;
	int best = 0, rank = 0;

	for (uint32_t i = from; i < model->tasks.count && i - from < BEFORE + AFTER; i++) {
		int fits;

		if (!thrum__why_spend(search, 1))
			break;
		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		fits = fitness(search, relation, task, i);
		if (fits > best || (fits > 0 && fits == best && rank_of(model, i) > rank)) {
			best = fits;
			rank = rank_of(model, i);
			found = i;
		}
	}
	return found;
}

bool thrum__why_lacks_ender(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task), *enders;
	uint32_t key = THRUM__NONE, count = 0, by = THRUM__NONE;

	for (uint32_t i = task; i-- > model->tasks.first && task - i < BEFORE;) {
		if (!thrum__model_has_row(&model->tasks, i) ||
			thrum__why_peers_of(&search->peers, i) != peer)
			continue;
		by = thrum__why_actor_to(model, i, THRUM__EDGE_RESOLVE);
		if (by - i - 1 >= NEAR || /* also if there is none */
			THRUM__TASK(model, by, creator) != THRUM__TASK(model, i, creator) ||
			(count++ > 0 && thrum__why_peers_key(&search->peers, by) != key))
			return false;
		key = thrum__why_peers_key(&search->peers, by);
	}
	if (count < PEERS_MIN || count != peer->ended || peer->pending != 1)
		return false;
	enders = thrum__why_peers_of(&search->peers, by);
	return enders && enders->ended == count && enders->pending == 0;
}

uint32_t thrum__why_ender_of(struct thrum__search *search, uint32_t task, uint32_t *usual)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	struct relation relation;
	uint32_t ender, found;

	*usual = THRUM__NONE;
	if (!peer || peer->ended < PEERS_MIN || !thrum__model_has_row(&model->tasks, peer->sample))
		return THRUM__NONE;
	ender = thrum__why_actor_to(model, peer->sample, THRUM__EDGE_RESOLVE);
	if (ender == THRUM__NONE || ender == peer->sample ||
		thrum__analyse_task_is_lane(model, ender))
		return THRUM__NONE;
	if (ender == THRUM__TASK(model, peer->sample, creator)) {
		found = THRUM__TASK(model, task, creator);
		return thrum__model_has_row(&model->tasks, found) &&
				!thrum__analyse_task_is_lane(model, found) && found != task
			? found
			: THRUM__NONE;
	}
	relation = relation_of(search, peer->sample, ender);
	if (relation.key == THRUM__NONE ||
		(!relation.is_child && !relation.is_sibling && !relation.has_number))
		return thrum__why_sibling_ender(search, task, usual);
	found = find_fitting(search, &relation, task);
	/* Only then it is known that there is none. */
	if (found == THRUM__NONE && search->budget > 0 &&
		(relation.is_child || relation.has_number ||
			thrum__why_lacks_ender(search, task)) &&
		search->gap < 0 && !thrum__analyse_task_is_lane(model, ender))
		*usual = ender;
	return found;
}

/* ---- Relatives ---------------------------------------------------------------------------- */

struct thrum__why_blame thrum__why_blame_ended(const struct thrum__model *model, uint32_t task,
	uint32_t other)
{
	switch (THRUM__TASK(model, task, state)) {
	case THRUM__STATE_CANCELLED:
		return (struct thrum__why_blame){THRUM__STEP_CANCELLED, task, other};
	case THRUM__STATE_FAILED: return (struct thrum__why_blame){THRUM__STEP_FAILED, task, other};
	default: return (struct thrum__why_blame){THRUM__STEP_ENDS_WITHOUT, task, other};
	}
}

/* Whether a task failed or was cancelled before a time. */
static bool is_failed(const struct thrum__model *model, uint32_t task, int64_t before)
{
	int state = THRUM__TASK(model, task, state);

	return (state == THRUM__STATE_FAILED || state == THRUM__STATE_CANCELLED) &&
		THRUM__TASK(model, task, end) < before;
}

/* A task that failed or was cancelled and whose end nobody read: the task's own child, or another
 * child of its creator. NONE if none was by the time `before`. */
static uint32_t failed_relative(struct thrum__search *search, uint32_t task, int64_t before)
{
	const struct thrum__model *model = search->model;
	uint32_t creator = THRUM__TASK(model, task, creator);
	bool has_family = thrum__model_has_row(&model->tasks, creator) &&
		!thrum__analyse_task_is_lane(model, creator);

	for (uint32_t i = task + 1; i < model->tasks.count && i - task < AFTER; i++) {
		uint32_t by;

		if (!thrum__why_spend(search, 1))
			break;
		if (!thrum__model_has_row(&model->tasks, i))
			continue;
		by = THRUM__TASK(model, i, creator);
		if ((by == task || (has_family && by == creator)) && is_failed(model, i, before) &&
			thrum__why_edge_to(model, i, THRUM__EDGE_READ) == THRUM__NONE)
			return i;
	}
	return THRUM__NONE;
}

/* Whether a task, or the last one that it became, had ended by then. */
static bool has_ended(const struct thrum__model *model, uint32_t task, int64_t before)
{
	task = thrum__model_heir(model, task);
	return THRUM__TASK(model, task, state) != THRUM__STATE_PENDING &&
		THRUM__TASK(model, task, end) < before;
}

/* ---- Failures that end elsewhere ----------------------------------------------------------- */

/* The task that a task read last, if that failed or was cancelled as well; else NONE. */
static uint32_t failed_source(const struct thrum__model *model, uint32_t task)
{
	uint32_t to = thrum__why_acted_on(model, task, THRUM__EDGE_READ);

	return to != THRUM__NONE && to != task && is_failed(model, to, THRUM__OPEN) ? to
										    : THRUM__NONE;
}

uint32_t thrum__why_named_origin(const struct thrum__model *model, uint32_t task)
{
	uint32_t source = task;

	for (int i = 0; i < LOOK_BACK && source != THRUM__NONE; i++) {
		if (*thrum__model_task_name(model, source, NULL))
			return source;
		source = failed_source(model, source);
	}
	return task;
}

/* Whether the last word of a task's name is a word of the other's, too. */
static bool shares_last_word(const struct thrum__model *model, uint32_t task, uint32_t other)
{
	const char *name = thrum__model_task_name(model, task, NULL), *space = strrchr(name, ' ');
	const char *word = space ? space + 1 : name,
		   *of = thrum__model_task_name(model, other, NULL);
	size_t size = strlen(word);

	for (const char *at = of; size > 0 && (at = strstr(at, word)); at++)
		if ((at == of || at[-1] == ' ') && (at[size] == 0 || at[size] == ' '))
			return true;
	return false;
}

bool thrum__why_shares_word(const struct thrum__model *model, uint32_t task, uint32_t other)
{
	return shares_last_word(model, task, other) || shares_last_word(model, other, task);
}

/* The task that failed or was cancelled, and with it what it should have done for an object: its like
 * served that. The one that shares a word with the object, or else the latest; sure if it does, or is
 * the only one. NONE if there is none, or if failures are as usual as successes. */
static uint32_t failed_server(struct thrum__search *search, uint32_t server, uint32_t object,
	bool *is_sure)
{
	const struct thrum__model *model = search->model;
	uint32_t key = thrum__why_peers_key(&search->peers, server), found = THRUM__NONE;
	uint32_t failed = 0, resolved = 0;
	bool is_named = false;

	if (key == THRUM__NONE || THRUM__TASK(model, server, state) != THRUM__STATE_RESOLVED)
		return THRUM__NONE;
	THRUM__EACH_TASK (model, i) {
		uint32_t origin;

		if (!thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (thrum__why_peers_key(&search->peers, i) != key)
			continue;
		resolved += THRUM__TASK(model, i, state) == THRUM__STATE_RESOLVED;
		if (!is_failed(model, i, THRUM__OPEN))
			continue;
		failed++;
		origin = thrum__why_named_origin(model, i);
		if (is_named && !shares_last_word(model, object, origin))
			continue;
		is_named = shares_last_word(model, object, origin);
		found = origin;
	}
	*is_sure = is_named || failed == 1;
	return failed < resolved ? found : THRUM__NONE;
}

/* must_be_sure: only if failed_server is. */
static struct thrum__why_blame blame_one_of(struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers, bool must_be_sure)
{
	for (unsigned i = 0; i < servers->count; i++) {
		bool is_sure;
		uint32_t task = failed_server(search, servers->task[i], object, &is_sure);

		if (task != THRUM__NONE && (is_sure || !must_be_sure))
			return thrum__why_blame_ended(search->model, task, object);
	}
	return THRUM__WHY_NO_BLAME;
}

struct thrum__why_blame thrum__why_blame_server(struct thrum__search *search, uint32_t object,
	const struct thrum__why_servers *servers)
{
	return blame_one_of(search, object, servers, false);
}

struct thrum__why_blame thrum__why_blame_unserved(struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	uint32_t leaf = path->leaf, from = leaf > BEFORE ? leaf - BEFORE : 0;
	struct thrum__why_blame blame = THRUM__WHY_NO_BLAME;
	struct thrum__why_servers servers;

	if (path->length == 0 || THRUM__TASK(model, leaf, kind) != THRUM_KIND_CONDITION)
		return blame;
	thrum__why_servers_of(model, leaf, thrum__why_path_last(path)->task, &servers);
	if (servers.count > 0 || !servers.is_whole)
		return blame;
	for (uint32_t i = from; blame.kind < 0 && i < model->tasks.count && i - from < 2 * BEFORE;
		i++) {
		if (i == leaf || !thrum__model_has_row(&model->tasks, i) ||
			!thrum__why_is_alike(search, leaf, i))
			continue;
		thrum__why_servers_of(model, i, THRUM__NONE, &servers);
		blame = blame_one_of(search, leaf, &servers, true);
	}
	return blame;
}

/* The task that a task waited for at first, or the one that it became; NONE: it never waited. */
static uint32_t source_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t source = THRUM__NONE;

	THRUM__ACTS_OF (model, task, edge, LOOK_BACK, THRUM__EDGE_WAIT)
		source = THRUM__EDGE(model, edge, to);
	return thrum__why_heir_of(model, source);
}

/* If a task is one that others resolve, the failed source of a callback that was made soon after
 * it by the same task: the callback ended, and would have resolved it after a success. Else NONE. */
static uint32_t failed_beside(const struct thrum__model *model, uint32_t task, int64_t before)
{
	for (uint32_t i = task + 1; i < model->tasks.count && i - task <= NEAR; i++) {
		uint32_t source;

		if (!thrum__model_has_row(&model->tasks, i) ||
			THRUM__TASK(model, i, creator) != THRUM__TASK(model, task, creator) ||
			THRUM__TASK(model, i, created) - THRUM__TASK(model, task, created) >
				NEAR_TIME ||
			!has_ended(model, i, before) || is_failed(model, i, before))
			continue;
		source = source_of(model, i);
		if (source != THRUM__NONE && source != task && is_failed(model, source, before) &&
			THRUM__TASK(model, i, end) - THRUM__TASK(model, source, end) < NEAR_TIME)
			return source;
	}
	return THRUM__NONE;
}

/* ---- Blame --------------------------------------------------------------------------------- */

/* Whether the maker of a task like this one had ended, too, before another one resolved that: so makers
 * don't end what they make. */
static bool outlives_makers(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	uint32_t sample = peer ? peer->sample : THRUM__NONE, maker;

	if (!thrum__model_has_row(&model->tasks, sample))
		return false;
	maker = THRUM__TASK(model, sample, creator);
	return thrum__model_has_row(&model->tasks, maker) &&
		THRUM__TASK(model, maker, end) < THRUM__TASK(model, sample, end);
}

struct thrum__why_blame thrum__why_blame(struct thrum__search *search, uint32_t task,
	int64_t before)
{
	const struct thrum__model *model = search->model;
	uint32_t usual, ender = thrum__why_ender_of(search, task, &usual);
	uint32_t maker = THRUM__TASK(model, task, creator);
	unsigned count = 0;

	if (ender != THRUM__NONE && has_ended(model, ender, before))
		return thrum__why_blame_ended(model, thrum__model_heir(model, ender), task);
	if (ender == THRUM__NONE && usual != THRUM__NONE)
		return (struct thrum__why_blame){THRUM__STEP_NOT_STARTED, task, usual};
	ender = ender == THRUM__NONE ? thrum__why_steady_ender(search, task) : THRUM__NONE;
	if (ender == THRUM__NONE)
		ender = thrum__why_last_ender(search, task, &count);
	if (ender != THRUM__NONE && has_ended(model, ender, before)) {
		struct thrum__why_blame blame = thrum__why_blame_ended(model, ender, task);

		if (blame.kind == THRUM__STEP_ENDS_WITHOUT)
			blame.kind = THRUM__STEP_RESOLVED_OTHERS;
		blame.count = count;
		return blame;
	}
	ender = failed_relative(search, task, before);
	if (ender == THRUM__NONE)
		ender = failed_beside(model, task, before);
	if (ender != THRUM__NONE)
		return thrum__why_blame_ended(model, ender, task);
	if (thrum__model_has_row(&model->tasks, maker) &&
		!thrum__analyse_task_is_lane(model, maker) &&
		THRUM__TASK(model, maker, end) < before &&
		THRUM__TASK(model, maker, state) != THRUM__STATE_BECAME &&
		*thrum__model_task_name(model, maker, NULL) && !outlives_makers(search, task))
		return (struct thrum__why_blame){THRUM__TASK(model, maker, state) ==
					THRUM__STATE_RESOLVED
				? THRUM__STEP_MAKER_ENDED
				: thrum__why_blame_ended(model, maker, task).kind,
			maker, task};
	return THRUM__WHY_NO_BLAME;
}

/* The task that ended the one with which this one ended; NONE if that isn't known. */
static uint32_t canceller_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t source = failed_source(model, task), by;

	if (source == THRUM__NONE)
		return source;
	by = thrum__why_actor_to(model, source,
		THRUM__TASK(model, source, state) == THRUM__STATE_FAILED ? THRUM__EDGE_FAIL
									 : THRUM__EDGE_CANCEL);
	return by == source || by == task ? source : by;
}

void thrum__why_add_blame(struct thrum__finding *finding, const struct thrum__model *model,
	const struct thrum__why_blame *blame)
{
	uint32_t edge = THRUM__NONE, other = blame->other;
	uint32_t task;
	int64_t time;

	if (blame->kind < 0)
		return;
	task = blame->task;
	time = THRUM__TASK(model, task, end);
	switch (blame->kind) {
	case THRUM__STEP_CANCELLED:
	case THRUM__STEP_FAILED:
		edge = thrum__why_edge_to(model, task,
			blame->kind == THRUM__STEP_FAILED ? THRUM__EDGE_FAIL : THRUM__EDGE_CANCEL);
		other = thrum__why_actor(model, edge);
		if (other == task)
			other = canceller_of(model, task);
		break;
	case THRUM__STEP_NOT_STARTED: time = THRUM__TASK(model, blame->task, created); break;
	default: break;
	}
	thrum__why_set_more(thrum__why_add_step(finding, blame->kind, blame->task, other, time,
				    edge),
		blame->count);
}
