/* SPDX-License-Identifier: ISC */
/* The runs and spans of a lane as slices that nest. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "analyse/stats/stats.h"
#include "convert/export.h"

/* ---- The order ------------------------------------------------------------------------------- */

static uint32_t lane_of(const struct thrum__model *model, bool is_span, uint32_t row)
{
	return is_span ? THRUM__SPAN(model, row, lane) : THRUM__RUN(model, row, lane);
}

static int64_t start_of(const struct thrum__model *model, bool is_span, uint32_t row)
{
	return is_span ? THRUM__SPAN(model, row, start) : THRUM__RUN(model, row, start);
}

/* Garbage collections are added at their ends, so spans need sorting. */
static int compare_spans(const void *a, const void *b, void *context)
{
	const struct thrum__model *model = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t start_x = THRUM__SPAN(model, x, start), start_y = THRUM__SPAN(model, y, start);

	if (start_x != start_y)
		return start_x < start_y ? -1 : 1;
	return x < y ? -1 : x > y;
}

bool export_has_run(const struct thrum__model *model, uint32_t run)
{
	return thrum__model_has_row(&model->runs, run) &&
		thrum__model_has_row(&model->tasks, THRUM__RUN(model, run, task));
}

static bool is_there(const struct thrum__model *model, bool is_span, uint32_t row)
{
	return is_span ? thrum__model_has_row(&model->spans, row) : export_has_run(model, row);
}

static int make_order(const struct export *export, bool is_span, struct export_order *order)
{
	const struct thrum__model *model = export->model;
	const struct thrum__model_rows *rows = is_span ? &model->spans : &model->runs;

	order->first = calloc((size_t)model->lane_count + 2, sizeof(*order->first));
	order->rows = malloc(((size_t)rows->count + 1) * sizeof(*order->rows));
	if (!order->first || !order->rows)
		return -THRUM_E_MEMORY;
	/* Two elements further on, so that the placing below moves each to its own. */
	for (uint32_t i = rows->first; i < rows->count; i++)
		if (is_there(model, is_span, i))
			order->first[lane_of(model, is_span, i) + 2]++;
	for (uint32_t lane = 2; lane <= model->lane_count; lane++)
		order->first[lane] += order->first[lane - 1];
	for (uint32_t i = rows->first; i < rows->count; i++)
		if (is_there(model, is_span, i))
			order->rows[order->first[lane_of(model, is_span, i) + 1]++] = i;
	return 0;
}

int export_lanes_make(struct export *export)
{
	const uint32_t *first;
	int result = make_order(export, false, &export->runs);

	if (result == 0)
		result = make_order(export, true, &export->spans);
	if (result < 0)
		return result;
	first = export->spans.first;
	for (uint32_t lane = 0; lane < export->model->lane_count; lane++)
		qsort_r(export->spans.rows + first[lane], first[lane + 1] - first[lane],
			sizeof(*export->spans.rows), compare_spans, (void *)export->model);
	return 0;
}

void export_lanes_free(struct export *export)
{
	free(export->runs.rows);
	free(export->runs.first);
	free(export->spans.rows);
	free(export->spans.first);
}

/* ---- The walk -------------------------------------------------------------------------------- */

/*
 * The open slices, the outermost first: a run, if one is open, and the spans. The first `begun` of
 * them have begun in the output; the others were interrupted by the end or the beginning of a run,
 * and begin again as soon as time goes on.
 */
#define DEPTH_MAX 64 /* where spans never end, each run would otherwise interrupt all before it */
struct walk {
	struct export_slice *open;
	size_t count, room, begun;
	int64_t now;
	int64_t next_end; /* no open slice ends before */
	uint64_t left_out;
	export_take *take;
	void *context;
};

static void begin_until(struct walk *walk, size_t count)
{
	for (; walk->begun < count; walk->begun++)
		walk->take(walk->context, &walk->open[walk->begun], walk->now, true);
}

static void end_until(struct walk *walk, size_t count)
{
	while (walk->begun > count)
		walk->take(walk->context, &walk->open[--walk->begun], walk->now, false);
}

static void go_to(struct walk *walk, int64_t time)
{
	if (time <= walk->now)
		return;
	begin_until(walk, walk->count);
	walk->now = time;
}

/* Returns the open slice that ends first, of several the innermost. Looks no further than it must, as
 * thousands of spans that never end may be open. */
static size_t find_earliest(struct walk *walk)
{
	size_t least = walk->count - 1;

	for (size_t i = walk->count; i-- > 0 && walk->open[least].end > walk->next_end;)
		if (walk->open[i].end < walk->open[least].end)
			least = i;
	walk->next_end = walk->open[least].end;
	return least;
}

/* Ends what ends until a time, the earliest first. */
static void end_slices(struct walk *walk, int64_t time)
{
	while (walk->count > 0 && walk->next_end <= time) {
		size_t least = find_earliest(walk);

		if (walk->next_end > time)
			return;
		go_to(walk, walk->next_end);
		end_until(walk, least);
		for (size_t i = least + 1; i < walk->count; i++)
			walk->open[i - 1] = walk->open[i];
		walk->count--;
	}
}

static int begin_slice(struct walk *walk, const struct export_slice *slice, int64_t start)
{
	size_t at = slice->is_span ? walk->count : 0;

	if (slice->is_span && walk->count >= DEPTH_MAX) {
		walk->left_out++;
		return 0;
	}
	if (walk->count == walk->room) {
		size_t room = walk->room * 2 + 8;
		struct export_slice *grown = realloc(walk->open, room * sizeof(*grown));

		if (!grown)
			return -THRUM_E_MEMORY;
		walk->open = grown;
		walk->room = room;
	}
	go_to(walk, start);
	if (slice->is_span)
		begin_until(walk, at);
	else
		end_until(walk, 0);
	for (size_t i = walk->count++; i > at; i--)
		walk->open[i] = walk->open[i - 1];
	walk->open[at] = *slice;
	if (walk->count == 1 || slice->end < walk->next_end)
		walk->next_end = slice->end;
	begin_until(walk, at + 1);
	return 0;
}

static struct export_slice slice_of(const struct export *export, bool is_span, uint32_t row)
{
	const struct thrum__model *model = export->model;
	int64_t start = start_of(model, is_span, row), end;

	if (is_span)
		end = THRUM__SPAN(model, row, end);
	else
		end = start + thrum__stats_run_length(model, row);
	if (end == THRUM__OPEN)
		end = model->end;
	return (struct export_slice){row, is_span, end < start ? start : end};
}

int export_lane(struct export *export, uint32_t lane, export_take *take, void *context)
{
	const struct thrum__model *model = export->model;
	uint32_t run = export->runs.first[lane], run_end = export->runs.first[lane + 1];
	uint32_t span = export->spans.first[lane], span_end = export->spans.first[lane + 1];
	struct walk walk = {.now = INT64_MIN,
		.next_end = INT64_MAX,
		.take = take,
		.context = context};
	int result = 0;

	while (result == 0 && (run < run_end || span < span_end)) {
		bool is_span = run == run_end ||
			(span < span_end &&
				start_of(model, true, export->spans.rows[span]) <
					start_of(model, false, export->runs.rows[run]));
		uint32_t row = is_span ? export->spans.rows[span++] : export->runs.rows[run++];
		struct export_slice slice = slice_of(export, is_span, row);
		int64_t start = start_of(model, is_span, row);

		end_slices(&walk, start);
		result = begin_slice(&walk, &slice, start);
		export_step(export);
	}
	end_slices(&walk, INT64_MAX);
	free(walk.open);
	export->left_out += walk.left_out;
	return result;
}
