/* SPDX-License-Identifier: ISC */
/* Replays display lists with cairo, and texts with pango. */
#ifdef HAVE_CAIRO
#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "draw/canvas.h"
#include "draw/replay.h"
#include "thrum.h"

/* ---- Texts --------------------------------------------------------------------------------- */

struct text_key {
	const char *text;
	size_t size;
	int font;
};

struct shaped_text {
	struct text_key key; /* its text is `text` */
	PangoLayout *layout;
	float width, baseline;
	char text[];
};

/* How many texts a generation holds. There are two generations. */
#define GENERATION 4096

struct thrum__draw_text_cache_private {
	/* The default font map is never freed. */
	PangoFontMap *map;
	PangoContext *context;
	PangoLayout *layouts[THRUM__FONT_COUNT]; /* one for each font, to copy */
	/* A text that is used moves from the old ones to the young ones. When the young ones are
	 * full, the old ones are freed and the young ones become the old ones. */
	GHashTable *young, *old;
};

static unsigned hash_key(const void *any)
{
	const struct text_key *key = any;

	return (unsigned)thrum__base_hash_text((uint64_t)key->font, key->text, key->size);
}

static gboolean is_same_key(const void *a, const void *b)
{
	const struct text_key *one = a, *other = b;

	return one->font == other->font && one->size == other->size &&
		memcmp(one->text, other->text, one->size) == 0;
}

static void free_shaped(void *any)
{
	struct shaped_text *shaped = any;

	g_object_unref(shaped->layout);
	free(shaped);
}

static GHashTable *make_generation(void)
{
	return g_hash_table_new_full(hash_key, is_same_key, NULL, free_shaped);
}

static struct shaped_text *shape_text(const struct thrum__draw_text_cache_private *own,
	const struct text_key *key)
{
	struct shaped_text *shaped = malloc(sizeof *shaped + key->size);
	int width;

	if (!shaped)
		return NULL;
	memcpy(shaped->text, key->text, key->size);
	shaped->key = (struct text_key){shaped->text, key->size, key->font};
	shaped->layout = pango_layout_copy(own->layouts[key->font]);
	pango_layout_set_text(shaped->layout, key->text, (int)key->size);
	pango_layout_get_size(shaped->layout, &width, NULL);
	shaped->width = (float)width / PANGO_SCALE;
	shaped->baseline = (float)pango_layout_get_baseline(shaped->layout) / PANGO_SCALE;
	return shaped;
}

/* Returns a shaped text, from the cache or made anew; NULL: no memory. */
static struct shaped_text *find_text(struct thrum__draw_text_cache_private *own, const char *text,
	size_t size, int font)
{
	struct text_key key = {text, size, font};
	struct shaped_text *shaped = g_hash_table_lookup(own->young, &key);

	if (shaped)
		return shaped;
	if (!g_hash_table_steal_extended(own->old, &key, NULL, (void **)&shaped))
		shaped = shape_text(own, &key);
	if (!shaped)
		return NULL;
	if (g_hash_table_size(own->young) >= GENERATION) {
		g_hash_table_destroy(own->old);
		own->old = own->young;
		own->young = make_generation();
	}
	g_hash_table_insert(own->young, &shaped->key, shaped);
	return shaped;
}

static float width_of(void *context, const char *text, size_t size, int font)
{
	char clean[1024];
	struct shaped_text *shaped;

	/* Pango needs valid UTF-8, and the list shows nothing else. */
	size = thrum__base_utf8_clean(text, size, clean, sizeof clean);
	shaped = find_text(context, clean, size, font);
	return shaped ? shaped->width : 0;
}

static PangoLayout *make_layout(PangoContext *context, int font)
{
	PangoFontDescription *description = pango_font_description_new();
	PangoAttrList *attributes = pango_attr_list_new();
	PangoLayout *layout = pango_layout_new(context);

	pango_font_description_set_family_static(description,
		"Inter,Segoe UI,Roboto,Cantarell,Noto Sans,DejaVu Sans,sans-serif");
	pango_font_description_set_absolute_size(description,
		thrum__draw_font_size(font) * PANGO_SCALE);
	pango_font_description_set_weight(description, (PangoWeight)thrum__draw_font_weight(font));
	pango_layout_set_font_description(layout, description);
	pango_font_description_free(description);

	pango_attr_list_insert(attributes, pango_attr_font_features_new("tnum=1"));
	pango_layout_set_attributes(layout, attributes);
	pango_attr_list_unref(attributes);

	pango_layout_set_single_paragraph_mode(layout, TRUE);
	pango_layout_set_auto_dir(layout, FALSE);
	return layout;
}

int thrum__draw_text_cache_init(struct thrum__draw_text_cache *texts)
{
	struct thrum__draw_text_cache_private *own = malloc(sizeof *own);
	cairo_font_options_t *options;

	if (!own)
		return -THRUM_E_MEMORY;
	options = cairo_font_options_create();
	own->map = pango_cairo_font_map_new();
	own->context = pango_font_map_create_context(own->map);
	/* This makes widths independent of the scale. */
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	pango_cairo_context_set_font_options(own->context, options);
	cairo_font_options_destroy(options);
	pango_cairo_context_set_resolution(own->context, 96);
	pango_context_set_round_glyph_positions(own->context, FALSE);
	for (int font = 0; font < THRUM__FONT_COUNT; font++)
		own->layouts[font] = make_layout(own->context, font);
	own->young = make_generation();
	own->old = make_generation();
	*texts = (struct thrum__draw_text_cache){{width_of, own}, own};
	return 0;
}

void thrum__draw_text_cache_finish(struct thrum__draw_text_cache *texts)
{
	struct thrum__draw_text_cache_private *own = texts->own;

	g_hash_table_destroy(own->young);
	g_hash_table_destroy(own->old);
	for (int font = 0; font < THRUM__FONT_COUNT; font++)
		g_object_unref(own->layouts[font]);
	g_object_unref(own->context);
	g_object_unref(own->map);
	free(own);
}

/* ---- Replaying ----------------------------------------------------------------------------- */

static void set_colour(cairo_t *cairo, int theme, int colour)
{
	uint32_t rgb = thrum__draw_theme_colour(theme, colour);

	cairo_set_source_rgb(cairo, (rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0,
		(rgb & 255) / 255.0);
}

static void set_stroke(cairo_t *cairo, const struct thrum__draw_style *style)
{
	float lengths[4];
	double dashes[4];
	int count = (int)thrum__draw_dash_lengths(style->dash, lengths);

	for (int i = 0; i < count; i++)
		dashes[i] = lengths[i];
	cairo_set_dash(cairo, dashes, count, 0);
	cairo_set_line_width(cairo, style->width);
}

static void trace_segments(cairo_t *cairo, const struct thrum__draw_segment *lines, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		cairo_move_to(cairo, lines[i].x1, lines[i].y1);
		cairo_line_to(cairo, lines[i].x2, lines[i].y2);
	}
}

static void trace_polylines(cairo_t *cairo, const struct thrum__draw_point *points, uint32_t count)
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

static void trace_triangles(cairo_t *cairo, const struct thrum__draw_point *points, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, points += 3) {
		cairo_move_to(cairo, points[0].x, points[0].y);
		cairo_line_to(cairo, points[1].x, points[1].y);
		cairo_line_to(cairo, points[2].x, points[2].y);
		cairo_close_path(cairo);
	}
}

/* Paints one ring after another, since they may overlap. */
static void paint_rings(cairo_t *cairo, const struct thrum__draw_batch *batch, int theme)
{
	const struct thrum__draw_circle *circles = batch->items;

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

static void paint_texts(cairo_t *cairo, struct thrum__draw_text_cache_private *own,
	const struct thrum__draw_list *list, const struct thrum__draw_batch *batch, int theme)
{
	const struct thrum__draw_text *items = batch->items;

	set_colour(cairo, theme, batch->style.colour);
	for (uint32_t i = 0; i < batch->count; i++) {
		const char *text = list->text + items[i].offset;
		int font = batch->style.font;
		struct shaped_text *shaped = find_text(own, text, items[i].size, font);

		if (!shaped)
			continue;
		cairo_move_to(cairo, items[i].x, items[i].y - shaped->baseline);
		pango_cairo_show_layout(cairo, shaped->layout);
	}
}

static void paint_rects(cairo_t *cairo, const struct thrum__draw_rect *rects, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cairo_rectangle(cairo, rects[i].x, rects[i].y, rects[i].width, rects[i].height);
	cairo_fill(cairo);
}

/* Returns an image of a grid, one pixel a cell. The caller destroys it. */
static cairo_surface_t *make_image(const struct thrum__draw_list *list,
	const struct thrum__draw_cells *cells, int theme)
{
	cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32,
		(int)cells->columns, (int)cells->rows);
	unsigned char *pixels = cairo_image_surface_get_data(image);
	const uint8_t *bytes = (const uint8_t *)list->text + cells->offset;

	if (!pixels)
		return image;
	cairo_surface_flush(image);
	for (uint32_t row = 0; row < cells->rows; row++) {
		uint32_t *to = (uint32_t *)(void *)(pixels +
			(size_t)row * (size_t)cairo_image_surface_get_stride(image));

		for (uint32_t i = 0; i < cells->columns; i++, bytes++)
			to[i] = *bytes == 0
				? 0
				: 0xff000000u | thrum__draw_theme_colour(theme, *bytes - 1);
	}
	cairo_surface_mark_dirty(image);
	return image;
}

/* Fills the rects of each colour: a printer shows an image blurred. */
static void fill_cells(cairo_t *cairo, const struct thrum__draw_list *list,
	const struct thrum__draw_cells *cells, int theme)
{
	for (int colour = 0; colour < THRUM__COLOUR_COUNT; colour++) {
		struct thrum__draw_rect r;
		uint32_t row = 0, column = 0;

		while (thrum__draw_cells_next(list, cells, colour, &row, &column, &r))
			cairo_rectangle(cairo, r.x, r.y, r.width, r.height);
		set_colour(cairo, theme, colour);
		cairo_fill(cairo);
	}
}

static void paint_cells(cairo_t *cairo, const struct thrum__draw_list *list,
	const struct thrum__draw_batch *batch, int theme)
{
	const struct thrum__draw_cells *cells = batch->items;
	bool is_vector = cairo_surface_get_type(cairo_get_target(cairo)) == CAIRO_SURFACE_TYPE_PDF;

	for (uint32_t i = 0; i < batch->count; i++) {
		cairo_surface_t *image;

		if (is_vector) {
			fill_cells(cairo, list, &cells[i], theme);
			continue;
		}
		image = make_image(list, &cells[i], theme);
		cairo_save(cairo);
		cairo_translate(cairo, cells[i].x, cells[i].y);
		cairo_scale(cairo, THRUM__CELL_WIDTH, 1);
		cairo_set_source_surface(cairo, image, 0, 0);
		cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
		cairo_paint(cairo);
		cairo_restore(cairo);
		cairo_surface_destroy(image);
	}
}

static void paint_batch(cairo_t *cairo, struct thrum__draw_text_cache_private *texts,
	const struct thrum__draw_list *list, const struct thrum__draw_batch *batch, int theme)
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
	case THRUM__OP_CELLS: paint_cells(cairo, list, batch, theme); break;
	default: paint_texts(cairo, texts, list, batch, theme);
	}
}

void thrum__draw_replay(cairo_t *cairo, const struct thrum__draw_list *lists, size_t count,
	int theme, struct thrum__draw_text_cache *texts)
{
	set_colour(cairo, theme, THRUM__COLOUR_BG);
	cairo_paint(cairo);
	for (size_t i = 0; i < count; i++) {
		cairo_save(cairo);
		cairo_translate(cairo, lists[i].x, lists[i].y);
		cairo_rectangle(cairo, 0, 0, lists[i].width, lists[i].height);
		cairo_clip(cairo);
		for (uint32_t k = 0; k < lists[i].batch_count; k++)
			paint_batch(cairo, texts->own, &lists[i], &lists[i].batches[k], theme);
		cairo_restore(cairo);
	}
}
#endif
