/* SPDX-License-Identifier: ISC */
/* Commands, their keys and their words. */
#include <string.h>

#include "scene/move.h"

#define ZOOM_STEP 1.5
#define PAN_STEP 0.25 /* of the width */

/* ---- The table ----------------------------------------------------------------------------- */

static const struct {
	const char *name, *keys, *help;
} commands[] = {
#define THRUM__X(NAME, name, keys, help) {name, keys, help},
	THRUM__COMMANDS(THRUM__X)
#undef THRUM__X
};

static bool is_command(int command)
{
	return command >= 0 && command < THRUM__COMMAND_COUNT;
}

const char *thrum__command_name(int command)
{
	return is_command(command) ? commands[command].name : NULL;
}

const char *thrum__command_keys(int command)
{
	return is_command(command) ? commands[command].keys : NULL;
}

const char *thrum__command_help(int command)
{
	return is_command(command) ? commands[command].help : NULL;
}

/* Whether `word` is one of the words that spaces divide. */
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

int thrum__command_of_key(const char *key)
{
	if (strcmp(key, " ") == 0)
		key = "Space";
	for (int i = 0; i < THRUM__COMMAND_COUNT; i++)
		if (has_word(commands[i].keys, key, strlen(key)))
			return i;
	return -1;
}

int thrum__command_find(const char *name)
{
	for (int i = 0; i < THRUM__COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return i;
	return -1;
}

/* ---- Back ---------------------------------------------------------------------------------- */

void thrum__view_remember(struct thrum__view *view)
{
	if (view->history_count == THRUM__HISTORY) {
		memmove(view->history, view->history + 1,
			(THRUM__HISTORY - 1) * sizeof *view->history);
		view->history_count--;
	}
	view->history[view->history_count++] = view->state;
}

static int go_back(struct thrum__view *view)
{
	int status;

	if (view->history_count == 0)
		return 0;
	view->state = view->history[--view->history_count];
	status = thrum__view_settle(view);
	return status < 0 ? status : 1;
}

/* ---- Going somewhere ----------------------------------------------------------------------- */

int thrum__view_show_task(struct thrum__view *view, uint32_t task)
{
	uint32_t unit = thrum__layout_unit(view->layout, task);
	int64_t half = (view->state.to - view->state.from) / 2;
	int64_t start = THRUM__TASK(view->model, task, start);
	int status;

	thrum__view_remember(view);
	if (start < view->state.from || start > view->state.to)
		thrum__view_window_around(view, start, start, half);
	status = thrum__view_select(view, task);
	if (status == 0 && unit != THRUM__NONE)
		status = thrum__view_show_row(view, thrum__layout_row(view->layout, unit));
	return status < 0 ? status : 1;
}

static bool is_first(const struct thrum__view *view, uint32_t task)
{
	uint32_t unit = thrum__layout_unit(view->layout, task);

	return unit != THRUM__NONE && view->layout->units[unit].task == task;
}

static bool is_match(const struct thrum__view *view, uint32_t task)
{
	return is_first(view, task) &&
		(view->looks[thrum__layout_unit(view->layout, task)] & THRUM__LOOK_FOUND);
}

static bool is_alike(const struct thrum__view *view, uint32_t task)
{
	const struct thrum__model *model = view->model;
	size_t a_size, b_size;
	const char *a = thrum__model_task_name(model, view->selected, &a_size);
	const char *b = thrum__model_task_name(model, task, &b_size);

	/* Of a chain, which is seen as one, the first stands for all. */
	if (!is_first(view, task) ||
		thrum__layout_unit(view->layout, task) ==
			thrum__layout_unit(view->layout, view->selected))
		return false;
	if (a_size == 0 && b_size == 0)
		return THRUM__TASK(model, task, kind) == THRUM__TASK(model, view->selected, kind) &&
			THRUM__TASK(model, task, site) == THRUM__TASK(model, view->selected, site);
	return a_size == b_size && memcmp(a, b, a_size) == 0;
}

uint32_t thrum__view_found_before(const struct thrum__view *view, uint32_t unit)
{
	uint32_t last = view->layout->units[unit].task, count = 0;

	for (uint32_t i = 0; i < view->layout->unit_count; i++)
		count += (view->looks[i] & THRUM__LOOK_FOUND) &&
			view->layout->units[i].task <= last;
	return count;
}

/* The next task (in the order in which they began to be) after the selected that is such; around
 * the end. */
static int show_next(struct thrum__view *view, int direction,
	bool (*is_such)(const struct thrum__view *, uint32_t task))
{
	uint32_t count = view->layout->task_count, at = view->selected;

	if (count == 0 || (at == THRUM__NONE && is_such == is_alike))
		return 0;
	if (at == THRUM__NONE || at >= count)
		at = direction > 0 ? count - 1 : 0;
	for (uint32_t i = 0; i < count; i++) {
		at = direction > 0 ? (at + 1) % count : (at + count - 1) % count;
		if (thrum__has_row(&view->model->tasks, at) && is_such(view, at))
			return at == view->selected ? 0 : thrum__view_show_task(view, at);
	}
	return 0;
}

/* Centres the selection; when it fills the window already, or there is none, shows all; of which a
 * part may be what is worth seeing first. */
static int fit(struct thrum__view *view)
{
	uint32_t unit = view->selected == THRUM__NONE
		? THRUM__NONE
		: thrum__layout_unit(view->layout, view->selected);
	struct thrum__view_state plain, before = view->state;

	thrum__view_remember(view);
	thrum__view_state_default(view, &plain);
	if (unit != THRUM__NONE) {
		const struct thrum__unit *u = &view->layout->units[unit];
		int64_t margin = (u->end - u->start) / 10 + 1;

		thrum__view_window_around(view, u->start, u->end, margin);
		if (thrum__view_show_row(view, thrum__layout_row(view->layout, unit)) < 0)
			return -THRUM_E_MEMORY;
		if (view->state.from != before.from || view->state.to != before.to)
			return 1;
	}
	thrum__view_whole(view, &view->state.from, &view->state.to);
	if (view->state.from == before.from && view->state.to == before.to) {
		view->state.from = plain.from;
		view->state.to = plain.to;
	}
	view->state.row = plain.row;
	view->state.row_height = plain.row_height;
	return 1;
}

static uint32_t victim_of(const struct thrum__view *view, uint32_t finding)
{
	const struct thrum__finding *f = &view->findings.findings[finding];

	return f->steps[f->step_count - 1].task;
}

/* Folded, and what isn't related faded. */
int thrum__view_show_finding(struct thrum__view *view, uint32_t index)
{
	struct thrum__view_state *state = &view->state;
	const struct thrum__finding *finding;
	int64_t margin, first = INT64_MAX, last = INT64_MIN;
	uint32_t victim, unit;

	if (index >= view->findings.count)
		return 0;
	thrum__view_remember(view);
	finding = &view->findings.findings[index];
	victim = victim_of(view, index);
	state->finding = index;
	state->findings = true;
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		first = step->time < first ? step->time : first;
		last = step->time > last ? step->time : last;
	}
	margin = (last - first) / 3 + 1000;
	thrum__view_window_around(view, first, last, margin);
	state->fold = state->squeeze = THRUM__FOLD_ON;
	state->related_only = true;
	if (thrum__view_select(view, victim) < 0)
		return -THRUM_E_MEMORY;
	unit = thrum__layout_unit(view->layout, victim);
	if (unit != THRUM__NONE &&
		thrum__view_show_row(view, thrum__layout_row(view->layout, unit)) < 0)
		return -THRUM_E_MEMORY;
	return 1;
}

/* The chosen one, or, when that is in sight, the next. */
static int show_next_finding(struct thrum__view *view)
{
	uint32_t next = view->state.finding;

	if (view->findings.count == 0)
		return 0;
	if (next >= view->findings.count)
		next = 0;
	else if (view->state.findings && view->selected == victim_of(view, next))
		next = (next + 1) % view->findings.count;
	return thrum__view_show_finding(view, next);
}

static int clear(struct thrum__view *view)
{
	bool had = view->state.has_selected || view->state.search[0] || view->state.related_only;

	view->state.search[0] = 0;
	view->state.has_selected = view->state.related_only = false;
	return !had ? 0 : thrum__view_settle(view) < 0 ? -THRUM_E_MEMORY : 1;
}

/* ---- Doing --------------------------------------------------------------------------------- */

bool thrum__view_folds(const struct thrum__view *view)
{
	return view->state.fold == THRUM__FOLD_ON ||
		(view->state.fold == THRUM__FOLD_AUTO && view->is_folded);
}

bool thrum__view_squeezes(const struct thrum__view *view)
{
	return view->state.squeeze == THRUM__FOLD_ON ||
		(view->state.squeeze == THRUM__FOLD_AUTO && view->is_squeezed);
}

static void toggle_fold(uint8_t *fold, bool is_now)
{
	*fold = is_now ? THRUM__FOLD_OFF : THRUM__FOLD_ON;
}

static int move(struct thrum__view *view, int command)
{
	float x = view->width / 2, y = (view->rows.top + view->rows.bottom) / 2;
	float dx = (float)(view->width * PAN_STEP), dy = (view->rows.bottom - view->rows.top) / 4;

	switch (command) {
	case THRUM__COMMAND_ZOOM_IN: thrum__view_zoom(view, x, y, ZOOM_STEP); break;
	case THRUM__COMMAND_ZOOM_OUT: thrum__view_zoom(view, x, y, 1 / ZOOM_STEP); break;
	case THRUM__COMMAND_LEFT: thrum__view_drag(view, x, y, dx, 0); break;
	case THRUM__COMMAND_RIGHT: thrum__view_drag(view, x, y, -dx, 0); break;
	case THRUM__COMMAND_UP: thrum__view_drag(view, x, y, 0, dy); break;
	default: thrum__view_drag(view, x, y, 0, -dy);
	}
	return 1;
}

static int toggle_fisheye(struct thrum__view *view)
{
	struct thrum__view_state *state = &view->state;

	if (!state->fisheye) {
		float y = (view->rows.top + view->rows.bottom) / 2;

		state->row = thrum__row_axis_row(&view->rows, y);
		state->focus_y = 0.5f;
	} else {
		state->row = 0;
	}
	state->row_height = 0;
	state->fisheye = !state->fisheye;
	return 1;
}

static int toggle_related(struct thrum__view *view)
{
	if (view->selected == THRUM__NONE && !view->state.related_only)
		return 0;
	view->state.related_only = !view->state.related_only;
	return thrum__view_settle(view) < 0 ? -THRUM_E_MEMORY : 1;
}

int thrum__view_command(struct thrum__view *view, int command)
{
	struct thrum__view_state *state = &view->state;

	switch (command) {
	case THRUM__COMMAND_ZOOM_IN:
	case THRUM__COMMAND_ZOOM_OUT:
	case THRUM__COMMAND_LEFT:
	case THRUM__COMMAND_RIGHT:
	case THRUM__COMMAND_UP:
	case THRUM__COMMAND_DOWN: return move(view, command);
	case THRUM__COMMAND_FIT: return fit(view);
	case THRUM__COMMAND_FOLD: toggle_fold(&state->fold, thrum__view_folds(view)); return 1;
	case THRUM__COMMAND_SQUEEZE:
		toggle_fold(&state->squeeze, thrum__view_squeezes(view));
		return 1;
	case THRUM__COMMAND_FISHEYE: return toggle_fisheye(view);
	case THRUM__COMMAND_NEXT_MATCH: return show_next(view, 1, is_match);
	case THRUM__COMMAND_PREVIOUS_MATCH: return show_next(view, -1, is_match);
	case THRUM__COMMAND_NEXT_ALIKE: return show_next(view, 1, is_alike);
	case THRUM__COMMAND_PREVIOUS_ALIKE: return show_next(view, -1, is_alike);
	case THRUM__COMMAND_CREATOR:
	case THRUM__COMMAND_AWAITED:
	case THRUM__COMMAND_WAKER: return thrum__view_follow_arrow(view, command);
	case THRUM__COMMAND_RELATED: return toggle_related(view);
	case THRUM__COMMAND_COUNTERS:
		state->counters = !state->counters;
		return view->model->counter_count > 0;
	case THRUM__COMMAND_FINDING: return show_next_finding(view);
	case THRUM__COMMAND_BACK: return go_back(view);
	case THRUM__COMMAND_LEGEND: state->legend = !state->legend; return 1;
	case THRUM__COMMAND_CLEAR: return clear(view);
	case THRUM__COMMAND_SEARCH:
	case THRUM__COMMAND_DETAILS:
	case THRUM__COMMAND_GO_TO_TIME:
	case THRUM__COMMAND_HELP: return 2;
	default: return 0;
	}
}
