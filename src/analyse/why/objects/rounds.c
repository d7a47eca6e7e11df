/* SPDX-License-Identifier: ISC */
/*
 * Tells who is missing in a round. In each round, each of several tasks signalled an object once, or put
 * something into it; in the last one, all but one have.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024 /* edges of the object that are searched, from the latest back */
#define MEMBERS_MIN 3
#define ROUNDS_MIN 2    /* whole rounds before the last one */
#define WAITS_MIN 3     /* the same, where a round is a wait */
#define ACTS_BACK 65536 /* edges of such a waiter, and of the condition, that are searched */

/* The signals of an object, from the latest back. */
struct signals {
	const struct thrum__model *model;
	uint32_t edge;
	unsigned left; /* edges that may yet be looked at */
};

/* Returns the task that gave the next signal, or NONE. */
static uint32_t next_of(struct signals *signals)
{
	const struct thrum__model *model = signals->model;

	while (signals->left > 0 && thrum__model_has_row(&model->edges, signals->edge)) {
		uint32_t edge = signals->edge, from = THRUM__EDGE(model, edge, from);

		signals->edge = THRUM__EDGE(model, edge, prev_in);
		signals->left--;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			return thrum__why_heir_of(model, from);
	}
	return THRUM__NONE;
}

static unsigned index_of(const struct thrum__why_servers *members, uint32_t task)
{
	unsigned i = 0;

	while (i < members->count && members->task[i] != task)
		i++;
	return i;
}

/* Takes the signals of a round of `count` members. Returns whether each of them gave one. */
static bool is_round(struct signals *signals, const struct thrum__why_servers *members,
	unsigned count)
{
	bool has_come[THRUM__SERVERS_MAX] = {false};

	for (unsigned n = 0; n < count; n++) {
		unsigned i = index_of(members, next_of(signals));

		if (i == members->count || has_come[i])
			return false;
		has_come[i] = true;
	}
	return true;
}

uint32_t thrum__why_missing_in_round(const struct thrum__model *model, uint32_t object,
	const struct thrum__why_servers *members)
{
	struct signals signals = {model, THRUM__TASK(model, object, edge_in), LOOK_BACK};
	/* The member that signalled last before all others comes last in the list. */
	uint32_t missing = members->count > 0 ? members->task[members->count - 1] : THRUM__NONE;

	if (members->count < MEMBERS_MIN || members->pending < members->count)
		return THRUM__NONE;
	if (!is_round(&signals, members, members->count - 1))
		return THRUM__NONE;
	for (unsigned i = 0; i < ROUNDS_MIN; i++)
		if (!is_round(&signals, members, members->count))
			return THRUM__NONE;
	return missing;
}

/* ---- Waits that go on until each has signalled ------------------------------------------------- */

/* A task's waits for a condition, one after the other with nothing in between. */
struct wait_round {
	int64_t from, to; /* when it began to wait, and went on at last */
};

/* Sets *round to the latest one from an edge of the waiter on, and *edge to what the waiter did before.
 * Returns false if there is none. */
static bool round_before(const struct thrum__model *model, uint32_t object, uint32_t *edge,
	unsigned *left, struct wait_round *round)
{
	bool is_found = false;

	for (; *left > 0 && thrum__model_has_row(&model->edges, *edge);
		*edge = thrum__why_act_before(model, *edge), --*left)
		if (THRUM__EDGE(model, *edge, to) == object) {
			round->from = THRUM__EDGE(model, *edge, time);
			round->to = is_found ? round->to : round->from;
			is_found = true;
		} else if (is_found) {
			return true;
		}
	return is_found && *left > 0 && *edge == THRUM__NONE;
}

/* Finds those that signalled the object in a round, the latest first. Goes back in the signals from *edge on.
 * Returns false if they aren't all known. */
static bool voices_in(const struct thrum__model *model, uint32_t *edge, unsigned *left,
	const struct wait_round *round, struct thrum__why_servers *voices)
{
	voices->count = 0;
	for (; *left > 0 && thrum__model_has_row(&model->edges, *edge) &&
		THRUM__EDGE(model, *edge, time) >= round->from;
		*edge = THRUM__EDGE(model, *edge, prev_in), --*left) {
		uint32_t task = THRUM__EDGE(model, *edge, from);

		if (THRUM__EDGE(model, *edge, kind) != THRUM__EDGE_SIGNAL ||
			THRUM__EDGE(model, *edge, time) > round->to)
			continue;
		task = thrum__why_heir_of(model, task);
		if (thrum__why_is_server(voices, task))
			continue;
		if (!thrum__analyse_task_is_pending(model, task) ||
			voices->count == THRUM__SERVERS_MAX)
			return false;
		voices->edge[voices->count] = *edge;
		voices->task[voices->count++] = task;
	}
	return *left > 0;
}

/* Whether all of some tasks are among others. */
static bool are_among(const struct thrum__why_servers *some,
	const struct thrum__why_servers *others)
{
	for (unsigned i = 0; i < some->count; i++)
		if (!thrum__why_is_server(others, some->task[i]))
			return false;
	return true;
}

uint32_t thrum__why_missing_in_wait(const struct thrum__model *model,
	const struct thrum__why_link *wait, uint32_t *at)
{
	uint32_t object = wait->wait.on, own = THRUM__TASK(model, wait->task, edge_out);
	uint32_t signal = THRUM__TASK(model, object, edge_in), missing = 0;
	unsigned acts = ACTS_BACK, signals = ACTS_BACK;
	struct thrum__why_servers now, all = {0}, voices;
	struct wait_round round;

	if (THRUM__TASK(model, object, kind) != THRUM_KIND_CONDITION || own != wait->wait.edge ||
		!round_before(model, object, &own, &acts, &round) ||
		!voices_in(model, &signal, &signals, &round, &now) || now.count == 0)
		return THRUM__NONE;
	for (unsigned i = 0; i < WAITS_MIN; i++) {
		if (!round_before(model, object, &own, &acts, &round) ||
			!voices_in(model, &signal, &signals, &round, &voices))
			return THRUM__NONE;
		all = i == 0 ? voices : all;
		if (voices.count != now.count + 1 || !are_among(&now, &voices) ||
			!are_among(&voices, &all))
			return THRUM__NONE;
	}
	while (thrum__why_is_server(&now, all.task[missing]))
		missing++;
	*at = all.edge[missing];
	return all.task[missing];
}
