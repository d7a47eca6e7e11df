/* SPDX-License-Identifier: ISC */
/*
 * The search of words/: tells whether texts, notes and tasks contain a text that a user typed.
 * Upper and lower case are the same for ASCII letters; other bytes must be equal. Many of a million
 * tasks have the same texts, so a struct thrum__words_match remembers the answer for each string of
 * one model: use it with that model only, and from one thread at a time.
 *
 * Words of these forms are conditions, which a task has to meet besides:
 *
 *	life>50ms  life<1.5s     how long it lived until now; without a unit, ms
 *	label:GET*               its name in words; * stands for any text, and without one the name
 *	                         has to contain the value, or to be equal with a = before it
 *	kind:timer  site:io.c    the same for its kind and its call site
 *	state:failed,cancelled   one of pending, resolved, failed, cancelled, became, and stuck: a
 *	                         pending task that should resolve
 *
 * Quotes keep blanks in a value: label:"GET /a b". A word that isn't quite such a condition is searched
 * for like any other.
 */
#ifndef WORDS_MATCH_H
#define WORDS_MATCH_H

#include "model/model.h"

#define THRUM__MATCH_CELLS 1024

/* Returns a character in lower case, if it is an ASCII letter. */
static inline char thrum__words_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Stands for "stuck" where an enum thrum__state is asked for. */
#define THRUM__WORDS_STUCK 5

/* Returns the search that finds the tasks of a state: "state:failed"; "" for other numbers. Static. */
const char *thrum__words_state_search(int state);

/* The conditions of a search. Patterns are NULL where there is none. */
struct thrum__words_conditions {
	bool are_any;
	unsigned states;         /* bits by enum thrum__state, and one for stuck; 0: all */
	int64_t longer, shorter; /* ns: a life has to lie between them */
	const char *label, *kind, *site;
};

/* A search. Others may read its first three members. */
struct thrum__words_match {
	char *wanted; /* the text to find, in lower case, without the conditions */
	size_t size;
	struct thrum__words_conditions conditions;
	bool ends_in_number; /* so the answer may depend on a task's id */
	/* The text to find may be a tag with a value, as "name 404" or "name=404". `value` is the
	 * part behind the last space or "=", inside `wanted`: the tag's value has to begin with
	 * it, and the tag's name has to end with the part before. If there is no part before
	 * (name_size 0), the value has to contain `value`. NULL: no value can match. */
	char *value;
	size_t name_size; /* of the part before `value`, with the space or "=" */
	uint8_t *strings; /* by string of the model: the bits known of it; 0: none yet */
	uint32_t string_room;
	/* A cache of answers, by a hash of the key: (key + 1) times 2, plus the answer. */
	uint32_t cells[THRUM__MATCH_CELLS];
};

/* Begins a search for `wanted`, which is copied. The empty text is found everywhere. Returns 0 or
 * -THRUM_E_MEMORY. Free it with thrum__words_match_finish. */
THRUM__MUST_USE int thrum__words_match_init(struct thrum__words_match *, const char *wanted);
void thrum__words_match_finish(struct thrum__words_match *);

/* Whether nothing is searched for: neither a text nor tasks that meet a condition. */
static inline bool thrum__words_match_is_empty(const struct thrum__words_match *match)
{
	return match->size == 0 && !match->conditions.are_any;
}

/* Whether a text contains the wanted one. Remembers nothing. */
bool thrum__words_match_text(const struct thrum__words_match *, const char *text, size_t size);

/* Whether a string of the model contains it. THRUM__NONE is the empty string. */
bool thrum__words_match_string(struct thrum__words_match *, const struct thrum__model *,
	uint32_t string);

/* Whether a note contains it: a label, a log line, or a tag. A tag with a value reads "name 404",
 * and "name=404" finds it too. Its task has to meet the conditions; conditions alone find no note. */
bool thrum__words_match_note(struct thrum__words_match *, const struct thrum__model *,
	uint32_t note);

/* Whether a task meets the conditions, and the text is found in its name in words
 * (thrum__words_task), kind, call site or reason of failure. A kind has to begin with it. */
bool thrum__words_match_task(struct thrum__words_match *, const struct thrum__model *,
	uint32_t task);

/* Writes why a word of a search that found nothing is not the condition that it looks like: "no state
 * “faild”; there are pending, …". "" if no word looks like one. */
size_t thrum__words_search_fault(const char *search, char *to, size_t size);

/* Whether a task meets the conditions alone. */
bool thrum__words_conditions_meet(const struct thrum__words_conditions *,
	const struct thrum__model *, uint32_t task);

/* For match.c: takes the conditions out of a text in lower case, and puts their values into `values`,
 * which must have room for as many bytes as the text and has to stay. */
void thrum__words_conditions_take(struct thrum__words_conditions *, char *text, char *values);

/* A cache for the caller's own answers, by a key below 2^30. is_known returns whether the answer
 * for the key is there and then sets *answer; a later remember may replace any answer. */
bool thrum__words_match_is_known(const struct thrum__words_match *, uint32_t key, bool *answer);
void thrum__words_match_remember(struct thrum__words_match *, uint32_t key, bool answer);

/* Whether a text contains another; for a single question, without a struct. */
bool thrum__words_text_contains(const char *text, size_t size, const char *wanted,
	size_t wanted_size);

#endif
