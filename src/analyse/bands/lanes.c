/* SPDX-License-Identifier: ISC */
/* Lists the runs of each lane, with sums and the longest runs; the holes in which nothing runs; and the
 * lanes by name. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "base/array.h"
#include "base/sort.h"

#define HOLES_MOST 16384 /* a hole that is kept takes at least this part of the time */
#define THREADS_MOST 8   /* rows of threads */
#define BUSIEST 6        /* rows, if there are more threads */

/* Whether a run is of no lane's own task. */
static bool counts(const struct thrum__bands *bands, uint32_t run)
{
	const struct thrum__model *model = bands->model;
	uint32_t task;

	if (!thrum__model_has_row(&model->runs, run))
		return false;
	task = THRUM__RUN(model, run, task);
	return !thrum__model_has_row(&model->tasks, task) ||
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE);
}

static int64_t length_of(const struct thrum__bands *bands, uint32_t run)
{
	int64_t length = thrum__bands_run_end(bands, run) - THRUM__RUN(bands->model, run, start);

	return length > 0 ? length : 0;
}

/* ---- Runs by lane --------------------------------------------------------------------------- */

static int list_runs(struct thrum__bands *bands)
{
	const struct thrum__model *model = bands->model;
	struct thrum__bands_lanes *lanes = bands->lanes;
	uint32_t at = 0;

	lanes->lane_count = model->lane_count;
	lanes->lanes = calloc((size_t)model->lane_count + 1, sizeof *lanes->lanes);
	if (!lanes->lanes)
		return -THRUM_E_MEMORY;
	for (uint32_t i = model->runs.first; i < model->runs.count; i++)
		if (counts(bands, i))
			lanes->lanes[THRUM__RUN(model, i, lane)].count++;
	for (uint32_t i = 0; i < lanes->lane_count; i++) {
		lanes->lanes[i].first = at;
		at += lanes->lanes[i].count;
		lanes->lanes[i].count = 0;
	}
	lanes->run_count = at;
	lanes->runs = malloc(((size_t)at + 1) * sizeof *lanes->runs);
	if (!lanes->runs)
		return -THRUM_E_MEMORY;
	for (uint32_t i = model->runs.first; i < model->runs.count; i++)
		if (counts(bands, i)) {
			struct thrum__bands_lane *lane = &lanes->lanes[THRUM__RUN(model, i, lane)];

			lanes->runs[lane->first + lane->count++] = i;
		}
	return 0;
}

/* How many groups of 16 runs there are, of 256, and so on. */
static uint32_t groups_of(uint32_t count, unsigned level)
{
	unsigned shift = THRUM__BANDS_SHIFT * (level + 1);

	return shift < 32 ? (uint32_t)(((uint64_t)count + (UINT64_C(1) << shift) - 1) >> shift)
			  : count > 0;
}

static void sum_lane(struct thrum__bands *bands, struct thrum__bands_lane *lane)
{
	struct thrum__bands_lanes *lanes = bands->lanes;
	const uint32_t *runs = lanes->runs + lane->first;
	struct thrum__bands_ran *sums = lanes->sums + lane->first_sum;
	int64_t sum = 0, best = -1;

	for (uint32_t i = 0; i < lane->count; i++) {
		uint32_t *longest =
			&lanes->longest[lane->first_longest[0] + (i >> THRUM__BANDS_SHIFT)];
		int64_t length = length_of(bands, runs[i]);

		if (i % (1 << THRUM__BANDS_SHIFT) == 0) {
			sums[i >> THRUM__BANDS_SHIFT] =
				(struct thrum__bands_ran){THRUM__RUN(bands->model, runs[i], start),
					sum};
			best = -1;
		}
		if (length > best) {
			best = length;
			*longest = i;
		}
		sum += length;
	}
	sums[groups_of(lane->count, 0)] = (struct thrum__bands_ran){lane->count
			? thrum__bands_run_end(bands, runs[lane->count - 1])
			: 0,
		sum};
	for (unsigned level = 1; level < THRUM__BANDS_LEVELS; level++)
		for (uint32_t i = 0; i < groups_of(lane->count, level - 1); i++) {
			uint32_t below = lanes->longest[lane->first_longest[level - 1] + i];
			uint32_t *longest = &lanes->longest[lane->first_longest[level] +
				(i >> THRUM__BANDS_SHIFT)];

			if (i % (1 << THRUM__BANDS_SHIFT) == 0 ||
				length_of(bands, runs[below]) > length_of(bands, runs[*longest]))
				*longest = below;
		}
}

static int sum_lanes(struct thrum__bands *bands)
{
	struct thrum__bands_lanes *lanes = bands->lanes;
	uint32_t sums = 0, longest = 0;

	for (uint32_t i = 0; i < lanes->lane_count; i++) {
		struct thrum__bands_lane *lane = &lanes->lanes[i];

		lane->first_sum = sums;
		sums += groups_of(lane->count, 0) + 1;
		for (unsigned level = 0; level < THRUM__BANDS_LEVELS; level++) {
			lane->first_longest[level] = longest;
			longest += groups_of(lane->count, level);
		}
	}
	lanes->sum_count = sums;
	lanes->longest_count = longest;
	lanes->sums = malloc(((size_t)sums + 1) * sizeof *lanes->sums);
	lanes->longest = malloc(((size_t)longest + 1) * sizeof *lanes->longest);
	if (!lanes->sums || !lanes->longest)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < lanes->lane_count; i++)
		sum_lane(bands, &lanes->lanes[i]);
	return 0;
}

/* ---- Holes ---------------------------------------------------------------------------------- */

static int add_hole(struct thrum__bands_lanes *lanes, int64_t from, int64_t to)
{
	struct thrum__bands_hole *grown;

	if (to - from < lanes->hole_least)
		return 0;
	grown = thrum__base_grow(lanes->holes, &lanes->hole_room, lanes->hole_count + UINT64_C(1),
		sizeof *grown);
	if (!grown)
		return -THRUM_E_MEMORY;
	lanes->holes = grown;
	grown[lanes->hole_count++] = (struct thrum__bands_hole){from, to};
	return 0;
}

/* The runs that count, by start. Runs nearly always are: only late events are not. */
static int sort_runs(const struct thrum__bands *bands, struct thrum__base_sort_item **sorted)
{
	const struct thrum__model *model = bands->model;
	size_t room = bands->lanes->run_count + (size_t)1;
	struct thrum__base_sort_item *items = malloc(2 * room * sizeof *items);
	uint32_t count = 0;

	if (!items)
		return -THRUM_E_MEMORY;
	for (uint32_t i = model->runs.first; i < model->runs.count; i++)
		if (counts(bands, i))
			items[count++] = (struct thrum__base_sort_item){THRUM__RUN(model, i, start),
				i};
	thrum__base_sort(items, items + room, count, NULL, NULL);
	*sorted = items;
	return 0;
}

/* Goes on with the next run by start: a hole lies between the end of all before and its start. */
static int pass_run(struct thrum__bands *bands, int64_t start, uint32_t run, int64_t *until)
{
	int64_t end = thrum__bands_run_end(bands, run);
	int error = 0;

	if (*until != INT64_MIN && start > *until)
		error = add_hole(bands->lanes, *until, start);
	*until = end > *until ? end : *until;
	return error;
}

static int find_holes(struct thrum__bands *bands)
{
	struct thrum__bands_lanes *lanes = bands->lanes;
	const struct thrum__model *model = bands->model;
	struct thrum__base_sort_item *sorted;
	int64_t until = INT64_MIN, last = INT64_MIN;
	int error = 0;

	lanes->hole_least = (bands->to - bands->from) / HOLES_MOST + 1;
	for (uint32_t i = model->runs.first; error == 0 && i < model->runs.count; i++) {
		if (!counts(bands, i))
			continue;
		if (THRUM__RUN(model, i, start) < last)
			error = 1;
		last = THRUM__RUN(model, i, start);
		if (error == 0)
			error = pass_run(bands, last, i, &until);
	}
	if (error <= 0)
		return error;
	lanes->hole_count = 0;
	until = INT64_MIN;
	error = sort_runs(bands, &sorted);
	if (error < 0)
		return error;
	for (uint32_t i = 0; error == 0 && i < lanes->run_count; i++)
		error = pass_run(bands, sorted[i].key, sorted[i].item, &until);
	free(sorted);
	return error;
}

/* ---- Threads -------------------------------------------------------------------------------- */

static const char *lane_name(const struct thrum__bands *bands, uint32_t lane, size_t *size)
{
	uint32_t task = bands->model->lanes[lane].task;

	*size = 0;
	return thrum__model_has_row(&bands->model->tasks, task)
		? thrum__model_task_name(bands->model, task, size)
		: "";
}

/* Compares names, and numbers in them by value. */
static int compare_names(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t i = 0, j = 0;

	while (i < a_size && j < b_size) {
		if (a[i] >= '0' && a[i] <= '9' && b[j] >= '0' && b[j] <= '9') {
			uint64_t x = 0, y = 0;

			for (; i < a_size && a[i] >= '0' && a[i] <= '9'; i++)
				x = x * 10 + (uint64_t)(a[i] - '0');
			for (; j < b_size && b[j] >= '0' && b[j] <= '9'; j++)
				y = y * 10 + (uint64_t)(b[j] - '0');
			if (x != y)
				return x < y ? -1 : 1;
		} else if (a[i] != b[j]) {
			return (unsigned char)a[i] < (unsigned char)b[j] ? -1 : 1;
		} else {
			i++;
			j++;
		}
	}
	return (i < a_size) - (j < b_size);
}

static int compare_lanes(const struct thrum__bands *bands, uint32_t a, uint32_t b)
{
	size_t a_size, b_size;
	const char *x = lane_name(bands, a, &a_size), *y = lane_name(bands, b, &b_size);
	int order = compare_names(x, a_size, y, b_size);

	return order ? order : a < b ? -1 : a > b;
}

static int by_name(const void *context, uint32_t a, uint32_t b)
{
	return compare_lanes(context, a, b);
}

/* Threads with one lane come first, then by name. */
static int by_place(const void *context, uint32_t a, uint32_t b)
{
	const struct thrum__bands *bands = context;
	const struct thrum__bands_thread *x = &bands->threads[a], *y = &bands->threads[b];

	if ((x->count > 1) != (y->count > 1))
		return x->count > 1 ? 1 : -1;
	return compare_lanes(bands, x->lane, y->lane);
}

static bool same_name(const struct thrum__bands *bands, uint32_t a, uint32_t b)
{
	size_t a_size, b_size;
	const char *x = lane_name(bands, a, &a_size), *y = lane_name(bands, b, &b_size);

	return a_size == b_size && memcmp(x, y, a_size) == 0;
}

/* Makes one thread of the lanes of the same name, which stand together in `thread_lanes`. */
static void join_lanes(struct thrum__bands *bands)
{
	for (uint32_t i = 0; i < bands->lanes->lane_count; i++) {
		uint32_t lane = bands->thread_lanes[i];
		const struct thrum__bands_lane *runs = &bands->lanes->lanes[lane];
		struct thrum__bands_thread *thread = &bands->threads[bands->thread_count];

		if (i > 0 && same_name(bands, bands->thread_lanes[i - 1], lane))
			thread--;
		else
			*thread = (struct thrum__bands_thread){.lane = lane, .first = i};
		bands->thread_count = (uint32_t)(thread - bands->threads) + 1;
		thread->count++;
		thread->ran +=
			bands->lanes->sums[runs->first_sum + groups_of(runs->count, 0)].before;
	}
}

/* Puts the threads but for the busiest ones into one row at the end, if there are too many. */
static void join_others(struct thrum__bands *bands, struct thrum__base_sort_item *items)
{
	uint32_t count = bands->thread_count, at = 0, kept = 0;
	struct thrum__bands_thread others = {.is_others = true}, *threads = bands->threads;
	uint32_t *lanes = malloc(((size_t)bands->lanes->lane_count + 1) * sizeof *lanes);

	if (count <= THREADS_MOST || !lanes) {
		free(lanes);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){-threads[i].ran, i};
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (uint32_t i = 0; i < BUSIEST; i++)
		threads[items[i].item].is_others = true; /* for now: it stays */
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < count; i++)
			if (threads[i].is_others == (round == 0)) {
				memcpy(lanes + at, bands->thread_lanes + threads[i].first,
					threads[i].count * sizeof *lanes);
				threads[i].first = at;
				at += threads[i].count;
				if (round == 0)
					continue;
				if (others.count == 0) {
					others.lane = threads[i].lane;
					others.first = threads[i].first;
				}
				others.count += threads[i].count;
				others.ran += threads[i].ran;
			}
	for (uint32_t i = 0; i < count; i++)
		if (threads[i].is_others) {
			threads[kept] = threads[i];
			threads[kept++].is_others = false;
		}
	threads[kept++] = others;
	bands->thread_count = kept;
	memcpy(bands->thread_lanes, lanes, at * sizeof *lanes);
	free(lanes);
}

static int find_threads(struct thrum__bands *bands)
{
	uint32_t count = bands->lanes->lane_count;
	size_t room = (size_t)count + 1;
	struct thrum__base_sort_item *items = malloc(2 * room * sizeof *items);
	struct thrum__bands_thread *sorted = malloc(room * sizeof *sorted);

	bands->threads = malloc(room * sizeof *bands->threads);
	bands->thread_lanes = malloc(room * sizeof *bands->thread_lanes);
	if (!items || !sorted || !bands->threads || !bands->thread_lanes) {
		free(items);
		free(sorted);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){0, i};
	thrum__base_sort(items, items + count, count, by_name, bands);
	for (uint32_t i = 0; i < count; i++)
		bands->thread_lanes[i] = items[i].item;
	join_lanes(bands);
	for (uint32_t i = 0; i < bands->thread_count; i++)
		items[i] = (struct thrum__base_sort_item){0, i};
	thrum__base_sort(items, items + bands->thread_count, bands->thread_count, by_place, bands);
	for (uint32_t i = 0; i < bands->thread_count; i++)
		sorted[i] = bands->threads[items[i].item];
	memcpy(bands->threads, sorted, bands->thread_count * sizeof *sorted);
	join_others(bands, items);
	free(items);
	free(sorted);
	return 0;
}

/* ---- All of it ------------------------------------------------------------------------------ */

int thrum__bands_lanes_make(struct thrum__bands *bands)
{
	int error;

	bands->lanes = calloc(1, sizeof *bands->lanes);
	if (!bands->lanes)
		return -THRUM_E_MEMORY;
	error = list_runs(bands);
	if (error == 0)
		error = sum_lanes(bands);
	if (error == 0)
		error = find_holes(bands);
	if (error == 0)
		error = find_threads(bands);
	return error == 0 ? thrum__bands_slots_make(bands) : error;
}

void thrum__bands_lanes_free(struct thrum__bands_lanes *lanes)
{
	if (!lanes)
		return;
	free(lanes->lanes);
	free(lanes->runs);
	free(lanes->sums);
	free(lanes->longest);
	free(lanes->holes);
	free(lanes->slots);
	free(lanes);
}

size_t thrum__bands_lanes_memory(const struct thrum__bands_lanes *lanes)
{
	return lanes->lane_count * sizeof *lanes->lanes + lanes->run_count * sizeof *lanes->runs +
		lanes->sum_count * sizeof *lanes->sums +
		lanes->longest_count * sizeof *lanes->longest +
		lanes->hole_room * sizeof *lanes->holes + lanes->slot_count * sizeof *lanes->slots;
}
