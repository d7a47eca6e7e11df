/* SPDX-License-Identifier: ISC */
/*
 * Distributions over the tracks: a band from the 10th to the 90th percentile of the observations, made
 * of upright strokes, a line for the median and a dotted one for the 99th percentile. A stretch
 * without observations stays empty.
 */
#include <math.h>

#include "scene/paint/paint.h"

static void draw_lines(const struct thrum__paint *p, int colour,
	const struct thrum__draw_point *p50, const struct thrum__draw_point *p99, size_t count)
{
	if (count < 2)
		return;
	thrum__draw_polyline(p->list, THRUM__Z_COUNTER, colour, p99, count, 1, THRUM__DASH_1_2);
	thrum__draw_polyline(p->list, THRUM__Z_CASING, THRUM__COLOUR_BG, p50, count, 4,
		THRUM__DASH_SOLID);
	thrum__draw_polyline(p->list, THRUM__Z_COUNTER, colour, p50, count, 2, THRUM__DASH_SOLID);
}

float thrum__paint_percentiles(struct thrum__paint *p, const struct thrum__counter *counter,
	const struct thrum__scene_counter_place *place, int colour,
	struct thrum__draw_point *points, size_t room, int64_t *p99)
{
	struct thrum__draw_point *medians = points, *highest = points + room / 2;
	uint32_t row = thrum__scene_counter_seek(counter, counter->values.first, p->from);
	size_t count = 0;
	float y = place->y_base;

	for (float x = 0; x < p->right && count < room / 2; x += THRUM__COUNTER_STRETCH) {
		struct thrum__scene_percentiles s = thrum__scene_counter_percentiles(counter, row,
			p->time, x);

		row = s.next;
		if (s.is_empty) {
			draw_lines(p, colour, medians, highest, count);
			count = 0;
			continue;
		}
		y = thrum__scene_counter_y(place, (double)s.p50);
		float low = thrum__scene_counter_y(place, (double)s.p10);
		float high = thrum__scene_counter_y(place, (double)s.p90);

		thrum__draw_rect(p->list, THRUM__Z_COUNTER, colour, x + 1, high, 2,
			fmaxf(low - high, 1));
		medians[count] = (struct thrum__draw_point){x + 2, y};
		highest[count++] = (struct thrum__draw_point){x + 2,
			thrum__scene_counter_y(place, (double)s.p99)};
		*p99 = s.p99;
	}
	draw_lines(p, colour, medians, highest, count);
	return y;
}
