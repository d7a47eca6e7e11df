/* SPDX-License-Identifier: ISC */
/*
 * Counters: lines with steps over the tracks. The gutter at the right shows their scales, and each
 * counter's name with its value at the window's end. Counters of one kind share a scale.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "scene/paint/paint.h"

#define COLUMN_LOOKED_AT 8  /* values of one column of pixels that are looked at, at most */
#define ALIKE 10            /* counters share a scale if their magnitudes differ by less */
#define LABEL_HEIGHT 30     /* px */
#define ROOM_BELOW 24       /* px below the lowest scale */
#define SCALE_STEPS 3       /* of a scale, about */
#define POINTS 6            /* of a line, in each column of pixels, at most */
#define KNOWN_LEAST 16      /* px without losses, from which on a line is drawn as known */
#define GAPS_LOOKED_AT 2000 /* about */
#define NAME_MAX 200        /* bytes */

/* A column of pixels in which a counter changes. */
struct value_column {
	int64_t min, max, last;
	float x;
	uint32_t next; /* the first row behind it */
};

struct shown_counter {
	const char *name;
	uint32_t counter;
	size_t name_size;
	struct value_column *columns;
	uint32_t column_count;
	int64_t first, min, max, last; /* at the window's beginning; in it; at its end */
	uint32_t group;
	bool is_known; /* at the point up to which the line is drawn: no event was lost since */
	int colour, dash;
	float y; /* of its last value */
};

/* A scale, which takes a part of the picture's height. */
struct counter_scale {
	struct thrum__scene_counter_place place; /* the same for all of its counters */
	double step;
};

struct counters {
	struct thrum__paint *p;
	uint32_t columns_max; /* of a counter */
	/* In the scratch memory: */
	struct value_column *columns;     /* of all counters */
	struct thrum__draw_point *points; /* of the line that is being drawn */
	uint8_t *lost;                    /* by pixel: whether a lane lost events there */
	struct shown_counter shown[THRUM__COUNTERS_SHOWN_MAX];
	uint32_t count;
	struct counter_scale scales[THRUM__COUNTERS_SHOWN_MAX];
	uint32_t scale_count;
};

/* ---- Values by pixel columns --------------------------------------------------------------- */

/* Gives the column of pixels in which row `at` lies; returns false behind the window's end. If the
 * column has many values, looks at some of them and at the last. */
static bool column_of(const struct thrum__paint *p, const struct thrum__counter *counter,
	uint32_t at, struct value_column *c)
{
	uint32_t end, step;

	if (at >= counter->values.count)
		return false;
	c->x = floorf(thrum__paint_x(p, THRUM__VALUE(counter, at, time)));
	if (c->x > p->right)
		return false;
	end = thrum__scene_counter_seek(counter, at,
		thrum__scene_time_axis_time(p->time, c->x + 1));
	if (end <= at)
		end = at + 1;
	step = (end - at + COLUMN_LOOKED_AT - 1) / COLUMN_LOOKED_AT;
	c->min = c->max = c->last = THRUM__VALUE(counter, end - 1, value);
	for (uint32_t left = end - at; left > 0; left -= left > step ? step : left) {
		int64_t value = THRUM__VALUE(counter, end - left, value);

		c->min = value < c->min ? value : c->min;
		c->max = value > c->max ? value : c->max;
	}
	c->next = end;
	return true;
}

/* ---- Which counters, on which scales ------------------------------------------------------- */

static void add_counter(struct counters *c, const struct thrum__counter *counter)
{
	struct shown_counter *shown = &c->shown[c->count];
	uint32_t at = thrum__scene_counter_seek(counter, counter->values.first, c->p->from);
	struct value_column *column;

	*shown = (struct shown_counter){.columns = c->columns + c->count * c->columns_max,
		.colour = THRUM__COLOUR_C1 + (int)c->count % 4};
	/* The fifth counter has the first one's colour, but other dashes. */
	shown->dash = (const int[]){THRUM__DASH_SOLID, THRUM__DASH_7_3, THRUM__DASH_2_2,
		THRUM__DASH_9_3_2_3}[(c->count + c->count / 4) % 4];
	shown->name = thrum__model_string(c->p->model, counter->name, &shown->name_size);
	shown->counter = (uint32_t)(counter - c->p->model->counters);
	shown->is_known = thrum__scene_counter_at(c->p->model, counter, c->p->from, &shown->first);
	shown->min = shown->max = shown->last = shown->first;
	for (column = shown->columns;
		shown->column_count < c->columns_max && column_of(c->p, counter, at, column);
		column++) {
		shown->min = column->min < shown->min ? column->min : shown->min;
		shown->max = column->max > shown->max ? column->max : shown->max;
		shown->last = column->last;
		shown->column_count++;
		at = column->next;
	}
	c->count++;
}

static void choose_counters(struct counters *c)
{
	const struct thrum__model *model = c->p->model;
	const struct thrum__scene_state *state = c->p->state;

	if (state->counter_count == 0)
		for (uint32_t i = 0; i < model->counter_count && i < THRUM__COUNTERS_BY_DEFAULT;
			i++)
			add_counter(c, &model->counters[i]);
	for (uint32_t k = 0; k < state->counter_count; k++) {
		for (uint32_t i = 0; i < model->counter_count; i++) {
			const char *name = thrum__model_string(model, model->counters[i].name,
				NULL);

			if (strncmp(name, state->counter_shown[k],
				    sizeof state->counter_shown[k] - 1) == 0) {
				add_counter(c, &model->counters[i]);
				break;
			}
		}
	}
}

/* Whether two names differ only in the numbers behind #. */
static bool has_same_kind(const struct shown_counter *a, const struct shown_counter *b)
{
	size_t i = 0, k = 0;
	bool numbered = false;

	while (i < a->name_size && k < b->name_size && a->name[i] == b->name[k]) {
		if (a->name[i] == '#') {
			numbered = true;
			while (i + 1 < a->name_size && a->name[i + 1] >= '0' &&
				a->name[i + 1] <= '9')
				i++;
			while (k + 1 < b->name_size && b->name[k + 1] >= '0' &&
				b->name[k + 1] <= '9')
				k++;
		}
		i++;
		k++;
	}
	return numbered && i == a->name_size && k == b->name_size;
}

static double magnitude(const struct shown_counter *shown)
{
	return fmax(fabs((double)shown->min), fabs((double)shown->max));
}

static bool has_like_magnitude(const struct shown_counter *a, const struct shown_counter *b)
{
	double x = magnitude(a), y = magnitude(b);

	return x <= ALIKE * y && y <= ALIKE * x;
}

/* Puts each counter on the scale of the first counter of its kind; else of the first one of its
 * magnitude; else on a new one. A counter that is always 0 fits any scale. */
static void share_scales(struct counters *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		struct shown_counter *shown = &c->shown[i];
		uint32_t k = 0;

		while (k < i && !has_same_kind(shown, &c->shown[k]))
			k++;
		for (k = k < i ? k : 0; k < i && !has_same_kind(shown, &c->shown[k]) &&
			magnitude(shown) > 0 && !has_like_magnitude(shown, &c->shown[k]);)
			k++;
		shown->group = k < i ? c->shown[k].group : c->scale_count++;
	}
}

static void make_scale(struct counters *c, uint32_t group)
{
	struct counter_scale *scale = &c->scales[group];
	double min = INFINITY, max = -INFINITY;
	float height = c->p->bottom - c->p->top, part = 0.42f;

	if (c->scale_count > 1)
		part = fminf(part, 0.78f / (float)c->scale_count);
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->shown[i].group != group)
			continue;
		min = fmin(min, (double)c->shown[i].min);
		max = fmax(max, (double)c->shown[i].max);
	}
	/* Large numbers need larger steps, since a double holds them only roughly. */
	scale->step = thrum__paint_step(
		fmax((max - min) / SCALE_STEPS, fmax(fabs(min), fabs(max)) * 1e-14));
	scale->place.base = floor(min / scale->step) * scale->step;
	scale->place.top = ceil(max / scale->step) * scale->step;
	if (scale->place.top <= scale->place.base)
		scale->place.top = scale->place.base + scale->step;
	scale->place.y_base = c->p->bottom - ROOM_BELOW - height * part * (float)group;
	scale->place.y_top = c->p->bottom - height * part * (float)(group + 1);
}

static float y_of(const struct counter_scale *scale, double value)
{
	return thrum__scene_counter_y(&scale->place, value);
}

/* ---- Painting ------------------------------------------------------------------------------ */

/* Doesn't use printf's %f, whose decimal point depends on the locale. `value` is below a
 * million. */
static void put_decimal(double value, int decimals, const char *word, char *to, size_t size)
{
	unsigned scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
	unsigned long long scaled = (unsigned long long)(fabs(value) * scale + 0.5);
	const char *sign = value < 0 ? "−" : "";

	if (decimals > 0)
		snprintf(to, size, "%s%llu.%0*llu%s", sign, scaled / scale, decimals,
			scaled % scale, word);
	else
		snprintf(to, size, "%s%llu%s", sign, scaled, word);
}

/* Writes a number in little room: "20 M". */
static void scale_words(double value, double step, char *to, size_t size)
{
	static const struct {
		double unit;
		const char *word;
	} units[] = {{1e18, " E"}, {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1, ""}};
	size_t i = 0;

	while (fabs(value) < units[i].unit && units[i].unit > 1)
		i++;
	if (units[i].unit == 1 && fabs(value) < 1e6)
		thrum__scene_counter_words((int64_t)value, to, size);
	else
		put_decimal(value / units[i].unit,
			step < units[i].unit / 10 ? 2 : step < units[i].unit, units[i].word, to,
			size);
}

static void paint_scale(struct counters *c, uint32_t group)
{
	const struct counter_scale *scale = &c->scales[group];
	struct thrum__paint *p = c->p;
	int steps = (int)((scale->place.top - scale->place.base) / scale->step + 0.5);

	for (int i = 0; i <= steps; i++) {
		double value = scale->place.base + i * scale->step;
		float y = y_of(scale, value);
		bool is_free = true;
		char words[40];

		thrum__draw_horizontal(p->list, THRUM__Z_GRID, THRUM__COLOUR_RULE, 0, p->right, y,
			1, THRUM__DASH_1_3);
		thrum__draw_horizontal(p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_MUTED, p->right,
			p->right + 5, y, 1, THRUM__DASH_SOLID);
		/* The ends of lines have precedence. */
		for (uint32_t k = 0; k < c->count; k++)
			is_free &= fabsf(c->shown[k].y - y) > 7;
		scale_words(value, scale->step, words, sizeof words);
		if (is_free)
			thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_MUTED,
				THRUM__FONT_SMALL, p->right + 9, y + 4, words, strlen(words), true);
	}
}

/* The line that is being drawn: a piece in which the value is known, or one in which it isn't. */
struct line_pen {
	struct counters *c;
	struct shown_counter *shown;
	size_t count; /* of c->points */
};

static void add_point(struct line_pen *pen, float x, float y)
{
	pen->c->points[pen->count++] = (struct thrum__draw_point){x, y};
}

/* Draws the piece and begins another. A piece whose value isn't known is dotted. */
static void draw_points(struct line_pen *pen)
{
	struct thrum__draw_list *list = pen->c->p->list;
	struct shown_counter *shown = pen->shown;

	if (pen->count > 1 && shown->is_known) {
		thrum__draw_polyline(list, THRUM__Z_CASING, THRUM__COLOUR_BG, pen->c->points,
			pen->count, 5, THRUM__DASH_SOLID);
		thrum__draw_polyline(list, THRUM__Z_COUNTER, shown->colour, pen->c->points,
			pen->count, 2, shown->dash);
	} else if (pen->count > 1) {
		thrum__draw_polyline(list, THRUM__Z_COUNTER, shown->colour, pen->c->points,
			pen->count, 1, THRUM__DASH_1_3);
	}
	pen->count = 0;
}

/* Returns the first pixel in x … end in which events are lost, or `end`. */
static float lost_from(const struct counters *c, float x, float end)
{
	const uint8_t *lost = x < end ? memchr(c->lost + (int)x, 1, (size_t)(end - x)) : NULL;

	return lost ? (float)(lost - c->lost) : end;
}

static void draw_level(struct line_pen *pen, float x, float y, float end)
{
	float lost = pen->shown->is_known ? lost_from(pen->c, x, end) : end;

	if (lost < end) {
		add_point(pen, lost, y);
		draw_points(pen);
		pen->shown->is_known = false;
		add_point(pen, lost, y);
	}
	add_point(pen, end, y);
}

/* The value is known again if no events are lost for some px: pieces that are shorter than a dash
 * could not be told apart. */
static void draw_step(struct line_pen *pen, const struct value_column *column, float x)
{
	const struct counter_scale *scale = &pen->c->scales[pen->shown->group];
	float soon = fminf(x + KNOWN_LEAST, pen->c->p->right);

	if (!pen->shown->is_known && lost_from(pen->c, x, soon) == soon) {
		draw_points(pen);
		pen->shown->is_known = true;
	} else if (column->min != column->max) {
		add_point(pen, x, y_of(scale, (double)column->min));
		add_point(pen, x, y_of(scale, (double)column->max));
	}
	add_point(pen, x, y_of(scale, (double)column->last));
}

static bool is_distribution(const struct counters *c, const struct shown_counter *shown)
{
	return c->p->model->counters[shown->counter].kind == THRUM_COUNTER_DISTRIBUTION;
}

static void paint_distribution(struct counters *c, struct shown_counter *shown)
{
	shown->y = thrum__paint_percentiles(c->p, &c->p->model->counters[shown->counter],
		&c->scales[shown->group].place, shown->colour, c->points,
		POINTS * (size_t)c->columns_max, &shown->last);
	shown->is_known = true;
}

static void paint_line(struct counters *c, struct shown_counter *shown)
{
	const struct counter_scale *scale = &c->scales[shown->group];
	struct line_pen pen = {c, shown, 0};
	float x = 0, y = y_of(scale, (double)shown->first);

	add_point(&pen, x, y);
	for (uint32_t i = 0; i < shown->column_count; i++) {
		const struct value_column *column = &shown->columns[i];
		float last = y_of(scale, (double)column->last);
		float next = fmaxf(column->x, 0);

		if (shown->is_known && column->min == column->max && last == y &&
			lost_from(c, x, next) == next)
			continue;
		draw_level(&pen, x, y, next);
		draw_step(&pen, column, next);
		x = next;
		y = last;
	}
	draw_level(&pen, x, y, c->p->right);
	draw_points(&pen);
	shown->y = y;
}

/* Fits a path into a room. Leaves out parts from the left, since the last one says most. */
static size_t fit_path(const struct thrum__paint *p, const char *path, size_t size, float room,
	char *to, size_t to_size)
{
	char clean[NAME_MAX];
	const char *from = clean, *slash;

	size = thrum__base_utf8_clean(path, size, clean, sizeof clean);
	while ((slash = memchr(from, '/', size)) != NULL &&
		thrum__paint_width(p, from, size, THRUM__FONT_STRONG) > room) {
		size -= (size_t)(slash + 1 - from);
		from = slash + 1;
	}
	return thrum__paint_fit(p, from, size, THRUM__FONT_STRONG, room, to, to_size);
}

/* Paints a counter's name and value in the gutter, at y, with a line to its line's end. */
static void paint_name(struct counters *c, const struct shown_counter *shown, float y)
{
	struct thrum__paint *p = c->p;
	char name[NAME_MAX], value[40];
	float x = p->right + 56;
	size_t size = fit_path(p, shown->name, shown->name_size, p->width - x - 4, name,
		sizeof name);

	if (is_distribution(c, shown))
		strcpy(value, "p99 ");
	else
		value[0] = '\0';
	char *number = value + strlen(value);
	size_t room = sizeof value - strlen(value);

	thrum__scene_counter_words(shown->last, number, room);
	if (!shown->is_known)
		strcpy(value, "not known");
	else if (thrum__paint_width(p, value, strlen(value), THRUM__FONT_NOTE) > p->width - x - 4)
		scale_words((double)shown->last, 1, number, room);
	thrum__draw_horizontal(p->list, THRUM__Z_FRAME_MARK, shown->colour, p->right + 1,
		p->right + 45, shown->y, 2, THRUM__DASH_SOLID);
	thrum__draw_line(p->list, THRUM__Z_FRAME_MARK, shown->colour, p->right + 45, shown->y,
		p->right + 52, y - 1, 1);
	thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, shown->colour, THRUM__FONT_STRONG, x, y + 3,
		name, size, false);
	thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_INK, THRUM__FONT_NOTE, x,
		y + 17, value, strlen(value), true);
}

/* Paints the names in the order of the lines' ends, none over another, all within the picture. */
static void paint_names(struct counters *c)
{
	uint32_t order[THRUM__COUNTERS_SHOWN_MAX];
	float y[THRUM__COUNTERS_SHOWN_MAX], free = c->p->top + 10, limit = c->p->bottom - 22;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t k = i;

		for (; k > 0 && c->shown[order[k - 1]].y > c->shown[i].y; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	for (uint32_t i = 0; i < c->count; i++) {
		y[i] = fmaxf(c->shown[order[i]].y - 4, free);
		free = y[i] + LABEL_HEIGHT;
	}
	for (uint32_t i = c->count; i-- > 0; limit -= LABEL_HEIGHT)
		y[i] = fminf(y[i], limit);
	for (uint32_t i = 0; i < c->count; i++)
		if (y[i] > c->p->top + 8)
			paint_name(c, &c->shown[order[i]], y[i]);
}

/* Reserves scratch memory for the columns of all counters and the points of one line. */
static bool reserve(struct counters *c)
{
	const uint32_t column = sizeof *c->columns / sizeof(uint32_t);
	const uint32_t point = sizeof *c->points / sizeof(uint32_t);
	uint32_t *scratch;

	_Static_assert(sizeof *c->columns % sizeof(*c->points) == 0, "both in one table");
	c->columns_max = (uint32_t)c->p->right + 8;
	scratch = thrum__paint_scratch(c->p,
		(THRUM__COUNTERS_SHOWN_MAX * column + POINTS * point + 1) * c->columns_max);
	c->columns = (void *)scratch;
	c->points = (void *)(scratch + THRUM__COUNTERS_SHOWN_MAX * column * c->columns_max);
	c->lost = (void *)(c->points + POINTS * (size_t)c->columns_max);
	return scratch != NULL;
}

static void find_lost(struct counters *c)
{
	const struct thrum__paint *p = c->p;
	const struct thrum__model_rows *gaps = &p->model->gaps;
	uint32_t end = thrum__paint_first_gap_after(gaps, p->to),
		 i = thrum__paint_first_gap_after(gaps, p->from);
	uint32_t every = 1 + (end - i) / GAPS_LOOKED_AT;
	uint32_t last = gaps->count - end > THRUM__LOOK_AHEAD ? end + THRUM__LOOK_AHEAD
							      : gaps->count;

	memset(c->lost, 0, c->columns_max);
	for (; i < last; i += i < end ? every : 1) {
		float x1, x2;

		if (!thrum__model_has_row(gaps, i))
			continue;
		x1 = fmaxf(thrum__paint_clamped(p, THRUM__GAP(p->model, i, start)), 0);
		x2 = fminf(thrum__paint_clamped(p, THRUM__GAP(p->model, i, end)), p->right);
		if (x1 <= x2)
			memset(c->lost + (int)x1, 1, (size_t)((int)x2 - (int)x1) + 1);
	}
}

static void paint_gutter(struct thrum__paint *p)
{
	thrum__draw_rect(p->list, THRUM__Z_FRAME, THRUM__COLOUR_PANEL, p->right, p->ruler_top,
		p->width - p->right, p->bottom - p->ruler_top);
	thrum__draw_vertical(p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RULE, p->right,
		p->ruler_top, p->bottom, 1, THRUM__DASH_SOLID);
	thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_MUTED, THRUM__FONT_TICK,
		p->right + 10, p->ruler_top + 19, "counters", 8, false);
}

void thrum__paint_counters(struct thrum__paint *p)
{
	struct counters c = {.p = p};

	p->memory->counter_count = 0;
	if (!p->state->counters || p->right >= p->width || !reserve(&c))
		return;
	choose_counters(&c);
	share_scales(&c);
	for (uint32_t i = 0; i < c.scale_count; i++)
		make_scale(&c, i);
	paint_gutter(p);
	find_lost(&c);
	for (uint32_t i = 0; i < c.count; i++)
		if (is_distribution(&c, &c.shown[i]))
			paint_distribution(&c, &c.shown[i]);
		else
			paint_line(&c, &c.shown[i]);
	for (uint32_t i = 0; i < c.scale_count; i++)
		paint_scale(&c, i);
	paint_names(&c);
	for (uint32_t i = 0; i < c.count; i++) {
		struct thrum__scene_counter_place *place = &p->memory->counters[i];

		*place = c.scales[c.shown[i].group].place;
		place->counter = c.shown[i].counter;
		place->colour = c.shown[i].colour;
	}
	p->memory->counter_count = c.count;
}
