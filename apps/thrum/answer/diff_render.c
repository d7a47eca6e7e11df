/* SPDX-License-Identifier: ISC */
/* The picture of `thrum diff`: both recordings on one scale of time, with their main difference
 * marked. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "answer/diff.h"
#include "picture/picture.h"
#include "source/input.h"
#include "stage/stage.h"
#include "timeline/layout/layout.h"

#define WIDTH 1600    /* px */
#define PART_MOST 700 /* px: the greatest height of a recording */

struct drawing {
	const struct diff *diff;
	const struct thrum__difference *difference; /* the one that is marked, or NULL */
	struct thrum__draw_metrics metrics;
	struct thrum__stage *stage; /* its parts are the sides */
};

/* ---- Marks -------------------------------------------------------------------------- */

static bool is_time(int64_t time)
{
	return time >= 0 && time != THRUM__OPEN;
}

/* Returns the marks of a recording, or NULL if it has none. */
static const struct thrum__difference_side *side_of(const struct drawing *drawing, uint32_t side)
{
	const struct thrum__difference *difference = drawing->difference;

	return difference && difference->side[side].task != THRUM__NONE ? &difference->side[side]
									: NULL;
}

/* Returns the window's end: somewhat after the marks of both recordings; without marks, the end of
 * the longer recording. */
static int64_t window_end(const struct drawing *drawing)
{
	int64_t end = 1, mark = 0;

	for (uint32_t side = 0; side < THRUM__SIDES; side++) {
		const struct thrum__difference_side *s = side_of(drawing, side);
		int64_t last = drawing->diff->load[side].model->end;

		end = last > end ? last : end;
		if (s && is_time(s->first) && s->first > mark)
			mark = s->first;
		if (s && is_time(s->second) && s->second > mark)
			mark = s->second;
	}
	end = end < THRUM__TIME_MAX / 4 ? end : THRUM__TIME_MAX / 4;
	return mark > 0 && mark < end - end / 4 ? mark + mark / 4 + 1 : end;
}

/* ---- Painting -------------------------------------------------------------------------------- */

static int paint_sides(struct drawing *drawing)
{
	struct thrum__stage *stage = drawing->stage;
	float height;

	thrum__stage_mark(stage, drawing->difference);
	if (thrum__stage_fit(stage, WIDTH, PART_MOST, &height) < 0 ||
		thrum__stage_frame(stage, WIDTH, height, &drawing->metrics, 0) < 0)
		return load_no_memory();
	for (uint32_t side = 0; side < THRUM__SIDES; side++)
		if (thrum__stage_list(stage, side)->failed)
			return load_no_memory();
	return STATUS_OK;
}

/* ---- All ------------------------------------------------------------------------------------- */

static int add_side(struct drawing *drawing, uint32_t side)
{
	static const struct thrum__scene_options options = {.by_lane = true};
	const struct load *load = &drawing->diff->load[side];
	struct thrum__scene *scene;
	char head[300];

	snprintf(head, sizeof(head), "%s: %.250s", side == THRUM__GOOD ? "good" : "bad",
		thrum__source_name(load->input.path));
	if (thrum__scene_create(load->model, &options, NULL, NULL, &scene) < 0 ||
		thrum__stage_add(drawing->stage, scene, head) < 0)
		return load_no_memory();
	return STATUS_OK;
}

/* Shows the window with the marks, and selects the marked tasks. */
static int settle_sides(struct drawing *drawing)
{
	int64_t end = window_end(drawing);

	for (uint32_t side = 0; side < THRUM__SIDES; side++) {
		const struct thrum__difference_side *marked = side_of(drawing, side);
		struct thrum__scene *scene = drawing->stage->parts[side].scene;

		scene->state.from = 0;
		scene->state.to = end;
		if (marked) {
			scene->state.has_selected = true;
			scene->state.selected = THRUM__TASK(scene->model, marked->task, id);
		}
		if (thrum__scene_settle(scene) < 0)
			return load_no_memory();
	}
	return STATUS_OK;
}

static int draw_diff(struct drawing *drawing, const struct picture *picture, const char *file)
{
	int status = STATUS_OK;

	if (thrum__stage_create(&drawing->stage) < 0)
		return load_no_memory();
	drawing->stage->is_still = true;
	for (uint32_t side = 0; side < THRUM__SIDES && status == STATUS_OK; side++)
		status = add_side(drawing, side);
	if (status == STATUS_OK)
		status = settle_sides(drawing);
	if (status == STATUS_OK)
		status = paint_sides(drawing);
	if (status == STATUS_OK)
		status = picture_write(picture, drawing->stage->lists, drawing->stage->list_count,
			file);
	thrum__stage_destroy(drawing->stage);
	return status;
}

int diff_render(const struct diff *diff, const char *file)
{
	const struct thrum__comparison *comparison = &diff->comparison;
	struct drawing drawing = {.diff = diff};
	struct picture picture = {.format = picture_format_of(file),
		.theme = THRUM__THEME_LIGHT,
		.scale = 1,
		.title = "thrum: two recordings"};
	int status = picture_metrics_make(picture.format, file, &drawing.metrics);

	if (status != STATUS_OK)
		return status;
	if (comparison->count > 0)
		drawing.difference = &comparison->differences[comparison->first == THRUM__NONE
				? 0
				: comparison->first];
	status = draw_diff(&drawing, &picture, file);
	picture_metrics_free(picture.format, &drawing.metrics);
	return status;
}
