/* SPDX-License-Identifier: ISC */
/* The pointer: picking, dragging, clicking, hovering. */
#include <math.h>

#include "base/time.h"
#include "stage/parts.h"

#define DIVIDER 4 /* px above and below a divider that belong to it */
#define EDGE 6 /* px beside an edge of the strip's frame, or of a range, that belong to the edge */
#define EDGE_LEAST 6 /* px inside the frame, at least, that drag it as a whole */

/* ---- Places -------------------------------------------------------------------------------- */

struct place {
	uint32_t part;
	int over;     /* enum thrum__stage_over */
	int drag;     /* enum thrum__stage_drag: the drag that a press there begins */
	float y;      /* in the part's scene */
	int64_t held; /* of a range whose edge is there: the other edge */
};

static float slack_of(unsigned with)
{
	return with & THRUM__WITH_TOUCH ? THRUM__SLACK_TOUCH : THRUM__SLACK;
}

/* Returns the drag that a press on the strip begins: of the frame, or of one of its edges. */
static int strip_drag(const struct thrum__scene *scene, float width, float x, unsigned with)
{
	float slack = with & THRUM__WITH_TOUCH ? THRUM__SLACK_TOUCH : EDGE, inside = slack;
	float left, right;

	if (!thrum__scene_strip_window(scene, width, &left, &right))
		return THRUM__DRAG_NOTHING;
	if (right - left < 2 * slack + EDGE_LEAST)
		inside = fmaxf((right - left - EDGE_LEAST) / 2, 0);
	if (x >= left - slack && x <= left + inside)
		return THRUM__DRAG_STRIP_LEFT;
	if (x >= right - inside && x <= right + slack)
		return THRUM__DRAG_STRIP_RIGHT;
	return THRUM__DRAG_STRIP;
}

/* Makes an edge of the range that is there the place; with Shift a new range begins there. */
static void find_edge(const struct thrum__scene *scene, float x, unsigned with, struct place *place)
{
	const struct thrum__scene_bands_state *bands = &scene->state.bands;
	double slack = with & THRUM__WITH_TOUCH ? THRUM__SLACK_TOUCH : EDGE, left, right;

	if (with & THRUM__WITH_SHIFT || !scene->shows_bands ||
		bands->range_from >= bands->range_to || x < (float)scene->time.x0)
		return;
	left = fabs(thrum__scene_time_axis_x(&scene->time, bands->range_from) - (double)x);
	right = fabs(thrum__scene_time_axis_x(&scene->time, bands->range_to) - (double)x);
	if (fmin(left, right) > slack)
		return;
	place->held = left < right ? bands->range_to : bands->range_from;
	place->over = THRUM__OVER_EDGE;
	place->drag = THRUM__DRAG_RANGE_EDGE;
}

static struct place place_at(const struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct place place = {.over = THRUM__OVER_GROUND, .drag = THRUM__DRAG_NOTHING};
	const struct thrum__scene *scene;
	struct thrum__scene_pick pick;
	float strip;

	if (stage->count == 0 || !(fabsf(x) < 1e6f) || !(fabsf(y) < 1e6f))
		return place;
	place.part = thrum__stage_at(stage, y + DIVIDER);
	if (place.part > 0 && fabsf(y - stage->parts[place.part].top) <= DIVIDER) {
		place.over = THRUM__OVER_DIVIDER;
		place.drag = THRUM__DRAG_DIVIDER;
		return place;
	}
	place.part = thrum__stage_at(stage, y);
	scene = stage->parts[place.part].scene;
	place.y = y - thrum__stage_view_top(stage, place.part);
	strip = thrum__scene_strip_height(scene, stage->own->width);
	if (place.y < 0) {
		return place; /* the head */
	} else if (place.y < strip) {
		place.drag = strip_drag(scene, stage->own->width, x, with);
		place.over = place.drag == THRUM__DRAG_STRIP_LEFT ||
				place.drag == THRUM__DRAG_STRIP_RIGHT
			? THRUM__OVER_EDGE
			: THRUM__OVER_STRIP;
	} else if (place.y < strip + THRUM__RULER) {
		place.over = THRUM__OVER_RULER;
		place.drag = !scene->shows_bands    ? THRUM__DRAG_RULER
			: x < (float)scene->time.x0 ? THRUM__DRAG_NOT_YET
						    : THRUM__DRAG_RANGE;
		find_edge(scene, x, with, &place);
	} else if (place.y < scene->tracks.bottom + THRUM__PAD && x <= thrum__stage_right(scene)) {
		thrum__scene_pick(scene, x, place.y, slack_of(with), &pick);
		place.over = pick.unit != THRUM__NONE ||
				thrum__scene_finding_at(scene, x, place.y) != THRUM__NONE ||
				thrum__scene_bands_is_button(scene, x, place.y)
			? THRUM__OVER_TASK
			: THRUM__OVER_GROUND;
		place.drag = THRUM__DRAG_NOT_YET;
		if (place.over == THRUM__OVER_GROUND)
			find_edge(scene, x, with, &place);
	}
	return place;
}

int thrum__stage_over(const struct thrum__stage *stage, float x, float y)
{
	return place_at(stage, x, y, 0).over;
}

static void pick_at(const struct thrum__stage *stage, const struct place *place, float x,
	unsigned with, struct thrum__scene_pick *pick)
{
	*pick = (struct thrum__scene_pick){.unit = THRUM__NONE,
		.task = THRUM__NONE,
		.run = THRUM__NONE};
	if (place->over == THRUM__OVER_TASK)
		thrum__scene_pick(stage->parts[place->part].scene, x, place->y, slack_of(with),
			pick);
}

uint32_t thrum__stage_pick_all(const struct thrum__stage *stage, float x, float y,
	struct thrum__scene_pick *pick)
{
	struct place place = place_at(stage, x, y, 0);

	pick_at(stage, &place, x, 0, pick);
	return place.part;
}

uint32_t thrum__stage_pick(const struct thrum__stage *stage, float x, float y, uint32_t *part)
{
	struct thrum__scene_pick pick;
	uint32_t of = thrum__stage_pick_all(stage, x, y, &pick);

	if (part)
		*part = of;
	return pick.task;
}

/* ---- Hovering ------------------------------------------------------------------------------ */

/* Whether a time lies at x: beside it, bands have names and scales. */
static bool is_at_time(const struct thrum__scene *scene, float x)
{
	return !scene->shows_bands || (x >= (float)scene->time.x0 && x <= (float)scene->time.x1);
}

/* Hovers the name at x, y of a part, if there is one; at INFINITY there is none. */
static void hover_name(struct thrum__stage *stage, uint32_t part, float x, float y)
{
	for (uint32_t i = 0; i < stage->count; i++)
		if (thrum__scene_hover_name(stage->parts[i].scene, i == part ? x : INFINITY, y))
			stage->own->is_painted = false;
}

void thrum__stage_forget_pointer(struct thrum__stage *stage)
{
	struct thrum__stage_private *own = stage->own;

	own->is_inside = own->has_crosshair = own->is_hover_shown = false;
	own->drag = THRUM__DRAG_NONE;
	own->pointer_part = own->drag_part = own->hover_part = 0;
	own->hover_task = THRUM__NONE;
	for (uint32_t i = 0; i < stage->count; i++)
		thrum__scene_hover(stage->parts[i].scene, THRUM__NONE);
	hover_name(stage, 0, INFINITY, 0);
}

int thrum__stage_hover(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	struct thrum__stage_private *own = stage->own;

	if (own->hover_task == task && own->hover_part == part)
		return 0;
	if (own->is_hover_shown) {
		thrum__scene_hover(stage->parts[own->hover_part].scene, THRUM__NONE);
		own->is_hover_shown = own->is_painted = false;
	}
	own->hover_part = part;
	own->hover_task = task;
	own->hover_start = NAN;
	return THRUM__CHANGED_PICTURE;
}

int thrum__stage_hover_task(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	return part < stage->count ? thrum__stage_hover(stage, part, task) : 0;
}

static int hover_at(struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct thrum__stage_private *own = stage->own;
	struct place place = place_at(stage, x, y, with);
	bool is_touch = with & THRUM__WITH_TOUCH;
	uint32_t task = THRUM__NONE;
	struct thrum__scene_pick pick;

	own->is_inside = true;
	own->x = x;
	own->y = y;
	own->pointer_part = place.part;
	own->has_crosshair = !is_touch && is_at_time(stage->parts[place.part].scene, x) &&
		(place.drag == THRUM__DRAG_NOT_YET || place.drag == THRUM__DRAG_RULER ||
			place.drag == THRUM__DRAG_RANGE || place.drag == THRUM__DRAG_RANGE_EDGE);
	hover_name(stage, place.part, is_touch ? INFINITY : x, place.y);
	pick_at(stage, &place, x, with, &pick);
	/* Hover the unit's first task, whichever task of the chain is below the pointer. */
	if (pick.unit != THRUM__NONE && !is_touch)
		task = stage->parts[place.part].scene->layout->units[pick.unit].task;
	return thrum__stage_hover(stage, place.part, task) | THRUM__CHANGED_PICTURE |
		THRUM__CHANGED_STATUS;
}

int thrum__stage_leave(struct thrum__stage *stage)
{
	struct thrum__stage_private *own = stage->own;

	own->is_inside = own->has_crosshair = false;
	own->drag = THRUM__DRAG_NONE;
	hover_name(stage, 0, INFINITY, 0);
	return thrum__stage_hover(stage, own->hover_part, THRUM__NONE) | THRUM__CHANGED_PICTURE |
		THRUM__CHANGED_STATUS;
}

/* ---- Pressing ------------------------------------------------------------------------------ */

int thrum__stage_focus(struct thrum__stage *stage, uint32_t part)
{
	if (stage->focus == part)
		return 0;
	stage->focus = part;
	stage->own->is_painted = false;
	return THRUM__CHANGED_PICTURE | THRUM__CHANGED_SELECTION | THRUM__CHANGED_STATUS;
}

static void grab_at(struct thrum__stage *stage, const struct place *place, float x, float y)
{
	struct thrum__stage_private *own = stage->own;
	const struct thrum__scene *scene = stage->parts[place->part].scene;

	own->drag = place->drag;
	own->drag_part = place->part;
	own->press_x = x;
	own->press_y = y;
	own->grabbed_time = place->drag == THRUM__DRAG_RANGE_EDGE
		? place->held
		: thrum__scene_time_axis_time(&scene->time, x);
	own->grabbed_track = thrum__scene_track_at(scene, place->y);
	own->grabbed_scale = scene->time.scale;
	own->grabbed = (struct thrum__stage_spot){scene->state.from, scene->state.to,
		scene->state.track};
}

/* After a press on the strip outside of its frame, moves the window there. Returns bits. */
static int centre_strip(struct thrum__stage *stage, const struct place *place, float x)
{
	struct thrum__scene *scene = stage->parts[place->part].scene;
	int64_t span = scene->state.to - scene->state.from, from;
	float left, right;

	if (place->drag != THRUM__DRAG_STRIP ||
		!thrum__scene_strip_window(scene, stage->own->width, &left, &right) ||
		(x >= left && x <= right))
		return 0;
	from = thrum__base_time_clamp(thrum__scene_strip_time(scene, stage->own->width, x)) -
		span / 2;
	thrum__scene_set_window(scene, from, from + span);
	return thrum__stage_share(stage, place->part) < 0 ? -THRUM_E_MEMORY : THRUM__MOVED;
}

/* False also for NAN. */
static bool is_sane(float x, float y)
{
	return fabsf(x) < 1e6f && fabsf(y) < 1e6f;
}

int thrum__stage_press(struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct thrum__stage_private *own = stage->own;
	int changed = THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS, moved;
	struct place place;

	if (stage->count == 0 || !is_sane(x, y))
		return 0;
	thrum__stage_motion_stop(stage);
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	place = place_at(stage, x, y, with);
	changed |= thrum__stage_focus(stage, place.part) |
		thrum__stage_hover(stage, own->hover_part, THRUM__NONE);
	moved = centre_strip(stage, &place, x);
	if (moved < 0)
		return moved;
	grab_at(stage, &place, x, y);
	own->has_measure = own->has_crosshair = false;
	if ((with & THRUM__WITH_SHIFT) &&
		(place.drag == THRUM__DRAG_NOT_YET || place.drag == THRUM__DRAG_RULER ||
			place.drag == THRUM__DRAG_RANGE)) {
		own->drag = THRUM__DRAG_MEASURE;
		own->measure_part = place.part;
		own->measure_from = own->measure_to = own->grabbed_time;
		own->measure_y = place.y;
	}
	return changed | moved;
}

/* ---- Dragging ------------------------------------------------------------------------------ */

static int drag_picture(struct thrum__stage *stage, struct thrum__scene *scene, float x, float y)
{
	const struct thrum__stage_private *own = stage->own;
	int status = thrum__stage_project(stage);

	if (status == 0)
		status = thrum__scene_hold_time(scene, own->grabbed_time, x, own->grabbed_scale);
	if (status == 0 && own->drag == THRUM__DRAG_PICTURE)
		status = thrum__scene_hold_track(scene, own->grabbed_track,
			y - thrum__stage_view_top(stage, own->drag_part));
	return status;
}

static void drag_strip(struct thrum__stage *stage, struct thrum__scene *scene, float x)
{
	const struct thrum__stage_private *own = stage->own;
	double scale = thrum__scene_strip_scale(scene, own->width), ns;
	int64_t from = own->grabbed.from, to = own->grabbed.to, by;

	if (!(scale > 0))
		return;
	ns = (double)(x - own->press_x) / scale;
	by = ns > 1e18 ? (int64_t)1e18 : ns < -1e18 ? -(int64_t)1e18 : (int64_t)ns;
	if (own->drag != THRUM__DRAG_STRIP_RIGHT)
		from += by;
	if (own->drag != THRUM__DRAG_STRIP_LEFT)
		to += by;
	/* An edge stops at the other edge. */
	if (from > to && own->drag == THRUM__DRAG_STRIP_LEFT)
		from = to;
	else if (to < from)
		to = from;
	thrum__scene_set_window(scene, from, to);
}

/* In bands, chooses the time from the press, or from the edge that stays, to x as the range. */
static void drag_range(const struct thrum__stage_private *own, struct thrum__scene *scene, float x)
{
	struct thrum__scene_bands_state *bands = &scene->state.bands;
	int64_t time = thrum__scene_time_axis_time(&scene->time, x);

	bands->range_from = time < own->grabbed_time ? time : own->grabbed_time;
	bands->range_to = time < own->grabbed_time ? own->grabbed_time : time;
	scene->tells_range = true;
	if (own->drag != THRUM__DRAG_RANGE_EDGE)
		bands->took_from = bands->took_to = 0;
}

static int drag_to(struct thrum__stage *stage, float x, float y)
{
	struct thrum__stage_private *own = stage->own;
	struct thrum__scene *scene = stage->parts[own->drag_part].scene;
	int status = 0;

	switch (own->drag) {
	case THRUM__DRAG_RANGE:
	case THRUM__DRAG_RANGE_EDGE: drag_range(own, scene, x); break;
	case THRUM__DRAG_PICTURE:
	case THRUM__DRAG_RULER: status = drag_picture(stage, scene, x, y); break;
	case THRUM__DRAG_STRIP:
	case THRUM__DRAG_STRIP_LEFT:
	case THRUM__DRAG_STRIP_RIGHT: drag_strip(stage, scene, x); break;
	case THRUM__DRAG_MEASURE:
		own->measure_to = thrum__scene_time_axis_time(&scene->time, x);
		own->has_measure = true;
		if (scene->shows_bands) {
			drag_range(own, scene, x);
			thrum__scene_bands_choose(scene, own->measure_y,
				y - thrum__stage_view_top(stage, own->drag_part));
			status = thrum__stage_share(stage, own->drag_part);
			return status < 0 ? status : THRUM__MOVED;
		}
		return THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS;
	case THRUM__DRAG_DIVIDER:
		thrum__stage_divide(stage, own->drag_part, y);
		return THRUM__CHANGED_PICTURE | THRUM__CHANGED_ADDRESS;
	default: return 0;
	}
	if (status == 0)
		status = thrum__stage_share(stage, own->drag_part);
	return status < 0 ? status : THRUM__MOVED;
}

int thrum__stage_move(struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct thrum__stage_private *own = stage->own;

	if (stage->count == 0 || !is_sane(x, y))
		return 0;
	if (own->drag == THRUM__DRAG_NONE)
		return hover_at(stage, x, y, with);
	if (own->drag == THRUM__DRAG_NOT_YET &&
		hypotf(x - own->press_x, y - own->press_y) > slack_of(with))
		own->drag = THRUM__DRAG_PICTURE;
	own->x = x;
	own->y = y;
	return drag_to(stage, x, y);
}

static int select_at(struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct place place = place_at(stage, x, y, with);
	struct thrum__scene *scene = stage->parts[place.part].scene;
	struct thrum__scene_pick pick;

	if (place.drag == THRUM__DRAG_NOT_YET) {
		uint32_t finding = thrum__scene_finding_at(scene, x, place.y);

		if (finding != THRUM__NONE) {
			int changed = thrum__stage_go_finding(stage, place.part, finding);

			return changed < 0 ? changed : changed | THRUM__STAGE_YOURS;
		}
	}
	if (scene->shows_bands && place.drag == THRUM__DRAG_NOT_YET &&
		(x < scene->time.x0 || thrum__scene_bands_is_button(scene, x, place.y))) {
		thrum__stage_motion_from(stage);
		if (thrum__scene_bands_press(scene, x, place.y) < 0 ||
			thrum__stage_share(stage, place.part) < 0)
			return -THRUM_E_MEMORY;
		thrum__stage_motion_begin(stage);
		return THRUM__MOVED | THRUM__CHANGED_SELECTION;
	}
	pick_at(stage, &place, x, with, &pick);
	if (pick.task == scene->selected && pick.run == scene->run && !scene->tells_range)
		return 0;
	/* Without a selection no unit is unrelated; the next selection begins without fading. */
	if (pick.task == THRUM__NONE)
		scene->state.related_only = false;
	if ((pick.run == THRUM__NONE ? thrum__scene_select(scene, pick.task)
				     : thrum__scene_select_run(scene, pick.run)) < 0)
		return -THRUM_E_MEMORY;
	stage->own->is_painted = false;
	return THRUM__MOVED | THRUM__CHANGED_SELECTION;
}

int thrum__stage_release(struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct thrum__stage_private *own = stage->own;
	int drag = own->drag, changed = 0;

	own->drag = THRUM__DRAG_NONE;
	if (drag == THRUM__DRAG_NOT_YET && stage->count > 0)
		changed = select_at(stage, own->press_x, own->press_y, with);
	if (changed < 0 || (with & THRUM__WITH_TOUCH) || stage->count == 0 || !is_sane(x, y))
		return changed;
	return changed | hover_at(stage, x, y, with);
}

int thrum__stage_double_press(struct thrum__stage *stage, float x, float y, unsigned with)
{
	struct place place;
	int changed, moved;

	if (stage->count == 0 || !is_sane(x, y))
		return 0;
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	place = place_at(stage, x, y, with);
	if (place.drag != THRUM__DRAG_NOT_YET)
		return 0;
	changed = select_at(stage, x, y, with);
	if (changed < 0)
		return changed;
	moved = thrum__stage_command(stage,
		stage->parts[place.part].scene->shows_bands ? THRUM__COMMAND_SLOW
							    : THRUM__COMMAND_RELATED);
	return moved < 0 ? moved : changed | moved | THRUM__MOVED;
}
