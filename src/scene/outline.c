/* SPDX-License-Identifier: ISC */
/* The picture as a list of sentences. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "scene/bands/opened.h"
#include "scene/move.h"
#include "scene/story/story.h"
#include "words/bands.h"

#define FINDINGS_MOST 20
#define OF_A_TRACK 5 /* units of a track that are told */
#define ROWS_MOST 16 /* rows of an opened band */
#define CARD_LINES 3 /* of a card that are told: not the call site */

struct outline {
	const struct thrum__scene *scene;
	struct thrum__scene_item *items;
	uint32_t count;
};

/* Adds an item without words, or returns NULL: there are enough. */
static struct thrum__scene_item *add(struct outline *o, uint8_t level, float y, float height)
{
	struct thrum__scene_item *item = &o->items[o->count];

	if (o->count == THRUM__OUTLINE_MAX)
		return NULL;
	o->count++;
	*item = (struct thrum__scene_item){THRUM__NONE, THRUM__NONE, THRUM__NONE, level, false,
		false, false, y, height, ""};
	return item;
}

/* Adds a task with the words of its card. */
static void add_task(struct outline *o, uint32_t task, uint8_t level, float y, float height)
{
	struct thrum__scene_item *item = add(o, level, y, height);
	char card[THRUM__OUTLINE_WORDS];
	size_t size = 0;
	unsigned lines = 1;

	if (!item)
		return;
	item->task = task;
	item->is_chosen = task == o->scene->selected;
	thrum__words_card(o->scene->model, task, card, sizeof card);
	for (const char *at = card; *at && size + 3 < sizeof item->words; at++) {
		if (*at == '\n' && lines++ == CARD_LINES)
			break;
		if (*at == '\n')
			item->words[size++] = ',';
		item->words[size++] = *at == '\n' ? ' ' : *at;
	}
	item->words[size] = 0;
}

static void add_findings(struct outline *o)
{
	const struct thrum__findings *findings = &o->scene->findings;

	for (uint32_t i = 0; i < findings->count && i < FINDINGS_MOST; i++) {
		struct thrum__scene_item *item = add(o, 1, 0, 0);
		int size;

		if (!item)
			return;
		item->finding = i;
		size = snprintf(item->words, sizeof item->words, "finding %u: ", (unsigned)i + 1);
		thrum__words_finding_title(o->scene->model, &findings->findings[i],
			item->words + size, sizeof item->words - (size_t)size);
	}
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static void add_track(struct outline *o, const struct thrum__scene_track_box *box)
{
	const struct thrum__scene *scene = o->scene;
	const int kind = THRUM__INDEX_UNITS;
	size_t end, at = thrum__index_seek(scene->index, kind, box->track, scene->state.from, &end);

	if (at > thrum__index_first(scene->index, kind, box->track))
		at--; /* it may reach into the window */
	for (unsigned told = 0; at < end && told < OF_A_TRACK; at++) {
		uint32_t unit = thrum__index_item(scene->index, kind, at);
		int64_t last = thrum__layout_lasts(scene->layout, unit)
			? scene->model->end
			: scene->layout->units[unit].end;

		if (thrum__index_time(scene->index, kind, at) > scene->state.to)
			return;
		if (last < scene->state.from)
			continue;
		add_task(o, scene->layout->units[unit].task, 1, box->y, box->height);
		told++;
	}
}

/* ---- Bands --------------------------------------------------------------------------------- */

static void add_story(struct outline *o, const struct thrum__scene_bands_place *place, float y)
{
	const struct thrum__scene_bands_story *story = &o->scene->bands->stories[place->index];
	struct thrum__scene_item *item = NULL;

	for (unsigned level = 0; level < story->story.level_count; level++) {
		item = add(o, (uint8_t)(level + 1), y, place->height);
		if (!item)
			return;
		thrum__scene_bands_level_words(o->scene->bands, story, level, item->words,
			sizeof item->words);
		item->task = level == 0 ? story->task : story->story.levels[level].task;
	}
}

/* Adds to the words of a row for whom its task waits. */
static void add_words(struct thrum__scene_item *item, uint32_t task,
	const struct thrum__scene_bands *bands)
{
	size_t size = strlen(item->words);

	thrum__bands_row_words(bands, task, item->words + size, sizeof item->words - size);
}

static void add_rows(struct outline *o, const struct thrum__scene_bands_place *place, float y)
{
	uint32_t tasks[ROWS_MOST];
	uint32_t count = thrum__bands_opened_tasks(o->scene, place, tasks, ROWS_MOST);

	for (uint32_t i = 0; i < count; i++) {
		float top = THRUM__OPENED_HEAD + THRUM__OPENED_ROW * (float)i;
		uint32_t before = o->count;

		if (top + THRUM__OPENED_ROW > place->height)
			return;
		add_task(o, tasks[i], (uint8_t)(place->depth + 2), y + top, THRUM__OPENED_ROW);
		if (o->count > before)
			add_words(&o->items[before], tasks[i], o->scene->bands);
	}
}

/* Adds the boxes of an opened thread that have names. */
static void add_boxes(struct outline *o, const struct thrum__scene_bands_place *place, float y)
{
	struct thrum__bands_run boxes[ROWS_MOST];
	uint32_t count = thrum__bands_named_boxes(o->scene, place, boxes, ROWS_MOST);

	for (uint32_t i = 0; i < count; i++) {
		struct thrum__scene_item *item = add(o, 2, y, place->height);
		char name[160], duration[40], time[48];

		if (!item)
			return;
		item->task = boxes[i].task;
		thrum__words_running(&o->scene->bands->all->family, boxes[i].task, name,
			sizeof name);
		thrum__words_duration(boxes[i].to - boxes[i].from, 3, duration, sizeof duration);
		thrum__words_time(boxes[i].from, (boxes[i].to - boxes[i].from) / 10, time,
			sizeof time);
		snprintf(item->words, sizeof item->words, "runs %s: %s, at %s", name, duration,
			time);
	}
}

/* Adds the selected task where its line is in a band that is closed. */
static void add_selected(struct outline *o, const struct thrum__scene_bands_place *place, float y)
{
	const struct thrum__scene *scene = o->scene;
	struct thrum__bands_line line;
	uint32_t group;

	if (thrum__bands_line_of(scene->bands->all, scene->selected, &line, &group) &&
		group == place->index)
		add_task(o, scene->selected, (uint8_t)(place->depth + 2), y, place->height);
}

static void add_place(struct outline *o, uint32_t index)
{
	const struct thrum__scene *scene = o->scene;
	const struct thrum__scene_bands_place *place = &scene->bands->places[index];
	float y = scene->tracks.top - THRUM__PAD + place->y + place->inset -
		thrum__scene_bands_scroll(scene->bands, scene->state.track);
	struct thrum__scene_item *item;
	char name[THRUM__NAME_MAX];

	if (place->kind == THRUM__PLACE_STORY)
		add_story(o, place, y);
	if (!thrum__scene_bands_name(scene->bands, place, name))
		return;
	item = add(o, (uint8_t)(place->depth + 1), y, place->height);
	if (!item)
		return;
	item->place = index;
	item->is_chosen = strcmp(name, scene->state.bands.focus) == 0;
	item->can_open = place->kind != THRUM__PLACE_SMALL;
	item->is_open = thrum__scene_bands_opened(&scene->state.bands, name) > 0;
	thrum__scene_bands_place_words(scene, place, name, item->words, sizeof item->words);
	if (place->kind == THRUM__PLACE_OPENED)
		add_rows(o, place, y);
	else if (place->kind == THRUM__PLACE_OPENED_THREAD)
		add_boxes(o, place, y);
	else if (place->kind == THRUM__PLACE_BAND || place->kind == THRUM__PLACE_SMALL)
		add_selected(o, place, y);
}

/* Labels may have any bytes. */
static void clean_words(struct thrum__scene_item *item)
{
	char clean[THRUM__OUTLINE_WORDS];
	size_t size = thrum__base_utf8_clean(item->words, strlen(item->words), clean,
		sizeof clean - 1);

	memcpy(item->words, clean, size);
	item->words[size] = 0;
}

uint32_t thrum__scene_outline(const struct thrum__scene *scene, struct thrum__scene_item *items)
{
	struct outline o = {scene, items, 0};

	add_findings(&o);
	if (scene->shows_bands && scene->bands && scene->bands->has_numbers)
		for (uint32_t i = 0; i < scene->bands->place_count; i++)
			add_place(&o, i);
	else if (!scene->shows_bands)
		for (uint32_t i = 0; i < scene->tracks.count; i++)
			add_track(&o, &scene->tracks.boxes[i]);
	for (uint32_t i = 0; i < o.count; i++)
		clean_words(&items[i]);
	return o.count;
}
