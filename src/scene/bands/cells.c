/* SPDX-License-Identifier: ISC */
/*
 * The cells of bands. In a cell are the lines of one row of classes in one column of the picture:
 * its tone and thickness say how many, its colour whether they run, red that some failed.
 */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "scene/bands/bands.h"

#define BYTE(colour) ((uint8_t)(THRUM__COLOUR_##colour + 1))
#define CROSS_COLUMNS 5 /* a failure is alone if no other lies within so many columns */
#define CROSS_HEIGHT 6  /* and px */
#define CROSS_HALF 3    /* px: half of a cross */
#define CROSSES_MAX 400 /* of a band; failures beyond them are painted as many */
#define TICK_LEAST 3    /* px: height of a failure among others, at least */
#define FAILED_SMALL 4  /* px: height of a failure in a small band */

/* The bytes of a band: rows of px, each with all columns. */
struct grid {
	uint8_t *bytes;
	uint32_t columns, height;
};

/* Fills a cell's column from a row of px up. Rows are counted from the bottom. */
static void fill_up(const struct grid *grid, uint32_t column, uint32_t bottom, uint32_t thickness,
	uint8_t byte)
{
	for (uint32_t i = 0; i < thickness && bottom + i < grid->height; i++)
		grid->bytes[(size_t)(grid->height - 1 - bottom - i) * grid->columns + column] =
			byte;
}

/* The mark of a cell: how thick, and which colour. */
static uint32_t mark_of(const struct thrum__scene_bands *bands,
	const struct thrum__bands_cell *cell, uint32_t height, bool fades, uint8_t *byte)
{
	uint32_t active = cell->lines - cell->quiet, lines = active > 0 ? active : cell->lines;
	uint32_t thickness = lines == 1   ? (height + 2) / 3
		: lines < bands->tones[0] ? height - 1
					  : height;

	*byte = lines < bands->tones[0]   ? BYTE(PEND)
		: lines < bands->tones[1] ? BYTE(MUTED)
					  : BYTE(EDGE);
	if (active == 0 || fades) {
		*byte = BYTE(FADED);
		return thickness > 0 ? thickness : 1;
	}
	if (cell->ran > 0 && 3 * cell->ran >= 2 * cell->life)
		*byte = BYTE(RUN);
	else if (cell->ran > 0 && 3 * cell->ran >= cell->life)
		*byte = BYTE(SUM);
	return thickness > 0 ? thickness : 1;
}

/* Whether a column's lines step back: they are not related to the selection, or outside of the
 * range. */
static bool is_faded(const struct thrum__bands_pen *pen, uint32_t column)
{
	return pen->p->scene->is_related || column < pen->first || column >= pen->end;
}

/* Whether all lines of a row are outside of the box. */
static bool is_beside(const struct thrum__scene_bands_place *place,
	const struct thrum__bands_box *box, unsigned row)
{
	return (row + 1 < place->rows &&
		       thrum__bands_bound(place->class + (row + 1) * place->per) <=
			       box->shortest) ||
		thrum__bands_bound(place->class + row * place->per) >= box->longest;
}

/* Counts the cells of a place's row; the lowest one has all shorter lines, too, and the highest all
 * longer ones. */
static void count_row(struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_place *place, unsigned row)
{
	unsigned from = row == 0 ? 0 : place->class + row * place->per;
	unsigned to = row + 1 == place->rows ? THRUM__BANDS_CLASSES
					     : place->class + (row + 1) * place->per;

	thrum__bands_cells(bands->all, place->index, from, to - from, &bands->window, bands->cells);
}

/* ---- Failures ------------------------------------------------------------------------------ */

/* Whether no other cell with failures is near. */
static bool is_alone(const uint8_t *failed, uint32_t columns, uint32_t rows, uint32_t row,
	uint32_t column, uint32_t reach)
{
	uint32_t left = column < CROSS_COLUMNS ? 0 : column - CROSS_COLUMNS;
	uint32_t right = column + CROSS_COLUMNS < columns ? column + CROSS_COLUMNS : columns - 1;
	uint32_t low = row < reach ? 0 : row - reach;
	uint32_t high = row + reach < rows ? row + reach : rows - 1;

	for (uint32_t r = low; r <= high; r++)
		for (uint32_t c = left; c <= right; c++)
			if (failed[(size_t)r * columns + c] && (r != row || c != column))
				return false;
	return true;
}

static void paint_cross(const struct thrum__bands_pen *pen, float x, float y)
{
	const int z = THRUM__Z_END, bad = THRUM__COLOUR_BAD;
	const float half = CROSS_HALF;

	thrum__draw_line(pen->p->list, z, bad, x - half, y - half, x + half, y + half, 2);
	thrum__draw_line(pen->p->list, z, bad, x - half, y + half, x + half, y - half, 2);
}

/* Paints the failures of a band: a cross where one is alone, else a tick as high as its class. */
static void paint_failures(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, const struct grid *grid, float bottom)
{
	const uint8_t *failed = pen->bands->failed;
	uint32_t height = (uint32_t)place->row_height, crosses = 0;
	uint32_t thickness = height > TICK_LEAST ? height : TICK_LEAST;

	for (uint32_t row = 0; row < place->rows; row++)
		for (uint32_t column = 0; column < grid->columns; column++) {
			if (!failed[(size_t)row * grid->columns + column])
				continue;
			if (crosses < CROSSES_MAX &&
				is_alone(failed, grid->columns, place->rows, row, column,
					CROSS_HEIGHT / height)) {
				paint_cross(pen,
					pen->left + (float)(column * THRUM__CELL_WIDTH) + 1,
					bottom - ((float)row + 0.5f) * place->row_height);
				crosses++;
				continue;
			}
			fill_up(grid, column, row * height, thickness, BYTE(BAD));
		}
}

static bool reserve_failed(struct thrum__scene_bands *bands, uint32_t count)
{
	uint8_t *failed = thrum__base_grow(bands->failed, &bands->failed_room, count, 1);

	if (failed)
		bands->failed = failed;
	return failed != NULL;
}

/* ---- Bands --------------------------------------------------------------------------------- */

void thrum__bands_paint_band(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	struct thrum__scene_bands *bands = pen->bands;
	const struct thrum__group *group = &bands->all->family.groups[place->index];
	uint32_t columns = bands->window.columns, height = (uint32_t)place->row_height;
	struct grid grid = {
		.columns = columns,
		.height = place->rows * height,
	};
	float bottom = thrum__bands_top(pen, place) + place->base;
	bool has_failed = false, has_box;
	struct thrum__bands_box box;

	has_box = thrum__scene_bands_box(pen->p->scene, &box) && box.group == place->index;
	if (has_box)
		thrum__bands_paint_box(pen, place, &box);
	grid.bytes = thrum__scene_bands_bytes(bands, columns * grid.height);
	if (!grid.bytes || !reserve_failed(bands, columns * place->rows)) {
		pen->p->list->failed = true;
		return;
	}
	for (unsigned row = 0; row < place->rows; row++) {
		uint8_t *failed = bands->failed + (size_t)row * columns;
		bool fades = has_box && is_beside(place, &box, row);

		count_row(bands, place, row);
		for (uint32_t i = 0; i < columns; i++) {
			const struct thrum__bands_cell *cell = &bands->cells[i];
			uint8_t byte;

			failed[i] = cell->failed > 0 && i >= pen->first && i < pen->end && !fades;
			has_failed |= failed[i];
			if (cell->lines == 0)
				continue;
			uint32_t thickness = mark_of(bands, cell, height, fades || is_faded(pen, i),
				&byte);

			fill_up(&grid, i, row * height, thickness, byte);
		}
	}
	if (has_failed && !thrum__bands_all_fail(group))
		paint_failures(pen, place, &grid, bottom);
	thrum__draw_cells(pen->p->list, THRUM__Z_LINE, pen->left, bottom - (float)grid.height,
		columns, grid.height, grid.bytes);
}

void thrum__bands_columns(const struct thrum__bands_pen *pen, int colour, float base,
	const uint16_t *heights, uint32_t room)
{
	struct grid grid = {
		.bytes = thrum__scene_bands_bytes(pen->bands, pen->bands->window.columns * room),
		.columns = pen->bands->window.columns,
		.height = room,
	};

	if (!grid.bytes) {
		pen->p->list->failed = true;
		return;
	}
	for (uint32_t i = 0; i < grid.columns; i++)
		fill_up(&grid, i, 0, heights[i], (uint8_t)(colour + 1));
	thrum__draw_cells(pen->p->list, THRUM__Z_LINE, pen->left, base - (float)room, grid.columns,
		room, grid.bytes);
}

/* Counts the living lines by column. Returns the most, at least 1. */
static uint32_t count_alive(struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_place *place)
{
	uint32_t most = 1;

	thrum__bands_alive(bands->all, place->index, &bands->window, bands->counts);
	for (uint32_t i = 0; i < bands->window.columns; i++)
		most = bands->counts[i] > most ? bands->counts[i] : most;
	return most;
}

void thrum__bands_paint_small(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	struct thrum__scene_bands *bands = pen->bands;
	const struct thrum__group *group = &bands->all->family.groups[place->index];
	const struct thrum__scene_bands_place *other = thrum__bands_other(pen, place);
	uint32_t columns = bands->window.columns, height = (uint32_t)place->base, most;
	uint32_t room = height - 2;
	struct grid grid = {
		.bytes = thrum__scene_bands_bytes(bands, columns * height),
		.columns = columns,
		.height = height,
	};

	if (!grid.bytes) {
		pen->p->list->failed = true;
		return;
	}
	most = count_alive(bands, place);
	if (other)
		most = most > count_alive(pen->other, other) ? most
							     : count_alive(pen->other, other);
	thrum__bands_cells(bands->all, place->index, 0, THRUM__BANDS_CLASSES, &bands->window,
		bands->cells);
	for (uint32_t i = 0; i < columns; i++) {
		uint32_t size = (uint32_t)((uint64_t)bands->counts[i] * room / most);

		fill_up(&grid, i, 0, bands->counts[i] > 0 && size == 0 ? 1 : size, BYTE(FADED));
		if (bands->cells[i].failed > 0 && !thrum__bands_all_fail(group))
			fill_up(&grid, i, 0, FAILED_SMALL, BYTE(BAD));
	}
	thrum__draw_cells(pen->p->list, THRUM__Z_LINE, pen->left, thrum__bands_top(pen, place),
		columns, height, grid.bytes);
}
