/* SPDX-License-Identifier: ISC */
/*
 * Names and log lines. A name stands above a unit's line at its start, or at the left edge if the
 * start is out of sight; a log line stands below, at the time when it was written. All texts that
 * could be shown are gathered, by pixels; then the most important ones are placed first, as long as
 * there is room.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/paint/names.h"

#define LEAST_ROOM 36         /* px: there are no names in less */
#define WIDEST 260            /* px */
#define NAMES_MAX 400         /* names and log lines that are placed */
#define TRIED_MAX 1200        /* candidates for which a place is looked for */
#define CANDIDATES_MAX 4096   /* gathered */
#define NOTES_MAX 1200        /* log lines in all tracks together, about */
#define NOTES_OF_TRACK_MIN 32 /* log lines that each track may have at least */
#define REPEATS_MAX 999       /* up to which repeats of a log line are counted */
#define REPEATS_OF_MANY 20    /* the same, in a track with many log lines */
#define FAR_BEHIND 80         /* px that a name may be moved to the right of runs */
#define BESIDE_NOTES 400      /* px that a name may be moved beside a finding's pins and notes */
#define BESIDE_STEP 20        /* px */
#define NOTE_STEP 4           /* px between log lines, at least, in a track with many */
#define WORDS_MAX 512         /* bytes */

enum name_form {
	NAME, /* the name with which a unit begins */
	LATE, /* a name that it got later */
	LOG,  /* a log line */
};

struct name_candidate {
	float x, limit; /* it begins at x and has to end before the limit */
	float rank;     /* the largest is placed first */
	uint32_t box, unit;
	uint32_t task;   /* if there is no string, its kind and site are the words */
	uint32_t string; /* or NONE */
	uint32_t repeats, note;
	uint8_t form;  /* enum form */
	bool is_named; /* the words are a name, not kind and site */
	bool are_more; /* there are more repeats than were counted */
};

struct names {
	struct thrum__paint *p;
	struct name_candidate *all; /* in the scratch memory */
	uint32_t count;
	uint32_t notes_of_track;
};

static uint32_t unit_of(const struct thrum__paint *p, uint32_t task)
{
	return thrum__layout_unit(p->layout, task);
}

static void offer_name(struct names *n, const struct name_candidate *candidate)
{
	if (n->count < CANDIDATES_MAX)
		n->all[n->count++] = *candidate;
}

/* Returns x before which a name has to end, since the unit at a position of the index begins
 * there. */
static float limit_at(const struct thrum__paint *p, size_t at, size_t end)
{
	if (at >= end)
		return p->right - 4;
	return fminf(p->right - 4,
		thrum__paint_x(p, thrum__index_time(p->index, THRUM__INDEX_UNITS, at)) - 8);
}

/* ---- Names of units ------------------------------------------------------------------------ */

static float rank_of_look(int look)
{
	return (look & (THRUM__LOOK_STUCK | THRUM__LOOK_SELECTED) ? 1e7f : 0) +
		(look & THRUM__LOOK_FOUND ? 1e6f : 0);
}

static void offer_unit(struct names *n, uint32_t box, uint32_t unit, float limit)
{
	const struct thrum__paint *p = n->p;
	const struct thrum__layout_unit *u = &p->layout->units[unit];
	struct name_candidate c = {.x = thrum__paint_x(p, u->start),
		.limit = limit,
		.box = box,
		.unit = unit,
		.task = u->task,
		.string = THRUM__NONE,
		.form = NAME};

	if (thrum__words_is_main_context(p->model, u->task))
		c.is_named = true;
	else
		c.string = thrum__paint_first_label(p, unit);
	if (c.x < 0 && !c.is_named) {
		uint32_t label = thrum__paint_name_at(p, unit, p->from);

		if (label != THRUM__NONE)
			c.string = label;
		c.task = thrum__paint_task_at(p, unit, p->from);
		if (c.string == THRUM__NONE && thrum__model_has_row(&p->model->tasks, c.task))
			c.string = THRUM__TASK(p->model, c.task, inherited);
	}
	c.is_named |= c.string != THRUM__NONE;
	c.rank = rank_of_look(thrum__paint_look(p, unit)) + (c.is_named ? 1e5f : 0) +
		fminf(thrum__paint_x(p, thrum__paint_end_of_unit(p, unit)), p->right) -
		fmaxf(c.x, 0);
	offer_name(n, &c);
}

static void gather_units(struct names *n, uint32_t box)
{
	const struct thrum__paint *p = n->p;
	const int kind = THRUM__INDEX_UNITS;
	uint32_t track = p->tracks->boxes[box].track;
	size_t end, at = thrum__paint_first_in_sight(p, track, &end);

	while (at < end && thrum__index_time(p->index, kind, at) <= p->to) {
		float x = thrum__paint_x(p, thrum__index_time(p->index, kind, at));
		float limit = limit_at(p, at + 1, end);
		size_t far;

		if (limit - fmaxf(x, 0) >= LEAST_ROOM) {
			offer_unit(n, box, thrum__index_item(p->index, kind, at++), limit);
			continue;
		}
		/* Skip to the last unit that begins where this one's name would be. */
		far = thrum__index_seek(p->index, kind, track,
			thrum__scene_time_axis_time(p->time, (double)x + LEAST_ROOM), &end);
		at = far > at + 2 ? far - 1 : at + 1;
	}
}

/* ---- Log lines and later names ------------------------------------------------------------- */

/* Counts the notes from a position on that say the same about one unit. */
static uint32_t count_repeats(const struct thrum__paint *p, size_t at, size_t end, uint32_t note,
	uint32_t unit)
{
	uint32_t count = 1;

	for (at++; at < end; at++, count++) {
		uint32_t other = thrum__index_item(p->index, THRUM__INDEX_NOTES, at);

		if (THRUM__NOTE(p->model, other, text) != THRUM__NOTE(p->model, note, text) ||
			THRUM__NOTE(p->model, other, kind) != THRUM__NOTE(p->model, note, kind) ||
			THRUM__NOTE(p->model, other, value) != THRUM__NOTE(p->model, note, value) ||
			unit_of(p, THRUM__NOTE(p->model, other, task)) != unit)
			break;
	}
	return count;
}

/* Whether a task's first label need not be shown: the unit begins with it, or has that name
 * already. */
static bool is_said(const struct thrum__paint *p, uint32_t note, uint32_t unit, float x)
{
	uint32_t text = THRUM__NOTE(p->model, note, text);
	float begin = thrum__paint_x(p, p->layout->units[unit].start);

	if (x < begin)
		return true;
	if (x <= begin + THRUM__NAME_EARLY && text == thrum__paint_first_label(p, unit))
		return true;
	return thrum__paint_label_at(p, unit, THRUM__NOTE(p->model, note, time)) == text;
}

static void offer_note(struct names *n, uint32_t box, uint32_t note, uint32_t unit,
	uint32_t repeats, bool are_more)
{
	const struct thrum__paint *p = n->p;
	int64_t time = THRUM__NOTE(p->model, note, time);
	bool is_name = THRUM__NOTE(p->model, note, kind) == THRUM__NOTE_LABEL &&
		!thrum__words_is_main_context(p->model, THRUM__NOTE(p->model, note, task)) &&
		thrum__paint_is_first_label(p->model, note);
	struct name_candidate c = {.x = thrum__paint_x(p, time),
		.box = box,
		.unit = unit,
		.task = THRUM__NOTE(p->model, note, task),
		.string = THRUM__NOTE(p->model, note, text),
		.repeats = repeats,
		.note = note,
		.form = is_name ? LATE : LOG,
		.is_named = true,
		.are_more = are_more};
	size_t end, at;

	if ((is_name && is_said(p, note, unit, c.x)) || c.x < 0 || c.x > p->right)
		return;
	if (!is_name && p->tracks->boxes[box].size > THRUM__TRACK_NORMAL)
		return;
	at = thrum__index_seek(p->index, THRUM__INDEX_UNITS, p->tracks->boxes[box].track, time + 1,
		&end);
	c.limit = limit_at(p, at, end);
	c.rank = rank_of_look(thrum__paint_look(p, unit) & THRUM__LOOK_FOUND) +
		(is_name ? 3e5f : 50);
	offer_name(n, &c);
}

static void gather_notes(struct names *n, uint32_t box)
{
	const struct thrum__paint *p = n->p;
	const int kind = THRUM__INDEX_NOTES;
	uint32_t track = p->tracks->boxes[box].track;
	size_t end, at = thrum__index_seek(p->index, kind, track, p->from, &end);
	size_t last = thrum__index_seek(p->index, kind, track,
		p->to < INT64_MAX ? p->to + 1 : INT64_MAX, &end);
	bool are_many = last - at > n->notes_of_track;
	float step = fmaxf(NOTE_STEP, p->right / (float)n->notes_of_track);

	while (at < last) {
		uint32_t note = thrum__index_item(p->index, kind, at);
		uint32_t unit = unit_of(p, THRUM__NOTE(p->model, note, task)), repeats, most;

		if (unit == THRUM__NONE || THRUM__NOTE(p->model, note, text) == THRUM__NONE) {
			at++;
			continue;
		}
		most = are_many ? REPEATS_OF_MANY : REPEATS_MAX;
		repeats = count_repeats(p, at, last - at > most ? at + most : last, note, unit);
		offer_note(n, box, note, unit, repeats, repeats == most);
		at += repeats;
		if (are_many && at < last) {
			double x = thrum__paint_x(p, THRUM__NOTE(p->model, note, time)) + step;
			size_t far = thrum__index_seek(p->index, kind, track,
				thrum__scene_time_axis_time(p->time, x), &end);

			at = far > at ? far : at;
		}
	}
}

/* ---- Placing ------------------------------------------------------------------------------- */

struct placed_name {
	char text[WORDS_MAX];
	size_t size;
	float x, y, width;
	int font, colour;
	bool is_found, is_on_run;
};

/* Fills in the words ("‹ name ×8"), cut to the room that they have. */
static void fill_words(const struct thrum__paint *p, const struct name_candidate *c, float room,
	struct placed_name *to)
{
	char words[WORDS_MAX], error[40] = "";
	const char *name;
	size_t used = 0, size;

	if (c->form == NAME && c->x < 0)
		used = (size_t)snprintf(words, sizeof words, "‹ ");
	if (c->string == THRUM__NONE) {
		used += thrum__words_kind_and_site(p->model, c->task, words + used,
			sizeof words - used);
		used = used < sizeof words ? used : sizeof words - 1;
	} else {
		name = thrum__model_string(p->model, c->string, &size);
		size = size < sizeof words - used - 32 ? size : sizeof words - used - 32;
		memcpy(words + used, name, size);
		used += size;
	}
	if (c->form == NAME)
		thrum__words_clock_error(p->model, c->task, p->from, p->to, error, sizeof error);
	if (c->form == LOG && THRUM__NOTE(p->model, c->note, kind) == THRUM__NOTE_TAG_VALUE)
		used += (size_t)snprintf(words + used, sizeof words - used, " %" PRId64,
			THRUM__NOTE(p->model, c->note, value));
	if (c->form != NAME && c->repeats > 1 && used + 12 < sizeof words)
		used += (size_t)snprintf(words + used, sizeof words - used, " ×%" PRIu32 "%s",
			c->repeats, c->are_more ? "+" : "");
	to->is_found = thrum__paint_name_is_found(p, words, used);
	if (to->is_found) {
		to->font = THRUM__FONT_STRONG;
		to->colour = THRUM__COLOUR_INK;
	}
	to->size = thrum__paint_fit_before(p, words, used, error, to->font, fminf(room, WIDEST),
		to->text, sizeof to->text);
	to->width = thrum__paint_width(p, to->text, to->size, to->font);
}

static void choose_style(const struct thrum__paint *p, const struct name_candidate *c,
	struct placed_name *to)
{
	int look = thrum__paint_look(p, c->unit);
	bool is_strong = c->form == NAME && look & (THRUM__LOOK_STUCK | THRUM__LOOK_SELECTED);

	to->font = c->form == LOG ? THRUM__FONT_NOTE
		: is_strong       ? THRUM__FONT_STRONG
				  : THRUM__FONT_LABEL;
	to->colour = c->form == LOG || !c->is_named || thrum__paint_fades(p, c->unit)
		? THRUM__COLOUR_MUTED
		: THRUM__COLOUR_INK;
	if (c->form == NAME && look & THRUM__LOOK_STUCK)
		to->colour = THRUM__COLOUR_BAD;
}

static bool is_free(const struct thrum__paint *p, const struct placed_name *placed, float x,
	float y)
{
	return y - 11 >= p->top && y + 3 <= p->bottom &&
		!thrum__paint_boxes_hit(p->boxes, x - 3, y - 10, placed->width + 7, 12);
}

/* Whether a run is a lane's own task's: a thin pale bar, on which a text can't be read. */
static bool is_own(const struct thrum__model *model, uint32_t run)
{
	return THRUM__TASK(model, THRUM__RUN(model, run, task), flags) & THRUM__TASK_LANE;
}

/* Moves a text on the line itself so that it hides no run: to the right of the runs that begin
 * below it, if that isn't far. On a run that is longer than the text it is written in another
 * colour. */
static void avoid_runs(const struct thrum__paint *p, uint32_t track, bool is_faded,
	struct placed_name *placed)
{
	float x = placed->x, far = x + FAR_BEHIND;
	struct thrum__index_stretch run;
	struct thrum__index_walk walk;

	thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_RUNS, track, 1,
		thrum__scene_time_axis_time(p->time, (double)x),
		thrum__scene_time_axis_time(p->time, (double)far + placed->width),
		thrum__paint_span(p, 4));
	while (x <= far && thrum__index_walk_next(&walk, &run) &&
		thrum__paint_clamped(p, run.start) < x + placed->width) {
		float end = thrum__paint_clamped(p, run.end);

		if (run.count == 1 && is_own(p->model, run.item))
			break;
		if (run.count == 1 && !placed->is_found && end > x + placed->width &&
			thrum__paint_clamped(p, run.start) <= x - 4) {
			placed->is_on_run = true;
			placed->font = THRUM__FONT_NOTE;
			placed->colour = is_faded ? THRUM__COLOUR_INK : THRUM__COLOUR_BG;
			placed->x = x;
			return;
		}
		x = fmaxf(x, end + 4);
	}
	if (x <= far)
		placed->x = x;
}

/* Whether the chosen finding has a pin on the unit's line, or the line is red. */
static bool is_of_finding(const struct thrum__paint *p, uint32_t unit)
{
	const struct thrum__findings *findings = &p->scene->findings;

	if (thrum__paint_look(p, unit) & (THRUM__LOOK_STUCK | THRUM__LOOK_BEHIND))
		return true;
	if (p->state->finding >= findings->count)
		return false;
	for (unsigned i = 0; i < findings->findings[p->state->finding].step_count; i++)
		if (unit_of(p, findings->findings[p->state->finding].steps[i].task) == unit)
			return true;
	return false;
}

/* Moves the name of a line to which a finding leads to the right of its pins and notes. */
static bool find_place_beside(const struct thrum__paint *p, const struct name_candidate *c,
	struct placed_name *placed)
{
	float far = fminf(placed->x + BESIDE_NOTES, c->limit - placed->width);

	if (!is_of_finding(p, c->unit))
		return false;
	for (float x = placed->x + BESIDE_STEP; x <= far; x += BESIDE_STEP)
		if (is_free(p, placed, x, placed->y)) {
			placed->x = x;
			return true;
		}
	return false;
}

/* Finds the place of a name or log line, or one near by; returns false if all are taken. */
static bool find_place(const struct thrum__paint *p, const struct name_candidate *c,
	struct placed_name *placed)
{
	const struct thrum__scene_track_box *box = &p->tracks->boxes[c->box];
	bool is_tall = box->size <= THRUM__TRACK_NORMAL;

	placed->y = c->form == LOG ? box->line + box->bar / 2 + 12
		: is_tall          ? box->line - box->bar / 2 - 4
				   : box->line + 4;
	if (!is_tall)
		avoid_runs(p, box->track, thrum__paint_fades(p, c->unit), placed);
	if (placed->x + placed->width > c->limit)
		return false;
	if (is_free(p, placed, placed->x, placed->y))
		return true;
	if (c->form == LOG)
		return false;
	if (placed->x + 13 + placed->width <= c->limit &&
		is_free(p, placed, placed->x + 13, placed->y)) {
		placed->x += 13;
		return true;
	}
	if (find_place_beside(p, c, placed))
		return true;
	placed->y = box->line + box->bar / 2 + 17;
	return box->size == THRUM__TRACK_ROOMY && is_free(p, placed, placed->x, placed->y);
}

/* Paints the mark between a unit's line and a text that shows the text's time. */
static void paint_tick(struct thrum__paint *p, const struct name_candidate *c, bool is_placed)
{
	const struct thrum__scene_track_box *box = &p->tracks->boxes[c->box];
	float from = is_placed ? box->line : box->line + box->bar / 2;
	float to = box->line + box->bar / 2 + (is_placed ? 12 : 4);

	if (c->form == LATE)
		to = box->line - box->bar / 2 - 14;
	thrum__draw_vertical(p->list, THRUM__Z_END, THRUM__COLOUR_MUTED, c->x, from, to, 1,
		THRUM__DASH_SOLID);
}

static void paint_placed(struct thrum__paint *p, const struct name_candidate *c,
	const struct placed_name *placed)
{
	bool is_selected = thrum__paint_look(p, c->unit) & THRUM__LOOK_SELECTED;
	float x = placed->x, y = placed->y, width = placed->width;

	if (placed->is_found) {
		thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_HIT, x - 3, y - 11,
			width + 6, 15);
		thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_INK, x - 3, y + 3, width + 6,
			2);
	} else if (is_selected && !placed->is_on_run) {
		thrum__draw_rect(p->list, THRUM__Z_HALO, THRUM__COLOUR_SEL_BG, x - 2, y - 10,
			width + 4, 12);
	} else if (!placed->is_on_run) {
		thrum__paint_halo(p, x - 2, y - 10, width + 4, 12);
	}
	thrum__draw_text(p->list, THRUM__Z_LABEL, placed->colour, placed->font, x, y, placed->text,
		placed->size, false);
	thrum__paint_boxes_add(p->boxes, x - 3, y - 11, width + 9, 14);
}

static bool place_name(struct thrum__paint *p, const struct name_candidate *c)
{
	bool is_pinned = c->form == NAME && c->x < 4;
	bool is_selected = thrum__paint_look(p, c->unit) & THRUM__LOOK_SELECTED;
	bool is_placed;
	struct placed_name placed;

	placed.x = is_pinned ? (is_selected ? 8 : 6) : c->x + (c->form == NAME ? 6 : 4);
	placed.is_on_run = false;
	choose_style(p, c, &placed);
	fill_words(p, c, c->limit - placed.x, &placed);
	is_placed = placed.size > 0 && find_place(p, c, &placed);
	if (c->form == LOG || (c->form == LATE && is_placed))
		paint_tick(p, c, is_placed);
	if (is_placed)
		paint_placed(p, c, &placed);
	return is_placed;
}

/* ---- All ----------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
	const struct name_candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	if (x->box != y->box)
		return x->box < y->box ? -1 : 1;
	if (x->x != y->x)
		return x->x < y->x ? -1 : 1;
	/* No two candidates compare equal, so that the order is the same with every libc's
	 * qsort. */
	return x->form != y->form ? x->form - y->form : x->unit < y->unit ? -1 : x->unit > y->unit;
}

void thrum__paint_names(struct thrum__paint *p)
{
	struct names n = {.p = p};
	uint32_t tall = 0, placed = 0;

	_Static_assert(sizeof *n.all % sizeof(uint32_t) == 0, "candidates lie in scratch memory");
	n.all = (void *)thrum__paint_scratch(p,
		CANDIDATES_MAX * (uint32_t)(sizeof *n.all / sizeof(uint32_t)));
	if (!n.all)
		return;
	for (uint32_t i = 0; i < p->tracks->count; i++)
		tall += p->tracks->boxes[i].size <= THRUM__TRACK_COMPACT;
	n.notes_of_track = tall > 0 && NOTES_MAX / tall > NOTES_OF_TRACK_MIN ? NOTES_MAX / tall
									     : NOTES_OF_TRACK_MIN;
	for (uint32_t i = 0; i < p->tracks->count; i++) {
		if (p->tracks->boxes[i].size > THRUM__TRACK_COMPACT ||
			p->tracks->boxes[i].tracks != 1)
			continue;
		gather_units(&n, i);
		gather_notes(&n, i);
	}
	qsort(n.all, n.count, sizeof *n.all, by_rank);
	for (uint32_t i = 0; i < n.count && i < TRIED_MAX && placed < NAMES_MAX; i++)
		placed += place_name(p, &n.all[i]);
	thrum__paint_sparse_names(p);
}
