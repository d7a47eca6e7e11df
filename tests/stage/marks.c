/* SPDX-License-Identifier: ISC */
/* Going to a difference of two traces: the tasks of both are selected, its times marked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stage_helper.h"
#include "story.h"

static struct thrum__difference late(struct show *show)
{
	struct thrum__difference difference = {.kind = THRUM__DIFFERENCE_SIGNAL_FIRST};

	for (int side = 0; side < THRUM__SIDES; side++) {
		difference.side[side].task = story_task(show->models[side], 12 + (uint64_t)side);
		difference.side[side].first = side ? 2200000 : 2000000;
		difference.side[side].second = side ? 2100000 : 2300000;
	}
	return difference;
}

static const char *painted(struct show *show, uint32_t part)
{
	static char text[1 << 20];

	assert_true(thrum__draw_list_print(thrum__stage_list(show->stage, part), text,
			    sizeof text) < sizeof text);
	return text;
}

static void both_tasks_are_selected(void **state)
{
	struct show *show = *state;
	struct thrum__difference difference = late(show);
	int changed;

	assert_null(strstr(painted(show, 0), "signals"));
	changed = thrum__stage_go_difference(show->stage, &difference);
	assert_int_equal(changed & (THRUM__CHANGED_SELECTION | THRUM__CHANGED_PICTURE),
		THRUM__CHANGED_SELECTION | THRUM__CHANGED_PICTURE);
	show_settle(show);
	for (uint32_t part = 0; part < 2; part++) {
		struct thrum__scene_state *shown = show_state(show, part);

		assert_int_equal(shown->selected, 12 + part);
		assert_true(shown->from < 2000000 && shown->from > 1000000);
		assert_true(shown->to > 2300000 && shown->to < 3000000);
		assert_non_null(strstr(painted(show, part), "signals"));
		assert_non_null(strstr(painted(show, part), "waits"));
	}
	assert_int_equal(show->stage->focus, 1);
}

static void each_shows_its_own_times_when_free(void **state)
{
	struct show *show = *state;
	struct thrum__difference difference = late(show);

	assert_true(thrum__stage_link(show->stage, false) >= 0);
	difference.side[1].first = 4100000;
	difference.side[1].second = THRUM__OPEN;
	assert_true(thrum__stage_go_difference(show->stage, &difference) > 0);
	show_settle(show);
	assert_true(show_state(show, 0)->to < 3000000);
	assert_true(show_state(show, 1)->from > 3000000);
	assert_null(strstr(painted(show, 1), "waits"));
}

static void clear_removes_the_marks(void **state)
{
	struct show *show = *state;
	struct thrum__difference difference = late(show);

	assert_true(thrum__stage_go_difference(show->stage, &difference) > 0);
	show_settle(show);
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_CLEAR) > 0);
	show_settle(show);
	assert_null(strstr(painted(show, 0), "signals"));
}

static void a_side_may_lack_a_task(void **state)
{
	struct show *show = *state;
	struct thrum__difference difference = late(show);

	difference.kind = THRUM__DIFFERENCE_MISSING;
	difference.side[THRUM__BAD].task = THRUM__NONE;
	assert_true(thrum__stage_go_difference(show->stage, &difference) > 0);
	show_settle(show);
	assert_true(show_state(show, 0)->has_selected);
	assert_false(show_state(show, 1)->has_selected);
	assert_int_equal(show->stage->focus, 0);
	thrum__stage_remove(show->stage, 1);
	show_settle(show);
	assert_int_equal(thrum__stage_go_difference(show->stage, &difference), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_tasks_are_selected, show_two, show_end),
		cmocka_unit_test_setup_teardown(each_shows_its_own_times_when_free, show_two,
			show_end),
		cmocka_unit_test_setup_teardown(clear_removes_the_marks, show_two, show_end),
		cmocka_unit_test_setup_teardown(a_side_may_lack_a_task, show_two, show_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
