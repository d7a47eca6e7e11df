/* SPDX-License-Identifier: ISC */
/* Fills a display list: puts each item into the batch of its style, on whole pixels. Grids of cells
 * are in cells.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "draw/list.h"
#include "draw/list_parts.h"

void thrum__draw_list_init(struct thrum__draw_list *list)
{
	memset(list, 0, sizeof *list);
}

void thrum__draw_list_finish(struct thrum__draw_list *list)
{
	for (uint32_t i = 0; i < list->batch_room; i++)
		free(list->batches[i].items);
	free(list->batches);
	free(list->text);
	thrum__draw_list_init(list);
}

#define SIZE_MOST 1e6f /* px, so that coordinates fit an int */

void thrum__draw_list_clear(struct thrum__draw_list *list, float width, float height)
{
	/* Batches behind the count keep the memory of their items. */
	for (uint32_t i = 0; i < list->batch_count; i++)
		list->batches[i].count = 0;
	list->batch_count = 0;
	list->last = 0;
	list->text_size = 0;
	list->failed = false;
	list->width = width > 0 ? fminf(width, SIZE_MOST) : 0;
	list->height = height > 0 ? fminf(height, SIZE_MOST) : 0;
}

size_t thrum__draw_dash_lengths(int dash, float lengths[4])
{
#define THRUM__X(NAME, ...) {__VA_ARGS__},
	static const struct {
		const char *word;
		uint8_t a, b, c, d;
	} table[] = {THRUM__DASHES(THRUM__X)};
#undef THRUM__X

	if (dash <= THRUM__DASH_SOLID || dash >= THRUM__DASH_COUNT)
		return 0;
	lengths[0] = table[dash].a;
	lengths[1] = table[dash].b;
	lengths[2] = table[dash].c;
	lengths[3] = table[dash].d;
	return lengths[2] > 0 ? 4 : 2;
}

/* ---- Batches ------------------------------------------------------------------------------- */

static size_t item_size(int op)
{
	switch (op) {
	case THRUM__OP_RECT: return sizeof(struct thrum__draw_rect);
	case THRUM__OP_LINE: return sizeof(struct thrum__draw_segment);
	case THRUM__OP_POLY: return sizeof(struct thrum__draw_point);
	case THRUM__OP_TRI: return 3 * sizeof(struct thrum__draw_point);
	case THRUM__OP_RING: return sizeof(struct thrum__draw_circle);
	case THRUM__OP_CELLS: return sizeof(struct thrum__draw_cells);
	default: return sizeof(struct thrum__draw_text);
	}
}

static bool same_style(const struct thrum__draw_style *a, const struct thrum__draw_style *b)
{
	return a->op == b->op && a->z == b->z && a->colour == b->colour && a->fill == b->fill &&
		a->dash == b->dash && a->font == b->font && a->is_volatile == b->is_volatile &&
		a->width == b->width;
}

/* Grows an array (`table` points to the pointer) until `wanted` elements fit; false: no memory. */
static bool reserve_elements(void *table, uint32_t *room, uint64_t wanted, size_t size)
{
	void *array;

	memcpy(&array, table, sizeof array);
	array = thrum__base_grow(array, room, wanted, size);
	if (array)
		memcpy(table, &array, sizeof array);
	return array != NULL;
}

/* Returns the batch of a style, or NULL. There are few styles, and mostly it is the last one
 * again. */
static struct thrum__draw_batch *find_batch(struct thrum__draw_list *list,
	const struct thrum__draw_style *style)
{
	uint32_t before = list->batch_room;

	if (list->last < list->batch_count && same_style(&list->batches[list->last].style, style))
		return &list->batches[list->last];
	for (uint32_t i = 0; i < list->batch_count; i++) {
		if (same_style(&list->batches[i].style, style)) {
			list->last = i;
			return &list->batches[i];
		}
	}
	if (list->batch_count == before) {
		if (!reserve_elements(&list->batches, &list->batch_room, (uint64_t)before + 1,
			    sizeof *list->batches))
			return NULL;
		memset(&list->batches[before], 0,
			(list->batch_room - before) * sizeof *list->batches);
	}
	list->last = list->batch_count++;
	return &list->batches[list->last];
}

void *thrum__draw_list_add(struct thrum__draw_list *list, const struct thrum__draw_style *style,
	size_t count)
{
	struct thrum__draw_batch *batch = find_batch(list, style);
	size_t size = item_size(style->op);

	if (!batch) {
		list->failed = true;
		return NULL;
	}
	if (batch->count == 0) {
		/* In an earlier frame the batch may have had smaller items. */
		if (item_size(batch->style.op) < size)
			batch->room = (uint32_t)(batch->room * item_size(batch->style.op) / size);
		batch->style = *style;
	}
	if (batch->room - batch->count < count &&
		!reserve_elements(&batch->items, &batch->room, (uint64_t)batch->count + count,
			size)) {
		list->failed = true;
		return NULL;
	}
	batch->count += (uint32_t)count;
	return (char *)batch->items + (batch->count - count) * size;
}

bool thrum__draw_list_reserve_text(struct thrum__draw_list *list, uint64_t size)
{
	if (list->text_room - list->text_size >= size ||
		reserve_elements(&list->text, &list->text_room, list->text_size + size, 1))
		return true;
	list->failed = true;
	return false;
}

void thrum__draw_list_sort(struct thrum__draw_list *list)
{
	/* Insertion sort: it is stable, and painters come nearly in the order of z. */
	for (uint32_t i = 1; i < list->batch_count; i++) {
		struct thrum__draw_batch batch = list->batches[i];
		uint32_t at = i;

		for (; at > 0 && list->batches[at - 1].style.z > batch.style.z; at--)
			list->batches[at] = list->batches[at - 1];
		list->batches[at] = batch;
	}
	/* Only batches whose items got no memory are empty. */
	for (uint32_t i = 0; i < list->batch_count;) {
		struct thrum__draw_batch batch = list->batches[i];

		if (batch.count > 0) {
			i++;
			continue;
		}
		list->batch_count--;
		memmove(&list->batches[i], &list->batches[i + 1],
			(list->batch_count - i) * sizeof batch);
		list->batches[list->batch_count] = batch;
	}
	list->last = 0;
}

/* ---- Items --------------------------------------------------------------------------------- */

/* Rounds down a clipped coordinate, which an int can hold. */
static float floor_of(float v)
{
	float whole = (float)(int)v;

	return whole > v ? whole - 1 : whole;
}

static float whole(float v)
{
	return floor_of(v + 0.5f);
}

static float clip(float v, float least, float most)
{
	return v < least ? least : v > most ? most : v;
}

static float smaller(float a, float b)
{
	return a < b ? a : b;
}

static float larger(float a, float b)
{
	return a > b ? a : b;
}

/* Whether a box is finite and touches the list's rectangle. */
static bool is_seen(const struct thrum__draw_list *list, float x1, float y1, float x2, float y2)
{
	return isfinite(x1) && isfinite(y1) && isfinite(x2) && isfinite(y2) && x2 >= 0 &&
		x1 <= list->width && y2 >= 0 && y1 <= list->height && x1 <= x2 && y1 <= y2;
}

/* Adds the rect of the whole pixels of x1 … x2 and y1 … y2, at least one of each. */
static void add_rect(struct thrum__draw_list *list, int z, int colour, float x1, float y1, float x2,
	float y2)
{
	struct thrum__draw_style style = {.op = THRUM__OP_RECT,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour};
	struct thrum__draw_rect *rect;

	if (!is_seen(list, x1, y1, x2, y2))
		return;
	x1 = whole(clip(x1, 0, list->width));
	y1 = whole(clip(y1, 0, list->height));
	x2 = whole(clip(x2, 0, list->width));
	y2 = whole(clip(y2, 0, list->height));
	rect = thrum__draw_list_add(list, &style, 1);
	if (rect)
		*rect = (struct thrum__draw_rect){x1, y1, larger(1, x2 - x1), larger(1, y2 - y1)};
}

void thrum__draw_rect(struct thrum__draw_list *list, int z, int colour, float x, float y,
	float width, float height)
{
	add_rect(list, z, colour, x, y, x + larger(0, width), y + larger(0, height));
}

/* Returns where the pixels of a horizontal or vertical line begin, across it. The line's middle
 * lies on `at` or half a pixel off. */
static float line_edge(float at, float width)
{
	if (!(at > -1e6f && at < 1e6f))
		return NAN;
	return (int)width % 2 ? floor_of(at) - (width - 1) / 2 : whole(at) - width / 2;
}

/* Returns the start of a dashed line. One far outside comes nearer by whole periods: so the dashes
 * in sight stay where they are. */
static float dash_start(float from, int dash)
{
	float lengths[4], period = 0;
	size_t count = thrum__draw_dash_lengths(dash, lengths);

	for (size_t i = 0; i < count; i++)
		period += lengths[i];
	return from < 0 && from > -1e7f && period > 0 ? from + floor_of(-from / period) * period
						      : larger(0, from);
}

/* Adds a dashed line. */
static void add_dashed(struct thrum__draw_list *list, const struct thrum__draw_style *style,
	struct thrum__draw_segment line)
{
	struct thrum__draw_segment *item;

	if (!is_seen(list, line.x1, line.y1, line.x2, line.y2))
		return;
	item = thrum__draw_list_add(list, style, 1);
	if (item)
		*item = line;
}

void thrum__draw_horizontal(struct thrum__draw_list *list, int z, int colour, float x1, float x2,
	float y, float width, int dash)
{
	struct thrum__draw_style style = {.op = THRUM__OP_LINE,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour,
		.dash = (uint8_t)dash,
		.width = width};
	float top = line_edge(y, width), left = smaller(x1, x2), right = larger(x1, x2);

	if (!isfinite(x1) || !isfinite(x2))
		return;
	if (dash == THRUM__DASH_SOLID) {
		add_rect(list, z, colour, left, top, right, top + width);
		return;
	}
	top += width / 2;
	left = dash_start(left, dash);
	add_dashed(list, &style,
		(struct thrum__draw_segment){left, top, smaller(right, list->width), top});
}

void thrum__draw_vertical(struct thrum__draw_list *list, int z, int colour, float x, float y1,
	float y2, float width, int dash)
{
	struct thrum__draw_style style = {.op = THRUM__OP_LINE,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour,
		.dash = (uint8_t)dash,
		.width = width};
	float left = line_edge(x, width), top = smaller(y1, y2), bottom = larger(y1, y2);

	if (!isfinite(y1) || !isfinite(y2))
		return;
	if (dash == THRUM__DASH_SOLID) {
		add_rect(list, z, colour, left, top, left + width, bottom);
		return;
	}
	left += width / 2;
	top = dash_start(top, dash);
	add_dashed(list, &style,
		(struct thrum__draw_segment){left, top, left, smaller(bottom, list->height)});
}

void thrum__draw_line(struct thrum__draw_list *list, int z, int colour, float x1, float y1,
	float x2, float y2, float width)
{
	struct thrum__draw_style style = {.op = THRUM__OP_LINE,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour,
		.width = width};
	struct thrum__draw_segment *item;

	if (!isfinite(x1 + x2) || !isfinite(y1 + y2) ||
		!is_seen(list, smaller(x1, x2) - width, smaller(y1, y2) - width,
			larger(x1, x2) + width, larger(y1, y2) + width))
		return;
	item = thrum__draw_list_add(list, &style, 1);
	if (item)
		*item = (struct thrum__draw_segment){x1, y1, x2, y2};
}

/* Whether points are all finite, and their box, `slack` pixels larger, touches the list's
 * rectangle. */
static bool are_seen(const struct thrum__draw_list *list, const struct thrum__draw_point *points,
	size_t count, float slack)
{
	float x1 = INFINITY, y1 = INFINITY, x2 = -INFINITY, y2 = -INFINITY;

	for (size_t i = 0; i < count; i++) {
		if (!isfinite(points[i].x) || !isfinite(points[i].y))
			return false;
		x1 = smaller(x1, points[i].x);
		y1 = smaller(y1, points[i].y);
		x2 = larger(x2, points[i].x);
		y2 = larger(y2, points[i].y);
	}
	return is_seen(list, x1 - slack, y1 - slack, x2 + slack, y2 + slack);
}

#define OUTSIDE 64 /* px that polylines go on outside of the list's rectangle */

void thrum__draw_polyline(struct thrum__draw_list *list, int z, int colour,
	const struct thrum__draw_point *points, size_t count, float width, int dash)
{
	struct thrum__draw_style style = {.op = THRUM__OP_POLY,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour,
		.dash = (uint8_t)dash,
		.width = width};
	struct thrum__draw_point *to;

	if (count < 2 || !are_seen(list, points, count, width))
		return;
	to = thrum__draw_list_add(list, &style, count + 1);
	if (!to)
		return;
	/* Long polylines go horizontally or vertically only: so clipping each point is exact. */
	for (size_t i = 0; i < count; i++) {
		to[i].x = clip(points[i].x, -OUTSIDE, list->width + OUTSIDE);
		to[i].y = clip(points[i].y, -OUTSIDE, list->height + OUTSIDE);
	}
	to[count] = (struct thrum__draw_point){NAN, 0};
}

void thrum__draw_triangle(struct thrum__draw_list *list, int z, int colour,
	const struct thrum__draw_point points[3])
{
	struct thrum__draw_style style = {.op = THRUM__OP_TRI,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour};
	struct thrum__draw_point *to = are_seen(list, points, 3, 0)
		? thrum__draw_list_add(list, &style, 1)
		: NULL;

	if (to)
		memcpy(to, points, 3 * sizeof *to);
}

void thrum__draw_ring(struct thrum__draw_list *list, int z, int colour, int fill, float x, float y,
	float radius, float width)
{
	struct thrum__draw_style style = {.op = THRUM__OP_RING,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour,
		.fill = (uint8_t)fill,
		.width = width};
	float room = radius + width;
	struct thrum__draw_circle *item;

	if (!is_seen(list, x - room, y - room, x + room, y + room))
		return;
	item = thrum__draw_list_add(list, &style, 1);
	if (item)
		*item = (struct thrum__draw_circle){x, y, radius};
}

#define TEXT_MAX 400 /* bytes shown of a text; no picture has room for more */

void thrum__draw_text(struct thrum__draw_list *list, int z, int colour, int font, float x, float y,
	const char *text, size_t size, bool is_volatile)
{
	struct thrum__draw_style style = {.op = THRUM__OP_TEXT,
		.z = (uint8_t)z,
		.colour = (uint8_t)colour,
		.font = (uint8_t)font,
		.is_volatile = is_volatile};
	float height = (float)thrum__draw_font_size(font) * 2;
	struct thrum__draw_text *item;

	/* The text's width isn't known here: it may reach the right edge. */
	if (size == 0 || !isfinite(x) || !is_seen(list, x, y - height, list->width, y + height))
		return;
	if (!thrum__draw_list_reserve_text(list, TEXT_MAX))
		return;
	item = thrum__draw_list_add(list, &style, 1);
	if (!item)
		return;
	size = thrum__base_utf8_clean(text, size, list->text + list->text_size, TEXT_MAX);
	*item = (struct thrum__draw_text){x, y, list->text_size, (uint32_t)size};
	list->text_size += (uint32_t)size;
}
