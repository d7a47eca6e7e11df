/* SPDX-License-Identifier: ISC */
/* The frame of the bands: who is in sight, the heads of sections, names and scales. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/bands/opened.h"
#include "scene/story/story.h"

#define GROUND THRUM__Z_HALO /* of gutter and scale: above the cells, below the frame */
#define TEXT THRUM__Z_LABEL

#define FOCUS_MOST 44         /* px: height of the focus' ground */
#define SCALE_GAP 13          /* px between two durations of a scale, at least */
#define SCALE_TOP 2           /* px below the top of a band that have no duration */
#define ABOVE_NAME 150        /* without a gutter: px from the right edge to the end of a name */
#define MORE_ROOM 80          /* px for how many more there are */
#define MORE_SHOWN 7          /* groups of the last row that are named */
#define LATE_LEAST 1500000000 /* ns between the bands' making and their end that are told */

/* ---- Texts --------------------------------------------------------------------------------- */

void thrum__bands_text_before(const struct thrum__bands_pen *pen, float x, float y, int font,
	int colour, float room, const char *text, const char *tail)
{
	char fits[200];
	size_t size = thrum__paint_fit_before(pen->p, text, strlen(text), tail, font, room, fits,
		sizeof fits);

	thrum__draw_text(pen->p->list, TEXT, colour, font, x, y, fits, size, false);
}

void thrum__bands_text(const struct thrum__bands_pen *pen, float x, float y, int font, int colour,
	float room, const char *text)
{
	thrum__bands_text_before(pen, x, y, font, colour, room, text, "");
}

void thrum__bands_text_right(const struct thrum__bands_pen *pen, float x, float y, int font,
	int colour, const char *text)
{
	size_t size = strlen(text);

	x -= thrum__paint_width(pen->p, text, size, font);
	thrum__draw_text(pen->p->list, TEXT, colour, font, floorf(x + 0.5f), y, text, size, true);
}

void thrum__bands_remark(const struct thrum__bands_pen *pen, float x, float y, int font, int colour,
	const char *text)
{
	char fits[400];
	size_t size = thrum__paint_fit(pen->p, text, strlen(text), font, pen->right - x - 4, fits,
		sizeof fits);
	float width = thrum__paint_width(pen->p, fits, size, font);

	if (size == 0)
		return;
	thrum__paint_halo(pen->p, x - 2, y - 10, width + 4, 14);
	thrum__paint_boxes_add(pen->p->boxes, x - 2, y - 10, width + 4, 14);
	thrum__draw_text(pen->p->list, TEXT, colour, font, x, y, fits, size, true);
}

void thrum__bands_paint_close(const struct thrum__bands_pen *pen, float y)
{
	if (!pen->p->scene->is_still)
		thrum__bands_remark(pen, pen->right - THRUM__BANDS_CLOSE + 8, y, THRUM__FONT_NOTE,
			THRUM__COLOUR_RUN, "close ×");
}

void thrum__bands_scale_text(const struct thrum__bands_pen *pen, float y, const char *text)
{
	float width;

	if (pen->right < pen->p->width) {
		thrum__bands_text(pen, pen->right + 6, y, THRUM__FONT_SMALL, THRUM__COLOUR_MUTED,
			THRUM__BANDS_SCALE, text);
		return;
	}
	width = thrum__paint_width(pen->p, text, strlen(text), THRUM__FONT_SMALL);
	thrum__bands_remark(pen, pen->right - width - 6, y, THRUM__FONT_SMALL, THRUM__COLOUR_MUTED,
		text);
}

/* ---- Names ---------------------------------------------------------------------------------- */

/* Writes a group's name, on top of its place or above it. */
static void put_name(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, float y, int font, float right)
{
	const struct thrum__family *family = &pen->bands->all->family;
	float x = THRUM__BANDS_NAME + THRUM__BANDS_INDENT * (float)place->depth;
	char words[200];
	size_t size;
	const char *name = thrum__family_name(family, place->index, &size);

	if (!thrum__bands_has_name(pen, place))
		return;
	if (pen->left <= 0) {
		y = thrum__bands_top(pen, place) + THRUM__BANDS_ABOVE_LINE;
		right = pen->p->width - ABOVE_NAME;
	}
	if (size > 0)
		snprintf(words, sizeof words, "%.*s", (int)(size < 190 ? size : 190), name);
	else
		thrum__words_kind_and_site(pen->p->model, family->groups[place->index].sample,
			words, sizeof words);
	thrum__bands_text(pen, x, y, font, THRUM__COLOUR_INK, right - x, words);
}

/* ---- Scales -------------------------------------------------------------------------------- */

/* Paints the lines of a band's decades, and their durations at the right. */
static void paint_scale(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	const unsigned decade = THRUM__BANDS_DECADE;
	float top = thrum__bands_top(pen, place), last = INFINITY;
	unsigned end = place->class + place->rows * place->per;

	for (unsigned class = (place->class + decade - 1) / decade * decade; class <= end;
		class += decade) {
		float above = (float)(class - place->class) / (float)place->per * place->row_height;
		float y = top + place->base - above;
		char words[32];

		thrum__draw_horizontal(pen->p->list, THRUM__Z_GRID, THRUM__COLOUR_GRID, pen->left,
			pen->right, y, 1, THRUM__DASH_SOLID);
		if (last - y < SCALE_GAP || y < top + SCALE_TOP)
			continue;
		thrum__words_duration(thrum__bands_bound(class), 2, words, sizeof words);
		thrum__bands_scale_text(pen, y + 3, words);
		last = y;
	}
}

/* ---- Places -------------------------------------------------------------------------------- */

static void paint_head(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place, const char *name, const char *remark)
{
	float top = thrum__bands_top(pen, place);

	if (place->y > 0)
		thrum__draw_horizontal(pen->p->list, TEXT, THRUM__COLOUR_RULE, 0, pen->p->width,
			top, 1, THRUM__DASH_SOLID);
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 17, THRUM__FONT_BASE, THRUM__COLOUR_MUTED,
		pen->left > 0 ? pen->left - 16 : pen->p->width, name);
	if (remark[0] && pen->left > 0)
		thrum__bands_remark(pen, pen->left + THRUM__BANDS_REMARK, top + 17,
			THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, remark);
}

/* Says that of the latest time, if it is long, only pending lines are shown. Returns the size. */
static size_t late_words(const struct thrum__bands *bands, char *words, size_t size)
{
	int64_t late = bands->to - bands->made_to;
	size_t used;

	if (late < LATE_LEAST || bands->events == bands->model->events)
		return 0;
	used = (size_t)snprintf(words, size, "The last ");
	used += thrum__words_duration(late, 2, words + used, size - used);
	used += (size_t)snprintf(words + used, size - used, " are still being counted. ");
	return used;
}

static void paint_work_head(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	const struct thrum__family *family = &pen->bands->all->family;
	char count[THRUM__NUMBER_ROOM], words[240];
	size_t size;
	uint64_t lines = 0;

	if (pen->other) {
		thrum__bands_pair_words(pen, words, sizeof words);
		paint_head(pen, place, "Work", words);
		return;
	}
	for (uint32_t i = 0; i < pen->bands->place_count; i++)
		if (thrum__bands_is_group(&pen->bands->places[i]))
			lines += pen->bands->counted[i].touched;
	thrum__words_number(lines, count);
	size = late_words(pen->bands->all, words, sizeof words);
	snprintf(words + size, sizeof words - size,
		family->shown_count + family->more_count == 0
			? "No task was recorded but the threads' own."
			: family->by_site
			? "No task here has a label; these are call sites. "
			  "thrum_task_label names them."
			: "%s task%s in these bands, each a line from its beginning to its end; "
			  "the higher, the longer it took (scale at the right)",
		count, lines == 1 ? "" : "s");
	paint_head(pen, place, "Work", words);
}

void thrum__bands_keep_heads(const struct thrum__bands_pen *pen)
{
	for (uint32_t i = 0; i < pen->bands->place_count; i++)
		if (pen->bands->places[i].kind == THRUM__PLACE_WORK)
			thrum__paint_boxes_add(pen->p->boxes, pen->left,
				thrum__bands_top(pen, &pen->bands->places[i]),
				pen->right - pen->left, THRUM__BANDS_HEAD);
}

static void paint_only_head(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	char words[THRUM__NAME_MAX + 16];

	snprintf(words, sizeof words, "only in %s", pen->p->scene->pair.name);
	paint_head(pen, place, words, "");
}

/* Names the biggest groups that have no band. */
static void paint_more(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	const struct thrum__family *family = &pen->bands->all->family;
	float top = thrum__bands_top(pen, place);
	char words[400], count[THRUM__NUMBER_ROOM];
	size_t used = 0;
	bool is_open;

	is_open = !pen->other &&
		(family->shown_count == 0 ||
			thrum__scene_bands_opened(&pen->bands->shown, THRUM__BANDS_MORE));
	snprintf(words, sizeof words, is_open ? "− %u more" : "+ %u more",
		(unsigned)family->more_count);
	thrum__bands_text(pen, THRUM__BANDS_NAME, top + 12, THRUM__FONT_NOTE,
		pen->other || pen->p->scene->is_still ? THRUM__COLOUR_MUTED : THRUM__COLOUR_RUN,
		pen->left > 0 ? pen->left - 16 : MORE_ROOM, words);
	if (pen->other && pen->left > 0)
		thrum__bands_name_side(pen, pen->left - 12, top + 12);
	words[0] = '\0';
	if (is_open && family->more_count > THRUM__BANDS_MORE_MOST)
		snprintf(words, sizeof words, "the %d with the most tasks are below",
			THRUM__BANDS_MORE_MOST);
	for (uint32_t i = 0; !is_open && i < family->more_count && i < MORE_SHOWN; i++) {
		const struct thrum__group *group = &family->groups[family->more[i]];
		size_t size;
		const char *name = thrum__family_name(family, family->more[i], &size);
		int n;

		thrum__words_number(group->lines, count);
		n = snprintf(words + used, sizeof words - used, "%s%.*s %s", i > 0 ? " · " : "",
			(int)(size < 60 ? size : 60), name, count);
		if (n < 0 || (size_t)n >= sizeof words - used)
			break;
		used += (size_t)n;
	}
	thrum__bands_remark(pen, pen->left > 0 ? pen->left + THRUM__BANDS_REMARK : MORE_ROOM,
		top + 12, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, words);
}

static void paint_small(struct thrum__bands_pen *pen, const struct thrum__scene_bands_place *place)
{
	float top = thrum__bands_top(pen, place);
	float alive_at = thrum__bands_column_end(pen, THRUM__SORT_P99);
	char words[48], count[THRUM__NUMBER_ROOM];
	uint32_t most = 0;

	thrum__bands_paint_small(pen, place);
	for (uint32_t i = 0; i < pen->bands->window.columns; i++)
		most = pen->bands->counts[i] > most ? pen->bands->counts[i] : most;
	put_name(pen, place, top + 12, THRUM__FONT_LABEL, pen->is_narrow ? 110 : alive_at - 70);
	thrum__words_number(most, count);
	snprintf(words, sizeof words, "%s alive", count);
	if (pen->left > 0)
		thrum__bands_text_right(pen, alive_at, top + 12, THRUM__FONT_NOTE,
			THRUM__COLOUR_MUTED, words);
	else if (thrum__bands_has_name(pen, place))
		thrum__bands_text_right(pen, pen->p->width - THRUM__BANDS_ABOVE_P99,
			top + THRUM__BANDS_ABOVE_LINE, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED,
			words);
	if (!pen->is_narrow)
		thrum__bands_put_failed(pen, place, top + 12);
}

static void paint_whole_band(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	float top = thrum__bands_top(pen, place);

	paint_scale(pen, place);
	thrum__bands_paint_band(pen, place);
	put_name(pen, place, top + 11, THRUM__FONT_STRONG, pen->left - 12);
	thrum__bands_put_numbers(pen, place, top);
}

/* Marks the place with the focus. */
static void paint_focus(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	float top = pen->p->top + place->y - pen->scroll, height = place->height;
	char name[THRUM__NAME_MAX];

	if (!pen->p->state->bands.focus[0] || pen->left <= 0 ||
		!thrum__bands_has_name(pen, place) ||
		!thrum__scene_bands_name(pen->bands, place, name) ||
		strcmp(name, pen->p->state->bands.focus) != 0)
		return;
	height = height > FOCUS_MOST && !pen->other ? FOCUS_MOST : height;
	thrum__draw_rect(pen->p->list, GROUND, THRUM__COLOUR_SEL_BG, 0, top, pen->left - 1, height);
	thrum__draw_rect(pen->p->list, TEXT, THRUM__COLOUR_SEL, 0, top, 3, height);
}

static void paint_place(struct thrum__bands_pen *pen, const struct thrum__scene_bands_place *place)
{
	/* While these open, others still stand in their place. */
	if (place->height < place->own &&
		(place->kind == THRUM__PLACE_STORY || place->kind == THRUM__PLACE_OPENED_THREAD))
		return;
	paint_focus(pen, place);
	switch (place->kind) {
	case THRUM__PLACE_NONE: break;
	case THRUM__PLACE_ONLY: paint_only_head(pen, place); break;
	case THRUM__PLACE_THREADS: paint_head(pen, place, "Threads", ""); break;
	case THRUM__PLACE_QUEUES: paint_head(pen, place, "Queues", ""); break;
	case THRUM__PLACE_WORK: paint_work_head(pen, place); break;
	case THRUM__PLACE_THREAD: thrum__bands_paint_thread(pen, place, place->index == 0); break;
	case THRUM__PLACE_QUEUE: thrum__bands_paint_queue(pen, place); break;
	case THRUM__PLACE_SMALL: paint_small(pen, place); break;
	case THRUM__PLACE_STORY: thrum__story_paint(pen, place); break;
	case THRUM__PLACE_OPENED:
		put_name(pen, place, thrum__bands_top(pen, place) + 11, THRUM__FONT_STRONG,
			pen->left - 12);
		thrum__bands_put_numbers(pen, place, thrum__bands_top(pen, place));
		thrum__bands_paint_opened(pen, place);
		break;
	case THRUM__PLACE_OPENED_THREAD:
		thrum__bands_paint_lanes(pen, place);
		thrum__bands_name_thread(pen, place, thrum__bands_top(pen, place) + 13,
			THRUM__FONT_STRONG);
		break;
	case THRUM__PLACE_BAND: paint_whole_band(pen, place); break;
	default: paint_more(pen, place);
	}
}

/* ---- The picture --------------------------------------------------------------------------- */

/* Paints the ground of gutter and scale, over cells that reach into them. */
static void paint_grounds(const struct thrum__bands_pen *pen)
{
	const struct thrum__paint *p = pen->p;
	float height = p->bottom - p->top;

	if (pen->left > 0) {
		thrum__draw_rect(p->list, GROUND, THRUM__COLOUR_BG, 0, p->top, pen->left - 1,
			height);
		thrum__draw_rect(p->list, GROUND, THRUM__COLOUR_RULE, pen->left - 1, p->top, 1,
			height);
	}
	if (pen->right < p->width)
		thrum__draw_rect(p->list, GROUND, THRUM__COLOUR_BG, pen->right + 1, p->top,
			p->width - pen->right - 1, height);
}

/* Paints the upright at the end of the trace. */
static void paint_end(const struct thrum__bands_pen *pen)
{
	float x = thrum__paint_x(pen->p, pen->p->model->end);
	bool is_live = pen->p->scene->ending.is_live;

	if (x >= pen->left && x <= pen->right + 1)
		thrum__draw_vertical(pen->p->list, THRUM__Z_EDGE,
			is_live ? THRUM__COLOUR_SEL : THRUM__COLOUR_EDGE, x, pen->p->top,
			pen->p->bottom, is_live ? 2 : 1, THRUM__DASH_SOLID);
}

/* Says where the nearest task is, if nothing is in the window. */
static void paint_empty(const struct thrum__bands_pen *pen)
{
	const struct thrum__scene_bands *bands = pen->bands;
	const struct thrum__family *family = &bands->all->family;
	const struct thrum__scene_state *state = pen->p->state;
	int64_t before = INT64_MIN, after = INT64_MAX;
	float top = pen->p->top;

	for (uint32_t i = 0; i < bands->all->thread_count; i++)
		if (thrum__bands_thread_share(bands->all, i, state->from, state->to) > 0)
			return;
	/* Mostly one of the shown groups has a line there. */
	for (uint32_t i = 0; i < family->shown_count + family->group_count; i++) {
		uint32_t group = i < family->shown_count ? family->shown[i]
							 : i - family->shown_count;

		if (!thrum__bands_is_empty(bands->all, group, state->from, state->to, &before,
			    &after))
			return;
	}
	for (uint32_t i = 0; i < bands->place_count; i++)
		if (bands->places[i].kind == THRUM__PLACE_WORK)
			top = fmaxf(top, thrum__bands_top(pen, &bands->places[i]));
	thrum__paint_nothing(pen->p, top, before, after);
}

/* Paints what stands in the places of one scene. */
static void paint_places(struct thrum__bands_pen *pen)
{
	struct thrum__paint *p = pen->p;

	thrum__bands_paint_range(pen);
	thrum__bands_count(pen);
	paint_end(pen);
	for (uint32_t i = 0; i < pen->bands->place_count; i++) {
		const struct thrum__scene_bands_place *place = &pen->bands->places[i];
		float top = p->top + place->y - pen->scroll;

		if (top < p->bottom && top + place->height > p->top)
			paint_place(pen, place);
	}
	thrum__bands_paint_marks(pen);
	p->bands = pen;
	thrum__paint_gaps(p);
	if (p->state->findings)
		thrum__paint_findings(p);
	if (!pen->other)
		paint_empty(pen);
	p->bands = NULL;
}

static struct thrum__bands_pen pen_of(struct thrum__paint *p)
{
	return (struct thrum__bands_pen){
		.p = p,
		.bands = p->scene->bands,
		.left = thrum__scene_bands_left(p->width),
		.right = thrum__scene_bands_right(p->width),
		.scroll = thrum__scene_bands_scroll(p->scene->bands, p->state->track),
		.is_narrow = p->width < THRUM__BANDS_NARROW,
	};
}

/* Paints the bands of a scene, and with `lower` those of the other one in pairs. */
static void paint_bands(struct thrum__paint *p, struct thrum__paint *lower)
{
	struct thrum__bands_pen pen = pen_of(p);

	if (thrum__scene_bands_set_window(pen.bands, p->time) < 0) {
		p->list->failed = true;
		return;
	}
	thrum__paint_folds(p);
	thrum__bands_place_length(&pen);
	thrum__paint_grid(p);
	paint_grounds(&pen);
	thrum__bands_name_columns(&pen);
	if (lower) {
		struct thrum__bands_pen below = pen_of(lower);

		pen.other = below.bands;
		below.other = pen.bands;
		below.is_lower = true;
		if (thrum__scene_bands_set_window(below.bands, lower->time) < 0) {
			p->list->failed = true;
			return;
		}
		paint_places(&pen);
		paint_places(&below);
		thrum__bands_paint_rules(&pen);
		return;
	}
	paint_places(&pen);
}

void thrum__bands_paint(struct thrum__paint *p, struct thrum__paint *lower)
{
	bool moves = thrum__bands_begin_moving(p->scene);

	paint_bands(p, lower);
	if (moves)
		thrum__bands_end_moving(p->scene->bands);
}
