/* SPDX-License-Identifier: ISC */
/*
 * Finds the turn of a relay that gave an answer to nobody, if nothing else was found. The relay is a loop
 * that passes each question on to one other thread in the turn that took it, and passes each answer of that
 * one on, but for one or two. All answers have come back to it. A thread that asked before and has got none
 * waits for ever, however many others are served: its answer was given to another one, or dropped.
 */
#include <stdlib.h>

#include "analyse/why/losses/messages.h"

#define ANSWERS_MIN 16  /* so many that were passed on show a relay */
#define LOST_MAX 2      /* answers that were not passed on */
#define TIMES 20        /* so many times as long as any answer took */
#define LONG 1000000000 /* ns; in less an answer may yet come */

/* One of those who talk to the relay. */
struct peer {
	uint32_t taken, sent; /* messages from it, and to it */
	int64_t asked;        /* when the latest of those came */
};

struct relay {
	struct thrum__search *search;
	const struct thrum__why_messages *messages;
	struct peer *peers;        /* by lane */
	uint32_t other;            /* the lane to which questions are passed on */
	uint32_t questions, asked; /* those that it took, and passed on */
	uint32_t answers, lost;    /* those that it passed on, and those that it did not */
	int64_t longest;           /* that an answer took */
	const struct thrum__why_message *first; /* the first answer that wasn't passed on */
};

static int64_t time_of(const struct relay *relay, const struct thrum__why_message *message)
{
	return THRUM__EDGE(relay->search->model, message->edge, time);
}

/* The lane to which most messages went. */
static uint32_t find_other(const struct relay *relay)
{
	uint32_t most = 0, count = relay->search->model->lane_count;

	for (uint32_t i = 0; i < relay->messages->count; i++)
		relay->peers[relay->messages->all[i].peer].sent += relay->messages->all[i].is_sent;
	for (uint32_t i = 1; i < count; i++)
		if (relay->peers[i].sent > relay->peers[most].sent)
			most = i;
	for (uint32_t i = 0; i < count; i++)
		relay->peers[i].sent = 0;
	return most;
}

/* Adds a message. Returns false if somebody asks again before it got an answer, or gets one without a
 * question. */
static bool add(struct relay *relay, const struct thrum__why_message *message)
{
	struct peer *peer = &relay->peers[message->peer];
	int64_t time = time_of(relay, message);

	if (!message->is_sent) {
		peer->taken++;
		peer->asked = time;
	} else {
		peer->sent++;
		if (message->peer != relay->other && time - peer->asked > relay->longest)
			relay->longest = time - peer->asked;
	}
	return message->peer == relay->other ||
		(peer->sent <= peer->taken && peer->taken - peer->sent <= 1);
}

/* Goes through the turn that begins with a message. Returns the message after it; NULL: it isn't one of a
 * relay. Messages that wait for the other one to take them count as one. */
static const struct thrum__why_message *pass_turn(struct relay *relay,
	const struct thrum__why_message *at, const struct thrum__why_message *end)
{
	uint32_t questions = 0, asked = 0, answers = 0, given = 0, turn = at->turn;
	const struct thrum__why_message *answer = NULL;

	for (; at < end && at->turn == turn; at++) {
		if (at->peer != relay->other) {
			questions += !at->is_sent;
			given += at->is_sent;
		} else if (at->is_sent) {
			asked++;
		} else {
			answers++;
			answer = at;
		}
		if (!add(relay, at))
			return NULL;
	}
	if (asked > questions || given > answers)
		return NULL;
	relay->questions += questions;
	relay->asked += asked;
	relay->answers += given;
	relay->lost += answers - given;
	if (answers > given && !relay->first)
		relay->first = answer;
	return at;
}

/* The wait of one that has waited for far longer than any answer took; or NULL. */
static const struct thrum__analyse_wait *wait_of(const struct relay *relay, uint32_t lane)
{
	const struct peer *peer = &relay->peers[lane];
	int64_t age = relay->search->model->end - peer->asked;

	return lane != relay->other && peer->taken > 0 && age >= LONG &&
			age / TIMES > relay->longest
		? thrum__why_waits_since_then(relay->search, lane, relay->search->model->end - LONG)
		: NULL;
}

/* Finds the one that has waited for an answer for longest. NONE: its answer may yet come back. */
static uint32_t find_victim(const struct relay *relay)
{
	uint32_t back = relay->answers + relay->lost, found = THRUM__NONE, late = 0, asking = 0;

	for (uint32_t i = 0; i < relay->search->model->lane_count; i++) {
		const struct peer *peer = &relay->peers[i];

		if (i == relay->other || peer->taken == peer->sent)
			continue;
		asking++;
		if (!wait_of(relay, i))
			continue;
		late++;
		if (found == THRUM__NONE || peer->asked < relay->peers[found].asked)
			found = i;
	}
	return relay->questions >= back && relay->questions - back <= asking - late &&
			late <= relay->lost
		? found
		: THRUM__NONE;
}

/* Counts the others that wait where the victim does. Some may have got an answer that wasn't theirs. */
static uint32_t count_behind(const struct relay *relay, uint32_t victim)
{
	const struct thrum__model *model = relay->search->model;
	int place = thrum__model_edge_place(model, wait_of(relay, victim)->edge);
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__analyse_wait *wait = wait_of(relay, i);

		count += i != victim && wait && thrum__model_edge_place(model, wait->edge) == place;
	}
	return count;
}

/* Whether the first answer that wasn't passed on came when the victim's should have. Later it may be
 * something else, such as a note that the answer takes long. */
static bool is_in_time(const struct relay *relay, uint32_t victim)
{
	int64_t took = time_of(relay, relay->first) - relay->peers[victim].asked;

	return took >= 0 && took / 2 <= relay->longest;
}

static void look(struct relay *relay)
{
	const struct thrum__why_message *at = relay->messages->all,
					*end = at + relay->messages->count;
	uint32_t victim;

	relay->other = find_other(relay);
	while (at && at < end)
		at = pass_turn(relay, at, end);
	if (!at || relay->answers < ANSWERS_MIN || relay->asked < relay->questions / 2 ||
		relay->lost == 0 || relay->lost > LOST_MAX)
		return;
	victim = find_victim(relay);
	if (victim != THRUM__NONE && is_in_time(relay, victim))
		thrum__why_tell_unsent(relay->search, relay->first, victim, relay->answers,
			count_behind(relay, victim));
}

void thrum__why_add_relayed(struct thrum__search *search,
	const struct thrum__why_messages *messages)
{
	struct relay relay = {.search = search,
		.messages = messages,
		.peers = calloc(search->model->lane_count, sizeof *relay.peers)};

	if (relay.peers)
		look(&relay);
	free(relay.peers);
}
