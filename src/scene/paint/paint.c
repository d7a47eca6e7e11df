/* SPDX-License-Identifier: ISC */
/* Functions that the painters share: texts that fit, taken places, times as pixels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "scene/paint/paint.h"

#define FIT_MAX 512 /* bytes of a text that are looked at */
#define FEWEST 5    /* characters that a cut text keeps, at least */
#define ELLIPSIS "\xe2\x80\xa6"

/* ---- Texts --------------------------------------------------------------------------------- */

float thrum__paint_width(const struct thrum__paint *p, const char *text, size_t size, int font)
{
	return size == 0 ? 0 : p->metrics->width(p->metrics->context, text, size, font);
}

/* Returns the offset of character n of a clean text, or its size. */
static size_t offset_of(const char *text, size_t size, size_t n)
{
	size_t at = 0;

	while (at < size && n-- > 0)
		for (at++; at < size && ((unsigned char)text[at] & 0xc0) == 0x80;)
			at++;
	return at;
}

/* Replaces blanks and punctuation at the end of a text by an ellipsis, for which there must be
 * room. Returns the size. */
static size_t add_ellipsis(char *text, size_t size)
{
	while (size > 0 && strchr(" ._-", text[size - 1]))
		size--;
	memcpy(text + size, ELLIPSIS, sizeof ELLIPSIS - 1);
	return size + sizeof ELLIPSIS - 1;
}

size_t thrum__paint_fit(const struct thrum__paint *p, const char *text, size_t size, int font,
	float room, char *to, size_t to_size)
{
	char clean[FIT_MAX], cut[FIT_MAX + sizeof ELLIPSIS];
	size_t low = FEWEST, high, used = 0;

	if (to_size == 0)
		return 0;
	to[0] = '\0';
	size = thrum__base_utf8_clean(text, size, clean, sizeof clean);
	if (size < to_size && thrum__paint_width(p, clean, size, font) <= room) {
		memcpy(to, clean, size);
		to[size] = '\0';
		return size;
	}
	/* The largest number of characters that fits is in low - 1 … high - 1. */
	for (high = size; low < high;) {
		size_t middle = low + (high - low) / 2, end = offset_of(clean, size, middle), n;

		memcpy(cut, clean, end);
		n = add_ellipsis(cut, end);
		if (end < size && n < to_size && thrum__paint_width(p, cut, n, font) <= room) {
			memcpy(to, cut, n);
			used = n;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	to[used] = '\0';
	return used;
}

size_t thrum__paint_fit_before(const struct thrum__paint *p, const char *text, size_t size,
	const char *tail, int font, float room, char *to, size_t to_size)
{
	size_t end = strlen(tail), used;

	room -= end > 0 ? thrum__paint_width(p, tail, end, font) : 0;
	if (end >= to_size || room < 0) {
		to[0] = '\0';
		return 0;
	}
	used = thrum__paint_fit(p, text, size, font, room, to, to_size - end);
	memcpy(to + used, tail, end + 1);
	return used + end;
}

/* ---- Places -------------------------------------------------------------------------------- */

bool thrum__paint_boxes_hit(const struct thrum__paint_boxes *boxes, float x, float y, float width,
	float height)
{
	for (uint32_t i = 0; i < boxes->count; i++) {
		const struct thrum__draw_rect *r = &boxes->rects[i];

		if (x < r->x + r->width && r->x < x + width && y < r->y + r->height &&
			r->y < y + height)
			return true;
	}
	return false;
}

void thrum__paint_boxes_add(struct thrum__paint_boxes *boxes, float x, float y, float width,
	float height)
{
	struct thrum__draw_rect *rects = thrum__base_grow(boxes->rects, &boxes->room,
		boxes->count + UINT64_C(1), sizeof *rects);

	/* Without memory names may overlap, which is better than none. */
	if (!rects)
		return;
	boxes->rects = rects;
	boxes->rects[boxes->count++] = (struct thrum__draw_rect){x, y, width, height};
}

uint32_t *thrum__paint_scratch(struct thrum__paint *p, uint32_t count)
{
	struct thrum__paint_memory *memory = p->memory;

	uint32_t *scratch = thrum__base_grow(memory->scratch, &memory->scratch_room, count,
		sizeof *scratch);

	if (scratch)
		memory->scratch = scratch;
	else
		p->list->failed = true;
	return scratch;
}

/* ---- Times --------------------------------------------------------------------------------- */

int64_t thrum__paint_span(const struct thrum__paint *p, float pixels)
{
	double ns = p->time->scale > 0 ? (double)pixels / p->time->scale : 0;

	return ns < 1 ? 1 : ns < 4e18 ? (int64_t)ns : (int64_t)4e18;
}

float thrum__paint_clamped(const struct thrum__paint *p, int64_t time)
{
	float x = thrum__paint_x(p, time == THRUM__OPEN ? p->model->end : time);

	return x < -4 ? -4 : x > p->right + 4 ? p->right + 4 : x;
}

const struct thrum__scene_track_box *thrum__paint_box(const struct thrum__paint *p, uint32_t unit)
{
	const struct thrum__layout *layout = p->layout;

	if (unit >= layout->unit_count || layout->units[unit].task == THRUM__NONE ||
		layout->units[unit].track == THRUM__NONE)
		return NULL;
	return thrum__scene_track_axis_find(p->tracks, thrum__layout_track(layout, unit));
}

float thrum__paint_run_width(const struct thrum__paint *p, uint32_t unit, int64_t time)
{
	struct thrum__index_stretch run;
	struct thrum__index_walk walk;

	/* Units of a track don't overlap, so a run in it at that time is this unit's. */
	thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_RUNS,
		thrum__layout_track(p->layout, unit), 1, time, time, thrum__paint_span(p, 2));
	while (thrum__index_walk_next(&walk, &run) && run.start <= time)
		if (run.end >= time)
			return thrum__paint_clamped(p, run.end) -
				thrum__paint_clamped(p, run.start);
	return 0;
}

bool thrum__paint_is_running(const struct thrum__paint *p, uint32_t unit, int64_t time)
{
	return thrum__paint_run_width(p, unit, time) > 4;
}

/* ---- Ground -------------------------------------------------------------------------------- */

void thrum__paint_halo(struct thrum__paint *p, float x, float y, float width, float height)
{
	const struct thrum__scene_time_axis *axis = p->time;
	const float end = x + width;
	uint32_t low = 0, high = axis->count; /* the first segment that ends behind x */

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (axis->segments[middle].x_end <= (double)x)
			low = middle + 1;
		else
			high = middle;
	}
	/* Paint piece by piece: the ground has the fold's colour between segments. */
	for (uint32_t i = low; x < end; i++) {
		bool is_last = i + 1 >= axis->count;
		float begins = i > 0 && i < axis->count ? (float)axis->segments[i].x : x;
		float ends = is_last ? end : fminf(end, (float)axis->segments[i].x_end);

		if (begins > x)
			thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_FOLD, x, y,
				fminf(begins, end) - x, height);
		x = fmaxf(x, begins);
		if (ends > x)
			thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_BG, x, y, ends - x,
				height);
		x = fmaxf(x, ends);
	}
}

/* ---- How much there is --------------------------------------------------------------------- */

#define TRACKS_TRIED 32

static uint32_t count_stretches(const struct thrum__paint *p, int kind,
	const struct thrum__scene_track_box *box, int64_t gap, uint32_t enough)
{
	struct thrum__index_stretch stretch;
	struct thrum__index_walk walk;
	uint32_t count = 0;

	thrum__index_walk_begin(&walk, p->index, kind, box->track, box->tracks, p->from, p->to,
		gap);
	while (count < enough && thrum__index_walk_next(&walk, &stretch))
		count++;
	return count;
}

float thrum__paint_coarseness(const struct thrum__paint *p, int kind, float least, uint32_t most)
{
	uint32_t every = 1 + p->tracks->count / TRACKS_TRIED, enough = most / every + 1;
	float pixels = least;

	for (; pixels < p->width; pixels *= 2) {
		int64_t gap = thrum__paint_span(p, pixels);
		uint32_t count = 0;

		for (uint32_t i = every / 2; i < p->tracks->count && count < enough; i += every)
			count += count_stretches(p, kind, &p->tracks->boxes[i], gap,
				enough - count);
		if (count < enough)
			break;
	}
	return pixels;
}
