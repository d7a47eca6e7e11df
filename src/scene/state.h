/* SPDX-License-Identifier: ISC */
/* Private to this room: states as text, pair by pair. */
#ifndef SCENE_STATE_H
#define SCENE_STATE_H

#include "base/text.h"
#include "scene/scene.h"

/* Puts "&KEY=", the key with a prefix; the "&" not at the beginning; then the value. */
void thrum__scene_address_number(struct thrum__base_text *, const char *prefix, const char *key,
	int64_t);
void thrum__scene_address_text(struct thrum__base_text *, const char *prefix, const char *key,
	const char *);

/* What differs from `plain`. */
void thrum__scene_address_put(struct thrum__base_text *, const char *prefix,
	const struct thrum__scene_state *state, const struct thrum__scene_state *plain);

/* Gives each KEY=VALUE to `take`, which returns NULL or what is wrong. Returns 0, or
 * -THRUM_E_ARGUMENT with the place and the reason. */
THRUM__MUST_USE int thrum__scene_address_pairs(const char *text,
	const char *(*take)(void *context, const char *key, const char *value), void *context,
	struct thrum_error_info *);

/* Such a `take`, of a struct thrum__scene_state. */
const char *thrum__scene_address_take(void *state, const char *key, const char *value);

/* What percent signs stand for; false: it isn't well-formed or has no room. */
bool thrum__scene_address_unescape(const char *text, char *to, size_t size);
bool thrum__scene_address_small(const char *text, int64_t max, int64_t *number);

#endif
