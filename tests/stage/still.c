/* SPDX-License-Identifier: ISC */
/* A stage for a picture in a file: its height, its parts' places, and what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "stage_helper.h"

#define FEW "0 create - 1 thread\n0 label 1 \"main\n1000000 log 1 \"end\n"

/* Two traces, one with many tracks and one with a single one. */
static int set_up(void **state)
{
	struct show *show;

	if (show_one(state) != 0)
		return -1;
	show = *state;
	thrum__stage_remove(show->stage, 0);
	thrum__model_destroy(show->models[0]);
	show->models[0] = NULL;
	show->stage->is_still = true;
	show_add(show,
		"0 create - 1 thread\n0 label 1 \"main\n"
		"0 create 1 2 promise\n0 create 1 3 promise\n0 create 1 4 promise\n"
		"100 switch 2\n400000 switch 3\n700000 switch 4\n1000000 switch 1\n"
		"1000000 log 1 \"end\n");
	show_add(show, FEW);
	return 0;
}

static void the_height_is_that_of_the_tracks(void **state)
{
	struct show *show = *state;
	const struct thrum__stage_part *parts = show->stage->parts;
	float height = 0, low, half;

	assert_int_equal(thrum__stage_fit(show->stage, STAGE_WIDTH, 900, &height), 0);
	assert_true(height == floorf(height));
	assert_int_equal(thrum__stage_size(show->stage, STAGE_WIDTH, height), 0);
	assert_true(parts[0].top == 0 && parts[1].top == parts[0].height);
	assert_true(parts[0].height + parts[1].height == height);
	assert_true(parts[1].height == 150 + THRUM__HEAD);
	assert_true(parts[0].height > parts[1].height);
	/* The axes are those of the frame to come. */
	assert_true(parts[1].scene->height == 150 && parts[1].scene->tracks.count == 1);

	assert_int_equal(thrum__stage_fit(show->stage, STAGE_WIDTH, 150, &low), 0);
	assert_true(low == 2 * (150 + THRUM__HEAD));

	/* In any other height, the part that wants more gets more. */
	assert_int_equal(thrum__stage_fit(show->stage, STAGE_WIDTH, 900, &height), 0);
	assert_int_equal(thrum__stage_size(show->stage, STAGE_WIDTH, 2 * height), 0);
	assert_true(parts[0].height > parts[1].height && parts[1].height > 150 + THRUM__HEAD);

	/* The strip, of both, and the key line, of the last, take their room. */
	half = height;
	parts[0].scene->state.strip = parts[1].scene->state.strip = true;
	parts[0].scene->state.legend = parts[1].scene->state.legend = true;
	assert_int_equal(thrum__stage_fit(show->stage, STAGE_WIDTH, 900, &height), 0);
	assert_true(height > half + THRUM__STRIP);
	assert_int_equal(thrum__stage_size(show->stage, STAGE_WIDTH, height), 0);
	for (int i = 0; i < 2; i++) {
		assert_true(thrum__scene_strip_height(parts[i].scene, STAGE_WIDTH) == THRUM__STRIP);
		assert_int_equal(parts[i].scene->hides_legend, i == 0);
	}
}

static void dividers_stay_where_an_address_puts_them(void **state)
{
	struct show *show = *state;
	const struct thrum__stage_part *parts = show->stage->parts;
	float height;

	show_set(show, "2.share=750");
	assert_int_equal(thrum__stage_fit(show->stage, STAGE_WIDTH, 900, &height), 0);
	assert_int_equal(thrum__stage_size(show->stage, STAGE_WIDTH, 800), 0);
	assert_true(parts[0].height == 120 + 140 && parts[1].height == 120 + 420);
}

static void a_still_picture_has_nothing_of_a_pointer(void **state)
{
	struct show *show = *state;
	struct thrum__stage *stage = show->stage;
	size_t rects, others;

	assert_true(thrum__stage_move(stage, 300, 300, 0) >= 0);
	assert_int_equal(show_frame(show, 0), 0);
	assert_int_equal(stage->list_count, 4);
	for (uint32_t i = 0; i < 2; i++) {
		struct thrum__draw_list *list = thrum__stage_list(stage, i);

		assert_ptr_equal(list, &stage->lists[2 * i + 1]);
		assert_true(list->y == stage->parts[i].top + THRUM__HEAD);
		assert_true(list[-1].y == stage->parts[i].top);
		assert_false(stage->parts[i].scene->state.strip);
	}
	/* Ground and, below another part, a rule: no mark of the focused part. */
	thrum__draw_list_count(&stage->lists[0], &rects, &others);
	assert_int_equal(rects, 1);
	thrum__draw_list_count(&stage->lists[2], &rects, &others);
	assert_int_equal(rects, 2);
}

static void a_single_trace_has_no_head(void **state)
{
	struct show *show = *state;

	thrum__stage_remove(show->stage, 0);
	show_frame(show, 0);
	assert_int_equal(show->stage->list_count, 1);
	assert_ptr_equal(thrum__stage_list(show->stage, 0), show->stage->lists);
	thrum__stage_remove(show->stage, 0);
	show_frame(show, 0);
	assert_int_equal(show->stage->list_count, 0);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, show_end)
	const struct CMUnitTest tests[] = {
		WITH(the_height_is_that_of_the_tracks),
		WITH(dividers_stay_where_an_address_puts_them),
		WITH(a_still_picture_has_nothing_of_a_pointer),
		WITH(a_single_trace_has_no_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
