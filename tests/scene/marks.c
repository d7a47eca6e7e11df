/* SPDX-License-Identifier: ISC */
/* Each mark of the visual language appears where it should, in the form that it should have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "marks_helper.h"
#include "story.h"

#define C(NAME) THRUM__COLOUR_##NAME
#define RECT THRUM__OP_RECT
#define LINE THRUM__OP_LINE
#define POLY THRUM__OP_POLY
#define TRI THRUM__OP_TRI
#define RING THRUM__OP_RING

/* A task that runs, one that it resolves, one that fails, one that is cancelled, and two that are
 * pending, one of them without events for long. */
static const char ends[] = "0 create - 1 task\n"
			   "0 switch 1\n"
			   "100 create 1 2 promise\n"
			   "110 create 1 3 promise\n"
			   "120 create 1 4 promise\n"
			   "130 create 1 5 promise\n"
			   "500 resolve 1 2\n"
			   "550 fail 1 3 \"no\n"
			   "600 cancel 1 4\n"
			   "700 suspend \"wait for work\n"
			   "900 resume\n"
			   "1000 resolve 1 1\n";

static void start_ends(struct marks *m, float track_height)
{
	marks_init(m, story_model(ends, false));
	marks_frame(m, 0, 1200, track_height);
}

static void begins_and_ends(void **state)
{
	struct marks m;
	float x, y, height;

	(void)state;
	start_ends(&m, 40);
	y = marks_y(&m, 2);
	assert_int_equal(marks_over(&m, THRUM__Z_END, C(PEND), marks_x(&m, 100), y, &height), 1);
	assert_int_equal((int)height, (int)marks_box(&m, 2)->bar + 2);
	assert_int_equal(marks_over(&m, THRUM__Z_END, C(EDGE), marks_x(&m, 500), y, &height), 1);
	assert_int_equal((int)height, (int)marks_box(&m, 2)->bar + 2);
	assert_int_equal(marks_over(&m, THRUM__Z_LINE, C(PEND), marks_x(&m, 300), y, &height), 1);
	assert_int_equal((int)height, 2);
	/* Two strokes make a cross; one, in another colour, a cancelled one. */
	assert_int_equal(marks_near(&m, THRUM__Z_END, LINE, C(BAD), -1, marks_x(&m, 550),
				 marks_y(&m, 3), 1),
		2);
	assert_int_equal(marks_near(&m, THRUM__Z_END, LINE, C(EDGE), -1, marks_x(&m, 600),
				 marks_y(&m, 4), 1),
		1);
	/* Last heard of: 16 px of dots. */
	x = marks_x(&m, 130);
	assert_int_equal(marks_near(&m, THRUM__Z_LINE, LINE, C(PEND), THRUM__DASH_2_3, x + 8,
				 marks_y(&m, 5), 2),
		1);
	marks_finish(&m);
}

static void runs_and_waits_for_work(void **state)
{
	struct marks m;
	float y, height;

	(void)state;
	start_ends(&m, 40);
	y = marks_y(&m, 1);
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(RUN), marks_x(&m, 300), y, &height), 1);
	assert_int_equal((int)height, 12);
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(RUN), marks_x(&m, 800), y, NULL), 0);
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(RUN), marks_x(&m, 950), y, NULL), 1);
	/* Waiting for work is not painted. */
	assert_int_equal(marks_count(&m, THRUM__Z_REGION, RECT, C(SUSP), -1), 0);
	marks_finish(&m);
}

static void many_runs_are_merged(void **state)
{
	char story[16384] = "0 create - 1 task\n0 create 1 2 task\n";
	size_t size = strlen(story);
	struct marks m;
	float x, y, height;

	(void)state;
	/* Every 1000 ns it runs for 250, which is less than a pixel. */
	for (int i = 0; i < 200; i++)
		size += (size_t)snprintf(story + size, sizeof story - size,
			"%d switch 2\n%d suspend\n", 200000 + 1000 * i, 200250 + 1000 * i);
	snprintf(story + size, sizeof story - size, "1000000 log 1 \"end\n");
	marks_init(&m, story_model(story, false));
	marks_frame(&m, 0, 1000000, 40);
	x = marks_x(&m, 300000);
	y = marks_y(&m, 2);
	/* A quarter is filled from below, the rest is pale, and a comb is on top. */
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(RUN), x, y + 5, &height), 1);
	assert_int_equal((int)height, 3);
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(SUM), x, y - 5, &height), 1);
	assert_int_equal((int)height, 9);
	assert_int_equal(marks_near(&m, THRUM__Z_END, LINE, C(BG), THRUM__DASH_1_2, x, y - 5, 3),
		1);
	/* Zoomed in, they are apart. */
	marks_frame(&m, 300000, 310000, 40);
	assert_int_equal(marks_count(&m, THRUM__Z_RUN, RECT, C(RUN), -1), 11);
	assert_int_equal(marks_count(&m, THRUM__Z_RUN, RECT, C(SUM), -1), 0);
	marks_finish(&m);
}

static void what_a_lane_does_itself_is_thin(void **state)
{
	struct marks m;
	float height;

	(void)state;
	marks_init(&m,
		story_model("0 create - 1 thread\n0 switch 1\n500 create 1 2 task\n"
			    "600 switch 2\n1000 resolve 2 2\n",
			false));
	marks_frame(&m, 0, 1000, 40);
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(SUM), marks_x(&m, 300), marks_y(&m, 1),
				 &height),
		1);
	assert_int_equal((int)height, 4);
	assert_int_equal(marks_over(&m, THRUM__Z_RUN, C(RUN), marks_x(&m, 800), marks_y(&m, 2),
				 &height),
		1);
	assert_int_equal((int)height, 12);
	marks_finish(&m);
}

static void failures_are_seen_in_dense_tracks(void **state)
{
	struct marks m;

	(void)state;
	start_ends(&m, 3);
	assert_int_equal(marks_near(&m, THRUM__Z_END, LINE, C(BAD), -1, marks_x(&m, 550),
				 marks_y(&m, 3), 1),
		2);
	assert_int_equal(marks_count(&m, THRUM__Z_END, RECT, C(PEND), -1), 0);
	assert_int_equal(marks_count(&m, THRUM__Z_EDGE, TRI, C(EDGE), -1), 0);
	marks_finish(&m);
}

static void creation_is_a_hair(void **state)
{
	struct marks m;
	float x, y, from;

	(void)state;
	start_ends(&m, 40);
	x = marks_x(&m, 100);
	from = marks_y(&m, 1);
	y = marks_y(&m, 2);
	assert_int_equal(marks_over(&m, THRUM__Z_CREATE, C(CREATE), x, (from + y) / 2, NULL), 1);
	/* On a bar the square has the ground's colour. */
	assert_int_equal(marks_near(&m, THRUM__Z_END, RECT, C(BG), -1, x, from, 1), 1);
	marks_finish(&m);
}

static void resolving_and_failing_have_filled_heads(void **state)
{
	struct marks m;
	float sign;

	(void)state;
	start_ends(&m, 40);
	sign = marks_y(&m, 2) > marks_y(&m, 1) ? 1 : -1;
	assert_int_equal(marks_near(&m, THRUM__Z_EDGE, TRI, C(EDGE), -1, marks_x(&m, 500),
				 marks_y(&m, 2) - sign * 10.5f, 2),
		1);
	assert_int_equal(marks_count(&m, THRUM__Z_EDGE, TRI, C(BAD), -1), 1);
	marks_finish(&m);
}

static void alive_and_stuck_reach_the_end(void **state)
{
	struct marks m;
	float y, height;

	(void)state;
	marks_init(&m,
		story_model("0 create - 1 task\n"
			    "0 switch 1\n"
			    "0 create 1 2 promise\n"
			    "100 create 1 3 bind\n"
			    "100 should-resolve 3\n"
			    "900 log 1 \"last\n"
			    "1000 log 2 \"late\n",
			false));
	marks_frame(&m, 0, 1200, 40);
	y = marks_y(&m, 3);
	assert_int_equal(marks_over(&m, THRUM__Z_LINE, C(BAD), marks_x(&m, 800), y, &height), 1);
	assert_int_equal((int)height, 4);
	assert_int_equal(marks_near(&m, THRUM__Z_END, TRI, C(BAD), -1, marks_x(&m, 1000) - 4, y, 1),
		1);
	assert_int_equal(marks_near(&m, THRUM__Z_END, POLY, C(PEND), -1, marks_x(&m, 1000) - 4,
				 marks_y(&m, 2), 1),
		1);
	/* The end of the trace, from top to bottom. */
	assert_int_equal(marks_over(&m, THRUM__Z_GRID, C(MUTED), marks_x(&m, 1000), 200, &height),
		1);
	assert_true(height > 300);
	marks_finish(&m);
}

static void chains_have_chevrons(void **state)
{
	struct marks m;

	(void)state;
	marks_init(&m,
		story_model("0 create - 1 task\n"
			    "0 switch 1\n"
			    "100 create 1 2 bind\n"
			    "150 create 1 3 promise\n"
			    "200 switch 2\n"
			    "300 become 2 3\n"
			    "400 switch 1\n"
			    "500 create 1 4 promise\n"
			    "700 become 3 4\n"
			    "900 resolve 1 4\n",
			false));
	marks_frame(&m, 0, 1000, 40);
	assert_int_equal(marks_near(&m, THRUM__Z_END, POLY, C(BG), -1, marks_x(&m, 300),
				 marks_y(&m, 2), 4),
		2);
	assert_int_equal(marks_near(&m, THRUM__Z_END, POLY, C(PEND), -1, marks_x(&m, 700),
				 marks_y(&m, 2), 4),
		2);
	assert_true(marks_box(&m, 2) == marks_box(&m, 4));
	marks_finish(&m);
}

/* A trace of tasks 1 to 3 and an edge, all alive. */
static void start_edge(struct marks *m, const char *edge)
{
	char story[1024] = "0 create - 1 task\n"
			   "0 switch 1\n"
			   "50 create 1 2 promise\n"
			   "60 create 1 3 bind\n";

	strcat(story, edge);
	strcat(story, "980 log 1 \"a\n981 log 2 \"b\n982 log 3 \"c\n1000 log 1 \"end\n");
	marks_init(m, story_model(story, false));
	marks_frame(m, 0, 1000, 60);
}

static void kinds_of_edges_have_forms(void **state)
{
	static const struct {
		const char *story;
		int op, colour;
		unsigned count;
		int dash; /* of the shaft; -1: a rect */
		int shaft;
	} forms[] = {
		{"500 wait 3 2\n", RING, C(PEND), 1, THRUM__DASH_1_3, C(PEND)},
		{"500 read 3 2\n", POLY, C(EDGE), 1, -1, C(EDGE)},
		{"500 resolve 3 2\n", TRI, C(EDGE), 1, -1, C(EDGE)},
		{"500 fail 3 2 \"why\n", TRI, C(BAD), 1, -1, C(BAD)},
		{"500 signal 3 2 =1\n", POLY, C(SIGNAL), 2, THRUM__DASH_5_3, C(SIGNAL)},
		{"500 cancel 3 2\n", RECT, C(EDGE), 2, -1, C(EDGE)},
		{"500 lock 3 2\n", RECT, C(EDGE), 2, -1, C(EDGE)},
		{"500 unlock 3 2\n", RECT, C(EDGE), 5, -1, C(EDGE)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct marks m;
		float x, y;

		start_edge(&m, forms[i].story);
		x = marks_x(&m, 500);
		y = (marks_y(&m, 2) + marks_y(&m, 3)) / 2;
		assert_int_equal(marks_count(&m, THRUM__Z_EDGE, forms[i].op, forms[i].colour, -1),
			forms[i].count);
		if (forms[i].dash < 0)
			assert_int_equal(marks_over(&m, THRUM__Z_EDGE, forms[i].shaft, x, y, NULL),
				1);
		else
			assert_int_equal(marks_near(&m, THRUM__Z_EDGE, LINE, forms[i].shaft,
						 forms[i].dash, x, y, 8),
				1);
		marks_finish(&m);
	}
}

/* A message in less time than clocks may be wrong by has slanted strokes for a shaft, and the part
 * with that clock says so with its name. */
static void doubtful_messages_are_hatched(void **state)
{
	struct thrum__model *model = story_model("0 create - 1 thread\n"
						 "0 label 1 \"a/main\n"
						 "0 switch 1\n"
						 "0 @1 create - 2 thread\n"
						 "0 @1 label 2 \"b/main\n"
						 "0 @1 switch 2\n"
						 "100 link-send 1 \"key\n"
						 "400 @1 link-receive 2 \"key\n"
						 "1000 @1 resolve 2 2\n",
		false);
	struct marks m;
	float middle;

	(void)state;
	marks_init(&m, model);
	marks_frame(&m, 0, 1200, 40);
	middle = (marks_y(&m, 1) + marks_y(&m, 2)) / 2;
	assert_int_equal(marks_near(&m, THRUM__Z_EDGE, LINE, C(EDGE), THRUM__DASH_4_4,
				 marks_x(&m, 400), middle, 4),
		1);
	assert_true(marks_has_text(&m, "b/main"));
	model->is_joined = model->has_doubtful = true;
	model->lanes[0].process = 0;
	model->lanes[1].process = 1;
	model->lanes[1].host = 1;
	story_clocks(model, 1250, 1250);
	THRUM__EDGE(model, 0, value) = 1;
	marks_again(&m);
	assert_int_equal(marks_count(&m, THRUM__Z_EDGE, LINE, C(EDGE), THRUM__DASH_4_4), 0);
	assert_in_range(marks_near(&m, THRUM__Z_EDGE, LINE, C(EDGE), THRUM__DASH_SOLID,
				marks_x(&m, 400), middle, 15),
		3, 7);
	assert_true(marks_has_text(&m, "a/main"));
	assert_true(marks_has_text(&m, "b/main ± 1.3 µs"));
	m.scene->state.legend = true;
	assert_int_equal(thrum__scene_frame(m.scene, 2000, 400, &thrum__draw_metrics_plain,
				 &m.list),
		0);
	assert_true(marks_has_text(&m, "within the clocks' error"));
	marks_finish(&m);
}

/* A long name is shortened, but not the words on its clock. */
static void errors_of_clocks_are_not_cut(void **state)
{
	struct thrum__model *model = story_model(
		"0 create - 1 thread\n0 label 1 \"a/main\n0 switch 1\n0 @1 create - 2 thread\n"
		"0 @1 label 2 \"a warehouse with very many shelves on two floors/main\n"
		"0 @1 switch 2\n1000 @1 resolve 2 2\n",
		false);
	struct marks m;

	(void)state;
	model->is_joined = true;
	model->lanes[0].process = 0;
	model->lanes[1].process = 1;
	model->lanes[1].host = 1;
	story_clocks(model, 1250, 1250);
	marks_init(&m, model);
	marks_frame(&m, 0, 1200, 40);
	assert_true(marks_has_text(&m, "a warehouse with very many shelv… ± 1.3 µs"));
	marks_finish(&m);
}

/* Each task is made ready again and again, so only the chosen one's edges are painted. */
static void ready_shows_for_the_chosen_task(void **state)
{
	struct marks m;

	(void)state;
	start_edge(&m, "500 ready 3 2\n");
	assert_int_equal(marks_count(&m, THRUM__Z_EDGE, POLY, C(EDGE), -1), 0);
	m.scene->state.has_selected = true;
	m.scene->state.selected = 2;
	marks_frame(&m, 0, 1000, 60);
	assert_int_equal(marks_count(&m, THRUM__Z_EDGE, POLY, C(EDGE), -1), 1);
	marks_finish(&m);
}

static void latency_is_dotted(void **state)
{
	struct marks m;

	(void)state;
	start_edge(&m, "400 resolve 1 2\n600 read 3 2\n");
	assert_int_equal(marks_near(&m, THRUM__Z_CREATE, LINE, C(EDGE), THRUM__DASH_1_2,
				 marks_x(&m, 500), marks_y(&m, 2), 2),
		1);
	marks_finish(&m);
}

static void close_edges_are_one(void **state)
{
	char edges[400] = "";
	struct marks m;

	(void)state;
	for (int i = 0; i < 20; i++)
		strcat(edges, "500 lock 3 2\n");
	start_edge(&m, edges);
	assert_int_equal(marks_count(&m, THRUM__Z_EDGE, RECT, C(EDGE), -1), 2);
	marks_finish(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_and_ends),
		cmocka_unit_test(runs_and_waits_for_work),
		cmocka_unit_test(many_runs_are_merged),
		cmocka_unit_test(what_a_lane_does_itself_is_thin),
		cmocka_unit_test(failures_are_seen_in_dense_tracks),
		cmocka_unit_test(creation_is_a_hair),
		cmocka_unit_test(resolving_and_failing_have_filled_heads),
		cmocka_unit_test(alive_and_stuck_reach_the_end),
		cmocka_unit_test(chains_have_chevrons),
		cmocka_unit_test(kinds_of_edges_have_forms),
		cmocka_unit_test(doubtful_messages_are_hatched),
		cmocka_unit_test(errors_of_clocks_are_not_cut),
		cmocka_unit_test(ready_shows_for_the_chosen_task),
		cmocka_unit_test(latency_is_dotted),
		cmocka_unit_test(close_edges_are_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
