/* SPDX-License-Identifier: ISC */
/* How runs and lanes divide into time on a CPU and off it, where `thrum record --sched` tells. */
#include "analyse/slices.h"
#include "analyse/stats/parts.h"

static uint32_t lane_of(const struct thrum__model *model, uint32_t row)
{
	return THRUM__OFF_CPU(model, row, lane);
}

/* Returns the place of the lane's first row that ends after a time. */
static uint32_t first_after(const struct thrum__model *model, const struct thrum__slices *by_lane,
	uint32_t lane, int64_t time)
{
	uint32_t low = by_lane->first[lane], high = by_lane->first[lane + 1];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (THRUM__OFF_CPU(model, by_lane->rows[middle], end) <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Divides a run into its time by enum thrum__off_cpu_state. Returns the rest, on a CPU. */
static int64_t divide(const struct thrum__model *model, const struct thrum__slices *by_lane,
	uint32_t run, int64_t off[THRUM__OFF_CPU_STATES])
{
	int64_t start = THRUM__RUN(model, run, start), length = thrum__stats_run_length(model, run);
	uint32_t lane = THRUM__RUN(model, run, lane);
	int64_t end = thrum__stats_add_time(start, length), on = length;

	for (uint32_t i = first_after(model, by_lane, lane, start); i < by_lane->first[lane + 1];
		i++) {
		uint32_t row = by_lane->rows[i];
		int64_t from = THRUM__OFF_CPU(model, row, start);
		int64_t to = THRUM__OFF_CPU(model, row, end), part;

		if (from >= end)
			break;
		part = thrum__stats_time_between(from > start ? from : start, to < end ? to : end);
		off[thrum__model_off_cpu_state(model, row)] += part;
		on -= part;
	}
	return on > 0 ? on : 0;
}

static void add_run(struct thrum__stats *stats, const struct thrum__slices *by_lane, uint32_t run)
{
	const struct thrum__model *model = stats->model;
	uint32_t task = THRUM__RUN(model, run, task), lane = THRUM__RUN(model, run, lane);
	int64_t off[THRUM__OFF_CPU_STATES] = {0}, on;

	if (!thrum__stats_has(stats, task) || lane >= model->lane_count ||
		by_lane->first[lane] == by_lane->first[lane + 1])
		return;
	on = divide(model, by_lane, run, off);
	for (int by = 0; by < THRUM__TALLIES; by++) {
		uint32_t index = stats->by[by].of[thrum__stats_place(stats, task)];
		struct thrum__tally *tally;

		if (index == THRUM__NONE)
			continue;
		tally = &stats->by[by].tallies[index];
		tally->has_cpu = true;
		tally->on_cpu = thrum__stats_add_time(tally->on_cpu, on);
		tally->ready = thrum__stats_add_time(tally->ready,
			off[THRUM__OFF_CPU_PREEMPTED] + off[THRUM__OFF_CPU_WOKEN]);
		tally->blocked = thrum__stats_add_time(tally->blocked,
			off[THRUM__OFF_CPU_BLOCKED] + off[THRUM__OFF_CPU_PAGING]);
	}
}

/* Adds a stretch to *use. */
static void add_stretch(const struct thrum__stats *stats, struct thrum__lane_use *use,
	int64_t start, int64_t end)
{
	int64_t length;

	if (start >= end || !thrum__stats_clip(stats, start, end, &length))
		return;
	use->count++;
	use->total = thrum__stats_add_time(use->total, length);
	use->max = use->max < length ? length : use->max;
}

/* Adds how long a lane was on a CPU between its first event and its last, and why it was off. */
static int add_lane(struct thrum__stats *stats, const struct thrum__slices *by_lane, uint32_t lane)
{
	const struct thrum__model *model = stats->model;
	struct thrum__lane_use on = {.lane = lane, .kind = THRUM__LANE_ON_CPU};
	int64_t since = model->lanes[lane].first;
	int error = 0;

	for (uint32_t i = by_lane->first[lane]; i < by_lane->first[lane + 1] && error == 0; i++) {
		uint32_t row = by_lane->rows[i];
		struct thrum__lane_use off = {.lane = lane, .kind = THRUM__LANE_OFF_CPU};
		int64_t start = THRUM__OFF_CPU(model, row, start);
		int64_t end = THRUM__OFF_CPU(model, row, end);

		add_stretch(stats, &on, since, start);
		add_stretch(stats, &off, start, end);
		since = since > end ? since : end;
		if (off.count > 0)
			error = thrum__stats_add_use(stats, &off, THRUM__OFF_CPU(model, row, text));
	}
	add_stretch(stats, &on, since, model->lanes[lane].last);
	return error == 0 && on.count > 0 ? thrum__stats_add_use(stats, &on, THRUM__NONE) : error;
}

int thrum__stats_off_cpu(struct thrum__stats *stats)
{
	const struct thrum__model *model = stats->model;
	struct thrum__slices by_lane;
	int error;

	if (model->off_cpu.count == model->off_cpu.first)
		return 0;
	error = thrum__analyse_slices_make(model, &model->off_cpu, model->lane_count, lane_of,
		&by_lane);
	for (uint32_t run = model->runs.first; run < model->runs.count && error == 0; run++)
		if (thrum__model_has_row(&model->runs, run))
			add_run(stats, &by_lane, run);
	for (uint32_t lane = 0; lane < model->lane_count && error == 0; lane++)
		if (by_lane.first[lane] < by_lane.first[lane + 1])
			error = add_lane(stats, &by_lane, lane);
	thrum__analyse_slices_free(&by_lane);
	return error;
}
