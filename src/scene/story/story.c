/* SPDX-License-Identifier: ISC */
/* A story: one row of boxes for each level of what a task waited for, and below it those of the
 * usual task of its group, from the same beginning. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/story/story.h"

#define HEAD THRUM__BANDS_HEAD
#define LEVEL 24          /* px: height of a level */
#define BOX 20            /* px: height of its boxes */
#define USUAL 6           /* px: height of a level of the usual one */
#define USUAL_BOX 5       /* px: height of its boxes */
#define AFTER 12          /* px */
#define DEEPER 14         /* px: height of the line below that tells that there are more levels */
#define USUAL_LEAST 20    /* px: height of the usual one */
#define OUTSIDE_LEAST 200 /* px: a wait for the outside that is told */
#define OUTSIDE_MAX 4
#define SEEN_LEAST 34 /* px: a box in which a last word may stand */
#define HERE_AT 176   /* px: right ends of the two numbers */
#define USUAL_AT 236

/* ---- Making -------------------------------------------------------------------------------- */

static int make_story(struct thrum__scene_bands *bands, struct thrum__scene_bands_story *made)
{
	struct thrum__paths *paths = thrum__scene_bands_paths(bands);
	struct thrum__bands_line line;
	uint32_t group;

	if (!paths || thrum__story_make(paths, made->task, 1, &made->story) < 0)
		return -THRUM_E_MEMORY;
	made->is_known = true;
	made->grain = 1;
	if (!thrum__bands_line_of(bands->all, made->task, &line, &group))
		return 0;
	made->usual_task = thrum__bands_usual(bands->all, group, &made->usual_of);
	if (made->usual_of < 2 || made->usual_task == THRUM__NONE || made->usual_task == line.task)
		return 0;
	if (thrum__story_make(paths, made->usual_task, 1, &made->usual) < 0)
		return -THRUM_E_MEMORY;
	made->has_usual = true;
	return 0;
}

static void free_story(struct thrum__scene_bands_story *story)
{
	if (story->is_known)
		thrum__story_free(&story->story);
	if (story->has_usual)
		thrum__story_free(&story->usual);
	*story = (struct thrum__scene_bands_story){0};
}

void thrum__scene_bands_free_stories(struct thrum__scene_bands *bands)
{
	for (unsigned i = 0; bands->stories && i < THRUM__STORIES_MAX; i++)
		free_story(&bands->stories[i]);
	bands->story_count = 0;
	bands->has_stories = false;
}

int thrum__scene_bands_make_stories(struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_state *state)
{
	if (!bands->stories)
		bands->stories = calloc(THRUM__STORIES_MAX, sizeof *bands->stories);
	if (!bands->stories)
		return -THRUM_E_MEMORY;
	thrum__scene_bands_free_stories(bands);
	bands->has_stories = true;
	if (state->story_count > 0 && thrum__scene_bands_lacks_paths(bands))
		return 0;
	for (unsigned i = 0; i < state->story_count; i++) {
		struct thrum__scene_bands_story *story = &bands->stories[bands->story_count];
		uint32_t task = thrum__model_find(bands->all->model, state->stories[i]);
		int status;

		if (!thrum__model_has_row(&bands->all->model->tasks, task))
			continue;
		*story = (struct thrum__scene_bands_story){
			.id = state->stories[i],
			.task = task,
			.usual_task = THRUM__NONE,
		};
		status = make_story(bands, story);
		if (status < 0) {
			free_story(story);
			bands->has_stories = false;
			return status;
		}
		bands->story_count++;
	}
	return 0;
}

static float levels_height(const struct thrum__story *story)
{
	return LEVEL * (float)story->level_count + (story->is_deeper ? DEEPER : 0);
}

float thrum__scene_bands_story_height(const struct thrum__scene_bands_story *story)
{
	float usual = story->has_usual
		? fmaxf(USUAL_LEAST, USUAL * (float)(story->usual.level_count - 1))
		: 0;

	return HEAD + levels_height(&story->story) + usual + AFTER;
}

/* ---- Boxes --------------------------------------------------------------------------------- */

/* Writes the name of a box: its task's, or its frame's. */
static void name_box(const struct thrum__scene_bands *bands, uint32_t task, uint32_t frame,
	char *name, size_t room)
{
	size_t size;
	const char *text;

	if (task != THRUM__NONE) {
		thrum__words_task(bands->all->model, task, name, room);
		return;
	}
	text = frame == THRUM__NONE ? "" : thrum__slow_frame_name(bands->paths, frame, &size);
	snprintf(name, room, "%.*s", frame == THRUM__NONE ? 0 : (int)size, text);
}

/* Writes into a box what fits: name and duration, the name, or its last word. */
static void write_box(const struct thrum__bands_pen *pen, const struct thrum__story_box *box,
	float x, float width, float y, int colour)
{
	char name[160], words[220], duration[40];
	const char *last;

	name_box(pen->bands, box->task, box->frame, name, sizeof name);
	thrum__words_duration(box->to - box->from, 3, duration, sizeof duration);
	snprintf(words, sizeof words, "%s  %s", name, duration);
	last = strrchr(name, ' ');
	if (thrum__paint_width(pen->p, words, strlen(words), THRUM__FONT_NOTE) + 10 <= width)
		x += 6;
	else if (thrum__paint_width(pen->p, name, strlen(name), THRUM__FONT_NOTE) + 8 <= width)
		strcpy(words, name), x += 5;
	else if (last && width > SEEN_LEAST && (strlen(last) > 3 || last[1] <= '9') &&
		thrum__paint_width(pen->p, last + 1, strlen(last + 1), THRUM__FONT_NOTE) + 6 <=
			width)
		strcpy(words, last + 1), x += 4;
	else
		return;
	thrum__draw_text(pen->p->list, THRUM__Z_LABEL, colour, THRUM__FONT_NOTE, x, y, words,
		strlen(words), false);
}

static void paint_box(const struct thrum__bands_pen *pen, const struct thrum__story_box *box,
	unsigned level, float top)
{
	struct thrum__draw_list *list = pen->p->list;
	float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, box->from));
	float x2 = fminf(pen->right, thrum__paint_x(pen->p, box->to)), width = x2 - x1;
	bool waits = box->doing == THRUM__STORY_WAITS || level == 0;
	int ground = level == 0                   ? THRUM__COLOUR_FOLD
		: waits                           ? THRUM__COLOUR_GRID
		: box->doing == THRUM__STORY_RUNS ? THRUM__COLOUR_RUN
						  : THRUM__COLOUR_BAD;

	if (x2 <= pen->left || x1 >= pen->right)
		return;
	width = fmaxf(1, width > 3 ? width - 1 : width);
	thrum__draw_rect(list, THRUM__Z_RUN, ground, x1, top + 2, width, BOX);
	if (waits)
		thrum__draw_rect(list, THRUM__Z_END, THRUM__COLOUR_PEND, x1, top + BOX + 1, width,
			level == 0 ? 2 : 1);
	write_box(pen, box, x1, width, top + 16, waits ? THRUM__COLOUR_INK : THRUM__COLOUR_BG);
}

uint32_t thrum__scene_bands_story_task(const struct thrum__scene_bands_story *story, float y,
	int64_t time)
{
	float level = floorf((y - HEAD) / LEVEL);
	const struct thrum__story_level *of;

	if (level < 0 || level >= (float)story->story.level_count)
		return THRUM__NONE;
	of = &story->story.levels[(unsigned)level];
	for (uint32_t i = 0; i < of->count; i++)
		if (time >= of->boxes[i].from && time < of->boxes[i].to)
			return of->boxes[i].task;
	return THRUM__NONE;
}

uint32_t thrum__scene_bands_story_level(const struct thrum__scene_bands_story *story, float y)
{
	float level = floorf((y - HEAD) / LEVEL);

	if (level < 0 || level >= (float)story->story.level_count)
		return THRUM__NONE;
	return level == 0 ? story->task : story->story.levels[(unsigned)level].task;
}

/* ---- The gutter ---------------------------------------------------------------------------- */

static void put_level_name(const struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_story *story, unsigned level, char *words, size_t size)
{
	const struct thrum__story_level *of = &story->story.levels[level];
	char name[150];

	if (level == 0)
		thrum__words_task(bands->all->model, story->task, words, size);
	else if (of->kind == THRUM__STORY_HOLDERS)
		snprintf(words, size, "held in turn by");
	else if (of->kind == THRUM__STORY_THREAD)
		snprintf(words, size, "thread busy");
	else {
		name_box(bands, of->task, of->frame, name, sizeof name);
		snprintf(words, size, "%s%s", of->is_lock ? "lock " : "", name);
	}
}

/* Writes how long a level of a story takes; the first one is all of it. */
static void put_level_time(const struct thrum__story *story, unsigned level, char *words,
	size_t size)
{
	thrum__words_duration(level == 0 ? story->to - story->from : story->levels[level].time, 3,
		words, size);
}

void thrum__scene_bands_level_words(const struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_story *story, unsigned level, char *to, size_t size)
{
	char name[160], here[40], usual[40] = "";

	put_level_name(bands, story, level, name, sizeof name);
	put_level_time(&story->story, level, here, sizeof here);
	if (story->has_usual && level < story->usual.level_count)
		put_level_time(&story->usual, level, usual, sizeof usual);
	snprintf(to, size, "%s: %s%s%s", name, here, *usual ? ", usually " : "", usual);
}

static void name_level(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_story *story, unsigned level, float top)
{
	float x = THRUM__BANDS_NAME + (pen->is_narrow ? 4 : 8) * (float)level;
	int font = level == 0 ? THRUM__FONT_BASE : THRUM__FONT_NOTE;
	char words[160];

	if (pen->left <= 0) /* there is no gutter, and the boxes have names */
		return;
	put_level_name(pen->bands, story, level, words, sizeof words);
	thrum__bands_text(pen, x, top + 16, level == 0 ? THRUM__FONT_STRONG : THRUM__FONT_LABEL,
		THRUM__COLOUR_INK, (pen->is_narrow ? 110 : HERE_AT - 48) - x, words);
	put_level_time(&story->story, level, words, sizeof words);
	thrum__bands_text_right(pen, pen->is_narrow ? pen->left - 12 : HERE_AT, top + 16, font,
		THRUM__COLOUR_INK, words);
	if (pen->is_narrow || !story->has_usual)
		return;
	strcpy(words, "–");
	if (level < story->usual.level_count)
		put_level_time(&story->usual, level, words, sizeof words);
	thrum__bands_text_right(pen, USUAL_AT, top + 16, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED,
		words);
}

static void paint_head(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_story *story, float top)
{
	char words[400], name[120], usual[120], count[THRUM__NUMBER_ROOM];
	struct thrum__bands_pen before = *pen; /* the words end before the button */
	size_t size;

	if (pen->left > 0)
		thrum__bands_text(pen, THRUM__BANDS_NAME, top + 17, THRUM__FONT_BASE,
			THRUM__COLOUR_MUTED, 80, "Story");
	if (!pen->is_narrow) {
		thrum__bands_text_right(pen, HERE_AT, top + 17, THRUM__FONT_TICK,
			THRUM__COLOUR_MUTED, "here");
		if (story->has_usual)
			thrum__bands_text_right(pen, USUAL_AT, top + 17, THRUM__FONT_TICK,
				THRUM__COLOUR_MUTED, "usual");
	}
	thrum__words_task(pen->p->model, story->task, name, sizeof name);
	size = (size_t)snprintf(words, sizeof words, "what %s waited for, from top to bottom",
		name);
	if (story->has_usual && size < sizeof words) {
		thrum__words_task(pen->p->model, story->usual_task, usual, sizeof usual);
		thrum__words_number(story->usual_of, count);
		snprintf(words + size, sizeof words - size, "; usual: %s, the median of %s", usual,
			count);
	}
	before.right -= pen->p->scene->is_still ? 0 : THRUM__BANDS_CLOSE;
	thrum__bands_remark(&before, pen->left + THRUM__BANDS_REMARK, top + 17, THRUM__FONT_NOTE,
		THRUM__COLOUR_MUTED, words);
	thrum__bands_paint_close(pen, top + 17);
}

/* ---- The outside, and the usual one -------------------------------------------------------- */

/* Cuts the words about a wait so that they end before the next box of their level; "" if nothing fits. */
static void fit_outside(const struct thrum__bands_pen *pen, const struct thrum__story_level *level,
	int64_t from, float x, char *words)
{
	float right = pen->right;

	for (uint32_t i = 0; i < level->count; i++)
		if (level->boxes[i].from >= from)
			right = fminf(right, thrum__paint_x(pen->p, level->boxes[i].from));
	if (x + thrum__paint_width(pen->p, words, strlen(words), THRUM__FONT_NOTE) > right)
		words[strcspn(words, ";")] = 0;
	if (x + thrum__paint_width(pen->p, words, strlen(words), THRUM__FONT_NOTE) > right)
		*words = 0;
}

/* Says where nobody in the program works on it, and how long all threads are idle there. */
static void tell_outside(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_story *story, float top)
{
	struct thrum__story_outside outside[OUTSIDE_MAX];
	uint32_t count = thrum__story_outside(pen->bands->paths, &story->story,
		thrum__paint_span(pen->p, OUTSIDE_LEAST), outside, OUTSIDE_MAX);

	for (uint32_t i = 0; i < count; i++) {
		float x = fmaxf(pen->left, thrum__paint_x(pen->p, outside[i].from));
		char words[200], duration[40];
		struct thrum__bands_hole hole;
		size_t size;

		if (outside[i].level + 1 >= story->story.level_count || x > pen->right)
			continue;
		thrum__words_duration(outside[i].to - outside[i].from, 3, duration,
			sizeof duration);
		size = (size_t)snprintf(words, sizeof words,
			outside[i].is_lock            ? "nobody is known to hold it for %s"
				: outside[i].is_timer ? "a timer runs for %s"
						      : "waits for the outside %s",
			duration);
		if (thrum__bands_holes(pen->bands->all, outside[i].from, outside[i].to,
			    (outside[i].to - outside[i].from) / 2, &hole, 1) > 0) {
			thrum__words_duration(hole.to - hole.from, 3, duration, sizeof duration);
			snprintf(words + size, sizeof words - size,
				"; all threads are idle for %s of it", duration);
		}
		fit_outside(pen, &story->story.levels[outside[i].level + 1], outside[i].from, x + 6,
			words);
		thrum__bands_remark(pen, x + 6, top + LEVEL * (float)(outside[i].level + 1) + 15,
			THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, words);
	}
}

static void paint_usual(const struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_story *story, float top)
{
	static const uint8_t colours[] = {
		[THRUM__STORY_WAITS] = THRUM__COLOUR_FADED,
		[THRUM__STORY_RUNS] = THRUM__COLOUR_RUN,
		[THRUM__STORY_BUSY] = THRUM__COLOUR_BAD,
	};
	const struct thrum__story *usual = &story->usual;
	int64_t offset = story->story.from - usual->from;
	float end = thrum__paint_x(pen->p, usual->to + offset);
	char words[80] = "usual ends after ";

	if (pen->left > 0)
		thrum__bands_text(pen, THRUM__BANDS_NAME, top + 12, THRUM__FONT_NOTE,
			THRUM__COLOUR_MUTED, 160, "the usual one");
	for (unsigned level = 1; level < usual->level_count; level++) {
		const struct thrum__story_level *of = &usual->levels[level];

		for (uint32_t i = 0; i < of->count; i++) {
			const struct thrum__story_box *box = &of->boxes[i];
			float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, box->from + offset));
			float x2 = fminf(pen->right, thrum__paint_x(pen->p, box->to + offset));

			if (x2 < pen->left || x1 > pen->right)
				continue;
			thrum__draw_rect(pen->p->list, THRUM__Z_RUN, colours[box->doing], x1,
				top + USUAL * (float)(level - 1),
				fmaxf(1, x2 - x1 > 3 ? x2 - x1 - 1 : x2 - x1), USUAL_BOX);
		}
	}
	if (end < pen->left || end > pen->right)
		return;
	thrum__draw_vertical(pen->p->list, THRUM__Z_END, THRUM__COLOUR_EDGE, end, top - 2,
		top + fmaxf(USUAL_LEAST - 4, USUAL * (float)(usual->level_count - 1)), 2,
		THRUM__DASH_SOLID);
	thrum__words_duration(usual->to - usual->from, 3, words + strlen(words),
		sizeof words - strlen(words));
	thrum__bands_remark(pen, end + 6, top + 12, THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, words);
}

/* ---- The story ----------------------------------------------------------------------------- */

/* Makes the boxes anew, if the scale has changed: boxes below a pixel are joined. The paths are those of the
 * story, even if they are old. */
static bool set_grain(struct thrum__bands_pen *pen, struct thrum__scene_bands_story *story)
{
	struct thrum__paths *paths = pen->bands->paths;
	int64_t grain = thrum__paint_span(pen->p, 1);

	if (!paths)
		return false;
	if (grain == story->grain)
		return true;
	if (thrum__story_remake(paths, grain, &story->story) < 0 ||
		(story->has_usual && thrum__story_remake(paths, grain, &story->usual) < 0))
		return false;
	story->grain = grain;
	return true;
}

void thrum__scene_bands_paint_story(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	struct thrum__scene_bands_story *story = &pen->bands->stories[place->index];
	float top = thrum__bands_top(pen, place), y = top + HEAD;

	if (!set_grain(pen, story)) {
		pen->p->list->failed = true;
		return;
	}
	paint_head(pen, story, top);
	for (unsigned level = 0; level < story->story.level_count; level++) {
		const struct thrum__story_level *of = &story->story.levels[level];

		for (uint32_t i = 0; i < of->count; i++)
			paint_box(pen, &of->boxes[i], level, y + LEVEL * (float)level);
		name_level(pen, story, level, y + LEVEL * (float)level);
	}
	if (story->story.is_deeper)
		thrum__bands_remark(pen, pen->left + THRUM__BANDS_REMARK,
			y + LEVEL * (float)story->story.level_count + 10, THRUM__FONT_NOTE,
			THRUM__COLOUR_MUTED, "… there are more levels below");
	tell_outside(pen, story, y);
	if (story->has_usual)
		paint_usual(pen, story, y + levels_height(&story->story) + 6);
}
