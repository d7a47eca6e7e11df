/* SPDX-License-Identifier: ISC */
/* Counts and measures tasks. lanes.c does so for lanes and runs. */
#include "analyse/stats/stats.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "analyse/stats/parts.h"
#include "base/array.h"
#include "base/sort.h"

/* Stands for the kind of a task that the trace never saw created. */
#define PREEXISTING 256

int64_t thrum__stats_time_between(int64_t from, int64_t to)
{
	int64_t length;

	if (to <= from)
		return 0;
	return __builtin_sub_overflow(to, from, &length) ? INT64_MAX : length;
}

int64_t thrum__stats_add_time(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static unsigned kind_of(const struct thrum__model *model, uint32_t task)
{
	if (THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING)
		return PREEXISTING;
	return THRUM__TASK(model, task, kind);
}

const char *thrum__stats_task_kind(const struct thrum__model *model, uint32_t task)
{
	unsigned kind = kind_of(model, task);

	return kind == PREEXISTING ? "preexisting" : thrum_kind_name((int)kind);
}

bool thrum__stats_task_is_stuck(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, state) == THRUM__STATE_PENDING &&
		thrum__model_is_stuck(model, task);
}

/* ---- Tallies ------------------------------------------------------------------------------- */

/* Sets *tally to the index of the task's tally; leaves it if the task has none. */
static int find_tally(struct thrum__tallies *tallies, const struct thrum__model *model, int by,
	uint32_t task, uint32_t *tally)
{
	char pattern[THRUM__LABEL_PATTERN_MAX];
	const char *label;
	size_t size = 0;

	switch (by) {
	case THRUM__BY_LABEL:
		label = thrum__model_string(model, THRUM__TASK(model, task, name), &size);
		size = thrum__analyse_label_pattern(label, size, pattern);
		return thrum__base_keys_add(&tallies->keys, kind_of(model, task), pattern, size,
			tally);
	case THRUM__BY_KIND:
		return thrum__base_keys_add(&tallies->keys, kind_of(model, task), "", 0, tally);
	default:
		if (!thrum__model_site(model, task))
			return 0;
		return thrum__base_keys_add(&tallies->keys, THRUM__TASK(model, task, site), "", 0,
			tally);
	}
}

/* The tally of that index, which is added for `task` if it is new. NULL: no memory. */
static struct thrum__tally *tally_at(struct thrum__tallies *tallies, uint32_t index, uint32_t task)
{
	if (index == tallies->room) {
		struct thrum__tally *grown = thrum__base_grow(tallies->tallies, &tallies->room,
			tallies->room + UINT64_C(1), sizeof(*grown));

		if (!grown)
			return NULL;
		tallies->tallies = grown;
	}
	if (index == tallies->count) {
		tallies->tallies[index] = (struct thrum__tally){.sample = task};
		tallies->count++;
	}
	return &tallies->tallies[index];
}

static int count_task(struct thrum__stats *stats, int by, uint32_t task)
{
	struct thrum__tallies *tallies = &stats->by[by];
	const struct thrum__model *model = stats->model;
	uint8_t state = THRUM__TASK(model, task, state);
	struct thrum__tally *tally;
	uint32_t index = THRUM__NONE;
	int error = find_tally(tallies, model, by, task, &index);

	tallies->of[thrum__stats_place(stats, task)] = index;
	if (error < 0 || index == THRUM__NONE)
		return error;
	tally = tally_at(tallies, index, task);
	if (!tally)
		return -THRUM_E_MEMORY;
	tally->tasks++;
	if (state < sizeof(tally->state) / sizeof(tally->state[0]))
		tally->state[state]++;
	tally->stuck += thrum__stats_task_is_stuck(model, task);
	for (int measure = 0; measure < THRUM__MEASURE_COUNT; measure++)
		tally->spread[measure].count +=
			stats->measure[measure][thrum__stats_place(stats, task)] >= 0;
	return 0;
}

static int64_t start_of(const struct thrum__stats *stats, uint32_t task)
{
	return stats->simplify ? THRUM__TASK(stats->model, task, start)
			       : THRUM__TASK(stats->model, task, created);
}

/* Whether a task is in the numbers: it lived in the time that counts, and is no lane's own. */
static bool is_counted(const struct thrum__stats *stats, uint32_t task)
{
	const struct thrum__model *model = stats->model;

	return thrum__model_has_row(&model->tasks, task) &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE) &&
		start_of(stats, task) <= stats->until &&
		THRUM__TASK(model, task, end) >= stats->from;
}

static int count_tasks(struct thrum__stats *stats, int by)
{
	struct thrum__tallies *tallies = &stats->by[by];

	tallies->of = calloc((size_t)stats->places + 1, sizeof(*tallies->of));
	if (!tallies->of)
		return -THRUM_E_MEMORY;
	for (uint32_t task = thrum__stats_next(stats, 0); task < stats->task_count;
		task = thrum__stats_next(stats, task + 1)) {
		tallies->of[thrum__stats_place(stats, task)] = THRUM__NONE;
		if (is_counted(stats, task) && count_task(stats, by, task) < 0)
			return -THRUM_E_MEMORY;
	}
	return 0;
}

/* ---- Measures ------------------------------------------------------------------------------ */

static bool has_life(const struct thrum__model *model, uint32_t task)
{
	return THRUM__TASK(model, task, state) != THRUM__STATE_PENDING &&
		THRUM__TASK(model, task, end) != THRUM__OPEN &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING);
}

/* Sums up each task's runs in the measure RUNNING, and their parts within its life in the measure
 * WAITING, from which measure_tasks then makes the waiting time. */
static void measure_runs(struct thrum__stats *stats)
{
	const struct thrum__model *model = stats->model;
	int64_t *running = stats->measure[THRUM__MEASURE_RUNNING];
	int64_t *within = stats->measure[THRUM__MEASURE_WAITING];

	for (uint32_t run = model->runs.first; run < model->runs.count; run++) {
		int64_t start, end, begin, length;
		uint32_t task, place;

		if (!thrum__model_has_row(&model->runs, run))
			continue;
		task = THRUM__RUN(model, run, task);
		if (!thrum__model_has_row(&model->tasks, task))
			continue;
		place = thrum__stats_place(stats, task);
		length = thrum__stats_run_length(model, run);
		running[place] = thrum__stats_add_time(running[place], length);
		start = THRUM__RUN(model, run, start);
		begin = start_of(stats, task);
		end = THRUM__TASK(model, task, end);
		if (start < begin || length > thrum__stats_time_between(start, end))
			length = thrum__stats_time_between(start < begin ? begin : start,
				end < start + length ? end : start + length);
		within[place] = thrum__stats_add_time(within[place], length);
	}
}

static void measure_tasks(struct thrum__stats *stats)
{
	const struct thrum__model *model = stats->model;
	int64_t **measure = stats->measure;

	measure_runs(stats);
	for (uint32_t task = thrum__stats_next(stats, 0); task < stats->task_count;
		task = thrum__stats_next(stats, task + 1)) {
		uint32_t i = thrum__stats_place(stats, task);
		int64_t life, within = measure[THRUM__MEASURE_WAITING][i];

		measure[THRUM__MEASURE_LIFE][i] = measure[THRUM__MEASURE_WAITING][i] = -1;
		if (!is_counted(stats, task))
			measure[THRUM__MEASURE_RUNNING][i] = -1;
		else if (has_life(model, task)) {
			life = thrum__stats_time_between(start_of(stats, task),
				THRUM__TASK(model, task, end));
			measure[THRUM__MEASURE_LIFE][i] = life;
			/* On two lanes at once, a task can run for longer than it lives. */
			measure[THRUM__MEASURE_WAITING][i] = within < life ? life - within : 0;
		}
	}
}

/* ---- Spreads ------------------------------------------------------------------------------- */

/* The nearest rank of a percentile among so many values, from 1. */
static uint64_t rank(uint64_t count, unsigned percent)
{
	return (count * percent + 99) / 100;
}

/* Fills in a spread from its values, which are moved about. */
static void set_spread(struct thrum__spread *spread, int64_t *values)
{
	const unsigned percents[] = {99, 90, 50};
	int64_t *results[] = {&spread->p99, &spread->p90, &spread->p50};
	uint32_t left = (uint32_t)spread->count;

	if (left == 0)
		return;
	spread->min = spread->max = values[0];
	for (uint64_t i = 0; i < spread->count; i++) {
		spread->total = thrum__stats_add_time(spread->total, values[i]);
		spread->min = values[i] < spread->min ? values[i] : spread->min;
		spread->max = values[i] > spread->max ? values[i] : spread->max;
	}
	spread->mean = spread->total / (int64_t)spread->count;
	/* Those below a percentile lie before it. */
	for (int i = 0; i < 3; i++) {
		uint32_t at = (uint32_t)rank(spread->count, percents[i]);

		*results[i] = thrum__base_select(values, left, at - 1);
		left = at;
	}
}

/* Lays the values of each tally side by side: walking over them in the order of tasks is far faster than
 * looking each up. `room` has room for the values of all. */
static int spread_tallies(const struct thrum__stats *stats, struct thrum__tallies *tallies,
	int measure, int64_t *room)
{
	uint32_t *first = calloc((size_t)tallies->count + 1, sizeof(*first));
	uint32_t *seen = calloc((size_t)tallies->count + 1, sizeof(*seen));

	for (uint32_t i = 0; first && i < tallies->count; i++)
		first[i + 1] = first[i] + (uint32_t)tallies->tallies[i].spread[measure].count;
	for (uint32_t place = 0; first && seen && place < stats->places; place++) {
		int64_t value = stats->measure[measure][place];
		uint32_t i = tallies->of[place];

		if (value >= 0 && i != THRUM__NONE && first[i] + seen[i] < first[i + 1])
			room[first[i] + seen[i]++] = value;
	}
	for (uint32_t i = 0; first && seen && i < tallies->count; i++)
		set_spread(&tallies->tallies[i].spread[measure], &room[first[i]]);
	free(seen);
	free(first);
	return first && seen ? 0 : -THRUM_E_MEMORY;
}

static int spread_measure(struct thrum__stats *stats, int measure)
{
	int64_t *room = calloc((size_t)stats->places + 1, sizeof(*room));
	int error = room ? 0 : -THRUM_E_MEMORY;

	for (int by = 0; by < THRUM__TALLIES && error == 0; by++)
		error = spread_tallies(stats, &stats->by[by], measure, room);
	free(room);
	return error;
}

/* ---- All statistics ------------------------------------------------------------------------ */

/* Numbers the tasks so that forgotten blocks take no memory. */
static int place_tasks(struct thrum__stats *stats)
{
	const struct thrum__model *model = stats->model;
	uint32_t blocks = (stats->task_count + THRUM__BLOCK_MASK) >> THRUM__BLOCK_SHIFT;

	stats->place = calloc((size_t)blocks + 1, sizeof(*stats->place));
	if (!stats->place)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t rest = stats->task_count - (i << THRUM__BLOCK_SHIFT);

		stats->place[i] = THRUM__NONE;
		if (!model->tasks.block[i])
			continue;
		stats->place[i] = stats->places;
		stats->places += rest < THRUM__BLOCK ? rest : THRUM__BLOCK;
	}
	return 0;
}

static int allocate(struct thrum__stats *stats)
{
	if (place_tasks(stats) < 0)
		return -THRUM_E_MEMORY;
	for (int measure = 0; measure < THRUM__MEASURE_COUNT; measure++) {
		stats->measure[measure] = calloc((size_t)stats->places + 1,
			sizeof(**stats->measure));
		if (!stats->measure[measure])
			return -THRUM_E_MEMORY;
	}
	return 0;
}

enum {
	STEP_MEASURE,
	STEP_COUNT,                                /* for each tally */
	STEP_SPREAD = STEP_COUNT + THRUM__TALLIES, /* for each measure */
	STEP_LANES = STEP_SPREAD + THRUM__MEASURE_COUNT,
	STEPS,
};

static int make_step(struct thrum__stats *stats, int step)
{
	int error = 0;

	if (step == STEP_MEASURE) {
		error = allocate(stats);
		if (error == 0)
			measure_tasks(stats);
	} else if (step < STEP_SPREAD) {
		error = count_tasks(stats, step - STEP_COUNT);
	} else if (step < STEP_LANES) {
		error = spread_measure(stats, step - STEP_SPREAD);
	} else {
		error = thrum__stats_lanes(stats);
	}
	return error;
}

void thrum__stats_begin(struct thrum__stats *stats, const struct thrum__model *model, bool simplify,
	uint32_t longest)
{
	*stats = (struct thrum__stats){.model = model,
		.from = INT64_MIN,
		.until = INT64_MAX,
		.task_count = model->tasks.count,
		.most_longest = longest,
		.simplify = simplify};
}

int thrum__stats_measure(const struct thrum__model *model, bool simplify,
	struct thrum__stats *stats)
{
	struct thrum__stats made;

	thrum__stats_begin(&made, model, simplify, 0);
	if (thrum__stats_go_on(&made) < 0)
		return -THRUM_E_MEMORY;
	*stats = made;
	return 0;
}

int thrum__stats_go_on(struct thrum__stats *stats)
{
	int error = stats->step < STEPS ? make_step(stats, stats->step) : 0;

	if (error < 0)
		thrum__stats_free(stats);
	else if (stats->step < STEPS)
		stats->step++;
	return error < 0 ? error : stats->step < STEPS;
}

int thrum__stats_make_between(const struct thrum__model *model, bool simplify, uint32_t longest,
	int64_t from, int64_t until, struct thrum__stats *stats)
{
	struct thrum__stats made;
	int more;

	thrum__stats_begin(&made, model, simplify, longest);
	made.from = from;
	made.until = until;
	do
		more = thrum__stats_go_on(&made);
	while (more > 0);
	if (more == 0)
		*stats = made;
	return more;
}

int thrum__stats_make(const struct thrum__model *model, bool simplify, uint32_t longest,
	struct thrum__stats *stats)
{
	return thrum__stats_make_between(model, simplify, longest, INT64_MIN, INT64_MAX, stats);
}

void thrum__stats_free(struct thrum__stats *stats)
{
	for (int measure = 0; measure < THRUM__MEASURE_COUNT; measure++)
		free(stats->measure[measure]);
	free(stats->place);
	for (int by = 0; by < THRUM__TALLIES; by++) {
		free(stats->by[by].tallies);
		free(stats->by[by].of);
		thrum__base_keys_free(&stats->by[by].keys);
	}
	free(stats->uses);
	free(stats->longest);
	thrum__base_keys_free(&stats->use_keys);
	*stats = (struct thrum__stats){0};
}
