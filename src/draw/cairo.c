/* SPDX-License-Identifier: ISC */
/* Writes PNG and PDF with cairo. */
#ifdef HAVE_CAIRO
#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "draw/canvas.h"
#include "draw/replay.h"
#include "thrum.h"

bool thrum__draw_has_cairo(void)
{
	return true;
}

/* ---- Surfaces ------------------------------------------------------------------------------ */

struct output {
	thrum__draw_sink *sink;
	void *context;
	int result;
};

static cairo_status_t write_bytes(void *context, const unsigned char *bytes, unsigned size)
{
	struct output *output = context;

	if (output->result == 0)
		output->result = output->sink(output->context, bytes, size);
	return output->result == 0 ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Returns the sink's error, or else the error for cairo's status. */
static int result_of(const struct output *output, cairo_status_t status)
{
	if (output->result != 0 || status == CAIRO_STATUS_SUCCESS)
		return output->result;
	return status == CAIRO_STATUS_INVALID_SIZE ? -THRUM_E_SIZE : -THRUM_E_MEMORY;
}

/* Paints lists on a surface; `scale` is the surface's units in a CSS pixel. */
static cairo_status_t paint_surface(cairo_surface_t *surface, double scale,
	const struct thrum__draw_list *lists, size_t count, int theme)
{
	cairo_t *cairo = cairo_create(surface);
	cairo_status_t status = cairo_status(cairo);
	struct thrum__draw_text_cache texts;

	if (status == CAIRO_STATUS_SUCCESS && thrum__draw_text_cache_init(&texts) < 0)
		status = CAIRO_STATUS_NO_MEMORY;
	if (status == CAIRO_STATUS_SUCCESS) {
		cairo_scale(cairo, scale, scale);
		thrum__draw_replay(cairo, lists, count, theme, &texts);
		thrum__draw_text_cache_finish(&texts);
		status = cairo_status(cairo);
	}
	cairo_destroy(cairo);
	return status;
}

int thrum__draw_png(const struct thrum__draw_list *lists, size_t count, int theme, float scale,
	thrum__draw_sink *sink, void *context)
{
	struct thrum__draw_rect size = thrum__draw_size(lists, count);
	struct output output = {sink, context, 0};
	cairo_surface_t *surface;
	cairo_status_t status;

	/* The first is cairo's own limit; a picture of more than a gigabyte is a mistake. */
	if (!(scale > 0) || !(size.width * scale < 32767) || !(size.height * scale < 32767) ||
		size.width * size.height * scale * scale > 268435456)
		return -THRUM_E_SIZE;
	surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceilf(size.width * scale),
		(int)ceilf(size.height * scale));
	status = paint_surface(surface, scale, lists, count, theme);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_write_to_png_stream(surface, write_bytes, &output);
	cairo_surface_destroy(surface);
	return result_of(&output, status);
}

#define POINTS 0.75 /* points (1/72 inch) in a CSS pixel (1/96 inch) */

int thrum__draw_pdf(const struct thrum__draw_list *lists, size_t count, int theme,
	const char *title, thrum__draw_sink *sink, void *context)
{
	struct thrum__draw_rect size = thrum__draw_size(lists, count);
	struct output output = {sink, context, 0};
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(write_bytes, &output,
		(double)size.width * POINTS, (double)size.height * POINTS);
	cairo_status_t status;
	char clean[400 + 1];

	clean[thrum__base_utf8_clean(title, strlen(title), clean, sizeof clean - 1)] = '\0';
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, clean);
	status = paint_surface(surface, POINTS, lists, count, theme);
	cairo_surface_finish(surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(surface);
	cairo_surface_destroy(surface);
	return result_of(&output, status);
}

/* ---- Metrics ------------------------------------------------------------------------------- */

int thrum__draw_metrics_make(struct thrum__draw_metrics *metrics)
{
	struct thrum__draw_text_cache texts;
	int result = thrum__draw_text_cache_init(&texts);

	if (result == 0)
		*metrics = texts.metrics;
	return result;
}

void thrum__draw_metrics_free(struct thrum__draw_metrics *metrics)
{
	struct thrum__draw_text_cache texts = {*metrics, metrics->context};

	thrum__draw_text_cache_finish(&texts);
}
#endif
