/* SPDX-License-Identifier: ISC */
/* Values of counters at a time. */
#include "scene/counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "scene/paint/paint.h"

#define GAPS_LOOKED_AT 1024

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

/* Whether a lane lost events between two times; looks at the last GAPS_LOOKED_AT gaps only. */
static bool has_gap(const struct thrum__model *model, int64_t from, int64_t to)
{
	uint32_t end = thrum__paint_first_span_after(&model->gaps, to);
	uint32_t i = end - model->gaps.first > GAPS_LOOKED_AT ? end - GAPS_LOOKED_AT
							      : model->gaps.first;

	for (; i < end; i++)
		if (thrum__model_has_row(&model->gaps, i) && THRUM__GAP(model, i, end) > from)
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

struct thrum__scene_counter_below thrum__scene_counter_nearest(const struct thrum__scene *scene,
	int64_t time, float y)
{
	const struct thrum__paint_memory *memory = scene->memory;
	struct thrum__scene_counter_below nearest = {0};

	for (uint32_t i = 0; i < memory->counter_count; i++) {
		struct thrum__scene_counter_below below = {.place = &memory->counters[i]};

		if (below.place->counter >= scene->model->counter_count)
			continue;
		below.is_known = thrum__scene_counter_at(scene->model,
			&scene->model->counters[below.place->counter], time, &below.value);
		below.y = thrum__scene_counter_y(below.place, (double)below.value);
		if (!nearest.place || fabsf(below.y - y) < fabsf(nearest.y - y))
			nearest = below;
	}
	return nearest;
}
