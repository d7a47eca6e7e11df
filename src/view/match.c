/* SPDX-License-Identifier: ISC */
#include "view/match.h"

#include <stdlib.h>
#include <string.h>

#include "view/names.h"
#include "view/pieces.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Of ids, which may be negative. */
static bool is_digit(char c)
{
	return c == '-' || (c >= '0' && c <= '9');
}

bool thrum__text_contains(const char *text, size_t size, const char *wanted, size_t wanted_size)
{
	char first = lower(*wanted);

	if (wanted_size == 0)
		return true;
	for (size_t i = 0; i + wanted_size <= size; i++) {
		size_t same = 1;

		if (lower(text[i]) != first)
			continue;
		while (same < wanted_size && lower(text[i + same]) == lower(wanted[same]))
			same++;
		if (same == wanted_size)
			return true;
	}
	return false;
}

int thrum__match_init(struct thrum__match *match, const char *wanted)
{
	*match = (struct thrum__match){.size = strlen(wanted)};
	match->wanted = malloc(match->size + 1);
	if (!match->wanted)
		return -THRUM_E_MEMORY;
	for (size_t i = 0; i <= match->size; i++)
		match->wanted[i] = lower(wanted[i]);
	match->ends_in_number = match->size > 0 && is_digit(wanted[match->size - 1]);
	return 0;
}

void thrum__match_finish(struct thrum__match *match)
{
	free(match->wanted);
	free(match->strings);
}

bool thrum__match_text(const struct thrum__match *match, const char *text, size_t size)
{
	return thrum__text_contains(text, size, match->wanted, match->size);
}

bool thrum__match_string(struct thrum__match *match, const struct thrum__model *model,
	uint32_t string)
{
	size_t size;
	const char *text;
	uint8_t *grown;
	bool answer;

	if (string < match->string_room && match->strings[string] > 0)
		return match->strings[string] == 2;
	text = thrum__model_string(model, string, &size);
	answer = thrum__match_text(match, text, size);
	if (string == THRUM__NONE)
		return answer;
	if (string >= match->string_room) {
		uint32_t room = match->string_room;

		grown = thrum__grown(match->strings, &room, (uint64_t)string + 1, 1);
		if (!grown)
			return answer; /* and won't be known */
		memset(grown + match->string_room, 0, room - match->string_room);
		match->strings = grown;
		match->string_room = room;
	}
	match->strings[string] = answer ? 2 : 1;
	return answer;
}

/* ---- What was found out -------------------------------------------------------------------- */

static uint32_t cell_of(uint32_t key)
{
	return key * 0x9e3779b1u >> 16 & (THRUM__MATCH_CELLS - 1);
}

bool thrum__match_is_known(const struct thrum__match *match, uint32_t key, bool *answer)
{
	uint32_t cell = match->cells[cell_of(key)];

	*answer = cell & 1;
	return cell >> 1 == key + 1;
}

void thrum__match_remember(struct thrum__match *match, uint32_t key, bool answer)
{
	match->cells[cell_of(key)] = (key + 1) << 1 | answer;
}

/* ---- Tasks --------------------------------------------------------------------------------- */

/* Words of a task without a name are its kind with its call site or its id. What doesn't end in a
 * number is found in them whatever the id, or never. */
static bool match_kind(struct thrum__match *match, const struct thrum__model *model, uint32_t task)
{
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	uint32_t key = (uint32_t)THRUM__TASK(model, task, site) << 9 |
		(uint32_t)THRUM__TASK(model, task, kind) << 1 |
		((THRUM__TASK(model, task, flags) & THRUM__TASK_PREEXISTING) != 0);
	bool is_alike = (!match->ends_in_number || (site && *site->function)) &&
		!thrum__is_main_context(model, task);
	char words[200];
	size_t size;
	bool answer;

	if (is_alike && thrum__match_is_known(match, key, &answer))
		return answer;
	size = thrum__kind_words(model, task, words, sizeof words);
	answer = thrum__match_text(match, words, size < sizeof words ? size : sizeof words - 1);
	if (is_alike)
		thrum__match_remember(match, key, answer);
	return answer;
}

bool thrum__match_task(struct thrum__match *match, const struct thrum__model *model, uint32_t task)
{
	uint32_t name = THRUM__TASK(model, task, name);

	if (name == THRUM__NONE)
		name = THRUM__TASK(model, task, inherited);
	return *thrum__model_string(model, name, NULL) ? thrum__match_string(match, model, name)
						       : match_kind(match, model, task);
}
