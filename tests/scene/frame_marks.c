/* SPDX-License-Identifier: ISC */
/* Marks around the picture: ruler, counters, a finding's pins and notes, key line, strip, and the
 * message in an empty picture. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "marks_helper.h"
#include "picture_helper.h"
#include "story.h"

/* ---- Ruler --------------------------------------------------------------------------------- */

struct labels {
	struct written all[100];
	unsigned count;
	float y;
};

static void collect(void *context, const struct written *written)
{
	struct labels *labels = context;

	if (written->y != labels->y)
		return;
	assert_true(labels->count < 100);
	labels->all[labels->count++] = *written;
}

static int by_x(const void *a, const void *b)
{
	const struct written *x = a, *y = b;

	return x->x < y->x ? -1 : x->x > y->x;
}

/* The ruler's labels from the left, with the space between them checked. */
static struct labels ruler(const struct picture *picture, float width)
{
	struct labels labels = {.y = 19};

	picture_texts(picture, THRUM__Z_FRAME_TEXT, THRUM__Z_FRAME_TEXT, collect, &labels);
	qsort(labels.all, labels.count, sizeof *labels.all, by_x);
	for (unsigned i = 0; i < labels.count; i++) {
		const struct written *label = &labels.all[i];

		assert_true(label->x >= 0 && label->x + label->width <= width);
		if (i + 1 < labels.count)
			assert_true(label->x + label->width <= label[1].x);
	}
	return labels;
}

static bool says(const struct written *written, const char *text)
{
	return written->size == strlen(text) && memcmp(written->text, text, written->size) == 0;
}

#define LANE \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"0 create 1 2 task\n" \
	"0 switch 2\n"

static void ruler_near_zero_is_absolute(void **state)
{
	struct picture picture;
	struct labels labels;

	picture_init(&picture, LANE "10000 log 2 \"end\n", false);
	picture_paint(&picture, 1600, 300);
	labels = ruler(&picture, 1600);
	assert_true(labels.count > 5);
	assert_true(says(&labels.all[0], "0"));
	assert_int_equal(labels.all[0].font, THRUM__FONT_BASE);
	assert_true(says(&labels.all[1], "500 ns"));
	assert_true(says(&labels.all[2], "1.0 µs"));
	assert_true(says(&labels.all[labels.count - 1], "ends 10.0 µs"));
	picture_finish(&picture);
}

static struct written last_label(struct picture *picture)
{
	struct labels labels;

	picture_paint(picture, 1600, 300);
	labels = ruler(picture, 1600);
	return labels.all[labels.count - 1];
}

static void ruler_says_how_it_ended(void **state)
{
	static const struct {
		const char *state, *signal, *words;
		enum thrum__scene_following following;
		int colour;
		enum thrum_ending ending;
	} cases[] = {
		{"stopped", NULL, "ends 10.0 µs", THRUM__NOT_FOLLOWED, THRUM__COLOUR_INK},
		{"stopped", "KILL", "ends 10.0 µs", THRUM__FOLLOWED, THRUM__COLOUR_INK},
		{"killed", "KILL", "ended by SIGKILL at 10.0 µs", THRUM__FOLLOWED,
			THRUM__COLOUR_BAD},
		{"killed", NULL, "killed at 10.0 µs", THRUM__NOT_FOLLOWED, THRUM__COLOUR_BAD},
		{"recording", NULL, "now 10.0 µs", THRUM__FOLLOWED, THRUM__COLOUR_SEL},
		{"recording", NULL, "breaks off at 10.0 µs", THRUM__NOT_FOLLOWED,
			THRUM__COLOUR_INK},
		{"recording", NULL, "paused at 10.0 µs", THRUM__PAUSED, THRUM__COLOUR_INK},
		{"snapshot", NULL, "snapshot at 10.0 µs", THRUM__NOT_FOLLOWED, THRUM__COLOUR_INK},
		{"snapshot", NULL, "killed at 10.0 µs", THRUM__NOT_FOLLOWED, THRUM__COLOUR_BAD,
			THRUM_ENDING_GONE},
		{"snapshot", NULL, "ends 10.0 µs", THRUM__NOT_FOLLOWED, THRUM__COLOUR_INK,
			THRUM_ENDING_EXITED},
		{NULL, NULL, "ends 10.0 µs", THRUM__NOT_FOLLOWED, THRUM__COLOUR_INK},
	};
	struct picture picture;

	picture_init(&picture, LANE "10000 log 2 \"end\n", false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct thrum_trace_info info = {.state = cases[i].state, .ending = cases[i].ending};
		bool is_live = cases[i].colour == THRUM__COLOUR_SEL;
		struct written label;
		float x;

		thrum__scene_set_ending(picture.scene, &info, cases[i].following, cases[i].signal);
		label = last_label(&picture);
		assert_true(says(&label, cases[i].words));
		assert_int_equal(label.colour, cases[i].colour);
		/* A trace that goes on has a visible edge. */
		x = floorf((float)thrum__scene_time_axis_x(&picture.scene->time, 10000) + 0.5f);
		assert_int_equal(picture_has_rect(&picture, THRUM__COLOUR_SEL, NAN, NAN, 2,
					 300 - THRUM__RULER),
			is_live);
		assert_int_equal(picture_has_rect(&picture, THRUM__COLOUR_MUTED, x, NAN, 1,
					 300 - THRUM__RULER),
			!is_live);
	}
	picture_finish(&picture);
}

static void ruler_says_the_unit_once(void **state)
{
	struct picture picture;
	struct labels labels;

	picture_init(&picture, LANE "10000000 log 2 \"end\n", false);
	picture.scene->state.from = 5000000;
	picture.scene->state.to = 5010000;
	picture_paint(&picture, 800, 300);
	labels = ruler(&picture, 800);
	assert_true(says(&labels.all[0], "5.000 ms"));
	assert_true(says(&labels.all[1], "+2 µs"));
	assert_true(says(&labels.all[2], "+3"));
	assert_true(says(&labels.all[3], "+4"));
	picture_finish(&picture);
}

/* Notes the two lines of a folded time: why, and how long. */
static void look_for_fold(void *context, const struct written *written)
{
	unsigned *said = context;

	*said |= says(written, "nothing runs") ? 1 : says(written, "5.1 ms") ? 2 : 0;
}

static void folds_say_how_long(void **state)
{
	struct picture picture;
	unsigned said = 0;

	picture_init(&picture,
		LANE "5000 switch 1\n"
		     "5100000 switch 2\n"
		     "5105000 switch 1\n"
		     "5106000 log 1 \"end\n",
		false);
	picture.scene->state.fold = THRUM__FOLD_ON;
	picture_paint(&picture, 1200, 300);
	picture_texts(&picture, THRUM__Z_FRAME_TEXT, THRUM__Z_FRAME_TEXT, look_for_fold, &said);
	assert_int_equal(said, 3);
	picture_finish(&picture);
}

static void rulers_of_all_sizes(void **state)
{
	struct picture picture;

	picture_init(&picture, LANE "9000000000000000000 log 2 \"end\n", false);
	for (int i = 0; i < 62; i++) {
		for (float width = 40; width < 3000; width *= 3) {
			picture.scene->state.from = INT64_C(4000000000000000000);
			picture.scene->state.to = picture.scene->state.from + (INT64_C(1) << i);
			picture_paint(&picture, width, 200);
			ruler(&picture, width);
		}
	}
	picture_finish(&picture);
}

/* ---- Counters ------------------------------------------------------------------------------ */

/* y of the last point of a counter's line. */
static float end_of_line(const struct picture *picture, int colour, float width)
{
	for (uint32_t i = 0; i < picture->list.batch_count; i++) {
		const struct thrum__draw_batch *batch = &picture->list.batches[i];
		const struct thrum__draw_point *points = batch->items;

		if (batch->style.op == THRUM__OP_POLY && batch->style.z == THRUM__Z_COUNTER &&
			batch->style.colour == colour) {
			assert_float_equal(points[batch->count - 2].x, width, 0.1);
			return points[batch->count - 2].y;
		}
	}
	fail_msg("no such line");
	return 0;
}

/* x up to which a counter is known, and x from which on it is known again. */
static void lost_time_interrupts_counters(void **state)
{
	struct marks marks;

	(void)state;
	marks_init(&marks,
		story_model("0 @0 create - 1 thread\n"
			    "0 @1 create - 2 thread\n"
			    "100 @0 counter 1 =5 \"heap\n"
			    "400 @1 switch 2\n"
			    "500 @1 lost =9 \"overwritten\n"
			    "600 @0 counter 1 =7 \"heap\n"
			    "1000 @0 log 1 \"end\n",
			false));
	marks.scene->state.counters = true;
	marks_frame(&marks, 0, 1000, 0);
	assert_int_equal(marks_count(&marks, THRUM__Z_CASING, THRUM__OP_POLY, THRUM__COLOUR_BG, -1),
		2);
	assert_int_equal(marks_count(&marks, THRUM__Z_COUNTER, THRUM__OP_POLY, THRUM__COLOUR_C1,
				 THRUM__DASH_1_3),
		1);
	assert_true(marks_has_text(&marks, "7"));
	/* The value is not known where the window begins and ends. */
	marks_frame(&marks, 510, 590, 0);
	assert_int_equal(marks_count(&marks, THRUM__Z_CASING, THRUM__OP_POLY, THRUM__COLOUR_BG, -1),
		0);
	assert_true(marks_has_text(&marks, "not known"));
	marks_frame(&marks, 700, 900, 0);
	assert_int_equal(marks_count(&marks, THRUM__Z_COUNTER, THRUM__OP_POLY, THRUM__COLOUR_C1,
				 THRUM__DASH_1_3),
		0);
	marks_finish(&marks);
}

static void alike_counters_share_a_scale(void **state)
{
	const float right = 1000 - THRUM__GUTTER;
	struct picture picture;

	picture_init(&picture,
		LANE "10 counter =5 \"conn#1/open\n"
		     "20 counter =900000 \"conn#2/open\n"
		     "30 counter =40 \"heap\n"
		     "50 counter =900000 \"conn#1/open\n"
		     "60 counter =70 \"heap\n"
		     "100 log 2 \"end\n",
		false);
	picture.scene->state.counters = true;
	picture_paint(&picture, 1000, 600);
	assert_int_equal(picture_find(&picture, "conn#1/open", NULL), 1);
	assert_int_equal(picture_find(&picture, "heap", NULL), 1);
	assert_int_equal(picture_find(&picture, "900 000", NULL), 2);
	assert_int_equal(picture_find(&picture, "70", NULL), 1);
	assert_float_equal(end_of_line(&picture, THRUM__COLOUR_C1, right),
		end_of_line(&picture, THRUM__COLOUR_C2, right), 0.1);
	/* heap has its own scale above. */
	assert_true(end_of_line(&picture, THRUM__COLOUR_C3, right) <
		end_of_line(&picture, THRUM__COLOUR_C1, right));
	picture_finish(&picture);
}

static void many_values_cost_pixels(void **state)
{
	const int count = 50000;
	char *lines = malloc((size_t)count * 40 + 200), *at = lines;
	struct picture picture;
	size_t points = 0;

	assert_non_null(lines);
	at += sprintf(at, LANE);
	for (int i = 0; i < count; i++)
		at += sprintf(at, "%d counter =%d \"busy\n", i, i % 7 == 3 ? 100 : i % 5);
	picture_init(&picture, lines, false);
	free(lines);
	picture.scene->state.counters = true;
	picture_paint(&picture, 1000, 600);
	for (uint32_t i = 0; i < picture.list.batch_count; i++)
		if (picture.list.batches[i].style.z == THRUM__Z_COUNTER)
			points += picture.list.batches[i].count;
	assert_in_range(points, 1000, 4 * 1000);
	picture_finish(&picture);
}

/* Observations 0 to 99 over and over, then none, then always 50: a line for each percentile of each
 * part, and a stroke for each stretch. */
static void distributions_are_bands(void **state)
{
	const int count = 20000;
	char *lines = malloc((size_t)count * 40 + 200), *at = lines;
	struct picture picture;
	unsigned strokes = 0, lines_found = 0;

	(void)state;
	assert_non_null(lines);
	at += sprintf(at, LANE);
	for (int i = 0; i < count; i++)
		if (i < count / 2 || i > count * 3 / 4)
			at += sprintf(at, "%d counter =%d \"sizes\n", i,
				i < count / 2 ? i * 37 % 100 : 50);
	picture_init(&picture, lines, false);
	free(lines);
	picture.model->counters[0].kind = THRUM_COUNTER_DISTRIBUTION;
	picture.scene->state.counters = true;
	picture_paint(&picture, 1000, 600);
	for (uint32_t i = 0; i < picture.list.batch_count; i++) {
		const struct thrum__draw_batch *batch = &picture.list.batches[i];

		if (batch->style.z != THRUM__Z_COUNTER)
			continue;
		if (batch->style.op == THRUM__OP_RECT)
			strokes += batch->count;
		const struct thrum__draw_point *points = batch->items;

		for (uint32_t k = 0; batch->style.op == THRUM__OP_POLY && k < batch->count; k++)
			lines_found += isnan(points[k].x) != 0;
	}
	assert_int_equal(lines_found, 4);
	assert_in_range(strokes, 90, 125); /* of about 143 stretches 3/4 */
	assert_int_equal(picture_find(&picture, "p99 50", NULL), 1);
	picture_finish(&picture);
}

static void extreme_values_are_painted(void **state)
{
	struct picture picture;

	picture_init(&picture,
		LANE "10 counter =-9223372036854775808 \"wild\n"
		     "20 counter =9223372036854775807 \"wild\n"
		     "30 counter =9223372036854775806 \"high\n"
		     "40 counter =9223372036854775807 \"high\n"
		     "50 counter =0 \"none\n"
		     "90 log 2 \"end\n",
		false);
	picture.scene->state.counters = true;
	for (float height = 40; height < 2000; height *= 2)
		picture_paint(&picture, 1000, height);
	assert_int_equal(picture_find(&picture, "9.22 E", NULL), 2);
	picture_finish(&picture);
}

/* ---- Findings ------------------------------------------------------------------------------ */

#define LOST_WAKE_UP \
	"0 create - 1 thread\n" \
	"0 switch 1\n" \
	"10 create 1 2 condition\n" \
	"10 label 2 \"arp-reply\n" \
	"20 create 1 3 promise\n" \
	"20 label 3 \"main\n" \
	"20 should-resolve 3\n" \
	"300 signal 1 2 =0\n" \
	"500 wait 3 2\n" \
	"900 log 1 \"end\n"

static void finding_has_pins_and_notes(void **state)
{
	struct picture picture;
	struct written one, note;

	picture_init(&picture, LOST_WAKE_UP, false);
	picture_paint(&picture, 1200, 500);
	assert_int_equal(picture_find(&picture, "1", &one), 1);
	assert_int_equal(one.colour, THRUM__COLOUR_BG);
	assert_float_equal(one.x + one.width / 2,
		thrum__scene_time_axis_x(&picture.scene->time, 300), 2);
	assert_int_equal(picture_find(&picture, "2", &one), 1);
	assert_int_equal(one.colour, THRUM__COLOUR_BAD);
	assert_int_equal(picture_find(&picture, "Signal lost", &note), 1);
	assert_int_equal(note.z, THRUM__Z_BADGE_TEXT);
	assert_int_equal(picture_find(&picture, "no signal comes after this", NULL), 1);
	picture_check_names(&picture, THRUM__RULER, 500, 1200);
	/* A phone has room for the numbers only. */
	picture_paint(&picture, 390, 456);
	assert_int_equal(picture_find(&picture, "1", NULL), 1);
	assert_int_equal(picture_find(&picture, "Signal lost", NULL), 0);
	picture.scene->state.findings = false;
	picture_paint(&picture, 1200, 500);
	assert_int_equal(picture_find(&picture, "Signal lost", NULL), 0);
	picture_finish(&picture);
}

/* ---- The rest ------------------------------------------------------------------------------ */

static void key_line_fits(void **state)
{
	struct picture picture;
	struct written name;

	picture_init(&picture, LANE "900 log 2 \"end\n", false);
	picture.scene->state.legend = true;
	picture_paint(&picture, 1600, 300);
	assert_int_equal(picture_find(&picture, "running", &name), 1);
	assert_float_equal(name.y, 300 - THRUM__LEGEND / 2 + 4, 1);
	assert_int_equal(picture_find(&picture, "cause", &name), 1);
	assert_true(name.x + name.width < 1600);
	picture_paint(&picture, 390, 300);
	assert_int_equal(picture_find(&picture, "running", NULL), 1);
	assert_int_equal(picture_find(&picture, "cause", NULL), 0);
	picture_finish(&picture);
}

static void strip_is_linear(void **state)
{
	struct thrum__draw_list list;
	struct picture picture;
	const float width = 1000 + 24;

	picture_init(&picture, LOST_WAKE_UP, false);
	picture.scene->state.from = 450;
	picture.scene->state.to = 675;
	picture_paint(&picture, 1200, 500);
	list = picture.list;
	thrum__draw_list_init(&picture.list);
	assert_int_equal(thrum__scene_strip(picture.scene, width, THRUM__STRIP,
				 &thrum__draw_metrics_plain, &picture.list),
		0);
	/* The window's frame, and the finding's flag at 300. */
	assert_true(picture_has_rect(&picture, THRUM__COLOUR_SEL, 12 + 500 - 2 - 1, 1, 2, 49));
	assert_true(picture_has_rect(&picture, THRUM__COLOUR_BAD, 12 + 333, 14, 1, 34));
	assert_int_equal(picture_find(&picture, "0", NULL), 1);
	thrum__draw_list_finish(&list);
	picture_finish(&picture);
}

static void emptiness_says_the_way_on(void **state)
{
	struct picture picture;

	picture_init(&picture, "5 log \"nobody\n", false);
	picture_paint(&picture, 600, 300);
	assert_int_equal(picture_find(&picture, "This trace has no tasks.", NULL), 1);
	picture_finish(&picture);
	picture_init(&picture,
		"0 create - 1 promise\n"
		"1000 resolve 1 1\n"
		"90000 create - 2 promise\n"
		"91000 resolve 2 2\n",
		false);
	picture.scene->state.from = 40000;
	picture.scene->state.to = 50000;
	picture_paint(&picture, 600, 300);
	assert_int_equal(picture_find(&picture, "No tasks between 40 µs and 50 µs.", NULL), 1);
	assert_int_equal(picture_find(&picture,
				 "Nearest: ‹ 1 µs. The trace ends at 91 µs. The key f shows all.",
				 NULL),
		1);
	picture_finish(&picture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ruler_near_zero_is_absolute),
		cmocka_unit_test(ruler_says_how_it_ended),
		cmocka_unit_test(ruler_says_the_unit_once),
		cmocka_unit_test(folds_say_how_long),
		cmocka_unit_test(rulers_of_all_sizes),
		cmocka_unit_test(lost_time_interrupts_counters),
		cmocka_unit_test(alike_counters_share_a_scale),
		cmocka_unit_test(many_values_cost_pixels),
		cmocka_unit_test(distributions_are_bands),
		cmocka_unit_test(extreme_values_are_painted),
		cmocka_unit_test(finding_has_pins_and_notes),
		cmocka_unit_test(key_line_fits),
		cmocka_unit_test(strip_is_linear),
		cmocka_unit_test(emptiness_says_the_way_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
