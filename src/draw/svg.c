/* SPDX-License-Identifier: ISC */
/*
 * Writes SVG by hand: cairo's SVG has outlines for text and one element for each rect. Here a batch
 * of strokes or rects is one path of relative commands, in tenths of a pixel.
 *
 * Labels come from strangers. The list holds valid UTF-8 without control characters, as XML 1.0
 * wants it; only the characters of markup have to be escaped.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "draw/canvas.h"
#include "thrum.h"

struct svg {
	thrum__draw_sink *sink;
	void *context;
	int result; /* the sink's first error, after which nothing is written; or 0 */
	size_t used;
	char buffer[8192];
};

static void flush_svg(struct svg *svg)
{
	if (svg->result == 0 && svg->used > 0)
		svg->result = svg->sink(svg->context, svg->buffer, svg->used);
	svg->used = 0;
}

static void put_bytes(struct svg *svg, const char *bytes, size_t size)
{
	while (size > 0) {
		size_t room = sizeof svg->buffer - svg->used, n = size < room ? size : room;

		memcpy(svg->buffer + svg->used, bytes, n);
		svg->used += n;
		bytes += n;
		size -= n;
		if (svg->used == sizeof svg->buffer)
			flush_svg(svg);
	}
}

static void put_string(struct svg *svg, const char *text)
{
	put_bytes(svg, text, strlen(text));
}

static void put_escaped(struct svg *svg, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		switch (text[i]) {
		case '<': put_string(svg, "&lt;"); break;
		case '>': put_string(svg, "&gt;"); break;
		case '&': put_string(svg, "&amp;"); break;
		case '"': put_string(svg, "&quot;"); break;
		case '\'': put_string(svg, "&#39;"); break;
		default: put_bytes(svg, &text[i], 1);
		}
	}
}

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Lengths are whole tenths of a pixel, so that sums of rounded steps don't drift. */
static int tenths(float v)
{
	return v > -1e7f && v < 1e7f ? (int)lrintf(v * 10) : 0;
}

/* Writes a number of tenths as a decimal number. */
static void put_tenths(struct svg *svg, int v)
{
	char digits[16];
	size_t at = sizeof digits;
	unsigned rest = v < 0 ? 0u - (unsigned)v : (unsigned)v;

	if (rest % 10 > 0) {
		digits[--at] = (char)('0' + rest % 10);
		digits[--at] = '.';
	}
	rest /= 10;
	do
		digits[--at] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (v < 0)
		digits[--at] = '-';
	put_bytes(svg, digits + at, sizeof digits - at);
}

static void put_attribute(struct svg *svg, const char *name, int value)
{
	put_string(svg, " ");
	put_string(svg, name);
	put_string(svg, "=\"");
	put_tenths(svg, value);
	put_string(svg, "\"");
}

/* Writes two numbers of a path: a minus sign divides them as well as a space. */
static void put_pair(struct svg *svg, int x, int y)
{
	put_tenths(svg, x);
	if (y >= 0)
		put_string(svg, " ");
	put_tenths(svg, y);
}

static void put_colour(struct svg *svg, const char *name, int theme, int colour)
{
	uint32_t rgb = thrum__draw_theme_colour(theme, colour);
	char hex[] = "#000000";

	for (int i = 0; i < 6; i++)
		hex[1 + i] = "0123456789abcdef"[rgb >> (20 - 4 * i) & 15];
	put_string(svg, " ");
	put_string(svg, name);
	put_string(svg, "=\"");
	put_string(svg, hex);
	put_string(svg, "\"");
}

/* ---- Paths --------------------------------------------------------------------------------- */

/* The pen of a path, and its place in tenths of a pixel. */
struct pen {
	struct svg *svg;
	int x, y;
	bool moved; /* the path has its first command, which is absolute */
};

static void move_to(struct pen *pen, int x, int y)
{
	put_string(pen->svg, pen->moved ? "m" : "M");
	put_pair(pen->svg, x - (pen->moved ? pen->x : 0), y - (pen->moved ? pen->y : 0));
	*pen = (struct pen){pen->svg, x, y, true};
}

static void line_to(struct pen *pen, int x, int y)
{
	if (y == pen->y) {
		put_string(pen->svg, "h");
		put_tenths(pen->svg, x - pen->x);
	} else if (x == pen->x) {
		put_string(pen->svg, "v");
		put_tenths(pen->svg, y - pen->y);
	} else {
		put_string(pen->svg, "l");
		put_pair(pen->svg, x - pen->x, y - pen->y);
	}
	pen->x = x;
	pen->y = y;
}

static void put_rects(struct pen *pen, const struct thrum__draw_rect *rects, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		int x = tenths(rects[i].x), y = tenths(rects[i].y);
		int width = tenths(rects[i].width), height = tenths(rects[i].height);

		move_to(pen, x, y);
		line_to(pen, x + width, y);
		line_to(pen, x + width, y + height);
		line_to(pen, x, y + height);
		put_string(pen->svg, "z");
		pen->x = x; /* z goes back to the beginning of the figure */
		pen->y = y;
	}
}

static void put_segments(struct pen *pen, const struct thrum__draw_segment *lines, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		move_to(pen, tenths(lines[i].x1), tenths(lines[i].y1));
		line_to(pen, tenths(lines[i].x2), tenths(lines[i].y2));
	}
}

static void put_polylines(struct pen *pen, const struct thrum__draw_point *points, uint32_t count)
{
	bool begins = true;

	for (uint32_t i = 0; i < count; i++) {
		if (isnan(points[i].x)) {
			begins = true;
			continue;
		}
		(begins ? move_to : line_to)(pen, tenths(points[i].x), tenths(points[i].y));
		begins = false;
	}
}

static void put_triangles(struct pen *pen, const struct thrum__draw_point *points, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, points += 3) {
		move_to(pen, tenths(points[0].x), tenths(points[0].y));
		line_to(pen, tenths(points[1].x), tenths(points[1].y));
		line_to(pen, tenths(points[2].x), tenths(points[2].y));
		put_string(pen->svg, "z");
		pen->x = tenths(points[0].x);
		pen->y = tenths(points[0].y);
	}
}

static void put_stroke(struct svg *svg, const struct thrum__draw_style *style, int theme)
{
	float lengths[4];
	size_t count = thrum__draw_dash_lengths(style->dash, lengths);

	put_colour(svg, "stroke", theme, style->colour);
	if (style->width != 1)
		put_attribute(svg, "stroke-width", tenths(style->width));
	for (size_t i = 0; i < count; i++) {
		put_string(svg, i == 0 ? " stroke-dasharray=\"" : " ");
		put_tenths(svg, tenths(lengths[i]));
	}
	if (count > 0)
		put_string(svg, "\"");
}

static void put_path(struct svg *svg, const struct thrum__draw_batch *batch, int theme)
{
	struct pen pen = {.svg = svg};
	bool is_filled = batch->style.op == THRUM__OP_RECT || batch->style.op == THRUM__OP_TRI;

	put_string(svg, "<path");
	if (is_filled) {
		put_colour(svg, "fill", theme, batch->style.colour);
	} else {
		put_string(svg, " fill=\"none\"");
		put_stroke(svg, &batch->style, theme);
	}
	put_string(svg, " d=\"");
	switch (batch->style.op) {
	case THRUM__OP_RECT: put_rects(&pen, batch->items, batch->count); break;
	case THRUM__OP_LINE: put_segments(&pen, batch->items, batch->count); break;
	case THRUM__OP_POLY: put_polylines(&pen, batch->items, batch->count); break;
	default: put_triangles(&pen, batch->items, batch->count);
	}
	put_string(svg, "\"/>\n");
}

/* ---- Rings, texts, the picture ------------------------------------------------------------- */

static void put_rings(struct svg *svg, const struct thrum__draw_batch *batch, int theme)
{
	const struct thrum__draw_circle *circles = batch->items;

	put_string(svg, "<g");
	put_colour(svg, "fill", theme, batch->style.fill);
	put_stroke(svg, &batch->style, theme);
	put_string(svg, ">");
	for (uint32_t i = 0; i < batch->count; i++) {
		put_string(svg, "<circle");
		put_attribute(svg, "cx", tenths(circles[i].x));
		put_attribute(svg, "cy", tenths(circles[i].y));
		put_attribute(svg, "r", tenths(circles[i].radius));
		put_string(svg, "/>");
	}
	put_string(svg, "</g>\n");
}

/* Writes one path for each colour of a grid. */
static void put_cells(struct svg *svg, const struct thrum__draw_list *list,
	const struct thrum__draw_cells *cells, int theme)
{
	for (int colour = 0; colour < THRUM__COLOUR_COUNT; colour++) {
		struct pen pen = {.svg = svg};
		struct thrum__draw_rect rect;
		uint32_t row = 0, column = 0;

		while (thrum__draw_cells_next(list, cells, colour, &row, &column, &rect)) {
			if (!pen.moved) {
				put_string(svg, "<path");
				put_colour(svg, "fill", theme, colour);
				put_string(svg, " d=\"");
			}
			put_rects(&pen, &rect, 1);
		}
		if (pen.moved)
			put_string(svg, "\"/>\n");
	}
}

static void put_texts(struct svg *svg, const struct thrum__draw_list *list,
	const struct thrum__draw_batch *batch, int theme)
{
	const struct thrum__draw_text *texts = batch->items;

	put_string(svg, "<g class=\"");
	put_string(svg, thrum__draw_font_name(batch->style.font));
	put_string(svg, "\"");
	put_colour(svg, "fill", theme, batch->style.colour);
	put_string(svg, ">\n");
	for (uint32_t i = 0; i < batch->count; i++) {
		put_string(svg, "<text");
		put_attribute(svg, "x", tenths(texts[i].x));
		put_attribute(svg, "y", tenths(texts[i].y));
		put_string(svg, ">");
		put_escaped(svg, list->text + texts[i].offset, texts[i].size);
		put_string(svg, "</text>\n");
	}
	put_string(svg, "</g>\n");
}

static void put_list(struct svg *svg, const struct thrum__draw_list *list, int theme)
{
	/* An inner <svg> clips. */
	put_string(svg, "<svg");
	put_attribute(svg, "x", tenths(list->x));
	put_attribute(svg, "y", tenths(list->y));
	put_attribute(svg, "width", tenths(list->width));
	put_attribute(svg, "height", tenths(list->height));
	put_string(svg, ">\n");
	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];

		if (batch->style.op == THRUM__OP_TEXT)
			put_texts(svg, list, batch, theme);
		else if (batch->style.op == THRUM__OP_RING)
			put_rings(svg, batch, theme);
		else if (batch->style.op == THRUM__OP_CELLS)
			for (uint32_t k = 0; k < batch->count; k++)
				put_cells(svg, list,
					(const struct thrum__draw_cells *)batch->items + k, theme);
		else
			put_path(svg, batch, theme);
	}
	put_string(svg, "</svg>\n");
}

/* Within an HTML page these styles count for the whole page: hence the class. */
static void put_fonts(struct svg *svg)
{
	put_string(svg,
		"<style>.thrum text{font-family:" THRUM__FACE
		";font-variant-numeric:tabular-nums}");
	for (int font = 0; font < THRUM__FONT_COUNT; font++) {
		put_string(svg, ".thrum .");
		put_string(svg, thrum__draw_font_name(font));
		put_string(svg, "{font-size:");
		put_tenths(svg, thrum__draw_font_size(font) * 10);
		put_string(svg, "px;font-weight:");
		put_tenths(svg, thrum__draw_font_weight(font) * 10);
		put_string(svg, "}");
	}
	put_string(svg, "</style>\n");
}

static void put_picture(struct svg *svg, const struct thrum__draw_list *lists, size_t count,
	int theme, const char *title)
{
	char clean[400];
	struct thrum__draw_rect size = thrum__draw_size(lists, count);

	put_string(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"thrum\"");
	put_attribute(svg, "width", tenths(size.width));
	put_attribute(svg, "height", tenths(size.height));
	put_string(svg, " role=\"img\" xml:space=\"preserve\">\n<title>");
	put_escaped(svg, clean, thrum__base_utf8_clean(title, strlen(title), clean, sizeof clean));
	put_string(svg, "</title>\n");
	put_fonts(svg);
	put_string(svg, "<rect width=\"100%\" height=\"100%\"");
	put_colour(svg, "fill", theme, THRUM__COLOUR_BG);
	put_string(svg, "/>\n");
	for (size_t i = 0; i < count; i++)
		put_list(svg, &lists[i], theme);
	put_string(svg, "</svg>\n");
	flush_svg(svg);
}

int thrum__draw_svg(const struct thrum__draw_list *lists, size_t count, int theme,
	const char *title, thrum__draw_sink *sink, void *context)
{
	struct svg *svg = malloc(sizeof *svg);
	int result;

	if (!svg)
		return -THRUM_E_MEMORY;
	svg->sink = sink;
	svg->context = context;
	svg->result = 0;
	svg->used = 0;
	put_picture(svg, lists, count, theme, title);
	result = svg->result;
	free(svg);
	return result;
}
