/* SPDX-License-Identifier: ISC */
/* Makes the lists of a frame. */
#include <math.h>

#include "stage/parts.h"

#define HOVER_MS 120 /* after this time a hovered task is shown */
#define BLINK_MS 300 /* duration of a blink */
#define STILL_MS 100 /* so long after a motion bands count their numbers anew */

/* Shows the hovered task with its related units, if it has been hovered long enough. Returns
 * whether that is still to come. */
static bool show_hovered(struct thrum__stage *stage, double now)
{
	struct thrum__stage_private *own = stage->own;

	if (own->hover_task == THRUM__NONE || own->is_hover_shown)
		return false;
	if (isnan(own->hover_start))
		own->hover_start = now;
	if (now - own->hover_start < HOVER_MS)
		return true;
	own->is_hover_shown = true;
	thrum__scene_hover(stage->parts[own->hover_part].scene, own->hover_task);
	own->is_painted = false;
	return false;
}

/* Returns whether a track still blinks; ends the blink when its time is over. */
static bool update_blink(struct thrum__stage *stage, double now)
{
	struct thrum__stage_private *own = stage->own;

	if (own->blink_task == THRUM__NONE)
		return false;
	if (isnan(own->blink_start))
		own->blink_start = now;
	if (now - own->blink_start < BLINK_MS)
		return true;
	own->blink_task = THRUM__NONE;
	own->is_painted = false;
	return false;
}

/* Lets bands keep their numbers while a window moves, and a little longer. Returns whether they are still
 * to be counted. */
static bool keep_numbers(struct thrum__stage *stage, double now)
{
	struct thrum__stage_private *own = stage->own;
	bool any = false;

	if (isnan(own->still_since))
		own->still_since = now - STILL_MS;
	else if (thrum__stage_has_moved(stage))
		own->still_since = now;
	thrum__stage_motion_note(stage);
	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene *scene = stage->parts[i].scene;
		bool keeps = scene->shows_bands && now - own->still_since < STILL_MS;

		own->is_painted = own->is_painted && scene->keeps_numbers == keeps;
		scene->keeps_numbers = keeps;
		any = any || keeps;
	}
	return any;
}

/* Paints two parts in pairs, as one list. */
static int paint_pairs(struct thrum__stage *stage, const struct thrum__draw_metrics *metrics)
{
	struct thrum__draw_list *list = &stage->lists[0];
	int status = thrum__scene_frame(stage->parts[0].scene, stage->own->width,
		stage->own->height, metrics, list);

	list->x = list->y = 0;
	thrum__stage_paint_marks(stage, 0, metrics, list);
	thrum__stage_paint_marks(stage, 1, metrics, list);
	stage->list_count = 1 + !stage->is_still;
	return status;
}

static int paint_parts(struct thrum__stage *stage, const struct thrum__draw_metrics *metrics)
{
	struct thrum__stage_private *own = stage->own;
	struct thrum__draw_list *list = stage->lists;
	int status = 0;

	if (thrum__stage_shows_pairs(stage))
		return paint_pairs(stage, metrics);
	for (uint32_t i = 0; i < stage->count && status == 0; i++, list++) {
		const struct thrum__stage_part *part = &stage->parts[i];

		if (stage->count > 1) {
			thrum__stage_head(list, part->top, own->width, i == 0,
				i == stage->focus && !stage->is_still, part->name);
			status = list++->failed ? -THRUM_E_MEMORY : 0;
		}
		if (status == 0)
			status = thrum__scene_frame(part->scene, own->width,
				part->height - thrum__stage_head_height(stage), metrics, list);
		list->x = 0;
		list->y = thrum__stage_view_top(stage, i);
		if (i == own->blink_part && own->blink_task != THRUM__NONE)
			thrum__stage_paint_blink(stage, list);
		thrum__stage_paint_marks(stage, i, metrics, list);
	}
	stage->list_count = (uint32_t)(list - stage->lists) + !stage->is_still;
	return status;
}

/* Paints the parts with the states of the motion at `now`; then restores the states. */
static int paint_moving(struct thrum__stage *stage, const struct thrum__draw_metrics *metrics,
	double now, bool *is_moving)
{
	struct thrum__stage_spot targets[THRUM__STAGE_MAX];
	int status;

	for (uint32_t i = 0; i < stage->count; i++) {
		const struct thrum__scene_state *state = &stage->parts[i].scene->state;

		targets[i] = (struct thrum__stage_spot){state->from, state->to, state->track};
	}
	*is_moving = thrum__stage_motion_at(stage, now);
	status = paint_parts(stage, metrics);
	for (uint32_t i = 0; i < stage->count; i++) {
		struct thrum__scene_state *state = &stage->parts[i].scene->state;

		state->from = targets[i].from;
		state->to = targets[i].to;
		state->track = targets[i].track;
	}
	return status;
}

static int paint_over(struct thrum__stage *stage, float width, float height,
	const struct thrum__draw_metrics *metrics)
{
	struct thrum__draw_list *over = &stage->lists[stage->list_count - 1];

	over->x = over->y = 0;
	thrum__draw_list_clear(over, width, height);
	thrum__stage_paint_over(stage, metrics, over);
	thrum__draw_list_sort(over);
	return over->failed ? -THRUM_E_MEMORY : 0;
}

int thrum__stage_frame(struct thrum__stage *stage, float width, float height,
	const struct thrum__draw_metrics *metrics, double now)
{
	struct thrum__stage_private *own = stage->own;
	bool is_hovering, is_blinking, is_counting, is_moving = false;
	int status = thrum__stage_resize(stage, width, height);

	if (status < 0)
		return status;
	is_hovering = show_hovered(stage, now);
	is_blinking = update_blink(stage, now);
	is_counting = !stage->is_still && keep_numbers(stage, now);
	if (own->is_moving || !own->is_painted) {
		status = paint_moving(stage, metrics, now, &is_moving);
		if (status != 0)
			return status;
		own->is_projected = own->is_painted = !is_moving;
	}
	if (!stage->is_still && paint_over(stage, width, height, metrics) < 0)
		return -THRUM_E_MEMORY;
	return is_moving || is_hovering || is_blinking || is_counting;
}
