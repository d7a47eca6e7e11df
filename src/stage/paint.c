/* SPDX-License-Identifier: ISC */
/* The stage's own painters: heads, the crosshair, the measure, the track that blinks. */
#include <math.h>
#include <string.h>

#include "stage/parts.h"

void thrum__stage_head(struct thrum__draw_list *list, float top, float width, bool is_first,
	bool is_focus, const char *name)
{
	list->x = 0;
	list->y = top;
	thrum__draw_list_clear(list, width, THRUM__HEAD);
	thrum__draw_rect(list, THRUM__Z_FRAME, THRUM__COLOUR_PANEL, 0, 0, width, THRUM__HEAD);
	if (!is_first)
		thrum__draw_rect(list, THRUM__Z_FRAME, THRUM__COLOUR_RULE, 0, 0, width, 1);
	if (is_focus)
		thrum__draw_rect(list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_SEL, 0, is_first ? 0 : 1,
			3, THRUM__HEAD);
	thrum__draw_text(list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_INK, THRUM__FONT_STRONG, 12, 16,
		name, strlen(name), false);
	thrum__draw_list_sort(list);
}

/* Gives top and bottom of a part's picture, from its ruler to the end of its tracks. */
static void picture_of(const struct thrum__stage *stage, uint32_t part, float *top, float *bottom)
{
	const struct thrum__scene *scene = stage->parts[part].scene;

	*top = thrum__stage_view_top(stage, part);
	*bottom = *top + scene->tracks.bottom + THRUM__PAD;
	*top += thrum__scene_strip_height(scene, scene->width);
}

/* Draws an upright at a time of a part, in all parts that share its time. */
static void draw_upright(const struct thrum__stage *stage, struct thrum__draw_list *list,
	uint32_t part, int64_t time, int colour)
{
	for (uint32_t i = 0; i < stage->count; i++) {
		const struct thrum__scene *scene = stage->parts[i].scene;
		float x = (float)thrum__scene_time_axis_x(&scene->time,
			time + stage->parts[part].offset - stage->parts[i].offset);
		float top, bottom;

		picture_of(stage, i, &top, &bottom);
		if ((i == part || stage->is_linked) && x <= thrum__stage_right(scene))
			thrum__draw_vertical(list, THRUM__Z_FRAME, colour, x, top, bottom, 1,
				THRUM__DASH_SOLID);
	}
}

/* Draws the duration that is measured above the middle of the measure's line. */
static void draw_duration(const struct thrum__stage *stage,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list, float left,
	float right, float y)
{
	const struct thrum__stage_private *own = stage->own;
	int64_t span = own->measure_to - own->measure_from;
	char words[64];
	size_t size = thrum__words_duration(span < 0 ? -span : span, 3, words, sizeof words);
	float width = metrics->width(metrics->context, words, size, THRUM__FONT_STRONG);
	float x = (left + right - width) / 2, most = own->width - width - 4;

	x = x > most ? most : x;
	x = x < 4 ? 4 : x;
	thrum__draw_rect(list, THRUM__Z_HALO, THRUM__COLOUR_BG, x - 3, y - 19, width + 6, 16);
	thrum__draw_text(list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_INK, THRUM__FONT_STRONG, x, y - 7,
		words, size, true);
}

static void draw_measure(const struct thrum__stage *stage,
	const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	const struct thrum__stage_private *own = stage->own;
	const struct thrum__scene *scene = stage->parts[own->measure_part].scene;
	float y = thrum__stage_view_top(stage, own->measure_part) + own->measure_y;
	float a = (float)thrum__scene_time_axis_x(&scene->time, own->measure_from);
	float b = (float)thrum__scene_time_axis_x(&scene->time, own->measure_to);
	float left = a < b ? a : b, right = a < b ? b : a;

	draw_upright(stage, list, own->measure_part, own->measure_from, THRUM__COLOUR_SEL);
	draw_upright(stage, list, own->measure_part, own->measure_to, THRUM__COLOUR_SEL);
	left = left < 0 ? 0 : left;
	right = right > thrum__stage_right(scene) ? thrum__stage_right(scene) : right;
	if (right < left)
		return;
	thrum__draw_horizontal(list, THRUM__Z_FRAME, THRUM__COLOUR_SEL, left, right, y, 2,
		THRUM__DASH_SOLID);
	draw_duration(stage, metrics, list, left, right, y);
}

struct thrum__scene_counter_below thrum__stage_counter_below(const struct thrum__stage *stage)
{
	const struct thrum__stage_private *own = stage->own;
	const struct thrum__scene *scene = stage->parts[own->pointer_part].scene;

	if (!own->has_crosshair)
		return (struct thrum__scene_counter_below){0};
	return thrum__scene_counter_nearest(scene, own->x,
		own->y - thrum__stage_view_top(stage, own->pointer_part));
}

static void draw_counter_mark(const struct thrum__stage *stage, struct thrum__draw_list *list)
{
	struct thrum__scene_counter_below below = thrum__stage_counter_below(stage);
	float x = floorf(stage->own->x);
	float y = below.y + thrum__stage_view_top(stage, stage->own->pointer_part);

	if (!below.place)
		return;
	thrum__draw_rect(list, THRUM__Z_FRAME, THRUM__COLOUR_BG, x - 5, y - 5, 10, 10);
	if (below.is_known)
		thrum__draw_rect(list, THRUM__Z_FRAME_MARK, below.place->colour, x - 3, y - 3, 6,
			6);
}

void thrum__stage_paint_over(struct thrum__stage *stage, const struct thrum__draw_metrics *metrics,
	struct thrum__draw_list *list)
{
	struct thrum__stage_private *own = stage->own;

	if (own->has_measure)
		draw_measure(stage, metrics, list);
	if (own->has_crosshair)
		draw_upright(stage, list, own->pointer_part,
			thrum__scene_time_axis_time(&stage->parts[own->pointer_part].scene->time,
				own->x),
			THRUM__COLOUR_MUTED);
	draw_counter_mark(stage, list);
}

void thrum__stage_paint_blink(const struct thrum__stage *stage, struct thrum__draw_list *list)
{
	const struct thrum__stage_private *own = stage->own;
	const struct thrum__scene *scene = stage->parts[own->blink_part].scene;
	uint32_t unit = thrum__layout_unit(scene->layout, own->blink_task);
	const struct thrum__scene_track_box *box = unit == THRUM__NONE
		? NULL
		: thrum__scene_track_axis_find(&scene->tracks,
			  thrum__layout_track(scene->layout, unit));
	float right = thrum__stage_right(scene), y = box ? box->y : 0;
	float height = box ? box->height : 0;

	if (scene->shows_bands ? !thrum__scene_bands_place_y(scene, own->blink_task, &y, &height)
			       : !box)
		return;
	thrum__draw_horizontal(list, THRUM__Z_BAND, THRUM__COLOUR_SEL, 0, right, y, 2,
		THRUM__DASH_SOLID);
	thrum__draw_horizontal(list, THRUM__Z_BAND, THRUM__COLOUR_SEL, 0, right, y + height - 2, 2,
		THRUM__DASH_SOLID);
	thrum__draw_list_sort(list);
}
