/* SPDX-License-Identifier: ISC */
/* Writes and reads the part of a scene's state that is about bands. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands_state.h"
#include "scene/state.h"

static const char *const sorts[] = {"", "rate", "median", "p99", "failed"};

#define SORTS (sizeof sorts / sizeof *sorts)
#define LIST_MAX (THRUM__OPENED_MAX * THRUM__NAME_MAX * 3)

/* ---- Writing ------------------------------------------------------------------------------- */

/* Adds a name of a list: commas and percent signs of the name itself are escaped twice. */
static void put_name(struct thrum__base_text *line, const char *name)
{
	char escaped[3 * THRUM__NAME_MAX];
	struct thrum__base_text inner = thrum__base_text_in(escaped, sizeof escaped);

	for (; *name; name++) {
		if (*name == ',' || *name == '%')
			thrum__base_text_format(&inner, "%%%02X", (unsigned)*name);
		else
			thrum__base_text_byte(&inner, *name);
	}
	thrum__scene_address_escape(line, escaped);
}

static void put_span(struct thrum__base_text *line, const char *prefix, const char *key,
	int64_t from, int64_t to)
{
	char text[48];

	if (from == to)
		return;
	snprintf(text, sizeof text, "%" PRId64 "..%" PRId64, from, to);
	thrum__scene_address_text(line, prefix, key, text);
}

bool thrum__scene_bands_same_opened(const struct thrum__scene_bands_state *a,
	const struct thrum__scene_bands_state *b)
{
	bool same = a->opened_count == b->opened_count;

	for (unsigned i = 0; same && i < a->opened_count; i++)
		same = strcmp(a->opened[i], b->opened[i]) == 0;
	return same;
}

void thrum__scene_bands_address_put(struct thrum__base_text *line, const char *prefix,
	const struct thrum__scene_bands_state *state, const struct thrum__scene_bands_state *plain)
{
	for (unsigned i = 0;
		!thrum__scene_bands_same_opened(state, plain) && i < state->opened_count; i++) {
		if (i == 0)
			thrum__scene_address_key(line, prefix, "open");
		else
			thrum__base_text_byte(line, ',');
		put_name(line, state->opened[i]);
	}
	for (unsigned i = 0; i < state->story_count; i++) {
		if (i == 0)
			thrum__scene_address_key(line, prefix, "story");
		else
			thrum__base_text_byte(line, ',');
		thrum__base_text_number(line, (int64_t)state->stories[i]);
	}
	if (state->range_from != plain->range_from || state->range_to != plain->range_to)
		put_span(line, prefix, "range", state->range_from, state->range_to);
	put_span(line, prefix, "took", state->took_from, state->took_to);
	if (strcmp(state->focus, plain->focus) != 0)
		thrum__scene_address_text(line, prefix, "band", state->focus);
	if (state->sort != plain->sort)
		thrum__scene_address_text(line, prefix, "sort", sorts[state->sort]);
	for (unsigned i = 0; i < state->bookmark_count; i++) {
		char text[THRUM__BOOKMARK_ROOM + 24];

		snprintf(text, sizeof text, "%" PRId64 ":%s", state->bookmarks[i].time,
			state->bookmarks[i].words);
		thrum__scene_address_text(line, prefix, "mark", text);
	}
}

size_t thrum__scene_bands_state_print(const struct thrum__scene_bands_state *state, char *to,
	size_t size)
{
	static const struct thrum__scene_bands_state plain;
	struct thrum__base_text line = thrum__base_text_in(to, size);

	if (size > 0)
		to[0] = 0;
	thrum__scene_bands_address_put(&line, "", state, &plain);
	return line.size;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Gives the next part of a list up to a comma; returns where the rest begins, NULL at the end. */
static const char *next_part(const char *list, char *part, size_t size)
{
	size_t length = strcspn(list, ",");

	if (length >= size)
		length = size - 1;
	memcpy(part, list, length);
	part[length] = 0;
	list += strcspn(list, ",");
	return *list ? list + 1 : NULL;
}

static const char *take_opened(struct thrum__scene_bands_state *state, const char *value)
{
	char list[LIST_MAX], part[3 * THRUM__NAME_MAX];
	const char *rest = list;

	if (!thrum__scene_address_unescape(value, list, sizeof list))
		return "open is a list of names of at most 63 bytes";
	state->opened_count = 0;
	while (rest) {
		if (state->opened_count == THRUM__OPENED_MAX)
			return "at most 16 are open";
		rest = next_part(rest, part, sizeof part);
		if (!thrum__scene_address_unescape(part, state->opened[state->opened_count++],
			    sizeof state->opened[0]))
			return "open is a list of names of at most 63 bytes";
	}
	return NULL;
}

static const char *take_stories(struct thrum__scene_bands_state *state, const char *value)
{
	char list[128], part[32];
	const char *rest = list;
	int64_t number;

	if (!thrum__scene_address_unescape(value, list, sizeof list))
		return "story is a list of ids of tasks";
	state->story_count = 0;
	while (rest) {
		if (state->story_count == THRUM__STORIES_MAX)
			return "there are at most 3 stories";
		rest = next_part(rest, part, sizeof part);
		if (!thrum__scene_address_integer(part, &number))
			return "story is a list of ids of tasks";
		state->stories[state->story_count++] = (uint64_t)number;
	}
	return NULL;
}

static const char *take_sort(struct thrum__scene_bands_state *state, const char *value)
{
	for (size_t i = 1; i < SORTS; i++) {
		if (strcmp(value, sorts[i]) == 0) {
			state->sort = (uint8_t)i;
			return NULL;
		}
	}
	return "sort is rate, median, p99 or failed";
}

static const char *take_bookmark(struct thrum__scene_bands_state *state, const char *value)
{
	struct thrum__scene_bookmark *mark = &state->bookmarks[state->bookmark_count];
	char text[THRUM__BOOKMARK_ROOM + 24], *colon;

	if (state->bookmark_count == THRUM__BOOKMARKS_MAX)
		return "there are at most 16 marks";
	if (!thrum__scene_address_unescape(value, text, sizeof text) ||
		!(colon = strchr(text, ':')) || strlen(colon) > sizeof mark->words)
		return "mark is TIME:TEXT, with at most 47 bytes of text";
	*colon = 0;
	if (!thrum__scene_address_integer(text, &mark->time) || mark->time < -THRUM__TIME_MAX ||
		mark->time > THRUM__TIME_MAX)
		return "mark is TIME:TEXT, with the time in ns";
	strcpy(mark->words, colon + 1);
	state->bookmark_count++;
	return NULL;
}

const char *thrum__scene_bands_address_take(struct thrum__scene_bands_state *state, const char *key,
	const char *value)
{
	if (strcmp(key, "open") == 0)
		return take_opened(state, value);
	if (strcmp(key, "story") == 0)
		return take_stories(state, value);
	if (strcmp(key, "range") == 0)
		return thrum__scene_address_span(value, &state->range_from, &state->range_to)
			? NULL
			: "range is FROM..TO in ns";
	if (strcmp(key, "took") == 0)
		return thrum__scene_address_span(value, &state->took_from, &state->took_to)
			? NULL
			: "took is FROM..TO in ns";
	if (strcmp(key, "band") == 0)
		return thrum__scene_address_unescape(value, state->focus, sizeof state->focus)
			? NULL
			: "band is a name of at most 63 bytes";
	if (strcmp(key, "sort") == 0)
		return take_sort(state, value);
	if (strcmp(key, "mark") == 0)
		return take_bookmark(state, value);
	return "there is no such key";
}
