/* SPDX-License-Identifier: ISC */
/* Replays display lists with cairo, into files and on screens; only in builds that have cairo. */
#ifndef DRAW_REPLAY_H
#define DRAW_REPLAY_H

#include <stddef.h>

#include "draw/list.h"

typedef struct _cairo cairo_t; /* as in cairo.h */

/*
 * Keeps shaped texts from frame to frame, since shaping costs more than painting: the few thousand
 * used last. Its metrics measure texts with pango; they may be copied and live as long as the
 * cache.
 */
struct thrum__draw_text_cache {
	struct thrum__draw_metrics metrics;
	struct thrum__draw_text_cache_private *own;
};

/* Returns 0 or -THRUM_E_MEMORY. */
__attribute__((warn_unused_result)) int thrum__draw_text_cache_init(
	struct thrum__draw_text_cache *);
void thrum__draw_text_cache_finish(struct thrum__draw_text_cache *);

/* Paints lists, one upon the other at their places, on the theme's background. */
void thrum__draw_replay(cairo_t *, const struct thrum__draw_list *lists, size_t count, int theme,
	struct thrum__draw_text_cache *);

#endif
