/* SPDX-License-Identifier: ISC */
/* Queues: how many wait for the locks of a group, and how much of their time these are held; an opened
 * one has a row for each lock. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/graph.h"
#include "scene/bands/opened.h"

#define WAITING 26   /* px: height of the columns of waiting tasks */
#define HELD 7       /* px: height of the columns of held locks */
#define HELD_BASE 35 /* px from the top to their base */
#define MOSTLY 0.9   /* a share from which on a lock is nearly always held */
#define OPENED_AT 46 /* px from the top to the rows of an opened queue */
#define NAMED 60     /* px of a hold that has its holder's name, at least */
#define APART 4      /* px of a hold that stands apart from the one before, at least */
#define BOX_AT 5     /* px from a row's top to its holds */

static uint16_t height_of(double part, uint16_t room)
{
	double height = floor(part * room + 0.5);

	return height <= 0 ? 0 : height > room ? room : (uint16_t)height;
}

/* Fills in the shares of a queue's columns. Returns how many wait at once, at most. */
static double fill_columns(struct thrum__scene_bands *bands, uint32_t queue)
{
	float *waiting = bands->shares, *held = waiting + bands->window.columns;
	double most = 1;

	thrum__bands_queue_columns(bands->all, queue, &bands->window, waiting, held);
	for (uint32_t i = 0; i < bands->window.columns; i++)
		most = fmax(most, ceil((double)waiting[i]));
	return most;
}

/* Paints both rows of columns, where `most` waiting tasks have the full height. */
static void paint_columns(const struct thrum__bands_pen *pen, float top, bool holds, double most)
{
	const float *waiting = pen->bands->shares, *held = waiting + pen->bands->window.columns;
	uint16_t *heights = pen->bands->heights;
	uint32_t columns = pen->bands->window.columns;

	for (uint32_t i = 0; i < columns; i++)
		heights[i] = height_of((double)waiting[i] / most, WAITING);
	thrum__bands_columns(pen, THRUM__COLOUR_FADED, top + WAITING, heights, WAITING);
	for (uint32_t i = 0; holds && i < columns; i++)
		heights[i] = height_of((double)held[i], HELD);
	if (holds)
		thrum__bands_columns(pen, THRUM__COLOUR_EDGE, top + HELD_BASE, heights, HELD);
}

/* ---- The gutter ---------------------------------------------------------------------------- */

/* Writes the numbers below the name: shares, and how long half of the tasks wait and hold. */
static void write_numbers(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float top)
{
	const struct thrum__bands_queue_numbers *n = &thrum__bands_counted_of(pen, place)->queue;
	bool has_holds = pen->bands->all->queues[place->index].holds > 0;
	const char *least = thrum__bands_least(pen);
	char words[120], wait[32], hold[32], held[32], waiting[32];

	thrum__words_percent(n->held, held, sizeof held);
	thrum__words_decimal(n->waiting, n->waiting > 0 && n->waiting < 1, waiting, sizeof waiting);
	if (has_holds)
		snprintf(words, sizeof words, "%s%s held · %s%s wait", least, held, least, waiting);
	else
		snprintf(words, sizeof words, "%s%s wait", least, waiting);
	if (pen->left <= 0) {
		if (thrum__bands_has_name(pen, place))
			thrum__bands_text_right(pen, pen->p->width - 12,
				top + THRUM__BANDS_ABOVE_LINE, THRUM__FONT_NOTE,
				thrum__bands_number_colour(pen, THRUM__COLOUR_INK), words);
		return;
	}
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 25,
		n->held >= MOSTLY ? THRUM__FONT_BASE : THRUM__FONT_NOTE,
		thrum__bands_number_colour(pen, THRUM__COLOUR_INK), pen->left - 20, words);
	if (n->waits == 0 && n->holds == 0)
		return;
	thrum__words_duration(n->half_wait, 2, wait, sizeof wait);
	thrum__words_duration(n->half_hold, 2, hold, sizeof hold);
	snprintf(words, sizeof words, has_holds ? "half wait %s, hold %s" : "half wait %s", wait,
		hold);
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 39, THRUM__FONT_NOTE,
		thrum__bands_number_colour(pen, THRUM__COLOUR_MUTED), pen->left - 20, words);
}

/* Writes the name with the kind; in pairs, the scene's name in place of the kind. */
static void write_name(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float top)
{
	const struct thrum__bands_queue *queue = &pen->bands->all->queues[place->index];
	const struct thrum__group *group = &pen->bands->all->family.groups[queue->group];
	float right = (pen->left > 0 ? pen->left : pen->p->width) - 12;
	char words[200];
	const char *name;
	size_t size;

	name = thrum__family_name(&pen->bands->all->family, queue->group, &size);
	snprintf(words, sizeof words, queue->instances > 1 ? "%.*s ×%u" : "%.*s",
		(int)(size < 150 ? size : 150), name, (unsigned)queue->instances);
	if (thrum__bands_has_name(pen, place))
		thrum__bands_text(pen, THRUM__BANDS_NAME,
			top + (pen->left > 0 ? 11 : THRUM__BANDS_ABOVE_LINE), THRUM__FONT_STRONG,
			THRUM__COLOUR_INK, right - (pen->left > 0 ? 68 : 120), words);
	if (pen->left > 0 && pen->other)
		thrum__bands_name_side(pen, right, top + 11);
	else if (pen->left > 0)
		thrum__bands_text_right(pen, right, top + 11, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED,
			thrum__words_kind(pen->p->model, group->sample));
}

/* ---- Picking ------------------------------------------------------------------------------- */

/* The task that holds a lock at a time, by its known name, if it does so for at least a few px. */
static uint32_t holder_at(const struct thrum__bands *all, uint32_t queue, uint32_t object,
	int64_t time, int64_t pixel)
{
	struct thrum__bands_turns turns;
	struct thrum__bands_turn turn;

	thrum__bands_turns_begin(&turns, all, queue, true, time, time + 1);
	while (thrum__bands_turns_next(&turns, &turn))
		if (turn.object == object && turn.to - turn.from >= APART * pixel)
			return thrum__analyse_task_known_as(all->model, turn.task);
	return THRUM__NONE;
}

uint32_t thrum__bands_queue_task(const struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_place *place, float y, int64_t time, int64_t pixel)
{
	uint32_t objects[THRUM__OPENED_OBJECTS], count, holder;
	float row = floorf((y - OPENED_AT) / THRUM__OPENED_OBJECT);

	if (place->rows == 0 || row < 0)
		return thrum__bands_queue_worst(bands->all, place->index, time - pixel,
			time + pixel + 1);
	count = thrum__bands_queue_objects(bands->all, place->index, objects, place->rows);
	if (row >= (float)count)
		return THRUM__NONE;
	holder = bands->all->queues[place->index].holds > 0
		? holder_at(bands->all, place->index, objects[(uint32_t)row], time, pixel)
		: THRUM__NONE;
	return holder == THRUM__NONE ? objects[(uint32_t)row] : holder;
}

/* ---- Opened -------------------------------------------------------------------------------- */

/* Holds of one lock that are too near to be seen apart. */
struct box {
	uint32_t object, task; /* NONE: of several */
	float x1, x2;
	int64_t length; /* ns of one hold */
};

static void paint_box(const struct thrum__bands_pen *pen, const struct box *box, float y,
	bool holds)
{
	char words[200], fits[200], name[120], duration[40];
	size_t size;

	if (box->x2 <= box->x1)
		return;
	if (!holds) {
		thrum__draw_rect(pen->p->list, THRUM__Z_RUN, THRUM__COLOUR_PEND, box->x1,
			y + HELD / 2, box->x2 - box->x1, 2);
		return;
	}
	thrum__draw_rect(pen->p->list, THRUM__Z_RUN, THRUM__COLOUR_EDGE, box->x1, y,
		box->x2 - box->x1 > 3 ? box->x2 - box->x1 - 1 : box->x2 - box->x1, HELD);
	if (box->task == THRUM__NONE || box->x2 - box->x1 < NAMED)
		return;
	thrum__words_task(pen->p->model, thrum__analyse_task_known_as(pen->p->model, box->task),
		name, sizeof name);
	thrum__words_duration(box->length, 3, duration, sizeof duration);
	snprintf(words, sizeof words, "%s %s", duration, name);
	size = thrum__paint_fit(pen->p, words, strlen(words), THRUM__FONT_SMALL,
		box->x2 - box->x1 - 4, fits, sizeof fits);
	thrum__draw_text(pen->p->list, THRUM__Z_LABEL, THRUM__COLOUR_INK, THRUM__FONT_SMALL,
		box->x1 + 2, y - 1, fits, size, false);
}

/* Paints a row for each lock: who holds it; of a condition, when anybody waits. */
static void paint_objects(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float top)
{
	const struct thrum__bands *all = pen->bands->all;
	const struct thrum__bands_window *window = &pen->bands->window;
	bool holds = all->queues[place->index].holds > 0;
	struct box boxes[THRUM__OPENED_OBJECTS];
	uint32_t objects[THRUM__OPENED_OBJECTS];
	uint32_t count = thrum__bands_queue_objects(all, place->index, objects, place->rows);
	struct thrum__bands_turns turns;
	struct thrum__bands_turn turn;

	for (uint32_t i = 0; i < count; i++) {
		char name[THRUM__NAME_MAX];

		boxes[i] = (struct box){.object = objects[i]};
		thrum__words_task(pen->p->model, objects[i], name, sizeof name);
		if (pen->left > 0)
			thrum__bands_text(pen, 2 * THRUM__BANDS_NAME,
				top + THRUM__OPENED_OBJECT * (float)i + BOX_AT + HELD,
				THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, pen->left - 28, name);
	}
	thrum__bands_turns_begin(&turns, all, place->index, holds, window->times[0],
		window->times[window->columns]);
	while (thrum__bands_turns_next(&turns, &turn)) {
		float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, turn.from));
		float x2 = fmaxf(fminf(pen->right, thrum__paint_x(pen->p, turn.to)), x1 + 1);
		uint32_t i = 0;

		while (i < count && boxes[i].object != turn.object)
			i++;
		if (i == count)
			continue;
		/* Short holds join; a long one stands for itself. */
		if (boxes[i].x2 > boxes[i].x1 && x1 <= boxes[i].x2 + 1 &&
			(!holds ||
				(x2 - x1 < APART &&
					(boxes[i].task == THRUM__NONE ||
						boxes[i].x2 - boxes[i].x1 < APART)))) {
			boxes[i].x2 = fmaxf(boxes[i].x2, x2);
			boxes[i].task = THRUM__NONE;
			continue;
		}
		paint_box(pen, &boxes[i], top + THRUM__OPENED_OBJECT * (float)i + BOX_AT, holds);
		boxes[i] = (struct box){turn.object, turn.task, x1, x2, turn.to - turn.from};
	}
	for (uint32_t i = 0; i < count; i++)
		paint_box(pen, &boxes[i], top + THRUM__OPENED_OBJECT * (float)i + BOX_AT, holds);
}

/* ---- The queue ----------------------------------------------------------------------------- */

void thrum__bands_paint_queue(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	const struct thrum__bands_queue *queue = &pen->bands->all->queues[place->index];
	const struct thrum__scene_bands_place *other = thrum__bands_other(pen, place);
	float top = thrum__bands_top(pen, place);
	double most = fill_columns(pen->bands, place->index);
	char words[40];

	/* Halves of a pair have one scale. */
	if (other)
		most = fmax(most, fill_columns(pen->other, other->index));
	paint_columns(pen, top, queue->holds > 0, most);
	write_name(pen, place, top);
	write_numbers(pen, place, top);
	if (thrum__bands_has_name(pen, place)) {
		snprintf(words, sizeof words, "%u wait", (unsigned)most);
		thrum__bands_scale_text(pen, top + 9, words);
	}
	if (queue->holds > 0)
		thrum__bands_scale_text(pen, top + HELD_BASE, "held");
	if (place->rows > 0)
		paint_objects(pen, place, top + OPENED_AT);
}
