/* SPDX-License-Identifier: ISC */
/* The picture of `thrum diff`: both recordings on one scale of time, and where they part. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "diff.h"
#include "picture.h"
#include "stage/stage.h"
#include "timeline/layout/layout.h"

#define WIDTH 1600 /* px */
#define ROW 42
#define PART_MIN 150
#define PART_MAX 700

struct part {
	struct thrum__scene *scene;
	const struct thrum__difference_side *side; /* NULL: there is nothing to mark */
	const char *name;
	float top, height;
};

struct drawing {
	const struct diff *diff;
	const struct thrum__difference *difference; /* the one that is marked, or NULL */
	struct thrum__draw_metrics metrics;
	struct part parts[THRUM__SIDES];
	struct thrum__draw_list lists[2 * THRUM__SIDES]; /* a part's head, the part */
	size_t list_count;
};

/* ---- What is marked -------------------------------------------------------------------------- */

static bool is_moment(int64_t time)
{
	return time >= 0 && time != THRUM__OPEN;
}

/* What is at a mark; `second`: which of the two. */
static const char *mark_name(const struct thrum__difference *difference, bool second)
{
	switch (difference->kind) {
	case THRUM__DIFFERENCE_SIGNAL_FIRST:
	case THRUM__DIFFERENCE_NO_SIGNAL: return second ? "waits" : "signals";
	case THRUM__DIFFERENCE_ENDS_LATER: return second ? "begins" : "the other ends";
	default: return second ? "ends" : "begins";
	}
}

/* As much as shows both recordings' marks, and a little more; without marks, all. */
static int64_t window_end(const struct drawing *drawing)
{
	int64_t end = 1, mark = 0;

	for (int side = 0; side < THRUM__SIDES; side++) {
		const struct thrum__difference_side *s = drawing->parts[side].side;
		int64_t last = drawing->diff->load[side].model->end;

		end = last > end ? last : end;
		if (s && is_moment(s->first) && s->first > mark)
			mark = s->first;
		if (s && is_moment(s->second) && s->second > mark)
			mark = s->second;
	}
	end = end < THRUM__TIME_MAX / 4 ? end : THRUM__TIME_MAX / 4;
	return mark > 0 && mark < end - end / 4 ? mark + mark / 4 + 1 : end;
}

/* ---- Painting -------------------------------------------------------------------------------- */

static void paint_head(struct drawing *drawing, int side)
{
	struct thrum__draw_list *list = &drawing->lists[drawing->list_count++];
	const struct part *part = &drawing->parts[side];
	char text[300];

	snprintf(text, sizeof(text), "%s: %.250s", side == THRUM__GOOD ? "good" : "bad",
		part->name);
	thrum__draw_list_init(list);
	thrum__stage_head(list, part->top - THRUM__HEAD, WIDTH, side == 0, false, text);
}

/* An upright through all rows, and its name below the ruler. */
static void paint_mark(const struct drawing *drawing, const struct part *part, int64_t time,
	const char *name, float y, struct thrum__draw_list *list)
{
	const struct thrum__draw_metrics *metrics = &drawing->metrics;
	float x = (float)thrum__scene_time_axis_x(&part->scene->time, time);
	float width = metrics->width(metrics->context, name, strlen(name), THRUM__FONT_STRONG) + 8;
	float left = x + width + 4 > WIDTH ? x - width - 2 : x + 3;

	if (x < 0 || x > WIDTH)
		return;
	thrum__draw_vertical(list, THRUM__Z_FINDING, THRUM__COLOUR_BAD, x, THRUM__RULER,
		part->height, 2, THRUM__DASH_4_4);
	thrum__draw_rect(list, THRUM__Z_BADGE, THRUM__COLOUR_BAD_BG, left, y, width, 16);
	thrum__draw_text(list, THRUM__Z_BADGE_TEXT, THRUM__COLOUR_BAD, THRUM__FONT_STRONG, left + 4,
		y + 12, name, strlen(name), false);
}

static void paint_marks(const struct drawing *drawing, const struct part *part,
	struct thrum__draw_list *list)
{
	const struct thrum__difference_side *side = part->side;

	if (!side)
		return;
	if (is_moment(side->first))
		paint_mark(drawing, part, side->first, mark_name(drawing->difference, false),
			THRUM__RULER + 2, list);
	if (is_moment(side->second))
		paint_mark(drawing, part, side->second, mark_name(drawing->difference, true),
			THRUM__RULER + 20, list);
	thrum__draw_list_sort(list);
}

static int paint_part(struct drawing *drawing, int side)
{
	struct part *part = &drawing->parts[side];
	struct thrum__draw_list *list;

	paint_head(drawing, side);
	list = &drawing->lists[drawing->list_count++];
	thrum__draw_list_init(list);
	list->y = part->top;
	if (thrum__scene_frame(part->scene, WIDTH, part->height, &drawing->metrics, list) < 0)
		return load_no_memory();
	paint_marks(drawing, part, list);
	return list->failed ? load_no_memory() : STATUS_OK;
}

/* ---- All ------------------------------------------------------------------------------------- */

static int make_part(struct drawing *drawing, int side)
{
	static const struct thrum__scene_options options = {.by_lane = true};
	const struct thrum__model *model = drawing->diff->load[side].model;
	const char *path = drawing->diff->load[side].input.path, *name = strrchr(path, '/');
	struct part *part = &drawing->parts[side];

	part->name = name ? name + 1 : path;
	if (thrum__scene_create(model, &options, NULL, NULL, &part->scene) < 0)
		return load_no_memory();
	if (drawing->difference && drawing->difference->side[side].task != THRUM__NONE) {
		part->side = &drawing->difference->side[side];
		part->scene->state.has_selected = true;
		part->scene->state.selected = THRUM__TASK(model, part->side->task, id);
	}
	return STATUS_OK;
}

static int settle(struct drawing *drawing)
{
	int64_t end = window_end(drawing);
	float top = 0;

	for (int side = 0; side < THRUM__SIDES; side++) {
		struct part *part = &drawing->parts[side];
		struct thrum__scene_state *state = &part->scene->state;
		float height = (float)part->scene->layout->tracks * ROW + THRUM__RULER + 16;

		state->from = 0;
		state->to = end;
		/* Folded is what is idle in both, so that moments are at the same place. */
		part->scene->companions = (struct thrum__scene_companions){
			.all = {{drawing->parts[!side].scene->index, 0}},
			.count = 1,
		};
		if (thrum__scene_settle(part->scene) < 0)
			return load_no_memory();
		part->height = height < PART_MIN ? PART_MIN : height > PART_MAX ? PART_MAX : height;
		part->top = top + THRUM__HEAD;
		top += THRUM__HEAD + part->height;
	}
	return STATUS_OK;
}

static int draw(struct drawing *drawing, const struct picture *picture, const char *file)
{
	int status = STATUS_OK;

	for (int side = 0; side < THRUM__SIDES && status == STATUS_OK; side++)
		status = make_part(drawing, side);
	if (status == STATUS_OK)
		status = settle(drawing);
	for (int side = 0; side < THRUM__SIDES && status == STATUS_OK; side++)
		status = paint_part(drawing, side);
	if (status == STATUS_OK)
		status = picture_write(picture, drawing->lists, drawing->list_count, file);
	for (int side = 0; side < THRUM__SIDES; side++)
		thrum__scene_destroy(drawing->parts[side].scene);
	for (size_t i = 0; i < drawing->list_count; i++)
		thrum__draw_list_finish(&drawing->lists[i]);
	return status;
}

int diff_render(const struct diff *diff, const char *file)
{
	const struct thrum__comparison *comparison = &diff->comparison;
	struct drawing drawing = {.diff = diff, .metrics = thrum__draw_metrics_plain};
	struct picture picture = {.format = picture_format_of(file),
		.theme = THRUM__THEME_LIGHT,
		.scale = 1,
		.title = "thrum: two recordings"};
	int status;

	if (picture.format == PICTURE_UNKNOWN) {
		complain("%s: end it in .svg, .png or .pdf", file);
		return STATUS_USAGE;
	}
	if (picture.format != PICTURE_SVG && !thrum__draw_has_cairo()) {
		complain("this thrum was built without cairo and pango, and writes only SVG");
		return STATUS_FAILED;
	}
	if (comparison->count > 0)
		drawing.difference = &comparison->differences[comparison->first == THRUM__NONE
				? 0
				: comparison->first];
	/* An SVG is the same wherever it is made, as nobody knows its readers' fonts. */
	if (picture.format != PICTURE_SVG && thrum__draw_metrics_make(&drawing.metrics) < 0)
		return load_no_memory();
	status = draw(&drawing, &picture, file);
	if (picture.format != PICTURE_SVG)
		thrum__draw_metrics_free(&drawing.metrics);
	return status;
}
