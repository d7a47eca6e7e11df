/* SPDX-License-Identifier: ISC */
/* The commands of bands: the focus, opening and closing, stories, exceptions, the range. */
#include <string.h>

#include "scene/bands/opened.h"
#include "scene/move.h"
#include "scene/story/story.h"

/* ---- Focus --------------------------------------------------------------------------------- */

bool thrum__scene_bands_name(const struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_place *place, char name[THRUM__NAME_MAX])
{
	switch (place->kind) {
	case THRUM__PLACE_THREAD:
	case THRUM__PLACE_OPENED_THREAD:
		thrum__scene_bands_thread_name(bands->all, place->index, name);
		return true;
	case THRUM__PLACE_QUEUE:
		thrum__scene_bands_group_name(bands->all, bands->all->queues[place->index].group,
			name);
		return true;
	case THRUM__PLACE_SMALL:
	case THRUM__PLACE_BAND:
	case THRUM__PLACE_OPENED:
		thrum__scene_bands_group_name(bands->all, place->index, name);
		return true;
	case THRUM__PLACE_MORE: strcpy(name, THRUM__BANDS_MORE); return true;
	default: return false;
	}
}

/* Returns the number of the place with the focus, or NONE. */
static uint32_t focused_place(const struct thrum__scene *scene)
{
	const struct thrum__scene_bands *bands = scene->bands;
	char name[THRUM__NAME_MAX];

	for (uint32_t i = 0; scene->state.bands.focus[0] && i < bands->place_count; i++)
		if (thrum__scene_bands_name(bands, &bands->places[i], name) &&
			strcmp(name, scene->state.bands.focus) == 0)
			return i;
	return THRUM__NONE;
}

/* Returns the group of the band with the focus, or NONE. */
static uint32_t focused_group(const struct thrum__scene *scene)
{
	uint32_t place = focused_place(scene);

	int kind = place == THRUM__NONE ? THRUM__PLACE_NONE : scene->bands->places[place].kind;

	return kind == THRUM__PLACE_SMALL || kind == THRUM__PLACE_BAND ||
			kind == THRUM__PLACE_OPENED
		? scene->bands->places[place].index
		: THRUM__NONE;
}

/* Scrolls so that a place is in sight. */
static void show_place(struct thrum__scene *scene, const struct thrum__scene_bands_place *place)
{
	struct thrum__scene_bands *bands = scene->bands;
	float scroll = thrum__scene_bands_scroll(bands, scene->state.track);

	if (place->y < scroll)
		scene->state.track = thrum__scene_bands_track(bands, place->y);
	else if (place->y + place->height > scroll + bands->height)
		scene->state.track = thrum__scene_bands_track(bands,
			place->y + place->height - bands->height);
}

/* Gives the next place with a name the focus, or the one before. */
static int move_focus(struct thrum__scene *scene, int step)
{
	const struct thrum__scene_bands *bands = scene->bands;
	uint32_t at = focused_place(scene), count = bands->place_count;

	if (at == THRUM__NONE)
		at = step > 0 ? count - 1 : 0;
	for (uint32_t i = 0; i < count; i++) {
		at = step > 0 ? (at + 1) % count : (at + count - 1) % count;
		if (!thrum__scene_bands_name(bands, &bands->places[at], scene->state.bands.focus))
			continue;
		show_place(scene, &bands->places[at]);
		return 1;
	}
	return 0;
}

void thrum__scene_focus_place(struct thrum__scene *scene, uint32_t place)
{
	struct thrum__scene_bands *bands = scene->bands;

	if (scene->shows_bands && bands && place < bands->place_count &&
		thrum__scene_bands_name(bands, &bands->places[place], scene->state.bands.focus))
		show_place(scene, &bands->places[place]);
}

/* Sorts by the column of the gutter whose head is at x; again: as a tree. */
static int sort_by(struct thrum__scene *scene, float x)
{
	uint8_t *sort = &scene->state.bands.sort;
	int column = thrum__scene_bands_column(scene->width, x);

	if (column == THRUM__SORT_TREE)
		return 0;
	*sort = *sort == column ? THRUM__SORT_TREE : (uint8_t)column;
	scene->state.track = 0;
	return 1;
}

/* Selects the lock of a queue that was held longest, so that the panel tells about it. */
static int select_lock(struct thrum__scene *scene, uint32_t queue)
{
	const struct thrum__bands *all = scene->bands->all;
	uint32_t lock = thrum__bands_queue_worst(all, queue, all->from, all->to);

	return lock != THRUM__NONE && thrum__scene_select(scene, lock) < 0 ? -THRUM_E_MEMORY : 1;
}

/* ---- Opening and pressing ------------------------------------------------------------------ */

/* Whether a band that is opened so far has more lines than rows, and can have more rows. */
static bool opens_further(const struct thrum__scene *scene, uint32_t place, int opened)
{
	const struct thrum__scene *sides[2] = {scene, scene->pair.other};
	uint32_t rows = thrum__bands_opened_rows(opened), lines = 0;

	if (!thrum__bands_is_group(&scene->bands->places[place]))
		return false;
	for (int i = 0; i < 2 && sides[i]; i++) {
		const struct thrum__scene_bands_place *half = &sides[i]->bands->places[place];
		const struct thrum__family *family = &sides[i]->bands->all->family;

		if (half->kind != THRUM__PLACE_NONE && family->groups[half->index].lines > lines)
			lines = family->groups[half->index].lines;
	}
	return lines > rows && rows < THRUM__OPENED_ROWS_MAX;
}

bool thrum__scene_bands_box_opens(const struct thrum__scene *scene)
{
	int opened = thrum__scene_bands_opened(&scene->state.bands, scene->state.bands.focus);
	struct thrum__bands_box box;

	return thrum__scene_bands_box(scene, &box) &&
		(opened == 0 || opens_further(scene, focused_place(scene), opened));
}

static void close_named(struct thrum__scene_bands_state *state, const char *focus)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < state->opened_count; i++) {
		const char *name = state->opened[i];

		if (thrum__scene_bands_opens(name, focus) > 0)
			continue;
		if (kept != i)
			strcpy(state->opened[kept], name);
		kept++;
	}
	state->opened_count = (uint8_t)kept;
}

/* Opens the place with the focus, opens it wider, or closes it. */
static int open_next(struct thrum__scene *scene)
{
	struct thrum__scene_bands_state *state = &scene->state.bands;
	uint32_t place = focused_place(scene);
	int opened = thrum__scene_bands_opened(state, state->focus);
	bool is_all;

	/* In pairs the groups without a band stay closed: both sides may have other ones. */
	if (place == THRUM__NONE ||
		(scene->pair.other && scene->bands->places[place].kind == THRUM__PLACE_MORE))
		return 0;
	is_all = opened > 0 && !opens_further(scene, place, opened);
	close_named(state, state->focus);
	if (is_all)
		return 1;
	if (state->opened_count == THRUM__OPENED_MAX ||
		strlen(state->focus) + THRUM__BANDS_STEPS > THRUM__NAME_MAX)
		return 0;
	strcpy(state->opened[state->opened_count], state->focus);
	for (int i = 0; i < opened; i++)
		strcat(state->opened[state->opened_count], "*");
	state->opened_count++;
	return 1;
}

static int close_all(struct thrum__scene_bands_state *state)
{
	bool had = state->opened_count > 0;

	state->opened_count = 0;
	return had;
}

static void remove_story(struct thrum__scene_bands_state *state, unsigned index)
{
	state->story_count--;
	memmove(&state->stories[index], &state->stories[index + 1],
		(state->story_count - index) * sizeof *state->stories);
}

/* Removes a story for good. Without stories time folds again. */
static void put_story_away(struct thrum__scene *scene, unsigned index)
{
	remove_story(&scene->state.bands, index);
	if (scene->state.bands.story_count == 0)
		scene->state.fold = THRUM__FOLD_AUTO;
}

/* Returns the number of a task's story, or `story_count`. */
static unsigned story_of(const struct thrum__scene_bands_state *state, uint64_t id)
{
	unsigned i = 0;

	while (i < state->story_count && state->stories[i] != id)
		i++;
	return i;
}

/* Returns the place at a height, or NULL; gives y from its top. */
static const struct thrum__scene_bands_place *place_at(const struct thrum__scene *scene, float y,
	float *within)
{
	const struct thrum__scene_bands *bands = scene->bands;
	double at = thrum__scene_track_at(scene, y);
	const struct thrum__scene_bands_place *place;

	if (!bands || y < scene->tracks.top - THRUM__PAD || at < 0 || at >= bands->place_count)
		return NULL;
	place = &bands->places[(uint32_t)at];
	*within = y -
		(scene->tracks.top - THRUM__PAD + place->y + place->inset -
			thrum__scene_bands_scroll(bands, scene->state.track));
	return place;
}

/* Whether x is at the button in the head of a story or an opened band that puts it away. */
static bool closes(const struct thrum__scene *scene, const struct thrum__scene_bands_place *place,
	float x, float within)
{
	return (place->kind == THRUM__PLACE_STORY || place->kind == THRUM__PLACE_OPENED) &&
		within < THRUM__BANDS_HEAD && x > (float)scene->time.x1 - THRUM__BANDS_CLOSE &&
		x <= (float)scene->time.x1;
}

bool thrum__scene_bands_is_button(const struct thrum__scene *scene, float x, float y)
{
	float within;
	const struct thrum__scene_bands_place *place = place_at(scene, y, &within);

	return scene->shows_bands && place &&
		((place->kind == THRUM__PLACE_MORE && !scene->pair.other) ||
			thrum__bands_opens_on(scene, place, within) ||
			closes(scene, place, x, within));
}

/* A press on a story: its head's button puts it away, and a name in the gutter selects that task. */
static int press_story(struct thrum__scene *scene, const struct thrum__scene_bands_place *place,
	float x, float within)
{
	struct thrum__scene_bands_state *state = &scene->state.bands;
	const struct thrum__scene_bands_story *story = &scene->bands->stories[place->index];
	unsigned at = story_of(state, story->id);
	uint32_t task = thrum__scene_bands_story_level(story, within);

	if (closes(scene, place, x, within)) {
		if (at < state->story_count)
			put_story_away(scene, at);
		return 1;
	}
	return task != THRUM__NONE && thrum__scene_select(scene, task) < 0 ? -THRUM_E_MEMORY : 1;
}

/* Opens the groups without a band, and scrolls so that they are in sight; or closes them. */
static int press_more(struct thrum__scene *scene, const struct thrum__scene_bands_place *place)
{
	struct thrum__scene_bands *bands = scene->bands;
	float top = place->y, bottom;

	if (open_next(scene) == 0)
		return 1;
	if (thrum__scene_project(scene, scene->width, scene->height) < 0)
		return -THRUM_E_MEMORY;
	bottom = bands->content - bands->height;
	if (bottom > thrum__scene_bands_scroll(bands, scene->state.track))
		scene->state.track = thrum__scene_bands_track(bands, bottom < top ? bottom : top);
	return 1;
}

int thrum__scene_bands_press(struct thrum__scene *scene, float x, float y)
{
	const struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__scene_bands_place *place;
	char name[THRUM__NAME_MAX];
	uint32_t task, more;
	int64_t ran;
	float within;

	if (y < scene->tracks.top - THRUM__PAD)
		return sort_by(scene, x);
	place = place_at(scene, y, &within);
	if (place && place->kind == THRUM__PLACE_STORY)
		return press_story(scene, place, x, within);
	task = thrum__scene_bands_pick(scene, (float)scene->time.x0, y, 0, &more, &ran);
	if (place && task != THRUM__NONE && place->kind == THRUM__PLACE_OPENED)
		return thrum__scene_select(scene, task) < 0 ? -THRUM_E_MEMORY : 1;
	if (!place || !thrum__scene_bands_name(bands, place, name)) {
		scene->state.bands.focus[0] = 0;
		return 1;
	}
	if (closes(scene, place, x, within)) {
		close_named(&scene->state.bands, name);
		return 1;
	}
	if (strcmp(name, scene->state.bands.focus) == 0 ||
		thrum__bands_opens_on(scene, place, within)) {
		strcpy(scene->state.bands.focus, name);
		return thrum__scene_bands_command(scene, THRUM__COMMAND_OPEN);
	}
	thrum__scene_remember(scene);
	strcpy(scene->state.bands.focus, name);
	if (place->kind == THRUM__PLACE_MORE)
		return press_more(scene, place);
	if (place->kind == THRUM__PLACE_QUEUE)
		return select_lock(scene, place->index);
	/* The panel tells about the band or the thread, unless a task is selected. */
	return scene->state.has_selected && thrum__scene_select(scene, THRUM__NONE) < 0
		? -THRUM_E_MEMORY
		: 1;
}

uint32_t thrum__scene_bands_focus(const struct thrum__scene *scene)
{
	return scene->bands ? focused_group(scene) : THRUM__NONE;
}

uint32_t thrum__scene_bands_focus_thread(const struct thrum__scene *scene)
{
	uint32_t place = scene->bands ? focused_place(scene) : THRUM__NONE;
	int kind = place == THRUM__NONE ? THRUM__PLACE_NONE : scene->bands->places[place].kind;
	const struct thrum__bands *all = scene->bands ? scene->bands->all : NULL;

	return kind == THRUM__PLACE_THREAD || kind == THRUM__PLACE_OPENED_THREAD
		? all->model->lanes[all->threads[scene->bands->places[place].index].lane].task
		: THRUM__NONE;
}

bool thrum__scene_bands_open_more(struct thrum__scene *scene)
{
	struct thrum__scene_bands_state *state = &scene->state.bands;

	if (scene->width <= 0 || scene->pair.other ||
		thrum__scene_bands_opened(state, THRUM__BANDS_MORE) ||
		state->opened_count == THRUM__OPENED_MAX)
		return false;
	strcpy(state->opened[state->opened_count++], THRUM__BANDS_MORE);
	return true;
}

int thrum__scene_show_group(struct thrum__scene *scene, uint32_t group)
{
	uint32_t place;

	if (thrum__scene_bands_make(scene) < 0)
		return -THRUM_E_MEMORY;
	if (group >= scene->bands->all->family.group_count)
		return 0;
	thrum__scene_remember(scene);
	scene->state.as = THRUM__AS_BANDS;
	thrum__scene_bands_group_name(scene->bands->all, group, scene->state.bands.focus);
	place = focused_place(scene);
	if (place == THRUM__NONE && thrum__scene_bands_open_more(scene)) {
		if (thrum__scene_project(scene, scene->width, scene->height) < 0)
			return -THRUM_E_MEMORY;
		place = focused_place(scene);
	}
	if (place == THRUM__NONE)
		return 1;
	show_place(scene, &scene->bands->places[place]);
	return scene->bands->places[place].kind == THRUM__PLACE_QUEUE
		? select_lock(scene, scene->bands->places[place].index)
		: 1;
}

/* ---- Stories ------------------------------------------------------------------------------- */

/* Puts the selected task's story on top, and goes to its life if `goes`. If it is there, puts it away, or
 * if it `stays`, does nothing. */
static int set_story(struct thrum__scene *scene, bool goes, bool stays)
{
	struct thrum__scene_bands_state *state = &scene->state.bands;
	struct thrum__bands_line line;
	uint32_t group;
	unsigned at;
	uint64_t id;

	if (!thrum__bands_line_of(scene->bands->all, scene->selected, &line, &group))
		return 0;
	id = THRUM__TASK(scene->model, line.task, id);
	at = story_of(state, id);
	if (at < state->story_count && stays)
		return 0;
	thrum__scene_remember(scene);
	if (at < state->story_count) {
		put_story_away(scene, at);
		return 1;
	}
	scene->state.fold = THRUM__FOLD_OFF; /* boxes are compared by their lengths */
	if (state->story_count == THRUM__STORIES_MAX)
		remove_story(state, THRUM__STORIES_MAX - 1);
	memmove(&state->stories[1], &state->stories[0],
		state->story_count * sizeof *state->stories);
	state->stories[0] = id;
	state->story_count++;
	scene->state.track = 0;
	if (goes)
		thrum__scene_set_window_around(scene, line.start, line.end,
			(line.end - line.start) / 25 + 1);
	return 1;
}

int thrum__scene_show_story(struct thrum__scene *scene, uint32_t task)
{
	if (!scene->shows_bands || !scene->bands)
		return 0;
	return thrum__scene_select(scene, task) < 0 ? -THRUM_E_MEMORY
						    : set_story(scene, true, true);
}

/* ---- Going to lines ------------------------------------------------------------------------ */

static int show_exception(struct thrum__scene *scene, int step)
{
	const struct thrum__scene_state *state = &scene->state;
	uint32_t task = thrum__bands_exception(scene->bands->all, focused_group(scene),
		thrum__family_line(&scene->bands->all->family, scene->selected),
		step > 0 ? state->from : state->to, step);

	return task == THRUM__NONE ? 0 : thrum__scene_show_task(scene, task);
}

static int show_neighbour(struct thrum__scene *scene, int step)
{
	uint32_t task = thrum__bands_neighbour(scene->bands->all,
		thrum__family_line(&scene->bands->all->family, scene->selected), step);

	return task == THRUM__NONE ? 0 : thrum__scene_show_task(scene, task);
}

/* Goes to the range; without one, to the life of the selected line. */
static int zoom_to(struct thrum__scene *scene)
{
	const struct thrum__scene_bands_state *state = &scene->state.bands;
	struct thrum__bands_line line;
	uint32_t group;

	if (state->range_from < state->range_to) {
		thrum__scene_remember(scene);
		thrum__scene_set_window_around(scene, state->range_from, state->range_to, 0);
		return 1;
	}
	if (!thrum__bands_line_of(scene->bands->all, scene->selected, &line, &group))
		return 0;
	thrum__scene_remember(scene);
	thrum__scene_set_window_around(scene, line.start, line.end,
		(line.end - line.start) / 25 + 1);
	return 1;
}

/* Ends the range; or else the search, or the selection, or the stories, or the focus. */
static int clear_next(struct thrum__scene *scene)
{
	struct thrum__scene_state *state = &scene->state;

	if (state->bands.range_from < state->bands.range_to) {
		state->bands.range_from = state->bands.range_to = 0;
		state->bands.took_from = state->bands.took_to = 0;
		return 1;
	}
	if (state->search[0]) {
		state->search[0] = 0;
	} else if (state->has_selected || state->related_only) {
		state->has_selected = state->related_only = false;
	} else if (state->bands.story_count > 0) {
		state->bands.story_count = 0;
		state->fold = THRUM__FOLD_AUTO;
	} else if (state->bands.focus[0]) {
		state->bands.focus[0] = 0;
	} else {
		return 0;
	}
	return thrum__scene_settle(scene) < 0 ? -THRUM_E_MEMORY : 1;
}

/* ---- Hovering ------------------------------------------------------------------------------ */

bool thrum__scene_hover_name(struct thrum__scene *scene, float x, float y)
{
	const struct thrum__scene_bands *bands = scene->bands;
	uint32_t group = scene->hovered_group, thread = scene->hovered_thread;
	double at = thrum__scene_track_at(scene, y);

	scene->hovered_group = scene->hovered_thread = THRUM__NONE;
	if (scene->shows_bands && bands && x < (float)scene->time.x0 &&
		y >= scene->tracks.top - THRUM__PAD && at >= 0 && at < bands->place_count) {
		const struct thrum__scene_bands_place *place = &bands->places[(uint32_t)at];

		if (thrum__bands_is_group(place))
			scene->hovered_group = place->index;
		else if (place->kind == THRUM__PLACE_THREAD ||
			place->kind == THRUM__PLACE_OPENED_THREAD)
			scene->hovered_thread = place->index;
	}
	return group != scene->hovered_group || thread != scene->hovered_thread;
}

int thrum__scene_bands_command(struct thrum__scene *scene, int command)
{
	switch (command) {
	case THRUM__COMMAND_UP: return move_focus(scene, -1);
	case THRUM__COMMAND_DOWN: return move_focus(scene, 1);
	case THRUM__COMMAND_OPEN: return open_next(scene);
	case THRUM__COMMAND_CLOSE_ALL: return close_all(&scene->state.bands);
	case THRUM__COMMAND_SLOW: return set_story(scene, true, false);
	case THRUM__COMMAND_PIN: return set_story(scene, false, false);
	case THRUM__COMMAND_EXCEPTION: return show_exception(scene, 1);
	case THRUM__COMMAND_PREVIOUS_EXCEPTION: return show_exception(scene, -1);
	case THRUM__COMMAND_NEXT_ALIKE: return show_neighbour(scene, 1);
	case THRUM__COMMAND_PREVIOUS_ALIKE: return show_neighbour(scene, -1);
	case THRUM__COMMAND_ZOOM_TO: return zoom_to(scene);
	case THRUM__COMMAND_CLEAR: return clear_next(scene);
	case THRUM__COMMAND_FOLD:
		return scene->state.bands.story_count > 0 ? 0 : THRUM__BANDS_NOT_OURS;
	case THRUM__COMMAND_SQUEEZE:
	case THRUM__COMMAND_FISHEYE:
	case THRUM__COMMAND_COUNTERS: return 0;
	default: return THRUM__BANDS_NOT_OURS;
	}
}
