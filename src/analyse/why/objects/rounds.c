/* SPDX-License-Identifier: ISC */
/*
 * Tells who is missing in a round. In each round, each of several tasks signalled an object once, or put
 * something into it; in the last one, all but one have.
 */
#include "analyse/why/objects/objects.h"

#define LOOK_BACK 1024 /* edges of the object that are searched, from the latest back */
#define MEMBERS_MIN 3
#define ROUNDS_MIN 2 /* whole rounds before the last one */

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
