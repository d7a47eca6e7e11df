/* SPDX-License-Identifier: ISC */
/* Writes a display list as text, for tests, and counts its items. */
#include <math.h>

#include "base/hash.h"
#include "base/text.h"
#include "draw/list.h"

#define NUMBER_MAX 24

/* Writes a number with at most so many decimals (0 to 2) and without needless zeros; returns its
 * size. */
static size_t format_number(char to[NUMBER_MAX], float value, int decimals)
{
	double scale = decimals > 1 ? 100 : decimals == 1 ? 10 : 1;
	double scaled = fabs((double)value) * scale + 0.5;
	uint64_t rest = scaled < 1e15 ? (uint64_t)scaled : 0; /* NAN too */
	char digits[NUMBER_MAX];
	size_t size = 0, count = 0;

	for (; decimals > 0 && rest % 10 == 0; decimals--)
		rest /= 10;
	if (value < 0 && rest > 0)
		to[size++] = '-';
	while (rest > 0 || count <= (size_t)decimals) {
		if (decimals > 0 && count == (size_t)decimals)
			digits[count++] = '.', decimals = 0;
		digits[count++] = (char)('0' + rest % 10);
		rest /= 10;
	}
	while (count > 0)
		to[size++] = digits[--count];
	return size;
}

void thrum__draw_list_count(const struct thrum__draw_list *list, size_t *rects, size_t *others)
{
	*rects = *others = 0;
	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];
		const struct thrum__draw_point *points = batch->items;

		if (batch->style.op == THRUM__OP_RECT)
			*rects += batch->count;
		else if (batch->style.op != THRUM__OP_POLY)
			*others += batch->count;
		else
			for (uint32_t k = 0; k < batch->count; k++)
				*others += isnan(points[k].x) ? 1 : 0;
	}
}

/* ---- Text ---------------------------------------------------------------------------------- */

static void print_numbers(struct thrum__base_text *to, const float *numbers, size_t count)
{
	char number[NUMBER_MAX];

	for (size_t i = 0; i < count; i++) {
		thrum__base_text_put(to, " ");
		thrum__base_text_bytes(to, number, format_number(number, numbers[i], 2));
	}
}

/* Prints "z op colour", then the fill, width, dash or font that the op uses. */
static void print_style(struct thrum__base_text *to, const struct thrum__draw_style *style)
{
#define THRUM__X(NAME, word, ...) word,
	static const char *const dashes[] = {THRUM__DASHES(THRUM__X)};
#undef THRUM__X
	static const char *const ops[] = {"rect", "line", "poly", "tri", "ring", "text", "cells"};
	char number[NUMBER_MAX];

	thrum__base_text_bytes(to, number, format_number(number, style->z, 0));
	thrum__base_text_put(to, " ");
	thrum__base_text_put(to, ops[style->op]);
	if (style->op != THRUM__OP_CELLS) {
		thrum__base_text_put(to, " ");
		thrum__base_text_put(to, thrum__draw_colour_name(style->colour));
	}
	if (style->op == THRUM__OP_RING) {
		thrum__base_text_put(to, " ");
		thrum__base_text_put(to, thrum__draw_colour_name(style->fill));
	}
	if (style->op == THRUM__OP_LINE || style->op == THRUM__OP_POLY ||
		style->op == THRUM__OP_RING)
		print_numbers(to, &style->width, 1);
	if (style->op == THRUM__OP_LINE || style->op == THRUM__OP_POLY) {
		thrum__base_text_put(to, " ");
		thrum__base_text_put(to, dashes[style->dash]);
	}
	if (style->op == THRUM__OP_TEXT) {
		thrum__base_text_put(to, " ");
		thrum__base_text_put(to, thrum__draw_font_name(style->font));
		if (style->is_volatile)
			thrum__base_text_put(to, " volatile");
	}
}

/* Prints a grid's place and size, how many cells each colour has, and a hash of them all. */
static void print_cells(struct thrum__base_text *to, const struct thrum__draw_list *list,
	const struct thrum__draw_cells *cells)
{
	const char *bytes = list->text + cells->offset;
	size_t count = (size_t)cells->columns * cells->rows;
	uint32_t counts[THRUM__COLOUR_COUNT + 1] = {0}, hash = THRUM__HASH_START;

	for (size_t i = 0; i < count; i++) {
		counts[(unsigned char)bytes[i]]++;
		hash = thrum__base_hash_byte(hash, (unsigned char)bytes[i]);
	}
	print_numbers(to, &cells->x, 2);
	thrum__base_text_put(to, " ");
	thrum__base_text_number(to, cells->columns);
	thrum__base_text_put(to, " ");
	thrum__base_text_number(to, cells->rows);
	for (int colour = 0; colour < THRUM__COLOUR_COUNT; colour++) {
		if (counts[colour + 1] == 0)
			continue;
		thrum__base_text_put(to, " ");
		thrum__base_text_put(to, thrum__draw_colour_name(colour));
		thrum__base_text_put(to, ":");
		thrum__base_text_number(to, counts[colour + 1]);
	}
	thrum__base_text_put(to, " #");
	thrum__base_text_number(to, hash);
}

/* Prints one item; returns how many of the batch's elements it has: a polyline has all its
 * points. */
static uint32_t print_item(struct thrum__base_text *to, const struct thrum__draw_list *list,
	const struct thrum__draw_batch *batch, uint32_t at)
{
	const float *numbers = batch->items;
	const struct thrum__draw_text *text = batch->items;
	const struct thrum__draw_point *points = batch->items;
	uint32_t count = 1;

	switch (batch->style.op) {
	case THRUM__OP_RECT:
	case THRUM__OP_LINE: print_numbers(to, numbers + 4 * (size_t)at, 4); break;
	case THRUM__OP_TRI: print_numbers(to, numbers + 6 * (size_t)at, 6); break;
	case THRUM__OP_RING: print_numbers(to, numbers + 3 * (size_t)at, 3); break;
	case THRUM__OP_POLY:
		for (; !isnan(points[at].x); at++, count++)
			print_numbers(to, &points[at].x, 2);
		break;
	case THRUM__OP_CELLS:
		print_cells(to, list, (const struct thrum__draw_cells *)batch->items + at);
		break;
	default:
		print_numbers(to, &text[at].x, 2);
		thrum__base_text_put(to, " ");
		thrum__base_text_bytes(to, list->text + text[at].offset, text[at].size);
	}
	thrum__base_text_put(to, "\n");
	return count;
}

size_t thrum__draw_list_print(const struct thrum__draw_list *list, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);

	for (uint32_t i = 0; i < list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &list->batches[i];

		for (uint32_t k = 0; k < batch->count;) {
			print_style(&text, &batch->style);
			k += print_item(&text, list, batch, k);
		}
	}
	return text.size;
}
