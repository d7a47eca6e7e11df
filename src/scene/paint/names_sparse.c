/* SPDX-License-Identifier: ISC */
/*
 * Names in tracks that are too low for names: at most 40, rare ones first, at most two of each, and
 * only over empty ground. A bitmap of the list so far shows where the ground is empty.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "scene/paint/names.h"

#define NAMES_MAX 40         /* names that are placed */
#define OF_EACH_MAX 2        /* names of a kind that are placed */
#define TRIED_OF_EACH_MAX 12 /* names of a kind for which a place is looked for */
#define TRIED_MAX 300        /* all names for which a place is looked for */
#define SLOTS 4096           /* of the table that counts names */
#define WIDEST 150           /* px */
#define LONG_LINE 110        /* px: so long a line may have its name on itself */
#define CANDIDATES_MAX 2048  /* if there are more units in sight, only samples are taken: */
#define SAMPLES 1024         /* about so many, from all tracks */
#define STEP_MIN 40          /* px between two of a track */
#define LEAST_TRACK 2        /* px: of a lower track one couldn't tell whose name it is */
#define APART 60             /* px between two equal names */
#define CELL 4               /* px: width and height of a cell of the bitmap */
#define WORD 64              /* bits */

struct sparse_candidate {
	uint32_t unit, box;
	uint32_t hash, alike; /* hash of the name without digits; how many names have it */
	float x1, x2;         /* of the unit's line, in the picture */
};

/* The bitmap: rows of cells. A bit is set if something covers the cell. */
struct ground {
	uint64_t *cells;
	uint32_t words;         /* of a row */
	uint32_t height, width; /* in cells */
};

/* ---- Ground -------------------------------------------------------------------------------- */

static uint32_t cell_of(float at, uint32_t most)
{
	return at <= 0 ? 0 : at >= (float)(most * CELL) ? most - 1 : (uint32_t)at / CELL;
}

/* Returns the bits of word `word` of a row that stand for the cells from … to. */
static uint64_t bits_of(uint32_t word, uint32_t from, uint32_t to)
{
	uint32_t low = from > word * WORD ? from - word * WORD : 0;
	uint32_t high = to < word * WORD + WORD - 1 ? to - word * WORD : WORD - 1;

	return (UINT64_MAX << low) & (UINT64_MAX >> (WORD - 1 - high));
}

static void take_rect(struct ground *g, float x1, float y1, float x2, float y2)
{
	uint32_t from = cell_of(x1, g->width), to = cell_of(x2, g->width);
	uint32_t first = cell_of(y1, g->height), last = cell_of(y2, g->height);

	if (!(x2 >= 0 && y2 >= 0 && x1 <= (float)(g->width * CELL) &&
		    y1 <= (float)(g->height * CELL)))
		return;
	for (uint32_t w = from / WORD; w <= to / WORD; w++) {
		uint64_t mask = bits_of(w, from, to);

		for (uint32_t y = first; y <= last; y++)
			g->cells[y * g->words + w] |= mask;
	}
}

static bool is_empty_ground(const struct ground *g, float x1, float y1, float x2, float y2)
{
	uint32_t from = cell_of(x1, g->width), to = cell_of(x2, g->width);
	uint32_t first = cell_of(y1, g->height), last = cell_of(y2, g->height);
	uint64_t taken = 0;

	for (uint32_t w = from / WORD; w <= to / WORD; w++) {
		uint64_t mask = bits_of(w, from, to);

		for (uint32_t y = first; y <= last; y++)
			taken |= g->cells[y * g->words + w] & mask;
	}
	return taken == 0;
}

static void take_polylines(struct ground *g, const struct thrum__draw_batch *batch)
{
	const struct thrum__draw_point *points = batch->items;

	for (uint32_t i = 0; i + 1 < batch->count; i++) {
		const struct thrum__draw_point *a = &points[i], *b = &points[i + 1];

		if (!isnan(a->x) && !isnan(b->x))
			take_rect(g, fminf(a->x, b->x), fminf(a->y, b->y), fmaxf(a->x, b->x),
				fmaxf(a->y, b->y));
	}
}

static void take_batch(struct ground *g, const struct thrum__draw_batch *batch)
{
	const struct thrum__draw_rect *rects = batch->items;
	const struct thrum__draw_segment *lines = batch->items;
	const struct thrum__draw_circle *rings = batch->items;

	for (uint32_t i = 0; i < batch->count; i++) {
		const struct thrum__draw_rect *r = &rects[i];

		switch (batch->style.op) {
		case THRUM__OP_RECT:
			take_rect(g, r->x, r->y, r->x + r->width - 1, r->y + r->height - 1);
			break;
		case THRUM__OP_LINE:
			take_rect(g, fminf(lines[i].x1, lines[i].x2),
				fminf(lines[i].y1, lines[i].y2), fmaxf(lines[i].x1, lines[i].x2),
				fmaxf(lines[i].y1, lines[i].y2));
			break;
		case THRUM__OP_RING:
			take_rect(g, rings[i].x - rings[i].radius, rings[i].y - rings[i].radius,
				rings[i].x + rings[i].radius, rings[i].y + rings[i].radius);
			break;
		case THRUM__OP_POLY: take_polylines(g, batch); return;
		default: return; /* texts have boxes; arrow heads lie at lines */
		}
	}
}

static bool survey_ground(struct thrum__paint *p, struct ground *g)
{
	struct thrum__paint_memory *memory = p->memory;
	uint32_t needed;

	g->width = (uint32_t)(p->right / CELL) + 1;
	g->height = (uint32_t)(p->height / CELL) + 1;
	g->words = (g->width + WORD - 1) / WORD;
	needed = g->words * g->height;
	g->cells = thrum__base_grow(memory->seen, &memory->seen_room, needed, sizeof *g->cells);
	if (!g->cells) {
		p->list->failed = true;
		return false;
	}
	memory->seen = g->cells;
	memset(g->cells, 0, needed * sizeof *g->cells);
	for (uint32_t i = 0; i < p->list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &p->list->batches[i];

		/* A counter's casing lies below its line. */
		if (batch->style.z >= THRUM__Z_CREATE && batch->style.z < THRUM__Z_FRAME &&
			batch->style.z != THRUM__Z_CASING)
			take_batch(g, batch);
	}
	for (uint32_t i = 0; i < p->boxes->count; i++) {
		const struct thrum__draw_rect *r = &p->boxes->rects[i];

		take_rect(g, r->x, r->y, r->x + r->width, r->y + r->height);
	}
	return true;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* Returns a hash of a name without its digits. Which names are shown depends on it. */
static uint32_t hash_name(const char *name, size_t size)
{
	uint32_t hash = THRUM__HASH_START;

	for (size_t i = 0; i < size; i++)
		if (name[i] < '0' || name[i] > '9')
			hash = thrum__base_hash_byte(hash, (unsigned char)name[i]);
	return hash;
}

struct sparse_names {
	struct thrum__paint *p;
	struct sparse_candidate *all;
	uint32_t count;
};

/* Whether a unit is found, selected or stuck. Such units get names first, even without a label. */
static bool is_special(const struct thrum__paint *p, uint32_t unit)
{
	return thrum__paint_look(p, unit) &
		(THRUM__LOOK_STUCK | THRUM__LOOK_SELECTED | THRUM__LOOK_FOUND);
}

/* Writes a unit's name, which is that of the last task of its chain. Returns its size, 0: none. */
static size_t name_of(const struct thrum__paint *p, uint32_t unit, char *to, size_t size)
{
	uint32_t first = p->layout->units[unit].task;
	uint32_t task = thrum__model_heir(p->model, first);
	const char *name;
	size_t length;

	task = thrum__model_has_row(&p->model->tasks, task) ? task : first;
	name = thrum__model_task_name(p->model, task, &length);
	if (length == 0) {
		length = is_special(p, unit) ? thrum__words_kind_and_site(p->model, first, to, size)
					     : 0;
		return length < size ? length : size - 1;
	}
	length = length < size ? length : size;
	memcpy(to, name, length);
	return length;
}

static void offer_unit(struct sparse_names *g, uint32_t box, uint32_t unit)
{
	const struct thrum__layout_unit *u = &g->p->layout->units[unit];
	char name[64];
	size_t size = name_of(g->p, unit, name, sizeof name);

	if (g->count == CANDIDATES_MAX || size == 0)
		return;
	g->all[g->count++] = (struct sparse_candidate){
		.unit = unit,
		.box = box,
		.hash = hash_name(name, size),
		.x1 = thrum__paint_clamped(g->p, u->start),
		.x2 = thrum__paint_clamped(g->p, thrum__paint_end_of_unit(g->p, unit)),
	};
}

static bool is_sparse(const struct thrum__scene_track_box *box)
{
	return box->size == THRUM__TRACK_DENSE && box->tracks == 1 && box->height >= LEAST_TRACK;
}

/* Offers the units of a track; if `step` isn't 0, only the first in every `step` px. */
static void gather_track(struct sparse_names *g, uint32_t box, float step)
{
	const struct thrum__paint *p = g->p;
	const int kind = THRUM__INDEX_UNITS;
	uint32_t track = p->tracks->boxes[box].track;
	int64_t every = 1, wanted = thrum__paint_span(p, step);
	size_t end, at = thrum__paint_first_in_sight(p, track, &end);

	/* Powers of two, so that the same units are taken after the window was moved. */
	while (every < wanted && every < INT64_MAX / 4)
		every *= 2;
	while (at < end && thrum__index_time(p->index, kind, at) <= p->to) {
		int64_t time = thrum__index_time(p->index, kind, at), next, far;

		offer_unit(g, box, thrum__index_item(p->index, kind, at));
		at++;
		if (step <= 0 || time > INT64_MAX - every)
			continue;
		next = time - time % every + every;
		far = thrum__scene_time_axis_time(p->time,
			thrum__scene_time_axis_x(p->time, time) + step / 2);
		at = thrum__index_seek(p->index, kind, track, next > far ? next : far, &end);
	}
}

/* Offers the selected unit, which may be left out of the samples. */
static void offer_selected(struct sparse_names *g)
{
	const struct thrum__paint *p = g->p;
	uint32_t task = p->scene->selected, unit;
	const struct thrum__scene_track_box *box;

	unit = thrum__layout_unit(p->layout, task);
	if (unit == THRUM__NONE || p->layout->units[unit].track == THRUM__NONE ||
		p->layout->units[unit].start > p->to || thrum__paint_end_of_unit(p, unit) < p->from)
		return;
	box = thrum__scene_track_axis_find(p->tracks, thrum__layout_track(p->layout, unit));
	if (box && is_sparse(box))
		offer_unit(g, (uint32_t)(box - p->tracks->boxes), unit);
}

static void gather_candidates(struct sparse_names *g)
{
	struct thrum__paint *p = g->p;
	uint64_t total = 0;
	uint32_t tracks = 0;
	float step = 0;

	for (uint32_t i = 0; i < p->tracks->count; i++) {
		const struct thrum__scene_track_box *box = &p->tracks->boxes[i];
		size_t end, at, last;

		if (!is_sparse(box))
			continue;
		at = thrum__paint_first_in_sight(p, box->track, &end);
		last = thrum__index_seek(p->index, THRUM__INDEX_UNITS, box->track, p->to, &end);
		total += last > at ? last - at : 0;
		tracks++;
	}
	offer_selected(g);
	if (total > CANDIDATES_MAX)
		step = fmaxf(STEP_MIN, p->right * (float)tracks / SAMPLES);
	for (uint32_t i = 0; i < p->tracks->count; i++)
		if (is_sparse(&p->tracks->boxes[i]))
			gather_track(g, i, step);
}

/* Orders candidates: rare names first; equal names together, the longest line first. */
static int by_rarity(const void *a, const void *b)
{
	const struct sparse_candidate *x = a, *y = b;

	if (x->alike != y->alike)
		return x->alike < y->alike ? -1 : 1;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->x2 - x->x1 != y->x2 - y->x1)
		return x->x2 - x->x1 > y->x2 - y->x1 ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void rank_by_rarity(struct sparse_names *g)
{
	/* If two names share a slot, they only seem less rare than they are. */
	uint16_t count[SLOTS] = {0};

	for (uint32_t i = 0; i < g->count; i++)
		count[g->all[i].hash % SLOTS]++;
	for (uint32_t i = 0; i < g->count; i++)
		g->all[i].alike = is_special(g->p, g->all[i].unit) ? 0
								   : count[g->all[i].hash % SLOTS];
	qsort(g->all, g->count, sizeof *g->all, by_rarity);
}

/* ---- Placing ------------------------------------------------------------------------------- */

/* Whether a text would cover a run of a track. */
static bool runs_under(const struct thrum__paint *p, uint32_t track, float x, float width)
{
	int64_t from = thrum__scene_time_axis_time(p->time, (double)x);
	int64_t to = thrum__scene_time_axis_time(p->time, (double)x + width);
	struct thrum__index_stretch run;
	struct thrum__index_walk walk;

	thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_RUNS, track, 1, from, to, 0);
	return thrum__index_walk_next(&walk, &run);
}

/* Whether a name may stand on its unit's line itself: the line is long, and nothing is on it, above
 * or below. */
static bool is_lonely(const struct thrum__paint *p, const struct ground *g,
	const struct sparse_candidate *c, float y, float width)
{
	return c->x2 - c->x1 >= fmaxf(LONG_LINE, width + 30) && c->x1 >= 0 &&
		is_empty_ground(g, c->x1 + 4, y - 10, c->x1 + 8 + width, y - 2 - CELL) &&
		is_empty_ground(g, c->x1 + 4, y + 2 + CELL, c->x1 + 8 + width, y + 6) &&
		!runs_under(p, p->tracks->boxes[c->box].track, c->x1 + 4, width + 4);
}

static void paint_sparse_name(struct thrum__paint *p, const struct sparse_candidate *c,
	const char *text, size_t size, float x, float y, float width, bool is_on_line)
{
	int look = thrum__paint_look(p, c->unit);
	bool is_found = thrum__paint_name_is_found(p, text, size);
	int colour = look & THRUM__LOOK_STUCK    ? THRUM__COLOUR_BAD
		: thrum__paint_fades(p, c->unit) ? THRUM__COLOUR_MUTED
						 : THRUM__COLOUR_INK;

	if (is_found)
		thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_HIT, x - 2, y - 9, width + 4,
			11);
	else if (is_on_line)
		thrum__paint_halo(p, x - 2, y - 9, width + 4, 11);
	thrum__draw_text(p->list, THRUM__Z_LABEL, is_found ? THRUM__COLOUR_INK : colour,
		THRUM__FONT_NOTE, x, y, text, size, false);
	thrum__paint_boxes_add(p->boxes, x - 3, y - 10, width + 6, 13);
}

/* Places a name where the ground is empty: on the line, right of its end, above it, or left of its
 * start. The name of a special unit may also stand on its line and hide others. Returns whether
 * there was a place. */
static bool place_sparse_name(struct thrum__paint *p, struct ground *g,
	const struct sparse_candidate *c)
{
	char name[512], text[160];
	size_t size = name_of(p, c->unit, name, sizeof name);
	float y = thrum__paint_line(&p->tracks->boxes[c->box]), width;
	int places = is_special(p, c->unit) ? 5 : 4;

	size = thrum__paint_fit(p, name, size, THRUM__FONT_NOTE, WIDEST, text, sizeof text);
	width = thrum__paint_width(p, text, size, THRUM__FONT_NOTE);
	for (int i = 0; i < places && size > 0; i++) {
		const float xs[5] = {c->x1 + 6, c->x2 + 6, c->x1 + 2, c->x1 - width - 6,
			fminf(fmaxf(c->x1, 2) + 6, p->right - width - 6)};
		float x = xs[i], base = i == 2 ? y - 6 : y + 4;
		bool is_free = i == 0 ? is_lonely(p, g, c, y, width)
			: i < 4       ? is_empty_ground(g, x - 2, base - 9, x + width + 2, base + 1)
				      : !thrum__paint_boxes_hit(p->boxes, x, base - 9, width, 11);

		if (!is_free || x <= 2 || x + width >= p->right - 2 || base - 10 < p->top ||
			base + 3 > p->bottom)
			continue;
		paint_sparse_name(p, c, text, size, x, base, width, i == 0 || i == 4);
		take_rect(g, x - 6, base - 10, x + width + 6, base + 3);
		return true;
	}
	return false;
}

/* Whether two units with the same name are so near that one name is enough. */
static bool is_near(const struct thrum__paint *p, const struct sparse_candidate *a,
	const struct sparse_candidate *b)
{
	return fabsf(a->x2 - b->x2) < APART &&
		fabsf(p->tracks->boxes[a->box].line - p->tracks->boxes[b->box].line) < APART;
}

void thrum__paint_sparse_names(struct thrum__paint *p)
{
	struct sparse_names gathering = {.p = p};
	const struct sparse_candidate *first = NULL; /* of this name */
	struct ground ground;
	uint32_t placed = 0, of_this = 0, tried = 0, tried_of_this = 0;

	_Static_assert(sizeof *gathering.all % sizeof(uint32_t) == 0, "they lie in scratch memory");
	gathering.all = (void *)thrum__paint_scratch(p,
		CANDIDATES_MAX * (uint32_t)(sizeof *gathering.all / sizeof(uint32_t)));
	if (!gathering.all)
		return;
	gather_candidates(&gathering);
	if (gathering.count == 0 || !survey_ground(p, &ground))
		return;
	rank_by_rarity(&gathering);
	for (uint32_t i = 0; i < gathering.count && placed < NAMES_MAX && tried < TRIED_MAX; i++) {
		const struct sparse_candidate *c = &gathering.all[i];

		if (i == 0 || c->hash != c[-1].hash)
			of_this = tried_of_this = 0;
		if (of_this == OF_EACH_MAX || tried_of_this++ == TRIED_OF_EACH_MAX ||
			(of_this > 0 && is_near(p, c, first)))
			continue;
		tried++;
		if (place_sparse_name(p, &ground, c)) {
			first = of_this++ == 0 ? c : first;
			placed++;
		}
	}
}
