/* SPDX-License-Identifier: ISC */
/* The difference of the first two parts that is chosen: its tasks, and its times with their marks. */
#include <string.h>

#include "stage/parts.h"

#define LINE 18 /* px from one mark's words to the next one's */

static bool is_time(int64_t time)
{
	return time >= 0 && time != THRUM__OPEN;
}

static void add_mark(struct thrum__stage_private *own, uint32_t part, int64_t time,
	const char *words)
{
	if (is_time(time))
		own->marks[own->mark_count++] = (struct thrum__stage_mark){part, time, words};
}

void thrum__stage_mark(struct thrum__stage *stage, const struct thrum__difference *difference)
{
	struct thrum__stage_private *own = stage->own;

	own->mark_count = 0;
	own->is_painted = false;
	for (uint32_t part = 0; difference && part < THRUM__SIDES; part++) {
		const struct thrum__difference_side *side = &difference->side[part];

		if (side->task == THRUM__NONE)
			continue;
		add_mark(own, part, side->first, thrum__words_difference_mark(difference, false));
		add_mark(own, part, side->second, thrum__words_difference_mark(difference, true));
	}
}

/* ---- Going there --------------------------------------------------------------------------- */

/* Shows the marks of a part, or if the parts share their time, all marks. */
static void show_marks(struct thrum__stage *stage, uint32_t part)
{
	const struct thrum__stage_private *own = stage->own;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (unsigned i = 0; i < own->mark_count; i++) {
		const struct thrum__stage_mark *mark = &own->marks[i];
		int64_t time = mark->time;

		if (mark->part >= stage->count || (!stage->is_linked && mark->part != part))
			continue;
		time += stage->parts[mark->part].offset - stage->parts[part].offset;
		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	if (first <= last)
		thrum__scene_set_window_around(stage->parts[part].scene, first, last,
			(last - first) / 3 + 1000);
}

static int select_in(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	struct thrum__scene *scene = stage->parts[part].scene;
	bool is_there = thrum__model_has_row(&scene->model->tasks, task);
	uint32_t unit = is_there ? thrum__layout_unit(scene->layout, task) : THRUM__NONE;
	int status;

	thrum__scene_remember(scene);
	show_marks(stage, part);
	status = thrum__scene_select(scene, is_there ? task : THRUM__NONE);
	if (status == 0 && unit != THRUM__NONE)
		status = thrum__scene_show_track(scene, thrum__layout_track(scene->layout, unit));
	return status;
}

int thrum__stage_go_difference(struct thrum__stage *stage,
	const struct thrum__difference *difference)
{
	if (stage->count < THRUM__SIDES)
		return 0;
	thrum__stage_motion_from(stage);
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	thrum__stage_mark(stage, difference);
	for (uint32_t part = 0; part < THRUM__SIDES; part++)
		if (select_in(stage, part, difference->side[part].task) < 0)
			return -THRUM_E_MEMORY;
	return thrum__stage_went_to(stage,
		difference->side[THRUM__BAD].task == THRUM__NONE ? THRUM__GOOD : THRUM__BAD);
}

/* ---- Painting ------------------------------------------------------------------------------ */

void thrum__stage_paint_marks(const struct thrum__stage *stage, uint32_t part,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	const struct thrum__scene *scene = stage->parts[part].scene;
	float ruler = thrum__scene_strip_height(scene, scene->width) + THRUM__RULER;
	float right = thrum__stage_right(scene), y = ruler + 2;
	bool any = false;

	for (unsigned i = 0; i < stage->own->mark_count; i++) {
		const struct thrum__stage_mark *mark = &stage->own->marks[i];
		size_t size = strlen(mark->words);
		float x = (float)thrum__scene_time_axis_x(&scene->time, mark->time), width, left;

		if (mark->part != part)
			continue;
		width = metrics->width(metrics->context, mark->words, size, THRUM__FONT_STRONG) + 8;
		left = x + width + 4 > right ? x - width - 2 : x + 3;
		if (x >= 0 && x <= right) {
			thrum__draw_vertical(list, THRUM__Z_FINDING, THRUM__COLOUR_BAD, x, ruler,
				scene->height, 2, THRUM__DASH_4_4);
			thrum__draw_rect(list, THRUM__Z_BADGE, THRUM__COLOUR_BAD_BG, left, y, width,
				16);
			thrum__draw_text(list, THRUM__Z_BADGE_TEXT, THRUM__COLOUR_BAD,
				THRUM__FONT_STRONG, left + 4, y + 12, mark->words, size, false);
			any = true;
		}
		y += LINE;
	}
	if (any)
		thrum__draw_list_sort(list);
}
