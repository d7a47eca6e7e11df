/* SPDX-License-Identifier: ISC */
/*
 * The strip: an overview of the whole trace. Its time is always linear, so that it shows where one
 * is even if the picture folds time. Grey columns: tasks alive. Blue columns: the square root of
 * the share of time running, so that microseconds are visible. Flags: findings. Underlined colour:
 * the starts of found tasks. Red at the base: failures. Frame: the window.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands/bands.h"

#define FLAGS_MAX 64
#define TIMES_MAX 8
#define FOUND_HEIGHT 4 /* px, just above the columns */
#define FOUND_LINE 2
#define FAILED_HEIGHT 4 /* px, at the base of the columns */
#define NAME_LEFT 8     /* px from the left to a name beside a strip */
#define PAIR_HEAD 4     /* px above the columns, where two traces are in pairs */

struct strip {
	struct thrum__paint *p;
	float top, height, left, right; /* time lies between left and right */
	float head;                     /* px above the columns */
	double scale;                   /* px per ns */
	int64_t start, end;
};

static float x_of(const struct strip *s, int64_t time)
{
	float x = s->left + (float)(((double)time - (double)s->start) * s->scale);

	return x < s->left ? s->left : x > s->right ? s->right : x;
}

static int64_t time_of(const struct strip *s, float x)
{
	double time = (double)s->start + (double)(x - s->left) / s->scale;

	return time >= (double)s->end ? s->end : (int64_t)time;
}

void thrum__paint_columns(struct thrum__draw_list *list, int z, int colour, float left, float base,
	const uint16_t *heights, uint32_t count)
{
	uint32_t from = 0;

	/* Neighbours of the same height become one rect. */
	for (uint32_t i = 1; i <= count; i++) {
		if (i < count && heights[i] == heights[from])
			continue;
		if (heights[from] > 0)
			thrum__draw_rect(list, z, colour, left + (float)(from * THRUM__BIN),
				base - heights[from], (float)((i - from) * THRUM__BIN),
				heights[from]);
		from = i;
	}
}

uint16_t thrum__paint_busy(double share, float room)
{
	float height = (float)sqrt(share < 1 ? share : 1) * room;

	return (uint16_t)(share <= 0 ? 0 : height < 4 ? 4 : height);
}

static void make_columns(const struct strip *s, struct thrum__paint_strip_columns *columns,
	uint32_t count, float room)
{
	const struct thrum__index *index = s->p->index;
	uint32_t alive[THRUM__BINS_MAX], most = 1;

	for (uint32_t i = 0; i < count; i++) {
		int64_t from = time_of(s, s->left + (float)(i * THRUM__BIN));
		int64_t to = time_of(s, s->left + (float)((i + 1) * THRUM__BIN));
		double busy = (double)thrum__index_busy(index, from, to);

		alive[i] = thrum__index_alive(index, from + (to - from) / 2);
		most = alive[i] > most ? alive[i] : most;
		columns->blue[i] = thrum__paint_busy(to > from ? busy / (double)(to - from) : 0,
			room);
	}
	for (uint32_t i = 0; i < count; i++)
		columns->grey[i] = (uint16_t)((float)alive[i] / (float)most * room);
}

/* Marks the bins in which found units begin, and the bins beside them: a single one would be too
 * narrow to be seen. */
static void make_found(const struct strip *s, struct thrum__paint_strip_columns *columns,
	uint32_t count)
{
	enum {
		BEGINS = 1,
		IS_NEAR = 2
	};
	const struct thrum__scene *scene = s->p->scene;
	const struct thrum__scene_found *found = thrum__scene_found_of(scene);

	columns->knows_found = true;
	memset(columns->found, 0, sizeof columns->found);
	if (!found)
		s->p->list->failed = true;
	for (uint32_t i = 0; found && i < found->count; i++) {
		uint32_t at = (uint32_t)(x_of(s, found->all[i].start) - s->left) / THRUM__BIN;

		at = at < count ? at : count - 1;
		if (columns->found[at] == 0 && thrum__scene_found_holds(scene, &found->all[i]))
			columns->found[at] = BEGINS;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!(columns->found[i] & BEGINS))
			continue;
		columns->found[i > 0 ? i - 1 : 0] |= IS_NEAR;
		columns->found[i + 1 < count ? i + 1 : i] |= IS_NEAR;
	}
}

/* Whether a task's failure says something: in bands, not if nearly all of its group fail. */
static bool is_told(const struct thrum__scene *scene, uint32_t task)
{
	const struct thrum__family *family = scene->bands ? &scene->bands->all->family : NULL;
	uint32_t group;

	if (!scene->shows_bands || !family)
		return true;
	group = thrum__family_group(family, thrum__family_line(family, task));
	return group == THRUM__NONE || !thrum__bands_all_fail(&family->groups[group]);
}

/* Marks the bins in which tasks failed. */
static void make_failed(const struct strip *s, struct thrum__paint_strip_columns *columns,
	uint32_t count)
{
	const struct thrum__model *model = s->p->model;

	columns->knows_failed = true;
	columns->is_of_bands = s->p->scene->shows_bands;
	memset(columns->failed, 0, sizeof columns->failed);
	for (uint32_t task = model->tasks.first; task < model->tasks.count; task++) {
		uint32_t at;

		if (!thrum__model_has_row(&model->tasks, task)) {
			task |= THRUM__BLOCK_MASK;
			continue;
		}
		if (THRUM__TASK(model, task, state) != THRUM__STATE_FAILED)
			continue;
		at = (uint32_t)(x_of(s, THRUM__TASK(model, task, end)) - s->left) / THRUM__BIN;
		at = at < count ? at : count - 1;
		if (!columns->failed[at])
			columns->failed[at] = is_told(s->p->scene, task);
	}
}

static void paint_failed(const struct strip *s, const bool *failed, uint32_t count, float base)
{
	for (uint32_t i = 0, from = 0; i <= count; i++) {
		if (i < count && failed[i])
			continue;
		if (i > from)
			thrum__draw_rect(s->p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_BAD,
				s->left + (float)(from * THRUM__BIN), base - FAILED_HEIGHT,
				(float)((i - from) * THRUM__BIN), FAILED_HEIGHT);
		from = i + 1;
	}
}

/* Paints the marked bins as found names are painted. */
static void paint_found(const struct strip *s, const uint8_t *found, uint32_t count)
{
	const float top = s->top + s->head - FOUND_HEIGHT - FOUND_LINE;

	for (uint32_t i = 0, from = 0; i <= count; i++) {
		float x = s->left + (float)(from * THRUM__BIN);
		float width = (float)((i - from) * THRUM__BIN);

		if (i < count && found[i])
			continue;
		if (i > from) {
			thrum__draw_rect(s->p->list, THRUM__Z_FRAME, THRUM__COLOUR_HIT, x, top,
				width, FOUND_HEIGHT);
			thrum__draw_rect(s->p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_INK, x,
				top + FOUND_HEIGHT, width, FOUND_LINE);
		}
		from = i + 1;
	}
}

static void draw_activity(const struct strip *s)
{
	struct thrum__paint_strip_columns *columns = &s->p->memory->strip;
	float width = s->right - s->left;
	uint32_t count = (uint32_t)(width / THRUM__BIN);
	float base = s->top + s->height - THRUM__STRIP_FOOT;

	if (count > THRUM__BINS_MAX)
		count = THRUM__BINS_MAX;
	if (!columns->is_known || columns->start != s->start || columns->end != s->end ||
		columns->width != width || columns->height != s->height) {
		make_columns(s, columns, count, s->height - s->head - THRUM__STRIP_FOOT);
		columns->is_known = true;
		columns->knows_found = columns->knows_failed = false;
		columns->start = s->start;
		columns->end = s->end;
		columns->width = width;
		columns->height = s->height;
	}
	thrum__paint_columns(s->p->list, THRUM__Z_FRAME, THRUM__COLOUR_FADED, s->left, base,
		columns->grey, count);
	thrum__paint_columns(s->p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RUN, s->left, base,
		columns->blue, count);
	if (!columns->knows_failed || columns->is_of_bands != s->p->scene->shows_bands)
		make_failed(s, columns, count);
	paint_failed(s, columns->failed, count, base);
	if (s->p->scene->found == 0)
		return;
	if (!columns->knows_found)
		make_found(s, columns, count);
	paint_found(s, columns->found, count);
}

static void draw_times(const struct strip *s, float frame_left, float frame_right)
{
	struct thrum__paint *p = s->p;
	float width = s->right - s->left, parts = width / 150;
	double span = (double)s->end - (double)s->start, step, at;

	parts = parts < 2 ? 2 : parts > 6 ? 6 : parts;
	step = thrum__paint_step(span / (double)parts);
	at = ceil((double)s->start / step) * step;
	for (int i = 0; i < TIMES_MAX && at <= (double)s->end; i++, at += step) {
		float x = x_of(s, (int64_t)at), end;
		char words[48];

		thrum__words_time((int64_t)at, step < 1e18 ? (int64_t)step : INT64_MAX, words,
			sizeof words);
		end = x + 4 + thrum__paint_width(p, words, strlen(words), THRUM__FONT_SMALL);
		thrum__draw_vertical(p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RULE, x,
			s->top + 5, s->top + s->height - THRUM__STRIP_FOOT, 1, THRUM__DASH_SOLID);
		if (end + 4 > p->width || (frame_left > x - 6 && frame_left < end + 6) ||
			(frame_right > x - 6 && frame_right < end + 6))
			continue;
		thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_MUTED,
			THRUM__FONT_SMALL, x + 4, s->top + 14, words, strlen(words), false);
	}
}

/* Draws the frame that shows where the window is. */
static void draw_window(const struct strip *s, float left, float right)
{
	struct thrum__draw_list *list = s->p->list;
	const int z = THRUM__Z_FRAME_TEXT, sel = THRUM__COLOUR_SEL;
	const float bottom = s->top + s->height, middle = s->top + s->height / 2;
	const float sides[2] = {left, right};

	thrum__draw_horizontal(list, z, sel, left, right, s->top + 2, 2, THRUM__DASH_SOLID);
	thrum__draw_horizontal(list, z, sel, left, right, bottom - 3, 2, THRUM__DASH_SOLID);
	for (int i = 0; i < 2; i++) {
		thrum__draw_vertical(list, z, sel, sides[i], s->top + 1, bottom - 2, 2,
			THRUM__DASH_SOLID);
		thrum__draw_rect(list, z, sel, sides[i] - 3, middle - 7, 6, 14);
	}
}

static void draw_flags(const struct strip *s)
{
	const struct thrum__findings *findings = &s->p->scene->findings;
	float last = -1;
	uint32_t painted = 0;

	for (uint32_t i = 0; i < findings->count && painted < FLAGS_MAX; i++) {
		float x = floorf(x_of(s, findings->findings[i].steps[0].time)) + 0.5f;
		const struct thrum__draw_point head[3] = {{x - 5, s->top + 13},
			{x + 5, s->top + 13}, {x, s->top + 21}};

		if (x == last)
			continue;
		thrum__draw_vertical(s->p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_BAD, x,
			s->top + 14, s->top + s->height - THRUM__STRIP_FOOT, 1, THRUM__DASH_SOLID);
		thrum__draw_triangle(s->p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_BAD, head);
		last = x;
		painted++;
	}
}

/* Draws where the range lies, below the columns. */
static void draw_range(const struct strip *s)
{
	const struct thrum__scene_bands_state *bands = &s->p->state->bands;
	float left = fmaxf(x_of(s, bands->range_from), s->left);
	float right = fminf(fmaxf(x_of(s, bands->range_to), left + 1), s->right);

	if (bands->range_from < bands->range_to && left < s->right && right > s->left)
		thrum__draw_rect(s->p->list, THRUM__Z_FRAME, THRUM__COLOUR_SEL_BG, left, s->top + 4,
			right - left, s->height - THRUM__STRIP_FOOT - 4);
}

static void draw_bookmarks(const struct strip *s)
{
	const struct thrum__scene_bands_state *bands = &s->p->state->bands;

	for (unsigned i = 0; i < bands->bookmark_count; i++) {
		float x = floorf(x_of(s, bands->bookmarks[i].time)) + 0.5f;

		if (x >= s->left && x <= s->right)
			thrum__draw_vertical(s->p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_INK, x,
				s->top + 4, s->top + s->height - THRUM__STRIP_FOOT, 1,
				THRUM__DASH_SOLID);
	}
}

static struct strip strip_of(const struct thrum__scene *scene, float width)
{
	struct strip s = {
		.left = THRUM__STRIP_MARGIN,
		.right = width - THRUM__STRIP_MARGIN,
		.start = scene->model->forgotten,
		.end = scene->model->end,
		.head = THRUM__STRIP_HEAD,
	};

	/* Two strips stand above each other on the time of both. */
	if (scene->pair.other) {
		s.left = fmaxf(thrum__scene_bands_left(width), THRUM__STRIP_MARGIN);
		s.right = fminf(thrum__scene_bands_right(width), s.right);
		s.head = PAIR_HEAD;
		thrum__scene_whole(scene, &s.start, &s.end);
	}

	if (s.end > s.start && s.right > s.left + THRUM__BIN)
		s.scale = (double)(s.right - s.left) / ((double)s.end - (double)s.start);
	return s;
}

static void window_of(const struct strip *s, int64_t from, int64_t to, float *left, float *right)
{
	*left = x_of(s, from) - 2;
	*right = x_of(s, to);
	if (*right < *left + 8)
		*right = *left + 8;
}

bool thrum__scene_strip_window(const struct thrum__scene *scene, float width, float *left,
	float *right)
{
	struct strip s = strip_of(scene, width);

	window_of(&s, scene->state.from, scene->state.to, left, right);
	return s.scale > 0;
}

int64_t thrum__scene_strip_time(const struct thrum__scene *scene, float width, float x)
{
	struct strip s = strip_of(scene, width);

	return s.scale > 0 ? time_of(&s, x < s.left ? s.left : x) : 0;
}

double thrum__scene_strip_scale(const struct thrum__scene *scene, float width)
{
	return strip_of(scene, width).scale;
}

void thrum__paint_strip_ground(struct thrum__paint *p, float top, float height)
{
	thrum__draw_rect(p->list, THRUM__Z_FRAME, THRUM__COLOUR_PANEL, 0, top, p->width, height);
	thrum__draw_horizontal(p->list, THRUM__Z_FRAME_MARK, THRUM__COLOUR_RULE, 0, p->width,
		top + height - 1, 1, THRUM__DASH_SOLID);
}

/* Writes whose strip this is, beside it. */
static void name_strip(const struct strip *s)
{
	struct thrum__paint *p = s->p;
	const char *name = p->scene->pair.name;
	char fits[THRUM__PAIR_NAME], count[THRUM__NUMBER_ROOM], span[32], words[80];
	float room = s->left - 2 * NAME_LEFT;
	size_t size = thrum__paint_fit(p, name, strlen(name), THRUM__FONT_STRONG, room, fits,
		sizeof fits);

	thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_INK, THRUM__FONT_STRONG,
		NAME_LEFT, s->top + 14, fits, size, false);
	thrum__words_number(p->model->tasks.count, count);
	thrum__words_duration(p->model->end, 3, span, sizeof span);
	snprintf(words, sizeof words, "%s tasks · %s", count, span);
	size = thrum__paint_fit(p, words, strlen(words), THRUM__FONT_NOTE, room, fits, sizeof fits);
	thrum__draw_text(p->list, THRUM__Z_FRAME_TEXT, THRUM__COLOUR_MUTED, THRUM__FONT_NOTE,
		NAME_LEFT, s->top + 27, fits, size, false);
}

void thrum__paint_strip(struct thrum__paint *p, float top, float height)
{
	struct strip s = strip_of(p->scene, p->width);
	float left, right;

	s.p = p;
	s.top = top;
	s.height = height;

	thrum__paint_strip_ground(p, top, height);
	if (s.scale == 0 || height < s.head + THRUM__STRIP_FOOT)
		return;
	draw_range(&s);
	draw_activity(&s);
	draw_bookmarks(&s);
	window_of(&s, p->state->from, p->state->to, &left, &right);
	if (p->scene->pair.other)
		name_strip(&s);
	else
		draw_times(&s, left, right);
	draw_window(&s, left, right);
	draw_flags(&s);
}
