/* SPDX-License-Identifier: ISC */
/* The place with the focus as a sentence, for screen readers. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "scene/bands/bands.h"
#include "scene/move.h"
#include "words/bands.h"

static void put_duration(struct thrum__base_text *text, const char *before, int64_t ns, int digits)
{
	char words[32];

	thrum__words_duration(ns, digits, words, sizeof words);
	thrum__base_text_format(text, "%s%s", before, words);
}

/* Labels may have any bytes. */
static void put_clean(struct thrum__base_text *text, const char *before, const char *words)
{
	char clean[400];

	thrum__base_text_put(text, before);
	thrum__base_text_bytes(text, clean,
		thrum__base_utf8_clean(words, strlen(words), clean, sizeof clean));
}

static void tell_group(struct thrum__base_text *text, const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place)
{
	const struct thrum__scene_bands *bands = scene->bands;
	const struct thrum__bands_numbers *n = &bands->counted[place - bands->places].numbers;
	char words[120];

	thrum__base_text_format(text, ", level %u, %s: ", place->depth + 1U,
		place->kind == THRUM__PLACE_OPENED ? "open" : "closed");
	if (n->rate < 10)
		thrum__words_decimal(n->rate, 1, words, sizeof words);
	else
		thrum__words_number((uint64_t)(n->rate + 0.5), words);
	if (n->ended == 0)
		thrum__base_text_put(text, "none ended");
	else
		thrum__base_text_format(text, "%s a second", words);
	if (n->half > 0)
		put_duration(text, ", half within ", n->half, 2);
	if (n->slow > 0)
		put_duration(text, ", 1 in 100 over ", n->slow, 2);
	thrum__words_number(n->failed, words);
	thrum__base_text_format(text, ", %s failed",
		n->failed == 0          ? "none"
			: n->all_failed ? "all"
					: words);
	thrum__scene_bands_where_words(bands, place->index, words, sizeof words);
	if (words[0])
		put_clean(text, ", ", words);
}

static void tell_thread(struct thrum__base_text *text, const struct thrum__scene *scene,
	uint32_t thread)
{
	const struct thrum__bands *all = scene->bands->all;
	int64_t from = scene->state.from, to = scene->state.to;
	struct thrum__bands_run run;
	char words[200];

	thrum__words_percent(thrum__bands_thread_share(all, thread, from, to), words, sizeof words);
	thrum__base_text_format(text, ": runs %s", words);
	if (thrum__bands_longest_runs(all, thread, from, to, 1, &run, 1) == 0)
		return;
	put_duration(text, "; longest ", run.to - run.from, 3);
	thrum__words_run_name(&all->family, run.task, run.run, words, sizeof words);
	put_clean(text, ", ", words);
	thrum__words_time(run.from, (to - from) / 1000 + 1, words, sizeof words);
	thrum__base_text_format(text, ", at %s", words);
}

static void tell_queue(struct thrum__base_text *text, const struct thrum__scene *scene,
	uint32_t index)
{
	const struct thrum__bands_queue *queue = &scene->bands->all->queues[index];
	struct thrum__bands_queue_numbers n;
	char words[40];

	thrum__bands_queue_numbers(scene->bands->all, index, scene->state.from, scene->state.to,
		&n);
	if (queue->instances > 1)
		thrum__base_text_format(text, ", %u of them", (unsigned)queue->instances);
	thrum__words_percent(n.held, words, sizeof words);
	if (queue->holds > 0)
		thrum__base_text_format(text, ": held %s, ", words);
	else
		thrum__base_text_put(text, ": ");
	thrum__words_decimal(n.waiting, n.waiting > 0 && n.waiting < 1, words, sizeof words);
	thrum__base_text_format(text, "%s wait", words);
}

size_t thrum__scene_bands_place_words(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, const char *name, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);

	if (place->kind == THRUM__PLACE_MORE) {
		unsigned count = scene->bands->all->family.more_count;

		thrum__base_text_format(&text, "%u more group%s", count, count == 1 ? "" : "s");
		return text.size;
	}
	put_clean(&text, "", name);
	if (place->kind == THRUM__PLACE_QUEUE)
		tell_queue(&text, scene, place->index);
	else if (place->kind == THRUM__PLACE_THREAD || place->kind == THRUM__PLACE_OPENED_THREAD)
		tell_thread(&text, scene, place->index);
	else
		tell_group(&text, scene, place);
	return text.size;
}

size_t thrum__scene_focus_words(const struct thrum__scene *scene, char *to, size_t size)
{
	const struct thrum__scene_bands *bands = scene->bands;
	char name[THRUM__NAME_MAX];

	if (size > 0)
		to[0] = 0;
	if (!scene->shows_bands || !bands || !bands->has_numbers || !scene->state.bands.focus[0])
		return 0;
	for (uint32_t i = 0; i < bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &bands->places[i];

		if (thrum__scene_bands_name(bands, place, name) &&
			strcmp(name, scene->state.bands.focus) == 0)
			return thrum__scene_bands_place_words(scene, place, name, to, size);
	}
	return 0;
}

size_t thrum__scene_name_words(const struct thrum__scene *scene, float x, float y, char *to,
	size_t size)
{
	const struct thrum__scene_bands *bands = scene->bands;
	double at = thrum__scene_track_at(scene, y);
	char name[THRUM__NAME_MAX];

	if (size > 0)
		to[0] = 0;
	if (!scene->shows_bands || !bands || !bands->has_numbers || x >= (float)scene->time.x0 ||
		y < scene->tracks.top - THRUM__PAD || at < 0 || at >= bands->place_count ||
		!thrum__scene_bands_name(bands, &bands->places[(uint32_t)at], name))
		return 0;
	return thrum__scene_bands_place_words(scene, &bands->places[(uint32_t)at], name, to, size);
}

size_t thrum__scene_line_words(const struct thrum__scene *scene, uint32_t task, char *to,
	size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	const struct thrum__bands *all = thrum__scene_bands_of(scene);
	struct thrum__bands_line line;
	uint32_t group, reason;
	const char *words;
	size_t length;
	char clean[120];

	if (size > 0)
		to[0] = 0;
	if (!all || !thrum__bands_line_of(all, task, &line, &group))
		return 0;
	put_duration(&text, ", ", line.end - line.start, 3);
	if (line.is_pending)
		thrum__base_text_put(&text, ", pending");
	if (!line.is_failed)
		return text.size;
	reason = THRUM__TASK(scene->model, thrum__model_heir(scene->model, line.task), failure);
	words = thrum__model_string(scene->model, reason, &length);
	thrum__base_text_put(&text, length > 0 ? ", failed: " : ", failed");
	thrum__base_text_bytes(&text, clean,
		thrum__base_utf8_clean(words, length, clean, sizeof clean));
	return text.size;
}
