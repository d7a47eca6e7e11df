/* SPDX-License-Identifier: ISC */
/* Replaying display lists with cairo, and texts with pango: PNG and PDF. */
#ifdef HAVE_CAIRO
#include <cairo-pdf.h>
#include <cairo.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

#include "canvas/canvas.h"
#include "thrum.h"

bool thrum__canvas_has_cairo(void)
{
	return true;
}

/* ---- Texts --------------------------------------------------------------------------------- */

/* A layout for each font. They have a font map of their own: the default one is never freed. */
struct texts {
	PangoFontMap *map;
	PangoContext *context;
	PangoLayout *layouts[THRUM__FONT_COUNT];
};

static PangoLayout *make_layout(PangoContext *context, int font)
{
	PangoFontDescription *description = pango_font_description_new();
	PangoAttrList *attributes = pango_attr_list_new();
	PangoLayout *layout = pango_layout_new(context);

	pango_font_description_set_family_static(description,
		"Inter,Segoe UI,Roboto,Cantarell,Noto Sans,DejaVu Sans,sans-serif");
	pango_font_description_set_absolute_size(description, thrum__font_size(font) * PANGO_SCALE);
	pango_font_description_set_weight(description, (PangoWeight)thrum__font_weight(font));
	pango_layout_set_font_description(layout, description);
	pango_font_description_free(description);

	pango_attr_list_insert(attributes, pango_attr_font_features_new("tnum=1"));
	pango_layout_set_attributes(layout, attributes);
	pango_attr_list_unref(attributes);

	pango_layout_set_single_paragraph_mode(layout, TRUE);
	pango_layout_set_auto_dir(layout, FALSE);
	return layout;
}

static void texts_init(struct texts *texts)
{
	cairo_font_options_t *options = cairo_font_options_create();

	texts->map = pango_cairo_font_map_new();
	texts->context = pango_font_map_create_context(texts->map);
	/* Widths that don't depend on the scale. */
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	pango_cairo_context_set_font_options(texts->context, options);
	cairo_font_options_destroy(options);
	pango_cairo_context_set_resolution(texts->context, 96);
	pango_context_set_round_glyph_positions(texts->context, FALSE);
	for (int font = 0; font < THRUM__FONT_COUNT; font++)
		texts->layouts[font] = make_layout(texts->context, font);
}

static void texts_finish(struct texts *texts)
{
	for (int font = 0; font < THRUM__FONT_COUNT; font++)
		g_object_unref(texts->layouts[font]);
	g_object_unref(texts->context);
	g_object_unref(texts->map);
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static void set_colour(cairo_t *cairo, int theme, int colour)
{
	uint32_t rgb = thrum__theme_colour(theme, colour);

	cairo_set_source_rgb(cairo, (rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0,
		(rgb & 255) / 255.0);
}

static void set_stroke(cairo_t *cairo, const struct thrum__style *style)
{
	float lengths[4];
	double dashes[4];
	int count = (int)thrum__dash_lengths(style->dash, lengths);

	for (int i = 0; i < count; i++)
		dashes[i] = lengths[i];
	cairo_set_dash(cairo, dashes, count, 0);
	cairo_set_line_width(cairo, style->width);
}

static void trace_segments(cairo_t *cairo, const struct thrum__segment *lines, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		cairo_move_to(cairo, lines[i].x1, lines[i].y1);
		cairo_line_to(cairo, lines[i].x2, lines[i].y2);
	}
}

static void trace_polylines(cairo_t *cairo, const struct thrum__point *points, uint32_t count)
{
	bool begins = true;

	for (uint32_t i = 0; i < count; i++) {
		if (isnan(points[i].x))
			begins = true;
		else if (begins)
			cairo_move_to(cairo, points[i].x, points[i].y), begins = false;
		else
			cairo_line_to(cairo, points[i].x, points[i].y);
	}
}

static void trace_triangles(cairo_t *cairo, const struct thrum__point *points, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, points += 3) {
		cairo_move_to(cairo, points[0].x, points[0].y);
		cairo_line_to(cairo, points[1].x, points[1].y);
		cairo_line_to(cairo, points[2].x, points[2].y);
		cairo_close_path(cairo);
	}
}

/* One by one: they may overlap. */
static void paint_rings(cairo_t *cairo, const struct thrum__batch *batch, int theme)
{
	const struct thrum__circle *circles = batch->items;

	set_stroke(cairo, &batch->style);
	for (uint32_t i = 0; i < batch->count; i++) {
		cairo_new_sub_path(cairo);
		cairo_arc(cairo, circles[i].x, circles[i].y, circles[i].radius, 0, 2 * G_PI);
		set_colour(cairo, theme, batch->style.fill);
		cairo_fill_preserve(cairo);
		set_colour(cairo, theme, batch->style.colour);
		cairo_stroke(cairo);
	}
}

static void paint_texts(cairo_t *cairo, const struct texts *texts, const struct thrum__list *list,
	const struct thrum__batch *batch, int theme)
{
	const struct thrum__text *items = batch->items;
	PangoLayout *layout = texts->layouts[batch->style.font];

	set_colour(cairo, theme, batch->style.colour);
	for (uint32_t i = 0; i < batch->count; i++) {
		pango_layout_set_text(layout, list->text + items[i].offset, (int)items[i].size);
		cairo_move_to(cairo, items[i].x,
			items[i].y - pango_layout_get_baseline(layout) / (double)PANGO_SCALE);
		pango_cairo_show_layout(cairo, layout);
	}
}

static void paint_rects(cairo_t *cairo, const struct thrum__rect *rects, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cairo_rectangle(cairo, rects[i].x, rects[i].y, rects[i].width, rects[i].height);
	cairo_fill(cairo);
}

static void paint_batch(cairo_t *cairo, const struct texts *texts, const struct thrum__list *list,
	const struct thrum__batch *batch, int theme)
{
	set_colour(cairo, theme, batch->style.colour);
	switch (batch->style.op) {
	case THRUM__OP_RECT: paint_rects(cairo, batch->items, batch->count); break;
	case THRUM__OP_LINE:
		set_stroke(cairo, &batch->style);
		trace_segments(cairo, batch->items, batch->count);
		cairo_stroke(cairo);
		break;
	case THRUM__OP_POLY:
		set_stroke(cairo, &batch->style);
		trace_polylines(cairo, batch->items, batch->count);
		cairo_stroke(cairo);
		break;
	case THRUM__OP_TRI:
		trace_triangles(cairo, batch->items, batch->count);
		cairo_fill(cairo);
		break;
	case THRUM__OP_RING: paint_rings(cairo, batch, theme); break;
	default: paint_texts(cairo, texts, list, batch, theme);
	}
}

static void paint_lists(cairo_t *cairo, const struct texts *texts, const struct thrum__list *lists,
	size_t count, int theme)
{
	set_colour(cairo, theme, THRUM__COLOUR_BG);
	cairo_paint(cairo);
	for (size_t i = 0; i < count; i++) {
		cairo_save(cairo);
		cairo_translate(cairo, lists[i].x, lists[i].y);
		cairo_rectangle(cairo, 0, 0, lists[i].width, lists[i].height);
		cairo_clip(cairo);
		for (uint32_t k = 0; k < lists[i].batch_count; k++)
			paint_batch(cairo, texts, &lists[i], &lists[i].batches[k], theme);
		cairo_restore(cairo);
	}
}

/* ---- Surfaces ------------------------------------------------------------------------------ */

struct output {
	thrum__sink *sink;
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

/* The sink's error, else what cairo says. */
static int result_of(const struct output *output, cairo_status_t status)
{
	if (output->result != 0 || status == CAIRO_STATUS_SUCCESS)
		return output->result;
	return status == CAIRO_STATUS_INVALID_SIZE ? -THRUM_E_SIZE : -THRUM_E_MEMORY;
}

/* Paints on a surface; lengths are CSS pixels times `scale`. */
static cairo_status_t paint_surface(cairo_surface_t *surface, double scale,
	const struct thrum__list *lists, size_t count, int theme)
{
	cairo_t *cairo = cairo_create(surface);
	cairo_status_t status = cairo_status(cairo);
	struct texts texts;

	if (status == CAIRO_STATUS_SUCCESS) {
		texts_init(&texts);
		cairo_scale(cairo, scale, scale);
		paint_lists(cairo, &texts, lists, count, theme);
		texts_finish(&texts);
		status = cairo_status(cairo);
	}
	cairo_destroy(cairo);
	return status;
}

int thrum__canvas_png(const struct thrum__list *lists, size_t count, int theme, float scale,
	thrum__sink *sink, void *context)
{
	struct thrum__rect size = thrum__canvas_size(lists, count);
	struct output output = {sink, context, 0};
	cairo_surface_t *surface;
	cairo_status_t status;

	/* cairo's own limit; and a gigabyte of pixels is a mistake. */
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

#define POINTS 0.75 /* of 1/72 inch in a CSS pixel of 1/96 */

int thrum__canvas_pdf(const struct thrum__list *lists, size_t count, int theme, const char *title,
	thrum__sink *sink, void *context)
{
	struct thrum__rect size = thrum__canvas_size(lists, count);
	struct output output = {sink, context, 0};
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(write_bytes, &output,
		(double)size.width * POINTS, (double)size.height * POINTS);
	cairo_status_t status;
	char clean[400 + 1];

	clean[thrum__text_clean(title, strlen(title), clean, sizeof clean - 1)] = '\0';
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, clean);
	status = paint_surface(surface, POINTS, lists, count, theme);
	cairo_surface_finish(surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(surface);
	cairo_surface_destroy(surface);
	return result_of(&output, status);
}

/* ---- Metrics ------------------------------------------------------------------------------- */

static float width_of(void *context, const char *text, size_t size, int font)
{
	struct texts *texts = context;
	char clean[1024];
	int width;

	/* Pango wants valid UTF-8, and the list shows no more than that. */
	size = thrum__text_clean(text, size, clean, sizeof clean);
	pango_layout_set_text(texts->layouts[font], clean, (int)size);
	pango_layout_get_size(texts->layouts[font], &width, NULL);
	return (float)width / PANGO_SCALE;
}

int thrum__canvas_metrics_make(struct thrum__metrics *metrics)
{
	struct texts *texts = malloc(sizeof *texts);

	if (!texts)
		return -THRUM_E_MEMORY;
	texts_init(texts);
	*metrics = (struct thrum__metrics){width_of, texts};
	return 0;
}

void thrum__canvas_metrics_free(struct thrum__metrics *metrics)
{
	texts_finish(metrics->context);
	free(metrics->context);
}
#endif
