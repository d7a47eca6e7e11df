/* SPDX-License-Identifier: ISC */
/* Draws flame graphs and paths: boxes that wait, run, and are late in three colours. */
#include "report/flame.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "words/words.h"

#define SIDE 10     /* px left and right of the boxes */
#define ROW 20      /* px of a box's height */
#define TOP 34      /* px for a title */
#define BOTTOM 14   /* px between the boxes and the key */
#define LINE 16     /* px between the lines of a title */
#define KEY_ROW 20  /* px of a line of the key */
#define ROWS_MAX 60 /* deeper boxes are left out */
#define NARROW 0.5f /* px: narrower boxes aren't seen */
#define NAMED 24    /* px: wider boxes have room for a name */
#define CAPTION 18  /* px for the words above a path */
#define PATH 42     /* px from a path's top to the next one's */
#define GAP 12      /* px between the paths and what is below them */

struct flame_paint {
	const struct thrum__paths *paths;
	const struct thrum__flame *flame;
	const struct thrum__draw_metrics *metrics;
	struct thrum__draw_list *list;
	float width;
};

static int colour_of(int doing)
{
	switch (doing) {
	case THRUM__DOING_RUNS: return THRUM__COLOUR_RUN;
	case THRUM__DOING_WAITS:
	case THRUM__DOING_SUSPENDED:
	case THRUM__DOING_BLOCKED:
	case THRUM__DOING_NETWORK:
	case THRUM__DOING_MEANWHILE: return THRUM__COLOUR_SUM;
	default: return THRUM__COLOUR_BAD;
	}
}

static int ink_of(int doing)
{
	return colour_of(doing) == THRUM__COLOUR_SUM ? THRUM__COLOUR_INK : THRUM__COLOUR_BG;
}

static void put_text(const struct flame_paint *p, int colour, int font, float x, float y,
	const char *text)
{
	thrum__draw_text(p->list, THRUM__Z_LABEL, colour, font, x, y, text, strlen(text), false);
}

static float width_of(const struct flame_paint *p, const char *text, int font)
{
	return p->metrics->width(p->metrics->context, text, strlen(text), font);
}

/* Drops characters from the end until the text fits with an ellipsis. Returns whether enough of the
 * text is left to be shown. */
static bool shorten_text(const struct flame_paint *p, char *text, size_t room, float width,
	int font)
{
	size_t size = strlen(text);

	while (size > 0 && width_of(p, text, font) > width) {
		size = thrum__base_utf8_floor(text, size - 1);
		if (size + sizeof("…") > room)
			continue;
		strcpy(text + size, "…");
	}
	return size >= 2;
}

/* Writes what happens in a box: a frame's name and the time, or "runs 3 ms", with the name if that
 * isn't written above. */
static void put_words(const struct thrum__paths *paths, uint32_t frame, int doing, bool is_named,
	int64_t time, char *to, size_t room)
{
	char words[THRUM__NUMBER_ROOM + 200], duration[48];
	size_t size;
	const char *name = thrum__slow_frame_name(paths, frame, &size);

	size = thrum__base_utf8_clean(name, size, words, sizeof(words) - 1);
	words[size] = '\0';
	thrum__words_duration(time, 3, duration, sizeof(duration));
	if (doing == THRUM__DOING_RUNS && is_named)
		snprintf(to, room, "%s runs %s", words, duration);
	else
		snprintf(to, room, "%s %s", doing == THRUM__DOING_RUNS ? "runs" : words, duration);
}

/* Draws a box with its words, if there is room for them. */
static void paint_named(const struct flame_paint *p, uint32_t frame, int doing, bool is_named,
	int64_t time, float x, float y, float width)
{
	char text[320];

	if (width < NARROW)
		return;
	/* Wide boxes leave a pixel between neighbours. */
	thrum__draw_rect(p->list, THRUM__Z_RUN, colour_of(doing), x, y,
		width > 3 ? width - 1 : width, ROW - 1);
	if (width < NAMED)
		return;
	put_words(p->paths, frame, doing, is_named, time, text, sizeof(text));
	if (shorten_text(p, text, sizeof(text), width - 8, THRUM__FONT_NOTE))
		put_text(p, ink_of(doing), THRUM__FONT_NOTE, x + 4, y + 14, text);
}

/* Draws the key, in as many lines as it needs, or only counts these. */
static unsigned put_key(const struct flame_paint *p, float y, bool is_drawn)
{
	static const struct {
		int doing;
		const char *text;
	} keys[] = {
		{THRUM__DOING_WAITS, "waits for the tasks below"},
		{THRUM__DOING_RUNS, "runs"},
		{THRUM__DOING_READY, "ready, but its thread runs this"},
	};
	unsigned lines = 1;
	float x = SIDE;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		float width = 18 + width_of(p, keys[i].text, THRUM__FONT_NOTE);

		if (x > SIDE && x + width > p->width - SIDE) {
			lines++;
			x = SIDE;
			y += KEY_ROW;
		}
		if (is_drawn) {
			thrum__draw_rect(p->list, THRUM__Z_RUN, colour_of(keys[i].doing), x, y, 12,
				12);
			put_text(p, THRUM__COLOUR_MUTED, THRUM__FONT_NOTE, x + 18, y + 10,
				keys[i].text);
		}
		x += 24 + width;
	}
	return lines;
}

/* ---- Flame graphs -------------------------------------------------------------------------- */

static double flame_scale(const struct thrum__flame *flame, float width)
{
	return flame->total > 0 ? (double)(width - 2 * SIDE) / (double)flame->total : 0;
}

static float flame_rows(const struct thrum__flame *flame)
{
	return flame->depth < ROWS_MAX ? (float)flame->depth + 1 : ROWS_MAX;
}

/* Writes the title's two parts: the label, and what is shown of it. */
static void put_title(const struct flame_paint *p, char *label, size_t label_room, char *rest,
	size_t room)
{
	const struct thrum__flame *flame = p->flame;
	char words[240], time[48];
	size_t size = 0;
	const char *name = flame->count > 0
		? thrum__slow_frame_name(p->paths, flame->boxes[0].frame, &size)
		: "";

	size = thrum__base_utf8_clean(name, size, words, sizeof(words) - 1);
	words[size] = '\0';
	thrum__words_duration(flame->total, 3, time, sizeof(time));
	snprintf(label, label_room, "“%s”: ", words);
	if (flame->tasks == flame->of)
		snprintf(rest, room, "where the time of %u tasks went, %s in all",
			(unsigned)flame->tasks, time);
	else
		snprintf(rest, room, "where the time of %u of %u tasks went, %s",
			(unsigned)flame->tasks, (unsigned)flame->of, time);
}

/* Draws the title in one line, or if it is too long in two, or only returns how much higher it is
 * than one line. */
static float place_title(const struct flame_paint *p, float y, bool is_drawn)
{
	float room = p->width - 2 * SIDE;
	char text[400], rest[120];
	size_t size;
	bool fits;

	put_title(p, text, sizeof(text), rest, sizeof(rest));
	size = strlen(text);
	snprintf(text + size, sizeof(text) - size, "%s", rest);
	fits = width_of(p, text, THRUM__FONT_STRONG) <= room;
	if (!fits)
		text[size - 2] = '\0';
	if (is_drawn && shorten_text(p, text, sizeof(text), room, THRUM__FONT_STRONG))
		put_text(p, THRUM__COLOUR_INK, THRUM__FONT_STRONG, SIDE, y + 21, text);
	if (is_drawn && !fits && shorten_text(p, rest, sizeof(rest), room, THRUM__FONT_NOTE))
		put_text(p, THRUM__COLOUR_MUTED, THRUM__FONT_NOTE, SIDE, y + 21 + LINE, rest);
	return fits ? 0 : LINE;
}

static void paint_flame(const struct flame_paint *p, float y)
{
	double scale = flame_scale(p->flame, p->width);

	y += place_title(p, y, true);
	for (uint32_t i = 0; i < p->flame->count; i++) {
		const struct thrum__flame_box *box = &p->flame->boxes[i];

		if (box->depth < ROWS_MAX)
			paint_named(p, box->frame, box->doing, false, box->time,
				(float)((double)box->from * scale) + SIDE,
				y + TOP + (float)box->depth * ROW,
				(float)((double)box->time * scale));
	}
	put_key(p, y + TOP + flame_rows(p->flame) * ROW + BOTTOM - 2, true);
}

static float flame_height(const struct flame_paint *p)
{
	return place_title(p, 0, false) + TOP + flame_rows(p->flame) * ROW + BOTTOM +
		(float)put_key(p, 0, false) * KEY_ROW;
}

int thrum__report_flame_frame(const struct thrum__paths *paths, const struct thrum__flame *flame,
	float width, const struct thrum__draw_metrics *metrics, struct thrum__draw_list *list)
{
	const struct flame_paint p = {paths, flame, metrics, list, width};

	thrum__draw_list_clear(list, width, flame_height(&p));
	paint_flame(&p, 0);
	thrum__draw_list_sort(list);
	return list->failed ? -THRUM_E_MEMORY : 0;
}

/* ---- Paths --------------------------------------------------------------------------------- */

static int64_t length_of(const struct thrum__path *path)
{
	return path->to - path->from;
}

/* Pixels per ns, the same for both paths. */
static double path_scale(const struct thrum__slow_answer *answer, float width)
{
	int64_t usual = length_of(&answer->usual_path), length = length_of(&answer->path);

	length = length > usual ? length : usual;
	return length > 0 ? (double)(width - 2 * SIDE) / (double)length : 0;
}

static const struct thrum__path *path_at(const struct thrum__slow_answer *answer, int which)
{
	return which == 0 ? &answer->path : &answer->usual_path;
}

/* How many paths are drawn: no second one without a usual task. */
static int count_paths(const struct thrum__slow_answer *answer)
{
	return answer->usual == THRUM__NONE ? 1 : 2;
}

static float paths_height(const struct thrum__slow_answer *answer)
{
	return TOP - 6 + (float)count_paths(answer) * PATH;
}

/* Writes "this one 52 ms" or "usual 3 ms". */
static void put_caption(const struct thrum__slow_answer *answer, int which, char *to, size_t room)
{
	char time[48];

	thrum__words_duration(length_of(path_at(answer, which)), 3, time, sizeof(time));
	snprintf(to, room, which == 0 ? "this one %s" : "usual %s", time);
}

/* Whether a frame is of tasks that the task of the path waits for, not of itself. */
static bool is_awaited(const struct thrum__paths *paths, uint32_t frame)
{
	return paths->frames[frame].parent != THRUM__NONE;
}

static void paint_path(const struct flame_paint *p, const struct thrum__slow_answer *answer,
	int which)
{
	const struct thrum__path *path = path_at(answer, which);
	double scale = path_scale(answer, p->width);
	float y = TOP - 6 + (float)which * PATH;
	char text[80];

	put_caption(answer, which, text, sizeof(text));
	put_text(p, THRUM__COLOUR_MUTED, THRUM__FONT_NOTE, SIDE, y + 12, text);
	for (uint32_t i = 0; i < path->count; i++) {
		const struct thrum__path_part *part = &path->parts[i];

		paint_named(p, part->frame, part->doing, is_awaited(p->paths, part->frame),
			part->to - part->from,
			(float)((double)(part->from - path->from) * scale) + SIDE, y + CAPTION,
			(float)((double)(part->to - part->from) * scale));
	}
}

static void paint_paths(const struct flame_paint *p, const struct thrum__slow_answer *answer)
{
	put_text(p, THRUM__COLOUR_INK, THRUM__FONT_STRONG, SIDE, 21,
		count_paths(answer) > 1 ? "Its path, above a usual one" : "Its path");
	for (int i = 0; i < count_paths(answer); i++)
		paint_path(p, answer, i);
}

int thrum__report_slow_frame(const struct thrum__slow_answer *answer,
	const struct thrum__flame *flame, float width, const struct thrum__draw_metrics *metrics,
	struct thrum__draw_list *list)
{
	const struct flame_paint p = {&answer->paths, flame, metrics, list, width};
	bool has_flame = flame && flame->count > 0;
	float top = paths_height(answer) + GAP;

	thrum__draw_list_clear(list, width,
		has_flame ? top + flame_height(&p) : top + (float)put_key(&p, 0, false) * KEY_ROW);
	paint_paths(&p, answer);
	if (has_flame)
		paint_flame(&p, top);
	else
		put_key(&p, top, true);
	thrum__draw_list_sort(list);
	return list->failed ? -THRUM_E_MEMORY : 0;
}

/* ---- Pointing ------------------------------------------------------------------------------ */

static void find_part(const struct thrum__slow_answer *answer, int which, float width, float x,
	struct thrum__report_spot *spot)
{
	const struct thrum__path *path = path_at(answer, which);
	double scale = path_scale(answer, width);

	for (uint32_t i = 0; i < path->count && scale > 0; i++) {
		const struct thrum__path_part *part = &path->parts[i];
		double left = (double)(part->from - path->from) * scale + SIDE;

		if (x < left || x >= (double)(part->to - path->from) * scale + SIDE)
			continue;
		spot->task = part->task;
		put_words(&answer->paths, part->frame, part->doing,
			is_awaited(&answer->paths, part->frame), part->to - part->from, spot->words,
			sizeof(spot->words));
	}
}

static void find_box(const struct thrum__slow_answer *answer, const struct thrum__flame *flame,
	float width, float x, float y, struct thrum__report_spot *spot)
{
	double scale = flame_scale(flame, width);

	for (uint32_t i = 0; i < flame->count && scale > 0 && y >= TOP; i++) {
		const struct thrum__flame_box *box = &flame->boxes[i];
		double left = (double)box->from * scale + SIDE;
		size_t size;

		if (box->depth != (uint32_t)((y - TOP) / ROW) || x < left ||
			x >= (double)(box->from + box->time) * scale + SIDE)
			continue;
		spot->task = answer->paths.frames[box->frame].task;
		put_words(&answer->paths, box->frame, box->doing, true, box->time, spot->words,
			sizeof(spot->words) - 16);
		size = strlen(spot->words);
		strcpy(spot->words + size, ", ");
		thrum__words_decimal(100 * (double)box->time / (double)flame->total, 1,
			spot->words + size + 2, 10);
		strcat(spot->words, " %");
	}
}

void thrum__report_slow_spot(const struct thrum__slow_answer *answer,
	const struct thrum__flame *flame, float width, const struct thrum__draw_metrics *metrics,
	float x, float y, struct thrum__report_spot *spot)
{
	const struct flame_paint p = {&answer->paths, flame, metrics, NULL, width};

	*spot = (struct thrum__report_spot){.task = THRUM__NONE};
	for (int i = 0; i < count_paths(answer); i++) {
		float top = TOP - 6 + (float)i * PATH + CAPTION;

		if (y >= top && y < top + ROW)
			find_part(answer, i, width, x, spot);
	}
	if (flame && flame->count > 0)
		find_box(answer, flame, width, x,
			y - paths_height(answer) - GAP - place_title(&p, 0, false), spot);
	if (!thrum__model_has_row(&answer->model->tasks, spot->task))
		spot->task = THRUM__NONE;
}
