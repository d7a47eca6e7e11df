/* SPDX-License-Identifier: ISC */
/* An opened band: a row for each of some of its lines, with its family in it; an opened thread: who
 * runs there, and for whom. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/bands/opened.h"
#include "words/bands.h"

#define ROW 20        /* px */
#define LINE_UP 6     /* px from a row's bottom to its line */
#define WORDS_ROOM 14 /* px that a stretch is wider than its words, at least */
#define GRAIN 4       /* px: shorter stretches join the one before */
#define BUSY_SHARE 50 /* a stretch of less than 1/50 of the life is not called busy */
#define LEVEL 16      /* px: height of a level of an opened thread */
#define BOX 13        /* px: height of its boxes */
#define NEAR 6        /* px: boxes of one task that are nearer are one */
#define BLUR 1.5f     /* px: boxes that are nearer are one, whoever they are for */
#define BOX_NAMED 34  /* px: a box that has its name, at least */
#define ROWS_KEPT 256 /* for the next frame */

struct thrum__scene_bands_row {
	uint32_t task;
	int64_t grain;
	struct thrum__story_row row;
};

/* ---- Bands --------------------------------------------------------------------------------- */

/* Writes what a stretch waits for. */
static void name_stretch(const struct thrum__scene_bands *bands,
	const struct thrum__story_stretch *stretch, char *words, size_t size)
{
	char name[160];
	size_t used;

	if (stretch->doing == THRUM__STORY_WAITS) {
		if (stretch->task == THRUM__NONE)
			snprintf(words, size, "outside");
		else
			thrum__words_task(bands->all->model, stretch->task, words, size);
		return;
	}
	used = thrum__words_duration(stretch->to - stretch->from, 3, words, size);
	if (stretch->task == THRUM__NONE) {
		snprintf(words + used, size - used, ": its thread runs others");
		return;
	}
	thrum__words_running(&bands->all->family, stretch->task, name, sizeof name);
	snprintf(words + used, size - used, ": its thread runs %s", name);
}

void thrum__bands_row_words(const struct thrum__scene_bands *bands, uint32_t task, char *words,
	size_t size)
{
	const struct thrum__story_stretch *longest = NULL;
	char name[240], duration[40];
	unsigned i = 0;

	*words = 0;
	while (i < bands->row_count && bands->rows[i].task != task)
		i++;
	for (uint32_t k = 0; i < bands->row_count && k < bands->rows[i].row.count; k++) {
		const struct thrum__story_stretch *at = &bands->rows[i].row.stretches[k];

		if (at->doing != THRUM__STORY_RUNS &&
			(!longest || at->to - at->from > longest->to - longest->from))
			longest = at;
	}
	if (!longest)
		return;
	name_stretch(bands, longest, name, sizeof name);
	thrum__words_duration(longest->to - longest->from, 3, duration, sizeof duration);
	if (longest->doing == THRUM__STORY_WAITS)
		snprintf(words, size, ", waits longest for %s: %s", name, duration);
	else
		snprintf(words, size, ", waits longest %s", name);
}

static void paint_stretch(const struct thrum__bands_pen *pen,
	const struct thrum__story_stretch *stretch, const struct thrum__bands_line *line, float y)
{
	float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, stretch->from));
	float x2 = fminf(pen->right, thrum__paint_x(pen->p, stretch->to)), width;
	bool is_busy = stretch->doing == THRUM__STORY_BUSY &&
		(stretch->to - stretch->from) >= (line->end - line->start) / BUSY_SHARE;
	char words[240];

	if (x2 <= pen->left || x1 >= pen->right || x2 <= x1)
		return;
	if (stretch->doing == THRUM__STORY_RUNS) {
		thrum__draw_rect(pen->p->list, THRUM__Z_RUN, THRUM__COLOUR_RUN, x1, y - 4,
			fmaxf(1, x2 - x1), 8);
		return;
	}
	if (is_busy)
		thrum__draw_horizontal(pen->p->list, THRUM__Z_RUN, THRUM__COLOUR_BAD, x1, x2, y, 2,
			THRUM__DASH_SOLID);
	else if (stretch->doing == THRUM__STORY_BUSY)
		return;
	name_stretch(pen->bands, stretch, words, sizeof words);
	width = thrum__paint_width(pen->p, words, strlen(words), THRUM__FONT_SMALL);
	if (is_busy && width + WORDS_ROOM > x2 - x1) {
		words[strcspn(words, ":")] = 0; /* the duration alone */
		width = thrum__paint_width(pen->p, words, strlen(words), THRUM__FONT_SMALL);
	}
	if (width + WORDS_ROOM > x2 - x1)
		return;
	thrum__draw_text(pen->p->list, THRUM__Z_LABEL,
		is_busy ? THRUM__COLOUR_BAD : THRUM__COLOUR_MUTED, THRUM__FONT_SMALL,
		x1 + (WORDS_ROOM - 6), y - 5, words, strlen(words), false);
	thrum__paint_boxes_add(pen->p->boxes, x1 + (WORDS_ROOM - 6), y - 15, width, 12);
}

/* Paints the line of a row, with its ends. */
static void paint_line(const struct thrum__bands_pen *pen, const struct thrum__bands_line *line,
	float y)
{
	struct thrum__draw_list *list = pen->p->list;
	float begin = thrum__paint_x(pen->p, line->start), end = thrum__paint_x(pen->p, line->end);
	float x1 = fmaxf(pen->left, begin), x2 = fminf(pen->right, end);

	thrum__draw_horizontal(list, THRUM__Z_LINE, THRUM__COLOUR_PEND, x1, fmaxf(x2, x1 + 1), y, 2,
		THRUM__DASH_SOLID);
	if (begin >= pen->left)
		thrum__draw_rect(list, THRUM__Z_END, THRUM__COLOUR_PEND, begin, y - 5, 2, 10);
	if (end > pen->right || line->is_pending)
		return;
	if (!line->is_failed) {
		thrum__draw_rect(list, THRUM__Z_END, THRUM__COLOUR_EDGE, end - 1, y - 5, 2, 10);
		return;
	}
	thrum__draw_line(list, THRUM__Z_END, THRUM__COLOUR_BAD, end - 4, y - 4, end + 4, y + 4, 2);
	thrum__draw_line(list, THRUM__Z_END, THRUM__COLOUR_BAD, end - 4, y + 4, end + 4, y - 4, 2);
}

void thrum__scene_bands_forget_rows(struct thrum__scene_bands *bands)
{
	for (unsigned i = 0; i < bands->row_count; i++)
		thrum__story_row_free(&bands->rows[i].row);
	free(bands->rows);
	bands->rows = NULL;
	bands->row_count = 0;
}

/* Makes the row of a task in place of its former one, of another grain. Returns 0 or -THRUM_E_MEMORY. */
static int make_row(struct thrum__scene_bands *bands, struct thrum__scene_bands_row *kept,
	uint32_t task, int64_t grain)
{
	struct thrum__paths *paths = thrum__scene_bands_paths(bands);
	struct thrum__scene_bands_row made = {task, grain, {0}};

	if (!paths || thrum__story_row_make(paths, task, grain, &made.row) < 0)
		return -THRUM_E_MEMORY;
	thrum__story_row_free(&kept->row);
	*kept = made;
	return 0;
}

/* Gives the row of a task; NULL: after the model has grown, there is none before bands are made anew,
 * and otherwise none before there are paths. Returns 0 or -THRUM_E_MEMORY. */
static int get_row(const struct thrum__bands_pen *pen, uint32_t task,
	const struct thrum__story_row **row)
{
	struct thrum__scene_bands *bands = pen->bands;
	int64_t grain = thrum__paint_span(pen->p, GRAIN);
	struct thrum__scene_bands_row *kept;
	unsigned i = 0;

	while (i < bands->row_count && bands->rows[i].task != task)
		i++;
	if (bands->are_paths_old ? i == bands->row_count : thrum__scene_bands_lacks_paths(bands))
		return 0;
	if (i == ROWS_KEPT)
		thrum__scene_bands_forget_rows(bands);
	i = i == ROWS_KEPT ? 0 : i;
	if (!bands->rows)
		bands->rows = calloc(ROWS_KEPT, sizeof *bands->rows);
	if (!bands->rows)
		return -THRUM_E_MEMORY;
	kept = &bands->rows[i];
	if (!bands->are_paths_old && (i == bands->row_count || kept->grain != grain) &&
		make_row(bands, kept, task, grain) < 0)
		return -THRUM_E_MEMORY;
	bands->row_count += i == bands->row_count;
	*row = &kept->row;
	return 0;
}

static void paint_row(const struct thrum__bands_pen *pen, const struct thrum__bands_line *line,
	float x, float top)
{
	bool is_selected = pen->p->scene->selected != THRUM__NONE &&
		thrum__family_line(&pen->bands->all->family, pen->p->scene->selected) == line->task;
	float y = top + ROW - LINE_UP;
	const struct thrum__story_row *row = NULL;
	char words[200], duration[64];

	if (is_selected) {
		thrum__draw_rect(pen->p->list, THRUM__Z_BAND, THRUM__COLOUR_SEL_BG, pen->left, top,
			pen->right - pen->left, ROW);
		thrum__draw_rect(pen->p->list, THRUM__Z_HALO, THRUM__COLOUR_SEL_BG, 0, top,
			pen->left - 1, ROW);
		thrum__draw_rect(pen->p->list, THRUM__Z_LABEL, THRUM__COLOUR_SEL, 0, top, 3, ROW);
	}
	paint_line(pen, line, y);
	if (get_row(pen, line->task, &row) < 0)
		pen->p->list->failed = true;
	for (uint32_t i = 0; row && i < row->count; i++)
		paint_stretch(pen, &row->stretches[i], line, y);
	thrum__words_task(pen->p->model, line->task, words, sizeof words);
	thrum__bands_text(pen, x, top + 14, is_selected ? THRUM__FONT_STRONG : THRUM__FONT_LABEL,
		THRUM__COLOUR_INK, pen->left - (line->is_median ? 120 : 76) - x, words);
	strcpy(duration, line->is_median ? "median " : "");
	thrum__words_duration(line->end - line->start, 3, duration + strlen(duration), 40);
	thrum__bands_text_right(pen, pen->left - 12, top + 14,
		is_selected ? THRUM__FONT_BASE : THRUM__FONT_NOTE,
		is_selected ? THRUM__COLOUR_INK : THRUM__COLOUR_MUTED, duration);
}

/* Whether all lines begin and end in sight, and none failed. */
static bool are_whole(const struct thrum__bands_pen *pen, const struct thrum__bands_line *lines,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (lines[i].is_failed || lines[i].is_pending ||
			lines[i].start < pen->p->state->from || lines[i].end > pen->p->state->to)
			return false;
	return true;
}

/* The lines of an opened band's rows. */
struct rows {
	struct thrum__bands_line lines[THRUM__OPENED_ROWS_MAX];
	uint32_t count;
	uint32_t of; /* so many are chosen by the box, or in sight */
	bool are_chosen;
};

static void find_rows(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, struct rows *rows)
{
	struct thrum__bands_box box;

	rows->are_chosen = thrum__scene_bands_box(scene, &box) && box.group == place->index;
	if (!rows->are_chosen)
		box = (struct thrum__bands_box){place->index, scene->state.from, scene->state.to, 0,
			0};
	rows->count = thrum__bands_pick(scene->bands->all, &box, rows->lines, place->rows,
		&rows->of);
}

/* Writes below the rows how many others there are, and how to see them. */
static void paint_others(const struct thrum__bands_pen *pen, float x, float top, uint32_t count,
	bool opens)
{
	char words[80] = "+ ";

	thrum__words_number(count, words + 2);
	strcat(words, opens ? " more" : " more: zoom in, or choose some with Shift and a drag");
	thrum__bands_text(pen, x, top + 14, THRUM__FONT_NOTE,
		opens && !pen->p->scene->is_still ? THRUM__COLOUR_RUN : THRUM__COLOUR_MUTED,
		opens && pen->left > 0 ? pen->left - 16 - x : pen->right - x, words);
}

void thrum__bands_paint_opened(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	float top = thrum__bands_top(pen, place);
	/* A narrow gutter has no room for the levels of the rows. */
	float x = THRUM__BANDS_NAME +
		THRUM__BANDS_INDENT * (float)(pen->is_narrow ? 1 : place->depth + 1);
	char words[160], of[THRUM__NUMBER_ROOM];
	struct thrum__bands_pen before = *pen;
	struct rows rows;

	find_rows(pen->p->scene, place, &rows);
	thrum__words_number(rows.of, of);
	snprintf(words, sizeof words,
		rows.count >= rows.of ? "%s %s"
			: are_whole(pen, rows.lines, rows.count)
			? "%s %s: the slowest %u that are whole, and the median"
			: "%s %s: %u of them, failed and pending ones first, then the slowest, "
			  "and the median",
		of, rows.are_chosen ? "chosen" : "in sight",
		(unsigned)(rows.count > 0 ? rows.count - 1 : 0));
	before.right -= pen->p->scene->is_still ? 0 : THRUM__BANDS_CLOSE;
	thrum__bands_remark(&before, pen->left + THRUM__BANDS_REMARK, top + 11, THRUM__FONT_NOTE,
		THRUM__COLOUR_MUTED, words);
	thrum__bands_paint_close(pen, top + 11);
	for (uint32_t i = 0; i < rows.count; i++) {
		float y = top + THRUM__OPENED_HEAD + ROW * (float)i;

		if (y + ROW > top + place->height)
			break; /* it is being opened */
		if (y < pen->p->bottom && y + ROW > pen->p->top)
			paint_row(pen, &rows.lines[i], x, y);
	}
	if (rows.of > rows.count)
		paint_others(pen, x, top + THRUM__OPENED_HEAD + ROW * (float)place->rows,
			rows.of - rows.count, place->rows < THRUM__OPENED_ROWS_MAX);
}

bool thrum__bands_opens_on(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, float y)
{
	struct rows rows;

	if (place->kind != THRUM__PLACE_OPENED || place->rows >= THRUM__OPENED_ROWS_MAX ||
		y < THRUM__OPENED_HEAD + ROW * (float)place->rows ||
		y >= THRUM__OPENED_HEAD + ROW * (float)(place->rows + 1))
		return false;
	find_rows(scene, place, &rows);
	return rows.of > rows.count;
}

uint32_t thrum__bands_opened_task(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, float y)
{
	float row = floorf((y - THRUM__OPENED_HEAD) / ROW);
	struct rows rows;

	if (row < 0)
		return THRUM__NONE;
	find_rows(scene, place, &rows);
	return row < (float)rows.count ? rows.lines[(uint32_t)row].task : THRUM__NONE;
}

uint32_t thrum__bands_opened_tasks(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, uint32_t *tasks, uint32_t most)
{
	struct rows rows;

	find_rows(scene, place, &rows);
	for (uint32_t i = 0; i < rows.count && i < most; i++)
		tasks[i] = rows.lines[i].task;
	return rows.count < most ? rows.count : most;
}

/* ---- Threads ------------------------------------------------------------------------------- */

/* Whether a task works for a line, or for one below it. */
static bool works_for_line(const struct thrum__family *family, uint32_t task, uint32_t line)
{
	uint32_t at = task == THRUM__NONE ? task : thrum__family_worker(family, task);

	for (int i = 0; i < THRUM__BANDS_OWNERS && at != THRUM__NONE; i++) {
		if (thrum__family_line(family, at) == line)
			return true;
		at = thrum__family_owner(family, at);
	}
	return false;
}

/* Whether a box of an opened thread has the colour of runs: of the tasks, those that aren't aside. Under the
 * pointer a line's own ones stand out. */
static bool is_run(const struct thrum__bands_pen *pen, uint32_t thread,
	const struct thrum__bands_run *run, int level)
{
	const struct thrum__family *family = &pen->bands->all->family;
	uint32_t group = pen->p->scene->hovered_group, line = pen->p->scene->hovered;

	if (level != THRUM__BANDS_TASK)
		return false;
	if (line != THRUM__NONE)
		line = thrum__family_line(family, thrum__family_worker(family, line));
	if (line != THRUM__NONE)
		return works_for_line(family, run->task, line);
	return !thrum__bands_is_aside(pen, thread) ||
		(group != THRUM__NONE && thrum__bands_works_for(family, run->task, group));
}

static void paint_box(const struct thrum__bands_pen *pen, uint32_t thread,
	const struct thrum__bands_run *run, int level, float top)
{
	float x1 = fmaxf(pen->left, thrum__paint_x(pen->p, run->from));
	float x2 = fminf(pen->right, thrum__paint_x(pen->p, run->to)), width = x2 - x1;
	bool is_task = level == THRUM__BANDS_TASK, runs = is_run(pen, thread, run, level);
	int font = is_task ? THRUM__FONT_SMALL : THRUM__FONT_NOTE;
	char words[200], site[80] = "", fits[200];
	size_t size;

	if (x2 < pen->left || x1 > pen->right)
		return;
	/* Boxes that touch stay apart. */
	thrum__draw_rect(pen->p->list, THRUM__Z_RUN, runs ? THRUM__COLOUR_RUN : THRUM__COLOUR_SUM,
		x1, top, fmaxf(1, width > 3 ? width - 1 : width), BOX);
	if (width < BOX_NAMED || run->task == THRUM__NONE)
		return;
	thrum__words_task(pen->p->model, run->task, words, sizeof words);
	if (is_task)
		thrum__words_kind_and_site(pen->p->model, run->task, site, sizeof site);
	if (is_task && site[0] && strcmp(site, words) != 0 && strlen(words) < sizeof words - 90) {
		strcat(words, "  ");
		strcat(words, site);
	}
	size = thrum__paint_fit(pen->p, words, strlen(words), font, width - 8, fits, sizeof fits);
	thrum__draw_text(pen->p->list, THRUM__Z_LABEL, runs ? THRUM__COLOUR_BG : THRUM__COLOUR_INK,
		font, x1 + 4, top + 10, fits, size, false);
}

void thrum__bands_paint_lanes(struct thrum__bands_pen *pen,
	const struct thrum__scene_bands_place *place)
{
	const struct thrum__bands *bands = pen->bands->all;
	const struct thrum__bands_thread *thread = &bands->threads[place->index];
	const struct thrum__bands_window *window = &pen->bands->window;
	float top = thrum__bands_top(pen, place);
	struct thrum__bands_boxes walk;
	struct thrum__bands_run run;

	for (uint32_t lane = 0; lane < thread->count; lane++) {
		for (int level = 0; level <= THRUM__BANDS_TASK; level++) {
			float y = top + LEVEL * (float)(3 * lane + (uint32_t)level) + 2;

			if (y > pen->p->bottom || y + LEVEL < pen->p->top)
				continue;
			thrum__bands_boxes_begin(&walk, bands,
				bands->thread_lanes[thread->first + lane], level, window->times[0],
				window->times[window->columns], thrum__paint_span(pen->p, NEAR),
				thrum__paint_span(pen->p, BLUR));
			while (thrum__bands_boxes_next(&walk, &run))
				paint_box(pen, place->index, &run, level, y);
			if (level > 0)
				thrum__bands_text(pen, 2 * THRUM__BANDS_NAME, y + 11,
					THRUM__FONT_NOTE, THRUM__COLOUR_MUTED, 120,
					level == 1 ? "for whom" : "who");
		}
	}
}

uint32_t thrum__bands_named_boxes(const struct thrum__scene *scene,
	const struct thrum__scene_bands_place *place, struct thrum__bands_run *boxes, uint32_t most)
{
	const struct thrum__bands *all = scene->bands->all;
	const struct thrum__bands_thread *thread = &all->threads[place->index];
	double pixel = 1 / scene->time.scale;
	struct thrum__bands_boxes walk;
	uint32_t count = 0;

	for (uint32_t lane = 0; lane < thread->count; lane++) {
		thrum__bands_boxes_begin(&walk, all, all->thread_lanes[thread->first + lane],
			THRUM__BANDS_TASK, scene->state.from, scene->state.to,
			(int64_t)(NEAR * pixel), (int64_t)((double)BLUR * pixel));
		while (count < most && thrum__bands_boxes_next(&walk, &boxes[count]))
			count += boxes[count].task != THRUM__NONE &&
				(double)(boxes[count].to - boxes[count].from) >= BOX_NAMED * pixel;
	}
	return count;
}

uint32_t thrum__bands_lanes_task(const struct thrum__scene_bands *bands,
	const struct thrum__scene_bands_place *place, float y, int64_t time, int64_t grain)
{
	const struct thrum__bands_thread *thread = &bands->all->threads[place->index];
	uint32_t row = y < 0 ? 0 : (uint32_t)(y / LEVEL);
	struct thrum__bands_boxes walk;
	struct thrum__bands_run run;

	if (row / 3 >= thread->count)
		return THRUM__NONE;
	thrum__bands_boxes_begin(&walk, bands->all,
		bands->all->thread_lanes[thread->first + row / 3], (int)(row % 3), time - grain,
		time + grain + 1, NEAR * grain, (int64_t)(BLUR * (float)grain));
	while (thrum__bands_boxes_next(&walk, &run))
		if (run.task != THRUM__NONE && run.to >= time - grain)
			return run.task;
	return THRUM__NONE;
}
