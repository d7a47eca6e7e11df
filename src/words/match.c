/* SPDX-License-Identifier: ISC */
#include "words/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "words/words.h"

/* Whether an id may contain it: ids may be negative. */
static bool is_id_character(char c)
{
	return c == '-' || (c >= '0' && c <= '9');
}

bool thrum__words_text_contains(const char *text, size_t size, const char *wanted,
	size_t wanted_size)
{
	char first = thrum__words_lower(*wanted);

	if (wanted_size == 0)
		return true;
	for (size_t i = 0; i + wanted_size <= size; i++) {
		size_t same = 1;

		if (thrum__words_lower(text[i]) != first)
			continue;
		while (same < wanted_size &&
			thrum__words_lower(text[i + same]) == thrum__words_lower(wanted[same]))
			same++;
		if (same == wanted_size)
			return true;
	}
	return false;
}

/* Splits the wanted text into a tag's name and value. Values contain no space, so the last space
 * or "=" is where the value begins. Leaves `value` NULL if no integer can contain it. */
static void find_value(struct thrum__words_match *match)
{
	char *value = match->wanted + match->size;

	while (value > match->wanted && value[-1] != ' ' && value[-1] != '=')
		value--;
	match->name_size = (size_t)(value - match->wanted);
	for (const char *at = value; *at; at++)
		if (!is_id_character(*at))
			return;
	match->value = value;
}

int thrum__words_match_init(struct thrum__words_match *match, const char *wanted)
{
	size_t size = strlen(wanted) + 1;

	*match = (struct thrum__words_match){0};
	match->wanted = malloc(2 * size); /* the text, and the values of conditions */
	if (!match->wanted)
		return -THRUM_E_MEMORY;
	for (size_t i = 0; i < size; i++)
		match->wanted[i] = thrum__words_lower(wanted[i]);
	thrum__words_conditions_take(&match->conditions, match->wanted, match->wanted + size);
	match->size = strlen(match->wanted);
	match->ends_in_number = match->size > 0 && is_id_character(match->wanted[match->size - 1]);
	find_value(match);
	return 0;
}

void thrum__words_match_finish(struct thrum__words_match *match)
{
	free(match->wanted);
	free(match->strings);
}

bool thrum__words_match_text(const struct thrum__words_match *match, const char *text, size_t size)
{
	return thrum__words_text_contains(text, size, match->wanted, match->size);
}

/* The bits that are kept of a string. */
enum {
	IS_KNOWN = 1,
	IS_FOUND = 2, /* contains the wanted text */
	IS_EMPTY = 4,
	IS_NAME = 8, /* can be the tag's name in the wanted text */
};

/* Returns these bits for a text. */
static int compare_text(const struct thrum__words_match *match, const char *text, size_t size)
{
	size_t name_size = match->name_size;
	bool is_name = match->value && name_size > 0 && size + 1 >= name_size &&
		thrum__words_text_contains(text + size + 1 - name_size, name_size - 1,
			match->wanted, name_size - 1);

	return IS_KNOWN | (thrum__words_match_text(match, text, size) ? IS_FOUND : 0) |
		(size == 0 ? IS_EMPTY : 0) | (is_name ? IS_NAME : 0);
}

/* Returns the bits of a string, and keeps them if there is memory. */
static int bits_of(struct thrum__words_match *match, const struct thrum__model *model,
	uint32_t string)
{
	const char *text;
	uint8_t *grown;
	size_t size;
	int bits;

	if (string < match->string_room && match->strings[string])
		return match->strings[string];
	text = thrum__model_string(model, string, &size);
	bits = compare_text(match, text, size);
	if (string == THRUM__NONE)
		return bits;
	if (string >= match->string_room) {
		uint32_t room = match->string_room;

		grown = thrum__base_grow(match->strings, &room, (uint64_t)string + 1, 1);
		if (!grown)
			return bits;
		memset(grown + match->string_room, 0, room - match->string_room);
		match->strings = grown;
		match->string_room = room;
	}
	match->strings[string] = (uint8_t)bits;
	return bits;
}

bool thrum__words_match_string(struct thrum__words_match *match, const struct thrum__model *model,
	uint32_t string)
{
	return bits_of(match, model, string) & IS_FOUND;
}

/* ---- The cache of answers ------------------------------------------------------------------ */

static uint32_t cell_of(uint32_t key)
{
	return key * 0x9e3779b1u >> 16 & (THRUM__MATCH_CELLS - 1);
}

bool thrum__words_match_is_known(const struct thrum__words_match *match, uint32_t key, bool *answer)
{
	uint32_t cell = match->cells[cell_of(key)];

	*answer = cell & 1;
	return cell >> 1 == key + 1;
}

void thrum__words_match_remember(struct thrum__words_match *match, uint32_t key, bool answer)
{
	match->cells[cell_of(key)] = (key + 1) << 1 | answer;
}

/* ---- Notes --------------------------------------------------------------------------------- */

#define DIGITS 20 /* of an int64_t, with its sign */

/* Prints the value without snprintf, as a search does this for each of a million notes. */
static bool match_value(const struct thrum__words_match *match, int64_t value)
{
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	size_t wanted_size = match->size - match->name_size, size;
	char digits[DIGITS], *at = digits + DIGITS;

	do
		*--at = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (value < 0)
		*--at = '-';
	size = (size_t)(digits + DIGITS - at);
	if (match->name_size == 0)
		return thrum__words_text_contains(at, size, match->value, wanted_size);
	return size >= wanted_size && memcmp(at, match->value, wanted_size) == 0;
}

bool thrum__words_match_note(struct thrum__words_match *match, const struct thrum__model *model,
	uint32_t note)
{
	uint32_t text = THRUM__NOTE(model, note, text), task = THRUM__NOTE(model, note, task);
	int bits;

	if (match->conditions.are_any &&
		(match->size == 0 || !thrum__model_has_row(&model->tasks, task) ||
			!thrum__words_conditions_meet(&match->conditions, model, task)))
		return false;
	bits = bits_of(match, model, text);
	if (bits & IS_FOUND || !match->value)
		return bits & IS_FOUND;
	return (bits & IS_NAME || match->name_size == 0) &&
		THRUM__NOTE(model, note, kind) == THRUM__NOTE_TAG_VALUE &&
		match_value(match, THRUM__NOTE(model, note, value));
}

/* ---- Tasks --------------------------------------------------------------------------------- */

#define UNNAMED_KEY (1u << 28) /* sets the keys of match_kind apart from those of match_origin */

/* A cache key: the same for all tasks of one kind and call site. */
static uint32_t kind_key(const struct thrum__model *model, uint32_t task)
{
	return (uint32_t)THRUM__TASK(model, task, site) << 9 |
		(uint32_t)THRUM__TASK(model, task, kind) << 1 |
		((THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING) != 0);
}

/* Searches the words of a task without a name: its kind with its call site or its id. The answer
 * is the same for all tasks of one kind and site, unless the words end in an id and the wanted text
 * in a number. */
static bool match_kind(struct thrum__words_match *match, const struct thrum__model *model,
	uint32_t task)
{
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	uint32_t key = UNNAMED_KEY | kind_key(model, task);
	bool is_alike = (!match->ends_in_number || (site && *site->function)) &&
		!thrum__words_is_main_context(model, task);
	char words[200];
	size_t size;
	bool answer;

	if (is_alike && thrum__words_match_is_known(match, key, &answer))
		return answer;
	size = thrum__words_kind_and_site(model, task, words, sizeof words);
	answer = thrum__words_match_text(match, words,
		size < sizeof words ? size : sizeof words - 1);
	if (is_alike)
		thrum__words_match_remember(match, key, answer);
	return answer;
}

/* Searches the task's kind, and its call site as a table writes it. */
static bool match_origin(struct thrum__words_match *match, const struct thrum__model *model,
	uint32_t task)
{
	const struct thrum_trace_site *site;
	uint32_t key = kind_key(model, task);
	const char *kind;
	char words[200];
	int size;
	bool answer;

	if (thrum__words_match_is_known(match, key, &answer))
		return answer;
	kind = thrum__words_kind(model, task);
	site = thrum__model_site(model, task);
	size = !site ? 0 : (int)thrum__words_site(site, words, sizeof words);
	/* The kind has to begin with the wanted text: "read" must not find threads. */
	answer = (match->size <= strlen(kind) && memcmp(kind, match->wanted, match->size) == 0) ||
		(size > 0 && thrum__words_match_text(match, words, strlen(words)));
	thrum__words_match_remember(match, key, answer);
	return answer;
}

bool thrum__words_match_task(struct thrum__words_match *match, const struct thrum__model *model,
	uint32_t task)
{
	uint32_t failure = THRUM__TASK(model, task, failure);
	int bits;

	if (!thrum__words_conditions_meet(&match->conditions, model, task))
		return false;
	bits = bits_of(match, model, thrum__model_label(model, task));
	return bits & IS_FOUND || (bits & IS_EMPTY && match_kind(match, model, task)) ||
		match_origin(match, model, task) ||
		(failure != THRUM__NONE && thrum__words_match_string(match, model, failure));
}
