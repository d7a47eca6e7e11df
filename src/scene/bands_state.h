/* SPDX-License-Identifier: ISC */
/* The part of a scene's state that is about bands, as text. Private to src/scene. */
#ifndef SCENE_BANDS_STATE_H
#define SCENE_BANDS_STATE_H

#include "base/text.h"
#include "scene/scene.h"

/* Adds the members that differ from `plain` to a line of "KEY=VALUE&…". */
void thrum__scene_bands_address_put(struct thrum__base_text *, const char *prefix,
	const struct thrum__scene_bands_state *, const struct thrum__scene_bands_state *plain);

/* Whether the same bands and threads are open. */
bool thrum__scene_bands_same_opened(const struct thrum__scene_bands_state *,
	const struct thrum__scene_bands_state *);

/* Sets a member from a pair. Returns NULL, or what is wrong. */
const char *thrum__scene_bands_address_take(struct thrum__scene_bands_state *, const char *key,
	const char *value);

#endif
