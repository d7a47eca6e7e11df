/* SPDX-License-Identifier: ISC */
/*
 * Finds the turn of a loop that got a question over a pair of sockets, both of which the program has, and
 * sent nothing. A thread asks there, and waits for each answer before it asks again. The handle that had the
 * turn sent nearly all answers so far, far faster than the thread waits now. Nothing but timers goes on, and
 * the loop has no handle by which anything else may come.
 */
#include "analyse/places.h"
#include "analyse/why/blame/blame.h"

#define ANSWERS_MIN 6     /* so many show that each question has an answer */
#define WAITS_MIN 3       /* so many waits at that place show that all are alike */
#define OWN_PARTS 4       /* all answers but one of so many are those of the turns */
#define EDGES_BACK 100000 /* edges of the thread that asks, from the latest back */
#define JOBS_MAX 8        /* one after the other, for a question */
#define TIMES 20          /* so many times as long as any answer took */

/* The questions of a thread to a loop, from the latest back. */
struct pair {
	const struct thrum__model *model;
	uint32_t asker, lane, server;
	uint32_t handle; /* of the turn that got the latest */
	int64_t asked;   /* when the loop got that */
	int64_t told;    /* when it sent the latest answer */
	uint32_t answers, own;
	int64_t longest; /* from a question to the last of its answer */
};

/* The latest message between the thread and the loop from an edge on, to the thread or from it. */
static uint32_t message_from(const struct pair *pair, uint32_t edge, bool is_answer)
{
	return thrum__why_message_from(pair->model, pair->lane, edge, is_answer);
}

/* Finds the latest question, and the turn that got it: of a handle that lives. */
static bool find_question(struct pair *pair)
{
	const struct thrum__model *model = pair->model;
	uint32_t edge = THRUM__TASK(model, pair->asker, edge_out), run;

	THRUM__EDGES_BACK (model, edge, prev_out, EDGES_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_LINK)
			break;
	if (!thrum__model_has_row(&model->edges, edge) ||
		THRUM__EDGE(model, edge, kind) != THRUM__EDGE_LINK)
		return false;
	pair->server = THRUM__EDGE(model, edge, to);
	pair->asked = THRUM__EDGE(model, edge, time);
	if (!thrum__model_has_row(&model->tasks, pair->server) ||
		THRUM__TASK(model, pair->server, kind) != THRUM_KIND_THREAD)
		return false;
	pair->lane = thrum__why_last_lane(model, pair->server);
	run = thrum__why_run_soon(model, pair->lane, pair->server, pair->asked);
	pair->handle = run == THRUM__NONE ? THRUM__NONE
					  : thrum__why_known(model, THRUM__RUN(model, run, task));
	return pair->handle != THRUM__NONE &&
		THRUM__TASK(model, pair->handle, kind) == THRUM_KIND_HANDLE &&
		THRUM__TASK(model, pair->handle, run) == run &&
		thrum__analyse_task_is_pending(model, pair->handle) &&
		*thrum__model_task_name(model, pair->handle, NULL) &&
		thrum__why_lane_rests_for(model, pair->lane, THRUM__REASON_WORK);
}

/* ---- Answers ----------------------------------------------------------------------------------- */

/* Whether a task is a request, or a timer that came once. */
static bool is_job(const struct thrum__model *model, uint32_t task)
{
	int kind = THRUM__TASK(model, task, kind);

	return kind == THRUM_KIND_REQUEST ||
		(kind == THRUM_KIND_TIMER && !thrum__analyse_task_is_pending(model, task));
}

/* Whether a task is a job that the handle's turn made after a time, or one of its jobs. */
static bool is_made_for(const struct pair *pair, uint32_t task, int64_t asked)
{
	const struct thrum__model *model = pair->model;

	for (int i = 0; i < JOBS_MAX; i++) {
		if (!is_job(model, task) || THRUM__TASK(model, task, created) < asked)
			return false;
		task = thrum__why_known(model, THRUM__TASK(model, task, creator));
		if (task == pair->handle || task == THRUM__NONE)
			return task != THRUM__NONE;
	}
	return false;
}

/* Counts an answer to a question that the loop got at a time. Returns false if it may be news: something else
 * sent it than a turn that got a question, or a job. */
static bool count_answer(struct pair *pair, uint32_t from, int64_t asked)
{
	pair->answers++;
	pair->own += from == pair->handle || is_made_for(pair, from, asked);
	return from == pair->handle || is_job(pair->model, from);
}

/* Counts the answers. Returns false if the latest question has one, or some answer isn't one alone. */
static bool count_answers(struct pair *pair)
{
	const struct thrum__model *model = pair->model;
	uint32_t question = message_from(pair, THRUM__TASK(model, pair->asker, edge_out), false);
	uint32_t answer = message_from(pair, THRUM__TASK(model, pair->asker, edge_in), true);

	pair->told = answer == THRUM__NONE ? THRUM__OPEN : THRUM__EDGE(model, answer, time);
	if (pair->told >= pair->asked)
		return false;
	while (answer != THRUM__NONE) {
		int64_t last = THRUM__EDGE(model, answer, time), asked;
		uint32_t from;

		/* Parts that follow each other are one question, or one answer. */
		while (question != THRUM__NONE && THRUM__EDGE(model, question, time) > last)
			question = message_from(pair, THRUM__EDGE(model, question, prev_out),
				false);
		if (question == THRUM__NONE)
			return false;
		asked = THRUM__EDGE(model, question, time);
		do {
			from = THRUM__EDGE(model, answer, from);
			answer = message_from(pair, THRUM__EDGE(model, answer, prev_in), true);
		} while (answer != THRUM__NONE && THRUM__EDGE(model, answer, time) > asked);
		if (!count_answer(pair, from, asked))
			return false;
		if (last - asked > pair->longest)
			pair->longest = last - asked;
	}
	return pair->answers >= ANSWERS_MIN &&
		pair->own >= pair->answers - pair->answers / OWN_PARTS &&
		(model->end - pair->asked) / TIMES > pair->longest;
}

/* Whether the thread waited for answers at the place where it waits now: elsewhere it may wait for news. */
static bool is_usual_place(const struct pair *pair, const struct thrum__analyse_wait *wait)
{
	const struct thrum__model *model = pair->model;
	uint32_t edge = THRUM__TASK(model, pair->asker, edge_out), count = 0;

	if (!thrum__model_has_row(&model->edges, wait->edge))
		return false;
	THRUM__EDGES_BACK (model, edge, prev_out, EDGES_BACK)
		count += THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, to) == wait->on &&
			THRUM__EDGE(model, edge, time) < pair->asked &&
			thrum__model_edge_place(model, edge) ==
				thrum__model_edge_place(model, wait->edge);
	return count >= WAITS_MIN;
}

/* ---- The rest ---------------------------------------------------------------------------------- */

/* Whether a thread may yet do something, or anything come from outside to a loop. */
static bool may_answer_come(const struct pair *pair)
{
	const struct thrum__model *model = pair->model;

	if (!thrum__why_only_ticks(model, pair->asked) || thrum__why_heard_outside(model))
		return true;
	for (uint32_t i = 0; i < model->lane_count; i++)
		if (thrum__analyse_task_is_pending(model, model->lanes[i].task) &&
			!thrum__why_lane_rests_for(model, i, THRUM__REASON_BLOCKED) &&
			(!thrum__why_lane_rests_for(model, i, THRUM__REASON_WORK) ||
				thrum__why_lane_rests_for(model, i, THRUM__REASON_WORK_OUTSIDE)))
			return true;
	return false;
}

/* The last of the jobs that the turn led to, one after the other, or the handle itself; NONE: one goes on, or
 * there are several at a time. */
static uint32_t last_job(const struct pair *pair)
{
	const struct thrum__model *model = pair->model;
	uint32_t task = pair->handle;

	for (int i = 0; i < JOBS_MAX; i++) {
		uint32_t run = THRUM__TASK(model, task, run), made;

		if (!thrum__model_has_row(&model->runs, run))
			return THRUM__NONE;
		made = thrum__why_next_made(model, task, run,
			thrum__analyse_task_from(model, THRUM__RUN(model, run, start)));
		if (made == THRUM__NONE)
			return task;
		if (!is_job(model, made) || thrum__analyse_task_is_pending(model, made) ||
			thrum__why_next_made(model, task, run, made + 1) != THRUM__NONE)
			return THRUM__NONE;
		task = made;
	}
	return THRUM__NONE;
}

bool thrum__why_no_pair_reply(const struct thrum__search *search,
	const struct thrum__why_link *link, struct thrum__why_unreplied *found)
{
	const struct thrum__model *model = search->model;
	struct pair pair = {.model = model, .asker = link->task};
	uint32_t job;

	if (!search->is_still || search->gap >= 0 || model->is_joined ||
		THRUM__TASK(model, link->task, kind) != THRUM_KIND_THREAD ||
		THRUM__TASK(model, link->wait.on, kind) != THRUM_KIND_STREAM ||
		!THRUM__BEGINS_WITH(model, link->wait.on, "socket ") || !find_question(&pair) ||
		model->end - pair.asked < THRUM__SOON_OUTSIDE || !count_answers(&pair) ||
		!is_usual_place(&pair, &link->wait) || may_answer_come(&pair))
		return false;
	job = last_job(&pair);
	if (job == THRUM__NONE || !thrum__why_is_without_effect(model, job))
		return false;
	*found = (struct thrum__why_unreplied){.failed = thrum__why_failed_last(model, pair.lane),
		.step = {.kind = THRUM__STEP_LEAVES_OUT,
			.task = job,
			.other = link->wait.on,
			.time = THRUM__RUN(model, THRUM__TASK(model, job, run), start),
			.edge = THRUM__NONE,
			.more = pair.own}};
	if (found->failed != THRUM__NONE && THRUM__TASK(model, found->failed, end) < pair.told)
		found->failed = THRUM__NONE;
	return true;
}
