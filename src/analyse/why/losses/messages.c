/* SPDX-License-Identifier: ISC */
/* Finds the messages of a loop, in the order of its turns, and asks which of these left an answer out. */
#include "analyse/why/losses/messages.h"

#include <stdlib.h>

#define MESSAGES_MIN 32      /* of a loop: fewer show no habit */
#define MESSAGES_MAX 1000000 /* the same: more take too long */

/* The lane on the other side of an edge by which a lane took or sent a message; NONE: it is another edge. */
static uint32_t other_side(const struct thrum__model *model, uint32_t lane, uint32_t edge,
	bool *is_sent)
{
	uint32_t from, to;

	if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LINK)
		return THRUM__NONE;
	from = thrum__why_last_lane(model, THRUM__EDGE(model, edge, from));
	to = thrum__why_last_lane(model, THRUM__EDGE(model, edge, to));
	*is_sent = from == lane;
	if ((from == lane) == (to == lane))
		return THRUM__NONE;
	return *is_sent ? to : from;
}

static int compare(const void *a, const void *b)
{
	const struct thrum__why_message *x = a, *y = b;

	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	if (x->is_sent != y->is_sent)
		return x->is_sent ? 1 : -1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* Sets all messages, or only counts them. */
static bool fill(struct thrum__why_messages *messages)
{
	const struct thrum__model *model = messages->turns.model;

	messages->count = 0;
	for (uint32_t edge = model->edges.first; edge < model->edges.count; edge++) {
		struct thrum__why_message message = {.edge = edge};

		if (!thrum__model_has_row(&model->edges, edge))
			continue;
		message.peer = other_side(model, messages->turns.lane, edge, &message.is_sent);
		if (message.peer == THRUM__NONE)
			continue;
		if (messages->all) {
			message.turn = thrum__why_turn_of(&messages->turns, edge, message.is_sent);
			if (message.turn == THRUM__NONE)
				return false;
			messages->all[messages->count] = message;
		}
		messages->count++;
	}
	return messages->count >= MESSAGES_MIN && messages->count <= MESSAGES_MAX;
}

/* Finds the messages that a lane took from others and sent to them. Returns false if some turn isn't known,
 * there are too few or too many, or there is no memory. To be freed in each case. */
static bool make(const struct thrum__model *model, uint32_t lane,
	struct thrum__why_messages *messages)
{
	*messages = (struct thrum__why_messages){.turns = {.model = model, .lane = lane}};
	if (!fill(messages) || !thrum__why_turns_make(&messages->turns))
		return false;
	messages->all = malloc(messages->count * sizeof *messages->all);
	if (!messages->all || !fill(messages))
		return false;
	qsort(messages->all, messages->count, sizeof *messages->all, compare);
	return true;
}

const struct thrum__analyse_wait *thrum__why_waits_since_then(const struct thrum__search *search,
	uint32_t lane, int64_t time)
{
	const struct thrum__model *model = search->model;
	uint32_t task = thrum__why_task_of_lane(&model->lanes[lane]);
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

	return wait && thrum__analyse_task_is_pending(model, task) &&
			thrum__why_is_blocked(model, task, wait) &&
			thrum__why_waits_again(model, task, wait->on, -1, wait->since) <= time &&
			(thrum__why_lane_rests_for(model, lane, THRUM__REASON_BLOCKED) ||
				thrum__why_lane_rests_for(model, lane,
					THRUM__REASON_BLOCKED_OUTSIDE))
		? wait
		: NULL;
}

void thrum__why_tell_unsent(struct thrum__search *search, const struct thrum__why_message *taken,
	uint32_t asker, uint32_t answers, uint32_t behind)
{
	const struct thrum__model *model = search->model;
	struct thrum__findings *findings = search->findings;
	struct thrum__finding *finding = findings->findings;
	uint32_t task = thrum__why_task_of_lane(&model->lanes[asker]);
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, task);

	*finding = (struct thrum__finding){
		.class = THRUM__FINDING_NEVER_RESOLVED,
		.certainty = THRUM__POSSIBLE,
		.task = task,
		.behind = behind,
		.until = model->end,
	};
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_LEAVES_OUT,
				    thrum__why_known(model, THRUM__EDGE(model, taken->edge, to)),
				    wait->on, THRUM__EDGE(model, taken->edge, time), THRUM__NONE),
		answers);
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, wait->on, wait->since,
		wait->edge);
	findings->count = 1;
}

void thrum__why_add_unsent(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct thrum__why_messages messages;

	if (search->gap >= 0 || model->is_cut || model->is_joined || model->damaged > 0 ||
		thrum__why_is_polite(model))
		return;
	for (uint32_t i = 0; i < model->lane_count && search->findings->count == 0; i++) {
		if (!thrum__analyse_task_is_pending(model, model->lanes[i].task) ||
			!thrum__why_lane_rests_for(model, i, THRUM__REASON_WORK))
			continue;
		if (make(model, i, &messages))
			thrum__why_add_returned(search, &messages);
		if (messages.all && search->findings->count == 0)
			thrum__why_add_relayed(search, &messages);
		free(messages.turns.all);
		free(messages.all);
	}
}
