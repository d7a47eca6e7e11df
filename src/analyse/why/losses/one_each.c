/* SPDX-License-Identifier: ISC */
/*
 * Tells of a handle that threads wake, as libuv's uv_async_t, whose callback takes one thing in each run, if
 * the whole program rests. Several wake-ups become one run: so things are left when nobody wakes it any more.
 *
 * It takes one in each run if each of them began one task at the same place, with an amount in its name, as
 * in “write 4 bytes”, and those runs that came for several wake-ups began no more than the others. A
 * callback that takes all there is at once would have begun several, or a larger one.
 *
 * It also does if each run began one task like the others, whatever it is called, and the last run was the
 * first for several wake-ups, by several threads: some of them got what they wait for, and others didn't.
 *
 * It also does if each run for one wake-up signalled the same object, the last run came for several and did
 * nothing for anybody, and a thread waits for that object, which has told the loop something since it was
 * answered last.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/losses/rest.h"

#define SINGLE_MIN 2  /* runs for one wake-up, which show how much belongs to one */
#define ANSWERS_MIN 4 /* runs for one wake-up, each of which signalled */
#define NOTES_BACK 64
#define WAKES_BACK 64  /* wake-ups that are searched for the last turn's */
#define ASKED_BACK 64  /* edges of a thread that are searched for what it told the loop */
#define HANDLES_MAX 16 /* a search of each reads all events */

/* A run of the handle. */
struct turn {
	int64_t start, end;
	uint32_t woken; /* how often the handle was woken for it */
	uint32_t by;    /* by whom last */
	uint32_t made;  /* the task that it began, or NONE */
};

/* Common to the runs of a handle so far. */
struct habit {
	const struct thrum__model *model;
	uint32_t handle;
	uint32_t task; /* of the first turn */
	uint32_t singles, merged;
	uint64_t least, most; /* the least amount for one wake-up, the most for several */
	struct turn last;     /* the last turn for several */
	int64_t end;          /* of the last turn of all */
};

/* Where a walk through the model's tables has come, in the order of time. */
struct walk {
	uint32_t run, edge, task;
	uint32_t
		given; /* the object that the handle signalled in the turn before; NONE: no object */
	bool is_other; /* it did something else for others there */
};

/* ---- The runs of a handle --------------------------------------------------------------------- */

/* The first number in a task's name; 0: there is none. */
static uint64_t amount_of(const struct thrum__model *model, uint32_t task)
{
	const char *name = thrum__model_task_name(model, task, NULL);

	return strtoull(name + strcspn(name, "0123456789"), NULL, 10);
}

/* Notes what the handle did for others, but for locks. */
static void note_deed(const struct habit *habit, struct walk *walk, uint32_t edge)
{
	const struct thrum__model *model = habit->model;
	int kind = THRUM__EDGE(model, edge, kind);
	uint32_t to = THRUM__EDGE(model, edge, to);

	if (kind == THRUM__EDGE_SIGNAL && (walk->given == THRUM__NONE || walk->given == to))
		walk->given = to;
	else if (kind == THRUM__EDGE_SIGNAL || kind == THRUM__EDGE_READY ||
		kind == THRUM__EDGE_RESOLVE || kind == THRUM__EDGE_LINK)
		walk->is_other |= to != habit->handle;
}

/* Counts the wake-ups of the handle before a turn, and notes what it did in the turn before that. */
static void count_wakes(const struct habit *habit, struct walk *walk, struct turn *turn)
{
	const struct thrum__model *model = habit->model;

	for (; walk->edge < model->edges.count &&
		THRUM__EDGE(model, walk->edge, time) <= turn->start;
		walk->edge++) {
		if (THRUM__EDGE(model, walk->edge, from) == habit->handle)
			note_deed(habit, walk, walk->edge);
		if (THRUM__EDGE(model, walk->edge, kind) == THRUM__EDGE_READY &&
			THRUM__EDGE(model, walk->edge, to) == habit->handle) {
			turn->woken++;
			turn->by = THRUM__EDGE(model, walk->edge, from);
		}
	}
}

/* Finds the task that the handle began in a turn. Returns false unless there is one. Locks and other objects
 * show when they are first needed, and don't count; nor do threads, as libuv makes those of its pool. */
static bool find_made(const struct habit *habit, struct walk *walk, struct turn *turn)
{
	const struct thrum__model *model = habit->model;

	for (; walk->task < model->tasks.count &&
		THRUM__TASK(model, walk->task, created) <= turn->end;
		walk->task = thrum__analyse_next_task(model, walk->task + 1)) {
		if (THRUM__TASK(model, walk->task, creator) != habit->handle ||
			THRUM__TASK(model, walk->task, kind) == THRUM_KIND_THREAD ||
			thrum__analyse_task_is_object(model, walk->task))
			continue;
		if (turn->made != THRUM__NONE)
			return false;
		turn->made = walk->task;
	}
	return turn->made != THRUM__NONE;
}

/* The next turn of the handle. Returns false if there is none. A wait parts its run, but not the turn. */
static bool next_turn(const struct habit *habit, struct walk *walk, struct turn *turn)
{
	const struct thrum__model *model = habit->model;
	uint32_t lane = THRUM__NONE;

	for (; walk->run < model->runs.count; walk->run++) {
		if (lane != THRUM__NONE && THRUM__RUN(model, walk->run, lane) != lane)
			continue;
		if (THRUM__RUN(model, walk->run, task) != habit->handle) {
			if (lane != THRUM__NONE)
				break;
			continue;
		}
		if (lane == THRUM__NONE)
			*turn = (struct turn){THRUM__RUN(model, walk->run, start), 0, 0,
				THRUM__NONE, THRUM__NONE};
		lane = THRUM__RUN(model, walk->run, lane);
		turn->end = THRUM__RUN(model, walk->run, end);
	}
	if (lane != THRUM__NONE)
		count_wakes(habit, walk, turn);
	return lane != THRUM__NONE;
}

/* Adds a turn. Returns false if it isn't like those before. */
static bool add_turn(struct habit *habit, const struct turn *turn)
{
	const struct thrum__model *model = habit->model;
	uint64_t amount = amount_of(model, turn->made);

	if (habit->task == THRUM__NONE)
		habit->task = turn->made;
	if (amount == 0 ||
		THRUM__TASK(model, turn->made, kind) != THRUM__TASK(model, habit->task, kind) ||
		THRUM__TASK(model, turn->made, site) != THRUM__TASK(model, habit->task, site) ||
		!thrum__why_are_named_alike(model, turn->made, habit->task))
		return false;
	habit->end = turn->end;
	if (turn->woken < 2) {
		habit->singles++;
		habit->least = amount < habit->least ? amount : habit->least;
		return true;
	}
	habit->merged++;
	habit->most = amount > habit->most ? amount : habit->most;
	habit->last = *turn;
	return true;
}

/* Looks at all turns of the handle. Returns whether it takes one thing in each, and was woken more often. */
static bool takes_one_each(struct habit *habit)
{
	struct walk walk = {0, 0, thrum__analyse_next_task(habit->model, 0), THRUM__NONE, false};
	struct turn turn;

	habit->least = UINT64_MAX;
	while (next_turn(habit, &walk, &turn))
		/* A turn for no wake-up is for one that came as the turn before began. */
		if (turn.woken == 0 || !find_made(habit, &walk, &turn) || !add_turn(habit, &turn))
			return false;
	turn = (struct turn){INT64_MAX, INT64_MAX, 0, THRUM__NONE, THRUM__NONE};
	count_wakes(habit, &walk, &turn); /* it has yet to run */
	return turn.woken == 0 && habit->merged > 0 && habit->singles >= SINGLE_MIN &&
		habit->most / 2 < habit->least;
}

/* ---- Those who woke it ------------------------------------------------------------------------ */

/* Looks at all turns of the handle. Returns whether each began one task like the others, and the last one
 * alone came for several wake-ups. Sets *since to the end of the turn before. */
static bool merges_last(struct habit *habit, int64_t *since)
{
	const struct thrum__model *model = habit->model;
	struct walk walk = {0, 0, thrum__analyse_next_task(model, 0), THRUM__NONE, false};
	struct turn turn;

	while (next_turn(habit, &walk, &turn)) {
		if (turn.woken == 0 || habit->last.woken > 1 || !find_made(habit, &walk, &turn))
			return false;
		if (habit->task == THRUM__NONE)
			habit->task = turn.made;
		if (THRUM__TASK(model, turn.made, kind) != THRUM__TASK(model, habit->task, kind) ||
			THRUM__TASK(model, turn.made, site) !=
				THRUM__TASK(model, habit->task, site) ||
			!thrum__why_are_named_alike(model, turn.made, habit->task))
			return false;
		*since = habit->end;
		habit->singles += turn.woken == 1;
		habit->last = turn;
		habit->end = turn.end;
	}
	turn = (struct turn){INT64_MAX, INT64_MAX, 0, THRUM__NONE, THRUM__NONE};
	count_wakes(habit, &walk, &turn);
	return turn.woken == 0 && habit->last.woken > 1 && habit->singles >= ANSWERS_MIN;
}

/* The first of the threads that woke the handle for its last turn, since a time, and wait since then.
 * NONE: there is none, or none has gone on. */
static uint32_t left_waker(const struct habit *habit, int64_t since)
{
	const struct thrum__model *model = habit->model;
	uint32_t left = THRUM__NONE;
	bool has_gone_on = false;

	THRUM__EDGES_TO (model, habit->handle, edge, WAKES_BACK) {
		uint32_t waker = thrum__why_heir_of(model, THRUM__EDGE(model, edge, from));
		int64_t woken = THRUM__EDGE(model, edge, time);
		struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

		if (woken <= since)
			break;
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READY ||
			!thrum__model_has_row(&model->tasks, waker))
			continue;
		if (thrum__analyse_task_is_pending(model, waker) &&
			thrum__analyse_waits_of(model, waker, waits) == 1 &&
			waits[0].since >= woken && waits[0].since < habit->last.start)
			left = waker;
		else
			has_gone_on = true;
	}
	return has_gone_on ? left : THRUM__NONE;
}

/* ---- Answers ---------------------------------------------------------------------------------- */

/* Whether the handle began a task in a turn that isn't an object. */
static bool began_any(const struct habit *habit, const struct turn *turn)
{
	const struct thrum__model *model = habit->model;

	for (uint32_t task = thrum__analyse_next_task(model,
		     thrum__analyse_task_from(model, turn->start));
		task < model->tasks.count && THRUM__TASK(model, task, created) <= turn->end;
		task = thrum__analyse_next_task(model, task + 1))
		if (THRUM__TASK(model, task, creator) == habit->handle &&
			!thrum__analyse_task_is_object(model, task))
			return true;
	return false;
}

/* Looks at all turns of the handle. Returns whether each one for one wake-up signalled the same object, and
 * the last one came for several and did nothing for others. Sets *on to the object. */
static bool leaves_answer(struct habit *habit, uint32_t *on)
{
	struct walk walk = {0, 0, thrum__analyse_next_task(habit->model, 0), THRUM__NONE, false};
	struct turn turn;

	*on = THRUM__NONE;
	while (next_turn(habit, &walk, &turn)) {
		if (turn.woken == 0 || habit->last.woken > 1 ||
			(habit->last.woken == 1 &&
				(walk.given == THRUM__NONE ||
					(*on != THRUM__NONE && walk.given != *on))))
			return false;
		*on = walk.given; /* by the turn before */
		walk.given = THRUM__NONE;
		walk.is_other = false;
		habit->singles += turn.woken == 1;
		habit->last = turn;
		habit->end = turn.end;
	}
	turn = (struct turn){INT64_MAX, INT64_MAX, 0, THRUM__NONE, THRUM__NONE};
	count_wakes(habit, &walk, &turn);
	return turn.woken == 0 && habit->last.woken > 1 && habit->singles >= ANSWERS_MIN &&
		walk.given == THRUM__NONE && !walk.is_other && !began_any(habit, &habit->last);
}

/* Whether a thread has told the handle's loop something since it was answered last, before the last turn. */
static bool has_asked(const struct habit *habit, uint32_t task, uint32_t on)
{
	const struct thrum__model *model = habit->model;
	uint32_t lane = thrum__why_last_lane(model, habit->handle);

	THRUM__EDGES_FROM (model, task, edge, ASKED_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (kind == THRUM__EDGE_READ && to == on)
			return false;
		if ((kind == THRUM__EDGE_LINK || kind == THRUM__EDGE_READY) &&
			THRUM__EDGE(model, edge, time) < habit->last.start &&
			thrum__why_last_lane(model, to) == lane)
			return true;
	}
	return false;
}

/* ---- The waits --------------------------------------------------------------------------------- */

/* Whether a timer ever told others to go on. */
static bool has_told_others(const struct thrum__model *model, uint32_t timer)
{
	return thrum__why_edge_from(model, timer, THRUM__EDGE_SIGNAL) != THRUM__NONE ||
		thrum__why_edge_from(model, timer, THRUM__EDGE_READY) != THRUM__NONE;
}

/* Whether a timer came and wasn't set anew. */
static bool is_spent(const struct thrum__model *model, uint32_t timer)
{
	uint32_t run = THRUM__TASK(model, timer, run), note = THRUM__TASK(model, timer, note);

	THRUM__NOTES_BACK (model, note, NOTES_BACK)
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_DUE)
			return thrum__model_has_row(&model->runs, run) &&
				THRUM__NOTE(model, note, time) < THRUM__RUN(model, run, start);
	return false;
}

/* Whether each timer that is left came and isn't set, or has come round since a time, and only ticks: it
 * never began anything, and told nobody to go on. Another one may give a thread work later, so that this
 * doesn't hang. */
static bool only_ticks(const struct thrum__model *model, int64_t since)
{
	THRUM__EACH_TASK (model, task) {
		uint32_t run = THRUM__TASK(model, task, run);

		if (THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER) {
			if (!thrum__analyse_task_is_object(model, task) &&
				thrum__why_is_of_timer(model, task))
				return false;
		} else if (thrum__analyse_task_is_pending(model, task) &&
			((!is_spent(model, task) &&
				 (!thrum__model_has_row(&model->runs, run) ||
					 THRUM__RUN(model, run, start) <= since)) ||
				has_told_others(model, task))) {
			return false;
		}
	}
	return true;
}

/* Tells why a task waits since a time. Returns false if it doesn't, or waits for several. */
static bool tell_wait(const struct habit *habit, uint32_t task, int64_t since, int certainty,
	struct thrum__finding *finding)
{
	const struct thrum__model *model = habit->model;
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	if (!thrum__analyse_task_is_pending(model, task) ||
		thrum__analyse_waits_of(model, task, waits) != 1 || waits[0].since < since)
		return false;
	*finding = (struct thrum__finding){
		.class = THRUM__FINDING_NEVER_RESOLVED,
		.certainty = (uint8_t)certainty,
		.task = task,
		.until = model->end,
	};
	thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_MERGED, habit->handle,
				    habit->last.by, habit->last.start, THRUM__NONE),
		habit->last.woken);
	thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, waits[0].on, waits[0].since,
		waits[0].edge);
	return true;
}

/* Explains a circle of waits in which the handle's loop waits for the thread that woke it: the loop has been
 * told of all, so there is no circle. */
static void explain(const struct habit *habit, struct thrum__finding *finding)
{
	const struct thrum__model *model = habit->model;
	uint32_t lane = thrum__why_last_lane(model, habit->handle);
	bool has_loop = false, has_waker = false;

	if (finding->class != THRUM__FINDING_DEADLOCK || finding->certainty == THRUM__CERTAIN ||
		lane == THRUM__NONE)
		return;
	for (unsigned i = 0; i < finding->step_count; i++) {
		has_loop |= finding->steps[i].task == model->lanes[lane].task;
		has_waker |= finding->steps[i].task == habit->last.by;
	}
	if (has_loop && has_waker)
		tell_wait(habit, finding->task, habit->last.start, finding->certainty, finding);
}

static void tell(const struct habit *habit, struct thrum__findings *findings)
{
	/* The thread that woke the handle waits for what nobody gives. */
	if (findings->count == 0)
		findings->count = tell_wait(habit, thrum__why_heir_of(habit->model, habit->last.by),
			habit->last.start, THRUM__POSSIBLE, findings->findings);
	else
		for (uint32_t i = 0; i < findings->count; i++)
			explain(habit, &findings->findings[i]);
}

/* Tells of a thread that waits for the answer that the last turn left out. */
static void tell_answer(const struct habit *habit, uint32_t on, struct thrum__findings *findings)
{
	const struct thrum__model *model = habit->model;
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];

	THRUM__EACH_LANE (model, lane) {
		uint32_t task = thrum__why_thread_of(model, lane);
		struct thrum__finding *finding = findings->findings;

		if (!thrum__analyse_task_is_pending(model, task) ||
			thrum__analyse_waits_of(model, task, waits) != 1 || waits[0].on != on ||
			!has_asked(habit, task, on))
			continue;
		*finding = (struct thrum__finding){
			.class = THRUM__FINDING_NEVER_RESOLVED,
			.certainty = THRUM__POSSIBLE,
			.task = task,
			.until = model->end,
		};
		thrum__why_set_more(thrum__why_add_step(finding, THRUM__STEP_MERGED, habit->handle,
					    habit->last.by, habit->last.start, THRUM__NONE),
			habit->last.woken);
		thrum__why_add_step(finding, THRUM__STEP_WAITS_FOR, task, on, waits[0].since,
			waits[0].edge);
		findings->count = 1;
		return;
	}
}

/* Looks for a thread that a handle leaves out among those that woke it. */
static void find_left_waker(struct habit *habit, struct thrum__findings *findings)
{
	int64_t since = 0;
	uint32_t waker;

	if (!merges_last(habit, &since) || habit->model->end - habit->end < THRUM__SOON_OUTSIDE ||
		!only_ticks(habit->model, habit->end))
		return;
	waker = left_waker(habit, since);
	if (waker != THRUM__NONE)
		findings->count = tell_wait(habit, waker, since, THRUM__POSSIBLE,
			findings->findings);
}

/* Looks for an answer that a handle leaves out. */
static void find_answer(struct habit *habit, struct thrum__findings *findings)
{
	uint32_t on;

	if (leaves_answer(habit, &on) && habit->model->end - habit->end >= THRUM__SOON_OUTSIDE &&
		only_ticks(habit->model, habit->end))
		tell_answer(habit, on, findings);
}

void thrum__why_add_one_each(const struct thrum__model *model, struct thrum__findings *findings)
{
	uint32_t count = 0;

	if (model->ending != THRUM_ENDING_KILLED || thrum__why_is_polite(model) ||
		!thrum__why_is_at_rest(model))
		return;
	THRUM__EACH_TASK (model, task) {
		struct habit habit = {.model = model, .handle = task, .task = THRUM__NONE};

		if (THRUM__TASK(model, task, kind) != THRUM_KIND_HANDLE ||
			!thrum__analyse_task_is_pending(model, task) ||
			!THRUM__BEGINS_WITH(model, task, "async "))
			continue;
		if (count++ == HANDLES_MAX)
			return;
		if (takes_one_each(&habit) && model->end - habit.end >= THRUM__SOON_OUTSIDE &&
			only_ticks(model, habit.end)) {
			tell(&habit, findings);
			return;
		}
		habit = (struct habit){.model = model, .handle = task, .task = THRUM__NONE};
		if (findings->count == 0)
			find_left_waker(&habit, findings);
		habit = (struct habit){.model = model, .handle = task, .task = THRUM__NONE};
		if (findings->count == 0)
			find_answer(&habit, findings);
	}
}
