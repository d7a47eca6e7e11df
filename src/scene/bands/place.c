/* SPDX-License-Identifier: ISC */
/* Places threads, queues and bands below each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/label.h"
#include "base/array.h"
#include "scene/bands/opened.h"
#include "scene/bands_state.h"
#include "scene/story/story.h"

/* Heights in px. */
#define THREAD 23
#define AFTER_THREADS 5
#define AFTER_OPENED 5
#define QUEUE 48
#define AFTER_QUEUES 2
#define MORE 22

/* ---- Sides --------------------------------------------------------------------------------- */

/* Adds a place below the last one, and `after` px below it. `half`: its kind, and what is the same for
 * both sides; its height is that of one side. */
static void add_place(const struct thrum__bands_sides *sides, struct thrum__scene_bands_place half,
	struct thrum__bands_pair pair, float after)
{
	bool is_head = half.kind == THRUM__PLACE_THREADS || half.kind == THRUM__PLACE_QUEUES ||
		half.kind == THRUM__PLACE_WORK || half.kind == THRUM__PLACE_ONLY ||
		half.kind == THRUM__PLACE_STORY || half.kind == THRUM__PLACE_MORE;
	float y = sides->bands[0]->content, inset = is_head ? 0 : sides->above, all = inset;

	for (unsigned i = 0; i < sides->count; i++)
		all += pair.index[i] == THRUM__NONE ? 0 : half.height;
	all += after;
	for (unsigned i = 0; i < sides->count; i++) {
		struct thrum__scene_bands *bands = sides->bands[i];
		struct thrum__scene_bands_place *place = &bands->places[bands->place_count++];

		*place = half;
		place->index = pair.index[i];
		place->y = y;
		place->height = all;
		place->inset = inset;
		place->own = half.height;
		if (place->index == THRUM__NONE)
			place->kind = THRUM__PLACE_NONE;
		else
			inset += half.height;
		bands->content = y + all;
	}
}

static void add_head(const struct thrum__bands_sides *sides, int kind)
{
	add_place(sides,
		(struct thrum__scene_bands_place){.kind = (uint8_t)kind,
			.height = THRUM__BANDS_HEAD},
		(struct thrum__bands_pair){{0, THRUM__NONE}}, 0);
}

typedef void (*namer)(const struct thrum__bands *, uint32_t index, char name[THRUM__NAME_MAX]);

/* Returns which of `count` ones has the name, or NONE. */
static uint32_t find_name(const struct thrum__bands *bands, namer name_of, uint32_t count,
	const char *name)
{
	char other[THRUM__NAME_MAX];

	for (uint32_t i = 0; i < count; i++) {
		name_of(bands, i, other);
		if (strcmp(name, other) == 0)
			return i;
	}
	return THRUM__NONE;
}

/* Whether two names differ in numbers only. */
static bool are_alike(const char *a, const char *b)
{
	char x[THRUM__LABEL_PATTERN_MAX], y[THRUM__LABEL_PATTERN_MAX];
	size_t size = thrum__analyse_label_pattern(a, strlen(a), x);

	return thrum__analyse_label_pattern(b, strlen(b), y) == size && memcmp(x, y, size) == 0;
}

/* The threads, or queues, of both sides. */
struct both {
	const struct thrum__bands *all[2];
	namer name_of;
	uint32_t count[2];
};

/* Whether one has a name like this, and the other side doesn't have its own. */
static bool is_alike_alone(const struct both *both, unsigned side, uint32_t index, const char *name)
{
	char own[THRUM__NAME_MAX];

	both->name_of(both->all[side], index, own);
	return are_alike(own, name) &&
		find_name(both->all[1 - side], both->name_of, both->count[1 - side], own) ==
		THRUM__NONE;
}

/* Gives `index` of a side with that of the other side with the same name; or, of those with like names,
 * the first with the first, and so on. */
static struct thrum__bands_pair pair_of(const struct thrum__bands_sides *sides, unsigned side,
	uint32_t index, const struct both *both)
{
	struct thrum__bands_pair pair = {{THRUM__NONE, THRUM__NONE}};
	char name[THRUM__NAME_MAX];
	uint32_t before = 0;

	pair.index[side] = index;
	if (sides->count == 1)
		return pair;
	both->name_of(both->all[side], index, name);
	pair.index[1 - side] = find_name(both->all[1 - side], both->name_of, both->count[1 - side],
		name);
	if (pair.index[1 - side] != THRUM__NONE)
		return pair;
	for (uint32_t i = 0; i < index; i++)
		before += is_alike_alone(both, side, i, name);
	for (uint32_t i = 0; i < both->count[1 - side]; i++)
		if (is_alike_alone(both, 1 - side, i, name) && before-- == 0) {
			pair.index[1 - side] = i;
			break;
		}
	return pair;
}

/* ---- All places ---------------------------------------------------------------------------- */

static void add_stories(const struct thrum__bands_sides *sides)
{
	for (unsigned side = 0; side < sides->count; side++) {
		for (uint32_t i = 0; i < sides->bands[side]->story_count; i++) {
			struct thrum__bands_pair pair = {{THRUM__NONE, THRUM__NONE}};

			pair.index[side] = i;
			add_place(sides,
				(struct thrum__scene_bands_place){.kind = THRUM__PLACE_STORY,
					.height = thrum__scene_bands_story_height(
						&sides->bands[side]->stories[i])},
				pair, 0);
		}
	}
}

static void add_thread(const struct thrum__bands_sides *sides, unsigned side,
	struct thrum__bands_pair pair, float after)
{
	const struct thrum__scene_bands *bands = sides->bands[side];
	struct thrum__scene_bands_place place = {.kind = THRUM__PLACE_THREAD, .height = THREAD};
	uint32_t lanes = 0;
	char name[THRUM__NAME_MAX];

	thrum__scene_bands_thread_name(bands->all, pair.index[side], name);
	if (thrum__scene_bands_opened(&bands->shown, name)) {
		for (unsigned i = 0; i < sides->count; i++)
			if (pair.index[i] != THRUM__NONE &&
				sides->bands[i]->all->threads[pair.index[i]].count > lanes)
				lanes = sides->bands[i]->all->threads[pair.index[i]].count;
		place.kind = THRUM__PLACE_OPENED_THREAD;
		place.height = THRUM__OPENED_LANE * (float)lanes + AFTER_OPENED;
	}
	add_place(sides, place, pair, after);
}

static void add_threads(const struct thrum__bands_sides *sides)
{
	const struct thrum__bands *first = sides->bands[0]->all;
	const struct thrum__bands *second = sides->bands[sides->count - 1]->all;
	const struct both both = {{first, second}, thrum__scene_bands_thread_name,
		{first->thread_count, second->thread_count}};

	if (first->thread_count + second->thread_count == 0)
		return;
	add_head(sides, THRUM__PLACE_THREADS);
	for (uint32_t i = 0; i < first->thread_count; i++)
		add_thread(sides, 0, pair_of(sides, 0, i, &both),
			i + 1 == first->thread_count || sides->count > 1 ? AFTER_THREADS : 0);
	for (uint32_t i = 0; sides->count > 1 && i < second->thread_count; i++) {
		struct thrum__bands_pair pair = pair_of(sides, 1, i, &both);

		if (pair.index[0] == THRUM__NONE)
			add_thread(sides, 1, pair, AFTER_THREADS);
	}
}

static void queue_name(const struct thrum__bands *bands, uint32_t queue, char name[THRUM__NAME_MAX])
{
	thrum__scene_bands_group_name(bands, bands->queues[queue].group, name);
}

static void add_queue(const struct thrum__bands_sides *sides, unsigned side,
	struct thrum__bands_pair pair, float after)
{
	struct thrum__scene_bands_place place = {.kind = THRUM__PLACE_QUEUE, .height = QUEUE};

	if (thrum__bands_is_opened(sides, side,
		    sides->bands[side]->all->queues[pair.index[side]].group)) {
		for (unsigned i = 0; i < sides->count; i++)
			if (pair.index[i] != THRUM__NONE &&
				sides->bands[i]->all->queues[pair.index[i]].instances > place.rows)
				place.rows = sides->bands[i]->all->queues[pair.index[i]].instances;
		if (place.rows > THRUM__OPENED_OBJECTS)
			place.rows = THRUM__OPENED_OBJECTS;
		place.height += THRUM__OPENED_OBJECT * (float)place.rows;
	}
	add_place(sides, place, pair, after);
}

static void add_queues(const struct thrum__bands_sides *sides)
{
	const struct thrum__bands *first = sides->bands[0]->all;
	const struct thrum__bands *second = sides->bands[sides->count - 1]->all;
	const struct both both = {{first, second}, queue_name,
		{first->queue_count, second->queue_count}};

	if (first->queue_count + second->queue_count == 0)
		return;
	add_head(sides, THRUM__PLACE_QUEUES);
	for (uint32_t i = 0; i < first->queue_count; i++)
		add_queue(sides, 0, pair_of(sides, 0, i, &both),
			i + 1 == first->queue_count ? AFTER_QUEUES : 0);
	for (uint32_t i = 0; sides->count > 1 && i < second->queue_count; i++) {
		struct thrum__bands_pair pair = pair_of(sides, 1, i, &both);

		if (pair.index[0] == THRUM__NONE)
			add_queue(sides, 1, pair, AFTER_QUEUES);
	}
}

/* Returns the height of the places behind the bands that are in pairs, without these bands. */
static float rest_height(const struct thrum__bands_sides *sides,
	const struct thrum__bands_chosen *chosen)
{
	float heads = 0;
	uint32_t more = 0;

	for (unsigned i = 0; i < sides->count; i++)
		more += sides->bands[i]->all->family.more_count > 0;
	for (uint32_t i = chosen->both; i < chosen->count; i++)
		if (i == chosen->both ||
			thrum__bands_side_of(chosen->pairs[i]) !=
				thrum__bands_side_of(chosen->pairs[i - 1]))
			heads += THRUM__BANDS_HEAD;
	return heads + MORE * (float)more;
}

/* Adds a place for the groups without a band; opened, also one for each of them, but not for thousands.
 * If none has a band, that is always open, and only left out ones need the former. In pairs it stays
 * closed: both sides may have other ones. */
static void add_more(const struct thrum__bands_sides *sides,
	const struct thrum__bands_decade *measure)
{
	const struct thrum__scene_bands *bands = sides->bands[0];
	const struct thrum__family *family = &bands->all->family;
	struct thrum__bands_pair more = {{THRUM__NONE, THRUM__NONE}};
	bool is_all = sides->count == 1 && family->shown_count == 0;

	for (unsigned i = 0; i < sides->count; i++)
		more.index[i] = sides->bands[i]->all->family.more_count > 0 ? 0 : THRUM__NONE;
	if (more.index[0] == THRUM__NONE && more.index[1] == THRUM__NONE)
		return;
	if (!is_all || family->more_count > THRUM__BANDS_MORE_MOST)
		add_place(sides,
			(struct thrum__scene_bands_place){.kind = THRUM__PLACE_MORE,
				.height = MORE},
			more, 0);
	if (sides->count > 1 ||
		(!is_all && !thrum__scene_bands_opened(&bands->shown, THRUM__BANDS_MORE)))
		return;
	for (uint32_t i = 0; i < family->more_count && i < THRUM__BANDS_MORE_MOST; i++) {
		struct thrum__bands_pair pair = {{family->more[i], THRUM__NONE}};
		struct thrum__scene_bands_place place = thrum__bands_measure_group(sides, pair,
			measure);

		place.depth = sides->above > 0 || is_all ? 0 : 1;
		add_place(sides, place, pair, 0);
	}
}

static void add_bands(const struct thrum__bands_sides *sides, float height)
{
	const struct thrum__bands_decade *measure;
	struct thrum__bands_chosen chosen;

	thrum__bands_choose(sides, &chosen);
	add_head(sides, THRUM__PLACE_WORK);
	measure = thrum__bands_choose_measure(sides, &chosen,
		height - sides->bands[0]->content - rest_height(sides, &chosen));
	for (uint32_t i = 0; i < chosen.count; i++) {
		struct thrum__bands_pair pair = chosen.pairs[i],
					 head = {{THRUM__NONE, THRUM__NONE}};

		head.index[thrum__bands_side_of(pair)] = 0;
		if (i >= chosen.both &&
			(i == chosen.both ||
				thrum__bands_side_of(pair) !=
					thrum__bands_side_of(chosen.pairs[i - 1])))
			add_place(sides,
				(struct thrum__scene_bands_place){.kind = THRUM__PLACE_ONLY,
					.height = THRUM__BANDS_HEAD},
				head, 0);
		add_place(sides, thrum__bands_measure_group(sides, pair, measure), pair, 0);
	}
	add_more(sides, measure);
}

/* ---- Moving: only the painters see places on their way ---------------------------------------- */

/* Remembers the places, unless some are remembered: before others are made. */
static void keep_before(struct thrum__scene_bands *bands)
{
	struct thrum__scene_bands_place *before;

	if (bands->before_count > 0 || bands->place_count == 0)
		return;
	before = thrum__base_grow(bands->before, &bands->before_room, bands->place_count,
		sizeof *before);
	if (!before)
		return; /* then nothing moves */
	memcpy(before, bands->places, bands->place_count * sizeof *before);
	bands->before = before;
	bands->before_count = bands->place_count;
}

void thrum__scene_bands_forget_heights(struct thrum__scene *scene)
{
	if (scene->bands)
		scene->bands->before_count = 0;
	scene->heights_left = 0;
}

/* The kind of a place as if it were closed. */
static int sort_of(const struct thrum__scene_bands_place *place)
{
	return thrum__bands_is_group(place)                 ? THRUM__PLACE_BAND
		: place->kind == THRUM__PLACE_OPENED_THREAD ? THRUM__PLACE_THREAD
							    : place->kind;
}

/* Returns the number of the place before that is the same as one now, from `from` on; or before_count. */
static uint32_t find_before(const struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_place *place, uint32_t from)
{
	uint32_t i = from;

	while (i < bands->before_count &&
		(sort_of(&bands->before[i]) != sort_of(place) ||
			bands->before[i].index != place->index))
		i++;
	return i;
}

/* Sets the places' heights, of which a part `left` of the way is left. Places that went close up, and new
 * ones open. */
static void blend(struct thrum__scene_bands *bands, struct thrum__scene_bands_place *places,
	float left)
{
	uint32_t at = 0;
	float y = 0;

	for (uint32_t i = 0; i < bands->place_count; i++) {
		uint32_t found = find_before(bands, &places[i], at);
		float height = 0;

		if (found < bands->before_count) {
			for (; at < found; at++)
				y += left * bands->before[at].height;
			height = bands->before[at++].height;
		}
		height = left * height + (1 - left) * places[i].height;
		places[i].y = floorf(y + 0.5f);
		y += height;
		places[i].height = floorf(y + 0.5f) - places[i].y;
	}
	bands->content = floorf(y + 0.5f);
}

bool thrum__bands_begin_moving(const struct thrum__scene *scene)
{
	struct thrum__scene_bands *bands = scene->bands;
	struct thrum__scene_bands_place *moving;

	if (!(scene->heights_left > 0) || bands->before_count == 0 || scene->pair.other)
		return false;
	moving = thrum__base_grow(bands->moving, &bands->moving_room, bands->place_room,
		sizeof *moving);
	if (!moving)
		return false;
	memcpy(moving, bands->places, bands->place_count * sizeof *moving);
	bands->moving = bands->places;
	bands->places = moving;
	bands->settled = bands->content;
	blend(bands, moving, scene->heights_left);
	return true;
}

void thrum__bands_end_moving(struct thrum__scene_bands *bands)
{
	struct thrum__scene_bands_place *places = bands->moving;

	bands->moving = bands->places;
	bands->places = places;
	bands->content = bands->settled;
}

/* ---- Making them --------------------------------------------------------------------------- */

static bool has_same_stories(const struct thrum__scene_bands_state *a,
	const struct thrum__scene_bands_state *b)
{
	return a->story_count == b->story_count &&
		memcmp(a->stories, b->stories, a->story_count * sizeof *a->stories) == 0;
}

/* Whether the places of a scene are those for this size and its state. */
static bool are_right(const struct thrum__scene *scene, float width, float height)
{
	const struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__scene_bands_state *state = &scene->state.bands;

	return bands->width == width && bands->height == height && bands->place_count > 0 &&
		thrum__scene_bands_same_opened(&bands->shown, state) &&
		bands->shown.sort == state->sort && has_same_stories(&bands->shown, state);
}

/* Makes what the places of a scene need, and room for them. Returns 0 or -THRUM_E_MEMORY. */
static int begin_places(struct thrum__scene *scene, uint64_t most)
{
	struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__scene_bands_state *state = &scene->state.bands;
	struct thrum__scene_bands_counted *counted;
	struct thrum__scene_bands_place *places;

	if ((!bands->has_stories || !has_same_stories(&bands->shown, state)) &&
		thrum__scene_bands_make_stories(bands, state) < 0)
		return -THRUM_E_MEMORY;
	bands->shown = *state;
	keep_before(bands);
	places = thrum__base_grow(bands->places, &bands->place_room, most, sizeof *places);
	if (!places)
		return -THRUM_E_MEMORY;
	bands->places = places;
	counted = thrum__base_grow(bands->counted, &bands->counted_room, most, sizeof *counted);
	if (!counted)
		return -THRUM_E_MEMORY;
	bands->counted = counted;
	bands->has_numbers = false;
	bands->place_count = 0;
	bands->content = 0;
	return 0;
}

int thrum__scene_bands_set_places(struct thrum__scene *scene, float width, float height)
{
	struct thrum__scene *other = scene->pair.other;
	struct thrum__scene *scenes[2] = {scene, other};
	struct thrum__bands_sides sides = {.count = other ? 2 : 1,
		.above = width < THRUM__NARROW ? THRUM__BANDS_ABOVE : 0};
	uint64_t most = 8;
	bool are_all_right = true;
	int status = 0;

	if (other && scene->pair.is_lower) {
		scenes[0] = other;
		scenes[1] = scene;
	}
	for (unsigned i = 0; i < sides.count && status == 0; i++) {
		const struct thrum__bands *all;

		status = thrum__scene_bands_make(scenes[i]);
		if (status != 0)
			return status;
		sides.bands[i] = scenes[i]->bands;
		all = sides.bands[i]->all;
		most += THRUM__STORIES_MAX + (uint64_t)all->thread_count + all->queue_count +
			all->family.shown_count + THRUM__BANDS_MORE_MOST;
		are_all_right &= are_right(scenes[i], width, height);
	}
	if (are_all_right)
		return 0;
	for (unsigned i = 0; i < sides.count && status == 0; i++)
		status = begin_places(scenes[i], most);
	if (status != 0)
		return status;
	add_stories(&sides);
	add_threads(&sides);
	add_queues(&sides);
	add_bands(&sides, height);
	status = thrum__scene_bands_set_tones(scenes, sides.count, width);
	for (unsigned i = 0; i < sides.count && status == 0; i++) {
		sides.bands[i]->width = width;
		sides.bands[i]->height = height;
	}
	return status;
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

void thrum__scene_bands_reach(const struct thrum__scene *scene, double *all, double *at,
	double *page)
{
	const struct thrum__scene_bands *bands = scene->bands;

	*all = (double)bands->content;
	*at = (double)thrum__scene_bands_scroll(bands, scene->state.track);
	*page = (double)bands->height;
}

void thrum__scene_bands_scroll_to(struct thrum__scene *scene, double at)
{
	scene->state.track = thrum__scene_bands_track(scene->bands, (float)at);
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
