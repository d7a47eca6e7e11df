/* SPDX-License-Identifier: ISC */
/* The coarse picture, which grows from left to right while a trace is read. */
#include "scene/coarse.h"

#include <stdio.h>
#include <string.h>

#include "scene/paint/paint.h"

#define WORDS_ABOVE 26      /* px from a chart's top to its columns: room for words */
#define WORDS_LINE 14       /* px from a chart's top to the base line of the words */
#define CHART_GAP 12        /* px above a chart */
#define ALIVE_PART 0.7f     /* of the height: the chart of tasks alive */
#define LEAST_HEIGHT 160    /* px: lower pictures have no charts */
#define COLUMN_MAX 60000.0f /* px */

/* ---- Filling ------------------------------------------------------------------------------- */

static void merge_slots(struct thrum__scene_coarse_slot *to,
	const struct thrum__scene_coarse_slot *later)
{
	to->end = later->end;
	to->ran = later->ran;
	to->alive = later->alive > to->alive ? later->alive : to->alive;
}

/* Merges each two neighbours. Later slots will be as long as these are on average. */
static void halve_slots(struct thrum__scene_coarse *coarse)
{
	struct thrum__scene_coarse_slot *slots = coarse->slots;

	coarse->count /= 2;
	for (uint32_t i = 0; i < coarse->count; i++) {
		slots[i] = slots[2 * (size_t)i];
		merge_slots(&slots[i], &slots[2 * (size_t)i + 1]);
	}
	coarse->step = slots[coarse->count - 1].end / coarse->count;
}

static void add_slot(struct thrum__scene_coarse *coarse, struct thrum__scene_coarse_slot slot)
{
	if (coarse->count > 0) {
		struct thrum__scene_coarse_slot *last = &coarse->slots[coarse->count - 1];
		int64_t begin = coarse->count > 1 ? last[-1].end : 0;

		/* Events of several lanes may go back in time a little. */
		if (slot.end < last->end)
			slot.end = last->end;
		if (slot.ran < last->ran)
			slot.ran = last->ran;
		if (slot.end == last->end || last->end - begin < coarse->step) {
			merge_slots(last, &slot);
			return;
		}
	}
	if (coarse->count == THRUM__COARSE_SLOTS)
		halve_slots(coarse);
	coarse->slots[coarse->count++] = slot;
}

/* Returns how long all lanes ran up to now, in sum. */
static int64_t ran_of(const struct thrum__model *model)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < model->lane_count; i++) {
		const struct thrum__lane *lane = &model->lanes[i];
		int64_t ran = lane->ran;

		if (lane->run != THRUM__NONE && lane->running != lane->task &&
			lane->last > THRUM__RUN(model, lane->run, start))
			ran += lane->last - THRUM__RUN(model, lane->run, start);
		sum = ran > INT64_MAX - sum ? INT64_MAX : sum + ran;
	}
	return sum;
}

void thrum__scene_coarse_note(struct thrum__scene_coarse *coarse, const struct thrum__model *model)
{
	coarse->lanes = model->lane_count;
	add_slot(coarse,
		(struct thrum__scene_coarse_slot){model->end, ran_of(model), model->pending});
}

/* ---- Painting ------------------------------------------------------------------------------ */

struct charts {
	uint32_t alive[THRUM__BINS_MAX];
	double busy[THRUM__BINS_MAX]; /* share of the lanes' time */
	uint32_t count, most;
	uint16_t heights[THRUM__BINS_MAX]; /* of the columns that are painted now */
};

/* A position in the slots, for times that never go back. */
struct slot_cursor {
	const struct thrum__scene_coarse *coarse;
	uint32_t slot;
};

/* Returns how long all lanes ran up to a time, in sum; interpolates within a slot. */
static double ran_until(struct slot_cursor *c, double time)
{
	const struct thrum__scene_coarse_slot *slots = c->coarse->slots;
	double begin, end, before;

	while (c->slot + 1 < c->coarse->count && (double)slots[c->slot].end < time)
		c->slot++;
	begin = c->slot > 0 ? (double)slots[c->slot - 1].end : 0;
	before = c->slot > 0 ? (double)slots[c->slot - 1].ran : 0;
	end = (double)slots[c->slot].end;
	return before + ((double)slots[c->slot].ran - before) * (time - begin) / (end - begin);
}

/* Fills charts->count bins, which together take all the time that was read. */
static void make_charts(const struct thrum__scene_coarse *coarse, struct charts *charts)
{
	double all = (double)coarse->slots[coarse->count - 1].end, bin = all / charts->count;
	double lanes = coarse->lanes > 0 ? coarse->lanes : 1, before = 0;
	struct slot_cursor cursor = {.coarse = coarse};

	charts->most = 1;
	for (uint32_t i = 0; i < charts->count; i++) {
		uint32_t slot = cursor.slot;
		double ran = ran_until(&cursor, bin * (i + 1));

		charts->busy[i] = (ran - before) / bin / lanes;
		before = ran;
		for (charts->alive[i] = 0; slot <= cursor.slot; slot++)
			if (coarse->slots[slot].alive > charts->alive[i])
				charts->alive[i] = coarse->slots[slot].alive;
		if (charts->alive[i] > charts->most)
			charts->most = charts->alive[i];
	}
}

static const uint16_t *alive_heights(struct charts *charts, float room)
{
	for (uint32_t i = 0; i < charts->count; i++)
		charts->heights[i] = (uint16_t)((float)charts->alive[i] / (float)charts->most *
			room);
	return charts->heights;
}

static const uint16_t *busy_heights(struct charts *charts, float room)
{
	for (uint32_t i = 0; i < charts->count; i++)
		charts->heights[i] = thrum__paint_busy(charts->busy[i], room);
	return charts->heights;
}

static void draw_columns(struct thrum__paint *p, int z, int colour, float base,
	const uint16_t *heights, uint32_t count)
{
	thrum__paint_columns(p->list, z, colour, THRUM__STRIP_MARGIN, base, heights, count);
}

static void paint_strip(struct thrum__paint *p, struct charts *charts)
{
	float base = p->ruler_top - THRUM__STRIP_FOOT, room = base - THRUM__STRIP_HEAD;

	draw_columns(p, THRUM__Z_FRAME, THRUM__COLOUR_FADED, base, alive_heights(charts, room),
		charts->count);
	draw_columns(p, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RUN, base, busy_heights(charts, room),
		charts->count);
}

/* Paints a chart's words and base line. Returns the height that its columns may have. */
static float begin_chart(struct thrum__paint *p, float top, float base, const char *words)
{
	float room = base - top - CHART_GAP - WORDS_ABOVE;

	thrum__draw_text(p->list, THRUM__Z_LABEL, THRUM__COLOUR_MUTED, THRUM__FONT_LABEL,
		THRUM__STRIP_MARGIN, top + CHART_GAP + WORDS_LINE, words, strlen(words), true);
	thrum__draw_horizontal(p->list, THRUM__Z_LINE, THRUM__COLOUR_RULE, THRUM__STRIP_MARGIN,
		p->width - THRUM__STRIP_MARGIN, base, 1, THRUM__DASH_SOLID);
	return room < COLUMN_MAX ? room : COLUMN_MAX;
}

static void paint_alive(struct thrum__paint *p, struct charts *charts, float top, float base)
{
	char words[64] = "Tasks alive: at most ";
	float room;

	thrum__words_number(charts->most, words + strlen(words));
	room = begin_chart(p, top, base, words);
	/* The pale columns cover all of the darker ones except an edge of 2 px at the top. */
	draw_columns(p, THRUM__Z_CASING, THRUM__COLOUR_FADED, base, alive_heights(charts, room - 2),
		charts->count);
	for (uint32_t i = 0; i < charts->count; i++)
		charts->heights[i] += 2;
	draw_columns(p, THRUM__Z_LINE, THRUM__COLOUR_PEND, base, charts->heights, charts->count);
}

static void paint_busy(struct thrum__paint *p, const struct thrum__scene_coarse *coarse,
	struct charts *charts, float top, float base)
{
	const struct thrum__scene_coarse_slot *last = &coarse->slots[coarse->count - 1];
	uint32_t lanes = coarse->lanes > 0 ? coarse->lanes : 1;
	double share = (double)last->ran / (double)last->end / lanes;
	char words[80], percent[32];
	float room;

	share = share < 1 ? share * 100 : 100;
	thrum__words_decimal(share, share < 10, percent, sizeof percent);
	if (lanes > 1)
		snprintf(words, sizeof words, "Running: %s %% of %u threads’ time", percent,
			(unsigned)lanes);
	else
		snprintf(words, sizeof words, "Running: %s %% of the time", percent);
	room = begin_chart(p, top, base, words);
	draw_columns(p, THRUM__Z_RUN, THRUM__COLOUR_RUN, base, busy_heights(charts, room),
		charts->count);
}

/* Returns how many bins there are for the part that was read; 0 if nothing was. */
static uint32_t bins_of(const struct thrum__scene_coarse *coarse, double part, float width)
{
	double bins = ((double)width - 2 * THRUM__STRIP_MARGIN) / THRUM__BIN *
		(part < 1 ? part : 1);

	if (coarse->count == 0 || coarse->slots[coarse->count - 1].end <= 0 || !(bins >= 1))
		return 0;
	return bins < THRUM__BINS_MAX ? (uint32_t)bins : THRUM__BINS_MAX;
}

static void paint_charts(struct thrum__paint *p, const struct thrum__scene_coarse *coarse,
	uint32_t bins)
{
	struct charts charts = {.count = bins};
	float height = p->bottom - p->top, middle = p->top + height * ALIVE_PART;

	make_charts(coarse, &charts);
	paint_strip(p, &charts);
	if (height < LEAST_HEIGHT)
		return;
	paint_alive(p, &charts, p->top, middle);
	paint_busy(p, coarse, &charts, middle, p->bottom - CHART_GAP);
}

int thrum__scene_coarse_frame(const struct thrum__scene_coarse *coarse, double part, float width,
	float height, const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	uint32_t bins = bins_of(coarse, part, width);
	struct thrum__scene_time_segment read = {.x = THRUM__STRIP_MARGIN};
	struct thrum__scene_time_axis axis = {.segments = &read, .count = bins > 0};
	struct thrum__paint p = {
		.metrics = metrics,
		.time = &axis,
		.list = list,
		.width = width,
		.height = height,
		.ruler_top = thrum__paint_strip_height(width),
		.bottom = height,
		.right = width,
	};

	p.top = p.ruler_top + THRUM__RULER;
	thrum__draw_list_clear(list, width, height);
	thrum__paint_strip_ground(&p, 0, p.ruler_top);
	if (bins > 0) {
		read.end = coarse->slots[coarse->count - 1].end;
		read.x_end = THRUM__STRIP_MARGIN + (double)(bins * THRUM__BIN);
		axis.scale = (read.x_end - read.x) / (double)read.end;
		paint_charts(&p, coarse, bins);
	}
	thrum__paint_grid(&p);
	thrum__draw_list_sort(list);
	return list->failed ? -THRUM_E_MEMORY : 0;
}
