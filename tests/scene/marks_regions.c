/* SPDX-License-Identifier: ISC */
/* Regions behind the tracks, marks of the selection, and the ends of long edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "marks_helper.h"
#include "story.h"

#define C(NAME) THRUM__COLOUR_##NAME

static const char work[] = "0 create - 1 task\n"
			   "0 switch 1\n"
			   "10 create 1 2 promise\n";

static void start(struct marks *m, const char *story)
{
	char all[2048];

	snprintf(all, sizeof all, "%s%s", work, story);
	marks_init(m, story_model(all, false));
	marks_frame(m, 0, 1000, 40);
}

static void spans_are_named(void **state)
{
	struct marks m;
	float height;

	(void)state;
	start(&m,
		"100 span-begin \"parse\n400 span-end \"parse\n500 gc =100 \"x\n"
		"700 span-begin \"open\n1000 log 1 \"end\n");
	assert_int_equal(marks_over(&m, THRUM__Z_REGION, C(GC), marks_x(&m, 200), 200, &height), 1);
	assert_true(height >= 369);
	assert_true(marks_has_text(&m, "parse 300 ns"));
	assert_true(marks_has_text(&m, "GC 100 ns"));
	assert_int_equal(marks_over(&m, THRUM__Z_REGION, C(GC), marks_x(&m, 600), 200, NULL), 0);
	assert_int_equal(marks_over(&m, THRUM__Z_REGION, C(GC), marks_x(&m, 900), 200, NULL), 1);
	marks_finish(&m);
}

static void stated_suspensions_are_hatched(void **state)
{
	struct marks m;
	unsigned count;

	(void)state;
	start(&m, "100 suspend \"hibernated\n700 resume\n1000 log 1 \"end\n");
	/* Uprights at both ends, and few faint lines. */
	assert_int_equal(marks_count(&m, THRUM__Z_REGION, THRUM__OP_RECT, C(SUSP), -1), 2);
	count = marks_count(&m, THRUM__Z_REGION, THRUM__OP_RECT, C(FADED), -1);
	assert_in_range(count, 20, 30);
	assert_true(marks_has_text(&m, "hibernated"));
	marks_finish(&m);
}

static void gaps_say_what_is_lost(void **state)
{
	struct marks m;

	(void)state;
	start(&m, "300 log 1 \"before\n500 lost =127 \"overwritten\n1000 log 1 \"end\n");
	assert_true(marks_has_text(&m, "127 lost"));
	assert_int_equal(marks_over(&m, THRUM__Z_REGION, C(FOLD), marks_x(&m, 400), 200, NULL), 1);
	assert_true(marks_count(&m, THRUM__Z_REGION, THRUM__OP_POLY, C(GAP), -1) > 0);
	marks_finish(&m);
}

/* Gaps are in the order of their ends. One that lasts longer than another, which begins behind the window, is
 * seen all the same. */
static void long_gaps_are_seen_among_short_ones(void **state)
{
	struct marks m;

	(void)state;
	start(&m,
		"0 @1 create - 3 thread\n0 @2 create - 4 thread\n50 log 1 \"before\n"
		"60 lost =7 \"overwritten\n500 @1 log 3 \"before\n510 @1 lost =8 \"overwritten\n"
		"600 @2 lost =9 \"overwritten\n1000 log 1 \"end\n");
	m.scene->state.from = 100;
	m.scene->state.to = 300;
	marks_again(&m);
	assert_true(marks_has_text(&m, "first 600 ns lost"));
	assert_false(marks_has_text(&m, "7 lost"));
	assert_false(marks_has_text(&m, "8 lost"));
	m.scene->state.from = 520;
	m.scene->state.to = 590;
	marks_again(&m);
	assert_true(marks_has_text(&m, "first 600 ns lost"));
	marks_finish(&m);
}

static void times_off_the_processor_stand_above(void **state)
{
	struct marks m;

	(void)state;
	start(&m,
		"100 off-cpu =100 \"blocked\n300 off-cpu =100 \"preempted\n"
		"500 off-cpu =100 \"woken\n700 off-cpu =100 \"unknown\n1000 log 1 \"end\n");
	assert_int_equal(marks_count(&m, THRUM__Z_REGION, THRUM__OP_RECT, C(SUSP), -1), 1);
	assert_int_equal(marks_count(&m, THRUM__Z_REGION, THRUM__OP_RECT, C(BAD), -1), 2);
	assert_int_equal(marks_count(&m, THRUM__Z_REGION, THRUM__OP_LINE, C(GAP), THRUM__DASH_5_3),
		1);
	marks_finish(&m);
}

static void folds_are_torn(void **state)
{
	struct marks m;
	float from, to, y;

	(void)state;
	start(&m, "100 suspend\n10000000 resume\n10000100 log 1 \"end\n");
	m.scene->state.from = 0;
	m.scene->state.to = 10000100;
	m.scene->state.fold = THRUM__FOLD_ON;
	marks_again(&m);
	assert_int_equal(m.scene->time.count, 2);
	from = (float)m.scene->time.segments[0].x_end;
	to = (float)m.scene->time.segments[1].x;
	y = marks_y(&m, 1);
	assert_int_equal(marks_over(&m, THRUM__Z_REGION, C(FOLD), (from + to) / 2, 200, NULL), 1);
	assert_int_equal(marks_count(&m, THRUM__Z_REGION, THRUM__OP_POLY, C(FADED), -1), 2);
	assert_int_equal(marks_near(&m, THRUM__Z_LINE, THRUM__OP_LINE, C(PEND), THRUM__DASH_3_3,
				 (from + to) / 2, y, 2),
		1);
	assert_int_equal(marks_over(&m, THRUM__Z_LINE, C(PEND), (from + to) / 2, y, NULL), 0);
	marks_finish(&m);
}

/* Twenty tasks below each other; the first reads the last's result. */
static struct thrum__model *tall(void)
{
	char story[4096] = "0 create - 1 task\n0 switch 1\n";
	size_t size = strlen(story);

	for (int i = 2; i <= 20; i++)
		size += (size_t)snprintf(story + size, sizeof story - size,
			"%d create 1 %d promise\n", i, i);
	for (int i = 2; i <= 20; i++)
		size += (size_t)snprintf(story + size, sizeof story - size, "%d wait %d 1\n",
			600 + 10 * i, i);
	snprintf(story + size, sizeof story - size, "1000 log 1 \"end\n");
	return story_model(story, false);
}

/* The task of the lowest track. */
static uint64_t lowest(const struct marks *m)
{
	uint64_t id = 2;

	for (uint64_t i = 3; i <= 20; i++)
		if (marks_y(m, i) > marks_y(m, id))
			id = i;
	return id;
}

static void long_edges_show_their_ends(void **state)
{
	struct marks m;
	uint64_t id;
	float x, y;

	(void)state;
	marks_init(&m, tall());
	marks_frame(&m, 0, 1000, 16);
	id = lowest(&m);
	x = marks_x(&m, 600 + 10 * (int64_t)id);
	y = marks_y(&m, id);
	assert_true(y - marks_y(&m, 1) > 160);
	/* Ten px where the edge begins, twelve before the ring. */
	assert_int_equal(marks_near(&m, THRUM__Z_EDGE, THRUM__OP_LINE, C(PEND), -1, x, y - 5, 2),
		1);
	assert_int_equal(marks_near(&m, THRUM__Z_EDGE, THRUM__OP_LINE, C(PEND), -1, x,
				 marks_y(&m, 1) + 6, 2),
		1);
	assert_int_equal(thrum__scene_select(m.scene, story_task(m.model, id)), 0);
	marks_again(&m);
	assert_int_equal(marks_near(&m, THRUM__Z_EDGE, THRUM__OP_LINE, C(PEND), -1, x,
				 (y + marks_y(&m, 1)) / 2, 4),
		1);
	marks_finish(&m);
}

static void selection_has_a_band_and_the_rest_fades(void **state)
{
	struct marks m;
	const struct thrum__scene_track_box *box;

	(void)state;
	marks_init(&m, tall());
	marks_frame(&m, 0, 1000, 16);
	assert_int_equal(marks_count(&m, THRUM__Z_LINE, THRUM__OP_RECT, C(FADED), -1), 0);
	assert_int_equal(thrum__scene_select(m.scene, story_task(m.model, 5)), 0);
	m.scene->state.related_only = true;
	marks_again(&m);
	box = marks_box(&m, 5);
	assert_int_equal(marks_over(&m, THRUM__Z_BAND, C(SEL_BG), 500, box->y + box->height / 2,
				 NULL),
		1);
	assert_int_equal(marks_over(&m, THRUM__Z_FRAME, C(SEL), 1, box->y + box->height / 2, NULL),
		1);
	/* Task 5 and task 1, which created it and for which it waits, stay as they are. */
	assert_int_equal(marks_over(&m, THRUM__Z_LINE, C(PEND), 500, marks_y(&m, 5), NULL), 1);
	assert_int_equal(marks_over(&m, THRUM__Z_LINE, C(FADED), 500, marks_y(&m, 6), NULL), 1);
	marks_finish(&m);
}

static void texts_are_cut(void **state)
{
	struct thrum__paint p = {.metrics = &thrum__draw_metrics_plain};
	const char *name = "a name that is _ too long";
	float all = thrum__paint_width(&p, name, strlen(name), THRUM__FONT_LABEL);
	char to[64], small[8];

	(void)state;
	assert_int_equal(thrum__paint_fit(&p, name, strlen(name), THRUM__FONT_LABEL, all, to,
				 sizeof to),
		strlen(name));
	assert_string_equal(to, name);
	for (float room = 0; room < all; room += 3) {
		size_t size = thrum__paint_fit(&p, name, strlen(name), THRUM__FONT_LABEL, room, to,
			sizeof to);

		assert_int_equal(size, strlen(to));
		if (size == 0)
			continue;
		assert_true(thrum__paint_width(&p, to, size, THRUM__FONT_LABEL) <= room);
		assert_true(size >= 5 + 3);
		assert_memory_equal(to + size - 3, "\xe2\x80\xa6", 3);
		assert_null(strchr(" _", to[size - 4]));
	}
	assert_int_equal(thrum__paint_fit(&p, "ab", 2, THRUM__FONT_LABEL, 2, to, sizeof to), 0);
	/* A text is never wider than its room, and never ends with half a character. */
	assert_true(thrum__paint_fit(&p, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 12,
			    THRUM__FONT_LABEL, 500, small, sizeof small) < sizeof small);
	/* Bytes that are not UTF-8 don't get into the list. */
	assert_true(thrum__paint_fit(&p, "a\xff\n", 3, THRUM__FONT_LABEL, 500, to, sizeof to) > 0);
	assert_string_equal(to, "a\xef\xbf\xbd\xef\xbf\xbd");
}

static void places_are_taken(void **state)
{
	struct thrum__paint_boxes boxes = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		thrum__paint_boxes_add(&boxes, (float)(10 * i), 0, 5, 5);
	assert_true(thrum__paint_boxes_hit(&boxes, 992, 2, 1, 1));
	assert_true(thrum__paint_boxes_hit(&boxes, 16, 2, 5, 1));
	assert_false(thrum__paint_boxes_hit(&boxes, 15, 0, 5, 5));
	assert_false(thrum__paint_boxes_hit(&boxes, 0, 5, 1000, 5));
	free(boxes.rects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_named),
		cmocka_unit_test(stated_suspensions_are_hatched),
		cmocka_unit_test(gaps_say_what_is_lost),
		cmocka_unit_test(long_gaps_are_seen_among_short_ones),
		cmocka_unit_test(times_off_the_processor_stand_above),
		cmocka_unit_test(folds_are_torn),
		cmocka_unit_test(long_edges_show_their_ends),
		cmocka_unit_test(selection_has_a_band_and_the_rest_fades),
		cmocka_unit_test(texts_are_cut),
		cmocka_unit_test(places_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
