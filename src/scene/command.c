/* SPDX-License-Identifier: ISC */
/* The table of commands, and the function of each. */
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/move.h"

#define ZOOM_STEP 1.5
#define PAN_STEP 0.25 /* of the width of the picture */
#define PAGE 3.6f     /* quarters of the height */
#define FARTHEST 1e6f /* px */

/* ---- The table ----------------------------------------------------------------------------- */

static const struct {
	const char *group, *name, *keys, *help;
} commands[] = {
#define THRUM__X(NAME, group, name, keys, help) {group, name, keys, help},
	THRUM__COMMANDS(THRUM__X)
#undef THRUM__X
};

static bool is_command(int command)
{
	return command >= 0 && command < THRUM__COMMAND_COUNT;
}

const char *thrum__scene_command_name(int command)
{
	return is_command(command) ? commands[command].name : NULL;
}

const char *thrum__scene_command_keys(int command)
{
	return is_command(command) ? commands[command].keys : NULL;
}

const char *thrum__scene_command_help(int command)
{
	return is_command(command) ? commands[command].help : NULL;
}

const char *thrum__scene_command_group(int command)
{
	return is_command(command) ? commands[command].group : NULL;
}

/* Whether `word` is one of several words with spaces between them. */
static bool has_word(const char *words, const char *word, size_t size)
{
	while (*words) {
		size_t length = strcspn(words, " ");

		if (length == size && memcmp(words, word, size) == 0)
			return true;
		words += length + (words[length] == ' ');
	}
	return false;
}

int thrum__scene_command_of_key(const char *key)
{
	if (strcmp(key, " ") == 0)
		key = "Space";
	for (int i = 0; i < THRUM__COMMAND_COUNT; i++)
		if (has_word(commands[i].keys, key, strlen(key)))
			return i;
	return -1;
}

int thrum__scene_command_find(const char *name)
{
	for (int i = 0; i < THRUM__COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return i;
	return -1;
}

/* ---- Back ---------------------------------------------------------------------------------- */

void thrum__scene_remember(struct thrum__scene *scene)
{
	if (scene->history_count == THRUM__HISTORY) {
		memmove(scene->history, scene->history + 1,
			(THRUM__HISTORY - 1) * sizeof *scene->history);
		scene->history_count--;
	}
	scene->history[scene->history_count++] = scene->state;
	scene->jumps++;
}

static int go_back(struct thrum__scene *scene)
{
	int status;

	if (scene->history_count == 0)
		return 0;
	scene->state = scene->history[--scene->history_count];
	status = thrum__scene_settle(scene);
	return status < 0 ? status : 1;
}

/* ---- Going somewhere ----------------------------------------------------------------------- */

/* Scrolls so that the selected task is in sight. */
static int show_selected(struct thrum__scene *scene)
{
	uint32_t unit = thrum__layout_unit(scene->layout, scene->selected);

	return unit == THRUM__NONE
		? 0
		: thrum__scene_show_track(scene, thrum__layout_track(scene->layout, unit));
}

int thrum__scene_show_task(struct thrum__scene *scene, uint32_t task)
{
	int64_t half = (scene->state.to - scene->state.from) / 2;
	int64_t start = THRUM__TASK(scene->model, task, start);
	int status;

	thrum__scene_remember(scene);
	if (start < scene->state.from || start > scene->state.to)
		thrum__scene_set_window_around(scene, start, start, half);
	status = thrum__scene_select(scene, task);
	if (status == 0)
		status = show_selected(scene);
	return status < 0 ? status : 1;
}

int thrum__scene_show_run(struct thrum__scene *scene, uint32_t run)
{
	const struct thrum__model *model = scene->model;
	int64_t from, to;
	int status;

	if (!thrum__model_has_row(&model->runs, run))
		return 0;
	from = THRUM__RUN(model, run, start);
	to = THRUM__RUN(model, run, end) == THRUM__OPEN ? model->end : THRUM__RUN(model, run, end);
	thrum__scene_remember(scene);
	thrum__scene_set_window_around(scene, from, to, (to - from) / 2 + 1);
	status = thrum__scene_select_run(scene, run);
	if (scene->shows_bands)
		scene->state.track = 0; /* the threads are on top */
	else if (status == 0)
		status = show_selected(scene);
	return status < 0 ? status : 1;
}

static bool is_first_of_unit(const struct thrum__scene *scene, uint32_t task)
{
	uint32_t unit = thrum__layout_unit(scene->layout, task);

	return unit != THRUM__NONE && scene->layout->units[unit].task == task;
}

static bool is_match(const struct thrum__scene *scene, uint32_t task)
{
	return is_first_of_unit(scene, task) &&
		(scene->looks[thrum__layout_unit(scene->layout, task)] & THRUM__LOOK_FOUND);
}

static bool is_alike(const struct thrum__scene *scene, uint32_t task)
{
	const struct thrum__model *model = scene->model;
	size_t a_size, b_size;
	const char *a = thrum__model_task_name(model, scene->selected, &a_size);
	const char *b = thrum__model_task_name(model, task, &b_size);

	/* The tasks of a chain are one unit; its first task stands for all. */
	if (!is_first_of_unit(scene, task) ||
		thrum__layout_unit(scene->layout, task) ==
			thrum__layout_unit(scene->layout, scene->selected))
		return false;
	if (a_size == 0 && b_size == 0)
		return THRUM__TASK(model, task, kind) ==
			THRUM__TASK(model, scene->selected, kind) &&
			THRUM__TASK(model, task, site) == THRUM__TASK(model, scene->selected, site);
	return a_size == b_size && memcmp(a, b, a_size) == 0;
}

uint32_t thrum__scene_found_before(const struct thrum__scene *scene, uint32_t unit)
{
	uint32_t last = scene->layout->units[unit].task, count = 0;

	for (uint32_t i = 0; i < scene->layout->unit_count; i++)
		count += (scene->looks[i] & THRUM__LOOK_FOUND) &&
			scene->layout->units[i].task <= last;
	return count;
}

/* Returns the first task that is created in the window or later. Tasks are about in the order of time. */
static uint32_t first_in_window(const struct thrum__scene *scene)
{
	const struct thrum__model *model = scene->model;
	uint32_t low = model->tasks.first, high = scene->layout->task_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (!thrum__model_has_row(&model->tasks, middle) ||
			THRUM__TASK(model, middle, created) < scene->state.from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Goes to the next task after the selected one, or the one before it, for which is_such is true; without a
 * selection to the first in the window. Tasks are in the order of their creation; after the last comes the
 * first. */
static int show_next(struct thrum__scene *scene, int direction,
	bool (*is_such)(const struct thrum__scene *, uint32_t task))
{
	uint32_t count = scene->layout->task_count, at = scene->selected;

	if (count == 0 || (at == THRUM__NONE && is_such == is_alike))
		return 0;
	if (at == THRUM__NONE || at >= count)
		at = direction > 0 ? (first_in_window(scene) + count - 1) % count : 0;
	for (uint32_t i = 0; i < count; i++) {
		at = direction > 0 ? (at + 1) % count : (at + count - 1) % count;
		if (thrum__model_has_row(&scene->model->tasks, at) && is_such(scene, at))
			return at == scene->selected ? 0 : thrum__scene_show_task(scene, at);
	}
	return 0;
}

/* Shows a stretch of time with a margin on either side, or as much of it as the trace has. */
static void show_time_around(struct thrum__scene *scene, int64_t from, int64_t to, int64_t margin)
{
	int64_t begin, end;

	thrum__scene_whole(scene, &begin, &end);
	thrum__scene_set_window_around(scene, from, to, margin);
	if (from >= begin && scene->state.from < begin)
		scene->state.from = begin;
	if (to <= end && scene->state.to > end)
		scene->state.to = end;
}

/* Centres the selection. If that changes nothing or nothing is selected, shows the whole trace. If
 * that changes nothing either, shows the window of a new scene, which may leave out a lost part. */
static int fit_window(struct thrum__scene *scene)
{
	uint32_t unit = scene->selected == THRUM__NONE
		? THRUM__NONE
		: thrum__layout_unit(scene->layout, scene->selected);
	struct thrum__scene_state plain, before = scene->state;

	thrum__scene_remember(scene);
	thrum__scene_state_default(scene, &plain);
	if (unit != THRUM__NONE) {
		const struct thrum__layout_unit *u = &scene->layout->units[unit];
		int64_t margin = (u->end - u->start) / 10 + 1;

		show_time_around(scene, u->start, u->end, margin);
		if (thrum__scene_show_track(scene, thrum__layout_track(scene->layout, unit)) < 0)
			return -THRUM_E_MEMORY;
		if (scene->state.from != before.from || scene->state.to != before.to)
			return 1;
	}
	thrum__scene_whole(scene, &scene->state.from, &scene->state.to);
	if (scene->state.from == before.from && scene->state.to == before.to) {
		scene->state.from = plain.from;
		scene->state.to = plain.to;
	}
	scene->state.track = plain.track;
	scene->state.track_height = plain.track_height;
	return 1;
}

static uint32_t victim_of(const struct thrum__scene *scene, uint32_t finding)
{
	const struct thrum__finding *f = &scene->findings.findings[finding];

	return f->steps[f->step_count - 1].task;
}

/* Shows the tracks of all steps; if they are too many, only the victim's. */
static int show_steps(struct thrum__scene *scene, const struct thrum__finding *finding,
	uint32_t victim)
{
	uint32_t first = victim, last = victim;

	if (scene->shows_bands)
		return thrum__scene_bands_show_steps(scene, finding);
	for (unsigned i = 0; i < finding->step_count; i++) {
		uint32_t unit = thrum__layout_unit(scene->layout, finding->steps[i].task), track;

		if (unit == THRUM__NONE)
			continue;
		track = thrum__layout_track(scene->layout, unit);
		first = track < first ? track : first;
		last = track > last ? track : last;
	}
	return thrum__scene_show_tracks(scene, first, last, victim);
}

/* Shows a stretch of time, with a third of it on either side, or as much as the trace has. */
static void show_time(struct thrum__scene *scene, int64_t from, int64_t to)
{
	show_time_around(scene, from, to, (to - from) / 3 + 1000);
}

/* Shows a stretch of time and a task in it, with all that is unrelated folded or faded; but bands fold no
 * time for that. `finding` is the task's, or NULL. */
static int show_alone(struct thrum__scene *scene, uint32_t task, int64_t from, int64_t to,
	const struct thrum__finding *finding)
{
	struct thrum__scene_state *state = &scene->state;
	uint32_t unit = thrum__layout_unit(scene->layout, task), track;
	/* All that ran in a thread belongs to it, and little of that is related to its task. */
	bool is_lane = THRUM__TASK(scene->model, task, flags) & THRUM__TASK_LANE;

	show_time(scene, from, to);
	if (!is_lane)
		state->squeeze = THRUM__FOLD_ON;
	if (!is_lane && !scene->shows_bands)
		state->fold = THRUM__FOLD_ON;
	state->related_only = !is_lane;
	if (thrum__scene_select(scene, task) < 0)
		return -THRUM_E_MEMORY;
	if (unit == THRUM__NONE)
		return 1;
	track = thrum__layout_track(scene->layout, unit);
	return (finding ? show_steps(scene, finding, track)
			: thrum__scene_show_track(scene, track)) < 0
		? -THRUM_E_MEMORY
		: 1;
}

int thrum__scene_show_life(struct thrum__scene *scene, uint32_t task)
{
	uint32_t unit = thrum__layout_unit(scene->layout, task);

	if (unit == THRUM__NONE)
		return thrum__scene_show_task(scene, task);
	thrum__scene_remember(scene);
	return show_alone(scene, task, scene->layout->units[unit].start,
		scene->layout->units[unit].end, NULL);
}

/* Gives the time of a finding: from its first step to its last one, or to the end of the wait. */
static void time_of(const struct thrum__scene *scene, uint32_t index, int64_t *first, int64_t *last)
{
	const struct thrum__finding *finding = &scene->findings.findings[index];
	uint32_t victim = victim_of(scene, index);

	*first = INT64_MAX;
	*last = THRUM__TASK(scene->model, victim, state) == THRUM__STATE_PENDING &&
			!(THRUM__TASK(scene->model, victim, flags) & THRUM__TASK_LANE)
		? scene->model->end
		: INT64_MIN;
	for (unsigned i = 0; i < finding->step_count; i++) {
		int64_t time = finding->steps[i].time;

		*first = time < *first ? time : *first;
		*last = time > *last ? time : *last;
	}
}

int thrum__scene_show_finding(struct thrum__scene *scene, uint32_t index)
{
	const struct thrum__finding *finding;
	int64_t first, last;

	if (index >= scene->findings.count)
		return 0;
	thrum__scene_remember(scene);
	finding = &scene->findings.findings[index];
	scene->state.finding = index;
	scene->state.findings = true;
	time_of(scene, index, &first, &last);
	return show_alone(scene, victim_of(scene, index), first, last, finding);
}

/* Goes to the chosen finding; or to the next one, if the chosen one is shown already. */
static int show_next_finding(struct thrum__scene *scene)
{
	uint32_t next = scene->state.finding;

	if (scene->findings.count == 0)
		return 0;
	if (next >= scene->findings.count)
		next = 0;
	else if (scene->state.findings && scene->selected == victim_of(scene, next))
		next = (next + 1) % scene->findings.count;
	return thrum__scene_show_finding(scene, next);
}

/* Ends the search; or else the selection. */
static int clear_scene(struct thrum__scene *scene)
{
	bool had = scene->state.has_selected || scene->state.search[0] || scene->state.related_only;

	if (!scene->state.search[0])
		scene->state.has_selected = scene->state.related_only = false;
	scene->state.search[0] = 0;
	return !had ? 0 : thrum__scene_settle(scene) < 0 ? -THRUM_E_MEMORY : 1;
}

/* ---- Commands ------------------------------------------------------------------------------ */

bool thrum__scene_folds(const struct thrum__scene *scene)
{
	return scene->state.fold == THRUM__FOLD_ON ||
		(scene->state.fold == THRUM__FOLD_AUTO && scene->is_folded);
}

bool thrum__scene_squeezes(const struct thrum__scene *scene)
{
	return scene->state.squeeze == THRUM__FOLD_ON ||
		(scene->state.squeeze == THRUM__FOLD_AUTO && scene->is_squeezed);
}

static void toggle_fold(uint8_t *fold, bool is_now)
{
	*fold = is_now ? THRUM__FOLD_OFF : THRUM__FOLD_ON;
}

static int move_window(struct thrum__scene *scene, int command)
{
	float x = scene->width / 2, y = (scene->tracks.top + scene->tracks.bottom) / 2;
	float dx = (float)(scene->width * PAN_STEP),
	      dy = (scene->tracks.bottom - scene->tracks.top) / 4;

	switch (command) {
	case THRUM__COMMAND_ZOOM_IN: thrum__scene_zoom(scene, x, y, ZOOM_STEP); break;
	case THRUM__COMMAND_ZOOM_OUT: thrum__scene_zoom(scene, x, y, 1 / ZOOM_STEP); break;
	case THRUM__COMMAND_LEFT: thrum__scene_drag(scene, x, y, dx, 0); break;
	case THRUM__COMMAND_RIGHT: thrum__scene_drag(scene, x, y, -dx, 0); break;
	case THRUM__COMMAND_UP: thrum__scene_drag(scene, x, y, 0, dy); break;
	case THRUM__COMMAND_DOWN: thrum__scene_drag(scene, x, y, 0, -dy); break;
	case THRUM__COMMAND_PAGE_UP: thrum__scene_drag(scene, x, y, 0, PAGE * dy); break;
	case THRUM__COMMAND_PAGE_DOWN: thrum__scene_drag(scene, x, y, 0, -PAGE * dy); break;
	case THRUM__COMMAND_TOP: thrum__scene_drag(scene, x, y, 0, FARTHEST); break;
	default: thrum__scene_drag(scene, x, y, 0, -FARTHEST);
	}
	return 1;
}

static int toggle_fisheye(struct thrum__scene *scene)
{
	struct thrum__scene_state *state = &scene->state;

	if (!state->fisheye) {
		float y = (scene->tracks.top + scene->tracks.bottom) / 2;

		state->track = thrum__scene_track_axis_track(&scene->tracks, y);
		state->focus_y = 0.5f;
	} else {
		state->track = 0;
	}
	state->track_height = 0;
	state->fisheye = !state->fisheye;
	return 1;
}

static int toggle_related(struct thrum__scene *scene)
{
	if (scene->selected == THRUM__NONE && !scene->state.search[0] && !scene->state.related_only)
		return 0;
	scene->state.related_only = !scene->state.related_only;
	return thrum__scene_settle(scene) < 0 ? -THRUM_E_MEMORY : 1;
}

/* Whether the selected task has a story. Returns 1 or 0, or -THRUM_E_MEMORY. */
static int has_story(struct thrum__scene *scene)
{
	struct thrum__bands_line line;
	uint32_t group;

	if (thrum__scene_bands_make(scene) < 0)
		return -THRUM_E_MEMORY;
	return thrum__bands_line_of(scene->bands->all, scene->selected, &line, &group);
}

/* Shows bands, if a command only makes sense there: a story too, if there is one. Returns 0 or
 * -THRUM_E_MEMORY. */
static int begin_bands(struct thrum__scene *scene, int command)
{
	bool is_story = command == THRUM__COMMAND_SLOW || command == THRUM__COMMAND_PIN;
	int has = 1;

	if (scene->shows_bands || scene->width <= 0 ||
		(command != THRUM__COMMAND_EXCEPTION &&
			command != THRUM__COMMAND_PREVIOUS_EXCEPTION && !is_story))
		return 0;
	if (is_story)
		has = has_story(scene);
	if (has <= 0)
		return has;
	thrum__scene_remember(scene);
	scene->state.as = THRUM__AS_BANDS;
	scene->state.track = 0;
	return thrum__scene_project(scene, scene->width, scene->height);
}

/* Shows the life of the selected task, or the tasks that the search found, with all else folded or
 * faded; or ends that. */
static int toggle_alone(struct thrum__scene *scene)
{
	struct thrum__scene_state *state = &scene->state;

	if (!state->related_only && scene->selected != THRUM__NONE)
		return thrum__scene_show_life(scene, scene->selected);
	if (!state->related_only && !state->search[0])
		return 0;
	thrum__scene_remember(scene);
	state->related_only = !state->related_only;
	state->squeeze = state->related_only ? THRUM__FOLD_ON : THRUM__FOLD_AUTO;
	if (!state->related_only)
		state->fold = THRUM__FOLD_AUTO;
	state->track = 0;
	return thrum__scene_settle(scene) < 0 ? -THRUM_E_MEMORY : 1;
}

/* Shows rows in the place of bands, or the reverse, with the selected task in sight. */
static int toggle_bands(struct thrum__scene *scene)
{
	int status;

	scene->state.as = thrum__scene_wants_bands(scene) ? THRUM__AS_ROWS : THRUM__AS_BANDS;
	scene->state.track = 0;
	status = scene->width > 0 && scene->selected != THRUM__NONE
		? thrum__scene_project(scene, scene->width, scene->height)
		: 0;
	if (status == 0 && scene->width > 0)
		status = show_selected(scene);
	return status < 0 ? status : 1;
}

int thrum__scene_command(struct thrum__scene *scene, int command)
{
	struct thrum__scene_state *state = &scene->state;
	int status = begin_bands(scene, command);

	if (status != 0)
		return status;
	status = scene->shows_bands && scene->bands ? thrum__scene_bands_command(scene, command)
						    : THRUM__BANDS_NOT_OURS;

	if (status != THRUM__BANDS_NOT_OURS)
		return status;
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
	case THRUM__COMMAND_BOTTOM: return move_window(scene, command);
	case THRUM__COMMAND_FIT: return fit_window(scene);
	case THRUM__COMMAND_FOLD: toggle_fold(&state->fold, thrum__scene_folds(scene)); return 1;
	case THRUM__COMMAND_SQUEEZE:
		toggle_fold(&state->squeeze, thrum__scene_squeezes(scene));
		return 1;
	case THRUM__COMMAND_BANDS: return toggle_bands(scene);
	case THRUM__COMMAND_FISHEYE: return toggle_fisheye(scene);
	case THRUM__COMMAND_NEXT_MATCH: return show_next(scene, 1, is_match);
	case THRUM__COMMAND_PREVIOUS_MATCH: return show_next(scene, -1, is_match);
	case THRUM__COMMAND_NEXT_ALIKE: return show_next(scene, 1, is_alike);
	case THRUM__COMMAND_PREVIOUS_ALIKE: return show_next(scene, -1, is_alike);
	case THRUM__COMMAND_CREATOR:
	case THRUM__COMMAND_AWAITED:
	case THRUM__COMMAND_WAKER: return thrum__scene_follow_arrow(scene, command);
	case THRUM__COMMAND_RELATED: return toggle_related(scene);
	case THRUM__COMMAND_ALONE: return toggle_alone(scene);
	case THRUM__COMMAND_COUNTERS:
		state->counters = !state->counters;
		return scene->model->counter_count > 0;
	case THRUM__COMMAND_FINDING: return show_next_finding(scene);
	case THRUM__COMMAND_BACK: return go_back(scene);
	case THRUM__COMMAND_LEGEND: state->legend = !state->legend; return 1;
	case THRUM__COMMAND_CLEAR: return clear_scene(scene);
	case THRUM__COMMAND_SEARCH:
	case THRUM__COMMAND_DETAILS:
	case THRUM__COMMAND_SLOW:
	case THRUM__COMMAND_MARK:
	case THRUM__COMMAND_GO_TO_TIME:
	case THRUM__COMMAND_HELP: return 2;
	default: return 0;
	}
}
