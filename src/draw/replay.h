/* SPDX-License-Identifier: ISC */
/* Replaying display lists with cairo, for pictures in files and on screens; only where cairo is. */
#ifndef DRAW_REPLAY_H
#define DRAW_REPLAY_H

#include <stddef.h>

#include "draw/list.h"

typedef struct _cairo cairo_t; /* as cairo.h says it */

/*
 * Shaped texts, kept from frame to frame: shaping costs more than painting. Holds those that were
 * last used, a few thousand. It measures, too: *metrics may be copied and lives as long as this.
 */
struct thrum__draw_text_cache {
	struct thrum__draw_metrics metrics;
	struct thrum__draw_text_cache_private *own;
};

__attribute__((warn_unused_result)) int thrum__draw_text_cache_init(
	struct thrum__draw_text_cache *);
void thrum__draw_text_cache_finish(struct thrum__draw_text_cache *);

/* Paints lists, one upon the other at their places, on the theme's ground. */
void thrum__draw_replay(cairo_t *, const struct thrum__draw_list *lists, size_t count, int theme,
	struct thrum__draw_text_cache *);

#endif
