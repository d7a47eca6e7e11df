/* SPDX-License-Identifier: ISC */
/*
 * canvas/: what replays a display list natively. SVG is written by hand, since cairo's has no real
 * text; PNG and PDF by cairo, with pango for texts. Decides nothing about what is seen.
 */
#ifndef DRAW_CANVAS_H
#define DRAW_CANVAS_H

#include <stddef.h>

#include "draw/list.h"

/* Whether PNG and PDF can be written: without cairo these return -THRUM_E_ARGUMENT, and the metrics
 * are plain. */
bool thrum__draw_has_cairo(void);

/* The size (in `width` and `height`) that holds all lists. */
struct thrum__draw_rect thrum__draw_size(const struct thrum__draw_list *lists, size_t count);

/* Receives bytes; returns 0 or a negative enum thrum_error. */
typedef int thrum__draw_sink(void *context, const void *bytes, size_t size);

/*
 * Writes lists, one upon the other at their places, as a picture of the size that holds them all.
 * The title is the SVG's <title> and the PDF's. Text stays text in SVG and PDF. Return 0 or a
 * negative enum thrum_error.
 */
__attribute__((warn_unused_result)) int thrum__draw_svg(const struct thrum__draw_list *lists,
	size_t count, int theme, const char *title, thrum__draw_sink *, void *context);
__attribute__((warn_unused_result)) int thrum__draw_png(const struct thrum__draw_list *lists,
	size_t count, int theme, float scale, thrum__draw_sink *, void *context);
__attribute__((warn_unused_result)) int thrum__draw_pdf(const struct thrum__draw_list *lists,
	size_t count, int theme, const char *title, thrum__draw_sink *, void *context);

/* Pango's metrics, for lists that a cairo canvas or a browser with the same fonts shows. *metrics
 * is to be freed with thrum__draw_metrics_free. */
__attribute__((warn_unused_result)) int thrum__draw_metrics_make(struct thrum__draw_metrics *);
void thrum__draw_metrics_free(struct thrum__draw_metrics *);

#endif
