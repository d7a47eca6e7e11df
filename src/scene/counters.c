/* SPDX-License-Identifier: ISC */
/* Values of counters at a time. */
#include "scene/counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scene/paint/paint.h"

#define LOOKED_AT 64 /* observations of a stretch, at most, evenly spread */
#define BAND_NEAR 4  /* px: a line that crosses a band is nearer than the band */

uint32_t thrum__scene_counter_seek(const struct thrum__counter *counter, uint32_t low, int64_t time)
{
	uint32_t high = low, step = 1;

	/* The value is mostly near: search in steps that double, then by bisection. */
	while (high < counter->values.count && THRUM__VALUE(counter, high, time) < time) {
		low = high + 1;
		high = counter->values.count - high > step ? high + step : counter->values.count;
		step *= 2;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (THRUM__VALUE(counter, middle, time) < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t thrum__scene_counter_before(const struct thrum__counter *counter, uint32_t at)
{
	if (at > counter->values.first)
		return THRUM__VALUE(counter, at - 1, value);
	return at < counter->values.count ? counter->start : counter->last;
}

/* Whether a lane lost events between two times. */
static bool has_gap(const struct thrum__model *model, int64_t from, int64_t to)
{
	const struct thrum__model_rows *gaps = &model->gaps;
	uint32_t i = thrum__paint_first_gap_after(gaps, from);
	uint32_t end = gaps->count - i > THRUM__LOOK_AHEAD ? i + THRUM__LOOK_AHEAD : gaps->count;

	for (; i < end; i++)
		if (thrum__model_has_row(gaps, i) && THRUM__GAP(model, i, start) <= to)
			return true;
	return false;
}

bool thrum__scene_counter_at(const struct thrum__model *model, const struct thrum__counter *counter,
	int64_t time, int64_t *value)
{
	uint32_t at = time < INT64_MAX
		? thrum__scene_counter_seek(counter, counter->values.first, time + 1)
		: counter->values.count;

	*value = thrum__scene_counter_before(counter, at);
	return !has_gap(model,
		at > counter->values.first ? THRUM__VALUE(counter, at - 1, time) : INT64_MIN, time);
}

void thrum__scene_counter_words(int64_t value, char *to, size_t size)
{
	char digits[24];
	size_t count = (size_t)snprintf(digits, sizeof digits, "%" PRIu64,
		value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
	size_t used = 0;

	if (value < 0)
		used = (size_t)snprintf(to, size, "−");
	for (size_t i = 0; i < count && used + 2 < size; i++) {
		if (i > 0 && (count - i) % 3 == 0)
			to[used++] = ' ';
		to[used++] = digits[i];
	}
	to[used] = '\0';
}

float thrum__scene_counter_y(const struct thrum__scene_counter_place *place, double value)
{
	double part = (value - place->base) / (place->top - place->base);

	return roundf(place->y_base - (float)part * (place->y_base - place->y_top));
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

struct thrum__scene_percentiles thrum__scene_counter_percentiles(const struct thrum__counter
									 *counter,
	uint32_t row, const struct thrum__scene_time_axis *axis, float x)
{
	uint32_t end = thrum__scene_counter_seek(counter, row,
		thrum__scene_time_axis_time(axis, x + THRUM__COUNTER_STRETCH));
	uint32_t step = (end - row + LOOKED_AT - 1) / LOOKED_AT, count = 0;
	int64_t values[LOOKED_AT];

	if (end == row)
		return (struct thrum__scene_percentiles){.next = end, .is_empty = true};
	for (uint32_t at = row; at < end; at += step)
		values[count++] = THRUM__VALUE(counter, at, value);
	qsort(values, count, sizeof *values, compare);
	return (struct thrum__scene_percentiles){
		.p10 = values[count / 10],
		.p50 = values[count / 2],
		.p90 = values[count * 9 / 10],
		.p99 = values[count * 99 / 100],
		.next = end,
	};
}

/* ---- The nearest counter ------------------------------------------------------------------- */

/* Returns the distance of y from a distribution's band, or INFINITY where it has none. */
static float find_band(const struct thrum__scene *scene, const struct thrum__counter *counter,
	float x, float y, struct thrum__scene_counter_below *below)
{
	/* The stretch as it was painted, from the left edge on. */
	float left = floorf(x / THRUM__COUNTER_STRETCH) * THRUM__COUNTER_STRETCH;
	uint32_t row = thrum__scene_counter_seek(counter, counter->values.first,
		thrum__scene_time_axis_time(&scene->time, left));
	struct thrum__scene_percentiles p = thrum__scene_counter_percentiles(counter, row,
		&scene->time, left);

	if (p.is_empty)
		return INFINITY;
	below->is_distribution = true;
	below->percentiles = p;
	below->value = p.p50;
	below->is_known = true;
	below->y = thrum__scene_counter_y(below->place, (double)p.p50);
	float high = thrum__scene_counter_y(below->place, (double)p.p99);
	float low = thrum__scene_counter_y(below->place, (double)p.p10);

	return fmaxf(fmaxf(high - y, y - low), fminf(BAND_NEAR, fabsf(below->y - y)));
}

static float find_line(const struct thrum__scene *scene, const struct thrum__counter *counter,
	float x, float y, struct thrum__scene_counter_below *below)
{
	below->is_known = thrum__scene_counter_at(scene->model, counter,
		thrum__scene_time_axis_time(&scene->time, x), &below->value);
	below->y = thrum__scene_counter_y(below->place, (double)below->value);
	return fabsf(below->y - y);
}

struct thrum__scene_counter_below thrum__scene_counter_nearest(const struct thrum__scene *scene,
	float x, float y)
{
	const struct thrum__paint_memory *memory = scene->memory;
	struct thrum__scene_counter_below nearest = {0};
	float least = INFINITY;

	for (uint32_t i = 0; i < memory->counter_count; i++) {
		struct thrum__scene_counter_below below = {.place = &memory->counters[i]};
		const struct thrum__counter *counter;

		if (below.place->counter >= scene->model->counter_count)
			continue;
		counter = &scene->model->counters[below.place->counter];
		float distance = counter->kind == THRUM_COUNTER_DISTRIBUTION
			? find_band(scene, counter, x, y, &below)
			: find_line(scene, counter, x, y, &below);

		if (distance < least) {
			nearest = below;
			least = distance;
		}
	}
	return nearest;
}
