/* SPDX-License-Identifier: ISC */
/* Finds tasks that were ready to run while another one had the lane. */
#include "analyse/why/parts.h"

#define LATE 100000000 /* ns of a delay; shorter ones are normal on a busy machine */
#define RUNS_MAX 1024  /* runs that are searched for one delay */
#define DELAYS_MAX 200 /* delays of each sort that are searched */
#define LOOK_BACK 64   /* edges or runs of a task that are searched, from the latest back */

/* A time in which a task was ready and didn't run. */
struct delay {
	uint32_t task, by; /* by: the task that made it ready, or NONE */
	uint32_t lane;
	int64_t ready, ran; /* ran: the model's end if it never ran */
	uint32_t edge;      /* by which it ran at last, or NONE */
};

/* The task that had the lane during a delay. */
struct hog {
	uint32_t task;
	int64_t start, total; /* the start of its first run; ns that it ran during the delay */
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

/* How many ns of the delay a run takes. */
static int64_t overlap(const struct thrum__model *model, const struct delay *delay, uint32_t run)
{
	int64_t start = THRUM__RUN(model, run, start), end = THRUM__RUN(model, run, end);

	if (THRUM__RUN(model, run, lane) != delay->lane)
		return 0;
	start = start > delay->ready ? start : delay->ready;
	end = end < delay->ran ? end : delay->ran;
	return end > start ? end - start : 0;
}

/* The other task with the longest single run during the delay. The run that goes on when the delay
 * begins may lie some rows before the first that begins in it. */
static struct hog find_hog(const struct thrum__model *model, const struct delay *delay)
{
	uint32_t first = run_from(model, delay->ready), to = run_from(model, delay->ran);
	uint32_t from = first - model->runs.first > RUNS_MAX ? first - RUNS_MAX : model->runs.first;
	struct hog hog = {.task = THRUM__NONE};
	int64_t longest = 0;

	to = to - first > RUNS_MAX ? first + RUNS_MAX : to;
	for (uint32_t run = from; run < to; run++) {
		int64_t takes = thrum__model_has_row(&model->runs, run) ? overlap(model, delay, run)
									: 0;

		if (takes > longest && THRUM__RUN(model, run, task) != delay->task &&
			thrum__model_has_row(&model->tasks, THRUM__RUN(model, run, task))) {
			longest = takes;
			hog.task = THRUM__RUN(model, run, task);
		}
	}
	for (uint32_t run = from; run < to && hog.task != THRUM__NONE; run++) {
		if (!thrum__model_has_row(&model->runs, run) ||
			THRUM__RUN(model, run, task) != hog.task || overlap(model, delay, run) == 0)
			continue;
		if (hog.total == 0)
			hog.start = THRUM__RUN(model, run, start);
		hog.total += overlap(model, delay, run);
	}
	return hog;
}

/* The finding about this hog or one like it, or NULL. */
static struct thrum__finding *find_finding(struct thrum__search *search, uint32_t hog)
{
	struct thrum__findings *findings = search->findings;
	uint32_t key = thrum__why_peers_key(&search->peers, hog);

	for (uint32_t i = 0; i < findings->count; i++) {
		struct thrum__finding *finding = &findings->findings[i];

		if (finding->class == THRUM__FINDING_STARVED &&
			(finding->task == hog ||
				(key != THRUM__NONE &&
					thrum__why_peers_key(&search->peers, finding->task) ==
						key)))
			return finding;
	}
	return NULL;
}

/* Adds a delay to its hog's finding, which shows the longest of the hog's delays. */
static void add_delay(struct thrum__search *search, const struct delay *delay,
	const struct hog *hog)
{
	struct thrum__finding *finding = find_finding(search, hog->task);
	int certainty = thrum__why_certainty(search, THRUM__LIKELY, delay->ready);

	if (!finding)
		finding = thrum__why_add(search, THRUM__FINDING_STARVED, certainty, hog->task);
	else if (delay->ran - delay->ready <= finding->until - finding->steps[1].time)
		delay = NULL;
	if (!finding)
		return;
	finding->count++;
	if (!delay)
		return;
	finding->task = hog->task;
	finding->until = delay->ran;
	finding->step_count = 0;
	thrum__why_add_step(finding, THRUM__STEP_HOGS, hog->task, delay->task, hog->start,
		THRUM__NONE);
	thrum__why_add_step(finding, THRUM__STEP_READY, delay->task, delay->by, delay->ready,
		THRUM__NONE);
	if (delay->edge != THRUM__NONE)
		thrum__why_add_step(finding, THRUM__STEP_RUNS_LATE, delay->task, THRUM__NONE,
			delay->ran, delay->edge);
}

/* Whether another task ran for four fifths of the delay or more; then adds that to the findings. */
static bool blame_hog(struct thrum__search *search, const struct delay *delay)
{
	const struct thrum__model *model = search->model;
	struct hog hog = find_hog(model, delay);

	/* Not a lane's own task, as programs may run it also while they wait for work. */
	if (hog.task == THRUM__NONE || thrum__analyse_task_is_lane(model, hog.task) ||
		hog.total < (delay->ran - delay->ready) / 5 * 4)
		return false;
	add_delay(search, delay, &hog);
	return true;
}

/* The lane on which a task ran last at or before a time, or else the task's lane. */
static uint32_t lane_at(const struct thrum__model *model, uint32_t task, int64_t time)
{
	uint32_t run = THRUM__TASK(model, task, run);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->runs, run); i++) {
		if (THRUM__RUN(model, run, start) <= time)
			return THRUM__RUN(model, run, lane);
		run = THRUM__RUN(model, run, prev);
	}
	return THRUM__TASK(model, task, lane);
}

/* The task that resolved this one; NONE if it isn't known or is forgotten. */
static uint32_t resolver_of(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = THRUM__TASK(model, task, edge_in);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge); i++) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_RESOLVE)
			return thrum__why_known(model, THRUM__EDGE(model, edge, from));
		edge = THRUM__EDGE(model, edge, prev_in);
	}
	return THRUM__NONE;
}

/* Whether the reader of a result began to wait for it no later than `before`. */
static bool has_waited(const struct thrum__model *model, uint32_t read, int64_t before)
{
	uint32_t to = THRUM__EDGE(model, read, to), edge = THRUM__EDGE(model, read, prev_out);

	for (int i = 0; i < LOOK_BACK && thrum__model_has_row(&model->edges, edge); i++) {
		if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			THRUM__EDGE(model, edge, to) == to)
			return THRUM__EDGE(model, edge, time) <= before;
		edge = THRUM__EDGE(model, edge, prev_out);
	}
	return false;
}

/* Whether an edge reads a result long after it was there, by a task that had waited for it. */
static bool is_late_read(const struct thrum__model *model, uint32_t edge, struct delay *delay)
{
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);

	if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_READ ||
		!thrum__model_has_row(&model->tasks, to) ||
		!thrum__model_has_row(&model->tasks, from))
		return false;
	*delay = (struct delay){.task = from, .edge = edge};
	delay->ready = THRUM__TASK(model, to, end);
	delay->ran = THRUM__EDGE(model, edge, time);
	if (delay->ready == THRUM__OPEN || delay->ran - delay->ready < LATE ||
		!has_waited(model, edge, delay->ready))
		return false;
	delay->lane = lane_at(model, from, delay->ran);
	delay->by = resolver_of(model, to);
	return true;
}

/* Whether a note tells when a timer was due that came late, or hasn't come and is late. */
static bool is_late_timer(const struct thrum__model *model, uint32_t note, struct delay *delay)
{
	uint32_t task = THRUM__NOTE(model, note, task);

	if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE ||
		!thrum__model_has_row(&model->tasks, task))
		return false;
	*delay = (struct delay){.task = task, .by = THRUM__NONE, .edge = THRUM__NONE};
	delay->ready = THRUM__NOTE(model, note, value);
	delay->ran = THRUM__TASK(model, task, end);
	delay->lane = THRUM__TASK(model, task, lane);
	if (delay->ran == THRUM__OPEN)
		delay->ran = model->end;
	return delay->ready < delay->ran && delay->ran - delay->ready >= LATE &&
		THRUM__TASK(model, task, state) != THRUM__STATE_CANCELLED;
}

/* Whether a pending task has been ready for long and hasn't run. */
static bool is_late_task(const struct thrum__search *search, uint32_t task, struct delay *delay)
{
	const struct thrum__model *model = search->model;
	uint32_t wait = thrum__why_ready_since(search, task, &delay->ready);

	if (wait == THRUM__NONE || model->end - delay->ready < LATE)
		return false;
	delay->task = task;
	delay->by = resolver_of(model, thrum__model_heir(model, THRUM__EDGE(model, wait, to)));
	delay->lane = lane_at(model, task, model->end);
	delay->ran = model->end;
	delay->edge = THRUM__NONE;
	return true;
}

int thrum__why_find_starved(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	unsigned left = DELAYS_MAX;
	struct delay delay = {0};

	for (uint32_t i = model->edges.first; i < model->edges.count && left > 0; i++) {
		if (!thrum__model_has_row(&model->edges, i)) {
			i |= THRUM__BLOCK_MASK;
		} else if (is_late_read(model, i, &delay)) {
			blame_hog(search, &delay);
			left--;
		}
	}
	left = DELAYS_MAX;
	for (uint32_t i = model->notes.first; i < model->notes.count && left > 0; i++) {
		if (!thrum__model_has_row(&model->notes, i)) {
			i |= THRUM__BLOCK_MASK;
		} else if (is_late_timer(model, i, &delay)) {
			blame_hog(search, &delay);
			left--;
		}
	}
	left = DELAYS_MAX;
	for (uint32_t i = thrum__analyse_next_task(model, 0); i < model->tasks.count && left > 0;
		i = thrum__analyse_next_task(model, i + 1)) {
		if (!thrum__model_has_row(&model->tasks, i) ||
			*thrum__cause(search, i) != THRUM__NONE || !is_late_task(search, i, &delay))
			continue;
		left--;
		if (blame_hog(search, &delay))
			*thrum__cause(search, i) = THRUM__CAUSE_HEALTHY;
	}
	return 0;
}
