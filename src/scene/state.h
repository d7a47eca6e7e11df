/* SPDX-License-Identifier: ISC */
/*
 * States as text, pair by pair: KEY=VALUE&KEY=VALUE. For this room and the stage only, whose
 * address contains the states of several scenes; each key of a further scene has a prefix ("2.").
 */
#ifndef SCENE_STATE_H
#define SCENE_STATE_H

#include "base/text.h"
#include "scene/scene.h"

/* Add "&KEY=" and an escaped text. */
void thrum__scene_address_key(struct thrum__base_text *, const char *prefix, const char *key);
void thrum__scene_address_escape(struct thrum__base_text *, const char *text);

/* Read a whole number, and two as "FROM..TO" with FROM < TO, as times. */
bool thrum__scene_address_integer(const char *text, int64_t *number);
bool thrum__scene_address_span(const char *text, int64_t *from, int64_t *to);

/* Appends "&", prefix, key, "=" and the value (a text is percent-escaped). No "&" stands first. */
void thrum__scene_address_number(struct thrum__base_text *, const char *prefix, const char *key,
	int64_t);
void thrum__scene_address_text(struct thrum__base_text *, const char *prefix, const char *key,
	const char *);

/* Appends a pair for each member in which `state` differs from `plain`. */
void thrum__scene_address_put(struct thrum__base_text *, const char *prefix,
	const struct thrum__scene_state *state, const struct thrum__scene_state *plain);

/* Calls `take` for each pair; it returns NULL, or a message that says what is wrong. Returns 0; or
 * at the first wrong pair -THRUM_E_ARGUMENT with its place and the message. */
THRUM__MUST_USE int thrum__scene_address_pairs(const char *text,
	const char *(*take)(void *context, const char *key, const char *value), void *context,
	struct thrum_error_info *);

/* A `take` that sets members of a state; `state` points to a struct thrum__scene_state. */
const char *thrum__scene_address_take(void *state, const char *key, const char *value);

/* Decodes percent escapes. Returns false if the text is malformed or `to` has no room. */
bool thrum__scene_address_unescape(const char *text, char *to, size_t size);
/* Reads a decimal number. Returns false if it isn't one from 0 to `max`. */
bool thrum__scene_address_small(const char *text, int64_t max, int64_t *number);

#endif
