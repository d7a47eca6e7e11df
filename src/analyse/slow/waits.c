/* SPDX-License-Identifier: ISC */
/* Finds a task's waits, their ends, and who ended them. */
#include "analyse/graph.h"
#include "analyse/locks.h"
#include "analyse/slow/parts.h"

#define LOOK_BACK 256   /* waits searched for the last that ended */
#define GETS_MAX 16     /* reads searched for the one that ended a wait */
#define HOLDERS_MAX 256 /* of a lock, one after the other, during one wait */
#define PASSED_MAX 16   /* of those that took a lock: searched for one that handed it on */
#define RUNS_MAX 64     /* between two looks at the same task */
#define REST_PART 10    /* of the time between: a task that ran less only looked again */

/* The last of an object's rows after `from` and up to `to`, or NONE. */
static uint32_t last_row(const struct thrum__slow_walk *walk, const struct thrum__slices *slices,
	uint32_t thing, int64_t from, int64_t to)
{
	uint32_t i = thrum__slow_rows_before(walk->model, slices, thing,
		to < INT64_MAX ? to + 1 : to, thrum__slow_edge_time);

	if (i == slices->first[thing] ||
		thrum__slow_edge_time(walk->model, slices->rows[i - 1]) <= from)
		return THRUM__NONE;
	return slices->rows[i - 1];
}

/* The edge of the last signal or release of an object after `from` and up to `to`, or NONE. */
static uint32_t last_act(const struct thrum__slow_walk *walk, uint32_t thing, int64_t from,
	int64_t to)
{
	return last_row(walk, &walk->paths->acts, thing, from, to);
}

uint32_t thrum__slow_ended_by(const struct thrum__slow_walk *walk, uint32_t task, int64_t from)
{
	const struct thrum__model *model = walk->model;
	uint32_t edge = walk->paths->resolved[task], by, act;

	if (edge == THRUM__NONE)
		return THRUM__NONE;
	by = THRUM__EDGE(model, edge, from);
	if (!thrum__model_has_row(&model->tasks, by) ||
		THRUM__TASK(model, by, kind) != THRUM_KIND_CONDITION)
		return by;
	act = last_act(walk, by, from, thrum__slow_edge_time(model, edge));
	return act == THRUM__NONE ? THRUM__NONE : THRUM__EDGE(model, act, from);
}

const struct thrum_trace_site *thrum__slow_wait_site(const struct thrum__paths *paths,
	uint32_t task, int64_t time)
{
	const struct thrum__slices *waits = &paths->waits;
	uint32_t i = thrum__slow_rows_before(paths->model, waits, task,
		time < INT64_MAX ? time + 1 : time, thrum__slow_edge_time);

	return i == waits->first[task] ? NULL
				       : thrum__model_edge_site(paths->model, waits->rows[i - 1]);
}

/* ---- The end of a wait --------------------------------------------------------------------- */

/* The time at which `task` got the object after `since`, by a read or by taking it; OPEN: not by
 * `to`. */
static int64_t got_at(const struct thrum__slow_walk *walk, uint32_t task, uint32_t thing,
	int64_t since, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *gets = &walk->paths->gets;
	uint32_t i, end;

	if (!thrum__model_has_row(&model->tasks, task))
		return THRUM__OPEN;
	i = thrum__slow_rows_before(model, gets, task, since, thrum__slow_edge_time);
	end = gets->first[task + 1];
	for (uint32_t looked = 0; i < end && looked < GETS_MAX; i++, looked++) {
		int64_t time = thrum__slow_edge_time(model, gets->rows[i]);

		if (time > to)
			break;
		if (THRUM__EDGE(model, gets->rows[i], to) == thing)
			return time;
	}
	return THRUM__OPEN;
}

/* Whether the waiter took something from the object, at the latest before its next wait. A piece may end as
 * the waiter's thread goes on, and before it takes that. */
static bool has_taken(const struct thrum__slow_walk *walk, uint32_t edge)
{
	const struct thrum__slices *waits = &walk->paths->waits;
	uint32_t task = THRUM__EDGE(walk->model, edge, from);
	int64_t got = got_at(walk, task, THRUM__EDGE(walk->model, edge, to),
		thrum__slow_edge_time(walk->model, edge), THRUM__OPEN);
	uint32_t i;

	if (got == THRUM__OPEN)
		return false;
	i = thrum__slow_rows_before(walk->model, waits, task, got, thrum__slow_edge_time);
	return i > waits->first[task] && waits->rows[i - 1] == edge;
}

/* Sets the end of a wait for an object that doesn't end with the wait, such as a lock, and the task
 * that ended the wait. Returns false if the wait wasn't over by `to`. The running
 * task takes a lock, so it may be the waiter's creator or its lane's own task that does. */
static bool end_of_lasting(const struct thrum__slow_walk *walk, uint32_t edge, int64_t to,
	struct thrum__slow_wait *wait)
{
	const struct thrum__model *model = walk->model;
	uint32_t task = THRUM__EDGE(model, edge, from), thing = THRUM__EDGE(model, edge, to), act;
	uint32_t lane = THRUM__TASK(model, task, lane);
	int64_t since = thrum__slow_edge_time(model, edge);
	int64_t got = got_at(walk, task, thing, since, to);

	if (got == THRUM__OPEN)
		got = got_at(walk, THRUM__TASK(model, task, creator), thing, since, to);
	if (got == THRUM__OPEN && lane < model->lane_count)
		got = got_at(walk, model->lanes[lane].task, thing, since, to);
	/* A task that took nothing waited for room. */
	wait->for_room = got == THRUM__OPEN && thrum__slow_is_buffer(model, thing) &&
		!has_taken(walk, edge);
	act = wait->for_room ? last_row(walk, &walk->paths->takes, thing, since, to)
			     : last_act(walk, thing, since, got < to ? got : to);
	if (act == THRUM__NONE && got == THRUM__OPEN)
		return false;
	wait->to = act == THRUM__NONE ? got : thrum__slow_edge_time(model, act);
	wait->by = act == THRUM__NONE ? THRUM__NONE : THRUM__EDGE(model, act, from);
	return true;
}

/* Sets *wait to the wait that an edge began, cut at `from`. Returns whether the wait was over after
 * `from` and by `to`. */
static bool is_over(const struct thrum__slow_walk *walk, uint32_t edge, int64_t from, int64_t to,
	struct thrum__slow_wait *wait)
{
	const struct thrum__model *model = walk->model;
	uint32_t task = THRUM__EDGE(model, edge, to), heir;

	if (!thrum__model_has_row(&model->tasks, task))
		return false;
	heir = thrum__model_heir(model, task);
	*wait = (struct thrum__slow_wait){.task = task,
		.by = THRUM__NONE,
		.from = thrum__slow_edge_time(model, edge)};
	wait->to = thrum__slow_path_end(model, task);
	if (wait->to <= to)
		wait->by = thrum__slow_ended_by(walk, heir, wait->from);
	else if (!end_of_lasting(walk, edge, to, wait))
		return false;
	if (wait->from < from)
		wait->from = from;
	return wait->to <= to && wait->to > wait->from;
}

/* ---- The last wait ------------------------------------------------------------------------- */

static bool is_cancelled(const struct thrum__slow_walk *walk, uint32_t task)
{
	return THRUM__TASK(walk->model, thrum__model_heir(walk->model, task), state) ==
		THRUM__STATE_CANCELLED;
}

/* Whether the end of wait `a` rather than that of `b` let a task go on: the later end did. But a
 * task that lost a race is cancelled after another won it, so its end doesn't count. */
static bool is_better(const struct thrum__slow_walk *walk, const struct thrum__slow_wait *a,
	const struct thrum__slow_wait *b)
{
	bool a_lost = is_cancelled(walk, a->task), b_lost = is_cancelled(walk, b->task);

	if (a_lost && !b_lost)
		return a->from >= b->to;
	if (b_lost && !a_lost)
		return b->from < a->to;
	return a->to > b->to;
}

/* Whether a task hardly ran between two times. */
static bool has_rested(const struct thrum__slow_walk *walk, uint32_t task, int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->runs;
	uint32_t i = thrum__slow_rows_before(model, runs, task, to, thrum__slow_run_start);
	int64_t ran = 0;

	for (uint32_t looked = 0; i > runs->first[task]; looked++) {
		uint32_t run = runs->rows[--i];
		int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

		if (end <= from)
			break;
		if (looked == RUNS_MAX)
			return false;
		ran += (end < to ? end : to) - (start > from ? start : from);
	}
	return ran <= (to - from) / REST_PART;
}

/* A thread may wake for nothing and look again, which gives an edge each time: moves the beginning
 * of a wait back to the first look. If a condition was signalled since, another wait ended with that.
 * `i` is the index of the piece's last wait. */
static void begin_at_first_look(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t i, struct thrum__slow_wait *wait)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *waits = &walk->paths->waits;

	for (uint32_t looked = 0; i > waits->first[piece->task] && looked < LOOK_BACK; looked++) {
		uint32_t edge = waits->rows[--i];
		int64_t time = thrum__slow_edge_time(model, edge);

		if (THRUM__EDGE(model, edge, to) != wait->task || time >= wait->from)
			continue;
		if (time < piece->from || !has_rested(walk, piece->task, time, wait->from) ||
			last_act(walk, wait->task, time, wait->from) != THRUM__NONE)
			return;
		wait->from = time;
	}
}

struct thrum__slow_wait thrum__slow_wait_last(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece)
{
	const struct thrum__slices *waits = &walk->paths->waits;
	struct thrum__slow_wait best = {.task = THRUM__NONE}, wait;
	uint32_t last = thrum__slow_rows_before(walk->model, waits, piece->task, piece->to,
		thrum__slow_edge_time);
	uint32_t i = last;

	for (uint32_t looked = 0; i > waits->first[piece->task] && looked < LOOK_BACK; looked++) {
		uint32_t edge = waits->rows[--i];

		if (!is_over(walk, edge, piece->from, piece->to, &wait) ||
			thrum__slow_is_waiting(walk, piece->depth,
				thrum__model_heir(walk->model, wait.task)))
			continue;
		if (best.task == THRUM__NONE || is_better(walk, &wait, &best))
			best = wait;
	}
	if (best.task != THRUM__NONE &&
		(thrum__slow_path_end(walk->model, best.task) == best.to ||
			THRUM__TASK(walk->model, best.task, kind) == THRUM_KIND_CONDITION))
		begin_at_first_look(walk, piece, last, &best);
	return best;
}

uint32_t thrum__slow_read_after(const struct thrum__slow_walk *walk, uint32_t task, int64_t from,
	int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *gets = &walk->paths->gets;
	uint32_t i = thrum__slow_rows_before(model, gets, task, to, thrum__slow_edge_time);

	for (uint32_t looked = 0; i < gets->first[task + 1] && looked < GETS_MAX; i++, looked++) {
		uint32_t edge = gets->rows[i], source = THRUM__EDGE(model, edge, to);
		int64_t end;

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ ||
			!thrum__model_has_row(&model->tasks, source))
			continue;
		end = thrum__slow_path_end(model, source);
		return end > from && end <= to ? source : THRUM__NONE;
	}
	return THRUM__NONE;
}

uint32_t thrum__slow_ready_before(const struct thrum__slow_walk *walk, uint32_t task, int64_t from,
	int64_t to)
{
	const struct thrum__slices *readies = &walk->paths->readies;
	uint32_t i = thrum__slow_rows_before(walk->model, readies, task,
		to < INT64_MAX ? to + 1 : to, thrum__slow_edge_time);

	if (i == readies->first[task] ||
		thrum__slow_edge_time(walk->model, readies->rows[i - 1]) < from)
		return THRUM__NONE;
	return readies->rows[i - 1];
}

/* ---- Holders ------------------------------------------------------------------------------- */

/* The time since when `task` held an object that it gave back at `to`; `from` if unknown. The one
 * that took it may be another task for which this one goes on. If nothing tells that, it is the last
 * that took it, unless another was given back since. */
static int64_t held_since(const struct thrum__slow_walk *walk, uint32_t thing, uint32_t task,
	int64_t from, int64_t to)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *takes = &walk->paths->takes;
	uint32_t last = thrum__slow_rows_before(model, takes, thing, to, thrum__slow_edge_time);
	uint32_t i = last, act;
	int64_t time;

	for (uint32_t looked = 0; i > takes->first[thing] && looked < LOOK_BACK; looked++) {
		uint32_t edge = takes->rows[--i], taker = THRUM__EDGE(model, edge, from);

		if (taker == task ||
			(looked < PASSED_MAX && thrum__analyse_goes_on_for(model, task, taker)))
			return thrum__slow_edge_time(model, edge);
	}
	if (last == takes->first[thing])
		return from;
	time = thrum__slow_edge_time(model, takes->rows[last - 1]);
	act = last_act(walk, thing, time, to - 1);
	return act == THRUM__NONE ? time : from;
}

/* Pushes the time in which a task held a thing, below the thing's frame. */
static void push_hold(struct thrum__slow_walk *walk, struct thrum__slow_piece thing,
	uint32_t holder, int64_t from, int64_t to)
{
	uint32_t known = thrum__analyse_task_known_as(walk->model, holder);

	/* One that waits itself on this path only handed the lock on. */
	if (thrum__slow_is_waiting(walk, thing.depth, thrum__model_heir(walk->model, known)))
		known = holder;
	if (thing.holder == THRUM__NONE && thrum__slow_frame_is_lock(walk->paths, thing.frame))
		thing.holder = known;
	if (known != holder &&
		thrum__slow_frame_find(walk->paths, thing.frame, known, THRUM__DOING_RUNS,
			&thing.frame) < 0)
		walk->failed = true;
	thrum__slow_push_below(walk, &thing, holder, from, to);
}

/* The piece for a thing for which a piece's task waits. */
static struct thrum__slow_piece thing_of(struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, uint32_t task)
{
	struct thrum__slow_piece thing = *piece;

	if (thrum__slow_frame_find(walk->paths, piece->frame, task, THRUM__DOING_RUNS,
		    &thing.frame) < 0)
		walk->failed = true;
	thing.task = task;
	if (thing.top == THRUM__NONE)
		thing.top = task;
	return thing;
}

void thrum__slow_walk_held(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	const struct thrum__slow_wait *wait)
{
	struct thrum__slow_piece thing = thing_of(walk, piece, wait->task);
	const struct thrum__model *model = walk->model;
	int64_t to = wait->to;

	for (int i = 0; i < HOLDERS_MAX && wait->from < to && !walk->failed; i++) {
		uint32_t act = last_row(walk,
			wait->for_room ? &walk->paths->takes : &walk->paths->acts, wait->task,
			wait->from, to);
		uint32_t by;
		int64_t released, since;

		if (act == THRUM__NONE)
			break;
		by = THRUM__EDGE(model, act, from);
		released = thrum__slow_edge_time(model, act);
		thrum__slow_part_add(walk, &thing, released, to, THRUM__DOING_WAITS, THRUM__NONE);
		since = thrum__slow_is_buffer(model, wait->task)
			? wait->from
			: held_since(walk, wait->task, by, wait->from, released);
		since = since > wait->from ? since : wait->from;
		if (since >= released)
			since = wait->from;
		thing.depth = piece->depth;
		if (thrum__slow_can_follow(walk, &thing, by)) /* also a lane's own task */
			push_hold(walk, thing, by, since, released);
		else
			thrum__slow_part_add(walk, &thing, since, released, THRUM__DOING_WAITS,
				THRUM__NONE);
		to = since;
	}
	thrum__slow_part_add(walk, &thing, wait->from, to, THRUM__DOING_WAITS, THRUM__NONE);
}

/* Chooses, of the waits of a task that is pending, the one that lasts longest. Returns false if there is
 * none that the path can follow. */
static bool choose_pending(const struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece, struct thrum__analyse_wait *chosen)
{
	struct thrum__analyse_wait waits[THRUM__WAITS_MAX];
	unsigned count = thrum__analyse_waits_of(walk->model, piece->task, waits);

	while (count > 0 && !thrum__slow_can_follow(walk, piece, waits[count - 1].on))
		count--;
	if (count > 0)
		*chosen = waits[count - 1];
	return count > 0;
}

int64_t thrum__slow_walk_pending(struct thrum__slow_walk *walk,
	const struct thrum__slow_piece *piece)
{
	const struct thrum__model *model = walk->model;
	struct thrum__slow_piece thing;
	struct thrum__analyse_wait wait;
	uint32_t run = THRUM__TASK(model, piece->task, run);
	int64_t since = piece->from;

	if (piece->to != model->end || !choose_pending(walk, piece, &wait))
		return piece->to;
	if (wait.since > since)
		since = wait.since;
	if (thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, end) > since)
		since = THRUM__RUN(model, run, end);
	if (since >= piece->to)
		return piece->to;
	if (wait.next == wait.on || !thrum__slow_can_follow(walk, piece, wait.next)) {
		thrum__slow_push_below(walk, piece, wait.on, since, piece->to);
		return since;
	}
	thing = thing_of(walk, piece, wait.on);
	push_hold(walk, thing, wait.next, since, piece->to);
	return since;
}
