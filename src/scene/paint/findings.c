/* SPDX-License-Identifier: ISC */
/* The chosen finding: a numbered pin for each step, the path between them, and a note at each
 * pin. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"
#include "scene/paint/paint.h"

#define RADIUS 9
#define PIN_ROOM 11    /* px around a pin's centre that names must not cover */
#define BESIDE 2       /* places beside it that are tried before those above and below */
#define NOTE_WIDTH 320 /* px, at most */
#define NARROW 600     /* px: narrower pictures show pins without notes */
#define VICTIM_AT 96   /* px from the trace's end to the victim's pin, at most */
#define NOTE_X 16      /* px from a pin's centre to its note */
#define NOTE_Y 12
#define AWAY_LINE 16 /* px between the words of two scenes on steps that aren't in sight */

struct pin {
	float x, y;
	bool is_seen;
	bool is_above, is_below; /* it isn't seen, but would be if the picture were higher */
};

struct pin_note {
	char title[160], line[200];
	size_t title_size, line_size;
	float width, height;
};

/* Gives y of a step's task, and whether its track is in sight; returns false if it has none any
 * more. */
static bool place_of(const struct thrum__paint *p, const struct thrum__step *step, float *y,
	bool *is_seen)
{
	uint32_t unit, track;

	if (p->bands) {
		*is_seen = true;
		return thrum__bands_step_y(p->bands, step, y);
	}
	unit = thrum__layout_unit(p->layout, step->task);
	if (unit == THRUM__NONE || p->layout->units[unit].track == THRUM__NONE)
		return false;
	track = thrum__layout_track(p->layout, unit);
	*y = thrum__scene_track_axis_line(p->tracks, track);
	*is_seen = thrum__scene_track_axis_find(p->tracks, track) != NULL;
	return true;
}

static bool is_free(const struct thrum__paint *p, float x, float y)
{
	return !thrum__paint_boxes_hit(p->boxes, x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS);
}

/* Moves a pin beside what is there: pins of steps at the same place stand side by side. In bands words are
 * there, too, above or below which there may be room. */
static void find_room(const struct thrum__paint *p, struct pin *pin)
{
	const float by = 2 * RADIUS + 4;

	for (int i = 0; i < THRUM__STEPS_MAX && !is_free(p, pin->x, pin->y); i++) {
		float up = pin->y - by, down = pin->y + by;

		if (p->bands && i >= BESIDE && up > p->top + RADIUS && is_free(p, pin->x, up))
			pin->y = up;
		else if (p->bands && i >= BESIDE && down < p->bottom - RADIUS &&
			is_free(p, pin->x, down))
			pin->y = down;
		else
			pin->x += by;
	}
}

static struct pin place_pin(const struct thrum__paint *p, const struct thrum__step *step)
{
	struct pin pin = {.x = thrum__paint_x(p, step->time)};
	bool is_seen;

	if (!place_of(p, step, &pin.y, &is_seen))
		return pin;
	pin.y = floorf(pin.y) + 0.5f;
	if (step->kind == THRUM__STEP_NEVER_RESOLVED && !p->bands)
		pin.x = fmaxf(pin.x, fminf(p->right, thrum__paint_x(p, p->model->end)) - VICTIM_AT);
	/* A step that came before, but whose task lasts, is told at the edge. */
	if (p->bands && pin.x < p->left && thrum__bands_step_lasts(p->bands, step))
		pin.x = p->left + RADIUS + 1;
	pin.x = floorf(pin.x) + 0.5f;
	find_room(p, &pin);
	pin.is_seen = pin.x > p->left - RADIUS && pin.x < p->right + RADIUS && is_seen &&
		pin.y > p->top - RADIUS && pin.y < p->bottom + RADIUS;
	pin.is_above = pin.y <= p->top - RADIUS;
	pin.is_below = pin.y >= p->bottom + RADIUS;
	/* A pin at an edge is moved so that all of it is seen; in bands, it may reach into the names. */
	pin.x = fmaxf(fmaxf(RADIUS + 1, p->left + (p->bands ? 0 : RADIUS + 1)),
		fminf(p->right - RADIUS - 1, pin.x));
	pin.y = fmaxf(p->top + RADIUS + 1, fminf(p->bottom - RADIUS - 1, pin.y));
	if (pin.is_seen)
		thrum__paint_boxes_add(p->boxes, pin.x - PIN_ROOM, pin.y - PIN_ROOM, 2 * PIN_ROOM,
			2 * PIN_ROOM);
	return pin;
}

static void paint_pin(const struct thrum__paint *p, const struct pin *pin, unsigned number)
{
	bool is_cause = number == 1;
	char digits[4];
	size_t size = (size_t)snprintf(digits, sizeof digits, "%u", number % 1000);
	float width = thrum__paint_width(p, digits, size, THRUM__FONT_BADGE);

	thrum__draw_ring(p->list, THRUM__Z_BADGE, THRUM__COLOUR_BAD,
		is_cause ? THRUM__COLOUR_BAD : THRUM__COLOUR_BG, pin->x, pin->y, RADIUS, 2);
	thrum__draw_text(p->list, THRUM__Z_BADGE_TEXT,
		is_cause ? THRUM__COLOUR_BG : THRUM__COLOUR_BAD, THRUM__FONT_BADGE,
		pin->x - width / 2, pin->y + 4, digits, size, false);
}

/* Paints the path from a step to the next: level along the track of the earlier step, then upright
 * at the time of the later one. */
static void paint_path(const struct thrum__paint *p, const struct thrum__step *from,
	const struct thrum__step *to)
{
	float x1, x2, y1, y2;
	bool is_seen;

	/* A victim's own red line leads to its pin. */
	if ((to->kind == THRUM__STEP_NEVER_RESOLVED && !p->bands) ||
		!place_of(p, from, &y1, &is_seen) || !place_of(p, to, &y2, &is_seen))
		return;
	x1 = fmaxf(p->left, thrum__paint_x(p, from->time));
	x2 = fminf(p->right, thrum__paint_x(p, to->time));
	if (x2 < p->left || x1 > p->right)
		return;
	/* The path replaces the task's line, but not the runs on it. */
	if (!p->bands)
		thrum__draw_horizontal(p->list, THRUM__Z_CASING, THRUM__COLOUR_BG, x1, x2, y1, 2,
			THRUM__DASH_SOLID);
	thrum__draw_horizontal(p->list, THRUM__Z_FINDING, THRUM__COLOUR_BAD, x1, x2, y1, 2,
		THRUM__DASH_4_4);
	thrum__draw_vertical(p->list, THRUM__Z_FINDING, THRUM__COLOUR_BAD, x2, y1, y2, 2,
		p->bands ? THRUM__DASH_4_4 : THRUM__DASH_SOLID);
}

/* ---- Notes --------------------------------------------------------------------------------- */

/* Cuts a line of a note so that it fits. Returns its width. */
static float fit_line(const struct thrum__paint *p, const char *words, size_t size, int font,
	char *to, size_t to_size, size_t *fits)
{
	*fits = thrum__paint_fit(p, words, size, font, NOTE_WIDTH - 16, to, to_size);
	return thrum__paint_width(p, to, *fits, font);
}

static void write_note(const struct thrum__paint *p, const struct thrum__finding *finding,
	unsigned step, struct pin_note *note)
{
	char words[512];
	size_t size = thrum__words_step_title(p->model, finding, step, words, sizeof words);

	note->width = fit_line(p, words, size < sizeof words ? size : sizeof words - 1,
		THRUM__FONT_STRONG, note->title, sizeof note->title, &note->title_size);
	size = thrum__words_step_line(p->model, finding, step, words, sizeof words);
	note->width = 16 +
		fmaxf(note->width,
			fit_line(p, words, size < sizeof words ? size : sizeof words - 1,
				THRUM__FONT_NOTE, note->line, sizeof note->line, &note->line_size));
	note->height = note->line_size > 0 ? 37 : 22;
}

/* Whether a note at x, y would cover a run. */
static bool covers_run(const struct thrum__paint *p, float x, float y, const struct pin_note *note)
{
	int64_t from = thrum__scene_time_axis_time(p->time, x);
	int64_t to = thrum__scene_time_axis_time(p->time, x + note->width);

	for (uint32_t i = 0; i < p->tracks->count; i++) {
		const struct thrum__scene_track_box *box = &p->tracks->boxes[i];
		struct thrum__index_stretch stretch;
		struct thrum__index_walk walk;

		if (box->line + box->bar / 2 < y || box->line - box->bar / 2 > y + note->height)
			continue;
		thrum__index_walk_begin(&walk, p->index, THRUM__INDEX_RUNS, box->track, box->tracks,
			from, to, 1);
		if (thrum__index_walk_next(&walk, &stretch))
			return true;
	}
	return false;
}

/* Finds a place for a note: right below its pin, right above, left below, left above; first such
 * that it covers no run, then anywhere. Returns false if there is no place. */
static bool place_note(const struct thrum__paint *p, const struct pin *pin,
	const struct pin_note *note, float *x, float *y)
{
	for (int i = 0; i < 8; i++) {
		*x = i % 4 < 2 ? pin->x + NOTE_X : pin->x - NOTE_X - note->width;
		*y = i % 2 == 0 ? pin->y + NOTE_Y : pin->y - NOTE_Y - note->height;
		if (*x >= p->left + 4 && *x + note->width <= p->right - 4 && *y >= p->top + 2 &&
			*y + note->height <= p->bottom - 2 &&
			!thrum__paint_boxes_hit(p->boxes, *x, *y, note->width, note->height) &&
			(i >= 4 || !covers_run(p, *x, *y, note)))
			return true;
	}
	return false;
}

static void paint_note(const struct thrum__paint *p, const struct pin *pin,
	const struct thrum__finding *finding, unsigned step)
{
	struct pin_note note;
	float x, y;

	write_note(p, finding, step, &note);
	if (!place_note(p, pin, &note, &x, &y))
		return;
	thrum__paint_boxes_add(p->boxes, x - 4, y - 4, note.width + 8, note.height + 8);
	thrum__paint_boxes_add(&p->memory->notes, x, y, note.width, note.height);
	thrum__draw_rect(p->list, THRUM__Z_BADGE, THRUM__COLOUR_BAD_BG, x, y, note.width,
		note.height);
	thrum__draw_rect(p->list, THRUM__Z_BADGE, THRUM__COLOUR_BAD, x, y, 2, note.height);
	thrum__draw_text(p->list, THRUM__Z_BADGE_TEXT, THRUM__COLOUR_BAD, THRUM__FONT_STRONG, x + 9,
		y + 15, note.title, note.title_size, false);
	thrum__draw_text(p->list, THRUM__Z_BADGE_TEXT, THRUM__COLOUR_INK, THRUM__FONT_NOTE, x + 9,
		y + 30, note.line, note.line_size, false);
}

/* In bands, says at the edge of the picture which steps lie above it, or below; in pairs, also whose. */
static void paint_away(const struct thrum__paint *p, const struct pin *pins, unsigned count,
	bool above)
{
	char words[8 + 4 * THRUM__STEPS_MAX + THRUM__PAIR_NAME];
	float line = p->bands->is_lower ? AWAY_LINE : 0;
	size_t used = 0;

	for (unsigned i = 0; i < count; i++)
		if (above ? pins[i].is_above : pins[i].is_below)
			used += (size_t)snprintf(words + used, sizeof words - used, "%s%u",
				used > 0        ? ", "
					: above ? "↑ "
						: "↓ ",
				i + 1);
	if (used > 0 && p->scene->pair.other)
		snprintf(words + used, sizeof words - used, " %s", p->scene->pair.name);
	if (used > 0)
		thrum__bands_remark(p->bands, p->left + THRUM__BANDS_REMARK,
			above ? p->top + 14 + line : p->bottom - 6 - line, THRUM__FONT_STRONG,
			THRUM__COLOUR_BAD, words);
}

void thrum__paint_findings(struct thrum__paint *p)
{
	const struct thrum__findings *findings = &p->scene->findings;
	const struct thrum__finding *finding;
	struct pin pins[THRUM__STEPS_MAX];

	if (p->state->finding >= findings->count)
		return;
	finding = &findings->findings[p->state->finding];
	/* All pins are placed before the first note, so that no note covers a pin. */
	for (unsigned i = 0; i < finding->step_count; i++) {
		pins[i] = place_pin(p, &finding->steps[i]);
		if (i > 0 && !(p->bands && i > 1 && fabsf(pins[i].x - pins[i - 1].x) < 2))
			paint_path(p, &finding->steps[i - 1], &finding->steps[i]);
	}
	if (p->bands) {
		thrum__bands_keep_heads(p->bands);
		paint_away(p, pins, finding->step_count, true);
		paint_away(p, pins, finding->step_count, false);
	}
	for (unsigned i = 0; i < finding->step_count; i++) {
		/* In bands a note would cover many lines: only the cause and the victim have one, and none
		 * where it would cover those of another trace, or of a range. */
		bool is_end = i == 0 || i + 1 == finding->step_count;
		bool has_range = p->state->bands.range_from < p->state->bands.range_to;
		bool has_note = !p->bands || (is_end && !p->scene->pair.other && !has_range);

		if (!pins[i].is_seen)
			continue;
		paint_pin(p, &pins[i], i + 1);
		thrum__paint_boxes_add(&p->memory->notes, pins[i].x - RADIUS, pins[i].y - RADIUS,
			2 * RADIUS, 2 * RADIUS);
		if (p->width >= NARROW && has_note)
			paint_note(p, &pins[i], finding, i);
	}
}
