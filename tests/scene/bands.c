/* SPDX-License-Identifier: ISC */
/* Bands: each line lies at the height of its duration, and nothing moves while one zooms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bands_helper.h"
#include "model/parts.h"
#include "scene/move.h"
#include "story.h"

static void sections_and_numbers_are_told(void **state)
{
	const struct picture *p = *state;
	struct written where;

	assert_int_equal(picture_find(p, "Threads", NULL), 1);
	assert_int_equal(picture_find(p, "loop", NULL), 1);
	assert_int_equal(picture_find(p, "Queues", NULL), 0);
	assert_int_equal(picture_find(p, "Work", NULL), 1);
	assert_int_equal(picture_find(p, "GET /user/#", &where), 1);
	assert_true(where.x + where.width <= 236);
	assert_int_equal(picture_find(p, "median", NULL), 1);
	assert_int_equal(picture_find(p, "1 ms", NULL), 2); /* on the scale, too */
	/* One failed, and a finding's step has the same number. */
	assert_int_equal(picture_find(p, "1", NULL), 2);
}

static void lines_lie_at_the_height_of_their_durations(void **state)
{
	const struct picture *p = *state;

	assert_true(bands_y(p, SLOW) < bands_y(p, FAILED));
	assert_true(bands_y(p, FAILED) < bands_y(p, 0));
	assert_true(bands_y(p, STUCK) < bands_y(p, SLOW));
	for (int i = 0; i < REQUESTS; i++)
		if (i != FAILED)
			assert_true(bands_has_cell(p, THRUM__COLOUR_PEND,
				bands_x(p, 10L * MS * (i + 1) + 500000), bands_y(p, i)));
	/* The slow one is as long as it took. */
	assert_true(bands_has_cell(p, THRUM__COLOUR_PEND, bands_x(p, 148L * MS), bands_y(p, SLOW)));
	assert_false(
		bands_has_cell(p, THRUM__COLOUR_PEND, bands_x(p, 152L * MS), bands_y(p, SLOW)));
	assert_false(
		bands_has_cell(p, THRUM__COLOUR_PEND, bands_x(p, 108L * MS), bands_y(p, SLOW)));
}

static void a_pending_line_reaches_the_end(void **state)
{
	const struct picture *p = *state;

	assert_true(
		bands_has_cell(p, THRUM__COLOUR_PEND, bands_x(p, 399L * MS), bands_y(p, STUCK)));
}

static void a_failure_alone_is_a_cross(void **state)
{
	const struct picture *p = *state;
	unsigned count = 0;

	for (uint32_t b = 0; b < p->list.batch_count; b++) {
		const struct thrum__draw_batch *batch = &p->list.batches[b];
		const struct thrum__draw_segment *lines = batch->items;

		if (batch->style.op != THRUM__OP_LINE || batch->style.z != THRUM__Z_END ||
			batch->style.colour != THRUM__COLOUR_BAD)
			continue;
		for (uint32_t i = 0; i < batch->count; i++, count++) {
			assert_true(fabsf((lines[i].x1 + lines[i].x2) / 2 -
					    bands_x(p, 213L * MS)) <= 3);
			assert_true(
				fabsf((lines[i].y1 + lines[i].y2) / 2 - bands_y(p, FAILED)) <= 4);
		}
	}
	assert_int_equal(count, 2);
}

static void no_band_moves_while_one_zooms(void **state)
{
	struct picture *p = *state;
	float y = bands_place(p)->y, height = bands_place(p)->height;
	unsigned rows = bands_place(p)->rows;

	for (int i = 0; i < 10; i++) {
		thrum__scene_zoom(p->scene, 700, 300, 2);
		picture_paint(p, WIDTH, HEIGHT);
		assert_float_equal(bands_place(p)->y, y, 0);
		assert_float_equal(bands_place(p)->height, height, 0);
		assert_int_equal(bands_place(p)->rows, rows);
	}
}

static uint32_t picked_at(const struct picture *p, float x, float y)
{
	struct thrum__scene_pick pick;

	thrum__scene_pick(p->scene, x, y, 4, &pick);
	return pick.task;
}

static void the_line_at_the_pointer_is_picked(void **state)
{
	struct picture *p = *state;
	uint32_t slow = story_task(p->model, FIRST_ID + SLOW);

	assert_int_equal(picked_at(p, bands_x(p, 130L * MS), bands_y(p, SLOW)), slow);
	assert_int_equal(picked_at(p, bands_x(p, 213L * MS), bands_y(p, FAILED)),
		story_task(p->model, FIRST_ID + FAILED));
	assert_int_equal(picked_at(p, bands_x(p, 300L * MS), bands_y(p, SLOW)), THRUM__NONE);
	assert_int_equal(picked_at(p, 100, bands_y(p, SLOW)), THRUM__NONE);
	assert_int_equal(thrum__scene_select(p->scene, slow), 0);
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(picture_has_rect(p, THRUM__COLOUR_SEL, NAN, NAN, NAN, 2));
	assert_int_equal(picture_find(p, "GET /user/10", NULL), 1);
}

/* The head counts each task once, also those that cross an edge of the range. */
static void a_range_counts_no_task_twice(void **state)
{
	struct picture *p = *state;
	const char *words =
		"30 tasks in these bands, each a line from its beginning to its end; the "
		"higher, the longer it took (scale at the right)";

	assert_int_equal(picture_find(p, words, NULL), 1);
	p->scene->state.bands.range_from = 120L * MS; /* within the slow one */
	p->scene->state.bands.range_to = 130L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, words, NULL), 1);
}

/* A range adds a line of numbers to each band, and moves none. */
static void a_range_moves_no_band(void **state)
{
	static char text[8000];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	const struct thrum__family *family;
	struct picture p;
	float content;

	(void)state;
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"job %d\n%ld resolve 1 %d\n",
			i * 10L * MS, i + 10, i * 10L * MS, i + 10, i, (i * 10L + 4) * MS, i + 10);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	family = &p.scene->bands->all->family;
	assert_int_equal(family->groups[thrum__family_group(family, story_task(p.model, 12))].size,
		THRUM__GROUP_MIDDLE);
	content = p.scene->bands->content;
	p.scene->state.bands.range_from = 50L * MS;
	p.scene->state.bands.range_to = 60L * MS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(p.scene->bands->content == content);
	picture_finish(&p);
}

/* How many rects have a colour and a z. */
static unsigned count_rects(const struct picture *p, int z, int colour)
{
	unsigned count = 0;

	for (uint32_t b = 0; b < p->list.batch_count; b++)
		if (p->list.batches[b].style.op == THRUM__OP_RECT &&
			p->list.batches[b].style.z == z &&
			p->list.batches[b].style.colour == colour)
			count += p->list.batches[b].count;
	return count;
}

static void found_lines_are_marked_on_top_of_their_band(void **state)
{
	struct picture *p = *state;
	float top = THRUM__RULER + bands_place(p)->y, x;

	assert_int_equal(thrum__scene_search(p->scene, "user/10"), 0);
	picture_paint(p, WIDTH, HEIGHT);
	x = thrum__scene_bands_left(WIDTH) +
		2 * floorf((bands_x(p, 110L * MS) - thrum__scene_bands_left(WIDTH)) / 2);
	assert_int_equal(count_rects(p, THRUM__Z_END, THRUM__COLOUR_HIT), 1);
	assert_true(picture_has_rect(p, THRUM__COLOUR_HIT, x, top - 6, 2, 4));
	assert_true(picture_has_rect(p, THRUM__COLOUR_INK, x, top - 2, 2, 2));
	assert_int_equal(thrum__scene_search(p->scene, ""), 0);
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(count_rects(p, THRUM__Z_END, THRUM__COLOUR_HIT), 0);
}

static void unrelated_lines_are_faded(void **state)
{
	struct picture *p = *state;
	float x = bands_x(p, 10L * MS + 500000);

	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(bands_has_cell(p, THRUM__COLOUR_PEND, x, bands_y(p, 0)));
	assert_int_equal(bands_command(p, THRUM__COMMAND_RELATED), 1);
	assert_true(bands_has_cell(p, THRUM__COLOUR_FADED, x, bands_y(p, 0)));
	assert_false(bands_has_cell(p, THRUM__COLOUR_PEND, x, bands_y(p, 0)));
	assert_true(
		picture_has_rect(p, THRUM__COLOUR_SEL, NAN, NAN, NAN, 2)); /* its own line isn't */
}

/* Where nearly all tasks of a group fail, marks would say nothing: the column says "all". */
static void failures_of_all_are_no_marks(void **state)
{
	enum {
		TASKS = 60,
		WELL = 7 /* the one that doesn't fail: 98.3 % do */
	};
	static char text[TASKS * 160 + 64];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	struct picture p;
	struct written where;

	(void)state;
	for (int i = 0; i < TASKS; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"GET /no/%d\n%ld should-resolve %d\n"
			"%ld switch %d\n%ld switch 1\n%ld %s 1 %d\n",
			i * 10L * MS, i + 2, i * 10L * MS, i + 2, i, i * 10L * MS, i + 2,
			i * 10L * MS + 1000, i + 2, i * 10L * MS + 2000, i * 10L * MS + 1L * MS,
			i == WELL ? "resolve" : "fail", i + 2);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	p.scene->state.findings = false;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(&p, "all", &where), 1);
	assert_int_equal(where.colour, THRUM__COLOUR_BAD);
	for (uint32_t b = 0; b < p.list.batch_count; b++) {
		assert_false(p.list.batches[b].style.colour == THRUM__COLOUR_BAD &&
			p.list.batches[b].style.op == THRUM__OP_LINE);
		for (float y = bands_y(&p, 0) - 20; y < bands_y(&p, 0) + 20; y++)
			assert_int_not_equal(bands_cell(&p, bands_x(&p, 11L * MS), y),
				THRUM__COLOUR_BAD);
	}
	picture_finish(&p);
}

/* Makes the only call site of a model. */
static void add_site(struct thrum__model *model)
{
	struct thrum__sites *sites = model->sites;

	assert_int_equal(sites->room, 0);
	sites->all = calloc(2, sizeof *sites->all);
	sites->all[1] = malloc(sizeof *sites->all[1]);
	*sites->all[1] = (struct thrum__site){.site = {"net.c", "fetch", 42}};
	sites->room = 2;
}

/* Without labels the bands are call sites, which the head says. */
static void a_trace_without_labels_has_bands_by_site(void **state)
{
	static char text[4000];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 switch 1\n");
	struct thrum__model *model;
	struct story story;
	struct picture p;

	(void)state;
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d switch %d\n%d resolve %d %d\n%d switch 1\n",
			100 * i + 1, i + 2, 100 * i + 2, i + 2, 100 * i + 50, i + 2, i + 2,
			100 * i + 51);
	story_init(&story, text);
	for (size_t i = 2; i < story.count; i++)
		if (story.events[i].type == THRUM_EVENT_CREATE)
			story.events[i].site = 1;
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, story.events, story.count), 0);
	add_site(model);
	picture_of_model(&p, model);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(p.scene->bands->all->family.by_site);
	assert_int_equal(picture_find(&p,
				 "No task here has a label; these are call sites. thrum_task_label "
				 "names them.",
				 NULL),
		1);
	assert_int_equal(picture_find(&p, "promise in fetch:42", NULL), 1); /* the band's name */
	picture_finish(&p);
	story_finish(&story);
}

/* A name in the gutter tells its sentence, and a thread steps forward from the others. */
static void a_name_tells_about_it(void **state)
{
	struct picture *p = *state;
	char words[400];
	struct written where;

	assert_int_equal(picture_find(p, "loop", &where), 1);
	assert_true(thrum__scene_name_words(p->scene, where.x, where.y, words, sizeof words) > 0);
	assert_non_null(strstr(words, "loop: runs "));
	assert_true(thrum__scene_hover_name(p->scene, where.x, where.y));
	assert_false(thrum__scene_hover_name(p->scene, where.x, where.y));
	assert_true(thrum__scene_hover_name(p->scene, INFINITY, 0));
	assert_int_equal(thrum__scene_name_words(p->scene, 800, where.y, words, sizeof words), 0);
	assert_int_equal(thrum__scene_line_words(p->scene, story_task(p->model, FIRST_ID + FAILED),
				 words, sizeof words),
		strlen(", 3 ms, failed: reset"));
	assert_string_equal(words, ", 3 ms, failed: reset");
}

static void low_pictures_scroll(void **state)
{
	struct picture *p = *state;
	struct written where;
	float y;

	picture_paint(p, WIDTH, 140);
	assert_true(p->scene->bands->content > p->scene->bands->height);
	thrum__scene_drag(p->scene, 700, 80, 0, -1000);
	y = thrum__scene_bands_scroll(p->scene->bands, p->scene->state.track);
	assert_float_equal(y, p->scene->bands->content - p->scene->bands->height, 1);
	picture_paint(p, WIDTH, 140);
	assert_int_equal(picture_find(p, "Threads", &where), 1);
	assert_true(where.y < THRUM__RULER); /* the ruler hides it */
	thrum__scene_drag(p->scene, 700, 80, 0, 1000);
	assert_float_equal(p->scene->state.track, 0, 0);
}

static void all_widths_and_heights_are_painted(void **state)
{
	static const float sizes[][2] = {{1600, 900}, {999, 700}, {600, 500}, {599, 500}, {200, 60},
		{1, 1}, {0, 0}, {8000, 300}};
	struct picture *p = *state;

	p->scene->state.legend = p->scene->state.strip = true;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		picture_paint(p, sizes[i][0], sizes[i][1]);
}

static void a_trace_without_tasks_has_bands(void **state)
{
	struct picture p;

	picture_init(&p, "0 log - \"nothing\n", false);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(&p, "Work", NULL), 1);
	picture_finish(&p);
}

/* A program that gives thousands of kinds of names gets no thousands of places. */
static void not_all_of_thousands_of_groups_have_places(void **state)
{
	enum {
		GROUPS = 700
	};
	static char text[GROUPS * 96 + 64];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n");
	struct picture p;

	(void)state;
	for (int i = 0; i < GROUPS; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d label %d \"g%c%c\n", 2 * i + 1, i + 2,
			2 * i + 1, i + 2, 'a' + i / 26, 'a' + i % 26);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_of(p.scene)->family.more_count, GROUPS);
	assert_int_equal(picture_find(&p, "− 700 more", NULL), 1);
	assert_int_equal(picture_find(&p, "the 500 with the most tasks are below", NULL), 1);
	assert_true(p.scene->bands->place_count < 510);
	picture_finish(&p);
}

static double rate_of(const struct picture *p)
{
	return p->scene->bands->counted[bands_place(p) - p->scene->bands->places].numbers.rate;
}

/* Where a ring has lost the beginning, the numbers are of the rest: of all they would be too small. */
static void numbers_are_of_what_is_kept(void **state)
{
	struct picture *p = *state;

	assert_float_equal(rate_of(p), 29 / 0.4, 0.01);
	p->model->is_cut = true;
	p->model->lanes[0].first = 200L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_float_equal(rate_of(p), 11 / 0.2, 0.01);
	/* In a window without the loss, they are the window's. */
	p->scene->state.from = 300L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_float_equal(rate_of(p), 1 / 0.1, 0.01);
	/* Behind the end there is no time of the program. */
	p->scene->state.to = 900L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_float_equal(rate_of(p), 1 / 0.1, 0.01);
}

static void an_empty_window_says_where_something_is(void **state)
{
	struct picture *p = *state;

	assert_false(bands_says(p, "No tasks between"));
	p->scene->state.from = -30L * MS;
	p->scene->state.to = -10L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(bands_says(p, "No tasks between −30 ms and −10 ms."));
	assert_true(
		bands_says(p, "Nearest: 10 ms ›. The trace ends at 400 ms. The key f shows all."));
	p->scene->state.from = 500L * MS;
	p->scene->state.to = 600L * MS;
	p->scene->is_still = true;
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(bands_says(p, "Nearest: ‹ 400 ms. The trace ends at 400 ms.\n"));
	/* A line that neither begins nor ends in the window is something. */
	p->scene->state.from = 355L * MS;
	p->scene->state.to = 356L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_false(bands_says(p, "No tasks between"));
}

/* While the window moves, the numbers of the former one stay, faded. */
static void numbers_wait_until_the_window_stands_still(void **state)
{
	struct picture *p = *state;
	struct written where;

	assert_int_equal(picture_find(p, "73", &where), 1); /* a second */
	assert_int_equal(where.colour, THRUM__COLOUR_MUTED);
	p->scene->keeps_numbers = true;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "73", &where), 1);
	assert_int_equal(where.colour, THRUM__COLOUR_MUTED); /* it is of this window */
	p->scene->state.to = 100L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "73", &where), 1);
	assert_int_equal(where.colour, THRUM__COLOUR_FADED);
	p->scene->keeps_numbers = false;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "73", NULL), 0);
	assert_int_equal(picture_find(p, "80", &where), 1);
	assert_int_equal(where.colour, THRUM__COLOUR_MUTED);
}

/* Where a thread lost events only its row is hatched; where all did, so is all below the threads. */
static void losses_of_all_threads_go_through_all_bands(void **state)
{
	static char text[8000];
	size_t used = (size_t)sprintf(text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 @1 create - 2 thread\n"
		"0 @1 label 2 \"other\n");
	struct thrum__bands_lost lost[THRUM__BANDS_LOST_MOST];
	struct picture p;
	float bottom = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d label %d \"GET /user/%d\n%d resolve 1 %d\n",
			i * 10, i + 10, i * 10, i + 10, i, i * 10 + 5, i + 10);
	sprintf(text + used,
		"1000 log 1 \"before\n1100 @1 log 2 \"before\n1900 lost =127 \"overwritten\n"
		"2500 @1 lost =3 \"overwritten\n3000 @1 lost =9 \"overwritten\n"
		"4000 log 1 \"end\n4000 @1 log 2 \"end\n");
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__bands_find_lost(p.model, 0, 4000, lost), 1);
	assert_int_equal(lost[0].from, 1100);
	assert_int_equal(lost[0].to, 1900);
	/* Only the first part of the gap is lost in all threads. */
	assert_int_equal(thrum__bands_find_lost(p.model, 1900, 2400, lost), 0);
	assert_int_equal(thrum__bands_find_lost(p.model, 2600, 4000, lost), 0);
	assert_int_equal(picture_find(&p, "127 lost", NULL), 1);
	assert_int_equal(picture_find(&p, "lost", NULL), 1); /* below the threads */
	for (uint32_t b = 0; b < p.list.batch_count; b++) {
		const struct thrum__draw_batch *batch = &p.list.batches[b];
		const struct thrum__draw_rect *rects = batch->items;

		if (batch->style.op != THRUM__OP_RECT || batch->style.z != THRUM__Z_REGION ||
			batch->style.colour != THRUM__COLOUR_FOLD)
			continue;
		assert_int_equal(batch->count, 4); /* both rows, the second twice, and all bands */
		for (uint32_t i = 0; i < batch->count; i++)
			bottom = fmaxf(bottom, rects[i].y + rects[i].height);
	}
	assert_float_equal(bottom, HEIGHT, 0);
	/* Numbers of this time are the least. */
	assert_true(bands_says(&p, " ≥0 % runs"));
	p.scene->state.from = 3500;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(bands_says(&p, " ≥0 % runs"));
	picture_finish(&p);
}

static void a_live_trace_ends_with_a_thick_line(void **state)
{
	struct picture *p = *state;
	float x = bands_x(p, 400L * MS);

	assert_true(picture_has_rect(p, THRUM__COLOUR_EDGE, NAN, THRUM__RULER, 1,
		HEIGHT - THRUM__RULER));
	p->scene->ending.is_live = true;
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(x > 1500);
	assert_true(picture_has_rect(p, THRUM__COLOUR_SEL, NAN, THRUM__RULER, 2,
		HEIGHT - THRUM__RULER));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, bands_set_up, bands_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(sections_and_numbers_are_told),
		TEST(lines_lie_at_the_height_of_their_durations),
		TEST(a_pending_line_reaches_the_end),
		TEST(a_failure_alone_is_a_cross),
		TEST(no_band_moves_while_one_zooms),
		TEST(the_line_at_the_pointer_is_picked),
		TEST(a_range_counts_no_task_twice),
		TEST(a_range_moves_no_band),
		TEST(found_lines_are_marked_on_top_of_their_band),
		TEST(unrelated_lines_are_faded),
		TEST(a_name_tells_about_it),
		TEST(low_pictures_scroll),
		TEST(an_empty_window_says_where_something_is),
		TEST(numbers_are_of_what_is_kept),
		TEST(numbers_wait_until_the_window_stands_still),
		cmocka_unit_test(losses_of_all_threads_go_through_all_bands),
		TEST(a_live_trace_ends_with_a_thick_line),
		TEST(all_widths_and_heights_are_painted),
		cmocka_unit_test(a_trace_without_tasks_has_bands),
		cmocka_unit_test(failures_of_all_are_no_marks),
		cmocka_unit_test(a_trace_without_labels_has_bands_by_site),
		cmocka_unit_test(not_all_of_thousands_of_groups_have_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
