/* SPDX-License-Identifier: ISC */
/* The screen of `thrum top`: cells with styles. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "live/top/top.h"

static const char *const eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
static const char *const heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const ascii_heights[] = {" ", "_", ".", ".", ":", ":", "=", "=", "#"};

int top_screen_resize(struct top_screen *screen, int width, int height)
{
	struct top_cell *cells;

	if (width < 1 || height < 1)
		width = height = 1;
	cells = realloc(screen->cells, (size_t)width * (size_t)height * sizeof(*cells));
	if (!cells)
		return -1;
	memset(cells, 0, (size_t)width * (size_t)height * sizeof(*cells));
	screen->cells = cells;
	screen->width = width;
	screen->height = height;
	return 0;
}

void top_screen_finish(struct top_screen *screen)
{
	free(screen->cells);
	*screen = (struct top_screen){0};
}

/* Returns a cell, or NULL beyond the screen's edge. */
static struct top_cell *cell_at(struct top_screen *screen, int y, int x)
{
	if (y < 0 || x < 0 || y >= screen->height || x >= screen->width)
		return NULL;
	return &screen->cells[(size_t)y * (size_t)screen->width + (size_t)x];
}

static void put_cell(struct top_screen *screen, int y, int x, enum top_style style,
	const char *text, size_t size)
{
	struct top_cell *cell = cell_at(screen, y, x);

	if (!cell)
		return;
	memcpy(cell->text, text, size);
	cell->text[size] = '\0';
	cell->style = (uint8_t)style;
}

/* A character of a text, made harmless. */
struct character {
	char text[5];
	size_t size; /* of the text */
	int columns;
};

/* Reads the next character. Returns how many bytes of the text it takes. */
static size_t next_character(const struct top_screen *screen, const char *text, size_t left,
	struct character *to)
{
	uint32_t character;
	size_t size = thrum__base_utf8_decode(text, left, &character);

	if (size == 0)
		size = 1;
	to->size = thrum__base_utf8_clean(text, size, to->text, 4);
	to->columns = (int)thrum__base_utf8_columns(character);
	if (screen->is_ascii && (uint8_t)to->text[0] >= 0x80) {
		to->text[0] = '?';
		to->size = 1;
		to->columns = 1;
	}
	if (to->columns == 0 && (uint8_t)text[0] < 0x80)
		to->columns = 1; /* a control character became U+FFFD */
	return size;
}

static int columns_of(const struct top_screen *screen, const char *text)
{
	size_t left = strlen(text), size;
	struct character c;
	int columns = 0;

	for (; left > 0; text += size, left -= size) {
		size = next_character(screen, text, left, &c);
		columns += c.columns;
	}
	return columns;
}

int top_put(struct top_screen *screen, int y, int x, int width, enum top_style style,
	const char *text)
{
	bool is_cut = columns_of(screen, text) > width;
	size_t left = strlen(text), size;
	struct character c;
	int used = 0;

	if (width <= 0)
		return 0;
	for (; left > 0; text += size, left -= size) {
		size = next_character(screen, text, left, &c);
		/* Marks that combine with the character before have no cell of their own. */
		if (c.columns == 0)
			continue;
		if (used + c.columns > width - is_cut)
			break;
		put_cell(screen, y, x + used, style, c.text, c.size);
		if (c.columns == 2)
			put_cell(screen, y, x + used + 1, style, "", 0);
		used += c.columns;
	}
	if (is_cut) {
		const char *ellipsis = screen->is_ascii ? "~" : THRUM__ELLIPSIS;

		put_cell(screen, y, x + used++, style, ellipsis, strlen(ellipsis));
	}
	return used;
}

int top_put_right(struct top_screen *screen, int y, int x, int width, enum top_style style,
	const char *text)
{
	int columns = columns_of(screen, text);

	if (columns < width)
		x += width - columns;
	return top_put(screen, y, x, columns < width ? columns : width, style, text);
}

void top_select_line(struct top_screen *screen, int y, int width)
{
	for (int x = 0; x < width; x++) {
		struct top_cell *cell = cell_at(screen, y, x);

		if (cell)
			cell->is_selected = 1;
	}
}

void top_bar(struct top_screen *screen, int y, int x, int width, double share)
{
	int filled;

	if (isnan(share))
		return;
	filled = (int)lround(fmin(fmax(share, 0), 1) * width * 8);
	for (int i = 0; i < width && filled > 0; i++, filled -= 8) {
		const char *text = screen->is_ascii ? filled >= 4 ? "#" : " "
						    : eighths[filled < 8 ? filled : 8];

		put_cell(screen, y, x + i, TOP_BAR, text, strlen(text));
	}
}

/* The least and the greatest of some points; the greatest is at least 0. */
static void find_range(const double *points, size_t count, double *least, double *most)
{
	*least = INFINITY;
	*most = 0;
	for (size_t i = 0; i < count; i++) {
		*least = fmin(*least, points[i]);
		*most = fmax(*most, points[i]);
	}
}

void top_chart(struct top_screen *screen, int y, int x, int width, int height, const double *points,
	size_t count, double full)
{
	const char *const *blocks = screen->is_ascii ? ascii_heights : heights;
	double eighths_high = height == 1 ? 7 : 8 * height, least, most;

	if (width <= 0)
		return;
	if (count > (size_t)width) {
		points += count - (size_t)width;
		count = (size_t)width;
	}
	x += width - (int)count;
	find_range(points, count, &least, &most);
	if (full <= 0 && height == 1 && least == most)
		eighths_high = 2;
	for (size_t i = 0; i < count; i++, x++) {
		double share = points[i] > 0 ? fmin(points[i] / (full > 0 ? full : most), 1) : 0;
		int filled = (int)ceil(share * eighths_high);

		if (isnan(points[i]))
			continue;
		/* Zero is a thin line too, so that one sees since when there are numbers. */
		if (filled == 0)
			put_cell(screen, y + height - 1, x, TOP_DIM, blocks[1], strlen(blocks[1]));
		for (int line = height - 1; line >= 0 && filled > 0; line--, filled -= 8) {
			const char *text = blocks[filled < 8 ? filled : 8];

			put_cell(screen, y + line, x, TOP_BAR, text, strlen(text));
		}
	}
}

void top_screen_print(const struct top_screen *screen, struct output *out)
{
	for (int y = 0; y < screen->height; y++) {
		const struct top_cell *line = &screen->cells[(size_t)y * (size_t)screen->width];
		int width = screen->width;

		while (width > 0 && (!line[width - 1].text[0] || line[width - 1].text[0] == ' '))
			width--;
		for (int x = 0; x < width; x++) {
			uint32_t character;
			const char *text = line[x].text[0] ? line[x].text : " ";
			size_t size = strlen(text);

			thrum__base_utf8_decode(text, size, &character);
			output_bytes(out, text, size);
			if (thrum__base_utf8_columns(character) == 2)
				x++;
		}
		output_text(out, "\n");
	}
}
