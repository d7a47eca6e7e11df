/* SPDX-License-Identifier: ISC */
/*
 * Tells how a loop lost what a thread waits for, if nothing better was found and the whole program rests: the
 * thread waits for an object that only callbacks of this loop ever signalled.
 *
 * Either it asked the loop, as often before, and got an answer each time; but a request that was begun for
 * the last question failed and began nothing, as its like did. Or it counts what the callbacks signal, and
 * each of them began the next request, but for two or three: slots of the loop that weren't given back.
 */
#include <string.h>

#include "analyse/why/losses/rest.h"

#define SIGNALS_MIN 4     /* so many signals by callbacks show that the loop serves the object */
#define SIGNALS_BACK 8192 /* edges of the object that are searched, from the latest back */
#define EDGES_BACK 8192   /* the same of a task */
#define ANSWERED_MIN 2    /* questions before the last one */
#define LIKE_MIN 2        /* requests like the one that failed, which began something */
#define COUNTED_MIN 2     /* times that a thread went back to wait at once */
#define LOST_MIN 2        /* turns that began nothing */
#define APART_MIN 2       /* turns between them that began something */
#define ODD_MAX 8         /* series that are looked at */

/* A thread that waits for what a loop does. */
struct wait {
	uint32_t task, on, edge;
	int64_t since;
	uint32_t lane; /* of the loop */
};

/* The lane of a thread, or NONE. */
static uint32_t lane_of_thread(const struct thrum__model *model, uint32_t task)
{
	for (uint32_t lane = 0; lane < model->lane_count; lane++)
		if (thrum__why_thread_of(model, &model->lanes[lane]) == task)
			return lane;
	return THRUM__NONE;
}

static bool is_callback(const struct thrum__model *model, uint32_t task)
{
	int kind = thrum__model_has_row(&model->tasks, task) ? THRUM__TASK(model, task, kind)
							     : THRUM_KIND_THREAD;

	return kind == THRUM_KIND_HANDLE || kind == THRUM_KIND_REQUEST;
}

/* ---- The program rests ---------------------------------------------------------------------- */

/* Whether a timer is due that didn't come since. */
static bool may_come(const struct thrum__model *model, uint32_t timer)
{
	uint32_t run = THRUM__TASK(model, timer, run);
	int64_t due = thrum__why_due_of(model, timer);

	return due != THRUM__OPEN &&
		!(due < model->end && thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, start) >= due);
}

static bool is_timer_left(const struct thrum__model *model)
{
	THRUM__EACH_TASK (model, task)
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			thrum__analyse_task_is_pending(model, task) && may_come(model, task))
			return true;
	return false;
}

/* ---- The wait ------------------------------------------------------------------------------- */

/* The loop whose callbacks gave all signals of an object, or NONE. */
static uint32_t loop_of_signals(const struct thrum__model *model, uint32_t on)
{
	uint32_t edge = THRUM__TASK(model, on, edge_in), lane = THRUM__NONE, count = 0;

	THRUM__EDGES_OF (model, edge, prev_in, SIGNALS_BACK, THRUM__EDGE_SIGNAL) {
		uint32_t from = THRUM__EDGE(model, edge, from), by;

		by = is_callback(model, from) ? thrum__why_last_lane(model, from) : THRUM__NONE;
		if (by == THRUM__NONE || (count++ > 0 && by != lane))
			return THRUM__NONE;
		lane = by;
	}
	return edge == THRUM__NONE && count >= SIGNALS_MIN ? lane : THRUM__NONE;
}

/* Whether the thread of a lane waits for an object that only callbacks of another lane signalled. */
static bool find_wait(const struct thrum__model *model, uint32_t lane, struct wait *wait)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];
	uint32_t task = thrum__why_thread_of(model, &model->lanes[lane]);
	int kind;

	if (!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_waits_of(model, task, waits) != 1 ||
		!thrum__model_has_row(&model->tasks, waits[0].on))
		return false;
	kind = THRUM__TASK(model, waits[0].on, kind);
	if (kind != THRUM_KIND_CONDITION && kind != THRUM_KIND_SEMAPHORE)
		return false;
	*wait = (struct wait){task, waits[0].on, waits[0].edge, waits[0].since,
		loop_of_signals(model, waits[0].on)};
	return wait->lane != THRUM__NONE && wait->lane != lane;
}

/* ---- A question that failed ------------------------------------------------------------------ */

/* Whether a task did something for others, or began something, in its last run. */
static bool has_effect(const struct thrum__model *model, uint32_t task)
{
	uint32_t run = THRUM__TASK(model, task, run), edge = THRUM__TASK(model, task, edge_out);
	int64_t start, end;

	if (!thrum__model_has_row(&model->runs, run))
		return false;
	start = THRUM__RUN(model, run, start);
	end = THRUM__RUN(model, run, end);
	for (; thrum__model_has_row(&model->edges, edge) && THRUM__EDGE(model, edge, time) >= start;
		edge = THRUM__EDGE(model, edge, prev_out))
		if (THRUM__EDGE(model, edge, to) != task)
			return true;
	for (uint32_t made =
			thrum__analyse_next_task(model, thrum__analyse_task_from(model, start));
		made < model->tasks.count && THRUM__TASK(model, made, created) <= end;
		made = thrum__analyse_next_task(model, made + 1))
		if (THRUM__TASK(model, made, creator) == task)
			return true;
	return false;
}

/* The latest of those requests of the same place that ended well and began something. Returns NONE if these
 * are too few. */
static uint32_t usual_like(const struct thrum__model *model, uint32_t request)
{
	uint32_t count = 0, like = THRUM__NONE;

	THRUM__EACH_TASK (model, task)
		if (task != request && THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST &&
			THRUM__TASK(model, task, site) == THRUM__TASK(model, request, site) &&
			THRUM__TASK(model, task, state) == THRUM__STATE_RESOLVED &&
			has_effect(model, task)) {
			count++;
			like = task;
		}
	return count >= LIKE_MIN && THRUM__TASK(model, request, site) > 0 ? like : THRUM__NONE;
}

/* The last question: the edge by which a thread woke a handle of the loop, if that came since the object was
 * signalled for it, and each of its questions before was answered by such signals. One that got a signal
 * before its first question rather works for what comes. Else NONE. */
static uint32_t last_question(const struct thrum__model *model, const struct wait *wait)
{
	uint32_t edge = THRUM__TASK(model, wait->task, edge_out), last = THRUM__NONE;
	unsigned answered = 0;
	bool is_answered = false;

	THRUM__EDGES_BACK (model, edge, prev_out, EDGES_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		is_answered |= kind == THRUM__EDGE_READ && THRUM__EDGE(model, edge, to) == wait->on;
		if (kind != THRUM__EDGE_READY ||
			thrum__why_last_lane(model, THRUM__EDGE(model, edge, to)) != wait->lane)
			continue;
		if (last == THRUM__NONE && !is_answered)
			last = edge;
		else if (last == THRUM__NONE || !is_answered)
			return THRUM__NONE;
		else
			answered++;
		is_answered = false;
	}
	return edge == THRUM__NONE && !is_answered && answered >= ANSWERED_MIN ? last : THRUM__NONE;
}

/* The last request of a loop that was begun since a time, if it is a connection that couldn't be made: other
 * requests may fail as there is no more to do. Else NONE. */
static uint32_t failed_since(const struct thrum__model *model, uint32_t lane, int64_t since)
{
	uint32_t found = THRUM__NONE;

	for (uint32_t task =
			thrum__analyse_next_task(model, thrum__analyse_task_from(model, since));
		task < model->tasks.count; task = thrum__analyse_next_task(model, task + 1))
		if (THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST &&
			thrum__why_last_lane(model, task) == lane)
			found = task;
	return found != THRUM__NONE && THRUM__TASK(model, found, state) == THRUM__STATE_FAILED &&
			THRUM__BEGINS_WITH(model, found, "connect ")
		? found
		: THRUM__NONE;
}

static bool try_question(const struct thrum__model *model, const struct wait *wait,
	struct thrum__finding *finding)
{
	uint32_t question = last_question(model, wait);
	uint32_t request = question != THRUM__NONE
		? failed_since(model, wait->lane, THRUM__EDGE(model, question, time))
		: THRUM__NONE;
	uint32_t like;

	if (request == THRUM__NONE || has_effect(model, request))
		return false;
	like = usual_like(model, request);
	if (like == THRUM__NONE)
		return false;
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_BEGINS_NOTHING, request, like,
				    THRUM__TASK(model, request, end),
				    thrum__why_edge_to(model, request, THRUM__EDGE_FAIL)),
		1);
	return true;
}

/* ---- Slots that were lost -------------------------------------------------------------------- */

/* Whether a thread counts: each time that it was woken, it went back to wait under the lock that it got with
 * the wake-up. One that takes something out takes the lock anew before it waits. */
static bool is_counting(const struct thrum__model *model, const struct wait *wait)
{
	int place = 0;
	unsigned times = 0, locks = 0;

	THRUM__EDGES_FROM (model, wait->task, edge, EDGES_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_UNLOCK)
			continue;
		if (kind == THRUM__EDGE_LOCK) {
			locks += thrum__model_edge_place(model, edge) == place ? 1 : 2;
			continue;
		}
		if (THRUM__EDGE(model, edge, to) != wait->on ||
			(kind != THRUM__EDGE_WAIT && kind != THRUM__EDGE_READ))
			break;
		if (kind == THRUM__EDGE_READ && (locks != 1 || place <= 0))
			return false;
		times += kind == THRUM__EDGE_READ;
		place = kind == THRUM__EDGE_WAIT ? thrum__model_edge_place(model, edge) : 0;
		locks = 0;
	}
	return times >= COUNTED_MIN;
}

/* Whether a task signalled an object in its run at a time. */
static bool signals_at(const struct thrum__model *model, uint32_t task, uint32_t on, int64_t time)
{
	uint32_t found = THRUM__NONE;

	THRUM__EDGES_TO (model, on, edge, SIGNALS_BACK) {
		if (THRUM__EDGE(model, edge, time) < time)
			break;
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL &&
			THRUM__EDGE(model, edge, from) == task)
			found = edge;
	}
	/* The earliest since then is in this run, unless another run came before. */
	for (uint32_t run = thrum__analyse_run_from(model, time);
		found != THRUM__NONE && thrum__model_has_row(&model->runs, run); run++)
		if (THRUM__RUN(model, run, task) == task && THRUM__RUN(model, run, start) >= time)
			return THRUM__EDGE(model, found, time) <= THRUM__RUN(model, run, end);
	return false;
}

/* Whether the turns of a series that began nothing signalled what the thread waits for. A signal that nobody
 * hears isn't told: so one may lack where the thread was on its way back to wait. */
static bool is_lost(const struct thrum__model *model, const struct wait *wait,
	const struct thrum__odd *odd)
{
	uint32_t told = 0;

	if (odd->effect != THRUM__EFFECT_BEGINS || odd->count < LOST_MIN ||
		odd->apart < APART_MIN || !thrum__model_has_row(&model->tasks, odd->on) ||
		THRUM__TASK(model, odd->on, kind) != THRUM_KIND_REQUEST)
		return false;
	for (uint32_t i = 0; i < odd->count; i++) {
		bool is_told = signals_at(model, odd->task[i], wait->on, odd->time[i]);

		if (!is_callback(model, odd->task[i]) ||
			thrum__why_last_lane(model, odd->task[i]) != wait->lane ||
			(!is_told && thrum__analyse_had_waiter(model, wait->on, odd->time[i])))
			return false;
		told += is_told;
	}
	return told > 0;
}

/* Only the first thread: while it counts, the program can't end well. Another one may take what comes. */
static bool try_lost(struct thrum__odd_search *search, const struct wait *wait,
	struct thrum__finding *finding)
{
	const struct thrum__model *model = search->model;
	struct thrum__odd odd[ODD_MAX];
	int count;

	if (wait->task != thrum__why_task_of_lane(&model->lanes[0]) || !is_counting(model, wait))
		return false;
	count = thrum__analyse_odd(search, THRUM__NONE, model->end, odd, ODD_MAX);
	for (int i = 0; i < count; i++) {
		if (!is_lost(model, wait, &odd[i]))
			continue;
		for (uint32_t turn = 0; turn < odd[i].count; turn++)
			thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_BEGINS_NONE,
						    odd[i].task[turn], odd[i].on, odd[i].time[turn],
						    THRUM__NONE),
				odd[i].with);
		return true;
	}
	return false;
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Looks for what a loop lost for a thread, and adds the steps for it. */
static bool find_loss(struct thrum__odd_search *search, const struct wait *wait,
	struct thrum__finding *finding)
{
	return try_question(search->model, wait, finding) || try_lost(search, wait, finding);
}

static void add_finding(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	const struct thrum__model *model = search->model;

	for (uint32_t lane = 0; lane < model->lane_count; lane++) {
		struct thrum__finding finding = {
			.class = THRUM__FINDING_NEVER_RESOLVED,
			.certainty = THRUM__POSSIBLE,
			.until = model->end,
		};
		struct wait wait;

		if (!find_wait(model, lane, &wait) || !find_loss(search, &wait, &finding))
			continue;
		finding.task = wait.task;
		thrum__why_add_step(&finding, THRUM__STEP_WAITS_FOR, wait.task, wait.on, wait.since,
			wait.edge);
		findings->findings[findings->count++] = finding;
		return;
	}
}

/* Explains a finding that tells only that a thread waits. */
static void explain(struct thrum__odd_search *search, struct thrum__finding *finding)
{
	struct thrum__step waits = finding->steps[0];
	uint32_t lane;
	struct wait wait;

	if (finding->step_count != 1 || waits.kind != THRUM__STEP_WAITS_FOR)
		return;
	lane = lane_of_thread(search->model, waits.task);
	if (lane == THRUM__NONE || !find_wait(search->model, lane, &wait) ||
		wait.task != waits.task || !find_loss(search, &wait, finding))
		return;
	/* The cause comes before the wait. */
	for (unsigned i = 1; i < finding->step_count; i++)
		thrum__why_move_last(finding, 0);
}

void thrum__why_add_slots(struct thrum__odd_search *search, struct thrum__findings *findings)
{
	struct thrum__search state = {.model = search->model};

	thrum__why_find_silence(&state);
	/* It need not be silent: threads may tell late that they wait. */
	if (!state.is_still || !thrum__why_is_at_rest(search->model) ||
		is_timer_left(search->model))
		return;
	if (findings->count == 0)
		add_finding(search, findings);
	else
		for (uint32_t i = 0; i < findings->count; i++)
			explain(search, &findings->findings[i]);
}
