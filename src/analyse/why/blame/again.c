/* SPDX-License-Identifier: ISC */
/*
 * Tells what was not started again, or too often: a timer, an event with a time limit, or a source that is
 * made for each message, or in case that no answer to it comes. The program's own history tells that it
 * should be: so one that is meant to run once is never told without somebody who waits for far longer than
 * usual.
 */
#include <string.h>

#include "analyse/why/blame/blame.h"

#define ROUNDS 3       /* so many tasks that a waiter made show that it makes one for each wait */
#define ROUNDS_BACK 16 /* so many of the latest signals of an object are looked at */
#define EDGES_BACK 256 /* edges of an object that are searched for them */
#define ARMED_MIN 4    /* so often events were started that they should be again */
#define NOTES_BACK 64  /* notes of a task that are searched, from the latest back */
#define RUNS_BACK 4096 /* runs that are searched, from the latest back */
#define LONGER 20      /* so many times as long as ever before is suspicious */
#define WAIT_MIN 200000000 /* ns; shorter waits are not */
#define LATE 10            /* so many times as long as it takes, a timer was put off */
#define AGAIN 4       /* so many times as long as it takes, a timer that repeats would have come */
#define ASKED_BACK 64 /* edges of a waiter that are searched for its question */
#define TAIL 10000000 /* ns in which a loop goes to sleep */

/* ---- Sources that were made for each wait --------------------------------------------------- */

/* Whether a task that signalled an object was made by a link's waiter, or by one that waits there as well. */
static bool is_of_waiter(const struct thrum__search *search, const struct thrum__why_link *link,
	uint32_t task)
{
	uint32_t maker = THRUM__TASK(search->model, task, creator);
	const struct thrum__analyse_wait *wait = thrum__why_wait_of(search, maker);

	return maker == link->task || (wait && wait->on == link->wait.on);
}

/* The task that signalled an object last, if the waiter made such a task for each of its waits, but not for
 * this one; else NONE. Others that wait there may have made some, too. */
static uint32_t not_remade(const struct thrum__search *search, const struct thrum__why_link *link)
{
	const struct thrum__model *model = search->model;
	uint32_t last = THRUM__NONE, own = 0;
	uint32_t before = THRUM__NONE, count = 0;
	int64_t longest = 0, after = link->wait.since;
	const struct thrum__peer *peer;

	THRUM__EDGES_TO (model, link->wait.on, edge, EDGES_BACK) {
		uint32_t task = THRUM__EDGE(model, edge, from);
		int64_t time = THRUM__EDGE(model, edge, time);

		if (count == ROUNDS_BACK)
			break;
		/* One that does several jobs signals for each. */
		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL || task == before)
			continue;
		before = task;
		if (!thrum__model_has_row(&model->tasks, task) ||
			thrum__analyse_task_is_pending(model, task) ||
			!is_of_waiter(search, link, task) ||
			(last != THRUM__NONE && !thrum__why_is_alike(search, task, last)))
			return THRUM__NONE;
		last = last == THRUM__NONE ? task : last;
		count++;
		if (THRUM__TASK(model, task, creator) != link->task)
			continue;
		/* Each signalled before the waiter made the next. */
		if (time > after)
			return THRUM__NONE;
		after = THRUM__TASK(model, task, created);
		longest = time - after > longest ? time - after : longest;
		own++;
	}
	peer = own >= ROUNDS ? thrum__why_peers_of(&search->peers, last) : NULL;
	return peer && peer->pending == 0 && peer->latest[0] == THRUM__TASK(model, last, created) &&
			search->gap <= after && (model->end - link->wait.since) / LONGER > longest
		? last
		: THRUM__NONE;
}

/* ---- Timers that were made for each question -------------------------------------------------- */

/* The timer that ran there in a run, or NONE. */
static uint32_t runs_timer(const struct thrum__model *model, uint32_t row, uint32_t lane)
{
	uint32_t task = thrum__why_known(model, THRUM__RUN(model, row, task));

	return task != THRUM__NONE && THRUM__RUN(model, row, lane) == lane &&
			THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER
		? task
		: THRUM__NONE;
}

/* The timer that ran last on a lane since a time, of those that are over; else NONE. */
static uint32_t last_over(const struct thrum__model *model, uint32_t lane, int64_t since)
{
	THRUM__RUNS_BACK (model, row, RUNS_BACK) {
		uint32_t task = runs_timer(model, row, lane);

		if (THRUM__RUN(model, row, start) <= since)
			return THRUM__NONE;
		if (task != THRUM__NONE && !thrum__analyse_task_is_pending(model, task))
			return task;
	}
	return THRUM__NONE;
}

/* The next signal of an object, from this edge on, back in time; else NONE. */
static uint32_t signal_from(const struct thrum__model *model, uint32_t edge)
{
	THRUM__EDGES_BACK (model, edge, prev_in, EDGES_BACK)
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_SIGNAL)
			return edge;
	return THRUM__NONE;
}

/* Timers that asked, the last one first, and made another one in case that no answer comes. */
struct askers {
	uint32_t task[ROUNDS_BACK], count, answered;
	int64_t since; /* when the first of them asked */
};

/* Finds those that asked before `last` did. An answer is a signal of `on` before the next question. Returns
 * false if others asked, too. */
static bool find_askers(const struct thrum__model *model, uint32_t last, uint32_t on,
	struct askers *askers)
{
	uint32_t asked = thrum__why_acted_on(model, last, THRUM__EDGE_SIGNAL), edge, answer;
	int64_t next;

	*askers = (struct askers){.count = 0};
	if (asked == THRUM__NONE || asked == on)
		return false;
	edge = signal_from(model, THRUM__TASK(model, asked, edge_in));
	answer = signal_from(model, THRUM__TASK(model, on, edge_in));
	if (edge == THRUM__NONE || THRUM__EDGE(model, edge, from) != last)
		return false;
	next = THRUM__EDGE(model, edge, time);
	while (askers->count < ROUNDS_BACK &&
		(edge = signal_from(model, THRUM__EDGE(model, edge, prev_in))) != THRUM__NONE) {
		uint32_t task = THRUM__EDGE(model, edge, from);

		if (!thrum__model_has_row(&model->tasks, task) || task == last ||
			THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER)
			return false;
		while (answer != THRUM__NONE && THRUM__EDGE(model, answer, time) >= next)
			answer = signal_from(model, THRUM__EDGE(model, answer, prev_in));
		next = askers->since = THRUM__EDGE(model, edge, time);
		askers->answered += answer != THRUM__NONE &&
			THRUM__EDGE(model, answer, time) > next;
		askers->task[askers->count++] = task;
	}
	return true;
}

/* Whether each of those that asked made a timer like the last one, which made none. */
static bool all_made(const struct thrum__search *search, uint32_t last, const struct askers *askers)
{
	const struct thrum__model *model = search->model;
	uint32_t row = model->tasks.count, made = 0;

	for (int i = 0; i < RUNS_BACK && row-- > model->tasks.first; i++) {
		uint32_t maker;

		if (!thrum__model_has_row(&model->tasks, row))
			break;
		maker = THRUM__TASK(model, row, creator);
		if (!thrum__why_is_alike(search, row, last))
			continue;
		if (maker == last)
			return false;
		for (uint32_t at = 0; at < askers->count; at++)
			made |= askers->task[at] == maker ? UINT32_C(1) << at : 0;
	}
	return made == (UINT32_C(1) << askers->count) - 1;
}

/* The timer that was the last to ask, if all that did so before made another one like it in case that no
 * answer comes, and it made none: so nobody asks again, and the only one that serves the waiter can't. Else
 * NONE. */
static uint32_t not_asked_again(const struct thrum__search *search,
	const struct thrum__why_link *link, const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	uint32_t lane = servers->count == 1 ? thrum__why_last_lane(model, servers->task[0])
					    : THRUM__NONE;
	const struct thrum__peer *peer;
	struct askers askers;
	uint32_t last;
	int64_t start;

	if (!servers->is_whole || lane == THRUM__NONE)
		return THRUM__NONE;
	last = last_over(model, lane, link->wait.since);
	if (last == THRUM__NONE || !find_askers(model, last, link->wait.on, &askers))
		return THRUM__NONE;
	start = THRUM__RUN(model, THRUM__TASK(model, last, run), start);
	peer = thrum__why_peers_of(&search->peers, last);
	return askers.count >= ROUNDS && askers.answered >= ROUNDS - 1 &&
			search->gap <= askers.since && model->end - start >= WAIT_MIN &&
			(model->end - start) / LONGER > start - THRUM__TASK(model, last, created) &&
			peer && peer->pending == 0 && all_made(search, last, &askers)
		? last
		: THRUM__NONE;
}

/* ---- Timers and events that nobody started again -------------------------------------------- */

/* Whether a task's last note in its last turn says that it came as its time limit was over. */
static bool had_time_out(const struct thrum__model *model, uint32_t task, int64_t start)
{
	uint32_t note = THRUM__TASK(model, task, note);

	THRUM__NOTES_BACK (model, note, UINT32_MAX) {
		if (THRUM__NOTE(model, note, time) < start)
			return false;
		if (THRUM__NOTE(model, note, kind) == THRUM__NOTE_TAG &&
			strcmp(thrum__model_string(model, THRUM__NOTE(model, note, text), NULL),
				"time-out") == 0)
			return true;
	}
	return false;
}

/* If a source had one turn since it was started last, and that is so long ago that it isn't one that goes on
 * by itself, returns how often it was started, as far as is looked back. Else 0. Sets *start to when that
 * turn began, and *takes to the ns from its start to when it was due. */
static unsigned armed_before(const struct thrum__search *search, uint32_t task, int64_t *start,
	int64_t *takes)
{
	const struct thrum__model *model = search->model;
	uint32_t note = THRUM__TASK(model, task, note), run = THRUM__TASK(model, task, run), before;
	int64_t due = 0, time = -1;
	unsigned count = 0;

	THRUM__NOTES_BACK (model, note, NOTES_BACK) {
		if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE || count++ > 0)
			continue;
		time = THRUM__NOTE(model, note, time);
		due = THRUM__NOTE(model, note, value);
	}
	if (count == 0 || !thrum__analyse_task_is_pending(model, task) ||
		!thrum__model_has_row(&model->runs, run))
		return 0;
	*start = THRUM__RUN(model, run, start);
	*takes = due - time;
	before = THRUM__RUN(model, run, prev);
	return *start >= time && search->gap <= time && model->end - *start >= WAIT_MIN &&
			(model->end - *start) / AGAIN > *takes &&
			!(thrum__model_has_row(&model->runs, before) &&
				THRUM__RUN(model, before, start) >= time)
		? count
		: 0;
}

/* The last of the events that serve an object, if all had a time-out and weren't started again; else NONE. */
static uint32_t timed_out(const struct thrum__search *search, const struct thrum__why_link *link,
	const struct thrum__why_servers *servers)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE, count = 0;
	int64_t latest = -1;

	if (servers->pending < servers->count || !servers->is_whole)
		return found;
	for (unsigned i = 0; i < servers->count; i++) {
		uint32_t task = servers->task[i];
		int64_t start, takes;
		unsigned armed = armed_before(search, task, &start, &takes);

		if (armed == 0 || !had_time_out(model, task, start) ||
			(model->end - link->wait.since) / LONGER <= takes)
			return THRUM__NONE;
		count += armed;
		found = start > latest ? task : found;
		latest = start > latest ? start : latest;
	}
	return count >= ARMED_MIN ? found : THRUM__NONE;
}

uint32_t thrum__why_last_timer(const struct thrum__search *search,
	const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *last = thrum__why_path_last(path);
	int64_t start, takes;

	if (!last || last->is_served || THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_HANDLE ||
		thrum__why_peers_lateness(&search->peers, last->task) < LONGER)
		return THRUM__NONE;
	/* The last thing that ran at all but threads themselves. */
	THRUM__RUNS_BACK (model, run, RUNS_BACK) {
		uint32_t task = thrum__why_known(model, THRUM__RUN(model, run, task));

		if (task == THRUM__NONE || thrum__analyse_task_is_lane(model, task))
			continue;
		return THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
				armed_before(search, task, &start, &takes) > 0 &&
				start > last->wait.since &&
				model->last - THRUM__RUN(model, run, end) < TAIL
			? task
			: THRUM__NONE;
	}
	return THRUM__NONE;
}

/* Whether another timer than this one may still come. */
static bool has_other_timer(struct thrum__search *search, uint32_t timer)
{
	const struct thrum__model *model = search->model;

	THRUM__WHY_EACH (search, task, THRUM__SORT_OUTSIDE)
		if (task != timer && THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER &&
			thrum__analyse_task_is_pending(model, task))
			return true;
	return false;
}

uint32_t thrum__why_only_timer(struct thrum__search *search, uint32_t lane)
{
	const struct thrum__model *model = search->model;
	uint32_t found = THRUM__NONE, row = model->runs.count;
	int64_t start, takes;

	for (int i = 0; row-- > model->runs.first; i++) {
		uint32_t task;

		if (i == RUNS_BACK || !thrum__model_has_row(&model->runs, row))
			return THRUM__NONE;
		task = runs_timer(model, row, lane);
		if (task == THRUM__NONE || task == found)
			continue;
		if (found != THRUM__NONE)
			return THRUM__NONE;
		found = task;
	}
	return found != THRUM__NONE && armed_before(search, found, &start, &takes) > 0 &&
			!has_other_timer(search, found)
		? found
		: THRUM__NONE;
}

/* ---- Timers that are put off by others ------------------------------------------------------ */

uint32_t thrum__why_ran_at(const struct thrum__model *model, uint32_t lane, int64_t time,
	uint32_t *row)
{
	for (; *row < model->runs.count && thrum__model_has_row(&model->runs, *row); --*row) {
		uint32_t task = THRUM__RUN(model, *row, task);

		if (THRUM__RUN(model, *row, lane) == lane && THRUM__RUN(model, *row, start) <= time)
			return thrum__model_has_row(&model->tasks, task) ? task : THRUM__NONE;
	}
	return THRUM__NONE;
}

/* The task that put a timer off last, as it and those named like it did each time before it came, for far
 * longer than it takes; else NONE. It is another timer, always the same; or if not `by_timer`, one that
 * isn't. */
static uint32_t putter_of(const struct thrum__search *search, uint32_t timer, int64_t since,
	bool by_timer)
{
	const struct thrum__model *model = search->model;
	uint32_t note = THRUM__TASK(model, timer, note), run = THRUM__TASK(model, timer, run);
	uint32_t row = model->runs.count - 1, by = THRUM__NONE, times = 0;
	int64_t after = -1, takes = 0;

	if (model->runs.count == 0 || search->gap > since ||
		(thrum__model_has_row(&model->runs, run) && THRUM__RUN(model, run, start) > since))
		return THRUM__NONE;
	THRUM__NOTES_BACK (model, note, UINT32_MAX) {
		int64_t due = THRUM__NOTE(model, note, value),
			time = THRUM__NOTE(model, note, time);
		uint32_t task;

		if (times == THRUM__PUT_OFF)
			break;
		if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
			continue;
		task = thrum__why_ran_at(model, THRUM__TASK(model, timer, lane), time, &row);
		if (task == THRUM__NONE || task == timer ||
			(THRUM__TASK(model, task, kind) == THRUM_KIND_TIMER) != by_timer ||
			(by != THRUM__NONE && task != by &&
				(by_timer || !thrum__why_are_named_alike(model, task, by))) ||
			due == THRUM__OPEN || due < after || time < since)
			return THRUM__NONE;
		by = by == THRUM__NONE ? task : by;
		after = time;
		takes = due - time > takes ? due - time : takes;
		times++;
	}
	return times == THRUM__PUT_OFF && (model->end - since) / LATE > takes ? by : THRUM__NONE;
}

/* Whether a timer was set by a task when it ran for messages of the waiter: it may be to answer. */
static bool is_for_question(struct thrum__search *search, uint32_t timer, uint32_t waiter)
{
	const struct thrum__model *model = search->model;
	uint32_t note = THRUM__TASK(model, timer, note), row = model->runs.count - 1;

	THRUM__NOTES_BACK (model, note, UINT32_MAX) {
		uint32_t task;

		if (!thrum__why_spend(search, 1))
			break;
		task = thrum__why_ran_at(model, THRUM__TASK(model, timer, lane),
			THRUM__NOTE(model, note, time), &row);

		if (task != THRUM__NONE && THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER &&
			thrum__why_has_acted(model, waiter, THRUM__EDGE_LINK, task))
			return true;
	}
	return false;
}

/* Whether a callback other than `by` ever set a timer: then that isn't there just to tell that `by` comes no
 * more, as one that watches it. */
static bool is_set_by_others(struct thrum__search *search, uint32_t timer, uint32_t by)
{
	const struct thrum__model *model = search->model;
	uint32_t note = THRUM__TASK(model, timer, note), row = model->runs.count - 1;

	THRUM__NOTES_BACK (model, note, UINT32_MAX) {
		uint32_t task;

		if (!thrum__why_spend(search, 1))
			break;
		if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE)
			continue;
		task = thrum__why_ran_at(model, THRUM__TASK(model, timer, lane),
			THRUM__NOTE(model, note, time), &row);
		if (task != THRUM__NONE && task != by && task != timer &&
			!thrum__analyse_task_is_lane(model, task))
			return true;
	}
	return false;
}

bool thrum__why_has_asked(const struct thrum__model *model, const struct thrum__why_link *link)
{
	uint32_t edge = THRUM__TASK(model, link->task, edge_out);

	THRUM__EDGES_BACK (model, edge, prev_out, ASKED_BACK) {
		int kind = THRUM__EDGE(model, edge, kind);

		if (kind == THRUM__EDGE_LINK || kind == THRUM__EDGE_SIGNAL ||
			kind == THRUM__EDGE_READY)
			return true;
		if (kind == THRUM__EDGE_READ && THRUM__EDGE(model, edge, to) == link->wait.on)
			return false;
	}
	return false;
}

/* The timer that another one puts off since a wait began; else NONE. If the wait is for the answer by a
 * connection, the question has set the timer; else another callback than that has set it, too. */
static uint32_t put_off(struct thrum__search *search, const struct thrum__why_link *link,
	uint32_t *by)
{
	const struct thrum__model *model = search->model;
	int kind = THRUM__TASK(model, link->wait.on, kind);
	bool is_stream = kind == THRUM_KIND_STREAM;

	if (!is_stream && kind != THRUM_KIND_CONDITION)
		return THRUM__NONE;
	THRUM__WHY_EACH (search, task, THRUM__SORT_OUTSIDE) {
		if (!thrum__why_spend(search, 1))
			return THRUM__NONE;
		if (THRUM__TASK(model, task, kind) != THRUM_KIND_TIMER ||
			!(THRUM__TASK(model, task, flags) & THRUM__TASK_DUE))
			continue;
		*by = putter_of(search, task, link->wait.since, true);
		if (*by != THRUM__NONE &&
			(is_stream ? is_for_question(search, task, link->task)
				   : is_set_by_others(search, task, *by)))
			return task;
	}
	return THRUM__NONE;
}

uint32_t thrum__why_put_off_server(const struct thrum__search *search,
	const struct thrum__why_link *link, const struct thrum__why_servers *servers, uint32_t *by)
{
	uint32_t timer = servers->task[0];

	if (servers->count != 1 || !servers->is_whole ||
		!thrum__analyse_task_is_pending(search->model, timer) ||
		THRUM__TASK(search->model, timer, kind) != THRUM_KIND_TIMER ||
		!thrum__why_has_asked(search->model, link))
		return THRUM__NONE;
	*by = putter_of(search, timer, link->wait.since, false);
	return *by == THRUM__NONE ? THRUM__NONE : timer;
}

/* ---- The answer ------------------------------------------------------------------------------ */

struct thrum__why_blame thrum__why_not_again(struct thrum__search *search,
	const struct thrum__why_link *link, const struct thrum__why_servers *servers)
{
	struct thrum__why_blame blame = {-1, THRUM__NONE, link->wait.on};

	blame.task = servers->count > 0
		? thrum__why_put_off_server(search, link, servers, &blame.other)
		: servers->is_whole ? put_off(search, link, &blame.other)
				    : THRUM__NONE;
	if (blame.task != THRUM__NONE) {
		blame.kind = THRUM__STEP_PUT_OFF;
		return blame;
	}
	if (servers->count > 0) {
		blame.task = not_remade(search, link);
		if (blame.task == THRUM__NONE)
			blame.task = timed_out(search, link, servers);
		if (blame.task == THRUM__NONE)
			blame.task = not_asked_again(search, link, servers);
	}
	if (blame.task != THRUM__NONE)
		blame.kind = THRUM__STEP_NOT_AGAIN;
	return blame;
}

void thrum__why_add_again(struct thrum__finding *finding, const struct thrum__model *model,
	uint32_t task, uint32_t other, unsigned count)
{
	uint32_t run = THRUM__TASK(model, task, run);
	int64_t start = thrum__model_has_row(&model->runs, run) ? THRUM__RUN(model, run, start)
								: THRUM__TASK(model, task, last);
	struct thrum__step *step = thrum__why_add_step(finding, THRUM__STEP_NOT_AGAIN, task, other,
		start, THRUM__NONE);

	if (had_time_out(model, task, start))
		thrum__why_set_more(step, count);
}
