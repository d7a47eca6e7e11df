/* SPDX-License-Identifier: ISC */
/*
 * Finds the turn of a loop that gave nobody what came back, if nothing else was found. Some ask the loop and
 * wait for their answers; each later sends something without a wait, as where it returns a seat. Each time
 * one returned something while others waited, the loop answered one of these in the same turn, but for the
 * last time. Since then it has sent nothing, all who ever talked to it wait for its answer or gave that up,
 * and others only look how things stand.
 */
#include <stdlib.h>

#include "analyse/why/losses/messages.h"
#include "analyse/why/stuck/stuck.h"

#define ANSWERS_MIN 8   /* so many returns that led to an answer show that each should */
#define ASKERS_MIN 2    /* so many wait at the end */
#define TIMES 20        /* so many times as long as any answer took */
#define LONG 1000000000 /* ns; in less an answer may yet come */

/* One of those who talk to the loop. */
struct peer {
	bool has_talked;
	bool has_got;   /* something since its latest message */
	bool is_asking; /* its latest message came without that, and has no answer */
	int64_t asked;
};

struct returns {
	struct thrum__search *search;
	const struct thrum__why_messages *messages;
	struct peer *peers;                      /* by lane */
	uint32_t waiting;                        /* how many of them are asking */
	uint32_t answered;                       /* how many returns led to an answer */
	int64_t longest;                         /* that an answer took */
	const struct thrum__why_message *silent; /* the return that led to none */
};

static int64_t time_of(const struct returns *returns, const struct thrum__why_message *message)
{
	return THRUM__EDGE(returns->search->model, message->edge, time);
}

static void take(struct returns *returns, const struct thrum__why_message *message)
{
	struct peer *peer = &returns->peers[message->peer];

	returns->waiting -= peer->is_asking;
	peer->is_asking = !peer->has_got;
	returns->waiting += peer->is_asking;
	peer->has_talked = true;
	peer->has_got = false;
	peer->asked = time_of(returns, message);
}

/* Returns whether that is an answer to one that has waited since an earlier turn. */
static bool send(struct returns *returns, const struct thrum__why_message *message, int64_t since)
{
	struct peer *peer = &returns->peers[message->peer];
	int64_t took = time_of(returns, message) - peer->asked;
	bool is_late = peer->is_asking && peer->asked < since;

	if (peer->is_asking && took > returns->longest)
		returns->longest = took;
	returns->waiting -= peer->is_asking;
	peer->is_asking = false;
	peer->has_got = true;
	return is_late;
}

/* Goes through the turn that begins with a message. Returns the message after it; NULL: the loop sends
 * something after a return that led to no answer. */
static const struct thrum__why_message *pass_turn(struct returns *returns,
	const struct thrum__why_message *at, const struct thrum__why_message *end)
{
	const struct thrum__why_message *first = at;
	int64_t since = time_of(returns, first);
	bool is_return = !at->is_sent && returns->waiting > 0 && returns->peers[at->peer].has_got &&
		!returns->peers[at->peer].is_asking;
	bool is_answered = false;

	for (; at < end && at->turn == first->turn; at++) {
		is_return &= at == first || at->is_sent;
		if (!at->is_sent)
			take(returns, at);
		else if (returns->silent)
			return NULL;
		else
			is_answered |= send(returns, at, since);
	}
	if (is_return && is_answered)
		returns->answered++;
	else if (is_return && !returns->silent)
		returns->silent = first;
	return at;
}

/* Whether a thread waits for the answer that it asked for. */
static bool awaits_answer(const struct returns *returns, uint32_t lane)
{
	const struct thrum__model *model = returns->search->model;
	const struct peer *peer = &returns->peers[lane];

	return peer->is_asking &&
		thrum__why_waits_since_then(returns->search, lane, model->end - LONG) &&
		!thrum__model_has_sent_unread(model, model->lanes[lane].task, peer->asked);
}

/* Whether a lane goes on with nothing: its thread waits, or only looks. Those who talk to the loop wait for
 * its answer, or have given that up. */
static bool is_at_rest(const struct returns *returns, uint32_t lane)
{
	const struct thrum__model *model = returns->search->model;
	const struct peer *peer = &returns->peers[lane];

	if (lane == returns->messages->turns.lane || awaits_answer(returns, lane) ||
		!thrum__analyse_task_is_pending(model, model->lanes[lane].task))
		return true;
	if (peer->has_talked && !peer->is_asking)
		return false;
	return (!peer->has_talked &&
		       thrum__why_lane_rests_for(model, lane, THRUM__REASON_BLOCKED)) ||
		thrum__why_ticks(returns->search, &model->lanes[lane],
			time_of(returns, returns->silent));
}

/* The one that has waited for an answer for longest. Sets *count to how many wait. */
static uint32_t find_asker(const struct returns *returns, uint32_t *count)
{
	uint32_t found = THRUM__NONE;

	*count = 0;
	for (uint32_t i = 0; i < returns->search->model->lane_count; i++) {
		if (!awaits_answer(returns, i))
			continue;
		++*count;
		if (found == THRUM__NONE || returns->peers[i].asked < returns->peers[found].asked)
			found = i;
	}
	return found;
}

static bool are_all_at_rest(const struct returns *returns)
{
	for (uint32_t i = 0; i < returns->search->model->lane_count; i++)
		if (!is_at_rest(returns, i))
			return false;
	return true;
}

static void look(struct returns *returns)
{
	const struct thrum__model *model = returns->search->model;
	const struct thrum__why_message *at = returns->messages->all,
					*end = at + returns->messages->count;
	uint32_t asker, count;
	int64_t age;

	/* Others may yet come from outside. */
	if (thrum__why_lane_rests_for(model, returns->messages->turns.lane,
		    THRUM__REASON_WORK_OUTSIDE))
		return;
	while (at && at < end)
		at = pass_turn(returns, at, end);
	if (!at || !returns->silent || returns->answered < ANSWERS_MIN)
		return;
	age = model->end - time_of(returns, returns->silent);
	asker = find_asker(returns, &count);
	if (count >= ASKERS_MIN && age >= LONG && age / TIMES >= returns->longest &&
		returns->peers[asker].asked < time_of(returns, returns->silent) &&
		are_all_at_rest(returns))
		thrum__why_tell_unsent(returns->search, returns->silent, asker, returns->answered,
			count - 1);
}

void thrum__why_add_returned(struct thrum__search *search,
	const struct thrum__why_messages *messages)
{
	struct returns returns = {.search = search,
		.messages = messages,
		.peers = calloc(search->model->lane_count, sizeof *returns.peers)};

	if (returns.peers)
		look(&returns);
	free(returns.peers);
}
