/* SPDX-License-Identifier: ISC */
/* How much threads run, their longest runs, for whom they run, and when none runs. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "base/sort.h"

#define OWNERS 8 /* steps up from a run to those for whom it is */
#define MANY 400 /* runs of a column of which a few don't matter */

static int64_t start_of(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	uint32_t i)
{
	return THRUM__RUN(bands->model, bands->lanes->runs[lane->first + i], start);
}

static int64_t end_of(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	uint32_t i)
{
	return thrum__bands_run_end(bands, bands->lanes->runs[lane->first + i]);
}

/* The first run of a lane, from `low` on, that starts at or after a time. Looks near `low` first. */
static uint32_t find_run(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	uint32_t low, int64_t time)
{
	uint32_t step = 1, high = low;

	while (high < lane->count && start_of(bands, lane, high) < time) {
		low = high + 1;
		high = lane->count - high > step ? high + step : lane->count;
		step *= 2;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (start_of(bands, lane, middle) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many ns a lane ran in its first `count` runs. */
static int64_t sum_of(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	uint32_t count)
{
	uint32_t i = count >> THRUM__BANDS_SHIFT << THRUM__BANDS_SHIFT;
	int64_t sum = bands->lanes->sums[lane->first_sum + (i >> THRUM__BANDS_SHIFT)].before;

	for (; i < count; i++) {
		int64_t length = end_of(bands, lane, i) - start_of(bands, lane, i);

		sum += length > 0 ? length : 0;
	}
	return sum;
}

/* How many ns a lane ran before a time. *at: the number of runs that start before it; on entry, before
 * an earlier time. */
static int64_t ran_before(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	int64_t time, uint32_t *at)
{
	int64_t sum, beyond;

	*at = find_run(bands, lane, *at, time);
	if (*at == 0)
		return 0;
	sum = sum_of(bands, lane, *at);
	beyond = end_of(bands, lane, *at - 1) - time;
	return beyond > 0 ? sum - beyond : sum;
}

/* ---- Shares --------------------------------------------------------------------------------- */

/* The lanes of a thread, or all of them. */
static uint32_t lanes_of(const struct thrum__bands *bands, uint32_t thread, const uint32_t **lanes)
{
	if (thread >= bands->thread_count) {
		*lanes = bands->thread_lanes;
		return bands->lanes->lane_count;
	}
	*lanes = bands->thread_lanes + bands->threads[thread].first;
	return bands->threads[thread].count;
}

/* Adds the part of each column that a run covers. */
static void add_run(const struct thrum__bands_window *window, int64_t start, int64_t end,
	float *shares)
{
	const int64_t *times = window->times;
	uint32_t last;

	if (end <= times[0] || start >= times[window->columns])
		return;
	last = thrum__bands_window_column(window, end);
	for (uint32_t i = thrum__bands_window_column(window, start); i <= last; i++) {
		int64_t x = start > times[i] ? start : times[i];
		int64_t y = end < times[i + 1] ? end : times[i + 1];

		shares[i] += y > x ? (float)(y - x) : 0;
	}
}

/* About how many ns a lane ran before a time: by proportion between two of its sums. *at: the number of
 * the first one; on entry, that of an earlier time. */
static double ran_about(const struct thrum__bands_ran *sums, uint32_t count, int64_t time,
	uint32_t *at)
{
	uint32_t low = *at, step = 1, high = low + 1;
	double part;

	while (high < count && sums[high].start < time) {
		low = high;
		high = count - high > step ? high + step : count;
		step *= 2;
	}
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sums[middle].start < time)
			low = middle;
		else
			high = middle;
	}
	*at = low;
	if (low >= count || sums[low].start >= time)
		return (double)sums[low].before;
	part = (double)(time - sums[low].start) /
		(double)(sums[low + 1].start > sums[low].start
				? sums[low + 1].start - sums[low].start
				: 1);
	return (double)sums[low].before +
		(part < 1 ? part : 1) * (double)(sums[low + 1].before - sums[low].before);
}

/* Adds about how many ns a lane ran in each of a window's columns, in each of which lie very many runs. */
static void add_lane_about(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	const struct thrum__bands_window *window, float *shares)
{
	const struct thrum__bands_ran *sums = bands->lanes->sums + lane->first_sum;
	uint32_t count = (lane->count + (1 << THRUM__BANDS_SHIFT) - 1) >> THRUM__BANDS_SHIFT,
		 at = 0;
	double before = ran_about(sums, count, window->times[0], &at);

	for (uint32_t i = 0; i < window->columns; i++) {
		double next = ran_about(sums, count, window->times[i + 1], &at);

		shares[i] += (float)(next - before);
		before = next;
	}
}

/* Adds how many ns a lane ran in each column: run by run where there are few, else by sums. */
static void add_lane(const struct thrum__bands *bands, const struct thrum__bands_lane *lane,
	const struct thrum__bands_window *window, float *shares)
{
	uint32_t at = find_run(bands, lane, 0, window->times[0]);
	uint32_t end = find_run(bands, lane, at, window->times[window->columns]);
	int64_t before;

	if (end - at < window->columns / 2) {
		for (uint32_t i = at > 0 ? at - 1 : 0; i < end; i++)
			add_run(window, start_of(bands, lane, i), end_of(bands, lane, i), shares);
		return;
	}
	if ((end - at) / MANY >= window->columns) {
		add_lane_about(bands, lane, window, shares);
		return;
	}
	before = ran_before(bands, lane, window->times[0], &at);
	for (uint32_t column = 0; column < window->columns; column++) {
		int64_t next = ran_before(bands, lane, window->times[column + 1], &at);

		shares[column] += (float)(next - before);
		before = next;
	}
}

/* Makes shares of the columns out of sums of so many lanes. */
static void divide(const struct thrum__bands_window *window, uint32_t lanes, float *shares)
{
	for (uint32_t i = 0; i < window->columns; i++) {
		int64_t length = window->times[i + 1] - window->times[i];

		shares[i] = length > 0 && lanes > 0 ? shares[i] / ((float)length * (float)lanes)
						    : 0;
	}
}

void thrum__bands_thread_shares(const struct thrum__bands *bands, uint32_t thread,
	const struct thrum__bands_window *window, float *shares)
{
	const uint32_t *lanes;
	uint32_t count = lanes_of(bands, thread, &lanes);

	if (window->columns > 0 && thread < bands->thread_count &&
		thrum__bands_slots_shares(bands, thread, window, shares))
		return;
	memset(shares, 0, window->columns * sizeof *shares);
	for (uint32_t i = 0; window->columns > 0 && i < count; i++)
		if (bands->lanes->lanes[lanes[i]].count > 0)
			add_lane(bands, &bands->lanes->lanes[lanes[i]], window, shares);
	divide(window, count, shares);
}

double thrum__bands_thread_share(const struct thrum__bands *bands, uint32_t thread, int64_t from,
	int64_t to)
{
	const uint32_t *lanes;
	uint32_t count = lanes_of(bands, thread, &lanes);
	double ran = 0;

	thrum__bands_clip(bands, &from, &to);
	if (count == 0 || from >= to)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct thrum__bands_lane *lane = &bands->lanes->lanes[lanes[i]];
		uint32_t at = 0;
		int64_t before = lane->count ? ran_before(bands, lane, from, &at) : 0;

		if (lane->count)
			ran += (double)(ran_before(bands, lane, to, &at) - before);
	}
	return ran / ((double)(to - from) * count);
}

/* ---- The longest runs ----------------------------------------------------------------------- */

struct longest {
	const struct thrum__bands *bands;
	struct thrum__bands_run *runs;
	uint32_t count, most;
	int64_t least; /* a run must take at least so long to get in */
	uint32_t lane, first, end;
};

/* Puts a run among the longest so far. */
static void keep_run(struct longest *longest, uint32_t i)
{
	const struct thrum__bands *bands = longest->bands;
	const struct thrum__bands_lane *lane = &bands->lanes->lanes[longest->lane];
	int64_t start = start_of(bands, lane, i), end = end_of(bands, lane, i);
	uint32_t at = longest->count, run = bands->lanes->runs[lane->first + i];

	if (end - start < longest->least)
		return;
	while (at > 0 && longest->runs[at - 1].ran < end - start)
		at--;
	if (at >= longest->most)
		return;
	longest->count += longest->count < longest->most;
	for (uint32_t j = longest->count - 1; j > at; j--)
		longest->runs[j] = longest->runs[j - 1];
	longest->runs[at] = (struct thrum__bands_run){
		.from = start,
		.to = end,
		.ran = end - start,
		.lane = longest->lane,
		.task = THRUM__RUN(bands->model, run, task),
		.run = run,
	};
	if (longest->count == longest->most)
		longest->least = longest->runs[longest->most - 1].ran + 1;
}

/* Looks at group `index` of 16^(level + 1) runs, if its longest one gets in. */
static void search_runs(struct longest *longest, unsigned level, uint32_t index)
{
	const struct thrum__bands_lanes *lanes = longest->bands->lanes;
	const struct thrum__bands_lane *lane = &lanes->lanes[longest->lane];
	unsigned shift = THRUM__BANDS_SHIFT * (level + 1);
	uint64_t first = (uint64_t)index << shift, end = first + (UINT64_C(1) << shift);
	uint32_t best = lanes->longest[lane->first_longest[level] + index];

	if (first >= longest->end || end <= longest->first ||
		end_of(longest->bands, lane, best) - start_of(longest->bands, lane, best) <
			longest->least)
		return;
	end = end < longest->end ? end : longest->end;
	if (level == 0) {
		for (uint64_t i = first > longest->first ? first : longest->first; i < end; i++)
			keep_run(longest, (uint32_t)i);
		return;
	}
	for (uint32_t i = 0; i < 1 << THRUM__BANDS_SHIFT; i++) {
		uint64_t below = ((uint64_t)index << THRUM__BANDS_SHIFT) + i;

		if (below << (shift - THRUM__BANDS_SHIFT) >= end)
			break;
		search_runs(longest, level - 1, (uint32_t)below);
	}
}

uint32_t thrum__bands_longest_runs(const struct thrum__bands *bands, uint32_t thread, int64_t from,
	int64_t to, int64_t least, struct thrum__bands_run *runs, uint32_t most)
{
	struct longest longest = {.bands = bands, .runs = runs, .most = most, .least = least};
	const uint32_t *lanes;
	uint32_t count = lanes_of(bands, thread, &lanes);

	for (uint32_t i = 0; most > 0 && i < count; i++) {
		const struct thrum__bands_lane *lane = &bands->lanes->lanes[lanes[i]];

		longest.lane = lanes[i];
		longest.first = find_run(bands, lane, 0, from);
		longest.end = find_run(bands, lane, longest.first, to);
		if (longest.first > 0 && end_of(bands, lane, longest.first - 1) > from)
			longest.first--;
		if (longest.first < longest.end)
			search_runs(&longest, THRUM__BANDS_LEVELS - 1, 0);
	}
	return longest.count;
}

/* ---- Boxes ---------------------------------------------------------------------------------- */

/* For whom a task runs, at a level of an opened thread. */
static uint32_t key_of(const struct thrum__bands *bands, int level, uint32_t task)
{
	const struct thrum__family *family = &bands->family;
	uint32_t key, best;

	if (level == THRUM__BANDS_TASK)
		return task;
	key = best = thrum__family_worker(family, task);
	if (level == THRUM__BANDS_OWNER)
		return key;
	for (int i = 0; i < OWNERS && key != THRUM__NONE; i++) {
		key = thrum__family_owner(family, key);
		if (key != THRUM__NONE &&
			family->groups[thrum__family_group(family, key)].lines >= THRUM__FAMILY_FEW)
			best = key;
	}
	return best;
}

void thrum__bands_boxes_begin(struct thrum__bands_boxes *boxes, const struct thrum__bands *bands,
	uint32_t lane, int level, int64_t from, int64_t to, int64_t near, int64_t blur)
{
	const struct thrum__bands_lane *runs = &bands->lanes->lanes[lane];

	*boxes = (struct thrum__bands_boxes){.bands = bands,
		.lane = lane,
		.level = level,
		.near = near,
		.blur = blur};
	boxes->at = find_run(bands, runs, 0, from);
	boxes->end = find_run(bands, runs, boxes->at, to);
	if (boxes->at > 0 && end_of(bands, runs, boxes->at - 1) > from)
		boxes->at--;
}

/* Takes the next run; or a group of 16, 256, … that together are shorter than `blur`. Returns the length
 * of the longest. */
static int64_t take_runs(struct thrum__bands_boxes *boxes, struct thrum__bands_run *run)
{
	const struct thrum__bands *bands = boxes->bands;
	const struct thrum__bands_lane *lane = &bands->lanes->lanes[boxes->lane];
	uint32_t first = boxes->at, count = 1, best = first;

	for (unsigned level = 0; level < THRUM__BANDS_LEVELS; level++) {
		unsigned shift = THRUM__BANDS_SHIFT * (level + 1);
		uint64_t size = UINT64_C(1) << shift;

		if (first % size != 0 || first + size > boxes->end ||
			end_of(bands, lane, (uint32_t)(first + size - 1)) -
					start_of(bands, lane, first) >=
				boxes->blur)
			break;
		count = (uint32_t)size;
		best = bands->lanes->longest[lane->first_longest[level] + (first >> shift)];
	}
	boxes->at += count;
	*run = (struct thrum__bands_run){
		.from = start_of(bands, lane, first),
		.to = end_of(bands, lane, first + count - 1),
		.ran = sum_of(bands, lane, first + count) - sum_of(bands, lane, first),
		.lane = boxes->lane,
		.task = key_of(bands, boxes->level,
			THRUM__RUN(bands->model, bands->lanes->runs[lane->first + best], task)),
		.run = THRUM__NONE,
	};
	return end_of(bands, lane, best) - start_of(bands, lane, best);
}

bool thrum__bands_boxes_next(struct thrum__bands_boxes *boxes, struct thrum__bands_run *run)
{
	while (boxes->at < boxes->end) {
		struct thrum__bands_run next;
		int64_t longest = take_runs(boxes, &next);
		struct thrum__bands_run *held = &boxes->held;

		if (!boxes->has_held) {
			*held = next;
			boxes->has_held = true;
			boxes->best = longest;
		} else if ((next.task == held->task && next.from - held->to < boxes->near) ||
			next.to - held->from < boxes->blur) {
			held->to = next.to;
			held->ran += next.ran;
			if (longest > boxes->best) {
				boxes->best = longest;
				held->task = next.task;
			}
		} else {
			*run = *held;
			*held = next;
			boxes->best = longest;
			return true;
		}
	}
	if (!boxes->has_held)
		return false;
	*run = boxes->held;
	boxes->has_held = false;
	return true;
}

/* ---- Holes ---------------------------------------------------------------------------------- */

/* Adds the part of a hole that lies in from … to. */
static uint32_t keep_hole(struct thrum__bands_hole hole, int64_t from, int64_t to, int64_t least,
	struct thrum__bands_hole *holes, uint32_t count, uint32_t most)
{
	if (hole.from < from)
		hole.from = from;
	if (hole.to > to)
		hole.to = to;
	if (hole.to - hole.from < least || hole.from >= hole.to || count >= most)
		return count;
	holes[count] = hole;
	return count + 1;
}

/* Finds the holes among the runs themselves: those that are too short to be kept. */
static uint32_t search_holes(const struct thrum__bands *bands, int64_t from, int64_t to,
	int64_t least, struct thrum__bands_hole *holes, uint32_t most)
{
	const struct thrum__bands_lanes *lanes = bands->lanes;
	struct thrum__base_span *spans;
	uint32_t room = 1, count = 0, found = 0;
	int64_t until;

	for (int round = 0; round < 2; round++) {
		spans = round == 0 ? NULL : malloc(2 * (size_t)room * sizeof *spans);
		if (round == 1 && !spans)
			return 0;
		for (uint32_t i = 0; i < lanes->lane_count; i++) {
			const struct thrum__bands_lane *lane = &lanes->lanes[i];
			uint32_t first = find_run(bands, lane, 0, from);
			uint32_t end = find_run(bands, lane, first, to);

			/* The runs beside the time tell where the outermost holes end. */
			first -= first > 0;
			end += end < lane->count;
			room += round == 0 ? end - first : 0;
			for (uint32_t j = first; round == 1 && j < end; j++)
				spans[count++] = (struct thrum__base_span){start_of(bands, lane, j),
					end_of(bands, lane, j), 0};
		}
	}
	thrum__base_sort_spans(spans, spans + room, count);
	until = count > 0 ? spans[0].end : 0;
	for (uint32_t i = 1; i < count; i++) {
		if (spans[i].start > until)
			found = keep_hole((struct thrum__bands_hole){until, spans[i].start}, from,
				to, least, holes, found, most);
		until = spans[i].end > until ? spans[i].end : until;
	}
	free(spans);
	return found;
}

uint32_t thrum__bands_holes(const struct thrum__bands *bands, int64_t from, int64_t to,
	int64_t least, struct thrum__bands_hole *holes, uint32_t most)
{
	const struct thrum__bands_lanes *lanes = bands->lanes;
	uint32_t count = 0, low = 0, high = lanes->hole_count;

	if (least < lanes->hole_least)
		return search_holes(bands, from, to, least, holes, most);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (lanes->holes[middle].to <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < lanes->hole_count && lanes->holes[low].from < to && count < most; low++)
		count = keep_hole(lanes->holes[low], from, to, least, holes, count, most);
	return count;
}
