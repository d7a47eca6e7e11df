/* SPDX-License-Identifier: ISC */
/*
 * libthrum-cairo.so: the canvases that need cairo and pango, for programs that rarely need them. Loading the
 * two takes longer than most commands.
 */
#ifndef DRAW_MODULE_H
#define DRAW_MODULE_H

#include "draw/canvas.h"

#define THRUM__DRAW_MODULE_FILE "libthrum-cairo.so"
#define THRUM__DRAW_MODULE "thrum__draw_module" /* the name of its struct thrum__draw_module */

/* The functions of canvas.h. */
struct thrum__draw_module {
	__typeof__(&thrum__draw_png) png;
	__typeof__(&thrum__draw_pdf) pdf;
	__typeof__(&thrum__draw_metrics_make) metrics_make;
	__typeof__(&thrum__draw_metrics_free) metrics_free;
};

#endif
