/* SPDX-License-Identifier: ISC */
/*
 * Finds the tasks that had a lane while others were ready (delays.c tells which and when): one task
 * that ran nearly all the time, or many tasks that became ready later and ran before.
 */
#include "analyse/why/parts.h"

#define RUNS_BEFORE 512   /* runs before a delay among which that is searched which went on */
#define RUNS_ENOUGH 4096  /* runs that are searched for a delay even if the search takes long */
#define LOOK_BACK 64      /* edges of a task that are searched, from the latest back */
#define UNFAIR 1000000000 /* ns for which others must run before a task that was ready first */
#define OVERTAKERS_MIN 8  /* runs by which they do so */
#define SHORT 250000000   /* ns of a delay that ended, for which any busy machine may be to blame */
#define DELAYS_ENOUGH 4   /* of one hog and its peers, so that the machine is not to blame */
#define STRETCH 10        /* times as long as elsewhere, work may take on a busy machine */
#define TURNS_BACK 4096   /* runs that are searched for what a loop is busy with */
#define TURNS_MIN 8       /* so many runs of one's like show that */
#define ENDLESS 10        /* a task that ran so many times as long as all others may never end */

/* The task that had the lane during a delay, or one of those that did. */
struct hog {
	uint32_t task;
	uint32_t key;   /* of its peers, or NONE; only if it stands for them */
	int64_t start;  /* the start of its first run */
	int64_t total;  /* ns that it ran during the delay */
	int64_t all;    /* ns that all tasks ran then; only if it had turns */
	unsigned runs;  /* how many */
	int64_t until;  /* the end of the delay, or of the part of it whose runs were read */
	unsigned turns; /* of one that has short turns, between which its loop has the lane; or 0 */
};

/* The first run that began at that time or later. */
static uint32_t run_from(const struct thrum__model *model, int64_t time)
{
	uint32_t low = model->runs.first, high = model->runs.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2, run = middle;

		/* Blocks may be forgotten between others: the next run that is left counts. */
		while (run < high && !thrum__model_has_row(&model->runs, run))
			run = (run | THRUM__BLOCK_MASK) + 1;
		if (run >= high || THRUM__RUN(model, run, start) >= time)
			high = middle;
		else
			low = run + 1;
	}
	return low;
}

/* Sets *from and *to so that the runs from *from to *to - 1 are those that a search for the
 * delay's hog reads. The run that goes on when the delay begins may lie some rows before the first
 * that begins in it. All searches together read a number of runs in proportion to those of the
 * model; *until becomes the time up to which they are read, if that is before the delay's end. */
static void window_of(struct thrum__search *search, const struct thrum__delay *delay,
	uint32_t *from, uint32_t *to, int64_t *until)
{
	const struct thrum__model *model = search->model;
	uint32_t first = run_from(model, delay->ready);

	*from = first - model->runs.first > RUNS_BEFORE ? first - RUNS_BEFORE : model->runs.first;
	*to = run_from(model, delay->ran);
	if (*to - first > RUNS_ENOUGH && *to - first > search->runs_left)
		*to = first + RUNS_ENOUGH;
	if (thrum__model_has_row(&model->runs, *to) && THRUM__RUN(model, *to, start) < delay->ran)
		*until = THRUM__RUN(model, *to, start);
	search->runs_left -= *to - first < search->runs_left ? *to - first : search->runs_left;
}

/* How many ns of the delay a run takes; 0 for a run that is forgotten or of the task itself. */
static int64_t overlap(const struct thrum__model *model, const struct thrum__delay *delay,
	uint32_t run)
{
	int64_t start, end;

	if (!thrum__model_has_row(&model->runs, run) ||
		THRUM__RUN(model, run, lane) != delay->lane ||
		THRUM__RUN(model, run, task) == delay->task ||
		!thrum__model_has_row(&model->tasks, THRUM__RUN(model, run, task)))
		return 0;
	start = THRUM__RUN(model, run, start);
	end = THRUM__RUN(model, run, end);
	start = start > delay->ready ? start : delay->ready;
	end = end < delay->ran ? end : delay->ran;
	return end > start ? end - start : 0;
}

/* ---- One task has the lane ------------------------------------------------------------------ */

/* Whether a lane tells when it waits for work. Then its own task, too, is at work when it runs. */
static bool tells_idleness(const struct thrum__model *model, uint32_t lane)
{
	return model->lanes[lane].suspended_ns > 0 || model->lanes[lane].suspended != THRUM__NONE;
}

/* The other task that ran for most of the time that the runs of the lane took. */
static struct hog find_hog(struct thrum__search *search, const struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	uint32_t open = model->lanes[delay->lane].run, from, to;
	struct hog hog = {.task = THRUM__NONE, .until = delay->ran};
	int64_t lead = 0; /* of hog.task over all others together */

	if (thrum__model_has_row(&model->runs, open) &&
		THRUM__RUN(model, open, start) <= delay->ready && overlap(model, delay, open) > 0)
		return (struct hog){.until = delay->ran,
			.task = THRUM__RUN(model, open, task),
			.start = THRUM__RUN(model, open, start),
			.total = overlap(model, delay, open)};
	window_of(search, delay, &from, &to, &hog.until);
	for (uint32_t run = from; run < to; run++) {
		int64_t takes = overlap(model, delay, run);

		if (takes == 0)
			continue;
		hog.all += takes;
		if (THRUM__RUN(model, run, task) == hog.task) {
			lead += takes;
		} else if ((lead -= takes) < 0) {
			hog.task = THRUM__RUN(model, run, task);
			lead = -lead;
		}
	}
	for (uint32_t run = from; run < to && hog.task != THRUM__NONE; run++) {
		int64_t takes;

		if (!thrum__model_has_row(&model->runs, run) ||
			THRUM__RUN(model, run, task) != hog.task)
			continue;
		takes = overlap(model, delay, run);
		if (takes == 0)
			continue;
		if (hog.total == 0)
			hog.start = THRUM__RUN(model, run, start);
		hog.total += takes;
		hog.runs++;
	}
	return hog;
}

uint32_t thrum__why_busy_with(const struct thrum__search *search, uint32_t lane, int64_t since,
	unsigned *count)
{
	const struct thrum__model *model = search->model;
	uint32_t all = 0, busy = THRUM__NONE, later = THRUM__NONE;

	*count = 0;
	THRUM__RUNS_BACK (model, row, TURNS_BACK) {
		uint32_t task = thrum__why_known(model, THRUM__RUN(model, row, task));
		bool goes_on = task == later; /* it slept in its turn */

		if (THRUM__RUN(model, row, start) < since)
			break;
		if (THRUM__RUN(model, row, lane) != lane)
			continue;
		later = task;
		if (goes_on || task == THRUM__NONE || thrum__analyse_task_is_lane(model, task))
			continue;
		busy = busy == THRUM__NONE ? task : busy;
		all++;
		*count += task == busy || thrum__why_are_peers(search, task, busy);
	}
	return *count >= TURNS_MIN && *count >= all - all / TURNS_MIN ? busy : THRUM__NONE;
}

/* A loop's own task has the lane while a timer is due: the task to which the loop comes again and again
 * counts. */
static void find_busy(const struct thrum__search *search, const struct thrum__delay *delay,
	struct hog *hog)
{
	const struct thrum__model *model = search->model;
	uint32_t busy = THRUM__NONE;

	if (!delay->has_run && THRUM__TASK(model, delay->task, kind) == THRUM_KIND_TIMER)
		busy = thrum__why_busy_with(search, delay->lane, delay->ready, &hog->turns);
	if (busy != THRUM__NONE)
		hog->task = busy;
	else
		hog->turns = 0;
}

/* ---- Many tasks run before one that was ready first ------------------------------------------ */

/* The time since which the task of a run was ready; before the run, and after the task's run before
 * it. -1: unknown. */
static int64_t ready_for_run(const struct thrum__model *model, uint32_t run)
{
	uint32_t task = THRUM__RUN(model, run, task), edge = THRUM__TASK(model, task, edge_in);
	uint32_t prev = THRUM__RUN(model, run, prev);
	int64_t start = THRUM__RUN(model, run, start), ready = -1;
	int64_t since = thrum__model_has_row(&model->runs, prev) ? THRUM__RUN(model, prev, start)
								 : 0;

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, time) >= since;
		i++, edge = THRUM__EDGE(model, edge, prev_in))
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READY &&
			THRUM__EDGE(model, edge, time) <= start)
			ready = THRUM__EDGE(model, edge, time);
	return ready;
}

/* Whether the task of a run became ready later than the delay's. One that ran since the delay began was
 * made ready since: tasks that take turns have too many edges to be searched for each run. */
static bool overtakes(const struct thrum__model *model, const struct thrum__delay *delay,
	uint32_t run)
{
	uint32_t prev = THRUM__RUN(model, run, prev), edge;

	if (ready_for_run(model, run) > delay->ready)
		return true;
	if (!thrum__model_has_row(&model->runs, prev) ||
		THRUM__RUN(model, prev, start) <= delay->ready)
		return false;
	edge = thrum__why_edge_to(model, THRUM__RUN(model, run, task), THRUM__EDGE_READY);
	return edge != THRUM__NONE && THRUM__EDGE(model, edge, time) > delay->ready;
}

/* How many ns of the delay a task kept its lane though it was blocked: from a run of the lane to the next
 * one, which is the same task's. */
static int64_t blocked_between(const struct thrum__model *model, const struct thrum__delay *delay,
	uint32_t last, uint32_t run)
{
	uint32_t task = THRUM__RUN(model, run, task);
	int64_t start, end;

	if (last == THRUM__NONE || THRUM__RUN(model, last, task) != task ||
		task == model->lanes[delay->lane].task)
		return 0;
	start = THRUM__RUN(model, last, end);
	end = THRUM__RUN(model, run, start);
	start = start > delay->ready ? start : delay->ready;
	end = end < delay->ran ? end : delay->ran;
	return end > start ? end - start : 0;
}

/* Finds the runs by tasks that became ready later than the delay's. The result's task is the first
 * of those peers that took the most time; its runs and total are those of all overtakers. */
static struct hog find_overtakers(struct thrum__search *search, const struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	struct hog all = {.task = THRUM__NONE, .key = THRUM__NONE, .until = delay->ran};
	uint32_t from, to, last = THRUM__NONE;
	int64_t lead = 0;

	window_of(search, delay, &from, &to, &all.until);
	for (uint32_t run = from; run < to; run++) {
		int64_t takes = overlap(model, delay, run);
		uint32_t key;

		if (thrum__model_has_row(&model->runs, run) &&
			THRUM__RUN(model, run, lane) == delay->lane) {
			if (takes > 0)
				takes += blocked_between(model, delay, last, run);
			last = run;
		}
		if (takes == 0 || !overtakes(model, delay, run))
			continue;
		all.total += takes;
		all.runs++;
		key = thrum__why_peers_key(&search->peers, THRUM__RUN(model, run, task));
		if (all.task != THRUM__NONE && key == all.key) {
			lead += takes;
		} else if ((lead -= takes) < 0) {
			lead = -lead;
			all.task = THRUM__RUN(model, run, task);
			all.key = key;
			all.start = THRUM__RUN(model, run, start);
		}
	}
	return all;
}

/* ---- Findings ------------------------------------------------------------------------------- */

/* Makes the finding show this delay. */
static void show_delay(struct thrum__finding *finding, const struct thrum__delay *delay,
	const struct hog *hog, int hogs)
{
	finding->task = hog->task;
	finding->until = delay->ran;
	finding->step_count = 0;
	thrum__why_set_more(thrum__why_add_step(finding, hogs, hog->task, delay->task, hog->start,
				    THRUM__NONE),
		hog->turns);
	thrum__why_add_step(finding,
		delay->kind == THRUM__DELAY_ANSWER         ? THRUM__STEP_UNANSWERED
			: delay->kind == THRUM__DELAY_TURN ? THRUM__STEP_NO_TURN
							   : THRUM__STEP_READY,
		delay->task, delay->by, delay->ready, THRUM__NONE);
	if (delay->has_run)
		thrum__why_add_step(finding, THRUM__STEP_RUNS_LATE, delay->task, THRUM__NONE,
			delay->ran, delay->edge);
}

/* Adds a delay to its hog's finding, which shows the longest of the most certain of the hog's
 * delays. `hogs` is the kind of the finding's first step. */
static void add_delay(struct thrum__search *search, const struct thrum__delay *delay,
	const struct hog *hog, int hogs, int certainty)
{
	struct thrum__finding *finding = thrum__why_find_alike(search, THRUM__FINDING_STARVED,
		hog->task);
	uint32_t number;

	/* A thread may do much outside of its loop's tasks, as for its start. */
	if (delay->has_run &&
		(delay->ran - delay->ready < UNFAIR ||
			thrum__analyse_task_is_lane(search->model, hog->task)) &&
		(!finding || finding->count + 1 < DELAYS_ENOUGH))
		certainty = THRUM__POSSIBLE;
	certainty = thrum__why_certainty(search, certainty, delay->ready);
	if (!finding)
		finding = thrum__why_add(search, THRUM__FINDING_STARVED, certainty, hog->task);
	if (!finding)
		return;
	if (finding->step_count == 0 || certainty > finding->certainty ||
		(certainty == finding->certainty &&
			delay->ran - delay->ready > finding->until - finding->steps[1].time)) {
		finding->certainty = (uint8_t)certainty;
		show_delay(finding, delay, hog, hogs);
	}
	number = (uint32_t)(finding - search->findings->findings);
	finding->count++;
	/* Others may wait behind the delayed task, or for the hog itself. */
	if (!delay->has_run) {
		*thrum__cause(search, delay->task) = number;
		thrum__why_mark(search, delay->task, THRUM__MARK_BEHIND);
		if (*thrum__cause(search, hog->task) == THRUM__NONE &&
			thrum__analyse_task_is_running(search->model, hog->task))
			*thrum__cause(search, hog->task) = number;
	}
}

/* Whether the hog waits for a task since its run began, so that it may only seem to run. */
static bool is_waiting(const struct thrum__search *search, const struct hog *hog)
{
	struct thrum__analyse_waits waits = thrum__analyse_graph_waits(&search->graph,
		thrum__model_heir(search->model, hog->task));

	return waits.count > 0 && waits.waits[0].since >= hog->start;
}

/* Blames tasks that ran before one that was ready first. Returns whether there are enough of them. */
static bool blame_overtakers(struct thrum__search *search, const struct thrum__delay *delay)
{
	struct hog all;

	if (delay->kind != THRUM__DELAY_MARKED || delay->ran - delay->ready < UNFAIR)
		return false;
	all = find_overtakers(search, delay);
	if (all.runs < OVERTAKERS_MIN || all.total < UNFAIR ||
		all.total < (all.until - delay->ready) / 2)
		return false;
	add_delay(search, delay, &all, THRUM__STEP_OVERTAKES,
		delay->has_run ? THRUM__POSSIBLE : delay->certainty);
	return true;
}

/* Blames the source to which a loop of GLib comes again and again while an idle source is ready, as that
 * has a lower priority: also if the other one sleeps in most of its turns. Returns whether there is one. */
static bool blame_source(struct thrum__search *search, const struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	struct hog hog = {.until = delay->ran, .start = delay->ready};

	if (delay->kind != THRUM__DELAY_MARKED || delay->has_run ||
		delay->ran - delay->ready < UNFAIR ||
		THRUM__TASK(model, delay->task, kind) != THRUM_KIND_HANDLE ||
		!THRUM__BEGINS_WITH(model, delay->task, "idle "))
		return false;
	hog.task = thrum__why_busy_with(search, delay->lane, delay->ready, &hog.turns);
	if (hog.task == THRUM__NONE || THRUM__TASK(model, hog.task, created) > delay->ready ||
		THRUM__TASK(model, hog.task, kind) != THRUM_KIND_HANDLE)
		return false;
	add_delay(search, delay, &hog, THRUM__STEP_RUNS_MEANWHILE, THRUM__POSSIBLE);
	return true;
}

/* Whether one job of a pool waited for another one, and others like them took as long: the pool has no more
 * threads. */
static bool is_usual_job(const struct thrum__search *search, const struct hog *hog,
	const struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	uint32_t run = model->runs.count;

	if (!delay->has_run || !THRUM__BEGINS_WITH(model, delay->task, "job ") ||
		!thrum__why_are_peers(search, hog->task, delay->task))
		return false;
	for (int i = 0; i < RUNS_BEFORE && run-- > model->runs.first; i++) {
		int64_t end;

		if (!thrum__model_has_row(&model->runs, run))
			return false;
		end = THRUM__RUN(model, run, end);
		end = end < model->end ? end : model->end;
		if (THRUM__RUN(model, run, task) != hog->task &&
			end - THRUM__RUN(model, run, start) >= hog->total / 2 &&
			thrum__model_has_row(&model->tasks, THRUM__RUN(model, run, task)) &&
			thrum__why_are_peers(search, hog->task, THRUM__RUN(model, run, task)))
			return true;
	}
	return false;
}

/* The runs of a hog and its peers, near a delay and without that one. */
struct turns {
	unsigned count;
	int64_t longest;
};

static struct turns other_turns(const struct thrum__search *search, const struct hog *hog,
	const struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	uint32_t run = run_from(model, delay->ran);
	struct turns turns = {0};

	run = model->runs.count - run > RUNS_BEFORE ? run + RUNS_BEFORE : model->runs.count;
	for (int i = 0; i < 2 * RUNS_BEFORE && run-- > model->runs.first; i++) {
		int64_t time;

		if (!thrum__model_has_row(&model->runs, run))
			break;
		time = THRUM__RUN(model, run, end) - THRUM__RUN(model, run, start);
		if (THRUM__RUN(model, run, end) == THRUM__OPEN ||
			THRUM__RUN(model, run, start) == hog->start ||
			(THRUM__RUN(model, run, task) != hog->task &&
				!thrum__why_are_peers(search, hog->task,
					THRUM__RUN(model, run, task))))
			continue;
		turns.count++;
		turns.longest = time > turns.longest ? time : turns.longest;
	}
	return turns;
}

/* Whether somebody killed the program, which went on after a delay. One that ends itself may do so for it. */
static bool is_gone(const struct thrum__model *model)
{
	return model->ending == THRUM_ENDING_KILLED || model->ending == THRUM_ENDING_GONE;
}

/* Whether the machine may be to blame that one turn of the hog was long: on a busy one each may take so many
 * times as long, and so may a delay that ended. A hog that has turn after turn isn't excused so. Where no
 * other turn tells how long one takes, *certainty becomes “possible”. */
static bool may_be_stretched(const struct thrum__search *search, const struct thrum__delay *delay,
	const struct hog *hog, int *certainty)
{
	int64_t time = delay->ran - delay->ready;
	struct turns turns;

	if ((time >= UNFAIR && delay->has_run) || hog->runs >= OVERTAKERS_MIN)
		return false;
	/* A thread may do much outside of its loop's tasks, as for its start. */
	if (delay->has_run && thrum__analyse_task_is_lane(search->model, hog->task))
		return true;
	turns = other_turns(search, hog, delay);
	if (turns.count == 0 && time < UNFAIR)
		*certainty = THRUM__POSSIBLE;
	if (delay->has_run)
		return turns.count > 0 || time < SHORT || is_gone(search->model);
	return turns.count > 0 && hog->total / STRETCH < turns.longest;
}

/* Whether most of the delay was over before any task but the lane's own ran on the lane: a program that
 * makes tasks ready while it gets started means them to run when its loop begins. */
static bool is_start(const struct thrum__model *model, const struct thrum__delay *delay)
{
	const struct thrum__lane *lane = &model->lanes[delay->lane];

	if (!delay->has_run || model->runs.first > 0)
		return false;
	for (uint32_t run = run_from(model, lane->first); run < model->runs.count; run++)
		if (!thrum__model_has_row(&model->runs, run) ||
			(THRUM__RUN(model, run, lane) == delay->lane &&
				THRUM__RUN(model, run, task) != lane->task))
			return thrum__model_has_row(&model->runs, run) &&
				THRUM__RUN(model, run, start) >=
				delay->ready + (delay->ran - delay->ready) / 2;
	return false;
}

bool thrum__why_blame_hog(struct thrum__search *search, const struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	struct hog hog;
	int certainty = delay->certainty;
	bool is_known;

	if (delay->lane >= model->lane_count)
		return false;
	is_known = tells_idleness(model, delay->lane);
	hog = find_hog(search, delay);
	if (hog.task == THRUM__NONE || hog.total < (hog.until - delay->ready) / 5 * 4)
		return blame_overtakers(search, delay) || blame_source(search, delay);
	/* Where tasks that are alike take turns, the machine may be to blame that each turn is long. */
	if (delay->has_run && delay->ran - delay->ready < UNFAIR &&
		thrum__why_are_peers(search, hog.task, delay->task))
		return false;
	if (is_usual_job(search, &hog, delay) || may_be_stretched(search, delay, &hog, &certainty))
		return false;
	/* A scheduler with priorities gives one task many turns, and means it. */
	if (delay->kind == THRUM__DELAY_MARKED && hog.runs >= OVERTAKERS_MIN &&
		delay->ran - delay->ready < UNFAIR) {
		if (delay->has_run || hog.total < hog.all / (ENDLESS + 1) * ENDLESS ||
			!thrum__analyse_task_is_pending(model, hog.task))
			return false;
		certainty = THRUM__POSSIBLE;
	}
	/* A program may run a lane's own task also while it waits for work. */
	if (thrum__analyse_task_is_lane(model, hog.task)) {
		if (!is_known || delay->kind == THRUM__DELAY_ANSWER || is_start(model, delay))
			return false;
		if (!delay->has_run)
			certainty = THRUM__POSSIBLE; /* it may have left its loop for good */
		find_busy(search, delay, &hog);
	} else if (!is_known && !delay->has_run && is_waiting(search, &hog)) {
		certainty = THRUM__POSSIBLE;
	}
	add_delay(search, delay, &hog,
		hog.turns > 0 ? THRUM__STEP_RUNS_MEANWHILE : THRUM__STEP_HOGS, certainty);
	return true;
}
