/* SPDX-License-Identifier: ISC */
/* How lanes spent their time, the longest runs, and the rates of counters. */
#include <stdlib.h>

#include "analyse/stats/parts.h"
#include "base/array.h"
#include "base/sort.h"

const char *thrum__stats_lane_use_name(int kind)
{
	switch (kind) {
#define THRUM__X(NAME, word) \
	case THRUM__LANE_##NAME: return word;
		THRUM__LANE_USES(THRUM__X)
#undef THRUM__X
	default: return "unknown";
	}
}

int64_t thrum__stats_run_length(const struct thrum__model *model, uint32_t run)
{
	int64_t end = THRUM__RUN(model, run, end);

	return thrum__stats_time_between(THRUM__RUN(model, run, start),
		end == THRUM__OPEN ? model->end : end);
}

int64_t thrum__stats_time_run(const struct thrum__model *model, uint32_t task)
{
	int64_t sum = 0;

	for (uint32_t run = THRUM__TASK(model, task, run); thrum__model_has_row(&model->runs, run);
		run = THRUM__RUN(model, run, prev))
		sum = thrum__stats_add_time(sum, thrum__stats_run_length(model, run));
	return sum;
}

bool thrum__stats_clip(const struct thrum__stats *stats, int64_t start, int64_t end,
	int64_t *length)
{
	if (end == THRUM__OPEN)
		end = stats->model->end;
	if (start > stats->until || (end < stats->from && start < stats->from))
		return false;
	*length = thrum__stats_time_between(start < stats->from ? stats->from : start,
		end > stats->until ? stats->until : end);
	return true;
}

/* ---- Uses ---------------------------------------------------------------------------------- */

int thrum__stats_add_use(struct thrum__stats *stats, const struct thrum__lane_use *one,
	uint32_t text)
{
	struct thrum__lane_use *use;
	const char *string;
	size_t size;
	uint32_t i;

	string = thrum__model_string(stats->model, text, &size);
	if (thrum__base_keys_add(&stats->use_keys, (uint64_t)one->lane << 8 | one->kind, string,
		    size, &i) < 0)
		return -THRUM_E_MEMORY;
	if (i == stats->use_room) {
		use = thrum__base_grow(stats->uses, &stats->use_room, stats->use_room + UINT64_C(1),
			sizeof(*use));
		if (!use)
			return -THRUM_E_MEMORY;
		stats->uses = use;
	}
	use = &stats->uses[i];
	if (i == stats->use_count) {
		*use = (struct thrum__lane_use){.lane = one->lane, .kind = one->kind};
		stats->use_count++;
	}
	use->count += one->count;
	use->total = thrum__stats_add_time(use->total, one->total);
	use->max = use->max < one->max ? one->max : use->max;
	use->lost += one->lost;
	return 0;
}

/* Adds all suspensions, spans or gaps. */
static int add_stretches(struct thrum__stats *stats, const struct thrum__model_rows *rows,
	uint8_t kind)
{
	for (uint32_t i = rows->first; i < rows->count; i++) {
		const struct thrum__intervals *block = rows->block[i >> THRUM__BLOCK_SHIFT];
		uint32_t at = i & THRUM__BLOCK_MASK;
		struct thrum__lane_use use = {.kind = kind, .count = 1};

		if (!block ||
			!thrum__stats_clip(stats, block->start[at], block->end[at], &use.total))
			continue;
		use.lane = block->lane[at];
		use.max = use.total;
		use.lost = kind == THRUM__LANE_GAP ? block->count[at] : 0;
		if (thrum__stats_add_use(stats, &use, block->text[at]) < 0)
			return -THRUM_E_MEMORY;
	}
	return 0;
}

int64_t thrum__stats_lane_share(const struct thrum__stats *stats, const struct thrum__lane_use *use)
{
	const struct thrum__lane *lane;
	int64_t all;

	if (use->lane >= stats->model->lane_count)
		return 0;
	lane = &stats->model->lanes[use->lane];
	if (!thrum__stats_clip(stats, lane->first, lane->last, &all) || all == 0)
		return 0;
	return (int64_t)((double)use->total * 100000 / (double)all + 0.5);
}

/* ---- Longest runs -------------------------------------------------------------------------- */

/* The longest runs so far, as a binary heap: the first item gives way to the next longer run. */
struct heap {
	const struct thrum__model *model;
	struct thrum__base_sort_item *items; /* key: length; item: run */
	uint32_t count, most;
};

/* Whether a gives way to a longer run before b does: it is shorter, or as long and later. */
static bool gives_way(const struct thrum__base_sort_item *a, const struct thrum__base_sort_item *b)
{
	return a->key != b->key ? a->key < b->key : a->item > b->item;
}

static void sift_up(struct heap *heap, uint32_t i, struct thrum__base_sort_item item)
{
	for (; i > 0 && gives_way(&item, &heap->items[(i - 1) / 2]); i = (i - 1) / 2)
		heap->items[i] = heap->items[(i - 1) / 2];
	heap->items[i] = item;
}

static void sift_down(struct heap *heap, struct thrum__base_sort_item item)
{
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < heap->count &&
			gives_way(&heap->items[child + 1], &heap->items[child]))
			child++;
		if (child >= heap->count || !gives_way(&heap->items[child], &item))
			break;
		heap->items[i] = heap->items[child];
		i = child;
	}
	heap->items[i] = item;
}

static int compare_runs(const void *context, uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* Keeps a run if it is among the longest so far. */
static void offer_run(struct heap *heap, int64_t length, uint32_t run)
{
	struct thrum__base_sort_item item = {length, run};

	if (heap->count < heap->most)
		sift_up(heap, heap->count++, item);
	else if (heap->most > 0 && gives_way(&heap->items[0], &item))
		sift_down(heap, item);
}

/* Whether a task is a lane's own. A forgotten task counts as one. */
static bool is_own(const struct thrum__model *model, uint32_t task)
{
	return !thrum__model_has_row(&model->tasks, task) ||
		(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE);
}

/* Sums up the runs of each lane, in sums[2 × lane] for tasks and in sums[2 × lane + 1] for the
 * lane's own, and offers the former to the heap. */
static void measure_runs(const struct thrum__stats *stats, struct heap *heap,
	struct thrum__lane_use *sums)
{
	const struct thrum__model *model = stats->model;

	for (uint32_t run = model->runs.first; run < model->runs.count; run++) {
		struct thrum__lane_use *use;
		int64_t length;
		uint32_t lane;
		bool own;

		if (!thrum__model_has_row(&model->runs, run))
			continue;
		lane = THRUM__RUN(model, run, lane);
		if (lane >= model->lane_count ||
			!thrum__stats_clip(stats, THRUM__RUN(model, run, start),
				THRUM__RUN(model, run, end), &length))
			continue;
		own = is_own(model, THRUM__RUN(model, run, task));
		use = &sums[(size_t)lane * 2 + own];
		use->count++;
		use->total = thrum__stats_add_time(use->total, length);
		use->max = use->max < length ? length : use->max;
		if (!own)
			offer_run(heap, length, run);
	}
}

static int add_runs(struct thrum__stats *stats, struct heap *heap)
{
	const struct thrum__model *model = stats->model;
	struct thrum__lane_use *sums = calloc((size_t)model->lane_count * 2 + 1, sizeof(*sums));
	int error = sums ? 0 : -THRUM_E_MEMORY;

	if (error == 0)
		measure_runs(stats, heap, sums);
	for (uint32_t i = 0; i < model->lane_count * 2 && error == 0; i++) {
		sums[i].lane = i / 2;
		sums[i].kind = i % 2 ? THRUM__LANE_OWN : THRUM__LANE_RUNNING;
		if (sums[i].count > 0)
			error = thrum__stats_add_use(stats, &sums[i], THRUM__NONE);
	}
	free(sums);
	return error;
}

static int keep_longest(struct thrum__stats *stats, const struct heap *heap)
{
	struct thrum__base_sort_item *room = calloc((size_t)heap->count + 1, sizeof(*room));

	stats->longest = calloc((size_t)heap->count + 1, sizeof(*stats->longest));
	if (!room || !stats->longest) {
		free(room);
		return -THRUM_E_MEMORY;
	}
	stats->longest_count = heap->count;
	for (uint32_t i = 0; i < heap->count; i++)
		heap->items[i].key = -heap->items[i].key;
	thrum__base_sort(heap->items, room, heap->count, compare_runs, NULL);
	for (uint32_t i = 0; i < heap->count; i++)
		stats->longest[i] = heap->items[i].item;
	free(room);
	return 0;
}

int thrum__stats_lanes(struct thrum__stats *stats)
{
	const struct thrum__model *model = stats->model;
	uint32_t runs = model->runs.count - model->runs.first, longest = stats->most_longest;
	struct heap heap = {.model = model, .most = longest < runs ? longest : runs};
	int error = -THRUM_E_MEMORY;

	heap.items = calloc((size_t)heap.most + 1, sizeof(*heap.items));
	if (heap.items)
		error = add_runs(stats, &heap);
	if (error == 0)
		error = keep_longest(stats, &heap);
	free(heap.items);
	if (error == 0)
		error = add_stretches(stats, &model->suspensions, THRUM__LANE_SUSPENDED);
	if (error == 0)
		error = add_stretches(stats, &model->spans, THRUM__LANE_SPAN);
	if (error == 0)
		error = thrum__stats_off_cpu(stats);
	if (error == 0)
		error = add_stretches(stats, &model->gaps, THRUM__LANE_GAP);
	return error;
}

/* ---- Counters ------------------------------------------------------------------------------ */

/* The rate between two values. */
static bool rate_between(const struct thrum__counter *counter, uint32_t first, uint32_t last,
	int64_t *rate)
{
	double change, ns;

	ns = (double)THRUM__VALUE(counter, last, time) - (double)THRUM__VALUE(counter, first, time);
	if (ns <= 0)
		return false;
	change = ((double)THRUM__VALUE(counter, last, value) -
			 (double)THRUM__VALUE(counter, first, value)) *
		1e12 / ns;
	if (change > 9e18)
		*rate = INT64_MAX;
	else if (change < -9e18)
		*rate = -INT64_MAX;
	else
		*rate = (int64_t)(change < 0 ? change - 0.5 : change + 0.5);
	return true;
}

bool thrum__stats_counter_rate(const struct thrum__counter *counter, int64_t *rate)
{
	const struct thrum__model_rows *rows = &counter->values;

	return thrum__model_has_value(rows, rows->first) &&
		rate_between(counter, rows->first, rows->count - 1, rate);
}

/* Sums up the values of the time that counts. */
static struct thrum__counter_numbers sum_up(const struct thrum__stats *stats,
	const struct thrum__counter *counter)
{
	const struct thrum__model_rows *rows = &counter->values;
	struct thrum__counter_numbers n = {.min = INT64_MAX, .max = INT64_MIN};
	uint32_t first = 0, last = 0;

	for (uint32_t i = rows->first; i < rows->count; i++) {
		if (!thrum__model_has_value(rows, i))
			continue;
		int64_t time = THRUM__VALUE(counter, i, time);

		if (time < stats->from || time > stats->until)
			continue;
		last = i;
		n.last = THRUM__VALUE(counter, i, value);
		n.min = n.last < n.min ? n.last : n.min;
		n.max = n.last > n.max ? n.last : n.max;
		if (n.count++ == 0)
			first = i;
	}
	n.has_rate = n.count > 0 && rate_between(counter, first, last, &n.rate);
	return n;
}

struct thrum__counter_numbers thrum__stats_counter(const struct thrum__stats *stats,
	uint32_t counter)
{
	const struct thrum__counter *c = &stats->model->counters[counter];

	if (stats->from > INT64_MIN || stats->until < INT64_MAX)
		return sum_up(stats, c);
	struct thrum__counter_numbers n = {
		.count = c->values.count - c->values.first,
		.last = c->last,
		.min = c->min,
		.max = c->max,
	};

	n.has_rate = thrum__stats_counter_rate(c, &n.rate);
	return n;
}
