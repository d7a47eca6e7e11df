/* SPDX-License-Identifier: ISC */
/*
 * Whether texts contain what is searched for; ASCII's case doesn't matter. Of a million tasks many
 * have the same texts, so that of each different text it is found out once. Private to this room.
 */
#ifndef WORDS_MATCH_H
#define WORDS_MATCH_H

#include "model/model.h"

#define THRUM__MATCH_CELLS 1024

struct thrum__words_match {
	char *wanted; /* in lower case */
	size_t size;
	bool ends_in_number; /* then words that end in one may be it, or not */
	/* Of a tag as "name 404" or "name=404": what the name is to end in, and how the value is
	 * to begin; without a name what the value is to contain. NULL: it's in no value. */
	char *value;
	size_t name_size;
	uint8_t *strings; /* by string: what is known of it */
	uint32_t string_room;
	/* By a hash of the key: key + 1 twice, and the answer. */
	uint32_t cells[THRUM__MATCH_CELLS];
};

/* Returns 0 or -THRUM_E_MEMORY. To be freed with thrum__words_match_finish. */
THRUM__MUST_USE int thrum__words_match_init(struct thrum__words_match *, const char *wanted);
void thrum__words_match_finish(struct thrum__words_match *);

bool thrum__words_match_text(const struct thrum__words_match *, const char *text, size_t size);

/* One of the model's; NONE is empty. */
bool thrum__words_match_string(struct thrum__words_match *, const struct thrum__model *,
	uint32_t string);

/* A label, a log line, or a tag as "name 404", which may be searched for as "name=404", too. */
bool thrum__words_match_note(struct thrum__words_match *, const struct thrum__model *,
	uint32_t note);

/* The words that stand for a task (thrum__words_task), its kind, its call site, and why it
 * failed. */
bool thrum__words_match_task(struct thrum__words_match *, const struct thrum__model *,
	uint32_t task);

/* Answers of before, by any number below 2^30. *answer is set where it is known. */
bool thrum__words_match_is_known(const struct thrum__words_match *, uint32_t key, bool *answer);
void thrum__words_match_remember(struct thrum__words_match *, uint32_t key, bool answer);

/* The same of two texts, for what is asked once. */
bool thrum__words_text_contains(const char *text, size_t size, const char *wanted,
	size_t wanted_size);

#endif
