/* SPDX-License-Identifier: ISC */
/* Grids of cells: adds them to a display list, and finds their rects. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "draw/list.h"
#include "draw/list_parts.h"

/* A grid's part that is kept: columns `left` … `right`, rows `top` … `bottom`, ends excluded. */
struct part {
	uint32_t left, right, top, bottom;
};

/* Returns how many cells of `size` px lie wholly before `limit` px; at most `count`. */
static uint32_t cells_before(float limit, float size, uint32_t count)
{
	float cells = floorf(limit / size);

	return cells <= 0 ? 0 : cells >= (float)count ? count : (uint32_t)cells;
}

static struct part part_in_sight(const struct thrum__draw_list *list, float x, float y,
	uint32_t columns, uint32_t rows)
{
	return (struct part){
		.left = cells_before(-x, THRUM__CELL_WIDTH, columns),
		.right = cells_before(list->width - x + THRUM__CELL_WIDTH - 1, THRUM__CELL_WIDTH,
			columns),
		.top = cells_before(-y, 1, rows),
		.bottom = cells_before(list->height - y, 1, rows),
	};
}

/* Copies a grid's part; returns whether any cell has a colour. */
static bool copy_cells(uint8_t *to, const uint8_t *from, uint32_t columns, const struct part *part)
{
	unsigned seen = 0;

	for (uint32_t row = part->top; row < part->bottom; row++) {
		for (uint32_t column = part->left; column < part->right; column++) {
			uint8_t byte = from[(size_t)row * columns + column];

			*to = byte <= THRUM__COLOUR_COUNT ? byte : 0;
			seen |= *to++;
		}
	}
	return seen > 0;
}

void thrum__draw_cells(struct thrum__draw_list *list, int z, float x, float y, uint32_t columns,
	uint32_t rows, const uint8_t *bytes)
{
	struct thrum__draw_style style = {.op = THRUM__OP_CELLS, .z = (uint8_t)z};
	struct thrum__draw_cells *item;
	struct part part;
	uint64_t size;

	if (!(fabsf(x) < 1e6f && fabsf(y) < 1e6f))
		return;
	x = floorf(x + 0.5f);
	y = floorf(y + 0.5f);
	part = part_in_sight(list, x, y, columns, rows);
	if (part.left >= part.right || part.top >= part.bottom)
		return;
	size = (uint64_t)(part.right - part.left) * (part.bottom - part.top);
	if (!thrum__draw_list_reserve_text(list, size) ||
		!copy_cells((uint8_t *)list->text + list->text_size, bytes, columns, &part))
		return;
	item = thrum__draw_list_add(list, &style, 1);
	if (!item)
		return;
	*item = (struct thrum__draw_cells){x + (float)(part.left * THRUM__CELL_WIDTH),
		y + (float)part.top, part.right - part.left, part.bottom - part.top,
		list->text_size};
	list->text_size += (uint32_t)size;
}

/* ---- Rects --------------------------------------------------------------------------------- */

/* Returns the end of the run of cells that equal `byte`, from a column on. */
static uint32_t run_end(const uint8_t *cells, uint32_t column, uint32_t columns, uint8_t byte)
{
	while (column < columns && cells[column] == byte)
		column++;
	return column;
}

/* Whether a row has exactly the run start … end of `byte`. */
static bool has_run(const uint8_t *cells, uint32_t start, uint32_t end, uint32_t columns,
	uint8_t byte)
{
	return (start == 0 || cells[start - 1] != byte) &&
		run_end(cells, start, columns, byte) == end;
}

bool thrum__draw_cells_next(const struct thrum__draw_list *list,
	const struct thrum__draw_cells *cells, int colour, uint32_t *row, uint32_t *column,
	struct thrum__draw_rect *rect)
{
	const uint8_t *bytes = (const uint8_t *)list->text + cells->offset;
	uint32_t columns = cells->columns;
	uint8_t byte = (uint8_t)(colour + 1);

	for (; *row < cells->rows; ++*row, *column = 0) {
		const uint8_t *here = bytes + (size_t)*row * columns;

		while (*column < columns) {
			const uint8_t *found = memchr(here + *column, byte, columns - *column);
			uint32_t start = found ? (uint32_t)(found - here) : columns;
			uint32_t end = run_end(here, start, columns, byte), height = 1;

			*column = end;
			if (!found ||
				(*row > 0 && has_run(here - columns, start, end, columns, byte)))
				continue;
			while (*row + height < cells->rows &&
				has_run(here + (size_t)height * columns, start, end, columns, byte))
				height++;
			*rect = (struct thrum__draw_rect){cells->x +
					(float)(start * THRUM__CELL_WIDTH),
				cells->y + (float)*row, (float)((end - start) * THRUM__CELL_WIDTH),
				(float)height};
			return true;
		}
	}
	return false;
}
