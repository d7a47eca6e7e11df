/* SPDX-License-Identifier: ISC */
/*
 * Finds delays: times in which a task was ready and didn't run. starved.c tells which task ran
 * meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/why/parts.h"
#include "base/time.h"

#define LATE 100000000      /* ns of a delay; shorter ones are normal on a busy machine */
#define LONG_RUN 1000000000 /* ns; a run is so long if others can't even show that they are ready */
#define DELAYS_MAX 200      /* delays of each sort that are searched */
#define LOOK_BACK 64        /* edges or runs of a task that are searched, from the latest back */
#define STARTED_MIN 3       /* tasks that ran, by which others like them may be judged */
#define LANES_MAX 64        /* lanes that are known one by one in a set */

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

/* ---- Results that are read late ------------------------------------------------------------- */

/* The task that resolved this one; NONE if it isn't known or is forgotten. */
static uint32_t resolver_of(const struct thrum__model *model, uint32_t task)
{
	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_RESOLVE)
		return thrum__why_known(model, THRUM__EDGE(model, edge, from));
	return THRUM__NONE;
}

/* Whether the reader of a result began to wait for it no later than `before`. */
static bool has_waited(const struct thrum__model *model, uint32_t read, int64_t before)
{
	uint32_t to = THRUM__EDGE(model, read, to), edge = THRUM__EDGE(model, read, prev_out);

	THRUM__EDGES_OF (model, edge, prev_out, LOOK_BACK, THRUM__EDGE_WAIT)
		if (THRUM__EDGE(model, edge, to) == to)
			return THRUM__EDGE(model, edge, time) <= before;
	return false;
}

/* Whether an edge READ reads a result long after it was there, by a task that had waited for it. */
static bool is_late_read(const struct thrum__model *model, uint32_t edge,
	struct thrum__delay *delay)
{
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);
	int64_t ran = THRUM__EDGE(model, edge, time), ready;

	if (!thrum__model_has_row(&model->tasks, to))
		return false;
	ready = THRUM__TASK(model, to, end);
	if (ready == THRUM__OPEN || ran - ready < LATE ||
		!thrum__model_has_row(&model->tasks, from) || !has_waited(model, edge, ready))
		return false;
	*delay = (struct thrum__delay){.task = from,
		.edge = edge,
		.certainty = THRUM__LIKELY,
		.has_run = true,
		.ready = ready,
		.ran = ran,
		.lane = lane_at(model, from, ran),
		.by = resolver_of(model, to)};
	return true;
}

/* ---- Tasks that are said to be ready -------------------------------------------------------- */

/* Searches for the edges READY of tasks that ran long after them, or not at all. Edges and runs are
 * read side by side, in the order of time. */
struct marked {
	struct thrum__search *search;
	uint32_t *ready; /* by place of tasks: the edge since which the task is ready, or NONE */
	uint32_t *last;  /* by place of tasks: the task's latest run so far, or NONE */
	uint32_t run;    /* the next run to read */
	unsigned left;
};

/* Whether a process has only two lanes whose threads live: these. */
static bool are_only_lanes(const struct thrum__model *model, uint32_t one, uint32_t other)
{
	THRUM__EACH_LANE (model, lane)
		if (lane != &model->lanes[one] && lane != &model->lanes[other] &&
			lane->process == model->lanes[one].process &&
			thrum__analyse_task_is_pending(model, lane->task))
			return false;
	return true;
}

/* The lane on which all ran that a task made ready last, as far as they ran; NONE: there is none, or there
 * are several, or a thread beside that and the maker's, which may be there for just this task. */
static uint32_t lane_of_siblings(const struct thrum__model *model, uint32_t maker)
{
	uint32_t lane = THRUM__NONE;

	if (!thrum__model_has_row(&model->tasks, maker))
		return THRUM__NONE;
	THRUM__ACTS_OF (model, maker, edge, LOOK_BACK, THRUM__EDGE_READY) {
		uint32_t on = thrum__why_last_lane(model, THRUM__EDGE(model, edge, to));

		if (on == THRUM__NONE)
			continue;
		if (lane != THRUM__NONE && on != lane)
			return THRUM__NONE;
		lane = on;
	}
	return lane != THRUM__NONE && are_only_lanes(model, lane, THRUM__TASK(model, maker, lane))
		? lane
		: THRUM__NONE;
}

/* The lane on which a task that never ran would run: that of one like it, or of others that the same task
 * made ready, or else where it was made. */
static uint32_t lane_of_new(const struct thrum__search *search, uint32_t task, uint32_t maker)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);
	uint32_t lane = peer ? thrum__why_last_lane(model, peer->sample) : THRUM__NONE;

	if (lane == THRUM__NONE)
		lane = lane_of_siblings(model, maker);
	return lane == THRUM__NONE ? THRUM__TASK(model, task, lane) : lane;
}

/* A task that was ready runs from `ran` on, or (has_run is false) not at all. */
static void end_delay(struct marked *marked, uint32_t task, int64_t ran, bool has_run)
{
	const struct thrum__model *model = marked->search->model;
	uint32_t place = thrum__place(&marked->search->findings->places, task);
	uint32_t *ready = &marked->ready[place], run = marked->last[place];
	struct thrum__delay delay = {.kind = THRUM__DELAY_MARKED,
		.task = task,
		.ran = ran,
		.edge = THRUM__NONE,
		.certainty = THRUM__LIKELY,
		.has_run = has_run,
		.ready = THRUM__EDGE(model, *ready, time),
		.by = thrum__why_known(model, THRUM__EDGE(model, *ready, from))};

	*ready = THRUM__NONE;
	if (ran - delay.ready < LATE || marked->left == 0)
		return;
	delay.lane = run == THRUM__NONE ? lane_of_new(marked->search, task, delay.by)
					: THRUM__RUN(model, run, lane);
	marked->left--;
	thrum__why_blame_hog(marked->search, &delay);
}

/* Reads the runs that began before a time. */
static void read_runs(struct marked *marked, int64_t before)
{
	const struct thrum__model *model = marked->search->model;

	for (; marked->run < model->runs.count; marked->run++) {
		uint32_t task, place;

		if (!thrum__model_has_row(&model->runs, marked->run)) {
			marked->run |= THRUM__BLOCK_MASK;
			continue;
		}
		if (THRUM__RUN(model, marked->run, start) >= before)
			return;
		task = THRUM__RUN(model, marked->run, task);
		if (!thrum__model_has_row(&model->tasks, task))
			continue;
		place = thrum__place(&marked->search->findings->places, task);
		marked->last[place] = marked->run;
		if (marked->ready[place] != THRUM__NONE)
			end_delay(marked, task, THRUM__RUN(model, marked->run, start), true);
	}
}

/* Whether a task that is ready since `edge` still is, as nothing has happened to it since. Forgotten
 * runs ended before model->forgotten, perhaps since then. */
static bool is_still_ready(const struct thrum__model *model, uint32_t task, uint32_t edge)
{
	uint32_t out = THRUM__TASK(model, task, edge_out);
	int64_t time = THRUM__EDGE(model, edge, time);

	return thrum__analyse_task_is_pending(model, task) &&
		!thrum__analyse_task_is_running(model, task) &&
		!(thrum__why_is_cut(&model->runs, THRUM__TASK(model, task, run)) &&
			time < model->forgotten) &&
		(!thrum__model_has_row(&model->edges, out) ||
			THRUM__EDGE(model, out, time) <= time);
}

/* Whether an edge READY came after a task's run. A task that runs is ready anyway; so a task that makes
 * itself ready isn't after its run, even if the run ends at the same time. */
static bool is_after(const struct thrum__model *model, uint32_t edge, uint32_t run)
{
	return !thrum__model_has_row(&model->runs, run) ||
		(THRUM__RUN(model, run, end) <= THRUM__EDGE(model, edge, time) &&
			THRUM__EDGE(model, edge, from) != THRUM__EDGE(model, edge, to));
}

bool thrum__why_is_said_ready(const struct thrum__model *model, uint32_t task)
{
	uint32_t edge = thrum__why_edge_to(model, task, THRUM__EDGE_READY);

	return edge != THRUM__NONE && is_still_ready(model, task, edge) &&
		is_after(model, edge, THRUM__TASK(model, task, run));
}

/* Ends the delays of the tasks that never ran. */
static void end_marked(struct marked *marked)
{
	const struct thrum__model *model = marked->search->model;
	const struct thrum__places *places = &marked->search->findings->places;

	for (uint32_t i = 0; i < places->blocks; i++) {
		const uint32_t *ready = &marked->ready[places->first[i]];
		uint32_t task = i << THRUM__BLOCK_SHIFT;

		/* Where there is no task, no edge is. */
		for (uint32_t k = 0; places->first[i] > 0 && k < THRUM__BLOCK; k++)
			if (ready[k] != THRUM__NONE && is_still_ready(model, task + k, ready[k]))
				end_delay(marked, task + k, model->end, false);
	}
}

/* Reads an edge READY. */
static void read_ready(struct marked *marked, uint32_t edge)
{
	const struct thrum__model *model = marked->search->model;
	uint32_t task = THRUM__EDGE(model, edge, to), place;

	read_runs(marked, THRUM__EDGE(model, edge, time));
	place = thrum__place(&marked->search->findings->places, task);
	if (marked->ready[place] == THRUM__NONE && is_after(model, edge, marked->last[place]))
		marked->ready[place] = edge;
}

/* Makes room for the tasks' edges and runs. */
static int make_marked(struct marked *marked)
{
	uint32_t places = marked->search->findings->places.count;
	size_t size = places * sizeof *marked->ready;

	marked->ready = malloc(2 * size);
	if (!marked->ready)
		return -THRUM_E_MEMORY;
	memset(marked->ready, UINT8_MAX, 2 * size); /* NONE */
	marked->last = marked->ready + places;
	return 0;
}

/* Searches an edge READ or READY. */
static int search_edge(struct marked *marked, uint32_t edge, int kind, unsigned *reads_left)
{
	const struct thrum__model *model = marked->search->model;
	struct thrum__delay delay;

	if (kind == THRUM__EDGE_READ) {
		if (*reads_left > 0 && is_late_read(model, edge, &delay)) {
			thrum__why_blame_hog(marked->search, &delay);
			--*reads_left;
		}
		return 0;
	}
	if (!thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, to)))
		return 0;
	if (!marked->ready && make_marked(marked) < 0)
		return -THRUM_E_MEMORY;
	read_ready(marked, edge);
	return 0;
}

/* Searches all edges, for late reads and for tasks that are said to be ready. */
static int search_edges(struct thrum__search *search)
{
	const struct thrum__model_rows *edges = &search->model->edges;
	struct marked marked = {search, NULL, NULL, search->model->runs.first, DELAYS_MAX};
	unsigned left = DELAYS_MAX;
	int error = 0;

	for (uint32_t i = edges->first >> THRUM__BLOCK_SHIFT; i < edges->blocks; i++) {
		const struct thrum__edges *block = edges->block[i];
		uint32_t first = i << THRUM__BLOCK_SHIFT, count = edges->count - first;

		for (uint32_t k = 0; block && k < count && k < THRUM__BLOCK && error == 0; k++) {
			int kind = block->kind[k];

			if (kind == THRUM__EDGE_READ || kind == THRUM__EDGE_READY)
				error = search_edge(&marked, first + k, kind, &left);
		}
	}
	if (marked.ready) {
		read_runs(&marked, THRUM__OPEN);
		end_marked(&marked);
	}
	free(marked.ready);
	return error;
}

/* ---- Timers --------------------------------------------------------------------------------- */

/* When a timer ran first after it was due; the model's end if it never did. It may come a little sooner than
 * it was due: a loop counts from the time that it read last. So a run since it was set counts, too. -1: it
 * ran too often since to tell. */
static int64_t first_run_after(const struct thrum__model *model, uint32_t task, int64_t set,
	int64_t due)
{
	uint32_t run = THRUM__TASK(model, task, run);
	int64_t first = model->end;

	for (int i = 0; i < LOOK_BACK; i++, run = THRUM__RUN(model, run, prev)) {
		if (!thrum__model_has_row(&model->runs, run))
			return thrum__why_is_cut(&model->runs, run) ? -1 : first;
		if (THRUM__RUN(model, run, start) < due)
			return THRUM__RUN(model, run, start) > set ? due : first;
		first = THRUM__RUN(model, run, start);
	}
	return -1;
}

/* Whether a note tells when a timer was due that came late, or hasn't come and is late. */
static bool is_late_timer(const struct thrum__model *model, uint32_t note,
	struct thrum__delay *delay)
{
	uint32_t task = THRUM__NOTE(model, note, task);

	if (THRUM__NOTE(model, note, kind) != THRUM__NOTE_DUE ||
		!thrum__model_has_row(&model->tasks, task))
		return false;
	*delay = (struct thrum__delay){.task = task,
		.by = THRUM__NONE,
		.edge = THRUM__NONE,
		.certainty = THRUM__LIKELY};
	delay->ready = thrum__base_time_clamp(THRUM__NOTE(model, note, value));
	delay->ran = THRUM__TASK(model, task, end);
	delay->lane = THRUM__TASK(model, task, lane);
	delay->has_run = delay->ran != THRUM__OPEN;
	if (!delay->has_run) {
		delay->ran = first_run_after(model, task, THRUM__NOTE(model, note, time),
			delay->ready);
		delay->has_run = delay->ran < model->end;
	}
	return delay->ready < delay->ran &&
		thrum__base_time_clamp(delay->ran) - delay->ready >= LATE &&
		THRUM__TASK(model, task, state) != THRUM__STATE_CANCELLED;
}

static void find_late_timers(struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	unsigned left = DELAYS_MAX;
	struct thrum__delay delay;

	for (uint32_t i = model->notes.first; i < model->notes.count && left > 0; i++) {
		if (!thrum__model_has_row(&model->notes, i)) {
			i |= THRUM__BLOCK_MASK;
		} else if (is_late_timer(model, i, &delay)) {
			thrum__why_blame_hog(search, &delay);
			left--;
		}
	}
}

/* ---- Tasks that are ready at the end -------------------------------------------------------- */

/* How the tasks with one peers' key start to run. */
struct starts {
	uint32_t count;  /* tasks that ran */
	int64_t longest; /* from a task's creation to its first run */
	uint64_t lanes;  /* the set of lanes on which they first ran */
};

/* Whether a pending task waited for something that has ended, and hasn't run since. */
static bool is_late_task(const struct thrum__search *search, uint32_t task,
	struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	uint32_t wait = thrum__why_ready_since(search, task, &delay->ready);

	if (wait == THRUM__NONE || model->end - delay->ready < LATE)
		return false;
	delay->kind = THRUM__DELAY_READ;
	delay->by = resolver_of(model, thrum__model_heir(model, THRUM__EDGE(model, wait, to)));
	delay->lane = lane_at(model, task, model->end);
	return true;
}

/* Whether a task could have run, but never did anything. */
static bool is_new(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, run) == THRUM__NONE &&
		THRUM__TASK(model, task, edge_out) == THRUM__NONE &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING) &&
		!thrum__analyse_task_is_object(model, task) &&
		model->end - THRUM__TASK(model, task, created) >= LATE;
}

/* Counts how the peers of each task start. Returns NULL if memory ran out. */
static struct starts *count_starts(const struct thrum__search *search)
{
	const struct thrum__model *model = search->model;
	struct starts *all = calloc((size_t)search->peers.keys.count + 1, sizeof *all);

	for (uint32_t run = model->runs.first; all && run < model->runs.count; run++) {
		uint32_t task, key;
		int64_t life;

		if (!thrum__model_has_row(&model->runs, run)) {
			run |= THRUM__BLOCK_MASK;
			continue;
		}
		task = THRUM__RUN(model, run, task);
		if (THRUM__RUN(model, run, prev) != THRUM__NONE ||
			!thrum__model_has_row(&model->tasks, task))
			continue;
		key = thrum__why_peers_key(&search->peers, task);
		if (key == THRUM__NONE)
			continue;
		life = THRUM__RUN(model, run, start) - THRUM__TASK(model, task, created);
		all[key].count++;
		all[key].longest = life > all[key].longest ? life : all[key].longest;
		all[key].lanes |= UINT64_C(1) << (THRUM__RUN(model, run, lane) % LANES_MAX);
	}
	return all;
}

/* The task's one lane: the lane on which its peers start; NONE if there are several. */
static uint32_t lane_of_starts(const struct thrum__model *model, const struct starts *starts)
{
	uint32_t lane = 0;

	if (model->lane_count > LANES_MAX || (starts->lanes & (starts->lanes - 1)))
		return THRUM__NONE;
	while (!(starts->lanes >> lane & 1))
		lane++;
	return lane;
}

/* Whether a task is new for so long that the starts of its peers may tell something, if enough ran. */
static bool may_start_late(const struct thrum__search *search, uint32_t task)
{
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

	return peer && peer->ran >= STARTED_MIN && peer->ran >= peer->ended &&
		search->model->end - THRUM__TASK(search->model, task, created) >= LONG_RUN &&
		is_new(search->model, task);
}

/* Whether a task never ran, although others like it did, soon. */
static bool is_late_start(const struct thrum__search *search, const struct starts *starts,
	uint32_t task, struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	const struct thrum__peer *peer = thrum__why_peers_of(&search->peers, task);

	if (!may_start_late(search, task))
		return false;
	starts += thrum__why_peers_key(&search->peers, task);
	*delay = (struct thrum__delay){.kind = THRUM__DELAY_START,
		.certainty = THRUM__LIKELY,
		.by = thrum__why_known(model, THRUM__TASK(model, task, creator)),
		.ready = THRUM__TASK(model, task, created)};
	if (starts->count < STARTED_MIN || starts->count < peer->ended ||
		(model->end - delay->ready) / 2 < starts->longest)
		return false;
	delay->lane = lane_of_starts(model, starts);
	return delay->lane != THRUM__NONE;
}

/* A pending task that waits for this one; NONE if the latest edges show none. */
static uint32_t waiter_of(const struct thrum__model *model, uint32_t task)
{
	THRUM__ACTS_ON (model, task, edge, LOOK_BACK, THRUM__EDGE_WAIT) {
		uint32_t from = THRUM__EDGE(model, edge, from);

		if (from != task && thrum__analyse_task_is_pending(model, from))
			return from;
	}
	return THRUM__NONE;
}

/* Whether a task waits for an answer that its lane can't take, as one task has run there for a
 * second. */
static bool is_late_answer(const struct thrum__search *search, uint32_t task,
	struct thrum__delay *delay)
{
	const struct thrum__model *model = search->model;
	int kind = THRUM__TASK(model, task, kind);
	uint32_t lane = THRUM__TASK(model, task, lane), run, waiter;

	if (kind != THRUM_KIND_REQUEST && kind != THRUM_KIND_TIMER && kind != THRUM_KIND_HANDLE)
		return false;
	run = lane < model->lane_count ? model->lanes[lane].run : THRUM__NONE;
	if (!thrum__model_has_row(&model->runs, run) ||
		model->end - THRUM__RUN(model, run, start) < LONG_RUN ||
		THRUM__TASK(model, task, flags) & THRUM__TASK_DUE)
		return false;
	waiter = waiter_of(model, task);
	*delay = (struct thrum__delay){.kind = THRUM__DELAY_ANSWER,
		.by = THRUM__NONE,
		.lane = lane,
		.ready = THRUM__RUN(model, run, start)};
	if (THRUM__TASK(model, task, created) > delay->ready)
		delay->ready = THRUM__TASK(model, task, created);
	if (waiter == THRUM__NONE || waiter == THRUM__RUN(model, run, task) ||
		model->end - delay->ready < LONG_RUN)
		return false;
	delay->certainty = thrum__why_peers_is_overdue(&search->peers, waiter) ||
			(kind != THRUM_KIND_HANDLE &&
				thrum__why_peers_is_overdue(&search->peers, task))
		? THRUM__LIKELY
		: THRUM__POSSIBLE;
	return delay->certainty == THRUM__LIKELY ||
		(kind == THRUM_KIND_REQUEST && !thrum__why_peers_is_young(&search->peers, task) &&
			!thrum__why_peers_is_young(&search->peers, waiter));
}

static int find_late_tasks(struct thrum__search *search)
{
	const unsigned sorts = THRUM__SORT_READY | THRUM__SORT_OUTSIDE | THRUM__SORT_WANTED;
	const struct thrum__model *model = search->model;
	unsigned left = DELAYS_MAX;
	struct starts *starts = NULL;

	for (uint32_t i = thrum__why_next(search, 0, sorts); i < model->tasks.count && left > 0;
		i = thrum__why_next(search, i + 1, sorts)) {
		struct thrum__delay delay = {.certainty = THRUM__LIKELY};

		if (!thrum__analyse_task_is_pending(model, i) ||
			thrum__analyse_task_is_lane(model, i) ||
			*thrum__cause(search, i) != THRUM__NONE)
			continue;
		if (!starts && may_start_late(search, i)) {
			starts = count_starts(search);
			if (!starts)
				return -THRUM_E_MEMORY;
		}
		if (!is_late_task(search, i, &delay) &&
			!(starts && is_late_start(search, starts, i, &delay)) &&
			!is_late_answer(search, i, &delay))
			continue;
		delay.task = i;
		delay.ran = model->end;
		delay.edge = THRUM__NONE;
		left--;
		thrum__why_blame_hog(search, &delay);
	}
	free(starts);
	return 0;
}

int thrum__why_find_starved(struct thrum__search *search)
{
	int error;

	search->runs_left = search->model->runs.count / 4;
	error = search_edges(search);
	find_late_timers(search);
	return error < 0 ? error : find_late_tasks(search);
}
