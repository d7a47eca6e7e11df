/* SPDX-License-Identifier: ISC */
/* The only symbol that libthrum-cairo.so exports. */
#include "draw/module.h"

extern const struct thrum__draw_module thrum__draw_module;

__attribute__((visibility("default"))) const struct thrum__draw_module thrum__draw_module = {
	.png = thrum__draw_png,
	.pdf = thrum__draw_pdf,
	.metrics_make = thrum__draw_metrics_make,
	.metrics_free = thrum__draw_metrics_free,
};
