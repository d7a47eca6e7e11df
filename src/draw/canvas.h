/* SPDX-License-Identifier: ISC */
/*
 * The canvases that write display lists to files. svg.c writes SVG by hand, since cairo's SVG has
 * no real text; cairo.c writes PNG and PDF with cairo, and with pango for texts.
 */
#ifndef DRAW_CANVAS_H
#define DRAW_CANVAS_H

#include <stddef.h>

#include "draw/list.h"

/* Whether PNG and PDF can be written. Without cairo their functions return -THRUM_E_ARGUMENT, and
 * thrum__draw_metrics_make gives the plain metrics. */
bool thrum__draw_has_cairo(void);

/* Returns, in `width` and `height`, the size that holds all lists; 1 by 1 pixel at least. */
struct thrum__draw_rect thrum__draw_size(const struct thrum__draw_list *lists, size_t count);

/* Receives bytes of a file. Returns 0 or a negative enum thrum_error, which ends the writing. */
typedef int thrum__draw_sink(void *context, const void *bytes, size_t size);

/*
 * These write lists, one upon the other at their places, as one picture that holds them all. Text
 * stays text in SVG and PDF, which also have a title (400 bytes at most). `scale` is the number of
 * PNG pixels in a CSS pixel. They return 0, the sink's error, -THRUM_E_MEMORY, or -THRUM_E_SIZE:
 * the picture is larger than cairo can make; a PNG has less than 32767 pixels a side and 2^28 at
 * most.
 */
__attribute__((warn_unused_result)) int thrum__draw_svg(const struct thrum__draw_list *lists,
	size_t count, int theme, const char *title, thrum__draw_sink *, void *context);
__attribute__((warn_unused_result)) int thrum__draw_png(const struct thrum__draw_list *lists,
	size_t count, int theme, float scale, thrum__draw_sink *, void *context);
__attribute__((warn_unused_result)) int thrum__draw_pdf(const struct thrum__draw_list *lists,
	size_t count, int theme, const char *title, thrum__draw_sink *, void *context);

/* Makes pango's metrics, for lists that cairo or a browser with the same fonts shows. The caller
 * frees them with thrum__draw_metrics_free. Returns 0 or -THRUM_E_MEMORY. */
__attribute__((warn_unused_result)) int thrum__draw_metrics_make(struct thrum__draw_metrics *);
void thrum__draw_metrics_free(struct thrum__draw_metrics *);

#endif
