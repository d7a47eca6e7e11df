/* SPDX-License-Identifier: ISC */
/* When the events of all threads are lost. */
#include "analyse/bands/bands.h"

#define LOOKED_AT 512 /* gaps of a window */
#define NEAR 256      /* gaps in the order of their ends, in which those lie that overlap one */

static bool is_alive(const struct thrum__lane *lane, int64_t time)
{
	return lane->first <= time && lane->last >= time;
}

/* Returns until when nothing is known of any lane since a gap began; that time itself if a lane is known. A
 * lane is known to do nothing before its first and after its last event. */
static int64_t lost_until(const struct thrum__model *model, uint32_t of)
{
	int64_t time = THRUM__GAP(model, of, start), until = model->end;
	uint32_t known = 0, gap = of > NEAR ? of - NEAR : 0;

	THRUM__EACH_LANE (model, lane) {
		known += is_alive(lane, time);
		until = lane->first > time && lane->first < until ? lane->first : until;
	}
	for (; gap < model->gaps.count && gap <= of + NEAR; gap++) {
		if (!thrum__model_has_row(&model->gaps, gap) ||
			THRUM__GAP(model, gap, start) > time || THRUM__GAP(model, gap, end) <= time)
			continue;
		known -= is_alive(&model->lanes[THRUM__GAP(model, gap, lane)], time);
		if (THRUM__GAP(model, gap, end) < until)
			until = THRUM__GAP(model, gap, end);
	}
	return known > 0 ? time : until;
}

uint32_t thrum__bands_find_lost(const struct thrum__model *model, int64_t from, int64_t to,
	struct thrum__bands_lost *lost)
{
	uint32_t count = 0, seen = 0;

	for (uint32_t gap = model->gaps.first;
		gap < model->gaps.count && count < THRUM__BANDS_LOST_MOST && seen < LOOKED_AT;
		gap++) {
		if (!thrum__model_has_row(&model->gaps, gap) ||
			THRUM__GAP(model, gap, start) >= to || THRUM__GAP(model, gap, end) <= from)
			continue;
		seen++;
		lost[count].from = THRUM__GAP(model, gap, start);
		lost[count].to = lost_until(model, gap);
		count += lost[count].to > lost[count].from && lost[count].to > from;
	}
	return count;
}
