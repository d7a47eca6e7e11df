/* SPDX-License-Identifier: ISC */
/*
 * Names in tracks that are too low for them: at most 40, rare ones first, at most two of each, and
 * only over empty ground, which a bitmap of the list so far tells.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "scene/paint/names.h"

#define NAMES_MAX 40
#define OF_EACH_MAX 2
#define TRIED_OF_EACH_MAX 12
#define TRIED_MAX 300
#define SLOTS 4096 /* for counting names */
#define WIDEST 150
#define LONG_LINE 110       /* px that hold a name on the line itself */
#define CANDIDATES_MAX 2048 /* all, if there aren't more; */
#define SAMPLES 1024        /* else about so many, some of each track */
#define STEP_MIN 40         /* px between those */
#define LEAST_TRACK 2       /* px: of lower ones nobody could tell whose name it is */
#define APART 60            /* px between two of the same name */
#define CELL 4              /* px */
#define WORD 64

struct candidate {
	uint32_t unit, box;
	uint32_t hash, alike; /* of the name without its numbers; how many have it */
	float x1, x2;         /* of its line, in the picture */
};

struct ground {
	uint64_t *tracks;              /* a bit for each cell that is taken */
	uint32_t words, height, width; /* words of a track; in cells */
};

/* ---- Ground ------------------------------------------------------------------------------- */

static uint32_t cell(float at, uint32_t most)
{
	return at <= 0 ? 0 : at >= (float)(most * CELL) ? most - 1 : (uint32_t)at / CELL;
}

/* The bits from … to of one word of a track. */
static uint64_t bits(uint32_t word, uint32_t from, uint32_t to)
{
	uint32_t low = from > word * WORD ? from - word * WORD : 0;
	uint32_t high = to < word * WORD + WORD - 1 ? to - word * WORD : WORD - 1;

	return (UINT64_MAX << low) & (UINT64_MAX >> (WORD - 1 - high));
}

static void take(struct ground *g, float x1, float y1, float x2, float y2)
{
	uint32_t from = cell(x1, g->width), to = cell(x2, g->width);
	uint32_t first = cell(y1, g->height), last = cell(y2, g->height);

	if (!(x2 >= 0 && y2 >= 0 && x1 <= (float)(g->width * CELL) &&
		    y1 <= (float)(g->height * CELL)))
		return;
	for (uint32_t w = from / WORD; w <= to / WORD; w++) {
		uint64_t mask = bits(w, from, to);

		for (uint32_t y = first; y <= last; y++)
			g->tracks[y * g->words + w] |= mask;
	}
}

static bool is_empty(const struct ground *g, float x1, float y1, float x2, float y2)
{
	uint32_t from = cell(x1, g->width), to = cell(x2, g->width);
	uint32_t first = cell(y1, g->height), last = cell(y2, g->height);
	uint64_t taken = 0;

	for (uint32_t w = from / WORD; w <= to / WORD; w++) {
		uint64_t mask = bits(w, from, to);

		for (uint32_t y = first; y <= last; y++)
			taken |= g->tracks[y * g->words + w] & mask;
	}
	return taken == 0;
}

static void take_polylines(struct ground *g, const struct thrum__draw_batch *batch)
{
	const struct thrum__draw_point *points = batch->items;

	for (uint32_t i = 0; i + 1 < batch->count; i++) {
		const struct thrum__draw_point *a = &points[i], *b = &points[i + 1];

		if (!isnan(a->x) && !isnan(b->x))
			take(g, fminf(a->x, b->x), fminf(a->y, b->y), fmaxf(a->x, b->x),
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
			take(g, r->x, r->y, r->x + r->width - 1, r->y + r->height - 1);
			break;
		case THRUM__OP_LINE:
			take(g, fminf(lines[i].x1, lines[i].x2), fminf(lines[i].y1, lines[i].y2),
				fmaxf(lines[i].x1, lines[i].x2), fmaxf(lines[i].y1, lines[i].y2));
			break;
		case THRUM__OP_RING:
			take(g, rings[i].x - rings[i].radius, rings[i].y - rings[i].radius,
				rings[i].x + rings[i].radius, rings[i].y + rings[i].radius);
			break;
		case THRUM__OP_POLY: take_polylines(g, batch); return;
		default: return; /* names and notes are in the boxes; heads lie at their lines */
		}
	}
}

static bool survey(struct thrum__paint *p, struct ground *g)
{
	struct thrum__paint_memory *memory = p->memory;
	uint32_t needed;

	g->width = (uint32_t)(p->right / CELL) + 1;
	g->height = (uint32_t)(p->height / CELL) + 1;
	g->words = (g->width + WORD - 1) / WORD;
	needed = g->words * g->height;
	g->tracks = thrum__base_grow(memory->seen, &memory->seen_room, needed, sizeof *g->tracks);
	if (!g->tracks) {
		p->list->failed = true;
		return false;
	}
	memory->seen = g->tracks;
	memset(g->tracks, 0, needed * sizeof *g->tracks);
	for (uint32_t i = 0; i < p->list->batch_count; i++) {
		const struct thrum__draw_batch *batch = &p->list->batches[i];

		/* A counter's casing is where its line is. */
		if (batch->style.z >= THRUM__Z_CREATE && batch->style.z < THRUM__Z_FRAME &&
			batch->style.z != THRUM__Z_CASING)
			take_batch(g, batch);
	}
	for (uint32_t i = 0; i < p->boxes->count; i++) {
		const struct thrum__draw_rect *r = &p->boxes->rects[i];

		take(g, r->x, r->y, r->x + r->width, r->y + r->height);
	}
	return true;
}

/* ---- Candidates --------------------------------------------------------------------------- */

/* A hash of a name without its digits. */
static uint32_t hash_of(const char *name, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		if (name[i] < '0' || name[i] > '9')
			sum = thrum__base_hash_number(sum, (unsigned char)name[i]);
	return (uint32_t)sum;
}

struct gathering {
	struct thrum__paint *p;
	struct candidate *all;
	uint32_t count;
};

/* What is searched for, chosen or stuck has its name first, and even without a label. */
static bool is_special(const struct thrum__paint *p, uint32_t unit)
{
	return thrum__paint_look(p, unit) &
		(THRUM__LOOK_STUCK | THRUM__LOOK_SELECTED | THRUM__LOOK_FOUND);
}

/* The name of a chain's end is that of all that became it. */
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

static void offer(struct gathering *g, uint32_t box, uint32_t unit)
{
	const struct thrum__layout_unit *u = &g->p->layout->units[unit];
	char name[64];
	size_t size = name_of(g->p, unit, name, sizeof name);

	if (g->count == CANDIDATES_MAX || size == 0)
		return;
	g->all[g->count++] = (struct candidate){
		.unit = unit,
		.box = box,
		.hash = hash_of(name, size),
		.x1 = thrum__paint_clamped(g->p, u->start),
		.x2 = thrum__paint_clamped(g->p, thrum__paint_end_of_unit(g->p, unit)),
	};
}

static bool is_sparse(const struct thrum__scene_track_box *box)
{
	return box->size == THRUM__TRACK_DENSE && box->tracks == 1 && box->height >= LEAST_TRACK;
}

/* The units of a track; where `step` isn't 0, the first one in every so many pixels' time. */
static void gather_track(struct gathering *g, uint32_t box, float step)
{
	const struct thrum__paint *p = g->p;
	const int kind = THRUM__INDEX_UNITS;
	uint32_t track = p->tracks->boxes[box].track;
	int64_t every = 1, wanted = thrum__paint_span(p, step);
	size_t end, at = thrum__paint_first_in_sight(p, track, &end);

	/* Powers of two: the same units are found when the window is moved. */
	while (every < wanted && every < INT64_MAX / 4)
		every *= 2;
	while (at < end && thrum__index_time(p->index, kind, at) <= p->to) {
		int64_t time = thrum__index_time(p->index, kind, at), next, far;

		offer(g, box, thrum__index_item(p->index, kind, at));
		at++;
		if (step <= 0 || time > INT64_MAX - every)
			continue;
		next = time - time % every + every;
		far = thrum__scene_time_axis_time(p->time,
			thrum__scene_time_axis_x(p->time, time) + step / 2);
		at = thrum__index_seek(p->index, kind, track, next > far ? next : far, &end);
	}
}

/* It may be one of those that are left out. */
static void offer_selected(struct gathering *g)
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
		offer(g, (uint32_t)(box - p->tracks->boxes), unit);
}

static void gather(struct gathering *g)
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

/* Rare ones first, those of one name together, the longest of them first. */
static int by_rarity(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->alike != y->alike)
		return x->alike < y->alike ? -1 : 1;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->x2 - x->x1 != y->x2 - y->x1)
		return x->x2 - x->x1 > y->x2 - y->x1 ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void rank(struct gathering *g)
{
	/* Two names in one slot only seem less rare than they are. */
	uint16_t count[SLOTS] = {0};

	for (uint32_t i = 0; i < g->count; i++)
		count[g->all[i].hash % SLOTS]++;
	for (uint32_t i = 0; i < g->count; i++)
		g->all[i].alike = is_special(g->p, g->all[i].unit) ? 0
								   : count[g->all[i].hash % SLOTS];
	qsort(g->all, g->count, sizeof *g->all, by_rarity);
}

/* ---- Placing ------------------------------------------------------------------------------ */

/* Whether something runs in a track under a text. */
static bool runs_under(const struct thrum__paint *p, uint32_t track, float x, float width)
{
	int64_t from = thrum__scene_time_axis_time(p->time, (double)x);
	int64_t to = thrum__scene_time_axis_time(p->time, (double)x + width);
	struct thrum__index_stretch run;
	struct thrum__index_walk walk;

	thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_RUNS, track, 1, from, to, 0);
	return thrum__index_walk_next(&walk, &run);
}

/* On a long line itself, where nothing else is on, above and below it. */
static bool is_lonely(const struct thrum__paint *p, const struct ground *g,
	const struct candidate *c, float y, float width)
{
	return c->x2 - c->x1 >= fmaxf(LONG_LINE, width + 30) && c->x1 >= 0 &&
		is_empty(g, c->x1 + 4, y - 10, c->x1 + 8 + width, y - 2 - CELL) &&
		is_empty(g, c->x1 + 4, y + 2 + CELL, c->x1 + 8 + width, y + 6) &&
		!runs_under(p, p->tracks->boxes[c->box].track, c->x1 + 4, width + 4);
}

static void paint(struct thrum__paint *p, const struct candidate *c, const char *text, size_t size,
	float x, float y, float width, bool is_on_line)
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

/* On the line, right of its end, above it, left of its beginning: where the ground is empty. What
 * is special is written on its line even where that hides others. */
static bool place(struct thrum__paint *p, struct ground *g, const struct candidate *c)
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
			: i < 4       ? is_empty(g, x - 2, base - 9, x + width + 2, base + 1)
				      : !thrum__paint_boxes_hit(p->boxes, x, base - 9, width, 11);

		if (!is_free || x <= 2 || x + width >= p->right - 2 || base - 10 < p->top ||
			base + 3 > p->bottom)
			continue;
		paint(p, c, text, size, x, base, width, i == 0 || i == 4);
		take(g, x - 6, base - 10, x + width + 6, base + 3);
		return true;
	}
	return false;
}

/* Twice the same side by side says no more than once. */
static bool is_near(const struct thrum__paint *p, const struct candidate *a,
	const struct candidate *b)
{
	return fabsf(a->x2 - b->x2) < APART &&
		fabsf(p->tracks->boxes[a->box].line - p->tracks->boxes[b->box].line) < APART;
}

void thrum__paint_sparse_names(struct thrum__paint *p)
{
	struct gathering gathering = {.p = p};
	const struct candidate *first = NULL; /* of this name */
	struct ground ground;
	uint32_t placed = 0, of_this = 0, tried = 0, tried_of_this = 0;

	_Static_assert(sizeof *gathering.all % sizeof(uint32_t) == 0, "they lie in scratch memory");
	gathering.all = (void *)thrum__paint_scratch(p,
		CANDIDATES_MAX * (uint32_t)(sizeof *gathering.all / sizeof(uint32_t)));
	if (!gathering.all)
		return;
	gather(&gathering);
	if (gathering.count == 0 || !survey(p, &ground))
		return;
	rank(&gathering);
	for (uint32_t i = 0; i < gathering.count && placed < NAMES_MAX && tried < TRIED_MAX; i++) {
		const struct candidate *c = &gathering.all[i];

		if (i == 0 || c->hash != c[-1].hash)
			of_this = tried_of_this = 0;
		if (of_this == OF_EACH_MAX || tried_of_this++ == TRIED_OF_EACH_MAX ||
			(of_this > 0 && is_near(p, c, first)))
			continue;
		tried++;
		if (place(p, &ground, c)) {
			first = of_this++ == 0 ? c : first;
			placed++;
		}
	}
}
