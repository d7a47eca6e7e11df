/* SPDX-License-Identifier: ISC */
/* Two traces in pairs: each kind of task of one stands above the other's, on one scale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "scene/bands/bands.h"
#include "stage_helper.h"
#include "story.h"

#define MS 1000000
static int set_up(void **state)
{
	struct show *show = test_calloc(1, sizeof *show);

	assert_int_equal(thrum__stage_create(&show->stage), 0);
	show_add(show, show_requests(1, "old"));
	show_add(show, show_requests(4, "new"));
	show_settle(show);
	*state = show;
	return 0;
}

static bool is_painted(const struct show *show, const char *text)
{
	static char painted[1 << 20];

	assert_true(thrum__draw_list_print(&show->stage->lists[0], painted, sizeof painted) <
		sizeof painted);
	return strstr(painted, text) != NULL;
}

static const struct thrum__scene_bands *bands_of(const struct show *show, uint32_t part)
{
	return show->stage->parts[part].scene->bands;
}

/* The place of a part that shows a group with this name. */
static const struct thrum__scene_bands_place *place_of(const struct show *show, uint32_t part,
	const char *wanted)
{
	const struct thrum__scene_bands *bands = bands_of(show, part);
	char name[THRUM__NAME_MAX];

	for (uint32_t i = 0; i < bands->place_count; i++)
		if (bands->places[i].kind == THRUM__PLACE_BAND &&
			thrum__scene_bands_name(bands, &bands->places[i], name) &&
			strcmp(name, wanted) == 0)
			return &bands->places[i];
	fail_msg("no band is called %s", wanted);
	return NULL;
}

static float y_of(const struct show *show, uint32_t part, const char *name)
{
	const struct thrum__scene_bands_place *place = place_of(show, part, name);
	const struct thrum__scene *scene = show->stage->parts[part].scene;

	return scene->tracks.top - THRUM__PAD + place->y + place->inset + place->own / 2;
}

static void bands_of_one_name_are_a_pair(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_bands_place *upper, *lower;

	assert_false(thrum__stage_shows_pairs(show->stage));
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_PAIR) > 0);
	show_settle(show);
	assert_true(thrum__stage_shows_pairs(show->stage));
	assert_int_equal(bands_of(show, 0)->place_count, bands_of(show, 1)->place_count);
	upper = place_of(show, 0, "GET /user #");
	lower = place_of(show, 1, "GET /user #");
	assert_true(upper->y == lower->y && upper->height == lower->height);
	assert_true(upper->inset == 0 && lower->inset == upper->own);
	assert_int_equal(upper->class, lower->class);
	assert_int_equal(upper->rows, lower->rows);
	assert_true(is_painted(show, "each kind twice on one scale: above trace 1, below trace 2"));
	assert_true(is_painted(show, "×4.0"));
	assert_false(is_painted(show, "which ends at"));
}

static void the_others_stand_last(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_bands_place *old, *new, *both;

	show_set(show, "as=bands&pair=1");
	both = place_of(show, 0, "GET /user #");
	old = place_of(show, 0, "old #");
	new = place_of(show, 1, "new #");
	assert_true(both->y < old->y && old->y < new->y);
	assert_true(old->height == old->own && new->height == new->own &&new->inset == 0);
	assert_int_equal(bands_of(show, 1)->places[old - bands_of(show, 0)->places].kind,
		THRUM__PLACE_NONE);
	assert_true(is_painted(show, "only in trace 1"));
	assert_true(is_painted(show, "only in trace 2"));
}

/* Threads called "worker 1" and "worker 2" of a trace are those called "worker 7" and "worker 8" of another;
 * a "worker 3" of both is that of the other. */
static void threads_with_like_names_are_pairs(void **state)
{
	static const char *const names[2][3] = {{"worker 1", "worker 2", "worker 3"},
		{"worker 7", "worker 3", "worker 8"}};
	static const char *const pairs[3] = {"worker 7", "worker 8", "worker 3"};
	struct show *show = test_calloc(1, sizeof *show);
	char text[2][800], name[THRUM__NAME_MAX];
	uint32_t found = 0;

	assert_int_equal(thrum__stage_create(&show->stage), 0);
	for (int part = 0; part < 2; part++) {
		size_t used = 0;

		for (int i = 0; i < 3; i++)
			used += (size_t)snprintf(text[part] + used, sizeof text[part] - used,
				"0 @%d create - %d thread\n0 @%d label %d \"%s\n0 @%d switch %d\n",
				i, i + 1, i, i + 1, names[part][i], i, i + 1);
		snprintf(text[part] + used, sizeof text[part] - used,
			"5 @0 create 1 9 task\n6 @0 label 9 \"job\n%d @0 resolve 1 9\n",
			part == 0 ? 700 : 70);
		show_add(show, text[part]);
	}
	show_settle(show);
	show_set(show, "as=bands&pair=1");
	for (uint32_t i = 0; i < bands_of(show, 0)->place_count; i++) {
		const struct thrum__scene_bands_place *upper = &bands_of(show, 0)->places[i];
		const struct thrum__scene_bands_place *lower = &bands_of(show, 1)->places[i];

		if (upper->kind != THRUM__PLACE_THREAD)
			continue;
		thrum__scene_bands_name(bands_of(show, 0), upper, name);
		assert_int_equal(lower->kind, THRUM__PLACE_THREAD);
		for (int k = 0; k < 3; k++) {
			char other[THRUM__NAME_MAX];

			if (strcmp(name, names[0][k]) != 0)
				continue;
			thrum__scene_bands_name(bands_of(show, 1), lower, other);
			assert_string_equal(other, pairs[k]);
			found++;
		}
	}
	assert_int_equal(found, 3);
	assert_true(is_painted(show, "below trace 2, which ends at 70 ns"));
	/* The groups without a band stay closed. */
	strcpy(show->stage->parts[0].scene->state.bands.focus, THRUM__BANDS_MORE);
	assert_int_equal(thrum__stage_command(show->stage, THRUM__COMMAND_OPEN),
		THRUM__CHANGED_STATUS);
	assert_int_equal(show->stage->parts[0].scene->state.bands.opened_count, 0);
	assert_int_equal(show_end((void **)&show), 0);
}

/* Losses of all threads of a trace are hatched in its halves of the bands, and not in the other's. */
static void losses_of_all_threads_go_through_the_halves(void **state)
{
	static const char start[] =
		"0 create - 1 thread\n0 label 1 \"loop\n0 @1 create - 2 thread\n"
		"0 @1 label 2 \"other\n";
	static const char *const ends[2] = {"1000 log 1 \"before\n1000 @1 log 2 \"before\n"
					    "1900 lost =3 \"x\n1900 @1 lost =4 \"x\n"
					    "4000 log 1 \"end\n",
		"4000 log 1 \"end\n4000 @1 log 2 \"end\n"};
	struct show *show = test_calloc(1, sizeof *show);
	const struct thrum__scene_bands_place *place;
	const struct thrum__draw_list *list;
	unsigned hatched = 0;
	float top, x;

	assert_int_equal(thrum__stage_create(&show->stage), 0);
	for (int part = 0; part < 2; part++) {
		char text[4000];
		size_t used = (size_t)snprintf(text, sizeof text, "%s", start);

		for (int i = 10; i < 30; i++)
			used += (size_t)snprintf(text + used, sizeof text - used,
				"%d create 1 %d task\n%d label %d \"job\n%d resolve 1 %d\n", i * 10,
				i, i * 10, i, i * 10 + 5, i);
		snprintf(text + used, sizeof text - used, "%s", ends[part]);
		show_add(show, text);
	}
	show_settle(show);
	show_set(show, "as=bands&pair=1&fold=2");
	place = place_of(show, 0, "job");
	top = show->stage->parts[0].scene->tracks.top - THRUM__PAD + place->y;
	x = show_x(show, 0, 1500);
	list = &show->stage->lists[0];
	for (uint32_t b = 0; b < list->batch_count; b++) {
		const struct thrum__draw_batch *batch = &list->batches[b];
		const struct thrum__draw_rect *rects = batch->items;

		if (batch->style.op != THRUM__OP_RECT || batch->style.z != THRUM__Z_REGION ||
			batch->style.colour != THRUM__COLOUR_FOLD)
			continue;
		for (uint32_t i = 0; i < batch->count; i++)
			if (rects[i].x < x && rects[i].x + rects[i].width > x &&
				rects[i].y + rects[i].height > top) {
				assert_float_equal(rects[i].y, top + place->inset, 0.01);
				assert_float_equal(rects[i].height, place->own, 0.01);
				hatched++;
			}
	}
	assert_int_equal(hatched, 1);
	assert_int_equal(show_end((void **)&show), 0);
}

static void a_press_goes_to_the_half_below_it(void **state)
{
	struct show *show = *state;
	const float x = 4;

	show_set(show, "as=bands&pair=1");
	for (uint32_t part = 0; part < 2; part++) {
		float y = y_of(show, part, "GET /user #");

		assert_true(thrum__stage_press(show->stage, x, y, 0) > 0);
		assert_true(thrum__stage_release(show->stage, x, y, 0) > 0);
		show_settle(show);
		assert_int_equal(show->stage->focus, part);
		for (uint32_t i = 0; i < 2; i++)
			assert_string_equal(show_state(show, i)->bands.focus, "GET /user #");
		show_set(show, "as=bands&pair=1");
	}
}

static void a_line_of_the_lower_half_is_found(void **state)
{
	struct show *show = *state;
	const struct thrum__scene_bands_place *place;
	const struct thrum__scene *scene = show->stage->parts[1].scene;
	uint32_t part, task;
	float y;

	show_set(show, "as=bands&pair=1&t=40000000..70000000&fold=2");
	place = place_of(show, 1, "GET /user #");
	y = scene->tracks.top - THRUM__PAD + place->y + place->inset +
		thrum__scene_bands_line_y(place, 4 * MS);
	task = thrum__stage_pick(show->stage, show_x(show, 1, 52 * MS), y, &part);
	assert_int_equal(part, 1);
	assert_int_equal(thrum__words_task(show->models[1], task, (char[40]){0}, 40),
		strlen("GET /user 4"));
}

static void the_address_has_it_and_both_scroll(void **state)
{
	struct show *show = *state;

	show_set(show, "as=bands&pair=1&open=GET%20/user%20%23&track=1&sort=p99");
	assert_int_equal(show_state(show, 1)->bands.opened_count, 1);
	assert_true(show_state(show, 1)->track == show_state(show, 0)->track);
	show_expect(show, "as=bands&track=1.000&open=GET%20/user%20%23&sort=p99&pair=1");
	assert_true(thrum__stage_command(show->stage, THRUM__COMMAND_PAIR) > 0);
	show_settle(show);
	assert_false(thrum__stage_shows_pairs(show->stage));
	assert_true(show->stage->parts[1].top > 0);
	assert_true(show->stage->list_count > 2);
}

static void rows_and_single_traces_have_no_pairs(void **state)
{
	struct show *show = *state;

	show_set(show, "as=rows&pair=1");
	assert_false(thrum__stage_shows_pairs(show->stage));
	show_set(show, "as=bands&pair=1&link=0");
	assert_false(thrum__stage_shows_pairs(show->stage));
	show_set(show, "as=bands&pair=1");
	assert_true(thrum__stage_shows_pairs(show->stage));
	thrum__stage_remove(show->stage, 0);
	show_settle(show);
	assert_false(thrum__stage_shows_pairs(show->stage));
	assert_null(show->stage->parts[0].scene->pair.other);
	assert_int_equal(thrum__stage_command(show->stage, THRUM__COMMAND_PAIR),
		THRUM__CHANGED_STATUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bands_of_one_name_are_a_pair, set_up, show_end),
		cmocka_unit_test_setup_teardown(the_others_stand_last, set_up, show_end),
		cmocka_unit_test(threads_with_like_names_are_pairs),
		cmocka_unit_test(losses_of_all_threads_go_through_the_halves),
		cmocka_unit_test_setup_teardown(a_press_goes_to_the_half_below_it, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(a_line_of_the_lower_half_is_found, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(the_address_has_it_and_both_scroll, set_up,
			show_end),
		cmocka_unit_test_setup_teardown(rows_and_single_traces_have_no_pairs, set_up,
			show_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
