/* SPDX-License-Identifier: ISC */
/* Ways to move: wheel and touch, commands, links, scroll bars; and the state that parts share. */
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "stage/parts.h"

#define STEP 100 /* px of a wheel that zoom by ZOOM_STEP */
#define ZOOM_STEP 1.5
#define FARTHEST 10000 /* px of one event, at most */

/* ---- Wheel and touch ----------------------------------------------------------------------- */

static float bounded_pixels(float pixels)
{
	return pixels > FARTHEST     ? FARTHEST
		: pixels > -FARTHEST ? pixels
		: isnan(pixels)      ? 0
				     : -FARTHEST;
}

/* Ends the motion, gives the part at y, and computes its axes. Returns 1; 0 if there is no part or
 * no frame yet; or -THRUM_E_MEMORY. */
static int begin_input(struct thrum__stage *stage, float y, uint32_t *part)
{
	if (stage->count == 0 || stage->own->width == 0)
		return 0;
	thrum__stage_motion_stop(stage);
	*part = thrum__stage_at(stage, y);
	return thrum__stage_project(stage) < 0 ? -THRUM_E_MEMORY : 1;
}

/* Shares a part's new state with the others, unless `status` is an error. Returns bits, or the
 * error. */
static int finish_input(struct thrum__stage *stage, uint32_t part, int status)
{
	if (status == 0)
		status = thrum__stage_share(stage, part);
	return status < 0 ? status : THRUM__MOVED;
}

/* Zooms a part so that the time at x stays there; on the strip, the time in the middle. */
static int zoom_part(struct thrum__stage *stage, uint32_t part, float x, float y, double factor)
{
	struct thrum__scene *scene = stage->parts[part].scene;
	const struct thrum__scene_time_axis *axis = &scene->time;
	bool is_above = y <
		thrum__stage_view_top(stage, part) + thrum__scene_strip_height(scene, scene->width);
	double at = is_above ? (axis->x0 + axis->x1) / 2 : fmin(fmax(x, axis->x0), axis->x1);
	int64_t time = thrum__scene_time_axis_time(axis, at);
	int status;

	thrum__scene_zoom(scene, (float)at, 0, factor);
	status = thrum__scene_project(scene, scene->width, scene->height);
	return status < 0 ? status : thrum__scene_hold_time(scene, time, at, axis->scale);
}

int thrum__stage_wheel(struct thrum__stage *stage, float x, float y, float dx, float dy,
	unsigned with)
{
	bool is_shifted = (with & THRUM__WITH_SHIFT) && !(with & THRUM__WITH_CONTROL);
	uint32_t part;
	int status;

	dx = bounded_pixels(dx);
	dy = bounded_pixels(dy);
	/* Some systems report a wheel with shift as one that goes sideways. */
	if (is_shifted)
		return thrum__stage_pan(stage, x, y, 0, dy != 0 ? dy : dx);
	if (dx != 0 && fabsf(dx) > fabsf(dy))
		return thrum__stage_pan(stage, x, y, dx, 0);
	status = begin_input(stage, y, &part);
	if (status <= 0)
		return status;
	if (with & THRUM__WITH_CONTROL)
		status = zoom_part(stage, part, x, y, exp(-(double)dy / STEP));
	else
		status = zoom_part(stage, part, x, y, pow(ZOOM_STEP, -(double)dy / STEP));
	return finish_input(stage, part, status);
}

int thrum__stage_pan(struct thrum__stage *stage, float x, float y, float dx, float dy)
{
	uint32_t part;
	int status = begin_input(stage, y, &part);

	if (status <= 0)
		return status;
	thrum__scene_drag(stage->parts[part].scene, x, y - thrum__stage_view_top(stage, part),
		-bounded_pixels(dx), -bounded_pixels(dy));
	return finish_input(stage, part, 0);
}

int thrum__stage_pinch(struct thrum__stage *stage, float x, float y, float dx, float dy,
	double factor)
{
	struct thrum__scene *scene;
	uint32_t part;
	int status = begin_input(stage, y, &part);

	if (status <= 0)
		return status;
	scene = stage->parts[part].scene;
	stage->own->drag = THRUM__DRAG_NOTHING; /* the first finger's press is not a click */
	thrum__scene_drag(scene, x, y - thrum__stage_view_top(stage, part), bounded_pixels(dx),
		bounded_pixels(dy));
	status = thrum__scene_project(scene, scene->width, scene->height);
	if (status == 0 && factor > 0 && isfinite(factor))
		status = zoom_part(stage, part, x + bounded_pixels(dx), y, factor);
	return finish_input(stage, part, status);
}

/* ---- Commands ------------------------------------------------------------------------------ */

static bool goes_somewhere(int command)
{
	switch (command) {
	case THRUM__COMMAND_ZOOM_IN:
	case THRUM__COMMAND_ZOOM_OUT:
	case THRUM__COMMAND_LEFT:
	case THRUM__COMMAND_RIGHT:
	case THRUM__COMMAND_UP:
	case THRUM__COMMAND_DOWN:
	case THRUM__COMMAND_PAGE_UP:
	case THRUM__COMMAND_PAGE_DOWN:
	case THRUM__COMMAND_TOP:
	case THRUM__COMMAND_BOTTOM:
	case THRUM__COMMAND_FIT:
	case THRUM__COMMAND_NEXT_MATCH:
	case THRUM__COMMAND_PREVIOUS_MATCH:
	case THRUM__COMMAND_NEXT_ALIKE:
	case THRUM__COMMAND_PREVIOUS_ALIKE:
	case THRUM__COMMAND_CREATOR:
	case THRUM__COMMAND_AWAITED:
	case THRUM__COMMAND_WAKER:
	case THRUM__COMMAND_FINDING:
	case THRUM__COMMAND_ALONE:
	case THRUM__COMMAND_EXCEPTION:
	case THRUM__COMMAND_PREVIOUS_EXCEPTION:
	case THRUM__COMMAND_ZOOM_TO:
	case THRUM__COMMAND_SLOW:
	case THRUM__COMMAND_PIN:
	case THRUM__COMMAND_OPEN:
	case THRUM__COMMAND_CLOSE_ALL:
	case THRUM__COMMAND_BACK: return true;
	default: return false;
	}
}

static void begin_blink(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	if (!stage->is_animated)
		return;
	stage->own->blink_part = part;
	stage->own->blink_task = task;
	stage->own->blink_start = NAN;
}

/* Shares a part's new state if a scene's function returned that it changed something. Returns bits,
 * or the error. */
static int share_result(struct thrum__stage *stage, uint32_t part, int status)
{
	if (status <= 0)
		return status;
	status = thrum__stage_share(stage, part);
	return status < 0 ? status : THRUM__MOVED;
}

static uint32_t selected_in(const struct thrum__stage *stage, uint32_t part)
{
	return stage->parts[part].scene->selected;
}

/* Begins the motion after thrum__stage_motion_from and a call that went somewhere. With is_target,
 * the track of the task that it went to blinks. Returns bits, or an error. */
static int finish_going(struct thrum__stage *stage, uint32_t part, int status, bool is_target)
{
	int changed = share_result(stage, part, status);

	if (changed <= 0)
		return changed;
	if (is_target) {
		begin_blink(stage, part, selected_in(stage, part));
		changed |= THRUM__CHANGED_SELECTION;
	}
	thrum__stage_motion_begin(stage);
	return changed | thrum__stage_focus(stage, part);
}

int thrum__stage_went_to(struct thrum__stage *stage, uint32_t part)
{
	return finish_going(stage, part, 1, true);
}

static int clear_part(struct thrum__stage *stage)
{
	bool had_lines = stage->own->has_measure || stage->own->mark_count > 0;
	int changed;

	stage->own->has_measure = false;
	thrum__stage_mark(stage, NULL);
	changed = share_result(stage, stage->focus,
		thrum__scene_command(stage->parts[stage->focus].scene, THRUM__COMMAND_CLEAR));
	if (changed > 0)
		changed |= THRUM__CHANGED_SELECTION | THRUM__CHANGED_SEARCH;
	return changed < 0 || !had_lines ? changed
					 : changed | THRUM__CHANGED_PICTURE | THRUM__CHANGED_STATUS;
}

static bool has_next(const struct thrum__scene *scene, int command)
{
	uint32_t unit = thrum__layout_unit(scene->layout, scene->selected), at = 0;

	if (command == THRUM__COMMAND_FINDING)
		return scene->findings.count > 0;
	if (unit != THRUM__NONE && scene->looks[unit] & THRUM__LOOK_FOUND)
		at = thrum__scene_found_before(scene, unit);
	return command == THRUM__COMMAND_NEXT_MATCH ? at < scene->found
						    : scene->found > 0 && at != 1;
}

/* Returns the part in which the next match or finding is: the focused one, or if that has no
 * further one, the next part that has any. For other commands, the focused part. */
static uint32_t part_with_next(struct thrum__stage *stage, int command)
{
	bool is_back = command == THRUM__COMMAND_PREVIOUS_MATCH;
	bool is_match = is_back || command == THRUM__COMMAND_NEXT_MATCH;

	if ((!is_match && command != THRUM__COMMAND_FINDING) ||
		has_next(stage->parts[stage->focus].scene, command))
		return stage->focus;
	for (uint32_t i = 1; i < stage->count; i++) {
		uint32_t part = (stage->focus + (is_back ? stage->count - i : i)) % stage->count;
		struct thrum__scene *scene = stage->parts[part].scene;

		if (is_match ? scene->found == 0 : scene->findings.count == 0)
			continue;
		/* Without a selection the search begins at the other part's first match, or
		 * last. */
		return is_match && thrum__scene_select(scene, THRUM__NONE) < 0 ? stage->focus
									       : part;
	}
	return stage->focus;
}

/* Shows two parts in pairs, in bands, or no longer. Returns bits, or -THRUM_E_MEMORY. */
static int toggle_pairs(struct thrum__stage *stage)
{
	if (stage->count != 2 || !stage->is_linked)
		return 0;
	thrum__stage_motion_stop(stage);
	stage->is_paired = !thrum__stage_shows_pairs(stage);
	if (stage->is_paired) {
		stage->parts[stage->focus].scene->state.as = THRUM__AS_BANDS;
		stage->parts[stage->focus].scene->state.track = 0;
	}
	return thrum__stage_share(stage, stage->focus) < 0 ? -THRUM_E_MEMORY : THRUM__MOVED;
}

static int do_command(struct thrum__stage *stage, int command)
{
	uint32_t part, selected;
	struct thrum__scene *scene;
	int status;

	if (stage->count == 0)
		return 0;
	part = part_with_next(stage, command);
	scene = stage->parts[part].scene;
	if (command == THRUM__COMMAND_CLEAR)
		return clear_part(stage);
	if (command == THRUM__COMMAND_PAIR)
		return toggle_pairs(stage);
	thrum__stage_motion_from(stage);
	if (stage->own->is_moving)
		thrum__stage_refresh(stage); /* the command goes on from the motion's target */
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	selected = scene->selected;
	if (command == THRUM__COMMAND_FIT)
		stage->own->is_chosen = false; /* Fit asks again */
	status = thrum__scene_command(scene, command);
	if (command == THRUM__COMMAND_MARK)
		thrum__stage_mark_here(stage);
	if (status == 2)
		return THRUM__STAGE_YOURS;
	if (!goes_somewhere(command)) {
		thrum__stage_motion_stop(stage);
		status = share_result(stage, part, status);
		if (status > 0 && command == THRUM__COMMAND_BANDS)
			begin_blink(stage, part, scene->selected);
	} else {
		/* Going back leads to a window, not to a task: no track blinks. */
		status = finish_going(stage, part, status,
			scene->selected != selected && command != THRUM__COMMAND_BACK);
	}
	if (status > 0 && command == THRUM__COMMAND_SLOW)
		return status | THRUM__STAGE_YOURS; /* the panel tells the reasons */
	if (status <= 0 || command != THRUM__COMMAND_BACK)
		return status;
	memcpy(stage->panel, scene->state.page, sizeof stage->panel);
	return status | THRUM__CHANGED_SELECTION | THRUM__CHANGED_SEARCH;
}

int thrum__stage_command(struct thrum__stage *stage, int command)
{
	int status = do_command(stage, command);
	const char *refusal = status == 0 && stage->count > 0
		? thrum__scene_refusal(stage->parts[stage->focus].scene, command)
		: NULL;

	if (status < 0 || (!refusal && !stage->own->refusal))
		return status;
	stage->own->refusal = refusal;
	return status | THRUM__CHANGED_STATUS;
}

/* ---- Links --------------------------------------------------------------------------------- */

/* Selects a task, and goes there by `show`. */
static int go_task(struct thrum__stage *stage, uint32_t part, uint32_t task,
	int (*show)(struct thrum__scene *, uint32_t task))
{
	struct thrum__scene *scene;

	if (part >= stage->count)
		return 0;
	scene = stage->parts[part].scene;
	if (!thrum__model_has_row(&scene->model->tasks, task)) {
		if (thrum__scene_select(scene, THRUM__NONE) < 0)
			return -THRUM_E_MEMORY;
		stage->own->is_painted = false;
		return THRUM__MOVED | THRUM__CHANGED_SELECTION;
	}
	thrum__stage_motion_from(stage);
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	return finish_going(stage, part, show(scene, task), true);
}

int thrum__stage_go_task(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	return go_task(stage, part, task, thrum__scene_show_life);
}

int thrum__stage_select(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	return go_task(stage, part, task, thrum__scene_show_task);
}

int thrum__stage_go_finding(struct thrum__stage *stage, uint32_t part, uint32_t finding)
{
	if (part >= stage->count)
		return 0;
	thrum__stage_motion_from(stage);
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	return finish_going(stage, part,
		thrum__scene_show_finding(stage->parts[part].scene, finding), true);
}

/* Goes by `show` to a group, a story or a run. */
static int go_by(struct thrum__stage *stage, uint32_t part, uint32_t target,
	int (*show)(struct thrum__scene *, uint32_t target), bool is_target)
{
	if (part >= stage->count)
		return 0;
	thrum__stage_motion_from(stage);
	if (thrum__stage_project(stage) < 0)
		return -THRUM_E_MEMORY;
	return finish_going(stage, part, show(stage->parts[part].scene, target), is_target);
}

int thrum__stage_go_group(struct thrum__stage *stage, uint32_t part, uint32_t group)
{
	return go_by(stage, part, group, thrum__scene_show_group, false);
}

int thrum__stage_go_slow(struct thrum__stage *stage, uint32_t part, uint32_t task)
{
	return go_by(stage, part, task, thrum__scene_show_story, true);
}

int thrum__stage_go_run(struct thrum__stage *stage, uint32_t part, uint32_t run)
{
	return go_by(stage, part, run, thrum__scene_show_run, false);
}

int thrum__stage_follow(struct thrum__stage *stage, const struct thrum__scene_item *item)
{
	if (stage->count == 0)
		return 0;
	if (item->finding != THRUM__NONE)
		return thrum__stage_go_finding(stage, stage->focus, item->finding);
	if (item->task != THRUM__NONE)
		return thrum__stage_select(stage, stage->focus, item->task);
	thrum__scene_focus_place(stage->parts[stage->focus].scene, item->place);
	return share_result(stage, stage->focus, 1);
}

int thrum__stage_go_window(struct thrum__stage *stage, uint32_t part, int64_t from, int64_t to)
{
	struct thrum__scene *scene = stage->parts[part].scene;

	thrum__stage_motion_from(stage);
	thrum__scene_remember(scene);
	thrum__scene_set_window_around(scene, from, to, 0);
	return finish_going(stage, part, 1, false);
}

int thrum__stage_go_time(struct thrum__stage *stage, uint32_t part, int64_t time)
{
	int64_t half;

	if (part >= stage->count)
		return 0;
	half = (stage->parts[part].scene->state.to - stage->parts[part].scene->state.from) / 2;
	time = time > THRUM__END_MAX     ? THRUM__END_MAX
		: time < -THRUM__END_MAX ? -THRUM__END_MAX
					 : time;
	return thrum__stage_go_window(stage, part, time - half, time + half);
}

int thrum__stage_go_span(struct thrum__stage *stage, uint32_t part, int64_t from, int64_t to)
{
	int64_t room;

	if (part >= stage->count)
		return 0;
	from = thrum__base_time_clamp(from);
	to = thrum__base_time_clamp(to);
	room = (to - from) / 4 + 1;
	return thrum__stage_go_window(stage, part, from - room, to + room);
}

/* ---- Shared by all parts ------------------------------------------------------------------- */

int thrum__stage_search(struct thrum__stage *stage, const char *text)
{
	for (uint32_t i = 0; i < stage->count; i++)
		if (thrum__scene_search(stage->parts[i].scene, text) < 0)
			return -THRUM_E_MEMORY;
	stage->own->is_painted = false;
	return THRUM__MOVED | THRUM__CHANGED_SEARCH;
}

int thrum__stage_theme(struct thrum__stage *stage, int theme)
{
	if (theme < 0 || theme >= THRUM__THEME_COUNT)
		return 0;
	for (uint32_t i = 0; i < stage->count; i++)
		stage->parts[i].scene->state.theme = (uint8_t)theme;
	stage->own->is_painted = false;
	return THRUM__CHANGED_PICTURE | THRUM__CHANGED_ADDRESS;
}

/* ---- Scroll bars --------------------------------------------------------------------------- */

static void clamp_scroll(struct thrum__stage_scroll *scroll)
{
	scroll->page = fmin(fmax(scroll->page, 0), scroll->all);
	scroll->at = fmin(fmax(scroll->at, 0), scroll->all - scroll->page);
}

void thrum__stage_scroll_tracks(const struct thrum__stage *stage,
	struct thrum__stage_scroll *scroll)
{
	const struct thrum__scene_track_axis *tracks;
	const struct thrum__scene_track_box *last;

	*scroll = (struct thrum__stage_scroll){0};
	if (stage->count == 0)
		return;
	if (stage->parts[stage->focus].scene->shows_bands) {
		thrum__scene_bands_reach(stage->parts[stage->focus].scene, &scroll->all,
			&scroll->at, &scroll->page);
		clamp_scroll(scroll);
		return;
	}
	tracks = &stage->parts[stage->focus].scene->tracks;
	scroll->all = scroll->page = tracks->total;
	if (tracks->projection == THRUM__TRACKS_FISHEYE || tracks->count == 0)
		return;
	last = &tracks->boxes[tracks->count - 1];
	scroll->at = tracks->first;
	scroll->page = last->y + last->height < tracks->bottom
		? tracks->total - tracks->first
		: thrum__scene_track_axis_track(tracks, tracks->bottom) - tracks->first;
	clamp_scroll(scroll);
}

void thrum__stage_scroll_time(const struct thrum__stage *stage, struct thrum__stage_scroll *scroll)
{
	const struct thrum__scene *scene;
	int64_t from, to;

	*scroll = (struct thrum__stage_scroll){0};
	if (stage->count == 0)
		return;
	scene = stage->parts[stage->focus].scene;
	thrum__scene_whole(scene, &from, &to);
	scroll->all = (double)(to - from);
	scroll->at = (double)(scene->state.from - from);
	scroll->page = (double)(scene->state.to - scene->state.from);
	clamp_scroll(scroll);
}

int thrum__stage_set_track(struct thrum__stage *stage, double at)
{
	struct thrum__scene *scene;

	if (stage->count == 0 || isnan(at))
		return 0;
	thrum__stage_motion_stop(stage);
	scene = stage->parts[stage->focus].scene;
	if (scene->shows_bands) {
		thrum__scene_bands_scroll_to(scene, at);
		return finish_input(stage, stage->focus, 0);
	}
	scene->state.track = fmin(fmax(at, 0),
		scene->layout->tracks > 0 ? scene->layout->tracks - 1 : 0);
	thrum__stage_refresh(stage);
	return THRUM__MOVED;
}

int thrum__stage_set_time(struct thrum__stage *stage, double at)
{
	struct thrum__scene *scene;
	int64_t from, to, span;

	if (stage->count == 0 || isnan(at))
		return 0;
	thrum__stage_motion_stop(stage);
	scene = stage->parts[stage->focus].scene;
	thrum__scene_whole(scene, &from, &to);
	span = scene->state.to - scene->state.from;
	from += (int64_t)fmin(fmax(at, 0), (double)THRUM__END_MAX);
	thrum__scene_set_window(scene, from, from + span);
	return finish_input(stage, stage->focus, 0);
}
