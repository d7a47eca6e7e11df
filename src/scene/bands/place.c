/* SPDX-License-Identifier: ISC */
/* Places threads, queues and bands below each other, and chooses the heights of classes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "scene/bands/opened.h"
#include "scene/bands/story.h"

/* Heights in px. */
#define THREAD 23
#define AFTER_THREADS 5
#define AFTER_OPENED 5
#define QUEUE 48
#define AFTER_QUEUES 2
#define SMALL 24
#define MIDDLE_LEAST 30 /* of a band without the space below it */
#define LARGE_LEAST 44
#define SPACE 8 /* below a band */
#define MORE 22

#define TONE_THIRD 4 /* lines in a cell, at least, from which on it has the third tone */
#define TONE_FOURTH 12

/* How a decade of durations is shown: the first of these with which all bands fit. A middle band has
 * half as many classes as a large one. */
static const struct measure {
	unsigned classes; /* a decade, of large bands */
	float height;     /* px of one */
} measures[] = {{8, 4}, {8, 3}, {4, 5}, {4, 4}, {4, 3}, {2, 4}, {2, 3}};

#define MEASURES (sizeof measures / sizeof *measures)
#define SCROLLS 4 /* the one with which the view scrolls, if none fits */

/* ---- Bands --------------------------------------------------------------------------------- */

/* With a range each band has two lines of numbers. */
static bool has_range(const struct thrum__scene_bands_state *state)
{
	return state->range_from < state->range_to;
}

/* Sets the classes and heights of a group's band. It reaches from the duration that 99 % of the lines
 * reach, down to a quarter of a decade, to the longest one, up to that; at least one decade. */
static void measure_band(const struct thrum__scene_bands *bands, const struct thrum__group *group,
	const struct measure *measure, struct thrum__scene_bands_place *place)
{
	const unsigned decade = THRUM__BANDS_DECADE, quarter = decade / 4;
	bool is_large = group->size == THRUM__GROUP_LARGE;
	unsigned classes = is_large ? measure->classes : measure->classes / 2;
	unsigned per = decade / classes, step = per > quarter ? per : quarter, end;
	float least = is_large || has_range(&bands->shown) ? LARGE_LEAST : MIDDLE_LEAST, needed;

	place->class = thrum__bands_class(group->low) / step * step;
	end = (thrum__bands_class(group->longest) / step + 1) * step;
	if (end < place->class + decade)
		end = place->class + decade;
	place->per = per;
	place->rows = (end - place->class) / per;
	place->row_height = measure->height;
	needed = (float)place->rows * measure->height;
	place->base = needed > least ? needed : least;
	place->height = place->base + SPACE;
}

static float small_height(struct thrum__scene_bands_place *place)
{
	place->base = SMALL - SPACE;
	return SMALL;
}

/* Returns how far a group's band is opened. */
static int is_opened(const struct thrum__scene_bands *bands, uint32_t group)
{
	char name[THRUM__NAME_MAX];

	if (bands->shown.opened_count == 0)
		return 0;
	thrum__scene_bands_group_name(bands->all, group, name);
	return thrum__scene_bands_opened(&bands->shown, name);
}

/* Sets the rows and the height of an opened band. */
static void measure_opened(const struct thrum__scene_bands *bands,
	struct thrum__scene_bands_place *place)
{
	uint32_t lines = bands->all->family.groups[place->index].lines;
	uint32_t rows = is_opened(bands, place->index) > 1 ? THRUM__OPENED_ROWS_MAX
							   : THRUM__OPENED_ROWS;

	place->rows = lines < rows ? lines : rows;
	place->height = THRUM__OPENED_HEAD + THRUM__OPENED_ROW * (float)place->rows + SPACE;
}

/* Returns the height of all bands. */
static float height_of(const struct thrum__scene_bands *bands, const struct measure *measure)
{
	const struct thrum__family *family = &bands->all->family;
	float all = 0;

	for (uint32_t i = 0; i < family->shown_count; i++) {
		const struct thrum__group *group = &family->groups[family->shown[i]];
		struct thrum__scene_bands_place place = {.index = family->shown[i]};

		if (is_opened(bands, place.index))
			measure_opened(bands, &place), all += place.height;
		else if (group->size == THRUM__GROUP_SMALL)
			all += SMALL;
		else
			measure_band(bands, group, measure, &place), all += place.height;
	}
	return all;
}

static const struct measure *choose_measure(const struct thrum__scene_bands *bands, float room)
{
	for (size_t i = 0; i < MEASURES; i++)
		if (height_of(bands, &measures[i]) <= room)
			return &measures[i];
	return &measures[SCROLLS];
}

/* ---- All places ---------------------------------------------------------------------------- */

/* Adds a place below the last. There is room for it. */
static struct thrum__scene_bands_place *add_place(struct thrum__scene_bands *bands, int kind,
	uint32_t index, float height)
{
	struct thrum__scene_bands_place *place = &bands->places[bands->place_count++];

	*place = (struct thrum__scene_bands_place){
		.kind = (uint8_t)kind,
		.index = index,
		.y = bands->content,
		.height = height,
	};
	bands->content += height;
	return place;
}

static void add_threads(struct thrum__scene_bands *bands)
{
	uint32_t count = bands->all->thread_count;

	if (count == 0)
		return;
	add_place(bands, THRUM__PLACE_THREADS, 0, THRUM__BANDS_HEAD);
	for (uint32_t i = 0; i < count; i++) {
		float after = i + 1 == count ? AFTER_THREADS : 0;
		char name[THRUM__NAME_MAX];

		thrum__scene_bands_thread_name(bands->all, i, name);
		if (thrum__scene_bands_opened(&bands->shown, name))
			add_place(bands, THRUM__PLACE_OPENED_THREAD, i,
				THRUM__OPENED_LANE * (float)bands->all->threads[i].count +
					AFTER_OPENED + after);
		else
			add_place(bands, THRUM__PLACE_THREAD, i, THREAD + after);
	}
}

static void add_queues(struct thrum__scene_bands *bands)
{
	uint32_t count = bands->all->queue_count;

	if (count == 0)
		return;
	add_place(bands, THRUM__PLACE_QUEUES, 0, THRUM__BANDS_HEAD);
	for (uint32_t i = 0; i < count; i++)
		add_place(bands, THRUM__PLACE_QUEUE, i,
			QUEUE + (i + 1 == count ? AFTER_QUEUES : 0));
}

static void add_bands(struct thrum__scene_bands *bands, float height)
{
	const struct thrum__family *family = &bands->all->family;
	const struct measure *measure;

	add_place(bands, THRUM__PLACE_WORK, 0, THRUM__BANDS_HEAD);
	measure = choose_measure(bands, height - bands->content - MORE);
	for (uint32_t i = 0; i < family->shown_count; i++) {
		uint32_t index = family->shown[i];
		const struct thrum__group *group = &family->groups[index];
		bool is_small = group->size == THRUM__GROUP_SMALL;
		struct thrum__scene_bands_place *place = add_place(bands,
			is_small ? THRUM__PLACE_SMALL : THRUM__PLACE_BAND, index, 0);

		place->depth = (uint8_t)group->depth;
		if (is_opened(bands, index)) {
			place->kind = THRUM__PLACE_OPENED;
			measure_opened(bands, place);
		} else if (is_small)
			place->height = small_height(place);
		else
			measure_band(bands, group, measure, place);
		bands->content += place->height;
	}
	if (family->more_count > 0)
		add_place(bands, THRUM__PLACE_MORE, 0, MORE);
}

/* ---- Tones --------------------------------------------------------------------------------- */

/* Returns the nearest of 1, 2, 5 × 10ⁿ, by ratio. */
static uint32_t round_number(uint32_t number)
{
	static const uint32_t steps[] = {1, 2, 5, 10};
	uint32_t power = 1;

	while (number / power >= 10)
		power *= 10;
	for (size_t i = 0; i + 1 < sizeof steps / sizeof *steps; i++) {
		uint64_t low = steps[i] * (uint64_t)power, high = steps[i + 1] * (uint64_t)power;

		/* Below the geometric mean of the two. */
		if ((uint64_t)number * number < low * high)
			return (uint32_t)low;
	}
	return 10 * power;
}

static int compare_counts(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return one < other ? -1 : one > other;
}

/* Sets the tones from how many lines 90 % of the cells with lines have at most, in the whole
 * trace. Returns 0 or -THRUM_E_MEMORY. */
static int set_tones(struct thrum__scene_bands *bands, const struct thrum__scene_time_axis *whole)
{
	uint32_t *counts = NULL, count = 0, room = 0, most = 0;

	if (thrum__scene_bands_set_window(bands, whole) < 0)
		return -THRUM_E_MEMORY;
	for (uint32_t i = 0; i < bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &bands->places[i];

		for (unsigned row = 0; place->kind == THRUM__PLACE_BAND && row < place->rows;
			row++) {
			uint32_t columns = bands->window.columns;
			uint32_t *grown = thrum__base_grow(counts, &room, (uint64_t)count + columns,
				sizeof *counts);

			if (!grown) {
				free(counts);
				return -THRUM_E_MEMORY;
			}
			counts = grown;
			thrum__bands_cells(bands->all, place->index,
				place->class + row * place->per, place->per, &bands->window,
				bands->cells);
			for (uint32_t k = 0; k < columns; k++)
				if (bands->cells[k].lines > 0)
					counts[count++] = bands->cells[k].lines;
		}
	}
	if (count > 0) {
		qsort(counts, count, sizeof *counts, compare_counts);
		most = counts[(uint64_t)count * 9 / 10];
	}
	free(counts);
	bands->tones[0] = most / 5 <= TONE_THIRD ? TONE_THIRD : round_number(most / 5);
	bands->tones[1] = most <= TONE_FOURTH ? TONE_FOURTH : round_number(most);
	return 0;
}

/* Makes the axis of the whole trace, without folds. */
static int set_whole_axis(const struct thrum__scene *scene, struct thrum__scene_time_axis *axis,
	float width)
{
	struct thrum__scene_fold_rule rule = {0};

	thrum__scene_time_axis_init(axis);
	return thrum__scene_time_axis_set(axis, scene->index, scene->bands->all->from,
		scene->bands->all->to, thrum__scene_bands_left(width),
		thrum__scene_bands_right(width), &rule);
}

static bool has_same_opened(const struct thrum__scene_bands_state *a,
	const struct thrum__scene_bands_state *b)
{
	if (a->opened_count != b->opened_count)
		return false;
	for (unsigned i = 0; i < a->opened_count; i++)
		if (strcmp(a->opened[i], b->opened[i]) != 0)
			return false;
	return true;
}

static bool has_same_stories(const struct thrum__scene_bands_state *a,
	const struct thrum__scene_bands_state *b)
{
	return a->story_count == b->story_count &&
		memcmp(a->stories, b->stories, a->story_count * sizeof *a->stories) == 0;
}

int thrum__scene_bands_set_places(struct thrum__scene *scene, float width, float height)
{
	struct thrum__scene_bands *bands = scene->bands;
	uint64_t most = 4 + THRUM__STORIES_MAX + (uint64_t)bands->all->thread_count +
		bands->all->queue_count + bands->all->family.shown_count;
	struct thrum__scene_bands_place *places;
	struct thrum__scene_time_axis whole;
	int status;

	if (bands->width == width && bands->height == height && bands->place_count > 0 &&
		has_same_opened(&bands->shown, &scene->state.bands) &&
		has_range(&bands->shown) == has_range(&scene->state.bands) &&
		has_same_stories(&bands->shown, &scene->state.bands))
		return 0;
	if ((bands->place_count == 0 || !has_same_stories(&bands->shown, &scene->state.bands)) &&
		thrum__scene_bands_make_stories(bands, &scene->state.bands) < 0)
		return -THRUM_E_MEMORY;
	bands->shown = scene->state.bands;
	places = thrum__base_grow(bands->places, &bands->place_room, most, sizeof *places);
	if (!places)
		return -THRUM_E_MEMORY;
	bands->places = places;
	bands->place_count = 0;
	bands->content = 0;
	for (uint32_t i = 0; i < bands->story_count; i++)
		add_place(bands, THRUM__PLACE_STORY, i,
			thrum__scene_bands_story_height(&bands->stories[i]));
	add_threads(bands);
	add_queues(bands);
	add_bands(bands, height);
	status = set_whole_axis(scene, &whole, width);
	if (status == 0)
		status = set_tones(bands, &whole);
	thrum__scene_time_axis_finish(&whole);
	if (status != 0)
		return status;
	bands->width = width;
	bands->height = height;
	return 0;
}

/* ---- Scrolling ----------------------------------------------------------------------------- */

float thrum__scene_bands_scroll(const struct thrum__scene_bands *bands, double track)
{
	uint32_t place = track > 0 && track < bands->place_count ? (uint32_t)track : 0;
	float most = floorf(bands->content - bands->height), scroll = most;

	if (bands->place_count > 0 && track < bands->place_count)
		scroll = floorf(bands->places[place].y +
			(float)(track - place) * bands->places[place].height + 0.5f);
	scroll = scroll > most ? most : scroll;
	return scroll > 0 ? scroll : 0;
}

double thrum__scene_bands_track(const struct thrum__scene_bands *bands, float scroll)
{
	float most = bands->content - bands->height;

	return thrum__scene_bands_place_at(bands, scroll > most ? most : scroll);
}

double thrum__scene_bands_place_at(const struct thrum__scene_bands *bands, float y)
{
	if (!(y > 0))
		return 0;
	for (uint32_t i = 0; i < bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &bands->places[i];

		if (y < place->y + place->height)
			return i + (double)((y - place->y) / place->height);
	}
	return bands->place_count;
}
