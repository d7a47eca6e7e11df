/* SPDX-License-Identifier: ISC */
/* Internal to view/: states as text, pair by pair. */
#ifndef SCENE_STATE_H
#define SCENE_STATE_H

#include "scene/scene.h"

/* A text that grows as snprintf's does. */
struct thrum__line {
	char *to;
	size_t size, length;
};

/* Puts "&KEY=", the key with a prefix; the "&" not at the beginning; then the value. */
void thrum__line_number(struct thrum__line *, const char *prefix, const char *key, int64_t);
void thrum__line_text(struct thrum__line *, const char *prefix, const char *key, const char *);

/* What differs from `plain`. */
void thrum__state_put(struct thrum__line *, const char *prefix,
	const struct thrum__view_state *state, const struct thrum__view_state *plain);

/* Gives each KEY=VALUE to `take`, which returns NULL or what is wrong. Returns 0, or
 * -THRUM_E_ARGUMENT with the place and the reason. */
THRUM__MUST_USE int thrum__state_pairs(const char *text,
	const char *(*take)(void *context, const char *key, const char *value), void *context,
	struct thrum_error_info *);

/* Such a `take`, of a struct thrum__view_state. */
const char *thrum__state_take(void *state, const char *key, const char *value);

/* What percent signs stand for; false: it isn't well-formed or has no room. */
bool thrum__state_text(const char *text, char *to, size_t size);
bool thrum__state_small(const char *text, int64_t max, int64_t *number);

#endif
