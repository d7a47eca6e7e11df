/* SPDX-License-Identifier: ISC */
/*
 * Finds the turn of a loop that got a question over a connection and sent nothing. A thread of the same trace
 * asks, and waits for each answer before it asks again. The same handle answered all its other questions in
 * the turns that got them, and nothing else is under way. Or the loop answered the questions of others at
 * once, each of them, and now it has nothing but timers that come round without an effect. Or a thread
 * without handles left it out in a turn (turns.c).
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#define ANSWERS_MIN 3     /* so many show that each question has an answer */
#define EDGES_BACK 100000 /* edges of a thread, from the latest back */
#define ALIKE_MIN 2       /* answers to others that wait at the same place */
#define AT_ONCE 50000     /* ns for which the loop may wait for room before it answers */
#define TIMES 20          /* so many times as long as any answer took */

/* The messages between the thread that asks and a loop. */
struct talk {
	const struct thrum__model *model;
	uint32_t asker, lane;
	uint32_t questions, answers;
	uint32_t own; /* answers of the handle that had the turn */
};

/* The latest question of a thread from one of its edges on, or answer to it; or NONE. */
static uint32_t message_from(const struct talk *talk, uint32_t edge, bool is_answer)
{
	return thrum__why_message_from(talk->model, talk->lane, edge, is_answer);
}

static void count_messages(struct talk *talk, uint32_t handle)
{
	const struct thrum__model *model = talk->model;
	uint32_t edge = THRUM__TASK(model, talk->asker, edge_out);

	for (; (edge = message_from(talk, edge, false)) != THRUM__NONE;
		edge = THRUM__EDGE(model, edge, prev_out))
		talk->questions++;
	edge = THRUM__TASK(model, talk->asker, edge_in);
	for (; (edge = message_from(talk, edge, true)) != THRUM__NONE;
		edge = THRUM__EDGE(model, edge, prev_in)) {
		talk->answers++;
		talk->own += THRUM__EDGE(model, edge, from) == handle;
	}
}

/* The run on a lane that got a question at a time: a callback's that reads by itself, or the next one. */
static uint32_t turn_for(const struct thrum__model *model, const struct thrum__awaited *awaited,
	uint32_t lane)
{
	uint32_t run = THRUM__TASK(model, awaited->server, run);

	if (THRUM__TASK(model, awaited->server, kind) == THRUM_KIND_THREAD)
		return thrum__why_run_soon(model, lane, awaited->server, awaited->asked);
	return thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, start) <= awaited->asked
		? run
		: THRUM__NONE;
}

/* Whether a time is set for anything in the program: it may be to answer. */
static bool is_any_due(const struct thrum__model *model)
{
	THRUM__EACH_TASK (model, task)
		if (thrum__analyse_task_is_pending(model, task) &&
			(thrum__why_due_of(model, task) >= 0 ||
				THRUM__TASK(model, task, flags) & THRUM__TASK_DUE))
			return true;
	return false;
}

/* ---- Others' questions ------------------------------------------------------------------------ */

/* For how many ns a lane was suspended between two times. */
static int64_t suspended_between(const struct thrum__model *model, uint32_t lane, int64_t from,
	int64_t to)
{
	uint32_t row = model->suspensions.count;
	int64_t sum = 0;

	while (row-- > model->suspensions.first && thrum__model_has_row(&model->suspensions, row)) {
		int64_t start = THRUM__SUSPENSION(model, row, start);
		int64_t end = THRUM__SUSPENSION(model, row, end);

		if (THRUM__SUSPENSION(model, row, lane) != lane || start >= to)
			continue;
		if (end <= from)
			break;
		sum += (end < to ? end : to) - (start > from ? start : from);
	}
	return sum;
}

/* The latest question from an edge on that is no later than a time; NONE: there is none. */
static uint32_t latest_question(const struct talk *talk, uint32_t edge, int64_t time)
{
	while ((edge = message_from(talk, edge, false)) != THRUM__NONE &&
		THRUM__EDGE(talk->model, edge, time) > time)
		edge = THRUM__EDGE(talk->model, edge, prev_out);
	return edge;
}

/* Counts the answers that a thread got at once. Returns false if it got one late, or not at all. */
static bool count_at_once(struct talk *talk, uint32_t asker, int64_t late)
{
	const struct thrum__model *model = talk->model;
	uint32_t question = THRUM__TASK(model, asker, edge_out);
	uint32_t edge = THRUM__TASK(model, asker, edge_in);
	uint32_t last = latest_question(talk, question, THRUM__OPEN);
	bool is_answered = last == THRUM__NONE;

	for (; (edge = message_from(talk, edge, true)) != THRUM__NONE;
		edge = THRUM__EDGE(model, edge, prev_in)) {
		int64_t time = THRUM__EDGE(model, edge, time), asked;

		question = latest_question(talk, question, time);
		if (question == THRUM__NONE)
			break;
		asked = THRUM__EDGE(model, question, time);
		if (time - asked > late)
			return false;
		is_answered |= question == last;
		talk->answers += suspended_between(model, talk->lane, asked, time) < AT_ONCE;
	}
	return is_answered;
}

/* Whether the loop answered all others at once, and some of them asked at the place of this handle: it may be
 * that nobody asks there for what comes at any time. */
static bool are_others_answered(struct talk *talk, uint32_t handle, int64_t age)
{
	const struct thrum__model *model = talk->model;
	uint32_t alike = 0;

	talk->answers = 0;
	THRUM__EACH_TASK (model, task) {
		alike += THRUM__TASK(model, task, kind) == THRUM_KIND_HANDLE &&
			THRUM__TASK(model, task, site) == THRUM__TASK(model, handle, site) &&
			THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED &&
			THRUM__TASK(model, task, creator) != talk->asker;
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_THREAD && task != talk->asker &&
			thrum__why_last_lane(model, task) != talk->lane &&
			!count_at_once(talk, task, age / TIMES))
			return false;
	}
	return alike >= ALIKE_MIN && talk->answers > ANSWERS_MIN;
}

/* ---- The turn --------------------------------------------------------------------------------- */

/* Finds the turn that got a question and sent nothing. Sets the talk's asker, and its lane. */
static bool is_silent_turn(struct talk *talk, uint32_t handle, const struct thrum__awaited *awaited,
	struct thrum__step *step)
{
	const struct thrum__model *model = talk->model;
	uint32_t lane = thrum__why_last_lane(model, awaited->server), turn, task;

	if (!thrum__why_lane_rests_for(model, lane, THRUM__REASON_WORK))
		return false;
	turn = turn_for(model, awaited, lane);
	task = turn == THRUM__NONE ? THRUM__NONE
				   : thrum__why_known(model, THRUM__RUN(model, turn, task));
	if (task == THRUM__NONE || THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE ||
		THRUM__TASK(model, task, run) != turn ||
		!thrum__analyse_task_is_pending(model, task) ||
		!*thrum__model_task_name(model, task, NULL) ||
		!thrum__why_is_without_effect(model, task))
		return false;
	talk->lane = lane;
	*step = (struct thrum__step){.kind = THRUM__STEP_LEAVES_OUT,
		.task = task,
		.other = handle,
		.time = THRUM__RUN(model, turn, start),
		.edge = THRUM__NONE};
	return true;
}

/* Whether an edge of a thread is a wait for the next message. */
static bool is_for_message(const struct thrum__model *model, uint32_t edge)
{
	return THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
		THRUM__BEGINS_WITH(model, THRUM__EDGE(model, edge, to), "receive from ",
			"read from ");
}

/* The first wait for a message that a thread began after a time; NONE: its waits have no edges. */
static uint32_t next_wait(const struct thrum__model *model, uint32_t thread, int64_t time)
{
	uint32_t wait = THRUM__NONE;

	THRUM__EDGES_FROM (model, thread, edge, EDGES_BACK) {
		if (THRUM__EDGE(model, edge, time) <= time)
			return wait;
		if (is_for_message(model, edge))
			wait = edge;
	}
	return THRUM__NONE;
}

/* Whether a thread waits for the next message. */
static bool awaits_message(const struct thrum__model *model, uint32_t thread)
{
	uint32_t last = thrum__model_last_edge(model, thread);

	return thrum__why_thread_rests_for(model, thread, THRUM__REASON_WORK) ||
		(thrum__model_has_row(&model->edges, last) && is_for_message(model, last) &&
			thrum__analyse_task_is_pending(model, THRUM__EDGE(model, last, to)));
}

/* The same for a thread that takes messages, perhaps those of several, and now waits for the next one. */
static bool is_silent_thread(struct talk *talk, uint32_t handle,
	const struct thrum__awaited *awaited, struct thrum__step *step)
{
	const struct thrum__model *model = talk->model;
	uint32_t server = awaited->server;

	if (THRUM__TASK(model, server, kind) != THRUM_KIND_THREAD || !awaits_message(model, server))
		return false;
	talk->lane = thrum__why_last_lane(model, server);
	*step = (struct thrum__step){.kind = THRUM__STEP_LEAVES_OUT,
		.task = server,
		.other = handle,
		.time = awaited->asked,
		.edge = next_wait(model, server, awaited->asked)};
	return thrum__why_turn_leaves_out(model, talk->lane, talk->asker, awaited->asked);
}

/* Whether each question but one had an answer of the step's task. Sets how many had. */
static bool has_each_answer(struct talk *talk, struct thrum__step *step)
{
	const struct thrum__model *model = talk->model;

	count_messages(talk, step->task);
	step->more = talk->own;
	/* The first datagram of a socket may be missing, as it had no address before. */
	return talk->own >= ANSWERS_MIN && talk->own == talk->answers &&
		(talk->answers + 1 == talk->questions ||
			(talk->answers == talk->questions &&
				THRUM__TASK(model, step->task, kind) == THRUM_KIND_THREAD));
}

/* The same if nothing else can happen. */
static bool is_each_answered(struct talk *talk, struct thrum__step *step)
{
	return thrum__why_is_all_at_rest(talk->model) && has_each_answer(talk, step) &&
		!is_any_due(talk->model);
}

/* Whether this is an answer that is missing: each other question had one, and nothing else can happen. Sets
 * how many had. */
static bool is_missing(struct talk *talk, const struct thrum__awaited *awaited,
	struct thrum__step *step)
{
	const struct thrum__model *model = talk->model;

	if (is_each_answered(talk, step))
		return true;
	if (!thrum__why_is_all_at_rest(model) || !thrum__why_only_ticks(model, awaited->asked) ||
		!are_others_answered(talk, step->other, model->end - awaited->asked))
		return false;
	step->more = talk->answers;
	return true;
}

bool thrum__why_no_reply(const struct thrum__search *search, uint32_t handle,
	struct thrum__step *step)
{
	const struct thrum__model *model = search->model;
	struct talk talk = {.model = model, .asker = THRUM__TASK(model, handle, creator)};
	struct thrum__awaited awaited;

	if (!search->is_still || search->gap >= 0 ||
		THRUM__TASK(model, handle, kind) != THRUM_KIND_HANDLE ||
		!thrum__model_has_row(&model->tasks, talk.asker) ||
		THRUM__TASK(model, talk.asker, kind) != THRUM_KIND_THREAD)
		return false;
	for (uint32_t i = THRUM__NONE;
		(i = thrum__model_next_awaited(model, handle, i)) != THRUM__NONE;)
		if (thrum__model_awaited(model, i, &awaited) &&
			thrum__analyse_task_is_pending(model, awaited.server) &&
			model->end - awaited.asked >= THRUM__SOON_OUTSIDE &&
			(is_silent_turn(&talk, handle, &awaited, step) ||
				is_silent_thread(&talk, handle, &awaited, step)))
			/* It may have passed the question on. */
			return !thrum__model_has_sent_unread(model, step->task, awaited.asked) &&
				is_missing(&talk, &awaited, step);
	return false;
}

/* Finds the turn of the server that got the latest question, and left out the answer. */
static bool find_left_out(struct talk *talk, uint32_t server, struct thrum__step *step)
{
	const struct thrum__model *model = talk->model;
	uint32_t question, answer;

	talk->lane = thrum__why_last_lane(model, server);
	question = message_from(talk, THRUM__TASK(model, talk->asker, edge_out), false);
	answer = message_from(talk, THRUM__TASK(model, talk->asker, edge_in), true);
	if (question == THRUM__NONE || answer == THRUM__NONE || question < answer)
		return false;
	step->kind = THRUM__STEP_LEAVES_OUT;
	step->task = server;
	step->time = THRUM__EDGE(model, question, time);
	return !thrum__model_has_sent_unread(model, server, step->time) &&
		thrum__why_turn_leaves_out(model, talk->lane, talk->asker, step->time);
}

bool thrum__why_is_left_out(const struct thrum__model *model, uint32_t asker, uint32_t server,
	struct thrum__step *step)
{
	struct talk talk = {.model = model, .asker = asker};

	return find_left_out(&talk, server, step) && is_each_answered(&talk, step);
}

bool thrum__why_is_left_out_beside(const struct thrum__model *model, uint32_t asker,
	uint32_t server, struct thrum__step *step)
{
	struct talk talk = {.model = model, .asker = asker};

	return find_left_out(&talk, server, step) && has_each_answer(&talk, step);
}
