/* SPDX-License-Identifier: ISC */
/* Makes a scene's bands and keeps their memory. */
#include <stdlib.h>
#include <string.h>

#include "analyse/slow/slow.h"
#include "base/array.h"
#include "scene/story/story.h"

#define PATH_ROWS 20000000 /* which take about a second in a browser */

/* ---- Critical paths: made at once, in steps, or elsewhere ----------------------------------- */

int thrum__scene_paths_make(const struct thrum__model *model, struct thrum__paths **made)
{
	struct thrum__paths *paths = malloc(sizeof *paths);

	if (!paths || thrum__slow_paths_init(paths, model) < 0) {
		free(paths);
		return -THRUM_E_MEMORY;
	}
	*made = paths;
	return 0;
}

void thrum__scene_free_paths(struct thrum__paths *paths)
{
	if (paths)
		thrum__slow_paths_finish(paths);
	free(paths);
}

static void forget_new_paths(struct thrum__scene_bands *bands)
{
	thrum__scene_free_paths(bands->new_paths);
	bands->new_paths = NULL;
}

static void forget_paths(struct thrum__scene_bands *bands)
{
	thrum__scene_free_paths(bands->paths);
	bands->paths = NULL;
	bands->are_paths_old = false;
}

int thrum__scene_bands_step_paths(struct thrum__scene_bands *bands)
{
	int more;

	if (bands->paths && !bands->are_paths_old)
		return 0;
	if (!bands->new_paths) {
		bands->new_paths = malloc(sizeof *bands->new_paths);
		if (!bands->new_paths)
			return -THRUM_E_MEMORY;
		thrum__slow_paths_begin(bands->new_paths, bands->all->model);
	}
	more = thrum__slow_paths_step(bands->new_paths);
	if (more < 0)
		forget_new_paths(bands);
	if (more == 0) {
		forget_paths(bands);
		bands->paths = bands->new_paths;
		bands->new_paths = NULL;
	}
	return more;
}

struct thrum__paths *thrum__scene_bands_paths(struct thrum__scene_bands *bands)
{
	int more;

	do
		more = thrum__scene_bands_step_paths(bands);
	while (more > 0);
	return more < 0 ? NULL : bands->paths;
}

bool thrum__scene_bands_lacks_paths(struct thrum__scene_bands *bands)
{
	const struct thrum__model *model = bands->all->model;

	if (bands->paths || !bands->paths_later ||
		model->edges.count + (uint64_t)model->runs.count < THRUM__LATER_PATHS)
		return false;
	bands->awaits_paths = true;
	return true;
}

bool thrum__scene_awaits_paths(const struct thrum__scene *scene)
{
	return scene->bands && scene->bands->awaits_paths;
}

void thrum__scene_take_paths(struct thrum__scene *scene, struct thrum__paths *paths)
{
	struct thrum__scene_bands *bands = scene->bands;

	if (!bands || bands->paths) {
		thrum__scene_free_paths(paths);
		return;
	}
	bands->paths = paths;
	scene->paths_later = scene->paths_later && paths;
	bands->paths_later = bands->awaits_paths = false;
	bands->has_stories = false;
	bands->place_count = 0;
}

/* ---- Making and freeing -------------------------------------------------------------------- */

/* Takes bands that were made. */
static int adopt(struct thrum__scene *scene, struct thrum__bands *made)
{
	scene->bands = calloc(1, sizeof *scene->bands);
	if (!scene->bands) {
		thrum__bands_destroy(made);
		return -THRUM_E_MEMORY;
	}
	scene->bands->all = made;
	scene->bands->path_rows = PATH_ROWS;
	scene->bands->paths_later = scene->paths_later;
	return 0;
}

int thrum__scene_bands_make(struct thrum__scene *scene)
{
	struct thrum__bands *made;

	if (scene->bands)
		return 0;
	return thrum__bands_make(scene->model, NULL, NULL, &made) < 0 ? -THRUM_E_MEMORY
								      : adopt(scene, made);
}

void thrum__scene_bands_destroy(struct thrum__scene_bands *bands)
{
	if (!bands)
		return;
	thrum__scene_bands_free_stories(bands);
	free(bands->stories);
	forget_paths(bands);
	forget_new_paths(bands);
	thrum__scene_bands_forget_where(bands);
	thrum__scene_bands_forget_rows(bands);
	thrum__bands_destroy(bands->all);
	thrum__bands_window_finish(&bands->window);
	free(bands->places);
	free(bands->before);
	free(bands->moving);
	free(bands->times);
	free(bands->cells);
	free(bands->shares);
	free(bands->heights);
	free(bands->counts);
	free(bands->failed);
	free(bands->bytes);
	free(bands->counted);
	free(bands);
}

/* ---- Names --------------------------------------------------------------------------------- */

static void cut_name(char *name, size_t size)
{
	name[size < THRUM__NAME_MAX ? size : THRUM__NAME_MAX - 1] = 0;
}

void thrum__scene_bands_group_name(const struct thrum__bands *bands, uint32_t group,
	char name[THRUM__NAME_MAX])
{
	size_t size;
	const char *text = thrum__family_name(&bands->family, group, &size);

	if (size > 0) {
		memcpy(name, text, size < THRUM__NAME_MAX ? size : THRUM__NAME_MAX - 1);
		cut_name(name, size);
		return;
	}
	thrum__words_kind_and_site(bands->model, bands->family.groups[group].sample, name,
		THRUM__NAME_MAX);
}

void thrum__scene_bands_thread_name(const struct thrum__bands *bands, uint32_t thread,
	char name[THRUM__NAME_MAX])
{
	const struct thrum__bands_thread *of = &bands->threads[thread];

	if (of->is_others)
		strcpy(name, "others");
	else if (bands->model->lanes[of->lane].task == THRUM__NONE)
		strcpy(name, "main"); /* traces of mirage-profile have one thread without a task */
	else
		thrum__words_task(bands->model, bands->model->lanes[of->lane].task, name,
			THRUM__NAME_MAX);
}

int thrum__scene_bands_opens(const char *text, const char *name)
{
	size_t size = strlen(name), stars;

	if (strncmp(text, name, size) != 0)
		return 0;
	stars = strspn(text + size, "*");
	return text[size + stars] || stars >= THRUM__BANDS_STEPS ? 0 : (int)stars + 1;
}

bool thrum__scene_has_band(const struct thrum__scene *scene, const char *text)
{
	const struct thrum__bands *all = scene->bands ? scene->bands->all : NULL;
	char name[THRUM__NAME_MAX];

	for (uint32_t i = 0; all && i < all->family.group_count; i++) {
		thrum__scene_bands_group_name(all, i, name);
		if (thrum__scene_bands_opens(text, name) > 0)
			return true;
	}
	for (uint32_t i = 0; all && i < all->thread_count; i++) {
		thrum__scene_bands_thread_name(all, i, name);
		if (thrum__scene_bands_opens(text, name) > 0)
			return true;
	}
	return false;
}

int thrum__scene_bands_opened(const struct thrum__scene_bands_state *state, const char *name)
{
	int opened = 0;

	for (unsigned i = 0; i < state->opened_count && opened == 0; i++)
		opened = thrum__scene_bands_opens(state->opened[i], name);
	return opened;
}

/* ---- Updating ------------------------------------------------------------------------------ */

/* Forgets all that was made of bands that are made anew. Their groups get other numbers. */
static void forget_made(struct thrum__scene *scene)
{
	struct thrum__scene_bands *bands = scene->bands;

	bands->has_numbers = false;
	bands->place_count = bands->before_count = 0;
	thrum__scene_bands_free_stories(bands);
	thrum__scene_bands_forget_rows(bands);
	thrum__scene_bands_forget_where(bands);
	forget_paths(bands);
	forget_new_paths(bands);
	scene->hovered_group = scene->hovered_thread = THRUM__NONE;
}

/* Keeps what would take long to make again. */
static void advance(struct thrum__scene_bands *bands)
{
	thrum__bands_advance(bands->all);
	bands->has_numbers = false;
	bands->place_count = 0;
	thrum__scene_bands_forget_part(bands);
	forget_new_paths(bands);
	bands->are_paths_old = bands->paths != NULL;
}

int thrum__scene_bands_update(struct thrum__scene *scene)
{
	struct thrum__scene_bands *bands = scene->bands;

	if (scene->bands_later && scene->model->events >= THRUM__LATER_BANDS &&
		!thrum__bands_is_broken(bands->all)) {
		advance(bands);
		return 0;
	}
	forget_made(scene);
	return thrum__bands_update(bands->all);
}

bool thrum__scene_bands_lag(const struct thrum__scene *scene)
{
	return scene->shows_bands && scene->bands && thrum__bands_is_old(scene->bands->all);
}

/* Goes from rows to the top of the bands, or to the selected task. */
static int show_first(struct thrum__scene *scene)
{
	int status;

	scene->state.track = 0;
	if (scene->width <= 0 || scene->selected == THRUM__NONE)
		return 0;
	status = thrum__scene_project(scene, scene->width, scene->height);
	return status < 0 ? status : thrum__scene_bands_show(scene, scene->selected);
}

int thrum__scene_bands_begin(struct thrum__scene *scene, struct thrum__bands *made)
{
	bool replaces = thrum__scene_awaits_bands(scene);
	int status = adopt(scene, made);

	return status == 0 && replaces ? show_first(scene) : status;
}

int thrum__scene_take_bands(struct thrum__scene *scene, struct thrum__bands *made)
{
	if (!scene->bands)
		return thrum__scene_bands_begin(scene, made);
	forget_made(scene);
	return thrum__bands_replace(scene->bands->all, made);
}

float thrum__scene_bands_left(float width)
{
	return width < THRUM__NARROW          ? 0
		: width < THRUM__BANDS_NARROW ? THRUM__BANDS_GUTTER_NARROW
					      : THRUM__BANDS_GUTTER;
}

float thrum__scene_bands_right(float width)
{
	return width < THRUM__NARROW ? width : width - THRUM__BANDS_SCALE;
}

/* Makes room for so many columns; false: no memory. */
static bool reserve_columns(struct thrum__scene_bands *bands, uint32_t columns)
{
	void *times, *cells, *shares, *heights, *counts;

	if (columns < bands->column_room)
		return true;
	times = realloc(bands->times, (columns + 1) * sizeof *bands->times);
	bands->times = times ? times : bands->times;
	cells = realloc(bands->cells, (columns + 1) * sizeof *bands->cells);
	bands->cells = cells ? cells : bands->cells;
	shares = realloc(bands->shares, 2 * (columns + 1) * sizeof *bands->shares);
	bands->shares = shares ? shares : bands->shares;
	heights = realloc(bands->heights, (columns + 1) * sizeof *bands->heights);
	bands->heights = heights ? heights : bands->heights;
	counts = realloc(bands->counts, (columns + 1) * sizeof *bands->counts);
	bands->counts = counts ? counts : bands->counts;
	if (!times || !cells || !shares || !heights || !counts)
		return false;
	bands->column_room = columns + 1;
	return true;
}

int thrum__scene_bands_set_window(struct thrum__scene_bands *bands,
	const struct thrum__scene_time_axis *axis)
{
	double width = axis->x1 - axis->x0;
	uint32_t columns = width > THRUM__CELL_WIDTH ? (uint32_t)(width / THRUM__CELL_WIDTH) : 1;

	if (!reserve_columns(bands, columns))
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i <= columns; i++) {
		bands->times[i] = thrum__scene_time_axis_time(axis,
			axis->x0 + (double)i * THRUM__CELL_WIDTH);
		if (i > 0 && bands->times[i] <= bands->times[i - 1])
			bands->times[i] = bands->times[i - 1] + 1;
	}
	return thrum__bands_window_set(&bands->window, bands->times, columns);
}

uint8_t *thrum__scene_bands_bytes(struct thrum__scene_bands *bands, uint32_t count)
{
	uint8_t *bytes = thrum__base_grow(bands->bytes, &bands->byte_room, count, 1);

	if (!bytes)
		return NULL;
	bands->bytes = bytes;
	memset(bytes, 0, count);
	return bytes;
}
