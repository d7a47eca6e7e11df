/* SPDX-License-Identifier: ISC */
/* The conditions in a search: what they say, and whether a task meets them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/stats/stats.h"
#include "base/text.h"
#include "words/match.h"
#include "words/words.h"

#define STUCK THRUM__WORDS_STUCK

static const char *const searches[] = {
#define THRUM__X(NAME, word) [THRUM__STATE_##NAME] = "state:" word,
	THRUM__STATES(THRUM__X)
#undef THRUM__X
		[STUCK] = "state:stuck",
};

const char *thrum__words_state_search(int state)
{
	return state >= 0 && state <= STUCK ? searches[state] : "";
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Returns the text behind the condition that begins at `text`: at a blank that is in no quotes. */
static const char *end_of(const char *text)
{
	bool is_quoted = false;

	for (; *text && (is_quoted || *text != ' '); text++)
		is_quoted ^= *text == '"';
	return text;
}

/* Copies a value without its quotes to `to`. Returns the place behind its '\0'. */
static char *copy_value(char *to, const char *value, const char *end)
{
	for (; value < end; value++)
		if (*value != '"')
			*to++ = *value;
	*to++ = '\0';
	return to;
}

/* "failed,stuck" */
static bool read_states(struct thrum__words_conditions *conditions, const char *value)
{
	unsigned states = 0;

	do {
		size_t size = strcspn(value, ",");
		int state = 0;

		while (state <= STUCK &&
			(strlen(searches[state] + strlen("state:")) != size ||
				memcmp(searches[state] + strlen("state:"), value, size) != 0))
			state++;
		if (state > STUCK)
			return false;
		states |= 1u << state;
		value += size;
	} while (*value++ == ',');
	conditions->states |= states;
	return true;
}

/* "life>50ms" */
static bool read_life(struct thrum__words_conditions *conditions, char sign, const char *value)
{
	double number, ns;
	int64_t unit;
	const char *end = thrum__words_read_amount(value, &number, &unit);

	ns = floor(number * (unit > 0 ? (double)unit : 1e6) + 0.5);
	if (!end || *end || !(ns < (double)INT64_MAX))
		return false;
	if (sign == '>')
		conditions->longer = (int64_t)ns;
	else
		conditions->shorter = (int64_t)ns;
	return true;
}

/* Reads the condition from `text` to `end`, whose value goes to *to. Returns false if it is none. */
static bool read_condition(struct thrum__words_conditions *conditions, const char *text,
	const char *end, char **to)
{
	size_t size = strcspn(text, ":<>\" ");
	char *value = *to, sign = text[size];
	bool is_life = size == 4 && memcmp(text, "life", 4) == 0;

	if (text + size + 1 >= end || !(is_life ? sign == '<' || sign == '>' : sign == ':'))
		return false;
	*to = copy_value(value, text + size + 1, end);
	if (is_life)
		return read_life(conditions, sign, value);
	if (size == 5 && memcmp(text, "state", 5) == 0)
		return read_states(conditions, value);
	if (size == 5 && memcmp(text, "label", 5) == 0)
		conditions->label = value;
	else if (size == 4 && memcmp(text, "kind", 4) == 0)
		conditions->kind = value;
	else if (size == 4 && memcmp(text, "site", 4) == 0)
		conditions->site = value;
	else
		return false;
	return true;
}

void thrum__words_conditions_take(struct thrum__words_conditions *conditions, char *text,
	char *values)
{
	char *rest = text;
	const char *at = text;

	*conditions = (struct thrum__words_conditions){.longer = INT64_MIN, .shorter = INT64_MAX};
	while (*at) {
		const char *end = end_of(at);

		if (*at != ' ' && read_condition(conditions, at, end, &values)) {
			conditions->are_any = true;
			at = end + strspn(end, " ");
			continue;
		}
		end += strspn(end, " ");
		memmove(rest, at, (size_t)(end - at));
		rest += end - at;
		at = end;
	}
	while (conditions->are_any && rest > text && rest[-1] == ' ')
		rest--;
	*rest = '\0';
}

/* ---- Faults -------------------------------------------------------------------------------- */

/* Writes what is wrong with a word that is no condition; nothing if it doesn't look like one. */
static void put_fault(struct thrum__base_text *to, const char *word)
{
	size_t name = strspn(word, "abcdefghijklmnopqrstuvwxyz");
	const char *value = word + name + 1;

	if (name == 0 || !word[name] || !strchr(":<>", word[name]) || !*value || *value == '/')
		return;
	if (strncmp(word, "state:", name + 1) == 0) {
		thrum__base_text_format(to, "no state “%s”; there are ", value);
		for (int state = 0; state <= STUCK; state++)
			thrum__base_text_format(to, "%s%s",
				state == 0              ? ""
					: state < STUCK ? ", "
							: " and ",
				searches[state] + strlen("state:"));
	} else if (strncmp(word, "life", name) == 0 && name == strlen("life")) {
		thrum__base_text_format(to, "“%s” is no condition; life>50ms and life<1.5s are",
			word);
	} else {
		thrum__base_text_format(to,
			"no condition “%.*s”; there are life>, life<, state:, label:, kind: and "
			"site:",
			(int)name + 1, word);
	}
}

size_t thrum__words_search_fault(const char *search, char *to, size_t size)
{
	struct thrum__base_text words = thrum__base_text_in(to, size);
	struct thrum__words_conditions unused = {0};
	char word[100], values[sizeof word];

	if (size > 0)
		*to = '\0';
	for (const char *end; *search && words.size == 0; search = end + strspn(end, " ")) {
		size_t length;
		char *room = values;

		end = end_of(search);
		length = (size_t)(end - search);
		if (length >= sizeof word)
			continue;
		for (size_t i = 0; i < length; i++)
			word[i] = thrum__words_lower(search[i]);
		word[length] = '\0';
		if (!read_condition(&unused, word, word + length, &room))
			put_fault(&words, word);
	}
	return words.size;
}

/* ---- Testing ------------------------------------------------------------------------------- */

/* Whether a text fits a pattern, in which * stands for any text. Without a * the text has to contain
 * the pattern, or with a = before it, to be equal. */
static bool fits(const char *pattern, const char *text, size_t size)
{
	bool is_equal = *pattern == '=';
	const char *star = strchr(pattern += is_equal, '*');
	size_t head, tail;

	if (!star)
		return (!is_equal || size == strlen(pattern)) &&
			thrum__words_text_contains(text, size, pattern, strlen(pattern));
	head = (size_t)(star - pattern);
	if (size < head || !thrum__words_text_contains(text, head, pattern, head))
		return false;
	text += head;
	size -= head;
	/* Each part between two stars is taken at its first place. */
	for (pattern = star + 1; (star = strchr(pattern, '*')); pattern = star + 1) {
		size_t part = (size_t)(star - pattern);

		while (size >= part && !thrum__words_text_contains(text, part, pattern, part))
			text++, size--;
		if (size < part)
			return false;
		text += part;
		size -= part;
	}
	tail = strlen(pattern);
	return size >= tail && thrum__words_text_contains(text + size - tail, tail, pattern, tail);
}

static bool has_state(const struct thrum__words_conditions *conditions,
	const struct thrum__model *model, uint32_t task)
{
	uint8_t state = THRUM__TASK(model, task, state);

	if (state == THRUM__STATE_PENDING && thrum__stats_task_is_stuck(model, task))
		return conditions->states & 1u << STUCK;
	/* A lane's own task is there for when the lane has nothing to do. */
	return conditions->states & 1u << state &&
		!(THRUM__TASK(model, task, flags) & THRUM__TASK_LANE);
}

static bool has_site(const char *pattern, const struct thrum__model *model, uint32_t task)
{
	const struct thrum_trace_site *site = thrum__model_site(model, task);
	char words[200];

	if (!site)
		return false;
	thrum__words_site(site, words, sizeof words);
	return fits(pattern, words, strlen(words));
}

bool thrum__words_conditions_meet(const struct thrum__words_conditions *conditions,
	const struct thrum__model *model, uint32_t task)
{
	int64_t start = THRUM__TASK(model, task, start), end = THRUM__TASK(model, task, end), life;
	const char *kind;
	char name[200];

	if (!conditions->are_any)
		return true;
	life = (end == THRUM__OPEN ? model->end : end) - start;
	if (life <= conditions->longer || life >= conditions->shorter)
		return false;
	if (conditions->states && !has_state(conditions, model, task))
		return false;
	kind = thrum__words_kind(model, task);
	if (conditions->kind && !fits(conditions->kind, kind, strlen(kind)))
		return false;
	if (conditions->label) {
		thrum__words_task(model, task, name, sizeof name);
		if (!fits(conditions->label, name, strlen(name)))
			return false;
	}
	return !conditions->site || has_site(conditions->site, model, task);
}
